"""The verb `specimen`: a miniature synthetic copy of a competition's data."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.kaggle import fact_source
from generator.cli.options import (
    competition_argument,
    data_option,
    output_option,
    to_option,
    workspace_option,
)
from generator.cli.terminal import json_option, print_document, table, warn
from generator.kit_files import PackageMissingError
from generator.text import printable

if TYPE_CHECKING:
    from generator.competition.specimen import SpecimenSummary
    from generator.pair.proposal import Proposal

_USUAL_ROWS, _FEWEST_ROWS, _MOST_ROWS = 96, 12, 20_000
_USUAL_SEED = 1


class SpecimenReport(TypedDict):
    """A specimen that was written.

    Attributes:
        schema_version: The version of this document.
        specimen: Its folder.
        seed: The random seed.
        signal: Whether a model can learn its labels.
        tables: The rows of each table by path.
        files: How many files there are in each folder.
        notes: What differs from the real data.
    """

    schema_version: Literal[1]
    specimen: str
    seed: int
    signal: bool
    tables: dict[str, int]
    files: dict[str, int]
    notes: list[str]


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
@json_option(SpecimenReport)
def specimen(**options: Any) -> int:
    """Write a small synthetic copy of a competition's data (a specimen) to input/specimens/COMPETITION.

    The copy has the same files, columns, formats, kinds of ids, distributions and labels as the real data, but no real
    row, text, image or sound. A pair of notebooks runs on it in a few minutes. Scores on it mean nothing. If the files
    are not on this machine, only their names, their sizes and parts of some files are read through Kaggle's API.

    \b
    tandem specimen titanic
    tandem specimen birdclef --data /mnt/birdclef --rows 200
    """  # noqa: D301 - click wants the character itself
    from generator.pair.generation import propose_task
    from generator.pair.workspace import unpack_if_packed

    workspace, slug = options["workspace"], options["competition"]
    data = partial(unpack_if_packed, slug, options["data"], workspace, tell=partial(click.echo, err=True))
    proposal = propose_task(workspace, slug, data=data, ask=fact_source(options["to"]))
    for warning in proposal.warnings:
        warn(warning)
    folder = options["output"] or workspace.specimen(slug)
    click.echo(f"Writing a specimen of {printable(slug)} …", err=True)
    summary = _write(proposal, folder, options)
    if options["as_json"]:
        print_document(_report(summary, options))
    else:
        click.echo(_as_text(summary))
    return 0


def _write(proposal: "Proposal", folder: Path, options: Mapping[str, Any]) -> "SpecimenSummary":
    from generator.competition.specimen import write_built_in_specimen, write_specimen

    survey, task = proposal.facts.survey, proposal.task
    fields = {
        "rows": options["rows"],
        "seed": options["seed"],
        "signal": options["signal"],
        "replace": options["force"],
        "files": None if options["output"] else options["workspace"].files,
    }
    try:
        if survey is None:
            return write_built_in_specimen(options["competition"], task, folder, **fields)
        return write_specimen(survey, task, folder, **fields)
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


def _report(summary: "SpecimenSummary", options: Mapping[str, Any]) -> SpecimenReport:
    return {
        "schema_version": 1,
        "specimen": str(summary.folder),
        "seed": options["seed"],
        "signal": options["signal"],
        "tables": dict(summary.rows),
        "files": dict(summary.files),
        "notes": list(summary.notes),
    }
