"""Code that a session on Kaggle never comes to: branches for Colab, for a machine at home, for another system."""

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, cast

from generator.check.cell_text import CodeCell
from generator.check.code import NotebookCode
from generator.check.text_value import UNKNOWN

AnswerT = TypeVar("AnswerT")
NodeT = TypeVar("NodeT", bound=ast.AST)
_VERSION_CHECK = re.compile(r"version|hasattr|colab|is_local|getattr|find_spec", re.IGNORECASE)

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST_GUARD = 5  # names and functions that are followed for a condition
_MOST_USES = 200  # of a function, that are looked at: thousands of functions may have one name
_ELSEWHERE = {"colab", "google", "local", "localhost", "windows", "darwin", "nt", "win32", "paperspace", "sagemaker"}
_SYSTEMS = {"platform.system": {"windows", "darwin"}, "sys.platform": {"win32", "darwin"}, "os.name": {"nt"}}


@lru_cache(maxsize=2)
def _answers(_: NotebookCode) -> dict[tuple[Callable[..., object], ast.AST, int], object]:
    """What is known of the conditions and functions of a notebook, of which many statements ask the same."""
    return {}


def _once(
    question: Callable[[NotebookCode, NodeT, int], AnswerT], code: NotebookCode, node: NodeT, depth: int
) -> AnswerT:
    """The answer to a question about a node, found out once: uses of uses, asked one by one, have no end."""
    answers = _answers(code)
    key = (question, node, depth)
    if key not in answers:
        answers[key] = question(code, node, depth)
    return cast("AnswerT", answers[key])


def is_elsewhere(code: NotebookCode, node: ast.AST, depth: int = 0) -> bool:
    """True for code that a session on Kaggle passes by: below `if` in Colab, or in a function used only there."""
    inner: ast.AST = node
    for around in code.ancestors(node):
        if isinstance(around, ast.If | ast.IfExp | ast.While) and _is_passed_by(code, around, inner):
            return True
        if isinstance(around, ast.BoolOp) and inner in around.values:
            stops = not isinstance(around.op, ast.And)
            if any(on_kaggle(code, each) is stops for each in around.values[: around.values.index(inner)]):
                return True
        if isinstance(around, ast.Try) and _is_after_colab(around, inner):
            return True
        if isinstance(around, ast.For) and inner in around.body and code.is_empty(around.iter):
            return True
        is_deep = depth >= _DEEPEST_GUARD
        if isinstance(around, _NAMED) and not is_deep and _once(_is_used_elsewhere, code, around, depth):
            return True
        inner = around
    return False


