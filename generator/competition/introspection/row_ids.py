"""The ids of the test rows, where the test table has no column of them: put together from others, or counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

from generator.competition.introspection.errors import IntrospectionError, MissingColumnError
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.id_column import without_labels
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.target_columns import Targets
from generator.competition.introspection.vocabulary import looks_like_id
from generator.competition.survey.facts import Column, Table
from generator.untrusted import printable

_SEPARATORS = ("_", "-", ":", ".", "/", "|", "#", "+", "@", "~", " ", "")
_COLUMNS_COMPARED, _MOST_COLUMNS, _MOST_TRIED, _HEAD = 60, 3, 2_000, 20
_AS_MANY = 0.9  # rows that were only estimated


@dataclass(frozen=True)
class RowIds:
    """The ids of the rows of a table without a column of them.

    Attributes:
        columns: The columns whose values make an id; none where an id is the number of a row.
        separator: What stands between these values.
        first: The number of the first row.
        evidence: A clause on what was seen.
    """

    columns: tuple[str, ...]
    separator: str
    first: int
    evidence: str


def find_row_ids(tables: Tables, targets: Targets, id_column: str, found: Findings) -> RowIds | None:
    """Finds how the ids of the sample submission are made from the test rows; None if they are not.

    Raises:
        MissingColumnError: The user named a column that the test table does not have.
        IntrospectionError: The sample has no ids, and neither the order of its rows nor its other columns say which are
            which.
    """
    sample, test = tables.sample, tables.test
    if sample is not None and test is not None and "has_sample_ids" in found:
        return _of_sample_without_ids(sample, test, found)
    asked = sample.column(id_column) if sample is not None else None
    if sample is None or test is None or asked is None or targets.lookup is not None:
        return None
    names = _decided_columns(test, found)
    if test.column(id_column) is not None and not names:
        return None
    ids = without_labels(asked.present, targets.names) if targets.are_keyed else asked.present
    is_whole = sample.is_complete and test.is_complete
    # The pieces that were sampled of two long tables are the same only at their beginnings.
    known = ids if is_whole else ids[:_HEAD]
    first = _first_number(ids, sample, test)
    for parts, separator in islice(_ways(known, test, names, found), _MOST_TRIED):
        is_other = first is not None and len(parts) == 1 and not looks_like_id(parts[0].name)
        if not is_other and _are_made(known, parts, separator):
            few = " and ".join(part.name for part in parts)
            between = f', with "{separator}" between them,' if separator else ""
            evidence = f"the values of {few} in {test.name}{between} are the ids of {sample.name}"
            return RowIds(tuple(part.name for part in parts), separator, 0, evidence)
    if names:
        evidence = "nothing that was seen says otherwise"
        return None if is_whole else RowIds(tuple(names), _SEPARATORS[0], 0, evidence)
    return (
        None
        if first is None
        else RowIds((), "", first, f"the ids of {sample.name} count the rows of {test.name} from {first}")
    )


def _of_sample_without_ids(sample: Table, test: Table, found: Findings) -> RowIds:
    """How rows are told apart where the sample has no ids: by their position, or by columns that both tables have."""
    names, is_whole = _decided_columns(test, found), sample.is_complete and test.is_complete
    both = [(column, same) for column in sample.columns if (same := test.column(column.name)) and same.present]
    length = None if is_whole else _HEAD
    if not names and all(column.values[:length] == same.values[:length] for column, same in both):
        return RowIds((), "", 0, f"the rows of {sample.name} are those of {test.name}, in the same order")
    few = [[sample.column(name) for name in names]] if names else None
    shared = [column for column, _ in both]
    ways = few or [list(way) for count in range(1, _MOST_COLUMNS + 1) for way in combinations(shared, count)]
    for way in ways[:_MOST_TRIED]:
        keys, known = _keys(way), _keys([test.column(column.name) if column is not None else None for column in way])
        if keys and len(set(keys)) == len(keys) and len(set(known)) == len(known) and set(keys) == set(known):
            columns = tuple(column.name for column in way if column is not None)
            evidence = f"the values of {' and '.join(columns)} tell the rows of {sample.name} and {test.name} apart"
            return RowIds(columns, _SEPARATORS[0], 0, evidence)
    raise IntrospectionError(
        f"No column of {printable(sample.path)} is an id, and its rows are in another order than those of "
        f"{printable(test.path)}: put a column of ids into copies of both, and name these with --sample and --test."
    )


def _keys(columns: Sequence[Column | None]) -> list[tuple[str | None, ...]]:
    """The rows of some columns; nothing where one is not there."""
    there = [column.values for column in columns if column is not None]
    return list(zip(*there, strict=True)) if len(there) == len(columns) else []


def settle_row_ids(row_ids: RowIds | None, tables: Tables, targets: Targets, found: Findings) -> None:
    """Settles how the test rows get their ids, where they have no column of them.

    Raises:
        IntrospectionError: Nothing leads from the test rows to the ids that are asked for.
    """
    if row_ids is not None and row_ids.columns:
        found.settle("id_columns", list(row_ids.columns), row_ids.evidence)
        found.settle("id_separator", row_ids.separator, row_ids.evidence)
        return
    if row_ids is not None:
        found.settle("first_id", row_ids.first, row_ids.evidence)
        return
    sample, test, name = tables.sample, tables.test, str(found["id_column"].value)
    asked = sample.column(name) if sample is not None else None
    if sample is None or test is None or asked is None or targets.lookup is not None:
        return
    ids = test.column(name)
    is_whole = sample.is_complete and test.is_complete and not targets.are_keyed
    are_others = ids is None or (is_whole and not ids.distinct & asked.distinct)
    if are_others or "id_columns" in found.hints.overrides:
        raise IntrospectionError(
            f'The ids of {printable(sample.path)}, such as "{printable(asked.values[0] or "")}", are not in '
            f"{printable(test.path)}, nor are they made of the values of two or three of its columns: name those with "
            "--set id_columns=A,B and --set id_separator=_, name another table with --test, or put a column "
            f"{printable(name)} into this one."
        )


def _first_number(ids: Sequence[str], sample: Table, test: Table) -> int | None:
    """The number of the first row, if the ids count the rows; else None."""
    head = ids if sample.is_complete else ids[:_HEAD]
    if not head or not all(key.isdecimal() and str(int(key)) == key for key in head):
        return None
    # Of all ids any order will do, as they are joined.
    numbers = sorted(map(int, head)) if sample.is_complete else list(map(int, head))
    is_growing = all(later == number + 1 for number, later in pairwise(numbers))
    fewer, more = sorted((sample.rows, test.rows))
    return numbers[0] if is_growing and fewer >= _AS_MANY * more else None


def _decided_columns(test: Table, found: Findings) -> list[str]:
    names = found.decided_list("id_columns")
    for name in names:
        if test.column(name) is None:
            columns = test.column_names
            raise MissingColumnError(key="id_columns", column=name, table=test.path, columns=columns)
    return names


def _ways(
    ids: Sequence[str], test: Table, names: Sequence[str], found: Findings
) -> Iterator[tuple[tuple[Column, ...], str]]:
    """Yields columns, and what may stand between their values, that can make the first ids."""
    decided = found.hints.overrides.get("id_separator")
    separators = _SEPARATORS if decided is None else (str(decided),)
    if names:
        parts = tuple(column for name in names for column in test.columns if column.name == name)
        yield from ((parts, separator) for separator in separators)
        return
    columns = [column for column in test.columns[:_COLUMNS_COMPARED] if column.present]
    yield from (((column,), "") for column in columns)
    for between, separator in product(range(_MOST_COLUMNS - 1), separators):
        cuts = [list(_cuts(key, separator)) for key in ids[:_HEAD]]
        firsts = [each for each in columns if all(any(one in each.distinct for one, _ in cut) for cut in cuts)]
        lasts = [each for each in columns if all(any(end in each.distinct for _, end in cut) for cut in cuts)]
        for start, *middle, end in product(firsts, *[columns] * (between if separator else 0), lasts):
            yield (start, *middle, end), separator


def _cuts(key: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yields the beginning and the end of an id, cut at each separator."""
    for place in range(1, len(key)):
        if key.startswith(separator, place):
            yield key[:place], key[place + len(separator) :]


def _are_made(ids: Sequence[str], parts: Sequence[Column], separator: str) -> bool:
    """True if the values of some columns make all of these ids, each from one row."""
    rows = zip(*(part.values for part in parts), strict=True)
    made = [separator.join(map(str, row)) for row in rows if None not in row]
    return set(ids) <= set(made) and len(set(made)) == len(made)
