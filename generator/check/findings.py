"""Findings: what is found, where, how grave it is, what to do, and the changes that mend it."""

import ast
import builtins
import copy
import io
import re
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from generator.text import printable

# Fixes: the changes of a kernel's files that a rule offers beside its remedy.
#
# A rule gives one to its `Problem`, in a word: `fix=with_argument(call, "drop_remainder=True")`. Each of these
# functions says what is to become of a node of the cell where the problem is, or of a field of the metadata.
# Whether the text that the node stands for can be found and changed so that nothing else changes is seen when the
# fix is applied: a change is left out where its text, read again, would not be the syntax tree that is meant.
#
# replaced(node, "float") np.float float with_argument(call, "drop_remainder=True") ds.batch(64) ds.batch(64,
# drop_remainder=True) renamed_argument(call, "lr", "learning_rate") Adam(lr=1e-3) Adam(learning_rate=1e-3)
# renamed(node, "numpy.NaN", "numpy.nan") np.NaN np.nan with_text(node, "/input/a", "/input/b/a") f"{ROOT}/input/a"
# f"{ROOT}/input/b/a" with_field("enable_tpu", value=True) "enable_tpu": "yes" "enable_tpu": true
# without_field("id_no") "id_no": 7, "title": … "title": …


NodeT = TypeVar("NodeT", bound=ast.AST)
_LONGEST = 20_000  # characters of an expression that is read again
DELETE: Final = object()
"""The value of a field that is to go."""

Piece = tuple[int, int, str]
"""From where to where in the text of a node, in characters, and what is to stand there."""


@dataclass(frozen=True, eq=False)
class CodeChange:
    """A change of the text of a node.

    Attributes:
        node: An expression of the cell.
        piece: What changes in its text; None where the text is not as expected.
        result: The node that the changed text has to be.
    """

    node: ast.expr
    piece: Callable[[str], Piece | None]
    result: Callable[[], ast.expr]


@dataclass(frozen=True)
class FieldChange:
    """A field of the metadata, or one of the notebook's own, and its new value; `REMOVED` takes it away.

    Attributes:
        path: The keys, and the numbers of items of lists, that lead to it.
        value: What JSON can say, or `REMOVED`.
        in_notebook: The field is one of the notebook and not of kernel-metadata.json.
    """

    path: tuple[str | int, ...]
    value: Any
    in_notebook: bool = False


@dataclass(frozen=True, eq=False)
class Fix:
    """Changes that belong together: all of them are made, or none."""

    changes: tuple[CodeChange | FieldChange, ...]

    def __and__(self, fix: "Fix") -> "Fix":
        return Fix((*self.changes, *fix.changes))


def replace_node(node: ast.expr, text: str) -> Fix:
    """Put another expression in the place of one."""
    return Fix((CodeChange(node, lambda old: (0, len(old), text), lambda: _expression(text)),))


def with_argument(call: ast.Call, argument: str) -> Fix | None:
    """Give a call one more argument by its name, behind the others; None where it may have that already."""
    keyword = _keyword(argument)
    if any(existing_keyword.arg in (None, keyword.arg) for existing_keyword in call.keywords):
        return None

    def result() -> ast.expr:
        return _copy_with(call, keywords=[*call.keywords, keyword])

    return Fix((CodeChange(call, lambda text: _behind_arguments(text, argument), result),))


def renamed_argument(call: ast.Call, name: str, new: str) -> Fix | None:
    """Give an argument of a call its other name; None where the call has both or neither."""
    if [candidate.arg for candidate in call.keywords if candidate.arg in (name, new)] != [name]:
        return None
    keyword = next(candidate for candidate in call.keywords if candidate.arg == name)

    def result() -> ast.expr:
        new_keywords = [
            _copy_with(argument, arg=new) if argument is keyword else argument for argument in call.keywords
        ]
        return _copy_with(call, keywords=new_keywords)

    def piece(text: str) -> Piece | None:
        for match in re.finditer(rf"(?<=[(,\s]){re.escape(name)}(?=\s*=(?!=))", text):
            if is_node(text[: match.start()] + new + text[match.end() :], result()):
                return match.start(), match.end(), new
        return None

    return Fix((CodeChange(call, piece, result),))


