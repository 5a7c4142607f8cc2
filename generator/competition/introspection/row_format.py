"""The format of all tables, and the ids of test rows that have no id column."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

from generator.competition.facts import TargetKind
from generator.competition.introspection.evidence import (
    NULL_WORDS_KEY,
    Findings,
    IntrospectionError,
    MissingColumnError,
    UnusableValueError,
    join_names,
    looks_like_id,
    null_words_of,
)
from generator.competition.introspection.ids import without_labels
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.targets import Targets
from generator.competition.survey.columns import as_number
from generator.competition.survey.facts import Column, ColumnKind, Table
from generator.competition.tables.formats import TableFormat
from generator.text import printable, quote_text

# The ids of the test rows, where the test table has no column of them: put together from others, or counted.


_SEPARATORS = ("_", "-", ":", ".", "/", "|", "#", "+", "@", "~", " ", "")
_COLUMNS_COMPARED, _MOST_COLUMNS, _MOST_TRIED, _ROW_HEAD = 60, 3, 2_000, 20
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


def find_row_ids(tables: Tables, targets: Targets, id_column: str, findings: Findings) -> RowIds | None:
    """Finds how the ids of the sample submission are made from the test rows; None if they are not.

    Raises:
        MissingColumnError: The user named a column that the test table does not have.
        IntrospectionError: The sample has no ids, and neither the order of its rows nor its other columns say which are
            which.
    """
    sample, test = tables.sample, tables.test
    if sample is not None and test is not None and "has_sample_ids" in findings:
        return _of_sample_without_ids(sample, test, findings)
    sample_ids = sample.column(id_column) if sample is not None else None
    if sample is None or test is None or sample_ids is None or targets.lookup is not None:
        return None
    names = _decided_columns(test, findings)
    if test.column(id_column) is not None and not names:
        return None
    ids = without_labels(sample_ids.present, targets.names) if targets.are_keyed else sample_ids.present
    is_whole = sample.is_complete and test.is_complete
    # The pieces that were sampled of two long tables are the same only at their beginnings.
    compared_ids = ids if is_whole else ids[:_ROW_HEAD]
    first = _first_number(ids, sample, test)
    for parts, separator in islice(_ways(compared_ids, test, names, findings), _MOST_TRIED):
        is_other = first is not None and len(parts) == 1 and not looks_like_id(parts[0].name)
        if not is_other and _are_made(compared_ids, parts, separator):
            part_names = " and ".join(part.name for part in parts)
            separator_clause = f', with "{separator}" between them,' if separator else ""
            evidence = f"the values of {part_names} in {test.name}{separator_clause} form the ids of {sample.name}"
            return RowIds(tuple(part.name for part in parts), separator, 0, evidence)
    if names:
        evidence = "no sampled row contradicts it"
        return None if is_whole else RowIds(tuple(names), _SEPARATORS[0], 0, evidence)
    return (
        None
        if first is None
        else RowIds((), "", first, f"the ids of {sample.name} count the rows of {test.name} from {first}")
    )


def _of_sample_without_ids(sample: Table, test: Table, findings: Findings) -> RowIds:
    """How rows are told apart where the sample has no ids: by their position, or by columns that both tables have."""
    names, is_whole = _decided_columns(test, findings), sample.is_complete and test.is_complete
    pairs = [
        (column, test_column)
        for column in sample.columns
        if (test_column := test.column(column.name)) and test_column.present
    ]
    length = None if is_whole else _ROW_HEAD
    if not names and all(column.values[:length] == test_column.values[:length] for column, test_column in pairs):
        return RowIds((), "", 0, f"the rows of {sample.name} are those of {test.name}, in the same order")
    decided_ways = [[sample.column(name) for name in names]] if names else None
    shared_columns = [column for column, _ in pairs]
    ways = decided_ways or [
        list(way) for count in range(1, _MOST_COLUMNS + 1) for way in combinations(shared_columns, count)
    ]
    for way in ways[:_MOST_TRIED]:
        keys, test_keys = (
            _keys(way),
            _keys([test.column(column.name) if column is not None else None for column in way]),
        )
        if (
            keys
            and len(set(keys)) == len(keys)
            and len(set(test_keys)) == len(test_keys)
            and set(keys) == set(test_keys)
        ):
            columns = tuple(column.name for column in way if column is not None)
            evidence = f"the values of {' and '.join(columns)} identify the rows of {sample.name} and {test.name}"
            return RowIds(columns, _SEPARATORS[0], 0, evidence)
    raise IntrospectionError(
        f"No column of {printable(sample.path)} is an id, and its rows are in another order than those of "
        f"{printable(test.path)}. Add an id column to copies of both tables, and name the copies with --sample and "
        "--test."
    )


def _keys(columns: Sequence[Column | None]) -> list[tuple[str | None, ...]]:
    """The rows of some columns; nothing where one is not there."""
    values = [column.values for column in columns if column is not None]
    return list(zip(*values, strict=True)) if len(values) == len(columns) else []


def settle_row_ids(row_ids: RowIds | None, tables: Tables, targets: Targets, findings: Findings) -> None:
    """Settles how the test rows get their ids, where they have no column of them.

    Raises:
        IntrospectionError: Nothing leads from the test rows to the ids that are asked for.
    """
    if row_ids is not None and row_ids.columns:
        findings.settle("id_columns", list(row_ids.columns), row_ids.evidence)
        findings.settle("id_separator", row_ids.separator, row_ids.evidence)
        return
    if row_ids is not None:
        findings.settle("first_id", row_ids.first, row_ids.evidence)
        return
    sample, test, name = tables.sample, tables.test, str(findings["id_column"].value)
    sample_ids = sample.column(name) if sample is not None else None
    if sample is None or test is None or sample_ids is None or targets.lookup is not None:
        return
    ids = test.column(name)
    is_whole = sample.is_complete and test.is_complete and not targets.are_keyed
    are_others = ids is None or (is_whole and not ids.distinct & sample_ids.distinct)
    if are_others or "id_columns" in findings.hints.overrides:
        raise IntrospectionError(
            f'The ids of {printable(sample.path)}, such as "{printable(sample_ids.values[0] or "")}", are not in '
            f"{printable(test.path)}, and they are not composed of two or three of its columns. Name these columns "
            "with --set id_columns=A,B and --set id_separator=_, name another table with --test, or add a column "
            f"{printable(name)} to this one."
        )


def _first_number(ids: Sequence[str], sample: Table, test: Table) -> int | None:
    """The number of the first row, if the ids count the rows; else None."""
    head = ids if sample.is_complete else ids[:_ROW_HEAD]
    if not head or not all(key.isdecimal() and str(int(key)) == key for key in head):
        return None
    # Of all ids any order will do, as they are joined.
    numbers = sorted(map(int, head)) if sample.is_complete else list(map(int, head))
    is_growing = all(later == number + 1 for number, later in pairwise(numbers))
    fewer, larger = sorted((sample.rows, test.rows))
    return numbers[0] if is_growing and fewer >= _AS_MANY * larger else None


def _decided_columns(test: Table, findings: Findings) -> list[str]:
    names = findings.decided_list("id_columns")
    for name in names:
        if test.column(name) is None:
            columns = test.column_names
            raise MissingColumnError(key="id_columns", column=name, table=test.path, columns=columns)
    return names


def _ways(
    ids: Sequence[str], test: Table, names: Sequence[str], findings: Findings
) -> Iterator[tuple[tuple[Column, ...], str]]:
    """Yields columns, and what may stand between their values, that can make the first ids."""
    decided_separator = findings.hints.overrides.get("id_separator")
    separators = _SEPARATORS if decided_separator is None else (str(decided_separator),)
    if names:
        parts = tuple(column for name in names for column in test.columns if column.name == name)
        yield from ((parts, separator) for separator in separators)
        return
    columns = [column for column in test.columns[:_COLUMNS_COMPARED] if column.present]
    yield from (((column,), "") for column in columns)
    for middle_count, separator in product(range(_MOST_COLUMNS - 1), separators):
        cuts = [list(_cuts(key, separator)) for key in ids[:_ROW_HEAD]]
        firsts = [
            candidate
            for candidate in columns
            if all(any(head in candidate.distinct for head, _ in splits) for splits in cuts)
        ]
        lasts = [
            candidate
            for candidate in columns
            if all(any(end in candidate.distinct for _, end in splits) for splits in cuts)
        ]
        for start, *middle, end in product(firsts, *[columns] * (middle_count if separator else 0), lasts):
            yield (start, *middle, end), separator


def _cuts(key: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yields the beginning and the end of an id, cut at each separator."""
    for place in range(1, len(key)):
        if key.startswith(separator, place):
            yield key[:place], key[place + len(separator) :]


