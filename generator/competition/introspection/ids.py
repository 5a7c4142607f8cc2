"""The ids of rows, and the columns of the sample submission that are filled."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations

from generator.competition.introspection.evidence import (
    Confidence,
    Findings,
    IntrospectionError,
    MissingColumnError,
    Reason,
    best_first,
    class_column,
    code_column,
    image_and_class,
    is_nameless,
    is_whole,
    looks_like_id,
    overlap,
    weigh,
)
from generator.competition.introspection.tables import Tables, names_classes
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, InferenceServer, Table
from generator.text import printable

# The id column, rows that have none, and ids that name a part of an example too.


_ID_COLUMN_KEY = "id_column"
_CANDIDATES = 50
_FEWEST_EXAMPLES = 2
_EXAMPLES_CHECKED = 50
_OVERLAP = 0.1
_ALIKE_SHARE, _ID_HEAD = 0.9, 20  # rows that were only estimated
_MADE_NAMES = ("row", "row_number", "number_of_row", "position_of_row")


def find_id(tables: Tables, server: InferenceServer | None, findings: Findings) -> str:
    """Finds the id column of the sample submission, else that of the test or the training examples.

    Where no column of a sample tells which test row its rows are about, the notebooks give both an id, whose column is
    called as no other is.

    Without a sample, an inference server may ask for one answer for all rows of a group: its gateway names the column.

    Raises:
        IntrospectionError: Only several columns together tell the rows apart, of a sample whatever the user named.
        MissingColumnError: The user named a column that does not exist.
    """
    table = tables.sample or tables.test or tables.train
    if table is None:
        return findings.settle(_ID_COLUMN_KEY, "id", "the names of the test files are the ids", Confidence.LIKELY)
    decided_name = findings.decided_text(_ID_COLUMN_KEY)
    decided_column = table.column(decided_name) if decided_name else None
    if decided_name and decided_column is None:
        raise MissingColumnError(key=_ID_COLUMN_KEY, column=decided_name, table=table.path, columns=table.column_names)
    columns = table.columns[:_CANDIDATES]
    of_masks = image_and_class(tables.sample, tables.train)
    if of_masks is not None:
        image, kind = of_masks
        evidence = f"{table.name} has a row for each {image.name} and each {kind.name}"
        return findings.settle(_ID_COLUMN_KEY, image.name, evidence)
    of_batches = server if tables.sample is None else None
    candidates = [weigh(column.name, _reasons(column, table, tables, of_batches)) for column in columns]
    best = table.column(str(best_first(candidates)[0].value)) if candidates else None
    if decided_column is None and table is tables.sample and best is not None and _has_no_ids(best, tables):
        test = tables.test.name if tables.test is not None else ""
        evidence = f"no column of {table.name} is an id, and it has as many rows as {test}"
        findings.settle("has_sample_ids", value=False, evidence=evidence)
        return findings.settle(_ID_COLUMN_KEY, _free_name(tables), evidence)
    pair = _unique_together(columns) if table is tables.sample and decided_column is None else ()
    if pair and tables.test is not None and _has_rows(tables.test, pair, table):
        evidence = f"no column of {table.name} is an id; {pair[0].name} and {pair[1].name} together identify its rows"
        findings.settle("has_sample_ids", value=False, evidence=evidence)
        return findings.settle(_ID_COLUMN_KEY, _free_name(tables), evidence)
    # Of a test without a sample, the id that the user names may be that of a group.
    if decided_column is None or (table is tables.sample and not decided_column.is_unique):
        _check_that_one_is_unique(table, columns, is_sample=table is tables.sample)
    return str(findings.choose(_ID_COLUMN_KEY, candidates))


def parts_of(ids: Sequence[str], names: Collection[str] = ()) -> tuple[str, ...]:
    """The parts that every example has, where ids are `<example>_<part>`.

    Args:
        ids: Sampled ids, neighbours as in the file.
        names: What the parts may be, which may have underscores themselves; anything without one if empty.

    Returns:
        The parts in order of appearance; nothing if the ids are not of that form.
    """
    examples: dict[str, list[str]] = defaultdict(list)
    for key in ids:
        position = _start_of_name(key, names) if names else key.rfind("_")
        if position <= 0:
            return ()
        examples[key[:position]].append(key[position + 1 :])
    # The first and the last example of a sample may be cut.
    parts = list(examples.values())
    whole = parts[1:-1] or parts
    if len(parts) < _FEWEST_EXAMPLES or len(whole[0]) < _FEWEST_EXAMPLES:
        return ()
    match_count = sum(set(example_parts) == set(whole[0]) for example_parts in whole[:_EXAMPLES_CHECKED])
    return tuple(whole[0]) if match_count >= min(len(whole), _EXAMPLES_CHECKED) * 0.9 else ()


def without_labels(ids: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """The examples of ids such as `<example>_<name>`, each once."""
    cuts = ((key, _start_of_name(key, names)) for key in ids)
    return tuple(dict.fromkeys(key[:position] if position else key for key, position in cuts))


def _start_of_name(key: str, names: Collection[str]) -> int:
    """Where the underscore in front of the longest of the names is that an id ends in; 0 if it ends in none."""
    cuts = (match.start() for match in re.finditer("_", key))
    return next((position for position in cuts if key[position + 1 :] in names), 0)


def _has_no_ids(best: Column, tables: Tables) -> bool:
    """True if not even the best column of the sample is an id, and its rows may be those of the test table in order."""
    sample, test, train = tables.sample, tables.test, tables.train
    if sample is None or test is None or test is train or looks_like_id(best.name):
        return False
    fewer, larger = sorted((sample.rows, test.rows))
    is_whole = sample.is_complete and test.is_complete
    if not (fewer == larger if is_whole else fewer >= _ALIKE_SHARE * larger):
        return False
    in_test = test.column(best.name)
    is_answer = in_test is None and train is not None and train.column(best.name) is not None
    is_other = in_test is not None and not (in_test.is_unique and overlap(best, in_test) > _OVERLAP)
    return not best.is_unique or _is_prose(best) or _is_measured(best) or is_answer or is_other


def _free_name(tables: Tables) -> str:
    used_names = {name for table in (tables.sample, tables.test, tables.train) if table for name in table.column_names}
    return next((name for name in _MADE_NAMES if name not in used_names), "_" + "_".join(sorted(used_names)))


def _is_measured(column: Column) -> bool:
    return column.kind is ColumnKind.NUMBER and not is_whole(column)


def _is_prose(column: Column) -> bool:
    phrase_count = sum(" " in value.strip() for value in column.present)
    return column.kind is ColumnKind.TEXT and phrase_count > len(column.present) / 2


def _unique_together(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Two columns that tell the rows apart together, where no single one does."""
    if not columns or any(column.is_unique for column in columns):
        return ()
    repeating = [column for column in columns if len(column.distinct) > 1]
    for left, right in combinations(repeating[:10], 2):
        rows = list(zip(left.values, right.values, strict=True))
        if len(set(rows)) == len(rows):
            return left, right
    return ()


