"""The original of a specimen: what was seen of a competition, the task that it is, and how much of it to make up."""

import random
from dataclasses import dataclass

from generator.competition.facts import Task
from generator.competition.specimen.randomness import random_for
from generator.competition.survey.facts import Survey, Table


@dataclass(frozen=True)
class Original:
    """A competition that is copied, and what the user decides of the copy.

    Attributes:
        survey: Everything that was seen.
        task: What was made of it.
        rows: How many training rows the copy has.
        seed: The same seed gives the same bytes.
        signal: Whether the labels can be learned from the inputs.
    """

    survey: Survey
    task: Task
    rows: int
    seed: int
    signal: bool

    def text(self, key: str) -> str:
        """A detail of the task, "" where the family does not have it."""
        value = self.task.details.get(key, "")
        return value if isinstance(value, str) else ""

    def is_set(self, key: str) -> bool:
        """True if a detail of the task is true."""
        return self.task.details.get(key) is True

    def texts(self, key: str) -> tuple[str, ...]:
        """A list among the details of the task, () where the family does not have it."""
        value = self.task.details.get(key, ())
        return tuple(value) if isinstance(value, list) else ()

    def random(self, *names: object) -> random.Random:
        """A source of random numbers for one purpose."""
        return random_for(self.seed, *names)

    @property
    def train(self) -> Table | None:
        """The training table."""
        return self.survey.table(self.task.train_table)

    @property
    def labelled(self) -> Table | None:
        """The table with the training labels."""
        return self.survey.table(self.task.labels_table or self.task.train_table)

    @property
    def test(self) -> Table | None:
        """The test table."""
        return self.survey.table(self.task.test_table)

    @property
    def sample(self) -> Table | None:
        """The sample submission."""
        return self.survey.table(self.task.sample_submission)

    @property
    def lookup(self) -> Table | None:
        """The table that says what each row of the submission asks for."""
        return self.survey.table(self.text("lookup_table"))

    @property
    def labels_from(self) -> str:
        """Where the labels are; "table" for families without files."""
        return self.text("labels_from") or "table"

    @property
    def file_column(self) -> str:
        """The column that names the files of the examples, "" if none does."""
        return self.text("image_column") or self.text("audio_column")

    @property
    def file_suffix(self) -> str:
        """The suffix that has to be appended to the values of that column."""
        return self.text("image_suffix") or self.text("audio_suffix")

    @property
    def has_pieces(self) -> bool:
        """True if an image has a row for each piece of its mask."""
        return self.text("mask_rows") == "piece"

    @property
    def is_per_group(self) -> bool:
        """True if there is one prediction for a group of rows."""
        return self.text("prediction_per") == "group"

    def folder_of(self, role: str) -> str:
        """The folder of the training files, or of the test files."""
        return self.text("train_folder" if role == "train" else "test_folder")
