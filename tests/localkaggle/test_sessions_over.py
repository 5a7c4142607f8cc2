"""A session is over when every process of it is gone, whatever it did to stay, and where the server was killed too."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from desk import Desk
from test_sessions_runner import notebook, run

from generator.sessions.notebook_runner import STOP_REASON
from generator.sessions.sandbox import (
    Bubblewrap,
    FirstProcess,
    Launch,
    PlainProcess,
    SessionFolder,
    SessionOrder,
    end_recorded,
    first_process_of,
    keep_record,
    session_folders,
)

pytestmark = pytest.mark.slow

# Takes the sandbox's first process back in the queue for a processor, and keeps that busy.
LINGERING = """
import os, subprocess, sys
def attempt(action):
    try:
        action()
    except OSError as error:
        print(type(error).__name__)
    else:
        print("done")
attempt(lambda: os.sched_setaffinity(1, {0}))
attempt(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19))
busy = "import os\\nos.sched_setaffinity(0, {0})\\nwhile True: open('beat.txt', 'w').write('MARK')"
for _ in range(6):
    subprocess.Popen([sys.executable, "-c", busy], start_new_session=True)
while not os.path.exists("beat.txt"):
    pass
"""
REFUSED = """
import ctypes, os
def refused(action):
    try:
        action()
    except PermissionError:
        return True
    return False
libc = ctypes.CDLL(None, use_errno=True)
assert refused(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
assert refused(lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)))
assert refused(lambda: os.sched_setaffinity(1, {0}))
assert refused(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
assert refused(lambda: os.setpriority(os.PRIO_PGRP, 0, 19))
assert refused(lambda: os.setpriority(os.PRIO_USER, 0, 19))
os.sched_setaffinity(0, {0})
os.nice(1)
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
print("all refused but what is its own")
"""


@pytest.fixture
def sandbox() -> Bubblewrap:
    found = Bubblewrap.detect()
    if found is None:
        pytest.skip("this machine has no bubblewrap that works")
    return found


def running(mark: str) -> list[int]:
    """The processes of this machine whose command line has a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "cmdline").read_text(errors="replace") and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


