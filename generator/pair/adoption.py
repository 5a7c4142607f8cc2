"""Adoption: a fork of a pair, or any other notebook, becomes a half of a new pair.

A fork is known by its stamp, the parameters COMPETITION and PAIR_ID. Its parameters become the choices of the new pair,
and its other edits are merged over what the templates write. A notebook without a stamp is kept as it is, between the
cells of the kit that a half of a pair needs; whoever adopts it connects them.
"""

import builtins
import json
import math
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generator.competition.schema import frameworks
from generator.errors import PairError, TandemError
from generator.pair.folder import WritePlan, pair_folder
from generator.pair.generation import Ask, GenerateOptions, PairDraft
from generator.pair.generation import draft as draft_pair
from generator.pair.handover import Requirement, lacks
from generator.pair.merge import CELL_ID, Change, free_name, merge_notebooks
from generator.pair.notebook import (
    PARAMETERS_TAG,
    CellKind,
    code_sources,
    differing,
    is_fixed,
    shared_text,
    with_cell_sources,
    with_shared_text,
    written_cells,
)
from generator.pair.pull import ForeignNotebook, align, read_foreign
from generator.pair.settings import DEFAULT_FRAMEWORK
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import JsonObject, is_slug, printable, python_literal


@dataclass(frozen=True)
class Stamp:
    """What a notebook of the kit says of its pair."""

    competition: str
    framework: str
    pair_id: str


def read_stamp(notebook: ForeignNotebook) -> Stamp | None:
    """Return the stamp of a notebook; None if it has none, or one that no template of the kit writes."""
    competition, pair_id = notebook.constant("COMPETITION"), notebook.pair_id
    if not is_slug(competition):
        return None
    match = re.fullmatch(rf"{re.escape(competition)}-([a-z_]+)-[0-9a-f]{{8}}", pair_id)
    return Stamp(competition, match[1], pair_id) if match and match[1] in frameworks() else None


def requirements_to_add(notebook: ForeignNotebook, role: Role) -> list[Requirement]:
    """Return what a notebook lacks as a half of a pair."""
    return lacks(code_sources(notebook.content), role)


# The adoption.


def identify(
    notebooks: Mapping[Role, ForeignNotebook], *, competition: str = "", framework: str | None = None
) -> tuple[str, str]:
    """Return the competition and the framework of notebooks: those of their stamps, else those that are named.

    Args:
        notebooks: The notebooks.
        competition: The slug that the user names; empty for none.
        framework: The framework that the user names.

    Raises:
        TandemError: The notebooks contradict each other or the user, or the competition is not known.
    """
    stamps = [stamp for notebook in notebooks.values() if (stamp := read_stamp(notebook))]
    competitions = {stamp.competition for stamp in stamps}
    if not competition and not competitions:
        competitions = {slug for notebook in notebooks.values() for slug in notebook.record.get("competitions", ())}
    if competition and stamps and {competition} != competitions:
        raise TandemError(
            f"{printable(next(iter(notebooks.values())).label)} is of the competition {stamps[0].competition}, and "
            f"not of {printable(competition)}.",
            remedy="Omit --competition.",
            code="competition-differs",
        )
    if not competition and len(competitions) != 1:
        if stamps:
            raise TandemError(
                f"The notebooks are of two competitions: {', '.join(sorted(competitions))}.",
                remedy="Name the two halves of one pair.",
                code="competition-differs",
            )
        role, notebook = next(iter(notebooks.items()))
        needs = "; ".join(requirement.text for requirement in requirements_to_add(notebook, role)) or "nothing"
        raise TandemError(
            f"{printable(notebook.label)} is no fork of a pair, so its competition is not known. As the {role} half of "
            f"a pair it lacks: {needs}.",
            remedy="Add --competition SLUG, then these cells are added.",
            code="competition-unknown",
        )
    if stamps and framework not in (None, stamps[0].framework):
        raise TandemError(
            f"{printable(next(iter(notebooks.values())).label)} is in {stamps[0].framework}.",
            remedy="Omit --framework.",
            code="framework-differs",
        )
    slug = competition or competitions.pop()
    return slug, framework or (stamps[0].framework if stamps else DEFAULT_FRAMEWORK)


@dataclass(frozen=True)
class Half:
    """A notebook that becomes a half of a pair.

    Attributes:
        role: Which half.
        notebook: The notebook.
        stamp: Its stamp; None for one that the kit did not write.
        changes: The cells by which a fork differs from the template.
        needs: What was missing, and was added.
        names: The names that the cells of the kit use, and nothing in the notebook assigns.
        repeated_names: The parameters of the pair that the notebook assigns again.
    """

    role: Role
    notebook: ForeignNotebook
    stamp: Stamp | None
    changes: Sequence[Change] = ()
    needs: Sequence[Requirement] = ()
    names: Sequence[str] = ()
    repeated_names: Sequence[str] = ()


@dataclass(frozen=True)
class Adoption:
    """A pair with the notebooks of others, as it is to be written by `generation.write`.

    Attributes:
        draft: The pair.
        halves: The notebooks.
        choices: The parameters of the fork that became choices of the pair, as NAME=VALUE.
        warnings: Sentences for the user.
    """

    draft: PairDraft
    halves: Sequence[Half]
    choices: Sequence[str]
    warnings: Sequence[str]