def _is_used_elsewhere(code: NotebookCode, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
    uses = _uses_outside(code, function)
    return bool(uses) and code.class_of(function) is None and all(is_elsewhere(code, use, depth + 1) for use in uses)


def _uses_outside(code: NotebookCode, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.Name]:
    uses = code.uses_by_name.get(function.name, [])[:_MOST_USES]
    return [use for use in uses if function not in code.ancestors(use)]


def _is_passed_by(code: NotebookCode, around: ast.If | ast.IfExp | ast.While, inner: ast.AST) -> bool:
    body = around.body if isinstance(around.body, list) else [around.body]
    orelse = around.orelse if isinstance(around.orelse, list) else [around.orelse]
    if inner is around.test:
        return False
    known = on_kaggle(code, around.test)
    return (known is False and inner in body) or (known is True and inner in orelse)


def _is_after_colab(around: ast.Try, inner: ast.AST) -> bool:
    """True in a `try` after an import of what only Colab has, or where the import is the question itself."""
    if inner in around.orelse:
        before = around.body
    elif inner in around.body:
        before = around.body[: around.body.index(inner)]
    else:
        return False
    return any(_imports_colab(each) for each in before)


def on_kaggle(code: NotebookCode, test: ast.expr, depth: int = 0) -> bool | None:
    """What a condition about where the code runs comes to in a session on Kaggle; None where that is not known."""
    return None if depth > _DEEPEST_GUARD else _once(_on_kaggle, code, test, depth)


def _on_kaggle(code: NotebookCode, test: ast.expr, depth: int) -> bool | None:  # noqa: C901, PLR0911, PLR0912 - a kind of question a line
    if isinstance(test, ast.Constant):
        return bool(test.value) if isinstance(test.value, bool | int) else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = on_kaggle(code, test.operand, depth + 1)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        known_parts = [on_kaggle(code, each, depth + 1) for each in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in known_parts:
            return decisive
        return None if None in known_parts else not decisive
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = code.text(test.left), code.text(test.comparators[0])
        if isinstance(test.ops[0], ast.Eq | ast.NotEq) and left and right and UNKNOWN not in left + right:
            return (left == right) is isinstance(test.ops[0], ast.Eq)
        return _compared_on_kaggle(code, test.left, test.ops[0], test.comparators[0], depth)
    if isinstance(test, ast.Name | ast.Attribute):
        value = code.resolved(test)
        if value is not test and value is not None:
            known = on_kaggle(code, value, depth + 1)
            if known is not None:
                return known
        return _place_named(test.id if isinstance(test, ast.Name) else test.attr)
    call = code.call(test)
    if call is None:
        return None
    if call.name == "bool" and call.node.args:
        return on_kaggle(code, call.node.args[0], depth + 1)
    if call.last in ("exists", "isdir", "is_dir", "isfile", "is_file"):
        path = code.text(call.argument(0)) or (code.text(call.receiver) if call.receiver is not None else None) or ""
        if re.fullmatch("/kaggle(/(input|working|temp|lib)?/?)?", path):
            return True
        return False if path.startswith(("/content", "C:", "/Users/", "/home/")) else None
    if call.last in ("get", "getenv"):
        return _of_variable(code.text(call.argument(0)))
    if call.last == "find_spec":
        return False if (code.text(call.argument(0)) or "").startswith("google.colab") else None
    return _place_named(call.last)


def _compared_on_kaggle(code: NotebookCode, left: ast.expr, op: ast.cmpop, right: ast.expr, depth: int) -> bool | None:
    is_negative = isinstance(op, ast.NotIn | ast.NotEq | ast.IsNot)
    known: bool | None = None
    text, other = code.text(left), code.text(right)
    if isinstance(op, ast.In | ast.NotIn):
        known = False if (text or "").startswith("google.colab") else _of_variable(text)
        if known is None and text is not None and "kaggle" in text.lower() and text.strip("/").lower() == "kaggle":
            known = True
    elif isinstance(right, ast.Constant) and right.value is None:
        known = on_kaggle(code, left, depth + 1)
        known = None if known is None else not known
    elif isinstance(right, ast.Constant) and isinstance(right.value, bool):
        known = on_kaggle(code, left, depth + 1)
        known = None if known is None else known is right.value
    elif (text is None) != (other is None):
        constant = (text or other or "").lower()
        asked = right if text is not None else left
        name = code.name(asked.func if isinstance(asked, ast.Call) else asked)
        kind_of_run = constant if "KAGGLE_KERNEL_RUN_TYPE" in _text(asked) else ""
        is_elsewhere = constant in _ELSEWHERE or (name in _SYSTEMS and constant in _SYSTEMS[name])
        if is_elsewhere or kind_of_run == "interactive":
            known = False
        elif constant == "kaggle" or kind_of_run == "batch":  # as whatever is pushed
            known = True
        elif constant == "" and (asked_call := code.call(asked)) is not None and asked_call.last in ("get", "getenv"):
            known = _of_variable(code.text(asked_call.argument(0)))
            known = None if known is None else not known
    if known is None:
        return None
    return not known if is_negative else known


def is_elsewhere_at(code: NotebookCode, cell: str, line: int) -> bool:
    """True if every statement that begins on a line of a cell is run elsewhere only."""
    found = code.statements.get((cell, line), [])
    return bool(found) and is_elsewhere(code, found[-1])


def may_be_passed_by_at(code: NotebookCode, cell: str, line: int) -> bool:
    """True if a session may pass by what begins on a line of a cell."""
    found = code.statements.get((cell, line), [])
    return bool(found) and may_be_passed_by(code, found[-1])


def may_be_passed_by(code: NotebookCode, node: ast.AST, depth: int = 0) -> bool:
    """True for code below a condition, in an `except`, or in a function that is called only there or not at all."""
    inner: ast.AST = node
    for around in code.ancestors(node):
        if isinstance(around, ast.ExceptHandler | ast.match_case):
            return True
        if isinstance(around, ast.If | ast.IfExp) and not _is_taken(code, around, inner):
            return True
        if isinstance(around, _NAMED):
            is_plain = not around.decorator_list and code.class_of(around) is None
            if is_plain and depth < _DEEPEST_GUARD and _once(_may_be_left_out, code, around, depth):
                return True
        inner = around
    return False


def _may_be_left_out(code: NotebookCode, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
    return all(may_be_passed_by(code, use, depth + 1) for use in _uses_outside(code, function))


def _is_taken(code: NotebookCode, around: ast.If | ast.IfExp, inner: ast.AST) -> bool:
    """True for a branch that every session takes: of a script's own guard, or by where or what it asks."""
    test = around.test
    if inner is test:
        return True
    is_main = isinstance(test, ast.Compare) and "__name__" in _text(test)
    known = True if is_main else on_kaggle(code, test)
    body = around.body if isinstance(around.body, list) else [around.body]
    return known is not None and known is (inner in body)


def _place_named(name: str) -> bool | None:
    """What a flag or a function that is called so says in a session on Kaggle: `IN_COLAB`, `is_kaggle()`."""
    words = set(re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", name.replace("Colab", "_colab_").replace("Kaggle", "_kaggle_")))
    words = {word.lower() for word in words}
    if (
        not words & {"in", "is", "on", "use", "running", "run", "env", "iskaggle", "incolab", "oncolab"}
        and len(words) > 1
    ):
        return None
    if words & {"colab", "incolab", "oncolab", "iscolab"}:
        return False
    if words & {"kaggle", "iskaggle", "onkaggle"} and not words & {"rerun", "submit", "submission"}:
        return True
    return False if words & {"local", "locally", "windows", "mac"} else None


def _of_variable(name: str | None) -> bool | None:
    """Whether an environment variable is set in a session on Kaggle."""
    if name in ("KAGGLE_KERNEL_RUN_TYPE", "KAGGLE_URL_BASE", "KAGGLE_DATA_PROXY_TOKEN", "KAGGLE_CONTAINER_NAME"):
        return True
    return False if name is not None and name.startswith("COLAB_") else None


def _imports_colab(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.startswith("google.colab") for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("google.colab")


def is_guarded(code: NotebookCode, node: ast.AST, *, any_if: bool = False) -> bool:
    """True for what is tried, or asked for before: by a version, by `hasattr`, by where the notebook runs."""
    inner = node
    for around in code.ancestors(node):
        if _catches(code, around):
            return True
        test = around.test if isinstance(around, ast.If | ast.IfExp) else None
        if test is not None and inner is not test and (any_if or _VERSION_CHECK.search(_text(test))):
            return True
        inner = around
    return False


def is_optional(code: NotebookCode, node: ast.AST, depth: int = 0) -> bool:
    """True for what is tried, or done only if a condition says so of which nobody knows what it is on Kaggle.

    So is what stands in a function that is used only there: `run = train if len(folds) else infer`.
    """
    inner = node
    for around in code.ancestors(node):
        if isinstance(around, ast.Try) or _catches(code, around):
            return True
        if isinstance(around, ast.If | ast.IfExp) and inner is not around.test:
            is_main = isinstance(around.test, ast.Compare) and "__name__" in _text(around.test)
            if not is_main and on_kaggle(code, around.test) is None:
                return True
        is_deep = depth >= _DEEPEST_GUARD
        if isinstance(around, _NAMED) and not is_deep and _once(_is_used_optionally, code, around, depth):
            return True
        inner = around
    return False


def _is_used_optionally(code: NotebookCode, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
    uses = _uses_outside(code, function)
    return bool(uses) and code.class_of(function) is None and all(is_optional(code, use, depth + 1) for use in uses)


def _catches(code: NotebookCode, around: ast.AST) -> bool:
    """True for a `try` with handlers, and for `with contextlib.suppress(...)`."""
    if isinstance(around, ast.With):
        calls = [code.call(item.context_expr) for item in around.items]
        return any(call is not None and call.name == "contextlib.suppress" for call in calls)
    return isinstance(around, ast.Try) and bool(around.handlers)


def is_optional_at(code: NotebookCode, cell: CodeCell, line: int) -> bool:
    """True for a command on a line of a cell that is tried, or done only if a condition says so, as `is_optional`."""
    statement = code.statement(cell, line)
    if statement is None:
        return cell.lines[line - 1][:1].isspace()  # mostly in an `if` or an `except`
    return is_optional(code, statement)


@lru_cache(maxsize=1_000)  # conditions around many calls
def _text(node: ast.expr) -> str:
    return ast.unparse(node)


def is_called(code: NotebookCode, node: ast.AST) -> bool:
    """False in a function that the notebook defines and never names again."""
    for function in code.functions_around(node):
        if isinstance(function, ast.Lambda) or function.decorator_list or code.class_of(function) is not None:
            continue
        if not code.uses_by_name.get(function.name):
            return False
    return True
