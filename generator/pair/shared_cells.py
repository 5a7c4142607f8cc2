"""The cells that both notebooks of a pair must have, word for word: what they say must not drift apart."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from generator.errors import PairError
from generator.files import read_text
from generator.pair.notebook import written_cells
from generator.pair.percent import Cell
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import printable

SHARED_MARK = "# The same in both notebooks."
"""The line above shared code, the first of most cells; code that is changed in one notebook only is found by it."""


def check_shared_cells(folder: PairFolder) -> None:
    """Makes sure that the notebooks of a pair, as they are on the disk, agree where they have to.

    Raises:
        PairError: Cells say in either notebook that they are the same in both, and are not.
        NotebookReadError: One is no notebook.
        FileReadError: One cannot be read.
    """
    train_path, infer_path = (folder.notebook(role) for role in Role)
    if different := differing({path: read_text(path) for path in (train_path, infer_path)}):
        names = ", ".join(f'"{printable(name)}"' for name in different)
        which = f"The cell {names} differs" if len(different) == 1 else f"The cells {names} differ"
        raise PairError(
            f"{which} between {printable(str(train_path))} and {printable(str(infer_path))}, so that inference would "
            "not compute what was trained. Copy the text that you mean into the other notebook."
        )


def differing(notebooks: Mapping[Path, str]) -> list[str]:
    """The ids of the cells that say in either of two notebooks that they are the same in both, and are not.

    One that only one of the notebooks has, or that an editor left without an id, is nothing to compare: the hand-over
    still tells a model that was built otherwise.

    Args:
        notebooks: The text of both by their path, training first.

    Raises:
        NotebookReadError: One is no notebook.
    """
    train, infer = (_cells(text, path) for path, text in notebooks.items())
    return [name for name, source in train.items() if name in infer and shared_text(source) != shared_text(infer[name])]


def different_cells(notebooks: Iterable[Iterable[Cell]]) -> set[str]:
    """The names of the rendered cells that templates write for both notebooks, and that two frameworks write otherwise.

    Args:
        notebooks: The cells of both.
    """
    train, infer = ({cell.name: cell.source for cell in cells} for cells in notebooks)
    both = {name: (source, infer[name]) for name, source in train.items() if name in infer}
    return {name for name, (one, other) in both.items() if one != other and SHARED_MARK in one + other}


def _cells(text: str, path: Path) -> dict[str, str]:
    """The text of each code cell that has an id, without what editors add to or take from its ends."""
    cells = written_cells(text.encode("utf-8"), path=path)
    return {
        name: cell.source.strip() for name, cell in cells.items() if cell.kind == "code" and not name.startswith("#")
    }


def shared_text(source: str) -> str | None:
    """Return what a cell says below the mark of shared code; None if it has no mark."""
    lines = source.splitlines()
    marks = [number for number, line in enumerate(lines) if line.rstrip() == SHARED_MARK]
    return "\n".join(lines[marks[0] + 1 :]).strip() if marks else None
