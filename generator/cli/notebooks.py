"""The notebooks that a command line names: a file, or a version on Kaggle; and which half of a pair one is."""

from pathlib import Path
from typing import TYPE_CHECKING

from generator.cli.kaggle import connect_kaggle
from generator.errors import TandemError
from generator.pair.workspace import Role
from generator.text import printable

if TYPE_CHECKING:
    from generator.pair.pull import ForeignNotebook


def read_source(text: str, *, to: str) -> "ForeignNotebook":
    """Read a notebook that the command line names: a file, or a version of a kernel on Kaggle.

    Raises:
        TandemError: It is neither, or it cannot be read.
    """
    from generator.kaggle.notebooks import fetch_notebook, parse_kernel_ref
    from generator.pair.pull import read_foreign_file

    path = Path(text).expanduser()
    if path.suffix == ".ipynb" or path.is_file():
        return read_foreign_file(path)
    kernel = parse_kernel_ref(text)
    if kernel is None:
        raise TandemError(
            f'"{printable(text)}" is neither a file nor a notebook on Kaggle.',
            remedy="Write OWNER/NAME or OWNER/NAME/VERSION as in the address of its page, or name a file that ends in "
            ".ipynb.",
            code="source-invalid",
        )
    return fetch_notebook(connect_kaggle(to), kernel)


def require_role(notebook: "ForeignNotebook") -> Role:
    """Return which half of a pair a notebook is, by its parameters or its name.

    Raises:
        TandemError: Nothing tells.
    """
    from generator.pair.pull import infer_role

    role = infer_role(notebook)
    if role is None:
        raise TandemError(
            f"Whether {printable(notebook.label)} trains or infers cannot be told from its parameters or its name.",
            remedy="Add --role train or --role infer.",
            code="role-unknown",
        )
    return role
