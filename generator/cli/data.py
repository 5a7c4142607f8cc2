"""The verb `data`: a competition's files, downloaded to where the notebooks look for them."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.kaggle_facts import connected
from generator.cli.options import competition_argument, json_option, to_option, workspace_option
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.kaggle.data_download import Step

_MEGABYTE = 1e6
_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.2


@click.command()
@competition_argument
@to_option("Which Kaggle to download from: kaggle by default, or the one of `tandem serve`.")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Say what would be downloaded, and download nothing.")
@json_option
def data(**options: Any) -> int:
    """Download a competition's data to input/competitions/COMPETITION, as Kaggle mounts them.

    Every size is checked, and the folder appears when all of it is there. A download that was interrupted goes on where
    it stopped when the command is run again.

    \b
    tandem data titanic
    tandem data titanic --dry-run
    """  # noqa: D301 - click wants the character itself
    from generator.competition import builtin
    from generator.pair.mounted_data import ensure_data
    from generator.pair.sources import check_name

    workspace, slug = options["workspace"], options["competition"]
    check_name(slug)
    folder = workspace.competition_data(slug)
    built_in = builtin.find(slug)
    if built_in is not None and options["to"] != "local":
        if not options["dry_run"]:
            ensure_data(built_in, workspace)
        return _report({"built_in": True}, folder, options)
    kaggle = connected(options["to"])
    if options["dry_run"]:
        from generator.kaggle.api_types import total_size

        files = kaggle.competition_files(slug)
        return _report({"files": len(files), "size": total_size(files)}, folder, options)
    from generator.kaggle.data_download import download_data

    click.echo(f"Listing the files of {printable(slug)} …", err=True)
    with _Progress() as progress:
        done = download_data(kaggle, slug, folder, workspace.files, tell=progress)
    return _report({"files": done.files, "size": done.size, "was_there": done.was_there}, done.folder, options)


def _report(facts: dict[str, Any], folder: Path, options: dict[str, Any]) -> int:
    if options["as_json"]:
        click.echo(json.dumps({"folder": str(folder), "dry_run": options["dry_run"], **facts}, indent=2))
        return 0
    amount = "Files of the kit's own"
    if "files" in facts:
        amount = f"{facts['files']:,} files, {facts['size'] / _MEGABYTE:,.1f} MB"
    verb = "would be in" if options["dry_run"] else "are in"
    already = " already" if facts.get("was_there") else ""
    click.echo(f"{amount}, {verb} {printable(str(folder))}{already}.")
    return 0


class _Progress:
    """Progress of a download: one line that changes on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._started = self._last = time.monotonic()
        self._stage = ""
        self._first = 0

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and self._stage:
            click.echo("", err=True)

    def __call__(self, step: "Step") -> None:
        """Tells of one step, if the last one was told long enough ago."""
        now = time.monotonic()
        if step.stage != self._stage:
            self._stage, self._started, self._first = step.stage, now, step.done
        elif now - self._last < (_SECONDS_BETWEEN_UPDATES if self._is_terminal else _SECONDS_BETWEEN_LINES):
            return
        self._last = now
        speed = (step.done - self._first) / max(now - self._started, 1e-3)
        share = f" of {step.total / _MEGABYTE:,.1f}" if step.total else ""
        text = f"{step.stage:<9}{step.done / _MEGABYTE:>10,.1f}{share} MB, {speed / _MEGABYTE:,.1f} MB/s"
        click.echo(f"\r{text:<60}" if self._is_terminal else text, err=True, nl=not self._is_terminal)