def adopt_notebooks(
    workspace: Workspace,
    options: GenerateOptions,
    notebooks: Mapping[Role, ForeignNotebook],
    *,
    ask: Ask | None = None,
) -> Adoption:
    """Make a new pair with the notebooks of others. Nothing is written.

    Args:
        workspace: The user's workspace.
        options: The competition, the name and the framework of the pair.
        notebooks: The notebooks, by the half that each becomes. The template writes the other half.
        ask: Adds to the options what the user answers to what is not clear.

    Raises:
        PairError: There is a pair of this name, or the pair cannot be rendered.
        CompetitionError: The competition is not known.
    """
    folder = pair_folder(workspace, options.name or options.competition)
    if folder.path.exists():
        raise PairError(
            f"There is a pair {printable(folder.name)} in {printable(str(folder.path.parent))}. Nothing was written.",
            remedy="Choose another name with --name, or bring the edits into that pair with `tandem pull "
            f"{printable(folder.name)} --from SOURCE`.",
            code="pair-exists",
        )
    stamps = {role: read_stamp(notebook) for role, notebook in notebooks.items()}
    first_draft = draft_pair(workspace, options, ask=ask)
    forks = [notebooks[role] for role in Role if stamps.get(role) is not None]
    draft, choices = _draft_with_choices(workspace, options, first_draft, forks)
    warnings = []
    files, halves = dict(draft.plan.files), []
    refs = {role: _ref_of(draft.plan.files, draft.folder, role) for role in Role}
    for role, notebook in notebooks.items():
        path = draft.folder.notebook(role).relative_to(draft.folder.path)
        rendering, stamp = draft.plan.files[path], stamps[role]
        if stamp is None:
            files[path], half = _compose(role, notebook, rendering)
        else:
            base = _with_names_of(notebook, rendering, refs)
            merge = merge_notebooks(base, rendering, align(notebook, base), path=path, author=notebook.author)
            files[path] = merge.content
            changes = [change for change in merge.changes if change.before != change.after]
            half = Half(role, notebook, stamp, changes=changes)
            pair_id = read_foreign(rendering, label="the pair").pair_id
            if pair_id != stamp.pair_id:
                warnings.append(
                    f"{notebook.label} belongs to the pair {stamp.pair_id}, and its choices lead to {pair_id} here: "
                    "some are not in its parameters, or the data differ. Its cells are kept. Compare with `tandem diff "
                    f"{draft.folder.name}`, and set what is missing with `tandem generate --set KEY=VALUE`."
                )
        halves.append(half)
    if len(notebooks) == 1 and halves[0].stamp is not None:
        _share_cells(files, draft.folder, source=halves[0].role)
    plan = WritePlan(draft.plan.rendering, files, frozenset(files))
    return Adoption(replace(draft, plan=plan), halves, choices, warnings)


def _draft_with_choices(
    workspace: Workspace, options: GenerateOptions, draft: PairDraft, forks: Sequence[ForeignNotebook]
) -> tuple[PairDraft, list[str]]:
    """Return the pair with the parameters of its forks, as far as they are valid; others stay edits."""
    if not (texts := list(_choices(draft, forks))):
        return draft, []
    try:
        return draft_pair(workspace, replace(options, parameter_assignments=texts)), texts
    except TandemError:
        choices: list[str] = []
        for text in texts:
            try:
                draft = draft_pair(workspace, replace(options, parameter_assignments=[*choices, text]))
            except TandemError:
                continue
            choices.append(text)
        return draft, choices


def _choices(draft: PairDraft, forks: Iterable[ForeignNotebook]) -> Iterator[str]:
    """Yield the parameters of forks that differ from the pair's, as NAME=VALUE; each name once, of training first."""
    defaults: dict[str, Any] = {}
    for role in reversed(Role):
        path = draft.folder.notebook(role).relative_to(draft.folder.path)
        defaults |= {
            name: (role, value)
            for name, value in read_foreign(draft.plan.files[path], label=str(role)).parameters.items()
        }
    for fork in forks:
        role = Role.INFER if fork.constant("TRAIN_KERNEL") else Role.TRAIN
        for name, value in fork.parameters.items():
            if isinstance(value, float) and not math.isfinite(value):
                continue  # it has no literal; its cell is merged as text
            if name in defaults and defaults[name][0] is role and value != defaults[name][1] and not is_fixed(name):
                text = json.dumps(value) if isinstance(value, list) else python_literal(value)
                if "\n" not in text:
                    yield f"{name}={text}"


def _ref_of(files: Mapping[Path, bytes], folder: PairFolder, role: Role) -> str:
    return JsonObject.parse(files[folder.metadata(role).relative_to(folder.path)]).text("id")


