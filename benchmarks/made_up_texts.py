"""A competition of made-up texts with numbers beside them, from a seed: two classes lean towards different words."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

STEMS, ENDINGS = 1_000, ("", "a", "en", "ing")
LEANING = 0.6  # how much more often one class uses a word, in logarithms: their standard deviation
SHORTEST, LONGEST = 20, 60  # words
TRAINING_ROWS, TEST_ROWS = 400, 2_000


def write_competition(folder: Path, seed: int) -> dict[str, int]:
    """Writes the tables of a competition to a folder; returns the hidden labels of the test, by id."""
    draw = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
    stems = ["".join(draw.choice(syllables, draw.integers(2, 5))) for _ in range(STEMS)]
    words = np.array([stem + ending for stem in stems for ending in ENDINGS])
    usual = draw.permutation(1 / np.arange(10, 10 + len(words)))  # as words of a language: few are frequent
    leaning = np.repeat(draw.normal(0, LEANING, STEMS), len(ENDINGS))  # a stem means the same with every ending
    rows = TRAINING_ROWS + TEST_ROWS
    labels = draw.integers(0, 2, rows)
    chances = [_shares(usual * np.exp((label - 0.5) * leaning)) for label in (0, 1)]
    texts = [" ".join(draw.choice(words, draw.integers(SHORTEST, LONGEST), p=chances[label])) for label in labels]
    votes, age = draw.normal(0.7 * labels, 1).round(2), draw.integers(1, 100, rows)  # one tells a little, one nothing
    ids = [f"t{number:04d}" for number in range(rows)]
    table = list(zip(ids, texts, votes, age, labels.tolist(), strict=True))
    training, test = table[:TRAINING_ROWS], table[TRAINING_ROWS:]
    folder.mkdir(parents=True)
    _write(folder / "train.csv", ("id", "text", "votes", "age", "label"), training)
    _write(folder / "test.csv", ("id", "text", "votes", "age"), (row[:-1] for row in test))
    _write(folder / "sample_submission.csv", ("id", "label"), ((row[0], 0.5) for row in test))
    return {row[0]: row[-1] for row in test}


def _shares(weights: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
    return shares


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
