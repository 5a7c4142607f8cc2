"""Sessions that run the cells of rendered notebooks with the real frameworks, without importing those each time.

`notebook_process.py` imports them once and forks a process for every session that is asked for here.

PYTEST_DONT_REWRITE: tests import this module before pytest takes it for a plugin with fixtures.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import notebook_process
import pytest
from layout_files import table
from notebook_process import SESSION_SECONDS
from tasks import task_of

if TYPE_CHECKING:
    from generator.competition.facts import Task
    from generator.pair.choices import Choices

Parameters = Mapping[str, bool | int | float | str | list[str]]


@cache
def notebook_cells(framework: str, role: str) -> dict[str, str]:
    """The code cells of the digits notebook as `generate --owner ada` renders it, by name, in their order."""
    from generator.competition import builtin

    return rendered_cells(framework, role, builtin.require("digits").task)


@cache
def shop_cells(framework: str, role: str) -> dict[str, str]:
    """The code cells of the notebook for shops, by name, in their order."""
    return rendered_cells(framework, role, shop_task(), slug="shops")


def rendered_cells(framework: str, role: str, task: "Task", *, slug: str = "digits") -> dict[str, str]:
    """The code cells of a notebook for a task, by name, in their order."""
    from generator.competition.facts import Competition
    from generator.pair.choices import Choice, Choices, MadeBy, merged, proposed

    competition = Competition(slug=slug, title=slug.title(), is_code_competition=True)
    proposal = proposed(competition, task, framework=framework, owner=Choice("ada", MadeBy.FLAG))
    return code_cells(merged(proposal, Choices(), flags={}), role)


def code_cells(choices: "Choices", role: str) -> dict[str, str]:
    """The code cells of a notebook, by name, in their order."""
    from generator.pair.percent import CellKind
    from generator.pair.rendering import render_cells
    from generator.pair.spec import spec_of
    from generator.pair.workspace import Role

    return {cell.name: cell.source for cell in render_cells(spec_of(choices), Role(role)) if cell.kind is CellKind.CODE}


class Executable(Protocol):
    """A notebook that can say which cells are executed."""

    def cells(self, parameters: Parameters) -> list[tuple[str, str]]:
        """Names and sources of the cells in their order, with the cell that papermill would inject."""


@dataclass(frozen=True)
class Notebook:
    """A rendered notebook, perhaps with cells that a user edited, or of another task than its competition's."""

    framework: str
    role: str
    edits: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    task: "Task | None" = None
    slug: str = "digits"

    @property
    def backend(self) -> str:
        """The backend that it computes with unless a parameter says otherwise."""
        return "jax" if (self.framework, self.role) == ("keras", "train") else "tensorflow"

    def cells(self, parameters: Parameters) -> list[tuple[str, str]]:
        """The cells to be executed in their order, and papermill's behind that with the parameters."""
        if self.task is not None:
            cells = rendered_cells(self.framework, self.role, self.task, slug=self.slug)
        else:
            of_the_competition = shop_cells if self.slug == "shops" else notebook_cells
            cells = dict(of_the_competition(self.framework, self.role))
        for name, edit in self.edits.items():
            edited = edit(cells[name])
            assert edited != cells[name], f"the edit of {name} changes nothing"
            cells[name] = edited
        executed = []
        for name, source in cells.items():
            executed.append((name, source))
            if name == "parameters":
                executed.append(
                    ("injected-parameters", "".join(f"{key} = {parameters[key]!r}\n" for key in parameters))
                )
        return executed


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


