"""Which template a cell comes from: what one template writes for two notebooks is the same in both."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import pytest
from count_notebooks import gallery_choices
from layouts import Layout
from rendered_pairs import ALL_LAYOUTS, layout_choices

from generator.installation import template_folder
from generator.pair.choices import Choices
from generator.pair.kernels import render_kernels
from generator.pair.notebook import written_cells
from generator.pair.shared_cells import SHARED_MARK
from generator.pair.workspace import Role

_HEADER = re.compile(r"^# %%(?=\s).*\n", re.MULTILINE)
_LAYOUT = "_layout.py.j2"
# Of these cells only the header stands in the layout; their text is each notebook's own.
FILLED_IN = {"title", "parameters"}
# What has one name and two texts is written twice on purpose: it does something else in each notebook.
TWICE_ON_PURPOSE = {"accelerator", "framework", "devices", "replicas", "data", "handoff"}


@dataclass(frozen=True)
class Origin:
    """Where a cell comes from, and what it says."""

    template: str
    source: str


Notebook = dict[str, Origin]
Pair = dict[tuple[str, Role], Notebook]
"""Both notebooks of a pair in every framework."""


@pytest.fixture(scope="session")
def marked_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit's templates, in which every cell begins with a line that says which template it stands in."""
    folder = tmp_path_factory.mktemp("marked") / "templates"
    shutil.copytree(template_folder(), folder)
    for path in folder.rglob("*.j2"):
        name = path.relative_to(folder).as_posix()
        path.write_text(_HEADER.sub(lambda header, name=name: f"{header[0]}# from {name}\n", path.read_text()))
    return folder


@pytest.fixture(scope="session")
def pair_of(marked_templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Layout], Pair]:
    """Renders the pair of a layout, once."""
    known: dict[str, Pair] = {}

    def rendered(layout: Layout) -> Pair:
        if layout.name not in known:
            every = layout_choices(layout, tmp_path_factory.mktemp("layout"))
            known[layout.name] = {
                (framework, role): notebook
                for framework, choices in every.items()
                for role, notebook in origins(choices, marked_templates).items()
            }
        return known[layout.name]

    return rendered


def origins(choices: Choices, marked: Path) -> dict[Role, Notebook]:
    """The cells of both notebooks of a pair, by name."""
    files = render_kernels(choices, templates=marked)
    return {role: dict(_origins(files[Path(role, f"{role}.ipynb")])) for role in Role}


def _origins(content: bytes) -> Iterator[tuple[str, Origin]]:
    for name, cell in written_cells(content, path=Path("rendered")).items():
        mark, _, source = cell.source.partition("\n")
        template = mark.removeprefix("# ").removeprefix("from ")
        assert (template_folder() / template).is_file(), f"{name} begins with {mark}"
        yield name, Origin(template, source)


def differing(first: Notebook, second: Notebook) -> dict[str, list[str]]:
    """The cells that a template of both notebooks writes into one only, or otherwise than into the other."""
    of_both = {cell.template for cell in first.values()} & {cell.template for cell in second.values()}
    found: dict[str, list[str]] = {}
    for name in first.keys() | second.keys():
        if first.get(name) != second.get(name) and name not in FILLED_IN:
            for template in {each[name].template for each in (first, second) if name in each} & of_both:
                found.setdefault(template, []).append(name)
    return found


def marked(notebook: Notebook) -> Notebook:
    """The cells that say that they are the same in both notebooks."""
    return {name: cell for name, cell in notebook.items() if cell.source.startswith(SHARED_MARK)}


def shared_code(train: Notebook, infer: Notebook) -> list[str]:
    """The cells that both notebooks have and that define something."""
    return [name for name in train if train[name] == infer.get(name) and "def " in train[name].source]


@pytest.mark.parametrize("layout", ALL_LAYOUTS, ids=lambda layout: layout.name)
def test_what_both_notebooks_include_is_the_same_in_both(layout: Layout, pair_of: Callable[[Layout], Pair]) -> None:
    pair = pair_of(layout)
    for framework in {framework for framework, _ in pair}:
        train, infer = (pair[framework, role] for role in Role)

        assert differing(train, infer) == {}, framework
        twice = {name for name in train.keys() & infer.keys() if train[name] != infer[name]}
        assert twice - FILLED_IN - TWICE_ON_PURPOSE == set(), framework
        assert shared_code(train, infer), framework
        assert marked(train) == marked(infer), framework


@pytest.mark.parametrize("layout", ALL_LAYOUTS, ids=lambda layout: layout.name)
def test_only_what_depends_on_the_framework_differs_between_frameworks(
    layout: Layout, pair_of: Callable[[Layout], Pair]
) -> None:
    pair = pair_of(layout)
    frameworks = sorted({framework for framework, _ in pair})
    for (one, other), role in product(pairwise(frameworks), Role):
        first, second = pair[one, role], pair[other, role]

        assert differing(first, second) == {}
        templates = {
            each[name].template
            for each in (first, second)
            for name in each
            if first.get(name) != second.get(name) and name not in FILLED_IN
        }
        elsewhere = {name for name in templates if not {"frameworks", "models"} & set(Path(name).parent.parts)}
        assert elsewhere == set()


def test_a_cell_that_is_not_the_same_in_both_notebooks_is_noticed(marked_templates: Path, tmp_path: Path) -> None:
    changed = tmp_path / "templates"
    shutil.copytree(marked_templates, changed)
    choices = gallery_choices("digits", "keras")
    plain = origins(choices, changed)
    template = plain[Role.TRAIN][shared_code(plain[Role.TRAIN], plain[Role.INFER])[-1]].template
    text = (changed / template).read_text()
    (changed / template).write_text(f'{text}\n# {{% if role == "train" %}}\n# changed\n# {{% endif %}}\n')

    found = origins(choices, changed)

    assert differing(plain[Role.TRAIN], plain[Role.INFER]) == {}
    assert list(differing(found[Role.TRAIN], found[Role.INFER])) == [template]
