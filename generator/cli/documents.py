"""The JSON documents that verbs print with --json: their flag, their text, and the document of an error.

A verb declares its documents where it gets its flag, `@json_option(RunReport)`, as classes whose annotations and
docstrings are the schema: typed dictionaries and dataclasses. `docs/list_json.py` writes them to the folder `schemas`
and to docs/json.md.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypedDict

import click

from generator.errors import TandemError, did_you_mean
from generator.text import json_text, printable

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
