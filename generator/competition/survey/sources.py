"""The files of a competition, wherever they are: on this disk, in an archive, or behind an API."""

import io
import os
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from generator.competition.tables import (
    ARCHIVE_SUFFIXES,
    FORMATS,
    STREAMS,
    SampleBounds,
    TableFormat,
    UnreadableTableError,
    beginning,
    evenly_drawn,
    ratio_remarks,
)
from generator.files import open_file, reason_not_read
from generator.text import printable, storable


class ColumnKind(StrEnum):
    """The kinds of values of a column."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"  # dates or times, in any usual notation
    TEXT = "text"
    EMPTY = "empty"  # only missing values


NUMBERS = frozenset((ColumnKind.INTEGER, ColumnKind.NUMBER))


@dataclass(frozen=True)
class Column:
    """One column of a table, judged by the sampled rows.

    Attributes:
        name: As in the header; nested JSON fields are joined by dots.
        kind: What its values are.
        values: The sampled values in the order of the rows, as text; None where missing.
        is_quoted: Whether some of them are text in a file that knows numbers from text, whatever the text looks like.
        null_words: The words such as NA and None among the cells of a text, which are missing values here.
        raw_values: In a column of text with such words, the cells as they stand in the file, None where empty.
        is_formatted: Whether the file has its numbers with separators of thousands, a currency or a unit, and `values`
            have not.
        decimal: What such numbers have for a decimal point in the file, "." or ",".
    """

    name: str
    kind: ColumnKind
    values: tuple[str | None, ...]
    is_quoted: bool = False
    is_formatted: bool = False
    decimal: str = "."
    null_words: frozenset[str] = frozenset()
    raw_values: tuple[str | None, ...] = ()

    @property
    def as_written(self) -> "Column":
        """The column with its words such as NA and None as values, where they stand among text or alone."""
        return replace(self, kind=ColumnKind.TEXT, values=self.raw_values, raw_values=()) if self.raw_values else self

    @cached_property
    def present(self) -> tuple[str, ...]:
        """The sampled values that are not missing."""
        return tuple(value for value in self.values if value is not None)

    @cached_property
    def distinct(self) -> frozenset[str]:
        """The different values among the sampled ones."""
        return frozenset(self.present)

    @property
    def missing(self) -> int:
        """The number of sampled values that are missing."""
        return len(self.values) - len(self.present)

    @property
    def is_unique(self) -> bool:
        """True if no sampled value occurs twice and none is missing."""
        return bool(self.values) and len(self.distinct) == len(self.values)


@dataclass(frozen=True)
class Table:
    """One table, known by its header and a sample of its rows.

    Attributes:
        path: Relative to the competition's folder, with `/`; a member of a zip archive is `archive.zip/member.csv`.
        format: How it is written.
        columns: In the order of the file.
        rows: How many rows it has: counted where `is_complete`, else estimated from its size.
        is_complete: Whether the sample is the whole table.
        separator: Of a csv, as pandas takes it, a regular expression for any number of spaces; else "".
        encoding: As Python calls it, such as "utf-8" or "cp1252".
        compression: "" or what pandas calls it: "gzip", "zip", "bz2", "xz", "zstd".
        decimal: What its numbers have for a decimal point, "." or ","; the sampled values have a point.
        has_long_rows: Whether sampled rows have more cells than the header.
        has_trailing_separator: Whether a separator ends the rows but not the header; it makes no cell.
    """

    path: str
    format: TableFormat
    columns: tuple[Column, ...]
    rows: int
    is_complete: bool
    separator: str = ""
    encoding: str = "utf-8"
    compression: str = ""
    decimal: str = "."
    has_long_rows: bool = False
    has_trailing_separator: bool = False

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.path.rpartition("/")[2]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The header."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """The column of this name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)


class ImageEncoding(StrEnum):
    """The encodings of image files, as far as they decide on what can decode them."""

    JPEG = "jpeg"  # grey or in colour
    PNG = "png"  # 8 bits a channel, grey or in colour, with or without transparency
    GIF = "gif"
    BMP = "bmp"  # 8 bits a channel, grey or in colour
    OTHER = "other"  # more or fewer bits, a palette, inks, or another format


@dataclass(frozen=True)
class ImageFormat:
    """The common format of sampled image files of a folder.

    Attributes:
        mode: As Pillow calls it, such as "L", "RGB", "RGBA", "I;16"; the most frequent one.
        width: Pixels, the median.
        height: Pixels, the median.
        is_uniform: Whether all sampled images have that size and mode.
        encodings: How the sampled images are written, whatever their names say.
    """

    mode: str
    width: int
    height: int
    is_uniform: bool
    encodings: frozenset[ImageEncoding] = frozenset()