class Sessions:
    """Runs any notebook in the process that has its backend, which is started when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: dict[str, Frameworks] = {}

    def start(self, notebook: Notebook, parameters: Parameters, **options: Any) -> Session:
        """Starts a session, see `Frameworks.start`."""
        backend = str(parameters.get("BACKEND", notebook.backend))
        if backend not in self._started:
            folder = self._folder / backend
            folder.mkdir()
            self._started[backend] = Frameworks(backend, folder)
        return self._started[backend].start(notebook, parameters, **options)

    def run(self, notebook: Notebook, parameters: Parameters, **options: Any) -> Ended:
        """Executes a notebook to its end, see `Frameworks.start`."""
        return self.start(notebook, parameters, **options).ended()

    def finished(self, notebook: Notebook, parameters: Parameters, **options: Any) -> Ended:
        """Executes a notebook that has to come to its end, or to the cell asked for."""
        ended = self.run(notebook, parameters, **options)
        assert ended.is_done, ended
        return ended

    def close(self) -> None:
        for frameworks in self._started.values():
            frameworks.close()


@dataclass(frozen=True)
class Digits:
    """A small competition of real scans: its folder, the training labels by id, and the true labels of the test."""

    folder: Path
    labels: Mapping[str, str]
    answers: Mapping[str, str]

    def write_labels(self, rows: list[tuple[str, str]], header: tuple[str, ...] = ("id", "label")) -> None:
        table(self.folder / "train.csv", header, rows)

    def write_sample(self, ids: list[str], header: tuple[str, ...] = ("id", "label"), label: str = "0") -> None:
        table(self.folder / "sample_submission.csv", header, [(name, label) for name in ids])


def write_digits(folder: Path, *, per_class: int = 8, test_rows: int = 21, names: tuple[str, ...] = ()) -> Digits:
    """Writes a competition like `digits` with the first scans of every class, and as many test images as wanted.

    Args:
        folder: The competition's folder.
        per_class: Training images of each class.
        test_rows: Test images, the classes mixed.
        names: What the ten classes are called, by default their digits.
    """
    from PIL import Image
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    names = names or tuple("0123456789")
    training = [row for digit in range(10) for row in (digits == digit).nonzero()[0][:per_class].tolist()]
    test = sorted(set(range(len(digits))) - set(training))[:test_rows]
    for part, rows in (("train", sorted(training)), ("test", test)):
        (folder / part).mkdir(parents=True)
        for row in rows:
            pixels = (images[row].reshape(8, 8) * (255 / 16)).round().astype("uint8")
            Image.fromarray(pixels).save(folder / part / f"{row:04d}.png")
    written = Digits(
        folder,
        labels={f"{row:04d}": names[digits[row]] for row in sorted(training)},
        answers={f"{row:04d}": names[digits[row]] for row in test},
    )
    written.write_labels(list(written.labels.items()))
    written.write_sample(list(written.answers), label=names[0])
    return written


def of_shops(framework: str, role: str, edits: Mapping[str, Callable[[str], str]] | None = None) -> Notebook:
    """A notebook for shops: a table, since that trains in the shortest time of all."""
    return Notebook(framework, role, edits or {}, slug="shops")


def shop_task() -> "Task":
    """The task of telling if a shop thrives: a class for each row of a table of numbers and words."""
    facts = {"metric": "auc", "submission": "probability", "test_table": "test.csv"}
    return task_of("tabular", "class", "thrives", **facts, class_count=2, batch_size=16, epochs=2)


@dataclass(frozen=True)
class Shops:
    """A small competition of made-up rows: its folder, its training rows and the ids of its test rows."""

    folder: Path
    training: list[tuple[str, ...]]
    asked: list[str]

    def write_training(self, rows: list[tuple[str, ...]]) -> None:
        table(self.folder / "train.csv", ("id", "size", "rent", "town", "thrives"), rows)

    def write_sample(self, ids: list[str]) -> None:
        table(self.folder / "sample_submission.csv", ("id", "thrives"), [(name, "0.5") for name in ids])


def write_shops(folder: Path, *, training_rows: int = 80, test_rows: int = 21) -> Shops:
    """Writes a competition that asks whether shops thrive, some of whose sizes are unknown."""
    import random

    folder.mkdir(parents=True)
    draw, rows = random.Random(4), []  # noqa: S311 - made-up rows
    for number in range(training_rows + test_rows):
        size, rent, town = draw.gauss(40, 9), draw.gauss(10, 2), draw.choice(["Ulm", "Köln", "Bonn"])
        thrives = size - 2 * rent + 5 * (town == "Ulm") + draw.gauss(0, 4) > 22
        rows.append((f"s{number:03d}", f"{size:.2f}" if number % 7 else "", f"{rent:.2f}", town, str(int(thrives))))
    test = rows[training_rows:]
    written = Shops(folder, rows[:training_rows], [row[0] for row in test])
    written.write_training(written.training)
    table(folder / "test.csv", ("id", "size", "rent", "town"), [row[:-1] for row in test])
    written.write_sample(written.asked)
    return written


@dataclass(frozen=True)
class Mirror:
    """Kaggle's file tree in a temporary folder: what a notebook's two roots point to."""

    root: Path
    slug: str = "digits"

    @property
    def input(self) -> Path:
        return self.root / "input"

    @property
    def working(self) -> Path:
        return self.root / "working"

    @property
    def competition(self) -> Path:
        return self.input / "competitions" / self.slug

    def output_of_training(self, framework: str) -> Path:
        """The folder that the output of the training kernel is mounted in."""
        return self.input / "notebooks" / "ada" / f"{self.slug}-{framework}-train"

    def parameters(self, notebook: Notebook, **others: bool | int | float | str | list[str]) -> dict[str, Any]:
        """The two roots, and what every notebook here is run with."""
        roots = {"INPUT_ROOT": str(self.input), "WORKING_ROOT": str(self.working)}
        training = {"ALLOW_CPU": True, "EPOCHS": 1} if notebook.role == "train" else {}
        if notebook.slug == "shops" and notebook.role == "train":
            training |= {"FOLDS": 1, "MEMBERS": 2, "WIDTH": 16}
        return roots | training | others


@pytest.fixture(scope="session")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """Sessions of notebooks in processes that have imported the frameworks once."""
    started = Sessions(tmp_path_factory.mktemp("sessions"))
    yield started
    started.close()


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    """An empty mirror of Kaggle's file tree."""
    (tmp_path / "input").mkdir()
    return Mirror(tmp_path)


