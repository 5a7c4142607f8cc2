"""The knobs of a pair: what its training notebook lets people turn, for who looks at a pair from outside."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from generator.competition.facts import Value
from generator.pair.choices import Choices, MadeBy
from generator.pair.parameters import FIXED, MAIN, parameters_cell, read_comments, read_parameters
from generator.pair.percent import Cell

_MODEL_CELL = "model"
_END_OF_CLAUSE = re.compile(r"[.:;](?=\s|$)| \(")


@dataclass(frozen=True)
class Knob:
    """A parameter of the training notebook, with what its comment says of it.

    `is_main` says that it belongs to what people turn first, or that the user turned it.
    """

    name: str
    value: Value
    by: MadeBy
    meaning: str
    is_main: bool


def knobs_of(choices: Choices, training: Iterable[Cell]) -> list[Knob]:
    """Returns the knobs in the order of the parameters cell, the user's values in them.

    Args:
        choices: The choices of the pair.
        training: The cells of its training notebook.
    """
    cell = parameters_cell(training)
    if cell is None:
        return []
    comments = read_comments(cell.source)
    knobs = []
    for name, default in read_parameters(cell.source).items():
        said = choices.parameters.get(name) or choices.task.get(name.lower())
        value = choices.parameters[name].value if name in choices.parameters else default
        by = said.by if said else MadeBy.DEFAULT
        meaning = comments.get(name) or (said.evidence if said else "")
        is_main = name in MAIN or name in choices.parameters
        if name not in FIXED:
            knobs.append(Knob(name, value, by, meaning, is_main))
    return knobs


def model_of(training: Iterable[Cell]) -> str:
    """Returns what the notebook says its model is: the first clause below the heading; "" if it says nothing."""
    text = next((cell.source for cell in training if cell.name == _MODEL_CELL), "")
    lines = [line.lstrip("# ").strip() for line in text.split("\n") if not line.startswith("#")]
    prose = " ".join(filter(None, lines))
    return _END_OF_CLAUSE.split(prose)[0].replace("`", "")