@dataclass(frozen=True)
class AudioFormat:
    """The common format of sampled audio files of a folder.

    Attributes:
        sample_rate: Hertz.
        seconds: The median.
        channels: How many.
        is_plain_wav: Whether all are WAV files of integers or floats; µ-law, ADPCM and the like are not.
    """

    sample_rate: int
    seconds: float
    channels: int
    is_plain_wav: bool = False


@dataclass(frozen=True)
class Folder:
    """One folder with files, or one zip archive of files, that is not a table.

    Attributes:
        path: Relative to the competition's folder, "" for itself; `train.zip` for the files at the top of an archive,
            `train.zip/cats` for a folder in it.
        suffixes: How many files there are of each suffix, lower case with the dot, "" for none.
        names: A sample of the file names in order of name, from all over the folder; all of them if these are few.
        is_archive: Whether this is a zip that has to be unpacked before a notebook can read it.
        images: Set if the most frequent suffix is an image's.
        audio: Set if the most frequent suffix is a sound's.
    """

    path: str
    suffixes: Mapping[str, int]
    names: tuple[str, ...]
    is_archive: bool = False
    images: ImageFormat | None = None
    audio: AudioFormat | None = None

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(self.suffixes.values())


@dataclass(frozen=True)
class RecordFeature:
    """One feature of TFRecord examples: `kind` is "bytes", "float" or "int64"; `length` is None where it varies.

    `values` are sampled ones as text, empty for long bytes; `is_image` says that the bytes begin like an image file.
    """

    name: str
    kind: str
    length: int | None
    values: tuple[str, ...]
    is_image: bool = False
    image: ImageFormat | None = None


@dataclass(frozen=True)
class Records:
    """TFRecord files of one folder that have the same features; `examples` is estimated from the sizes."""

    path: str
    names: tuple[str, ...]
    features: tuple[RecordFeature, ...]
    examples: int

    @property
    def image(self) -> ImageFormat | None:
        """The format of their images; None if they have none."""
        return next((feature.image for feature in self.features if feature.image is not None), None)


@dataclass(frozen=True)
class InferenceServer:
    """The server in `kaggle_evaluation` that an inference notebook answers to, instead of reading test files.

    Attributes:
        module: Its module, such as "cmi_inference_server".
        gateway_name: The file of the gateway that hands out the test data, "" if it was not seen.
        gateway: The beginning of its text.
    """

    module: str
    gateway_name: str = ""
    gateway: str = ""


@dataclass(frozen=True)
class Survey:
    """Everything that was seen.

    Attributes:
        tables: Every table, sample submissions included, in order of path.
        folders: Every folder with other files than tables, in order of path.
        records: Groups of TFRecord files.
        notes: Sentences for the user: what could not be read, and what was not looked at.
        server: What hands out the test data, where that is not files alone.
    """

    tables: tuple[Table, ...]
    folders: tuple[Folder, ...]
    records: tuple[Records, ...] = ()
    notes: tuple[str, ...] = ()
    server: InferenceServer | None = None

    @property
    def with_null_words(self) -> "Survey":
        """The same with words such as NA and None as values in columns of text; a column of them alone stays empty."""
        return replace(self, tables=tuple(replace(table, columns=_with_null_words(table)) for table in self.tables))

    def table(self, path: str) -> Table | None:
        """The table of this path, if there is one."""
        return next((table for table in self.tables if table.path == path), None)

    def folder(self, path: str) -> Folder | None:
        """The folder of this path, if there is one."""
        return next((folder for folder in self.folders if folder.path == path), None)


def _with_null_words(table: Table) -> tuple[Column, ...]:
    return tuple(column.as_written if column.kind is ColumnKind.TEXT else column for column in table.columns)


# The bounds on what is looked at of a competition's files.


MOST_TABLES = 100
MOST_FOLDERS = 2_000  # beside each other, or in one archive
MOST_NAMES = 2_000
_MOST_CELLS_OF_ALL = 2_000_000
_MOST_BYTES_OF_ALL = 48 << 20


