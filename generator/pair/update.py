"""Updates of a pair: what templates write now is merged into its notebooks, edits are copied between the two."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import cache, partial
from pathlib import Path

from generator.errors import PairError, did_you_mean
from generator.files import read_text
from generator.pair.folder import WritePlan, earlier_rendering, plan_write, rendered_before
from generator.pair.generation import current_files, render_again
from generator.pair.merge import Change, match_cells, merge_lines, merge_notebooks
from generator.pair.notebook import (
    SHARED_MARK,
    WrittenCell,
    restore_remedy,
    shared_text,
    with_cell_sources,
    with_shared_text,
    written_cells,
)
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, printable


def plan_update(folder: PairFolder) -> WritePlan:
    """Merge what the templates write now for a pair's `pair.toml` into its files. Nothing is written.

    Raises:
        PairError: The pair cannot be rendered, or a file of it cannot be merged.
    """
    rendering = render_again(folder)
    return plan_write(folder, rendering, force=False, without_base=lambda: rendering)


# Edits: the cells and fields in which a pair differs from what was rendered.


@dataclass(frozen=True)
class Edit:
    """A cell or a field that changes, or that somebody changed.

    Attributes:
        path: The file, inside of the pair's folder.
        name: The id of the cell, or the name of the field.
        before: The text before; None for a new cell.
        after: The text after; None for a cell that is removed.
    """

    path: Path
    name: str
    before: str | None
    after: str | None

    @property
    def diff(self) -> list[str]:
        """The lines of a unified diff, each printable."""
        place = f"{self.path.as_posix()}: {self.name}"
        before, after = (text.split("\n") if text else [] for text in (self.before, self.after))
        lines = unified_diff(before, after, fromfile=place, tofile=place, lineterm="")
        return [printable(line.expandtabs(4)) for line in lines]


def find_edits(folder: PairFolder, roles: Sequence[Role] = tuple(Role)) -> list[Edit]:
    """Return the edits in the notebooks of a pair and their metadata, in the order of the cells.

    Raises:
        PairError: A file is not what it has to be.
        FileReadError: It cannot be read.
    """
    edits: list[Edit] = []
    without_base = cache(partial(current_files, folder))
    for role in roles:
        notebook = _Notebook.read(folder, role, without_base)
        path, cells = notebook.path, {name: cell.source for name, (_, cell) in notebook.cells.items()}
        base = {name: cell.source for name, cell in notebook.base.items()}
        edits += cell_differences(path, base, cells)
        metadata_path = folder.metadata(role).relative_to(folder.path)
        metadata_text = read_text(folder.metadata(role), remedy=restore_remedy(folder.metadata(role)))
        texts = (_base_text(folder, metadata_path, without_base), metadata_text)
        before, after = (
            {key: json.dumps(value, ensure_ascii=False) for key, value in JsonObject.parse(text or "{}").items()}
            for text in texts
        )
        edits += cell_differences(metadata_path, before if texts[0] is not None else after, after)
    return edits


def planned_edits(plan: WritePlan) -> list[Edit]:
    """Return what a plan changes in the cells and fields of a pair."""
    return [
        Edit(path, change.name, change.before, change.after)
        for path, changes in plan.changes.items()
        for change in changes
        if change.before != change.after
    ]


def cell_differences(path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> list[Edit]:
    """Return the cells or fields that differ between two versions of a file, in the order of the later one."""
    names = [*after, *(name for name in before if name not in after)]
    texts = ((name, before.get(name), after.get(name)) for name in names)
    return [Edit(path, name, old, new) for name, old, new in texts if (old or "").strip() != (new or "").strip()]


@dataclass(frozen=True)
class _Notebook:
    """A notebook of a pair: its text, its cells with their ids by those of the template, and the template's."""

    path: Path
    text: str
    cells: Mapping[str, tuple[str, WrittenCell]]
    base: Mapping[str, WrittenCell]

    @classmethod
    def read(cls, folder: PairFolder, role: Role, without_base: "_WithoutBase") -> "_Notebook":
        path = folder.notebook(role).relative_to(folder.path)
        text = read_text(folder.notebook(role), remedy=restore_remedy(folder.notebook(role)))
        cells = written_cells(text.encode("utf-8"), path=folder.notebook(role))
        base_text = _base_text(folder, path, without_base)
        base = written_cells((base_text or text).encode("utf-8"), path=path)
        ids = match_cells(cells, base, has_ids=any(name in base for name in cells))
        return cls(path, text, {ids.get(name, name): (name, cell) for name, cell in cells.items()}, base)

    def shared_part(self, name: str, *, of_base: bool = False) -> str:
        """Return what a cell says that is the same in both notebooks; all of it where the mark of that is gone."""
        cell = self.base.get(name, WrittenCell("code", "")) if of_base else self.cells[name][1]
        text = shared_text(cell.source)
        return cell.source.strip() if text is None else text