def _with_names_of(notebook: ForeignNotebook, rendering: bytes, refs: Mapping[Role, str]) -> bytes:
    """Return what was rendering, with the names of the kernels that a fork knows: those of the pair that it is of."""
    text = rendering.decode()
    prose = "\n".join(cell.source for cell in notebook.cells.values() if cell.kind == CellKind.MARKDOWN)
    for role, ref in refs.items():
        if match := re.search(rf"`([A-Za-z0-9_-]+/[A-Za-z0-9_-]+-{role})`", prose):
            text = text.replace(ref, match[1])
    return text.encode()


def _share_cells(files: dict[Path, bytes], folder: PairFolder, *, source: Role) -> None:
    """Copy the cells that both notebooks must have in common from a fork into the half that the template writes."""
    target = next(role for role in Role if role is not source)
    paths = {role: folder.notebook(role).relative_to(folder.path) for role in Role}
    texts = {role: files[path].decode() for role, path in paths.items()}
    cells = {role: written_cells(files[path], path=path) for role, path in paths.items()}
    sources = {
        name: with_shared_text(cells[target][name].source, shared_text(cells[source][name].source) or "")
        for name in differing({paths[role]: texts[role] for role in Role})
        if shared_text(cells[source][name].source) is not None
    }
    edit = with_cell_sources(texts[target], sources).encode("utf-8", "backslashreplace")
    path = paths[target]
    files[path] = merge_notebooks(files[path], files[path], edit, path=path).content


# A notebook without a stamp, between the cells of the kit.


_MARK = "# From Tandem: "
_NOT_MARKED = ("runtime",)  # it is folded, and there is nothing to connect in it


def _compose(role: Role, notebook: ForeignNotebook, rendering: bytes) -> tuple[bytes, Half]:
    """Return a stranger's notebook between the cells that it lacks, and what is to be connected by hand."""
    kit = json.loads(rendering)
    kit_cells = {cell["id"]: cell for cell in kit["cells"]}
    needs = requirements_to_add(notebook, role)
    used_ids = {*kit_cells}
    user_cells: list[dict[str, Any]] = []
    for position, cell in enumerate(json.loads(notebook.content)["cells"], start=1):
        name = free_name(cell["id"][:48] if CELL_ID.fullmatch(cell["id"]) else f"cell-{position}", used_ids)
        used_ids.add(name)
        tags = [tag for tag in cell["metadata"].get("tags", ()) if tag != PARAMETERS_TAG]
        metadata = {key: value for key, value in cell["metadata"].items() if key != "tags"}
        user_cells.append({**cell, "id": name, "metadata": metadata | ({"tags": tags} if tags else {})})
    groups: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for requirement in needs:
        for name in requirement.cells:
            if name in kit_cells:
                groups[requirement.is_first].append(_with_mark(kit_cells[name], requirement))
    cells = [*groups[True], *user_cells, *groups[False]]
    content = json.dumps({**kit, "cells": cells}, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    names = _missing_names(groups[True] + groups[False], cells)
    constants = read_foreign(rendering, label=str(role)).parameters
    repeated_names = sorted({name for cell in user_cells for name in _assigned_names(cell)} & constants.keys())
    half = Half(role, notebook, None, needs=needs, names=names, repeated_names=repeated_names)
    return content.encode("utf-8", "backslashreplace"), half


def _with_mark(cell: dict[str, Any], requirement: Requirement) -> dict[str, Any]:
    if cell["cell_type"] != CellKind.CODE or cell["id"] in _NOT_MARKED:
        return cell
    return {**cell, "source": f"{_MARK}{requirement.text}.\n{''.join(cell['source'])}"}


_MAGIC = re.compile(r"^[ \t]*[!%].*$", re.MULTILINE)
_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:def |class |import |for |with .* as )?([A-Za-z_]\w*)(?=[ \t]*[=(:,])", re.MULTILINE
)


def _missing_names(kit_cells: Sequence[dict[str, Any]], cells: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names that the kit's cells use and no cell assigns, in their order."""
    assigned_names = {name for cell in cells for name in _assigned_names(cell)} | {*dir(builtins), "display"}
    used_names = [name for cell in kit_cells if cell["id"] not in _NOT_MARKED for name in _used_names(cell)]
    return [name for name in dict.fromkeys(used_names) if name not in assigned_names]


def _assigned_names(cell: dict[str, Any]) -> list[str]:
    """Return the names that a cell assigns, defines or imports, outside of functions."""
    table = _symbols(cell)
    if table is not None:
        return [symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()]
    return _ASSIGNMENT.findall("".join(cell["source"])) if cell["cell_type"] == CellKind.CODE else []


def _used_names(cell: dict[str, Any]) -> Iterator[str]:
    """Yield the names outside of functions that a cell uses, in its functions as well."""
    tables = [table] if (table := _symbols(cell)) is not None else []
    while tables:
        table = tables.pop(0)
        is_top = table.get_type() == "module"
        yield from (
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (is_top or symbol.is_global())
        )
        tables += table.get_children()


def _symbols(cell: dict[str, Any]) -> symtable.SymbolTable | None:
    """Return the names of a cell without its magics; None if it is no Python."""
    if cell["cell_type"] != CellKind.CODE:
        return None
    try:
        return symtable.symtable(_MAGIC.sub("", "".join(cell["source"])), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
