"""Executes notebooks for real: a worker process in a sandbox, watched from outside."""

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
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

import generator
from generator.accelerators.catalog import AcceleratorKind
from generator.files import open_below
from generator.run.left_processes import end_processes_of
from generator.sessions.bubblewrap import Bubblewrap, first_process_of, network_of
from generator.sessions.environment import process_variables, session_variables
from generator.sessions.first_process import keep_record
from generator.sessions.isolation import HOME, INPUT, SESSION, WORKING, Launch, PlainProcess, session_folders
from generator.sessions.resource_limits import GRACE, Watch
from generator.sessions.runner import Runner, SessionEnd, SessionOrder
from generator.sessions.session_log import SessionLog
from generator.sessions.worker import EXECUTED, NOTEBOOK, WorkOrder
from generator.untrusted import JsonObject, storable

DIED = "The session's process died. It may have run out of memory."
_EMULATED = {
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
    return Bubblewrap.found() or PlainProcess()


class NotebookRunner(Runner):
    """Runs every notebook in a process of its own, by the isolation it is given or the best that the machine has."""

    def __init__(self, isolation: Isolation | None = None) -> None:
        self._given = isolation

    @cached_property
    def _isolation(self) -> Isolation:
        return self._given or best_isolation()

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
        watch = Watch(order, stop)
        launch = self._isolation.launch(order, _program())
        with _started(launch, order, watch) as process:
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
        _keep(order.files.private, PurePosixPath("session", EXECUTED), order.files.executed)
        failure = reason or watch.refused or (ends[0] if ends else None)
        if failure is None:
            _LOG.warning("the worker of %s died: %s", order.title, b"".join(last_words).decode(errors="replace"))
            failure = DIED
        if failure:
            log.write(f"{failure}\n", stream="stderr")
        return SessionEnd(failure, seconds=time.monotonic() - watch.started, peak_memory=watch.peak_memory)


def _machine(order: SessionOrder) -> str:
    network = "internet on" if order.internet else "internet off"
    return f"{order.accelerator.upper()}{_EMULATED[order.accelerator].format(order.devices)}, {network}"


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
def _started(launch: Launch, order: SessionOrder, watch: Watch) -> Iterator[subprocess.Popen[bytes]]:
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
            pass_fds=launch.inherited,
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
        message = JsonObject.parsed(line)
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


def _keep(folder: Path, executed: PurePosixPath, at: Path) -> None:
    """Takes the executed notebook out of a folder that the session wrote to, if it is what it should be."""
    with suppress(OSError), open_below(folder, executed) as file:
        if os.fstat(file.fileno()).st_size <= _LARGEST_NOTEBOOK:
            with at.open("xb") as kept:
                shutil.copyfileobj(file, kept)
