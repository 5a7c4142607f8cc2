"""A notebook is short enough to be read: bars for its lines of code, for those in sight, and for its cells."""

from collections.abc import Mapping
from dataclasses import asdict

import pytest
from count_notebooks import Counts, counts, gallery, gallery_notebooks

from generator.pair.notebook import notebook_text, parse_percent_cells
from generator.pair.workspace import Role

BARS: Mapping[Role, Mapping[str, int]] = {
    Role.TRAIN: {"lines": 795, "in_sight": 300, "cells": 20, "before_training": 15, "picture_at": 95},
    Role.INFER: {"lines": 435, "in_sight": 122, "cells": 11},
}
IN_KERAS: Mapping[Role, Mapping[str, int]] = {
    Role.TRAIN: {"lines": 730, "in_sight": 250, "cells": 18, "before_training": 12, "picture_at": 90},
    Role.INFER: {"lines": 395, "in_sight": 120, "cells": 10},
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(("name", "framework"), gallery())
def test_a_reference_notebook_is_short(name: str, framework: str, role: Role) -> None:
    bars = IN_KERAS[role] if framework == "keras" and name in {"titanic", "tpu-getting-started"} else BARS[role]
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

# %% name="train"
plt.show()
'''
    cells = json.loads(notebook_text(parse_percent_cells(text)))["cells"]

    assert counts(cells) == Counts(lines=12, in_sight=5, cells=4, before_training=3, picture_at=4)
    assert counts(cells[:3]).picture_at is None
