"""Three-way merges of a pair's files: the text as rendered before, the user's version, and the template's new one.

Input: bytes of notebooks, or of metadata. Output: the merged bytes, and what was done with each cell or field.

A version that only one side changed is taken. A cell that both changed is merged line by line, the parameters cell name
by name. Where that fails, the user's version stays, and the template's stands in a folded cell behind it, in comments.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.errors import PairError
from generator.pair.notebook import (
    FOLDED_TAG,
    PARAMETERS_TAG,
    Cell,
    CellKind,
    WrittenCell,
    cell_fields,
    cells_of_fields,
    notebook_fields,
    notebook_json,
    restore_remedy,
)
from generator.text import parsed_json, printable


class MergeOutcome(StrEnum):
    """What a merge did with a cell or a field."""

    UPDATED = "updated"
    KEPT = "kept"
    MERGED = "merged"
    CONFLICT = "conflict"
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"


TEMPLATE = "the template"
"""The author of what is merged into the user's version, unless that comes from elsewhere."""


@dataclass(frozen=True)
class Change:
    """What a merge did with one cell of a notebook, or one field of metadata.

    Attributes:
        name: The id of the cell, or the name of the field; empty for all cells.
        outcome: What was done.
        note: One clause on it.
        before: The user's text; None if there is none.
        after: The merged text; None if there is none.
        companion: The id of the folded cell with the template's text; empty if there is none.
        author: Whose version the other one is, in words.
    """

    name: str
    outcome: MergeOutcome
    note: str = ""
    before: str | None = None
    after: str | None = None
    companion: str = ""
    author: str = TEMPLATE

    @property
    def reason(self) -> str:
        """The note, with the place of the template's text."""
        note = self.note.replace(TEMPLATE, self.author)
        place = f'{self.author}\'s text is in the cell "{self.companion}"' if self.companion else ""
        return "; ".join(filter(None, (note, place)))


@dataclass(frozen=True)
class Merge:
    """The result of a merge.

    Attributes:
        content: The file; the user's own bytes if it has nothing new.
        changes: What was done with each cell or field that differs between the versions.
    """

    content: bytes
    changes: tuple[Change, ...] = ()

    @property
    def conflicts(self) -> list[Change]:
        """The cells or fields of which the user has to choose a version."""
        return [change for change in self.changes if change.outcome is MergeOutcome.CONFLICT]


# Lines: a merge as git makes it, of texts that both sides changed.


# The cost of a comparison grows with the pairs of equal lines.
_MOST_PAIRS = 200_000
_MOST_LINES = 5_000
_DOTTED_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_MODULES, _NAMES = (rf"{name}(?: as [^\W\d]\w*)?" for name in (_DOTTED_NAME, r"[^\W\d]\w*"))
_IMPORT = re.compile(
    rf"(?:import {_MODULES}(?:, ?{_MODULES})*"
    rf"|from (?:\.+|\.*{_DOTTED_NAME}) import (?:\*|{_NAMES}(?:, ?{_NAMES})*)) *(?:#.*)?"
)


def merge_lines(base: str, user: str, template: str) -> str | None:
    """Return the text with the changes of both versions, or None if they change the same place in different ways.

    Imports are joined, as their order means nothing.
    """
    base_lines, user_lines, template_lines = (text.split("\n") for text in (base, user, template))
    in_user, in_template = (_match_lines(base_lines, lines) for lines in (user_lines, template_lines))
    if in_user is None or in_template is None:
        return None
    result: list[str] = []
    starts = (0, 0, 0)
    ends = [(line, in_user[line], in_template[line]) for line in in_user if line in in_template]
    for end in [*ends, (len(base_lines), len(user_lines), len(template_lines))]:
        versions = zip((base_lines, user_lines, template_lines), starts, end, strict=True)
        chunk = _merge_chunk(*(lines[first:last] for lines, first, last in versions))
        if chunk is None:
            return None
        result += [*chunk, *base_lines[end[0] : end[0] + 1]]
        starts = (end[0] + 1, end[1] + 1, end[2] + 1)
    return "\n".join(result)


