"""Whatever both sides do to a notebook: no line of the user's is lost, ids are unique, and the result is valid."""

import ast
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from cases import CASES, FEW_CASES
from hypothesis import given
from hypothesis import strategies as st

from generator.pair.folder import complete_settings
from generator.pair.merge import Merge, merge_notebooks
from generator.pair.rendering import render_kernels
from generator.pair.workspace import Role, Workspace

pytestmark = pytest.mark.slow

Cells = list[dict[str, Any]]
PATH = Path("train.ipynb")
ROOT = Path(__file__).resolve().parents[2]


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
        change = draw(st.sampled_from(CHANGES))
        result = change(draw, result, f"{mark}_{number}") if result or change is with_cell else result
    return result


def with_text(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    # Often the longest cell: both sides have to change the same one to be merged.
    cell = max(cells, key=lambda one: len(one["source"])) if draw(st.booleans()) else draw(st.sampled_from(cells))
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


def with_picture(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    texts = [cell for cell in cells if cell["cell_type"] == "markdown"]
    if texts:
        draw(st.sampled_from(texts))["attachments"] = {f"{mark}.png": {"image/png": "AAAA"}}
    return cells


def renamed(draw: st.DrawFn, cells: Cells, mark: str) -> Cells:
    name = draw(st.sampled_from([*NAMES, mark]))
    if name not in {cell["id"] for cell in cells}:
        draw(st.sampled_from(cells))["id"] = name
    return cells


CHANGES = [with_text, with_text, with_cell, without_cell, moved, with_metadata, with_picture, renamed]


def as_written_by_the_user(draw: st.DrawFn, base: Cells) -> Cells:
    """The cells after the user's edits, perhaps after a visit to an editor that drops ids."""
    cells = draw(changed(base, "own"))
    if draw(st.integers(0, 3)) == 0:
        cells = [{key: value for key, value in cell.items() if key != "id"} for cell in cells]
    return cells


@st.composite
def versions(draw: st.DrawFn) -> tuple[Cells, Cells, Cells]:
    base = draw(cells_of_a_notebook())
    template = draw(changed(base, "new") | cells_of_a_notebook())
    return base, as_written_by_the_user(draw, base), template


RENDERINGS: dict[str, list[dict[str, Any]]] = {
    "digits": [{"framework": "keras"}, {"framework": "torch"}, {"framework": "jax"}, {"channels": 3, "flip": True}],
    "titanic": [
        *({"framework": framework} for framework in ("keras", "tensorflow", "lightgbm", "catboost")),
        {"text_columns": ["Name"], "short_text_columns": []},
        {"has_categories": False, "drop_columns": ["Name", "Cabin", "Ticket"], "ema": 0.99},
    ],
    "nlp-getting-started": [{"framework": "keras"}, {"framework": "torch", "pretrained": ""}, {"pretrained": ""}],
}


@cache
def rendering(name: str, number: int, role: Role) -> Cells:
    """The cells of a notebook of a reference pair with other settings, whose sources are one text each."""
    settings = complete_settings(Workspace(ROOT).pair(name)).override(RENDERINGS[name][number])
    cells = json.loads(render_kernels(settings)[Path(role, f"{role}.ipynb")])["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


@st.composite
def real_versions(draw: st.DrawFn) -> tuple[Cells, Cells, Cells]:
    """Two renderings of one competition, and the user's edits of the first."""
    name, role = draw(st.sampled_from([*RENDERINGS])), draw(st.sampled_from(Role))
    numbers = st.integers(0, len(RENDERINGS[name]) - 1)
    base, template = (rendering(name, draw(numbers), role) for _ in range(2))
    template = draw(changed(template, "new")) if draw(st.booleans()) else template
    return base, as_written_by_the_user(draw, base), template


def marks(text: str, mark: str) -> Counter[str]:
    return Counter(re.findall(rf"\b{mark}_\d+", text))


def has_parameters(cell: dict[str, Any]) -> bool:
    return "parameters" in cell["metadata"].get("tags", [])


def parameters_of(cells: Cells) -> dict[str, object]:
    """The values in the cells of parameters by name; none of those that are not assignments of literals alone."""
    values: dict[str, object] = {}
    for cell in filter(has_parameters, cells):
        try:
            statements = ast.parse(joined([cell])).body
            values |= {ast.unparse(each.targets[0]): ast.unparse(each.value) for each in statements}  # type: ignore[attr-defined]
        except (SyntaxError, AttributeError):
            return {}
    return values


def lines_of(cells: Cells) -> Counter[str]:
    """The lines of the cells but for those of parameters, whose names count."""
    source = joined([cell for cell in cells if not has_parameters(cell)])
    return Counter(line for line in source.split("\n") if line.strip())


def common_lines(*versions: Cells) -> set[tuple[str, str]]:
    """The lines that a cell has once in each of the versions, with its id; none of parameters."""
    lines = [
        {(cell["id"], line) for cell in cells if "id" in cell for line, count in lines_of([cell]).items() if count == 1}
        for cells in versions
    ]
    return set.intersection(*lines)


def additions_of(cells: Cells, base: Cells) -> Counter[str]:
    """The tags and pictures that the cells have more often than the base."""
    tags = [Counter(tag for cell in of for tag in cell["metadata"].get("tags", [])) for of in (cells, base)]
    pictures = [Counter(name for cell in of for name in cell.get("attachments", {})) for of in (cells, base)]
    return (tags[0] - tags[1]) + (pictures[0] - pictures[1])


def check_merge(base: Cells, user: Cells, template: Cells) -> None:
    merge, result = merged(base, user, template)

    nbformat.validate(nbformat.reads(merge.content.decode(), as_version=4))
    assert len({cell["id"] for cell in result}) == len(result)
    # Each line of the user's stands there as often as before. What the kit adds to a conflict is all comments.
    companions = [cell for cell in result if joined([cell]).startswith("# The template's version of the cell")]
    own = [cell for cell in result if cell not in companions]
    assert marks(joined(own), "own") == marks(joined(user), "own")
    assert not (lines_of(user) - lines_of(base)) - lines_of(own)
    assert not common_lines(base, user, template) - {(cell["id"], line) for cell in own for line in lines_of([cell])}
    values, rendered, results = map(parameters_of, (user, base, own))
    assert {name: results.get(name) for name in values if values[name] != rendered.get(name)}.items() <= values.items()
    assert not additions_of(user, base) - additions_of(own, [])
    assert all(line.startswith("#") for line in joined(companions).splitlines())
    assert [cell["id"] for cell in companions] == sorted(
        (change.companion for change in merge.conflicts), key=[cell["id"] for cell in result].index
    )
    # A line of the template's is lost only with a cell that the user removed.
    removed = {change.name for change in merge.changes if change.note.startswith("you removed it")}
    has_lost = marks(joined(template), "new") - marks(joined(result), "new")
    assert not has_lost - marks(joined([cell for cell in template if cell["id"] in removed]), "new")

    # A merge of nothing changes nothing; ids that an editor dropped come back.
    again = merge_notebooks(notebook(template), merge.content, notebook(template), path=PATH).content
    assert joined(json.loads(again)["cells"]) == joined(result)
    assert again == merge.content or not {cell["id"] for cell in template} & {cell["id"] for cell in result}
    unchanged, same = merged(base, user, base)
    assert [joined([cell]) for cell in same] == [cell["source"] for cell in user]
    has_ids = all("id" in cell for cell in user) and {cell["id"] for cell in base} & {cell["id"] for cell in user}
    assert unchanged.content == notebook(user) or not has_ids
    nbformat.validate(nbformat.reads(unchanged.content.decode(), as_version=4))
    # Without an edit, all follows the template, but for empty lines at the end of a cell.
    followed, theirs = merged(base, base, template)
    sources = [[(cell["id"], joined([cell]).strip()) for cell in cells] for cells in (theirs, template)]
    assert sources[0] == sources[1]
    assert [cell["metadata"] for cell in theirs] == [cell["metadata"] for cell in template]
    assert not followed.conflicts


@CASES
@given(versions())
def test_no_line_is_lost_whatever_both_sides_do(cells: tuple[Cells, Cells, Cells]) -> None:
    check_merge(*cells)


@FEW_CASES
@given(real_versions())
def test_no_line_is_lost_when_the_framework_or_the_options_of_a_real_pair_change(
    cells: tuple[Cells, Cells, Cells],
) -> None:
    check_merge(*cells)
