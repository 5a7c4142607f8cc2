"""A notebook is short enough to be read: bars for its lines of code, for those in sight, and for its cells."""

from collections.abc import Mapping
from dataclasses import asdict

import pytest
from count_notebooks import Counts, counts, gallery, gallery_notebooks

from generator.pair.notebook import notebook_text
from generator.pair.percent import read_cells
from generator.pair.workspace import Role

LINES = {
    "titanic": {Role.TRAIN: 560, Role.INFER: 320},
    "tpu-getting-started": {Role.TRAIN: 540, Role.INFER: 300},
}
BARS: Mapping[Role, Mapping[str, int]] = {
    Role.TRAIN: {"lines": 620, "in_sight": 350, "cells": 50, "picture_at": 150},
    Role.INFER: {"lines": 380, "in_sight": 210, "cells": 32},
}
# Photographs of the flagship have their backbone, or its weights, written out.
BACKBONE: Mapping[str, Mapping[Role, int]] = {
    "jax": {Role.TRAIN: 47, Role.INFER: 26},
    "torch": {Role.TRAIN: 28},
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(("name", "framework"), gallery())
def test_a_reference_notebook_is_short(name: str, framework: str, role: Role) -> None:
    bars = {**BARS[role], "lines": LINES.get(name, {}).get(role, BARS[role]["lines"])}
    if name == "tpu-getting-started":
        bars["lines"] += BACKBONE.get(framework, {}).get(role, 0)
    found = asdict(counts(gallery_notebooks(name, framework)[role]))

    over = [
        f"{name}, {framework}, {role}: {what} is {found[what]}, at most {bar}"
        for what, bar in bars.items()
        if found[what] is None or found[what] > bar
    ]
    if over:
        pytest.fail("\n".join(over), pytrace=False)


def test_lines_cells_and_the_first_picture_are_counted() -> None:
    import json

    text = '''
# %% [markdown] name="title"
# # A title

# %% name="folded" tags=["hide-input"]
def draw(values):
    """Draw."""

    plt.plot(values)
    plt.show()


def draw_twice(values):
    draw(values)
    draw(values)


# %% name="values"
values = [1, 2]

# A comment
values

# %% name="drawing"
draw_twice(values)

# %% name="again"
plt.show()
'''
    cells = json.loads(notebook_text(read_cells(text)))["cells"]

    assert counts(cells) == Counts(lines=16, in_sight=6, cells=4, picture_at=5)
    assert counts(cells[:3]).picture_at is None
