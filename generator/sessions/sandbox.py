"""The sandbox of a session: bubblewrap, system calls, environment, network, and trees of files that a notebook made."""

import errno
import fcntl
import json
import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO, Protocol, Self

from generator.accelerators import AcceleratorKind
from generator.files import read_json
from generator.run import kernel as private_folder
from generator.text import JsonObject, Value

_LARGEST_RECORD = 4_096
_LOOK_SECONDS = 0.05
_PATIENCE = 10.0  # seconds between two warnings
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class FirstProcess:
    """Process 1 of a pid namespace, by its number outside of it.

    `boot` and `start` are the boot of the machine and the moment of it when the process began, so that another process
    that is given the number later is not taken for it.
    """

    pid: int
    boot: str
    start: str

    @classmethod
    def of(cls, pid: int) -> "FirstProcess | None":
        """The process of this number; None if there is none that still runs, or no `/proc`."""
        try:
            # The name of the program, which comes before, may have spaces and brackets.
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            # The first process of a namespace becomes a zombie only after all others of it are gone.
            return None if fields[0] in "ZX" else cls(pid, _BOOT.read_text().strip(), fields[19])
        except (OSError, IndexError):
            return None

    def end(self) -> None:
        """Kills the namespace, and returns when every process in it is gone, however long the kernel takes."""
        handle = _handle(self.pid)
        try:
            # Whatever has the number now is what the handle leads to, even if it ends and the number is given again.
            warn_at = time.monotonic() + _PATIENCE
            while FirstProcess.of(self.pid) == self:
                _schedule_as_usual(self.pid)
                _kill(self.pid, handle)
                _wait(handle)
                if time.monotonic() > warn_at:
                    warn_at += _PATIENCE
                    _LOG.warning("process %d of a session was killed and is not gone yet; waiting for it", self.pid)
        finally:
            if handle is not None:
                os.close(handle)


def _handle(pid: int) -> int | None:
    """A handle on a process; None if there is no such process, or the kernel has no handles (before Linux 5.3)."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _kill(pid: int, handle: int | None) -> None:
    with suppress(ProcessLookupError):
        if handle is None:
            os.kill(pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(handle, signal.SIGKILL)


def _wait(handle: int | None) -> None:
    """Waits until a process ends, but not for long."""
    if handle is None:
        time.sleep(_LOOK_SECONDS)
        return
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    poller.poll(1_000)


def _schedule_as_usual(pid: int) -> None:
    """Takes back what keeps a process from being run, as far as this user may: a killed process has to run to end."""
    with suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 0)
    with suppress(OSError):
        os.sched_setaffinity(pid, os.sched_getaffinity(0))


def keep_record(process: FirstProcess, at: Path) -> None:
    """Writes down which process it is, for a server that is started after this one was killed."""
    at.write_text(json.dumps(asdict(process)))


def end_recorded(at: Path) -> None:
    """Ends the sandbox that a file of `keep_record` tells of, if it is still there; the file is removed."""
    record = read_json(at, most=_LARGEST_RECORD)
    FirstProcess(record.count("pid"), record.text("boot"), record.text("start")).end()
    at.unlink(missing_ok=True)


# Trees of files that a notebook made: looked through and removed, however deep they are, and wherever links lead.


DEEPEST = 100
"""Folders below one another that a session may make, and that anybody looks into."""

_LONGEST_PATH = os.pathconf("/", "PC_PATH_MAX") - 256  # of a folder that files can be in


def walk_tree(folder: Path) -> Iterator[tuple[int, os.DirEntry[str]]]:
    """Every entry below a folder with its depth, which is 1 for what is directly in it.

    Links are not followed. Folders that are too deep are not looked into, and those that cannot be read are taken for
    empty.
    """
    waiting = [(os.fspath(folder), 1)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    yield depth, entry
                    if entry.is_dir(follow_symlinks=False) and not is_too_deep(depth, entry):
                        waiting.append((entry.path, depth + 1))
        except OSError:  # gone meanwhile, or not readable
            continue


def is_too_deep(depth: int, folder: os.DirEntry[str]) -> bool:
    """True if a folder has so many above it, or such long names, that nobody looks into it."""
    return depth > DEEPEST or len(os.fsencode(folder.path)) > _LONGEST_PATH


def disk_usage(path: Path) -> int:
    """The bytes that a file, or a folder with all that is in it, takes of the disk."""
    return blocks_of(path) + sum(blocks_of(entry) for _, entry in walk_tree(path))


def blocks_of(path: "Path | os.DirEntry[str]") -> int:
    """The bytes that one entry of a folder takes of the disk; none if it is gone."""
    try:
        status = path.lstat() if isinstance(path, Path) else path.stat(follow_symlinks=False)
    except OSError:
        return 0
    return status.st_blocks * 512


@contextmanager
def path_of(file: BinaryIO, name: str) -> Iterator[Path]:
    """A path that ends in `name` and leads to an open file, for readers that go by the name of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, PurePath(name).name)
        path.symlink_to(f"/dev/fd/{file.fileno()}")
        yield path


