"""The verb `adopt`: a fork of a pair, or any other notebook, becomes a half of a new pair."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.generate import bring_data
from generator.cli.kaggle import connect_kaggle, fact_source
from generator.cli.notebooks import read_halves, tell_of_shared_cells
from generator.cli.options import competition_name, data_option, to_option, workspace_option
from generator.cli.questions import ask_about_unclear
from generator.cli.terminal import is_interactive, json_option, print_document, warn
from generator.cli.update import role_option
from generator.pair import generation
from generator.pair.adoption import adopt_notebooks, identify
from generator.pair.settings import DEFAULT_FRAMEWORK, checked_owner
from generator.pair.workspace import Role
from generator.text import printable

if TYPE_CHECKING:
    from generator.pair.adoption import Adoption, Half
    from generator.pair.pull import ForeignNotebook


class AdoptedHalf(TypedDict):
    """A notebook that became a half of the pair.

    Attributes:
        role: Which half: train or infer.
        source: Where it comes from.
        pair_id: The pair that it was of; null for a notebook that the kit did not write.
        cells: The ids of the cells by which it differs from the template; none for a notebook without a pair.
        additions: What was missing and was added, in words.
        connect: The names that the added cells use, and that no cell assigns.
        repetitions: The parameters of the pair that the notebook assigns again.
    """

    role: str
    source: str
    pair_id: str | None
    cells: list[str]
    additions: list[str]
    connect: list[str]
    repetitions: list[str]


class AdoptReport(TypedDict):
    """A new pair with the notebooks of others.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        competition: Its competition.
        framework: Its framework.
        dry_run: Whether nothing was written.
        choices: The parameters of a fork that became choices of the pair, as NAME=VALUE.
        files: The paths of its files.
        halves: The notebooks.
        warnings: Sentences on what was not clear.
    """

    schema_version: Literal[1]
    pair: str
    competition: str
    framework: str
    dry_run: bool
    choices: list[str]
    files: list[str]
    halves: list[AdoptedHalf]
    warnings: list[str]


@click.command()
@click.argument("sources", metavar="SOURCE [SOURCE]", nargs=-1, required=True)
@click.option("--name", metavar="NAME", help="The name of the folder in kernels/. Default: the competition's name.")
@click.option("--competition", metavar="SLUG", help="The competition of a notebook that is not a fork of a pair.")
@click.option("--framework", metavar="NAME", help="The framework of a notebook that is not a fork of a pair.")
@role_option()
@click.option("--owner", metavar="NAME", help="Your Kaggle user name. Default: the name in Kaggle's credentials.")
@data_option(default="input/competitions/SLUG")
@to_option(default="kaggle", show_default=True)
@click.option("--dry-run", is_flag=True, help="Show what would be written, but write nothing.")
@workspace_option
@json_option(AdoptReport)
@click.pass_context
def adopt(context: click.Context, /, **options: Any) -> int:
    """Make a pair of a fork of a pair, or of any other notebook.

    SOURCE is OWNER/NAME or OWNER/NAME/VERSION on Kaggle, or a file (.ipynb). A second SOURCE is the other half.
    Otherwise the template writes that.

    A fork is known by its parameters COMPETITION and PAIR_ID. Its parameters become the choices of the new pair, its
    other edits are kept, and `tandem update` works. Any other notebook needs --competition. It stays as it is, and the
    cells that a half of a pair needs are added: the report lists the names to connect by hand.

    \b
    tandem adopt ada/digits-keras-train --name digits-of-ada
    tandem adopt train.ipynb infer.ipynb --name fork
    tandem adopt notebook.ipynb --role train --competition titanic --name mine
    """  # noqa: D301 - click wants the character itself
    if len(options["sources"]) > len(Role):
        context.fail("A pair has two notebooks: name at most two.")
    role = Role(options["role"]) if options["role"] else None
    notebooks = read_halves(options["sources"], role, to=options["to"])
    workspace = options["workspace"]
    may_ask = is_interactive() and not (options["as_json"] or options["dry_run"])
    ask = ask_about_unclear if may_ask else None
    adoption = adopt_notebooks(workspace, _generate_options(notebooks, options), notebooks, ask=ask)
    if not options["dry_run"]:
        bring_data(workspace, adoption.draft)
        generation.write(adoption.draft)
    if options["as_json"]:
        print_document(_report(adoption, is_dry_run=options["dry_run"]))
        return 0
    for warning in (*adoption.draft.proposal.warnings, *adoption.warnings):
        warn(warning)
    click.echo(_as_text(adoption, is_dry_run=options["dry_run"]))
    if not options["dry_run"]:
        tell_of_shared_cells(adoption.draft.folder)
    return 0


def _generate_options(
    notebooks: "Mapping[Role, ForeignNotebook]", options: Mapping[str, Any]
) -> generation.GenerateOptions:
    """The options with which the pair is generated: those of the notebooks, else those of the command line."""
    slug = competition_name(options["competition"]) if options["competition"] else ""
    slug, framework = identify(notebooks, competition=slug, framework=options["framework"])
    values = {"framework": framework}
    if owner := options["owner"] or _account(notebooks, options["to"]):
        values["owner"] = checked_owner(owner)
    return generation.GenerateOptions(
        slug,
        name=options["name"] or (slug if framework == DEFAULT_FRAMEWORK else f"{slug}-{framework}"),
        values=values,
        data=options["data"],
        ask=fact_source(options["to"]),
    )


def _account(notebooks: "Mapping[Role, ForeignNotebook]", to: str) -> str:
    """The account that a notebook on Kaggle was read with; empty for files, whose readers need no account."""
    is_remote = any(notebook.record for notebook in notebooks.values())
    return connect_kaggle(to).username() if is_remote else ""


def _report(adoption: "Adoption", *, is_dry_run: bool) -> AdoptReport:
    draft = adoption.draft
    return {
        "schema_version": 1,
        "pair": draft.folder.name,
        "competition": draft.proposal.competition.slug,
        "framework": draft.settings.framework,
        "dry_run": is_dry_run,
        "choices": [*adoption.choices],
        "files": [path.as_posix() for path in draft.plan.files],
        "halves": [_half_fields(half) for half in adoption.halves],
        "warnings": [*draft.proposal.warnings, *adoption.warnings],
    }


def _half_fields(half: "Half") -> AdoptedHalf:
    return {
        "role": str(half.role),
        "source": half.notebook.label,
        "pair_id": half.stamp.pair_id if half.stamp else None,
        "cells": [change.name for change in half.changes],
        "additions": [requirement.text for requirement in half.needs],
        "connect": [*half.names],
        "repetitions": [*half.repeated_names],
    }


def _as_text(adoption: "Adoption", *, is_dry_run: bool) -> str:
    draft = adoption.draft
    name = printable(draft.folder.name)
    lines = []
    for half in adoption.halves:
        label = printable(half.notebook.label)
        if half.stamp is not None:
            cells = ", ".join(printable(change.name) or "the order of cells" for change in half.changes)
            edits = f"Its edits: {cells}." if cells else "It has no edits beyond its choices."
            lines.append(f"{half.role}: {label}, a fork of {printable(half.stamp.pair_id)}. {edits}")
            continue
        lines.append(f"{half.role}: {label}, with the cells that it lacked as a half of a pair:")
        lines += [f"  {requirement.text}" for requirement in half.needs]
        if half.names:
            lines.append(f"To connect, assign in your cells: {', '.join(map(printable, half.names))}.")
        if half.repeated_names:
            names = ", ".join(map(printable, half.repeated_names))
            lines.append(f"Your cells assign parameters again, which hides other values of them: {names}.")
    for role in Role:
        if all(half.role is not role for half in adoption.halves):
            lines.append(f"{role}: from the template.")
    if adoption.choices:
        lines.append(f"Choices of the fork: {', '.join(map(printable, adoption.choices))}.")
    lines.append(f"{draft.folder.path}  {'would be written' if is_dry_run else 'written'}")
    if not is_dry_run:
        lines.append(f"Next: tandem check {name}, then tandem run {name}")
    return "\n".join(lines)
