"""The first process of a sandbox: the kernel keeps it until every other process of the sandbox is gone."""

import json
import logging
import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from generator.files import read_json

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
