"""What a notebook that wants to get out of its sandbox finds: started as root, and as an ordinary user.

Nothing here writes to what it opens: if the sandbox has a hole, the machine must not pay for it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_sessions_runner import notebook, run

from generator.sessions import notebook_runner as resource_limits
from generator.sessions.notebook_runner import OUT_OF_MEMORY, TOO_MANY_PROCESSES
from generator.sessions.sandbox import Bubblewrap, SessionEnd, exported_filter

pytestmark = pytest.mark.slow

NOBODY = 65_534
# What a session that is to be looked at from inside executes in place of a notebook.
ESCAPER = """
import ctypes, errno, fcntl, json, os, platform

def openable():
    "Every file of the kernel's that can be opened for writing, beside those that belong to a process."
    for top, folders, names in os.walk("/"):
        if top == "/":
            folders[:] = ["proc", "sys", "dev", "usr", "etc"]
        elif top == "/proc":
            folders[:] = [name for name in folders if not name.isdigit()] + [str(os.getpid())]
        elif top.startswith("/usr"):
            folders[:] = []
        folders[:] = [name for name in folders if name not in ("fd", "fdinfo", "task", "map_files", "cwd", "root")]
        folders[:] = [name for name in folders if os.path.join(top, name) not in ("/dev/shm", "/dev/pts")]
        for name in names:
            try:
                handle = os.open(os.path.join(top, name), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            except OSError:
                continue
            os.close(handle)
            yield os.path.join(top, name)

def makeable():
    "Every folder in which a file can be made."
    for top in ("/", "/proc", "/dev", "/etc", "/usr", "/kaggle", "/kaggle/input", "/kaggle/input/competitions/digits"):
        try:
            os.close(os.open(top + "/made-by-a-notebook", os.O_CREAT | os.O_WRONLY))
        except OSError:
            continue
        yield top

def first_program():
    "What stands between a notebook and the file of the sandbox's first process: not only that it is running."
    try:
        os.close(os.open("/proc/1/exe", os.O_WRONLY))
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            return "forbidden"
    with open("/proc/1/exe", "rb") as file:
        try:
            return "sealed" if fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE else "open"
        except OSError:
            return "open"

libc = ctypes.CDLL(None, use_errno=True)

def refused(function, *arguments):
    ctypes.set_errno(0)
    return errno.errorcode.get(ctypes.get_errno(), "none") if function(*arguments) == -1 else "done"

MS_REMOUNT_BIND_RW, CLONE_NEWUSER, CLONE_NEWNS = 32 | 4096, 0x10000000, 0x20000
PTRACE_SEIZE = 0x4206
digits = b"/kaggle/input/competitions/digits"
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
found = {
    "user": [os.getuid(), os.geteuid(), os.getgid()],
    "capabilities": {name: int(value, 16) for name, value in status.items() if name.startswith("Cap")},
    "no new privileges": status["NoNewPrivs"],
    "seccomp": status["Seccomp"],
    "openable": sorted(set(openable())),
    "makeable": list(makeable()),
    "remount /usr": refused(libc.mount, b"none", b"/usr", None, MS_REMOUNT_BIND_RW, None),
    "remount inputs": refused(libc.mount, b"none", digits, None, MS_REMOUNT_BIND_RW, None),
    "mount proc": refused(libc.mount, b"proc", b"/tmp", b"proc", 0, None),
    "user namespace": refused(libc.unshare, CLONE_NEWUSER),
    "mount namespace": refused(libc.unshare, CLONE_NEWNS),
    "become root": refused(libc.setuid, 0),
    "clone": refused(libc.syscall, {"x86_64": 56, "aarch64": 220}[platform.machine()], CLONE_NEWUSER | 17, 0, 0, 0, 0),
    "clone3": refused(libc.syscall, 435, 0, 0),
    "keyring": refused(libc.syscall, {"x86_64": 250, "aarch64": 219}[platform.machine()], 0, -3, 1, 0, 0),
    "first program": first_program(),
    "beside certificates": sum((folders for top in ("/etc/ssl", "/etc/pki/tls") for _, folders, _ in os.walk(top)), []),
    "trace the first process": refused(libc.ptrace, PTRACE_SEIZE, 1, None, None),
    "take a descriptor": refused(libc.syscall, 438, -1, 0, 0),
    "bpf": refused(libc.syscall, {"x86_64": 321, "aarch64": 280}[platform.machine()], 0, 0, 0),
}
print(json.dumps(found))
"""
# Starts the escaper as a session's worker is started; the folders are the session's.
STARTER = """
import subprocess, sys
from pathlib import Path, PurePosixPath
from generator.sessions.sandbox import Bubblewrap
from generator.sessions.sandbox import session_folders
from generator.sessions.sandbox import SessionOrder
from generator.sessions.sandbox import SessionFolder
from dataclasses import replace

root = Path(sys.argv[1])
(root / "data").mkdir()
files = SessionFolder(root, 1)
files.make()
order = SessionOrder("t", files.notebook, files, {PurePosixPath("competitions/digits"): root / "data"})
for folder in session_folders(order).values():
    folder.mkdir(parents=True, exist_ok=True)
sandbox = Bubblewrap.detect()
if sandbox is None:
    sys.exit("no sandbox")
with sandbox.launch(order, [sys.executable, "-c", sys.stdin.read()]) as launch:
    subprocess.run(launch.arguments, pass_fds=launch.descriptors, check=True)
"""


def users() -> list[str]:
    """As whom the server is started."""
    return ["this-user", "an-ordinary-user"] if os.geteuid() == 0 else ["this-user"]


def working_bubblewrap() -> Bubblewrap:
    """The sandbox that this machine has; without one a test is skipped."""
    sandbox = Bubblewrap.detect()
    if sandbox is None:
        pytest.skip("this machine has no bubblewrap that works")
    return sandbox


def python_of(user: dict[str, Any], variables: dict[str, str]) -> str:
    """A Python that this user may execute, and that has what a sandbox is made of."""
    for python in (sys.executable, "/usr/bin/python3"):
        probe = [python, "-c", "import generator.sessions.sandbox"]
        with suppress(OSError):
            if subprocess.run(probe, env=variables, cwd="/", capture_output=True, check=False, **user).returncode == 0:
                return python
    pytest.skip("an ordinary user of this machine has no Python for this")


@pytest.fixture(scope="module", params=users())
def found(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the escaper found when the server was started by this user, or by an ordinary one where this is root."""
    working_bubblewrap()
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        folder = Path(temporary)
        user: dict[str, Any] = {}
        if request.param == "an-ordinary-user":
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            # The kit, and the Python that it is installed beside, may be nobody else's to read.
            shutil.copytree(root / "generator", folder / "kit" / "generator")
            if find_spec("pyseccomp"):
                shutil.copy(find_spec("pyseccomp").origin, folder / "kit")
            root = folder / "kit"
            os.chown(folder, NOBODY, NOBODY)
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "HOME": str(folder)}
        ended = subprocess.run(
            [python_of(user, variables), "-c", STARTER, str(folder)],
            input=ESCAPER,
            capture_output=True,
            text=True,
            env=variables,
            cwd=folder,
            timeout=120,
            check=False,
            **user,
        )
    if "no sandbox" in ended.stderr:
        pytest.skip("bubblewrap does not work for an ordinary user of this machine")
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def test_a_notebook_is_an_ordinary_user_without_privileges(found: dict[str, Any]) -> None:
    assert found["user"] == [1000, 1000, 1000]
    assert set(found["capabilities"].values()) == {0}
    assert found["no new privileges"] == "1"
    assert found["become root"] in ("EPERM", "EINVAL")