def remove_session_tree(folder: Path) -> None:
    """Removes a folder with all that is in it; if that fails, only the server's log says so."""
    private_folder.remove_tree(folder)
    if os.path.lexists(folder):
        _LOG.warning("%s could not be removed", folder)


# The files of one session, while it runs and afterwards.


class SessionFolder:
    """The files of one session.

    Attributes:
        path: Its folder.
        notebook: The notebook as it was pushed.
        executed: The notebook with its outputs, if it got as far as to have some.
        working: What becomes /kaggle/working, and whose files are the output.
        log: What the notebook printed, as `session_log` writes it.
        private: What the runner needs meanwhile.
        first_process: Which process is the first one of its sandbox, as long as that is there.
    """

    def __init__(self, root: Path, session: int | str) -> None:
        """Names the files of a session below a root, by its number or name; nothing is made yet."""
        self.path = root / "sessions" / str(session)
        self.notebook = self.path / "notebook.ipynb"
        self.executed_notebook = self.path / "executed.ipynb"
        self.working = self.path / "working"
        self.log = self.path / "log.jsonl"
        self.private = self.path / "private"
        self.first_process = self.path / "first-process.json"

    def make(self) -> None:
        """Makes the folders, empty."""
        self.remove()
        self.working.mkdir(parents=True)
        self.private.mkdir(mode=0o700)

    def remove(self) -> None:
        """Removes all of it."""
        remove_session_tree(self.path)


# The seam between a session and what executes its notebook: a sandbox, or a script in a test.


@dataclass(frozen=True)
class SessionOrder:
    """One session to come.

    Attributes:
        title: What the notebook is called in messages: `owner/slug`, and its version.
        notebook: The notebook as it was pushed.
        files: Where it leaves its outputs, however far it gets; `working` and `private` are there, and empty.
        mounts: The read-only folders of this machine by their place below /kaggle/input; none of them is the user's
            choice, so nothing is checked again.
        parameters: What overrides the notebook's parameters cell, for names that the cell has.
        environment: Environment variables beside those that every session has.
        internet: Whether the session may reach the network.
        accelerator: What the session was given; a TPU is emulated by `devices` devices of the CPU.
        devices: How many devices a framework is to see.
        time_limit: After this long the session is killed.
        output_limit: More bytes than this in `working`, or beside it, end the session.
        memory_limit: So do more bytes of memory than this in all of its processes,
        process_limit: and more processes than this.
        python: The Python of another environment that the notebook runs in, such as one with the versions of an image;
            what its environment lacks comes from the kit's own.
    """

    title: str
    notebook: Path
    files: SessionFolder
    mounts: Mapping[PurePosixPath, Path]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    internet: bool = False
    accelerator: AcceleratorKind = AcceleratorKind.CPU
    devices: int = 1
    time_limit: timedelta = timedelta(hours=12)
    output_limit: int = 20 * 2**30
    memory_limit: int = 30 * 2**30
    process_limit: int = 4_096
    python: Path | None = None


