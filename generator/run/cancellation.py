"""Cancelling a running notebook: by a signal or when its time is up."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from generator.pair.interrupts import handled_signals
from generator.run.kernel import Kernel

# How long an interrupted cell has to end by itself: enough to write a checkpoint, short enough for a Ctrl-C.
GRACE_SECONDS = 3.0


class StoppedError(Exception):
    """The notebook was made to end; turned into what the caller expects before it leaves the engine.

    Its time was up if `is_late`; else a signal asked for the end.
    """

    def __init__(self, *, is_late: bool) -> None:
        super().__init__()
        self.is_late = is_late


class Stop:
    """The wish that the current task ends, carried out in the way that its state allows.

    While a cell runs, the kernel is interrupted, so that the cell can clean up and its traceback shows where it was;
    the task is cancelled if that takes longer than `GRACE_SECONDS`, and at once while the kernel starts. While the
    kernel is being shut down the wish is only noted: that takes seconds at most, and must not be left half done.
    """

    def __init__(self) -> None:
        self._error: StoppedError | None = None
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._kernel: Kernel | None = None
        self._interrupting: asyncio.Task[None] | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._closing = False

    def request(self, *, is_late: bool) -> None:
        """Makes the task end; all but the first request are ignored, so that hammering Ctrl-C loses nothing."""
        if self._error is not None:
            return
        self._error = StoppedError(is_late=is_late)
        if self._kernel is not None:
            self._interrupting = self._loop.create_task(self._kernel.interrupt())
            self._grace = self._loop.call_later(GRACE_SECONDS, self._cancel)
        elif not self._closing:
            self._cancel()

    def check(self) -> None:
        """Raises StoppedError if a stop was requested."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """From now on the kernel is being shut down."""
        self._closing = True

    @contextmanager
    def interrupting(self, kernel: Kernel) -> Iterator[None]:
        """While a cell runs in this kernel."""
        self._kernel = kernel
        try:
            yield
        finally:
            self._kernel = None
            if self._grace is not None:
                self._grace.cancel()

    def on_signals(self) -> AbstractContextManager[None]:
        """Turns the signals that ask for an end into a request, where this is the main thread."""
        return handled_signals(lambda *_: self._loop.call_soon_threadsafe(partial(self.request, is_late=False)))

    @contextmanager
    def after(self, seconds: float | None) -> Iterator[None]:
        """Turns the end of this time into a request."""
        timer = None if seconds is None else self._loop.call_later(seconds, partial(self.request, is_late=True))
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
