"""The formats of a task's tables and submission, which decide what reads and writes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from generator.competition.facts import Task, Value
from generator.competition.tables.formats import TableFormat, format_of


@dataclass(frozen=True)
class TaskFiles:
    """The formats of a task's files, by what their names promise and its values say.

    Attributes:
        task: The task.
        values: Every key of the task.
    """

    task: Task
    values: Mapping[str, Value]

    @property
    def table_formats(self) -> tuple[str, ...]:
        """The formats of the tables, by what their names promise: "csv", "json", "parquet"."""
        tables = filter(None, (self.task.train_table, self.task.labels_table, self.task.test_table))
        return tuple(sorted({_format_of_table(name) for name in tables})) or ("csv",)

    @property
    def table_reader(self) -> str:
        """The format of all tables, or "several" where they differ."""
        return self.table_formats[0] if len(self.table_formats) == 1 else "several"

    @property
    def may_have_lists(self) -> bool:
        """True if a cell of the tables may be a list, which has no hash."""
        return self.table_formats != ("csv",) or bool(self.values.get("pixel_lists"))

    @property
    def sample_format(self) -> str:
        """The format of the sample submission: "csv", "json", "json lines" or "parquet"; "" if there is none."""
        if not self.task.sample_submission:
            return ""
        is_lines = format_of(self.task.sample_submission).format is TableFormat.JSON_LINES
        return "json lines" if is_lines else _format_of_table(self.task.sample_submission)

    @property
    def has_sample_like_tables(self) -> bool:
        """True if what reads the tables reads the sample submission as well, since both are csv of one kind."""
        is_csv = self.sample_format == "csv" and "csv" in self.table_formats
        return is_csv and self.sample_separator == self.values["separator"]

    @property
    def has_sample_of_its_own(self) -> bool:
        """True if the sample submission is csv, but of another kind than the tables."""
        return self.sample_format == "csv" and not self.has_sample_like_tables

    @property
    def keeps_sample_text(self) -> bool:
        """True if cells or names of a sample in csv have to be repeated as they stand there."""
        is_nameless = bool(self.values["has_sample_ids"]) and self.task.id_column.startswith("Unnamed: ")
        is_repeated = is_nameless or bool(self.values["context_columns"])
        return self.sample_format == "csv" and not self.has_typed_submission and is_repeated

    @property
    def has_packed_tables(self) -> bool:
        """True if a table, or the sample submission, is a member of a zip archive."""
        task = self.task
        tables = (task.train_table, task.labels_table, task.test_table, task.sample_submission)
        return any(".zip/" in name for name in tables)

    @property
    def has_json_lines(self) -> bool:
        """True if the name of the training table promises an object on each line."""
        return format_of(self.task.train_table).format is TableFormat.JSON_LINES

    @property
    def has_plain_csv(self) -> bool:
        """True if pandas reads the tables, where they are csv, without being told how they are written."""
        values = self.values
        is_usual = (values["separator"], values["encoding"], values["decimal"]) == (",", "utf-8", ".")
        is_marked = values["keep_null_words"] or values["trailing_separator"]
        return is_usual and not self.has_packed_tables and not is_marked

    @property
    def submission_separator(self) -> str:
        """The separator of the submission's cells, where it is a text: what its name says, else the task."""
        said = format_of(self.task.submission_file).separator
        return said or str(self.values["submission_separator"])

    @property
    def sample_separator(self) -> str:
        """The separator of the sample submission's cells, where it is a text: the tables may have another."""
        said = format_of(self.task.sample_submission).separator
        return said or str(self.values["submission_separator"])

    @property
    def submission_writer(self) -> str:
        """The file of the cells that write the submission, by what its name promises."""
        promised = format_of(self.task.submission_file)
        if promised.format is TableFormat.PARQUET:
            return "parquet"
        if promised.format in (TableFormat.JSON, TableFormat.JSON_LINES):
            return "json"
        if promised.compression == ".zip":
            return "zip"
        return "separated" if promised.compression or self.submission_separator != "," else "csv"

    @property
    def has_typed_sample(self) -> bool:
        """True if the sample submission says itself which of its columns are numbers."""
        return self.sample_format not in ("", "csv")

    @property
    def has_typed_submission(self) -> bool:
        """True if the submission's format knows numbers from text."""
        return self.submission_writer in ("json", "parquet")

    @property
    def writes_json_lines(self) -> bool:
        """True if the submission has an object on each line."""
        return format_of(self.task.submission_file).format is TableFormat.JSON_LINES


def _format_of_table(name: str) -> str:
    promised = format_of(name).format
    if promised is TableFormat.PARQUET:
        return "parquet"
    return "json" if promised in (TableFormat.JSON, TableFormat.JSON_LINES) else "csv"
