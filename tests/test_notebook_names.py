"""A notebook has only what its competition needs: nothing in it is left over."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import cycle
from textwrap import dedent

import pytest
from count_notebooks import gallery, gallery_settings
from layouts import ALL_LAYOUTS, Layout
from rendered_pairs import layout_choices, rendered_layouts
from unused_names import unused_names

from generator.pair.notebook import CellKind
from generator.pair.rendering import rendered_parts
from generator.pair.settings import Settings
from generator.pair.workspace import Role


def check(notebooks: Mapping[str, Mapping[str, str]]) -> None:
    """Fails with every name that is left over in the cells of the notebooks, which have names as well."""
    found = [f"{name}: {each}" for name, cells in notebooks.items() for each in unused_names(cells)]
    found += [
        f"{name}: {each} is a function and a variable" for name, cells in notebooks.items() for each in both(cells)
    ]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def both(cells: Mapping[str, str]) -> set[str]:
    """The names of a notebook that are a function or class in one place, and assigned in another."""
    defined, assigned = zip(*map(definitions_and_variables, cells.values()), strict=True)
    return set().union(*defined) & set().union(*assigned)


@cache  # most cells are in many notebooks
def definitions_and_variables(source: str) -> tuple[set[str], set[str]]:
    """The functions and classes of a cell, and the names that it assigns outside of them."""
    statements = ast.parse(source).body
    definitions = (ast.FunctionDef, ast.ClassDef)
    others = [part for node in statements if not isinstance(node, definitions) for part in ast.walk(node)]
    inside = {id(name) for part in others if isinstance(part, ast.comprehension) for name in ast.walk(part.target)}
    assigned = {
        part.id
        for part in others
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and id(part) not in inside
    }
    return {node.name for node in statements if isinstance(node, definitions)}, assigned


def code_of(choices: Settings) -> dict[Role, dict[str, str]]:
    """The code cells of both notebooks of a pair, by name."""
    return {
        role: {part.name: part.source for part in parts if part.kind is CellKind.CODE}
        for role, parts in rendered_parts(choices).items()
    }


@pytest.mark.parametrize(("name", "framework"), gallery())
def test_nothing_is_left_over_in_a_reference_pair(name: str, framework: str) -> None:
    check(code_of(gallery_settings(name, framework)))


@pytest.mark.parametrize("layout", rendered_layouts())
def test_nothing_is_left_over_in_the_pair_of_a_layout(layout: Layout) -> None:
    pairs = {framework: code_of(choices) for framework, choices in layout_choices(layout).items()}

    check({f"{framework}, {role}": cells for framework, pair in pairs.items() for role, cells in pair.items()})


# Between them they have what makes served notebooks differ: tables, sequences, texts, sounds and their parts, pixels in
# tables, records, archives, channels in files of their own, several images of an id, and every kind of rows.
SERVED = (
    *("titanic", "ventilator_pressure", "one_prediction_for_each_series", "nlp_getting_started", "json_with_lists"),
    *("birdclef", "speech_commands", "digit_recognizer", "icebergs_as_bands_of_decibels", "tpu_getting_started"),
    *("zipped_folders", "cells_in_four_grey_files", "several_slides_of_a_patient"),
    *("a_row_for_each_scan_and_finding", "salt_identification", "understanding_clouds", "organs_named_in_a_column"),
    *("airbus_ships_one_in_a_row", "denoising_dirty_documents", "scans_that_only_a_gateway_has"),
)


@pytest.mark.parametrize(("name", "answer"), [*zip(SERVED, cycle(["table", "value"]), strict=False)])
def test_nothing_is_left_over_in_a_served_notebook(name: str, answer: str) -> None:
    layout = next(layout for layout in ALL_LAYOUTS if layout.name == name)
    served = layout_choices(replace(layout, gateway={"answer": answer}))

    assert all(choices.task["inference_server"].value for choices in served.values())
    check({framework: code_of(choices)[Role.INFER] for framework, choices in served.items()})


def test_what_nothing_that_runs_reaches_is_left_over() -> None:
    code = """
        import math
        import os.path


        class Shape:
            def area(self):
                return square(3) * math.pi


        def square(number):
            return number**POWER


        def even(n):
            return not n or odd(n - LIMIT)


        def odd(n):
            return bool(n) and even(n - 1)


        def connect():
            global strategy, spare
            strategy, spare = 1, 2


        figure, axis = plt.subplots()
        first, second = 1, 2
        count = 0
        count += 1
        print(Shape().area(), [row for row in range(second)], axis, connect(), strategy)
        """

    assert unused_names({"parameters": "POWER = 2\nLIMIT = 3\nPAIR_ID = 4", "cell": dedent(code)}) == [
        *("function even", "function odd", "import os"),
        *("parameter LIMIT", "parameter PAIR_ID", "variable count", "variable first", "variable spare"),
    ]
    assert unused_names({"parameters": "PAIR_ID = 4", "runtime": 'print(settings["PAIR_ID"])'}) == []


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("rows = [1, 2]\n\n\ndef total(rows):\n    return sum(rows)\n\n\ntotal([3])", ["variable rows"]),
        ("row = 1\nprint([row for row in range(3)], {row: row for row in range(3)})", ["variable row"]),
        ("row = 1\nprint(list(map(lambda row: row + 1, [3])))", ["variable row"]),
        ("step = 1\n\n\ndef first():\n    step = 2\n    return step\n\n\nfirst()", ["variable step"]),
        ("limit = 3\nrows = [row for row in range(limit) if (last := row) > 1]\nprint(rows)", ["variable last"]),
        ("import functools\n\n\n@functools.cache\ndef load(limit=LIMIT):\n    return limit", None),
        ("class Shape:\n    sides = 4\n\n    def area(self):\n        return sides\n\n\nsides = 3\nShape()", []),
        ("rows = [1]\n\n\ndef total(rows=rows):\n    return rows\n\n\ntotal()", []),
        ("total = 0\n\n\ndef add():\n    global total\n    total = total + 1\n\n\nadd()", []),
    ],
)
def test_a_name_is_looked_up_where_python_looks_it_up(code: str, unused: list[str] | None) -> None:
    found = unused_names({"parameters": "LIMIT = 3" if "LIMIT" in code else "", "cell": code})

    assert found == (["function load", "import functools", "parameter LIMIT"] if unused is None else unused)
