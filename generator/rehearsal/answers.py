"""Whether examples have the answers that they had in the test as it is: neither ids nor order must change them."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from generator.competition.submission import read_table
from generator.rehearsal.test_set import TestSet

Answers = Mapping[str, list[list[str]]]

# A number may change its last digits with its place in a batch, and then a class may, or the edge of a mask.
_TOLERANCE = 1e-3
_MOST_DIFFERENT, _MOST_DIFFERENT_TEXTS = 0.02, 0.2  # of the rows


def read_answers(submission: Path, test: TestSet) -> Answers:
    """The rows of a submission by their ids, which may stand there more than once."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    rows = (cells for _, cells in read_table(submission))
    next(rows, None)
    place = test.id_place
    for position, cells in enumerate(rows):
        if place is None:
            found[test.examples[test.answers[position]].key].append(cells)
        else:
            found[cells[place]].append([*cells[:place], *cells[place + 1 :]])
    return found


def difference(test: TestSet, answers: Answers, known: Answers, *, are_texts: bool = False) -> str:
    """What is wrong with the answers to a test, as a sentence; "" where they are those that the examples had before.

    Args:
        test: The test that was answered.
        answers: The answers to it.
        known: Those to the test as it is.
        are_texts: Whether an answer is a text of many numbers or names, such as the code of a mask.
    """
    pairs = list(_pairs(test))
    different = [ids for ids in pairs if not _are_alike(answers.get(ids[0], []), known.get(ids[1], []))]
    if len(different) <= (_MOST_DIFFERENT_TEXTS if are_texts else _MOST_DIFFERENT) * len(pairs):
        return ""
    return (
        f"{len(different):,} of {len(pairs):,} rows have another answer than the same example in the test as it is: "
        "it does not follow the example but its place or its id."
    )


def _pairs(test: TestSet) -> Iterator[tuple[str, str]]:
    """The ids of each row of a submission: that in this test, and that in the test as it is."""
    for example in test.examples:
        for row in example.answers or ((),):
            key = row[test.id_place] if row and test.id_place is not None else example.key
            yield key, example.origin + key.removeprefix(example.key)


def _are_alike(some: list[list[str]], others: list[list[str]]) -> bool:
    return len(some) == len(others) and all(map(_is_alike, chain(*some), chain(*others)))


def _is_alike(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    except ValueError:
        return False
