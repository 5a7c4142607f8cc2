"""The notebooks that are compiled: any on this disk, or the training of a pair with its data or a specimen of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.competition.facts import Value
from generator.pair.folder import existing_pair
from generator.pair.parameters import PARAMETERS_TAG, read_parameters
from generator.pair.workspace import Role, Workspace
from generator.run.input_mounts import InputMissingError, Mount, SpecimenMissingError, mounts, read_sources
from generator.run.notebook_file import read_notebook
from generator.run.parameters import OFF_COLAB, ROOTS, assigned, read_notebook_parameters
from generator.untrusted import python_literal

_LONGEST_NAME = 200
_KAGGLE_INPUT, _KAGGLE_WORKING = "/kaggle/input", "/kaggle/working"


@dataclass(frozen=True)
class NotebookTarget:
    """A notebook to compile the steps of.

    Attributes:
        path: The notebook.
        mounted: Its inputs, where Kaggle would mount them below /kaggle/input.
        parameters: Values for the constants of its parameters cell.
        is_specimen: Whether the inputs are made up.
    """

    path: Path
    mounted: tuple[Mount, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    is_specimen: bool = False


def pair_notebook(workspace: Workspace, name: str, assignments: tuple[str, ...] = ()) -> NotebookTarget:
    """The training of a pair: on the competition's data, or on a specimen where only that is there.

    Raises:
        TandemError: There is no such pair, or there are no data of any kind.
    """
    pair = existing_pair(workspace, name)
    sources = read_sources(pair, Role.TRAIN)
    defaults = read_notebook_parameters(pair.notebook(Role.TRAIN)).defaults
    values = dict(assigned(assignment, defaults) for assignment in assignments)
    is_specimen = False
    try:
        mounted = mounts(sources, workspace, outputs={})
    except InputMissingError as missing:
        try:
            mounted, is_specimen = mounts(sources, workspace, outputs={}, specimen=True), True
        except SpecimenMissingError:
            raise missing from None
    return NotebookTarget(pair.notebook(Role.TRAIN), tuple(mounted), values, is_specimen)


def code_cells(target: NotebookTarget, *, input_root: Path, working: Path) -> list[dict[str, Any]]:
    """The code cells as the worker takes them: with its folders, and parameters set below the cell that has them.

    Raises:
        TandemError: The file is no notebook.
    """
    cells: list[dict[str, Any]] = []
    is_set, roots = False, dict(zip(ROOTS, (str(input_root), str(working)), strict=True))
    for position, cell in enumerate(read_notebook(target.path).cells, start=1):
        if cell.cell_type != "code":
            continue
        source = cell.source.replace(_KAGGLE_INPUT, str(input_root)).replace(_KAGGLE_WORKING, str(working))
        source = source.encode(errors="replace").decode()  # half of a surrogate pair is in no file
        cells.append({"name": _name(cell, position), "source": source, "own": False})
        if not is_set and PARAMETERS_TAG in cell.metadata.get("tags", []):
            is_set = True
            cells.append({"name": "", "source": _assignments(target, cell.source, roots), "own": True})
    return cells


def _assignments(target: NotebookTarget, parameters_cell: str, roots: Mapping[str, Value]) -> str:
    """Statements that make a rendered notebook take 8 devices of a CPU for those of a TPU."""
    defaults = read_parameters(parameters_cell)
    own: dict[str, Value] = {"ALLOW_CPU": True, "ACCELERATOR": "cpu", **roots, **OFF_COLAB}
    if defaults.get("PRECISION") == "auto":
        own["PRECISION"] = "mixed_bfloat16"
    values = {name: value for name, value in own.items() if name in defaults} | dict(target.parameters)
    return "\n".join(f"{name} = {python_literal(value)}" for name, value in values.items())


def _name(cell: Any, position: int) -> str:
    """The name of a cell: its id where somebody chose it, or its place."""
    name = str(cell.metadata.get("name") or "")
    identity = str(cell.get("id", ""))
    is_chosen = bool(identity) and not all(character in "0123456789abcdef" for character in identity.replace("-", ""))
    return (name or (identity if is_chosen else f"cell {position}"))[:_LONGEST_NAME]