_WithoutBase = Callable[[], Mapping[Path, bytes]]


def _base_text(folder: PairFolder, path: Path, without_base: _WithoutBase) -> str | None:
    content = rendered_before(folder, path, without_base=without_base)
    return None if content is None else content.decode("utf-8", "replace")


def rendered_notebook(folder: PairFolder, role: Role) -> list[bytes]:
    """Return a pair's notebook as it was rendered, and as it was rendered before; if nothing says so, as it is."""
    path = folder.notebook(role).relative_to(folder.path)
    text = _base_text(folder, path, cache(partial(current_files, folder)))
    earlier = earlier_rendering(folder, path)
    newest = (read_text(folder.notebook(role)) if text is None else text).encode("utf-8", "replace")
    return [newest] if earlier is None else [newest, earlier]


# Shared cells: an edit in one notebook, copied into the other.


def plan_share(folder: PairFolder, names: Sequence[str], *, source: Role | None = None) -> WritePlan:
    """Copy edits of shared cells into the other notebook of a pair. Nothing is written.

    Args:
        folder: The pair.
        names: The ids of the cells.
        source: The notebook with the edits; by default the one in which each cell differs from the template. Edits of
            both are merged.

    Raises:
        PairError: A cell is not in both notebooks, or both have other edits of it.
        FileReadError: A notebook cannot be read.
    """
    without_base = cache(partial(current_files, folder))
    notebooks = {role: _Notebook.read(folder, role, without_base) for role in Role}
    train, infer = notebooks.values()
    in_both = [
        name
        for name in train.cells
        if name in infer.cells and any(SHARED_MARK in notebook.cells[name][1].source for notebook in notebooks.values())
    ]
    sources: dict[Role, dict[str, str]] = {role: {} for role in Role}
    for name in dict.fromkeys(names):
        if name not in in_both:
            raise PairError(
                f'"{printable(name)}" is not a cell that both notebooks of {printable(folder.name)} share.'
                f"{did_you_mean(name, in_both)} Shared cells: {', '.join(map(printable, in_both))}."
            )
        text = notebooks[source].shared_part(name) if source else _common_text(folder, train, infer, name)
        for role, notebook in notebooks.items():
            label, cell = notebook.cells[name]
            if notebook.shared_part(name) != text or shared_text(cell.source) is None:
                sources[role][label] = with_shared_text(cell.source, text)
    files: dict[Path, bytes] = {}
    changes: dict[Path, Sequence[Change]] = {}
    for role, notebook in notebooks.items():
        if sources[role]:
            content = notebook.text.encode("utf-8")
            edit = with_cell_sources(notebook.text, sources[role]).encode("utf-8", "backslashreplace")
            merge = merge_notebooks(content, content, edit, path=folder.notebook(role))
            files[notebook.path] = merge.content
            changes[notebook.path] = [replace(change, note="the text of both notebooks") for change in merge.changes]
    return WritePlan({}, files, frozenset(files), changes)


def _common_text(folder: PairFolder, train: _Notebook, infer: _Notebook, name: str) -> str:
    """Return the text of a shared cell with the edits of both notebooks."""
    texts = [notebook.shared_part(name) for notebook in (train, infer)]
    base_texts = [notebook.shared_part(name, of_base=True) for notebook in (train, infer)]
    edits = [text for text, base in zip(texts, base_texts, strict=True) if text != base]
    if texts[0] == texts[1]:
        return texts[0]
    text = edits[0] if len(edits) == 1 else merge_lines(base_texts[0] or "", *texts)
    if text is None:
        raise PairError(
            f'Both notebooks of {printable(folder.name)} have edits of the cell "{printable(name)}" that conflict. '
            f"Choose one: `tandem update {printable(folder.name)} --share {printable(name)} --role train`, or --role "
            "infer."
        )
    return text
