"""The columns of tables, from sampled cells."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Table
from generator.competition.survey.sources import FileSource, TableFile, suffix_of
from generator.competition.tables.formats import (
    ARCHIVE_SUFFIXES,
    FORMATS,
    LOOSE_SUFFIXES,
    NotATableError,
    TableFormat,
    UnreadableTableError,
)
from generator.competition.tables.readers import Sample, SampleBounds, sample_delimited, sample_json, sample_parquet
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
