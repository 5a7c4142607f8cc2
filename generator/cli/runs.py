"""The verb `runs`: every full run of the workspace, compared, noted, removed and exported."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import click

from generator.cli.options import complete_pair, pair_argument, pair_names, shortest, workspace_option
from generator.cli.terminal import is_interactive, json_option, print_document, table, warn
from generator.files import WorkspaceFiles
from generator.pair.workspace import Workspace
from generator.run.ledger import (
    RunRecord,
    change_run,
    no_runs_error,
    prunable_runs,
    read_runs,
    recorded_pairs,
    remove_runs,
    resolve_run,
    sort_runs,
)
from generator.run.run_comparison import changed_parameters, changes_between, changes_since_parent, diff_of_cells
from generator.text import Value, duration, printable, python_literal, score_in_words

_REFERENCES = "PAIR [NUMBER] …"
_MOST_KEPT = 10
_RUN_NUMBER = re.compile("[0-9]+")
_PLAIN_NOTE = re.compile(r"[\w ,.;:+=-]{1,100}")  # that every shell takes as it is between quotes


class RunFields(TypedDict):
    """A run, with the fields of its run.json.

    Attributes:
        schema_version: The version of run.json.
        name: The name of the run, such as titanic@7.
        spread: The standard deviation of the scores of the folds; null with fewer than two.
        changes: What changed since its parent, in words.
    """

    schema_version: Literal[1]
    name: str
    spread: float | None
    changes: list[str]


class RunList(TypedDict):
    """The runs of some pairs, or of all.

    Attributes:
        schema_version: The version of this document.
        runs: The runs, the best first.
        warnings: The records that cannot be used, in sentences.
    """

    schema_version: Literal[1]
    runs: list[Annotated[dict[str, Any], RunRecord, RunFields]]
    warnings: list[str]


class ParameterFields(TypedDict):
    """A parameter that differs between two runs.

    Attributes:
        name: Its name.
        notebooks: The notebooks in which it differs: train, infer.
        values: The value of each run; null where a run has no such parameter.
    """

    name: str
    notebooks: list[str]
    values: list[Value | None]


class VersionFields(TypedDict):
    """A package whose version differs between two runs.

    Attributes:
        name: Its name.
        values: The version of each run; empty where a run has none.
    """

    name: str
    values: list[str]


class ScorePair(TypedDict):
    """A score of two runs, whether it differs or not.

    Attributes:
        name: The score: cv, hidden_test, public_score, private_score, or that of a fold, such as fold_0.
        values: The score of each run; null where a run has none.
    """

    name: str
    values: list[float | None]


class RunDifference(TypedDict):
    """What differs between two runs.

    Attributes:
        schema_version: The version of this document.
        runs: The names of the runs.
        scores: The scores that either run has.
        changes: What changed, in words.
        parameters: The parameters that differ.
        versions: The packages whose versions differ.
        cells: A unified diff of the code cells that differ, by lines.
    """

    schema_version: Literal[1]
    runs: list[str]
    scores: list[ScorePair]
    changes: list[str]
    parameters: list[ParameterFields]
    versions: list[VersionFields]
    cells: list[str]


class RunsGroup(click.Group):
    """A group whose first command is meant where none is named: `tandem runs titanic` lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts `list` in front of arguments that name no command."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=RunsGroup)
def runs() -> None:
    """Compare the full runs of pairs: scores, and what changed between them. `tandem runs` alone lists all runs.

    Each full run is kept in output/PAIR/runs/NUMBER: notebooks, predictions, submission, report. A run is named
    PAIR@NUMBER, such as titanic@7. Smoke runs and runs on a specimen are not kept.

    \b
    tandem runs
    tandem runs titanic --html
    tandem runs diff titanic 5 7
    tandem runs note titanic 7 "smaller model"
    """  # noqa: D301 - click wants the character itself