def _has_rows(test: Table, columns: Sequence[Column], sample: Table) -> bool:
    """True if the test table has the rows that these columns of the sample tell apart."""
    test_columns = [column for sample_column in columns if (column := test.column(sample_column.name)) is not None]
    # The pieces that were sampled of two long tables are the same only at their beginnings.
    length = None if test.is_complete and sample.is_complete else _ID_HEAD
    keys, test_keys = (
        set(zip(*(part.values[:length] for part in key_columns), strict=True))
        for key_columns in (columns, test_columns)
    )
    return (
        len(test_columns) == len(columns)
        and keys == test_keys
        and min(test.rows, sample.rows) >= _ALIKE_SHARE * max(test.rows, sample.rows)
    )


def _check_that_one_is_unique(table: Table, columns: Sequence[Column], *, is_sample: bool) -> None:
    """A pair of columns that is unique together only cannot be the id."""
    together = _unique_together(columns)
    if not together:
        return
    pair = " and ".join(printable(column.name) for column in together) + " together"
    of_sample = (
        "Tandem supports such pairs only for masks (image, class, run-length code), and if the test table has the same "
        "pairs. Join both columns into one in a copy of the table, name the copy with --sample, and split the column "
        "again in the last cells of the inference notebook"
    )
    of_groups = (
        "An id is one column. Join both columns into one, or name the column of a group of rows with --id-column"
    )
    raise IntrospectionError(
        f"No single column of {printable(table.path)} identifies its rows, only {pair}. "
        f"{of_sample if is_sample else of_groups}."
    )


