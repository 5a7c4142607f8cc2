"""The Python process that a notebook runs in, its private folder, and the processes it leaves."""

import ctypes
import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.errors import RunError
from generator.kit_files import install_command
from generator.run import kernel_process
from generator.text import printable

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.manager import AsyncKernelManager


# The temporary folder of a run, and those that killed runs left.


_PREFIX, _LOCK = "tandem-", ".tandem-private"
_ABANDONED_SECONDS = 24 * 3600


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user reads and that vanishes with the run, its name short enough for sockets.

    What runs left that were killed more than a day ago is removed.
    """
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(handle)
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Removes a folder with all that is in it, as far as that can be done, however deep it is.

    `shutil.rmtree` calls itself for every level, and keeps a file open for each: a notebook can make more of them.
    """
    remove = ["rm", "-rf", "--", str(folder)]
    # A folder that its owner may not write to is made so again: a notebook can forbid that, except to root.
    for command in (remove, ["chmod", "-R", "u+rwX", "--", str(folder)], remove):
        if not os.path.lexists(folder):
            return
        with suppress(OSError):  # no memory, or no process, is left for it
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a folder that the kit named


def _remove_abandoned() -> None:
    """Removes this user's folders whose lock nobody holds: the system drops it with the process, however that ends."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, RecursionError):
            status = folder.lstat()
            # One that is being made has no lock yet.
            is_old = time.time() - status.st_mtime > _ABANDONED_SECONDS
            if not (stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and is_old):
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(handle)


# Processes that a run started and that outlive it: whoever their parent is now, they have the run's HOME.


_CHILD_SUBREAPER = 36  # of prctl, Linux 3.4
_PATIENCE = 5.0  # seconds


def end_processes_of(home: Path) -> None:
    """Kills this user's processes whose HOME is a folder that one run alone had, and waits until they are gone.

    A process is known by a handle before it is looked at, so that none which is given its number later is killed. What
    changed its HOME is not found, and nothing is where there is no `/proc`.
    """
    until = time.monotonic() + _PATIENCE
    while (handles := list(_handles(home))) and time.monotonic() < until:
        for handle in handles:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            poller.poll(1_000)
            os.close(handle)
    for handle in handles:
        os.close(handle)


@dataclass(frozen=True)
class Orphans:
    """The processes that came to this one because theirs ended; `before` are its children from before."""

    before: frozenset[int]

    def end(self) -> None:
        """Kills them, and those that come to this process because of that."""
        until = time.monotonic() + _PATIENCE
        while (left := _children() - self.before) and time.monotonic() < until:
            for number in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(number, 0)


@contextmanager
def adopted_orphans() -> Iterator[Orphans]:
    """Makes this process the parent of whatever its descendants leave, on Linux, for the length of the block.

    Neither a session, nor an environment, nor a name of its own keeps a process from that. No other thread should start
    processes meanwhile: theirs cannot be told from orphans.
    """
    is_linux = sys.platform == "linux"
    libc = ctypes.CDLL(None) if is_linux else None
    orphans = Orphans(frozenset(_children()))
    if libc is not None:
        libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield orphans
    finally:
        if libc is not None:
            libc.prctl(_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children() -> set[int]:
    """The numbers of this process's children; none where there is no `/proc`."""
    numbers: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            # The name, in brackets, may have anything in it.
            if int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                numbers.add(int(folder.name))
    return numbers


