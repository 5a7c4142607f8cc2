"""Processes that have imported a framework once, in which one notebook after another is executed."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import notebook_process
from notebook_process import SESSION_SECONDS

Parameters = Mapping[str, bool | int | float | str | list[str]]


class Executable(Protocol):
    """A notebook that can say which cells are executed."""

    def cells(self, parameters: Parameters) -> list[tuple[str, str]]:
        """Names and sources of the cells in their order, with the cell that papermill would inject."""


@dataclass(frozen=True)
class Ended:
    """A session that is over: the cell and exception that ended it early, and what each cell printed."""

    status: int
    printed: dict[str, str]
    cell: str | None = None
    error: str = ""
    seen: Any = None

    @property
    def is_done(self) -> bool:
        """True if every cell that was to be executed has been."""
        return self.status == 0 and self.cell is None

    def said(self, cell: str) -> str:
        return self.printed[cell].rstrip("\n")


class Session:
    """A notebook that is running."""

    def __init__(self, frameworks: "Frameworks", folder: Path, pid: int) -> None:
        self.pid = pid
        self._frameworks = frameworks
        self._folder = folder

    def wait_for(self, text: str) -> None:
        """Returns when the notebook has printed this."""
        deadline = time.monotonic() + SESSION_SECONDS
        while text not in self._log():
            if self._frameworks.has_answered() or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"it never printed {text!r}:\n{self._log()[-4_000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """Ends the process as a machine does that runs out of memory."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._frameworks.answer()

    def _log(self) -> str:
        return (self._folder / "log.txt").read_text(errors="replace")

    def ended(self) -> Ended:
        """Waits for the end, and tells what happened."""
        status = self._frameworks.answer()["status"]
        result = self._folder / "result.json"
        told = json.loads(result.read_text()) if result.is_file() else {"printed": {}}
        if told.get("cell") is None and status > 0:
            raise AssertionError(f"the session broke:\n{self._log()[-4_000:]}")
        return Ended(status=status, **told)


class Frameworks:
    """The process that has imported the frameworks, with one backend of Keras; one session at a time."""

    def __init__(self, backend: str, folder: Path, *, python: Path | str = sys.executable) -> None:
        self._folder = folder
        self._sessions = 0
        environment = {**os.environ, "KERAS_BACKEND": backend, "MPLBACKEND": "agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
        # JAX, imported before a notebook names a folder of its own, compiles what sessions of all workers need once.
        environment |= {
            "JAX_COMPILATION_CACHE_DIR": str(Path(os.environ.get("XDG_CACHE_HOME", folder), "jax")),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        self._process = subprocess.Popen(
            [python, notebook_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def start(
        self,
        notebook: Executable,
        parameters: Parameters,
        *,
        until: str | None = None,
        before: str = "",
        look: str = "None",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Session:
        """Starts a session.

        Args:
            notebook: What to execute.
            parameters: What papermill would inject.
            until: The last cell to be executed.
            before: Code that runs first, as a `sitecustomize` would.
            look: An expression over the notebook's names, evaluated after the last cell; its value must be JSON.
            cwd: The current folder; the session's own by default.
            environment: Variables to set.
        """
        self._sessions += 1
        folder = self._folder / f"session{self._sessions}"
        folder.mkdir()
        (folder / "log.txt").touch()
        request = {
            "cells": notebook.cells(parameters),
            "until": until,
            "before": before,
            "look": look,
            "folder": str(folder),
            "cwd": str(cwd or folder),
            "environment": {"HOME": os.environ["HOME"], **(environment or {})},
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Session(self, folder, pid=self.answer()["pid"])

    def run(self, notebook: Executable, parameters: Parameters, **options: Any) -> Ended:
        """Executes a notebook to its end, see `start`."""
        return self.start(notebook, parameters, **options).ended()

    def answer(self) -> dict[str, int]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process with the frameworks is gone"
        return dict(json.loads(line))

    def has_answered(self) -> bool:
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
