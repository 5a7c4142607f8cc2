"""The verbs `data` and `specimen`: a competition's files, downloaded or made up."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.generate import KaggleFactSource, connect_kaggle
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    competition_argument,
    data_option,
    json_option,
    output_option,
    to_option,
    workspace_option,
)
from generator.cli.terminal import table, warn
from generator.errors import TandemError
from generator.kit_files import PackageMissingError
from generator.pair.workspace import Role, Workspace
from generator.text import printable

if TYPE_CHECKING:
    from generator.competition.facts import Task
    from generator.competition.specimen import SpecimenSummary
    from generator.competition.survey.facts import Survey
    from generator.kaggle.competition_data import DownloadProgress
    from generator.run.input_mounts import PretrainedWeights


_MEGABYTE = 1e6
_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.2


@click.command(cls=KnobCommand)
@competition_argument
@to_option("Which Kaggle to download from: the real one (default) or the local one of `tandem serve`.")
@assignments_option("Set a parameter of the training, such as BACKBONE=MobileNetV2, to download what it needs.")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Show what would be downloaded, but download nothing.")
@json_option
def data(**options: Any) -> int:
    """Download a competition's data to input/competitions/COMPETITION, with the same layout as on Kaggle.

    The size of every file is checked, and the folder appears when the download is complete. To resume an interrupted
    download, run the command again. The datasets, models and pretrained weights that the competition's pairs use are
    downloaded too. Pretrained weights of a backbone go to the cache of their library.

    \b
    tandem data titanic
    tandem data titanic --dry-run
    """  # noqa: D301 - click wants the character itself
    from generator.pair.proposal import check_name

    slug = options["competition"]
    check_name(slug)
    pairs = _pairs_of(slug, options["workspace"], options["assignments"])
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
        report = {"folder": str(folder), "dry_run": options["dry_run"], **facts, "sources": sources, "weights": weights}
        click.echo(json.dumps(report, indent=2))
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


@dataclass(frozen=True)
class _Needs:
    """What the training of a pair takes beside the competition's files."""

    sources: tuple[tuple[str, str, str], ...]
    weights: "PretrainedWeights | None"

    @property
    def needs_more(self) -> bool:
        return bool(self.sources or self.weights)


def _pairs_of(slug: str, workspace: Workspace, assignments: Sequence[str]) -> list[_Needs]:
    """What the pairs of a competition need; pairs that cannot be read are left out, with a warning."""
    from generator.pair.folder import read_pair_spec
    from generator.run.execution import read_notebook_parameters, set_parameters
    from generator.run.input_mounts import SOURCE_KINDS, read_sources, wanted_weights

    needs = []
    for folder in workspace.pairs():
        try:
            spec = read_pair_spec(folder)
            if slug != spec.competition.slug:
                continue
            defaults = read_notebook_parameters(folder.notebook(Role.TRAIN))
            source_names = read_sources(folder, Role.TRAIN).sources
        except TandemError as error:
            if folder.name == slug:
                warn(f"The datasets, models and weights of the pair {folder.name} are not downloaded: {error}")
            continue
        parameters = set_parameters({Role.TRAIN: defaults}, assignments, smoke=False)[Role.TRAIN]
        sources = [
            (kind.word, name, "/".join([kind.folder, *name.split("/")[: kind.mount_depth]]))
            for kind in SOURCE_KINDS
            if kind.word in ("dataset", "model")
            for name in source_names[kind]
        ]
        values = {name: parameters.value(name) for name in ("BACKBONE", "WEIGHTS", "IMAGE_SIZE")}
        needs.append(_Needs(tuple(sources), wanted_weights(spec.framework, values)))
    return needs


def _competition_files(slug: str, options: dict[str, Any]) -> dict[str, Any]:
    from generator.competition import builtin
    from generator.pair.data import ensure_data, is_reached_as_the_user_chose

    workspace = options["workspace"]
    folder = workspace.competition_data(slug)
    built_in = builtin.find(slug)
    if built_in is not None and options["to"] != "local":
        if not options["dry_run"]:
            ensure_data(built_in, workspace)
        return {"built_in": True}
    if folder.is_symlink() and _has_files(folder) and is_reached_as_the_user_chose(folder, workspace):
        return {"was_there": True}  # the user's own folder, of `generate --data`
    kaggle = connect_kaggle(options["to"])
    if options["dry_run"]:
        from generator.kaggle.api_types import total_size

        files = kaggle.competitions.list_files(slug)
        return {"files": len(files), "size": total_size(files)}
    from generator.kaggle.competition_data import download_data

    click.echo(f"Listing the files of {printable(slug)} …", err=True)
    with _Progress() as progress:
        download = download_data(kaggle, slug, folder, workspace.files, tell=progress)
    return {"files": download.files, "size": download.size, "was_there": download.was_there}


