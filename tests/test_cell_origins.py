"""The templates that cells come from: what one writes for two notebooks is the same in both, and says so."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import pytest
from count_notebooks import gallery_settings
from layouts import Layout
from rendered_pairs import layout_choices, rendered_layouts

from generator import kit_files as installation
from generator.competition.schema import frameworks
from generator.kit_files import template_folder
from generator.pair.notebook import SHARED_MARK, Cell, CellKind
from generator.pair.rendering import rendered_parts
from generator.pair.settings import Settings
from generator.pair.workspace import Role

_MARK = re.compile(r"^ *(?:# )?from (?P<template>\S+\.j2(?:#\w+)?)\n?", re.MULTILINE)
_HEADER = re.compile(r"# %%(?=\s)")
_SECTION = re.compile(r"# \{# section (\w+) #\}")
_STATEMENT = re.compile(r"# \{[%#]")
_BRANCH = re.compile(r"\s*# \{% (?:block|else|elif) ?")
# Of these cells only the header stands in the template; their text is each notebook's own.
FILLED_IN = {"title", "parameters", "imports", "runtime", "runtime-text", "find-devices"}


@dataclass(frozen=True)
class Origin:
    """The template that a cell stands in, all those that have a part in its text, and the text."""

    template: str
    parts: frozenset[str]
    source: str
    is_code: bool


Notebook = dict[str, Origin]
Pair = dict[tuple[str, Role], Notebook]
"""Both notebooks of a pair in every framework."""


@pytest.fixture(scope="session")
def marked_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit's templates, in which every cell, and every part of one, begins with a line that says where it stands."""
    folder = tmp_path_factory.mktemp("marked") / "templates"
    shutil.copytree(template_folder(), folder)
    for path in folder.rglob("*.j2"):
        lines = with_marks(path.read_text().splitlines(keepends=True), path.relative_to(folder).as_posix())
        path.write_text("".join(lines))
    return folder


def with_marks(lines: list[str], name: str) -> Iterator[str]:
    """The lines of a file with a mark behind the header of a cell, and before text that enters an open cell.

    A mark names the file, and the section of it where there are some.
    """
    mark, enters = f"# from {name}\n", True
    for line in lines:
        if begun := _SECTION.match(line):
            mark, enters = f"# from {name}#{begun[1]}\n", True
        if _HEADER.match(line):
            yield from (line, mark)
            enters = False
            continue
        if _BRANCH.match(line):
            enters = True
        elif enters and line.strip() and not _STATEMENT.match(line):
            yield mark
            enters = False
        yield line


@pytest.fixture(scope="session")
def pair_of(marked_templates: Path) -> Callable[[Layout], Pair]:
    """Renders the pair of a layout, once."""
    known: dict[str, Pair] = {}

    def rendered(layout: Layout) -> Pair:
        if layout.name not in known:
            every = layout_choices(layout)
            known[layout.name] = {
                (framework, role): notebook
                for framework, choices in every.items()
                for role, notebook in origins(choices, marked_templates).items()
            }
        return known[layout.name]

    return rendered


def origins(choices: Settings, marked: Path) -> dict[Role, Notebook]:
    """The cells of both notebooks of a pair, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installation, "_PACKAGE", marked.parent)
        parts = rendered_parts(choices)
    return {role: dict(_origins(parts[role])) for role in Role}


def _origins(parts: list[Cell]) -> Iterator[tuple[str, Origin]]:
    for cell in parts:
        name, marks = cell.name, _MARK.findall(cell.source)
        assert marks, f"{name} does not say where it stands"
        source = _MARK.sub("", cell.source).strip()
        if source:  # of a cell with imports alone nothing is left
            yield name, Origin(marks[0], frozenset(marks), source, cell.kind is CellKind.CODE)


def differing(first: Notebook, second: Notebook) -> dict[str, list[str]]:
    """The cells that a template of both notebooks writes into one only, or with the same parts otherwise than there."""
    of_both = {cell.template for cell in first.values()} & {cell.template for cell in second.values()}
    found: dict[str, list[str]] = {}
    for name in (first | second).keys() - FILLED_IN:
        cells = [notebook[name] for notebook in (first, second) if name in notebook]
        is_lonely = len(cells) == 1 and cells[0].template in of_both
        is_ambiguous = len({cell.parts for cell in cells}) == 1 and len({cell.source for cell in cells}) > 1
        if is_lonely or is_ambiguous:
            found.setdefault(cells[0].template, []).append(name)
    return found


def marked(notebook: Notebook) -> Notebook:
    """The cells that say that they are the same in both notebooks."""
    return {name: cell for name, cell in notebook.items() if cell.source.startswith(SHARED_MARK)}


def is_of_a_framework(template: str) -> bool:
    return bool({"frameworks", "models", "platforms"} & set(Path(template).parent.parts))


@pytest.mark.slow
@pytest.mark.parametrize("layout", rendered_layouts())
def test_what_both_notebooks_include_is_the_same_in_both_and_says_so(
    layout: Layout, pair_of: Callable[[Layout], Pair]
) -> None:
    pair = pair_of(layout)
    for framework in {framework for framework, _ in pair}:
        train, infer = (pair[framework, role] for role in Role)

        assert differing(train, infer) == {}, framework
        both = {name for name in train.keys() & infer.keys() if train[name].is_code} - FILLED_IN
        assert both == marked(train).keys(), framework
        assert marked(train) == marked(infer) != {}, framework


@pytest.mark.parametrize("layout", rendered_layouts())
def test_only_what_depends_on_the_framework_differs_between_frameworks(
    layout: Layout, pair_of: Callable[[Layout], Pair]
) -> None:
    pair = pair_of(layout)
    # Libraries of boosted trees differ in how they take categories.
    names = sorted({framework for framework, _ in pair if frameworks()[framework].learner == "network"})
    for (one, other), role in product(pairwise(names), Role):
        first, second = pair[one, role], pair[other, role]

        assert differing(first, second) == {}
        for name in (first | second).keys() - FILLED_IN:
            if first.get(name) != second.get(name):
                parts = [notebook[name].parts if name in notebook else frozenset() for notebook in (first, second)]
                differ = parts[0] ^ parts[1]
                assert {part for part in differ if not is_of_a_framework(part)} == set(), name


def test_a_cell_that_is_not_the_same_in_both_notebooks_is_noticed(marked_templates: Path, tmp_path: Path) -> None:
    changed = tmp_path / "templates"
    shutil.copytree(marked_templates, changed)
    choices = gallery_settings("titanic", "keras")
    plain = origins(choices, changed)
    template = list(marked(plain[Role.TRAIN]).values())[-1].template
    mark, file = f"# from {template}\n", changed / template.partition("#")[0]
    branch = '# {% if role == "train" %}\n# changed\n# {% endif %}\n'
    file.write_text(file.read_text().replace(mark, f"{mark}{branch}"))

    found = origins(choices, changed)

    assert differing(plain[Role.TRAIN], plain[Role.INFER]) == {}
    assert list(differing(found[Role.TRAIN], found[Role.INFER])) == [template]
