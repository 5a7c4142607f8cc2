"""Notebooks: their cells, their parameters, and the percent format that templates render to."""

import ast
import hashlib
import io
import json
import re
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from generator.competition.schema import TYPE_NAMES, Setting, all_parameters
from generator.errors import PairError, did_you_mean
from generator.files import read_text
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, Value, parsed_json, printable, python_literal

# Reading the py:percent text that a template renders into named cells.
#
# A subset of the format that jupytext defines: every cell has a name, and nothing stands before the first one. Why
# this is no call of jupytext: docs/adr/0001-own-percent-reader.md.


_MARKER = re.compile(r"# %%(?=\s|$)(?P<header>.*)")
# Other forms of a cell marker in jupytext, which would end a cell there but not here.
_FOREIGN_MARKER = re.compile(r"\s*#\s*(?:%%\S*|<codecell>|In\[[0-9 ]*\]:?)(?:\s|$)")
_HEADER = re.compile(r"(?:\s+\[(?P<kind>markdown)\])?(?P<options>.*)")
_OPTION = re.compile(r'\s+(?P<key>[a-z]+)=(?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\])')
_CELL_NAME = re.compile(r"[a-z0-9-]{1,64}")

FOLDED_TAG = "hide-input"
"""The tag of a cell whose code is folded away; Jupyter Book knows it, and nbconvert can be told of it."""

MEMBER_CODE_FILE = "member_code.py"
"""The file beside the `pair.toml` of a blend that has the code of its members."""


class PercentError(PairError):
    """Rendered text that is no sequence of named cells.

    Attributes:
        line: The number of the line in the rendered text, from 1.
        text: The line itself.
        problem: What is wrong with it.
        source: Where it comes from, such as a template and line; empty if that is not known.
    """

    def __init__(self, *, line: int, text: str, problem: str, source: str = "") -> None:
        location = source or f"line {line} of the rendered notebook"
        super().__init__(f"{printable(location)}: {problem} (`{printable(text)}`).")
        self.line = line
        self.text = text
        self.problem = problem


class CellKind(StrEnum):
    """The kinds of cell, in the words of the notebook format."""

    CODE = "code"
    MARKDOWN = "markdown"


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook, or a part of one; `source` has no line end at its end.

    Attributes:
        part_of: The name of the cell that this part is joined into; empty for a whole cell.
    """

    name: str
    kind: CellKind
    source: str
    tags: tuple[str, ...] = ()
    part_of: str = ""


def parse_percent_cells(text: str) -> list[Cell]:
    r"""Splits py:percent text into cells.

    A cell opens with `# %% name="setup"`, `# %% name="parameters" tags=["parameters"]` or
    `# %% [markdown] name="introduction"`, and lasts until the next one. Empty lines at its ends do not count. A cell
    with `tags=["hide-input"]` is folded. `cell="..."` names the cell that a part is joined into.

    Args:
        text: The rendered template, with `\n` line ends.

    Returns:
        The cells in their order.

    Raises:
        PercentError: Text before the first cell, a header that is not as above, a name that is missing, used twice
            or not of `[a-z0-9-]{1,64}`, or a line of Markdown that is not a comment.
    """
    cell_bodies: list[tuple[Cell, list[str]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        marker = _MARKER.match(line)
        if marker is not None:
            cell = _empty_cell(number, line, marker["header"])
            if any(cell.name == earlier.name for earlier, _ in cell_bodies):
                raise PercentError(line=number, text=line, problem=f'two cells have the name "{cell.name}"')
            cell_bodies.append((cell, []))
        elif cell_bodies:
            cell, body = cell_bodies[-1]
            body.append(_body_line(number, line, cell.kind))
        elif line.strip():
            raise PercentError(line=number, text=line, problem="text stands before the first cell")
    return [replace(cell, source=_without_empty_ends(body)) for cell, body in cell_bodies]


def _empty_cell(number: int, line: str, text: str) -> Cell:
    """The cell that a line opens."""
    match = _HEADER.fullmatch(text)
    options = _options(match["options"]) if match else None
    if match is None or options is None or not set(options) <= {"name", "tags", "cell"}:
        problem = (
            'a cell opens with `# %% [markdown] name="..." cell="..." tags=["..."]`, all but the name being optional'
        )
        raise PercentError(line=number, text=line, problem=problem)
    name, tags, part_of = options.get("name"), options.get("tags", []), options.get("cell", "")
    if not isinstance(name, str) or not _CELL_NAME.fullmatch(name):
        problem = "a cell needs a name of 1 to 64 lower-case letters, digits and hyphens"
        raise PercentError(line=number, text=line, problem=problem)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise PercentError(line=number, text=line, problem="tags are a list of texts")
    if not isinstance(part_of, str) or (part_of and not _CELL_NAME.fullmatch(part_of)):
        problem = "the cell of a part has a name of 1 to 64 lower-case letters, digits and hyphens"
        raise PercentError(line=number, text=line, problem=problem)
    kind = CellKind.MARKDOWN if match["kind"] else CellKind.CODE
    return Cell(name=name, kind=kind, source="", tags=tuple(tags), part_of=part_of)


def _options(text: str) -> dict[str, Any] | None:
    """The options of a cell by key, or None if the text is anything else."""
    pairs = [(match["key"], match["value"]) for match in _OPTION.finditer(text)]
    if _OPTION.sub("", text).strip() or len(dict(pairs)) < len(pairs):
        return None
    try:
        return {key: json.loads(value) for key, value in pairs}
    except ValueError:
        return None


def _without_empty_ends(lines: list[str]) -> str:
    positions = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[positions[0] : positions[-1] + 1]) if positions else ""


def _body_line(number: int, line: str, kind: CellKind) -> str:
    if _FOREIGN_MARKER.match(line):
        raise PercentError(line=number, text=line, problem='a cell opens with `# %% name="..."` and nothing else does')
    if kind is CellKind.CODE:
        return line if line.strip() else ""
    if line.startswith("# "):
        return line[2:]
    if line == "#" or not line.strip():
        return ""
    raise PercentError(line=number, text=line, problem="a line of Markdown begins with `# `")


_METADATA = {
    # Kaggle runs notebooks by papermill, which needs the name of a kernel.
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookReadError(PairError):
    """A file that is no notebook."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(
            f"{printable(str(path))} is not a notebook: {printable(problem)}.", remedy=restore_remedy(path)
        )


