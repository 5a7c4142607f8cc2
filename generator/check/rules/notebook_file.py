"""Rules of a notebook as a file, of its names, and of the kit's own knobs."""

import ast
import builtins
import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyflakes import checker, messages

from generator.check.cell_text import MOST_TOKENS, cell_name
from generator.check.code import NotebookCode
from generator.check.findings import DELETE, CodeLocation, FieldChange, Fix, Severity
from generator.check.rule import RuleProblem, ignores, rule
from generator.check.source import KernelSource, Part, is_placeholder, secrets_in
from generator.competition.schema import Setting, all_parameters
from generator.pair.notebook import join_lines
from generator.text import JsonObject, storable

_KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LARGEST = 1_000_000  # characters of a notebook that is sent
_MOST_SHOWN = 20
_SECRETS = "use Kaggle's secrets: `UserSecretsClient().get_secret(NAME)`, set under Add-ons, Secrets"
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:api_?key|kaggle_key|token|secret|password|passwd)$")
# Of letters and digits at random, rather than words with numbers between hyphens: the name of a model, of a file.
_SECRET_VALUE = re.compile(
    r"(?=\S*\d)(?=\S*[A-Za-z])(?:[A-Za-z0-9+/=_.-]*[A-Za-z0-9]{20,}[A-Za-z0-9+/=_.-]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_LOGIN = 'Write huggingface_hub.login(token=UserSecretsClient().get_secret("HF_TOKEN")); public models need no token.'
# What waits, and what to write in its place.
_WAITING = {
    "input": ("input()", "Replace input(…) with the value."),
    "getpass.getpass": ("getpass()", 'Use UserSecretsClient().get_secret("NAME") from kaggle_secrets.'),
    "breakpoint": ("breakpoint()", "Remove this line."),
    "pdb.set_trace": ("pdb", "Remove this line."),
    "huggingface_hub.notebook_login": ("notebook_login()", _LOGIN),
    "google.colab.files.upload": (
        "files.upload()",
        "Attach the file as a dataset, and read it from /kaggle/input/datasets/OWNER/NAME.",
    ),
}
# These only show something: the session goes on, and fails later or not at all.
_GOES_ON = {"breakpoint", "huggingface_hub.notebook_login"}


@rule("N001", "not-a-notebook")
def not_a_notebook(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The file is not a notebook of format 4.

    Kaggle's runner is papermill, which reads JSON with a list of cells, each with its type and its source.
    Open it in Jupyter and save it anew; a notebook of format 3 is converted on the way.

    Source (2026-11-27): kernels_push in kaggle 2.2; papermill 2.7, tried (it converts format 3, and Tandem does not).
    """
    if kernel.fault is not None and kernel.fault.part is Part.NOTEBOOK:
        yield RuleProblem(kernel.in_notebook(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("N002", "no-kernelspec")
def no_kernelspec(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook does not name the kernel that runs it (metadata.kernelspec.name).

    The push is accepted, and the session ends with "No kernel name found in notebook and no override provided". It is
    a warning for a notebook without kernel-metadata.json, which may be imported in the editor.
    Save it in Jupyter with a kernel chosen, or add {"kernelspec": {"name": "python3", "display_name": "Python 3",
    "language": "python"}} to its metadata.

    Source (2026-11-27): Kaggle/kaggle-cli#689; papermill 2.7, tried.
    """
    if kernel.notebook and not kernel.notebook.section("metadata").section("kernelspec").get("name"):
        message = "It has no kernel name (metadata.kernelspec.name). Kaggle cannot run it without one."
        remedy = f'Add to its metadata: "kernelspec": {json.dumps(_KERNELSPEC)}.'
        language = kernel.notebook.section("metadata").section("language_info").text("name")
        is_python = "python" in (language, "" if kernel.metadata is None else kernel.metadata.text("language"))
        is_missing = "kernelspec" not in kernel.notebook.section("metadata")
        fix = FieldChange(("metadata", "kernelspec"), _KERNELSPEC, in_notebook=True)
        is_clear = is_python and is_missing and isinstance(kernel.notebook.get("metadata"), dict)
        severity = Severity.WARNING if kernel.metadata is None else None
        yield RuleProblem(kernel.in_notebook(), message, remedy, Fix((fix,)) if is_clear else None, severity)


@rule("N003", "cell-is-no-python")
def cell_is_no_python(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A code cell is not Python, even without its magics and commands.

    The session runs everything above it first, and ends there. The rules see nothing of such a cell.
    Mend the syntax; a cell of another language begins with its magic, such as %%bash.

    Source (2026-11-27): papermill 2.7, tried: the session ends with the SyntaxError.
    """
    for cell in kernel.code.cells:
        if cell.syntax_error is not None:
            place = kernel.code.place(cell, cell.syntax_error.lineno or 0)
            yield RuleProblem(
                place,
                f"This cell is not Python: {cell.syntax_error.msg}.",
                "Fix the syntax of this line. A cell of commands starts with %%bash.",
            )


@rule("N004", "notebook-too-large", Severity.WARNING)
def notebook_too_large(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook is larger than 1 MB without its outputs, which the client leaves out.

    Kaggle has refused such a push: "The kernel source must be less than 1 megabytes in size". Whether the limit is
    still the same is not known.
    Put long texts, tables and images of the code and of Markdown into a dataset, and read them from /kaggle/input.

    Source (2026-11-27): JovianHQ/kernel-run#2, of 2021; kernels_push in kaggle 2.2 leaves outputs out.
    """
    if len(kernel.text) > _LARGEST:
        cells = [{**cell, "outputs": []} for cell in kernel.notebook.sections("cells")]
        size = len(json.dumps({**kernel.notebook, "cells": cells}, ensure_ascii=False)) if cells else len(kernel.text)
        if size > _LARGEST:
            message = f"It has {size / 1e6:,.1f} MB without its outputs. Kaggle refused notebooks of more than 1 MB."
            remedy = "Put long texts, tables and images into a dataset, and read them from /kaggle/input."
            yield RuleProblem(kernel.in_notebook(), message, remedy)


@rule("N005", "half-a-character")
def half_a_character(kernel: KernelSource) -> Iterator[RuleProblem]:
    r"""A text in the notebook has half of a surrogate pair, such as "\ud83d" without its second half.

    It is no character, and no program can send it as UTF-8.
    Write that character anew.

    Source (2026-11-27): Python refuses to encode it as UTF-8, in which kernels_push of kaggle 2.2 sends the notebook.
    """
    cells = [{**cell, "outputs": []} for cell in kernel.notebook.sections("cells")]  # which nobody sends
    whole = json.dumps({**kernel.notebook, "cells": cells}, ensure_ascii=False)
    if storable(whole) == whole:
        return
    places = [place for place, source in _sources(kernel) if storable(source) != source]
    for place in places or [kernel.in_notebook()]:
        message = "A text in it has half of a surrogate pair. Other programs cannot read it."
        yield RuleProblem(place, message, "Delete that character, and type it again.")


@rule("N006", "editor-block", Severity.WARNING)
def editor_block(kernel: KernelSource) -> Iterator[RuleProblem]:
    """metadata.kaggle, the block of Kaggle's editor, remains from a pull or a download.

    It names an image, an accelerator and inputs of its own. The API does not read them, but whoever forks or imports
    the notebook gets them; together with a pinned docker_image they cost a TPU session its TPU.
    Remove the block; `tandem push` sends notebooks without it.

    Source (2026-11-23): the maintainers in Kaggle/kaggle-cli#1197; #821.
    """
    if kernel.notebook.section("metadata").get("kaggle") is not None:
        message = "It has a block metadata.kaggle with its own image and accelerator."
        remedy = 'Remove "kaggle" from the metadata of the notebook, which Kaggle\'s editor left there.'
        # Without kernel-metadata.json it is all that says what the notebook needs.
        fix = Fix((FieldChange(("metadata", "kaggle"), DELETE, in_notebook=True),)) if kernel.metadata else None
        yield RuleProblem(kernel.in_notebook(), message, remedy, fix)


@rule("N007", "committed-outputs", Severity.NOTE)
def committed_outputs(kernel: KernelSource) -> Iterator[RuleProblem]:
    """Cells have outputs.

    They are not what the code would give now, show data that may not be yours to publish, and make every diff
    unreadable. Kaggle runs the notebook anew and keeps those outputs.
    Clear them: `jupyter nbconvert --clear-output --inplace NOTEBOOK`.

    Source (2026-11-27): our own reading; kernels_push in kaggle 2.2 leaves outputs out.
    """
    places = [place for place, cell in _cells(kernel) if cell.get("outputs")]
    if places:
        subject = f"{len(places)} cells have" if len(places) > 1 else "A cell has"
        yield RuleProblem(
            places[0],
            f"{subject} outputs; this is the first.",
            f"Clear them: jupyter nbconvert --clear-output --inplace {kernel.code.path.name}",
        )


@rule("N008", "secret")
def secret(kernel: KernelSource) -> Iterator[RuleProblem]:
    """Something looks like a key, a token or a private key, in a cell or in an output.

    A notebook that is made public takes it along, in every version that it ever had.
    Revoke it, then use Kaggle's secrets: Add-ons, Secrets, and UserSecretsClient().get_secret(NAME).

    Source (2026-11-23): kaggle.com/docs/notebooks; the advisories of kaggle-cli.
    """
    for place, source in _sources(kernel):
        for kind, at in list(secrets_in(source))[:_MOST_SHOWN]:
            secret_place = CodeLocation(place.path, place.cell, source.count("\n", 0, at) + 1)
            yield RuleProblem(secret_place, f"This looks like {kind}.", f"Revoke it, and {_SECRETS}.")
    for place, text in _outputs(kernel):
        for kind, _ in list(secrets_in(text))[:_MOST_SHOWN]:
            yield RuleProblem(
                place, f"An output has what looks like {kind}.", f"Revoke it, clear the output, and {_SECRETS}."
            )
    for place, name in _assigned_secrets(kernel):
        yield RuleProblem(place, f"A secret is written into {name}.", f"Revoke it, and {_SECRETS}.")


@rule("N009", "waits-for-somebody")
def waits_for_somebody(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook waits for the input of a user.

    Nobody does in a session that was pushed or submitted: input(), getpass() and pdb end it with
    StdinNotImplementedError. A login that only shows a button is a warning.
    Put the value into a constant, or a secret of Kaggle's.

    Source (2026-11-27): papermill 2.7, which runs notebooks on Kaggle, tried.
    """
    own_functions = kernel.code.functions_named
    for call in kernel.code.calls:
        node, name = call.node, call.name
        if name not in _WAITING:
            continue
        is_fallback = any(isinstance(ancestor, ast.ExceptHandler) for ancestor in kernel.code.ancestors(node))
        if not is_fallback and not kernel.code.is_bound(name) and name not in own_functions:
            prompt, remedy = _WAITING[name]
            message = f"{prompt} waits for a user, but a session on Kaggle has none."
            severity = Severity.WARNING if name in _GOES_ON else None
            yield RuleProblem(kernel.code.place(node), message, remedy, severity=severity)


@rule("N010", "ignore-without-reason", Severity.WARNING)
def ignore_without_reason(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A comment `# tandem: ignore[RULE]` gives no reason, or names no rule.

    It does not count: what is ignored without a reason is found again by whoever reads the notebook next.
    Write the reason behind it: `# tandem: ignore[N021] the dataset has three files`.

    Source (2026-11-27): our own rule.
    """
    for comment in ignores(kernel.code):
        if not comment.reason or not comment.rules:
            place = CodeLocation(kernel.code.path, comment.cell, comment.line)
            missing = "the reason" if comment.rules else "the rule"
            remedy = "Write `# tandem: ignore[RULE] the reason`."
            yield RuleProblem(place, f"This comment has no effect, because {missing} is missing.", remedy)


@rule("N011", "secret-of-the-editor", Severity.NOTE)
def secret_of_the_editor(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook reads a Kaggle secret, but the API pushes it.

    The API cannot attach secrets, and a push takes away those that were attached in the editor: the cell fails with
    "No user secrets exist for kernel", however often it worked there.
    Catch that and go on without, or attach the secret in the editor after each push and run it from there.

    Source (2026-11-23): Kaggle/kaggle-cli#582 and #944.
    """
    for call in kernel.code.calls if kernel.metadata is not None else ():
        is_asked = call.name.endswith(".get_secret")
        if is_asked and not any(
            isinstance(ancestor, ast.Try | ast.If) for ancestor in kernel.code.ancestors(call.node)
        ):
            message = "A push detaches the secrets that were attached in the editor."
            yield RuleProblem(
                kernel.code.place(call.node),
                message,
                "Read it in a `try`, with `except Exception: key = None`, and continue without it.",
            )


@rule("N015", "code-not-analysed", Severity.NOTE)
def code_not_analysed(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A notebook has more code than the limit of the analysis: 100,000 tokens, about 350 kB.

    The smaller cells come first, and then the first statements of the larger ones. Of the rest only texts and commands
    are looked at: secrets, `!pip install`. The rules for TPUs, and those of what is missing, find nothing in such a
    notebook, since it may stand there.
    Put data and libraries that were pasted into cells into a dataset.

    Source (2026-11-27): our own limit; the longest of 140 public notebooks has 132 kB.
    """
    left_out = [cell for cell in kernel.code.cells if not cell.is_analysed]
    if left_out:
        first = left_out[0]
        size = sum(len(cell.source) for cell in left_out)
        summary = "This cell is" if len(left_out) == 1 else f"{len(left_out):,} cells, this one first, are"
        beyond = f"{', the first' if left_out[1:] else ''} beyond line {first.lines_analysed:,}"
        summary += f" not analysed{beyond if first.lines_analysed else ''} ({size:,} characters)"
        message = f"{summary}: the code has more than {MOST_TOKENS:,} tokens."
        yield RuleProblem(kernel.code.place(first), message, "Put data and libraries into a dataset.")


def _cells(kernel: KernelSource) -> Iterator[tuple[CodeLocation, JsonObject]]:
    """Every cell with its place, of Markdown as well."""
    for number, cell in enumerate(kernel.notebook.sections("cells"), start=1):
        yield CodeLocation(kernel.code.path, cell_name(cell, number)), cell


def _sources(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """The text of every cell with its place, of Markdown as well; a script has only the one."""
    if not kernel.notebook and kernel.fault is None:
        yield CodeLocation(kernel.code.path), kernel.text
    for place, cell in _cells(kernel):
        yield place, join_lines(cell.get("source"))


def _outputs(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """The texts that cells have written, with the place of the cell."""
    for place, cell in _cells(kernel):
        for output in cell.sections("outputs"):
            yield place, join_lines(output.get("text")) or join_lines(output.section("data").get("text/plain"))


def _assigned_secrets(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """Literals that look like secrets, given to what is called like one."""
    for node in kernel.code.nodes(ast.keyword, ast.Assign):
        for name, value in _named_values(node):
            if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                continue
            text = value.value
            is_secret = _SECRET_NAME.search(name) and _SECRET_VALUE.fullmatch(text) and not is_placeholder(text)
            if is_secret and not list(secrets_in(text)):
                yield kernel.code.place(value), name


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a statement or a call gives to names, attributes, keys of objects and arguments."""
    if isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        key = target.slice if isinstance(target, ast.Subscript) else None
        name = getattr(target, "id", getattr(target, "attr", "")) or getattr(key, "value", "")
        if isinstance(name, str) and name:
            yield name, node.value


# Rules of names: what a cell uses before anything defines it, by the order in which a session runs the cells.
#
# Pyflakes knows the scopes of Python. What is known here besides is IPython: magics that define names, `display`,
# and cells that are no Python.


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
_FREE_TEXT_MAGICS = ("run", "load ", "pylab", "loadpy", "recall", "rerun", "autoreload_all", "hist")
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
def undefined_name(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A cell uses a name before its definition: a NameError, often in the last cell, after all training.

    A session runs the cells from top to bottom, once. In the editor the name was there from a cell that was deleted,
    renamed or run in another order. Only what every run reaches is an error; N031 is for the rest.
    Define or import it above, or move the cell that does.

    Source (2026-11-27): 7 of 140 public notebooks had one, 2026-11; pyflakes' scopes over the joined cells.
    """
    for use in _find_undefined(kernel):
        if use.is_certain:
            yield _problem(kernel, use)


@rule("N031", "undefined-name-in-a-branch", Severity.WARNING)
def undefined_name_in_a_branch(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A function or a branch uses an undefined name.

    It is a NameError as soon as the function is called, or the branch taken.
    Define or import it, or hand it in as an argument.

    Source (2026-11-27): pyflakes' scopes over the joined cells.
    """
    for use in _find_undefined(kernel):
        if not use.is_certain:
            yield _problem(kernel, use)


def _problem(kernel: KernelSource, use: _Use) -> RuleProblem:
    code = kernel.code
    place = code.place(use.node)
    if use.name == "__file__":
        message = "A notebook has no __file__. This raises a NameError."
        return RuleProblem(place, message, 'Write the folder: Path("/kaggle/working").')
    later = [binding for binding in _bindings(code, use.name) if code.function(binding) is None]
    if later and use.is_certain:
        cell_label = code.cell(later[0]).name
        cell_label = cell_label if cell_label.startswith("cell ") else f"cell {cell_label}"
        message = f"`{use.name}` is used here before {cell_label} defines it. This raises a NameError."
        remedy = f"Move {cell_label} above this one."
        if code.cell(later[0]) is code.cell(use.node):
            message, remedy = f"`{use.name}` is used before it is defined. This raises a NameError.", "Define it above."
        return RuleProblem(place, message, remedy)
    suggestion = _IMPORTS.get(use.name) or (f"import {use.name}" if use.name in _MODULES else "")
    names = _names(code)
    is_short = len(names) * len(_find_undefined(kernel)) < _MOST_COMPARED
    close = difflib.get_close_matches(use.name, names, 1, 0.8) if is_short else []
    remedy = f"Add `{suggestion}` above." if suggestion else f"Define `{use.name}` above."
    if close and not suggestion:
        remedy = f"Define it above, or use `{close[0]}`."
    return RuleProblem(place, f"`{use.name}` is not defined. This raises a NameError.", remedy)


@lru_cache(maxsize=2)
def _find_undefined(kernel: KernelSource) -> tuple[_Use, ...]:
    """The first use of each name that is not defined there, in the order of the notebook."""
    code = kernel.code
    commands = [command for _, _, command in code.commands()]
    if any(command.startswith(_FREE_TEXT_MAGICS) for command in commands) or code.makes_names_unseen():
        return ()
    known_names = _OF_IPYTHON | {
        word for magic in commands if magic.startswith(_DEFINING) for word in _WORD.findall(magic)
    }
    for cell in code.cells:
        if (
            cell.syntax_error is not None
            or not cell.is_analysed
            or not cell.tree.body
            or ("\n" not in cell.source.strip() and cell.source.split(maxsplit=1)[0] in _AUTOMAGICS)
        ):  # another language, or what defines names unseen
            known_names.update(_WORD.findall(cell.source))
    known_names.update(
        name for declaration in code.nodes(ast.Global) for name in declaration.names if _bindings(code, name)
    )
    body = [statement for cell in code.cells for statement in cell.tree.body]
    analysis = _Names(ast.Module(body=body, type_ignores=[]), known_names)
    asked_for = _looked_up(code)
    uses: dict[str, _Use] = {}
    for name, node in analysis.undefined_names:
        is_known = name in known_names or name in asked_for or hasattr(builtins, name) or _HISTORY.fullmatch(name)
        if not is_known and code.has(node) and not _is_caught(code, node):
            use = _Use(name, node, _is_reached(code, node))
            if name not in uses or (use.is_certain and not uses[name].is_certain):
                uses[name] = use
    if code.is_notebook:
        file_nodes = [
            name_node
            for name_node in code.nodes(ast.Name)
            if name_node.id == "__file__" and not _is_caught(code, name_node)
        ]
        file_nodes = [
            name_node for name_node in file_nodes if not _bindings(code, "__file__") and "__file__" not in asked_for
        ]
        uses |= {
            name_node.id: _Use(name_node.id, name_node, _is_reached(code, name_node)) for name_node in file_nodes[:1]
        }
    return tuple(uses.values())


class _Names(checker.Checker):  # type: ignore[misc]  # pyflakes has no types
    """Pyflakes, of which only undefined names are asked, with the nodes that use them."""

    def __init__(self, tree: ast.Module, known_names: set[str]) -> None:
        self.undefined_names: list[tuple[str, ast.AST]] = []
        try:
            super().__init__(tree, builtins=known_names, withDoctest=False)
        except RecursionError:  # thousands of terms in a row: nobody's hand wrote that
            self.undefined_names.clear()

    def report(self, messageClass: type[messages.Message], *args: object) -> None:  # noqa: N803 - as pyflakes calls it
        node, name = (*args, "", "")[:2]
        if messageClass is messages.UndefinedName and isinstance(node, ast.Name) and isinstance(name, str):
            self.undefined_names.append((name, node))

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
    iterable = loop.iter
    return isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"


def _is_caught(code: NotebookCode, node: ast.AST) -> bool:
    return any(isinstance(ancestor, ast.Try) and ancestor.handlers for ancestor in code.ancestors(node))


def _looked_up(code: NotebookCode) -> set[str]:
    """The names that the code itself asks for: `"model" in globals()`."""
    names = set()
    for comparison in code.nodes(ast.Compare):
        if any(code.is_namespace(operand) for operand in comparison.comparators) and isinstance(
            comparison.left, ast.Constant
        ):
            names.add(str(comparison.left.value))
    return names


def _bindings(code: NotebookCode, name: str) -> list[ast.AST]:
    """Where a name is bound, anywhere in the notebook."""
    return _index_bindings(code).get(name, [])


@lru_cache(maxsize=1)
def _index_bindings(code: NotebookCode) -> Mapping[str, list[ast.AST]]:
    """Where each name is bound: by what is defined, then by what is stored, then by imports."""
    bindings: dict[str, list[ast.AST]] = defaultdict(list)
    definitions: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = [
        *code.function_defs,
        *code.nodes(ast.ClassDef),
    ]
    for definition in definitions:
        bindings[definition.name].append(definition)
    for name_node in code.nodes(ast.Name):
        if isinstance(name_node.ctx, ast.Store):
            bindings[name_node.id].append(name_node)
    importing: list[ast.Import | ast.ImportFrom] = [*code.nodes(ast.Import), *code.nodes(ast.ImportFrom)]
    for statement in importing:
        for name in dict.fromkeys((alias.asname or alias.name).partition(".")[0] for alias in statement.names):
            bindings[name].append(statement)
    return bindings


@lru_cache(maxsize=2)
def _names(code: NotebookCode) -> tuple[str, ...]:
    stored_names = {node.id for node in code.nodes(ast.Name) if isinstance(node.ctx, ast.Store)}
    return tuple(sorted({*stored_names, *code.imports, *code.functions_named, *code.classes}))


# Rules of the knobs of the kit's own notebooks, which people turn in the notebook as well.


# By it the kit's notebooks know their pair; other people's names mean what they like.
_OF_A_PAIR = "PAIR_ID"


@rule("N070", "knob-out-of-range")
def knob_out_of_range(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A parameter of a pair's notebook is set to a number out of its range.

    The session waits for its accelerator, and then fails late, as with N_FOLDS = 0 after the training, or not at all.
    Set it to a number in its range; docs/knobs.md says what each knob means.

    Source (2026-11-27): the ranges of `templates/families/parameters.toml`, by which the notebooks are rendered.
    """
    for cell in kernel.code.cells:
        nodes = [node for node in cell.tree.body if isinstance(node, ast.Assign)]
        values = {node.targets[0].id: node for node in nodes if isinstance(node.targets[0], ast.Name)}
        for name, node in values.items() if _OF_A_PAIR in values else ():
            number = _number(node.value)
            setting = all_parameters().get(name, Setting(object))
            # 0.0 has the rate of the backbone looked up.
            expected = setting.with_default(0.0).range if name == "LEARNING_RATE" else setting.range
            if number is not None and number not in expected:
                message = f"{name} is {number:g}, but it must be {expected}."
                yield RuleProblem(kernel.code.place(cell, node), message, f"Set {name} to {expected}.")


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if type(value) in (int, float) else None
