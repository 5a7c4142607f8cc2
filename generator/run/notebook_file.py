"""Reading notebooks from disk, the one place of this package that meets `nbformat`."""

from pathlib import Path
from typing import Any

from generator.pair.notebook import NotebookReadError


def read_notebook(path: Path) -> Any:
    """Reads a notebook of any version as one of format 4.

    Returns:
        An `nbformat.NotebookNode`.

    Raises:
        NotebookReadError: The file is missing or no notebook.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotebookReadError(path=path, problem=str(error).partition("\n")[0]) from error
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
        return reads(content.decode(), as_version=4)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, nbformat.ValidationError) as error:
        raise NotebookReadError(path=path, problem=str(error).partition("\n")[0]) from error
