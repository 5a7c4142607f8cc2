"""Telling of a chain: one line a step on stderr, a clock on a terminal, or JSON lines for programs."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from generator.cli.progress import clock
from generator.cli.terminal import live_console
from generator.kaggle.chain.events import Event, EventKind, Listener
from generator.untrusted import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_LONGEST_LINE = 500


@contextmanager
def chain_progress(*, as_json: bool) -> Iterator[Listener]:
    """Whom to tell, from any thread: what suits where it goes."""
    console = None if as_json else live_console()
    if console is None:
        yield _JsonLines() if as_json else _Lines()
        return
    lines = _LinesAboveStatus(console)
    with console.status(lines):
        yield lines


class _Lines:
    """Lines, for logs and pipes."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def __call__(self, event: Event, /) -> None:
        with self._lock:
            self._show(event)

    def _show(self, event: Event) -> None:
        for line in event.text.splitlines() or [""]:
            shown = printable(line.expandtabs(4)[:_LONGEST_LINE])
            if event.kind is EventKind.LOG:
                self._write(f"        {shown}")
            else:
                elapsed = clock(time.monotonic() - self._started)
                mark = "\N{CHECK MARK} " if event.kind is EventKind.STEP else ""
                self._write(f"{elapsed:>8} {printable(event.step):<7} {mark}{shown}")

    def _write(self, line: str) -> None:
        click.echo(line, err=True)


class _LinesAboveStatus(_Lines):
    """The same above one line that is kept up to date: what is waited for, and for how long."""

    def __init__(self, console: "Console") -> None:
        super().__init__()
        self._console = console
        self._waiting, self._since = "", time.monotonic()

    def __rich__(self) -> "Text":
        from rich.text import Text

        now = time.monotonic()
        waiting = f"{self._waiting} for {clock(now - self._since)}" if self._waiting else "working"
        return Text(f"{waiting}  ({clock(now - self._started)} in all)")

    def _show(self, event: Event) -> None:
        super()._show(event)
        if event.kind is EventKind.STATE:
            self._waiting, self._since = f"{printable(event.step)}: {printable(event.text)}", time.monotonic()
        elif event.kind is EventKind.STEP:
            self._waiting = ""

    def _write(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(line), highlight=False, soft_wrap=True)


class _JsonLines(_Lines):
    """One JSON object a line on stdout."""

    def _show(self, event: Event) -> None:
        fields: dict[str, Any] = {"event": str(event.kind), "step": str(event.step), "text": event.text}
        click.echo(json.dumps({**fields, **event.fields}))
        sys.stdout.flush()
