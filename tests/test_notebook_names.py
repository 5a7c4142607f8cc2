"""A notebook has only what its competition needs: nothing in it is left over."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from textwrap import dedent

import pytest
from count_notebooks import gallery, gallery_settings
from layouts import ALL_LAYOUTS, Layout, sampled
from notebook_session import code_cells
from rendered_pairs import layout_choices
from unused_names import unused_names

from generator.pair.workspace import Role


def unused(*cells: str, parameters: str = "") -> list[str]:
    """The names that are left over in a tiny notebook, as `kind name`."""
    named = {"parameters": parameters, **{f"cell-{number}": dedent(cell) for number, cell in enumerate(cells)}}
    return [f"{each.kind} {each.name}" for each in unused_names(named)]


def check(notebooks: Mapping[str, Mapping[str, str]]) -> None:
    """Fails with every name that is left over in the cells of the notebooks, which have names as well."""
    found = [f"{name}: {each.kind} {each.name}" for name, cells in notebooks.items() for each in unused_names(cells)]
    found += [
        f"{name}: {each} is a function and a variable" for name, cells in notebooks.items() for each in both(cells)
    ]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def both(cells: Mapping[str, str]) -> set[str]:
    """The names of a notebook that are a function or class in one place, and assigned in another."""
    statements = [node for source in cells.values() for node in ast.parse(source).body]
    definitions = (ast.FunctionDef, ast.ClassDef)
    defined = {node.name for node in statements if isinstance(node, definitions)}
    others = [part for node in statements if not isinstance(node, definitions) for part in ast.walk(node)]
    inside = {id(name) for part in others if isinstance(part, ast.comprehension) for name in ast.walk(part.target)}
    assigned = {
        part.id
        for part in others
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and id(part) not in inside
    }
    return defined & assigned


@pytest.mark.parametrize(("name", "framework"), gallery())
def test_nothing_is_left_over_in_a_reference_pair(name: str, framework: str) -> None:
    choices = gallery_settings(name, framework)

    check({role: code_cells(choices, role) for role in Role})


@pytest.mark.parametrize("layout", sampled(ALL_LAYOUTS))
def test_nothing_is_left_over_in_the_pair_of_a_layout(layout: Layout) -> None:
    pairs = layout_choices(layout).items()

    check({f"{framework}, {role}": code_cells(choices, role) for framework, choices in pairs for role in Role})


# Between them they have what makes served notebooks differ: tables, sequences, texts, sounds and their parts, pixels in
# tables, records, archives, channels in files of their own, several images of an id, and every kind of rows.
SERVED = (
    *("titanic", "ventilator_pressure", "one_prediction_for_each_series", "nlp_getting_started", "json_with_lists"),
    *("birdclef", "speech_commands", "digit_recognizer", "icebergs_as_bands_of_decibels", "tpu_getting_started"),
    *("zipped_folders", "cells_in_four_grey_files", "several_slides_of_a_patient"),
    *("a_row_for_each_scan_and_finding", "salt_identification", "understanding_clouds", "organs_named_in_a_column"),
    *("airbus_ships_one_in_a_row", "denoising_dirty_documents", "scans_that_only_a_gateway_has"),
)


@pytest.mark.parametrize(("name", "answer"), zip(SERVED, cycle(["table", "value"]), strict=False))
def test_nothing_is_left_over_in_a_served_notebook(name: str, answer: str) -> None:
    layout = next(layout for layout in ALL_LAYOUTS if layout.name == name)
    served = layout_choices(replace(layout, gateway={"answer": answer}))

    assert all(choices.task["inference_server"].value for choices in served.values())
    check({framework: code_cells(choices, Role.INFER) for framework, choices in served.items()})


def test_what_top_level_statements_reach_through_functions_and_classes_is_used() -> None:
    assert (
        unused(
            """
            import math
            from pathlib import Path


            class Shape:
                def __init__(self, radius):
                    self.radius = radius

                def area(self):
                    return square(self.radius) * math.pi


            def square(number):
                return number**POWER


            def saved(shape, path=FILE):
                return Path(path).write_text(str(shape.area()))
            """,
            "saved(Shape(2))",
            parameters='POWER = 2\nFILE = "area.txt"',
        )
        == []
    )


def test_a_use_inside_a_dead_function_is_no_use() -> None:
    code = """
        import math


        def area(radius):
            return pi_times(radius**POWER)


        def pi_times(number):
            return math.pi * number
        """

    assert unused(code, parameters="POWER = 2") == [
        "function area",
        "function pi_times",
        "import math",
        "parameter POWER",
    ]
    assert unused(code, "area(3)", parameters="POWER = 2") == []


def test_functions_that_only_call_each_other_are_dead() -> None:
    code = "def even(n):\n    return not n or odd(n - 1)\n\n\ndef odd(n):\n    return bool(n) and even(n - 1)"

    assert unused(code) == ["function even", "function odd"]


def test_the_defaults_and_decorators_of_a_dead_function_are_dead_as_well() -> None:
    code = "import functools\n\n\n@functools.cache\ndef load(limit=LIMIT):\n    return limit"

    assert unused(code, parameters="LIMIT = 3") == ["function load", "import functools", "parameter LIMIT"]
    assert unused(code, "load()", parameters="LIMIT = 3") == []


def test_an_argument_hides_the_variable_of_the_same_name() -> None:
    code = "rows = [1, 2]\n\n\ndef total(rows):\n    return sum(rows)\n\n\ntotal([3])"

    assert unused(code) == ["variable rows"]


def test_unused_arguments_are_named_with_their_function() -> None:
    code = """
        def predict(model, batch, *rest, size=1, **options):
            def add(number, other):
                return number

            return add(model, size)


        print(predict(1, 2), sorted([1], key=lambda item: 0))
        """

    assert unused(code) == [
        "argument add(other)",
        "argument lambda(item)",
        "argument predict(batch)",
        "argument predict(options)",
        "argument predict(rest)",
    ]


def test_arguments_that_are_given_anyway_may_be_left_over() -> None:
    code = """
        class Clock(keras.callbacks.Callback):
            def __init__(self, limit):
                super().__init__()

            def on_epoch_end(self, epoch, logs=None):
                pass


        class Plain:
            def run(self, speed, training, _reserved):
                pass


        Clock(3), Plain()
        """

    assert unused("import keras", code) == ["argument Clock.__init__(limit)", "argument Plain.run(speed)"]


def test_what_is_assigned_and_never_read_is_found() -> None:
    code = """
        first, second = 1, 2
        for number in range(second):
            total = number
        for _ in range(3):
            print("again")
        count = 0
        count += 1
        figure, axis = plt.subplots()
        axis.plot([1])
        items = [one for one in (1, 2)]
        """

    assert unused("import matplotlib.pyplot as plt", code) == [
        "variable count",
        "variable first",
        "variable items",
        "variable total",
    ]


def test_what_a_function_sets_for_the_notebook_belongs_to_the_notebook() -> None:
    code = """
        def connect():
            global strategy, spare
            strategy, spare = 1, 2


        connect()
        print(strategy)
        """

    assert unused(code) == ["variable spare"]


def test_imports_and_functions_inside_of_a_function_count() -> None:
    code = """
        def load():
            import json
            import os

            def left():
                return 1

            step = 0

            def forward():
                nonlocal step
                step = os.getpid()

            forward()


        load()
        """

    assert unused(code) == ["function load(left)", "import load(json)"]


def test_comprehensions_and_walruses_have_the_scopes_that_python_gives_them() -> None:
    code = """
        limit = 3
        rows = [row for row in range(limit) if (seen := row) > limit]
        print([limit for limit in range(2)], rows, f"{SEED:{WIDTH}}")
        """

    assert unused(code, parameters="SEED = 1\nWIDTH = 2") == ["variable seen"]
