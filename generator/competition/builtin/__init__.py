"""The built-in competitions: real data that needs no account, and a hidden test set to be scored by.

In: a slug. Out: a `BuiltIn`, which writes its files and scores a submission; `ensure_data` puts the files where
notebooks look for them. A further one is a module with a `BuiltIn`, its declaration in a `.toml` beside it, and a slug
in `BUILT_IN`. All packages above may import this one, and the single competitions only their tests.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol

from generator.competition.builtin.built_in import BuiltIn
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable
from generator.workspace_files import WorkspaceFiles

__all__ = [
    "BUILT_IN",
    "BuiltIn",
    "DataMirror",
    "ensure_data",
    "find",
    "has_data",
    "known",
    "require",
]

# Each stands under this name in the module of its own.
BUILT_IN = {slug: slug.upper() for slug in ("diabetes", "digits", "docstrings", "tumours")}


class DataMirror(Protocol):
    """Anything that knows where the data of a competition belongs, such as a workspace."""

    @property
    def files(self) -> WorkspaceFiles:
        """The way to write there."""

    def competition_data(self, slug: str) -> Path:
        """The folder with the files of one competition."""


def known() -> list[str]:
    """The slugs of the built-in competitions."""
    return sorted(BUILT_IN)


def find(slug: str) -> BuiltIn | None:
    """The built-in competition of this name, if there is one."""
    if slug not in BUILT_IN:
        return None
    found: BuiltIn = getattr(import_module(f"{__name__}.{slug}"), BUILT_IN[slug])
    return found


def require(slug: str) -> BuiltIn:
    """The built-in competition of this name.

    Raises:
        CompetitionError: There is none; the message lists those that there are.
    """
    built_in = find(slug)
    if built_in is None:
        raise CompetitionError(
            f'There is no competition "{printable(slug)}" here; the built-in ones are: {", ".join(known())}.'
            f"{did_you_mean(slug, known())}"
        )
    return built_in


def ensure_data(built_in: BuiltIn, workspace: DataMirror) -> Path:
    """Writes the data of a built-in competition on first use.

    The folder appears under its name only when it is complete. What exists already is left alone, whatever is in it:
    files that the user removed or changed are theirs, and the notebooks report them.

    Returns:
        The folder with the competition's files.

    Raises:
        FileWriteError: The folder could not be written; nothing is left of it.
        UnsafePlaceError: It is a link, or below one.
    """
    folder = workspace.competition_data(built_in.competition.slug)
    if not has_data(built_in, workspace):
        with workspace.files.filled(folder) as content:
            built_in.write(content)
    return folder


def has_data(built_in: BuiltIn, workspace: DataMirror) -> bool:
    """True if something stands where the data of this competition belongs."""
    folder = workspace.competition_data(built_in.competition.slug)
    try:
        return folder.is_dir() and next(folder.iterdir(), None) is not None
    except OSError:
        return True
