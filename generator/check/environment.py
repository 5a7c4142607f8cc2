"""The environment of a session on Kaggle: what its images have, which code it never reaches, where it writes."""

import ast
import re
import shlex
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from generator.check.cell_text import CheckedCell
from generator.check.code import UNKNOWN, NotebookCode
from generator.check.findings import CodeLocation
from generator.check.source import KernelSource

# What Kaggle's images have, and what libraries have removed: the tables of `data/`, read once.


_DATA = Path(__file__).with_name("data")
# Names of the standard library, and modules that later versions of Python no longer have.
_STANDARD_LIBRARY = sys.stdlib_module_names | {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "imp", "lib2to3"),
    *("mailcap", "nntplib", "pipes", "sndhdr", "sunau", "telnetlib", "uu", "xdrlib"),
}


@dataclass(frozen=True)
class Removal:
    """A name that a library has removed, the version in which it went, and what stands in its place."""

    name: str
    version: str
    instead: str

    @property
    def library(self) -> str:
        """The module whose version decides."""
        head = self.name.partition(".")[0]
        return "python" if head in _STANDARD_LIBRARY else head

    @property
    def backports(self) -> set[str]:
        """What distributions are called, written as modules, that bring back a module of the standard library."""
        return {form.format(self.name) for form in ("standard_{}", "legacy_{}", "{}_lts")}

    def is_gone(self, kernel: KernelSource) -> bool:
        """True if it is certain that the image that runs a kernel, or either where that is not said, lacks the name."""
        versions = [image.get(self.library) for image in _images(kernel)]
        return all(version is not None and _parts(version) >= _parts(self.version) for version in versions)

    def may_be_gone(self, kernel: KernelSource) -> bool:
        """True unless every image that could run a kernel still has the name."""
        versions = [image.get(self.library) for image in _images(kernel)]
        return any(version is None or _parts(version) >= _parts(self.version) for version in versions)


def stays_the_same(entry: Removal) -> bool:
    """Return whether a name means the same under its other one."""
    return entry.name.startswith(tuple(_table("removed_names.toml")["same"]))


def removed_names(table: str) -> Mapping[str, Removal]:
    """Return the removed names of a table of `removed_names.toml`."""
    return _read_removed_names(table)


@cache
def _read_removed_names(table: str) -> Mapping[str, Removal]:
    rows = _table("removed_names.toml")[table].items()
    return {name: Removal(name, version, instead) for name, (version, instead) in rows}


@cache
def removed_of_estimators() -> Mapping[tuple[str, str], list[tuple[str, Removal]]]:
    """Return what methods of estimators have lost: by module and method the beginning of the class, and the argument.

    The argument is empty where the method itself is gone.
    """
    entries: dict[tuple[str, str], list[tuple[str, Removal]]] = defaultdict(list)
    for name, entry in _read_removed_names("estimators").items():
        path, _, argument = name.rstrip(")").partition("(")
        module, *_, beginning, method = path.split(".")
        entries[module, method].append((beginning.rstrip("*"), Removal(argument, entry.version, entry.instead)))
    return entries


def removed_values() -> Mapping[str, tuple[Removal, str, str]]:
    """Return functions with the texts that they no longer take: how these begin, and what begins so and is fine."""
    rows = _table("removed_names.toml")["values"].items()
    return {name: (Removal(name, version, instead), start, fine) for name, (start, version, instead, fine) in rows}


def missing_modules(kernel: KernelSource) -> Mapping[str, str]:
    """Return the modules that the kernel's image lacks, with what pip calls them."""
    images = _table("images.toml")
    missing: Mapping[str, str] = images["missing"] | (images["tpu"]["missing"] if kernel.is_on_tpu else {})
    return missing


def instead_of(module: str) -> str:
    """Return what to write in the place of a module of which no version works in the images, or nothing."""
    return str(_table("images.toml")["instead"].get(module, ""))


@cache
def distributions_of(image: str) -> frozenset[str]:
    """Return the names by which pip knows what an image has, "gpu" or "tpu"; a kernel without either has the first."""
    return frozenset(_table("images.toml")[image]["distributions"])


def gpu_modules() -> Iterable[str]:
    """Return the modules that need an NVIDIA GPU."""
    return tuple(_table("images.toml")["needs_gpu"]["modules"])


def gpu_keywords() -> Iterable[tuple[str, str]]:
    """Return the keywords with the values by which libraries are told to compute on a GPU."""
    return tuple((name, value) for name, value in _table("images.toml")["needs_gpu"]["keywords"])


