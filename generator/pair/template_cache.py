"""Compiled templates that outlive the process, since compiling them takes longer than rendering a pair.

They are the user's own, below `~/.cache/tandem`. Compiled code is run as it is read, so a folder that others can write
to is not used; and nothing depends on it, so whatever goes wrong with it goes unsaid.
"""

import os
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

_OTHERS_MAY_WRITE = 0o022


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Jinja's cache of files, which does without when they cannot be read or written."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fills the bucket if there is something for its template as it stands now."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - a damaged file can raise anything, and compiling anew is no harm
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps what the bucket has."""
        try:
            super().dump_bytecode(bucket)
        except OSError:
            return


def compiled_templates() -> CompiledTemplates | None:
    """The cache, or None where there is no folder that only this user writes to."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = caches / "tandem" / f"templates-{jinja2.__version__}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):
        return None
    is_mine = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & _OTHERS_MAY_WRITE)
    return CompiledTemplates(str(folder)) if is_mine else None
