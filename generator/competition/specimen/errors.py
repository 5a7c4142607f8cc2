"""The errors of writing a specimen.

CompetitionError
└── SpecimenError
    ├── SpecimenExistsError    there is a specimen already
    └── NotASpecimenError      something else stands where it should be written
"""

from pathlib import Path

from generator.errors import CompetitionError
from generator.untrusted import printable


class SpecimenError(CompetitionError):
    """A specimen cannot be written."""


class SpecimenExistsError(SpecimenError):
    """There is a specimen already."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(f"There is a specimen in {printable(str(folder))} already; write it again with --force.")


class NotASpecimenError(SpecimenError):
    """Something that is not a specimen stands where it should be written; it is never removed."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"{printable(str(folder))} is not empty and no specimen, and was left alone; "
            "write the specimen elsewhere: --output DIR."
        )
