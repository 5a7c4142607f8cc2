"""The facts of a competition, and the task that the kit makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Value = bool | int | float | str | list[str]

_RGB = 3
_SMALLEST_PHOTOGRAPH, _LARGE_PHOTOGRAPH = 96, 384  # pixels


@dataclass(frozen=True)
class Competition:
    """A competition as Kaggle knows it.

    `title` and everything else that a host typed is untrusted text.

    Attributes:
        slug: Its name in URLs.
        title: What it is called.
        is_code_competition: Whether notebooks are submitted, not files.
        inference_hours: How long a submitted notebook may run, where its pages say so.
        internet: Whether a submitted notebook may use the internet, where its pages say so.
        evidence: What each value rests on, by the key of `pair.toml`.
    """

    slug: str
    title: str
    is_code_competition: bool
    inference_hours: float | None = None
    internet: bool | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its page on Kaggle."""
        return f"https://www.kaggle.com/competitions/{self.slug}"


class Medium(StrEnum):
    """The kinds of examples."""

    IMAGE = "image"
    AUDIO = "audio"
    ROW = "row"  # of a table: numbers, categories, dates
    TEXT = "text"  # columns of a table that are read
    SEQUENCE = "sequence"  # rows of a table in an order

    @property
    def is_files(self) -> bool:
        """True if an example is a file, or as many pixels as one, and not a row of a table."""
        return self in (Medium.IMAGE, Medium.AUDIO)


class TargetKind(StrEnum):
    """The kinds of predictions for one example."""

    CLASS = "class"  # one of several classes; two are a binary problem
    LABELS = "labels"  # any number of labels at once
    NUMBER = "number"  # one number, or several
    MASK = "mask"  # a class for each pixel
    IMAGE = "image"


class SubmissionKind(StrEnum):
    """The kinds of rows of a submission."""

    NUMBERS = "numbers"  # a number in each target column: regression, or the probability of each of several labels
    PROBABILITY = "probability"  # one column, the probability of the positive class
    CLASS_COLUMNS = "class_columns"  # a probability in one column for each class
    LABEL = "label"  # the class itself, or a rounded number
    TOP_K = "top_k"  # the k best classes, separated by spaces
    LABEL_SET = "label_set"  # all labels that apply, separated by spaces
    RUN_LENGTH = "run_length"  # the run-length code of a mask; empty for none
    KEYED_ROWS = "keyed_rows"  # a row for each part of an example, the id being `<example>_<part>`


class ServedAnswer(StrEnum):
    """The kinds of answers that an inference server returns for a batch of test rows."""

    TABLE = "table"  # ids and answers
    TARGETS = "targets"  # answers alone
    VALUE = "value"  # the only answer, as a plain value


def are_large_photographs(image_size: object) -> bool:
    """Tells if photographs are as large as those that EfficientNetV2-S was made for, or larger."""
    return isinstance(image_size, int) and image_size >= _LARGE_PHOTOGRAPH


def are_photographs(channels: object, image_size: object, kind: TargetKind) -> bool:
    """Tells if images are such as a backbone of ImageNet learned from: in colour, large enough, and not repainted."""
    is_large = isinstance(image_size, int) and image_size >= _SMALLEST_PHOTOGRAPH
    return is_large and channels == _RGB and kind not in (TargetKind.MASK, TargetKind.IMAGE)


@dataclass(frozen=True)
class Task:
    """The task that the kit makes of a competition.

    Paths are relative to the competition's mount; an empty one says that there is no such file.

    Attributes:
        family: The kind of task, which has its own templates.
        metric: A name of `generator.competition.metrics`, such as "accuracy" or, with its parameter, "map@5".
        target_kind: What is predicted for one example.
        submission: What a row of the submission says.
        id_column: The column with the ids, as in the sample submission.
        targets: The columns with the training labels; for classes that are folders, the sample's column.
        train_table: The table with a row for each training example.
        labels_table: The table with the labels, where it is another one.
        test_table: The table with a row for each test example.
        sample_submission: The sample; where there is none, a submission is built from the test ids.
        submission_file: The name that the submission has to have.
        details: What the family needs beyond that, by the keys of its `family.toml`.
        evidence: What each value rests on, by its key.
    """

    family: str
    metric: str
    target_kind: TargetKind
    submission: SubmissionKind
    id_column: str
    targets: tuple[str, ...]
    train_table: str
    labels_table: str
    test_table: str
    sample_submission: str
    submission_file: str = "submission.csv"
    details: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, str] = field(default_factory=dict)
