"""The Python in the text of a cell, and passes over its syntax tree."""

import ast
import gc
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate, islice, takewhile
from typing import cast

from generator.text import JsonObject

# What people and this kit call cells; the ids that editors make up have digits among their letters.
_NAME = re.compile(r"[A-Za-z]+(?:[-_](?:[A-Za-z]+|\d+))*")
_RANDOM_ID = re.compile(r"[0-9a-f]{8}|[0-9a-f]{8}-[0-9a-f-]+")

MOST_TOKENS = 100_000  # of a notebook's code: some 350 kB of what people write, which take about two seconds
_LONGEST_CELL, _MOST_CODE_CHARACTERS = (
    1_000_000,
    4_000_000,
)  # characters of a cell, and of all, whose tokens are counted at all
_TOKEN = re.compile(r"\w+|[^\w\s]")
_TOKENS_OF_COMMAND = 20  # what a command costs, in tokens
_COMMAND_LINE = re.compile(r"^[!%](?=[A-Za-z])(.*)$", re.MULTILINE)
_MOST_COMMANDS = 1_000  # of a cell that is not analysed
_STATEMENT = re.compile(r"(?!(?:else|elif|except|finally)\b)[A-Za-z_@!%]")  # how a line begins with which one begins
_MOST_CUTS = 4  # places at which a cell that is too large is cut before it is given up
_PYTHON_MAGICS = {"time", "timeit", "capture", "prun", "memit", "debug", "skip", "snakeviz"}
_SHELL_MAGICS = {"bash", "sh", "script", "system", "sx", "!", "shell"}
_COMMAND = re.compile(r"(?P<target>[^=!%#'\"()]+=\s*)?(?P<mark>!!?|%(?=[A-Za-z]))(?P<command>.*)", re.DOTALL)
_TIME_MAGIC = re.compile(r"%time(?:it)?\s+(?P<statement>[^-\s].*)", re.DOTALL)
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
# IPython's line magics and its aliases of commands, which it takes without their `%` where they are all of a cell.
_LINE_MAGICS = frozenset(
    """
    alias alias_magic autoawait autocall automagic bookmark cat cd clear colors conda config cp dhist dirs env gui hist
    history ldir less lf lk ll load load_ext logon logoff logstart logstate logstop ls lsmagic lx macro magic mamba man
    matplotlib micromamba mkdir more mv notebook pastebin pdb pdef pdoc pfile pinfo pip popd pprint precision prun
    psearch psource pushd pwd pycat pylab quickref recall rehashx reload_ext rep rerun reset reset_selective rm rmdir
    run save sc set_env store sx system tb time timeit unalias uv unload_ext who who_ls whos xdel xmode
    """.split()  # noqa: SIM905 - a list would be forty lines
)
_AUTOMAGIC = re.compile(r"(?P<name>[a-z_]+)(?![\w.(\[])(?!\s*[=,](?!=))(?P<rest>.*)")
_BARE = {"ls", "ll", "pwd", "who", "whos", "lsmagic", "clear"}  # which nobody calls a variable
_AUTOCALL = re.compile(r"(?P<mark>[/,;])(?P<function>[A-Za-z_][\w.]*)[ \t]*(?P<arguments>.*)")
_SCRIPT_MAGICS = {"writefile", "file", "python", "python3"}
_NEWER = re.compile(r"\s*(?:type\s+\w+\s*[\[=]|(?:async\s+)?(?:def|class)\s+\w+\s*\[)")
_IN_TEXT, _IN_CODE = re.compile(r"[\\'\"]"), re.compile(r"['\"()\[\]{}#]")  # where `_Reader` has to look
_HELP = re.compile(r"\?{1,2}[\w.%*]+|%{0,2}[\w.*]+\?{1,2}")


