"""The tables of a competition: their roles and stages, the ids of rows, and the answers of the sample submission."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from generator.competition.introspection.evidence import (
    CURATION_WORDS,
    LABELS,
    SAMPLE,
    TEST,
    TRAIN,
    VALIDATION,
    Candidate,
    Confidence,
    Findings,
    IntrospectionError,
    MissingColumnError,
    MissingFileError,
    Reason,
    best_first,
    class_column,
    code_column,
    image_and_class,
    is_nameless,
    is_whole,
    join_clauses,
    likely_id_column,
    looks_like_id,
    overlap,
    shares_values,
    split_words,
    stem,
    weigh,
)
from generator.competition.survey import NUMBERS, Column, ColumnKind, InferenceServer, Survey, Table
from generator.text import printable

# The stages of a competition: of several test tables and samples, the pair that belongs together.
#
# The pair whose ids fit is taken, and where several do, the later stage.


_ORDER = {"old": 0, "public": 1, "first": 1, "second": 2, "third": 3, "new": 50, "private": 90, "final": 91}
_NUMBER = re.compile(r"\d+")
_ALIKE = 0.8  # of the columns of two tables that are for the same
_SOME_SHARE, _NEARLY_ALL = 0.1, 0.9  # of the sampled ids
_MOST_COMPARED = 20
_COLUMNS_COMPARED = 20
_SHOWN = 4


@dataclass(frozen=True)
class TestStage:
    """A sample submission and the test table, or the folder of test files, with its ids.

    Attributes:
        sample: The path of the sample.
        test: The path of the test table; "" where the examples are files.
        alternatives: The further test tables that fit a sample, with this sample, each as (test, sample).
        parts: The test tables whose ids the sample asks for together; empty where one has all.
    """

    sample: str
    test: str
    alternatives: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()


def find_stage(survey: Survey, samples: Sequence[Table], tests: Sequence[Table]) -> TestStage | None:
    """Choose among the samples and test tables that their names and columns allow; None if there is no choice.

    Args:
        survey: What was seen.
        samples: Tables that may be the sample submission, the likeliest first.
        tests: Tables that may be the test table, the likeliest first.
    """
    samples = _like_first(samples)
    tests = _like_first([table for table in tests if not any(table is sample for sample in samples)])
    if len(samples) < 2 and len(tests) < 2:  # noqa: PLR2004 - a choice
        return None
    if not tests:
        return _stage_of_files(survey, samples)
    best: list[tuple[float, Table, Table]] = []
    for sample in samples:
        fits = [(_fit(sample, test), test) for test in tests]
        fit, test = max(
            fits, key=lambda entry: (entry[0], _has_stage_of(sample, entry[1], samples), _stage_order(entry[1]))
        )
        best.append((fit, sample, test))
    if max(fit for fit, _, _ in best) <= _SOME_SHARE:
        return None
    fitting = [pair for pair in best if pair[0] >= _NEARLY_ALL] or [max(best, key=lambda pair: pair[0])]
    _, sample, test = max(fitting, key=lambda pair: (_stage_order(pair[2]), _stage_order(pair[1])))
    alternatives = [
        (rival_test.path, rival_sample.path)
        for fit, rival_sample, rival_test in best
        if rival_sample is not sample and fit > _SOME_SHARE
    ]
    alternatives += [
        (rival_test.path, sample.path)
        for rival_test in tests
        if rival_test is not test
        and _fit(sample, rival_test) >= _NEARLY_ALL
        and rival_test.path not in dict(alternatives)
    ]
    return TestStage(sample.path, test.path, tuple(alternatives), tuple(_parts(sample, test, tests)))


def warnings_of_stages(stage: TestStage | None, *, is_decided: bool) -> Iterator[str]:
    """Yield what was chosen among several stages, and that a sample asks for the rows of several tables."""
    if stage is None:
        return
    if stage.parts:
        tables = ", ".join(map(printable, stage.parts[:_SHOWN])) + (" …" if len(stage.parts) > _SHOWN else "")
        yield (
            f"{printable(stage.sample)} has rows of {len(stage.parts)} tables, {tables}, but the notebooks "
            "read one, so inference stops. Join all of them into one table, and name it with --test."
        )
    if stage.alternatives and not is_decided:
        test, sample = stage.alternatives[0]
        is_of_files = not stage.test
        choice = printable(stage.sample) if is_of_files else f"{printable(stage.test)} with {printable(stage.sample)}"
        flags = f"--sample {printable(sample)}" if is_of_files else f"--test {printable(test)}"
        flags += f" --sample {printable(sample)}" if sample != stage.sample and not is_of_files else ""
        yield f"The test has several stages. {choice} is used, the latest with matching ids. To use another: {flags}."


def _stage_of_files(survey: Survey, samples: Sequence[Table]) -> TestStage | None:
    """The latest sample whose ids are the names of files."""
    names = {stem(name) for folder in survey.folders for name in folder.names}
    fitting = [
        sample
        for sample in samples
        if sample.columns and len(sample.columns[0].distinct & names) > _SOME_SHARE * len(sample.columns[0].distinct)
    ]
    if len(fitting) < 2:  # noqa: PLR2004 - a choice
        return TestStage(fitting[0].path, "") if fitting else None
    latest = max(fitting, key=_stage_order)
    return TestStage(latest.path, "", tuple(("", sample.path) for sample in fitting if sample is not latest))


def _like_first(tables: Sequence[Table]) -> list[Table]:
    """The first table, and those with much the same columns."""
    if not tables:
        return []
    names = set(tables[0].column_names)
    return [
        table
        for table in tables[:_MOST_COMPARED]
        if len(names & set(table.column_names)) >= _ALIKE * len(names | set(table.column_names))
    ]


def _fit(sample: Table, test: Table) -> float:
    """The degree to which a test table has the ids of a sample: 1 for the same ids, 0.9 for more, else less."""
    pairs = [
        (ids, match) for ids in sample.columns[:_COLUMNS_COMPARED] if (match := _matching_column(ids, test)) is not None
    ]
    if not pairs:
        return 0.0
    shares = [(len(ids.distinct & match.distinct) / len(ids.distinct), ids, match) for ids, match in pairs]
    share, ids, match = max(shares, key=lambda entry: entry[0])
    if not (sample.is_complete and test.is_complete):
        return 1.0 if share > _SOME_SHARE else 0.0  # the pieces that were sampled are the same only in part
    if share < 1:
        return share * _NEARLY_ALL
    return 1.0 if len(ids.distinct) == len(match.distinct) else _NEARLY_ALL


def _matching_column(ids: Column, test: Table) -> Column | None:
    """The column of a test table that is called as the ids of a sample, which are all different."""
    return test.column(ids.name) if ids.is_unique else None


def _parts(sample: Table, test: Table, tests: Sequence[Table]) -> Iterator[str]:
    """Yield the tables whose ids make those of a sample together, where one alone does not have them."""
    ids = next((column for column in sample.columns if _matching_column(column, test) is not None), None)
    if ids is None or not sample.is_complete or _fit(sample, test) >= _NEARLY_ALL:
        return
    candidates = [
        (candidate, column.distinct) for candidate in tests if (column := candidate.column(ids.name)) is not None
    ]
    alone = test.column(ids.name)
    together = frozenset[str]().union(*(values for _, values in candidates))
    if alone is not None and len(together & ids.distinct) > len(alone.distinct & ids.distinct):
        yield from (candidate.path for candidate, values in candidates if values & ids.distinct)


def _has_stage_of(sample: Table, test: Table, samples: Sequence[Table]) -> bool:
    """True if a test table is named for the stage of one of several samples."""
    return len(samples) > 1 and _stage_order(sample)[0] == _stage_order(test)[0]


def _stage_order(table: Table) -> tuple[tuple[int, ...], str]:
    """A key by which later stages come last: the numbers in the path of a table, else the path."""
    numbers = [int(number[:9]) for number in _NUMBER.findall(table.path)]
    numbers += [_ORDER[word] for word in split_words(table.path) if word in _ORDER]
    return tuple(numbers) or (1,), table.path


# The roles of the tables: the sample submission, the test and the training examples, labels of their own.


_SAMPLE_NEEDS, _TEST_NEEDS, _TRAIN_NEEDS, _LABELS_NEED = 2.5, 3.0, 2.5, 3.0
_OF_ITS_STAGE = 3
_MOST_COLUMNS_COMPARED = 200
_OVERLAP = 0.1
_LIST_MARKS = (",", " ", ";", "|")
_ROLES = ("sample_submission", "test_table", "train_table", "labels_table")


@dataclass(frozen=True)
class Tables:
    """The tables by their roles, None where no table has it, and what was chosen among several stages of the test."""

    sample: Table | None
    train: Table | None
    labels: Table | None
    test: Table | None
    stage: TestStage | None = None

    @property
    def target_table(self) -> Table | None:
        """The table with the training labels."""
        return self.labels or self.train


def find_tables(survey: Survey, findings: Findings) -> Tables:
    """Tells the tables apart by their names, by the columns that they share, and by their ids.

    Raises:
        MissingFileError: The user named a table that does not exist.
    """
    for key in _ROLES:
        _check_decided(key, survey, findings)
    samples = [weigh(table.path, _sample_reasons(table, survey)) for table in survey.tables]
    stage = _matching_stage(samples, survey, findings)
    if stage is not None:
        samples = _with(samples, stage.sample, f"its ids are those of {stage.test or 'the test files'}")
    sample = _role("sample_submission", samples, _SAMPLE_NEEDS, survey, findings)
    tests = [weigh(table.path, _test_reasons(table, sample)) for table in _other_tables(survey, sample)]
    if stage is not None and sample is not None and sample.path == stage.sample:
        tests = _with(tests, stage.test, f"it is the latest that has the ids of {sample.name}")
    test = _role("test_table", tests, _TEST_NEEDS, survey, findings)
    rest = _other_tables(survey, sample, test)
    most = max((table.rows for table in rest), default=0)
    trains = [weigh(table.path, _train_reasons(table, sample, test, most)) for table in rest]
    train = _role("train_table", trains, _TRAIN_NEEDS, survey, findings)
    if test is None and train is not None and _is_partly_labelled(train, sample):
        evidence = f"the rows of {train.name} without a label are the rows of the sample submission"
        findings.settle("test_table", train.path, evidence)
        test = train
    labels = _labels(survey, (sample, test, train), findings)
    return Tables(sample=sample, test=test, train=train, labels=labels, stage=stage)


def has_target(table: Table, sample: Table) -> bool:
    """True if a table has what the sample asks for: its columns beside the id, or a column that names its classes."""
    ids = likely_id_column(sample)
    answer_names = [column.name for column in sample.columns if column is not ids and not is_nameless(column.name)]
    if answer_names and set(answer_names) <= set(table.column_names):
        return True
    return any(names_classes(column, answer_names) for column in table.columns[:_MOST_COLUMNS_COMPARED])


def names_classes(column: Column, answer_names: Sequence[str]) -> bool:
    """True if the values of a column are names of the sample's columns, or the ends of them (`Status_C` for `C`)."""
    if len(answer_names) <= 1 or len(column.distinct) <= 1:
        return False
    if _lists_names(column, answer_names):
        return True
    if len(column.distinct) > 2 * len(answer_names):
        return False
    common_names = column.distinct & _class_names(answer_names, column)
    return len(common_names) >= max(2, len(column.distinct) / 2)


