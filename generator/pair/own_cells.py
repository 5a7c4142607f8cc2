"""Cells that the user writes in files beside `pair.toml`, in the place of those that the templates have.

`metric.py` takes the place of the cell `metric`, `build_model.py` that of `build-model`, in both notebooks if both have
it.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from generator.errors import PairError, did_you_mean
from generator.files import read_text
from generator.pair.imports import CELL as IMPORTS
from generator.pair.imports import RUNTIME
from generator.pair.joined_cells import joined
from generator.pair.parameters import override, parameters_cell, read_parameters
from generator.pair.percent import FOLDED_TAG, Cell, CellKind
from generator.pair.shared_cells import SHARED_MARK, different_cells
from generator.pair.workspace import PairFolder
from generator.untrusted import printable

_KEPT = ("parameters", IMPORTS)
_IMPORT = (ast.Import, ast.ImportFrom)


class OwnCellError(PairError):
    """A file beside `pair.toml` that cannot take the place of a cell."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} {problem}")


def read_own_cells(folder: PairFolder) -> dict[Path, str]:
    """Return the text of each file of Python beside `pair.toml`.

    Raises:
        OwnCellError: One is a link, whose target might be nobody else's business.
        FileReadError: One cannot be read.
    """
    paths = sorted(folder.path.glob("*.py"))
    for path in paths:
        if path.is_symlink():
            raise OwnCellError(path=path, problem="is a link: put the file itself in its place.")
    return {path: read_text(path).strip() for path in paths}


def with_own_cells(cells: Sequence[Cell], own: Mapping[Path, str]) -> list[Cell]:
    """Return the cells of a notebook with the user's in the place of those of the same name.

    Prose before such a cell, which is about the one that was there, becomes the name of the file; headings stay.

    Raises:
        OwnCellError: A file is no Python, or lacks a name that other cells need.
    """
    result = list(cells)
    for path, source in own.items():
        place = _place(result, path)
        if place is None:
            continue
        old = result[place]
        if path.stem.replace("_", "-") == old.part_of:  # the file has all parts of the cell
            whole = next(cell for cell in joined(result) if cell.name == old.part_of)
            result = [cell for cell in result if cell is old or cell.part_of != old.part_of]
            old = replace(whole, part_of=old.part_of)
        others = [cell.source for cell in cells if cell.kind is CellKind.CODE and cell.name != old.name]
        others = [cell for cell in others if cell not in old.source]
        missing = _bound(old.source) - _bound(_checked(path, source))
        if needed := sorted(missing & {name for other in others for name in _named(other)}):
            raise OwnCellError(path=path, problem=f"has to define {' and '.join(needed)}: other cells need it.")
        mark = [SHARED_MARK] if SHARED_MARK in old.source and SHARED_MARK not in source else []
        imports = [ast.unparse(node) for node in ast.parse(old.source).body if isinstance(node, _IMPORT)]
        tags = tuple(tag for tag in old.tags if tag != FOLDED_TAG)
        result[place] = replace(old, source="\n".join([*imports, *mark, source]), tags=tags)
        if place and result[place - 1].kind is CellKind.MARKDOWN:
            headings = [line for line in result[place - 1].source.splitlines() if line.startswith("#")]
            prose = "\n\n".join([*headings, f"From `{path.name}`, beside `pair.toml`."])
            result[place - 1] = replace(result[place - 1], source=prose)
    return [_named_for(cell, own) for cell in result]


def possible_file(cell: str) -> str | None:
    """The name of the file that can take the place of a code cell, if one can."""
    return None if not cell or cell in (*_KEPT, RUNTIME) else f"{cell.replace('-', '_')}.py"


def has_code_of(cell: str, edited: str, rendered: Mapping[str, str], own: Iterable[Path]) -> bool:
    """True if a notebook rendered with the user's files has all the code and comments of a cell that was edited.

    Args:
        cell: The name of the cell.
        edited: Its code.
        rendered: The code of each cell of the rendered notebook, whose imports stand in a cell of their own.
        own: The user's files.
    """
    now = rendered.get(cell)
    names = {path.stem.replace("_", "-") for path in own}
    if now is None or not names:
        return now == edited
    try:
        edited_code, rendered_code = _statements(edited), _statements(now)
        everywhere = set().union(*(_statements(source)[1] for source in rendered.values()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    comments = {line.strip() for line in edited.splitlines() if "#" in line}
    are_kept = comments <= {line.strip() for source in rendered.values() for line in source.splitlines()}
    return edited_code[0] == rendered_code[0] and edited_code[1] <= everywhere and are_kept


def _statements(source: str) -> tuple[list[str], set[tuple[str, str, str]]]:
    """Return the statements of a cell without its docstring, and its imports as (module, name, alias)."""
    code, imports = [], set()
    for place, node in enumerate(ast.parse(source).body):
        if isinstance(node, _IMPORT):
            module = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
            imports |= {(module, name.name, name.asname or "") for name in node.names}
        elif place or not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            code.append(ast.dump(node))
    return code, imports


def check_own_cells(notebooks: Iterable[Sequence[Cell]], own: Mapping[Path, str]) -> None:
    """Make sure that each file has a cell whose place it can take.

    Raises:
        OwnCellError: One has none in any of the notebooks.
    """
    cells = [cell for notebook in notebooks for cell in notebook if cell.kind is CellKind.CODE]
    names = sorted({file for cell in cells for name in (cell.name, cell.part_of) if (file := possible_file(name))})
    for path in own:
        if path.name not in names:
            meant = did_you_mean(path.name, names)
            raise OwnCellError(path=path, problem=f"takes the place of no cell.{meant} It can be {', '.join(names)}.")


def check_own_cells_suit(backend: str, notebooks: Iterable[Sequence[Cell]], own: Mapping[Path, str]) -> None:
    """Make sure that no file takes the place of a cell that training and inference write in two frameworks.

    Args:
        backend: The framework of inference, which is not that of training.
        notebooks: The cells of both notebooks, without the user's.
        own: The text of each file.

    Raises:
        OwnCellError: One does, and could be right in one of them only.
    """
    different = {f"{name.replace('-', '_')}.py" for name in different_cells(notebooks)}
    for path in own:
        if path.name in different:
            problem = (
                f"would be in both notebooks, and inference is written in {backend}: remove it, or inference_backend."
            )
            raise OwnCellError(path=path, problem=problem)


def _named_for(cell: Cell, own: Mapping[Path, str]) -> Cell:
    """Return the parameters cell with the file as the metric's name, if that is the user's."""
    file = next((path.name for path in own if path.stem == "metric"), None)
    if file is None or parameters_cell([cell]) is None or "METRIC" not in read_parameters(cell.source):
        return cell
    return replace(cell, source=override(cell.source, {"METRIC": file}))


def _place(cells: Sequence[Cell], path: Path) -> int | None:
    name = path.stem.replace("_", "-")
    code = [cell.name if cell.kind is CellKind.CODE else None for cell in cells]
    if name not in code:
        code = [cell.part_of if cell.kind is CellKind.CODE else None for cell in cells]
    return code.index(name) if name in code and name not in (*_KEPT, RUNTIME) else None


def _checked(path: Path, source: str) -> str:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}, " if isinstance(error, SyntaxError) and error.lineno else ""
        raise OwnCellError(path=path, problem=f"is no Python: {line}{printable(str(error))}.") from error
    return source


def _bound(source: str) -> set[str]:
    """Return the names that the top level of a cell defines; what it imports, other cells import as well."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, _IMPORT):
            names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return names


def _named(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
