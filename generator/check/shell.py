"""Commands of a shell in a notebook: its magics and lines with `!`, and those that Python runs."""

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from generator.check.code import NotebookCode
from generator.check.finding import Place
from generator.check.guards import is_optional, is_optional_at
from generator.check.text_value import UNKNOWN

_RUNNING = {"os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
_RUNNING |= {"subprocess.Popen", "subprocess.getoutput", "os.popen"}
_LONGEST = 10_000
_OTHERWISE = "||"
_SEPARATORS = re.compile(r"&&|\|\||;|\|")
_INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv|apt|apt-get)\b.*\binstall\b")


@dataclass(frozen=True)
class ShellCommand:
    """A line that a shell runs, with UNKNOWN for what only a run would tell.

    `words` are those of each of its commands. `is_optional` says that it may not be run, or may fail.
    """

    text: str
    words: tuple[tuple[str, ...], ...]
    place: Place
    is_optional: bool


@lru_cache(maxsize=4)  # many rules ask for those of the same notebook
def shell_commands(code: NotebookCode) -> tuple[ShellCommand, ...]:
    """Every command of a shell: those of cells, and then those of `os.system` and `subprocess`."""
    return (*_of_cells(code), *_of_calls(code))


def _of_cells(code: NotebookCode) -> Iterator[ShellCommand]:
    for cell, line, text in code.commands():
        may_fail = _OTHERWISE in text or is_optional_at(code, cell, line)
        yield ShellCommand(text, _words(text), code.place(cell, line), may_fail)


def _of_calls(code: NotebookCode) -> Iterator[ShellCommand]:
    for call in code.calls:
        if call.name not in _RUNNING and call.last not in ("system", "getoutput"):
            continue
        given = code.resolved(call.argument(0, "args", "command", "cmd"))
        is_tried = is_optional(code, call.node)
        if isinstance(given, ast.List | ast.Tuple):
            words = tuple(code.text(each) or UNKNOWN for each in given.elts)
            yield ShellCommand(" ".join(words), (words,) if words else (), code.place(call.node), is_tried)
        elif (text := code.text(given)) is not None:
            yield ShellCommand(text, _words(text), code.place(call.node), is_tried or _OTHERWISE in text)


def _words(line: str) -> tuple[tuple[str, ...], ...]:
    found = []
    for part in _SEPARATORS.split(line[:_LONGEST]):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # a quote that is not closed
            words = part.split()
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words:
            found.append(tuple(words))
    return tuple(found)


def installed_modules(code: NotebookCode) -> set[str]:
    """What pip and conda install, as modules are written; "?" where that is not known."""
    found: set[str] = set() if code.writer is None else installed_modules(code.writer)
    for command in shell_commands(code):
        if _INSTALLS.search(command.text):
            words = re.split(r"\s+", command.text.partition("install")[2])
            for before, word in zip(["", *words], words, strict=False):
                if before in {"-r", "--requirement", "-e", "--editable"} or word.startswith(
                    ("/", ".", "$", "{", UNKNOWN)
                ):
                    found.add("?")
                elif before not in {"-f", "--find-links", "-i", "--index-url", "--extra-index-url"}:
                    name = re.split(r"[<>=!~\[@;]", word.strip("'\""))[0]
                    found.add(module_named(name.rpartition("/")[2].removesuffix(".git")))
    return found


def module_named(distribution: str) -> str:
    """A distribution's name as a module is written."""
    return distribution.strip("'\"").lower().replace("-", "_").replace(".", "_")


@lru_cache(maxsize=2)
def strings_and_commands(code: NotebookCode) -> frozenset[str]:
    """Every string of the code, and every command of its cells; of a script also those of its notebook."""
    strings = {each.value for each in code.nodes(ast.Constant) if isinstance(each.value, str)}
    around = frozenset() if code.writer is None else strings_and_commands(code.writer)
    return around | strings | {command for _, _, command in code.commands()}