def _handles(home: Path) -> Iterator[int]:
    """Handles on the processes, to be closed by whoever takes them."""
    home_variable = b"HOME=" + os.fsencode(home)
    for folder in Path("/proc").glob("[0-9]*") if hasattr(os, "pidfd_open") else ():
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            handle = os.pidfd_open(int(folder.name))
            try:
                is_one = home_variable in (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                is_one = False
            if is_one:
                yield handle
            else:
                os.close(handle)


START_SECONDS = 60
_SAID_LINES = 12  # of what the process said last
REQUIRED_PACKAGES = ("papermill", "nbclient", "nbformat", "ipykernel")

# A Unix socket's address holds 104 bytes on macOS and 108 on Linux, with its final zero.
_SOCKET_PATH_BYTES = 100

# A notebook has no business with an account's tokens, and none on Kaggle with these either.
_CREDENTIALS = ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_API_V1_TOKEN", "KAGGLE_CONFIG_DIR")

# What would let the user's set-up, or the session in which the kit was started, change what a notebook does.
_INTERFERENCE = (
    "IPYTHON",
    "JPY_SESSION_NAME",
    "JUPYTER_PATH",
    "JUPYTER_CONFIG_PATH",
    "KAGGLE_KERNEL_RUN_TYPE",
    "KAGGLE_IS_COMPETITION_RERUN",
    "MATPLOTLIBRC",
    "MPLBACKEND",
    "PYTHONINSPECT",
    "PYTHONSTARTUP",
)


class KernelStartError(RunError):
    """The kernel's process ended, or said nothing, before the first cell."""

    def __init__(self, *, reason: str, last_output: str) -> None:
        super().__init__(f"The notebook's kernel did not start: {reason}.{_quote_output(last_output)}")


class KernelDiedError(RunError):
    """The kernel's process was gone in the middle of a cell."""

    def __init__(
        self, *, notebook: str, cell: str, exit_status: int | None, last_output: str, saved_path: Path
    ) -> None:
        super().__init__(
            f'The kernel of {notebook} died in cell "{cell}": {_cause(exit_status)}.{_quote_output(last_output)}\n'
            f"The partly executed notebook: {saved_path}"
        )


def _cause(exit_status: int | None) -> str:
    if exit_status is None:
        return "its process no longer exists"
    if exit_status >= 0:
        return f"its process ended with status {exit_status}"
    try:
        name = signal.Signals(-exit_status).name
    except ValueError:
        name = f"signal {-exit_status}"
    if name == "SIGKILL":
        return "its process was killed (SIGKILL), usually because the memory was full"
    return f"its process was ended by {name}"


def _quote_output(last_output: str) -> str:
    return f" Its last output:\n{last_output}" if last_output else ""


def require_packages() -> None:
    """Check that a kernel can be started from this installation, without importing anything heavy.

    Raises:
        RunError: The extra `run` is not installed.
    """
    missing = [package for package in REQUIRED_PACKAGES if find_spec(package) is None]
    if missing:
        raise RunError(
            f"No Jupyter kernel can be started: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            f"installed for {sys.executable}.",
            remedy=f"Install the packages for runs: {install_command('run')}",
            code="package-missing",
        )


@dataclass(frozen=True)
class KernelSetup:
    """The set-up of one kernel: `private` is the run's own temporary folder; `read_only` are its inputs.

    `variables` are environment variables that it gets beside the user's, as a session on Kaggle has some; with
    `offline` its Python code reaches no other machine. `python` is that of another environment than the kit's, in which
    no Jupyter need be.
    """

    private: Path
    working: Path
    read_only: tuple[Path, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False
    python: Path | None = None


@dataclass(frozen=True)
class Kernel:
    """A kernel that answers."""

    manager: "AsyncKernelManager"
    client: "AsyncKernelClient"
    stderr: Path

    async def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running cell."""
        with suppress(RuntimeError):
            await self.manager.interrupt_kernel()

    async def exit_status(self) -> int | None:
        """As `subprocess` gives it: negative for a signal, None while the process is there."""
        return await self.manager.provisioner.poll() if self.manager.provisioner else None

    def said_last(self) -> str:
        """The end of what the process wrote past Jupyter: crashes of native code, mostly."""
        return _tail(self.stderr)


@asynccontextmanager
async def started_kernel(setup: KernelSetup) -> AsyncIterator[Kernel]:
    """Start a kernel, and leave nothing of it behind: neither its process nor those that its notebook started.

    Raises:
        KernelStartError: It ended, could not be connected, or did not answer within `START_SECONDS`.
    """
    import zmq

    stderr = setup.private / f"{setup.working.name}-stderr.txt"
    manager = _manager(setup)
    client: Any = None
    process_group: int | None = None
    try:
        await _launch(manager, setup, stderr=stderr)
        process_group = getattr(manager.provisioner, "pgid", None)
        client = manager.client()
        client.context.setsockopt(zmq.RCVHWM, 0)  # else what a cell prints faster than it is read is lost
        try:
            client.start_channels()
        except zmq.ZMQError as error:  # such as too many open files
            raise KernelStartError(reason=str(error), last_output="") from error
        client.allow_stdin = False
        try:
            await client.wait_for_ready(timeout=START_SECONDS)
        except RuntimeError as error:
            raise KernelStartError(reason=str(error).rstrip("."), last_output=_tail(stderr)) from error
        yield Kernel(manager=manager, client=client, stderr=stderr)
    finally:
        try:
            if client is not None:
                with suppress(zmq.ZMQError):  # it opens those that could not be opened before
                    client.stop_channels()
            if manager.has_kernel:
                await manager.shutdown_kernel(now=False)
        finally:
            _end_process_group(process_group)


async def _launch(manager: "AsyncKernelManager", setup: KernelSetup, *, stderr: Path) -> None:
    variables = kernel_environment(setup, base=os.environ)
    with stderr.open("wb") as sink:
        try:
            await manager.start_kernel(cwd=str(setup.working), env=variables, stdout=sink, stderr=sink)
        except OSError as error:
            raise KernelStartError(
                reason=f"{setup.python or sys.executable}: {error.strerror}", last_output=""
            ) from error


def _manager(setup: KernelSetup) -> "AsyncKernelManager":
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner

    own_kernel = KernelSpec(
        argv=[
            *(str(setup.python or sys.executable), kernel_process.__file__, "-f", "{connection_file}"),
            "--HistoryManager.hist_file=:memory:",
        ],
        display_name="Tandem",
        language="python",
        interrupt_mode="signal",
    )

    class OwnKernelOnly(KernelSpecManager):  # type: ignore[misc,unused-ignore]
        """Finds one kernel under every name, and looks into no folder for it."""

        def get_kernel_spec(self, _kernel_name: str) -> KernelSpec:
            return own_kernel

    connection = setup.private / f"{setup.working.name}.json"
    transport: dict[str, Any] = {}
    if _fits_a_socket(connection):
        # No ports: nothing for two runs to race for, and nobody else on the machine can connect.
        transport = {"transport": "ipc", "ip": str(connection.with_suffix(""))}
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=OwnKernelOnly(data_dir=str(setup.private)),
        connection_file=str(connection),
        **transport,
    )
    # Set here because the manager's own way asks entry points and JUPYTER_DEFAULT_PROVISIONER_NAME.
    manager.provisioner = LocalProvisioner(kernel_id=setup.working.name, kernel_spec=own_kernel, parent=manager)
    return manager


def _fits_a_socket(connection: Path) -> bool:
    return os.name == "posix" and len(os.fsencode(connection.with_suffix(""))) + len("-5") <= _SOCKET_PATH_BYTES


def kernel_environment(setup: KernelSetup, *, base: Mapping[str, str]) -> dict[str, str]:
    """The kernel's environment variables: the user's, without credentials and without what changes notebooks."""
    variables = {name: value for name, value in base.items() if name not in _CREDENTIALS + _INTERFERENCE}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        variables[name] = str(_make_folder(setup.private / "jupyter" / name.lower()))
    variables["PYTHONUNBUFFERED"] = "1"
    # TensorFlow writes the code that it makes of Python functions there, and Python what it compiles of that.
    variables["TMPDIR"] = str(_make_folder(setup.private / "tmp"))
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    variables["MPLCONFIGDIR"] = str(_matplotlib_folder(setup, base))
    if not _is_writable(_home(base)):
        variables["HOME"] = str(_make_folder(setup.private / "home"))
    variables.update(setup.variables)
    if setup.offline:
        variables[kernel_process.OFFLINE_VARIABLE] = "1"
    if setup.python is not None:
        package_folders = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
        variables[kernel_process.PACKAGES_VARIABLE] = json.dumps(package_folders)
    variables[kernel_process.READ_ONLY_VARIABLE] = json.dumps([str(path) for path in setup.read_only])
    return variables


def _matplotlib_folder(setup: KernelSetup, base: Mapping[str, str]) -> Path:
    """A folder without the user's matplotlibrc that outlives the run: indexing the fonts takes seconds."""
    lasting = Path(base.get("XDG_CACHE_HOME") or _home(base) / ".cache") / "tandem" / "matplotlib"
    try:
        if _is_writable(_make_folder(lasting)):
            return lasting
    except OSError:
        pass
    return _make_folder(setup.private / "matplotlib")


def _home(base: Mapping[str, str]) -> Path:
    return Path(base.get("HOME") or Path.home())


def _is_writable(folder: Path) -> bool:
    # Asking is not enough: /proc and read-only mounts answer root with yes.
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16_384))
        text = file.read().decode(errors="replace")
    return "\n".join(f"    {printable(line)}" for line in text.splitlines()[-_SAID_LINES:])


def _end_process_group(process_group: int | None) -> None:
    if process_group is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process_group, signal.SIGKILL)