def test_nothing_of_the_kernels_can_be_opened_for_writing(found: dict[str, Any]) -> None:
    harmless = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "console")}
    streams = {"/dev/stdin", "/dev/stdout", "/dev/stderr"}

    assert set(found["openable"]) <= harmless | streams


def test_the_sandboxs_own_program_cannot_be_written_to(found: dict[str, Any]) -> None:
    assert found["first program"] in ("forbidden", "sealed")


def test_of_the_certificates_folder_only_what_is_public_is_seen(found: dict[str, Any]) -> None:
    assert "private" not in found["beside certificates"]


def test_files_are_made_only_in_the_sessions_own_folders(found: dict[str, Any]) -> None:
    assert found["makeable"] == []


def test_what_is_read_only_cannot_be_mounted_anew(found: dict[str, Any]) -> None:
    assert {found[name] for name in ("remount /usr", "remount inputs", "mount proc")} == {"EPERM"}


def test_no_namespace_can_be_made_to_be_root_in(found: dict[str, Any]) -> None:
    assert found["user namespace"] in ("EPERM", "ENOSPC")
    assert found["mount namespace"] == "EPERM"


def test_system_calls_that_no_notebook_needs_are_refused(found: dict[str, Any]) -> None:
    if not exported_filter():
        pytest.skip("this machine has no libseccomp")

    assert found["seccomp"] == "2"
    refused = ("user namespace", "clone", "keyring", "bpf", "trace the first process", "take a descriptor")
    assert {found[name] for name in refused} == {"EPERM"}
    assert found["clone3"] == "ENOSYS"


