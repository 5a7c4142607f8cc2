"""The Python process that a notebook runs in, apart from the user's Jupyter and from other runs."""

import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.errors import RunError
from generator.installation import install_command
from generator.run import kernel_process
from generator.untrusted import printable

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.manager import AsyncKernelManager

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

    def __init__(self, *, reason: str, said: str) -> None:
        super().__init__(f"The notebook's kernel did not start: {reason}.{_quoted(said)}")


class KernelDiedError(RunError):
    """The kernel's process was gone in the middle of a cell."""

    def __init__(self, *, notebook: str, cell: str, exit_status: int | None, said: str, kept: Path) -> None:
        super().__init__(
            f'The kernel of {notebook} died in cell "{cell}": {_cause(exit_status)}.{_quoted(said)}\n'
            f"The notebook as far as it got: {kept}"
        )


def _cause(exit_status: int | None) -> str:
    if exit_status is None:
        return "its process is gone"
    if exit_status >= 0:
        return f"its process ended with status {exit_status}"
    try:
        name = signal.Signals(-exit_status).name
    except ValueError:
        name = f"signal {-exit_status}"
    if name == "SIGKILL":
        return "its process was killed (SIGKILL), which is what the system does when memory runs out"
    return f"its process was ended by {name}"


def _quoted(said: str) -> str:
    return f" It said last:\n{said}" if said else ""


def require_packages() -> None:
    """Check that a kernel can be started from this installation, without importing anything heavy.

    Raises:
        RunError: The extra `run` is not installed.
    """
    missing = [package for package in REQUIRED_PACKAGES if find_spec(package) is None]
    if missing:
        raise RunError(
            f"No Jupyter kernel can be started: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            f"installed beside {sys.executable}. Install what a run needs: {install_command('run')}"
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
            raise KernelStartError(reason=str(error), said="") from error
        client.allow_stdin = False
        try:
            await client.wait_for_ready(timeout=START_SECONDS)
        except RuntimeError as error:
            raise KernelStartError(reason=str(error).rstrip("."), said=_tail(stderr)) from error
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
    variables = environment(setup, base=os.environ)
    with stderr.open("wb") as sink:
        try:
            await manager.start_kernel(cwd=str(setup.working), env=variables, stdout=sink, stderr=sink)
        except OSError as error:
            raise KernelStartError(reason=f"{setup.python or sys.executable}: {error.strerror}", said="") from error


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


def environment(setup: KernelSetup, *, base: Mapping[str, str]) -> dict[str, str]:
    """The kernel's environment variables: the user's, without credentials and without what changes notebooks."""
    variables = {name: value for name, value in base.items() if name not in _CREDENTIALS + _INTERFERENCE}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        variables[name] = str(_made(setup.private / "jupyter" / name.lower()))
    variables["PYTHONUNBUFFERED"] = "1"
    # TensorFlow writes the code that it makes of Python functions there, and Python what it compiles of that.
    variables["TMPDIR"] = str(_made(setup.private / "tmp"))
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    variables["MPLCONFIGDIR"] = str(_matplotlib_folder(setup, base))
    if not _is_writable(_home(base)):
        variables["HOME"] = str(_made(setup.private / "home"))
    variables.update(setup.variables)
    if setup.offline:
        variables[kernel_process.OFFLINE_VARIABLE] = "1"
    if setup.python is not None:
        own = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
        variables[kernel_process.PACKAGES_VARIABLE] = json.dumps(own)
    variables[kernel_process.READ_ONLY_VARIABLE] = json.dumps([str(path) for path in setup.read_only])
    return variables


def _matplotlib_folder(setup: KernelSetup, base: Mapping[str, str]) -> Path:
    """A folder without the user's matplotlibrc that outlives the run: indexing the fonts takes seconds."""
    lasting = Path(base.get("XDG_CACHE_HOME") or _home(base) / ".cache") / "tandem" / "matplotlib"
    try:
        if _is_writable(_made(lasting)):
            return lasting
    except OSError:
        pass
    return _made(setup.private / "matplotlib")


def _home(base: Mapping[str, str]) -> Path:
    return Path(base.get("HOME") or Path.home())


def _is_writable(folder: Path) -> bool:
    # Asking is not enough: /proc and read-only mounts answer root with yes.
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _made(folder: Path) -> Path:
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
