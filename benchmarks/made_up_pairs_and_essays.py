"""Competitions of made-up pairs of sentences and of made-up essays, from a seed; their words are those of docstrings.

What decides is graded: how much of what a sentence says another says as well, and how long, how rich and how free of
spelling mistakes an essay is.
"""

import ast
import csv
import re
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

PAIRS, ESSAYS, TEST_ROWS = 1_000, 800, 1_000
MODULES = ("argparse", "datetime", "decimal", "difflib", "doctest", "inspect", "pathlib", "random", "shutil", "socket")
MODULES += ("statistics", "subprocess", "tarfile", "textwrap", "threading", "typing", "zipfile", "turtle", "optparse")
MOST_SIMILAR, BEST_ESSAY = 5, 6
_SENTENCE = re.compile(r"[A-Z][^.]{30,160}\.")


def write_pairs(folder: Path, seed: int, rows: int = PAIRS) -> dict[str, float]:
    """Writes a competition of sentences whose similarity from 0 to 5 is asked; returns that of the test, by id."""
    draw, sentences = np.random.default_rng(seed), _sentences()
    words = sorted({word for sentence in sentences for word in sentence.lower().split() if len(word) > 3})
    table = []
    for number in range(rows + TEST_ROWS):
        first, other = (sentences[at].split() for at in draw.integers(0, len(sentences), 2))
        kept = draw.beta(0.8, 0.8) * (draw.random() > 0.2)  # a fifth says something else altogether
        second = list(other)
        if kept:
            matters = [len(word) > 3 for word in first]
            is_kept = [draw.random() < (kept if matter else 0.8) for matter in matters]
            second = [word if keep else str(draw.choice(words)) for word, keep in zip(first, is_kept, strict=True)]
            cut = int(draw.integers(0, len(second)))
            second = second[cut:] + second[:cut] if draw.random() < 0.5 else second
            kept = sum(k for k, m in zip(is_kept, matters, strict=True) if m) / max(1, sum(matters))
        score = float(np.clip(MOST_SIMILAR * kept**0.8 + draw.normal(0, 0.6), 0, MOST_SIMILAR))
        table.append((f"p{number:04d}", " ".join(first), " ".join(second), round(score, 2)))
    return _write(folder, ("id", "sentence1", "sentence2", "score"), table, rows)


def write_essays(folder: Path, seed: int, rows: int = ESSAYS) -> dict[str, int]:
    """Writes a competition of essays whose grade from 1 to 6 is asked; returns that of the test, by id."""
    draw, sentences = np.random.default_rng(seed), _sentences()
    table = []
    for number in range(rows + TEST_ROWS):
        length, care, range_of_words = draw.normal(size=3)
        count = int(np.clip(14 * np.exp(0.45 * length), 4, 45))
        known = draw.choice(len(sentences), max(3, int(count * (0.6 + 0.4 / (1 + np.exp(-range_of_words))))))
        text = " ".join(sentences[at] for at in draw.choice(known, count))
        mistakes = 0.04 * np.exp(-0.9 * care)
        text = " ".join(_misspelt(word, draw) if draw.random() < mistakes else word for word in text.split())
        quality = 1.2 * length + 0.7 * care + 0.3 * range_of_words + draw.normal(0, 0.6)
        grade = int(np.clip(round(3.5 + 0.8 * quality), 1, BEST_ESSAY))
        table.append((f"e{number:04d}", text, grade))
    return _write(folder, ("id", "full_text", "score"), table, rows)


def _sentences() -> list[str]:
    """Sentences of the documentation of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [
        ast.get_docstring(node) or ""
        for module in MODULES
        for node in ast.walk(ast.parse((folder / f"{module}.py").read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return sorted({" ".join(sentence.split()) for text in texts for sentence in _SENTENCE.findall(text)})


def _misspelt(word: str, draw: np.random.Generator) -> str:
    at = int(draw.integers(0, len(word)))
    return word[:at] + str(draw.choice(list("aeinorst"))) * int(draw.integers(0, 3)) + word[at + 1 :]


def _write(folder: Path, header: Sequence[str], table: Sequence[tuple], rows: int) -> dict:
    folder.mkdir(parents=True)
    _rows(folder / "train.csv", header, table[:rows])
    _rows(folder / "test.csv", header[:-1], (row[:-1] for row in table[rows:]))
    sample = ((row[0], 1 + number % 5) for number, row in enumerate(table[rows:]))
    _rows(folder / "sample_submission.csv", ("id", "score"), sample)
    return {row[0]: row[-1] for row in table[rows:]}


def _rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
