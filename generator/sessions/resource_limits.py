"""A session looked at from outside: its time, its memory and processes, its files; and why it has to end."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped,unused-ignore]

from generator.sessions.folder_trees import DEEPEST, blocks_of, is_too_deep, walk
from generator.sessions.runner import SessionOrder
from generator.sessions.worker import TIMEOUT

# How long a worker has to end a notebook in good order before everything is killed.
GRACE = 15.0
STOPPED = "The session was stopped."
_EXCEEDED = "Notebook Exceeded Allowed Compute"
OUT_OF_MEMORY = f"{_EXCEEDED}: it used more memory than a session has."
TOO_MANY_PROCESSES = f"{_EXCEEDED}: it started more processes than a session may."
TOO_LARGE = f"{_EXCEEDED}: its files took more than the disk space of a session."
TOO_MANY_FILES = f"{_EXCEEDED}: it made more files than a session may."
TOO_DEEP = f"{_EXCEEDED}: it made folders below one another that are too deep, of which {DEEPEST} are allowed."
MACHINE_IS_FULL = f"{_EXCEEDED}: this machine has hardly any {{}} left."

_LOOK_SECONDS = 0.25
# A look at thousands of processes takes time as well, which is not to be most of this one's.
_LONGEST_PAUSE, _PAUSE_FOR_LOOK = 2.0, 3.0
# After this long, what a process shares counts as its own.
_MEASURING_SECONDS = 20.0
_FILES_SECONDS = 2.0
_MOST_FILES = 200_000
# What is left to the machine. A notebook can hold memory and disk that belong to none of its processes and files.
_SPARE_MEMORY = 256 * 2**20
_SPARE_DISK = 256 * 2**20
_SPARE_FILES = 1_000
# Where the kernel shows control groups (cgroup v2), and what it counts there when it holds one to its limits.
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_REFUSALS = (("memory.events", "oom_kill", OUT_OF_MEMORY), ("pids.events", "max", TOO_MANY_PROCESSES))


def largest_memory() -> int:
    """The bytes of memory that a session can have without taking all of this machine's."""
    return int(psutil.virtual_memory().total * 0.8)


@dataclass
class Watch:
    """Looks at a session from outside, and says why it must end."""

    order: SessionOrder
    stop: threading.Event
    started: float = field(default_factory=time.monotonic)
    looked: float = 0.0
    children: set[psutil.Process] = field(default_factory=set)
    refused: str = ""
    peak_memory: int = 0
    measuring: "Measuring | None" = None
    measure_again: float = 0.0

    def until_end(self, process: "subprocess.Popen[bytes]") -> str:
        """Waits until the process ends or has to: why, or nothing if it ended by itself and within its limits."""
        took = 0.0
        while True:
            try:
                process.wait(max(_LOOK_SECONDS, min(_PAUSE_FOR_LOOK * took, _LONGEST_PAUSE)))
            except subprocess.TimeoutExpired:
                began = time.monotonic()
                reason = self._reason(process.pid)
                if reason:
                    return reason
                took = time.monotonic() - began
            else:
                return ""

    def left_behind(self) -> str:
        """The reason why the files of a session that is over are too much, or nothing."""
        return _too_much(self.order.files.working, self.order.output_limit)

    def ask_the_kernel(self, pid: int) -> str:
        """What the kernel has refused the process and all in its control group, or nothing; it is kept in `refused`.

        A notebook can go on for hours after it was refused memory or processes, and what it says of that is its own.
        Its group is gone as soon as its last process is.
        """
        if not self.refused:
            self.refused = _refusal(_group_of(pid))
        return self.refused

    def kill_children(self) -> None:
        """Kills what the process started itself and was seen here, and waits until it is gone."""
        for child in self.children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(self.children, timeout=GRACE)

    def _reason(self, pid: int) -> str:
        now = time.monotonic()
        if self.stop.is_set():
            return STOPPED
        # The worker interrupts the notebook when its time is up; only if that does not help it is killed.
        if now - self.started > self.order.time_limit.total_seconds() + GRACE:
            return TIMEOUT
        reason = self._processes(pid) or self.ask_the_kernel(pid)
        if not reason and now - self.looked > _FILES_SECONDS:
            self.looked = now
            reason = self._files()
        return reason

    def _processes(self, pid: int) -> str:
        processes = _tree(pid)
        self.children.update(process for process in processes[1:] if _parent(process) == pid)
        reason = self._exceeded(processes)
        if reason:
            # The notebook's at once, before they take more: outside of a sandbox the worker is given time to end well.
            for process in processes[1:]:
                with suppress(psutil.Error):
                    process.kill()
        return reason

    def _exceeded(self, processes: list[psutil.Process]) -> str:
        if len(processes) > self.order.process_limit:
            return TOO_MANY_PROCESSES
        # Pages that processes share are counted for each of them here; only what is too much so is looked at closely.
        resident = sum(map(_resident, processes))
        self.peak_memory = max(self.peak_memory, resident)
        if resident > self.order.memory_limit and self._measured(processes) > self.order.memory_limit:
            return OUT_OF_MEMORY
        if psutil.virtual_memory().available + psutil.swap_memory().free < _SPARE_MEMORY:
            return MACHINE_IS_FULL.format("memory")
        return ""

    def _measured(self, processes: list[psutil.Process]) -> int:
        """The memory of processes without what they share, once that is measured; until then 0."""
        if self.measuring is None:
            if time.monotonic() < self.measure_again:
                return 0
            self.measuring = Measuring(processes)
        is_over, found = self.measuring.is_over(), self.measuring.found(processes)
        if is_over:
            self.measure_again = time.monotonic() + _PAUSE_FOR_LOOK * self.measuring.seconds()
            self.measuring = None
        return found

    def _files(self) -> str:
        for folder in (self.order.files.working, self.order.files.private):
            reason = _too_much(folder, self.order.output_limit)
            if reason:
                return reason
        if shutil.disk_usage(self.order.files.working).free < _SPARE_DISK:
            return MACHINE_IS_FULL.format("disk space")
        left = os.statvfs(self.order.files.working)
        if left.f_files and left.f_favail < _SPARE_FILES:  # some file systems do not count them
            return MACHINE_IS_FULL.format("room for files")
        return ""


