"""What is said of a cell that raised."""

from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell

from generator.run.execution import CellError, PlannedCell, RaisedError, locate


def executed(name: str, source: str, *, count: int) -> PlannedCell:
    return PlannedCell(count, name, name.capitalize(), new_code_cell(source, execution_count=count))


MODEL = executed("model", "def build(width):\n    return 1 / width\n", count=3)
TRAINING = executed("training", "before = 1\nmodel = build(0)\nafter = 2", count=4)


def cell_error(error: RaisedError, running: PlannedCell = TRAINING) -> str:
    excerpt = locate(error, running=running, executed_cells=[MODEL])
    kept = Path("output/digits/train/train.ipynb")
    return CellError(
        notebook="digits/train.ipynb", running=running, excerpt=excerpt, error=error, saved_path=kept
    ).message


def test_the_message_shows_the_cell_the_line_and_the_exception() -> None:
    error = RaisedError("ValueError", "too wide", "Cell In[4], line 2\n      1 before = 1\n----> 2 model = build(0)")

    assert cell_error(error) == (
        'digits/train.ipynb failed in cell "training" (section Training) at line 2.\n'
        "\n"
        "    1 │ before = 1\n"
        "  → 2 │ model = build(0)\n"
        "    3 │ after = 2\n"
        "\n"
        "ValueError: too wide\n"
        "\n"
        "The partly executed notebook: output/digits/train/train.ipynb"
    )


def test_the_deepest_frame_in_a_cell_is_shown_even_if_it_is_another_cell() -> None:
    traceback = (
        "\x1b[36mCell\x1b[39m In[4], line 2\n  ...\n"
        "\x1b[36mCell\x1b[39m In[3], line 2, in build(width)\n  ...\n"
        "File /usr/lib/python3/fractions.py:12, in divide(a, b)\n"
    )

    message = cell_error(RaisedError("ZeroDivisionError", "division by zero", traceback))

    assert 'in cell "training" (section Training), in code from cell "model" at line 2.' in message
    assert "→ 2 │     return 1 / width" in message


def test_a_frame_that_no_cell_has_is_not_believed() -> None:
    message = cell_error(RaisedError("ValueError", "x", "Cell In[4], line 99\nCell In[77], line 1"))

    assert 'in cell "training" (section Training).' in message
    assert "1 │ before = 1" in message


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        ("torchvision", "timm needs torchvision. Install the version for your PyTorch"),
        ("timm", "Install it in tandem's environment: pip install"),
        ("orbax.checkpoint", "[run]"),
    ],
)
def test_a_package_of_the_kits_own_notebooks_that_is_missing_has_a_remedy(missing: str, remedy: str) -> None:
    assert remedy in cell_error(RaisedError("ModuleNotFoundError", f"No module named '{missing}'", ""))


def test_nobody_is_told_to_install_what_a_notebook_names_itself() -> None:
    assert "nstall" not in cell_error(RaisedError("ModuleNotFoundError", "No module named 'a_strangers'", ""))


def test_control_characters_in_an_exception_do_not_reach_the_terminal() -> None:
    cell = PlannedCell(4, "training", "", new_code_cell("raise ValueError('\x1b[2J')", execution_count=4))

    message = cell_error(RaisedError("ValueError", "\x1b]0;owned\x07\x9b2Jbad", "Cell In[4], line 1"), cell)

    assert all(character.isprintable() or character == "\n" for character in message)


def test_an_endless_exception_message_is_cut() -> None:
    message = cell_error(RaisedError("ValueError", "\n".join(["x" * 10_000] * 100), ""))

    assert "… 80 more lines" in message
    assert len(message) < 15_000
