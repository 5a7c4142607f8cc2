"""The format that suits all tables: separator, encoding, decimal sign, words for nothing, and where the ids are."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from generator.competition.facts import TargetKind
from generator.competition.introspection.errors import UnusableValueError, listed
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.null_words import NULL_WORDS_KEY, null_words_of
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.target_columns import Targets
from generator.competition.survey.columns import as_number
from generator.competition.survey.facts import Column, ColumnKind, Table
from generator.competition.tables.formats import TableFormat
from generator.untrusted import printable, quoted

_UTF_8, _MARKED_UTF_8 = "utf-8", "utf-8-sig"
_OF_ASCII = frozenset((_UTF_8, _MARKED_UTF_8, "cp1252", "latin-1"))  # plain letters are the same bytes in all of them


def settle_format(tables: Tables, id_column: str, targets: Targets, found: Findings) -> None:
    """Settles how the tables and the sample are written, and which tables have the id column.

    Words that pandas takes for missing, such as None, are kept where ids and labels are such words.

    Raises:
        UnusableValueError: The user decided on a separator or an encoding that a table does not have.
    """
    examples, texts = _examples(tables), _texts(tables)
    first = examples[0] if examples else None
    with_comma = next((table for table in examples if table.decimal == ","), first)
    encoded = _first_that_tells(texts)
    _check_decided(examples, texts, found)
    for key, table, usual in (("separator", first, ","), ("encoding", encoded, _UTF_8), ("decimal", with_comma, ".")):
        value = usual if table is None else str(getattr(table, key))
        found.settle(key, value, "usual" if table is None else f"as {table.name} is written")
    ended = next((table for table in texts if table.has_trailing_separator), None)
    evidence = f"rows of {ended.name} end in a separator" if ended is not None else "no row ends in a separator"
    found.settle("trailing_separator", ended is not None, evidence)
    found.settle(NULL_WORDS_KEY, *_keeps_null_words(texts, id_column, targets))
    _settle_formatted(tables, id_column, targets.names, found)
    for key, table in (("has_training_ids", tables.train), ("has_test_ids", tables.test)):
        if table is not None:
            has_ids = table.column(id_column) is not None
            found.settle(key, has_ids, f"{table.name} has {'the' if has_ids else 'no'} column {id_column}")


def _settle_formatted(tables: Tables, id_column: str, targets: Collection[str], found: Findings) -> None:
    """Settles the columns whose numbers are written with separators of thousands, a currency or a unit."""
    classes = set() if found["target_kind"].value == TargetKind.NUMBER else {*targets}
    apart = {id_column, *classes}
    for key in ("category_columns", "short_text_columns", "text_columns", "drop_columns"):
        value = found[key].value if key in found else []
        apart |= {*value} if isinstance(value, list) else set()
    decided = {*found.decided_list("number_columns"), *(targets if found.decided("target_kind") else ())}
    known = (table for table in (tables.train, tables.labels, tables.test) if table is not None)
    columns = [column for table in known for column in table.columns if column.name not in apart]
    pairs = [(column, as_number(column, is_decided=column.name in decided)) for column in columns]
    # Words among the numbers of a target are read as missing, too.
    formatted = [
        (column, numbers)
        for column, numbers in pairs
        if numbers is not None and (numbers.is_formatted or (column.name in targets and column.kind is ColumnKind.TEXT))
    ]
    signs = {column.name: numbers.decimal for column, numbers in reversed(formatted)}  # as in training
    names = list(dict.fromkeys(column.name for column, _ in formatted))
    evidence = "numbers are written plainly"
    if formatted:
        evidence = f'the numbers of {listed(names)} are written like "{quoted(_longest(formatted[0][0]))}"'
    found.settle("formatted_columns", names, evidence)
    others = [name for name in names if signs[name] != found["decimal"].value]
    if others:
        evidence = f"the numbers of {listed(others)} have another decimal sign than those of the file"
        found.settle("other_decimal_columns", others, evidence)


def _longest(column: Column) -> str:
    return max(column.distinct, key=len)


def differences(tables: Tables) -> Iterator[str]:
    """Sentences on tables that the notebooks would misread, which read all of them as they read the first."""
    examples, texts = _examples(tables), _texts(tables)
    yield from (
        _difference(table, "separator", examples[0])
        for table in examples
        if table.separator != examples[0].separator and len(table.columns) > 1
    )
    yield from (
        f"{printable(table.path)} has a space behind its separators, which becomes part of names and labels: write it "
        "anew without these spaces."
        for table in examples
        if any(name.startswith(" ") for name in table.column_names)
    )
    yield from (
        f"{printable(table.path)} has rows with more cells than its header, at which the notebooks stop: put quotes "
        "around cells that have a separator in them, or leave these rows out."
        for table in texts
        if table.has_long_rows
    )
    with_comma = [table for table in examples if table.decimal == ","]
    for table in examples if with_comma else ():
        cells = (value for each in table.columns if each.kind is ColumnKind.NUMBER for value in each.distinct)
        if table.decimal == "." and any("." in value for value in cells):
            yield _difference(table, "decimal", with_comma[0])
    encoded = _first_that_tells(texts)
    if encoded is not None:
        yield from (_difference(table, "encoding", encoded) for table in texts if not _is_read_as(table, encoded))


def _keeps_null_words(texts: Sequence[Table], id_column: str, targets: Targets) -> tuple[bool, str]:
    ids = [column for table in texts if (column := table.column(id_column)) is not None]
    labels = [column for column in targets.columns if any(column.name in table.column_names for table in texts)]
    evidence = null_words_of(ids, labels, targets.asked, targets.answers)
    return bool(evidence), evidence or "no id and no label is such a word"


def _check_decided(examples: Iterable[Table], texts: Iterable[Table], found: Findings) -> None:
    """That the tables have the separator, and can be read in the encoding; which one of several was meant, may be."""
    separator, encoding = found.decided("separator"), found.decided("encoding")
    for table in examples if separator else ():
        if len(table.columns) > 1 and separator != table.separator and not _divides(separator, table):
            wanted = f"{table.separator!a}, which {table.path} has"
            raise UnusableValueError(key="separator", value=separator, wanted=wanted)
    for table in texts if encoding else ():
        if not _can_be_read(table, encoding):
            wanted = f"{table.encoding}, which {table.path} was read in, or another one of the same bytes"
            raise UnusableValueError(key="encoding", value=encoding, wanted=wanted)


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
    known = (tables.train, tables.labels, tables.test)
    return [table for table in known if table is not None and table.format is TableFormat.CSV]


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


def _is_read_as(table: Table, encoded: Table) -> bool:
    if {table.encoding, encoded.encoding} <= {_UTF_8, _MARKED_UTF_8}:
        return True
    return table.encoding == encoded.encoding or (encoded.encoding in _OF_ASCII and _is_plain(table))


def _difference(table: Table, name: str, first: Table) -> str:
    found, wanted = getattr(table, name), getattr(first, name)
    return (
        f"{printable(table.path)} has another {name} than {printable(first.path)}, {found!a} and not {wanted!a}, and "
        "the notebooks read both alike: write one of them anew."
    )
