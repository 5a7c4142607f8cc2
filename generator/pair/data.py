"""The data of a competition where its notebooks look for them."""

import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from generator.competition import builtin
from generator.competition.builtin import BuiltIn
from generator.competition.tables import require_no_lzma
from generator.errors import CompetitionError
from generator.files import (
    FileReadError,
    PathOutsideError,
    UnsafePlaceError,
    WorkspaceFiles,
    open_file,
    resolve_inside,
    writing,
)
from generator.pair.workspace import Workspace
from generator.text import is_slug, printable

# The data of a competition where its notebooks look for them: written by the kit, or a link to the user's folder.


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
        with workspace.files.fill_folder(folder) as content:
            built_in.write(content)
    return folder


def is_built_in(slug: str) -> bool:
    """True if a competition is built in, so that its files are written and not downloaded."""
    return builtin.find(slug) is not None


def ensure_built_in(slug: str, workspace: Workspace, *, tell: Callable[[str], None] = lambda _: None) -> None:
    """Write the files of a competition into the workspace if it is a built-in one, and they are not there."""
    built_in = builtin.find(slug)
    if built_in is not None:
        if not has_data(built_in, workspace):
            tell(f"Writing the data of {slug} …")
        ensure_data(built_in, workspace)


def has_data(built_in: BuiltIn, workspace: Workspace) -> bool:
    """True if something stands where the data of this competition belongs."""
    folder = workspace.competition_data(built_in.competition.slug)
    try:
        return folder.is_dir() and next(folder.iterdir(), None) is not None
    except OSError:
        return True


def link_data(data: Path, mount_path: Path, files: WorkspaceFiles) -> bool:
    """Links the folder that the user named to where the notebooks look for it, if nothing is there yet.

    Returns:
        Whether a link was made.

    Raises:
        CompetitionError: Something else stands there.
        FileWriteError: The link cannot be made.
    """
    if mount_path.exists():
        if mount_path.resolve() != data.resolve():
            raise CompetitionError(
                f"{printable(str(data))} cannot be linked to {printable(str(mount_path))}: it has "
                "other files. To use them, omit --data. Otherwise move them away."
            )
        return False
    with writing(mount_path):
        files.link(mount_path, data.resolve())
        files.append(_record_beside(mount_path), f"{_identity(mount_path)}\n".encode())
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


def _record_beside(mount_path: Path) -> Path:
    """The file that tells which links in the folder of all competitions were made here."""
    return mount_path.parent / ".tandem-links"


def _identity(link: Path) -> str:
    """The inode of a link and the moment at which it was made, in nanoseconds."""
    status = link.lstat()
    return f"{status.st_ino} {status.st_ctime_ns}"


# The archive of a whole competition, as `kaggle competitions download` leaves it: unpacked as Kaggle mounts it.


