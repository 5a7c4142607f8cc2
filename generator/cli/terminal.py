"""What verbs print: lines and tables for a terminal, and JSON documents for programs."""

import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypedDict

import click

from generator.errors import TandemError, did_you_mean
from generator.text import json_text, printable

if TYPE_CHECKING:
    from rich.console import Console


def terminal_width(stream: TextIO) -> int | None:
    """Returns how many columns a terminal has; None for a file or a pipe, which have no end."""
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def is_interactive() -> bool:
    """True if there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, reason: str, is_confirmed: bool) -> None:
    """Makes sure that somebody wants what spends quota or money, or submits.

    Args:
        question: What is asked at a terminal; "" where whoever sits there has said enough.
        reason: Why it takes a `--yes` where nobody is at a terminal, as sentences.
        is_confirmed: Whether `--yes` was given.

    Raises:
        click.UsageError: Nobody is at a terminal, and there is no `--yes`.
        click.Abort: The answer is no.
    """
    if is_confirmed:
        return
    if not is_interactive():
        raise click.UsageError(
            f"{reason} This is no interactive terminal, so no question can be asked: add --yes.",
            click.get_current_context(),
        )
    if question:
        click.confirm(f"{printable(question)}?", abort=True, err=True)


def live_console() -> "Console | None":
    """Returns the terminal on stderr, if it can show what changes in place and rich is installed."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def apply_style(text: str, stream: TextIO, **style: Any) -> str:
    """Returns the text in a style of `click.style`, if it goes to a terminal that is to have colours."""
    has_colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if has_colours else text


def warn(text: str) -> None:
    """Tells the user of something that does not stop the command."""
    click.echo(f"{apply_style('Warning:', sys.stderr, fg='yellow')} {printable(text)}", err=True)


def complain(message: str) -> None:
    """Tells the user why something cannot be done; each line of the message is made printable."""
    lines = "\n".join(map(printable, message.split("\n")))
    click.echo(f"{apply_style('Error:', sys.stderr, fg='red')} {lines}", err=True)


def width_of(text: str) -> int:
    """Returns how many columns printable text takes: two for an East Asian character, none for an accent."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def wrap_text(text: str, width: int) -> list[str]:
    """Returns the lines of a text in so many columns, broken between words, or where a word is too long for a line."""
    if width_of(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        candidate = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(candidate) <= width:
            lines[-1] = candidate
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = word
        while width_of(lines[-1]) > width:
            end = next(end for end in range(len(lines[-1]), 0, -1) if end == 1 or width_of(lines[-1][:end]) <= width)
            lines[-1:] = [lines[-1][:end], lines[-1][end:]]
    return lines


# Tables of plain text for the terminal.


_WIDEST = 60
_NARROWEST = 24  # columns of a terminal that are worth wrapping text in
_GAP, _INDENT = "  ", "    "


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None) -> str:
    """Aligns cells in columns; every cell is made printable.

    On a terminal the lines fit into it: cells are continued on further lines, and where a last column has hardly room
    it stands below the others. Elsewhere lines are as long as they are, and all cells but the last of a row are cut.

    Returns:
        The lines of the table, without a line end after the last one.
    """
    stream = stream or sys.stdout
    columns = terminal_width(stream)
    grid = [[printable(cell) for cell in row] for row in (header, *rows)]
    if columns is None:
        grid = [[*map(_cut, row[:-1]), row[-1]] for row in grid]
    widths = [max(map(width_of, column)) for column in zip(*grid, strict=True)]
    is_last_below = columns is not None and not _fit(widths, columns)
    lines = []
    for number, row in enumerate(grid):
        cells = [wrap_text(cell, width) for cell, width in zip(row, widths, strict=True)]
        below = cells.pop() if is_last_below else []
        for parts in zip_longest(*cells, fillvalue=""):
            first, *other_cells = (
                part + " " * (width - width_of(part)) for part, width in zip(parts, widths, strict=False)
            )
            line = _GAP.join([first if number == 0 else apply_style(first, stream, fg="cyan"), *other_cells]).rstrip()
            lines.append(apply_style(line, stream, bold=True) if number == 0 else line)
        lines += [f"{_INDENT}{line}" for line in below if line and number > 0]
    return "\n".join(lines)


def _fit(widths: list[int], columns: int) -> bool:
    """Makes columns narrower until they fit; returns False where the last one has to stand below the others."""
    for widest in (columns, max(_NARROWEST, columns // 3)):
        widths[:-1] = [min(width, widest) for width in widths[:-1]]
        room = columns - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
        if room >= min(widths[-1], _NARROWEST):
            widths[-1] = min(widths[-1], room)
            return True
    other_count = len(widths) - 1
    while sum(widths[:-1]) + len(_GAP) * (other_count - 1) > columns and max(widths[:-1]) > 1:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths[-1] = max(1, columns - len(_INDENT))
    return False


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…"


# Elapsed time.


def clock(seconds: float) -> str:
    """Writes elapsed time as `0:07`, `12:30` or `1:02:03`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def timed_lines() -> Callable[[str], None]:
    """Whom to tell lines, which are made printable and get the time since now in front."""
    start_time = time.monotonic()

    def tell(line: str) -> None:
        click.echo(f"{clock(time.monotonic() - start_time):>7} {printable(line.expandtabs(4))}", err=True)

    return tell