def bounds_for(tables: int, bounds: SampleBounds) -> SampleBounds:
    """The bounds of each of so many tables, by those of a single one: all their samples are in memory together."""
    share = max(1, min(tables, MOST_TABLES))
    cells, size = min(bounds.cells, _MOST_CELLS_OF_ALL // share), min(bounds.size, _MOST_BYTES_OF_ALL // share)
    return replace(bounds, cells=cells, size=size)


# The files of a competition, wherever they are: on this disk, or behind an API that hands out pieces of them.


@dataclass(frozen=True)
class SurveyLimits:
    """The limits of a survey's looks into files; each look at one costs little on a disk, and a request elsewhere.

    Attributes:
        table: Of the sample of a table; of several, each has less.
        probes: How many image or sound files are opened, of all folders.
        probes_of_one: How many of them of one folder.
        lone_folders: Up to how many folders are looked at each by itself; of more, those beside each other share.
        archive_listings: How many bytes the directories of all zip archives may have.
    """

    table: SampleBounds = field(default_factory=SampleBounds)
    probes: int = 400
    probes_of_one: int = 12
    lone_folders: int = 50
    archive_listings: int = 32 << 20


class Files(Protocol):
    """Files by their paths, relative to the competition's folder, with `/`.

    Every method raises OSError where a file cannot be read.
    """

    @property
    def limits(self) -> SurveyLimits:
        """The limits of looks into them."""

    def size(self, path: str) -> int:
        """The size of a file in bytes."""

    def open_file(self, path: str) -> BinaryIO:
        """A file to read and to seek in; the caller closes it."""

    def head(self, path: str, length: int) -> Path | bytes:
        """The path of a file on this disk, else its first bytes."""


@dataclass(frozen=True)
class DiskFiles:
    """A folder on this disk."""

    root: Path
    limits: SurveyLimits = SurveyLimits()

    def size(self, path: str) -> int:
        """The size of a file in bytes."""
        return (self.root / path).stat().st_size

    def open_file(self, path: str) -> BinaryIO:
        """A file to read and to seek in."""
        return open_file(self.root / path)

    def head(self, path: str, length: int) -> Path:  # noqa: ARG002 - all of it is at hand
        """The path of a file."""
        return self.root / path


# The files of a folder, on all levels: bounded in files, in folders and in levels.
#
# Only what a directory itself says is used: no file is opened, and none but links is asked for its status.


_MOST_FILES, _MOST_FILES_OF_ONE = 600_000, 400_000
_MOST_OF_A_LEVEL = 4_000
_DEEPEST_LEVEL = 8
_MOST_LINKS = 1_000
_LONGEST_SUFFIX = 10
_NOT_DATA = frozenset(("__MACOSX", "__pycache__"))


@dataclass(frozen=True)
class Directory:
    """One folder on the disk or in an archive.

    Attributes:
        path: Relative to the competition's folder, with `/`; "" for itself.
        names: The names of its files, in order.
        total: How many files it has, where that is known and these are not all.
    """

    path: str
    names: tuple[str, ...]
    total: int = 0

    def path_of(self, name: str) -> str:
        """The relative path of one of its files."""
        return f"{self.path}/{name}" if self.path else name


@dataclass
class _Walk:
    """The state of a walk: what was found, and what is left of the bounds."""

    root: Path
    directories: list[Directory] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files_left: int = _MOST_FILES
    links_left: int = _MOST_LINKS


def list_directories(root: Path) -> tuple[tuple[Directory, ...], tuple[str, ...]]:
    """Lists a folder and the folders in it.

    Hidden files and folders are left out, and so are pipes, sockets and devices. Links to folders are not followed.

    Args:
        root: A folder; resolved, so that it is no link itself.

    Returns:
        The folders in order of path, and notes on what was left out.

    Raises:
        OSError: `root` cannot be read.
    """
    walk = _Walk(root)
    level: Sequence[str] = _list_one(walk, "")
    for _ in range(_DEEPEST_LEVEL):
        level = _sample_paths(walk, level, most=_MOST_OF_A_LEVEL, description="folders on one level")
        further: list[str] = []
        for path in level:
            try:
                further += _list_one(walk, path)
            except OSError as error:
                walk.notes.append(f"{printable(path)} cannot be read: {reason_not_read(error)}.")
        level = further
    if level:
        walk.notes.append(f"Folders more than {_DEEPEST_LEVEL} levels deep were not looked at.")
    return tuple(sorted(walk.directories, key=lambda directory: directory.path)), tuple(walk.notes)


def suffix_of(name: str) -> str:
    """The suffix of a file name, lower case with the dot; "" where there is none or where it is a number."""
    stem, dot, suffix = name.rpartition(".")
    is_suffix = dot and stem and suffix.isalnum() and len(suffix) <= _LONGEST_SUFFIX and not suffix.isdecimal()
    return f".{suffix.lower()}" if is_suffix else ""


def _list_one(walk: _Walk, path: str) -> list[str]:
    """Adds one folder to the walk and returns the paths of those in it."""
    if walk.files_left <= 0:
        return []
    names: list[str] = []
    folders: list[str] = []
    unusable_count = 0
    most = min(_MOST_FILES_OF_ONE, walk.files_left)
    with os.scandir(walk.root / path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_DATA:
                continue
            if storable(entry.name) != entry.name:
                unusable_count += 1
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/{entry.name}" if path else entry.name)
            elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and _leads_to_file_inside(walk, entry)):
                names.append(entry.name)
            if len(names) + len(folders) >= most:
                break
    is_complete = len(names) + len(folders) < most
    if unusable_count:
        folder_name = printable(path) or "The folder"
        odd = (
            f"{unusable_count:,} entries whose names are not UTF-8"
            if unusable_count > 1
            else "an entry whose name is not UTF-8"
        )
        walk.notes.append(f"{folder_name} has {odd}, left out here; rename what is needed of it.")
    walk.files_left -= len(names)
    if not is_complete:
        walk.notes.append(
            f"{printable(path) or 'The folder'} has more than {most:,} files; the rest was not looked at."
        )
    walk.directories.append(Directory(path=path, names=tuple(sorted(names))))
    return list(
        _sample_paths(
            walk, sorted(folders), most=MOST_FOLDERS, description=f"folders in {printable(path) or 'the folder'}"
        )
    )


def _sample_paths(walk: _Walk, paths: Sequence[str], *, most: int, description: str) -> Sequence[str]:
    if len(paths) > most:
        walk.notes.append(f"Of {len(paths):,} {description}, {most:,} were looked at.")
    return evenly_drawn(paths, most)


def _leads_to_file_inside(walk: _Walk, link: os.DirEntry[str]) -> bool:
    walk.links_left -= 1
    path = Path(link.path)
    link_name = printable(path.relative_to(walk.root).as_posix())
    if walk.links_left < 0:
        if walk.links_left == -1:
            walk.notes.append(f"There are more than {_MOST_LINKS:,} links; from {link_name} on they were not followed.")
        return False
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        walk.notes.append(f"{link_name} is a link that leads nowhere.")
        return False
    if not target.is_relative_to(walk.root):
        walk.notes.append(f"{link_name} is a link out of the folder and was not followed.")
        return False
    if target.is_dir():
        walk.notes.append(f"{link_name} is a link to another folder of the competition and was not followed.")
        return False
    return target.is_file()


# The sources of files: a folder on the disk or at Kaggle, or a zip archive, which is read without being unpacked.


# A file's header is in its first bytes, but photographs may begin with a preview of 64 KB and more.
_HEAD = 1 << 18
_MOST_ARCHIVES = 20
_ENCRYPTION_FLAG = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What the standard library stumbles over in damaged archives.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    ValueError,
    OverflowError,
    LookupError,
    struct.error,
)


