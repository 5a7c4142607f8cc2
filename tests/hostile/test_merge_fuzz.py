"""Whatever both sides do to a notebook: no line of the user's is lost, ids are unique, and the result is valid."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from generator.pair.merge import Merge, merge_notebooks

pytestmark = pytest.mark.slow

Cells = list[dict[str, Any]]
PATH = Path("train.ipynb")


def make_cell(label: str, source: str, kind: str = "code", **metadata: Any) -> dict[str, Any]:
    fields = {"cell_type": kind, "id": label, "metadata": metadata, "source": source}
    return fields | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(cells: Cells) -> bytes:
    minor = 5 if all("id" in cell for cell in cells) else 4
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}).encode()


def merged(base: Cells, user: Cells, template: Cells) -> tuple[Merge, Cells]:
    merge = merge_notebooks(*map(notebook, (base, user, template)), path=PATH)
    return merge, json.loads(merge.content)["cells"]


def joined(cells: Cells) -> str:
    return "\n".join(cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"]) for cell in cells)


NAMES = [f"cell-{letter}" for letter in "abcdefgh"]
LINES = [
    "x = 1",
    "y = x + 1",
    "",
    "import os",
    "from a import b",
    "def f():",
    "    return 1",
    "%%time",
    "'''",
    "é\u2028 = 2",
]
WORDS, KINDS = st.sampled_from(LINES), st.sampled_from(["code", "code", "markdown", "raw"])
METADATA = st.sampled_from([{}, {"tags": ["hide-input"]}, {"tags": ["a", "b"]}, {"name": "n"}, {"collapsed": True}])
PARAMETERS = [f"P{number} = {number}  # what it is" for number in range(6)]


@st.composite
def cells_of_a_notebook(draw: st.DrawFn) -> Cells:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    sources = st.lists(WORDS, max_size=6).map("\n".join)
    cells = [make_cell(name, draw(sources), draw(KINDS)) for name in names]
    parameters = draw(st.lists(st.sampled_from(PARAMETERS), unique=True))
    return [make_cell("parameters", "\n".join(parameters), tags=["parameters"]), *cells]


@st.composite
def changed(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    """The cells after some edits; each new line has a text of its own."""
    result = [json.loads(json.dumps(cell)) for cell in cells]
    for number in range(draw(st.integers(0, 4))):
        change = draw(st.sampled_from([with_text, with_text, with_cell, without_cell, moved, with_metadata, renamed]))
        result = change(draw, result, f"{mark}_{number}") if result or change is with_cell else result
    return result


def with_text(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    cell = draw(st.sampled_from(cells))
    lines = cell["source"].split("\n")
    place = draw(st.integers(0, len(lines) - 1))
    if draw(st.booleans()):
        lines[place : place + draw(st.integers(0, 1))] = draw(st.sampled_from([[], [f"{mark} = 0"]]))
    else:
        lines[place] = re.sub("= [0-9]", f'= "{mark}"', lines[place], count=1)
    cell["source"] = "\n".join(lines)
    return cells


def with_cell(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    place, name = draw(st.integers(0, len(cells))), draw(st.sampled_from([*NAMES, mark]))
    source = "\n".join([*draw(st.lists(WORDS, max_size=3)), f"{mark} = 0"])
    is_new = name not in {cell["id"] for cell in cells}
    return [*cells[:place], *([make_cell(name, source)] if is_new else []), *cells[place:]]


def without_cell(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    place = draw(st.integers(0, len(cells) - 1))
    return [*cells[:place], *cells[place + 1 :]]


def moved(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    cells.insert(draw(st.integers(0, len(cells) - 1)), cells.pop(draw(st.integers(0, len(cells) - 1))))
    return cells


def with_metadata(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    place = draw(st.integers(0, len(cells) - 1))
    cell = cells[place]
    if "parameters" in cell["metadata"].get("tags", []):
        cell["metadata"] = {"tags": ["parameters", mark]}
    else:
        cells[place] = make_cell(cell["id"], cell["source"], draw(KINDS), **draw(METADATA))
    return cells


def renamed(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    name = draw(st.sampled_from([*NAMES, mark]))
    if name not in {cell["id"] for cell in cells}:
        draw(st.sampled_from(cells))["id"] = name
    return cells


@st.composite
def versions(draw: st.DrawFn) -> tuple[Cells, Cells, Cells]:
    base = draw(cells_of_a_notebook())
    template = draw(changed(base, "new") | cells_of_a_notebook())
    user = draw(changed(base, "own"))
    if draw(st.integers(0, 3)) == 0:  # as after a visit to an editor that drops ids
        user = [{key: value for key, value in cell.items() if key != "id"} for cell in user]
    return base, user, template


def marks(text: str, mark: str) -> Counter[str]:
    return Counter(re.findall(rf"\b{mark}_\d+", text))


@CASES
@given(versions())
def test_no_line_is_lost_whatever_both_sides_do(cells: tuple[Cells, Cells, Cells]) -> None:
    base, user, template = cells
    merge, result = merged(*cells)

    nbformat.validate(nbformat.reads(merge.content.decode(), as_version=4))
    assert len({cell["id"] for cell in result}) == len(result)
    # Each line of the user's stands there as often as before. What the kit adds to a conflict is all comments.
    companions = [cell for cell in result if joined([cell]).startswith("# The template's version of the cell")]
    own = [cell for cell in result if cell not in companions]
    assert marks(joined(own), "own") == marks(joined(user), "own")
    assert all(line.startswith("#") for line in joined(companions).splitlines())
    assert len(companions) == len(merge.conflicts)
    # A line of the template's is lost only with a cell that the user removed.
    has_lost = marks(joined(template), "new") - marks(joined(result), "new")
    assert not has_lost or any(change.note.startswith("you removed it") for change in merge.changes)

    # A merge of nothing changes nothing; ids that an editor dropped come back.
    again = merge_notebooks(notebook(template), merge.content, notebook(template), path=PATH).content
    assert joined(json.loads(again)["cells"]) == joined(result)
    assert again == merge.content or not {cell["id"] for cell in template} & {cell["id"] for cell in result}
    unchanged, same = merged(base, user, base)
    assert [joined([cell]) for cell in same] == [cell["source"] for cell in user]
    assert unchanged.content == notebook(user) or [cell["id"] for cell in same] != [cell.get("id") for cell in user]
    # Without an edit, all follows the template.
    followed, theirs = merged(base, base, template)
    assert [(cell["id"], joined([cell])) for cell in theirs] == [(cell["id"], cell["source"]) for cell in template]
    assert not followed.conflicts
