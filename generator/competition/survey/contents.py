"""The contents of files: columns from sampled cells; images, sounds, records and servers from their headers."""

import io
import json
import re
import statistics
import struct
import warnings
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from generator.competition.survey.sources import (
    MOST_NAMES,
    NUMBERS,
    AudioFormat,
    Column,
    ColumnKind,
    Directory,
    Files,
    FileSource,
    Folder,
    ImageEncoding,
    ImageFormat,
    InferenceServer,
    RecordFeature,
    Records,
    SurveyLimits,
    Table,
    TableFile,
    suffix_of,
)
from generator.competition.tables import (
    ARCHIVE_SUFFIXES,
    FORMATS,
    FRAME,
    LOOSE_SUFFIXES,
    Feature,
    NotATableError,
    NotRecordsError,
    Sample,
    SampleBounds,
    TableFormat,
    UnreadableTableError,
    begins_like_records,
    evenly_drawn,
    features_of,
    first_records,
    sample_delimited,
    sample_json,
    sample_parquet,
)
from generator.files import open_file
from generator.text import printable, storable

# What pandas.read_csv reads as missing by default.
MISSING = frozenset(("", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null")) | frozenset(
    ("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
)
_OF_RECORDS = (TableFormat.JSON, TableFormat.JSON_LINES)
_NEARLY_ALL, MOST = 0.95, 0.5  # of a column's values, for it to be what they are
_LONGEST_NUMBER_OR_DATE = 64
_BOOLEAN = re.compile("True|TRUE|true|False|FALSE|false")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI]nf(?:inity)?)\s*")
_TIME = (
    r"(?P<hour>[0-2]?\d):(?P<minute>[0-5]\d)(?::(?P<second>[0-6]\d)(?:[.,](?P<fraction>\d+))?)?"
    r"(?:\s?(?P<half>[aApP])[mM])?(?:\s?(?:Z|UTC|GMT|(?P<zone>[+-]\d\d:?\d\d)))?"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = "|".join(
    (
        r"\d{4}(?P<mark>[-/.])[01]?\d(?P=mark)[0-3]?\d",
        r"[0-3]?\d(?P<sign>[-/.])[0-3]?\d(?P=sign)(?:\d{4}|\d\d)",
        r"\d{4}-[01]\d",
        rf"[0-3]?\d[-\s]{_MONTH}[-,\s]\s?(?:\d{{4}}|\d\d)",
        rf"{_MONTH}\s[0-3]?\d,?\s\d{{4}}",
    )
)
_WITH_DAY = rf"(?P<day>{_DAY})(?:(?:T|,?\s){_TIME})?"
_DAY_FORMATS = ("%Y %m %d", "%Y %m", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%d %b %y", "%d %B %y")
_CALENDAR = re.compile(rf"\s*{_WITH_DAY}\s*", re.IGNORECASE)
_CLOCK = re.compile(rf"\s*{_TIME}\s*", re.IGNORECASE)
_DATE = re.compile(f"{_CALENDAR.pattern}|{re.sub(r'[?]P<[a-z]+>', '?:', _CLOCK.pattern)}", re.IGNORECASE)
_CURRENCY = (
    r"(?:(?:US|CA|AU|NZ|HK|R)?\$|[€£¥₹₽₩₺₫₴₦฿]|(?:USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|BRL|RUB|KRW|SEK|NOK|DKK|PLN))"
)
_WORD = r"[A-Za-zµ°²³]{1,12}(?:/[A-Za-z²³]{1,6})?\.?"
_UNIT = rf"(?:%|{_CURRENCY}|{_WORD}(?:\s{_WORD}){{0,2}})"
_GROUP_SEPARATORS = " \u2019\u00a0\u202f"  # with the apostrophe of Switzerland, and spaces that do not break
# Multiples, such as the k of 35k, without which the number is another one.
_MULTIPLES = frozenset(("k", "m", "b", "bn", "mn", "mio", "mrd", "t", "million", "billion", "thousand"))


def _number_pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    whole = rf"[0-9]{{1,3}}(?:[{thousands}'{_GROUP_SEPARATORS}][0-9]{{3}})+|[0-9]+"
    digits = rf"(?P<digits>(?:{whole})(?:{decimal}[0-9]+)?|{decimal}[0-9]+)"
    before = rf"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_CURRENCY})?\s*(?P<second>[+-])?"
    return re.compile(rf"\s*{before}\s*{digits}\s*(?P<after>{_UNIT})?\s*(?P<close>\))?\s*")


_NUMBER_PATTERNS = {".": _number_pattern(",", r"\."), ",": _number_pattern(r"\.", ",")}
_WITH_COMMA = re.compile(r"\s*[+-]?(?:[0-9]+|[0-9]*,[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_PATTERNS = {
    ColumnKind.INTEGER: _INTEGER,
    ColumnKind.NUMBER: _NUMBER,
    ColumnKind.BOOLEAN: _BOOLEAN,
    ColumnKind.DATE: _DATE,
}


def column_of(name: str, values: Iterable[str | None], kind: ColumnKind | None = None) -> Column:
    """Builds a column; equal values share their memory.

    Args:
        name: Its name.
        values: In the order of the rows, None where missing.
        kind: What the values are, where the file itself says it.
    """
    unique_values: dict[str, str] = {}
    cells = tuple(None if value is None else unique_values.setdefault(value, value) for value in values)
    return Column(name=name, kind=(kind if unique_values else None) or kind_of(unique_values), values=cells)


def build_columns(sample: Sample) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Builds the columns of a sample; a short row is filled up with missing values, a long one is cut.

    In a text, markers such as `NA` stand for missing values; the other formats have nulls of their own.

    Returns:
        The columns, each under a name of its own, and remarks on what was renamed.
    """
    names, remarks = (sample.header, ()) if sample.format in _OF_RECORDS else header_names(sample.header)
    width, filling = len(names), "" if sample.format is TableFormat.CSV else None
    whole = [row if len(row) == width else [*row[:width], *[filling] * (width - len(row))] for row in sample.rows]
    cells: Iterable[Sequence[object]] = zip(*whole, strict=True) if whole else ((),) * width
    if sample.format is TableFormat.CSV:
        columns = [_column_of_text(name, map(str, values)) for name, values in zip(names, cells, strict=True)]
    elif sample.format is TableFormat.PARQUET:
        kinds = map(ColumnKind, sample.kinds)
        columns = [column_of(name, map(_text, of), kind) for name, of, kind in zip(names, cells, kinds, strict=True)]
    else:
        columns = [
            replace(column_of(name, map(_text, values)), is_quoted=any(isinstance(value, str) for value in values))
            for name, values in zip(names, cells, strict=True)
        ]
    return tuple(columns), remarks


def _column_of_text(name: str, cells: Iterable[str]) -> Column:
    raw_column = column_of(name, (cell or None for cell in cells))
    null_words = raw_column.distinct & MISSING
    if not null_words:
        return raw_column
    column = without_null_words(raw_column)
    is_text = column.kind in (ColumnKind.TEXT, ColumnKind.EMPTY)
    return replace(column, null_words=null_words, raw_values=raw_column.values if is_text else ())


def without_null_words(column: Column) -> Column:
    """Return the column with words such as NA and None as missing values."""
    return column_of(column.name, (None if value in MISSING else value for value in column.values))


def _text(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is missing
        return None
    return storable(json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value))


def kind_of(values: Iterable[str]) -> ColumnKind:
    """The kind of values that all of these are, none of which is missing."""
    different = list(values)
    if not different:
        return ColumnKind.EMPTY
    # Longer ones are text anyway, and to try the patterns on them could take for ever.
    if max(map(len, different)) <= _LONGEST_NUMBER_OR_DATE:
        for kind, pattern in _PATTERNS.items():
            if all(map(pattern.fullmatch, different)):
                return kind
    return ColumnKind.TEXT


def numbers_of(column: Column, share: float = _NEARLY_ALL) -> Column | None:
    """The column with its numbers alone, formatted or not, where this share of the values is numbers; else None."""
    if column.kind in NUMBERS:
        return column
    if column.kind is not ColumnKind.TEXT:
        return None
    if _share(column, _NUMBER) < share:
        return formatted_numbers_of(column, share=share)
    values = (value if value is not None and _NUMBER.fullmatch(value) else None for value in column.values)
    return column_of(column.name, values)


def as_number(column: Column, *, is_decided: bool) -> Column | None:
    """Return the numbers of a column, where most of its values are; if the user did not decide so, nearly all."""
    return numbers_of(column, MOST if is_decided else _NEARLY_ALL)


def formatted_numbers_of(column: Column, decimal: str = "", share: float = _NEARLY_ALL) -> Column | None:
    """Return the numbers of a column such as `4,098`, `$1,200`, `12%`, `3.5 kg` or `(1,200)`, which is negative.

    Args:
        column: The column.
        decimal: What its numbers have for a decimal point; the other of `.` and `,` may stand between thousands. By
            default the one with which more of the values are numbers, and the point in doubt.
        share: The share of the values that have to be numbers, words such as NA apart.

    Returns:
        The column with plain numbers; None unless so many values are such numbers, in the same unit.
    """
    if column.kind is not ColumnKind.TEXT or not column.present:
        return None
    short = [value for value in column.distinct if len(value) <= _LONGEST_NUMBER_OR_DATE]
    possible = {
        sign: {value: match for value in short if (match := _NUMBER_PATTERNS[sign].fullmatch(value)) is not None}
        for sign in (decimal or _NUMBER_PATTERNS)
    }
    counts = {sign: sum(value in matches for value in column.present) for sign, matches in possible.items()}
    sign = max(counts, key=lambda sign: counts[sign])
    matches = possible[sign]
    words = sum(value in column.null_words for value in column.present)
    if counts[sign] < max(1, share * (len(column.present) - words)):
        return None
    is_open = any(bool(match["open"]) != bool(match["close"]) for match in matches.values())
    # Of two numbers such as (1,2) the comma is no decimal point.
    marks = ("before", "after") if sign == "," and not decimal else ("before", "after", "open")
    if is_open or not any(
        any(match[mark] for mark in marks) or _has_thousands(match, sign) for match in matches.values()
    ):
        return None
    units = {(match["after"] or "").lower().rstrip(".").removesuffix("s") for match in matches.values()}
    unit_names = units - {""}
    if len(unit_names) > 1 or (
        unit_names and "" in units and (unit_names & _MULTIPLES or not _is_sign(next(iter(unit_names))))
    ):
        return None
    plain = {value: _plain(match, sign) for value, match in matches.items()}
    numbers = column_of(column.name, (plain.get(value) if value is not None else None for value in column.values))
    return replace(numbers, is_formatted=True, decimal=sign)


def _is_sign(unit: str) -> bool:
    """True if a unit is no word: what has no percent sign or currency is then in the same unit."""
    return not unit.isascii() or not unit.isalpha()


def _has_thousands(match: re.Match[str], decimal: str) -> bool:
    return not match["digits"].replace(decimal, "").isdigit()


def _plain(match: re.Match[str], decimal: str) -> str:
    digits = "".join(character for character in match["digits"] if character.isdigit() or character == decimal)
    is_negative = (match["sign"] == "-") != (match["second"] == "-") or bool(match["open"])
    return f"{'-' if is_negative else ''}{digits.replace(decimal, '.')}"


def are_dates(column: Column) -> bool:
    """True if nearly all values name a day or a month; an hour alone does not."""
    return column.kind in (ColumnKind.TEXT, ColumnKind.DATE) and _share(column, _CALENDAR) >= _NEARLY_ALL


def moment_of(value: str, *, day_first: bool) -> datetime | None:
    """The moment that a date names, in UTC where it names no offset; None where it is no date.

    Args:
        value: A date, or a date with a time of day.
        day_first: Whether the day stands before the month where both are numbers.
    """
    match = _CALENDAR.fullmatch(value)
    if match is None:
        return None
    day = re.sub(r"[-/.,\s]+", " ", match["day"])
    in_numbers = ("%d %m %Y", "%d %m %y") if day_first else ("%m %d %Y", "%m %d %y")
    for date_format in (*_DAY_FORMATS, *in_numbers):
        try:
            moment = datetime.strptime(day, date_format).replace(tzinfo=UTC)
            break
        except ValueError:
            continue
    else:
        return None
    hour = int(match["hour"] or 0)
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"] in "pP")
    seconds = float(f"{match['second'] or 0}.{match['fraction'] or 0}")
    try:
        moment += timedelta(hours=hour, minutes=int(match["minute"] or 0), seconds=seconds)
        if zone := match["zone"]:
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment += ahead if zone[0] == "-" else -ahead
    except OverflowError:
        return None
    return moment


def with_points(columns: Sequence[Column]) -> tuple[Column, ...] | None:
    """The same columns with a point in each number, where the numbers of a table are written with commas, else None."""
    if any("." in value for column in columns if column.kind is ColumnKind.NUMBER for value in column.distinct):
        return None
    comma_columns = [column for column in columns if _has_commas(column)]
    numbers_by_column = {
        column: numbers
        for column in columns
        if column not in comma_columns and (numbers := formatted_numbers_of(column, ",")) is not None
    }
    if not comma_columns and not any(
        "." in value and "," in value for column in numbers_by_column for value in column.distinct
    ):
        return None
    return tuple(
        column_of(column.name, map(_with_point, column.values))
        if column in comma_columns
        else numbers_by_column.get(column, column)
        for column in columns
    )


def _has_commas(column: Column) -> bool:
    if column.kind is not ColumnKind.TEXT or not any("," in value for value in column.distinct):
        return False
    return _share(column, _WITH_COMMA) >= _NEARLY_ALL


def _with_point(value: str | None) -> str | None:
    return value.replace(",", ".") if value is not None and _WITH_COMMA.fullmatch(value) else value


def _share(column: Column, pattern: re.Pattern[str]) -> float:
    """The share of the values that fit, words such as NA apart."""
    values = [value for value in column.present if value not in column.null_words]
    if not values:
        return 0.0
    fitting = {value for value in column.distinct if len(value) <= _LONGEST_NUMBER_OR_DATE and pattern.fullmatch(value)}
    return sum(value in fitting for value in values) / len(values)


def header_names(header: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names every column once, as pandas does it: `Unnamed: 3` for an empty name, `x.1` for a second `x`.

    Returns:
        The names, and remarks on what was renamed.
    """
    full_names = [name if name.strip() else f"Unnamed: {position}" for position, name in enumerate(header)]
    used_names, counts, names = set(full_names), Counter[str](), []
    for name in full_names:
        unique = name
        while counts[name] and unique in used_names:
            unique = f"{name}.{counts[name]}"
            counts[name] += 1
        counts[name] += not counts[name]
        used_names.add(unique)
        names.append(unique)
    return tuple(names), _column_remarks(header, full_names)


def _column_remarks(header: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    remarks = []
    empty = sum(not name.strip() for name in header)
    if empty:
        remarks.append(f"has {empty} columns without a name" if empty > 1 else "has a column without a name")
    repeated_names = [name for name, times in Counter(names).items() if times > 1]
    if repeated_names:
        remarks.append(f'has more than one column named "{printable(repeated_names[0][:80])}"; later ones are numbered')
    return tuple(remarks)


# The tables among a competition's files: which files are some, and what a sample says of their columns.


_HEAD = 100
# What downloads and clones leave in the place of a file.
_IN_PLACE_OF_FILES = {
    (b"<!doctype html", b"<html"): "is an HTML page in the place of the file; download it again, signed in",
    (b"version https://git-lfs",): "is a pointer of Git LFS in the place of the file; fetch it with: git lfs pull",
}


def is_table_name(name: str) -> bool:
    """True if a file of this name may be a table, or a compressed one."""
    suffix = suffix_of(name)
    if suffix not in ARCHIVE_SUFFIXES:
        return suffix in FORMATS or suffix in LOOSE_SUFFIXES
    inner = suffix_of(name[: -len(suffix)])
    return inner in LOOSE_SUFFIXES or FORMATS.get(inner, TableFormat.PARQUET) is not TableFormat.PARQUET


def read_table_sample(source: FileSource, path: str, bounds: SampleBounds) -> tuple[Table, tuple[str, ...]]:
    """Reads a sample of a table.

    Args:
        source: Where it is.
        path: Its path relative to the competition's folder.
        bounds: How much may be read.

    Returns:
        The table, and remarks on it.

    Raises:
        NotATableError: It is no table.
        UnreadableTableError: It cannot be read as one.
        OSError: It cannot be read at all.
    """
    table_file = source.table_file(path, bounds.size)
    with table_file.file:
        sample = _sample(table_file, bounds)
    columns, header_remarks = build_columns(sample)
    # Where commas separate cells, or may stand between thousands, a comma is no decimal point.
    point_columns = with_points(columns) if sample.separator == ";" else None
    table = Table(
        path=path,
        format=sample.format,
        columns=point_columns or columns,
        rows=sample.total,
        is_complete=sample.is_complete,
        separator=sample.separator,
        encoding=sample.encoding,
        decimal="," if point_columns else ".",
        compression=table_file.compression,
        has_long_rows=any(len(row) > len(sample.header) for row in sample.rows),
        has_trailing_separator=sample.has_trailing_separator,
    )
    return table, (*table_file.remarks, *header_remarks, *sample.remarks, *_table_remarks(sample))


def _sample(table_file: TableFile, bounds: SampleBounds) -> Sample:
    """Reads some rows by the reader of the format that the name promises."""
    table_file.file.seek(0)
    head = table_file.file.read(_HEAD).removeprefix(BOM_UTF8).lstrip().lower()
    table_file.file.seek(0)
    for beginnings, problem in _IN_PLACE_OF_FILES.items():
        if head.startswith(beginnings):
            raise NotATableError if table_file.suffix in LOOSE_SUFFIXES else UnreadableTableError(problem)
    table_format = FORMATS.get(table_file.suffix)
    if table_format is TableFormat.PARQUET:
        return sample_parquet(table_file.file, bounds)
    reader = sample_json if table_format in (TableFormat.JSON, TableFormat.JSON_LINES) else sample_delimited
    return reader(table_file.file, suffix=table_file.suffix, total=table_file.total, bounds=bounds)


def _table_remarks(sample: Sample) -> tuple[str, ...]:
    is_text = sample.format is TableFormat.CSV and sample.rows
    if is_text and all(kind_of([name]) in NUMBERS for name in sample.header):
        return ("has only numbers in its first line, which was taken for the header",)
    return ()


# The format of image files, from their headers; no pixel is decoded.


IMAGE_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".jp2")
)
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000")
_COLOURS = ("L", "RGB")
_MODES = {  # those of each encoding that every decoder reads alike; the palette of a gif is one of them
    ImageEncoding.JPEG: _COLOURS,
    ImageEncoding.PNG: (*_COLOURS, "LA", "RGBA"),
    ImageEncoding.GIF: ("P", *_COLOURS),
    ImageEncoding.BMP: _COLOURS,
}
STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
"""The first bytes of image files."""


def image_format(files: Iterable[Path | bytes]) -> ImageFormat | None:
    """Finds what image files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        Their format, or None if none of them can be read.
    """
    formats = [image for file in files if (image := _image_format(file)) is not None]
    if not formats:
        return None
    return ImageFormat(
        mode=Counter(image.mode for image in formats).most_common(1)[0][0],
        width=statistics.median_low(image.width for image in formats),
        height=statistics.median_low(image.height for image in formats),
        is_uniform=len({(image.mode, image.width, image.height) for image in formats}) == 1,
        encodings=frozenset[ImageEncoding]().union(*(image.encodings for image in formats)),
    )


def _encoding(format_name: str | None, mode: str) -> ImageEncoding:
    image_encoding = next((encoding for encoding in _MODES if encoding.upper() == format_name), ImageEncoding.OTHER)
    return image_encoding if mode in _MODES.get(image_encoding, ()) else ImageEncoding.OTHER


def _image_format(file: Path | bytes) -> ImageFormat | None:
    # Headers are read here and nowhere else but where the built-in images are written.
    from PIL import Image, UnidentifiedImageError

    limit = Image.MAX_IMAGE_PIXELS
    try:
        # Nothing is decoded, so that an image of any size is harmless here.
        Image.MAX_IMAGE_PIXELS = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with (
                io.BytesIO(file) if isinstance(file, bytes) else open_file(file) as content,
                Image.open(content, formats=_FORMATS) as image,
            ):
                encodings = frozenset((_encoding(image.format, image.mode),))
                return ImageFormat(image.mode, image.width, image.height, is_uniform=True, encodings=encodings)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, TypeError, OverflowError):
        return None
    finally:
        Image.MAX_IMAGE_PIXELS = limit


