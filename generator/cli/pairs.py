"""The verb `list`: the pairs and blends of a workspace, and how far each has come."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar

import click

from generator.cli.options import workspace_option
from generator.cli.terminal import json_option, print_document, table, warn
from generator.errors import TandemError
from generator.pair.folder import read_pair_spec
from generator.pair.notebook import differing
from generator.pair.update import Edit, find_edits
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.ledger import RunRecord, is_folded_conflict, read_runs, sort_runs
from generator.run.run_comparison import is_notebook_edited
from generator.text import printable, score_in_words

if TYPE_CHECKING:
    from generator.kaggle.chain import ChainState

_Value = TypeVar("_Value")


class RunSummary(TypedDict):
    """A run of a pair.

    Attributes:
        number: Its number.
        created: When it was recorded.
        metric: The metric.
        cv: The out-of-fold score; null without one.
        spread: The standard deviation of the scores of the folds; null with fewer than two.
        is_stale: True if code cells of the notebooks were edited since; parameters and conflicts do not count.
    """

    number: int
    created: str
    metric: str
    cv: float | None
    spread: float | None
    is_stale: bool


class ChainSummary(TypedDict):
    """The newest chain (push) of a pair.

    Attributes:
        number: Its number.
        target: The Kaggle that it was pushed to: kaggle or local.
        outcome: How far it has come.
        public_score: The score on the public leaderboard; null without one.
        private_score: The score on the private leaderboard; null without one.
    """

    number: int
    target: str
    outcome: str
    public_score: float | None
    private_score: float | None


class PairFields(TypedDict):
    """A pair of the workspace, or a blend of pairs.

    Attributes:
        name: Its name.
        competition: The competition's slug; empty if pair.toml cannot be read, as are family and framework.
        family: The family of the task.
        framework: The framework; blend for a blend.
        members: The members of a blend; none for a pair.
        edits: The cells and fields that somebody edited, as FILE: NAME.
        conflicts: The folded cells with the other text of an edit that is in conflict, as FILE: NAME.
        differences: The ids of the cells that should be the same in both notebooks, and are not.
        last_run: The newest full run; null without one.
        best_run: The run with the best out-of-fold score; null without one.
        chain: The newest chain; null without one.
        errors: What of this pair cannot be read, in sentences.
    """

    name: str
    competition: str
    family: str
    framework: str
    members: list[str]
    edits: list[str]
    conflicts: list[str]
    differences: list[str]
    last_run: RunSummary | None
    best_run: RunSummary | None
    chain: ChainSummary | None
    errors: list[str]


class PairList(TypedDict):
    """The pairs of a workspace.

    Attributes:
        schema_version: The version of this document.
        pairs: The pairs and blends, by name.
    """

    schema_version: Literal[1]
    pairs: list[PairFields]


@click.command("list")
@workspace_option
@json_option(PairList)
def list_pairs(workspace: Workspace, *, as_json: bool) -> int:
    """List the pairs and blends of the workspace: edits, last run and its CV, last push and its score.

    `tandem generate --list` lists the built-in competitions, families and frameworks.

    \b
    tandem list
    """  # noqa: D301 - click wants the character itself
    pairs = [_pair_fields(workspace, folder) for folder in workspace.pairs()]
    if as_json:
        print_document({"schema_version": 1, "pairs": pairs})
        return 0
    for fields in pairs:
        for sentence in fields["errors"]:
            warn(sentence)
    click.echo(_table(pairs) if pairs else "There are no pairs yet. `tandem generate --competition NAME` writes one.")
    return 0


def _pair_fields(workspace: Workspace, folder: PairFolder) -> PairFields:
    errors: list[str] = []

    def read(reader: Callable[[], _Value], default: _Value) -> _Value:
        """Return what a reader returns; its error becomes a sentence, so that the other pairs are listed."""
        try:
            return reader()
        except (TandemError, OSError) as error:
            sentence = f"{printable(folder.name)}: {printable(str(error))}"
            errors.extend([] if sentence in errors else [sentence])
            return default

    def differences() -> list[str]:
        return differing({path: path.read_text("utf-8", "replace") for path in map(folder.notebook, Role)})

    edits: dict[str, bool] = read(
        lambda: {f"{edit.path.as_posix()}: {edit.name}": _is_conflict(edit) for edit in find_edits(folder)}, {}
    )
    spec = read(lambda: read_pair_spec(folder), None)
    no_runs: tuple[RunRecord, ...] = ()
    runs = read(lambda: read_runs(workspace, folder.name, warn=errors.append), no_runs)
    best = sort_runs([record for record in runs if record.cv is not None])[:1]
    return {
        "name": folder.name,
        "competition": spec.competition.slug if spec else "",
        "family": spec.family if spec else "",
        "framework": spec.framework if spec else "",
        "members": [member.name for member in spec.members] if spec else [],
        "edits": [place for place, is_conflict in edits.items() if not is_conflict],
        "conflicts": [place for place, is_conflict in edits.items() if is_conflict],
        "differences": read(differences, []) if spec and spec.framework != "blend" else [],
        "last_run": _run_summary(folder, runs[-1]) if runs else None,
        "best_run": _run_summary(folder, best[0]) if best else None,
        "chain": read(lambda: _chain_summary(workspace, folder.name), None),
        "errors": errors,
    }


def _is_conflict(edit: Edit) -> bool:
    """True if a cell is what an update put below an edit that is in conflict."""
    return edit.before is None and is_folded_conflict(edit.name, edit.after or "")


def _run_summary(folder: PairFolder, record: RunRecord) -> RunSummary:
    is_stale = False
    with suppress(TandemError, OSError):  # of a notebook, which the reader of its edits tells of
        is_stale = is_notebook_edited(folder, record)
    return {
        "number": record.number,
        "created": record.created.isoformat(timespec="seconds"),
        "metric": record.metric,
        "cv": record.cv,
        "spread": record.spread,
        "is_stale": is_stale,
    }


def _chain_summary(workspace: Workspace, pair: str) -> ChainSummary | None:
    from generator.kaggle.chain import chains_of, state_in

    journals = chains_of(workspace, pair)
    if not journals:
        return None
    state: ChainState = state_in(journals[-1])
    return {
        "number": journals[-1].number,
        "target": state.setup.target if state.setup else "",
        "outcome": str(state.outcome),
        "public_score": state.score.public if state.score else None,
        "private_score": state.score.private if state.score else None,
    }


def _table(pairs: list[PairFields]) -> str:
    """A table of the pairs; columns that are empty for all are left out."""
    columns = {
        "pair": [fields["name"] for fields in pairs],
        "competition": [fields["competition"] for fields in pairs],
        "family": [fields["family"] for fields in pairs],
        "framework": [fields["framework"] for fields in pairs],
        "members": [", ".join(fields["members"]) for fields in pairs],
        "edits": [_edits_text(fields) for fields in pairs],
        "last run": [_run_text(fields["last_run"]) for fields in pairs],
        "best run": [_run_text(fields["best_run"]) for fields in pairs],
        "last push": [_chain_text(fields["chain"]) for fields in pairs],
    }
    if columns["best run"] == columns["last run"]:
        del columns["best run"]
    columns["last run"] = [
        f"{cell}, notebook edited since" if (summary := fields["last_run"]) and summary["is_stale"] else cell
        for cell, fields in zip(columns["last run"], pairs, strict=True)
    ]
    columns = {name: [printable(cell) for cell in cells] for name, cells in columns.items() if any(cells)}
    return table(tuple(columns), list(zip(*columns.values(), strict=True)))


def _edits_text(fields: PairFields) -> str:
    """The number of edits in each notebook, of conflicts, and a word for cells that differ between the two."""
    counts = [
        f"{sum(Path(edit.partition(': ')[0]).parts[:1] == (role,) for edit in fields['edits'])} in {role}"
        for role in Role
    ]
    texts = [count for count in counts if not count.startswith("0 ")]
    if fields["conflicts"]:
        texts.append(f"{len(fields['conflicts'])} conflict{'s' * (len(fields['conflicts']) > 1)}")
    texts += [f"{', '.join(fields['differences'])} differs between the notebooks"] if fields["differences"] else []
    return "; ".join(texts)


def _run_text(summary: RunSummary | None) -> str:
    if summary is None:
        return ""
    return f"@{summary['number']} {score_in_words(summary['metric'], summary['cv'], summary['spread'])}".rstrip()


def _chain_text(chain: ChainSummary | None) -> str:
    if chain is None:
        return ""
    scores = (("public", chain["public_score"]), ("private", chain["private_score"]))
    texts = [f"{name} {score:.5f}" for name, score in scores if score is not None]
    return f"{chain['target']}: {', '.join([chain['outcome'], *texts])}"