def version_in_image(kernel: KernelSource, library: str) -> str:
    """Return the version of a library in the image of a TPU or of a GPU, or nothing."""
    return str(_table("images.toml")["tpu" if kernel.is_on_tpu else "gpu"]["versions"].get(library, ""))


def _images(kernel: KernelSource) -> list[Mapping[str, str]]:
    images = _table("images.toml")
    if kernel.metadata is None:
        return [images["gpu"]["versions"], images["tpu"]["versions"]]
    versions: Mapping[str, str] = images["tpu" if kernel.is_on_tpu else "gpu"]["versions"]
    return [versions]


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads((_DATA / name).read_text(encoding="utf-8"))


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


# Code that a session on Kaggle never comes to: branches for Colab, for a machine at home, for another system.


AnswerT = TypeVar("AnswerT")
NodeT = TypeVar("NodeT", bound=ast.AST)
_VERSION_CHECK = re.compile(r"version|hasattr|colab|is_local|getattr|find_spec", re.IGNORECASE)

_FUNCTION_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
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
            if any(on_kaggle(code, operand) is stops for operand in around.values[: around.values.index(inner)]):
                return True
        if isinstance(around, ast.Try) and _is_after_colab(around, inner):
            return True
        if isinstance(around, ast.For) and inner in around.body and code.is_empty(around.iter):
            return True
        is_deep = depth >= _DEEPEST_GUARD
        if isinstance(around, _FUNCTION_DEFS) and not is_deep and _once(_is_used_elsewhere, code, around, depth):
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
    answer = on_kaggle(code, around.test)
    return (answer is False and inner in body) or (answer is True and inner in orelse)


def _is_after_colab(around: ast.Try, inner: ast.AST) -> bool:
    """True in a `try` after an import of what only Colab has, or where the import is the question itself."""
    if inner in around.orelse:
        before = around.body
    elif inner in around.body:
        before = around.body[: around.body.index(inner)]
    else:
        return False
    return any(_imports_colab(statement) for statement in before)


def on_kaggle(code: NotebookCode, test: ast.expr, depth: int = 0) -> bool | None:
    """What a condition about where the code runs comes to in a session on Kaggle; None where that is not known."""
    return None if depth > _DEEPEST_GUARD else _once(_on_kaggle, code, test, depth)


def _on_kaggle(code: NotebookCode, test: ast.expr, depth: int) -> bool | None:  # noqa: C901, PLR0911, PLR0912 - a kind of question a line
    if isinstance(test, ast.Constant):
        return bool(test.value) if isinstance(test.value, bool | int) else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = on_kaggle(code, test.operand, depth + 1)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        known_parts = [on_kaggle(code, operand, depth + 1) for operand in test.values]
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
        value = code.resolve(test)
        if value is not test and value is not None:
            answer = on_kaggle(code, value, depth + 1)
            if answer is not None:
                return answer
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
    answer: bool | None = None
    text, right_text = code.text(left), code.text(right)
    if isinstance(op, ast.In | ast.NotIn):
        answer = False if (text or "").startswith("google.colab") else _of_variable(text)
        if answer is None and text is not None and "kaggle" in text.lower() and text.strip("/").lower() == "kaggle":
            answer = True
    elif isinstance(right, ast.Constant) and right.value is None:
        answer = on_kaggle(code, left, depth + 1)
        answer = None if answer is None else not answer
    elif isinstance(right, ast.Constant) and isinstance(right.value, bool):
        answer = on_kaggle(code, left, depth + 1)
        answer = None if answer is None else answer is right.value
    elif (text is None) != (right_text is None):
        constant = (text or right_text or "").lower()
        operand = right if text is not None else left
        name = code.name(operand.func if isinstance(operand, ast.Call) else operand)
        kind_of_run = constant if "KAGGLE_KERNEL_RUN_TYPE" in _text(operand) else ""
        is_elsewhere = constant in _ELSEWHERE or (name in _SYSTEMS and constant in _SYSTEMS[name])
        if is_elsewhere or kind_of_run == "interactive":
            answer = False
        elif constant == "kaggle" or kind_of_run == "batch":  # as whatever is pushed
            answer = True
        elif constant == "" and (asked_call := code.call(operand)) is not None and asked_call.last in ("get", "getenv"):
            answer = _of_variable(code.text(asked_call.argument(0)))
            answer = None if answer is None else not answer
    if answer is None:
        return None
    return not answer if is_negative else answer


def is_elsewhere_at(code: NotebookCode, cell: str, line: int) -> bool:
    """True if every statement that begins on a line of a cell is run elsewhere only."""
    statements = code.statements.get((cell, line), [])
    return bool(statements) and is_elsewhere(code, statements[-1])


