"""Executes notebooks for real: a worker process in a sandbox, watched from outside, its log, and the queue."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any

import psutil  # type: ignore[import-untyped,unused-ignore]

import generator
from generator.accelerators import AcceleratorKind
from generator.files import open_below
from generator.run.kernel import end_processes_of
from generator.sessions.sandbox import (
    DEEPEST,
    HOME,
    INPUT,
    SESSION,
    WORKING,
    Bubblewrap,
    Launch,
    PlainProcess,
    Runner,
    SessionEnd,
    SessionOrder,
    blocks_of,
    first_process_of,
    is_too_deep,
    keep_record,
    network_of,
    process_variables,
    session_folders,
    session_variables,
    walk_tree,
)
from generator.sessions.worker import EXECUTED_NOTEBOOK, NOTEBOOK, TIMEOUT, WorkOrder
from generator.text import JsonObject, storable

# A session's log: one JSON object a line, as the API and its live stream send them, bounded in size.


LARGEST = 64 * 2**20
LARGEST_EVENT = 8_192
_LOG_PIECE = 256 * 1024
_LOG_END = "\n[The log is full: what comes after this is not kept.]\n"


class SessionLog:
    """The log of a session that is being written; one thread writes, any process reads."""

    def __init__(self, path: Path, *, limit: int = LARGEST) -> None:
        """Begins a log.

        Args:
            path: Its file.
            limit: The most bytes of the file, apart from the line that says that it is full.
        """
        self._path = path
        self._start_time = time.monotonic()
        self._left = limit

    def write(self, text: str, *, stream: str = "stdout") -> None:
        """Adds a piece of text as one event or, where it is long, as several."""
        for start in range(0, len(text), LARGEST_EVENT):
            self._add(text[start : start + LARGEST_EVENT], stream)

    def _add(self, text: str, stream: str) -> None:
        if self._left <= 0:
            return
        line = self._line(text, stream)
        # What is around a text counts as well: a notebook can print single characters without end.
        self._left -= len(line)
        with self._path.open("ab") as file:
            file.write(line if self._left > 0 else self._line(_LOG_END, stream))

    def _line(self, text: str, stream: str) -> bytes:
        seconds = round(time.monotonic() - self._start_time, 3)
        return json.dumps({"stream_name": stream, "time": seconds, "data": text}).encode() + b"\n"


@dataclass(frozen=True)
class LogPiece:
    """Some events of a log; `position` is where the next piece begins."""

    events: tuple[dict[str, Any], ...]
    position: int


def read_piece(path: Path, *, position: int = 0) -> LogPiece:
    """Reads the whole lines from a position on, some hundred kilobytes at most; none if there is no log yet."""
    try:
        with path.open("rb") as file:
            # Whoever asks chooses the position, and not every system can seek to each.
            file.seek(min(position, os.fstat(file.fileno()).st_size))
            content = file.read(_LOG_PIECE)
    except FileNotFoundError:
        return LogPiece((), position)
    whole = content[: content.rfind(b"\n") + 1]
    return LogPiece(tuple(_events(whole)), position + len(whole))


def _events(lines: bytes) -> Iterator[dict[str, Any]]:
    for line in lines.splitlines():
        with suppress(ValueError):  # half a line, from when the disk was full
            yield json.loads(line)


def read_all(path: Path) -> Iterator[dict[str, Any]]:
    """Every event of a log."""
    piece = read_piece(path)
    while piece.events:
        yield from piece.events
        piece = read_piece(path, position=piece.position)


# A session looked at from outside: its time, its memory and processes, its files; and why it has to end.


# How long a worker has to end a notebook in good order before everything is killed.
GRACE = 15.0
STOP_REASON = "The session was stopped."
_LIMIT_REASON = "Notebook Exceeded Allowed Compute"
OUT_OF_MEMORY = f"{_LIMIT_REASON}: it used more memory than a session has."
TOO_MANY_PROCESSES = f"{_LIMIT_REASON}: it started more processes than a session may."
TOO_LARGE = f"{_LIMIT_REASON}: its files took more than the disk space of a session."
TOO_MANY_FILES = f"{_LIMIT_REASON}: it made more files than a session may."
TOO_DEEP = f"{_LIMIT_REASON}: it made folders below one another that are too deep, of which {DEEPEST} are allowed."
MACHINE_IS_FULL = f"{_LIMIT_REASON}: this machine has hardly any {{}} left."

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
class SessionWatch:
    """Looks at a session from outside, and says why it must end."""

    order: SessionOrder
    stop: threading.Event
    start_time: float = field(default_factory=time.monotonic)
    last_look: float = 0.0
    children: set[psutil.Process] = field(default_factory=set)
    refusal: str = ""
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
        """What the kernel has refused the process and all in its control group, or nothing; it is kept in `refusal`.

        A notebook can go on for hours after it was refused memory or processes, and what it says of that is its own.
        Its group is gone as soon as its last process is.
        """
        if not self.refusal:
            self.refusal = _refusal(_group_of(pid))
        return self.refusal

    def kill_children(self) -> None:
        """Kills what the process started itself and was seen here, and waits until it is gone."""
        for child in self.children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(self.children, timeout=GRACE)

    def _reason(self, pid: int) -> str:
        now = time.monotonic()
        if self.stop.is_set():
            return STOP_REASON
        # The worker interrupts the notebook when its time is up; only if that does not help it is killed.
        if now - self.start_time > self.order.time_limit.total_seconds() + GRACE:
            return TIMEOUT
        reason = self._processes(pid) or self.ask_the_kernel(pid)
        if not reason and now - self.last_look > _FILES_SECONDS:
            self.last_look = now
            reason = self._files()
        return reason

    def _processes(self, pid: int) -> str:
        processes = _tree(pid)
        self.children.update(process for process in processes[1:] if _parent(process) == pid)
        reason = self._check_limits(processes)
        if reason:
            # The notebook's at once, before they take more: outside of a sandbox the worker is given time to end well.
            for process in processes[1:]:
                with suppress(psutil.Error):
                    process.kill()
        return reason

    def _check_limits(self, processes: list[psutil.Process]) -> str:
        if len(processes) > self.order.process_limit:
            return TOO_MANY_PROCESSES
        # Pages that processes share are counted for each of them here; only what is too much so is looked at closely.
        resident = sum(map(_resident, processes))
        self.peak_memory = max(self.peak_memory, resident)
        if resident > self.order.memory_limit and self._measure_memory(processes) > self.order.memory_limit:
            return OUT_OF_MEMORY
        if psutil.virtual_memory().available + psutil.swap_memory().free < _SPARE_MEMORY:
            return MACHINE_IS_FULL.format("memory")
        return ""

    def _measure_memory(self, processes: list[psutil.Process]) -> int:
        """The memory of processes without what they share, once that is measured; until then 0."""
        if self.measuring is None:
            if time.monotonic() < self.measure_again:
                return 0
            self.measuring = Measuring(processes)
        is_over, memory = self.measuring.is_over(), self.measuring.total_memory(processes)
        if is_over:
            self.measure_again = time.monotonic() + _PAUSE_FOR_LOOK * self.measuring.seconds()
            self.measuring = None
        return memory

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
        self._sizes: dict[psutil.Process, int] = {}
        self._thread = threading.Thread(target=self._measure, args=(processes,), daemon=True)
        self._thread.start()
        self._thread.join(_LOOK_SECONDS)  # for a few processes that suffices

    def is_over(self) -> bool:
        """True if all were measured, or would have been."""
        return not self._thread.is_alive()

    def total_memory(self, processes: list[psutil.Process]) -> int:
        """The bytes of all once they are known, until then 0; after too long, with all that the others share."""
        if not self.is_late():
            return sum(self._sizes.values()) if self.is_over() else 0
        return sum(self._sizes.get(process) or _resident(process) for process in processes)

    def _measure(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            if self.is_late():
                return
            self._sizes[process] = _proportional(process)

    def is_late(self) -> bool:
        """True if it takes longer than anybody waits for it."""
        return self.seconds() > _MEASURING_SECONDS

    def seconds(self) -> float:
        """The time since it began."""
        return time.monotonic() - self._began


def _group_of(pid: int) -> Path | None:
    """The folder of the control group that a process has and this one has not, where there are any of version 2."""
    own_group, process_group = _group_name("self"), _group_name(str(pid))
    return _CONTROL_GROUPS / process_group.lstrip("/") if process_group and process_group != own_group else None


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
    for count, (depth, entry) in enumerate(walk_tree(folder), start=1):
        size += blocks_of(entry)
        if entry.is_dir(follow_symlinks=False) and is_too_deep(depth, entry):
            return TOO_DEEP
        if size > limit or count > _MOST_FILES:
            return TOO_LARGE if size > limit else TOO_MANY_FILES
    return ""


DEATH_REASON = "The session's process died. It may have run out of memory."
_EMULATED_DEVICES = {
    AcceleratorKind.CPU: "",
    AcceleratorKind.GPU: " (the CPU of this machine stands for it)",
    AcceleratorKind.TPU: " (emulated: {} devices of this machine's CPU)",
}
_PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
_LONGEST_LINE = 2**20
_PIECE, _LAST_PIECES = 4_096, 16
_LONGEST_FAILURE = 500
_LARGEST_NOTEBOOK = 256 * 2**20
_LOG = logging.getLogger(__name__)

Isolation = Bubblewrap | PlainProcess
"""A way to run a process apart from this machine; `is_sandbox` says that it holds back what wants to get out."""


def best_isolation() -> Isolation:
    """The best that works on this machine, tried out: bubblewrap, or a plain process."""
    return Bubblewrap.detect() or PlainProcess()


class NotebookRunner(Runner):
    """Runs every notebook in a process of its own, by the isolation it is given or the best that the machine has."""

    def __init__(self, isolation: Isolation | None = None) -> None:
        self._preferred_isolation = isolation

    @cached_property
    def _isolation(self) -> Isolation:
        return self._preferred_isolation or best_isolation()

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine."""
        return self._isolation.description

    def run(self, order: SessionOrder, *, stop: threading.Event) -> SessionEnd:
        """Executes a notebook and waits for its end."""
        log = SessionLog(order.files.log)
        log.write(f"{order.title}: {_machine(order)}; {self.isolation}\n")
        folders = session_folders(order)
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        session = order.files.private / "session"
        shutil.copyfile(order.notebook, session / NOTEBOOK)
        watch = SessionWatch(order, stop)
        launch = self._isolation.launch(order, _program())
        with _start_worker(launch, order, watch) as process:
            ends, last_words = deque[str](maxlen=1), deque[bytes](maxlen=_LAST_PIECES)

            def end(reason: str, pid: int = process.pid) -> None:
                # While the worker still stands: what the kernel counted goes with it, and explains what it says.
                watch.ask_the_kernel(pid)
                ends.append(reason)

            listening = [
                threading.Thread(target=_take_down, args=(process.stdout, log, end), daemon=True),
                threading.Thread(target=last_words.extend, args=(_pieces(process.stderr),), daemon=True),
            ]
            for thread in listening:
                thread.start()
            _give(process, _work(order, launch))
            reason = watch.until_end(process)
        # Nothing of the session runs any more: what it wrote stays as it is from here on.
        reason = reason or watch.left_behind()
        for thread in listening:
            thread.join(GRACE)
        _keep(order.files.private, PurePosixPath("session", EXECUTED_NOTEBOOK), order.files.executed_notebook)
        failure = reason or watch.refusal or (ends[0] if ends else None)
        if failure is None:
            _LOG.warning("the worker of %s died: %s", order.title, b"".join(last_words).decode(errors="replace"))
            failure = DEATH_REASON
        if failure:
            log.write(f"{failure}\n", stream="stderr")
        return SessionEnd(failure, seconds=time.monotonic() - watch.start_time, peak_memory=watch.peak_memory)


