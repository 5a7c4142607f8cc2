"""The built-in competitions: real data that needs no account, and a hidden test set to be scored by."""

import ast
import csv
import hashlib
import re
import sysconfig
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task
from generator.errors import CompetitionError, did_you_mean
from generator.kit_files import PackageMissingError
from generator.text import printable

if TYPE_CHECKING:
    from generator.competition.scoring import Question, Scorer

# A built-in competition, and what all of them share: ids that tell nothing, a split, tables, a score.


Row = tuple[str, ...]
Parts = tuple[Sequence[str], Sequence[Row], Sequence[Row]]
"""The columns beside the id and the target, the training and the test rows; each an id, their cells and the answer."""

_SPLIT_SEED = 20_261_120


@dataclass(frozen=True)
class BuiltIn:
    """A competition whose data and answers the kit has itself.

    Attributes:
        competition: What Kaggle would know of it.
        description: One sentence on it.
        task: What the kit makes of it, with one target.
        write: Fills an empty folder with the competition's files, as Kaggle mounts them; no hidden label is among them.
        answers: The hidden answer of every test id, as a perfect submission would have it beside the id.
    """

    competition: Competition
    description: str
    task: Task
    write: Callable[[Path], None]
    answers: Callable[[], Mapping[str, str]]

    def question(self, *, public_share: float) -> "Question":
        """The form of a submission, and the metric that scores it."""
        from generator.competition.scoring import Question

        return Question(
            self.task.metric,
            self.task.submission,
            columns=(self.task.id_column, *self.task.targets),
            public_share=public_share,
        )

    def scorer(self, question: "Question") -> "Scorer":
        """Scores submissions by the hidden answers."""
        from generator.competition.scoring import Answers, Scorer

        rows = {key: (answer,) for key, answer in self.answers().items()}
        return Scorer(question, Answers(question.columns, rows), seed=self.competition.slug)

    def score(self, submission: Path) -> float:
        """The competition's metric on the whole hidden test set.

        Raises:
            SubmissionError: The file is not what the competition asks for.
        """
        return self.scorer(self.question(public_share=1)).score(submission).private

    def warm_up(self) -> None:
        """Imports what `score` needs, which can take a second."""
        self.scorer(self.question(public_share=1))


def of_rows(slug: str, parts: Callable[[], Parts], *, sample_answer: str) -> BuiltIn:
    """The competition that rows become: tables of those to learn from, of those to predict, and of a sample of answers.

    Args:
        slug: The name of the competition, and of the file beside this module that declares it, with one target.
        parts: Reads the rows.
        sample_answer: What stands in the sample submission for every id.
    """
    declaration = tomllib.loads(Path(__file__).with_name("data").joinpath(f"{slug}.toml").read_text(encoding="utf-8"))
    types = {"target_kind": TargetKind, "submission": SubmissionKind, "targets": tuple}
    task = Task(**{key: types.get(key, lambda value: value)(value) for key, value in declaration["task"].items()})
    key, target = task.id_column, task.targets[0]

    def write(folder: Path) -> None:
        columns, training, test = parts()
        _write_table(folder / task.train_table, (key, *columns, target), training)
        if task.test_table:
            _write_table(folder / task.test_table, (key, *columns), (row[:-1] for row in test))
        _write_table(folder / task.sample_submission, (key, target), ((row[0], sample_answer) for row in test))

    def answers() -> Mapping[str, str]:
        return {row[0]: row[-1] for row in parts()[2]}

    return BuiltIn(Competition(**declaration["competition"]), declaration["description"], task, write, answers)


def builtin_dataset(name: str, **options: Any) -> Any:
    """A data set that scikit-learn carries.

    Raises:
        PackageMissingError: It is not installed.
    """
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise PackageMissingError(clause="The data of this competition come with", package="scikit-learn") from error
    return getattr(datasets, f"load_{name}")(**options)