def restore_remedy(path: Path) -> str:
    """Return how to restore a notebook of a pair or its metadata; "" for other files."""
    if path.parent.name not in tuple(Role) or path.parent.parent.parent.name != "kernels":
        return ""
    name = printable(path.parent.parent.name)
    return (
        f"Restore it with `tandem undo {name}`, or write it again with "
        f"`tandem generate COMPETITION --name {name} --force`."
    )


@dataclass(frozen=True)
class WrittenCell:
    """The text that somebody wrote into a cell, without the outputs.

    Attributes:
        kind: The kind of cell.
        source: The text.
        name: The name in its metadata, if it has one; it is no part of the content.
    """

    kind: str
    source: str
    name: str = field(default="", compare=False)


def notebook_text(cells: Iterable[Cell]) -> str:
    """Writes cells as a notebook of format 4.5: the same cells always give the same bytes.

    The ids are the cells' names. There are no outputs and no execution counts.

    Returns:
        JSON with sorted keys and a final newline.
    """
    return notebook_json([cell_fields(cell) for cell in cells], _METADATA)


def notebook_json(cells: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> str:
    """Write a notebook of format 4.5 with these cells, as `cell_fields` returns them."""
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def check_syntax(cells: Iterable[Cell], *, notebook: str) -> None:
    """Makes sure that every code cell is Python.

    Args:
        cells: The cells.
        notebook: What to call the notebook in a message.

    Raises:
        PairError: The first cell that is not.
    """
    for cell in cells:
        if cell.kind is CellKind.CODE:
            try:
                ast.parse(cell.source)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                problem = printable(error.msg if isinstance(error, SyntaxError) else str(error))
                place = f" in its line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
                subject = f'The {notebook} notebook\'s cell "{cell.name}"'
                raise PairError(f"{subject} is not valid Python: {problem}{place}. Fix its template.") from error


def written_cells(content: bytes, *, path: Path) -> dict[str, WrittenCell]:
    """Reads what a notebook's cells say, by id and in their order; outputs and execution counts are left out.

    A cell without an id, as editors of older formats write them, gets its position as one: `#3`.

    Args:
        content: The file.
        path: Its path, for messages.

    Raises:
        NotebookReadError: It is no notebook of format 4.
    """
    return cells_of_fields(notebook_fields(content, path=path))


def notebook_fields(content: bytes, *, path: Path) -> dict[str, Any]:
    """Return a notebook as JSON, with a list of objects as its `cells`; arguments and errors as of `written_cells`."""
    try:
        notebook = parsed_json(content)
    except ValueError as error:
        raise NotebookReadError(path=path, problem=str(error)) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise NotebookReadError(path=path, problem="it has no list of cells")
    for position, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell, dict):
            raise NotebookReadError(path=path, problem=f"cell {position} is not an object")
    return notebook


