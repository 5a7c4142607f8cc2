"""How sessions end whatever is left behind: deep folders, forbidden folders, a full disk, a killed server."""

import errno
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from desk import TRAIN, Desk
from scripted import ScriptedRunner, writing

from generator.sessions import notebook_runner as resource_limits
from generator.sessions.sandbox import Bubblewrap, SessionFolder, SessionOrder, remove_session_tree

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


@pytest.mark.slow
def test_a_session_ends_whose_temporary_folder_is_deep(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(lambda order: dig(order.files.private)))
    desk.push()

    assert desk.status() == "COMPLETE"
    assert not (tmp_path / "sessions" / "1" / "private").exists()


@pytest.mark.slow
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
    remove_session_tree(owned / "left")

    assert not (owned / "left").exists()


def test_a_link_in_what_is_removed_is_removed_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("1")
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "link").symlink_to(tmp_path / "mine")
    remove_session_tree(tmp_path / "left")

    assert not (tmp_path / "left").exists()
    assert (tmp_path / "mine" / "a.txt").read_text() == "1"


@pytest.mark.slow
def test_what_a_killed_server_left_is_swept_and_outputs_stay(tmp_path: Path) -> None:
    first = Desk(tmp_path, ScriptedRunner(writing({"a.txt": "1"})))
    first.push()
    session = tmp_path / "sessions" / "1"
    (session / "private" / "scratch").mkdir(parents=True)
    (session / "private" / "scratch" / "large.bin").write_bytes(b"x" * 2**20)
    dig(session / "private")
    (session / ".output.zip.part").write_bytes(b"x" * 2**20)
    second = first.restarted()

    assert second.kaggle.freed_bytes >= 2 * 2**20
    assert not (session / "private").exists()
    assert not (session / ".output.zip.part").exists()
    assert second.output() == ["a.txt"]
    assert second.restarted().kaggle.freed_bytes == 0


# In a file system of its own: the session fills it, and it is made empty again while the session is still not over.
FILLING = """
import sys, threading, time
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from desk import Desk
from scripted import ScriptedRunner
from generator.localkaggle.services.kernels import SessionRules

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
    sandbox = Bubblewrap.detect()
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


def test_what_a_failed_session_left_on_a_full_disk_lets_the_next_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "generator.localkaggle.services.kernels.has_room"

    def has_room(folder: Path, count: int) -> bool:
        return not any(path.name == "filling" for path in folder.rglob("filling"))

    def fill(order: SessionOrder) -> None:
        (order.files.working / "filling").write_bytes(b"x")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk = Desk(tmp_path, ScriptedRunner(writing({"kept.txt": "1"})))
    desk.push("Good one", slug="tester/good-one")
    desk.runner.script = fill
    desk.push("Fills the disk", slug="tester/fills-the-disk")
    assert (tmp_path / "sessions" / "2" / "working" / "filling").exists()  # there is room
    monkeypatch.setattr(module, has_room)
    second = desk.restarted()
    assert not (tmp_path / "sessions" / "2" / "working").exists()
    second.runner.script = fill
    second.push("Fills the disk", slug="tester/fills-the-disk")

    assert not (tmp_path / "sessions" / "3" / "working").exists()
    assert second.output(kernelSlug="good-one") == ["kept.txt"]


@pytest.mark.parametrize("what", ["stop", "time", "disk", "memory"])
def test_a_session_whose_memory_takes_long_to_measure_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def slow(process: object) -> int:
        time.sleep(20)
        return 0

    monkeypatch.setattr(resource_limits, "_proportional", slow)
    monkeypatch.setattr(resource_limits, "GRACE", 0.0)
    monkeypatch.setattr(resource_limits, "_FILES_SECONDS", 0.5)
    monkeypatch.setattr(resource_limits, "_MEASURING_SECONDS", 1.0 if what == "memory" else 60.0)
    monkeypatch.setattr(resource_limits, "_SPARE_DISK", 2**60 if what == "disk" else 0)
    files, stop = SessionFolder(tmp_path, 1), threading.Event()
    files.make()
    limit = timedelta(seconds=1 if what == "time" else 3_600)
    order = SessionOrder("t", files.notebook, files, {}, memory_limit=1, time_limit=limit)
    if what == "stop":
        threading.Timer(1, stop.set).start()
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        reason = resource_limits.SessionWatch(order, stop).until_end(process)
        process.kill()

    expected = {
        "stop": resource_limits.STOP_REASON,
        "time": "Notebook Timeout",
        "disk": resource_limits.MACHINE_IS_FULL.format("disk space"),
        "memory": resource_limits.OUT_OF_MEMORY,
    }
    assert reason == expected[what]
    assert time.monotonic() - began < 8


def test_a_session_ends_before_it_takes_the_last_inodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_limits, "_SPARE_FILES", 2**62)
    files = SessionFolder(tmp_path, 1)
    files.make()
    if not os.statvfs(tmp_path).f_files:
        pytest.skip("this file system does not count its files")
    order = SessionOrder("t", files.notebook, files, {})
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        reason = resource_limits.SessionWatch(order, threading.Event()).until_end(process)
        process.kill()

    assert reason == resource_limits.MACHINE_IS_FULL.format("room for files")