def _are_made(ids: Sequence[str], parts: Sequence[Column], separator: str) -> bool:
    """True if the values of some columns make all of these ids, each from one row."""
    rows = zip(*(part.values for part in parts), strict=True)
    row_keys = [separator.join(map(str, row)) for row in rows if None not in row]
    return set(ids) <= set(row_keys) and len(set(row_keys)) == len(row_keys)


# The format that suits all tables: separator, encoding, decimal sign, words for nothing, and where the ids are.


_UTF_8, _MARKED_UTF_8 = "utf-8", "utf-8-sig"
_OF_ASCII = frozenset((_UTF_8, _MARKED_UTF_8, "cp1252", "latin-1"))  # plain letters are the same bytes in all of them


def settle_format(tables: Tables, id_column: str, targets: Targets, findings: Findings) -> None:
    """Settles how the tables and the sample are written, and which tables have the id column.

    Words that pandas takes for missing, such as None, are kept where ids and labels are such words.

    Raises:
        UnusableValueError: The user decided on a separator or an encoding that a table does not have.
    """
    examples, texts = _examples(tables), _texts(tables)
    first = examples[0] if examples else None
    with_comma = next((table for table in examples if table.decimal == ","), first)
    reference = _first_that_tells(texts)
    _check_decided(examples, texts, findings)
    for key, table, usual in (("separator", first, ","), ("encoding", reference, _UTF_8), ("decimal", with_comma, ".")):
        value = usual if table is None else str(getattr(table, key))
        findings.settle(key, value, "usual" if table is None else f"the format of {table.name}")
    trailing_table = next((table for table in texts if table.has_trailing_separator), None)
    evidence = (
        f"rows of {trailing_table.name} end in a separator"
        if trailing_table is not None
        else "no row ends in a separator"
    )
    findings.settle("trailing_separator", trailing_table is not None, evidence)
    findings.settle(NULL_WORDS_KEY, *_keeps_null_words(texts, id_column, targets))
    _settle_formatted(tables, id_column, targets.names, findings)
    for key, table in (("has_training_ids", tables.train), ("has_test_ids", tables.test)):
        if table is not None:
            has_ids = table.column(id_column) is not None
            findings.settle(key, has_ids, f"{table.name} has {'the' if has_ids else 'no'} column {id_column}")