def may_be_passed_by_at(code: NotebookCode, cell: str, line: int) -> bool:
    """True if a session may pass by what begins on a line of a cell."""
    statements = code.statements.get((cell, line), [])
    return bool(statements) and may_be_passed_by(code, statements[-1])


def may_be_passed_by(code: NotebookCode, node: ast.AST, depth: int = 0) -> bool:
    """True for code below a condition, in an `except`, or in a function that is called only there or not at all."""
    inner: ast.AST = node
    for around in code.ancestors(node):
        if isinstance(around, ast.ExceptHandler | ast.match_case):
            return True
        if isinstance(around, ast.If | ast.IfExp) and not _is_taken(code, around, inner):
            return True
        if isinstance(around, _FUNCTION_DEFS):
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
    answer = True if is_main else on_kaggle(code, test)
    body = around.body if isinstance(around.body, list) else [around.body]
    return answer is not None and answer is (inner in body)


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
        if isinstance(around, _FUNCTION_DEFS) and not is_deep and _once(_is_used_optionally, code, around, depth):
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


def is_optional_at(code: NotebookCode, cell: CheckedCell, line: int) -> bool:
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


# Commands of a shell in a notebook: its magics and lines with `!`, and those that Python runs.


_RUNNING = {"os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
_RUNNING |= {"subprocess.Popen", "subprocess.getoutput", "os.popen"}
_GOING_ON = {"subprocess.Popen", "os.popen"}
_LONGEST_COMMAND = 10_000
_OTHERWISE = "||"
_SEPARATORS = re.compile(r"&&|\|\||;|\|")
_INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv|apt|apt-get)\b.*\binstall\b")


@dataclass(frozen=True)
class ShellCommand:
    """A line that a shell runs, with UNKNOWN for what only a run would tell.

    `words` are those of each of its commands. `is_optional` says that it may not be run, or may fail, and
    `is_waited_for` that the notebook goes on when it has ended, and not before.
    """

    text: str
    words: tuple[tuple[str, ...], ...]
    place: CodeLocation
    is_optional: bool
    is_waited_for: bool = True


@lru_cache(maxsize=4)  # many rules ask for those of the same notebook
def shell_commands(code: NotebookCode) -> tuple[ShellCommand, ...]:
    """Every command of a shell: those of cells, and then those of `os.system` and `subprocess`."""
    return (*_of_cells(code), *_of_calls(code))


def _of_cells(code: NotebookCode) -> Iterator[ShellCommand]:
    for cell, line, text in code.commands():
        may_fail = _OTHERWISE in text or is_optional_at(code, cell, line)
        yield ShellCommand(text, _words(text), code.place(cell, line), may_fail, _is_waited_for(cell, line))


def _is_waited_for(cell: CheckedCell, line: int) -> bool:
    """False for a line magic such as `%tensorboard`, and for a shell that is started in the background."""
    first = cell.lines[0].split() if cell.lines else []
    if line > 1 and first[:1] and first[0].startswith("%%"):
        is_script = first[0] in {"%%bash", "%%sh", "%%script", "%%system", "%%sx", "%%!"}
        return is_script and "--bg" not in first
    return "!" in cell.lines[line - 1].partition("#")[0] or ".system" in cell.lines[line - 1]


def _of_calls(code: NotebookCode) -> Iterator[ShellCommand]:
    for call in code.calls:
        if call.name not in _RUNNING and call.last not in ("system", "getoutput"):
            continue
        command = code.resolve(call.argument(0, "args", "command", "cmd"))
        is_tried, is_waited_for = is_optional(code, call.node), call.name not in _GOING_ON
        if isinstance(command, ast.List | ast.Tuple):
            words = tuple(code.text(element) or UNKNOWN for element in command.elts)
            yield ShellCommand(
                " ".join(words), (words,) if words else (), code.place(call.node), is_tried, is_waited_for
            )
        elif (text := code.text(command)) is not None:
            may_fail = is_tried or _OTHERWISE in text
            yield ShellCommand(text, _words(text), code.place(call.node), may_fail, is_waited_for)


def _words(line: str) -> tuple[tuple[str, ...], ...]:
    commands = []
    for part in _SEPARATORS.split(line[:_LONGEST_COMMAND]):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # a quote that is not closed
            words = part.split()
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words:
            commands.append(tuple(words))
    return tuple(commands)