def test_without_the_library_sessions_run_and_say_that_nothing_is_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    working_bubblewrap()
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    sandbox = Bubblewrap.detect()

    assert sandbox is not None
    assert "no filter of system calls" in sandbox.description


# Stands in for systemd's own: what it was asked for is written down, and the program takes its place as it does there.
SYSTEMD_RUN = """#!/bin/sh
echo "$@" >> {asked}
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def found_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Bubblewrap]:
    """The sandbox that is found where `systemd-run` is this script."""

    def found(script: str) -> Bubblewrap:
        program = tmp_path / "systemd-run"
        program.write_text(script)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return working_bubblewrap()

    return found


def test_where_there_is_systemd_the_kernel_holds_a_session_to_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_with: Callable[[str], Bubblewrap]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/of-the-server")
    sandbox = found_with(SYSTEMD_RUN.format(asked=tmp_path / "asked.txt"))
    text = notebook("import os\nprint('manager:', os.environ.get('XDG_RUNTIME_DIR'))")
    session = run(tmp_path / "session", text, sandbox, memory_limit=2**30, process_limit=500)
    asked = (tmp_path / "asked.txt").read_text().splitlines()[-1]

    assert session.end == SessionEnd(), session.log
    assert "--scope" in asked
    assert f"--property=MemoryMax={int(2**30 * 1.1)}" in asked
    assert "--property=TasksMax=500" in asked
    assert "--property=OOMPolicy=continue" in asked
    assert "manager: None" in session.log


def test_a_systemd_that_knows_less_makes_groups_all_the_same(
    tmp_path: Path, found_with: Callable[[str], Bubblewrap]
) -> None:
    refusal = 'case "$*" in *OOMPolicy*) echo "Unknown assignment: OOMPolicy=continue" >&2; exit 1;; esac\n'
    sandbox = found_with(SYSTEMD_RUN.format(asked=tmp_path / "asked.txt").replace("\n", f"\n{refusal}", 1))

    assert (sandbox.group, sandbox.group_options) == (str(tmp_path / "systemd-run"), ())


def test_a_systemd_that_makes_no_groups_is_done_without(found_with: Callable[[str], Bubblewrap]) -> None:
    assert found_with("#!/bin/sh\nexit 1\n").group is None


# The notebook is refused what it wants, and goes on as if nothing had been.
IN_A_CHILD = (
    "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', 'x = b\"x\" * 2**30'])\ntime.sleep(300)"
)
FORK_BOMB = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.1)"


@pytest.mark.parametrize(
    ("source", "failure"), [(IN_A_CHILD, OUT_OF_MEMORY), (FORK_BOMB, TOO_MANY_PROCESSES), ("print(6 * 7)", "")]
)
def test_a_real_control_group_holds_a_session_and_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, failure: str
) -> None:
    sandbox = Bubblewrap.detect()
    if sandbox is None or sandbox.group is None or not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("this machine has no systemd that makes control groups of version 2 for this user")
    limits: dict[Path, list[str]] = {}
    refusal = resource_limits._refusal

    def looked(group: Path | None) -> str:
        with suppress(OSError):
            if group is not None and group not in limits:
                names = ("memory.max", "memory.swap.max", "pids.max")
                limits[group] = [(group / name).read_text().strip() for name in names if (group / name).exists()]
        return refusal(group)

    monkeypatch.setattr(resource_limits, "_refusal", looked)
    # Only the kernel counts here.
    monkeypatch.setattr(resource_limits.SessionWatch, "_exceeded", lambda *_: "")
    changes = {"memory_limit": 300 * 2**20, "process_limit": 60, "time_limit": timedelta(minutes=4)}
    session = run(tmp_path / "session", notebook(source), sandbox, **changes)

    assert session.end == SessionEnd(failure), session.log
    ((group, (memory, *swap, tasks)),) = limits.items()
    assert memory == str(330 * 2**20)
    assert swap in ([], ["0"])
    assert tasks == "60"
    # What the kernel kills with its first process may take a moment.
    deadline = time.monotonic() + 30
    while group.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not group.exists()