def key_of(slug: str, name: str) -> str:
    """Eight hexadecimal digits that tell nothing of the answer, or of where an example stood in its source."""
    return hashlib.blake2b(name.encode(), key=slug.encode(), digest_size=4).hexdigest()


def split(slug: str, cells: Iterable[Sequence[str]], training_rows: int) -> tuple[list[Row], list[Row]]:
    """The training and the test rows, by the id that each gets; the same on every machine and with every numpy."""
    import numpy

    rows = [(key_of(slug, str(index)), *row) for index, row in enumerate(cells)]
    # The stream of RandomState, unlike that of Generator, is frozen for good (NEP 19).
    order: list[int] = numpy.random.RandomState(_SPLIT_SEED).permutation(len(rows)).tolist()
    shuffled_rows = [rows[index] for index in order]
    return sorted(shuffled_rows[:training_rows]), sorted(shuffled_rows[training_rows:])


def numbers(features: Iterable[Sequence[float]], answers: Iterable[float]) -> Iterable[list[str]]:
    """The cells of rows of numbers, the answer last, without the digits that only the binary form of a number adds."""
    return ([f"{value:.10g}" for value in (*row, answer)] for row, answer in zip(features, answers, strict=True))


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


# The competition `diabetes`: how far the disease has come within a year, from ten measures of a patient.
#
# The data are those of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least Angle Regression", Annals of
# Statistics, 2004, as scikit-learn carries them: 442 patients, their measures in the units in which they were
# taken.


def _diabetes_parts() -> Parts:
    data = builtin_dataset("diabetes", scaled=False)
    return data.feature_names, *split("diabetes", numbers(data.data.tolist(), data.target.tolist()), training_rows=309)


DIABETES = of_rows("diabetes", _diabetes_parts, sample_answer="150.0")


# The competition `digits`: tell 1,797 scans of handwritten digits apart.
#
# The data are the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine
# Learning Repository, 1998, CC BY 4.0), as scikit-learn carries them: 8 x 8 pixels with 17 shades.


_DARKEST_SHADE = 16


def _digits_parts() -> Parts:
    _, labels = builtin_dataset("digits", return_X_y=True)
    return (), *split("digits", ([str(label)] for label in labels.tolist()), training_rows=1_257)


def _write(folder: Path) -> None:
    from PIL import Image

    _TABLES.write(folder)
    images, _ = builtin_dataset("digits", return_X_y=True)
    pixels = (images.reshape(-1, 8, 8) * (255 / _DARKEST_SHADE)).round().astype("uint8")
    scans = {key_of("digits", str(index)): scan for index, scan in enumerate(pixels)}
    for name, rows in zip(("train", "test"), _digits_parts()[1:], strict=True):
        (folder / name).mkdir()
        for key, _ in rows:
            Image.fromarray(scans[key]).save(folder / name / f"{key}.png")


_TABLES = of_rows("digits", _digits_parts, sample_answer="0")
DIGITS = replace(_TABLES, write=_write)


# The competition `docstrings`: tell from a documentation string which part of Python's standard library it is from.
#
# The texts are those of the Python that runs this, read from the source files of its library (Python Software
# Foundation License): no two versions of Python have quite the same. What a text is called, and so its id and on
# which side of the split it lies, follows from the name of the object that it documents, and is the same in all of
# them.


_PARTS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("data").joinpath("docstrings.toml").read_text(encoding="utf-8")
)["parts"]
_TEXTS_PER_PART = 500
_SHORTEST = 5  # words; anything shorter tells a person nothing either
_FEWEST_TEXTS = 1_500
_TEST_SHARE = 0.3
_MASK = "___"