def _lists_names(column: Column, answer_names: Sequence[str]) -> bool:
    """True if the cells are lists of nothing but these names, such as `Bark,Bus`."""
    names = set(answer_names)
    return any(
        any(mark in cell for cell in column.distinct)
        and all(name.strip() in names for cell in column.distinct for name in cell.split(mark))
        for mark in _LIST_MARKS
    )


def _class_names(answer_names: Sequence[str], column: Column) -> frozenset[str]:
    """The names of the sample's class columns, without a common beginning if the column's values lack it."""
    if set(answer_names) & column.distinct:
        return frozenset(answer_names)
    first, last = min(answer_names), max(answer_names)
    length = next((at for at, (left, right) in enumerate(zip(first, last, strict=False)) if left != right), len(first))
    # `Status_C` and `Status_CL` differ behind the separator, `winner_a` and `winner_b` as well.
    start = first[:length].rstrip("0123456789") if first[length:] else first[: first.rfind("_") + 1]
    return frozenset(name[len(start) :] for name in answer_names)


def _other_tables(survey: Survey, *excluded_tables: Table | None) -> list[Table]:
    return [table for table in survey.tables if not any(table is excluded_table for excluded_table in excluded_tables)]


def _matching_stage(samples: Sequence[Candidate], survey: Survey, findings: Findings) -> TestStage | None:
    """The sample and the test table that belong together, among those that their names allow, or the user's."""
    fitting = {
        str(candidate.value): candidate for candidate in best_first(samples) if candidate.weight >= _SAMPLE_NEEDS
    }
    decided_path = findings.decided_text("sample_submission")
    possible = [table for path in fitting if (table := survey.table(path)) is not None]
    named_samples = [table for table in possible if split_words(table.path) & SAMPLE]
    chosen_samples = [table for table in named_samples if table.path == decided_path] if decided_path else named_samples
    tests = [table for table in survey.tables if _weight_as_test(table) > 0 and table not in named_samples]
    tests.sort(key=_weight_as_test, reverse=True)
    decided_path = findings.decided_text("test_table")
    return find_stage(
        survey, chosen_samples, [table for table in tests if table.path == decided_path] if decided_path else tests
    )


