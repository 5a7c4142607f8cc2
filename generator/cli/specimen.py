"""The verb `specimen`: a miniature synthetic copy of a competition's data."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.options import (
    competition_argument,
    data_option,
    json_option,
    output_option,
    to_option,
    workspace_option,
)
from generator.cli.table import table
from generator.cli.terminal import warn
from generator.installation import PackageMissingError
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.competition.facts import Task
    from generator.competition.specimen import SpecimenSummary
    from generator.competition.survey.facts import Survey

_USUAL_ROWS, _FEWEST_ROWS, _MOST_ROWS = 96, 12, 20_000
_USUAL_SEED = 1


@click.command()
@competition_argument
@data_option(default="input/competitions/COMPETITION")
@to_option("Which Kaggle to ask where the files are not here: kaggle by default, or the one of `tandem serve`.")
@click.option(
    "--rows",
    type=click.IntRange(_FEWEST_ROWS, _MOST_ROWS),
    default=_USUAL_ROWS,
    metavar="N",
    help=f"How many training rows, {_USUAL_ROWS} by default; more where a few of every class need them.",
)
@click.option("--seed", type=int, default=_USUAL_SEED, metavar="N", help="The same seed gives the same bytes.")
@click.option(
    "--signal/--no-signal", default=True, help="Whether the labels can be learned from the inputs; they can by default."
)
@output_option(metavar="DIR", default="input/specimens/COMPETITION")
@click.option("--force", is_flag=True, help="Replace the specimen that is there; anything else never is.")
@workspace_option
@json_option
def specimen(**options: Any) -> int:
    """Write a miniature synthetic copy of a competition's data to input/specimens/COMPETITION.

    It has the files, columns, formats, ids, distributions and labels of the real data, and no row, text, picture or
    sound of it: a pair of notebooks can be rehearsed on it in a few minutes. Scores on it mean nothing. Where the
    files are not here, Kaggle's API is asked for their names and sizes and for pieces of some: nothing is downloaded.

    \b
    tandem specimen titanic
    tandem specimen birdclef --data /mnt/birdclef --rows 200
    """  # noqa: D301 - click wants the character itself
    from generator.cli.kaggle_facts import KaggleFactSource
    from generator.pair.choices import decisions
    from generator.pair.folder import pair_folder, read_choices
    from generator.pair.kept_description import kept_description
    from generator.pair.packed_data import unpack_if_packed
    from generator.pair.proposal import propose
    from generator.pair.sources import look

    workspace, slug = options["workspace"], options["competition"]
    # What the user decided for the pair, such as another id column, is true of its specimen as well.
    pair = pair_folder(workspace, slug)
    decided = decisions(read_choices(pair), flags={}, task_flags={})
    known = look(
        slug,
        mounted=workspace.competition_data(slug),
        data=unpack_if_packed(slug, options["data"], workspace, tell=partial(click.echo, err=True)),
        ask=KaggleFactSource(options["to"]),
        known=kept_description(pair, slug),
    )
    proposal = propose(known, decisions=decided)
    for warning in proposal.warnings:
        warn(warning)
    folder = options["output"] or workspace.specimen(slug)
    click.echo(f"Writing a specimen of {printable(slug)} …", err=True)
    summary = (
        _of_built_in(slug, proposal.task, folder, options)
        if known.survey is None
        else _of_survey(known.survey, proposal.task, folder, options)
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
        raise PackageMissingError(what="Made-up pictures are drawn by", package=error.name or "numpy") from error


def _as_text(summary: "SpecimenSummary") -> str:
    rows = [[path, f"{count:,} rows"] for path, count in summary.rows.items()]
    in_tables = {path.rpartition("/")[0] for path in summary.rows}
    for path, count in summary.files.items():
        others = count - sum(known.rpartition("/")[0] == path for known in summary.rows)
        if others or path not in in_tables:
            rows.append([f"{path}/" if path else "beside them", f"{others:,} files"])
    lines = [table(["file or folder", "content"], rows), ""]
    lines += [f"Note: {printable(note)}" for note in summary.notes]
    return "\n".join([*lines, f"Made-up data, marked by SPECIMEN.json, in {printable(str(summary.folder))}"])


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
