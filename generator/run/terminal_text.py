"""Printed text as a terminal would show it: without control sequences, in whole lines."""

import re

# Colours, cursor movements (CSI) and titles or links (OSC), as terminals understand them.
_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Longer ones are no colours, and Python refuses to read numbers without an end.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,64}m")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|$)")


def strip_ansi(text: str, *, keep_colours: bool = False) -> str:
    """Text without what terminals obey; what else is in it stays, and so do colours if they are to be kept."""
    return _TERMINAL_SEQUENCE.sub(lambda found: found[0] if keep_colours and _COLOUR.fullmatch(found[0]) else "", text)


def without_overwritten(text: str) -> str:
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
        *whole, self._unfinished = without_overwritten(self._unfinished + piece).split("\n")
        return [line for line in (_tidy(text) for text in whole) if line]

    def finish(self) -> list[str]:
        """Return what was printed without a line end."""
        rest, self._unfinished = _tidy(self._unfinished), ""
        return [rest] if rest else []


def _tidy(line: str) -> str:
    return strip_ansi(line.rstrip("\r")).rstrip()
