"""The signals that ask for an end: Ctrl-C, the request to end, and a terminal that was closed."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


@contextmanager
def handled_signals(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Handles them for the length of the block. Ignored ones, as under nohup, stay ignored.

    Outside of the main thread it does nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    previous = {number: signal.getsignal(number) for number in _SIGNALS if is_main}
    # A handler that was not set from Python is None, and cannot be put back.
    replaced = {number: old for number, old in previous.items() if old not in (signal.SIG_IGN, None)}
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in replaced.items():
            signal.signal(number, old)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delivers the first of them only after the block, which must not stop half-way."""
    received: list[int] = []
    try:
        with handled_signals(lambda number, _: received.append(number)):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])
