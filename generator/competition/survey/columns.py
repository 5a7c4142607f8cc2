"""Columns from sampled cells: their names, their missing values, the kind of what they hold."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from generator.competition.survey.facts import Column, ColumnKind
from generator.untrusted import printable

# What pandas.read_csv reads as missing by default.
MISSING = frozenset(("", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null")) | frozenset(
    ("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
)
_NEARLY_ALL = 0.95  # of a column's values, for it to be what they are
_LONGEST_NUMBER_OR_DATE = 64
_BOOLEAN = re.compile("True|TRUE|true|False|FALSE|false")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI]nf(?:inity)?)\s*")
_TIME = r"[0-2]?\d:[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?(?:\s?[aApP][mM])?(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = "|".join(
    (
        r"\d{4}([-/.])[01]?\d\1[0-3]?\d",
        r"[0-3]?\d([-/.])[0-3]?\d\2(?:\d{4}|\d\d)",
        r"\d{4}-[01]\d",
        rf"[0-3]?\d[-\s]{_MONTH}[-,\s]\s?(?:\d{{4}}|\d\d)",
        rf"{_MONTH}\s[0-3]?\d,?\s\d{{4}}",
    )
)
_WITH_DAY = rf"(?:{_DAY})(?:(?:T|,?\s){_TIME})?"
_DATE = re.compile(rf"\s*(?:{_WITH_DAY}|{_TIME})\s*", re.IGNORECASE)
_CALENDAR = re.compile(rf"\s*{_WITH_DAY}\s*", re.IGNORECASE)
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


def columns_of(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Column, ...]:
    """Builds the columns of a table of text, where markers such as `NA` stand for missing values.

    Args:
        names: The header.
        rows: The fields of each row; a short row is filled up with missing values, a long one is cut.
    """
    width = len(names)
    whole = [row if len(row) == width else [*row[:width], *[""] * (width - len(row))] for row in rows]
    cells: Iterable[Sequence[str]] = zip(*whole, strict=True) if whole else ((),) * width
    return tuple(
        replace(
            column_of(name, (None if value in MISSING else value for value in values)),
            has_null_words=any(value in MISSING for value in values if value),
        )
        for name, values in zip(names, cells, strict=True)
    )


def kind_of(values: Iterable[str]) -> ColumnKind:
    """What all these values are, none of which is missing."""
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
    if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
        return column
    if column.kind is not ColumnKind.TEXT or _share(column, _NUMBER) < _NEARLY_ALL:
        return None
    values = (value if value is not None and _NUMBER.fullmatch(value) else None for value in column.values)
    return column_of(column.name, values)


def are_dates(column: Column) -> bool:
    """Whether nearly all values name a day or a month; an hour alone does not."""
    return column.kind in (ColumnKind.TEXT, ColumnKind.DATE) and _share(column, _CALENDAR) >= _NEARLY_ALL


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
