"""What a terminal can show: how wide it is, whether it has colours, and text that fits into it."""

import os
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, TextIO

import click

from generator.untrusted import printable

if TYPE_CHECKING:
    from rich.console import Console


def columns_of(stream: TextIO) -> int | None:
    """Returns how many columns a terminal has; None for a file or a pipe, which have no end."""
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def is_interactive() -> bool:
    """True if there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def live_console() -> "Console | None":
    """Returns the terminal on stderr, if it can show what changes in place and rich is installed."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def styled(text: str, stream: TextIO, **style: Any) -> str:
    """Returns the text in a style of `click.style`, if it goes to a terminal that is to have colours."""
    has_colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if has_colours else text


def warn(text: str) -> None:
    """Tells the user of something that does not stop the command."""
    click.echo(f"{styled('Warning:', sys.stderr, fg='yellow')} {printable(text)}", err=True)


def complain(message: str) -> None:
    """Tells the user why something cannot be done; each line of the message is made printable."""
    lines = "\n".join(map(printable, message.split("\n")))
    click.echo(f"{styled('Error:', sys.stderr, fg='red')} {lines}", err=True)


def width_of(text: str) -> int:
    """Returns how many columns printable text takes: two for an East Asian character, none for an accent."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.combining(each) > 0 for each in text)


def wrapped(text: str, width: int) -> list[str]:
    """Returns the lines of a text in so many columns, broken between words, or where a word is too long for a line."""
    if width_of(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(joined) <= width:
            lines[-1] = joined
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = word
        while width_of(lines[-1]) > width:
            end = next(end for end in range(len(lines[-1]), 0, -1) if end == 1 or width_of(lines[-1][:end]) <= width)
            lines[-1:] = [lines[-1][:end], lines[-1][end:]]
    return lines