def _reasons(column: Column, table: Table, tables: Tables, server: InferenceServer | None) -> list[Reason]:
    is_sample = table is tables.sample
    in_test = tables.test.column(column.name) if tables.test is not None else None
    in_train = tables.train.column(column.name) if tables.train is not None else None
    is_new = is_sample and tables.test is not None and in_test is None and in_train is not None
    gateway, gateway_name = (server.gateway, server.gateway_name) if server is not None else ("", "")
    is_named = any(f"{quote}{column.name}{quote}" in gateway for quote in "'\"")
    return [
        Reason((0.2 if is_sample else 0.5) * (column is table.columns[0]), f"the first column of {table.name}"),
        Reason(2 if column.is_unique else -3, f"unique in {table.name}"),
        Reason(2 * (is_sample and _is_unique(in_test)), f"unique in {_name(tables.test)}"),
        Reason(1 * _is_unique(in_train), f"unique in {_name(tables.train)}"),
        Reason((0.6 if is_sample else 1.5) * looks_like_id(column.name), "its name is that of an id"),
        Reason(-3 * is_new, "a target"),
        Reason(-2 * _is_measured(column), "measured"),
        Reason(-4 * is_nameless(column.name), "without a name"),
        Reason(-5 * _is_prose(column), "prose"),
        Reason(8 * is_named, f"named in {gateway_name}"),
    ]


def _is_unique(column: Column | None) -> bool:
    return column is not None and column.is_unique


def _name(table: Table | None) -> str:
    return table.name if table is not None else ""


# The columns of the sample submission to be filled; its other ones are repeated as they are.


_CONTEXT_COLUMNS_KEY = "context_columns"
_MOST_COLUMNS_COMPARED = 200
_ROUNDING = 0.01


def answer_columns(tables: Tables, id_column: str, classes: Sequence[str], findings: Findings) -> tuple[Column, ...]:
    """Returns the columns of the sample that are neither the id nor context, and settles which are context.

    Args:
        tables: The tables.
        id_column: The column with the ids.
        classes: The classes that folders or names of files say.
        findings: Takes the finding, where there is context.

    Raises:
        MissingColumnError: The user named a column that the sample does not have.
    """
    sample = tables.sample
    if sample is None:
        return ()
    of_masks = class_column(sample, tables.train)
    apart = {id_column, of_masks.name if of_masks is not None else ""}
    beside = [column for column in sample.columns if column.name not in apart]
    if _CONTEXT_COLUMNS_KEY in findings.hints.overrides:
        decided_names = findings.decided_list(_CONTEXT_COLUMNS_KEY)
        for name in decided_names:
            if name not in {column.name for column in beside}:
                raise MissingColumnError(
                    key=_CONTEXT_COLUMNS_KEY,
                    column=name,
                    table=sample.path,
                    columns=[candidate.name for candidate in beside],
                )
        answers = [column for column in beside if column.name not in decided_names]
    else:
        answers = _answers(beside, tables, id_column, classes)
    context = [column.name for column in beside if column not in answers]
    if context:
        findings.settle(_CONTEXT_COLUMNS_KEY, context, f"columns of {sample.name} that are neither ids nor predictions")
    return tuple(answers)


