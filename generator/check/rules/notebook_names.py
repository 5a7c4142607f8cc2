"""Rules of names: what a cell uses before anything defines it, by the order in which a session runs the cells.

Pyflakes knows the scopes of Python. What is known here besides is IPython: magics that define names, `display`, and
cells that are no Python.
"""

import ast
import builtins
import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyflakes import checker, messages

from generator.check.code import NotebookCode
from generator.check.finding import Severity
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource

_MOST_COMPARED = 50_000  # pairs of names of which one may be meant by the other
_OF_IPYTHON = {
    "get_ipython",
    "display",
    "In",
    "Out",
    "exit",
    "quit",
    "_",
    "__",
    "___",
    "_i",
    "_ii",
    "_iii",
    "_ih",
    "_oh",
}
_OF_IPYTHON |= {"_dh", "_exit_code", "__builtin__", "__vsc_ipynb_file__", "__IPYTHON__", "WindowsError"}
_HISTORY = re.compile(r"_i?\d+")
# IPython runs a line that is all of a cell, and begins with one of these, as a command.
_AUTOMAGICS = {"ls", "cd", "cp", "mv", "rm", "cat", "pwd", "ll", "mkdir", "rmdir", "env", "who", "whos", "pip", "conda"}
_AUTOMAGICS |= {"less", "more", "man", "head", "tail", "time", "timeit", "history", "reset", "ldir", "lf", "lx", "git"}
_WORD = re.compile(r"[^\W\d]\w*")
# Magics that define names, or run code that nobody sees here.
_DEFINING = ("store", "capture", "cython", "R ", "sql", "bash", "script", "sh", "timeit", "macro", "save", "edit", "px")
_ANYTHING = ("run", "load ", "pylab", "loadpy", "recall", "rerun", "autoreload_all", "hist")
_IMPORTS = {
    "np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns", "tf": "import tensorflow as tf", "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F", "jnp": "import jax.numpy as jnp", "lgb": "import lightgbm as lgb",
    "xgb": "import xgboost as xgb", "pl": "import polars as pl", "px": "import plotly.express as px",
    "tqdm": "from tqdm.auto import tqdm", "Path": "from pathlib import Path", "Image": "from PIL import Image",
    "layers": "from keras import layers", "train_test_split": "from sklearn.model_selection import train_test_split",
    "defaultdict": "from collections import defaultdict", "partial": "from functools import partial",
    "A": "import albumentations as A",
}  # fmt: skip
_MODULES = {"os", "sys", "re", "gc", "json", "time", "math", "random", "glob", "pickle", "warnings", "shutil", "copy"}
_MODULES |= {"torch", "keras", "jax", "optax", "cv2", "joblib", "optuna", "subprocess", "itertools", "datetime", "timm"}


@dataclass(frozen=True)
class _Use:
    """The first use of a name that nothing defines before it."""

    name: str
    node: ast.AST
    is_certain: bool  # it is reached in every run


@rule("N030", "undefined-name")
def undefined_name(kernel: KernelSource) -> Iterator[Problem]:
    """A cell uses a name that nothing has defined by then: a NameError, often in the last cell, after all training.

    A session runs the cells from top to bottom, once. In the editor the name was there from a cell that was deleted,
    renamed or run in another order. Only what every run reaches is an error; N031 is for the rest.
    Define or import it above, or move the cell that does.

    Source (2026-11-27): 7 of 140 public notebooks had one, 2026-11; pyflakes' scopes over the joined cells.
    """
    for use in _undefined(kernel):
        if use.is_certain:
            yield _problem(kernel, use)


@rule("N031", "undefined-name-in-a-branch", Severity.WARNING)
def undefined_name_in_a_branch(kernel: KernelSource) -> Iterator[Problem]:
    """A function or a branch uses a name that nothing defines.

    It is a NameError as soon as the function is called, or the branch taken.
    Define or import it, or hand it in as an argument.

    Source (2026-11-27): pyflakes' scopes over the joined cells.
    """
    for use in _undefined(kernel):
        if not use.is_certain:
            yield _problem(kernel, use)