@pytest.fixture
def shops(mirror: Mirror) -> Mirror:
    """An empty mirror for the notebooks of shops."""
    return Mirror(mirror.root, slug="shops")


class Trained:
    """Mirrors in which a training of one epoch has been, made when first asked for; every test gets a copy."""

    def __init__(self, folder: Path, sessions: Sessions) -> None:
        self._folder = folder
        self._sessions = sessions

    def mirror(self, framework: str, copy: Path, *, slug: str = "digits") -> Mirror:
        """A mirror for inference: the competition, and the output of training mounted as an input."""
        original = Mirror(self._folder / f"trained-{slug}-{framework}", slug)
        with (self._folder / f"trained-{slug}-{framework}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of a test run share it
            if not original.output_of_training(framework).is_dir():
                self._train(framework, original)
        shutil.copytree(original.root, copy)
        return Mirror(copy, slug)

    def _train(self, framework: str, mirror: Mirror) -> None:
        notebook = Notebook(framework, "train", slug=mirror.slug)
        if mirror.slug == "shops":
            write_shops(mirror.competition)
            parameters = mirror.parameters(notebook, EPOCHS=2, FOLDS=2)
        else:
            write_digits(mirror.competition)
            parameters = mirror.parameters(notebook, EPOCHS=2)
        ended = self._sessions.run(notebook, parameters)
        assert ended.is_done, ended
        mount = mirror.output_of_training(framework)
        mount.parent.mkdir(parents=True)
        mirror.working.rename(mount)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Trained:
    """Finished trainings on very few images, trained once a test run."""
    base = tmp_path_factory.getbasetemp()
    return Trained(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base, sessions)


def read_table(path: Path) -> list[list[str]]:
    """The rows of a CSV file, its header among them."""
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def names_below(folder: Path) -> list[str]:
    """Every file below a folder, by its path in it."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
