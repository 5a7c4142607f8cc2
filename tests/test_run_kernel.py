"""The process that a notebook runs in."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from generator.errors import RunError
from generator.run import kernel, kernel_process
from generator.run.kernel import (
    KernelSetup,
    KernelStartError,
    kernel_environment,
    private_folder,
    require_packages,
    started_kernel,
)

GUARDED = """
import runpy, sys
process = runpy.run_path({module!r}, run_name="kernel_process")
process["Guard"](sys.argv[1:2]).install()
try:
    {attempt}
except PermissionError as error:
    print(error)
"""


def place(tmp_path: Path) -> KernelSetup:
    return KernelSetup(private=tmp_path / "private", working=tmp_path / "working", read_only=(tmp_path / "input",))


def attempt(code: str, inputs: Path) -> str:
    """What a guarded process says to this code, which finds the inputs in `root`."""
    script = GUARDED.format(module=kernel_process.__file__, attempt=f"root = sys.argv[1]; {code}")
    done = subprocess.run([sys.executable, "-c", script, str(inputs)], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "input"
    folder.mkdir()
    (folder / "train.csv").write_text("id\n")
    return folder


@pytest.mark.parametrize(
    "code",
    [
        "open(f'{root}/train.csv', 'a')",
        "open(f'{root}/new', 'x')",
        "import os; os.open(f'{root}/new', os.O_CREAT)",
        "import os; os.remove(f'{root}/train.csv')",
        "import os; os.rename(f'{root}/train.csv', 'moved')",
        "import os; os.truncate(f'{root}/train.csv', 0)",
        "import os; os.mkdir(f'{root}/folder')",
        "import os; os.chmod(f'{root}/train.csv', 0)",
        "import os; os.symlink('/etc', f'{root}/link')",
        "import os; os.chdir(root); open('train.csv', 'w')",
        "import os; os.symlink(root, 'link'); open('link/train.csv', 'w')",
        "import pathlib; pathlib.Path(root, 'train.csv').write_text('')",
        "import shutil; shutil.rmtree(root)",
    ],
)
def test_inputs_cannot_be_changed(inputs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    monkeypatch.chdir(tmp_path)

    assert "inputs are read-only, as on Kaggle" in attempt(code, inputs)

    assert [path.name for path in inputs.iterdir()] == ["train.csv"]
    assert (inputs / "train.csv").read_text() == "id\n"


def test_inputs_can_be_read_and_other_folders_written(inputs: Path, tmp_path: Path) -> None:
    code = "import shutil; shutil.copy(f'{root}/train.csv', f'{root}-2.csv'); print(open(f'{root}-2.csv').read())"

    assert attempt(code, inputs) == "id\n\n"


def test_tokens_and_the_users_settings_stay_outside(tmp_path: Path) -> None:
    base = {
        "HOME": str(tmp_path),
        "KAGGLE_USERNAME": "someone",
        "KAGGLE_KEY": "secret",
        "KAGGLE_API_TOKEN": "secret",
        "MPLBACKEND": "TkAgg",
        "PYTHONSTARTUP": "startup.py",
        "JUPYTER_PATH": "/somewhere",
        "KEPT": "yes",
    }

    variables = kernel_environment(place(tmp_path), base=base)

    assert "secret" not in variables.values()
    assert not {"MPLBACKEND", "PYTHONSTARTUP", "JUPYTER_PATH", "KAGGLE_USERNAME"} & variables.keys()
    assert variables["KEPT"] == "yes"
    assert variables["HOME"] == str(tmp_path)
    assert Path(variables["JUPYTER_CONFIG_DIR"]).is_relative_to(tmp_path / "private")
    assert json.loads(variables[kernel_process.READ_ONLY_VARIABLE]) == [str(tmp_path / "input")]


@pytest.mark.parametrize("home", ["/proc/nonexistent", "/dev/null"])
def test_an_unwritable_home_is_replaced(tmp_path: Path, home: str) -> None:
    variables = kernel_environment(place(tmp_path), base={"HOME": home})

    assert Path(variables["HOME"]).is_relative_to(tmp_path)
    assert Path(variables["MPLCONFIGDIR"]).is_relative_to(tmp_path)


def test_a_users_log_level_is_kept(tmp_path: Path) -> None:
    assert kernel_environment(place(tmp_path), base={"TF_CPP_MIN_LOG_LEVEL": "0"})["TF_CPP_MIN_LOG_LEVEL"] == "0"


def test_without_a_kernel_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "REQUIRED_PACKAGES", ("papermill", "not_a_package"))

    with pytest.raises(RunError, match=r"not_a_package is not .*pip install -e '/.*\[run\]'$"):
        require_packages()


@pytest.mark.slow
def test_a_kernel_that_does_not_start_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no zmq today')")
    monkeypatch.setattr(kernel_process, "__file__", str(broken))
    for name in ("private", "working"):
        (tmp_path / name).mkdir()

    async def start() -> None:
        async with started_kernel(place(tmp_path)):
            pass

    with pytest.raises(KernelStartError, match=r"did not start: Kernel died.*\n    no zmq today"):
        asyncio.run(start())


@pytest.mark.slow
def test_what_a_notebook_wants_done_at_its_end_is_done(tmp_path: Path) -> None:
    for name in ("private", "working"):
        (tmp_path / name).mkdir()
    code = f"""
import atexit, pathlib, subprocess, threading, time
subprocess.Popen(["true"])  # has ended when the kernel does, and nobody has waited for it
atexit.register(pathlib.Path({str(tmp_path / "exited")!r}).touch)
threading.Thread(target=lambda: (time.sleep(0.3), pathlib.Path({str(tmp_path / "waited")!r}).touch())).start()
"""

    async def execute() -> None:
        async with started_kernel(place(tmp_path)) as running:
            await running.client.execute_interactive(code, timeout=30)

    asyncio.run(execute())

    assert (tmp_path / "exited").exists()
    assert (tmp_path / "waited").exists()


def test_a_long_temporary_folder_falls_back_to_ports() -> None:
    assert kernel._fits_a_socket(Path("/tmp/tandem-abc/train.json")) == (os.name == "posix")
    assert not kernel._fits_a_socket(Path("/tmp") / ("x" * 90) / "train.json")


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_a_day_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uses = "import os\nfrom generator.run.kernel import private_folder\nwith private_folder():\n"
    killed = f"{uses}    os.kill(os.getpid(), 9)"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "tandem-notes").mkdir()  # somebody's own

    subprocess.run([sys.executable, "-c", killed], check=False)
    (left,) = set(tmp_path.iterdir()) - {tmp_path / "tandem-notes"}
    with private_folder() as alive:
        for folder in tmp_path.iterdir():
            os.utime(folder, (0, 0))
        subprocess.run([sys.executable, "-c", killed], check=False)

        assert not left.exists()
        assert alive.exists()
        (later,) = set(tmp_path.iterdir()) - {tmp_path / "tandem-notes", alive}
        with private_folder():
            assert later.exists()