def _problem(kernel: KernelSource, use: _Use) -> Problem:
    code = kernel.code
    place = code.place(use.node)
    if use.name == "__file__":
        message = "A notebook has no __file__; this is a NameError."
        return Problem(place, message, 'Write the folder: Path("/kaggle/working").')
    later = [each for each in _bindings(code, use.name) if code.function(each) is None]
    if later and use.is_certain:
        where = code.cell(later[0]).name
        where = where if where.startswith("cell ") else f"cell {where}"
        message = f"`{use.name}` is used here before {where} defines it, which is a NameError."
        remedy = f"Move {where} above this one."
        if code.cell(later[0]) is code.cell(use.node):
            message, remedy = f"`{use.name}` is used before it is defined, which is a NameError.", "Define it above."
        return Problem(place, message, remedy)
    known = _IMPORTS.get(use.name) or (f"import {use.name}" if use.name in _MODULES else "")
    names = _names(code)
    is_short = len(names) * len(_undefined(kernel)) < _MOST_COMPARED
    close = difflib.get_close_matches(use.name, names, 1, 0.8) if is_short else []
    remedy = f"Add `{known}` above." if known else f"Define `{use.name}` above."
    if close and not known:
        remedy = f"Define it above; or is `{close[0]}` meant?"
    return Problem(place, f"Nothing defines `{use.name}`, which is a NameError.", remedy)


@lru_cache(maxsize=2)
def _undefined(kernel: KernelSource) -> tuple[_Use, ...]:
    """The first use of each name that is not defined there, in the order of the notebook."""
    code = kernel.code
    commands = [command for _, _, command in code.commands()]
    if any(command.startswith(_ANYTHING) for command in commands) or code.makes_names_unseen():
        return ()
    known = _OF_IPYTHON | {word for each in commands if each.startswith(_DEFINING) for word in _WORD.findall(each)}
    for cell in code.cells:
        if (
            cell.syntax_error is not None
            or not cell.is_analysed
            or not cell.tree.body
            or ("\n" not in cell.source.strip() and cell.source.split(maxsplit=1)[0] in _AUTOMAGICS)
        ):  # another language, or what defines names unseen
            known.update(_WORD.findall(cell.source))
    known.update(name for each in code.nodes(ast.Global) for name in each.names if _bindings(code, name))
    body = [statement for cell in code.cells for statement in cell.tree.body]
    checked = _Names(ast.Module(body=body, type_ignores=[]), known)
    asked_for = _looked_up(code)
    found: dict[str, _Use] = {}
    for name, node in checked.undefined:
        is_known = name in known or name in asked_for or hasattr(builtins, name) or _HISTORY.fullmatch(name)
        if not is_known and code.has(node) and not _is_caught(code, node):
            use = _Use(name, node, _is_reached(code, node))
            if name not in found or (use.is_certain and not found[name].is_certain):
                found[name] = use
    if code.is_notebook:
        own = [each for each in code.nodes(ast.Name) if each.id == "__file__" and not _is_caught(code, each)]
        own = [each for each in own if not _bindings(code, "__file__") and "__file__" not in asked_for]
        found |= {each.id: _Use(each.id, each, _is_reached(code, each)) for each in own[:1]}
    return tuple(found.values())


