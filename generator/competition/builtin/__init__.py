"""The built-in competitions: real data that needs no account, and a hidden test set to be scored by.

A further one is a module with a `BuiltIn`, and a line in `BUILT_IN`.
"""

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from generator.competition.facts import Competition, Task
from generator.errors import CompetitionError, did_you_mean
from generator.files import FileWriteError
from generator.untrusted import printable
from generator.workspace_files import WorkspaceFiles


class UnknownCompetitionError(CompetitionError):
    """No competition of this name is known."""

    def __init__(self, *, slug: str, known: list[str]) -> None:
        super().__init__(
            f'There is no competition "{printable(slug)}" here; the built-in ones are: {", ".join(known)}.'
            f"{did_you_mean(slug, known)}"
        )


@dataclass(frozen=True)
class BuiltIn:
    """A competition whose data and answers the kit has itself.

    Attributes:
        competition: What Kaggle would know of it.
        task: What the kit makes of it.
        write: Fills an empty folder with the competition's files, as Kaggle mounts them; no hidden label is among them.
        answers: The hidden answer of every test id, as a perfect submission would have it beside the id.
        score: Computes the competition's metric for a submission file; raises `SubmissionError` for a wrong one.
        warm_up: Imports what `score` needs, which can take a second.
    """

    competition: Competition
    task: Task
    write: Callable[[Path], None]
    answers: Callable[[], Mapping[str, str]]
    score: Callable[[Path], float]
    warm_up: Callable[[], None]


class DataMirror(Protocol):
    """Anything that knows where the data of a competition belongs, such as a workspace."""

    @property
    def files(self) -> WorkspaceFiles:
        """The way to write there."""

    def competition_data(self, slug: str) -> Path:
        """The folder with the files of one competition."""


def _digits() -> BuiltIn:
    from generator.competition.builtin.digits import DIGITS

    return DIGITS


def _tumours() -> BuiltIn:
    from generator.competition.builtin.tumours import TUMOURS

    return TUMOURS


def _diabetes() -> BuiltIn:
    from generator.competition.builtin.diabetes import DIABETES

    return DIABETES


def _docstrings() -> BuiltIn:
    from generator.competition.builtin.docstrings import DOCSTRINGS

    return DOCSTRINGS


BUILT_IN: dict[str, Callable[[], BuiltIn]] = {
    "digits": _digits,
    "tumours": _tumours,
    "diabetes": _diabetes,
    "docstrings": _docstrings,
}


def known() -> list[str]:
    """The slugs of the built-in competitions."""
    return sorted(BUILT_IN)


def find(slug: str) -> BuiltIn | None:
    """The built-in competition of this name, if there is one."""
    load = BUILT_IN.get(slug)
    return load() if load is not None else None


def require(slug: str) -> BuiltIn:
    """The built-in competition of this name.

    Raises:
        UnknownCompetitionError: There is none; the message lists those that there are.
    """
    built_in = find(slug)
    if built_in is None:
        raise UnknownCompetitionError(slug=slug, known=known())
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
    if has_data(built_in, workspace):
        return folder
    files, created = workspace.files, list[Path]()
    try:
        created = files.make_folder(folder.parent)
        with files.beside(folder) as stage:
            content = stage / "new"
            content.mkdir()
            built_in.write(content)
            _move_unless_filled(files, content, folder)
    except BaseException as error:
        files.remove_empty(created)
        if isinstance(error, OSError):
            raise FileWriteError(path=folder, cause=error) from error
        raise
    return folder


def has_data(built_in: BuiltIn, workspace: DataMirror) -> bool:
    """Whether something stands where the data of this competition belongs."""
    folder = workspace.competition_data(built_in.competition.slug)
    try:
        return folder.is_dir() and next(folder.iterdir(), None) is not None
    except OSError:
        return True


def _move_unless_filled(files: WorkspaceFiles, content: Path, folder: Path) -> None:
    try:
        files.move(content, folder)
    except OSError as error:
        # Another process was faster; both wrote the same bytes.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
