"""Notebooks from elsewhere: a version on Kaggle, a file, a recorded run. Their edits are merged into a pair's notebook.

Input: the bytes of a notebook, which anybody may have written. Output: its cells without what editors and sessions add,
with the ids of the pair's cells; and a `WritePlan`.

Only the text of cells counts. Editors drop the ids of cells, so a cell is found by its name, its text or its place. The
base of the merge is the version that both sides started from: what was pushed or pulled last, else what was rendered.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from generator.errors import PairError
from generator.files import FileReadError, read_bytes
from generator.pair.folder import WritePlan, cell_edits
from generator.pair.merge import CELL_ID, MergeOutcome, free_name, match_cells, merge_notebooks
from generator.pair.notebook import (
    PARAMETERS_TAG,
    CellKind,
    NotebookReadError,
    ParameterError,
    WrittenCell,
    cells_of_fields,
    is_fixed,
    join_lines,
    notebook_fields,
    override,
    read_parameters,
)
from generator.pair.update import Edit, cell_differences
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, printable

# The door: whatever a notebook from elsewhere holds, what passes is a valid notebook of limited size, without outputs.


_LARGEST = 64 * 2**20  # bytes of a file with its outputs
_LARGEST_TEXT = 4 * 2**20  # characters of all cells
_MOST_LINES = 50_000  # of all cells; what compares cells takes a minute for a million
_MOST_CELLS = 2_000
_FORMAT = 4
_KINDS = (*CellKind, "raw")
_FOLDING_FIELDS = ("_kg_hide-input", "_kg_hide-output")
# What papermill puts into a notebook that it ran, and the kit into one that it sends to Colab.
_RUN_TAGS = ("injected-parameters", "papermill-error-cell-tag")
_RUN_CELLS = ("stop-at-failure",)
_ROLE_WORDS = {
    Role.TRAIN: {"train", "training"},
    Role.INFER: {"infer", "inference", "predict", "prediction", "submit", "submission"},
}


def _assignment_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"""^{name}(?:: *str)? *= *(?P<quote>["'])(?P<text>[^"'\\\n]*)(?P=quote)""", re.MULTILINE)


@dataclass(frozen=True)
class ForeignNotebook:
    """A notebook that somebody else wrote, saved or ran, as the pair takes it.

    Attributes:
        content: Its cells, in format 4.5.
        label: What to call it.
        omissions: What was left out, in words.
        author: Whose edits it has, in words.
        record: What a pair keeps of a version on Kaggle that it merged, so that the next push and the next pull know of
            it; empty for a file.
    """

    content: bytes
    label: str
    omissions: tuple[str, ...] = ()
    author: str = "the file"
    record: JsonObject = field(default_factory=JsonObject)

    @property
    def cells(self) -> dict[str, WrittenCell]:
        """What its cells say, by their ids."""
        return cells_of_fields(json.loads(self.content))

    @property
    def parameters(self) -> dict[str, Any]:
        """The constants of its parameters cell; of the cell that has a PAIR_ID, if none is tagged. Else empty."""
        for cell in self.parameter_cells:
            try:
                return dict(read_parameters(cell))
            except ParameterError:
                continue
        return {}

    @property
    def parameter_cells(self) -> list[str]:
        """The text of the cells that may be the parameters cell, those with a PAIR_ID first."""
        code = [cell for cell in json.loads(self.content)["cells"] if cell["cell_type"] == CellKind.CODE]
        has_tag = [cell["source"] for cell in code if PARAMETERS_TAG in cell["metadata"].get("tags", ())]
        return [cell["source"] for cell in code if _assignment_of("PAIR_ID").search(cell["source"])] + has_tag

    def constant(self, name: str) -> str:
        """Return a text in the parameters cell, also if other lines of that cell are no plain constants; else empty."""
        matches = (_assignment_of(name).search(cell) for cell in self.parameter_cells)
        return next((match["text"] for match in matches if match), "")

    @property
    def pair_id(self) -> str:
        """The pair that it says it belongs to; empty if it says nothing."""
        return self.constant("PAIR_ID")


def read_foreign_file(path: Path) -> ForeignNotebook:
    """Read a notebook that somebody downloaded.

    Raises:
        FileReadError: There is no such file, or it cannot be read.
        NotebookReadError: It is no notebook, or larger than any that somebody wrote.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error
    return read_foreign(content, label=str(path))


def read_foreign(content: bytes, *, label: str) -> ForeignNotebook:
    """Read a notebook from elsewhere. It is never executed.

    Args:
        content: The notebook.
        label: What to call it.

    Raises:
        NotebookReadError: It is no notebook of format 4, or larger than any that somebody wrote.
    """
    path = Path(label)
    if len(content) > _LARGEST:
        raise NotebookReadError(path=path, problem=f"it is larger than {_LARGEST >> 20} MB")
    notebook = JsonObject(notebook_fields(content, path=path))
    if notebook.get("nbformat", _FORMAT) != _FORMAT:
        raise NotebookReadError(path=path, problem="it is not of format 4; open it in Jupyter and save it again")
    if not notebook["cells"]:
        raise NotebookReadError(path=path, problem="it has no cells")
    if len(notebook["cells"]) > _MOST_CELLS:
        raise NotebookReadError(path=path, problem=f"it has more than {_MOST_CELLS:,} cells")
    if (language := _language(notebook)) != "python":
        raise NotebookReadError(path=path, problem=f"its language is {printable(language)[:40]}, not Python")
    cells: dict[str, dict[str, Any]] = {}
    has_outputs = has_run_cells = False
    for position, raw in enumerate(notebook["cells"], start=1):
        cell = _clean_cell(JsonObject(raw), position, path)
        tags = cell["metadata"].get("tags", ())
        has_outputs |= bool(raw.get("outputs"))
        if cell["id"] in _RUN_CELLS or any(tag in _RUN_TAGS for tag in tags):
            has_run_cells = True
            continue
        # Without a valid id it stands under its position, as in `written_cells`.
        name = cell["id"] if cell["id"] not in cells else f"#{position}"
        cells[name] = {**cell, "id": name}
    if sum(len(cell["source"]) for cell in cells.values()) > _LARGEST_TEXT:
        raise NotebookReadError(path=path, problem=f"its cells have more than {_LARGEST_TEXT >> 20} MB of text")
    if sum(cell["source"].count("\n") for cell in cells.values()) > _MOST_LINES:
        raise NotebookReadError(path=path, problem=f"its cells have more than {_MOST_LINES:,} lines")
    parts = {
        "outputs": has_outputs,
        "cells that a run added": has_run_cells,
        "the editor's settings (metadata.kaggle)": "kaggle" in notebook.section("metadata"),
    }
    omissions = tuple(part for part, is_there in parts.items() if is_there)
    return ForeignNotebook(_notebook_bytes([*cells.values()]), label, omissions)


def _language(notebook: JsonObject) -> str:
    """The language of a notebook; python where it says nothing."""
    metadata = notebook.section("metadata")
    name = metadata.section("kernelspec").text("language") or metadata.section("language_info").text("name")
    return name.lower() or "python"


def _clean_cell(raw: JsonObject, position: int, path: Path) -> dict[str, Any]:
    kind, source, metadata = raw.get("cell_type"), raw.get("source"), raw.section("metadata")
    if kind not in _KINDS:
        raise NotebookReadError(path=path, problem=f"cell {position} is no cell of format 4")
    if not isinstance(source, str) and not (isinstance(source, list) and all(isinstance(x, str) for x in source)):
        raise NotebookReadError(path=path, problem=f"the source of cell {position} is not text")
    tags = metadata.get("tags")
    cell_metadata: dict[str, Any] = {}
    if isinstance(tags, list):
        cell_metadata["tags"] = [*dict.fromkeys(tag for tag in tags if isinstance(tag, str) and CELL_ID.fullmatch(tag))]
    cell_metadata |= {key: True for key in _FOLDING_FIELDS if metadata.flag(key)}
    if metadata.section("jupyter").flag("source_hidden"):
        cell_metadata["jupyter"] = {"source_hidden": True}
    if CELL_ID.fullmatch(metadata.text("name")):
        cell_metadata["name"] = metadata.text("name")
    name = raw.text("id") if CELL_ID.fullmatch(raw.text("id")) else f"#{position}"
    cell = {"cell_type": kind, "id": name, "metadata": cell_metadata, "source": _text(source)}
    if kind == CellKind.CODE:
        return {**cell, "execution_count": None, "outputs": []}
    files = {str(name): file for name, file in raw.section("attachments").items() if _is_picture(file)}
    return {**cell, "attachments": files} if files else cell


def _text(source: Any) -> str:
    """The source of a cell, with the line ends of Unix."""
    return join_lines(source).replace("\r\n", "\n").replace("\r", "\n")


def _is_picture(file: object) -> bool:
    return isinstance(file, dict) and all(isinstance(content, str) for content in file.values())


def _notebook_bytes(cells: Sequence[dict[str, Any]], metadata: dict[str, Any] | None = None) -> bytes:
    fields = {"cells": cells, "metadata": metadata or {}, "nbformat": _FORMAT, "nbformat_minor": 5}
    return (json.dumps(fields, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def infer_role(notebook: ForeignNotebook) -> Role | None:
    """Return which half of a pair a notebook is; None if neither its parameters nor its name tell."""
    if notebook.pair_id:
        return Role.INFER if notebook.constant("TRAIN_KERNEL") else Role.TRAIN
    words = re.split(r"[^a-z]+", "/".join(notebook.label.lower().split("/")[-2:]))
    roles = {role for role, names in _ROLE_WORDS.items() if names & {*words}}
    return roles.pop() if len(roles) == 1 else None


# The cells of the pair in it: ids, metadata and the fixed parameters are the pair's, the text is the other's.


def align(notebook: ForeignNotebook, reference: bytes, *, taken_ids: Collection[str] = ()) -> bytes:
    """Return a notebook with the ids of the cells that it has from another, and with their metadata.

    Args:
        notebook: The notebook.
        reference: The notebook of the pair that it stems from.
        taken_ids: The ids that its other cells must not have.

    Raises:
        NotebookReadError: The other one is no notebook.
    """
    base = notebook_fields(reference, path=Path("the pair's notebook"))
    base_cells = cells_of_fields(base)
    originals = {name: JsonObject(cell) for name, cell in zip(base_cells, base["cells"], strict=True)}
    names = match_cells(notebook.cells, base_cells)
    used_ids = {*base_cells, *taken_ids}
    cells: list[dict[str, Any]] = []
    for position, cell in enumerate(json.loads(notebook.content)["cells"], start=1):
        original = originals.get(names.get(cell["id"], ""))
        if original is None:
            name = cell["id"] if CELL_ID.fullmatch(cell["id"]) else f"cell-{position}"
            name = free_name(name[:48], used_ids)
            used_ids.add(name)
            cells.append({**cell, "id": name})
            continue
        source = _with_fixed_parameters(cell["source"], original)
        if source.strip() == join_lines(original.get("source")).strip():
            source = join_lines(original.get("source"))
        cells.append({**cell, "id": names[cell["id"]], "metadata": original.section("metadata"), "source": source})
    return _notebook_bytes(cells, JsonObject(base).section("metadata"))


def _with_fixed_parameters(source: str, original: JsonObject) -> str:
    """Return a parameters cell with the pair's values of those by which its notebooks find each other."""
    tags = original.section("metadata").get("tags")
    if not isinstance(tags, list) or PARAMETERS_TAG not in tags:
        return source
    try:
        values = read_parameters(join_lines(original.get("source")))
        names = read_parameters(source)
        return override(source, {name: value for name, value in values.items() if is_fixed(name) and name in names})
    except ParameterError:
        return source


# The merge, and the differences without one.


# Of a cell whose text stays as it is.
_OUTCOMES_WITHOUT_TEXT = (MergeOutcome.CONFLICT, MergeOutcome.REMOVED, MergeOutcome.MOVED)


def nearest_base(notebook: ForeignNotebook, candidates: Sequence[bytes]) -> bytes:
    """Return the version that a notebook most likely stems from: the one with the fewest differences, else the first.

    Args:
        notebook: The notebook.
        candidates: At least one version, the most likely first.
    """
    text = notebook.content.decode("utf-8", "replace")

    def count_differences(candidate: bytes) -> int:
        edits = cell_edits(text, since=candidate.decode("utf-8", "replace"))
        names = (*edits.changed_names, *edits.added_names, *edits.removed_names)
        return len(names) + edits.is_reordered + (_MOST_CELLS if edits.problem else 0)

    return min(candidates, key=count_differences)


def plan_pull(folder: PairFolder, role: Role, notebook: ForeignNotebook, base: bytes) -> WritePlan:
    """Merge the edits of a notebook from elsewhere into a notebook of a pair. Nothing is written.

    Args:
        folder: The pair.
        role: Which of its notebooks.
        notebook: The other version of it.
        base: The version that both stem from.

    Raises:
        PairError: It is of another pair.
        NotebookReadError: One of the three is not a notebook.
        FileReadError: The pair's notebook cannot be read.
    """
    path = folder.notebook(role).relative_to(folder.path)
    existing = _read(folder.notebook(role))
    copies = [read_foreign(existing, label=str(folder.notebook(role))), read_foreign(base, label="the base")]
    _check_identity(folder, role, notebook, [copy.pair_id for copy in copies])
    user_ids = _cell_ids(existing)
    if not all(CELL_ID.fullmatch(name) for name in _cell_ids(base)):
        base = align(read_foreign(base, label="what was pushed last"), existing)
    aligned_content = align(notebook, base, taken_ids=user_ids)
    merge = merge_notebooks(base, existing, aligned_content, path=folder.notebook(role), author=notebook.author)
    changes = [
        change for change in merge.changes if change.before != change.after or change.outcome in _OUTCOMES_WITHOUT_TEXT
    ]
    is_new = bool(changes) and merge.content != existing
    remote_version = _notebook_bytes(json.loads(aligned_content)["cells"], {"tandem": notebook.record})
    return WritePlan(
        rendering={},
        files={path: merge.content if is_new else existing},
        stale=frozenset({path} if is_new else ()),
        changes={path: changes} if changes else {},
        remote_versions={path: remote_version} if notebook.record else {},
    )


def joint_plan(plans: Sequence[WritePlan]) -> WritePlan:
    """Return one plan for the notebooks of several."""
    result = WritePlan({}, {}, frozenset())
    for plan in plans:
        result = replace(
            result,
            files={**result.files, **plan.files},
            stale=result.stale | plan.stale,
            changes={**result.changes, **plan.changes},
            remote_versions={**result.remote_versions, **plan.remote_versions},
        )
    return result


def foreign_differences(folder: PairFolder, role: Role, notebook: ForeignNotebook) -> list[Edit]:
    """Return what a notebook of a pair has beyond another version of it.

    Raises:
        NotebookReadError: The pair's is not a notebook.
        FileReadError: It cannot be read.
    """
    path = folder.notebook(role).relative_to(folder.path)
    existing = _read(folder.notebook(role))
    before, after = (
        {name: cell.source for name, cell in cells_of_fields(notebook_fields(content, path=path)).items()}
        for content in (align(notebook, existing), existing)
    )
    return cell_differences(path, before, after)


def _cell_ids(content: bytes) -> list[str]:
    return [*cells_of_fields(notebook_fields(content, path=Path("notebook")))]


def _check_identity(folder: PairFolder, role: Role, notebook: ForeignNotebook, pair_ids: Sequence[str]) -> None:
    """Refuse a notebook of another pair, or the other half of this one; the ids are the pair's, now and before."""
    label, name = printable(notebook.label), printable(folder.name)
    if notebook.pair_id and (of := infer_role(notebook)) is not role:
        raise PairError(
            f"{label} is the {of} notebook of a pair, not the {role} notebook. Nothing was written.",
            remedy=f"Use --role {of}.",
            code="other-half",
        )
    if any(pair_ids) and notebook.pair_id not in pair_ids:
        of_pair = f"belongs to the pair {printable(notebook.pair_id)}" if notebook.pair_id else "has no PAIR_ID"
        raise PairError(
            f"{label} {of_pair}, and the {role} notebook of {name} belongs to {printable(pair_ids[0])}. Nothing was "
            "written.",
            remedy=f"To make a pair of it, run `tandem adopt {label} --name NAME`.",
            code="other-pair",
        )


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error
