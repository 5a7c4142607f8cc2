"""The findings of a bounded look at a competition's files: facts only, nothing interpreted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from generator.competition.tables import SampleBounds, TableFormat


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
