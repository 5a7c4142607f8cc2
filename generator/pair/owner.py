"""The owner of the kernels: the Kaggle user name, from the command line or from Kaggle's own configuration."""

import os
from collections.abc import Iterator
from pathlib import Path

from generator.errors import PairError
from generator.files import read_json
from generator.pair.choices import Choice, MadeBy
from generator.untrusted import is_slug, printable

PLACEHOLDER_OWNER = "your-kaggle-username"
"""Stands where no user name is known; `push` refuses it."""

_LARGEST_CONFIGURATION = 64 * 1024


def checked_owner(owner: str) -> str:
    """The user name in lower case.

    Raises:
        PairError: It cannot be one.
    """
    name = owner.strip().lower()
    if not is_slug(name):
        raise PairError(
            f'"{printable(owner)}" is not a Kaggle user name: --owner takes lower-case letters, digits and hyphens, as '
            "in the address of your profile, kaggle.com/NAME."
        )
    return name


def find_owner() -> Choice:
    """Looks for the user name where Kaggle's own tools keep it; files that are missing or broken count as absent.

    Nothing but the user name is taken from them. Keys and tokens are neither kept nor shown.

    Returns:
        The name with where it was found, or the placeholder.
    """
    for name, evidence in _candidates():
        lower = name.strip().lower()
        if is_slug(lower):
            return Choice(lower, MadeBy.INFERRED, evidence)
    return unknown_owner()


def unknown_owner() -> Choice:
    """The placeholder, where no user name is known."""
    return Choice(PLACEHOLDER_OWNER, MadeBy.DEFAULT, "no Kaggle user name found; set one with --owner")


def _candidates() -> Iterator[tuple[str, str]]:
    if name := os.environ.get("KAGGLE_USERNAME"):
        yield name, "KAGGLE_USERNAME"
    for folder in _folders():
        for file_name in ("kaggle.json", "credentials.json"):
            if name := read_json(folder / file_name, most=_LARGEST_CONFIGURATION).text("username"):
                yield name, f"the user name in Kaggle's {file_name}"


def _folders() -> Iterator[Path]:
    if configured := os.environ.get("KAGGLE_CONFIG_DIR"):
        yield Path(configured)
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    if home:
        yield Path(home) / ".kaggle"
    if shared := os.environ.get("XDG_CONFIG_HOME"):
        yield Path(shared) / "kaggle"
    elif home:
        yield Path(home) / ".config" / "kaggle"