@dataclass(frozen=True)
class SessionEnd:
    """The end of a session: good if `failure` is empty, else `failure` is what the API answers for it.

    `seconds` is how long it took, `peak_memory` the most bytes that its processes were seen to have.
    """

    failure: str = ""
    seconds: float = field(default=0.0, compare=False)
    peak_memory: int = field(default=0, compare=False)


class Runner(Protocol):
    """Executes notebooks."""

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine, in a few words for people."""

    def run(self, order: SessionOrder, *, stop: threading.Event) -> SessionEnd:
        """Executes a notebook and waits for its end, which comes soon after `stop` is set.

        What goes wrong in the notebook is the `failure` of the end; an exception is a bug of the runner.
        """


# The environment variables of a session: Kaggle's, and of this machine's only those that Python needs.


# Where things are and how text is written. All the rest stays here: it may hold tokens, and changes what notebooks do.
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")

# reference: kagglesdk's kaggle_env.py and Kaggle/docker-python. KAGGLE_DATA_PROXY_URL is not among them on purpose:
# with it kagglehub would ask a proxy that is not here, and wait for ever for a folder to appear.
_KAGGLES = {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "KAGGLE_URL_BASE": "https://www.kaggle.com"}


def process_variables(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of this machine that the process gets which executes the notebook."""
    passed_on = {name: base[name] for name in _PASSED_ON if name in base}
    # A notebook's `!pip` and `!python` are those of the Python that executes it.
    return {**passed_on, "PATH": os.pathsep.join([f"{sys.prefix}/bin", base.get("PATH", os.defpath)])}