def _weight_as_test(table: Table) -> float:
    return sum(reason.weight for reason in _test_reasons(table, None))


def _with(candidates: Sequence[Candidate], path: str, evidence: str) -> list[Candidate]:
    """The candidates, one of which has a further reason."""
    return [
        replace(
            candidate,
            evidence=join_clauses([*filter(None, [candidate.evidence]), evidence]),
            weight=candidate.weight + _OF_ITS_STAGE,
        )
        if candidate.value == path
        else candidate
        for candidate in candidates
    ]


def _check_decided(key: str, survey: Survey, findings: Findings) -> None:
    decided_path, paths = findings.decided_text(key), [table.path for table in survey.tables]
    if decided_path and decided_path not in paths:
        raise MissingFileError(key=key, path=decided_path, paths=paths)


def _role(key: str, candidates: Sequence[Candidate], least: float, survey: Survey, findings: Findings) -> Table | None:
    """The best candidate; none if even that weighs too little."""
    overrides = findings.hints.overrides
    elsewhere = {str(decided_path) for role, decided_path in overrides.items() if role in _ROLES and role != key}
    fitting = [candidate for candidate in candidates if candidate.weight >= least and candidate.value not in elsewhere]
    if fitting or key in overrides:
        path = findings.choose(key, fitting or [Candidate("", "", 0.0)])
    else:
        path = findings.settle(key, "", "no table matches", Confidence.LIKELY)
    return survey.table(str(path))


