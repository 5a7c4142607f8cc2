"""How sessions end whatever is left behind: deep folders, forbidden folders, a full disk, a killed server."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import TRAIN, Desk
from scripted import ScriptedRunner, writing

from generator.sessions.bubblewrap import Bubblewrap
from generator.sessions.folder_trees import remove_tree

LEVELS = 1_200
NOBODY = 65_534


def dig(folder: Path) -> None:
    """Makes folders below one another, more than a program can be deep in calls of itself, with a file in the last."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_session_ends_whose_temporary_folder_is_deep(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(lambda order: dig(order.files.private)))
    desk.push()

    assert desk.status() == "COMPLETE"
    assert not (tmp_path / "sessions" / "1" / "private").exists()


def test_a_kernel_is_deleted_whose_output_is_deep(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(lambda order: dig(order.files.working)))
    desk.push()
    desk.ask("DeleteKernel", **TRAIN)

    assert list((tmp_path / "sessions").iterdir()) == []


@pytest.fixture
def owned() -> Iterator[Path]:
    """A folder of an ordinary user, as whom this process acts."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        user = NOBODY if os.geteuid() == 0 else os.geteuid()
        os.chown(folder, user, -1)
        before = os.geteuid()
        os.seteuid(user)
        try:
            yield Path(folder)
        finally:
            os.seteuid(before)


def test_folders_that_their_owner_may_not_write_to_are_removed(owned: Path) -> None:
    (owned / "left" / "in" / "deeper").mkdir(parents=True)
    (owned / "left" / "in" / "deeper" / "a.txt").write_text("1")
    (owned / "left" / "in").chmod(0)
    (owned / "left").chmod(0o500)
    remove_tree(owned / "left")

    assert not (owned / "left").exists()


def test_a_link_in_what_is_removed_is_removed_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("1")
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "link").symlink_to(tmp_path / "mine")
    remove_tree(tmp_path / "left")

    assert not (tmp_path / "left").exists()
    assert (tmp_path / "mine" / "a.txt").read_text() == "1"


def test_what_a_killed_server_left_is_swept_and_outputs_stay(tmp_path: Path) -> None:
    first = Desk(tmp_path, ScriptedRunner(writing({"a.txt": "1"})))
    first.push()
    session = tmp_path / "sessions" / "1"
    (session / "private" / "scratch").mkdir(parents=True)
    (session / "private" / "scratch" / "large.bin").write_bytes(b"x" * 2**20)
    dig(session / "private")
    (session / ".output.zip.part").write_bytes(b"x" * 2**20)
    second = first.restarted()

    assert second.kaggle.swept >= 2 * 2**20
    assert not (session / "private").exists()
    assert not (session / ".output.zip.part").exists()
    assert second.output() == ["a.txt"]
    assert second.restarted().kaggle.swept == 0


# In a file system of its own: the session fills it, and it is made empty again while the session is still not over.
FILLING = """
import sys, threading, time
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from desk import Desk
from scripted import ScriptedRunner
from generator.localkaggle.services.kernel_sessions import SessionRules

root = Path("/mnt")

def fill(order):
    with (order.files.working / "filling").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 2**16)

desk = Desk(root, ScriptedRunner(fill), rules=SessionRules(slots=1))
desk.push("Fills the disk")
until = time.monotonic() + 30
while time.monotonic() < until and not desk.runner.orders:
    time.sleep(0.01)
time.sleep(1)
print("full", desk.status(kernelSlug="fills-the-disk"))
(root / "sessions/1/working/filling").unlink()
while time.monotonic() < until and desk.status(kernelSlug="fills-the-disk") == "RUNNING":
    time.sleep(0.1)
answer = desk.ask("GetKernelSessionStatus", userName="tester", kernelSlug="fills-the-disk")
print("free", answer["status"], answer["failureMessage"])
print("idle", desk.kaggle.kernels.sessions.queue.wait_until_idle(10))
"""


@pytest.mark.slow
def test_a_session_that_fills_the_disk_ends_when_there_is_room_to_say_so(tmp_path: Path) -> None:
    sandbox = Bubblewrap.found()
    if sandbox is None or "--size" not in subprocess.check_output([sandbox.program, "--help"], text=True):
        pytest.skip("this machine has no bubblewrap that makes a small disk")
    small = ["--dev-bind", "/", "/", "--size", str(2 * 2**20), "--tmpfs", "/mnt"]
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    done = subprocess.run(
        [sandbox.program, *small, sys.executable, "-c", FILLING, *paths],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "free ERROR" in done.stdout, done.stderr
    assert "No space left on device" in done.stdout
    assert "idle True" in done.stdout
