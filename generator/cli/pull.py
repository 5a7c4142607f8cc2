"""The verb `pull`: edits that were made on Kaggle, or in a copy of a notebook, come back into the pair."""

from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.notebooks import newest_notebooks, read_source, require_role, tell_of_shared_cells
from generator.cli.options import pair_argument, to_option, workspace_option
from generator.cli.terminal import confirm, json_option, print_document
from generator.cli.update import MergeFields, conflicts_code, merge_as_text, merge_fields_of, role_option, show_edits
from generator.pair.folder import existing_pair, write_pair
from generator.pair.workspace import Role
from generator.text import printable

if TYPE_CHECKING:
    from generator.pair.pull import ForeignNotebook


class PullSource(TypedDict):
    """A notebook whose edits were merged.

    Attributes:
        role: The notebook of the pair: train or infer.
        source: The kernel on Kaggle, as OWNER/NAME, or the file.
        version: The version of the kernel; null for a file.
        omissions: What was left out of it, in words.
    """

    role: str
    source: str
    version: int | None
    omissions: list[str]


class PullReport(MergeFields):
    """A pair into whose notebooks the edits of others were merged.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        dry_run: Whether nothing was written.
        sources: The notebooks that the edits come from.
    """

    schema_version: Literal[1]
    pair: str
    dry_run: bool
    sources: list[PullSource]


@click.command()
@pair_argument
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="OWNER/NAME or OWNER/NAME/VERSION on Kaggle, or a file (.ipynb). Default: the newest version of both kernels.",
)
@role_option()
@to_option(default="kaggle", show_default=True)
@click.option("--yes", is_flag=True, help="Write without a question. Needed if this is no interactive terminal.")
@click.option("--dry-run", is_flag=True, help="Show a diff of each cell that would change, but write nothing.")
@workspace_option
@json_option(PullReport)
def pull(**options: Any) -> int:
    """Bring edits made on Kaggle back into a pair's notebooks, cell by cell.

    The text of the newest version of both kernels is merged with your notebooks, as `tandem update` merges templates.
    The base of the merge is what was pushed or pulled last. Only the text of cells counts: outputs, pinned images and
    the settings of Kaggle's editor are left out. In a conflict your version stays, Kaggle's version is in a folded cell
    below it, and the exit code is 1. `tandem undo PAIR` restores the previous files.

    \b
    tandem pull digits
    tandem pull digits --from ada/digits-keras-train/3
    tandem pull digits --from ~/Downloads/train.ipynb --role train
    """  # noqa: D301 - click wants the character itself
    from generator.kaggle.notebooks import merge_base
    from generator.pair.pull import joint_plan, plan_pull
    from generator.pair.update import planned_edits

    folder = existing_pair(options["workspace"], options["pair"])
    role = Role(options["role"]) if options["role"] else None
    if options["source"]:
        notebook = read_source(options["source"], to=options["to"])
        notebooks = {role or require_role(notebook): notebook}
    else:
        notebooks = newest_notebooks(folder, [role] if role else tuple(Role), to=options["to"])
    plan = joint_plan(
        [plan_pull(folder, of, notebook, merge_base(folder, of, notebook)) for of, notebook in notebooks.items()]
    )
    author = next(notebook.author for notebook in notebooks.values())
    if not options["as_json"]:
        for notebook in notebooks.values():
            omissions = f" Left out: {', '.join(notebook.omissions)}." if notebook.omissions else ""
            click.echo(f"From {printable(notebook.label)}.{omissions}", err=True)
        show_edits(planned_edits(plan))
        click.echo(merge_as_text(plan) or "No cell differs.")
    if not options["dry_run"]:
        if plan.stale:
            reason = f"`tandem pull` changes the notebooks of {printable(folder.name)}; --dry-run shows how."
            confirm("Write these edits", reason=reason, is_confirmed=options["yes"])
        write_pair(folder, plan)
    if options["as_json"]:
        sources = [_source_fields(of, notebook) for of, notebook in notebooks.items()]
        fields = {"pair": folder.name, "dry_run": options["dry_run"], "sources": sources, **merge_fields_of(plan)}
        print_document({"schema_version": 1, **fields})
        return conflicts_code(plan, author=author, is_dry_run=options["dry_run"])
    state = "Would be written" if options["dry_run"] else "Written"
    paths = ", ".join(str(folder.path / path) for path in plan.files if path in plan.stale)
    click.echo(f"{state}: {paths}." if plan.stale else f"{folder.path} is up to date.")
    if plan.stale and not options["dry_run"]:
        tell_of_shared_cells(folder)
        click.echo(f"To restore the previous files, run: tandem undo {folder.name}")
    return conflicts_code(plan, author=author, is_dry_run=options["dry_run"])


def _source_fields(role: Role, notebook: "ForeignNotebook") -> PullSource:
    source, version = notebook.record.text("ref") or notebook.label, notebook.record.count("version") or None
    return {"role": str(role), "source": source, "version": version, "omissions": [*notebook.omissions]}