def installed_modules(code: NotebookCode) -> set[str]:
    """What pip and conda install, as modules are written; "?" where that is not known."""
    modules: set[str] = set() if code.writer is None else installed_modules(code.writer)
    for command in shell_commands(code):
        if _INSTALLS.search(command.text):
            words = re.split(r"\s+", command.text.partition("install")[2])
            for before, word in zip(["", *words], words, strict=False):
                if before in {"-r", "--requirement", "-e", "--editable"} or word.startswith(
                    ("/", ".", "$", "{", UNKNOWN)
                ):
                    modules.add("?")
                elif before not in {"-f", "--find-links", "-i", "--index-url", "--extra-index-url"}:
                    name = re.split(r"[<>=!~\[@;]", word.strip("'\""))[0]
                    modules.add(module_named(name.rpartition("/")[2].removesuffix(".git")))
    return modules


def module_named(distribution: str) -> str:
    """A distribution's name as a module is written."""
    return distribution.strip("'\"").lower().replace("-", "_").replace(".", "_")


@lru_cache(maxsize=2)
def strings_and_commands(code: NotebookCode) -> frozenset[str]:
    """Every string of the code, and every command of its cells; of a script also those of its notebook."""
    strings = {constant.value for constant in code.nodes(ast.Constant) if isinstance(constant.value, str)}
    around = frozenset() if code.writer is None else strings_and_commands(code.writer)
    return around | strings | {command for _, _, command in code.commands()}


# Where a notebook writes, as far as its code tells without being executed.


_METHODS = {
    *("write_text", "write_bytes", "mkdir", "touch"),  # of a path
    *("to_csv", "to_parquet", "to_json", "to_pickle", "to_feather", "to_excel", "write_csv", "write_parquet"),
    *("save_weights", "save_model", "save_pretrained", "savefig", "extractall", "sink_csv", "sink_parquet"),
}
_ON_PATHS = {"write_text", "write_bytes", "mkdir", "touch"}
_FIRST = {
    *("os.makedirs", "os.mkdir", "numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt"),
    "matplotlib.pyplot.savefig",
    *("keras.callbacks.ModelCheckpoint", "tensorflow.keras.callbacks.ModelCheckpoint"),
    *("keras.callbacks.CSVLogger", "tensorflow.keras.callbacks.CSVLogger", "pandas.ExcelWriter"),
}
_SECOND = {
    *("torch.save", "joblib.dump", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree"),
    *("os.rename", "os.replace", "cv2.imwrite", "safetensors.torch.save_file", "safetensors.numpy.save_file"),
    *("keras.models.save_model", "tensorflow.keras.models.save_model", "keras.saving.save_model"),
    *("torch_xla.core.xla_model.save", "shutil.unpack_archive", "soundfile.write", "imageio.imwrite"),
}
_KEYWORDS = ("path_or_buf", "path", "fname", "filename", "filepath", "file", "dst", "extract_dir", "save_directory")
_SHORTEST_CALL = 2


@dataclass(frozen=True)
class Write:
    """A call that writes: the expression of the path, and its text (None where only a run would tell)."""

    node: ast.Call
    target: ast.expr
    path: str | None


@lru_cache(maxsize=2)  # several rules ask for those of the same notebook
def writes(code: NotebookCode) -> tuple[Write, ...]:
    """Every call of a notebook that is known to write a file or to make a folder."""
    targets = ((call.node, _target(code, call.node, call.name)) for call in code.calls)
    return tuple(Write(node, target, code.text(target)) for node, target in targets if target is not None)


def _target(code: NotebookCode, node: ast.Call, name: str) -> ast.expr | None:
    method = name.rpartition(".")[2]
    keyword_value = next((keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS), None)
    target: ast.expr | None = None
    if name == "open" or method == "open":
        target = _find_open_path(code, node, is_method=name != "open")
    elif name in _SECOND:
        target = node.args[1] if len(node.args) >= _SHORTEST_CALL else keyword_value
    elif name in _FIRST or method in _METHODS - _ON_PATHS or _is_saving(node, method):
        target = node.args[0] if node.args else keyword_value
    elif method in _ON_PATHS and isinstance(node.func, ast.Attribute):
        target = node.func.value
    return target


def _is_saving(node: ast.Call, method: str) -> bool:
    """True for `model.save("x")` and `model.export("x")`; `plt.show` and the like have no path."""
    return method in ("save", "export") and bool(node.args) and isinstance(node.func, ast.Attribute)


def _find_open_path(code: NotebookCode, node: ast.Call, *, is_method: bool) -> ast.expr | None:
    """The path of an `open` that is for writing."""
    position = 0 if is_method else 1
    mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), None)
    if mode is None and len(node.args) > position:
        mode = node.args[position]
    if not set("wax+") & set((code.text(mode) or "")[:3]):
        return None
    if is_method:
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    return node.args[0] if node.args else None
