"""Evidence for the answers of introspection: candidates and their weights, and statistics of columns."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar, cast

from generator.competition.facts import CompetitionRule, Task
from generator.competition.schema import TYPE_NAMES, families, option_of, value_from
from generator.competition.survey import MISSING, NUMBERS, Column, ColumnKind, Table, without_null_words
from generator.errors import CompetitionError, did_you_mean
from generator.text import Value, printable

# The words that people name files and columns with.


_BOUNDARY = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

TRAIN = frozenset(("train", "training", "trn", "learn"))
TEST = frozenset(("test", "testing", "tst", "eval", "evaluation", "predict"))
VALIDATION = frozenset(("val", "valid", "validation", "dev"))
SAMPLE = frozenset(("sample", "submission", "submissions", "submit", "samplesubmission"))
LABELS = frozenset(("label", "labels", "y", "truth", "groundtruth", "answers", "annotations", "targets"))
CURATION_WORDS = frozenset(("curated", "clean", "cleaned", "verified"))
TARGET = frozenset(
    ("target", "targets", "label", "labels", "class", "category", "y", "outcome", "score", "prediction", "price")
)
MASKS = frozenset(("mask", "masks", "annotation", "annotations", "seg", "segmentation", "segmentations", "gt", "label"))
MASKS |= {"labels", "groundtruth"}
OUTPUTS = frozenset(("clean", "cleaned", "target", "targets", "output", "outputs", "hr", "high", "sharp", "denoised"))
COMPANIONS = MASKS | OUTPUTS
ID = frozenset(("id", "ids", "key", "uuid", "uid", "index", "idx", "image", "img", "file", "filename", "row", "rowid"))
_GLUED_ID = re.compile(r".+(?:id|Id|ID)$")


def split_words(name: str) -> frozenset[str]:
    """The words of a name in lower case: `sampleSubmission_v2` has `sample`, `submission` and `v`."""
    return frozenset(word.lower() for word in _BOUNDARY.split(name) if word)


def stem(path: str) -> str:
    """The file's name without its folders and without everything behind the first dot."""
    name = path.rpartition("/")[2]
    return name.partition(".")[0] or name


