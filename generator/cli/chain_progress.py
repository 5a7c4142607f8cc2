"""Telling of a chain: one line a step on stderr, a clock on a terminal, or JSON lines for programs."""

import json
import sys
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from generator.cli.progress import clock
from generator.kaggle.chain.events import Event, EventKind
from generator.untrusted import printable

if TYPE_CHECKING:
    from rich.status import Status

_LONGEST_LINE = 500
_MARKS = {EventKind.STEP: "\N{CHECK MARK} ", EventKind.NOTE: "", EventKind.STATE: "", EventKind.DONE: ""}


class PlainChain(AbstractContextManager["PlainChain"]):
    """Lines, for logs and pipes; told from any thread."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def __call__(self, event: Event, /) -> None:
        """Writes one event."""
        with self._lock:
            self.show(event)

    def show(self, event: Event) -> None:
        """Writes one event, while no other is being written."""
        for line in event.text.splitlines() or [""]:
            shown = printable(line.expandtabs(4)[:_LONGEST_LINE])
            if event.kind is EventKind.LOG:
                self.write(f"        {shown}")
            else:
                elapsed = clock(time.monotonic() - self._started)
                self.write(f"{elapsed:>8} {printable(event.step):<7} {_MARKS[event.kind]}{shown}")

    def write(self, line: str) -> None:
        """Writes one line."""
        click.echo(line, err=True)


class TerminalChain(PlainChain):
    """The same above one line that is kept up to date: what is waited for, and for how long."""

    def __init__(self, status: "Status") -> None:
        super().__init__()
        self._status = status
        self._step, self._state, self._since = "", "", time.monotonic()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._status.start()
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._status.stop()

    def show(self, event: Event) -> None:
        """Shows one event."""
        super().show(event)
        if event.kind is EventKind.STATE:
            self._step, self._state, self._since = event.step, event.text, time.monotonic()
        elif event.kind is EventKind.STEP:
            self._step, self._state = "", ""

    def write(self, line: str) -> None:
        """Writes one line above the status."""
        from rich.text import Text

        self._status.console.print(Text(line), highlight=False, soft_wrap=True)

    def _tick(self) -> None:
        while not self._ended.wait(1):
            now = time.monotonic()
            waiting = f"{printable(self._step)}: {printable(self._state)} for {clock(now - self._since)}"
            self._status.update(f"{waiting if self._step else 'working'}  ({clock(now - self._started)} in all)")


class JsonChain(PlainChain):
    """One JSON object a line on stdout."""

    def show(self, event: Event) -> None:
        """Writes one event."""
        fields: dict[str, Any] = {"event": str(event.kind), "step": str(event.step), "text": event.text}
        click.echo(json.dumps({**fields, **event.fields}))
        sys.stdout.flush()


def chain_progress(*, as_json: bool) -> PlainChain:
    """The progress that suits where it goes."""
    if as_json:
        return JsonChain()
    if not sys.stderr.isatty():
        return PlainChain()
    try:
        from rich.console import Console
    except ImportError:
        return PlainChain()
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainChain()
    return TerminalChain(console.status("working"))
