"""Edits in a pair's files since they were rendered, cell by cell and field by field."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.pair.notebook import NotebookReadError, written_cells
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


def _compared(what: str, now: Mapping[str, Any], before: Mapping[str, Any], *, is_ordered: bool) -> Edits:
    return Edits(
        what=what,
        changed=tuple(name for name in now if name in before and now[name] != before[name]),
        added=tuple(name for name in now if name not in before),
        removed=tuple(name for name in before if name not in now),
        is_reordered=is_ordered and now.keys() == before.keys() and list(now) != list(before),
    )