def _merge_chunk(base: list[str], user: list[str], template: list[str]) -> list[str] | None:
    if user == base:
        return template
    if template in (base, user):
        return user
    if all(_IMPORT.fullmatch(line) or not line for line in (*base, *user, *template)):
        return _merge_lists(base, user, template)
    return None


def _match_lines(base: Sequence[str], lines: Sequence[str]) -> dict[int, int] | None:
    """Return which line of the base is which of the others, in their order; None if there are too many to compare."""
    shortest = min(len(base), len(lines))
    first = next((at for at in range(shortest) if base[at] != lines[at]), shortest)
    rest = shortest - first
    last = next((at for at in range(rest) if base[-1 - at] != lines[-1 - at]), rest)
    matches = {at: at for at in range(first)}
    middle, replacement = base[first : len(base) - last], lines[first : len(lines) - last]
    counts = Counter(replacement)
    equal_pairs = sum(count * counts[line] for line, count in Counter(middle).items())
    if equal_pairs > _MOST_PAIRS or len(middle) + len(replacement) > _MOST_LINES:
        return None
    for block in SequenceMatcher(None, middle, replacement, autojunk=False).get_matching_blocks():
        matches |= {first + block.a + at: first + block.b + at for at in range(block.size)}
    return matches | {len(base) - at: len(lines) - at for at in range(last, 0, -1)}


def _merge_lists(base: Sequence[Any], user: Sequence[Any], template: Sequence[Any]) -> list[Any]:
    """Return the items of the template without those that the user removed, and those that the user added."""
    keys = [[json.dumps(item, sort_keys=True) for item in items] for items in (base, user, template)]
    in_base, in_user, in_template = map(set, keys)
    items = [item for item, key in zip(template, keys[2], strict=True) if key in in_user or key not in in_base]
    return items + [item for item, key in zip(user, keys[1], strict=True) if key not in in_base | in_template]


# Parameters: one assignment a line, merged by its name.


@dataclass(frozen=True)
class _Assignment:
    """A statement of a parameters cell with the lines before it and the comment behind it."""

    lead: str
    target: str
    value: str
    comment: str

    @property
    def text(self) -> str:
        return f"{self.lead}{self.target}{self.value}{self.comment}"


_END = ""


def merge_parameters(base: str, user: str, template: str) -> tuple[str, dict[str, str]] | None:
    """Merge parameters cells by the names that they assign.

    Returns:
        The cell, and the template's line for each name of which both versions changed the value. None if one of the
        versions is more than a list of assignments.
    """
    versions = [_read_assignments(text) for text in (base, user, template)]
    if any(version is None for version in versions):
        return None
    old, now, new = (version or {} for version in versions)
    result: dict[str, _Assignment] = {}
    conflicts: dict[str, str] = {}
    for name in dict.fromkeys((*now, *new)):
        before, edit, update = old.get(name), now.get(name), new.get(name)
        if edit is None or update is None:
            # Only one version has it: it is new there, or the other version removed it.
            single = edit or update
            if single is not None and (before is None or single.text.strip() != before.text.strip()):
                result[name] = single
            continue
        is_changed = before is None or before.value not in (edit.value, update.value)
        if is_changed and edit.value != update.value:
            conflicts[name] = f"{update.target}{update.value}{update.comment}"
        before = before or replace(update, value="", lead="", comment="")
        lead = _choose(before.lead, edit.lead if edit.lead.strip() else before.lead, update.lead)
        value, comment = (
            _choose(*(getattr(part, key) for part in (before, edit, update))) for key in ("value", "comment")
        )
        result[name] = _Assignment(lead, update.target, value, comment)
    order = merge_order(list(old), list(now), list(new), result)
    order = [*(name for name in order if name != _END), *(name for name in order if name == _END)]
    return "\n".join(result[name].text for name in order), conflicts


