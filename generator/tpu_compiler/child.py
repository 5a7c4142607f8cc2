"""The process that compiles, as the kit sees it: its start, what it tells, and its end."""

import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO

from generator.pair.interrupts import deferred_interrupts
from generator.run.input_mounts import lay_out
from generator.run.kernel import KernelSetup, environment
from generator.run.left_processes import adopted_orphans, end_processes_of
from generator.tpu_compiler.options import CompileOptions
from generator.tpu_compiler.report import Problem
from generator.tpu_compiler.result_cache import ResultCache
from generator.tpu_compiler.targets import NotebookTarget, code_cells
from generator.tpu_compiler.topologies import Topology
from generator.tpu_compiler.worker_events import Told
from generator.untrusted import JsonObject, printable

Progress = Callable[[str], None]

_SAY_AGAIN_SECONDS = 15.0
_LOOK_SECONDS = 0.5
_BEHIND_THE_END_SECONDS = 1.0
_MOST_PROGRESS, _MOST_KEPT = 1_000, 100  # lines that are shown, programs whose figures are kept
_LONGEST_LINE = 1 << 20
_PIECE, _LAST_PIECES = 4_096, 4
_PATIENCE = 5.0  # seconds
_LONGEST_ANSWER = 1 << 15  # half of what a pipe holds


@dataclass(frozen=True)
class Job:
    """What a worker is to do, in a folder of its own."""

    target: NotebookTarget
    options: CompileOptions
    topology: Topology
    private: Path
    compiler: str
    cache: ResultCache

    def run(self, told: Told, progress: Progress, *, until: float) -> None:
        """Takes in what the worker tells, until it is done or the time is over, and leaves nothing of it behind."""
        input_root, working = self.private / "input", self.private / "working"
        working.mkdir()
        lay_out(list(self.target.mounted), input_root)
        read_only = (input_root, *(mount.source for mount in self.target.mounted))
        setup = KernelSetup(self.private, working, read_only, variables=self._variables())
        events, telling = os.pipe()
        asked, answers = os.pipe()
        order = {
            **asdict(self.options),
            **asdict(self.topology),
            "topology": self.topology.name,
            "cells": code_cells(self.target, input_root=input_root, working=working),
            "read_only": [str(path) for path in read_only],
            "compiler": self.compiler,
            "events": telling,
            "answers": asked,
        }
        last_words = deque[bytes](maxlen=_LAST_PIECES)
        with tempfile.TemporaryFile() as stdin:
            stdin.write(json.dumps(order).encode())
            stdin.seek(0)
            process = subprocess.Popen(
                # Without -P the folder that the kit was started in could bring modules along.
                [sys.executable, "-P", "-m", "generator.tpu_compiler.worker.process"],
                env=environment(setup, base=os.environ),
                cwd=working,
                stdin=stdin,
                stdout=subprocess.PIPE,  # which a notebook may fill for minutes: the end alone is kept
                stderr=subprocess.STDOUT,
                pass_fds=(telling, asked),
                start_new_session=True,
            )
            reading = Thread(target=_read_end, args=(process.stdout, last_words), daemon=True)
            reading.start()
            os.close(telling)
            os.close(asked)
            os.set_blocking(answers, False)  # nobody need read them, and the time limit is looked at here
            with (
                adopted_orphans() as orphans,
                os.fdopen(events, "rb") as incoming,
                os.fdopen(answers, "wb") as outgoing,
            ):
                try:
                    conversation = _Conversation(process, self, outgoing.fileno(), told, progress)
                    in_time = conversation.listen(incoming, until)
                finally:
                    with deferred_interrupts():
                        with suppress(ProcessLookupError, PermissionError):
                            os.killpg(process.pid, signal.SIGKILL)
                        process.wait()
                        end_processes_of(self.private / "home")  # what left its group
                        orphans.end()  # what has another HOME as well
        reading.join(_PATIENCE)
        if in_time and not told.is_done:
            told.report.problems.append(_died(b"".join(last_words)))

    def _variables(self) -> dict[str, str]:
        home = self.private / "home"
        home.mkdir()
        return {
            "HOME": str(home),
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "PJRT_DEVICE": "CPU",
            "CPU_NUM_DEVICES": str(self.topology.cores),
            "XLA_IR_DEBUG": "1",  # operations know the lines that they come from
            "XLA_HLO_DEBUG": "1",
            "MPLBACKEND": "agg",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={self.topology.cores}",
            # libtpu looks for a TPU and for the service of Google's machines that describes it; and it takes a lock,
            # which compiling does not need.
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": self.topology.accelerator_type,
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_LOG_DIR": str(self.private / "tmp"),
        }


