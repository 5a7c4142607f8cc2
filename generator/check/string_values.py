"""Texts that code puts together, as far as they can be read without executing it: paths above all."""

import ast
from pathlib import PurePosixPath

from generator.check.code import NotebookCode

UNKNOWN = "\0"
"""Stands for a part of a text that only a run would tell."""

_DEEPEST, _LONGEST = 20, 4_000
_SAME = {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath", "str", "os.fspath"}
_JOINING = {"os.path.join", "posixpath.join", "tensorflow.io.gfile.join"}
_UNCHANGED = {"resolve", "absolute", "expanduser", "as_posix"}


def text_of(code: NotebookCode, node: ast.AST | None, depth: int = 0) -> str | None:
    """Return the text that an expression amounts to, or None where nothing of it is known.

    Constants, f-strings, sums, `/` and `joinpath` of paths, `os.path.join`, and names that are bound once are followed.
    """
    if node is None or depth > _DEEPEST:
        return None
    if node not in code.texts:
        text = _text_of(code, node, depth)
        code.texts[node] = None if text is None or len(text) > _LONGEST else text
    return code.texts[node]


def _text_of(code: NotebookCode, node: ast.AST, depth: int) -> str | None:
    text: str | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.Name):
        text = text_of(code, code.assigned.get(node.id), depth + 1)
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        text = "".join(text_of(code, part, depth + 1) or UNKNOWN for part in parts)
    elif isinstance(node, ast.BinOp):
        text = _of_operation(code, node, depth)
    elif isinstance(node, ast.Call):
        text = _of_call(code, node, depth)
    return text


def _of_operation(code: NotebookCode, node: ast.BinOp, depth: int) -> str | None:
    left, right = text_of(code, node.left, depth + 1), text_of(code, node.right, depth + 1)
    if left is None and right is None:
        return None
    if isinstance(node.op, ast.Div):
        return _path(left, right)
    return (left or UNKNOWN) + (right or UNKNOWN) if isinstance(node.op, ast.Add) else None


def _of_call(code: NotebookCode, node: ast.Call, depth: int) -> str | None:
    name = code.name_of(node.func)
    parts = [text_of(code, argument, depth + 1) for argument in node.args]
    if name in _SAME and len(parts) == 1:
        return parts[0]
    if name in _SAME | _JOINING:
        return _path(*parts) if any(part is not None for part in parts) else None
    base = text_of(code, node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
    method = name.rpartition(".")[2]
    if base is None or method == "joinpath":
        return _path(base, *parts) if base is not None else None
    return base if method in _UNCHANGED else None


def _path(*parts: str | None) -> str:
    return str(PurePosixPath(*(UNKNOWN if part is None else part for part in parts)))
