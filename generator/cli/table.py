"""Tables of plain text for the terminal."""

import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO

from generator.cli.terminal import columns_of, styled, width_of, wrapped
from generator.untrusted import printable

_WIDEST = 60
_NARROWEST = 24  # columns of a terminal that are worth wrapping text in
_GAP, _INDENT = "  ", "    "


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None) -> str:
    """Aligns cells in columns; every cell is made printable.

    On a terminal the lines fit into it: cells are continued on further lines, and where a last column has hardly room
    it stands below the others. Elsewhere lines are as long as they are, and all cells but the last of a row are cut.

    Returns:
        The lines of the table, without a line end after the last one.
    """
    stream = stream or sys.stdout
    columns = columns_of(stream)
    shown = [[printable(cell) for cell in row] for row in (header, *rows)]
    if columns is None:
        shown = [[*map(_cut, row[:-1]), row[-1]] for row in shown]
    widths = [max(map(width_of, column)) for column in zip(*shown, strict=True)]
    is_last_below = columns is not None and not _fit(widths, columns)
    lines = []
    for number, row in enumerate(shown):
        cells = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        below = cells.pop() if is_last_below else []
        for parts in zip_longest(*cells, fillvalue=""):
            first, *others = (part + " " * (width - width_of(part)) for part, width in zip(parts, widths, strict=False))
            line = _GAP.join([first if number == 0 else styled(first, stream, fg="cyan"), *others]).rstrip()
            lines.append(styled(line, stream, bold=True) if number == 0 else line)
        lines += [f"{_INDENT}{line}" for line in below if line and number > 0]
    return "\n".join(lines)


def _fit(widths: list[int], columns: int) -> bool:
    """Makes columns narrower until they fit; returns False where the last one has to stand below the others."""
    for widest in (columns, max(_NARROWEST, columns // 3)):
        widths[:-1] = [min(width, widest) for width in widths[:-1]]
        room = columns - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
        if room >= min(widths[-1], _NARROWEST):
            widths[-1] = min(widths[-1], room)
            return True
    others = len(widths) - 1
    while sum(widths[:-1]) + len(_GAP) * (others - 1) > columns and max(widths[:-1]) > 1:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths[-1] = max(1, columns - len(_INDENT))
    return False


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…"