def cells_of_fields(notebook: Mapping[str, Any]) -> dict[str, WrittenCell]:
    """Return what the cells say of a notebook that `notebook_fields` returned."""
    cells: dict[str, WrittenCell] = {}
    for position, cell in enumerate(notebook["cells"], start=1):
        name = cell.get("id")
        if not isinstance(name, str) or name in cells:
            name = f"#{position}"
        cells[name] = WrittenCell(
            kind=str(cell.get("cell_type")),
            source=join_lines(cell.get("source")),
            name=JsonObject.of(cell.get("metadata")).text("name"),
        )
    return cells


def code_sources(content: bytes) -> list[str]:
    """Return the text of each code cell of a notebook.

    Raises:
        NotebookReadError: It is no notebook of format 4.
    """
    cells = written_cells(content, path=Path("notebook")).values()
    return [cell.source for cell in cells if cell.kind == CellKind.CODE]


def digest_of_cells(text: str) -> str:
    """A digest of what the cells of a notebook say, whoever wrote the file; of the text itself if it is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        contents = [[cell["cell_type"], join_lines(cell["source"])] for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        contents = [["text", text]]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def cell_fields(cell: Cell) -> dict[str, Any]:
    """Return a cell as the notebook format has it, without outputs."""
    fields: dict[str, Any] = {
        "cell_type": str(cell.kind),
        "id": cell.name,
        "metadata": _cell_metadata(cell),
        # Split at newlines alone: `str.splitlines` would split at U+2028 and others too.
        "source": list(io.StringIO(cell.source, newline="\n")),
    }
    if cell.kind is CellKind.CODE:
        fields |= {"execution_count": None, "outputs": []}
    return fields


def _cell_metadata(cell: Cell) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(cell.tags)} if cell.tags else {}
    if FOLDED_TAG in cell.tags:
        # Kaggle's viewer knows only the first, JupyterLab only the second, and nbconvert only the tag.
        metadata |= {"_kg_hide-input": True, "jupyter": {"source_hidden": True}}
    return metadata


def join_lines(source: object) -> str:
    """The source of a cell as a text, which may stand in a file as a list of lines."""
    if isinstance(source, list):
        return "".join(str(line) for line in source)
    return source if isinstance(source, str) else ""


# The parameters of a notebook: the constants of its parameters cell, and other values for them.


PARAMETERS_TAG = "parameters"
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
HAVING_BACKBONES = "color photographs of at least 96 pixels, sounds, masks, and image to image"


class ParameterError(PairError):
    """A parameter, or a value for one, that a notebook cannot take."""


class ParametersCellError(ParameterError):
    """A parameters cell that holds something else than `NAME = literal` lines."""

    def __init__(self, *, line: int, problem: str) -> None:
        super().__init__(f"The parameters cell cannot be read, line {line}: {printable(problem)}.")


class UnknownParameterError(ParameterError):
    """A parameter that the notebook does not have."""

    def __init__(self, *, name: str, valid_names: Iterable[str], source: str = "") -> None:
        names = [parameter for parameter in valid_names if not is_fixed(parameter)]
        first = [
            parameter
            for parameter, setting in all_parameters().items()
            if setting.group == "main" and parameter in names
        ] or names
        examples = f" Examples of parameters: {', '.join(first)}. docs/knobs.md lists all."
        synonym = usual_name(name)
        if synonym in names:
            nearest = f' Use "{synonym}".'
        else:
            nearest = _without_backbone(names) if synonym == "BACKBONE" else did_you_mean(name, names) or examples
        super().__init__(f'{source}The notebooks have no parameter "{printable(name)}".{nearest}')


def _without_backbone(names: Collection[str]) -> str:
    """Why notebooks with these parameters have no backbone, and what has one."""
    if "IMAGE_SIZE" in names:
        reason = "small or grayscale images are trained from scratch"
        way = ". To use a backbone, add --set channels=3 and --set image_size=96"
    else:
        reason = "the notebooks of this family have no backbone"
        way = ". To set the pretrained model of a text, use --set pretrained=" if "SEQUENCE_LENGTH" in names else ""
    return f" Here {reason}. {HAVING_BACKBONES.capitalize()} have one{way}."


def knob_name(text: str) -> str:
    """A knob's name as the parameters cell writes it: `learning-rate` is LEARNING_RATE."""
    return text.strip().upper().replace("-", "_")


def usual_name(text: str) -> str:
    """The name of a parameter here, where the text is what people call it elsewhere."""
    name = knob_name(text)
    return next((parameter for parameter, setting in all_parameters().items() if name in setting.aliases), name)


def is_fixed(name: str) -> bool:
    """True if only the kit sets a parameter."""
    return name in all_parameters() and all_parameters()[name].group == "fixed"


