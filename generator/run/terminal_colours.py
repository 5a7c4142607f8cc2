"""The colours in terminal output, by their names: the part of ECMA-48 that tracebacks and progress bars use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

# Longer ones are no colours, and Python refuses to read numbers without an end.
_SEQUENCE = re.compile(r"\x1b\[([0-9;]{0,64})m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOUR_OF = {first + place: name for first in (30, 90) for place, name in enumerate(_NAMES)}
_RESET, _BOLD, _FOREGROUND, _FOREGROUND_RESET, _BACKGROUND = 0, 1, 38, 39, 48
_INDEXED = 5

# The 256 colours: 16 basic ones, a cube of 6 by 6 by 6, then greys.
_CUBE, _GREYS, _SIDE = 16, 232, 6


@dataclass(frozen=True)
class ColouredPart:
    """A stretch of text in one style; `colour` is one of eight names, or empty."""

    text: str = ""
    is_bold: bool = False
    colour: str = ""


def coloured_parts(text: str) -> Iterator[ColouredPart]:
    """Splits text where its style changes; other control sequences stay in it."""
    style = ColouredPart()
    position = 0
    for found in _SEQUENCE.finditer(text):
        yield replace(style, text=text[position : found.start()])
        style = _styled(style, [int(code or _RESET) for code in found[1].split(";")])
        position = found.end()
    yield replace(style, text=text[position:])


def _styled(style: ColouredPart, codes: list[int]) -> ColouredPart:
    while codes:
        code, *codes = codes
        if code == _RESET:
            style = ColouredPart()
        elif code == _BOLD:
            style = replace(style, is_bold=True)
        elif code in (_FOREGROUND, _BACKGROUND):
            # `5;n` is one of 256 colours, `2;r;g;b` any.
            is_indexed = codes[:1] == [_INDEXED]
            colour = _nearest(codes[1]) if is_indexed and len(codes) > 1 else ""
            codes = codes[2:] if is_indexed else codes[4:]
            style = replace(style, colour=colour) if code == _FOREGROUND else style
        elif code in _COLOUR_OF or code == _FOREGROUND_RESET:
            style = replace(style, colour=_COLOUR_OF.get(code, ""))
    return style


def _nearest(index: int) -> str:
    """The name closest to one of the 256 colours; greys have none, so that they stay readable on any ground."""
    if index < _CUBE:
        return _NAMES[index % len(_NAMES)]
    if index >= _GREYS:
        return ""
    place = index - _CUBE
    levels = (place // _SIDE**2, place // _SIDE % _SIDE, place % _SIDE)
    # The names are in the order of a binary number: red is 1, green 2, blue 4.
    number = sum((2 * level >= _SIDE - 1) << bit for bit, level in enumerate(levels))
    return "" if number in (0, len(_NAMES) - 1) else _NAMES[number]
