"""What reading a piece of a table gives, whatever the table is written in."""

from dataclasses import dataclass, replace

from generator.competition.survey.facts import Column


@dataclass(frozen=True)
class Sample:
    """A table as far as it was read.

    Attributes:
        columns: With the sampled values.
        rows: Counted if `is_complete`, else estimated.
        is_complete: Whether the sample is the whole table.
        separator: Of a csv, else "".
        decimal: What its numbers have for a decimal point, "." or ","; the sampled values have a point.
        encoding: As Python calls it.
        remarks: Predicates for the notes, such as "is not UTF-8".
    """

    columns: tuple[Column, ...]
    rows: int
    is_complete: bool
    separator: str = ""
    encoding: str = "utf-8"
    decimal: str = "."
    remarks: tuple[str, ...] = ()

    def remarking(self, *remarks: str) -> "Sample":
        """The same with further remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


class NotATableError(Exception):
    """The file is something else; it counts among the other files of its folder."""


class UnreadableTableError(Exception):
    """The file should be a table and cannot be read; `remark` is a predicate for the notes."""

    def __init__(self, remark: str) -> None:
        super().__init__(remark)
        self.remark = remark
