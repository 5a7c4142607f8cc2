"""Rules of the knobs of the kit's own notebooks, which people turn in the notebook as well."""

import ast
from collections.abc import Iterator

from generator.check.rule import Problem, rule
from generator.check.source import KernelSource
from generator.pair.ranges import RANGES, range_of

# By it the kit's notebooks know their pair; other people's names mean what they like.
_OF_A_PAIR = "PAIR_ID"


@rule("N070", "knob-out-of-range")
def knob_out_of_range(kernel: KernelSource) -> Iterator[Problem]:
    """A knob of a pair's notebook is set to a number that it cannot be.

    The session waits for its accelerator, and then fails late, as with N_FOLDS = 0 after the training, or not at all.
    Set it to a number in its range; docs/knobs.md says what each knob means.

    Source (2026-11-27): the ranges of `generator/pair/ranges.py`, by which the notebooks are rendered.
    """
    for cell in kernel.code.cells:
        nodes = [node for node in cell.tree.body if isinstance(node, ast.Assign)]
        values = {node.targets[0].id: node for node in nodes if isinstance(node.targets[0], ast.Name)}
        for name, node in values.items() if _OF_A_PAIR in values else ():
            number = _number(node.value)
            # 0.0 has the rate of the backbone looked up.
            expected = range_of(name, 0.0) if name == "LEARNING_RATE" else RANGES.get(name)
            if number is not None and expected is not None and number not in expected:
                message = f"{name} is {number:g}, and must be {expected}."
                yield Problem(kernel.code.place(cell, node), message, f"Set {name} to a number that is {expected}.")


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if type(value) in (int, float) else None
