"""The notebooks that a command line names: a file, or a version on Kaggle; and which half of a pair one is."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from generator.cli.kaggle import connect_kaggle
from generator.cli.terminal import warn
from generator.errors import TandemError
from generator.pair.workspace import PairFolder, Role
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


def read_halves(sources: Sequence[str], role: Role | None, *, to: str) -> "dict[Role, ForeignNotebook]":
    """Read notebooks that the command line names, by the half of a pair that each becomes.

    Args:
        sources: At most two.
        role: The half that the first one is; by default its parameters or its name tell.
        to: The Kaggle.

    Raises:
        TandemError: One cannot be read, or both are the same half.
    """
    from generator.pair.pull import infer_role

    notebooks: dict[Role, ForeignNotebook] = {}
    for source in sources:
        notebook = read_source(source, to=to)
        of = infer_role(notebook) if notebook.pair_id else None
        if of is not None and role is not None and not notebooks and of is not role:
            raise TandemError(
                f"{printable(notebook.label)} is the {of} notebook of a pair.",
                remedy=f"Use --role {of}, or omit it.",
                code="other-half",
            )
        if of is None and role is not None and notebooks:
            of = next(half_role for half_role in Role if half_role not in notebooks)
        of = of or role or require_role(notebook)
        if of in notebooks:
            raise TandemError(
                f"{printable(notebooks[of].label)} and {printable(notebook.label)} are both {of} notebooks.",
                remedy="Name one of each, or say with --role which half the first one is.",
                code="role-repeated",
            )
        notebooks[of] = notebook
    return notebooks


def newest_notebooks(folder: PairFolder, roles: Sequence[Role], *, to: str) -> "dict[Role, ForeignNotebook]":
    """Read the newest versions of a pair's kernels on Kaggle, by role.

    Raises:
        TandemError: None is there, or Kaggle does not answer.
    """
    from generator.kaggle.notebooks import KernelRef, find_notebook, kernel_id, parse_kernel_ref

    kaggle = connect_kaggle(to)
    account = kaggle.username()
    notebooks: dict[Role, ForeignNotebook] = {}
    missing: list[str] = []
    for role in roles:
        kernel = parse_kernel_ref(kernel_id(folder, role))
        if kernel is None or kernel.version:
            raise TandemError(
                f"{printable(str(folder.metadata(role)))} has no id OWNER/NAME.",
                remedy="Correct it, or name the notebook with --from.",
                code="kernel-id-invalid",
            )
        # A push carries the kernels under the account's name, whoever they were rendered for.
        names = dict.fromkeys((f"{account}/{kernel.ref.partition('/')[2]}", kernel.ref))
        for name in names if kaggle.is_local else [kernel.ref]:
            if (remote := find_notebook(kaggle, KernelRef(name))) is not None:
                notebooks[role] = remote
                break
        else:
            missing.append(kernel.ref)
    if not notebooks:
        raise TandemError(
            f"{' and '.join(map(printable, missing))} {'are' if len(missing) > 1 else 'is'} not on this Kaggle.",
            remedy=f"Push first (`tandem push {folder.name}`), or name a notebook with --from.",
            code="kernel-not-found",
        )
    for name in missing:
        warn(f"{name} is not on this Kaggle, so only the other notebook is merged.")
    return notebooks


def tell_of_shared_cells(folder: PairFolder) -> None:
    """Warn of cells that must be the same in both notebooks and are not."""
    from generator.pair.notebook import check_shared_cells

    try:
        check_shared_cells(folder)
    except TandemError as error:
        warn(error.message)
