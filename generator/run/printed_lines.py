"""Whole lines out of the pieces in which a kernel delivers what a cell prints."""

import re

# Colours, cursor movements (CSI) and titles or links (OSC), as terminals understand them.
_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|$)")


def plain(text: str) -> str:
    """Text without terminal sequences; what else is in it stays."""
    return _TERMINAL_SEQUENCE.sub("", text)


def settled(text: str) -> str:
    """Text as it stands on a terminal in the end: what a carriage return or a backspace overwrote is gone."""
    text = text.replace("\r\n", "\n")
    if "\b" in text:
        text = re.sub("\b+", "\r", text)  # progress bars go back to the start of their line this way
    return _OVERWRITTEN.sub("", text)


class PrintedLines:
    """Collects pieces of one stream and gives back its lines as they become whole."""

    def __init__(self) -> None:
        self._unfinished = ""

    def feed(self, piece: str) -> list[str]:
        """Add a piece; return the lines that it completed, blank ones left out."""
        *whole, self._unfinished = settled(self._unfinished + piece).split("\n")
        return [line for line in (_tidy(text) for text in whole) if line]

    def finish(self) -> list[str]:
        """Return what was printed without a line end."""
        rest, self._unfinished = _tidy(self._unfinished), ""
        return [rest] if rest else []


def _tidy(line: str) -> str:
    return plain(line.rstrip("\r")).rstrip()