Start = Callable[[list[str]], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(sandbox: Bubblewrap, tmp_path: Path) -> Iterator[Start]:
    """Starts a program in the sandbox of session 1, as a worker is started, and writes down its first process."""
    files = SessionFolder(tmp_path, 1)
    started: list[subprocess.Popen[bytes]] = []

    def start_in(program: list[str]) -> "subprocess.Popen[bytes]":
        files.make()
        order = SessionOrder("t", files.notebook, files, {})
        for folder in session_folders(order).values():
            folder.mkdir(parents=True, exist_ok=True)
        with sandbox.launch(order, program) as launch:
            process = subprocess.Popen(launch.arguments, pass_fds=launch.descriptors, stdout=subprocess.PIPE)
        started.append(process)
        first = first_process_of(launch)
        assert first is not None
        keep_record(first, files.first_process)
        return process

    yield start_in
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("is_filtered", [True, False])
def test_nothing_of_a_session_runs_when_it_is_over(tmp_path: Path, sandbox: Bubblewrap, *, is_filtered: bool) -> None:
    if is_filtered and not sandbox.refused_calls:
        pytest.skip("this machine has no libseccomp")
    mark = f"lingering-{is_filtered}-{os.getpid()}"
    isolation = sandbox if is_filtered else replace(sandbox, refused_calls=b"")
    session = run(tmp_path, notebook(LINGERING.replace("MARK", mark)), isolation)

    assert not running(mark)
    assert session.end.failure == "", session.log
    assert ("done" not in session.log) == is_filtered
    assert not session.order.files.first_process.exists()


class Outliving(PlainProcess):
    """A sandbox whose first process stays when the program that made it ends, as one may that gets no processor."""

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        report, telling = os.pipe()
        stays = f"(setsid sleep 300.{os.getpid()} {telling}>&- & printf '{{\"child-pid\": %d}}' $! >&{telling})"
        script = f'{stays} </dev/null >/dev/null 2>&1; exec {telling}>&-; exec "$@"'
        arguments = ("bash", "-c", script, "bash", *program)
        return replace(super().launch(order, program), arguments=arguments, descriptors=(telling,), report=report)


def test_a_session_is_not_over_before_its_first_process_is(tmp_path: Path) -> None:
    session = run(tmp_path, notebook("1"), Outliving())

    assert not running(f"300.{os.getpid()}")
    assert session.end.failure == "", session.log


def test_a_session_that_is_stopped_is_over_when_nothing_of_it_runs(tmp_path: Path, sandbox: Bubblewrap) -> None:
    mark, stop = f"stopped-{os.getpid()}", threading.Event()
    beat = tmp_path / "sessions" / "1" / "working" / "beat.txt"

    def stop_when_it_beats() -> None:
        until = time.monotonic() + 30
        while not beat.exists() and time.monotonic() < until:
            time.sleep(0.05)
        stop.set()

    threading.Thread(target=stop_when_it_beats).start()
    text = LINGERING.replace("MARK", mark) + "\nwhile True: pass"
    session = run(tmp_path, notebook(text), replace(sandbox, refused_calls=b""), stop=stop)

    assert session.end.failure == STOP_REASON
    assert not running(mark)


def test_a_notebook_changes_the_place_of_no_other_process_in_the_queue(start: Start, sandbox: Bubblewrap) -> None:
    if not sandbox.refused_calls:
        pytest.skip("this machine has no libseccomp")
    said, _ = start([sys.executable, "-c", REFUSED]).communicate(timeout=30)

    assert said == b"all refused but what is its own\n"


def test_a_server_that_starts_ends_what_a_killed_one_left_before_it_answers(tmp_path: Path, start: Start) -> None:
    mark = f"left-{os.getpid()}"
    start([sys.executable, "-c", f"import time; time.sleep(300)  # {mark}"])
    assert running(mark)
    desk = Desk(tmp_path)

    assert not [pid for pid in running(mark) if FirstProcess.of(pid) is not None]
    assert not desk.kaggle.kernels.sessions.folder(1).first_process.exists()


DETACHING = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)  # MARK"], start_new_session=True)
"""


def test_what_left_a_plain_session_is_ended_with_it(tmp_path: Path) -> None:
    mark = f"detached-{os.getpid()}"
    session = run(tmp_path, notebook(DETACHING.replace("MARK", mark)), PlainProcess())

    assert session.end.failure == "", session.log
    assert not running(mark)


def test_a_server_that_starts_ends_plain_processes_of_a_killed_one_and_no_others(tmp_path: Path) -> None:
    home = SessionFolder(tmp_path, 1).private / "home"
    home.mkdir(parents=True)
    started = [
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], env={**os.environ, **own})
        for own in ({"HOME": str(home)}, {"HOME": str(home.parent), "OLDPWD": str(home)})
    ]
    try:
        Desk(tmp_path)

        assert started[0].wait(10) == -signal.SIGKILL
        assert started[1].poll() is None
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_process_that_was_given_the_number_of_another_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        found = FirstProcess.of(other.pid)
        assert found is not None
        for record in (replace(found, start="1"), replace(found, boot="another")):
            keep_record(record, tmp_path / "record.json")
            end_recorded(tmp_path / "record.json")
            assert other.poll() is None
        keep_record(found, tmp_path / "record.json")
        end_recorded(tmp_path / "record.json")
        assert other.wait(5) == -9


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"pid": -1, "boot": "", "start": ""}), '{"pid": "x"}'])
def test_a_record_that_is_none_ends_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "record.json").write_text(content)
    end_recorded(tmp_path / "record.json")

    assert not (tmp_path / "record.json").exists()


SOCKETS = """
import socket, subprocess, sys
sys.path.append(sys.argv[1])
from generator.sessions.worker import keep_from_abstract_sockets
kept = keep_from_abstract_sockets()
own = socket.socket(socket.AF_UNIX)
own.bind("\\0" + sys.argv[2] + "-own")
own.listen()
socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[2] + "-own")
child = "import socket, sys; socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])"
said = subprocess.run([sys.executable, "-c", child, sys.argv[2]], capture_output=True, text=True).stderr
print(kept, "PermissionError" in said)
"""


def test_a_session_with_the_internet_reaches_no_socket_of_the_desktop() -> None:
    name = f"tandem-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as desktop:
        desktop.bind(f"\0{name}")
        desktop.listen()
        package = str(Path(__file__).parents[2])
        program = ["setpriv", "--no-new-privs", sys.executable, "-c", SOCKETS, package, name]
        said = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    if said[0] == "False":
        pytest.skip("this kernel has no scopes of Landlock")

    assert said == ["True", "True"]


def test_a_notebook_with_the_internet_reaches_no_socket_of_the_desktop(tmp_path: Path, sandbox: Bubblewrap) -> None:
    name = f"tandem-notebook-{os.getpid()}"
    text = f"import socket\nsocket.socket(socket.AF_UNIX).connect(chr(0) + {name!r})"
    with socket.socket(socket.AF_UNIX) as desktop:
        desktop.bind(f"\0{name}")
        desktop.listen()
        session = run(tmp_path, notebook(text), replace(sandbox, way_out=""), internet=True)
    if not session.end.failure:
        pytest.skip("this kernel has no scopes of Landlock")

    assert "PermissionError" in session.end.failure


REACHING = """
import signal
import socket
def reached(host, port):
    try:
        socket.create_connection((host, port), 5).close()
    except OSError as error:
        return type(error).__name__
    return "reached"
print(*(f"{host} {reached(host, PORT)}" for host in ("127.0.0.1", "10.0.2.2")), sep="; ")
print(open("/etc/resolv.conf").read())
print(sorted(name for _, name in socket.if_nameindex()))
"""


def test_a_notebook_with_the_internet_reaches_nothing_that_listens_on_localhost(
    tmp_path: Path, sandbox: Bubblewrap
) -> None:
    if not sandbox.way_out:
        pytest.skip("slirp4netns is not installed, or does not work here")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        session = run(tmp_path, notebook(REACHING.replace("PORT", str(port))), sandbox, internet=True)
    log = session.log

    assert session.end.failure == ""
    assert "127.0.0.1 ConnectionRefusedError; 10.0.2.2 " in log
    assert "10.0.2.2 reached" not in log
    assert "nameserver 10.0.2.3" in log
    assert "['lo', 'tap0']" in log