class _Names(checker.Checker):  # type: ignore[misc]  # pyflakes has no types
    """Pyflakes, of which only undefined names are asked, with the nodes that use them."""

    def __init__(self, tree: ast.Module, known: set[str]) -> None:
        self.undefined: list[tuple[str, ast.AST]] = []
        try:
            super().__init__(tree, builtins=known, withDoctest=False)
        except RecursionError:  # thousands of terms in a row: nobody's hand wrote that
            self.undefined.clear()

    def report(self, messageClass: type[messages.Message], *args: object) -> None:  # noqa: N803 - as pyflakes calls it
        node, name = (*args, "", "")[:2]
        if messageClass is messages.UndefinedName and isinstance(node, ast.Name) and isinstance(name, str):
            self.undefined.append((name, node))

    def handleAnnotation(self, annotation: ast.AST, node: ast.AST) -> None:  # noqa: N802 - as pyflakes calls it
        """With `from __future__ import annotations`, none is evaluated."""
        if not self.annotationsFutureEnabled:
            super().handleAnnotation(annotation, node)

    def handleChildren(self, tree: ast.AST, omit: object = None) -> None:  # noqa: N802 - as pyflakes calls it
        """Go on with the nodes below one, without operators and contexts, which have no names."""
        for node in checker.iter_child_nodes(tree, omit=omit):
            if not isinstance(node, ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop):
                self.handleNode(node, tree)

    def differentForks(self, *_: object) -> bool:  # noqa: N802 - as pyflakes calls it
        """Of a name that is bound twice it matters to nobody here whether both may be; it takes n steps a name."""
        return True

    CALL = handleChildren  # the texts that `typing.cast` and `str.format` are given matter to nobody here

    def handleStringAnnotation(self, *_: object) -> None:  # noqa: N802 - as pyflakes calls it
        """A text is not evaluated."""


def _is_reached(code: NotebookCode, node: ast.AST) -> bool:
    """True for what every run of the notebook reaches: it is in no function, branch or loop that may not be run."""
    conditional = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.If | ast.IfExp | ast.While | ast.Try
    conditional |= ast.Match | ast.BoolOp | ast.comprehension | ast.GeneratorExp
    conditional |= ast.ListComp | ast.SetComp | ast.DictComp | ast.ExceptHandler | ast.For
    inner: ast.AST = node
    for around in code.ancestors(node):
        if (
            (isinstance(around, ast.For) and inner is around.iter)
            or (isinstance(around, ast.If | ast.IfExp | ast.While) and inner is around.test)
            or (isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) and inner in around.decorator_list)
            or (isinstance(around, ast.For) and _is_long(around))
        ):
            pass
        elif isinstance(around, conditional):
            return False
        inner = around
    return True


def _is_long(loop: ast.For) -> bool:
    """True for a loop over numbers, which is run."""
    counted = loop.iter
    return isinstance(counted, ast.Call) and isinstance(counted.func, ast.Name) and counted.func.id == "range"


def _is_caught(code: NotebookCode, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Try) and each.handlers for each in code.ancestors(node))


def _looked_up(code: NotebookCode) -> set[str]:
    """The names that the code itself asks for: `"model" in globals()`."""
    found = set()
    for compared in code.nodes(ast.Compare):
        if any(code.is_namespace(each) for each in compared.comparators) and isinstance(compared.left, ast.Constant):
            found.add(str(compared.left.value))
    return found


def _bindings(code: NotebookCode, name: str) -> list[ast.AST]:
    """Where a name is bound, anywhere in the notebook."""
    return _bound(code).get(name, [])


@lru_cache(maxsize=1)
def _bound(code: NotebookCode) -> Mapping[str, list[ast.AST]]:
    """Where each name is bound: by what is defined, then by what is stored, then by imports."""
    bound: dict[str, list[ast.AST]] = defaultdict(list)
    defined: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = [*code.defined, *code.nodes(ast.ClassDef)]
    for definition in defined:
        bound[definition.name].append(definition)
    for stored in code.nodes(ast.Name):
        if isinstance(stored.ctx, ast.Store):
            bound[stored.id].append(stored)
    importing: list[ast.Import | ast.ImportFrom] = [*code.nodes(ast.Import), *code.nodes(ast.ImportFrom)]
    for statement in importing:
        for name in dict.fromkeys((alias.asname or alias.name).partition(".")[0] for alias in statement.names):
            bound[name].append(statement)
    return bound


@lru_cache(maxsize=2)
def _names(code: NotebookCode) -> tuple[str, ...]:
    stored = {each.id for each in code.nodes(ast.Name) if isinstance(each.ctx, ast.Store)}
    return tuple(sorted({*stored, *code.imported, *code.functions_named, *code.classes}))
