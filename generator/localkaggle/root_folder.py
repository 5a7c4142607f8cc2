"""The folder of a local Kaggle, which belongs to one server at a time."""

import fcntl
import os
from pathlib import Path

from generator.errors import LocalKaggleError
from generator.files import writing
from generator.untrusted import printable

_LOCK = "server.lock"
_ONLY_MINE = 0o700


class RootFolder:
    """Makes the folder if need be, and keeps others out of it until `release`, or until this process ends."""

    def __init__(self, root: Path) -> None:
        """Takes the folder.

        Raises:
            LocalKaggleError: Another server has it.
            FileWriteError: It cannot be made, or not be written to.
        """
        self.path = root.resolve()
        with writing(root):
            # In it are the account's notebooks, and its token.
            self.path.mkdir(mode=_ONLY_MINE, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            # A folder that was there before may be open to others; the database, which holds the token, never is.
            os.close(os.open(self.database, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise LocalKaggleError(
                f"Another local Kaggle runs on {printable(str(root))}; stop it, or choose another folder with --root."
            ) from error

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.path / "kaggle.sqlite"

    def release(self) -> None:
        """Lets others have it."""
        os.close(self._lock)
