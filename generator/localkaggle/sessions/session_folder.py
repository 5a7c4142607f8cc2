"""The files of one session, while it runs and afterwards."""

from dataclasses import dataclass
from pathlib import Path

from generator.localkaggle.sessions.trees import remove_tree


@dataclass(frozen=True)
class SessionFolder:
    """The files of one session."""

    path: Path

    @classmethod
    def of(cls, root: Path, session: int) -> "SessionFolder":
        """The files of a session of the local Kaggle that has this folder."""
        return cls(root / "sessions" / str(session))

    @property
    def notebook(self) -> Path:
        """The notebook as it was pushed."""
        return self.path / "notebook.ipynb"

    @property
    def executed(self) -> Path:
        """The notebook with its outputs, if it got as far as to have some."""
        return self.path / "executed.ipynb"

    @property
    def working(self) -> Path:
        """The folder that became /kaggle/working."""
        return self.path / "working"

    @property
    def log(self) -> Path:
        """The log."""
        return self.path / "log.jsonl"

    @property
    def private(self) -> Path:
        """The folder for what the runner needs meanwhile."""
        return self.path / "private"

    def make(self) -> None:
        """Makes the folders, empty."""
        self.remove()
        self.working.mkdir(parents=True)
        self.private.mkdir(mode=0o700)

    def remove(self) -> None:
        """Removes all of it."""
        remove_tree(self.path)