# The JSON documents that verbs print with --json: their flag, their text, and the document of an error. A verb
# declares its documents where it gets its flag, `@json_option(RunReport)`. They are typed dictionaries and dataclasses,
# whose annotations and docstrings are the schema: `docs/list_json.py` writes it to the folder `schemas` and to
# docs/json.md.


Command = Callable[..., Any]
Document = type | str | tuple[type, ...]
"""A class, or "module:class" where its module is slow to import; or classes whose keys are all in one object."""

USAGE, INTERRUPT, DISK = "usage", "interrupted", "disk"
"""The codes of what is no error of the kit's: a wrong command line, an interrupt, a disk that cannot be written to."""

_SCHEMAS = Path(__file__).with_name("schemas")


class ErrorFields(TypedDict):
    """Why nothing else was printed.

    Attributes:
        code: The name of this kind of error, which does not change when its message does.
        message: What is wrong, and where; without what to do, where that is in `remedy`.
        remedy: What to do; empty where the message says it, or nothing can be done.
    """

    code: str
    message: str
    remedy: str


class ErrorDocument(TypedDict):
    """An error, in place of any other document.

    Attributes:
        schema_version: The version of this document.
        error: What went wrong.
    """

    schema_version: Literal[1]
    error: ErrorFields


class JsonOption(click.Option):
    """The flag `--json`, with what it makes a command print.

    Attributes:
        documents: The documents, one of which is printed; or lines, each of which is one of them.
        is_lines: Whether it prints several documents, one on each line.
    """

    documents: tuple[Document, ...] = ()
    is_lines: bool = False

    def __init__(
        self, names: list[str], documents: tuple[Document, ...] = (), *, is_lines: bool = False, **options: Any
    ) -> None:
        super().__init__(names, **options)
        self.documents, self.is_lines = documents, is_lines


def json_option(*documents: Document, is_lines: bool = False) -> Callable[[Command], Command]:
    """`--json`, with the documents that the command then prints."""
    text = "Print JSON, one object per line." if is_lines else "Print JSON."
    names = ("--json", "as_json")
    return click.option(*names, cls=JsonOption, documents=documents, is_lines=is_lines, is_flag=True, help=text)


def print_document(document: Mapping[str, Any]) -> None:
    """Prints a document, which is all that a command prints."""
    click.echo(json_text(document, indent=2))


def print_line(document: Mapping[str, Any]) -> None:
    """Prints a document that is one of several."""
    click.echo(json_text(document))


def print_error(arguments: Iterable[str], error: TandemError | click.ClickException | str, *, code: str = "") -> None:
    """Prints the document of an error, if a command line asks for JSON; on a line, as it may follow others.

    Args:
        arguments: The command line, whether or not it can be parsed.
        error: The error, or its message where it is none of the kit's.
        code: Its code where it is none of the kit's.
    """
    if "--json" not in takewhile(lambda argument: argument != "--", arguments):
        return
    if isinstance(error, TandemError):
        fields = ErrorFields(code=error.code, message=error.summary, remedy=error.remedy)
    elif isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        remedy = f"Try '{context.command_path} --help' for help." if context else ""
        fields = ErrorFields(code=USAGE, message=error.format_message(), remedy=remedy)
    else:
        fields = ErrorFields(code=code, message=error, remedy="")
    print_line(ErrorDocument(schema_version=1, error=fields))


# The verb `schema`: the JSON Schema of what a verb prints, from the files that docs/list_json.py writes.


@click.command()
@click.argument("verb", nargs=-1)
def schema(verb: tuple[str, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of what a verb prints with --json. Without a verb, list the schemas.

    `error` is the schema of an error, and `report` that of output/PAIR/report.json.

    \b
    tandem schema run
    tandem schema colab run
    """  # noqa: D301 - click wants the character itself
    names = sorted(path.stem for path in _SCHEMAS.glob("*.json"))
    name = "-".join(verb)
    if not name:
        click.echo("\n".join(name.replace("-", " ") for name in names))
        return
    if name not in names:
        raise TandemError(
            f'There is no schema "{printable(name)}".{did_you_mean(name, names)}',
            remedy="`tandem schema` lists them.",
            code="schema-not-found",
        )
    click.echo(re.sub(r"\n$", "", (_SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))
