"""The data of a competition at Kaggle: listed, read piece by piece where they are, and downloaded."""

import fcntl
import gzip
import io
import shutil
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from generator.competition.survey import Directory, SurveyLimits
from generator.competition.tables import SampleBounds, evenly_drawn, require_no_lzma, tar_members
from generator.files import PathOutsideError, WorkspaceFiles, resolve_inside, writing
from generator.kaggle.api_types import RemoteFile, total_size
from generator.kaggle.errors import ForbiddenError, KaggleError, NotFoundError, RulesNotAcceptedError, checked_names
from generator.kaggle.gateway import Kaggle
from generator.text import printable, quote_text

# The files of a competition at Kaggle by name and size, folder by folder, not all of them where there are many.


_MOST_FOLDERS = 120  # each is a request
_MOST_FILES_OF_ONE = 1_000
_DEEPEST_LEVEL = 8
_NOT_DATA = frozenset(("__MACOSX", "__pycache__"))


@dataclass
class RemoteListing:
    """The folders and files of a competition.

    Attributes:
        directories: Its folders, with names of files.
        sizes: How many bytes each listed file has, by its path.
        notes: Sentences on what was not listed.
    """

    directories: list[Directory] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, path: str, files: Iterable[RemoteFile], total: int = 0) -> None:
        """Adds a folder with the files in it; hidden ones are left out."""
        sizes = {file.name.rpartition("/")[2]: file.size for file in files}
        visible_sizes = {name: size for name, size in sizes.items() if name and not name.startswith(".")}
        self.sizes |= {f"{path}/{name}" if path else name: size for name, size in visible_sizes.items()}
        is_complete = total <= len(sizes)
        self.directories.append(Directory(path, tuple(sorted(visible_sizes)), 0 if is_complete else total))


def measure_data(kaggle: Kaggle, slug: str) -> tuple[int, int]:
    """How many files a competition has, and how many bytes.

    Raises:
        KaggleError: It cannot be listed.
    """
    files = kaggle.competitions.list_files(slug)
    return len(files), total_size(files)


def list_competition(kaggle: Kaggle, slug: str) -> RemoteListing:
    """Lists a competition's files: all of a small one, of a large one the first of each folder and how many there are.

    Raises:
        KaggleError: It cannot be listed.
    """
    try:
        return _by_folder(kaggle, slug)
    except NotFoundError:
        # Competitions that are older than the listing by folder have the flat one only.
        return _flat(kaggle.competitions.list_files(slug))


def _by_folder(kaggle: Kaggle, slug: str) -> RemoteListing:
    listing, left = RemoteListing(), _MOST_FOLDERS
    level = [""]
    for _ in range(_DEEPEST_LEVEL):
        sample = evenly_drawn(level, left) if left else ()
        if len(sample) < len(level):
            listing.notes.append(f"Of {len(level):,} folders on one level, {len(sample):,} were listed.")
        left -= len(sample)
        level = []
        for path in sample:
            content = kaggle.competitions.list_folder(slug, path, most=_MOST_FILES_OF_ONE)
            listing.add(path, content.files, content.total_files)
            names = sorted(name for name in content.folders if name not in _NOT_DATA and not name.startswith("."))
            level += [f"{path}/{name}" if path else name for name in names]
        if not level:
            break
    else:
        listing.notes.append(
            f"Folders more than {_DEEPEST_LEVEL} levels deep, such as {printable(level[0])}, were not."
        )
    return listing


def _flat(files: Iterable[RemoteFile]) -> RemoteListing:
    listing = RemoteListing()
    folders: dict[str, list[RemoteFile]] = {"": []}
    for file in files:
        folder = file.name.rpartition("/")[0]
        if not any(part in _NOT_DATA or part.startswith(".") for part in folder.split("/")):
            folders.setdefault(folder, []).append(file)
    for path, inside in sorted(folders.items()):
        listing.add(path, inside)
    return listing


# The files of a competition at Kaggle as the survey reads them: piece by piece, by range requests, within a budget.


