"""The parameters of a notebook: the constants of its parameters cell, and other values for them.

ParameterError
├── ParametersCellError       the cell is something else than literals by name
└── UnknownParameterError     no parameter of this name
"""

import ast
import io
import json
import math
import tokenize
from collections.abc import Collection, Iterable, Mapping

from generator.competition.facts import Value
from generator.competition.schema import TYPE_NAMES
from generator.errors import PairError, did_you_mean
from generator.pair.percent import Cell
from generator.pair.ranges import names_of, range_of
from generator.untrusted import printable, python_literal

PARAMETERS_TAG = "parameters"
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
FIXED = ("COMPETITION", "PAIR_ID", "TRAIN_KERNEL", "INPUT_ROOT", "WORKING_ROOT")
"""What the kit itself writes into the cell: by these the notebooks find their inputs and one another."""

_MODEL = ("BACKBONE", "WEIGHTS", "PRESET", "IMAGE_SIZE", "SEQUENCE_LENGTH", "K")
MAIN = (*_MODEL, "N_FOLDS", "EPOCHS", "BATCH_SIZE", "LEARNING_RATE")
"""What people turn first, as far as a notebook has it."""

SYNONYMS = {
    **dict.fromkeys(("LR", "ETA", "STEP_SIZE"), "LEARNING_RATE"),
    **dict.fromkeys(("BATCH", "BS", "TRAIN_BATCH_SIZE", "PER_DEVICE_BATCH_SIZE"), "BATCH_SIZE"),
    **dict.fromkeys(("FOLDS", "NUM_FOLDS", "N_SPLITS", "KFOLD", "KFOLDS", "CV", "SPLITS"), "N_FOLDS"),
    **dict.fromkeys(("N_EPOCHS", "NUM_EPOCHS", "MAX_EPOCHS", "NUM_TRAIN_EPOCHS", "ITERATIONS"), "EPOCHS"),
    **dict.fromkeys(("SIZE", "IMG_SIZE", "IMAGESIZE", "RESOLUTION", "INPUT_SIZE", "IMAGE_SHAPE"), "IMAGE_SIZE"),
    **dict.fromkeys(("MODEL", "ARCH", "ARCHITECTURE", "ENCODER", "NETWORK", "MODEL_NAME"), "BACKBONE"),
    **dict.fromkeys(("MAX_LEN", "MAX_LENGTH", "MAX_SEQ_LENGTH", "SEQ_LEN", "SEQ_LENGTH"), "SEQUENCE_LENGTH"),
    **dict.fromkeys(("RANDOM_STATE", "RANDOM_SEED"), "SEED"),
    **dict.fromkeys(("WD", "L2"), "WEIGHT_DECAY"),
    **dict.fromkeys(("DEVICE", "HARDWARE"), "ACCELERATOR"),
    **dict.fromkeys(("DTYPE", "MIXED_PRECISION", "AMP", "FP16", "BF16"), "PRECISION"),
    **dict.fromkeys(("SMOKE", "SMOKE_TEST", "FAST_DEV_RUN"), "DEBUG"),
    **dict.fromkeys(("PRETRAINED", "PRETRAINED_WEIGHTS"), "WEIGHTS"),
    **dict.fromkeys(("CATEGORIES", "CAT_COLS", "CATEGORY_COLUMNS"), "CATEGORICAL_COLUMNS"),
    **dict.fromkeys(("NUM_COLS", "NUMBER_COLUMNS"), "NUMERIC_COLUMNS"),
    "MEMBERS": "K",
    "CROP": "MIN_CROP_SCALE",
    "SMOOTHING": "LABEL_SMOOTHING",
    "DROP_RATE": "DROPOUT",
    "WARMUP": "WARMUP_EPOCHS",
}
"""What people call a knob elsewhere, by its name in capitals."""

HAVING_BACKBONES = "photographs in colour of at least 96 pixels, sounds, masks, and images that become images"

_TYPE_NAMES = {**TYPE_NAMES, list: "a list, such as [1, 2]"}