def rename_node(node: ast.expr, name: str, new: str) -> Fix | None:
    """Replace a name that a library has removed by the one that took its place; None where that is more than a name.

    Args:
        node: The dotted name as it is written, such as `np.NaN`.
        name: What it stands for in full, such as `numpy.NaN`.
        new: The new one in full, such as `numpy.nan`, or a builtin, such as `float`.
    """
    if new in dir(builtins):
        return replace_node(node, new)
    parts, new_parts = name.split("."), new.split(".")
    if not all(map(str.isidentifier, new_parts)):
        return None
    common = next(
        (at for at, (part, new_part) in enumerate(zip(parts, new_parts, strict=False)) if part != new_part), 0
    )
    base = node
    for _ in range(len(parts) - common):
        if not isinstance(base, ast.Attribute):
            return None
        base = base.value
    return replace_node(node, ".".join([ast.unparse(base), *new_parts[common:]])) if common else None


def with_text(node: ast.expr, old: str, new: str) -> Fix | None:
    """Replace a part of a literal in an expression; None unless exactly one literal has it, once."""
    texts = [
        literal.value
        for literal in ast.walk(node)
        if isinstance(literal, ast.Constant) and isinstance(literal.value, str)
    ]
    if sum(text.count(old) for text in texts) != 1:
        return None

    def result() -> ast.expr:
        clone = copy.deepcopy(node)
        for descendant in ast.walk(clone):
            if isinstance(descendant, ast.Constant) and isinstance(descendant.value, str):
                descendant.value = descendant.value.replace(old, new)
        return clone

    def piece(text: str) -> Piece | None:
        at = text.find(old)
        return (at, at + len(old), new) if at >= 0 and text.find(old, at + 1) < 0 else None

    return Fix((CodeChange(node, piece, result),))


def with_field(*path: str | int, value: Any) -> Fix:
    """Give a field of kernel-metadata.json another value, or the file that field."""
    return Fix((FieldChange(path, value),))


def without_field(*path: str | int) -> Fix:
    """Take a field, or an item of a list, out of kernel-metadata.json."""
    return Fix((FieldChange(path, DELETE),))


def is_node(text: str, node: ast.expr) -> bool:
    """True if a text is what a node was read from, wherever that was."""
    if len(text) > _LONGEST:
        return False
    try:
        return _dump(_expression(text)) == _dump(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _dump(node: ast.AST) -> str:
    """The tree of an expression that is read, without its places; one that is written to is told by the same names."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def _expression(text: str) -> ast.expr:
    # In brackets it may go on over several lines, as it does in those of a call.
    return ast.parse(f"(\n{text}\n)", mode="eval").body


def _keyword(argument: str) -> ast.keyword:
    call = _expression(f"f({argument})")
    assert isinstance(call, ast.Call)  # noqa: S101 - what a rule writes
    return call.keywords[0]


def _copy_with(node: NodeT, **fields: object) -> NodeT:
    clone = copy.copy(node)
    for name, value in fields.items():
        setattr(clone, name, value)
    return clone


def _behind_arguments(text: str, argument: str) -> Piece | None:
    """Where one more argument goes in the text of a call: behind the last one, and before what follows that."""
    if not text.endswith(")"):
        return None
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    last: tokenize.TokenInfo | None = None
    layout_types = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text[:-1]).readline):
            if token.type not in layout_types and token.type != tokenize.ENDMARKER:
                last = token
    except tokenize.TokenError:  # the bracket that was cut off
        pass
    except SyntaxError:
        return None
    if last is None:
        return None
    row, column = last.start if last.string == "," else last.end  # a comma at the end stays there
    at = lines[row - 1] + column
    return at, at, argument if last.string == "(" else f", {argument}"


# Findings: which rule, how grave, what and where it is, and what to do.


class Severity(StrEnum):
    """How grave a finding is; only errors make the check fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class CodeLocation:
    """Where something is: in a file, and in a notebook's cell."""

    path: Path
    cell: str = ""  # its id where that is a name, else `cell 3`, counted from 1 among all cells
    line: int = 0  # counted from 1 within the cell, or within a file that is no notebook; 0 is the whole


@dataclass(frozen=True)
class CheckFinding:
    """What a rule found, in one sentence, with a remedy in another, and a fix where a rule is sure of one."""

    rule: str
    severity: Severity
    place: CodeLocation
    message: str
    remedy: str
    fix: Fix | None = field(default=None, compare=False)


def describe_place(place: CodeLocation) -> str:
    """A place within its file, in words; nothing for the whole of it."""
    line = f"line {place.line}" if place.line else ""
    cell = f"cell {place.cell}" if place.cell and not place.cell.startswith("cell ") else place.cell
    return printable(", ".join(filter(None, (cell, line))))
