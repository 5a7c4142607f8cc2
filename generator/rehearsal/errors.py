"""The errors of a rehearsal outside of its notebooks.

RunError
├── NoTestSetError         a test of which no hidden one can be made here; the trials on it are left out
├── GpuImageError          an environment that inference cannot run in
└── NotRehearsedError      cells are to be pushed that no rehearsal has passed with
"""

from pathlib import Path

from generator.errors import RunError
from generator.untrusted import printable


class NoTestSetError(RunError):
    """A test set of a form that is not understood well enough to be changed; `why` is a sentence."""

    def __init__(self, *, why: str) -> None:
        self.why = why
        super().__init__(f"No hidden test can be made of the data: {why}")


class GpuImageError(RunError):
    """An environment in which the notebooks of this kit cannot be started."""

    def __init__(self, *, folder: Path, problem: str) -> None:
        super().__init__(
            f"{printable(str(folder))} {problem}: name a virtual environment with the packages of Kaggle's GPU "
            "image, or leave --gpu-image out to infer with the versions that are here."
        )


class NotRehearsedError(RunError):
    """The cells that are to be pushed have not passed a rehearsal; `why` is a predicate."""

    def __init__(self, *, pair: str, why: str) -> None:
        name = printable(pair)
        super().__init__(f"The pair {name} {why}: run `tandem rehearse {name}` first, or push it without --rehearsed.")