@dataclass(frozen=True)
class CheckedCell:
    """A code cell: its text, its tree (empty where it is no Python), the commands in it by their lines."""

    name: str
    source: str
    tree: ast.Module = field(default_factory=lambda: ast.Module(body=[], type_ignores=[]))
    commands: dict[int, str] = field(default_factory=dict)  # line: `pip install x`, without its `!` or `%`
    syntax_error: SyntaxError | None = None
    script: "CheckedCell | None" = None  # the Python that `%%writefile NAME.py` writes, under the name of the file
    is_analysed: bool = True  # else there was too much: its text and commands are there, and its first statements
    lines_analysed: int = 0  # of a cell that is not analysed as a whole

    @property
    def is_of_shell(self) -> bool:
        """True for a cell that a shell runs as a whole, such as one of `%%bash`."""
        magic = re.match(r"\s*%%\s*(\S+)", self.source)
        return magic is not None and magic[1] in _SHELL_MAGICS

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.source.split("\n")


def cell_name(cell: JsonObject, number: int) -> str:
    """What a cell is called in a finding: its id where that is a name, else its number among all cells."""
    name = cell.text("id")
    return name if _NAME.fullmatch(name) and not _RANDOM_ID.fullmatch(name) else f"cell {number}"


def parse_code_cells(cells: Iterable[tuple[str, str]]) -> tuple[CheckedCell, ...]:
    """Read the cells of a notebook, of which the names and texts are given, as far as `MOST_TOKENS` go.

    A cell that is larger than what is left of them is passed by at first, for the sake of those behind it. What is left
    then is for its first statements.
    """
    left, characters = MOST_TOKENS, 0
    code_cells: list[CheckedCell] = []
    for name, source in cells:
        characters += len(source)
        is_counted = len(source) <= _LONGEST_CELL and characters <= _MOST_CODE_CHARACTERS
        cost = _cost(source) if is_counted and left > 0 else left + 1
        if cost <= left:
            left -= cost
            code_cells.append(read_cell(name, source))
        else:
            code_cells.append(CheckedCell(name, source, is_analysed=False))
    for number, cell in enumerate(code_cells):
        if not cell.is_analysed:
            code_cells[number], cost = _beginning(cell, left)
            left -= cost
    return tuple(code_cells)


def _beginning(cell: CheckedCell, most: int) -> tuple[CheckedCell, int]:
    """A cell of which as many statements are analysed as tokens allow, and how many tokens these are."""
    lines = cell.source[:_LONGEST_CELL].split("\n")
    costs = list(takewhile(lambda cost: cost <= most, accumulate(map(_cost, lines))))
    count = min(len(costs), len(lines) - 1)
    part = CheckedCell(cell.name, "")
    for _ in range(_MOST_CUTS):
        while count and (lines[count - 1].startswith("@") or not _STATEMENT.match(lines[count])):
            count -= 1
        part = read_cell(cell.name, "\n".join(lines[:count]))
        if part.syntax_error is None:
            break
        count = max(0, min(count, part.syntax_error.lineno or 0) - 1)  # within a long text or a literal
    else:
        part, count = CheckedCell(cell.name, ""), 0
    commands = list(islice(_COMMAND_LINE.finditer(cell.source), _MOST_COMMANDS))
    at = {cell.source.count("\n", 0, match.start()) + 1: match[1].strip() for match in commands}
    at = {line: command for line, command in at.items() if line > count} | part.commands
    cost = costs[count - 1] if count else 0
    return replace(cell, tree=part.tree, commands=at, script=part.script, lines_analysed=count), cost


def _cost(source: str) -> int:
    commands = source.count("\n!") + source.count("\n%") + source.startswith(("!", "%"))
    return len(_TOKEN.findall(source)) + _TOKENS_OF_COMMAND * commands


