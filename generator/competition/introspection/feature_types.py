"""The columns of a table: those of no use, and numbers, dates, texts and categories among the others."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from generator.competition.introspection.column_statistics import is_whole
from generator.competition.introspection.coordinates import settle_coordinates
from generator.competition.introspection.errors import listed
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Confidence, Findings, joined
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.schema import Family
from generator.competition.survey.columns import are_dates, numbers_of
from generator.competition.survey.facts import Column, ColumnKind, Table

_CATEGORY = frozenset(
    ("id", "nbr", "code", "type", "class", "category", "cat", "zip", "region", "group", "store", "shop")
)
_CATEGORY |= {"item", "cluster", "month", "weekday", "dow", "season", "weather", "brand", "channel", "segment", "kind"}
_CATEGORY |= {"sex", "gender"}
_MOST_CATEGORIES = 300
_FEWEST_ROWS_TO_JUDGE = 5
_LONGEST_LIST = 5
_LONGEST_CATEGORY, _FEW_DIFFERENT, _OFTEN = 100, 20, 0.5
_IN_NUMBERS = re.compile(r"\s*(\d{1,2})([-/.])(\d{1,2})\2\d{2,4}")
_YEAR_FIRST = re.compile(r"\s*\d{4}[-/.]")
_MONTHS = 12
COLUMN_KINDS = ("category_columns", "number_columns", "date_columns", "short_text_columns", "text_columns")
_FEWEST_WORDS = 3  # of a text, on average
# The parts of names and codes, as the notebooks take them out.
_START, _INSIDE = (
    re.compile(r"\s*([^\d,;:()/.]+?)\s*[\d,;:()/.]"),
    re.compile(r"[,;:()/.]\s*([^\W\d][^\d,;:()/.]*)[,;:()/.]"),
)
_MANY_CATEGORIES = 64  # of which the notebooks encode one by one
_FEW_ROWS, _NEARLY_ALL, _SOME = 3, 0.9, 0.1


def settle_columns(features: Features, found: Findings, family: Family, *, group: str = "", order: str = "") -> None:
    """Settles which columns of a table the model does not see, and what the others are.

    What is neither dropped nor named by a finding is a number where it is one in the file, else a category.

    Args:
        features: The columns.
        found: Takes the findings.
        family: The family, which may read texts and coordinates or not.
        group: The column that groups rows, in a sequence or in the folds, which the model does not see either.
        order: The column that orders them, which it always sees.
    """
    columns = [column for column in features.columns if column.name != group]
    short = _settle_short_texts(columns, features, found) if "short_text_columns" in family.task else []
    columns = [column for column in columns if column.name not in short]
    prose = _settle_texts(columns, features, found) if "text_columns" in family.task else []
    dropped = _settle_dropped([column for column in columns if column.name not in prose], features, found, order)
    left = [column for column in columns if column.name not in dropped]
    if "coordinate_columns" in family.task:
        settle_coordinates(left, found)
    codes = _settle_categories(left, found)
    others = [column for column in left if column.name not in codes]
    known = {*_settle_numbers(others, features, found), *_settle_dates(others, features, found)}
    texts = [column.name for column in others if column.name not in known and numbers_of(column) is None]
    names = [*codes, *short, *texts]
    evidence = f"{listed(names)} are no numbers" if names else "every column is a number or a date"
    found.settle("has_categories", bool(names), evidence)


def _settle_short_texts(columns: Sequence[Column], features: Features, found: Findings) -> list[str]:
    """Settles the columns of names and codes that are too many for categories, but have parts or values in common."""
    named = {name for key in ("drop_columns", *COLUMN_KINDS) for name in found.decided_list(key)}
    names = [column.name for column in columns if column.name not in named and _is_short_text(column, features.train)]
    evidence = f"the rows share parts of {listed(names)}" if names else "no names and codes have parts in common"
    return found.settle("short_text_columns", names, evidence)


def _is_short_text(column: Column, table: Table) -> bool:
    is_many = _different(column, table) > _MANY_CATEGORIES or _is_free_text(column, table)
    if column.kind is not ColumnKind.TEXT or not is_many or numbers_of(column) is not None or are_dates(column):
        return False
    if sum(map(len, column.present)) / len(column.present) > _LONGEST_CATEGORY:
        return False
    if _shared(column, _INSIDE.search) >= _NEARLY_ALL:
        return True
    has_parts = _shared(column, _START.match) >= _SOME
    return _mean_words(column) < _FEWEST_WORDS and (has_parts or _is_repeated(column, table))


def _shared(column: Column, find: Callable[[str], re.Match[str] | None]) -> float:
    """The share of the values with a part that a few others have as well, if there are several such parts."""
    parts = Counter(match[1] for value in column.present if (match := find(value)) is not None)
    often = [times for times in parts.values() if times >= _FEW_ROWS]
    return sum(often) / len(column.present) if len(often) > 1 else 0.0


def _is_repeated(column: Column, table: Table) -> bool:
    """True if a good part of the values, which are too different for categories, stands in several rows."""
    repeated = sum(times for times in Counter(column.present).values() if times > 1)
    return _is_free_text(column, table) and repeated >= _SOME * len(column.present)


def _settle_texts(columns: Sequence[Column], features: Features, found: Findings) -> list[str]:
    """Settles the columns of free text, which would be dropped otherwise: words are what they have in common."""
    named = {name for key in ("drop_columns", *COLUMN_KINDS) for name in found.decided_list(key)}
    free = [column for column in columns if column.name not in named and _is_free_text(column, features.train)]
    texts = [column for column in free if _mean_words(column) >= _FEWEST_WORDS]
    means = joined([f"{_mean_words(column):.0f} words in {column.name}" for column in texts])
    evidence = f"on average {means}, too long or too varied for categories" if texts else "no column holds free text"
    return found.settle("text_columns", [column.name for column in texts], evidence)


def _mean_words(column: Column) -> float:
    return sum(len(value.split()) for value in column.present) / len(column.present)


def _settle_dropped(columns: Sequence[Column], features: Features, found: Findings, order: str) -> list[str]:
    kept = {order, *(name for key in COLUMN_KINDS for name in found.decided_list(key))}
    free = [column for column in columns if column.name not in kept]
    constant = [column.name for column in free if _is_constant(column)]
    free = [column for column in free if column.name not in constant]
    unique = [column.name for column in free if _is_another_id(column)]
    texts = [column.name for column in free if column.name not in unique and _is_free_text(column, features.train)]
    reasons = [
        (features.others, "only training examples have {}"),
        (constant, "{} never changes"),
        (unique, "{} is different in every row"),
        (texts, "{} is long text, or different in most rows"),
    ]
    clauses = [clause.format(listed(names)) for names, clause in reasons if names]
    value = [*features.others, *constant, *unique, *texts]
    return found.settle("drop_columns", value, "; ".join(clauses) or "every column may be of use")


def _is_constant(column: Column) -> bool:
    if column.kind is ColumnKind.EMPTY:
        return True
    return len(column.values) >= _FEWEST_ROWS_TO_JUDGE and len(column.distinct) == 1 and not column.missing


def _is_another_id(column: Column) -> bool:
    if len(column.values) < _FEWEST_ROWS_TO_JUDGE or not column.is_unique:
        return False
    if column.kind is ColumnKind.TEXT:
        return numbers_of(column) is None and not are_dates(column)
    if column.kind is not ColumnKind.INTEGER or not looks_like_id(column.name):
        return False
    values = [float(value) for value in column.present]
    return values == sorted(values)  # it numbers the rows


def _is_free_text(column: Column, table: Table) -> bool:
    """True if it is neither a number nor a date, and too long or too seldom the same to be a category."""
    if column.kind not in (ColumnKind.TEXT, ColumnKind.DATE) or numbers_of(column) is not None or are_dates(column):
        return False
    length = sum(len(value.strip()) for value in column.present) / len(column.present)
    return length > _LONGEST_CATEGORY or _different(column, table) > max(_FEW_DIFFERENT, _OFTEN * table.rows)


def _different(column: Column, table: Table) -> float:
    """The number of different values in the whole column, by how many were seen once and twice (Chao's estimate)."""
    if table.is_complete:
        return len(column.distinct)
    times = Counter(Counter(column.present).values())
    return len(column.distinct) + times[1] * (times[1] - 1) / (2 * (times[2] + 1))


def _settle_categories(columns: Sequence[Column], found: Findings) -> list[str]:
    names = [column.name for column in columns if _is_category(column)]
    if len(names) <= _LONGEST_LIST:
        evidence = "whole numbers whose names say that they are codes" if names else "no number looks like a code"
    else:
        evidence = f"{len(names)} columns of whole numbers whose names say that they are codes"
    return found.settle("category_columns", names, evidence, Confidence.LIKELY)


def _settle_numbers(columns: Sequence[Column], features: Features, found: Findings) -> list[str]:
    """Settles the numbers that are read as text: in training, or in the test table, which may have other marks."""
    names = []
    for column in columns:
        tables = [one for one in (column, features.in_test(column.name)) if one is not None]
        is_text = any(one.kind is ColumnKind.TEXT or one.is_quoted for one in tables)
        if is_text and numbers_of(column) is not None:
            names.append(column.name)
    evidence = f"nearly all values of {listed(names)} are numbers" if names else "no text stands among numbers"
    return found.settle("number_columns", names, evidence)


def _is_category(column: Column) -> bool:
    numbers = numbers_of(column)
    if numbers is None or not is_whole(numbers) or len(numbers.distinct) > _MOST_CATEGORIES:
        return False
    is_named = bool(words(column.name) & _CATEGORY) or column.name.lower().endswith(("class", "code", "type"))
    return is_named and 1 < len(numbers.distinct) < len(numbers.present)


def _settle_dates(columns: Sequence[Column], features: Features, found: Findings) -> list[str]:
    """Settles which columns are dates or times, and whether these begin with the day."""
    dates = [column.name for column in columns if are_dates(column)]
    evidence = f"the values of {listed(dates)} look like dates" if dates else "no text looks like dates"
    names = found.settle("date_columns", dates, evidence)
    found.settle("day_first", *_day_first([column for column in columns if column.name in names], features))
    return names


def _day_first(columns: Sequence[Column], features: Features) -> tuple[bool, str, Confidence]:
    """True if the day comes first; a date that begins with the year would be misread by who expects the day first."""
    orders: dict[str, list[str]] = {"day": [], "month": [], "year": [], "?": []}
    for column in columns:
        later = features.in_test(column.name)
        order = date_order((*column.present, *(later.present if later is not None else ())))
        if order:
            orders[order].append(column.name)
    by_day, others, unclear = orders["day"], [*orders["month"], *orders["year"]], orders["?"]
    value = len(by_day) >= max(1, len(others))
    if by_day and others:
        return value, f"the day comes first in {listed(by_day)} and not in {listed(others)}", Confidence.THIN
    if by_day:
        return value, f"the day comes first in {listed(by_day)}", Confidence.SURE
    if unclear and not others:
        return value, f"no day of {listed(unclear)} is above {_MONTHS}", Confidence.THIN
    return value, "no date begins with its day", Confidence.SURE


def date_order(values: Iterable[str]) -> str:
    """The first part of such dates: "day", "month", "year", "?" if days and months look alike, "" if it is in words."""
    given = list(values)
    parts = [match for match in map(_IN_NUMBERS.match, given) if match is not None]
    if not parts:
        return "year" if any(map(_YEAR_FIRST.match, given)) else ""
    first, second = (max(int(match[place]) for match in parts) for place in (1, 3))
    if first > _MONTHS or second > _MONTHS:
        return "day" if first > _MONTHS else "month"
    # Where dates have points, the day comes first.
    return "day" if any(match[2] == "." for match in parts) else "?"