def _settle_formatted(tables: Tables, id_column: str, targets: Collection[str], findings: Findings) -> None:
    """Settles the columns whose numbers are written with separators of thousands, a currency or a unit."""
    classes = set() if findings["target_kind"].value == TargetKind.NUMBER else {*targets}
    apart = {id_column, *classes}
    for key in ("category_columns", "short_text_columns", "text_columns", "drop_columns"):
        value = findings[key].value if key in findings else []
        apart |= {*value} if isinstance(value, list) else set()
    decided_names = {
        *findings.decided_list("number_columns"),
        *(targets if findings.decided_text("target_kind") else ()),
    }
    input_tables = (table for table in (tables.train, tables.labels, tables.test) if table is not None)
    columns = [column for table in input_tables for column in table.columns if column.name not in apart]
    pairs = [(column, as_number(column, is_decided=column.name in decided_names)) for column in columns]
    # Words among the numbers of a target are read as missing, too.
    formatted_pairs = [
        (column, numbers)
        for column, numbers in pairs
        if numbers is not None and (numbers.is_formatted or (column.name in targets and column.kind is ColumnKind.TEXT))
    ]
    signs = {column.name: numbers.decimal for column, numbers in reversed(formatted_pairs)}  # as in training
    names = list(dict.fromkeys(column.name for column, _ in formatted_pairs))
    evidence = "all numbers have the plain format"
    if formatted_pairs:
        evidence = f'the numbers of {join_names(names)} have the format "{quote_text(_longest(formatted_pairs[0][0]))}"'
    findings.settle("formatted_columns", names, evidence)
    other_names = [name for name in names if signs[name] != findings["decimal"].value]
    if other_names:
        evidence = f"the numbers of {join_names(other_names)} have another decimal sign than those of the file"
        findings.settle("other_decimal_columns", other_names, evidence)


def _longest(column: Column) -> str:
    return max(sorted(column.distinct), key=len)  # the first of several, in whatever order a set has them


