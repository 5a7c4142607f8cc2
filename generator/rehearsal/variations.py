"""What a hidden test may have that the test which everybody sees has not; each makes one test set of another.

Whoever adds one adds a line to `VARIATIONS`.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from generator.competition.specimen.id_format import format_of
from generator.competition.survey.facts import ColumnKind
from generator.rehearsal.test_set import Example, Row, TestSet

LARGER = 10
_SEED = "hidden test"
_NEW_COLUMNS = ("a_new_column", "another_new_column")
_NEVER_SEEN = {True: "987654321", False: "never seen before"}
_EMPTIED = 0.3  # of the cells
_MOST_KINDS = 0.5  # of the rows: what has more different values is no category


@dataclass(frozen=True)
class Variation:
    """A hidden test.

    Attributes:
        name: In a few words.
        tried: What is different in it, as a sentence.
        vary: Makes it; None if there is nothing in this test that could be different so.
        keeps_answers: Whether an example must have the answer that it has in the test as it is.
        may_stop: Whether a notebook may refuse it with a reason: nobody knows if Kaggle's test is so.
    """

    name: str
    tried: str
    vary: Callable[[TestSet], TestSet | None]
    keeps_answers: bool = True
    may_stop: bool = False


def larger(test: TestSet) -> TestSet | None:
    """The test with nine copies of each example, under ids of their own."""
    if not test.has_given_ids:
        return None
    return test.with_examples([*test.examples, *_copies(test, LARGER - 1)])


def in_another_order(test: TestSet) -> TestSet | None:
    """The test with its rows in another order, and the sample in yet another."""
    source = _random("order")
    examples = list(test.examples)
    if test.first_id is None:
        source.shuffle(examples)
    shuffled = test.with_examples(examples)
    answers = list(shuffled.answers)
    source.shuffle(answers)
    return replace(shuffled, answers=tuple(answers)) if len(examples) > 1 and test.id_place is not None else None


def with_unseen_ids(test: TestSet) -> TestSet | None:
    """The test with ids that nobody has seen."""
    return None if test.first_id is not None or not test.has_given_ids else test.with_examples([*_copies(test, 1)])


def with_more_columns(test: TestSet) -> TestSet | None:
    """The test table with one column more in front and one at the end."""
    if test.table is None:
        return None
    front, end = _NEW_COLUMNS
    changed = _with_rows(test, lambda row: (f"{len(row)}", *row, "x"))
    return replace(changed, columns=(front, *test.columns, end))


def with_missing_values(test: TestSet) -> TestSet | None:
    """The test table with every third cell empty, and all of the first row."""
    places = _places_of_values(test)
    if not places:
        return None
    source, first = _random("missing"), test.examples[0].rows[0]

    def emptied(row: Row) -> Row:
        gone = {place for place in places if row is first or source.random() < _EMPTIED}
        return tuple("" if place in gone else cell for place, cell in enumerate(row))

    return _with_rows(test, emptied)


def with_a_new_category(test: TestSet) -> TestSet | None:
    """The test table with a value that is nowhere else in each column of categories, in every third row."""
    source, categories = _random("category"), dict(_categories(test))
    if not categories:
        return None

    def renewed(row: Row) -> Row:
        is_new = source.random() < _EMPTIED or row is test.examples[0].rows[0]
        return tuple(categories.get(place, cell) if is_new else cell for place, cell in enumerate(row))

    return _with_rows(test, renewed)


def with_a_damaged_file(test: TestSet) -> TestSet | None:
    """The test with one file that ends in the middle."""
    position = next((place for place, example in enumerate(test.examples) if example.files), None)
    if position is None:
        return None
    examples = list(test.examples)
    first, *others = examples[position].files
    examples[position] = replace(examples[position], files=(replace(first, is_damaged=True), *others))
    return test.with_examples(examples)


def of_one(test: TestSet) -> TestSet:
    """The first example alone, or the first group of those that belong together."""
    if test.group_column not in test.columns:
        return test.with_examples(test.examples[:1])
    place = test.columns.index(test.group_column)
    group = test.examples[0].rows[0][place]
    return test.with_examples([example for example in test.examples if example.rows[0][place] == group])


def of_none(test: TestSet) -> TestSet:
    """Tables without rows, and a folder without files."""
    return test.with_examples([])


VARIATIONS = (
    Variation("as it is", "The test as everybody sees it.", lambda test: test),
    Variation(f"{LARGER} times larger", f"{LARGER} times as many examples, under ids of their own.", larger),
    Variation("another order", "The rows of the test shuffled, and those of the sample in yet another order.",
              in_another_order),
    Variation("unseen ids", "The same examples under ids that nobody has seen.", with_unseen_ids),
    Variation("one row", "A test of a single example.", of_one),
    Variation("more columns", "A column more in front of the test table, and one at its end.", with_more_columns),
    Variation("missing values", "Every third cell of the test table empty, and all of one row.", with_missing_values,
              keeps_answers=False, may_stop=True),
    Variation("a new category", "A value in every column of categories that training has never seen.",
              with_a_new_category, keeps_answers=False, may_stop=True),
    Variation("a damaged file", "One file of the test that ends in the middle and cannot be decoded.",
              with_a_damaged_file, keeps_answers=False, may_stop=True),
    Variation("empty", "A test without a single row.", of_none, keeps_answers=False, may_stop=True),
)  # fmt: skip


def _copies(test: TestSet, count: int) -> Iterator[Example]:
    """So many copies of all examples, one behind the other, under new ids; groups are copied as groups."""
    if test.first_id is not None:
        yield from test.examples * count  # they are numbered in the end
        return
    size, values = len(test.examples), test.kinds.get(test.group_column, [])
    keys = () if test.id_columns else _fresh([example.key for example in test.examples], count * size, "ids")
    groups = _fresh(values, count * len(values), "groups") if values else ()
    for copy in range(count):
        group = dict(zip(values, groups[copy * len(values) :], strict=False))
        for place, example in enumerate(test.examples):
            key = keys[copy * size + place] if keys else test.made_id(example, group)
            yield test.renamed(example, key, group)


def _fresh(known: Sequence[str], wanted: int, name: str) -> tuple[str, ...]:
    """So many ids like the known ones, and none of them; numbers go on behind the largest."""
    if all(value.isdecimal() and str(int(value)) == value for value in known):
        first = max(map(int, known)) + 1
        return tuple(str(first + place) for place in range(wanted))
    return format_of(known).fresh(wanted, _random(name), avoid=known)


def _with_rows(test: TestSet, change: Callable[[Row], Row]) -> TestSet:
    examples = [replace(example, rows=tuple(map(change, example.rows))) for example in test.examples]
    return replace(test, examples=tuple(examples))


def _places_of_values(test: TestSet) -> list[int]:
    """The columns of the test table that are neither ids nor say which rows belong together."""
    names = {test.id_column, test.group_column, *test.key_columns, *test.id_columns}
    return [place for place, name in enumerate(test.columns) if name not in names]


def _categories(test: TestSet) -> Iterator[tuple[int, str]]:
    """The places of categories, and a value that each of them does not have."""
    rows = sum(len(example.rows) for example in test.examples)
    for place in _places_of_values(test):
        name = test.columns[place]
        column = test.table.column(name) if test.table is not None else None
        is_text = column is not None and column.kind is ColumnKind.TEXT
        if (is_text or name in test.categories) and len(test.kinds[name]) <= max(1, _MOST_KINDS * rows):
            yield place, _NEVER_SEEN[not is_text]


def _random(name: str) -> random.Random:
    return random.Random(f"{_SEED}/{name}")  # noqa: S311 - nothing here is a secret