def session_variables(order: SessionOrder) -> dict[str, str]:
    """The variables that the notebook itself gets beside those."""
    variables = {**_KAGGLES, "CUDA_VISIBLE_DEVICES": "-1"}
    if order.accelerator is AcceleratorKind.TPU:
        variables["ISTPUVM"] = "1"
        variables["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={order.devices}"
        variables |= {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(order.devices)}  # PyTorch/XLA's way to say it
    if order.accelerator is AcceleratorKind.GPU:
        del variables["CUDA_VISIBLE_DEVICES"]
    else:
        variables["JAX_PLATFORMS"] = "cpu"
    return {**variables, **order.environment}


# What any isolation of a session from this machine has to do, and the least one: a process of its own.


# Programs and libraries; what is personal or secret stays out of sight.
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
SYSTEM_FILES = (
    *("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/localtime"),
    # Not all of /etc/ssl and /etc/pki: beside certificates lie private keys, and a server run as root can read them.
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/ca-trust", "/etc/pki/tls/certs"),
    *("/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/ca-certificates"),
    *("/etc/fonts", "/etc/alternatives", "/etc/mime.types"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
)

INPUT, WORKING, HOME = "/kaggle/input", "/kaggle/working", "/root"
SESSION = "/kaggle/session"
"""Where the worker finds the notebook, and saves what came of it."""


@dataclass(frozen=True)
class Launch:
    """A program to execute on this machine, and its variables beside the session's own.

    It inherits file descriptors, which are closed here when this is left. It sees Kaggle's paths, and then what must
    not be changed or reached cannot be; or `elsewhere` has the paths of this machine that stand for them. From the
    descriptor `report` is read which process is the first one of a sandbox. Where `way_out` names a program, the
    sandbox has a network of its own and waits until something is written to `gate`.
    """

    arguments: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    report: int | None = None
    way_out: str = ""
    gate: int | None = None

    def path(self, kaggles: str) -> str:
        """The path that stands for one of Kaggle's."""
        return self.elsewhere.get(kaggles, kaggles)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def session_folders(order: SessionOrder) -> dict[str, Path]:
    """The folders of this machine that a session may write to, by where it sees them."""
    return {
        WORKING: order.files.working,
        SESSION: order.files.private / "session",
        HOME: order.files.private / "home",
        "/tmp": order.files.private / "scratch",  # noqa: S108 - a folder of the session's own
        "/kaggle/temp": order.files.private / "temp",
        # Shared memory is on the disk as well, where it is measured with the rest.
        "/dev/shm": order.files.private / "shared",  # noqa: S108 - a folder of the session's own
    }


def input_folders(order: SessionOrder) -> Mapping[str, Path]:
    """The folders of this machine that a session may read, by where it sees them."""
    return {f"{INPUT}/{place}": folder for place, folder in order.mounts.items()}


def python_folders(order: SessionOrder) -> list[Path]:
    """The folders of this Python, of the notebook's and of the kit's own worker, without those of the system."""
    package = Path(__file__).resolve().parents[1]
    candidates = [Path(sys.prefix), Path(sys.base_prefix), package]
    if order.python is not None:
        candidates += [python.parent.parent for python in (order.python, order.python.resolve())]
    candidates += [Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    folders: list[Path] = []
    for folder in [*candidates, *(folder.resolve() for folder in candidates)]:
        covered_folders = [Path(ancestor) for ancestor in SYSTEM_FOLDERS] + folders
        if folder.is_dir() and not any(folder.is_relative_to(ancestor) for ancestor in covered_folders):
            folders.append(folder)
    return folders


class PlainProcess:
    """Kaggle's tree as a folder of links; the kernel's own audit hook refuses what a sandbox would make impossible."""

    description = (
        "a plain process (mapped paths; Python code is kept from the inputs and the network, programs are not; with "
        "the internet on it reaches whatever listens on this machine's localhost)"
    )
    is_sandbox = False

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        """The program itself, with paths of this machine, which reach the notebook as its parameters."""
        root = order.files.private / "input"
        root.mkdir()
        for place, folder in order.mounts.items():
            link = Path(root, place)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder, target_is_directory=True)
        session_paths = {at: str(folder) for at, folder in session_folders(order).items()}
        return Launch(tuple(program), elsewhere={INPUT: str(root), **session_paths})


# The system calls that a notebook has no use for, as a filter by which the kernel refuses them (seccomp).


# What a filter is good for is where a bug of the kernel, or of the sandbox, would let somebody out.
_REFUSED_CALLS = (
    # File systems, and what is mounted where.
    *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick"),
    *("mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at"),
    # Other namespaces.
    *("unshare", "setns"),
    # Other processes' memory and files: the sandbox's own first process is one that a notebook could take over.
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    # The kernel itself, and the machine.
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "syslog", "acct"),
    # The place of other processes in the queue of a processor: one that is killed has to run to end.
    *("sched_setattr", "ioprio_set"),
    # The keys of the user who runs the server: keyrings know no user namespaces.
    *("keyctl", "add_key", "request_key"),
)
_CLONE_NEWUSER = 0x10000000


def exported_filter() -> bytes:
    """The filter as the kernel's own program for it; empty where pyseccomp or libseccomp is missing."""
    try:
        import pyseccomp  # type: ignore[import-untyped,unused-ignore]
    except (ImportError, RuntimeError, OSError):  # the package, or the library that it loads
        return b""
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refusal = pyseccomp.ERRNO(errno.EPERM)
    for name in _REFUSED_CALLS:
        try:
            rules.add_rule(refusal, name)
        except OSError:  # a call that this libseccomp, or this processor, does not know
            continue
    # A process may choose its own processors and be nicer to others, as some libraries do; only itself.
    other_process = pyseccomp.Arg(0, pyseccomp.NE, 0)
    rules.add_rule(refusal, "sched_setaffinity", other_process)
    # ZeroMQ sets the usual policy for each of its threads, and ends the process if it may not.
    rules.add_rule(refusal, "sched_setscheduler", pyseccomp.Arg(1, pyseccomp.NE, os.SCHED_OTHER))
    rules.add_rule(refusal, "setpriority", other_process)  # of a group or a user, for 0 stands for one process
    rules.add_rule(refusal, "setpriority", pyseccomp.Arg(1, pyseccomp.NE, 0))
    rules.add_rule(refusal, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    # Its flags are in memory, where no filter looks; told that there is no such call, libc takes `clone`.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0, os.SEEK_SET)
        return file.read()


# A network of a sandbox's own, which leads to the internet and not to this machine's localhost: slirp4netns.


RESOLVER = b"nameserver 10.0.2.3\n"
"""The `/etc/resolv.conf` of such a network: slirp4netns answers there, and asks the resolver of this machine."""

_NS_GET_USERNS = 0xB701  # of linux/nsfs.h
_START_PATIENCE = 10_000  # milliseconds
_END_SECONDS = 5


@dataclass(frozen=True)
class WayOut:
    """slirp4netns at work for a network namespace.

    It watches a pipe, so that it ends with this process, however that ends.
    """

    process: "subprocess.Popen[bytes]"
    exit_pipe: int

    @classmethod
    def start(cls, program: str, pid: int) -> "WayOut | None":
        """Gives the network namespace of a process a way to the internet; None where that cannot be done."""
        descriptors: list[int] = []
        try:
            descriptors.append(namespace := os.open(f"/proc/{pid}/ns/net", os.O_RDONLY))
            # bubblewrap goes on to a user namespace inside of the one that the network belongs to.
            descriptors.append(owner := fcntl.ioctl(namespace, _NS_GET_USERNS))
            ready, telling = os.pipe()
            watching, exit_pipe = os.pipe()
            descriptors += [ready, telling, watching]
            process = subprocess.Popen(  # noqa: S603 - the program of the user's own PATH
                [
                    *(program, "--configure", "--mtu=65520", "--disable-host-loopback"),
                    *("--ready-fd", str(telling), "--exit-fd", str(watching), "--netns-type=path"),
                    *(f"--userns-path=/proc/self/fd/{owner}", f"/proc/self/fd/{namespace}", "tap0"),
                ],
                pass_fds=(namespace, owner, telling, watching),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            os.close(telling)
            descriptors.remove(telling)
            way_out = cls(process, exit_pipe)
            if _is_told(ready):
                return way_out
            way_out.close()
        except OSError:
            pass
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return None

    def close(self) -> None:
        """Ends it."""
        os.close(self.exit_pipe)
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _is_told(ready: int) -> bool:
    """Waits for the word of slirp4netns, or for its end."""
    waiting = select.poll()
    waiting.register(ready, select.POLLIN)
    return bool(waiting.poll(_START_PATIENCE)) and os.read(ready, 1) == b"1"


# Sessions in a sandbox of bubblewrap: Kaggle's own paths, read-only inputs, no network where it is off.


_PROBE_SECONDS = 10
_LONGEST_REPORT = 4_096
# As root the user of this machine is still root: whatever the kernel asks only the user for is to be covered below.
_APART = (
    *("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--hostname", "kaggle"),
)
# Without the second option files of /proc that root owns could be written to, and be a way out, such as
# /proc/sys/kernel/core_pattern.
_PROC = ("--proc", "/proc", "--remount-ro", "/proc")
_FILE_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_NO_USER_NAMESPACES = "--disable-userns"  # since bubblewrap 0.8
# Else systemd ends all of a group as soon as the kernel kills one process in it for its memory, the worker with it, and
# nobody is left to ask why. Older ones do not know the word, and leave the rest alone by themselves.
_LEFT_ALONE = "--property=OOMPolicy=continue"
# What leads to the user's own systemd, which makes control groups for those who are not root.
_USERS_MANAGER = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


@dataclass(frozen=True)
class Bubblewrap:
    """A new root folder with nothing in it but what a session needs; see `man bwrap`.

    `hardening` are options that not every bubblewrap knows, `refused_calls` is the filter of system calls, `group` the
    program of systemd that has the kernel limit a session: its memory and its tasks (cgroup v2), with `group_options`
    where it knows them. `way_out` is slirp4netns, by which a session with the internet has a network of its own.
    """

    program: str
    hardening: tuple[str, ...] = ()
    refused_calls: bytes = b""
    group: str | None = None
    group_options: tuple[str, ...] = ()
    way_out: str = ""

    is_sandbox = True

    @classmethod
    def detect(cls) -> "Bubblewrap | None":
        """The bubblewrap of this machine with all that it can do, if it works for this user."""
        program = shutil.which("bwrap")
        bubblewrap = cls(program) if program is not None else None
        if bubblewrap is None or not bubblewrap.works():
            return None
        for change in (
            {"hardening": (_NO_USER_NAMESPACES,)},
            {"refused_calls": exported_filter()},
            {"group": shutil.which("systemd-run")},
            {"group_options": (_LEFT_ALONE,)},
            {"way_out": shutil.which("slirp4netns") or ""},
        ):
            better = replace(bubblewrap, **change)
            bubblewrap = better if better != bubblewrap and better.works() else bubblewrap
        return bubblewrap

    @property
    def description(self) -> str:
        """A description in a few words for people."""
        missing = "no filter of system calls, for want of libseccomp or pyseccomp"
        filter_note = "system calls filtered" if self.refused_calls else missing
        network_note = (
            "with the internet on it reaches whatever listens on this machine's localhost, for want of slirp4netns"
        )
        network = "with the internet on it cannot reach this machine's localhost" if self.way_out else network_note
        return (
            "a sandbox of bubblewrap (Kaggle's paths, read-only inputs, no network where it is off, no privileges; "
            f"{filter_note}; {network})"
        )

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        """The program in the sandbox; it dies with this process."""
        options: list[str] = []
        for path in (*SYSTEM_FOLDERS, *SYSTEM_FILES):
            options += ["--ro-bind-try", path, path]
        resolver = _open_pipe(RESOLVER) if order.internet and self.way_out else None
        if resolver is not None:
            options += ["--ro-bind-data", str(resolver), "/etc/resolv.conf"]
        options += [*_PROC, "--dev", "/dev"]
        # First the folders of the session's own: Python may live below one of the places that they take.
        for at, folder in session_folders(order).items():
            options += ["--bind", str(folder), at]
        for folder in python_folders(order):
            options += ["--ro-bind", str(folder), str(folder)]
        options += ["--dir", INPUT]
        for at, folder in input_folders(order).items():
            options += ["--ro-bind", str(folder), at]
        # The folders between the mounts belong to file systems in memory, which nobody measures: nothing may be
        # written to them either.
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKING]
        launch = self._launch(
            options, program, internet=order.internet, memory=order.memory_limit, tasks=order.process_limit
        )
        return launch if resolver is None else replace(launch, descriptors=(*launch.descriptors, resolver))

    def works(self) -> bool:
        """True if a program runs in it, tried out."""
        options = ["--ro-bind", "/", "/", *_PROC, "--dev", "/dev"]
        launch = self._launch(options, ["true"], internet=bool(self.way_out))
        first = None
        try:
            with launch:
                process = subprocess.Popen(  # noqa: S603 - the program of the user's own PATH
                    launch.arguments,
                    pass_fds=launch.descriptors,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            first = first_process_of(launch)
            with network_of(launch, first) as has_network, process:
                try:
                    return process.wait(_PROBE_SECONDS) == 0 and (has_network or not self.way_out)
                finally:
                    process.kill()
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _launch(
        self,
        options: Sequence[str],
        program: Sequence[str],
        *,
        internet: bool = False,
        memory: int = SessionOrder.memory_limit,
        tasks: int = SessionOrder.process_limit,
    ) -> Launch:
        sandbox, descriptors = self._untouchable()
        report, telling = os.pipe()
        descriptors = (*descriptors, telling)
        arguments = [sandbox, *_APART, "--info-fd", str(telling), *self.hardening]
        gate = None
        way_out = self.way_out if internet else ""
        if way_out:
            waiting, gate = os.pipe()
            descriptors = (*descriptors, waiting)
            arguments += ["--block-fd", str(waiting)]
        elif internet:
            arguments += ["--share-net"]
        if self.refused_calls:
            filtering = _open_pipe(self.refused_calls)
            descriptors = (*descriptors, filtering)
            arguments += ["--seccomp", str(filtering)]
        if self.group is None:
            whole = (*arguments, *options, "--", *program)
            return Launch(whole, descriptors=descriptors, report=report, way_out=way_out, gate=gate)
        is_root = os.geteuid() == 0
        manager = {name: os.environ[name] for name in _USERS_MANAGER if name in os.environ and not is_root}
        # What leads to the manager of the group is none of the notebook's business.
        unset = [part for name in manager for part in ("--unsetenv", name)]
        # A little more than a session may have: who looks at it ends it in Kaggle's words, the kernel just kills.
        limits = {"MemoryMax": memory + memory // 10, "MemorySwapMax": 0, "TasksMax": tasks}
        scope = [self.group, *([] if is_root else ["--user"]), "--scope", "--quiet", "--collect"]
        scope += [*self.group_options, *(f"--property={name}={value}" for name, value in limits.items())]
        return Launch(
            (*scope, "--", *arguments, *unset, *options, "--", *program),
            descriptors=descriptors,
            variables=manager,
            report=report,
            way_out=way_out,
            gate=gate,
        )

    def _untouchable(self) -> tuple[str, tuple[int, ...]]:
        """A program that a session cannot write to, and the descriptors that it is found by.

        bubblewrap stays as the first process of the sandbox, whose `/proc/1/exe` leads to the file on this machine, by
        a mount that is writable. The kernel refuses that as long as the program runs, and no longer. So where the file
        is the user's own, as it is for root, a sealed copy of it in memory is what runs.
        """
        if Path(self.program).stat().st_uid != os.geteuid() and not os.access(self.program, os.W_OK):
            return self.program, ()
        with open(os.memfd_create("bwrap", os.MFD_ALLOW_SEALING), "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(Path(self.program).read_bytes())
            file.flush()
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _FILE_SEALS)
            # What is open for writing is not executed.
            copy = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)
        return f"/proc/self/fd/{copy}", (copy,)


def _open_pipe(content: bytes) -> int:
    """A descriptor to read some hundred bytes from, which a pipe holds."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:  # noqa: PTH123 - a descriptor has no path
        pipe.write(content)
    return reading


@contextmanager
def network_of(launch: Launch, first: FirstProcess | None) -> Iterator[bool]:
    """Gives a sandbox that was just started its own way to the internet, if it is to have one, and lets it go on.

    Yields whether it has one. Where slirp4netns fails, the sandbox has no network at all.
    """
    way_out = WayOut.start(launch.way_out, first.pid) if launch.way_out and first is not None else None
    if launch.gate is not None:
        with suppress(BrokenPipeError):
            os.write(launch.gate, b"x")
        os.close(launch.gate)
    try:
        yield way_out is not None
    finally:
        if way_out is not None:
            way_out.close()


def first_process_of(launch: Launch) -> FirstProcess | None:
    """The first process of a sandbox that was just started; None if it did not start, or is no sandbox."""
    if launch.report is None:
        return None
    with open(launch.report, "rb") as report:  # noqa: PTH123 - a descriptor has no path
        info = JsonObject.parse(report.read(_LONGEST_REPORT))
    return FirstProcess.of(info.count("child-pid"))
