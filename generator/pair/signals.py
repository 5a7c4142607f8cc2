"""Holding back signals while something must not stop half-way."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delivers Ctrl-C and requests to end only after the block. Outside of the main thread it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in _HELD_BACK}
    # A handler that was not set from Python cannot be put back.
    held_back = [number for number, handler in previous.items() if handler is not None]
    for number in held_back:
        signal.signal(number, lambda number, _frame: received.append(number))
    try:
        yield
    finally:
        for number in held_back:
            signal.signal(number, previous[number])
        if received:
            signal.raise_signal(received[0])