@runs.command("list")
@click.argument("pairs", nargs=-1, callback=pair_names, shell_complete=complete_pair)
@click.option("--html", "as_html", is_flag=True, help="Write a page with pictures.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the page to this file. Default: output/runs.html.",
)
@workspace_option
@json_option(RunList)
def list_runs(pairs: Sequence[str], workspace: Workspace, output: Path | None, *, as_html: bool, as_json: bool) -> int:
    """List runs, the best first: of some pairs, or of all. The default command."""
    warnings: list[str] = []
    if pairs:
        records = [record for pair in pairs for record in _read(workspace, pair, warnings)]
    else:
        records = [
            record for pair in recorded_pairs(workspace) for record in read_runs(workspace, pair, warn=warnings.append)
        ]
    if as_json:
        entries = [_fields(record, records) for record in sort_runs(records)]
        print_document({"schema_version": 1, "runs": entries, "warnings": warnings})
        return 0
    for sentence in warnings:
        warn(sentence)
    if as_html or output is not None:
        from generator.run.runs_page import runs_page

        path = output.absolute() if output else workspace.root / "output" / "runs.html"
        files = WorkspaceFiles(path.parent) if output else workspace.files
        files.write(path, runs_page(workspace, sort_runs(records)).encode("utf-8", "replace"))
        click.echo(printable(shortest(path)))
        return 0
    if not records and not warnings:
        click.echo("There are no runs yet. `tandem run PAIR` makes one.")
    competitions = list(dict.fromkeys(record.competition for record in records))
    for competition in competitions:
        if len(competitions) > 1:
            click.echo(f"{printable(competition)}:")
        click.echo(_table([record for record in records if record.competition == competition]))
    return 0


def _read(workspace: Workspace, pair: str, warnings: list[str]) -> tuple[RunRecord, ...]:
    """The runs of a pair that somebody named, which are not none."""
    name, at, number = pair.partition("@")
    if at:
        raise click.UsageError(
            f"Name a pair here, such as {printable(name)}, without @{printable(number)}. "
            "`tandem runs diff`, `tandem runs note` and `tandem blend` take PAIR@NUMBER."
        )
    damages: list[str] = []
    records = read_runs(workspace, pair, warn=damages.append)
    if not records and not damages:
        raise no_runs_error(workspace, pair)
    warnings += damages
    return records


def _fields(record: RunRecord, records: Sequence[RunRecord]) -> dict[str, Any]:
    return {
        **record.as_json(),
        "name": record.name,
        "spread": record.spread,
        "changes": changes_since_parent(record, records),
    }