def _sample_reasons(table: Table, survey: Survey) -> list[Reason]:
    name_words = split_words(stem(table.path))
    name = 5 if "submission" in name_words and "sample" in name_words else 4 if name_words & SAMPLE - {"sample"} else 2
    candidates = [candidate for candidate in survey.tables if len(candidate.columns) > 1 and candidate is not table]
    tests = sorted(candidates, key=lambda candidate: not split_words(stem(candidate.path)) & TEST)
    key = likely_id_column(table)
    first = key if key is not None and key.is_unique else None
    same_ids = next((candidate for candidate in tests if first is not None and shares_values(first, candidate)), None)
    is_test = same_ids is not None and bool(split_words(stem(same_ids.path)) & TEST)
    beside = [column for column in table.columns if column is not key]
    is_filled = bool(beside) and all(len(column.distinct) <= 1 for column in beside)
    return [
        Reason(name * bool(name_words & SAMPLE), "its name matches"),
        Reason(
            (2 if is_test else 1) * (same_ids is not None), f"its ids are those of {same_ids.name if same_ids else ''}"
        ),
        Reason(2 * is_filled, "it has only placeholder values"),
        Reason(-4 * bool(name_words & (TRAIN | TEST)), "its name suggests another use"),
        Reason(-1 * (len(table.columns) < 2), "it has only one column"),  # noqa: PLR2004 - an id alone says nothing
    ]


