"""What the compiler said of a program before, in the user's own cache folder: figures by the hash of the program."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from generator.errors import TandemError
from generator.files import read_json
from generator.untrusted import JsonObject
from generator.workspace_files import WorkspaceFiles

_KEY = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 16  # bytes of an entry
_FORMAT = "2"  # another one where a program of the same text gets other figures


class ResultCache:
    """A folder with a file for each program; nothing depends on it, so whatever goes wrong with it goes unsaid."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _own_folder()

    def get(self, key: str) -> JsonObject | None:
        """What was kept under a key, or None."""
        return (read_json(self._folder / f"{key}.json", most=_LARGEST) or None) if _KEY.fullmatch(key) else None

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Keeps a value, as a whole or not at all."""
        content = json.dumps(value).encode()
        if not _KEY.fullmatch(key) or len(content) > _LARGEST:
            return
        with suppress(OSError, TandemError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            WorkspaceFiles(self._folder).write(self._folder / f"{key}.json", content, mode=0o600)


def _own_folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "tandem" / f"compiled-steps-{_FORMAT}"