_BLOCK = 1 << 16
_MOST_AHEAD = 16  # blocks
_MEGABYTE = 1 << 20
_ZIP_MARK = b"PK\x03\x04"
# What stands before a member of a zip: signature, flags, method, packed size, lengths of its name and extra field.
_MEMBER = struct.Struct("<4s2xHH8xI4xHH")
_ENCRYPTION_FLAG = 1
_ARE_ZIPS = (".zip", ".npz", ".pt", ".pth", ".xlsx", ".docx", ".keras", ".jar", ".whl")
_TABLE_BYTES = 4 * _MEGABYTE  # as much of a table as is read of one on the disk
_LIMITS = SurveyLimits(
    table=SampleBounds(pieces=8, row_group=64 * _MEGABYTE),
    probes=24,
    probes_of_one=4,
    lone_folders=10,
    archive_listings=8 * _MEGABYTE,
)


@dataclass
class DownloadBudget:
    """The rest of what a survey may read over the network."""

    size: int = 96 * _MEGABYTE
    requests: int = 400

    def spend(self, size: int) -> None:
        """Counts one request for so many bytes.

        Raises:
            OSError: It is not covered; nothing is counted.
        """
        if size > self.size or not self.requests:
            raise OSError("enough was read over the network; `tandem data` downloads all of it")
        self.size -= size
        self.requests -= 1