@dataclass(frozen=True)
class TableFile:
    """A table that can be read.

    Attributes:
        file: Its uncompressed bytes, or the first of them, to read and to seek in.
        suffix: Of its name without that of the compression.
        total: How many uncompressed bytes there are; estimated where only the first are at hand.
        compression: "" or what pandas calls it.
        remarks: Predicates for the notes.
    """

    file: BinaryIO
    suffix: str
    total: int
    compression: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class MountedFolder:
    """The competition's folder, as it is mounted.

    Attributes:
        files: The competition's files.
        directories: Its folders; their paths are relative to the competition's folder.
    """

    files: Files
    directories: tuple[Directory, ...]

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table; of what is compressed, at most `limit` bytes are unpacked.

        Raises:
            UnreadableTableError: It is damaged.
            OSError: It cannot be read.
        """
        suffix, size, file = suffix_of(path), self.files.size(path), self.files.open_file(path)
        if suffix not in ARCHIVE_SUFFIXES:
            # A listing may lack the size, and of what Kaggle sends packed only the beginning is at hand.
            size = max(size, file.seek(0, io.SEEK_END))
            return TableFile(file, suffix, total=size)
        with file:
            content, total, remarks = beginning(file, size, suffix, limit)
        inner = suffix_of(path[: -len(suffix)])
        return TableFile(io.BytesIO(content), inner, total, STREAMS[suffix], remarks)

    def head(self, directory: Directory, name: str) -> Path | bytes | None:
        """The path of a file, or its first bytes where it has none; None if it cannot be read."""
        try:
            return self.files.head(directory.path_of(name), _HEAD)
        except OSError:
            return None


@dataclass(frozen=True)
class Archive:
    """A zip archive, which must stay open as long as it is read from."""

    path: str
    zip_file: zipfile.ZipFile
    directories: tuple[Directory, ...]

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table, of which at most `limit` bytes are unpacked.

        Raises:
            UnreadableTableError: It is damaged, encrypted, or packed in a way that is not read.
            OSError: It cannot be read.
        """
        suffix = suffix_of(path)
        if suffix in ARCHIVE_SUFFIXES:
            raise UnreadableTableError("is compressed twice; unpack the archive first")
        if FORMATS.get(suffix) is TableFormat.PARQUET:
            raise UnreadableTableError("is a parquet file in an archive; unpack the archive first")
        member, content = self._beginning(path, limit)
        is_cut = len(content) == limit < member.file_size
        return TableFile(
            file=io.BytesIO(content),
            suffix=suffix,
            total=member.file_size if is_cut else len(content),
            compression="zip",
            remarks=ratio_remarks(member.file_size, member.compress_size) if is_cut else (),
        )

    def head(self, directory: Directory, name: str) -> bytes | None:
        """The first bytes of a file; None if it cannot be read."""
        try:
            return self._beginning(directory.path_of(name), _HEAD)[1]
        except (UnreadableTableError, OSError):
            return None

    def _beginning(self, path: str, limit: int) -> tuple[zipfile.ZipInfo, bytes]:
        member = self.zip_file.getinfo(path.removeprefix(f"{self.path}/"))
        if member.flag_bits & _ENCRYPTION_FLAG:
            raise UnreadableTableError("is encrypted and was not read")
        if member.compress_type not in _METHODS:
            raise UnreadableTableError("is packed by a method that is not deflate; unpack the archive first")
        try:
            with self.zip_file.open(member) as file:
                return member, file.read(limit)
        except _DAMAGE as error:
            raise UnreadableTableError("cannot be unpacked: the archive is damaged") from error


