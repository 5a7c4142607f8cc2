"""The commit that a pair was pushed from, asked of git."""

import os
import subprocess
import tempfile
from pathlib import Path


def git_commit(folder: Path) -> str:
    """The commit of a folder's files, with `+` where they were changed since; empty outside of a repository.

    Settings of a repository name programs, which git executes as it looks for changes: monitors, filters, what fetches
    missing objects. Whoever sent the workspace may have written them, so git looks without them.
    """

    def asked(*arguments: str, **variables: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(  # noqa: S603 - no shell
            command,
            capture_output=True,
            text=True,
            timeout=8,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
        return done.stdout.strip()

    try:
        commit = asked("rev-parse", "--verify", "HEAD")
        top, *places = asked(
            *("rev-parse", "--path-format=absolute", "--show-toplevel"),
            *("--git-path", "objects", "--git-path", "index"),
        ).splitlines()
        objects, index = places
        with tempfile.TemporaryDirectory() as clean:
            for name in ("objects", "refs"):
                Path(clean, name).mkdir()
            Path(clean, "HEAD").write_text(f"{commit}\n", encoding="ascii")
            apart = {"GIT_DIR": clean, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": index}
            changed = asked("status", "--porcelain", "--ignore-submodules=all", "--", ".", **apart)
        return commit[:12] + ("+" if changed else "")
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