@dataclass
class RemoteFiles:
    """Files behind short-lived addresses; nothing is requested before it is read, and nothing twice.

    Attributes:
        kaggle: Who has them.
        slug: The competition.
        sizes: How many bytes each file has, by its path, as Kaggle lists them.
        tell: Is told the path of each file that is looked at.
        budget: What may be read.
        limits: The limits of the survey's looks into them.
    """

    kaggle: Kaggle
    slug: str
    sizes: Mapping[str, int]
    tell: Callable[[str], None] = lambda _: None
    budget: DownloadBudget = field(default_factory=DownloadBudget)
    limits: SurveyLimits = _LIMITS
    _addresses: dict[str, str] = field(default_factory=dict)

    def size(self, path: str) -> int:
        """The bytes that a file has, as Kaggle lists it."""
        return self.sizes.get(path, 0)

    def open_file(self, path: str) -> BinaryIO:
        """A file to read and to seek in; of one that Kaggle sends packed, the beginning of what is in it."""
        ranges = self._ranges(path)
        if not path.lower().endswith(_ARE_ZIPS) and ranges.read(len(_ZIP_MARK)) == _ZIP_MARK:
            ranges.seek(0)
            return io.BytesIO(_unwrap(ranges))
        ranges.seek(0)
        return cast("BinaryIO", ranges)

    def head(self, path: str, length: int) -> bytes:
        """The first bytes of a file."""
        with self.open_file(path) as file:
            return file.read(length)

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file, by one request.

        Raises:
            OSError: It is not handed out, or the budget is spent.
            KaggleError: Kaggle cannot be asked.
        """
        self.budget.spend(length)
        try:
            if path not in self._addresses:
                self.tell(printable(path))
                self._addresses[path] = self.kaggle.competitions.file_url(self.slug, path)
            return self.kaggle.files.read_range(self._addresses[path], start, length)
        except NotFoundError as error:
            raise OSError("Kaggle lists it, but does not hand it out") from error

    def _ranges(self, path: str) -> "_Ranges":
        ranges = _Ranges(self, path, self.size(path))
        if not ranges.total:
            # A listing without sizes: what fits into the first piece is taken for all there is.
            ranges.total = len(self.fetch(path, 0, _MEGABYTE))
        return ranges


@dataclass
class _Ranges(io.RawIOBase):
    """One file, to read and to seek in; the blocks that were fetched stay as long as it is used.

    Who reads on where the last request ended is likely to go on: each such request asks for twice as much.
    """

    files: RemoteFiles
    path: str
    total: int
    blocks: dict[int, bytes] = field(default_factory=dict)
    following: int = -1
    ahead: int = 1
    position: int = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.total}[whence]
        self.position = max(0, start + offset)
        return self.position

    def tell(self) -> int:
        """Where it is."""
        return self.position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # typeshed's WriteableBuffer is private
        """Fills a buffer, as far as there are bytes."""
        end = min(self.position + len(buffer), self.total)
        if self.position >= end:
            return 0
        numbers = range(self.position // _BLOCK, (end - 1) // _BLOCK + 1)
        missing = [number for number in numbers if number not in self.blocks]
        if missing:
            self._fetch(missing[0], missing[-1])
        start = self.position - numbers[0] * _BLOCK
        content = b"".join(self.blocks.get(number, b"") for number in numbers)
        piece = content[start : start + end - self.position]
        buffer[: len(piece)] = piece
        self.position += len(piece)
        return len(piece)

    def _fetch(self, first: int, last: int) -> None:
        """Blocks that are at hand but stand between missing ones are fetched again: one request costs more."""
        self.ahead = min(2 * self.ahead, _MOST_AHEAD) if first == self.following else 1
        last = max(last, min(first + self.ahead - 1, (self.total - 1) // _BLOCK))
        self.following = last + 1
        # Whole blocks, whatever size is listed: that of an archive which is sent in its place is another.
        content = self.files.fetch(self.path, first * _BLOCK, (last + 1 - first) * _BLOCK)
        for number in range(first, last + 1):
            at = (number - first) * _BLOCK
            self.blocks[number] = content[at : at + _BLOCK]


def _unwrap(ranges: _Ranges) -> bytes:
    """The beginning of what is in the zip that Kaggle sends in place of a large table.

    The archive's directory stands at its other end, and where that is nobody says; the member's own header says enough.

    Raises:
        OSError: It is damaged, encrypted, or packed by an unusual method.
    """
    ranges.total = sys.maxsize
    with cast("BinaryIO", io.BufferedReader(ranges, _BLOCK)) as file:
        header = file.read(_MEMBER.size)
        _, flags, method, packed_size, name_size, extra_size = _MEMBER.unpack(header.ljust(_MEMBER.size, b"\0"))
        if flags & _ENCRYPTION_FLAG or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise OSError("is encrypted, or packed by a method that is not deflate; download it first")
        file.read(name_size + extra_size)
        if method == zipfile.ZIP_STORED:
            return file.read(min(_TABLE_BYTES, packed_size))
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        content = bytearray()
        try:
            # A size that is written behind the member is 0 here; the packed bytes say themselves where they end.
            while (
                len(content) < _TABLE_BYTES
                and not decoder.eof
                and (block := decoder.unconsumed_tail or file.read(_BLOCK))
            ):
                content += decoder.decompress(block, _TABLE_BYTES - len(content))
        except zlib.error as error:
            raise OSError("cannot be unpacked: the archive is damaged") from error
    return bytes(content)


# Unpacking a competition's archive: only what Kaggle lists, no byte more than it lists, nothing out of the folder.


_CHUNK = 1 << 20
_SPARE = 1 << 28  # bytes of the disk that stay free
_MOST_MEMBERS = 100_000
_MOST_BYTES = 1 << 40  # of a tar; the disk is looked at as it is unpacked
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError)


class ArchiveError(KaggleError):
    """An archive is not what Kaggle lists; nothing of it was kept."""

    def __init__(self, *, slug: str, problem: str) -> None:
        super().__init__(
            f"The archive of {printable(slug)} is not what Kaggle lists: {problem}; nothing of it was kept, so run "
            f"`tandem data {printable(slug)}` again, and if it stays so, download the files in a browser."
        )


def unpack_competition(
    slug: str, archive: Path, folder: Path, *, sizes: Mapping[str, int], tell: Callable[[int], None]
) -> None:
    """Unpacks the listed files of a zip archive into a folder, and checks that each is there with the listed size.

    Members that are not listed are left out: what is mounted on Kaggle is the listing. Links, devices and permissions
    of an archive mean nothing here, since only bytes are copied.

    Args:
        slug: The competition, for messages.
        archive: The archive.
        folder: An empty folder.
        sizes: How many bytes each file has, by its relative path, which passed the guards.
        tell: Is told the bytes that were unpacked so far.

    Raises:
        ArchiveError: A file is missing, of another size, damaged, encrypted, or leads elsewhere.
        OSError: The folder cannot be written.
    """
    try:
        with zipfile.ZipFile(archive) as zip_file:
            members = {member.filename: member for member in zip_file.infolist() if not member.is_dir()}
            _check(slug, members, sizes)
            progress = 0
            for name, size in sizes.items():
                require_no_lzma(members[name])
                path = _place(slug, folder, name)
                with zip_file.open(members[name]) as source, path.open("xb") as target:
                    progress += _copy_member(slug, name, source, target, size)
                tell(progress)
    except _DAMAGE as error:
        raise ArchiveError(slug=slug, problem=f"it cannot be unpacked ({printable(str(error))[:100]})") from error


def unpack_all(name: str, archive: Path, folder: Path) -> None:
    """Unpacks an archive (zip or tar) of a dataset or model, of which there is no listing, into a folder.

    Only ordinary files are unpacked, and no more of them than the disk has room for.

    Args:
        name: The dataset or model, for messages.
        archive: The archive.
        folder: An empty folder.

    Raises:
        ArchiveError: It is damaged, encrypted, leads elsewhere, has links, or more files than there is room for.
        OSError: The folder cannot be written.
    """
    try:
        with archive.open("rb") as file:
            members = _zip_members(file) if zipfile.is_zipfile(file) else _tar_members(name, file)
            for count, (member, source) in enumerate(members):
                if count >= _MOST_MEMBERS:
                    raise ArchiveError(slug=name, problem=f"it has more than {_MOST_MEMBERS:,} files")
                checked_names([member], doing=f"unpack {name}")
                path = _place(name, folder, member)
                with source, path.open("xb") as target:
                    while chunk := source.read(_CHUNK):
                        if shutil.disk_usage(folder).free < len(chunk) + _SPARE:
                            raise ArchiveError(slug=name, problem="it unpacks to more than there is room for")
                        target.write(chunk)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArchiveError(slug=name, problem="a file is in it twice, or is a folder at once") from error
    except (*_DAMAGE, tarfile.TarError) as error:
        raise ArchiveError(slug=name, problem=f"it cannot be unpacked ({printable(str(error))[:100]})") from error


def _zip_members(file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(file) as zip_file:
        for member in zip_file.infolist():
            if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
                require_no_lzma(member)
                yield member.filename, zip_file.open(member)


def _tar_members(name: str, file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    file.seek(0)
    is_pressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    stream: Any = gzip.GzipFile(fileobj=file) if is_pressed else file

    def refusal(reason: str) -> ArchiveError:
        return ArchiveError(slug=name, problem=f"it {reason.partition(';')[0]}")

    for member, source in tar_members(stream, most_files=_MOST_MEMBERS, most_bytes=_MOST_BYTES, refusal=refusal):
        if member.isdir():
            continue
        if source is None or member.issparse():
            raise ArchiveError(slug=name, problem=f"{quote_text(member.name)} is no ordinary file")
        yield member.name.removeprefix("./"), source


def _check(slug: str, members: Mapping[str, zipfile.ZipInfo], sizes: Mapping[str, int]) -> None:
    """Compares an archive's own directory with the listing, before a byte is unpacked."""
    missing = [name for name in sizes if name not in members]
    if missing:
        raise ArchiveError(slug=slug, problem=f"{len(missing):,} files are missing, such as {printable(missing[0])}")
    for name, size in sizes.items():
        member = members[name]
        if member.file_size != size:
            problem = f"{printable(name)} has {member.file_size:,} bytes where {size:,} are listed"
            raise ArchiveError(slug=slug, problem=problem)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ArchiveError(slug=slug, problem=f"{printable(name)} is a link")


