"""The data of a competition where its notebooks look for them: written by the kit, or a link to the user's folder."""

import os
from pathlib import Path

from generator.competition.builtin import BuiltIn
from generator.errors import CompetitionError
from generator.files import writing
from generator.pair.workspace import Workspace
from generator.untrusted import printable
from generator.workspace_files import UnsafePlaceError, WorkspaceFiles

_LONGEST_RECORD = 2**16


def ensure_data(built_in: BuiltIn, workspace: Workspace) -> Path:
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


def has_data(built_in: BuiltIn, workspace: Workspace) -> bool:
    """True if something stands where the data of this competition belongs."""
    folder = workspace.competition_data(built_in.competition.slug)
    try:
        return folder.is_dir() and next(folder.iterdir(), None) is not None
    except OSError:
        return True


def link_data(data: Path, mounted: Path, files: WorkspaceFiles) -> bool:
    """Links the folder that the user named to where the notebooks look for it, if nothing is there yet.

    Returns:
        Whether a link was made.

    Raises:
        CompetitionError: Something else stands there.
        FileWriteError: The link cannot be made.
    """
    if mounted.exists():
        if mounted.resolve() != data.resolve():
            raise CompetitionError(
                f"{printable(str(data))} cannot become {printable(str(mounted))}: other files stand there. Leave out "
                "--data to use what is there, or move it away."
            )
        return False
    with writing(mounted):
        files.link(mounted, data.resolve())
        files.append(_record_beside(mounted), f"{_identity(mounted)}\n".encode())
    return True


def is_reached_as_the_user_chose(folder: Path, workspace: Workspace) -> bool:
    """True if there is no link on the way to a folder of a workspace, but for one that `link_data` made here.

    A link that came with the workspace was made when it was unpacked, at a moment that whoever sent it cannot know.
    """
    try:
        workspace.files.check(folder)
    except UnsafePlaceError:
        pass
    else:
        return True
    try:
        workspace.files.check(folder.parent)
        with os.fdopen(workspace.files.open(_record_beside(folder), os.O_RDONLY), "rb") as file:
            return _identity(folder) in file.read(_LONGEST_RECORD).decode("ascii", "replace").split("\n")
    except (UnsafePlaceError, OSError):
        return False


def _record_beside(mounted: Path) -> Path:
    """The file that tells which links in the folder of all competitions were made here."""
    return mounted.parent / ".tandem-links"


def _identity(link: Path) -> str:
    """The inode of a link and the moment at which it was made, in nanoseconds."""
    status = link.lstat()
    return f"{status.st_ino} {status.st_ctime_ns}"
