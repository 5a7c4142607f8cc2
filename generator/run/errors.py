"""The errors of a run outside of its notebooks; those inside are in `cell_errors` and `kernel`.

RunError
├── NotebookMissingError        a pair without one of its notebooks
├── FolderNameError             a folder whose name no notebook can be told
├── SpecimenMissingError        there is no specimen to run on
├── TrainingIncompleteError     training stopped itself before its end
└── SubmissionMissingError      inference ended without a submission
"""

from pathlib import Path

from generator.errors import RunError
from generator.untrusted import printable


class NotebookMissingError(RunError):
    """A pair is not whole."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"{printable(str(path))} does not exist. Write the pair afresh with `tandem generate`.")


class FolderNameError(RunError):
    """A folder whose name is not UTF-8: a notebook's parameters are, and could not name it."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"{printable(str(folder))} has a name that is not UTF-8, which no notebook can be told: "
            "rename it, or choose another folder with --output."
        )


class SpecimenMissingError(RunError):
    """There is no specimen to run on."""

    def __init__(self, *, folder: Path, competition: str) -> None:
        super().__init__(
            f"There is no specimen in {printable(str(folder))}. Write one with `tandem specimen {competition}`."
        )


class TrainingIncompleteError(RunError):
    """Training ran out of time and handed over what it had."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"Training stopped before its last epoch to stay within its time; its checkpoints are in "
            f"{printable(str(folder))}. Go on with --resume, or predict with what there is: "
            f"--only infer -P ACCEPT_INCOMPLETE=true"
        )


class SubmissionMissingError(RunError):
    """There is nothing to submit."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"The inference notebook ended without writing {printable(str(path))}.")