def _download_sources(pairs: Sequence[_Needs], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Downloads the datasets and models that are attached to trainings, unless they are there."""
    workspace, sources = options["workspace"], []
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


def _pretrained(pairs: Sequence[_Needs], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Fetches the weights that trainings start from into the caches of their libraries."""
    from generator.run.input_mounts import fetch_weights

    records = []
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


# The verb `specimen`: a miniature synthetic copy of a competition's data.


_USUAL_ROWS, _FEWEST_ROWS, _MOST_ROWS = 96, 12, 20_000
_USUAL_SEED = 1


@click.command()
@competition_argument
@data_option(default="input/competitions/COMPETITION")
@to_option("Which Kaggle to ask if the files are not on this machine: the real one (default) or the local one.")
@click.option(
    "--rows",
    type=click.IntRange(_FEWEST_ROWS, _MOST_ROWS),
    default=_USUAL_ROWS,
    metavar="N",
    help=f"The number of training rows. Default: {_USUAL_ROWS}, or more if there are many classes.",
)
@click.option(
    "--seed", type=int, default=_USUAL_SEED, metavar="N", help="The random seed. The same seed gives the same bytes."
)
@click.option(
    "--signal/--no-signal", default=True, help="With --no-signal, labels are random and no model can learn them."
)
@output_option(metavar="DIR", default="input/specimens/COMPETITION")
@click.option("--force", is_flag=True, help="Replace an existing specimen. Other files are never replaced.")
@workspace_option
@json_option
def specimen(**options: Any) -> int:
    """Write a small synthetic copy of a competition's data (a specimen) to input/specimens/COMPETITION.

    The copy has the same files, columns, formats, kinds of ids, distributions and labels as the real data, but no real
    row, text, image or sound. A pair of notebooks runs on it in a few minutes. Scores on it mean nothing. If the files
    are not on this machine, only their names, their sizes and parts of some files are read through Kaggle's API.

    \b
    tandem specimen titanic
    tandem specimen birdclef --data /mnt/birdclef --rows 200
    """  # noqa: D301 - click wants the character itself
    from generator.pair.data import unpack_if_packed
    from generator.pair.folder import kept_description, pair_folder, read_settings
    from generator.pair.proposal import gather_facts, infer_task

    workspace, slug = options["workspace"], options["competition"]
    # What the user decided for the pair, such as another id column, is true of its specimen as well.
    pair = pair_folder(workspace, slug)
    user_decisions = read_settings(pair).decisions({})
    facts = gather_facts(
        slug,
        mount_path=workspace.competition_data(slug),
        data=unpack_if_packed(slug, options["data"], workspace, tell=partial(click.echo, err=True)),
        ask=KaggleFactSource(options["to"]),
        old_description=kept_description(pair, slug),
    )
    proposal = infer_task(facts, decisions=user_decisions)
    for warning in proposal.warnings:
        warn(warning)
    folder = options["output"] or workspace.specimen(slug)
    click.echo(f"Writing a specimen of {printable(slug)} …", err=True)
    summary = (
        _of_built_in(slug, proposal.task, folder, options)
        if facts.survey is None
        else _of_survey(facts.survey, proposal.task, folder, options)
    )
    click.echo(_as_json(summary, options) if options["as_json"] else _as_text(summary))
    return 0


def _of_built_in(slug: str, task: "Task", folder: Path, options: Mapping[str, Any]) -> "SpecimenSummary":
    """Real files are written for the time that it takes to look at them."""
    from tempfile import TemporaryDirectory

    from generator.competition import builtin
    from generator.competition.survey import survey_folder

    with TemporaryDirectory() as place:
        builtin.require(slug).write(Path(place))
        return _of_survey(survey_folder(Path(place)), task, folder, options)


def _of_survey(survey: "Survey", task: "Task", folder: Path, options: Mapping[str, Any]) -> "SpecimenSummary":
    from generator.competition.specimen import write_specimen

    try:
        return write_specimen(
            survey,
            task,
            folder,
            rows=options["rows"],
            seed=options["seed"],
            signal=options["signal"],
            replace=options["force"],
            files=None if options["output"] else options["workspace"].files,
        )
    except ModuleNotFoundError as error:
        raise PackageMissingError(clause="Synthetic images need", package=error.name or "numpy") from error


def _as_text(summary: "SpecimenSummary") -> str:
    rows = [[path, f"{count:,} rows"] for path, count in summary.rows.items()]
    in_tables = {path.rpartition("/")[0] for path in summary.rows}
    for path, count in summary.files.items():
        file_count = count - sum(table_path.rpartition("/")[0] == path for table_path in summary.rows)
        if file_count or path not in in_tables:
            rows.append([f"{path}/" if path else "other files", f"{file_count:,} files"])
    lines = [table(["file or folder", "content"], rows), ""]
    lines += [f"Note: {printable(note)}" for note in summary.notes]
    return "\n".join([*lines, f"The synthetic data are in {printable(str(summary.folder))}, marked by SPECIMEN.json."])


def _as_json(summary: "SpecimenSummary", options: Mapping[str, Any]) -> str:
    report = {
        "specimen": str(summary.folder),
        "seed": options["seed"],
        "signal": options["signal"],
        "tables": dict(summary.rows),
        "files": dict(summary.files),
        "notes": list(summary.notes),
    }
    return json.dumps(report, indent=2)
