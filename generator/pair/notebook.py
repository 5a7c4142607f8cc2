"""Notebooks: their cells, their parameters, and the percent format that templates render to."""

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.competition.facts import Value
from generator.competition.schema import TYPE_NAMES, Setting, all_parameters
from generator.errors import PairError, did_you_mean
from generator.text import JsonObject, printable, python_literal

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
        super().__init__(f"{printable(str(path))} is not a notebook: {printable(problem)}.")


@dataclass(frozen=True)
class WrittenCell:
    """The text that somebody wrote into a cell, without the outputs."""

    kind: str
    source: str


def notebook_text(cells: Iterable[Cell]) -> str:
    """Writes cells as a notebook of format 4.5: the same cells always give the same bytes.

    The ids are the cells' names. There are no outputs and no execution counts.

    Returns:
        JSON with sorted keys and a final newline.
    """
    notebook = {
        "cells": [_cell(cell) for cell in cells],
        "metadata": _METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
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
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotebookReadError(path=path, problem=str(error)) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise NotebookReadError(path=path, problem="it has no list of cells")
    cells: dict[str, WrittenCell] = {}
    for position, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell, dict):
            raise NotebookReadError(path=path, problem=f"cell {position} is not an object")
        name = cell.get("id")
        if not isinstance(name, str) or name in cells:
            name = f"#{position}"
        cells[name] = WrittenCell(kind=str(cell.get("cell_type")), source=join_lines(cell.get("source")))
    return cells


def digest_of_cells(text: str) -> str:
    """A digest of what the cells of a notebook say, whoever wrote the file; of the text itself if it is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        contents = [[cell["cell_type"], join_lines(cell["source"])] for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        contents = [["text", text]]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _cell(cell: Cell) -> dict[str, Any]:
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
            f"The parameter {printable(name)} must be {expected}, like its default {default_text}, not "
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
