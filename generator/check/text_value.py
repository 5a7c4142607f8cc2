"""Texts that the code of a notebook puts together, paths above all."""

import ast
from pathlib import PurePosixPath
from typing import Protocol

UNKNOWN = "\0"  # a part of a text that only a run would tell

_SAME_TEXT = {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath", "str", "os.fspath"}
_JOINING = {"os.path.join", "posixpath.join", "tensorflow.io.gfile.join"}
_UNCHANGED = {"resolve", "absolute", "expanduser", "as_posix"}


class Names(Protocol):
    """What the code of a notebook knows of its names."""

    def name(self, node: ast.AST) -> str:
        """Return the full name that an expression is."""

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """Return the expression that a name is given."""

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """Return the text that an expression amounts to, if it is known."""


def text_of(code: Names, node: ast.AST, depth: int) -> str | None:  # noqa: PLR0911 - a kind a line
    """Return the text that an expression amounts to, with `UNKNOWN` for parts of it, or None; as `NotebookCode.text`.

    Args:
        code: The notebook's code, which knows names.
        node: The expression.
        depth: How many expressions it is within.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        value = code.resolved(node)
        return None if value is node else code.text(value, depth + 1)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return "".join(code.text(part, depth + 1) or UNKNOWN for part in parts)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Div | ast.Add):
            return None
        left, right = code.text(node.left, depth + 1), code.text(node.right, depth + 1)
        if left is None and right is None:
            return None
        if isinstance(node.op, ast.Div):
            return _path(left, right)
        return (left or UNKNOWN) + (right or UNKNOWN)
    return _text_of_call(code, node, depth) if isinstance(node, ast.Call) else None


def _text_of_call(code: Names, node: ast.Call, depth: int) -> str | None:
    name = code.name(node.func)
    method = name.rpartition(".")[2]
    if name not in _SAME_TEXT and name not in _JOINING and method != "joinpath" and method not in _UNCHANGED:
        return None
    parts = [code.text(argument, depth + 1) for argument in node.args]
    if name in _SAME_TEXT and len(parts) == 1:
        return parts[0]
    if name in _SAME_TEXT | _JOINING:
        return _path(*parts) if any(part is not None for part in parts) else None
    base = code.text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
    if base is None or method == "joinpath":
        return _path(base, *parts) if base is not None else None
    return base if method in _UNCHANGED else None


def _path(*parts: str | None) -> str:
    return str(PurePosixPath(*(UNKNOWN if part is None else part for part in parts)))