def parameters_cell(cells: Iterable[Cell]) -> Cell | None:
    """The cell tagged `parameters`, if there is one."""
    return next((cell for cell in cells if PARAMETERS_TAG in cell.tags), None)


def read_parameters(source: str) -> dict[str, Value]:
    """Reads the parameters of a notebook with their defaults, in the order of the cell.

    Args:
        source: The code of the parameters cell: one `NAME = literal` a line, with comments.

    Raises:
        ParametersCellError: The cell has anything else in it.
    """
    return {name: value for name, value, _ in _assignments(source)}


def read_comments(source: str) -> dict[str, str]:
    """Reads what the comments of a parameters cell say of its parameters, by name; one without a comment is left out.

    Args:
        source: The code of the cell.

    Raises:
        ParametersCellError: The cell cannot be read.
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    ends = {name: node.end_lineno or node.lineno for name, _, node in _assignments(source)}
    return {name: comments[line] for name, line in ends.items() if line in comments}


def override(source: str, values: Mapping[str, Value]) -> str:
    """Replaces defaults in a parameters cell where they stand, so that the comments beside them stay.

    Args:
        source: The code of the parameters cell.
        values: The new values by name.

    Returns:
        The new code.

    Raises:
        UnknownParameterError: The cell does not have a parameter of such a name.
        ParameterError: A value is of another type than its default, or out of range.
        ParametersCellError: The cell cannot be read.
    """
    assignments = {name: (default, node) for name, default, node in _assignments(source)}
    # ast counts columns in bytes of UTF-8.
    lines = [line.encode("utf-8") for line in source.split("\n")]
    for name in reversed([name for name in assignments if name in values]):
        default, node = assignments[name]
        literal = python_literal(checked_value(name, values[name], default)).encode("utf-8")
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        rest = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [lines[first][: node.col_offset] + literal + rest]
    for name in values:
        if name not in assignments:
            raise UnknownParameterError(name=name, valid_names=assignments)
    return b"\n".join(lines).decode("utf-8")


def checked_value(name: str, value: Value, default: Value) -> Value:
    """Makes sure that a value fits a parameter; a whole number becomes a float where the default is one.

    Raises:
        ParameterError: It is of another type than the default, out of the parameter's range, or none of its names.
    """
    setting = all_parameters().get(name, Setting(object)).with_default(default)
    if expected := setting.expected(value):
        default_text = printable(python_literal(default))
        raise ParameterError(
            f"The parameter {printable(name)} must be {expected}, like its value {default_text}, not "
            f"{printable(repr(value))}.{did_you_mean(str(value), setting.options)}",
            code="parameter-invalid",
        )
    return float(value) if isinstance(default, float) and isinstance(value, int) else value


def parse_assignment(text: str, defaults: Mapping[str, Value]) -> tuple[str, Value]:
    """Reads `NAME=VALUE` from a command line; the default of the parameter says of what type the value is.

    Args:
        text: Such as `EPOCHS=3`, `DEBUG=true`, `BACKBONE=EfficientNetV2B0` or `SIZES=[16, 32]`.
        defaults: All parameters with their defaults.

    Returns:
        The name and the value.

    Raises:
        UnknownParameterError: There is no parameter of this name.
        ParameterError: There is no `=`, or no name before it; the value is not of the default's type, or out of range.
    """
    name, separator, value_text = text.partition("=")
    name, value_text = name.strip(), value_text.strip()
    if not separator or not name:
        raise ParameterError(
            f'"{printable(text)}" has no value.',
            remedy="Write NAME=VALUE, such as EPOCHS=3.",
            code="parameter-without-value",
        )
    if name not in defaults and knob_name(name) in defaults:
        name = knob_name(name)
    if name not in defaults:
        raise UnknownParameterError(name=name, valid_names=defaults)
    default = defaults[name]
    return name, checked_value(name, value_of(value_text, default), default)


def value_of(text: str, default: Value) -> Value:
    """The value that a text most plausibly means for this default; the text itself where it means none."""
    if isinstance(default, str):
        value = _literal(text) if text.startswith(('"', "'")) else text
        return value if isinstance(value, str) else text
    if isinstance(default, bool):
        return _TRUTH.get(text.lower(), text)
    if isinstance(default, list):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return value if isinstance(value, list) else text
    # Underscores are what Python allows in its own numbers, too.
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _literal(text: str) -> Value:
    try:
        value: Value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value


def _assignments(source: str) -> list[tuple[str, Value, ast.expr]]:
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: brackets without end
        line = error.lineno if isinstance(error, SyntaxError) else 1
        raise ParametersCellError(line=line or 1, problem=str(error)) from error
    return [_assignment(statement) for statement in statements]


def _assignment(statement: ast.stmt) -> tuple[str, Value, ast.expr]:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise ParametersCellError(line=statement.lineno, problem="each line must be NAME = value")
    target = statement.targets[0]
    try:
        value = ast.literal_eval(statement.value)
    except (ValueError, TypeError, RecursionError, MemoryError):  # TypeError: a set of lists
        value = None
    if not isinstance(target, ast.Name) or type(value) not in TYPE_NAMES:
        problem = "each line must be NAME = value, with a number, true or false, text, or a list"
        raise ParametersCellError(line=statement.lineno, problem=problem)
    return target.id, value, statement.value


# Changes of a notebook's text for one occasion: other parameters, a cell before all others.


def with_parameters(text: str, values: Mapping[str, Value]) -> str:
    """The notebook with other defaults in its parameters cell; parameters that it does not have are left out."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if has_parameters(cell):
            source = join_lines(cell["source"])
            defaults = read_parameters(source)
            cell["source"] = override(source, {name: value for name, value in values.items() if name in defaults})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def with_cell_sources(text: str, sources: Mapping[str, str]) -> str:
    """Return the notebook with other texts in some of its cells, which are named as `written_cells` names them.

    Raises:
        NotebookReadError: It is no notebook.
    """
    names = written_cells(text.encode(), path=Path("notebook"))
    try:
        notebook = parsed_json(text)
    except ValueError as error:
        raise NotebookReadError(path=Path("notebook"), problem=str(error)) from error
    for name, cell in zip(names, notebook["cells"], strict=True):
        if name in sources:
            cell["source"] = sources[name]
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def with_first_cell(text: str, *, name: str, source: str) -> str:
    """The notebook with a code cell before all other code."""
    notebook = json.loads(text)
    at = next((i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"), 0)
    new_cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": []}
    notebook["cells"].insert(at, {**new_cell, "source": source})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def has_parameters(cell: Mapping[str, Any]) -> bool:
    """True if a cell is the one with the parameters."""
    tags = JsonObject.of(cell.get("metadata")).get("tags")
    return isinstance(tags, list) and PARAMETERS_TAG in tags


# The imports of a notebook: templates import where they use, a notebook imports once, at its beginning.


CELL = "imports"
"""The name of the cell that the imports are gathered in."""

RUNTIME = "runtime"
"""The package of templates/runtime, whose modules import each other; in a notebook they stand in one cell."""

_LONGEST_LINE = 100
_TITLE = re.compile(r'^"""[^"]*"""\n+', re.MULTILINE)
_HAS_NO_EFFECT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def gather_imports(cells: Sequence[Cell]) -> list[Cell]:
    """Moves what the cells import into the cell `imports`, each name once, and drops what no cell uses.

    The cell's own statements stand between the modules of Python and all others: they prepare what is imported next.
    A notebook without such a cell is left as it is, and so is one with a cell that is not Python.
    """
    try:
        contents = [_content(cell.source) if cell.kind is CellKind.CODE else None for cell in cells]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return list(cells)
    if not any(cell.name == CELL for cell in cells):
        return list(cells)
    plumbing = runtime_parts(cells)
    imports = frozenset[tuple[str, str, str]]().union(*(content.imports for content in contents if content))
    uses = [(content.used_names, cell in plumbing) for cell, content in zip(cells, contents, strict=True) if content]
    used_names = frozenset[str]().union(*(names for names, is_plumbing in uses if not is_plumbing))
    used_there = frozenset[str]().union(*(names for names, is_plumbing in uses if is_plumbing))
    imports_by_cell = {
        CELL: [binding for binding in imports if _name(binding) in used_names],
        RUNTIME: [binding for binding in imports if _name(binding) in used_there - used_names],
    }
    rest = [
        replace(cell, source=content.rest) if content else cell for cell, content in zip(cells, contents, strict=True)
    ]
    return [
        _with_imports(cell, imports_by_cell[cell.name]) if cell.name in imports_by_cell else cell
        for cell in rest
        if cell.source or cell.name == CELL
    ]


def runtime_parts(parts: Sequence[Cell]) -> list[Cell]:
    """Return the cell `runtime`, and the folded parts behind it that only define something."""
    start = next((place for place, part in enumerate(parts) if part.name == RUNTIME), len(parts))
    behind = [part for part in parts[start + 1 :] if part.kind is CellKind.CODE and FOLDED_TAG in part.tags]
    return [*parts[start : start + 1], *(part for part in behind if _only_defines(part.source))]


def _only_defines(source: str) -> bool:
    return all(isinstance(node, _HAS_NO_EFFECT) for node in ast.parse(source).body)


def _name(binding: tuple[str, str, str]) -> str:
    """Return the name that an import binds."""
    module, name, alias = binding
    return alias or name or module.partition(".")[0]


@dataclass(frozen=True)
class _Content:
    """A cell taken apart: what it imports, the names that it uses, and its source without its imports."""

    imports: frozenset[tuple[str, str, str]]
    used_names: frozenset[str]
    rest: str


@lru_cache(maxsize=1_024)  # most cells of a notebook are those of its pair's other one and of other pairs
def _content(source: str) -> _Content:
    tree = ast.parse(source)
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    used_names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    imports = frozenset(
        binding for node in statements for binding in _read_imports(node) if binding[0].partition(".")[0] != RUNTIME
    )
    return _Content(imports, used_names, _without(source, statements))


def _read_imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
    """Yields the module, what is taken from it ("" for itself) and what it is called here ("" for its own name)."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield node.module or "", alias.name, alias.asname or ""
        else:
            yield alias.name, "", alias.asname or ""


def _without(source: str, statements: Iterable[ast.stmt]) -> str:
    lines = source.split("\n")
    for node in statements:
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return re.sub("\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")


def _with_imports(cell: Cell, bindings: Sequence[tuple[str, str, str]]) -> Cell:
    of_python = [binding for binding in bindings if binding[0].partition(".")[0] in sys.stdlib_module_names]
    other_bindings = [binding for binding in bindings if binding not in of_python]
    parts = (_import_statements(of_python), cell.source, _import_statements(other_bindings))
    if cell.name == RUNTIME:  # its first statement says what it is for
        title, _, code = cell.source.partition("\n\n")
        code = _TITLE.sub("", code).strip("\n")  # of the modules behind the first
        imports = "\n\n".join(
            part for part in (title, _import_statements(of_python), _import_statements(other_bindings)) if part
        )
        return replace(cell, source=f"{imports}\n\n\n{code}")
    return replace(cell, source="\n\n".join(part for part in parts if part))


def _import_statements(bindings: Sequence[tuple[str, str, str]]) -> str:
    """The statements as ruff sorts them: modules, then names from modules."""
    plain = {(module, alias) for module, name, alias in bindings if not name}
    modules = sorted(plain, key=lambda pair: pair[0].lower())
    lines = [f"import {module} as {alias}" if alias else f"import {module}" for module, alias in modules]
    for module in sorted({module for module, name, _ in bindings if name}, key=str.lower):
        names = sorted({(name, alias) for source, name, alias in bindings if source == module and name}, key=_rank)
        clauses = [f"{name} as {alias}" if alias else name for name, alias in names]
        line = f"from {module} import {', '.join(clauses)}"
        if len(line) > _LONGEST_LINE:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in clauses) + ")"
        lines.append(line)
    return "\n".join(lines)


def _rank(name: tuple[str, str]) -> tuple[int, str]:
    """Constants before classes before functions."""
    text = name[0]
    return (0 if text.isupper() and len(text) > 1 else 1 if text[0].isupper() else 2), text


# The cells that both notebooks of a pair must have, word for word: what they say must not drift apart.


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
    if different := differing(
        {path: read_text(path, remedy=restore_remedy(path)) for path in (train_path, infer_path)}
    ):
        names = ", ".join(f'"{printable(name)}"' for name in different)
        options = " ".join(f"--share {printable(name)}" for name in different)
        subject = f"The cell {names} differs" if len(different) == 1 else f"The cells {names} differ"
        raise PairError(
            f"{subject} between {printable(str(train_path))} and {printable(str(infer_path))}, but it must be the "
            "same in both.",
            remedy=f"Copy the edit into the other notebook: `tandem update {printable(folder.name)} {options}`.",
            code="cells-differ",
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
    source_pairs = {name: (source, infer[name]) for name, source in train.items() if name in infer}
    return {
        name
        for name, (train_source, infer_source) in source_pairs.items()
        if train_source != infer_source and SHARED_MARK in train_source + infer_source
    }


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


def with_shared_text(source: str, text: str) -> str:
    """Return a cell with another text below the mark of shared code; all of it is shared if it has no mark."""
    lines = source.splitlines()
    marks = [number for number, line in enumerate(lines) if line.rstrip() == SHARED_MARK]
    return "\n".join([*lines[: marks[0] if marks else 0], SHARED_MARK, text])


# Parts of a notebook, joined into the cells that a reader sees.
#
# Templates write small parts, each with a name: a file of the user's takes the place of one. A reader sees one cell
# for each step of the work, and one folded cell with everything that only keeps a promise.


_DEFINITION = (ast.FunctionDef, ast.ClassDef)


def with_runtime(parts: Iterable[Cell]) -> list[Cell]:
    """Return the parts, of which folded definitions after the cell `runtime` are moved into it.

    What both notebooks share stands at its end, below the mark of shared code.
    """
    result = list(parts)
    plumbing = runtime_parts(result)
    if not plumbing:
        return result
    runtime, *definitions = plumbing
    private_sources = [part.source for part in definitions if not _is_shared(part)]
    in_order = sorted(filter(_is_shared, definitions), key=lambda part: part.name)  # the same in both notebooks
    shared_sources = [part.source.removeprefix(SHARED_MARK).strip("\n") for part in in_order]
    sources = [
        runtime.source,
        *private_sources,
        *([f"{SHARED_MARK}\n{shared_sources[0]}", *shared_sources[1:]] if shared_sources else []),
    ]
    whole = replace(runtime, source="\n\n\n".join(sources))
    return [whole if part is runtime else part for part in result if part not in definitions]


def join_parts(parts: Iterable[Cell]) -> list[Cell]:
    """Return the cells of a notebook: neighbouring code parts of one cell are joined, in their order.

    Parts with something else between them stay apart: the first of them have the name of the cell, the others their
    own. Code that both notebooks share is not joined to other code.
    """
    cells: list[Cell] = []
    for (kind, name, _), group in groupby(parts, key=lambda part: (part.kind, part.part_of, _is_shared(part))):
        members = list(group)
        if not name or kind is not CellKind.CODE or any(cell.name == name for cell in cells):
            cells += [replace(part, part_of="") for part in members]
        else:
            cells.append(replace(members[0], name=name, source=_source(members), part_of=""))
    return cells


def _source(parts: Sequence[Cell]) -> str:
    """Return the code of the parts, with the mark of a shared cell in its first line only."""
    texts = [part.source.removeprefix(SHARED_MARK).strip("\n") for part in parts]
    source = f"{SHARED_MARK}\n{texts[0]}" if _is_shared(parts[0]) else texts[0]
    for before, text in pairwise(texts):
        source += ("\n\n\n" if _has_definition_between(before, text) else "\n\n") + text
    return source


def _has_definition_between(before: str, text: str) -> bool:
    last, first = ast.parse(before).body[-1:], ast.parse(text).body[:1]
    return any(isinstance(node, _DEFINITION) for node in (*last, *first))


def _is_shared(part: Cell) -> bool:
    return part.source.startswith(SHARED_MARK)


# Cells that the user writes in files beside `pair.toml`, in the place of those that the templates have.
#
# `metric.py` takes the place of the cell `metric`, `build_model.py` that of `build-model`, in both notebooks if
# both have it.


_MANAGED_CELLS = ("parameters", CELL)
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
            raise OwnCellError(path=path, problem="is a link. Replace it with the file itself.")
    return {path: read_text(path).strip() for path in paths}


def with_own_cells(cells: Sequence[Cell], user_files: Mapping[Path, str]) -> list[Cell]:
    """Return the cells of a notebook with the user's in the place of those of the same name.

    Prose before such a cell, which is about the one that was there, becomes the name of the file; headings stay.

    Raises:
        OwnCellError: A file is no Python, or lacks a name that other cells need.
    """
    result = list(cells)
    for path, source in user_files.items():
        place = _place(result, path)
        if place is None:
            continue
        old = result[place]
        if path.stem.replace("_", "-") == old.part_of:  # the file has all parts of the cell
            whole = next(cell for cell in join_parts(result) if cell.name == old.part_of)
            result = [cell for cell in result if cell is old or cell.part_of != old.part_of]
            old = replace(whole, part_of=old.part_of)
        other_sources = [cell.source for cell in cells if cell.kind is CellKind.CODE and cell.name != old.name]
        other_sources = [cell for cell in other_sources if cell not in old.source]
        missing = _defined_names(old.source) - _defined_names(_check_python(path, source))
        if needed_names := sorted(
            missing & {name for other_source in other_sources for name in _used_names(other_source)}
        ):
            raise OwnCellError(path=path, problem=f"has to define {' and '.join(needed_names)}: other cells need it.")
        mark = [SHARED_MARK] if SHARED_MARK in old.source and SHARED_MARK not in source else []
        imports = [ast.unparse(node) for node in ast.parse(old.source).body if isinstance(node, _IMPORT)]
        # A text of the kit's stays folded.
        tags = tuple(tag for tag in old.tags if tag != FOLDED_TAG or path.name == MEMBER_CODE_FILE)
        result[place] = replace(old, source="\n".join([*imports, *mark, source]), tags=tags)
        if place and result[place - 1].kind is CellKind.MARKDOWN:
            headings = [line for line in result[place - 1].source.splitlines() if line.startswith("#")]
            prose = "\n\n".join([*headings, f"From `{path.name}`, beside `pair.toml`."])
            result[place - 1] = replace(result[place - 1], source=prose)
    return [_named_for(cell, user_files) for cell in result]


def possible_file(cell: str) -> str | None:
    """The name of the file that can take the place of a code cell, if one can."""
    return None if not cell or cell in (*_MANAGED_CELLS, RUNTIME) else f"{cell.replace('-', '_')}.py"


def has_code_of(cell: str, edited_source: str, rendered_sources: Mapping[str, str], user_files: Iterable[Path]) -> bool:
    """True if a notebook rendered with the user's files has all the code and comments of a cell that was edited.

    Args:
        cell: The name of the cell.
        edited_source: Its code.
        rendered_sources: The code of each cell of the rendered notebook, whose imports stand in a cell of their own.
        user_files: The user's files.
    """
    now = rendered_sources.get(cell)
    names = {path.stem.replace("_", "-") for path in user_files}
    if now is None or not names:
        return now == edited_source
    try:
        edited_code, rendered_code = _cell_statements(edited_source), _cell_statements(now)
        everywhere = set().union(*(_cell_statements(source)[1] for source in rendered_sources.values()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    comments = {line.strip() for line in edited_source.splitlines() if "#" in line}
    are_kept = comments <= {line.strip() for source in rendered_sources.values() for line in source.splitlines()}
    return edited_code[0] == rendered_code[0] and edited_code[1] <= everywhere and are_kept


def _cell_statements(source: str) -> tuple[list[str], set[tuple[str, str, str]]]:
    """Return the statements of a cell without its docstring, and its imports as (module, name, alias)."""
    code, imports = [], set()
    for place, node in enumerate(ast.parse(source).body):
        if isinstance(node, _IMPORT):
            module = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
            imports |= {(module, name.name, name.asname or "") for name in node.names}
        elif place or not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            code.append(ast.dump(node))
    return code, imports


def check_own_cells(notebooks: Iterable[Sequence[Cell]], user_files: Mapping[Path, str]) -> None:
    """Make sure that each file has a cell whose place it can take.

    Raises:
        OwnCellError: One has none in any of the notebooks.
    """
    cells = [cell for notebook in notebooks for cell in notebook if cell.kind is CellKind.CODE]
    names = sorted({file for cell in cells for name in (cell.name, cell.part_of) if (file := possible_file(name))})
    for path in user_files:
        if path.name not in names:
            hint = did_you_mean(path.name, names)
            raise OwnCellError(path=path, problem=f"does not match a cell.{hint} Possible names: {', '.join(names)}.")


def check_own_cells_suit(backend: str, notebooks: Iterable[Sequence[Cell]], user_files: Mapping[Path, str]) -> None:
    """Make sure that no file takes the place of a cell that training and inference write in two frameworks.

    Args:
        backend: The framework of inference, which is not that of training.
        notebooks: The cells of both notebooks, without the user's.
        user_files: The text of each file.

    Raises:
        OwnCellError: One does, and could be right in one of them only.
    """
    different = {f"{name.replace('-', '_')}.py" for name in different_cells(notebooks)}
    for path in user_files:
        if path.name in different:
            problem = (
                f"would be in both notebooks, but inference uses {backend}. Remove it, or remove inference_backend."
            )
            raise OwnCellError(path=path, problem=problem)


def _named_for(cell: Cell, user_files: Mapping[Path, str]) -> Cell:
    """Return the parameters cell with the file as the metric's name, if that is the user's."""
    file = next((path.name for path in user_files if path.stem == "metric"), None)
    if file is None or parameters_cell([cell]) is None or "METRIC" not in read_parameters(cell.source):
        return cell
    return replace(cell, source=override(cell.source, {"METRIC": file}))


def _place(cells: Sequence[Cell], path: Path) -> int | None:
    name = path.stem.replace("_", "-")
    code = [cell.name if cell.kind is CellKind.CODE else None for cell in cells]
    if name not in code:
        code = [cell.part_of if cell.kind is CellKind.CODE else None for cell in cells]
    return code.index(name) if name in code and name not in (*_MANAGED_CELLS, RUNTIME) else None


def _check_python(path: Path, source: str) -> str:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}, " if isinstance(error, SyntaxError) and error.lineno else ""
        raise OwnCellError(path=path, problem=f"is not valid Python: {line}{printable(str(error))}.") from error
    return source


def _defined_names(source: str) -> set[str]:
    """Return the names that the top level of a cell defines; what it imports, other cells import as well."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, _IMPORT):
            names |= {
                child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
            }
    return names


def _used_names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
