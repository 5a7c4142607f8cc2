"""Tables of plain text for the terminal."""

from collections.abc import Sequence

from generator.untrusted import printable

_WIDEST = 60


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligns cells in columns; every cell is made printable, and all but the last of a row are cut to 60 characters.

    Returns:
        The lines of the table, without a line end after the last one.
    """
    cells = [[_cut(printable(cell)) for cell in row[:-1]] + [printable(row[-1])] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…"
