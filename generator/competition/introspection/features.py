"""The features of an example: columns and their types, texts, sequences, coordinates."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from generator.competition.facts import TargetKind
from generator.competition.introspection.evidence import (
    Candidate,
    Confidence,
    Findings,
    Reason,
    UnusableValueError,
    is_whole,
    join_clauses,
    join_names,
    looks_like_id,
    overlap,
    split_words,
    weigh,
)
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.targets import Targets
from generator.competition.metrics import METRICS
from generator.competition.schema import Family, preset_for
from generator.competition.survey import NUMBERS, Column, ColumnKind, Table, are_dates, numbers_of

_MOST_CODES = 20
_MEASURES = NUMBERS | {ColumnKind.BOOLEAN}


@dataclass(frozen=True)
class FeatureColumns:
    """The columns that say something of an example beside its id.

    Attributes:
        train: The training table.
        test: The test table, or None.
        id_column: The column with the ids.
        columns: The columns of the training table that the test examples have too, without the id, unless it is a date.
        train_only_names: The columns that only training examples have, without the targets.
    """

    train: Table
    test: Table | None
    id_column: str
    columns: tuple[Column, ...]
    train_only_names: tuple[str, ...]

    @property
    def measures(self) -> tuple[Column, ...]:
        """Those that are numbers and say something about an example: ids of something else do not."""
        return tuple(column for column in self.columns if column.kind in _MEASURES and not self._is_id(column))

    def in_test(self, name: str) -> Column | None:
        """The same column of the test table, if there is one."""
        return self._by_name.get(name)

    def _is_id(self, column: Column) -> bool:
        if column.kind is not ColumnKind.INTEGER or not looks_like_id(column.name):
            return False
        later = self.in_test(column.name)
        return len(column.distinct) > _MOST_CODES or (later is not None and not column.distinct & later.distinct)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.test.columns} if self.test is not None else {}


def find_features(tables: Tables, targets: Targets, id_column: str) -> FeatureColumns | None:
    """Sorts the columns of the training table; None if there is no such table."""
    if tables.train is None:
        return None
    ids = [table.column(id_column) for table in (tables.train, tables.test) if table is not None]
    # Where the ids are dates, they say something about their examples.
    is_date = all(column is not None and column.kind is ColumnKind.DATE for column in ids)
    apart = {*targets.names, *([] if is_date else [id_column])}
    columns = [column for column in tables.train.columns if column.name not in apart]
    known_names = set((tables.test or tables.train).column_names)
    shared_columns = [column for column in columns if column.name in known_names]
    return FeatureColumns(
        train=tables.train,
        test=tables.test,
        id_column=id_column,
        columns=tuple(shared_columns),
        train_only_names=tuple(column.name for column in columns if column.name not in known_names),
    )


# The coordinates of a table: columns of latitudes and longitudes, and the places that they are of.


_KEY = "coordinate_columns"
_LATITUDE, _LONGITUDE = re.compile("latitude|lat"), re.compile("longitude|long|lng|lon")
_LARGEST_LATITUDE, _LARGEST_LONGITUDE = 90, 180
_FEWEST_PLACES, _MOST_PLACES = 2, 4


def settle_coordinates(columns: Sequence[Column], findings: Findings) -> None:
    """Settles the latitudes and longitudes, in turns, of two places or more, between which there are distances.

    Raises:
        UnusableValueError: The user decided on something else.
    """
    places = _coordinate_pairs(columns)
    if len(places) < _FEWEST_PLACES:
        evidence = "no row has two pairs of latitude and longitude"
        names = findings.settle(_KEY, list[str](), evidence)
    else:
        value = [column.name for place in places[:_MOST_PLACES] for column in place]
        names = findings.settle(_KEY, value, f"the names and values of {join_names(value)} are coordinates")
    if len(names) % 2 or len(names) == _FEWEST_PLACES:
        requirement = (
            "the latitude and the longitude of a place, then those of another, such as lat_a,lon_a,lat_b,lon_b"
        )
        raise UnusableValueError(key=_KEY, value=", ".join(names), requirement=requirement)


def _coordinate_pairs(columns: Sequence[Column]) -> list[tuple[Column, Column]]:
    """The latitude and the longitude of each place, in the order of the table."""
    longitudes = {_LONGITUDE.sub("*", column.name.lower()): column for column in columns}
    pairs = [(column, longitudes.get(_LATITUDE.sub("*", column.name.lower()))) for column in columns]
    return [
        (latitude, longitude)
        for latitude, longitude in pairs
        if longitude is not None
        and longitude is not latitude
        and _is_within(latitude, _LARGEST_LATITUDE)
        and _is_within(longitude, _LARGEST_LONGITUDE)
    ]


def _is_within(column: Column, limit: float) -> bool:
    numbers = numbers_of(column)
    return numbers is not None and all(abs(float(value)) <= limit for value in numbers.distinct)


# The columns of a table: those of no use, and numbers, dates, texts and categories among the others.


_CATEGORY = frozenset(
    ("id", "nbr", "code", "type", "class", "category", "cat", "zip", "region", "group", "store", "shop")
)
_CATEGORY |= {"item", "cluster", "month", "weekday", "dow", "season", "weather", "brand", "channel", "segment", "kind"}
_CATEGORY |= {"sex", "gender"}
_MOST_CATEGORIES = 300
_FEWEST_ROWS_TO_JUDGE = 5
_LONGEST_LIST = 5
_LONGEST_CATEGORY, _FEW_DIFFERENT, _FREQUENT_SHARE = 100, 20, 0.5
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
_FEW_ROWS, _NEARLY_ALL, _SOME_SHARE = 3, 0.9, 0.1


def settle_columns(
    features: FeatureColumns, findings: Findings, family: Family, *, group: str = "", order: str = ""
) -> None:
    """Settles which columns of a table the model does not see, and what the others are.

    What is neither dropped nor named by a finding is a number where it is one in the file, else a category.

    Args:
        features: The columns.
        findings: Takes the findings.
        family: The family, which may read texts and coordinates or not.
        group: The column that groups rows, in a sequence or in the folds, which the model does not see either.
        order: The column that orders them, which it always sees.
    """
    columns = [column for column in features.columns if column.name != group]
    short = _settle_short_texts(columns, features, findings) if "short_text_columns" in family.task else []
    columns = [column for column in columns if column.name not in short]
    prose = _settle_texts(columns, features, findings) if "text_columns" in family.task else []
    dropped_names = _settle_dropped(
        [column for column in columns if column.name not in prose], features, findings, order
    )
    left = [column for column in columns if column.name not in dropped_names]
    if "coordinate_columns" in family.task:
        settle_coordinates(left, findings)
    codes = _settle_categories(left, findings)
    other_columns = [column for column in left if column.name not in codes]
    numeric_names = {
        *_settle_numbers(other_columns, features, findings),
        *_settle_dates(other_columns, features, findings),
    }
    texts = [column.name for column in other_columns if column.name not in numeric_names and numbers_of(column) is None]
    names = [*codes, *short, *texts]
    evidence = f"{join_names(names)} are not numeric" if names else "every column is a number or a date"
    findings.settle("has_categories", bool(names), evidence)


def _settle_short_texts(columns: Sequence[Column], features: FeatureColumns, findings: Findings) -> list[str]:
    """Settles the columns of names and codes that are too many for categories, but have parts or values in common."""
    decided_names = {name for key in ("drop_columns", *COLUMN_KINDS) for name in findings.decided_list(key)}
    names = [
        column.name for column in columns if column.name not in decided_names and _is_short_text(column, features.train)
    ]
    evidence = f"parts of {join_names(names)} repeat across rows" if names else "no names or codes have parts in common"
    return findings.settle("short_text_columns", names, evidence)


def _is_short_text(column: Column, table: Table) -> bool:
    is_many = _different(column, table) > _MANY_CATEGORIES or _is_free_text(column, table)
    if column.kind is not ColumnKind.TEXT or not is_many or numbers_of(column) is not None or are_dates(column):
        return False
    if sum(map(len, column.present)) / len(column.present) > _LONGEST_CATEGORY:
        return False
    if _common_share(column, _INSIDE.search) >= _NEARLY_ALL:
        return True
    has_parts = _common_share(column, _START.match) >= _SOME_SHARE
    return _mean_words(column) < _FEWEST_WORDS and (has_parts or _is_repeated(column, table))


def _common_share(column: Column, find: Callable[[str], re.Match[str] | None]) -> float:
    """The share of the values with a part that a few others have as well, if there are several such parts."""
    parts = Counter(match[1] for value in column.present if (match := find(value)) is not None)
    frequent_counts = [times for times in parts.values() if times >= _FEW_ROWS]
    return sum(frequent_counts) / len(column.present) if len(frequent_counts) > 1 else 0.0


def _is_repeated(column: Column, table: Table) -> bool:
    """True if a good part of the values, which are too different for categories, stands in several rows."""
    repeat_count = sum(times for times in Counter(column.present).values() if times > 1)
    return _is_free_text(column, table) and repeat_count >= _SOME_SHARE * len(column.present)


def _settle_texts(columns: Sequence[Column], features: FeatureColumns, findings: Findings) -> list[str]:
    """Settles the columns of free text, which would be dropped otherwise: words are what they have in common."""
    decided_names = {name for key in ("drop_columns", *COLUMN_KINDS) for name in findings.decided_list(key)}
    free = [column for column in columns if column.name not in decided_names and _is_free_text(column, features.train)]
    texts = [column for column in free if _mean_words(column) >= _FEWEST_WORDS]
    means = join_clauses([f"{_mean_words(column):.0f} words in {column.name}" for column in texts])
    evidence = f"on average {means}, too long or too varied for categories" if texts else "no column has free text"
    return findings.settle("text_columns", [column.name for column in texts], evidence)


def _mean_words(column: Column) -> float:
    return sum(len(value.split()) for value in column.present) / len(column.present)


def _settle_dropped(columns: Sequence[Column], features: FeatureColumns, findings: Findings, order: str) -> list[str]:
    kept_names = {order, *(name for key in COLUMN_KINDS for name in findings.decided_list(key))}
    free = [column for column in columns if column.name not in kept_names]
    constant = [column.name for column in free if _is_constant(column)]
    free = [column for column in free if column.name not in constant]
    unique = [column.name for column in free if _is_another_id(column)]
    texts = [column.name for column in free if column.name not in unique and _is_free_text(column, features.train)]
    reasons = [
        (features.train_only_names, "only the training table has {}"),
        (constant, "{} is constant"),
        (unique, "{} is different in every row"),
        (texts, "{} is long text, or different in most rows"),
    ]
    clauses = [clause.format(join_names(names)) for names, clause in reasons if names]
    value = [*features.train_only_names, *constant, *unique, *texts]
    return findings.settle("drop_columns", value, "; ".join(clauses) or "every column may be useful")


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
    return length > _LONGEST_CATEGORY or _different(column, table) > max(_FEW_DIFFERENT, _FREQUENT_SHARE * table.rows)


def _different(column: Column, table: Table) -> float:
    """The number of different values in the whole column, by how many were seen once and twice (Chao's estimate)."""
    if table.is_complete:
        return len(column.distinct)
    times = Counter(Counter(column.present).values())
    return len(column.distinct) + times[1] * (times[1] - 1) / (2 * (times[2] + 1))


def _settle_categories(columns: Sequence[Column], findings: Findings) -> list[str]:
    names = [column.name for column in columns if _is_category(column)]
    if len(names) <= _LONGEST_LIST:
        evidence = "integer columns with names of codes" if names else "no number looks like a code"
    else:
        evidence = f"{len(names)} integer columns with names of codes"
    return findings.settle("category_columns", names, evidence, Confidence.LIKELY)


def _settle_numbers(columns: Sequence[Column], features: FeatureColumns, findings: Findings) -> list[str]:
    """Settles the numbers that are read as text: in training, or in the test table, which may have other marks."""
    names = []
    for column in columns:
        tables = [version for version in (column, features.in_test(column.name)) if version is not None]
        is_text = any(version.kind is ColumnKind.TEXT or version.is_quoted for version in tables)
        if is_text and numbers_of(column) is not None:
            names.append(column.name)
    evidence = (
        f"nearly all values of {join_names(names)} are numbers" if names else "no column has both text and numbers"
    )
    return findings.settle("number_columns", names, evidence)


def _is_category(column: Column) -> bool:
    numbers = numbers_of(column)
    if numbers is None or not is_whole(numbers) or len(numbers.distinct) > _MOST_CATEGORIES:
        return False
    is_named = bool(split_words(column.name) & _CATEGORY) or column.name.lower().endswith(("class", "code", "type"))
    return is_named and 1 < len(numbers.distinct) < len(numbers.present)


def _settle_dates(columns: Sequence[Column], features: FeatureColumns, findings: Findings) -> list[str]:
    """Settles which columns are dates or times, and whether these begin with the day."""
    dates = [column.name for column in columns if are_dates(column)]
    evidence = f"the values of {join_names(dates)} look like dates" if dates else "no text looks like dates"
    names = findings.settle("date_columns", dates, evidence)
    findings.settle("day_first", *_day_first([column for column in columns if column.name in names], features))
    return names


def _day_first(columns: Sequence[Column], features: FeatureColumns) -> tuple[bool, str, Confidence]:
    """True if the day comes first; a date that begins with the year would be misread by who expects the day first."""
    orders: dict[str, list[str]] = {"day": [], "month": [], "year": [], "?": []}
    for column in columns:
        later = features.in_test(column.name)
        order = date_order((*column.present, *(later.present if later is not None else ())))
        if order:
            orders[order].append(column.name)
    by_day, other_names, unclear = orders["day"], [*orders["month"], *orders["year"]], orders["?"]
    value = len(by_day) >= max(1, len(other_names))
    if by_day and other_names:
        return (
            value,
            f"the day comes first in {join_names(by_day)} but not in {join_names(other_names)}",
            Confidence.THIN,
        )
    if by_day:
        return value, f"the day comes first in {join_names(by_day)}", Confidence.SURE
    if unclear and not other_names:
        return value, f"no day of {join_names(unclear)} is above {_MONTHS}", Confidence.THIN
    return value, "no date starts with the day", Confidence.SURE


def date_order(values: Iterable[str]) -> str:
    """The first part of such dates: "day", "month", "year", "?" if days and months look alike, "" if it is in words."""
    dates = list(values)
    parts = [match for match in map(_IN_NUMBERS.match, dates) if match is not None]
    if not parts:
        return "year" if any(map(_YEAR_FIRST.match, dates)) else ""
    first, second = (max(int(match[place]) for match in parts) for place in (1, 3))
    if first > _MONTHS or second > _MONTHS:
        return "day" if first > _MONTHS else "month"
    # Where dates have points, the day comes first.
    return "day" if any(match[2] == "." for match in parts) else "?"


# Rows that belong together in an order: the column that groups them, and the one that orders them.


_ORDERED_KINDS = NUMBERS | {ColumnKind.DATE}
_ORDER_WORDS = frozenset(
    ("time", "step", "order", "seq", "sequence", "timestamp", "number", "frame", "position", "day")
)
_ORDER_WORDS |= {"date", "index", "seconds", "minute", "hour"}
_SHORTEST_GROUP, _FEWEST_GROUPS, _MOST_BLOCKS = 3, 3, 8
_GROWING, _RESTARTING, _NEW = 0.95, 0.5, 0.5
_COLUMNS_COMPARED = 40
_DECISIVE_WEIGHT = 6.0
_MOST_STEPS, _STEPS_MULTIPLE = 512, 8
_MOST_COUNTED, _COMMON = 1_000, 0.1


@dataclass(frozen=True)
class Groups:
    """A grouping of rows.

    Attributes:
        group: The column whose equal values make a group.
        order: The column that grows within each group.
        rows: How many rows a group has on average.
        longest: How many rows the largest group has.
        candidate: The column that groups, how sure it is, and why.
    """

    group: str
    order: str
    rows: float
    longest: int
    candidate: Candidate


def find_groups(features: FeatureColumns, findings: Findings) -> Groups | None:
    """Finds a group column and an order column, or takes those that the user named; None if there are none."""
    user_groups = _decided_groups(features, findings)
    if user_groups is not None:
        return user_groups
    columns = features.train.columns[:_COLUMNS_COMPARED]
    names = {column.name for column in features.columns} | {features.id_column}
    usable_columns = [column for column in columns if column.name in names]
    fitting = [
        groups
        for group in usable_columns
        if _makes_groups(group) and _is_of_sequences(group, features)
        for order in usable_columns
        if order is not group and (groups := _groups(group, order, features)) is not None
    ]
    return max(fitting, key=lambda groups: groups.candidate.weight, default=None)


def settle_sequences(groups: Groups, features: FeatureColumns, findings: Findings, family: Family) -> None:
    """Settles the columns that make a sequence, and those that the model reads."""
    is_per_group = groups.group == features.id_column
    per = "each id of the sample submission is a group" if is_per_group else "each row has its own id"
    settle_columns(features, findings, family, group=groups.group, order=groups.order)
    findings.settle("group_column", groups.group, groups.candidate.evidence)
    findings.settle("order_column", groups.order, f"it increases within each {groups.group} and restarts at the next")
    findings.settle("prediction_per", "group" if is_per_group else "row", per)
    longest = f"the longest sampled group has {groups.longest:,} rows"
    findings.settle("sequence_length", steps_length(groups.longest), longest)


def steps_length(longest: int) -> int:
    """Rows that are read together: enough for the longest group, a multiple of 8, at most 512."""
    return min(_MOST_STEPS, -(-longest // _STEPS_MULTIPLE) * _STEPS_MULTIPLE)


def _decided_groups(features: FeatureColumns, findings: Findings) -> Groups | None:
    group = features.train.column(findings.decided_text("group_column"))
    order = features.train.column(findings.decided_text("order_column"))
    if group is None or order is None:
        return None
    rows = _rows_of_a_group(group, order)
    evidence = "set by the user"
    return Groups(group.name, order.name, rows, _longest(group), Candidate(group.name, evidence, _DECISIVE_WEIGHT))


def _makes_groups(column: Column) -> bool:
    if column.kind not in (ColumnKind.INTEGER, ColumnKind.TEXT) or column.missing:
        return False
    runs, groups = 1 + sum(value != next_value for value, next_value in pairwise(column.values)), len(column.distinct)
    is_together = runs <= groups + _MOST_BLOCKS
    return groups >= _FEWEST_GROUPS and is_together and len(column.values) >= _SHORTEST_GROUP * groups


def _is_of_sequences(group: Column, features: FeatureColumns) -> bool:
    """Test examples are other groups; the same ones at a later time would be a forecast for rows."""
    if group.name == features.id_column:
        return True
    test = features.in_test(group.name)
    return test is not None and overlap(group, test) < _NEW


def _groups(group: Column, order: Column, features: FeatureColumns) -> Groups | None:
    if order.kind not in _ORDERED_KINDS or order.missing or order.name == features.id_column:
        return None
    later = features.in_test(order.name)
    if later is None or (group.name != features.id_column and _are_all_later(order, later)):
        return None
    steps = list(zip(pairwise(group.values), pairwise(_positions(order)), strict=True))
    inside = [
        position < next_position for (value, next_value), (position, next_position) in steps if value == next_value
    ]
    restarts = [
        position >= next_position for (value, next_value), (position, next_position) in steps if value != next_value
    ]
    if not inside or sum(inside) < _GROWING * len(inside) or sum(restarts) < _RESTARTING * max(1, len(restarts)):
        return None
    rows = _rows_of_a_group(group, order)
    reasons = [
        Reason(
            4,
            f"rows with the same {group.name} are adjacent, {rows:.0f} on average, and {order.name} increases in them",
        ),
        Reason(1 * looks_like_id(group.name), f"{group.name} has the name of an id"),
        Reason(1 * bool(split_words(order.name) & _ORDER_WORDS), f"{order.name} has the name of an order"),
        Reason(1 * (group.name == features.id_column), "each id is a group"),
    ]
    longest = max(_longest(group), round(rows))
    return Groups(group.name, order.name, rows, longest, weigh(group.name, reasons))


def _longest(group: Column) -> int:
    return max(Counter(group.values).values(), default=1)


def _rows_of_a_group(group: Column, order: Column) -> float:
    """The rows of a group: what was sampled in pieces cuts groups, so short runs say little.

    A group that was counted from 0 or 1 has as many rows as its last number says, even if no piece has all of them.
    """
    lengths = sorted(Counter(group.values).values())
    whole = lengths[len(lengths) // 2 :]
    commonest, times = Counter(lengths).most_common(1)[0]
    usual = commonest if times > _COMMON * len(lengths) else sum(whole) / len(whole)
    if order.kind is not ColumnKind.INTEGER:
        return usual
    places = [float(place) for place in order.present]
    first, last = min(places), max(places)
    are_counted = first in (0, 1) and len(order.distinct) <= last - first + 1
    span = last - first + 1 if are_counted else 0
    return span if lengths[-1] < span <= _MOST_COUNTED * lengths[-1] else usual


def _are_all_later(train: Column, test: Column) -> bool:
    """True if the test examples go on where the training examples end: a forecast, whose groups go on too."""
    if test.kind is not train.kind or not test.present:
        return False
    return bool(min(_positions(test)) > max(_positions(train)))


def _positions(order: Column) -> Sequence[Any]:
    if order.kind is ColumnKind.DATE:
        return order.present
    return [float(value) for value in order.present]


# The columns of text that are read, and their length.


_NAMES = frozenset(("text", "texts", "comment", "comments", "review", "reviews", "title", "question", "sentence"))
_NAMES |= {"premise", "hypothesis", "tweet", "description", "content", "body", "phrase", "prompt", "response", "answer"}
_NAMES |= {"essay", "excerpt", "abstract", "headline", "summary", "message", "query", "document", "anchor"}
_NAMES |= {"transcript", "ingredients", "search", "target"}
_LONG, _SHORT = 6, 1.5
_LETTERS_PER_WORD = 8  # languages without spaces, and their words in others
_TOKENS_PER_WORD, _TOKENS_MULTIPLE, _LONGEST = 1.5, 128, 512
_MOST_TEXTS = 6
_SEVERAL = 20
_LEAST = 2.5
_HARDLY_LESS = 3
_DIFFERENT = 0.3
_FEW_TEXTS, _FEW_COUNTED_TEXTS = 1_000, 5_000
_ENGLISH = frozenset(("the", "of", "and", "to", "for", "with", "that", "this", "are"))
_ENGLISH_WORDS, _OTHER_LETTERS, _LETTERS_IN_ENGLISH = 0.01, 0.005, 0.05  # shares; of letters, those outside of ASCII
_READ_OF_A_TEXT = 500  # letters, which tell its language


@dataclass(frozen=True)
class TextColumns:
    """The columns with something to read.

    Attributes:
        columns: The columns of text, at most six, in the order of the table.
        best: The one that is text most clearly, and why; None if there is none.
        left_out: Further columns of text.
    """

    columns: tuple[Column, ...]
    best: Candidate | None = None
    left_out: tuple[str, ...] = ()


def find_text_columns(features: FeatureColumns) -> TextColumns:
    """Weighs the columns that could be text."""
    of_text = [column for column in features.columns if column.kind is ColumnKind.TEXT]
    texts = [column for column in of_text if numbers_of(column) is None]
    is_all = not features.measures and len(texts) == len(of_text)
    weighed_texts = [(weigh(column.name, _reasons(column, is_all=is_all)), column) for column in texts]
    fitting = [(candidate, column) for candidate, column in weighed_texts if candidate.weight >= _LEAST]
    ranking = sorted(fitting, key=lambda pair: (-pair[0].weight, -_mean_word_count(pair[1])))
    # A further column counts if it is text about as clearly as the first, or says something in words beside it.
    alike = [column for candidate, column in ranking if candidate.weight >= ranking[0][0].weight - _HARDLY_LESS]
    if alike:
        alike += [column for column in texts if column not in alike and _is_beside(column)]
    kept_names = {column.name for column in alike[:_MOST_TEXTS]}
    return TextColumns(
        columns=tuple(column for column in features.columns if column.name in kept_names),
        left_out=tuple(column.name for column in alike[_MOST_TEXTS:]),
        best=max((candidate for candidate, _ in fitting), key=lambda candidate: candidate.weight, default=None),
    )


def settle_texts(texts: TextColumns, features: FeatureColumns, examples: int, findings: Findings) -> None:
    """Settles the columns of text, those beside them, the length, and what the model starts from."""
    columns = texts.columns or tuple(column for column in features.columns if column.kind is ColumnKind.TEXT)[:1]
    mean = join_clauses([f"{_mean_word_count(column):.0f} words in {column.name}" for column in columns])
    length = sequence_length(columns)
    remark = f"; {join_names(texts.left_out)} is not used" if texts.left_out else ""
    beside = "the numeric columns of both training and test, except ids"
    findings.settle("text_columns", [column.name for column in columns], f"on average {mean}{remark}")
    findings.settle("number_columns", [column.name for column in features.measures], beside)
    evidence = f"at most {length} tokens in 95% of the sampled texts, within the usual limits"
    findings.settle("sequence_length", length, evidence)
    _settle_pretrained(columns, findings)
    _settle_counts(columns, findings)
    has_counts = "text_counts" in findings and bool(findings["text_counts"].value)
    if examples <= (_FEW_COUNTED_TEXTS if has_counts else _FEW_TEXTS) and not findings.text("pretrained"):
        findings.settle("linear_member", True, f"{examples:,} texts are few for a neural network alone")


def _settle_pretrained(columns: Sequence[Column], findings: Findings) -> None:
    """Settles the pretrained model of texts in a language, where the framework reads one."""
    language = _language(columns)
    name = preset_for(str(findings["family"].value), language=language, kinds=findings.hints.models)
    if name or "pretrained" in findings.hints.overrides:
        findings.settle("pretrained", name, f"the texts are in {language}" if name else "no default for these texts")


def _language(columns: Sequence[Column]) -> str:
    """The language of texts, "English" or "other languages"; "" of what is in none, such as sequences of DNA."""
    texts = [value[:_READ_OF_A_TEXT] for column in columns for value in column.present]
    in_words = [word for text in texts for word in text.lower().split()]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    english = sum(word in _ENGLISH for word in in_words) / max(1, len(in_words))
    non_ascii_share = sum(not letter.isascii() for letter in letters) / max(1, len(letters))
    if english >= _ENGLISH_WORDS and non_ascii_share < _LETTERS_IN_ENGLISH:
        return "English"
    return "other languages" if non_ascii_share >= _OTHER_LETTERS else ""


def _settle_counts(columns: Sequence[Column], findings: Findings) -> None:
    """Settles whether counts of the texts are learned from: for grades and other numbers, and for several texts."""
    metric = METRICS.get(str(findings["metric"].value)) if "metric" in findings else None
    is_graded = findings.member("target_kind", TargetKind) is TargetKind.NUMBER or (metric and metric.is_ordinal)
    sizes = [_mean_word_count(column) for column in columns]  # a keyword beside a text is no second text
    is_of_several = sum(size > max(sizes) / 4 for size in sizes) > 1 and not findings.text("pretrained")
    if is_graded or is_of_several:
        text_traits = "common words of several texts" if len(columns) > 1 else "length and style of a text"
        target = "a grade or another number" if is_graded else "a class"
        findings.settle("text_counts", True, f"{text_traits} are good features for {target}")
    elif "text_counts" in findings.hints.overrides:
        findings.settle("text_counts", False, "the default; no file contradicts it")


def sequence_length(columns: Sequence[Column]) -> int:
    """Tokens that hold 95% of the examples: a multiple of 128, at most 512."""
    lengths = sorted(
        sum(_word_count(value or "") for value in row)
        for row in zip(*(column.values for column in columns), strict=True)
    )
    if not lengths:
        return _TOKENS_MULTIPLE
    tokens = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)] * _TOKENS_PER_WORD + 3
    return min(_LONGEST, max(_TOKENS_MULTIPLE, -(-int(tokens) // _TOKENS_MULTIPLE) * _TOKENS_MULTIPLE))


def _reasons(column: Column, *, is_all: bool) -> list[Reason]:
    mean = _mean_word_count(column)
    is_varied = len(column.distinct) > _DIFFERENT * len(column.present)
    # A phrase or a question that is asked about many times is text as well, if it is called so.
    is_named = bool(split_words(column.name) & _NAMES) and (is_varied or len(column.distinct) > _SEVERAL)
    return [
        Reason(2 * (is_named and mean >= _SHORT), f"{column.name} has the name of a text column"),
        Reason(3 * (mean >= _LONG and is_varied), f"{column.name} has {mean:.0f} words on average"),
        Reason(2.5 * (is_all and (is_varied or is_named) and mean >= _SHORT), "there are no numeric columns"),
    ]


def _is_beside(column: Column) -> bool:
    """True for words beside a text, such as its keyword: neither ids, which hardly repeat, nor a few categories."""
    is_of_words = not looks_like_id(column.name) and len(column.distinct) > _SEVERAL
    parts = sum(len(value.split()) for value in column.present)
    return is_of_words and (parts >= _SHORT * len(column.present) or 2 * len(column.distinct) < parts)


def _mean_word_count(column: Column) -> float:
    return sum(map(_word_count, column.present)) / len(column.present) if column.present else 0.0


def _word_count(text: str) -> float:
    return max(float(len(text.split())), len(text) / _LETTERS_PER_WORD)