def _machine(order: SessionOrder) -> str:
    network = "internet on" if order.internet else "internet off"
    return f"{order.accelerator.upper()}{_EMULATED_DEVICES[order.accelerator].format(order.devices)}, {network}"


def _program() -> list[str]:
    # The folder of the kit comes last on the path, and only in the worker: the notebook's process starts afresh.
    folder = str(Path(generator.__file__).resolve().parent.parent)
    code = f"import sys; sys.path.append({folder!r}); from generator.sessions.worker import main; main()"
    return [sys.executable, "-P", "-c", code]


def _work(order: SessionOrder, launch: Launch) -> WorkOrder:
    roots = {"INPUT_ROOT": launch.path(INPUT), "WORKING_ROOT": launch.path(WORKING)} if launch.elsewhere else {}
    inputs = [str(folder) for folder in order.mounts.values()]
    return WorkOrder(
        title=order.title,
        session=launch.path(SESSION),
        working=launch.path(WORKING),
        parameters={**roots, **order.parameters},
        variables=session_variables(order),
        read_only=(launch.path(INPUT), *inputs) if launch.elsewhere else (),
        offline=not order.internet and bool(launch.elsewhere),
        seconds=order.time_limit.total_seconds(),
        largest_file=order.output_limit,
        # Outside of a sandbox the processes of the user are counted, whatever they belong to.
        most_processes=0 if launch.elsewhere else order.process_limit,
        python=str(order.python or ""),
        shares_network=order.internet and not launch.elsewhere,
    )