def is_below(path: str, folder: str) -> bool:
    """True if a path is a folder itself or in it; everything is in the folder ""."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def is_nameless(name: str) -> bool:
    """True if a column has no name, as the index that pandas writes: `Unnamed: 0`."""
    return not name.strip() or name.startswith("Unnamed: ")


def looks_like_id(name: str) -> bool:
    """True if people call an id so: `id`, `PassengerId`, `image_name`, `row_id`."""
    return bool(split_words(name) & ID) or is_nameless(name) or _GLUED_ID.fullmatch(name) is not None


# Where a survey does not say enough to make a task of it.


_SHOWN = 6


def join_names(names: Sequence[str]) -> str:
    """The first few of some names, for a message."""
    text = ", ".join(printable(name) for name in names[:_SHOWN])
    return f"{text} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else text


class IntrospectionError(CompetitionError):
    """A survey that does not make a task; a flag may help."""


class TargetNotInSampleError(IntrospectionError):
    """The sample asks for other columns than there are to learn from."""

    def __init__(self, *, sample: str, answer_names: Sequence[str], table: str, column_names: Sequence[str]) -> None:
        clause = f"asks for {join_names(answer_names)}" if answer_names else "has no column beside the id"
        super().__init__(
            f"{printable(sample)} {clause}, but {printable(table)} has these target columns: "
            f"{join_names(column_names) or 'none'}.",
            remedy="Name other files or columns with --sample, --train or --target. "
            "Name columns that stay as in the sample with --set context_columns=A,B.",
        )


class NotPixelsError(IntrospectionError):
    """Images are to be predicted, and the submission has something else than grey pixels."""

    def __init__(self, *, sample: str, example: str, problem: str) -> None:
        prefix = f'{printable(sample)} has ids like "{printable(example)}": ' if sample else ""
        super().__init__(
            f"{prefix}{problem}. For image to image, the notebooks predict grayscale images, and write one row per "
            "pixel with "
            "the id <image>_<row>_<column>. Name another sample with --sample, or another family with --family."
        )


class MissingColumnError(IntrospectionError):
    """A column that the user named does not exist."""

    def __init__(self, *, key: str, column: str, table: str, columns: Sequence[str]) -> None:
        super().__init__(
            f'{option_of(key)}: {printable(table)} has no column "{printable(column)}". Its columns: '
            f"{join_names(columns)}."
            f"{printable(did_you_mean(column, columns))}"
        )


class MissingFileError(IntrospectionError):
    """A file or folder that the user named does not exist."""

    def __init__(self, *, key: str, path: str, paths: Sequence[str]) -> None:
        super().__init__(
            f'{option_of(key)}: no readable file "{printable(path)}". Readable files: {join_names(paths) or "none"}.'
            f"{printable(did_you_mean(path, paths))}"
        )


class UnknownKeyError(IntrospectionError):
    """The user decided something that the family does not need."""

    def __init__(self, *, key: str, family: str, keys: Iterable[str]) -> None:
        having = [owner.title for owner in families().values() if key in owner.task]
        elsewhere = (
            f" Families with this key: {', '.join(having)}. Set one with --family."
            if having
            else did_you_mean(key, keys)
        )
        super().__init__(f'The family {printable(family)} has no key "{printable(key)}".{elsewhere}')


class UnusableValueError(IntrospectionError):
    """A decision of the user that is of the wrong kind."""

    def __init__(self, *, key: str, value: str, requirement: str) -> None:
        super().__init__(f'{printable(key)} cannot be "{printable(value)}": it must be {printable(requirement)}.')


# Findings: candidates for a value are weighed, the heaviest is taken, and its lead says how far to trust it.
#
# A weight of 1 is a hint, 2 speaks clearly, 4 would do alone; a negative one speaks against.


_SURE_WEIGHT, _SURE_LEAD = 4.0, 1.5
_LIKELY_WEIGHT, _LIKELY_LEAD = 2.0, 1.0
_CLAUSES = 3

_V = TypeVar("_V", bound=Value)
_E = TypeVar("_E", bound=StrEnum)


class Confidence(StrEnum):
    """The degree to which a value can be trusted."""

    SURE = "sure"
    LIKELY = "likely"
    THIN = "thin"  # hardly better than a guess, or hardly better than the next best


_WEIGHTS = {Confidence.SURE: _SURE_WEIGHT, Confidence.LIKELY: _LIKELY_WEIGHT, Confidence.THIN: 1.0}


@dataclass(frozen=True)
class Reason:
    """Something that speaks for a candidate, or against it; with a weight of 0 it does not apply."""

    weight: float
    clause: str


@dataclass(frozen=True)
class Candidate:
    """One value that was weighed.

    Attributes:
        value: The value.
        evidence: What speaks for it.
        weight: The sum of what speaks for and against it.
    """

    value: Value
    evidence: str
    weight: float


@dataclass(frozen=True)
class Finding:
    """One value that was settled.

    Attributes:
        key: A field of `Task`, or a key of its details.
        value: What was taken.
        evidence: A short clause in plain words.
        confidence: How far it can be trusted.
        candidates: Everything that was weighed, best first, the chosen one included.
    """

    key: str
    value: Value
    evidence: str
    confidence: Confidence
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Hints:
    """Facts on a competition that its files do not say.

    Attributes:
        slug: Its name in URLs.
        metric_text: The metric as Kaggle's API calls it.
        evaluation_text: The page that describes the evaluation.
        overrides: What the user decided, by the key of a task or of its details.
        models: Of Kaggle Models, those for what the notebooks can start from pretrained models of texts.
        file_name: What the submission has to be called, if a page demands it.
    """

    slug: str
    metric_text: str = ""
    evaluation_text: str = ""
    overrides: Mapping[str, str | list[str]] = field(default_factory=dict)
    models: Sequence[str] = ()
    file_name: CompetitionRule | None = None


@dataclass(frozen=True)
class Reading:
    """A survey as it was understood.

    Attributes:
        task: The task, ready to be rendered.
        findings: Every value of it with its evidence, in the order to show.
        warnings: Sentences for the user: what is hardly more than a guess, and the flag that settles it.
        unclear: The keys of values that are worth a question; each may rest on those before it.
    """

    task: Task
    findings: Mapping[str, Finding]
    warnings: tuple[str, ...]
    unclear: tuple[str, ...]


class Findings(dict[str, Finding]):
    """The findings so far, by key; the user's decisions stand in the place of what was inferred."""

    def __init__(self, hints: Hints) -> None:
        super().__init__()
        self.hints = hints

    def settle(self, key: str, value: _V, evidence: str, confidence: Confidence = Confidence.SURE) -> _V:
        """Takes a value that has no rivals; returns it, or what the user decided."""
        return cast("_V", self._take(certain(key, value, evidence, confidence)))

    def choose(self, key: str, candidates: Iterable[Candidate]) -> Value:
        """Takes the heaviest of some candidates, of which there is at least one; returns its value, or the user's."""
        ranking = best_first(candidates)
        best = ranking[0]
        lead = best.weight - max((rival.weight for rival in ranking[1:]), default=0.0)
        if best.weight >= _SURE_WEIGHT and lead >= _SURE_LEAD:
            confidence = Confidence.SURE
        elif best.weight >= _LIKELY_WEIGHT and lead >= _LIKELY_LEAD:
            confidence = Confidence.LIKELY
        else:
            confidence = Confidence.THIN
        return self._take(
            Finding(key, best.value, best.evidence or "there is no better candidate", confidence, ranking)
        )

    def member(self, key: str, kinds: type[_E]) -> _E:
        """The value that was taken, as a member of an enumeration.

        Raises:
            UnusableValueError: The user decided on something else.
        """
        value = str(self[key].value)
        try:
            return kinds(value)
        except ValueError as error:
            raise UnusableValueError(key=key, value=value, requirement=f"one of {', '.join(kinds)}") from error

    def text(self, key: str) -> str:
        """The text that was settled for a key; "" where nothing was."""
        return str(self[key].value) if key in self else ""

    def decided_text(self, key: str) -> str:
        """The text that the user decided on for a key; "" where there is none, or a list."""
        value = self.hints.overrides.get(key)
        return value if isinstance(value, str) else ""

    def decided_list(self, key: str) -> list[str]:
        """The texts that the user decided on for a key, of which one may stand alone; none where there is nothing."""
        value = self.hints.overrides.get(key, [])
        return [value] if isinstance(value, str) else value

    def _take(self, finding: Finding) -> Value:
        decision = self.hints.overrides.get(finding.key)
        if decision is not None:
            value = _as_kind_of(finding, decision)
            candidate = Candidate(value, option_of(finding.key), float("inf"))
            rivals = tuple(rival for rival in finding.candidates if rival.value != value)
            finding = Finding(finding.key, value, candidate.evidence, Confidence.SURE, (candidate, *rivals))
        self[finding.key] = finding
        return finding.value


