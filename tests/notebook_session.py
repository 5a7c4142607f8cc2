"""Sessions that run the cells of rendered notebooks with the real frameworks, without importing those each time.

`notebook_process.py` imports them once and forks a process for every session that is asked for here.

PYTEST_DONT_REWRITE: tests import this module before pytest takes it for a plugin with fixtures.
"""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from layout_files import read_table
from notebook_competitions import shop_task, write_digits, write_shops
from notebook_frameworks import Ended, Frameworks, Parameters, Session

if TYPE_CHECKING:
    from generator.competition.facts import Task
    from generator.pair.settings import Settings

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="there is no PyTorch; `make test` installs it where it comes without CUDA"
)


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
    from generator.pair.settings import Origin, SettingValue, propose_settings

    competition = Competition(slug=slug, title=slug.title(), is_code_competition=True)
    proposal = propose_settings(competition, task, framework=framework, owner=SettingValue("ada", Origin.FLAG))
    return code_cells(proposal, role)


def code_cells(choices: "Settings", role: str) -> dict[str, str]:
    """The code parts of a notebook, by name, in their order."""
    from generator.pair.notebook import CellKind
    from generator.pair.rendering import rendered_parts
    from generator.pair.workspace import Role

    return {part.name: part.source for part in rendered_parts(choices)[Role(role)] if part.kind is CellKind.CODE}


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
        if self.framework in ("catboost", "lightgbm", "xgboost"):
            return "trees"
        if self.framework == "torch":
            return "none"
        return "jax" if self.framework == "jax" or (self.framework, self.role) == ("keras", "train") else "tensorflow"

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
class Written:
    """A notebook as it lies in a folder, and the backend that it computes with."""

    path: Path
    backend: str = "tensorflow"

    def cells(self, parameters: Parameters) -> list[tuple[str, str]]:
        """The code cells, and behind that with the parameters one that sets them, as papermill's does."""
        executed = []
        for number, cell in enumerate(json.loads(self.path.read_text())["cells"]):
            if cell["cell_type"] == "code":
                executed.append((f"{number}", "".join(cell["source"])))
            if "parameters" in cell["metadata"].get("tags", []):
                executed.append(("injected", "".join(f"{name} = {value!r}\n" for name, value in parameters.items())))
        return executed


class Sessions:
    """Runs any notebook in the process of a Python that has its backend, which is started when it is first needed."""

    def __init__(self, folder: Path, *, python: Path | str = sys.executable) -> None:
        self._folder = folder
        self._python = python
        self._started: dict[str, Frameworks] = {}

    def start(self, notebook: Notebook | Written, parameters: Parameters, **options: Any) -> Session:
        """Starts a session, see `Frameworks.start`."""
        backend = str(parameters.get("BACKEND", notebook.backend))
        if backend not in self._started:
            folder = self._folder / backend
            folder.mkdir()
            self._started[backend] = Frameworks(backend, folder, python=self._python)
        return self._started[backend].start(notebook, parameters, **options)

    def run(self, notebook: Notebook | Written, parameters: Parameters, **options: Any) -> Ended:
        """Executes a notebook to its end, see `Frameworks.start`."""
        return self.start(notebook, parameters, **options).ended()

    def finished(self, notebook: Notebook | Written, parameters: Parameters, **options: Any) -> Ended:
        """Executes a notebook that has to come to its end, or to the cell asked for."""
        ended = self.run(notebook, parameters, **options)
        assert ended.is_done, ended
        return ended

    def predicted(
        self,
        mirror: "Mirror",
        framework: str,
        task: "Task",
        *,
        inference: Mapping[str, int] | None = None,
        environment: Mapping[str, str] | None = None,
        **training: float,
    ) -> list[list[str]]:
        """Trains a task's model on a competition and has it predict: the submission's rows, its header first.

        The output of the training is moved to `train`, beside the working folder.
        """
        train, infer = (Notebook(framework, role, task=task) for role in ("train", "infer"))
        self.finished(train, mirror.parameters(train, **training), environment=environment)
        mirror.working.rename(mirror.root / "train")
        self.finished(infer, mirror.parameters(infer, **(inference or {})))
        return read_table(mirror.working / "submission.csv")

    def close(self) -> None:
        for frameworks in self._started.values():
            frameworks.close()


def of_shops(
    framework: str, role: str, edits: Mapping[str, Callable[[str], str]] | None = None, **details: float
) -> Notebook:
    """A notebook for shops: a table, since that trains in the shortest time of all."""
    task = shop_task()
    other = replace(task, details={**task.details, **details}) if any(details.values()) else None
    return Notebook(framework, role, edits or {}, slug="shops", task=other)


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
            training |= {"N_FOLDS": 1, "K": 2, "WIDTH": 16}
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
            parameters = mirror.parameters(notebook, EPOCHS=2, N_FOLDS=2)
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


def names_below(folder: Path) -> list[str]:
    """Every file below a folder, by its path in it."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def assert_only_caches(home: Path) -> None:
    """Fails if a run has left more in the user's home than caches and Keras's configuration."""
    left = [name for name in names_below(home) if not name.startswith(".cache/")]
    assert left in ([], [".keras/keras.json"])


def arrays_in(path: Path) -> dict[str, bytes]:
    """The weights in a file, by their place in it; the file holds more, such as what its layers are called."""
    import h5py
    from safetensors.numpy import load_file

    if path.suffix == ".safetensors":
        return {name: array.tobytes() for name, array in load_file(path).items()}
    found: dict[str, bytes] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, one: found.update({name: one[()].tobytes()} if hasattr(one, "shape") else {}))
    assert found
    return found
