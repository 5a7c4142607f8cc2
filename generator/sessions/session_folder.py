"""The files of one session, while it runs and afterwards."""

from pathlib import Path

from generator.sessions.folder_trees import remove_tree


class SessionFolder:
    """The files of one session.

    Attributes:
        path: Its folder.
        notebook: The notebook as it was pushed.
        executed: The notebook with its outputs, if it got as far as to have some.
        working: What becomes /kaggle/working, and whose files are the output.
        log: What the notebook printed, as `session_log` writes it.
        private: What the runner needs meanwhile.
        first_process: Which process is the first one of its sandbox, as long as that is there.
    """

    def __init__(self, root: Path, session: int | str) -> None:
        """Names the files of a session below a root, by its number or name; nothing is made yet."""
        self.path = root / "sessions" / str(session)
        self.notebook = self.path / "notebook.ipynb"
        self.executed = self.path / "executed.ipynb"
        self.working = self.path / "working"
        self.log = self.path / "log.jsonl"
        self.private = self.path / "private"
        self.first_process = self.path / "first-process.json"

    def make(self) -> None:
        """Makes the folders, empty."""
        self.remove()
        self.working.mkdir(parents=True)
        self.private.mkdir(mode=0o700)

    def remove(self) -> None:
        """Removes all of it."""
        remove_tree(self.path)
