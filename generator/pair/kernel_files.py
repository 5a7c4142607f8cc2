"""The two kernels of a pair as files: what its choices render to."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from generator.competition.facts import Value
from generator.pair.backbones import check_backbone
from generator.pair.choices import Choices
from generator.pair.joined_cells import joined, with_runtime
from generator.pair.kernel_metadata import metadata_text
from generator.pair.notebook import check_syntax, notebook_text
from generator.pair.own_cells import check_own_cells, check_own_cells_suit
from generator.pair.parameters import UnknownParameterError, override, parameters_cell, read_parameters
from generator.pair.percent import FOLDED_TAG, Cell
from generator.pair.rendering import render_parts
from generator.pair.shared_cells import SHARED_MARK, different_cells
from generator.pair.spec import spec_of
from generator.pair.template_catalog import check_backend, check_several_hosts
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import markdown

_RELATIVE = PairFolder(Path())
_NAME = re.compile("`([A-Z][A-Z_]*)`")


def render_kernels(choices: Choices, *, own: Mapping[Path, str] | None = None) -> dict[Path, bytes]:
    """Renders both notebooks of a pair with their metadata.

    Args:
        choices: A complete set of choices.
        own: What stands in the place of cells, by the user's file that has it; see `read_own_cells`.

    Returns:
        The content of each file by its path inside of the pair's folder; the same choices always give the same bytes.

    Raises:
        PairError: A template cannot be rendered, or a parameter that the user sets does not exist or fit, or a file of
            the user's has no cell whose place it can take.
    """
    return kernel_files(choices, rendered_cells(choices, own=own))


def rendered_cells(choices: Choices, *, own: Mapping[Path, str] | None = None) -> dict[Role, list[Cell]]:
    """Render the cells of both notebooks as they are where the user sets no parameter.

    Raises:
        PairError: As for `rendered_parts`.
    """
    notebooks = {role: joined(with_runtime(parts)) for role, parts in rendered_parts(choices, own=own).items()}
    return notebooks | {Role.INFER: [_folded_copy(cell) for cell in notebooks[Role.INFER]]}


def _folded_copy(cell: Cell) -> Cell:
    """Return a cell of inference, folded if training shows the same code."""
    is_copy = cell.source.startswith(SHARED_MARK) and FOLDED_TAG not in cell.tags
    return replace(cell, tags=(*cell.tags, FOLDED_TAG)) if is_copy else cell


def rendered_parts(choices: Choices, *, own: Mapping[Path, str] | None = None) -> dict[Role, list[Cell]]:
    """Render the parts that the cells of both notebooks are joined of.

    Raises:
        PairError: A template cannot be rendered, or the framework cannot do what the user asks for, or a file of
            the user's has no cell whose place it can take.
    """
    spec = spec_of(choices)
    spec.check_model()
    backend = spec.inference_backend
    check_backend(family=spec.family, framework=spec.framework, backend=backend)
    if spec.task_values.get("several_hosts"):
        check_several_hosts(framework=spec.framework)
    if own:
        without_them = [render_parts(spec, role) for role in Role]
        check_own_cells(without_them, own)
        if backend != spec.framework:
            check_own_cells_suit(backend, without_them, own)
    parts = {role: render_parts(spec, role, own=own) for role in Role}
    in_both = set.intersection(*({part.name for part in notebook} for notebook in parts.values()))
    if backend != spec.framework:
        in_both -= different_cells(parts.values())
    return {role: [_marked(part, in_both) for part in notebook] for role, notebook in parts.items()}


def kernel_files(choices: Choices, rendered: Mapping[Role, list[Cell]]) -> dict[Path, bytes]:
    """Makes the files of both kernels of the cells that the choices render to, with the parameters that the user sets.

    Raises:
        PairError: A parameter does not exist or fit.
    """
    spec = spec_of(choices)
    overrides = {name: choice.value for name, choice in choices.parameters.items()}
    known = default_parameters(rendered)
    for name in overrides:
        if name not in known:
            raise UnknownParameterError(name=name, known=known, source="pair.toml, section parameters: ")
    check_backbone(spec, overrides, known)
    files: dict[Path, bytes] = {}
    for role, cells in rendered.items():
        overridden = [_with_values(_overridden(cell, overrides), known | overrides) for cell in cells]
        check_syntax(overridden, notebook=role)
        files[_RELATIVE.notebook(role)] = notebook_text(overridden).encode("utf-8")
        files[_RELATIVE.metadata(role)] = metadata_text(spec, role).encode("utf-8")
    return files


def default_parameters(rendered: Mapping[Role, list[Cell]]) -> dict[str, Value]:
    """The parameters of both notebooks with their defaults; what both have is as in training."""
    cells = [cell for role in Role if (cell := parameters_cell(rendered[role]))]
    train_last = [read_parameters(cell.source) for cell in reversed(cells)]
    return {name: value for parameters in train_last for name, value in parameters.items()}


def _marked(cell: Cell, in_both: set[str]) -> Cell:
    """The cell; one that the other notebook lacks, or has otherwise, does not say that it is the same in both."""
    if cell.name in in_both:
        return cell
    return replace(cell, source=cell.source.replace(f"{SHARED_MARK}\n", ""))


def _with_values(cell: Cell, parameters: Mapping[str, Value]) -> Cell:
    """Return the title cell with values for the parameters that its table names, such as `N_FOLDS`."""
    if cell.name != "title":
        return cell

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        return markdown(str(parameters[name])) if name in parameters else found.group()

    rows = [_NAME.sub(value, line) if line.startswith("|") else line for line in cell.source.split("\n")]
    return replace(cell, source="\n".join(rows))


def _overridden(cell: Cell, overrides: Mapping[str, Value]) -> Cell:
    """The cell with the user's values, where it is a parameters cell that has such parameters."""
    if not overrides or parameters_cell([cell]) is None:
        return cell
    here = {name: value for name, value in overrides.items() if name in read_parameters(cell.source)}
    return replace(cell, source=override(cell.source, here))