class ParameterError(PairError):
    """A parameter, or a value for one, that a notebook cannot take."""


class ParametersCellError(ParameterError):
    """A parameters cell that holds something else than `NAME = literal` lines."""

    def __init__(self, *, line: int, problem: str) -> None:
        super().__init__(f"The parameters cell cannot be read, line {line}: {printable(problem)}.")


class UnknownParameterError(ParameterError):
    """A parameter that the notebook does not have."""

    def __init__(self, *, name: str, known: Iterable[str], source: str = "") -> None:
        names = [each for each in known if each not in FIXED]
        first = [each for each in MAIN if each in names] or names
        few = f" It has {', '.join(first)} and more; docs/knobs.md tells of all."
        synonym = SYNONYMS.get(knob_name(name), knob_name(name))
        if synonym in names:
            nearest = f' It is called "{synonym}" here.'
        else:
            nearest = _without_backbone(names) if synonym == "BACKBONE" else did_you_mean(name, names) or few
        super().__init__(f'{source}The notebooks have no parameter "{printable(name)}".{nearest}')


def _without_backbone(names: Collection[str]) -> str:
    """Why notebooks with these parameters have no backbone, and what has one."""
    if "IMAGE_SIZE" in names:
        why = "images that are small or not in colour are learned from scratch"
        way = "; --set channels=3 and --set image_size=96 make photographs of them"
    else:
        why = "the notebooks of this family have no backbone"
        way = ", and what a text starts from, --set pretrained= says" if "SEQUENCE_LENGTH" in names else ""
    return f" Here {why}. {HAVING_BACKBONES.capitalize()} have one{way}."


def knob_name(text: str) -> str:
    """A knob's name as the parameters cell writes it: `learning-rate` is LEARNING_RATE."""
    return text.strip().upper().replace("-", "_")


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
            raise UnknownParameterError(name=name, known=assignments)
    return b"\n".join(lines).decode("utf-8")


def checked_value(name: str, value: Value, default: Value) -> Value:
    """Makes sure that a value fits a parameter; a whole number becomes a float where the default is one.

    Raises:
        ParameterError: It is of another type than the default, out of the parameter's range, or none of its names.
    """
    fitting = value
    if isinstance(default, float) and type(value) in (int, float) and math.isfinite(value):  # type: ignore[arg-type]
        fitting = float(value)  # type: ignore[arg-type]
    elif type(value) is not type(default) or isinstance(default, float) or not _has_literal(value):
        raise ParameterError(
            f"The parameter {printable(name)} takes {_TYPE_NAMES[type(default)]}, as its default "
            f"{printable(python_literal(default))}, and not {printable(repr(value))}."
        )
    expected = range_of(name, default)
    if isinstance(fitting, int | float) and fitting not in expected:
        raise ParameterError(
            f"The parameter {printable(name)} must be {expected}, as its default {printable(python_literal(default))} "
            f"is, and not {printable(repr(fitting))}."
        )
    names = names_of(name, default)
    if names and fitting not in names:
        nearest = did_you_mean(str(fitting), names)
        raise ParameterError(
            f"The parameter {printable(name)} must be one of {', '.join(names)}, and not {printable(repr(fitting))}."
            f"{nearest}"
        )
    return fitting


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
        raise ParameterError(f'"{printable(text)}" sets no parameter; write NAME=VALUE, such as EPOCHS=3.')
    if name not in defaults and knob_name(name) in defaults:
        name = knob_name(name)
    if name not in defaults:
        raise UnknownParameterError(name=name, known=defaults)
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
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _has_literal(value: Value) -> bool:
    try:
        python_literal(value)
    except TypeError:
        return False
    return True


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
    if not isinstance(target, ast.Name) or type(value) not in _TYPE_NAMES:
        problem = "each line must be NAME = value, with a number, true or false, text, or a list"
        raise ParametersCellError(line=statement.lineno, problem=problem)
    return target.id, value, statement.value