@dataclass
class _Conversation:
    """What a process says and is answered, within bounds: the notebook in it can say anything as well."""

    process: subprocess.Popen[bytes]
    job: Job
    answers: int
    told: Told
    progress: Progress
    doing: str = ""
    since: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    lines: int = 0
    kept: int = 0

    def listen(self, events: IO[bytes], until: float) -> bool:
        """Takes in events until the process is done or has ended; False if the time was over before.

        The end of the pipe does not tell: what a notebook started has it as well, and may outlive the process.
        """
        has_ended, rest = False, b""
        with selectors.DefaultSelector() as selector:
            selector.register(events, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0:
                if not has_ended and self.process.poll() is not None:
                    has_ended, until = True, min(until, time.monotonic() + _BEHIND_THE_END_SECONDS)
                if selector.select(0 if has_ended else min(left, _LOOK_SECONDS)):
                    chunk = os.read(events.fileno(), 1 << 16)
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._take(JsonObject.parsed(line))
                    if not chunk or len(rest) > _LONGEST_LINE or self.told.is_done:
                        return True
                elif has_ended:
                    return True
                else:
                    self._say_again()
        if not has_ended:
            self.told.report.problems.append(_too_late(self.doing))
        return has_ended

    def _take(self, event: JsonObject) -> None:
        if doing := printable(event.text("progress")[:200]):
            self.doing, self.since, self.lines = doing, time.monotonic(), self.lines + 1
            if self.lines <= _MOST_PROGRESS:
                self.last = self.since
                self.progress(doing)
        if key := event.text("ask"):
            figures = json.dumps(self.job.cache.get(self._key(key))).encode()
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self.answers, (figures if len(figures) <= _LONGEST_ANSWER else b"null") + b"\n")
        elif (key := event.text("keep")) and self.kept < _MOST_KEPT:
            self.kept += 1
            self.job.cache.put(self._key(key), event.section("figures"))
        self.told.add(event)

    def _say_again(self) -> None:
        if time.monotonic() - self.last > _SAY_AGAIN_SECONDS:
            self.last = time.monotonic()
            self.progress(f"{self.doing}, {self.last - self.since:.0f} s")

    def _key(self, program: str) -> str:
        """The key of a program's figures, of this notebook alone: what another one says of that program is untrusted.

        It goes by the path, so that figures of programs which an edit of the notebook leaves alone are found again.
        """
        about = json.dumps([os.path.realpath(self.job.target.path), program])
        return hashlib.sha256(about.encode()).hexdigest()


def _too_late(doing: str) -> Problem:
    sentence = f"The time was over while the process {doing or 'started'}: not all of it was compiled."
    return Problem("time-limit", sentence, "Give it more time; what was compiled is in the cache.")


def _read_end(printed: IO[bytes] | None, pieces: deque[bytes]) -> None:
    """Reads a pipe until there is no more; the pieces keep its end."""
    while printed is not None and (piece := os.read(printed.fileno(), _PIECE)):
        pieces.append(piece)


def _died(last_words: bytes) -> Problem:
    last = last_words.decode(errors="replace").strip().splitlines()[-3:]
    quoted = " ".join(printable(line)[:300] for line in last)
    return Problem(
        "died",
        f"The compiling process ended by itself. {f'It said last: {quoted}' if quoted else 'It said nothing.'}",
        "Look at its memory: compiling a large model takes several GB.",
    )
