"""Edits in a pair's files since they were rendered or sent, cell by cell and field by field."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.pair.notebook import NotebookReadError, WrittenCell, written_cells
from generator.untrusted import printable


@dataclass(frozen=True)
class Edits:
    """The differences of a file from another version of it.

    Attributes:
        what: What the names are, such as `cells`.
        changed: Names that both have, with other contents.
        added: Names that only the file has.
        removed: Names that only the other version has.
        is_reordered: Both have the same names, in another order.
        problem: Why the file could not be compared; empty if it could be.
    """

    what: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    is_reordered: bool = False
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.removed or self.is_reordered or self.problem)

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        named = (("changed", self.changed), ("added", self.added), ("removed", self.removed))
        parts = [f"{self.what} {verb}: {', '.join(map(printable, names))}" for verb, names in named if names]
        return "; ".join([*parts, f"{self.what} in another order"] if self.is_reordered else parts)


def edits(path: Path, content: bytes, *, since: bytes) -> Edits:
    """Compares a notebook cell by cell, or metadata field by field.

    Outputs, execution counts, and the metadata that Jupyter keeps in a notebook are no edits.

    Args:
        path: The file; its suffix says what it is.
        content: What it holds now.
        since: What it held before.
    """
    if content == since:
        return Edits(what="")
    try:
        if path.suffix == ".ipynb":
            both = [written_cells(each, path=path) for each in (content, since)]
            return _compared("cells", *both, is_ordered=True)
        now, before = json.loads(content), json.loads(since)
    except NotebookReadError:
        return Edits(what="cells", problem="no longer a notebook")
    except (ValueError, RecursionError):
        return Edits(what="fields", problem="no longer JSON")
    if not isinstance(now, dict) or not isinstance(before, dict):
        return Edits(what="fields", problem="no longer a JSON object")
    return _compared("fields", now, before, is_ordered=False)


def cell_edits(content: str, *, since: str) -> Edits:
    """Compares the cells of a notebook that another editor saved, which may have replaced their ids.

    A cell whose id the other version lacks is the one there with the same content, or else the one in the same place
    behind a cell that both have.

    Args:
        content: The notebook now.
        since: The notebook before.
    """
    try:
        now, before = (
            written_cells(text.encode("utf-8", "replace"), path=Path("notebook")) for text in (content, since)
        )
    except NotebookReadError:
        return Edits(what="cells", problem="one of the two is no notebook")
    return _compared("cells", _with_ids_of(before, now), before, is_ordered=True)


def _with_ids_of(before: Mapping[str, WrittenCell], now: Mapping[str, WrittenCell]) -> dict[str, WrittenCell]:
    """The cells of `now`, under the ids that they have in `before` where they can be matched."""
    ids = {name: name for name in now if name in before}
    unmatched = {name: cell for name, cell in before.items() if name not in now}
    by_content: dict[WrittenCell, list[str]] = {}
    for name, cell in unmatched.items():
        by_content.setdefault(cell, []).append(name)
    for name, cell in now.items():
        if name not in ids and by_content.get(cell):
            ids[name] = by_content[cell].pop(0)
            del unmatched[ids[name]]
    following = dict(zip(["", *before], before, strict=False))
    previous = ""
    for name, cell in now.items():
        place = following.get(previous, "")
        if name not in ids and place in unmatched and unmatched[place].kind == cell.kind:
            ids[name] = place
            del unmatched[place]
        previous = ids.get(name, previous)
    return {ids.get(name, name): cell for name, cell in now.items()}


def _compared(what: str, now: Mapping[str, Any], before: Mapping[str, Any], *, is_ordered: bool) -> Edits:
    return Edits(
        what=what,
        changed=tuple(name for name in now if name in before and now[name] != before[name]),
        added=tuple(name for name in now if name not in before),
        removed=tuple(name for name in before if name not in now),
        is_reordered=is_ordered and now.keys() == before.keys() and list(now) != list(before),
    )