@cache
def _docstrings_parts() -> Parts:
    """All texts by id, no text twice, and about as many of each part of the library."""
    folder = Path(sysconfig.get_path("stdlib"))
    rows_by_text: dict[str, Row] = {}
    for label, modules in _PARTS.items():
        texts = {
            key_of("docstrings", name): text
            for module in modules.split()
            for name, text in _texts_of_module(folder, module)
        }
        # The order of the ids is random, and the same with every version of Python.
        for key in sorted(texts)[:_TEXTS_PER_PART]:
            rows_by_text.setdefault(texts[key], (key, texts[key], label))
    if len(rows_by_text) < _FEWEST_TEXTS:
        raise CompetitionError(
            f"{printable(str(folder))} has {len(rows_by_text):,} documentation strings to make a competition of, and "
            f"{_FEWEST_TEXTS:,} are needed. Use a Python whose standard library is installed with its source files."
        )
    rows = sorted(rows_by_text.values())
    return ("text",), [row for row in rows if not _is_test(row[0])], [row for row in rows if _is_test(row[0])]


def _texts_of_module(folder: Path, module: str) -> Iterator[tuple[str, str]]:
    """Yields the qualified name and the masked text of every object of a module or package."""
    for path in [folder / f"{module}.py", *sorted((folder / module).rglob("*.py"))]:
        if not path.is_file():
            continue
        parts = [part for part in path.relative_to(folder).with_suffix("").parts if part != "__init__"]
        own_names = re.compile(rf"\b(?:{'|'.join(re.escape(part.strip('_')) for part in parts)})\b", re.IGNORECASE)
        for name, text in _texts_below(ast.parse(path.read_bytes()), ".".join(parts)):
            masked_text = own_names.sub(_MASK, text)
            if len(masked_text.split()) >= _SHORTEST and all(
                mark.isprintable() or mark in "\n\t" for mark in masked_text
            ):
                yield name, masked_text


def _texts_below(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yields the qualified name and the text of everything that a syntax tree documents, itself first."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text:
            yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _texts_below(child, f"{name}.{child.name}")
        elif isinstance(child, ast.If | ast.Try):  # definitions that depend on the platform
            yield from _texts_below(child, name)


def _is_test(key: str) -> bool:
    return int(key[-4:], 16) < _TEST_SHARE * 0x10000


DOCSTRINGS = of_rows("docstrings", _docstrings_parts, sample_answer=min(_PARTS))


# The competition `tumours`: the probability that a tumour of the breast is malignant, from a look at its cells.
#
# The data are "Breast Cancer Wisconsin (Diagnostic)" (W. H. Wolberg, O. L. Mangasarian, W. N. Street, UCI Machine
# Learning Repository, 1995, CC BY 4.0), as scikit-learn carries them: 569 tumours, and of the outlines of their
# cells' nuclei ten measures, each with its mean, its standard error and its worst value.


def _tumours_parts() -> Parts:
    data = builtin_dataset("breast_cancer")
    malignant = (float(answer == 0) for answer in data.target.tolist())  # scikit-learn calls the benign ones 1
    return data.feature_names, *split("tumours", numbers(data.data.tolist(), malignant), training_rows=398)


TUMOURS = of_rows("tumours", _tumours_parts, sample_answer="0.5")


BUILT_IN = {"diabetes": DIABETES, "digits": DIGITS, "docstrings": DOCSTRINGS, "tumours": TUMOURS}


def competition_slugs() -> list[str]:
    """The slugs of the built-in competitions."""
    return sorted(BUILT_IN)


def find(slug: str) -> BuiltIn | None:
    """The built-in competition of this name, if there is one."""
    return BUILT_IN.get(slug)


def require(slug: str) -> BuiltIn:
    """The built-in competition of this name.

    Raises:
        CompetitionError: There is none; the message lists those that there are.
    """
    built_in = find(slug)
    if built_in is None:
        raise CompetitionError(
            f'There is no competition "{printable(slug)}" here; the built-in ones are: '
            f"{', '.join(competition_slugs())}."
            f"{did_you_mean(slug, competition_slugs())}",
            code="competition-not-found",
        )
    return built_in