class Measuring:
    """Measures the memory of processes in a thread, since the kernel may take seconds for a single one."""

    def __init__(self, processes: list[psutil.Process]) -> None:
        self._began = time.monotonic()
        self._found: dict[psutil.Process, int] = {}
        self._thread = threading.Thread(target=self._measure, args=(processes,), daemon=True)
        self._thread.start()
        self._thread.join(_LOOK_SECONDS)  # for a few processes that suffices

    def is_over(self) -> bool:
        """True if all were measured, or would have been."""
        return not self._thread.is_alive()

    def found(self, processes: list[psutil.Process]) -> int:
        """The bytes of all once they are known, until then 0; after too long, with all that the others share."""
        if not self.is_late():
            return sum(self._found.values()) if self.is_over() else 0
        return sum(self._found.get(process) or _resident(process) for process in processes)

    def _measure(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            if self.is_late():
                return
            self._found[process] = _proportional(process)

    def is_late(self) -> bool:
        """True if it takes longer than anybody waits for it."""
        return self.seconds() > _MEASURING_SECONDS

    def seconds(self) -> float:
        """The time since it began."""
        return time.monotonic() - self._began


def _group_of(pid: int) -> Path | None:
    """The folder of the control group that a process has and this one has not, where there are any of version 2."""
    mine, its = _group_name("self"), _group_name(str(pid))
    return _CONTROL_GROUPS / its.lstrip("/") if its and its != mine else None


def _group_name(process: str) -> str:
    try:
        lines = Path("/proc", process, "cgroup").read_text().splitlines()
    except OSError:  # gone, or no Linux
        return ""
    return next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "")


def _refusal(group: Path | None) -> str:
    """The reason that the kernel's counts in the folder of a control group give to end what is in it, or nothing."""
    if group is not None:
        for file, event, reason in _REFUSALS:
            with suppress(OSError):
                counts = dict(line.split() for line in (group / file).read_text().splitlines())
                if counts.get(event, "0") != "0":
                    return reason
    return ""


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _parent(process: psutil.Process) -> int:
    try:
        return int(process.ppid())
    except psutil.Error:
        return 0


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _proportional(process: psutil.Process) -> int:
    """The memory of a process with its part of what it shares; where the system does not say that, what is its own."""
    try:
        if not sys.platform.startswith("linux"):
            return int(process.memory_full_info().uss)
        # Not `smaps`, which has a paragraph for each of up to 65,530 mappings.
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (psutil.Error, OSError, StopIteration):  # gone, no business of this user, or an old kernel
        return _resident(process)


def _too_much(folder: Path, limit: int) -> str:
    """The reason why the files of a folder are too much, or nothing."""
    size = 0
    for count, (depth, entry) in enumerate(walk(folder), start=1):
        size += blocks_of(entry)
        if entry.is_dir(follow_symlinks=False) and is_too_deep(depth, entry):
            return TOO_DEEP
        if size > limit or count > _MOST_FILES:
            return TOO_LARGE if size > limit else TOO_MANY_FILES
    return ""
