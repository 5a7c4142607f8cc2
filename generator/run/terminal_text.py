"""Printed text as a terminal would show it: without control sequences, in whole lines."""

import re

# Colours, cursor movements (CSI) and titles or links (OSC), as terminals understand them.
_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Longer ones are no colours, and Python refuses to read numbers without an end.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,64}m")


def strip_ansi(text: str, *, keep_colours: bool = False) -> str:
    """Text without what terminals obey; what else is in it stays, and so do colours if they are to be kept."""
    return _TERMINAL_SEQUENCE.sub(lambda found: found[0] if keep_colours and _COLOUR.fullmatch(found[0]) else "", text)


def without_overwritten(text: str) -> str:
    """Return the text that a terminal shows in the end, without what a carriage return or a backspace overwrote."""
    text = text.replace("\r\n", "\n")
    if "\b" in text:
        text = re.sub("\b+", "\r", text)  # progress bars go back to the start of their line this way
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


class PrintedLines:
    """Collects pieces of one stream and gives back its lines as they become whole.

    The time that it takes grows with the length of the text, however it is cut into pieces.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> list[str]:
        """Add a piece; return the lines that it completed, blank ones left out."""
        ended, line_end, rest = piece.rpartition("\n")
        if not line_end:
            self._pieces.append(piece)
            return []
        whole = "".join([*self._pieces, ended])
        self._pieces = [rest]
        return _tidy_lines(whole)

    def finish(self) -> list[str]:
        """Return what was printed without a line end."""
        rest, self._pieces = "".join(self._pieces), []
        return _tidy_lines(rest)


def _tidy_lines(text: str) -> list[str]:
    lines = (strip_ansi(line).rstrip() for line in without_overwritten(text).split("\n"))
    return [line for line in lines if line]