def read_cell(name: str, source: str) -> CheckedCell:
    """Take the text of a code cell apart: parsed as it is, or else without its commands and magics."""
    cell = CheckedCell(name, source)
    commands: dict[int, str] = {}
    lines = _without_prompts(_without_indent(cell.lines))
    for number in range(len(lines)):
        line = lines[number]
        if line.startswith("%%"):
            commands[number + 1] = line[2:].strip()
            magic = re.split(r"\s", commands[number + 1], maxsplit=1)[0]
            if magic in _SCRIPT_MAGICS:
                return replace(cell, commands=commands, script=_script(commands[number + 1], name, lines, number))
            if magic not in _PYTHON_MAGICS:
                body = _shell_lines(lines, number + 1) if magic in _SHELL_MAGICS else {}
                return replace(cell, commands=commands | body)
            lines = [*lines[:number], "", *_without_indent(lines[number + 1 :])]  # the body is a cell of its own
        elif line.strip():
            break
    if (magic := _automagic(lines)) is not None:
        return _read_automagic(cell, magic, lines, commands)
    try:
        return replace(cell, tree=_parse("\n".join(lines)), commands=commands)
    except SyntaxError:
        lines, line_commands = _without_commands(lines)
    try:
        return replace(cell, tree=_parse("\n".join(lines)), commands=commands | line_commands)
    except SyntaxError as error:
        problem = None if _is_of_newer_python(error) else error
        return replace(cell, commands=commands | line_commands, syntax_error=problem)