# The format of sound files, from their headers; no sample is decoded.


SOUND_SUFFIXES = frozenset((".wav", ".aif", ".aiff", ".aifc", ".flac", ".ogg", ".oga", ".opus"))
_HEAD, _TAIL = 1 << 16, 1 << 16
_OPUS_RATE = 48_000
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE  # codes of formats in WAV files
_SUBFORMAT = 24  # where an extensible format has its code
_PLAUSIBLE_RATES = range(1_000, 1_000_000)


@dataclass(frozen=True)
class _Bytes:
    """The ends of a file; `tail` is empty where only the head is known."""

    head: bytes
    tail: bytes
    size: int


def audio_format(files: Iterable[Path | bytes]) -> AudioFormat | None:
    """Finds what sound files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        The most frequent rate and number of channels, the median of the known lengths in seconds, 0 where none is
        known, and whether all are plain WAV files; None if no file can be read.
    """
    formats = [audio for file in files if (audio := _audio_format(file)) is not None]
    if not formats:
        return None
    lengths = [audio.seconds for audio in formats if audio.seconds > 0]
    return AudioFormat(
        sample_rate=Counter(audio.sample_rate for audio in formats).most_common(1)[0][0],
        seconds=statistics.median_low(lengths) if lengths else 0.0,
        channels=Counter(audio.channels for audio in formats).most_common(1)[0][0],
        is_plain_wav=all(audio.is_plain_wav for audio in formats),
    )