def _test_reasons(table: Table, sample: Table | None) -> list[Reason]:
    name_words, around = split_words(stem(table.path)), split_words(table.path.rpartition("/")[0])
    reasons = [
        Reason(4 * bool(name_words & TEST), "its name matches"),
        Reason(2 * (bool(around & TEST) and not name_words & TRAIN), "the name of its folder matches"),
        Reason(-4 * bool(name_words & (TRAIN | LABELS | {"sample"})), "its name suggests another use"),
        Reason(-2 * bool(name_words & VALIDATION or around & TRAIN), "its name or folder suggests another use"),
    ]
    if sample is None:
        return reasons
    ids = likely_id_column(sample)
    has_its_ids = ids is not None and shares_values(ids, table)
    return [
        *reasons,
        Reason(2.5 * has_its_ids, f"it has the ids of {sample.name}"),
        Reason(1.5 * (has_its_ids and table.rows == sample.rows), f"it has the same number of rows, {table.rows:,}"),
        Reason(-2 * (has_target(table, sample) and not name_words & TEST), "it has the target column"),
    ]


def _train_reasons(table: Table, sample: Table | None, test: Table | None, most: int) -> list[Reason]:
    folder = table.path.rpartition("/")[0]
    name_words, around = split_words(stem(table.path)), split_words(folder)
    beside = test.path.rpartition("/")[0] if test is not None else ""
    features = set(test.column_names[1:]) if test is not None else set()
    share = len(features & set(table.column_names)) / len(features) if features else 0.0
    share_text = f"it shares {share:.0%} of the columns of {test.name}" if test is not None else ""
    has_labels = sample is not None and has_target(table, sample)
    return [
        Reason(4 * bool(name_words & TRAIN), "its name matches"),
        Reason(2 * (bool(around & TRAIN) and not name_words & TEST), "the name of its folder matches"),
        Reason(-4 * bool(name_words & (TEST | SAMPLE)), "its name suggests another use"),
        Reason(
            -2 * bool(name_words & VALIDATION or around & (TEST | VALIDATION)),
            "its name or folder suggests another use",
        ),
        Reason(-2 * ("y" in name_words), "its name suggests that it has only labels"),
        Reason(1 * bool(name_words & CURATION_WORDS) - 1 * ("noisy" in name_words), "its name suggests curated labels"),
        Reason(4 * share, share_text),
        Reason(3 * has_labels, "it has the columns of the sample submission"),
        Reason(0.5 * (bool(folder) and folder == beside), "it is in the folder of the test table"),
        Reason(0.5 * (table.rows == most), f"it has the most rows, {table.rows:,}"),
    ]


def _is_partly_labelled(table: Table, sample: Table | None) -> bool:
    """True if one table has both: exactly the rows that the sample asks for have no label."""
    key = likely_id_column(sample)
    ids = table.column(key.name) if key is not None else None
    if sample is None or key is None or ids is None:
        return False
    beside = [column for column in sample.columns if column is not key and not is_nameless(column.name)]
    target_columns = [table.column(column.name) for column in beside]
    labels = [column.values for column in target_columns if column is not None]
    if not labels or len(labels) < len(target_columns):
        return False
    to_predict = key.distinct
    is_asked = [key in to_predict for key in ids.values]
    without = [None in row for row in zip(*labels, strict=True)]
    fits = sum(is_match for is_match in map(all, zip(is_asked, without, strict=True)))
    return fits > _OVERLAP * sum(without) > 0 and fits == sum(is_asked)


