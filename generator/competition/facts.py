"""What is known of a competition, and the task that the kit makes of it."""

from dataclasses import dataclass
from enum import StrEnum


class Metric(StrEnum):
    """The metrics that the kit can compute, by the names that Kaggle uses."""

    ACCURACY = "accuracy"


@dataclass(frozen=True)
class Competition:
    """What Kaggle knows of a competition.

    `title` and everything else that a host typed is untrusted text.
    """

    slug: str
    title: str
    is_code_competition: bool


@dataclass(frozen=True)
class ImageTask:
    """A competition read as image classification: one class for each image.

    `train_folder` and `test_folder` are relative to the competition's mount; `image_suffix` is appended to an id
    to make a file name ("" where ids are file names). `batch_size` is images per replica.
    """

    family: str
    metric: Metric
    id_column: str
    target: str
    train_table: str
    sample_submission: str
    train_folder: str
    test_folder: str
    image_suffix: str
    image_size: int
    channels: int
    batch_size: int
    epochs: int
    flip: bool
    evidence: dict[str, str]
