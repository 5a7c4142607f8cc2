"""The queue of sessions: a few run at a time, the others wait for their turn, any can be stopped."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

_CLOSING_SECONDS = 20.0
_LOG = logging.getLogger(__name__)

Execute = Callable[[int, threading.Event], None]


class SessionQueue:
    """Runs sessions by their numbers, in the order in which they were added, `slots` of them at a time.

    Without a slot a session runs in the thread that adds it, and `add` returns when it is over: tests want no chance.
    """

    def __init__(self, execute: Execute, *, slots: int) -> None:
        self._execute = execute
        self._slots = slots
        self._changed = threading.Condition()
        self._waiting: deque[int] = deque()
        self._running: dict[int, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self._closed = False

    def add(self, session: int) -> None:
        """Lets a session run as soon as there is a slot for it."""
        if not self._slots:
            self._run(session, self._begun(session))
            return
        with self._changed:
            if self._closed:
                return
            self._waiting.append(session)
            if len(self._threads) < min(self._slots, len(self._running) + len(self._waiting)):
                thread = threading.Thread(target=self._work, name=f"session-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify_all()

    def stop(self, session: int) -> bool:
        """Takes a session out of the queue, or tells it to end; True if it was waiting, and so never runs."""
        with self._changed:
            if session in self._running:
                self._running[session].set()
            was_waiting = session in self._waiting
            if was_waiting:
                self._waiting.remove(session)
            self._changed.notify_all()
            return was_waiting

    def wait_until_idle(self, seconds: float) -> bool:
        """Waits until nothing runs or waits; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._running, timeout=seconds)

    def close(self) -> None:
        """Stops what runs, and leaves what waits to the next start of the server."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            for stop in self._running.values():
                stop.set()
            self._changed.notify_all()
        deadline = time.monotonic() + _CLOSING_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                session = self._waiting.popleft()
                stop = self._begun(session)
            self._run(session, stop)

    def _begun(self, session: int) -> threading.Event:
        with self._changed:
            return self._running.setdefault(session, threading.Event())

    def _run(self, session: int, stop: threading.Event) -> None:
        try:
            self._execute(session, stop)
        except Exception:  # noqa: BLE001 - a broken session must not take its slot with it
            _LOG.exception("session %d could not be run", session)
        finally:
            with self._changed:
                del self._running[session]
                self._changed.notify_all()