def _place(slug: str, folder: Path, name: str) -> Path:
    try:
        path = resolve_inside(folder / name, root=folder)
    except PathOutsideError as error:
        raise ArchiveError(slug=slug, problem=f"{printable(name)} leads out of the folder") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _copy_member(slug: str, name: str, source: IO[bytes], target: IO[bytes], size: int) -> int:
    """Copies a member and counts: a directory that says a small size may lie."""
    count = 0
    while chunk := source.read(_CHUNK):
        count += len(chunk)
        if count > size:
            raise ArchiveError(slug=slug, problem=f"{printable(name)} unpacks to more than the {size:,} bytes listed")
        target.write(chunk)
    if count < size:
        raise ArchiveError(slug=slug, problem=f"{printable(name)} has {count:,} bytes where {size:,} are listed")
    return count


# Downloading all of a competition's data: resumed where it stopped, checked, and there as a whole or not at all.


_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_MOST_ADDRESSES = 20
_GIGABYTE = 1e9


@dataclass(frozen=True)
class DownloadProgress:
    """The progress of a download: `progress` of `total` bytes of "download" or "unpack"; a total of 0 is not known."""

    stage: str
    progress: int
    total: int = 0


@dataclass(frozen=True)
class DownloadedData:
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


Tell = Callable[[DownloadProgress], None]