def _without_indent(lines: list[str]) -> list[str]:
    """The lines of a cell without the indent of its first one, which IPython takes off all that have it."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(indent) for line in lines]


def _without_prompts(lines: list[str]) -> list[str]:
    """The lines of a cell without `>>> ` and `... `, which IPython takes off where the first or the second has one."""
    at = next((number for number, line in enumerate(lines) if line.strip()), 0)
    is_pasted = lines[at].startswith(">>>") or any(_PROMPT.match(line) for line in lines[at + 1 : at + 2])
    return [_PROMPT.sub("", line, count=1) for line in lines] if is_pasted else lines


def _automagic(lines: list[str]) -> re.Match[str] | None:
    """A magic without its `%`, which is all of a cell; what is Python as well is none, but for `ls -l`."""
    texts = [line.strip() for line in lines if line.strip()]
    match = _AUTOMAGIC.fullmatch(texts[0]) if len(texts) == 1 else None
    if match is None or match["name"] not in _LINE_MAGICS:
        return None
    if not match["rest"].strip():
        return match if match["name"] in _BARE else None
    try:
        tree = _parse(texts[0])
    except SyntaxError:
        return match
    return match if match["rest"].startswith((" -", " /", " *")) and isinstance(tree.body[0], ast.Expr) else None


def _read_automagic(cell: CheckedCell, magic: re.Match[str], lines: list[str], commands: dict[int, str]) -> CheckedCell:
    at = next(number for number, line in enumerate(lines) if line.strip())
    cell_commands = commands | {at + 1: magic.string}
    if magic["name"] in _PYTHON_MAGICS and not magic["rest"].lstrip().startswith("-"):
        try:
            tree = _parse("\n".join([*[""] * at, magic["rest"].strip()]))
        except SyntaxError as error:
            return replace(cell, commands=cell_commands, syntax_error=error)
        return replace(cell, tree=tree, commands=cell_commands)
    return replace(cell, commands=cell_commands)


def _script(command: str, name: str, lines: list[str], at: int) -> CheckedCell | None:
    """The Python that a cell writes to a file, or gives to a process; what is no Python is left alone."""
    magic, *words = command.split()
    files = [word.strip("\"'") for word in words if not word.startswith("-")]
    if magic in ("writefile", "file") and not (files and files[-1].endswith(".py")):
        return None
    try:
        tree = _parse("\n".join([*[""] * (at + 1), *lines[at + 1 :]]))
    except SyntaxError:
        return None
    return CheckedCell(name, "\n".join(lines), tree, script=None) if tree.body else None


def _parse(text: str) -> ast.Module:
    """The tree of a text; whatever hinders Python from reading it is a `SyntaxError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\d", which are the notebook's own
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL in it, brackets without end
        raise SyntaxError(str(error) or "it is nested too deeply") from error


def _is_of_newer_python(error: SyntaxError) -> bool:
    """True for what may be Python on Kaggle, whose images have 3.12 and later, and is none where the kit runs."""
    is_f_string = error.msg.startswith("f-string")
    return sys.version_info < (3, 12) and (is_f_string or _NEWER.match(error.text or "") is not None)


def _without_commands(lines: list[str]) -> tuple[list[str], dict[int, str]]:
    python_lines: list[str] = []
    commands: dict[int, str] = {}
    reader = _Reader()
    while len(python_lines) < len(lines):
        line = lines[len(python_lines)]
        stripped_line = line.strip()
        is_statement = reader.is_between_statements
        match = _COMMAND.fullmatch(stripped_line) or _HELP.fullmatch(stripped_line) if is_statement else None
        autocall = _AUTOCALL.fullmatch(stripped_line) if is_statement and match is None else None
        if autocall is not None:
            python_lines.append(line[: len(line) - len(line.lstrip())] + _as_call(autocall))
            continue
        if match is None:
            reader.read(line)
            python_lines.append(line)
            continue
        fields = match.groupdict()
        count, text = _join_lines(lines, len(python_lines))
        if fields.get("command") is not None:
            commands[len(python_lines) + 1] = text.lstrip()[match.start("command") :].strip()
        time_match = _TIME_MAGIC.fullmatch(text.strip())
        target = (fields.get("target") or "").strip()
        instead = time_match["statement"] if time_match else f"{target} None" if target else "pass"
        python_lines += [line[: len(line) - len(line.lstrip())] + instead, *[""] * (count - 1)]
    return python_lines, commands


def _as_call(match: re.Match[str]) -> str:
    """The call that IPython makes of `/f x`, `,f a b` and `;f a b`."""
    mark, function, arguments = match.groups()
    if mark == ",":
        arguments = ", ".join(map(repr, arguments.split()))
    elif mark == ";":
        arguments = repr(arguments)
    elif arguments.startswith("(") or not arguments:
        return f"{function}{arguments or '()'}"
    return f"{function}({arguments})"


def _shell_lines(lines: list[str], first: int) -> dict[int, str]:
    """The commands of a cell that a shell runs."""
    commands = {}
    while first < len(lines):
        count, text = _join_lines(lines, first)
        if text.strip() and not text.lstrip().startswith("#"):
            commands[first + 1] = text.strip()
        first += count
    return commands


def _join_lines(lines: list[str], first: int) -> tuple[int, str]:
    """How many lines a command has, which a backslash continues on the next one, and its text."""
    last = first
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    return last + 1 - first, " ".join(line.removesuffix("\\") for line in lines[first : last + 1])


class _Reader:
    """Where in Python's syntax a line ends: within a text, within brackets, or between statements."""

    def __init__(self) -> None:
        self._quote, self._depth, self._is_continued = "", 0, False

    @property
    def is_between_statements(self) -> bool:
        return not self._quote and self._depth == 0 and not self._is_continued

    def read(self, line: str) -> None:
        at, is_comment = 0, False
        while (sign := (_IN_TEXT if self._quote else _IN_CODE).search(line, at)) and not is_comment:
            at, character = sign.end(), sign[0]
            if self._quote:
                if character == "\\":
                    at += 1
                elif line.startswith(self._quote, sign.start()):
                    at, self._quote = sign.start() + len(self._quote), ""
            elif character in "'\"":
                self._quote = character * 3 if line.startswith(character * 3, sign.start()) else character
                at = sign.start() + len(self._quote)
            else:
                self._depth = max(0, self._depth + (character in "([{") - (character in ")]}"))
                is_comment = character == "#"
        self._is_continued = line.endswith("\\") and not is_comment
        if len(self._quote) == 1 and not self._is_continued:
            self._quote = ""


# Syntax trees: a pass over them, where each node is, and calls with the names of what is called.


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LEAVES = (ast.Name, ast.Constant)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Of a node: what is no node, or one object that stands in many places, such as `ast.Load()`.
_NO_NODES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "asname", "module", "level", "type_comment", "simple"}
_LONGEST_LITERAL = 1_000  # elements of a literal that are looked at: data, in a notebook


@dataclass(frozen=True, eq=False)
class CodeCall:
    """A call with the full name of what is called: `tf.cast(x)` is of `tensorflow.cast`."""

    node: ast.Call
    name: str

    @cached_property
    def last(self) -> str:
        """The name after the last dot."""
        return self.name.rpartition(".")[2]

    def keyword(self, *names: str) -> ast.expr | None:
        """The value of the first of these keywords that is given."""
        return next((keyword.value for keyword in self.node.keywords if keyword.arg in names), None)

    def argument(self, position: int, *names: str) -> ast.expr | None:
        """The value of an argument, given by its position or by a name."""
        value = self.keyword(*names)
        if value is None and position < len(self.node.args):
            value = self.node.args[position]
        return None if isinstance(value, ast.Starred) else value

    @property
    def is_open(self) -> bool:
        """True if it takes arguments that the code does not name: `f(**settings)`."""
        return any(keyword.arg is None for keyword in self.node.keywords)

    @cached_property
    def receiver(self) -> ast.expr | None:
        """What stands before the dot of a method's call."""
        return self.node.func.value if isinstance(self.node.func, ast.Attribute) else None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's search for unused cycles, which takes twice as long as parsing: syntax trees have none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Tree:
    """Where every node is, from one pass over the cells in the order of their text."""

    def __init__(self, cells: tuple[CheckedCell, ...]) -> None:
        self.cell_of: dict[ast.AST, int] = {}
        self.parent: dict[ast.AST, ast.AST | None] = {}
        self.function: dict[ast.AST, FunctionNode | None] = {}
        self.by_kind: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self.inside: dict[FunctionNode | None, list[ast.AST]] = defaultdict(list)
        for number, cell in enumerate(cells):
            self._add(number, cell.tree)

    def _add(self, number: int, tree: ast.Module) -> None:
        stack: list[tuple[ast.AST, ast.AST | None, FunctionNode | None]] = [(tree, None, None)]
        while stack:
            node, parent, function = stack.pop()
            self.cell_of[node], self.parent[node], self.function[node] = number, parent, function
            self.by_kind[type(node)].append(node)
            self.inside[function].append(node)
            if isinstance(node, _LEAVES):
                continue
            children = children_of(node)
            children.reverse()
            if isinstance(node, _FUNCTIONS):
                body = {*node.body} if isinstance(node.body, list) else {node.body}  # a lambda's is one expression
                stack += [(child, node, node if child in body else function) for child in children]
            else:
                stack += [(child, node, function) for child in children]


def walk_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node in a node, itself included, without the far elements of a long literal."""
    stack = [node]
    while stack:
        descendant = stack.pop()
        yield descendant
        stack += reversed(children_of(descendant))


def children_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, without the far elements of a long literal."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [*node.elts[:_LONGEST_LITERAL]]
    if isinstance(node, ast.Dict):
        elements = [*node.keys[:_LONGEST_LITERAL], *node.values[:_LONGEST_LITERAL]]
        return [child for child in elements if child is not None]
    children: list[ast.AST] = []
    for name in _fields(cast("Hashable", type(node))):
        value = getattr(node, name, None)
        if isinstance(value, list):
            children += [child for child in value if isinstance(child, ast.AST)]
        elif isinstance(value, ast.AST):
            children.append(value)
    return children


@cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    return () if kind in _LEAVES else tuple(name for name in getattr(kind, "_fields", ()) if name not in _NO_NODES)


def function_parameters(function: FunctionNode) -> list[ast.arg]:
    """Every parameter of a function, in order."""
    arguments = function.args
    plain_parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return plain_parameters + [parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None]


def arguments_given(function: FunctionNode, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """The parameters of a function to which a call gives an expression, by position or by name."""
    positional = [*function.args.posonlyargs, *function.args.args]
    if positional and positional[0].arg == "self":
        positional = positional[1:]
    pairs = [(parameter.arg, value) for parameter, value in zip(positional, call.args, strict=False)]
    return pairs + [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]


def is_true(node: ast.expr | None) -> bool:
    """True for a literal `True`."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.expr | None) -> bool:
    """True for a literal `False`."""
    return isinstance(node, ast.Constant) and node.value is False