def _choose(base: str, user: str, template: str) -> str:
    """Return the version that is new; the user's if both are."""
    return template if user == base else user


def _read_assignments(source: str) -> dict[str, _Assignment] | None:
    """Return the statements of a cell by the names that they assign; None if it has others that share a line or a name.

    The lines behind the last statement stand under an empty name.
    """
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines, position = source.split("\n"), 0
    assignments: dict[str, _Assignment] = {}
    for node in statements:
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or first < position or last > len(lines):
            return None
        target = node.targets[0]
        if not isinstance(target, ast.Name) or target.id in assignments or "\r" in source or "\f" in source:
            return None
        value = ast.get_source_segment(source, node.value) or ""
        comment = lines[last - 1].encode()[node.value.end_col_offset or 0 :].decode()
        statement = "\n".join(lines[first:last])
        lead = "".join(f"{line}\n" for line in lines[position:first])
        head = statement.removesuffix(f"{value}{comment}")
        has_brackets = head == statement or head.rstrip()[-1:] != "="
        if has_brackets or comment.strip()[:1] not in ("", "#"):
            return None
        assignments[target.id] = _Assignment(lead, head, value, comment)
        position = last
    if any(line.strip() for line in lines[position:]):
        assignments[_END] = _Assignment("", "", "\n".join(lines[position:]), "")
    return assignments


def merge_order(base: Sequence[str], user: Sequence[str], template: Sequence[str], names: Collection[str]) -> list[str]:
    """Return names in the order of the template, or in the user's if that is another than before.

    What the other version has in addition stands behind the name that it stood behind there.
    """
    common = set(base) & set(user) & set(template)
    is_moved = [name for name in user if name in common] != [name for name in base if name in common]
    leading, following = (user, template) if is_moved else (template, user)
    result = [name for name in leading if name in names]
    additions: dict[str | None, list[str]] = {name: [] for name in (None, *result)}
    previous = None
    for name in following:
        if name in additions:
            previous = name
        elif name in names:
            additions[previous].append(name)
    return [*additions[None], *(member for name in result for member in (name, *additions[name]))]


# Fields: metadata of a kernel, a notebook or a cell, merged key by key.


_ABSENT = object()