def _answers(beside: Sequence[Column], tables: Tables, id_column: str, classes: Sequence[str]) -> list[Column]:
    codes = code_column(tables.target_table)
    of_masks = [column for column in beside if codes is not None and column.name == codes.name]
    if of_masks:
        return of_masks
    named_columns = [column for column in beside if not is_nameless(column.name)] or list(beside)
    absent = [column for column in named_columns if tables.test is None or tables.test.column(column.name) is None]
    filled_columns = [column for column in named_columns if column not in absent and _is_filled_in(column, tables)]
    # Where training examples alone have a column, that is the target, and what is the same in all test rows is context.
    unknown = absent if absent and _only_in_training(tables, id_column) else [*absent, *filled_columns]
    unknown = [column for column in named_columns if column in unknown] or named_columns
    if len(unknown) <= 1:
        return unknown
    certain = [column for column in unknown if _is_asked(column, unknown, tables, classes)]
    if any(_is_labelled(column, tables) for column in certain):
        return certain
    # Placeholders are mostly the same number in every row, which tells them from what describes a row. That of a class
    # without training examples is one of the others', or makes one of their sum.
    constant = {column.name: column for column in unknown if column.kind in NUMBERS and len(column.distinct) == 1}
    of_classes = {value for column in certain if column.name in constant for value in column.distinct}
    sums = [
        sum(float(min(candidate.distinct)) for candidate in constant.values() if candidate in columns)
        for columns in (certain, unknown)
    ]
    is_sum = sums[0] > 0 and abs(sums[1] - 1) < _ROUNDING
    usual = [
        column
        for column in unknown
        if column in certain
        or (column.name in constant and (is_sum or not of_classes or column.distinct <= of_classes))
    ]
    return usual or [column for column in unknown if column.kind in NUMBERS] or unknown


def _is_filled_in(column: Column, tables: Tables) -> bool:
    """True if the test table has a column with labels that is empty there, or has the sample's placeholder."""
    test_column = tables.test.column(column.name) if tables.test is not None else None
    target_column = tables.target_table.column(column.name) if tables.target_table is not None else None
    is_same = test_column is not None and len(test_column.distinct) <= 1 and test_column.distinct <= column.distinct
    return is_same and target_column is not None and len(target_column.distinct) > 1


def _only_in_training(tables: Tables, id_column: str) -> bool:
    excluded_names = {id_column, *(tables.test.column_names if tables.test is not None else ())}
    names = tables.target_table.column_names if tables.target_table is not None else ()
    return any(name not in excluded_names and not is_nameless(name) for name in names)


def _is_asked(column: Column, unknown: Sequence[Column], tables: Tables, classes: Sequence[str]) -> bool:
    """True if a column is called as one with labels, or as a class, or has labels in its cells."""
    target_table, test = tables.target_table, tables.test
    if column.name in classes:
        return True
    if target_table is None:
        return False
    if _is_labelled(column, tables):
        return True
    test_names = set(test.column_names) if test is not None else set()
    only = [
        candidate for candidate in target_table.columns[:_MOST_COLUMNS_COMPARED] if candidate.name not in test_names
    ]
    names = [candidate.name for candidate in unknown if candidate.kind in NUMBERS or not candidate.present]
    if column.name in names:
        return any(
            names_classes(candidate, names) and any(column.name.endswith(label) for label in candidate.distinct)
            for candidate in only
        )
    return any(bool(column.distinct) and column.distinct <= candidate.distinct for candidate in only)


def _is_labelled(column: Column, tables: Tables) -> bool:
    names = tables.target_table.column_names if tables.target_table is not None else ()
    return column.name.lower() in map(str.lower, names)
