"""Reading notebooks from disk, the one place of this package that meets `nbformat`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.files import FileReadError, read_bytes
from generator.pair.notebook import NotebookReadError


def read_notebook(path: Path) -> Any:
    """Reads a notebook of any version as one of format 4.

    Returns:
        An `nbformat.NotebookNode`.

    Raises:
        FileReadError: It is missing or cannot be read.
        NotebookReadError: It is no notebook.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error
    return parse_notebook(content, path=path)


def parse_notebook(content: bytes, *, path: Path) -> Any:
    """Reads the bytes of a notebook of any version as one of format 4.

    Args:
        content: The bytes.
        path: What the notebook is called in the error.

    Returns:
        An `nbformat.NotebookNode`.

    Raises:
        NotebookReadError: They are no notebook.
    """
    import nbformat

    reads: Any = nbformat.reads
    try:
        notebook = reads(content.decode(), as_version=4)
    except Exception as error:  # nbformat fails in every way there is at what is no notebook
        problem = str(error).partition("\n")[0] or "it has not the form of one"
        raise NotebookReadError(path=path, problem=problem) from error
    for position, cell in enumerate(_cells(notebook, path), start=1):
        if not _is_cell(cell):
            raise NotebookReadError(path=path, problem=f"cell {position} is not one of format 4")
    return notebook


def _cells(notebook: Any, path: Path) -> list[Any]:
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise NotebookReadError(path=path, problem="it has no list of cells")
    return cells


def _is_cell(cell: object) -> bool:
    """True if a cell has what is read of it; nbformat lets most of what breaks the format pass with a warning."""
    if not (_has(cell, cell_type=str, source=str, metadata=Mapping) and isinstance(cell, Mapping)):
        return False
    if not isinstance(cell.get("id", ""), str) or not isinstance(cell["metadata"].get("tags", []), list):
        return False
    return cell["cell_type"] != "code" or (_has(cell, outputs=list) and all(map(_is_output, cell["outputs"])))


def _is_output(output: object) -> bool:
    if not (_has(output, output_type=str) and isinstance(output, Mapping)):
        return False
    if output["output_type"] == "stream":
        return _has(output, name=str, text=str)
    if output["output_type"] == "error":
        return _has(output, traceback=list) and all(isinstance(line, str) for line in output["traceback"])
    return isinstance(output.get("data", {}), Mapping)


def _has(value: object, **kinds: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())