FileSource = MountedFolder | Archive


def open_archives(stack: ExitStack, files: Files, paths: Sequence[str]) -> tuple[tuple[Archive, ...], tuple[str, ...]]:
    """Opens zip archives.

    Args:
        stack: Closes them.
        files: The competition's files.
        paths: The archives among them.

    Returns:
        Those that can be read, and notes.
    """
    archives, notes, left = [], [], files.limits.archive_listings
    if len(paths) > _MOST_ARCHIVES:
        notes.append(f"Of {len(paths):,} zip archives, {_MOST_ARCHIVES} were looked at; unpack them first.")
    for path in paths[:_MOST_ARCHIVES]:
        archive_name = printable(path)
        try:
            file = stack.enter_context(files.open_file(path))
            size = _directory_size(file)
            if size > left:
                notes.append(f"{archive_name} has too many files in it to be looked at before it is unpacked.")
                continue
            zip_file = stack.enter_context(zipfile.ZipFile(file))
        except _DAMAGE:
            notes.append(f"{archive_name} is not a zip archive, or it is damaged or cut off.")
            continue
        except OSError as error:
            notes.append(f"{archive_name} cannot be read: {reason_not_read(error)}.")
            continue
        left -= size
        directories, remarks = _directories(path, zip_file)
        archives.append(Archive(path=path, zip_file=zip_file, directories=directories))
        notes += (f"{archive_name} {remark}." for remark in remarks)
    return tuple(archives), tuple(notes)


def _directory_size(file: BinaryIO) -> int:
    """The size of an archive's directory in bytes, as it says itself; `zipfile` makes an object of each member."""
    standard: Any = zipfile  # it has no public way to ask for that before it reads all of it
    end = standard._EndRecData(file)  # noqa: SLF001 - see above
    if end is None:
        raise zipfile.BadZipFile
    size: int = end[standard._ECD_SIZE]  # noqa: SLF001 - see above
    return size


def _directories(path: str, zip_file: zipfile.ZipFile) -> tuple[tuple[Directory, ...], list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    leads_out = False
    for member in zip_file.namelist():
        folder, _, name = member.rpartition("/")
        if ".." in folder.split("/") or member.startswith("/"):
            leads_out = True
        elif name and not name.startswith(".") and not folder.startswith("__MACOSX"):
            names[f"{path}/{folder}" if folder else path].append(name)
    folders = evenly_drawn(sorted(names), MOST_FOLDERS)
    remarks = ["has members that would be unpacked outside of their folder"] if leads_out else []
    if len(folders) < len(names):
        remarks.append(f"has {len(names):,} folders in it, of which {len(folders):,} were looked at")
    return tuple(Directory(path=folder, names=tuple(sorted(names[folder]))) for folder in folders), remarks