_CHUNK = 1 << 20
_MOST_FILES = 1_000_000
_ENCRYPTION_FLAG = 1
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def whole_archive(slug: str, folder: Path) -> Path | None:
    """The archive `SLUG.zip` of all files where it is alone in a folder; a second download is `SLUG (1).zip`."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith((".", "__MACOSX"))]
    except OSError:
        return None
    pattern = re.compile(rf"{re.escape(slug)}(?:[ _-]?\(?\d+\)?)?\.zip", re.IGNORECASE)
    if len(entries) != 1 or not pattern.fullmatch(entries[0].name) or not entries[0].is_file():
        return None
    return entries[0]


def unpack_if_packed(
    slug: str, data: Path | None, workspace: Workspace, *, tell: Callable[[str], None] = lambda _: None
) -> Path | None:
    """Unpacks the archive of a whole competition, if that is all there is.

    Args:
        slug: The competition.
        data: The folder with its files that the user names, which is not written into.
        workspace: Where the files belong.
        tell: Is told what is done, in a sentence each.

    Returns:
        The folder that the user names, None where its archive is unpacked in the workspace or none was named.
    """
    if not is_slug(slug) or (data is None and builtin.find(slug) is not None):
        return data
    archive = whole_archive(slug, data or workspace.competition_data(slug))
    if archive is None:
        return data
    place = printable(str(workspace.competition_data(slug)))
    tell(f"Unpacking {printable(str(archive))} to {place}, as Kaggle mounts it, unless its files are already there …")
    unpack_whole(slug, archive, workspace)
    return None


def unpack_whole(slug: str, archive: Path, workspace: Workspace) -> None:
    """Unpacks a competition's archive to where the notebooks look for the data, all of it or nothing.

    An archive inside stays a file. The archive itself is not changed; one that lies in the place of the data is moved
    beside it. Files that are there already with the same names and sizes stay.

    Raises:
        CompetitionError: The archive is damaged, leads out of its folder or does not fit on the disk; or other files
            are in the place of the data.
        FileWriteError: The disk does not take them.
        UnsafePlaceError: There is a link where they are to be written.
    """
    mount_path, files = workspace.competition_data(slug), workspace.files
    is_in_place = mount_path.is_dir() and archive.parent.resolve() == mount_path.resolve()
    try:
        file = open_file(archive)
    except OSError as error:
        raise FileReadError(path=archive, cause=error) from error
    try:
        with file, zipfile.ZipFile(file) as zip_file:
            members = _members(zip_file)
            if not is_in_place and mount_path.is_dir() and any(mount_path.iterdir()):
                _require_same(archive, mount_path, members)
                return
            _check_space(archive, workspace, members)
            with files.fill_folder(mount_path) as content:
                for name, member in members.items():
                    _write(zip_file, member, content, name)
                if mount_path.is_symlink():
                    files.remove(mount_path)
                elif is_in_place:
                    _clear(archive, mount_path, content, workspace)
    except _DAMAGE as error:
        raise _unusable(archive, printable(str(error))[:100] or "it is damaged") from error


def _members(zip_file: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    all_members = [member for member in zip_file.infolist() if not member.is_dir()]
    members = {member.filename: member for member in all_members if not member.filename.startswith("__MACOSX/")}
    if not members or len(all_members) > _MOST_FILES:
        raise ValueError(f"it has {len(all_members):,} files")
    for name, member in members.items():
        if name.startswith("/") or "\\" in name or {"", ".", ".."} & set(name.split("/")):
            raise ValueError(f"{name[:60]!r} is not a relative path")
        if member.flag_bits & _ENCRYPTION_FLAG or stat.S_ISLNK(member.external_attr >> 16):
            raise ValueError(f"{name[:60]!r} is encrypted or a link")
        if any(parent in members for parent in map(str, list(Path(name).parents)[:-1])):
            raise ValueError(f"{name[:60]!r} is in a folder that is also a file")
        require_no_lzma(member)
    return members


def _require_same(archive: Path, mount_path: Path, members: dict[str, zipfile.ZipInfo]) -> None:
    """Refuses to take other files for those of the archive."""
    for name, member in members.items():
        path = mount_path / name
        if not path.is_file() or path.stat().st_size != member.file_size:
            raise CompetitionError(
                f"{printable(str(archive))} cannot be unpacked to {printable(str(mount_path))}: it has other files, "
                "and "
                f"{printable(name)} is missing or differs. To use these files, omit --data. Otherwise move them away."
            )


def _check_space(archive: Path, workspace: Workspace, members: dict[str, zipfile.ZipInfo]) -> None:
    needed_bytes = sum(member.file_size for member in members.values())
    root = workspace.root.resolve()
    free = shutil.disk_usage(next(folder for folder in (root, *root.parents) if folder.exists())).free
    if needed_bytes > free:
        raise CompetitionError(
            f"{printable(str(archive))} needs {needed_bytes / 1e9:,.1f} GB unpacked, but {free / 1e9:,.1f} GB are free "
            f"in {printable(str(root))}. Free some space, or use --workspace on another disk."
        )


def _write(zip_file: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, name: str) -> None:
    try:
        path = resolve_inside(folder / name, root=folder)
    except PathOutsideError as error:
        raise ValueError(f"{name[:60]!r} is outside of the folder") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    with zip_file.open(member) as source, path.open("xb") as target:
        if _copy_file(source, target, member.file_size) != member.file_size:
            raise ValueError(f"{name[:60]!r} does not have the size that the archive lists")


def _copy_file(source: IO[bytes], target: IO[bytes], most: int) -> int:
    """Copies a file until it has more bytes than it may have."""
    byte_count = 0
    while byte_count <= most and (chunk := source.read(_CHUNK)):
        byte_count += len(chunk)
        target.write(chunk)
    return byte_count


def _clear(archive: Path, mount_path: Path, content: Path, workspace: Workspace) -> None:
    """Makes room for the unpacked files: the archive moves beside its folder, hidden files stay with the data."""
    new_archive = mount_path.parent / archive.name
    if new_archive.exists() or new_archive.is_symlink():
        raise CompetitionError(
            f"{printable(str(archive))} cannot be moved, because {printable(str(new_archive))} "
            "exists. Remove one of them."
        )
    for entry in list(mount_path.iterdir()):
        if entry.name == "__MACOSX":
            workspace.files.remove_tree(entry)
        elif entry.name != archive.name and not (content / entry.name).exists():
            workspace.files.move(entry, content / entry.name)
    workspace.files.move(mount_path / archive.name, new_archive)


def _unusable(archive: Path, problem: str) -> CompetitionError:
    return CompetitionError(
        f"{printable(str(archive))} cannot be unpacked: {problem}. Download it again, or unpack it yourself and "
        "name the folder with --data."
    )