def _table(records: Sequence[RunRecord]) -> str:
    """A table of the runs of a competition; columns that are empty for all are left out."""
    ranking = sort_runs(records)
    columns = {
        "run": [record.name for record in ranking],
        "created": [f"{record.created.astimezone():%Y-%m-%d %H:%M}" for record in ranking],
        "CV": [score_in_words(record.metric, record.cv, record.spread) for record in ranking],
        "hidden test": [_number(record.hidden_test) for record in ranking],
        "public": [_number(record.public_score) for record in ranking],
        "private": [_number(record.private_score) for record in ranking],
        "time": [duration(seconds) if (seconds := sum(record.seconds.values())) else "" for record in ranking],
        "where": [str(record.origin) if record.origin != "local" else "" for record in ranking],
        "changed": ["; ".join(changes_since_parent(record, records)) for record in ranking],
        "note": [record.note for record in ranking],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return table(tuple(columns), list(zip(*columns.values(), strict=True)))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


@runs.command("diff")
@click.argument("references", nargs=-1, required=True, metavar=_REFERENCES)
@workspace_option
@json_option(RunDifference)
def diff_runs(references: Sequence[str], workspace: Workspace, *, as_json: bool) -> int:
    """Show what differs between two runs: scores, parameters, versions, and the code of cells.

    With one run, the run before it is the other one. A pair without a number is its newest run.

    \b
    tandem runs diff titanic 5 7
    tandem runs diff titanic@5 titanic-jax@2
    tandem runs diff titanic titanic-jax
    tandem runs diff titanic
    """  # noqa: D301 - click wants the character itself
    before, after = _two_runs(workspace, references)
    changes, cells = changed_parameters(before, after), list(diff_of_cells(workspace, before, after))
    names = dict.fromkeys([*before.versions, *after.versions])
    versions = [
        (name, before.versions.get(name, ""), after.versions.get(name, ""))
        for name in names
        if before.versions.get(name) != after.versions.get(name)
    ]
    if as_json:
        fields = {
            "schema_version": 1,
            "runs": [before.name, after.name],
            "scores": [{"name": name, "values": values} for name, *values in _scores(before, after)],
            "changes": changes_between(before, after),
            "parameters": [
                {"name": change.name, "notebooks": [*map(str, change.roles)], "values": [change.before, change.after]}
                for change in changes
            ],
            "versions": [{"name": name, "values": values} for name, *values in versions],
            "cells": cells,
        }
        print_document(fields)
        return 0
    score_rows = [("CV", *(score_in_words(record.metric, record.cv, record.spread) for record in (before, after)))]
    score_rows += [
        (name.removesuffix("_score").replace("_", " "), _number(old), _number(new))
        for name, old, new in _scores(before, after)
        if name != "cv"
    ]
    rows = [
        (f"{change.name} ({', '.join(change.roles)})", _literal(change.before), _literal(change.after))
        for change in changes
    ]
    rows += versions
    labels = {
        "competition": "competition",
        "framework": "framework",
        "origin": "where",
        "accelerator": "accelerator",
        "data_sha256": "data",
        "folds_sha256": "folds",
        "git_commit": "git commit",
    }
    for name, label in labels.items():
        old, new = (str(getattr(record, name) or "") for record in (before, after))
        length = 12 if name.endswith(("_sha256", "_commit")) else None
        rows += [(label, old[:length], new[:length])] if old != new else []
    click.echo(table(("", before.name, after.name), [*score_rows, *rows]))
    if not rows and not cells:
        click.echo("No difference in parameters, versions, data or code.")
    for line in cells:
        click.echo(printable(line.expandtabs(4)))
    return 0


def _scores(before: RunRecord, after: RunRecord) -> list[tuple[str, float | None, float | None]]:
    """The scores that either run has: by their names in `run.json`, and by fold."""
    names = ("cv", "hidden_test", "public_score", "private_score")
    scores = [(name, getattr(before, name), getattr(after, name)) for name in names]
    folds = zip_longest(before.fold_scores, after.fold_scores)
    scores += [(f"fold_{number}", *values) for number, values in enumerate(folds)]
    return [entry for entry in scores if entry[1:] != (None, None)]


def _two_runs(workspace: Workspace, references: Sequence[str]) -> tuple[RunRecord, RunRecord]:
    records = _resolve(workspace, references)
    if len(records) == 1 and records[0].parent is None:
        raise click.UsageError(f"{records[0].name} has no run before it. Name the run to compare it with.")
    if len(records) == 1:
        return resolve_run(workspace, f"{records[0].pair}@{records[0].parent}"), records[0]
    if len(records) != 2:  # noqa: PLR2004 - a difference is between two
        raise click.UsageError("Name two runs, such as `tandem runs diff titanic 5 7` or `tandem runs diff a@5 b@7`.")
    if records[0] == records[1]:
        raise click.UsageError(f"Both runs are {records[0].name}. Name two.")
    return records[0], records[1]


def _resolve(workspace: Workspace, references: Sequence[str]) -> list[RunRecord]:
    """The runs behind words such as `titanic 5 7`, `titanic@5 digits@7` or `titanic`."""
    names: list[str] = []
    pair, is_open = "", False
    for word in references:
        if pair and _RUN_NUMBER.fullmatch(word):
            names += [f"{pair}@{word}"]
            is_open = False
            continue
        names += [pair] if is_open else []
        pair, separator, _ = word.partition("@")
        is_open = not separator
        names += [word] if separator else []
    names += [pair] if is_open else []
    return [resolve_run(workspace, name) for name in names]


def _literal(value: Any) -> str:
    return "" if value is None else python_literal(value)


@runs.command("note")
@click.argument("references", nargs=-1, required=True, metavar="PAIR [NUMBER] NOTE")
@workspace_option
def note_run(references: Sequence[str], workspace: Workspace) -> int:
    """Write a note to a run, the newest by default. An empty note removes it.

    \b
    tandem runs note titanic 7 "smaller model"
    """  # noqa: D301 - click wants the character itself
    name, *words = references
    if "@" not in name and words and _RUN_NUMBER.fullmatch(words[0]):
        name = f"{name}@{words.pop(0)}"
    if not words:
        example = f'`tandem runs note {printable(name)} "smaller model"`'
        raise click.UsageError(f"There is no note. Write it behind the run: {example}.")
    if len(words) > 1:
        note = " ".join(words)
        example = f'"{note}"' if _PLAIN_NOTE.fullmatch(note) else '"NOTE"'
        raise click.UsageError(f"Put the note in quotes: `tandem runs note {printable(name)} {example}`.")
    record = resolve_run(workspace, name)
    earlier_note = record.note
    record = change_run(workspace, record, note=" ".join(words[0].split()))
    click.echo(f"{record.name}: {printable(record.note) or 'no note'}")
    if earlier_note not in ("", record.note):
        click.echo(f"The note before was: {printable(earlier_note)}")
    return 0


@runs.command("prune")
@pair_argument
@click.option(
    "--keep", type=click.IntRange(min=1), default=_MOST_KEPT, show_default=True, metavar="N", help="How many runs stay."
)
@click.option("--yes", is_flag=True, help="Remove them without a question.")
@workspace_option
@click.pass_context
def prune(context: click.Context, /, pair: str, workspace: Workspace, *, keep: int, yes: bool) -> int:
    """Remove the worst runs of a pair: never the best, the newest, or one that a blend names."""
    warnings: list[str] = []
    records = _read(workspace, pair, warnings)
    for sentence in warnings:
        warn(sentence)
    candidates = prunable_runs(workspace, records, keep=keep)
    if not candidates:
        click.echo(f"Nothing to remove: {printable(pair)} has {len(records)} runs.")
        return 0
    numbers = ", ".join(str(record.number) for record in sorted(candidates, key=lambda record: record.number))
    subject = f"run{'s' * (len(candidates) > 1)} {numbers} of {printable(pair)}"
    if not yes:
        if not is_interactive():
            context.fail(f"This would remove {subject}. To remove without a question, add --yes.")
        click.confirm(f"Remove {subject}?", abort=True, err=True)
    remove_runs(workspace, candidates)
    click.echo(f"Removed {subject}.")
    return 0


@runs.command("export")
@click.argument("pairs", nargs=-1, required=True, callback=pair_names, shell_complete=complete_pair)
@click.option("--mlflow", metavar="URI", help="The tracking URI of MLflow, such as http://127.0.0.1:5000.")
@click.option(
    "--wandb",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder for offline runs of Weights & Biases. `wandb sync` sends them.",
)
@workspace_option
@click.pass_context
def export(
    context: click.Context, /, pairs: Sequence[str], workspace: Workspace, *, mlflow: str | None, wandb: Path | None
) -> int:
    """Export the runs of pairs to MLflow, or to Weights & Biases offline. A run is exported once.

    \b
    tandem runs export titanic --mlflow http://127.0.0.1:5000
    tandem runs export titanic --wandb .
    """  # noqa: D301 - click wants the character itself
    if mlflow is None and wandb is None:
        context.fail("Say where to: --mlflow URI, --wandb DIR, or both.")
    from generator.run.sinks import export_to_mlflow, export_to_wandb

    warnings: list[str] = []
    records = [record for pair in pairs for record in _read(workspace, pair, warnings)]
    for sentence in warnings:
        warn(sentence)
    if mlflow is not None:
        count = len(export_to_mlflow(workspace, records, address=mlflow))
        click.echo(f"MLflow: {count} new runs of {len(records)}.")
    if wandb is not None:
        count = len(export_to_wandb(records, folder=wandb))
        click.echo(f"Weights & Biases: {count} new runs of {len(records)}, in {printable(shortest(wandb / 'wandb'))}.")
    return 0
