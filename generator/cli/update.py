"""The verbs `update`, `diff` and `undo`: the edits in a pair and the changes of its templates, cell by cell."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.options import Option, pair_argument, to_option, workspace_option
from generator.cli.terminal import complain, json_option, print_document, table, warn
from generator.pair.folder import WritePlan, base_of, existing_pair, undo_write, write_pair
from generator.pair.merge import TEMPLATE, MergeOutcome
from generator.pair.workspace import PairFolder, Role
from generator.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from generator.pair.update import Edit


_MOST_LINES = 1_000  # of a diff of one cell


class ChangeFields(TypedDict):
    """A cell of a notebook or a field of metadata that differs from the template's.

    Attributes:
        file: The file, by its path in the folder of the pair.
        name: The id of the cell, or the name of the field; empty for all cells.
        result: What the merge did with it.
        reason: One clause on it; may be empty.
    """

    file: str
    name: str
    result: MergeOutcome
    reason: str


class MergeFields(TypedDict):
    """What a merge did.

    Attributes:
        files: The state of each file of the pair, by its path in the folder.
        changes: The cells and fields that the user or the template changed.
        conflicts: The number of conflicts between the two.
    """

    files: dict[str, Literal["written", "unchanged"]]
    changes: list[ChangeFields]
    conflicts: int


class UpdateReport(MergeFields):
    """A pair whose notebooks were merged with what the templates write now.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        dry_run: Whether nothing was written.
    """

    schema_version: Literal[1]
    pair: str
    dry_run: bool


class EditFields(TypedDict):
    """A cell or a field that somebody edited.

    Attributes:
        path: The file, by its path in the folder of the pair.
        name: The id of the cell, or the name of the field.
        before: The text as it was rendered; null for a new cell.
        after: The text now; null for a cell that was removed.
    """

    path: str
    name: str
    before: str | None
    after: str | None


class EditsReport(TypedDict):
    """The edits in a pair.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        edits: The cells and fields that differ from the rendered ones.
    """

    schema_version: Literal[1]
    pair: str
    edits: list[EditFields]


class UndoReport(TypedDict):
    """The files that were restored.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        restored: The paths of the files; none if the previous ones were the same.
    """

    schema_version: Literal[1]
    pair: str
    restored: list[str]


def role_option(text: str = "Only this notebook.") -> Option:
    """`--role`, with what is done with that notebook as its help."""
    return click.option("--role", type=click.Choice([str(role) for role in Role], case_sensitive=False), help=text)


@click.command()
@pair_argument
@click.option(
    "--share",
    "cells",
    metavar="CELL",
    multiple=True,
    help="Instead, copy the edit of a shared cell to the other notebook. Can be repeated.",
)
@role_option("With --share: the notebook whose version is right.")
@click.option("--dry-run", is_flag=True, help="Show a diff of each cell that would change, but write nothing.")
@workspace_option
@json_option(UpdateReport)
@click.pass_context
def update(context: click.Context, /, **options: Any) -> int:
    """Merge what the templates write now into a pair's notebooks, and keep your edits.

    The merge compares three versions of each cell: as rendered before, as it is, and as rendered now. Cells that you
    did not edit follow the template. Your edits stay. A cell that both changed is merged line by line, and the
    parameters cell name by name. In a conflict your version stays, the template's version is in a folded cell below
    it, and the exit code is 1. `tandem undo PAIR` restores the previous files.

    \b
    tandem update digits --dry-run
    tandem update digits
    tandem update digits --share define-model
    """  # noqa: D301 - click wants the character itself
    from generator.pair.update import plan_share, plan_update, planned_edits

    if options["role"] and not options["cells"]:
        context.fail("--role works only with --share.")
    folder = existing_pair(options["workspace"], options["pair"])
    source = Role(options["role"]) if options["role"] else None
    plan = plan_share(folder, options["cells"], source=source) if options["cells"] else plan_update(folder)
    if plan.changes and not all((folder.path / base_of(path)).is_file() for path in plan.rendering):
        warn("There is no copy of what was rendered before, so each difference from the template counts as your edit.")
    if not options["dry_run"]:
        write_pair(folder, plan)
    if options["as_json"]:
        fields = {"pair": folder.name, "dry_run": options["dry_run"], **merge_fields_of(plan)}
        print_document({"schema_version": 1, **fields})
        return conflicts_code(plan, is_dry_run=options["dry_run"])
    if options["dry_run"] and plan.stale:
        show_edits(planned_edits(plan))
    click.echo(merge_as_text(plan) or "No cell differs.")
    state = "Would be written" if options["dry_run"] else "Written"
    paths = ", ".join(str(folder.path / path) for path in plan.files if path in plan.stale)
    click.echo(f"{state}: {paths}." if plan.stale else f"{folder.path} is up to date.")
    if plan.stale and not options["dry_run"]:
        click.echo(f"To restore the previous files, run: tandem undo {folder.name}")
    return conflicts_code(plan, is_dry_run=options["dry_run"])


@click.command()
@pair_argument
@role_option()
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Compare with OWNER/NAME or OWNER/NAME/VERSION on Kaggle, or with a file (.ipynb).",
)
@click.option(
    "--run",
    "run_number",
    metavar="[N]",
    is_flag=False,
    flag_value="",
    help="Compare with the notebooks of a recorded run. Default: the last one.",
)
@to_option(default="kaggle", show_default=True)
@workspace_option
@json_option(EditsReport)
@click.pass_context
def diff(context: click.Context, /, **options: Any) -> int:
    """Show your edits: the cells and metadata of a pair that differ from the rendered ones.

    With --run or --from: the cells that differ from those of a recorded run, of a version on Kaggle, or of a file.

    \b
    tandem diff digits
    tandem diff digits --role infer
    tandem diff digits --run 3
    tandem diff digits --from ada/digits-keras-train/2
    """  # noqa: D301 - click wants the character itself
    from generator.pair.update import find_edits

    if options["source"] and options["run_number"] is not None:
        context.fail("--from and --run do not work together.")
    folder = existing_pair(options["workspace"], options["pair"])
    roles = [Role(options["role"])] if options["role"] else list(Role)
    if options["source"] or options["run_number"] is not None:
        edits = _edits_since(folder, roles, options)
    else:
        edits = find_edits(folder, roles)
    if options["as_json"]:
        fields = [{**vars(edit), "path": edit.path.as_posix()} for edit in edits]
        print_document({"schema_version": 1, "pair": folder.name, "edits": fields})
    else:
        show_edits(edits)
        if not edits:
            has_other = options["source"] or options["run_number"] is not None
            click.echo("No cell differs." if has_other else f"{folder.path} has no edits.")
    return 0


def _edits_since(folder: PairFolder, roles: "Sequence[Role]", options: Mapping[str, Any]) -> "list[Edit]":
    """The cells by which a pair differs from the notebooks of a run, from a version on Kaggle, or from a file."""
    from generator.cli.notebooks import read_source, require_role
    from generator.pair.pull import foreign_differences, read_foreign_file

    if options["source"]:
        notebook = read_source(options["source"], to=options["to"])
        role = Role(options["role"]) if options["role"] else require_role(notebook)
        return foreign_differences(folder, role, notebook)
    from generator.run.ledger import NOTEBOOKS, resolve_run, run_folder

    workspace, number = options["workspace"], options["run_number"].removeprefix(f"{folder.name}@")
    record = resolve_run(workspace, f"{folder.name}@{number}" if number else folder.name)
    paths = {role: run_folder(workspace, folder.name, record.number) / NOTEBOOKS[role] for role in roles}
    # A run may have no inference.
    existing_paths = {role: path for role, path in paths.items() if options["role"] or path.is_file()}
    return [
        edit
        for role, path in existing_paths.items()
        for edit in foreign_differences(folder, role, read_foreign_file(path))
    ]


@click.command()
@pair_argument
@workspace_option
@json_option(UndoReport)
def undo(**options: Any) -> int:
    """Restore the files of a pair from before the last `update` or `generate`. A second `undo` reverts the first.

    This concerns both notebooks, their metadata and pair.toml. Edits that you made since come back with the second
    `undo`.

    \b
    tandem undo digits
    """  # noqa: D301 - click wants the character itself
    folder = existing_pair(options["workspace"], options["pair"])
    paths = [str(folder.path / path) for path in undo_write(folder)]
    if options["as_json"]:
        print_document({"schema_version": 1, "pair": folder.name, "restored": paths})
    else:
        click.echo("\n".join(f"{path}  restored" for path in paths) or "The previous files were the same.")
    return 0


def show_edits(edits: "Sequence[Edit]") -> None:
    """Show a diff of each cell."""
    for edit in edits:
        lines = edit.diff
        rest = len(lines) - _MOST_LINES
        click.echo("\n".join([*lines[:_MOST_LINES], *([f"… {rest:,} more lines"] if rest > 0 else []), ""]))


def merge_as_text(plan: WritePlan) -> str:
    """What was done with each cell that the user or the template changed; empty if there is none."""
    rows = [
        [path.as_posix(), printable(change.name) or "all cells", str(change.outcome), printable(change.reason)]
        for path, changes in plan.changes.items()
        for change in changes
    ]
    return table(["file", "cell or field", "result", "reason"], rows) if rows else ""


def merge_fields_of(plan: WritePlan) -> MergeFields:
    """The same as JSON, with the state of each file."""
    return {
        "files": {path.as_posix(): "written" if path in plan.stale else "unchanged" for path in plan.files},
        "changes": [
            {"file": path.as_posix(), "name": change.name, "result": change.outcome, "reason": change.reason}
            for path, changes in plan.changes.items()
            for change in changes
        ],
        "conflicts": len(plan.conflicts),
    }


def conflicts_code(plan: WritePlan, *, author: str = TEMPLATE, is_dry_run: bool = False) -> int:
    """Tells of conflicts with the template or another author, and returns the exit code."""
    if not plan.conflicts:
        return 0
    names = ", ".join(f"{path.as_posix()}: {change.name}" for path, change in plan.conflicts)
    if is_dry_run:
        complain(f"Your edits would conflict with {author} in {names}. Your versions would stay.")
        return 1
    complain(
        f"Conflicts between your edits and {author} in {names}. Your versions are kept. Compare each cell with the "
        "folded cell below it, copy what you need, and delete the folded cell."
    )
    return 1
