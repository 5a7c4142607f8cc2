"""Columns from sampled cells: their names, their missing values, the kind of what they hold."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from generator.competition.survey.facts import NUMBERS, Column, ColumnKind
from generator.competition.tables.formats import TableFormat
from generator.competition.tables.sample import Sample
from generator.untrusted import printable, storable

# What pandas.read_csv reads as missing by default.
MISSING = frozenset(("", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null")) | frozenset(
    ("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
)
_OF_RECORDS = (TableFormat.JSON, TableFormat.JSON_LINES)
_NEARLY_ALL = 0.95  # of a column's values, for it to be what they are
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
    shared: dict[str, str] = {}
    kept = tuple(None if value is None else shared.setdefault(value, value) for value in values)
    return Column(name=name, kind=(kind if shared else None) or kind_of(shared), values=kept)


def columns_of(sample: Sample) -> tuple[tuple[Column, ...], tuple[str, ...]]:
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
        made = [_column_of_text(name, map(str, values)) for name, values in zip(names, cells, strict=True)]
    elif sample.format is TableFormat.PARQUET:
        kinds = map(ColumnKind, sample.kinds)
        made = [column_of(name, map(_text, of), kind) for name, of, kind in zip(names, cells, kinds, strict=True)]
    else:
        made = [
            replace(column_of(name, map(_text, values)), is_quoted=any(isinstance(value, str) for value in values))
            for name, values in zip(names, cells, strict=True)
        ]
    return tuple(made), remarks


def _column_of_text(name: str, cells: Iterable[str]) -> Column:
    values = [(cell, cell in MISSING) for cell in cells]
    column = column_of(name, (None if is_missing else cell for cell, is_missing in values))
    return replace(column, has_null_words=any(is_missing and cell for cell, is_missing in values))


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


def numbers_of(column: Column) -> Column | None:
    """The column with its numbers alone, where nearly all values are numbers; else None."""
    if column.kind in NUMBERS:
        return column
    if column.kind is not ColumnKind.TEXT or _share(column, _NUMBER) < _NEARLY_ALL:
        return None
    values = (value if value is not None and _NUMBER.fullmatch(value) else None for value in column.values)
    return column_of(column.name, values)


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
    for written in (*_DAY_FORMATS, *in_numbers):
        try:
            moment = datetime.strptime(day, written).replace(tzinfo=UTC)
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
    written = [column.name for column in columns if _has_commas(column)]
    if not written:
        return None
    return tuple(
        column_of(column.name, map(_with_point, column.values)) if column.name in written else column
        for column in columns
    )


def _has_commas(column: Column) -> bool:
    if column.kind is not ColumnKind.TEXT or not any("," in value for value in column.distinct):
        return False
    return _share(column, _WITH_COMMA) >= _NEARLY_ALL


def _with_point(value: str | None) -> str | None:
    return value.replace(",", ".") if value is not None and _WITH_COMMA.fullmatch(value) else value


def _share(column: Column, pattern: re.Pattern[str]) -> float:
    if not column.present:
        return 0.0
    fitting = {value for value in column.distinct if len(value) <= _LONGEST_NUMBER_OR_DATE and pattern.fullmatch(value)}
    return sum(value in fitting for value in column.present) / len(column.present)


def header_names(header: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names every column once, as pandas does it: `Unnamed: 3` for an empty name, `x.1` for a second `x`.

    Returns:
        The names, and remarks on what was renamed.
    """
    given = [name if name.strip() else f"Unnamed: {position}" for position, name in enumerate(header)]
    taken, seen, names = set(given), Counter[str](), []
    for name in given:
        unique = name
        while seen[name] and unique in taken:
            unique = f"{name}.{seen[name]}"
            seen[name] += 1
        seen[name] += not seen[name]
        taken.add(unique)
        names.append(unique)
    return tuple(names), _remarks(header, given)


def _remarks(header: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    remarks = []
    empty = sum(not name.strip() for name in header)
    if empty:
        remarks.append(f"has {empty} columns without a name" if empty > 1 else "has a column without a name")
    repeated = [name for name, times in Counter(given).items() if times > 1]
    if repeated:
        remarks.append(f'has more than one column named "{printable(repeated[0][:80])}"; later ones are numbered')
    return tuple(remarks)