def _labels(survey: Survey, roles: tuple[Table | None, ...], findings: Findings) -> Table | None:
    sample, test, train = roles
    key = "labels_table"
    if train is None or key in findings.hints.overrides or _is_labelled(train, sample, test):
        evidence = f"the labels are in {train.name}" if train is not None else "there is no training table"
        return survey.table(findings.settle(key, "", evidence))
    candidates = [weigh(t.path, _labels_reasons(t, train, sample)) for t in _other_tables(survey, *roles)]
    return _role(key, candidates, _LABELS_NEED, survey, findings)


def _is_labelled(train: Table, sample: Table | None, test: Table | None) -> bool:
    if sample is not None and has_target(train, sample):
        return True
    return test is not None and bool(set(train.column_names) - set(test.column_names))


def _labels_reasons(table: Table, train: Table, sample: Table | None) -> list[Reason]:
    name_words = split_words(stem(table.path))
    joint = next((column for column in table.columns[:_MOST_COLUMNS_COMPARED] if shares_values(column, train)), None)
    return [
        Reason(2 * bool(name_words & LABELS), "its name matches"),
        Reason(1 * bool(name_words & TRAIN), f"it is named like {train.name}"),
        Reason(-4 * bool(name_words & (TEST | SAMPLE)), "its name suggests another use"),
        Reason(3 * (sample is not None and has_target(table, sample)), "it has the columns of the sample submission"),
        Reason(2 * (joint is not None), f"its ids are those of {train.name}"),
        Reason(1 * (joint is None and table.rows == train.rows), f"it has one row for each row of {train.name}"),
    ]


# A table that says what each row of the submission asks for: `RowId` is for `FeatureName` of `ImageId`.


_FEWEST_COLUMNS, _FEWEST_PARTS = 3, 2


@dataclass(frozen=True)
class Lookup:
    """Such a table.

    Attributes:
        path: Where it is.
        example_column: Its column with the id of the test example, which the test table has too.
        part_column: Its column with the name of the training table's column that is asked for.
        targets: The columns that are asked for, in the order of the training table.
    """

    path: str
    example_column: str
    part_column: str
    targets: tuple[str, ...]


def find_lookup(survey: Survey, tables: Tables, id_column: str) -> Lookup | None:
    """Finds the table, if there is one."""
    target_table, test = tables.target_table, tables.test
    sample_ids = tables.sample.column(id_column) if tables.sample is not None else None
    if sample_ids is None or test is None or target_table is None or test.column(id_column) is not None:
        return None
    target_names, keys = (
        frozenset(target_table.column_names),
        {column.name for column in test.columns if column.is_unique},
    )
    for table in survey.tables:
        ids = table.column(sample_ids.name)
        is_free = table not in (tables.sample, tables.train, tables.labels, test)
        if not is_free or len(table.columns) < _FEWEST_COLUMNS or ids is None or not ids.is_unique:
            continue
        parts = [
            candidate
            for candidate in table.columns
            if len(candidate.distinct) >= _FEWEST_PARTS and candidate.distinct <= target_names
        ]
        examples = [
            candidate for candidate in table.columns if candidate.name in keys and shares_values(candidate, test)
        ]
        if parts and examples and shares_values(sample_ids, table):
            targets = tuple(name for name in target_table.column_names if name in parts[0].distinct)
            return Lookup(table.path, examples[0].name, parts[0].name, targets)
    return None


# The id column, rows that have none, and ids that name a part of an example too.


_ID_COLUMN_KEY = "id_column"
_CANDIDATES = 50
_FEWEST_EXAMPLES = 2
_EXAMPLES_CHECKED = 50
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
    if any(_is_target(column, tables) for column in certain):
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
    if _is_target(column, tables):
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


def _is_target(column: Column, tables: Tables) -> bool:
    names = tables.target_table.column_names if tables.target_table is not None else ()
    return column.name.lower() in map(str.lower, names)