def format_differences(tables: Tables) -> Iterator[str]:
    """Sentences on tables that the notebooks would misread, which read all of them as they read the first."""
    examples, texts = _examples(tables), _texts(tables)
    yield from (
        _difference(table, "separator", examples[0])
        for table in examples
        if table.separator != examples[0].separator and len(table.columns) > 1
    )
    yield from (
        f"{printable(table.path)} has a space after its separators, which becomes part of names and labels. Save the "
        "table again without these spaces."
        for table in examples
        if any(name.startswith(" ") for name in table.column_names)
    )
    yield from (
        f"{printable(table.path)} has rows with more cells than its header, and the notebooks stop there. Put quotes "
        "around cells that contain a separator, or remove these rows."
        for table in texts
        if table.has_long_rows
    )
    with_comma = [table for table in examples if table.decimal == ","]
    for table in examples if with_comma else ():
        cells = (value for column in table.columns if column.kind is ColumnKind.NUMBER for value in column.distinct)
        if table.decimal == "." and any("." in value for value in cells):
            yield _difference(table, "decimal", with_comma[0])
    reference = _first_that_tells(texts)
    if reference is not None:
        yield from (_difference(table, "encoding", reference) for table in texts if not _is_read_as(table, reference))


def _keeps_null_words(texts: Sequence[Table], id_column: str, targets: Targets) -> tuple[bool, str]:
    ids = [column for table in texts if (column := table.column(id_column)) is not None]
    labels = [column for column in targets.columns if any(column.name in table.column_names for table in texts)]
    evidence = null_words_of(ids, labels, targets.answer_names, targets.answers)
    return bool(evidence), evidence or "no id or label is such a word"


def _check_decided(examples: Iterable[Table], texts: Iterable[Table], findings: Findings) -> None:
    """That the tables have the separator, and can be read in the encoding; which one of several was meant, may be."""
    separator, encoding = findings.decided_text("separator"), findings.decided_text("encoding")
    for table in examples if separator else ():
        if len(table.columns) > 1 and separator != table.separator and not _divides(separator, table):
            requirement = f"{table.separator!a}, which {table.path} has"
            raise UnusableValueError(key="separator", value=separator, requirement=requirement)
    for table in texts if encoding else ():
        if not _can_be_read(table, encoding):
            requirement = f"{table.encoding}, the encoding of {table.path}, or a compatible one"
            raise UnusableValueError(key="encoding", value=encoding, requirement=requirement)


def _divides(separator: str, table: Table) -> bool:
    """True if this separates cells of the header; of several characters it is a pattern, as pandas takes it."""
    header = (table.separator if len(table.separator) == 1 else " ").join(table.column_names)
    try:
        return bool(re.search(separator if len(separator) > 1 else re.escape(separator), header))
    except re.error:
        return False


def _can_be_read(table: Table, encoding: str) -> bool:
    """True if the sampled bytes are text in this encoding too, with the same plain letters."""
    text = "".join((*table.column_names, ",", *(value for column in table.columns for value in column.distinct)))
    plain = "".join(filter(str.isascii, text))
    try:
        text.encode(table.encoding, errors="ignore").decode(encoding)
        return plain.encode(table.encoding).decode(encoding) == plain
    except (LookupError, UnicodeError):
        return False


def _examples(tables: Tables) -> list[Table]:
    candidates = (tables.train, tables.labels, tables.test)
    return [table for table in candidates if table is not None and table.format is TableFormat.CSV]


def _texts(tables: Tables) -> list[Table]:
    sample = tables.sample
    return [*_examples(tables), *([sample] if sample is not None and sample.format is TableFormat.CSV else [])]


def _first_that_tells(texts: list[Table]) -> Table | None:
    """The first table that has more than plain letters, since those are the same in most encodings."""
    telling = (table for table in texts if not _is_plain(table))
    return next(telling, texts[0] if texts else None)


def _is_plain(table: Table) -> bool:
    if table.encoding not in _OF_ASCII:
        return False
    cells = (value for column in table.columns for value in column.distinct)
    return all(map(str.isascii, table.column_names)) and all(map(str.isascii, cells))


def _is_read_as(table: Table, reference: Table) -> bool:
    if {table.encoding, reference.encoding} <= {_UTF_8, _MARKED_UTF_8}:
        return True
    return table.encoding == reference.encoding or (reference.encoding in _OF_ASCII and _is_plain(table))


def _difference(table: Table, name: str, first: Table) -> str:
    value, first_value = getattr(table, name), getattr(first, name)
    return (
        f"{printable(table.path)} and {printable(first.path)} differ in the {name}, {value!a} and {first_value!a}, but "
        "the notebooks read both with the same one. Save one of them again."
    )