@contextmanager
def _start_worker(launch: Launch, order: SessionOrder, watch: SessionWatch) -> Iterator[subprocess.Popen[bytes]]:
    # Python forgets folders that are not there when it starts.
    (session_folders(order)[HOME] / _PACKAGES).mkdir(parents=True)
    home = launch.path(HOME)
    variables = {
        **process_variables(),
        **launch.variables,
        "HOME": home,
        # What a notebook installs goes where it may write, and is found there before what was there already.
        "PIP_PREFIX": home,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": f"{home}/{_PACKAGES}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with launch:
        process = subprocess.Popen(  # noqa: S603 - a sandbox's program, with paths that this package made
            launch.arguments,
            pass_fds=launch.descriptors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            cwd=order.files.working,
            start_new_session=True,
        )
    first = None
    try:
        first = first_process_of(launch)
        if first is not None:
            # Before the worker is told what to do, so that a server that is started later knows of it in any case.
            keep_record(first, order.files.first_process)
        with network_of(launch, first):
            yield process
    finally:
        if first is not None:
            first.end()
        # A sandbox dies as a whole; a plain worker has to end its notebook's processes itself.
        _end(process, grace=GRACE if launch.elsewhere else 0.0)
        watch.kill_children()
        if launch.elsewhere:  # and some may have left its process group
            end_processes_of(Path(home))
        order.files.first_process.unlink(missing_ok=True)


def _give(process: "subprocess.Popen[bytes]", work: WorkOrder) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.write(work.as_json().encode() + b"\n")
            process.stdin.flush()  # and stays open as long as this process lives


def _end(process: "subprocess.Popen[bytes]", *, grace: float) -> None:
    """Ends a worker that has not ended: in good order if it has seconds for that, its whole group for sure."""
    if grace and process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()


def _take_down(stdout: IO[bytes] | None, log: SessionLog, end: Callable[[str], None]) -> None:
    """Reads the messages of a worker until there are no more; whoever runs in the session may have written them.

    What is printed goes to the log, the reason why the notebook ended to `end`: nothing where it ended well.
    """
    while stdout is not None and (line := stdout.readline(_LONGEST_LINE)):
        message = JsonObject.parse(line)
        if "end" in message:
            end(storable(message.text("end"))[:_LONGEST_FAILURE])
        elif "text" in message:
            # The disk may be full: then the log has a gap, and the session goes on.
            with suppress(OSError):
                stream = "stderr" if message.text("stream") == "stderr" else "stdout"
                log.write(storable(message.text("text")), stream=stream)


def _pieces(stream: IO[bytes] | None) -> Iterator[bytes]:
    """Reads a pipe in pieces, until there is no more."""
    while stream is not None and (piece := os.read(stream.fileno(), _PIECE)):
        yield piece


def _keep(folder: Path, notebook: PurePosixPath, at: Path) -> None:
    """Takes the executed notebook out of a folder that the session wrote to, if it is what it should be."""
    with suppress(OSError), open_below(folder, notebook) as file:
        if os.fstat(file.fileno()).st_size <= _LARGEST_NOTEBOOK:
            with at.open("xb") as target_file:
                shutil.copyfileobj(file, target_file)


# The queue of sessions: a few run at a time, the others wait for their turn, any can be stopped.


_CLOSING_SECONDS = 20.0

Execute = Callable[[int, threading.Event], None]


class SessionQueue:
    """Runs sessions by their numbers, in the order in which they were added, `slots` of them at a time.

    Without a slot a session runs in the thread that adds it, and `add` returns when it is over: tests want no chance.
    """

    def __init__(self, execute: Execute, *, slots: int) -> None:
        self._execute = execute
        self._slots = slots
        self._condition = threading.Condition()
        self._waiting: deque[int] = deque()
        self._running: dict[int, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def add(self, session: int) -> None:
        """Lets a session run as soon as there is a slot for it."""
        if not self._slots:
            self._run(session, self._register_session(session))
            return
        with self._condition:
            if self._is_closed:
                return
            self._waiting.append(session)
            if len(self._threads) < min(self._slots, len(self._running) + len(self._waiting)):
                thread = threading.Thread(target=self._work, name=f"session-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._condition.notify_all()

    def stop(self, session: int) -> bool:
        """Takes a session out of the queue, or tells it to end; True if it was waiting, and so never runs."""
        with self._condition:
            if session in self._running:
                self._running[session].set()
            was_waiting = session in self._waiting
            if was_waiting:
                self._waiting.remove(session)
            self._condition.notify_all()
            return was_waiting

    def wait_until_idle(self, seconds: float) -> bool:
        """Waits until nothing runs or waits; False if that takes longer."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._waiting and not self._running, timeout=seconds)

    def close(self) -> None:
        """Stops what runs, and leaves what waits to the next start of the server."""
        with self._condition:
            self._is_closed = True
            self._waiting.clear()
            for stop in self._running.values():
                stop.set()
            self._condition.notify_all()
        deadline = time.monotonic() + _CLOSING_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._waiting or self._is_closed)
                if self._is_closed:
                    return
                session = self._waiting.popleft()
                stop = self._register_session(session)
            self._run(session, stop)

    def _register_session(self, session: int) -> threading.Event:
        with self._condition:
            return self._running.setdefault(session, threading.Event())

    def _run(self, session: int, stop: threading.Event) -> None:
        try:
            self._execute(session, stop)
        except Exception:  # noqa: BLE001 - a broken session must not take its slot with it
            _LOG.exception("session %d could not be run", session)
        finally:
            with self._condition:
                del self._running[session]
                self._condition.notify_all()


# Notebooks of one cell: what a kernel of the type `script` runs as, and what a new notebook begins with.


def script_notebook(source: str, *, language: str = "python", name: str = "script") -> str:
    """A notebook, as text, whose only cell, of this name, is the source."""
    cell: dict[str, object] = {"cell_type": "code", "id": name, "metadata": {}, "execution_count": None, "outputs": []}
    spec = {"name": "python3" if language == "python" else "ir", "display_name": language, "language": language}
    return json.dumps(
        {"cells": [{**cell, "source": source}], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    )
