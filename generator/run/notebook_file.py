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
    import nbformat

    reads: Any = nbformat.reads
    try:
        return reads(path.read_bytes().decode(), as_version=4)
    except (OSError, ValueError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise NotebookReadError(path=path, problem=str(error).partition("\n")[0]) from error
