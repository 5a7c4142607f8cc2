"""The errors of a run outside of its notebooks; those inside are in `cell_errors` and `kernel`.

RunError
├── NotebookMissingError        a pair without one of its notebooks
└── SpecimenMissingError        there is no specimen to run on
"""

from pathlib import Path

from generator.errors import RunError
from generator.untrusted import printable


class NotebookMissingError(RunError):
    """A pair is not whole."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"{printable(str(path))} does not exist. Write the pair afresh with `tandem generate`.")


class SpecimenMissingError(RunError):
    """There is no specimen to run on."""

    def __init__(self, *, folder: Path, competition: str) -> None:
        super().__init__(
            f"There is no specimen in {printable(str(folder))}. Write one with `tandem specimen {competition}`."
        )
