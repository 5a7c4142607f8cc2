"""Fixtures, each named for what it guarantees."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from json_documents import check_documents, example_of, example_path
from miniature import MINIATURE, Outcome, replace_templates, write_tree

from generator.cli.main import main
from generator.pair.workspace import Workspace

# Under `nohup … &` both are ignored, here and in every program that a test starts and means to interrupt. A program
# starts with the default for a signal that has a handler; one that does nothing leaves the tests themselves deaf to it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Two workers, whose threads each wait for the other's by spinning, take twice as long for a small forest of trees.
os.environ["OMP_NUM_THREADS"] = "1"

# Most trainings here are over in a second, and compiling them well would take several.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


LONGEST = (
    "test_docs_commands.py",
    *("test_tutorial.py", "test_two_images.py", "test_fault_matrix.py", "test_notebook_run.py", "test_gallery.py"),
    *("test_serving_files.py", "test_notebook_resume.py", "test_sessions_runner.py", "test_serving_notebook.py"),
    *("test_notebook_accelerator.py", "test_segmentation_training.py", "test_tabular_training.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write tests/golden and docs/json anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take minutes begin first, or a worker would wait for one at the end."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The caches that all tests of a run share: compiled templates and matplotlib's fonts take long to make anew."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "caches"


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet; pytest's own would look through all others for the next number."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def isolated_home(homes: Iterator[Path], caches: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the Kaggle user, the tokens or the configuration of whoever runs it."""
    home = next(homes)
    home.mkdir()
    for name in [name for name in os.environ if name.startswith("KAGGLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk: what is written survives the process, and that is all that a test can see."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a competition is to be written to."""
    return tmp_path / "competition"


@pytest.fixture
def miniature_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Templates that are small enough to be read in one glance, in the place of the kit's."""
    return replace_templates(monkeypatch, tmp_path / "miniature", MINIATURE)


@pytest.fixture
def workspace_with_data(tmp_path: Path) -> Workspace:
    """A workspace in which the data of `digits` stand already, so that nothing has to be written for it."""
    workspace = Workspace(tmp_path / "workspace")
    write_tree(workspace.competition_data("digits"), {"train.csv": "id,label\n", "sample_submission.csv": "id,label\n"})
    return workspace


@pytest.fixture
def tandem(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the command line in this process; what it prints with --json is held to its schema."""

    def run(*arguments: str | Path, program: str = "tandem") -> Outcome:
        capsys.readouterr()
        words = [str(argument) for argument in arguments]
        outcome = Outcome(main(words, program=program), *capsys.readouterr())
        if "--json" in words:
            check_documents(words, outcome.out, program=program, is_error=outcome.code != 0)
        return outcome

    return run


@pytest.fixture
def keep_example(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, str], None]:
    """Writes what a command printed as its example in docs/json, with `--rewrite-golden`."""

    def keep(name: str, text: str) -> None:
        if request.config.getoption("--rewrite-golden"):
            example_path(name).write_text(example_of(name, text, tmp_path))

    return keep
