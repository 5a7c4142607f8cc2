"""A runner that executes no notebook: a function of the test does what the notebook would have done, at once."""

import threading
from collections.abc import Callable
from pathlib import Path

from generator.sessions.notebook_runner import SessionLog
from generator.sessions.sandbox import SessionEnd, SessionOrder


class ScriptFailure(Exception):  # noqa: N818 - it is what a script raises to say how its session ends
    """Raised by a script: the session ends with this failure."""


def do_nothing(order: SessionOrder) -> None:
    """The script of a notebook that ends well and writes nothing."""


class ScriptedRunner:
    """Calls `script(order)` for every session, and keeps the orders; outputs go into `order.files.working`.

    A script that raises `ScriptFailure` ends its session with an error. With `held` sessions stay running until
    `release` is called, or they are stopped.
    """

    isolation = "none: a script of a test"

    def __init__(self, script: Callable[[SessionOrder], None] = do_nothing, *, held: bool = False) -> None:
        self.script = script
        self.orders: list[SessionOrder] = []
        self._gate = threading.Event()
        self._begun = threading.Condition()
        if not held:
            self._gate.set()

    def hold(self) -> None:
        """Has the sessions that begin from now on wait."""
        self._gate.clear()

    def release(self) -> None:
        """Lets the sessions go on that were held."""
        self._gate.set()

    def wait_for_a_session(self, number: int = 1, *, seconds: float = 10.0) -> None:
        """Waits until so many sessions have begun."""
        with self._begun:
            assert self._begun.wait_for(lambda: len(self.orders) >= number, timeout=seconds), "no session began"

    def run(self, order: SessionOrder, *, stop: threading.Event) -> SessionEnd:
        """Runs the script."""
        log = SessionLog(order.files.log)
        log.write(f"{order.title} begins\n")
        with self._begun:
            self.orders.append(order)
            self._begun.notify_all()
        while not self._gate.wait(0.01):
            if stop.is_set():
                return SessionEnd("stopped")
        order.files.executed_notebook.write_bytes(order.notebook.read_bytes())
        try:
            self.script(order)
        except ScriptFailure as failure:
            log.write(f"{failure}\n", stream="stderr")
            return SessionEnd(str(failure))
        log.write(f"{order.title} ends\n")
        return SessionEnd()


def writing(files: dict[str, str | bytes]) -> Callable[[SessionOrder], None]:
    """A script that writes these files to the working folder."""

    def script(order: SessionOrder) -> None:
        for name, content in files.items():
            path = Path(order.files.working, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return script
