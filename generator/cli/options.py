"""The options that several verbs have in common."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from generator.cli.completion import complete_pair
from generator.errors import PairError
from generator.pair.workspace import Workspace
from generator.untrusted import printable

TARGETS = ("kaggle", "local")

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def _name_of_pair(context: click.Context, _: click.Parameter, text: str | None) -> str | None:
    """The name of a pair, where the text is the path of its folder as well, as a shell types it."""
    if text is None or os.path.basename(text) == text:  # noqa: PTH119 - pathlib drops the slash at the end
        return text
    path = Path(os.path.normpath(text))
    if path.parent.name != "kernels":
        return text
    if path.parent.parent.absolute() != context.params["workspace"].root.absolute():
        workspace = printable(str(path.parent.parent))
        raise PairError(f'"{printable(text)}" is in another workspace; with --workspace {workspace} it is found.')
    return path.name


workspace_option = click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    callback=lambda _, __, folder: Workspace(folder),
    is_eager=True,  # the name of a pair may be a path in it
    help="The folder with kernels/ and input/; by default the current one.",
)
pair_argument = click.argument("pair", callback=_name_of_pair, shell_complete=complete_pair)
optional_pair_argument = click.argument("pair", required=False, callback=_name_of_pair, shell_complete=complete_pair)
json_option = click.option("--json", "as_json", is_flag=True, help="Report as JSON.")


def assignments_option(text: str) -> Option:
    """`-P`, with what it sets as its help."""
    return click.option("-P", "--parameter", "assignments", metavar="NAME=VALUE", multiple=True, help=text)


def to_option(text: str = "The real Kaggle, or the local one that `tandem serve` runs.", **options: Any) -> Option:
    """`--to`, with what is asked of that Kaggle as its help."""
    return click.option("--to", type=click.Choice(TARGETS), help=text, **options)


def data_option(*, default: str) -> Option:
    """`--data`, with the folder that is meant without it."""
    return click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help=f"The folder with its files; by default {default}.",
    )


def output_option(*, metavar: str, default: str) -> Option:
    """`--output`, with the folder that is meant without it."""
    return click.option(
        "--output",
        type=click.Path(file_okay=False, path_type=Path),
        metavar=metavar,
        help=f"Where to write, instead of {default}.",
    )


def shortest(path: Path) -> str:
    """The path as the user would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
