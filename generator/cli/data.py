"""The verb `data`: a competition's files, and what its trainings take beside them, downloaded."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import click

from generator.cli.kaggle import connect_kaggle
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    competition_argument,
    to_option,
    workspace_option,
)
from generator.cli.terminal import json_option, print_document, warn
from generator.errors import TandemError
from generator.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from generator.kaggle.competition_data import DownloadProgress
    from generator.run.needs import TrainingNeeds


_MEGABYTE = 1e6
_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.2


class CompetitionFiles(TypedDict):
    """The files of a competition.

    Attributes:
        built_in: True if the competition is built in: its files are written, not downloaded.
        was_there: True if nothing had to be downloaded.
        files: How many there are.
        size: Their bytes.
    """

    built_in: NotRequired[bool]
    was_there: NotRequired[bool]
    files: NotRequired[int]
    size: NotRequired[int]


class SourceFields(TypedDict):
    """A dataset or model that is attached to a training.

    Attributes:
        kind: dataset or model.
        name: Its name on Kaggle.
        folder: Where it is, or would be.
        is_there: Whether it is there.
    """

    kind: str
    name: str
    folder: str
    is_there: bool


class WeightFields(TypedDict):
    """Pretrained weights of a backbone.

    Attributes:
        name: What they are called.
        library: The library that downloads them.
        folder: Where they are; empty with --dry-run.
    """

    name: str
    library: str
    folder: str


class DataReport(CompetitionFiles):
    """What was downloaded, or with --dry-run would be.

    Attributes:
        schema_version: The version of this document.
        folder: The folder of the competition's files.
        dry_run: Whether nothing was downloaded.
        sources: The datasets and models that the competition's pairs use.
        weights: The pretrained weights that they start from.
    """

    schema_version: Literal[1]
    folder: str
    dry_run: bool
    sources: list[SourceFields]
    weights: list[WeightFields]


@click.command(cls=KnobCommand)
@competition_argument
@to_option("Which Kaggle to download from: the real one (default) or the local one of `tandem serve`.")
@assignments_option("Set a parameter of the training, such as BACKBONE=MobileNetV2, to download what it needs.")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Show what would be downloaded, but download nothing.")
@json_option(DataReport)
def data(**options: Any) -> int:
    """Download a competition's data to input/competitions/COMPETITION, with the same layout as on Kaggle.

    The size of every file is checked, and the folder appears when the download is complete. To resume an interrupted
    download, run the command again. The datasets, models and pretrained weights that the competition's pairs use are
    downloaded too. Pretrained weights of a backbone go to the cache of their library.

    \b
    tandem data titanic
    tandem data titanic --dry-run
    """  # noqa: D301 - click wants the character itself
    from generator.run.needs import needs_of_pairs

    slug = options["competition"]
    pairs = needs_of_pairs(slug, options["workspace"], options["assignments"], warn=warn)
    try:
        facts = _competition_files(slug, options)
    except TandemError as error:
        # Files that were put there by hand are no reason to do without the weights.
        if not _has_files(options["workspace"].competition_data(slug)) or not any(entry.needs_more for entry in pairs):
            raise
        warn(f"The files of {slug} were not updated: {error}")
        facts = {"was_there": True}
    folder = options["workspace"].competition_data(slug)
    sources = _download_sources(pairs, options)
    weights = _pretrained(pairs, options)
    if options["as_json"]:
        report: DataReport = {
            "schema_version": 1,
            "folder": str(folder),
            "dry_run": options["dry_run"],
            **facts,
            "sources": sources,
            "weights": weights,
        }
        print_document(report)
        return 0
    verb = "would be in" if options["dry_run"] else "are in"
    amount = f"{facts['files']:,} files, {facts['size'] / _MEGABYTE:,.1f} MB," if "files" in facts else "The data"
    amount = "The files of the built-in competition" if facts.get("built_in") else amount
    already = " already" if facts.get("was_there") else ""
    click.echo(f"{amount} {verb} {printable(str(folder))}{already}.")
    for source in sources:
        state = "would be in" if not source["is_there"] else "is in"
        click.echo(f"The {source['kind']} {printable(source['name'])} {state} {printable(source['folder'])}.")
    for entry in weights:
        if entry["folder"]:
            click.echo(f"The weights of {entry['name']} are in {printable(entry['folder'])}.")
        else:
            click.echo(f"{entry['library']} would download the weights of {entry['name']}.")
    return 0


def _competition_files(slug: str, options: dict[str, Any]) -> CompetitionFiles:
    from generator.pair.workspace import ensure_built_in, is_built_in, is_reached_as_the_user_chose

    workspace = options["workspace"]
    folder = workspace.competition_data(slug)
    if is_built_in(slug) and options["to"] != "local":
        if not options["dry_run"]:
            ensure_built_in(slug, workspace)
        return {"built_in": True}
    if folder.is_symlink() and _has_files(folder) and is_reached_as_the_user_chose(folder, workspace):
        return {"was_there": True}  # the user's own folder, of `generate --data`
    kaggle = connect_kaggle(options["to"])
    from generator.kaggle.competition_data import download_data, measure_data

    if options["dry_run"]:
        count, size = measure_data(kaggle, slug)
        return {"files": count, "size": size}
    click.echo(f"Listing the files of {printable(slug)} …", err=True)
    with _Progress() as progress:
        download = download_data(kaggle, slug, folder, workspace.files, tell=progress)
    return {"files": download.files, "size": download.size, "was_there": download.was_there}


def _download_sources(pairs: "Sequence[TrainingNeeds]", options: dict[str, Any]) -> list[SourceFields]:
    """Downloads the datasets and models that are attached to trainings, unless they are there."""
    workspace = options["workspace"]
    sources: list[SourceFields] = []
    for kind, name, place in dict.fromkeys(source for needs in pairs for source in needs.sources):
        folder = workspace.input / place
        is_there = _has_files(folder)
        if not is_there and not options["dry_run"]:
            from generator.kaggle.competition_data import Source, download_source

            kaggle = connect_kaggle(options["to"])
            click.echo(f"Downloading the {kind} {printable(name)} …", err=True)
            with _Progress() as progress:
                download_source(kaggle, Source(kind, name, folder), workspace.files, tell=progress)
            is_there = True
        sources.append({"kind": kind, "name": name, "folder": str(folder), "is_there": is_there})
    return sources


def _pretrained(pairs: "Sequence[TrainingNeeds]", options: dict[str, Any]) -> list[WeightFields]:
    """Fetches the weights that trainings start from into the caches of their libraries."""
    from generator.run.input_mounts import fetch_weights

    records: list[WeightFields] = []
    for weights in dict.fromkeys(needs.weights for needs in pairs if needs.weights):
        folder = ""
        if not options["dry_run"]:
            click.echo(f"Downloading the weights of {weights.title} …", err=True)
            folder = str(fetch_weights(weights, shows_progress=sys.stderr.isatty()))
        records.append({"name": weights.title, "library": weights.library, "folder": folder})
    return records


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and next(folder.iterdir(), None) is not None


class _Progress:
    """Progress of a download: one line that changes on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._start_time = self._last = time.monotonic()
        self._stage = ""
        self._first = 0

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and self._stage:
            click.echo("", err=True)

    def __call__(self, step: "DownloadProgress") -> None:
        """Tells of one step, if the last one was told long enough ago."""
        now = time.monotonic()
        if step.stage != self._stage:
            self._stage, self._start_time, self._first = step.stage, now, step.progress
        elif now - self._last < (_SECONDS_BETWEEN_UPDATES if self._is_terminal else _SECONDS_BETWEEN_LINES):
            return
        self._last = now
        speed = (step.progress - self._first) / max(now - self._start_time, 1e-3)
        share = f" of {step.total / _MEGABYTE:,.1f}" if step.total else ""
        text = f"{step.stage:<9}{step.progress / _MEGABYTE:>10,.1f}{share} MB, {speed / _MEGABYTE:,.1f} MB/s"
        click.echo(f"\r{text:<60}" if self._is_terminal else text, err=True, nl=not self._is_terminal)