def merge_fields(
    base: Mapping[str, Any], user: Mapping[str, Any], template: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Merge objects by their keys, and lists in them by their items.

    Returns:
        The fields, and the names of those that both versions changed in different ways; these are the user's.
    """
    fields: dict[str, Any] = {}
    conflicts: list[str] = []
    for key in dict.fromkeys((*template, *user)):
        versions = [version.get(key, _ABSENT) for version in (base, user, template)]
        before, value, update = versions
        if _is_equal(value, before):
            value = update
        elif not (_is_equal(update, before) or _is_equal(value, update)):
            if all(isinstance(version, list) for version in versions):
                value = _merge_lists(*versions)
            elif all(isinstance(version, dict) for version in versions):
                value, inner_conflicts = merge_fields(*versions)
                conflicts += [f"{key}.{name}" for name in inner_conflicts]
            else:
                conflicts.append(key)
        if value is not _ABSENT:
            fields[key] = value
    return fields, conflicts


def _is_equal(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def merge_metadata(base: bytes, user: bytes, template: bytes, *, path: Path) -> Merge:
    """Merge the metadata of a kernel.

    Args:
        base: The file as it was rendered before.
        user: The file as it is.
        template: The file as it is rendered now.
        path: The file, for messages.

    Raises:
        PairError: The user's is not a JSON object.
    """
    old, now, new = (_read_object(content) for content in (base, user, template))
    if now is None or new is None:
        raise PairError(
            f"{printable(str(path))} is not a JSON object. Nothing was written.",
            remedy=restore_remedy(path),
            code="metadata-damaged",
        )
    fields, conflicts = merge_fields(old if old is not None else new, now, new)
    if fields == now:
        return Merge(user, tuple(_field_conflicts(conflicts, new)))
    changes = [
        Change(
            key,
            MergeOutcome.UPDATED
            if key in fields and key in now
            else MergeOutcome.ADDED
            if key in fields
            else MergeOutcome.REMOVED,
            before=_field_text(now, key),
            after=_field_text(fields, key),
        )
        for key in dict.fromkeys((*now, *fields))
        if now.get(key, _ABSENT) != fields.get(key, _ABSENT)
    ]
    content = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
    return Merge(content.encode("utf-8", "backslashreplace"), (*changes, *_field_conflicts(conflicts, new)))


def _field_conflicts(names: Iterable[str], template: Mapping[str, Any]) -> Iterable[Change]:
    for name in names:
        key = name.partition(".")[0]
        note = f"yours is kept; the template has {_field_text(template, key)}" if key in template else _REMOVED_CONFLICT
        yield Change(name, MergeOutcome.CONFLICT, note)


_REMOVED_CONFLICT = "yours is kept; the template no longer has it"


def _field_text(fields: Mapping[str, Any], key: str) -> str | None:
    return json.dumps(fields[key], ensure_ascii=False) if key in fields else None


def _read_object(content: bytes) -> dict[str, Any] | None:
    try:
        data = parsed_json(content)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


# Cells that are the same in two versions of a notebook, whatever their ids.


CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LEAST_LIKENESS = 0.5
_MOST_COMPARISONS = 10_000


def match_cells(
    cells: Mapping[str, WrittenCell],
    earlier: Mapping[str, WrittenCell],
    *,
    has_ids: bool = False,
    has_places: bool = True,
) -> dict[str, str]:
    """Return the ids that cells have in an earlier version of their notebook, by their ids now.

    Editors drop ids, or replace them. A cell is the one with its id; else the one that its metadata name; else the one
    with the same content; else the one that is most like it; else the one in the same place, behind a cell that is in
    both.

    Args:
        cells: The cells now.
        earlier: The cells before.
        has_ids: Whether a cell with an id that is new is new.
        has_places: Whether the place says something.
    """
    ids = {name: name for name in cells if name in earlier}
    candidates = {name: cell for name, cell in earlier.items() if name not in cells}
    nameless = {
        name: cell for name, cell in cells.items() if name not in ids and not (has_ids and CELL_ID.fullmatch(name))
    }

    def match(name: str, earlier_name: str) -> None:
        if name not in ids and earlier_name in candidates:
            ids[name] = earlier_name
            del candidates[earlier_name]

    for name, cell in nameless.items():
        match(name, cell.name)
    by_content = _names_by_content(candidates)
    for name, cell in nameless.items():
        if name not in ids and by_content.get(cell):
            match(name, by_content[cell].pop(0))
    for name, earlier_name in _similar_cells(
        {name: nameless[name] for name in nameless if name not in ids}, candidates
    ):
        match(name, earlier_name)
    following = dict(zip(["", *earlier], earlier, strict=False))
    previous = ""
    for name, cell in cells.items():
        place = following.get(previous, "")
        if has_places and name in nameless and place in candidates and candidates[place].kind == cell.kind:
            match(name, place)
        previous = ids.get(name, previous)
    return ids


def _names_by_content(cells: Mapping[str, WrittenCell]) -> dict[WrittenCell, list[str]]:
    names: dict[WrittenCell, list[str]] = {}
    for name, cell in cells.items():
        names.setdefault(cell, []).append(name)
    return names


def _similar_cells(cells: Mapping[str, WrittenCell], earlier: Mapping[str, WrittenCell]) -> list[tuple[str, str]]:
    """Return the pairs of cells with at least half of their lines in common, the most similar ones first."""
    if len(cells) * len(earlier) > _MOST_COMPARISONS:
        return []
    counts, earlier_counts = (
        {name: Counter(line.strip() for line in cell.source.splitlines() if line.strip()) for name, cell in of.items()}
        for of in (cells, earlier)
    )
    likeness = {
        (name, earlier_name): 2 * (counts[name] & earlier_counts[earlier_name]).total() / total
        for name, cell in cells.items()
        for earlier_name, earlier_cell in earlier.items()
        if cell.kind == earlier_cell.kind and (total := (counts[name] + earlier_counts[earlier_name]).total())
    }
    return sorted((pair for pair in likeness if likeness[pair] >= _LEAST_LIKENESS), key=lambda pair: -likeness[pair])


# Notebooks: each cell merged by its id, then all of them put in order.


_LONGEST_ID = 64
# What a run leaves in metadata; the outputs of an earlier version go with it.
_RUN_RECORDS = frozenset({"execution", "papermill", "ExecuteTime"})
# What Colab, Kaggle, VS Code and JupyterLab write into each cell that they show, or that somebody folds.
_EDITOR_FIELDS = frozenset(
    {
        *("id", "outputId", "colab", "colab_type", "_uuid", "_cell_guid", "_kg_hide-input", "_kg_hide-output"),
        *("trusted", "vscode", "scrolled", "collapsed", "jupyter"),
    }
)


@dataclass(frozen=True)
class _Piece:
    """A cell with everything that stays of it in a merge."""

    kind: str
    source: str
    metadata: Mapping[str, Any]
    attachments: Mapping[str, Any]

    def is_edit_of(self, piece: "_Piece") -> bool:
        return (self.kind, self.source.strip()) != (piece.kind, piece.source.strip())

    def adds_fields_to(self, piece: "_Piece") -> bool:
        """Return whether it has pictures or metadata that the other lacks, apart from what editors write unasked."""
        fields = {key: value for key, value in self.metadata.items() if key not in _EDITOR_FIELDS}
        return self.attachments != piece.attachments or any(
            not _is_equal(value, piece.metadata.get(key, _ABSENT)) for key, value in fields.items()
        )


@dataclass(frozen=True)
class _Version:
    """A notebook: its cells by their ids, or by their position where they have none, and its metadata."""

    pieces: Mapping[str, _Piece]
    cells: Mapping[str, WrittenCell]
    metadata: Mapping[str, Any]

    def relabel(self, names: Mapping[str, str]) -> "_Version":
        pieces = {names.get(name, name): piece for name, piece in self.pieces.items()}
        return replace(self, pieces=pieces, cells={names.get(name, name): cell for name, cell in self.cells.items()})


def merge_notebooks(  # noqa: PLR0913 - the three versions, and what to know of them
    base: bytes,
    user: bytes,
    template: bytes,
    *,
    path: Path,
    redundant: Collection[str] = (),
    author: str = TEMPLATE,
) -> Merge:
    """Merge notebooks cell by cell.

    A result that differs from the user's notebook has no outputs, as those belong to other code. It is valid, and each
    of its cells has an id of its own.

    Args:
        base: The notebook as it was rendered before.
        user: The notebook as it is.
        template: The notebook as it is rendered now.
        path: The notebook, for messages.
        redundant: The ids of cells version edits are in the template's version already.
        author: Whose version the template's is, in words.

    Raises:
        NotebookReadError: One of the three is not a notebook.
    """
    old, original, new = (_read(content, path) for content in (base, user, template))
    names_of_old = {before: now for now, before in match_cells(new.cells, old.cells, has_places=False).items()}
    labels = _labels(original, old, new, names_of_old)
    old, now = old.relabel(names_of_old), original.relabel(labels)
    results: dict[str, _Piece] = {}
    changes: dict[str, Change] = {}
    companions: dict[str, _Piece] = {}
    for name in dict.fromkeys((*new.pieces, *now.pieces)):
        versions = (old.pieces.get(name), now.pieces.get(name), new.pieces.get(name))
        result = _merge_cell(*versions, is_redundant=name in redundant)
        if result.piece is not None:
            results[name] = result.piece
        if result.outcome is not None:
            before, after = (piece.source if piece else None for piece in (versions[1], result.piece))
            changes[name] = Change(name, result.outcome, result.note, before, after, author=author)
        if result.companion is not None:
            companions[name] = _companion(name, result.companion, author)
    _drop_stale_companions(results, (old, new), companions, author)
    pieces: dict[str, _Piece] = {}
    for name in merge_order(list(old.pieces), list(now.pieces), list(new.pieces), results):
        is_id = CELL_ID.fullmatch(name)
        pieces[name if is_id else free_name(f"cell-{len(pieces) + 1}", {*results, *pieces})] = results[name]
        if name in companions:
            ending = "template" if author == TEMPLATE else "other"
            label = free_name(f"{name[: _LONGEST_ID - 12]}-{ending}", {*results, *pieces})
            pieces[label] = companions[name]
            changes[name] = replace(changes[name], companion=label)
    metadata, _ = merge_fields(old.metadata, now.metadata, new.metadata)
    metadata |= {key: new.metadata[key] for key in _SPECIFICATIONS if key in new.metadata and key not in metadata}
    is_same = pieces == original.pieces and list(pieces) == list(original.pieces) and metadata == original.metadata
    content = user if is_same else _content(pieces, metadata)
    moves = [replace(change, author=author) for change in _moves(old, now, new)]
    return Merge(content, (*changes.values(), *moves))


def _moves(old: _Version, now: _Version, new: _Version) -> list[Change]:
    versions = (old.pieces, now.pieces, new.pieces)
    in_base, in_user, in_template = (
        [name for name in pieces if all(name in version for version in versions)] for pieces in versions
    )
    if in_template in (in_base, in_user):
        return []
    note = "the template has another order" if in_user == in_base else "your order is kept; the template has another"
    return [Change("", MergeOutcome.MOVED, note)]


def _labels(user: _Version, old: _Version, new: _Version, names_of_old: Mapping[str, str]) -> dict[str, str]:
    """Return the id of each cell of the user's notebook in the result."""
    is_nameless = all(name.startswith("#") for name in user.cells)
    has_ids = any(name in old.cells for name in user.cells)
    matches = match_cells(user.cells, old.cells, has_ids=has_ids, has_places=is_nameless)
    labels = {name: names_of_old.get(before, before) for name, before in matches.items()}
    used_names = {names_of_old.get(name, name) for name in old.pieces}
    additions = _names_by_content({name: cell for name, cell in new.cells.items() if name not in used_names})
    for position, (name, cell) in enumerate(user.cells.items(), start=1):
        if name not in labels:
            label = additions[cell].pop(0) if additions.get(cell) else name
            if label in used_names or not CELL_ID.fullmatch(label):
                label = free_name(f"cell-{position}", {*used_names, *new.pieces})
            labels[name] = label
            used_names.add(label)
    return labels


def free_name(stem: str, used_names: Collection[str]) -> str:
    """Return a name that no cell has yet, such as `model-2`."""
    number = 1
    while (name := stem if number == 1 else f"{stem}-{number}") in used_names:
        number += 1
    return name


@dataclass(frozen=True)
class _CellMerge:
    piece: _Piece | None
    outcome: MergeOutcome | None = None
    note: str = ""
    companion: str | None = None  # the template's text, if it is in conflict


_TEMPLATE_REMOVAL = "the template no longer has it"


def _merge_cell(old: _Piece | None, now: _Piece | None, new: _Piece | None, *, is_redundant: bool) -> _CellMerge:
    """Merge the three versions of a cell, any of which may be missing."""
    if now is None or new is None:
        return _merge_single(old, now, new, is_redundant=is_redundant)
    before = old or _Piece(new.kind, "", {}, {})
    has_pictures = now.attachments != before.attachments
    is_users_edit = (now.is_edit_of(before) or has_pictures) and not is_redundant
    base_metadata = old.metadata if old else {}
    metadata, _ = merge_fields(base_metadata, now.metadata, new.metadata)
    metadata = {key: value for key, value in metadata.items() if _is_valid(key, value)}
    pictures, _ = merge_fields(before.attachments, now.attachments, new.attachments)
    is_new = metadata != now.metadata or pictures != now.attachments
    now = replace(now, metadata=metadata, attachments=pictures)
    if not is_users_edit:
        piece = replace(now, kind=new.kind, source=new.source)
        if not piece.is_edit_of(now):
            piece = replace(piece, source=now.source)
        return _CellMerge(piece, MergeOutcome.UPDATED if is_new or piece.is_edit_of(now) else None)
    if not new.is_edit_of(before):
        return _CellMerge(now, MergeOutcome.KEPT, "your edit")
    if not now.is_edit_of(new):
        return _CellMerge(now)
    source, conflict, note = _merge_sources(before, now, new)
    piece = replace(now, source=source)
    if conflict is None:
        return _CellMerge(piece, MergeOutcome.MERGED, "your edit and the template's")
    return _CellMerge(piece, MergeOutcome.CONFLICT, note, conflict)


def _merge_single(old: _Piece | None, now: _Piece | None, new: _Piece | None, *, is_redundant: bool) -> _CellMerge:
    """Merge a cell that only the user has, or only the template."""
    if now is not None:
        if old is None:
            return _CellMerge(now)
        if (now.is_edit_of(old) and not is_redundant) or now.adds_fields_to(old):
            return _CellMerge(now, MergeOutcome.KEPT, f"you edited it, and {_TEMPLATE_REMOVAL}")
        return _CellMerge(None, MergeOutcome.REMOVED, _TEMPLATE_REMOVAL)
    if new is None or old is None:
        return _CellMerge(new, MergeOutcome.ADDED)
    if new.is_edit_of(old):
        return _CellMerge(None, MergeOutcome.REMOVED, "you removed it, and the template has changed it since")
    return _CellMerge(None)


def _merge_sources(old: _Piece, now: _Piece, new: _Piece) -> tuple[str, str | None, str]:
    """Return the merged text, and the template's text, which may be empty, and a note if they are in conflict."""
    conflict = (now.source, new.source, "your version is kept")
    if now.kind != new.kind:
        return conflict
    tags = new.metadata.get("tags")
    if (
        isinstance(tags, list)
        and PARAMETERS_TAG in tags
        and (result := merge_parameters(old.source, now.source, new.source))
        and _is_python(result[0])
    ):
        source, lines = result
        return (
            (source, "\n".join(lines.values()), f"your values of {', '.join(lines)} are kept")
            if lines
            else (source, None, "")
        )
    text = merge_lines(old.source, now.source, new.source)
    is_python = now.kind == CellKind.CODE and _is_python(now.source) and _is_python(new.source)
    if text is None or (is_python and not _is_python(text)):
        return conflict
    return text, None, ""


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _companion(name: str, source: str, author: str) -> _Piece:
    """Return the folded cell with the template's version, which is all comments: it never runs."""
    lines = [*_companion_head(name, author), *_comments(source)]
    metadata = cell_fields(Cell(name, CellKind.CODE, "", (FOLDED_TAG,)))["metadata"]
    return _Piece(str(CellKind.CODE), "\n".join(lines), metadata, {})


def _companion_head(name: str, author: str) -> list[str]:
    author = f"{author[0].upper()}{author[1:]}"
    return [
        f'# {author}\'s version of the cell "{name}", which you edited. Copy what you need, then delete this cell.',
        "#",
    ]


def _comments(source: str) -> list[str]:
    return [f"# {line}".rstrip() for line in source.splitlines()]


def _drop_stale_companions(
    pieces: dict[str, _Piece], versions: Sequence[_Version], names: Iterable[str], author: str
) -> None:
    """Remove what an earlier conflict of the same cells left, unless the user has written into it."""
    for name in names:
        head = _companion_head(name, author)
        texts = [{*_comments(version.pieces[name].source)} for version in versions if name in version.pieces]
        for label in [label for label in pieces if label not in versions[0].pieces]:
            lines = pieces[label].source.strip().splitlines()
            if lines[:2] == head and any(comments.issuperset(lines[2:]) for comments in texts):
                del pieces[label]


def _read(content: bytes, path: Path) -> _Version:
    data = notebook_fields(content, path=path)
    cells = cells_of_fields(data)
    pieces = {
        name: _Piece(
            cell.kind if cell.kind in _KINDS else "raw",
            cell.source,
            _metadata(raw.get("metadata")),
            _attachments(raw.get("attachments")) if cell.kind != CellKind.CODE else {},
        )
        for (name, cell), raw in zip(cells.items(), data["cells"], strict=True)
    }
    return _Version(pieces, cells, _metadata(data.get("metadata")))


def _content(pieces: Mapping[str, _Piece], metadata: Mapping[str, Any]) -> bytes:
    cells = []
    for name, piece in pieces.items():
        kind = CellKind.CODE if piece.kind == CellKind.CODE else CellKind.MARKDOWN
        fields = cell_fields(Cell(name, kind, piece.source)) | {"cell_type": piece.kind, "metadata": piece.metadata}
        has_attachments = piece.attachments and kind is not CellKind.CODE
        cells.append(fields | ({"attachments": piece.attachments} if has_attachments else {}))
    return notebook_json(cells, metadata).encode("utf-8", "backslashreplace")


# What the schema of notebooks asks of metadata. A value that breaks it would make the whole notebook invalid.


_KINDS = (*CellKind, "raw")
_SPECIFICATIONS = ("kernelspec", "language_info")
_LANGUAGE_TEXTS = ("file_extension", "mimetype", "pygments_lexer")


def _metadata(data: object) -> dict[str, Any]:
    """Return metadata without what a run left in it, and without what is not valid."""
    fields = data if isinstance(data, dict) else {}
    return {key: value for key, value in fields.items() if key not in _RUN_RECORDS and _is_valid(key, value)}


def _is_valid(key: str, value: object) -> bool:
    return key not in _RULES or _RULES[key](value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and re.search(r"^.+$", value) is not None


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_tags(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_tag, value)) and len(set(value)) == len(value)


def _are_flags(value: object) -> bool:
    return isinstance(value, dict) and all(
        _is_flag(value.get(name, True)) for name in ("source_hidden", "outputs_hidden")
    )


def _is_kernel(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("name", "display_name"))


def _is_language(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("codemirror_mode", ""), str | dict):
        return False
    return isinstance(value.get("name"), str) and all(isinstance(value.get(name, ""), str) for name in _LANGUAGE_TEXTS)


def _is_tag(tag: object) -> bool:
    return isinstance(tag, str) and bool(re.fullmatch(r"[^,]+", tag))


_RULES: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("name", "format", "title"), _is_text),
    "tags": _are_tags,
    "collapsed": _is_flag,
    "scrolled": lambda value: _is_flag(value) or value == "auto",
    "jupyter": _are_flags,
    "kernelspec": _is_kernel,
    "language_info": _is_language,
    "orig_nbformat": lambda value: isinstance(value, int) and not _is_flag(value) and value > 0,
    "authors": lambda value: isinstance(value, list),
}


def _attachments(data: object) -> dict[str, Any]:
    """Return the pictures that were pasted into a cell of text, by their names."""
    files = data if isinstance(data, dict) else {}
    return {
        name: file
        for name, file in files.items()
        if isinstance(file, dict) and all(isinstance(content, str) for content in file.values())
    }