def _audio_format(file: Path | bytes) -> AudioFormat | None:
    try:
        content = _Bytes(file, b"", len(file)) if isinstance(file, bytes) else _ends(file)
        audio = _READERS[content.head[:4]](content)
    except (OSError, struct.error, ValueError, LookupError, OverflowError, ZeroDivisionError):
        return None
    return audio if audio.sample_rate in _PLAUSIBLE_RATES and audio.channels else None


def _ends(path: Path) -> _Bytes:
    with open_file(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(_HEAD)
        file.seek(max(0, size - _TAIL))
        return _Bytes(head, file.read(_TAIL), size)


def _chunk(head: bytes, name: bytes, order: str) -> tuple[int, int]:
    """The position of the content of a chunk of a RIFF or IFF file, and the length that is said of it."""
    position = 12
    while position + 8 <= len(head):
        length = int(struct.unpack_from(f"{order}I", head, position + 4)[0])
        if head[position : position + 4] == name:
            return position + 8, length
        position += 8 + length + length % 2
    raise ValueError


def _wave(content: _Bytes) -> AudioFormat:
    start, _ = _chunk(content.head, b"fmt ", "<")
    code, channels, rate, bytes_a_second = struct.unpack_from("<HHII", content.head, start)
    if code == _EXTENSIBLE:
        (code,) = struct.unpack_from("<H", content.head, start + _SUBFORMAT)
    data, length = _chunk(content.head, b"data", "<")
    # A recorder that was interrupted leaves a length of 0 or of 4 GB.
    is_said = 0 < length <= content.size - data or not content.tail
    seconds = (length if is_said else content.size - data) / bytes_a_second
    return AudioFormat(rate, seconds, channels, is_plain_wav=code in (_PCM, _FLOAT))


def _aiff(content: _Bytes) -> AudioFormat:
    start, _ = _chunk(content.head, b"COMM", ">")
    channels, frames, _, exponent, mantissa = struct.unpack_from(">hIhHQ", content.head, start)
    # An 80-bit number: 15 bits of exponent, 64 of mantissa, whose highest one is the 1 before the point.
    rate = round(mantissa * 2.0 ** (exponent - 16383 - 63))
    return AudioFormat(rate, frames / rate, channels)


def _flac(content: _Bytes) -> AudioFormat:
    # RFC 9639, section 8.2: 20 bits of rate, 3 of channels less one, 5 of depth less one, 36 of samples.
    bits = int.from_bytes(content.head[18:26], "big")
    rate, channels, samples = bits >> 44, (bits >> 41 & 7) + 1, bits & (1 << 36) - 1
    return AudioFormat(rate, samples / rate, channels)


def _ogg(content: _Bytes) -> AudioFormat:
    # RFC 3533: a page has 27 bytes and a table of segments before its content.
    packet = content.head[27 + content.head[26] :]
    if packet.startswith(b"\x01vorbis"):
        channels, rate = struct.unpack_from("<BI", packet, 11)
        pre_skip = 0
    elif packet.startswith(b"OpusHead"):
        channels, pre_skip = struct.unpack_from("<BH", packet, 9)
        rate = _OPUS_RATE
    else:
        raise ValueError
    page = content.tail.rfind(b"OggS")
    last = struct.unpack_from("<q", content.tail, page + 6)[0] if page >= 0 else 0
    return AudioFormat(rate, max(0, last - pre_skip) / rate, channels)


_READERS = {b"RIFF": _wave, b"FORM": _aiff, b"fLaC": _flac, b"OggS": _ogg}  # by the first bytes of a file


# Groups of TFRecord files: those of a folder whose examples have the same features.


_SUFFIXES = frozenset((".tfrec", ".tfrecord", ".tfrecords"))
_MOST_FOLDERS, _MOST_GROUPS = 20, 8
_FILES_OF_A_GROUP, _RECORDS_OF_A_FILE = 4, 16
_LONGEST_VALUE = 200  # bytes
_VALUES_OF_AN_EXAMPLE, _SAMPLED_VALUES = 8, 256
_SAMPLED_IMAGES = 12
_PLAUSIBLE_FACTOR = 3
_COUNT_IN_NAME = re.compile(r".*-(\d+)\.[a-z]+")  # as in `00-224x224-798.tfrec`
_NUMBERS = re.compile(r"\d+")


def take_records(
    files: Files, directories: Sequence[Directory]
) -> tuple[tuple[Records, ...], tuple[Directory, ...], tuple[str, ...]]:
    """Reads a few examples of the TFRecord files of all folders.

    Args:
        files: The competition's files.
        directories: All folders.

    Returns:
        Groups of files, the folders without these files, and notes.
    """
    groups: list[Records] = []
    rest: list[Directory] = []
    notes: list[str] = []
    folder_count = 0
    for directory in directories:
        names = frozenset(_names(files, directory))
        if not names:
            rest.append(directory)
            continue
        folder_count += 1
        if folder_count <= _MOST_FOLDERS:
            folder_groups, remarks = _record_groups(files, replace(directory, names=tuple(sorted(names))))
            groups += folder_groups
            notes += (f"{printable(directory.path) or 'The folder'} {remark}." for remark in remarks)
        rest.append(replace(directory, names=tuple(name for name in directory.names if name not in names)))
    if folder_count > _MOST_FOLDERS:
        notes.append(f"Of {folder_count:,} folders with TFRecord files, {_MOST_FOLDERS} were looked at.")
    return tuple(groups), tuple(rest), tuple(notes)


def _names(files: Files, directory: Directory) -> list[str]:
    record_names = [name for name in directory.names if suffix_of(name) in _SUFFIXES]
    if record_names:
        return record_names
    # Names such as `train-00000-of-00010` say nothing; then the first of those that are alike does.
    alike = _alike(name for name in directory.names if not suffix_of(name))
    groups = evenly_drawn(list(alike.values()), _MOST_GROUPS)
    return [name for names in groups if _is_records_file(files, directory.path_of(names[0])) for name in names]


def _alike(names: Iterable[str]) -> dict[str, list[str]]:
    """File names that differ only in their numbers."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[_NUMBERS.sub("0", name)].append(name)
    return groups


def _is_records_file(files: Files, path: str) -> bool:
    try:
        with files.open_file(path) as stream:
            return begins_like_records(stream.read(12))
    except OSError:
        return False


def _record_groups(files: Files, directory: Directory) -> tuple[tuple[Records, ...], tuple[str, ...]]:
    """The groups of the TFRecord files of one folder, and remarks on those that cannot be read."""
    by_pattern = _alike(directory.names)
    if len(by_pattern) > _MOST_GROUPS:
        by_pattern = {"": list(directory.names)}
    groups: dict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    records_by_signature: dict[frozenset[tuple[str, str]], list[bytes]] = defaultdict(list)
    remarks = []
    for names in by_pattern.values():
        try:
            pattern_records = [
                record
                for name in evenly_drawn(names, _FILES_OF_A_GROUP)
                for record in _first_records(files, directory.path_of(name))
            ]
            signature = _signature(pattern_records)
        except (NotRecordsError, OSError):
            remarks.append(f"has {len(names):,} TFRecord files whose examples cannot be read, such as {names[0]!a}")
            continue
        groups[signature] += names
        records_by_signature[signature] += pattern_records
    records = [_group(files, directory, sorted(groups[key]), records_by_signature[key]) for key in groups]
    return tuple(sorted(records, key=lambda group: group.names)), tuple(remarks)


def _first_records(files: Files, path: str) -> list[bytes]:
    with files.open_file(path) as stream:
        return first_records(stream, _RECORDS_OF_A_FILE)


def _signature(records: Sequence[bytes]) -> frozenset[tuple[str, str]]:
    if not records:
        raise NotRecordsError
    return frozenset((name, feature.kind) for record in records for name, feature in features_of(record).items())


def _group(files: Files, directory: Directory, names: Sequence[str], records: Sequence[bytes]) -> Records:
    examples = [features_of(record) for record in records]
    features = dict.fromkeys(name for example in examples for name in example)
    return Records(
        path=directory.path,
        names=evenly_drawn(names, MOST_NAMES),
        features=tuple(_feature(name, [example[name] for example in examples if name in example]) for name in features),
        examples=_examples(files, directory, names, records),
    )


def _feature(name: str, features: Sequence[Feature]) -> RecordFeature:
    lengths = {len(feature.values) for feature in features}
    values = [value for feature in features for value in feature.values[:_VALUES_OF_AN_EXAMPLE]]
    pictures = [value for value in values if isinstance(value, bytes) and value.startswith(STARTS)]
    is_image = len(pictures) > len(values) / 2  # a few may be empty or damaged
    return RecordFeature(
        name=name,
        kind=max((feature.kind for feature in features if feature.values), default=features[0].kind),
        length=lengths.pop() if len(lengths) == 1 else None,
        values=()
        if is_image
        else tuple(text for value in values if (text := _value_as_text(value)) is not None)[:_SAMPLED_VALUES],
        is_image=is_image,
        image=image_format(evenly_drawn(pictures, _SAMPLED_IMAGES)) if is_image else None,
    )


def _value_as_text(value: bytes | float) -> str | None:
    if not isinstance(value, bytes):
        return str(value)
    if len(value) > _LONGEST_VALUE:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _examples(files: Files, directory: Directory, names: Sequence[str], records: Sequence[bytes]) -> int:
    """The number of examples, by the names if these count them, else by the sizes of the files."""
    sampled_names = evenly_drawn(names, MOST_NAMES)
    size = sum(files.size(directory.path_of(name)) for name in sampled_names) * len(names) / len(sampled_names)
    estimate = size * len(records) / sum(len(record) + FRAME for record in records)
    counts = [int(match[1]) for name in names if (match := _COUNT_IN_NAME.fullmatch(name))]
    # The last number of `train-00001-00010.tfrec` is something else; the sizes tell.
    total = sum(counts) if len(counts) == len(names) else 0
    return total if estimate / _PLAUSIBLE_FACTOR < total < estimate * _PLAUSIBLE_FACTOR else round(estimate)


# The inference server that some competitions bring along: which module it is, and what its gateway says.


_PACKAGE = "kaggle_evaluation"
_SERVER, _GATEWAY = "_inference_server.py", "_gateway.py"
_LONGEST = 64 << 10  # bytes


def find_server(files: Files, directories: Sequence[Directory]) -> InferenceServer | None:
    """The inference server in the package `kaggle_evaluation` at the top of a competition's files, if there is one."""
    package = next((directory for directory in directories if directory.path == _PACKAGE), None)
    servers = [name for name in package.names if name.endswith(_SERVER)] if package else []
    if package is None or not servers:
        return None
    name = servers[0]
    gateway = name.removesuffix(_SERVER) + _GATEWAY
    text = _beginning_as_text(files, package.path_of(gateway)) if gateway in package.names else ""
    return InferenceServer(module=name.removesuffix(".py"), gateway_name=gateway if text else "", gateway=text)


def _beginning_as_text(files: Files, path: str) -> str:
    """The beginning of a file as text; "" if it cannot be read."""
    try:
        with files.open_file(path) as file:
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


# Folders of files that are no tables: how many of which suffix, and what the images or sounds in them are like.


_FEWEST_PROBED, _RARER_PROBED = 2, 4

Opener = Callable[[Directory, str], Path | bytes | None]


@dataclass(frozen=True)
class _Contents:
    """A folder with what its most frequent suffix is; `main` are the sampled names of that suffix.

    `rarer` are some names of images of other suffixes, where that is an image's.
    """

    directory: Directory
    suffixes: dict[str, int]
    suffix: str
    main: tuple[str, ...]
    rarer: tuple[str, ...]


def folders_of(
    directories: Sequence[Directory], opener: Opener, *, limits: SurveyLimits, is_archive: bool = False
) -> tuple[Folder, ...]:
    """Describes folders by their file names and by a few of their files.

    Where there are many folders, such as one for each class, those that stand beside each other share the format:
    it is that of files from all of them.

    Args:
        directories: With the names of the files that are no tables; folders without any are left out.
        opener: Gives the path or the first bytes of a file, None if it cannot be read.
        limits: How many of them may be opened.
        is_archive: Whether the folders are in a zip.
    """
    contents = [_contents(directory) for directory in directories if directory.names]
    groups = _folder_groups(contents, limits.lone_folders)
    probes = max(_FEWEST_PROBED, min(limits.probes_of_one, limits.probes // max(1, len(groups))))
    folders_by_path: dict[str, Folder] = {}
    for group in groups:
        pictures, sounds = _formats(group, opener, probes)
        for folder in group:
            folders_by_path[folder.directory.path] = Folder(
                path=folder.directory.path,
                suffixes=folder.suffixes,
                names=evenly_drawn(folder.directory.names, MOST_NAMES),
                is_archive=is_archive,
                images=pictures,
                audio=sounds,
            )
    return tuple(folders_by_path[path] for path in sorted(folders_by_path))


def _contents(directory: Directory) -> _Contents:
    suffixes = Counter(map(suffix_of, directory.names))
    if directory.total > len(directory.names):
        scale = directory.total / len(directory.names)
        suffixes = Counter({suffix: round(count * scale) for suffix, count in suffixes.items()})
    suffix = max(suffixes, key=lambda candidate: (suffixes[candidate], candidate))
    main = directory.names
    if len(suffixes) > 1:
        main = tuple(name for name in directory.names if suffix_of(name) == suffix)
    rarer = [name for name in directory.names if suffix_of(name) in IMAGE_SUFFIXES - {suffix}]
    return _Contents(
        directory=directory,
        suffixes=dict(suffixes.most_common()),
        suffix=suffix,
        main=main,
        rarer=evenly_drawn(rarer, _RARER_PROBED) if suffix in IMAGE_SUFFIXES and len(suffixes) > 1 else (),
    )


def _folder_groups(contents: Sequence[_Contents], lone: int) -> list[list[_Contents]]:
    if len(contents) <= lone:
        return [[folder] for folder in contents]
    tops = {folder.directory.path.partition("/")[0] for folder in contents}
    groups: dict[tuple[str, int, str], list[_Contents]] = defaultdict(list)
    for folder in contents:
        top, _, below = folder.directory.path.partition("/")
        group_top = top if below and len(tops) <= lone else ""
        groups[group_top, folder.directory.path.count("/"), folder.suffix].append(folder)
    return list(groups.values())


def _formats(group: Sequence[_Contents], opener: Opener, probes: int) -> tuple[ImageFormat | None, AudioFormat | None]:
    suffix = group[0].suffix
    if suffix not in IMAGE_SUFFIXES | SOUND_SUFFIXES:
        return None, None
    sampled_folders = evenly_drawn(group, probes)
    name_count = -(-probes // len(sampled_folders))
    samples = [(folder.directory, name) for folder in sampled_folders for name in evenly_drawn(folder.main, name_count)]
    rarer = [(folder.directory, name) for folder in group for name in folder.rarer]
    candidates = (opener(directory, name) for directory, name in (*samples, *evenly_drawn(rarer, _RARER_PROBED)))
    files = (file for file in candidates if file is not None)
    if suffix in IMAGE_SUFFIXES:
        return image_format(files), None
    return None, audio_format(files)
