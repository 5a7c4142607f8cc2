"""Downloading all of a competition's data: resumed where it stopped, checked, and there as a whole or not at all."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from generator.files import writing
from generator.kaggle.api_types import RemoteFile, total_size
from generator.kaggle.errors import ForbiddenError, KaggleError, NotFoundError, RulesNotAcceptedError
from generator.kaggle.gateway import Kaggle
from generator.kaggle.unpacking import ArchiveError, unpack, unpack_all
from generator.untrusted import printable
from generator.workspace_files import WorkspaceFiles

_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_MOST_ADDRESSES = 20
_GIGABYTE = 1e9


@dataclass(frozen=True)
class Step:
    """The progress of a download: `done` of `total` bytes of "download" or "unpack"; a total of 0 is not known."""

    stage: str
    done: int
    total: int = 0


@dataclass(frozen=True)
class Downloaded:
    """The data on the disk; `was_there` where nothing had to be done."""

    folder: Path
    files: int
    size: int
    was_there: bool = False


@dataclass(frozen=True)
class Source:
    """A "dataset" `owner/name` or "model" `owner/model/framework/variation/version`, and the folder for its files."""

    kind: str
    name: str
    folder: Path


Tell = Callable[[Step], None]


def download_data(kaggle: Kaggle, slug: str, folder: Path, files: WorkspaceFiles, *, tell: Tell) -> Downloaded:
    """Downloads and unpacks a competition's data, as Kaggle mounts them.

    What was downloaded stays beside the folder until all of it is unpacked, so that a command that was interrupted goes
    on where it stopped.

    Args:
        kaggle: Who has them.
        slug: The competition.
        folder: Where they belong; it appears when all of it is there.
        files: The way to write there.
        tell: Is told how far it is.

    Raises:
        KaggleError: They cannot be had, or are not what is listed.
        FileWriteError: The disk does not take them.
        UnsafePlaceError: There is a link where they are to be written.
    """
    listed = kaggle.competition_files(slug)
    if not listed:
        raise KaggleError(
            f"Kaggle lists no files of {printable(slug)}: look at "
            f"https://www.kaggle.com/competitions/{printable(slug)}/data, and accept the rules there if it asks for it."
        )
    if _is_there(folder, listed):
        return Downloaded(folder, len(listed), total_size(listed), was_there=True)
    with writing(folder), _work_folder(folder, slug, files) as work:
        _check_space(slug, work, listed)
        files.check(work / "archive")
        archive = _fetch(kaggle, slug, work / "archive", tell)
        files.remove_tree(work / "files")
        files.make_folder(work / "files")
        _unpack(slug, archive, work / "files", listed=listed, tell=tell)
        files.move(work / "files", folder)
        with suppress(OSError):
            files.remove_tree(work)
    return Downloaded(folder, len(listed), total_size(listed))


def download_source(kaggle: Kaggle, source: Source, files: WorkspaceFiles, *, tell: Tell) -> bool:
    """Downloads a dataset or a model to where Kaggle would mount it; whatever stands there already is left alone.

    Args:
        kaggle: Who has it.
        source: The dataset or model; its folder appears when all of it is there.
        files: The way to write there.
        tell: Is told how far it is.

    Returns:
        Whether something had to be downloaded.

    Raises:
        KaggleError: It cannot be had, or is no archive that can be unpacked.
        FileWriteError: The disk does not take it.
        UnsafePlaceError: There is a link where it is to be written.
    """
    folder, name = source.folder, source.name
    if folder.is_dir() and next(folder.iterdir(), None) is not None:
        return False
    with writing(folder), files.filled(folder) as content:
        archive = content.with_name(f"{content.name}.archive")
        try:
            address = kaggle.model_archive_url(name) if source.kind == "model" else kaggle.dataset_archive_url(name)
            for done in kaggle.download(address, archive):
                tell(Step("download", done))
            unpack_all(name, archive, content)
        finally:
            archive.unlink(missing_ok=True)
    return True


def _is_there(folder: Path, files: tuple[RemoteFile, ...]) -> bool:
    """True if all files are there; an empty folder is as good as none."""
    if not folder.exists() and not folder.is_symlink():
        return False
    if folder.is_dir() and not folder.is_symlink() and next(folder.iterdir(), None) is None:
        return False
    for file in files:
        path = folder / file.name
        size = path.stat().st_size if path.is_file() else None
        if size != file.size:
            problem = "is not in it" if size is None else f"has {size:,} bytes where Kaggle lists {file.size:,}"
            raise KaggleError(
                f"{printable(str(folder))} is not empty, and not the competition's data: {printable(file.name)} "
                f"{problem}; move it away, then run the command again."
            )
    return True


@contextmanager
def _work_folder(folder: Path, slug: str, files: WorkspaceFiles) -> Iterator[Path]:
    """A folder of the download's own beside the one to fill, for one process at a time; it stays after an error."""
    work = folder.parent / f".{folder.name}.download"
    files.make_folder(work)
    with files.handle_on(work) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise KaggleError(
                f"Another `tandem data {printable(slug)}` is at work in this workspace: wait until it is done."
            ) from error
        yield work


def _check_space(slug: str, work: Path, listed: tuple[RemoteFile, ...]) -> None:
    """The archive is hardly larger than what is in it; how much smaller nobody says beforehand."""
    needed, free = total_size(listed), shutil.disk_usage(work).free
    if free < needed:
        raise KaggleError(
            f"The data of {printable(slug)} take {needed / _GIGABYTE:,.1f} GB to download and unpack, and "
            f"{free / _GIGABYTE:,.1f} GB are free in {printable(str(work.parent))}: make room, use --workspace on "
            f"another disk, or rehearse without them: tandem specimen {printable(slug)}."
        )


def _fetch(kaggle: Kaggle, slug: str, archive: Path, tell: Tell) -> Path:
    """Downloads the archive; addresses are short-lived, so that a long download takes several."""
    if archive.is_file():
        return archive
    done, last = 0, -1
    for _ in range(_MOST_ADDRESSES):
        try:
            for done in kaggle.download(kaggle.competition_archive_url(slug), archive):
                tell(Step("download", done))
            return archive
        except RulesNotAcceptedError:
            raise
        except (ForbiddenError, NotFoundError):
            if done <= last or not done:
                raise
            last = done
    raise ArchiveError(slug=slug, problem="its address changes all the time")


def _unpack(slug: str, archive: Path, target: Path, *, listed: tuple[RemoteFile, ...], tell: Tell) -> None:
    sizes, total, first = {file.name: file.size for file in listed}, total_size(listed), listed[0]
    try:
        with archive.open("rb") as file:
            is_zip = file.read(4) in _ZIP_MARKS
        is_itself = not is_zip or (first.name.lower().endswith(".zip") and archive.stat().st_size == first.size)
        if len(listed) == 1 and is_itself:
            # A competition of one file is sent as it is.
            _take_the_file(slug, archive, target, first)
        else:
            unpack(slug, archive, target, sizes=sizes, tell=lambda done: tell(Step("unpack", done, total)))
    except ArchiveError:
        # What is wrong now is wrong the next time as well.
        archive.unlink(missing_ok=True)
        raise


def _take_the_file(slug: str, archive: Path, target: Path, file: RemoteFile) -> None:
    if archive.stat().st_size != file.size:
        problem = f"{printable(file.name)} has {archive.stat().st_size:,} bytes where {file.size:,} are listed"
        raise ArchiveError(slug=slug, problem=problem)
    (target / file.name).parent.mkdir(parents=True, exist_ok=True)
    archive.rename(target / file.name)
