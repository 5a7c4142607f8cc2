"""A family is a folder: nothing else in the kit knows its name."""

import ast
import shutil
from pathlib import Path

import pytest
from layouts import LAYOUTS, Layout

from generator.competition import schema
from generator.competition.facts import Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.schema import families
from generator.competition.specimen import write_specimen
from generator.competition.survey import survey_folder
from generator.kit_files import template_folder

PACKAGE = Path(__file__).resolve().parents[1] / "generator"
BUILT_IN = PACKAGE / "competition" / "builtin"  # whose task says which family it is
# What an example is called as well, and what columns and folders may be: where these are no names they are values of
# `Medium`, kinds of columns and words, and nothing is compared with them.
ORDINARY = {"audio", "segmentation", "sequence", "text"}
ONE_OF_EACH = {layout.record["choices"]["family"][0]: layout for layout in LAYOUTS}


def test_no_module_names_a_family() -> None:
    unmistakable = set(families()) - ORDINARY
    for module in (path for path in PACKAGE.rglob("*.py") if BUILT_IN not in path.parents):
        text = module.read_text()
        if any(name in text for name in unmistakable):
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
            assert {node.value for node in nodes} & unmistakable == set(), module


@pytest.mark.slow
@pytest.mark.parametrize("package", ["competition", "pair"])
def test_nothing_is_compared_with_a_family(package: str) -> None:
    for module in (PACKAGE / package).rglob("*.py"):
        compared = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Compare)]
        constants = {each.value for node in compared for each in ast.walk(node) if isinstance(each, ast.Constant)}
        assert constants & set(families()) == set(), module


def test_every_family_has_a_layout() -> None:
    assert set(ONE_OF_EACH) == set(families())


@pytest.fixture(scope="module")
def originals() -> dict[str, Task]:
    """The task of each layout, by the family as the kit names it."""
    return {family: layout.read().task for family, layout in ONE_OF_EACH.items()}


@pytest.fixture
def renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kit's families, each with another name."""
    for name in families():
        own = shutil.copytree(template_folder() / "families" / name, tmp_path / "templates" / "families" / f"my_{name}")
        declared = (own / "family.toml").read_text()
        (own / "family.toml").write_text(declared.replace('extends = "', 'extends = "my_'))
    shutil.copy(template_folder() / "families" / "common.toml", tmp_path / "templates" / "families")
    monkeypatch.setattr(schema, "template_folder", lambda: tmp_path / "templates")


@pytest.mark.parametrize(("family", "layout"), ONE_OF_EACH.items(), ids=ONE_OF_EACH)
def test_a_family_of_another_name_is_found_and_made_up_as_well(
    originals: dict[str, Task], renamed: None, family: str, layout: Layout, tmp_path: Path
) -> None:
    task = layout.read().task

    assert task.family == f"my_{family}"
    assert task.details == originals[family].details
    specimen = write_specimen(layout.survey, task, tmp_path / "specimen", rows=60, seed=1, signal=True)
    hints = Hints(slug="any", metric_text=layout.metric)
    assert read_task(survey_folder(specimen.folder), hints).task.family == task.family


@pytest.mark.usefixtures("renamed")
def test_the_user_decides_for_a_family_of_another_name() -> None:
    hints = Hints(slug="any", overrides={"family": "my_image_regression"})

    task = read_task(ONE_OF_EACH["image_regression"].survey, hints).task

    assert (task.family, str(task.target_kind)) == ("my_image_regression", "number")
