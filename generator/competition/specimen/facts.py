"""What a specimen is made of, and what was written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.competition.facts import Task
from generator.competition.specimen.masks import Shape
from generator.competition.specimen.signal import Truth
from generator.competition.survey.facts import Survey


@dataclass(frozen=True)
class Original:
    """What is copied: everything that was seen, and what was made of it."""

    survey: Survey
    task: Task

    def text(self, key: str) -> str:
        """A detail of the task, "" where the family does not have it."""
        value = self.task.details.get(key, "")
        return value if isinstance(value, str) else ""

    @property
    def file_column(self) -> str:
        """The column that names the files of the examples, "" if none does."""
        return self.text("image_column") or self.text("audio_column")

    @property
    def mask_classes(self) -> tuple[str, ...]:
        """The classes of masks where an image has one for each."""
        value = self.task.details.get("mask_classes", ())
        return tuple(value) if isinstance(value, list) else ()

    @property
    def has_pieces(self) -> bool:
        """Whether an image has a row for each piece of its mask."""
        return self.text("mask_rows") == "piece"

    @property
    def has_label_rows(self) -> bool:
        """Whether a training row is for one label of an example."""
        return self.task.details.get("label_rows") is True

    @property
    def file_suffix(self) -> str:
        """What has to be appended to the values of that column."""
        return self.text("image_suffix") or self.text("audio_suffix")

    def folder_of(self, role: str) -> str:
        """The folder of the training files, or of the test files."""
        return self.text("train_folder" if role == "train" else "test_folder")

    @property
    def labels_from(self) -> str:
        """Where the labels are; "table" for families without files."""
        return self.text("labels_from") or "table"


@dataclass(frozen=True)
class Wishes:
    """What the user decides.

    Attributes:
        rows: How many training rows.
        seed: The same seed gives the same bytes.
        signal: Whether the labels can be learned from the inputs.
    """

    rows: int
    seed: int
    signal: bool


@dataclass(frozen=True)
class Side:
    """The made-up examples of one part of the data.

    Attributes:
        role: "train", "test", or what else the files are for.
        known: The names of the sampled real examples.
        names: The names of the made-up ones, as tables and files have them.
        truth: Their labels.
        seen: What their inputs show: the same, or nothing that helps.
        shapes: For each example, what is to be segmented, one for each part.
        parts: The parts in the ids of the table that is keyed by example and part; one empty part if none is.
        lengths: How many rows each group has, where rows are grouped.
    """

    role: str
    known: tuple[str, ...]
    names: tuple[str, ...]
    truth: Truth
    seen: Truth
    shapes: tuple[tuple[Shape, ...], ...] = ()
    parts: tuple[str, ...] = ("",)
    lengths: tuple[int, ...] = ()

    def __len__(self) -> int:
        """How many examples there are."""
        return len(self.names)


@dataclass(frozen=True)
class SpecimenSummary:
    """What was written.

    Attributes:
        folder: Where.
        rows: Of each table, by path.
        files: How many files there are, by folder; "" is the specimen itself.
        notes: Sentences on what is not like the original.
    """

    folder: Path
    rows: Mapping[str, int]
    files: Mapping[str, int]
    notes: tuple[str, ...]