def certain(key: str, value: Value, evidence: str, confidence: Confidence = Confidence.SURE) -> Finding:
    """The finding of a value that has no rivals."""
    candidate = Candidate(value, printable(evidence), _WEIGHTS[confidence])
    return Finding(key, value, candidate.evidence, confidence, (candidate,))


def weigh(value: Value, reasons: Iterable[Reason]) -> Candidate:
    """A candidate with the sum of its reasons, and the heaviest of them as its evidence."""
    applying = [reason for reason in reasons if reason.weight]
    speaking = sorted((reason for reason in applying if reason.weight > 0), key=lambda reason: -reason.weight)
    evidence = printable(join_clauses([reason.clause for reason in speaking[:_CLAUSES]]))
    return Candidate(value, evidence, sum(reason.weight for reason in applying))


def best_first(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates by weight; equal ones stay in their order."""
    return tuple(sorted(candidates, key=lambda candidate: -candidate.weight))


def join_clauses(clauses: list[str]) -> str:
    """Clauses as one: `a, b and c`."""
    return " and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)


def _as_kind_of(finding: Finding, decision: str | list[str]) -> Value:
    """The user's text as the kind of value that was inferred."""
    if isinstance(finding.value, list):
        return [decision] if isinstance(decision, str) else list(decision)
    if not isinstance(decision, str):
        raise UnusableValueError(key=finding.key, value=", ".join(decision), requirement="one value")
    if isinstance(finding.value, str):
        return decision
    kind = type(finding.value)
    try:
        return value_from(decision, kind)
    except ValueError as error:
        raise UnusableValueError(key=finding.key, value=decision, requirement=TYPE_NAMES[kind]) from error


# Run-length codes in tables: which columns hold them, and which says what class a code is a mask of.


_RUN_LENGTH_COLUMNS_COMPARED = 60
_FEWEST_CLASSES, _MOST_CLASSES = 2, 60
_FEWEST_COLUMNS = 3  # an image, a class and a code


def is_run_length(column: Column) -> bool:
    """True if the cells are run-length codes: an even number of whole numbers each, the first of a pair growing."""
    codes = column.distinct - column.null_words
    return bool(codes) and all(map(_is_code, codes))


def code_column(table: Table | None) -> Column | None:
    """The only column of a table with run-length codes; None if there is none, or several."""
    columns = table.columns[:_RUN_LENGTH_COLUMNS_COMPARED] if table is not None else ()
    code_columns = [
        column for column in columns if is_run_length(column) and any(" " in cell for cell in column.distinct)
    ]
    return code_columns[0] if len(code_columns) == 1 else None


def image_and_class(sample: Table | None, train: Table | None) -> tuple[Column, Column] | None:
    """The columns of a sample for the image and class of a mask, where an image has a row for each: no id is unique.

    Args:
        sample: The sample submission, with an image, a class and a code in a row, and perhaps context.
        train: The training table, whose columns for the image and for the class are called the same.
    """
    codes = code_column(train)
    named_columns = [column for column in sample.columns if not is_nameless(column.name)] if sample is not None else []
    if train is None or len(named_columns) < _FEWEST_COLUMNS or codes is None:
        return None
    in_both = [
        (column, train.column(column.name))
        for column in named_columns[:_RUN_LENGTH_COLUMNS_COMPARED]
        if column.name != codes.name
    ]
    classes = [
        (column, len(column.distinct | train_column.distinct))
        for column, train_column in in_both
        if train_column is not None
    ]
    class_columns = [column for column, count in classes if _FEWEST_CLASSES <= count <= _MOST_CLASSES]
    for image in sorted((column for column, _ in classes), key=lambda column: -len(column.distinct)):
        fitting = [column for column in class_columns if column is not image and _are_unique_together(image, column)]
        if not image.is_unique and len(fitting) == 1:
            return image, fitting[0]
    return None


def class_column(sample: Table | None, train: Table | None) -> Column | None:
    """The column of a sample that names the class of a mask, where an image has a row for each."""
    columns = image_and_class(sample, train)
    return columns[1] if columns is not None else None


def _are_unique_together(left: Column, right: Column) -> bool:
    rows = list(zip(left.values, right.values, strict=True))
    return len(set(rows)) == len(rows)


def class_column_of_parts(train: Table | None, parts: Sequence[str]) -> Column | None:
    """The column of the training table whose values are the ends of the ids `<image>_<class>`."""
    columns = train.columns[:_RUN_LENGTH_COLUMNS_COMPARED] if train is not None else ()
    return next((column for column in columns if column.distinct and column.distinct <= set(parts)), None)


def _is_code(value: str) -> bool:
    numbers = value.split()
    if len(numbers) % 2 or not all(map(str.isdecimal, numbers)):
        return False
    return all(int(start[:18]) < int(next_start[:18]) for start, next_start in pairwise(numbers[::2]))


# Statistics of sampled columns: whole numbers, shared values, and what labels are like.


_SEPARATORS = (" ", ",", ";", "|")
_OVERLAP = 0.1
_REUSE_SHARE = 0.6
_ONE_EACH = 0.98
_MANY_VALUES = 20
ONE_WORDS = frozenset(("1", "1.0", "true"))


@dataclass(frozen=True)
class LabelStatistics:
    """Properties of the sampled labels.

    Attributes:
        is_binary: Each column has two values, or one of several columns is 0 or 1.
        are_flags: Several columns of 0 and 1.
        is_one_hot: Exactly one of these is 1 in each row.
        separator: What separates several labels in one cell, "" if nothing does.
        is_text: The labels are names.
        is_measured: There are numbers with a fraction.
        is_uneven: Whole numbers whose steps differ, such as 0, 1 and 5.
        distinct: How many different labels were seen.
        is_run_length: The cells are pairs of numbers, or empty.
        is_different_everywhere: No label was seen twice among many.
    """

    is_binary: bool = False
    are_flags: bool = False
    is_one_hot: bool = False
    separator: str = ""
    is_text: bool = False
    is_measured: bool = False
    is_uneven: bool = False
    distinct: int = 0
    is_run_length: bool = False
    is_different_everywhere: bool = False


def is_whole(column: Column) -> bool:
    """True if all values are whole numbers, however they are written."""
    if column.kind is ColumnKind.NUMBER:
        return all(float(value).is_integer() for value in column.distinct)
    return column.kind is ColumnKind.INTEGER


def likely_id_column(table: Table | None) -> Column | None:
    """The column that is most likely the ids of a table, before that is weighed: one of a name and unlike cells."""
    columns = table.columns if table is not None else ()
    unique = [column for column in columns if column.is_unique and not is_nameless(column.name)]
    id_columns = [column for column in unique if looks_like_id(column.name)]
    return next(iter((*id_columns, *unique, *columns)), None)


def overlap(left: Column, right: Column) -> float:
    """The share of the fewer different values that the other column has too, from 0 to 1."""
    fewer, larger = sorted((left.distinct, right.distinct), key=len)
    return len(fewer & larger) / len(fewer) if fewer else 0.0


def shares_values(column: Column, table: Table) -> bool:
    """True if a table has a column of that name with some of its values.

    The pieces that were sampled of two long tables are the same only at their beginnings and ends.
    """
    match = table.column(column.name)
    return match is not None and overlap(column, match) > _OVERLAP


def label_statistics(columns: Sequence[Column], classes: Sequence[str] = ()) -> LabelStatistics:
    """Looks at the sampled labels, or at the classes that folders or file names say."""
    if not columns:
        return LabelStatistics(is_binary=len(classes) == 2, is_text=bool(classes), distinct=len(classes))  # noqa: PLR2004 - yes and no
    are_flags = len(columns) > 1 and all(_is_flag(column) for column in columns)
    first = columns[0]
    return LabelStatistics(
        is_binary=len(first.distinct) == 2,  # noqa: PLR2004 - yes and no
        are_flags=are_flags,
        is_one_hot=are_flags and _has_one_each(columns),
        separator=separator_of(first) if len(columns) == 1 else "",
        is_text=any(column.kind in (ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE) for column in columns),
        is_measured=any(column.kind is ColumnKind.NUMBER and not is_whole(column) for column in columns),
        is_uneven=len(columns) == 1 and is_whole(first) and _has_uneven_steps(first),
        distinct=max(len(column.distinct) for column in columns),
        is_run_length=len(columns) == 1 and is_run_length(first),
        is_different_everywhere=len(first.values) >= _MANY_VALUES and first.is_unique,
    )


def _has_uneven_steps(column: Column) -> bool:
    numbers = sorted(set(map(float, column.distinct)))
    return len({after - before for before, after in pairwise(numbers)}) > 1


def separator_of(column: Column) -> str:
    """The separator of several labels in one cell; "" if cells hold one label each.

    Names of several words are no lists: their words belong to one name each, whereas labels come in many combinations.
    """
    for separator in _SEPARATORS:
        cells_by_label: dict[str, set[str]] = defaultdict(set)
        lists = [value for value in column.distinct if separator in value.strip()]
        for value in column.distinct:
            for label in value.split(separator):
                cells_by_label[label.strip()].add(value)
        inside = {label.strip() for value in lists for label in value.split(separator)}
        reuse_count = sum(len(cells_by_label[label]) > 1 for label in inside)
        if len(lists) > 1 and "" not in inside and reuse_count >= _REUSE_SHARE * len(inside):
            return separator
    return ""


def _is_flag(column: Column) -> bool:
    if column.kind is ColumnKind.BOOLEAN:
        return True
    return is_whole(column) and all(float(value) in (0, 1) for value in column.distinct)


def _has_one_each(columns: Sequence[Column]) -> bool:
    every_row = zip(*(column.values for column in columns), strict=True)
    rows = [row for row in every_row if set(row) != {None}]  # without a label, a row says nothing of the others
    one_hot_count = sum(
        sum(value is not None and value.strip().lower() in ONE_WORDS for value in row) == 1 for row in rows
    )
    return bool(rows) and one_hot_count >= _ONE_EACH * len(rows)


# Words such as NA and None, which pandas reads as missing, where they may be ids, classes or missing labels.


NULL_WORDS_KEY = "keep_null_words"
_ASKED_OF_TWO = NUMBERS | {ColumnKind.BOOLEAN}
_TWO_CLASSES = 2
_SURE_CLASSES = frozenset(("None",))  # as a label, it is hardly ever written for a missing one


def as_labels(column: Column, answers: Sequence[Column], decision: str) -> Column:
    """Return a column of text with its words such as NA and None as labels or, where they are none, as missing.

    Args:
        column: The target.
        answers: The columns of the sample to be filled.
        decision: What the user decided of such words; "" where that is open.
    """
    if column.kind is not ColumnKind.TEXT or not column.null_words:
        return column
    class_count = len(column.distinct - column.null_words)
    is_one_of_two = len(answers) == 1 and answers[0].kind in _ASKED_OF_TWO and class_count == _TWO_CLASSES
    are_missing = decision.lower() in ("false", "no") if decision else is_one_of_two
    if are_missing or is_run_length(column):
        return replace(without_null_words(column), null_words=column.null_words)
    return column


def as_answers(answer: Column, columns: Sequence[Column]) -> Column:
    """Return a column of the sample that has words such as None alone with these as values, where they are labels."""
    labels = {value for column in columns for value in column.distinct}
    if answer.kind is not ColumnKind.EMPTY or not answer.null_words & labels:
        return answer
    return answer.as_written


def null_words_of(
    ids: Sequence[Column], labels: Sequence[Column], answer_names: Sequence[str], answers: Sequence[Column]
) -> str:
    """Return a clause on the first ids or labels that are such words; "" if none are.

    Args:
        ids: The columns with ids.
        labels: The targets, as `as_labels` gives them.
        answer_names: The names of the sample's columns to be filled; one may name a label that no sampled row has.
        answers: These columns.
    """
    for column in (*ids, *labels):
        if column.kind is ColumnKind.TEXT and (words := column.distinct & column.null_words):
            counts = ", ".join(f'"{word}" in {column.values.count(word):,}' for word in sorted(words))
            return f"the column {column.name} has {counts} of {len(column.values):,} sampled rows"
    sample_words = {*answer_names, *(word for answer in answers for word in answer.null_words)} & MISSING
    if sample_words and len(labels) == 1 and labels[0].kind is ColumnKind.TEXT and not labels[0].null_words:
        return f'the sample submission has "{min(sample_words)}" among its labels'
    return ""


def unclear_null_words(
    table: Table | None, labels: Sequence[Column], answer_names: Sequence[str], answers: Sequence[Column]
) -> Iterator[str]:
    """Yield warnings of words that may be a class or a missing label, saying which was taken.

    Args:
        table: The table with the labels.
        labels: Its targets, as `as_labels` gives them.
        answer_names: The names of the sample's columns to be filled.
        answers: These columns.
    """
    sample_words, key = (
        {*answer_names, *(value for answer in answers for value in answer.distinct)},
        option_of(NULL_WORDS_KEY),
    )
    for column in labels:
        as_written = table.column(column.name) if table is not None else None
        if table is None or as_written is None or as_written.kind is not ColumnKind.TEXT or is_run_length(column):
            continue
        classes = column.distinct & column.null_words
        words = classes - sample_words - _SURE_CLASSES if classes else column.null_words
        if not words or (classes and len(column.distinct - classes) < _TWO_CLASSES):
            continue
        word = min(words)
        rows = f"{as_written.values.count(word):,} of {len(column.values):,} sampled rows"
        sentence = f'{printable(table.path)} has "{word}" as {printable(column.name)} in {rows}'
        if classes:
            yield f"{sentence}, which is read as a class. To read such words as missing labels, use {key}=false."
        else:
            yield f"{sentence}, which is read as a missing label. To read such words as classes, use {key}=true."
