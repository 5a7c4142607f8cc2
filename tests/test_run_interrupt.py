"""Runs that are interrupted, and runs side by side: each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from runnable_pair import TRAIN, write_pair

import generator

SLOW = {
    "quick": "import os; print(os.getpid())",
    "slow": "import subprocess, sys, time\nprint('begun')\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'])\ntime.sleep(99)",
}


MEET = """
import pathlib, time
pathlib.Path({folder!r}, {name!r}).touch()
deadline = time.monotonic() + 30
while not pathlib.Path({folder!r}, {other!r}).exists():
    assert time.monotonic() < deadline, "the other run has not come"
    time.sleep(0.05)
print({name!r})
"""


def start(workspace: Path, *arguments: str, before: str = "") -> "subprocess.Popen[str]":
    """Starts `tandem run` as a shell would, after some code."""
    code = f"{before}\nfrom generator.cli.main import tandem; tandem()"
    sources = str(Path(generator.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", *arguments],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": sources},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_line(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the run ended without saying {text!r}")


def begun(workspace: Path, train: dict[str, str]) -> tuple["subprocess.Popen[str]", list[psutil.Process]]:
    """A run of a pair whose training has said that it has begun, and the processes that the run has started."""
    write_pair(workspace, train=train)
    run = start(workspace, "tiny")
    wait_for_line(run, "begun")
    return run, psutil.Process(run.pid).children(recursive=True)


def ends(process: psutil.Process) -> bool:
    try:
        process.wait(timeout=5)
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_saves_the_notebook_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    run, processes = begun(tmp_path, SLOW)
    assert len(processes) == 2, "the kernel and the process that its notebook started"

    run.send_signal(number)
    _, errors = run.communicate(timeout=30)

    assert run.returncode == 130
    assert "Interrupted." in errors
    assert "Traceback" not in errors
    assert all(ends(process) for process in processes)
    cells = {cell["id"]: cell for cell in json.loads((tmp_path / "output/tiny/train/train.ipynb").read_text())["cells"]}
    assert cells["slow"]["outputs"][0]["text"] == ["begun\n"]
    assert cells["slow"]["outputs"][-1]["ename"] == "KeyboardInterrupt"


@pytest.mark.slow
def test_hammering_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    run, processes = begun(tmp_path, {"slow": SLOW["slow"]})

    for _ in range(5):
        run.send_signal(signal.SIGINT)
        time.sleep(0.05)
    run.communicate(timeout=30)

    assert run.returncode == 130
    assert all(ends(process) for process in processes)
    assert json.loads((tmp_path / "output/tiny/train/train.ipynb").read_text())["cells"]


# Ctrl-C whenever papermill has just opened the notebook to save it, as soon as this text is in it.
INTERRUPTED_SAVES = """
import os, signal
from papermill.iorw import LocalHandler

def write(self, content, path):
    with open(path, "w") as file:
        if {text!r} in content:
            os.kill(os.getpid(), signal.SIGINT)
        file.write(content)

LocalHandler.write = write
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "KeyboardInterrupt"], ids=["at the start", "at the end"])
def test_an_interrupt_of_a_save_leaves_a_whole_notebook(tmp_path: Path, text: str) -> None:
    write_pair(tmp_path, train=SLOW)
    run = start(tmp_path, "tiny", before=INTERRUPTED_SAVES.format(text=text))
    if text:
        wait_for_line(run, "begun")
        run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)

    assert (run.returncode, "Interrupted." in errors) == (130, True)
    cells = json.loads((tmp_path / "output/tiny/train/train.ipynb").read_text())["cells"]
    assert any(cell["outputs"] for cell in cells) == bool(text)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.6, 1.2])
def test_an_interrupt_at_any_moment_leaves_no_process(tmp_path: Path, pause: float) -> None:
    write_pair(tmp_path, train=TRAIN)
    run = start(tmp_path, "tiny")
    wait_for_line(run, "code cells")
    time.sleep(pause)
    processes = psutil.Process(run.pid).children(recursive=True)

    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)

    assert run.returncode in (0, 130), errors
    assert "Traceback" not in errors
    assert all(ends(process) for process in processes)


@pytest.mark.slow
def test_a_killed_run_takes_its_kernel_along(tmp_path: Path) -> None:
    run, processes = begun(tmp_path, {"slow": "import time; print('begun'); time.sleep(99)"})

    run.kill()
    run.communicate(timeout=30)

    assert all(ends(process) for process in processes)


@pytest.mark.slow
def test_two_pairs_run_side_by_side(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        write_pair(tmp_path, name, train={"meet": MEET.format(folder=str(tmp_path), name=name, other=other), **TRAIN})

    runs = {name: start(tmp_path, name) for name in ("one", "two")}

    for name, run in runs.items():
        out, errors = run.communicate(timeout=60)
        assert run.returncode == 0, errors
        assert f"        {name}\n" in errors
        assert f"output/{name}/report.html" in out


@pytest.mark.slow
def test_a_second_run_of_the_same_pair_is_refused(tmp_path: Path) -> None:
    first, _ = begun(tmp_path, SLOW)

    second = start(tmp_path, "tiny")
    _, errors = second.communicate(timeout=30)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)

    assert second.returncode == 1
    assert f"Another run (process {first.pid}) is writing to {tmp_path}/output/tiny" in errors