def download_data(kaggle: Kaggle, slug: str, folder: Path, files: WorkspaceFiles, *, tell: Tell) -> DownloadedData:
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
    remote_files = kaggle.competitions.list_files(slug)
    if not remote_files:
        raise KaggleError(
            f"Kaggle lists no files of {printable(slug)}: look at "
            f"https://www.kaggle.com/competitions/{printable(slug)}/data, and accept the rules there if it asks for it."
        )
    if _is_there(folder, remote_files):
        return DownloadedData(folder, len(remote_files), total_size(remote_files), was_there=True)
    with writing(folder), _work_folder(folder, slug, files) as work:
        _check_space(slug, work, remote_files)
        files.check(work / "archive")
        archive = _fetch(kaggle, slug, work / "archive", tell)
        files.remove_tree(work / "files")
        files.make_folder(work / "files")
        _unpack(slug, archive, work / "files", remote_files=remote_files, tell=tell)
        files.move(work / "files", folder)
        with suppress(OSError):
            files.remove_tree(work)
    return DownloadedData(folder, len(remote_files), total_size(remote_files))


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
    with writing(folder), files.fill_folder(folder) as content:
        archive = content.with_name(f"{content.name}.archive")
        try:
            api = kaggle.models if source.kind == "model" else kaggle.datasets
            for progress in kaggle.files.download(api.archive_url(name), archive):
                tell(DownloadProgress("download", progress))
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


def _check_space(slug: str, work: Path, remote_files: tuple[RemoteFile, ...]) -> None:
    """The archive is hardly larger than what is in it; how much smaller nobody says beforehand."""
    size, free = total_size(remote_files), shutil.disk_usage(work).free
    if free < size:
        raise KaggleError(
            f"The data of {printable(slug)} take {size / _GIGABYTE:,.1f} GB to download and unpack, and "
            f"{free / _GIGABYTE:,.1f} GB are free in {printable(str(work.parent))}: make room, use --workspace on "
            f"another disk, or rehearse without them: tandem specimen {printable(slug)}."
        )


def _fetch(kaggle: Kaggle, slug: str, archive: Path, tell: Tell) -> Path:
    """Downloads the archive; addresses are short-lived, so that a long download takes several."""
    if archive.is_file():
        return archive
    progress, last = 0, -1
    for _ in range(_MOST_ADDRESSES):
        try:
            for progress in kaggle.files.download(kaggle.competitions.archive_url(slug), archive):
                tell(DownloadProgress("download", progress))
            return archive
        except RulesNotAcceptedError:
            raise
        except (ForbiddenError, NotFoundError):
            if progress <= last or not progress:
                raise
            last = progress
    raise ArchiveError(slug=slug, problem="its address changes all the time")


def _unpack(slug: str, archive: Path, target: Path, *, remote_files: tuple[RemoteFile, ...], tell: Tell) -> None:
    sizes, total, first = {file.name: file.size for file in remote_files}, total_size(remote_files), remote_files[0]
    try:
        with archive.open("rb") as file:
            is_zip = file.read(4) in _ZIP_MARKS
        is_itself = not is_zip or (first.name.lower().endswith(".zip") and archive.stat().st_size == first.size)
        if len(remote_files) == 1 and is_itself:
            # A competition of one file is sent as it is.
            _take_the_file(slug, archive, target, first)
        else:
            unpack_competition(
                slug,
                archive,
                target,
                sizes=sizes,
                tell=lambda progress: tell(DownloadProgress("unpack", progress, total)),
            )
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
