"""The options that several verbs have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
"""Every verb has both, as the settings of its context."""

TARGETS = ("kaggle", "local")

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

workspace_option = click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder with kernels/ and input/; by default the current one.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Report as JSON.")


def to_option(text: str) -> Option:
    """`--to`, with what is asked of that Kaggle as its help."""
    return click.option("--to", type=click.Choice(TARGETS), help=text)


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
