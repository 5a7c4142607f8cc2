"""What can be said of the rendered notebooks without running them: order, prose, sizes, and what enters where."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator.competition import builtin
from generator.installation import template_folder
from generator.pair.choices import Choice, Choices, MadeBy, merged, proposed
from generator.pair.kernels import render_kernels
from generator.pair.percent import CellKind, read_cells
from generator.pair.rendering import render_text
from generator.pair.spec import spec_of
from generator.pair.workspace import Role

TEMPLATES = template_folder()
FRAMEWORKS = ("keras", "tensorflow")
BOTH = [(framework, role) for framework in FRAMEWORKS for role in ("train", "infer")]

SECTIONS = {
    "train": ["Training", "Validation", "Hand-over"],
    "infer": ["Hand-over", "Prediction", "Submission"],
}
SHARED_SECTIONS = ["Setup", "Configuration", "Accelerator", "Data", "Model"]

# What Kaggle's images have, so that nothing must be installed where the internet is off.
SHIPPED = {"PIL", "jax", "keras", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "tensorflow"}

HOSTILE = """it's "x" '''\"\"\" {{ 7 * 7 }} {% raw %} {# #} # %% name="evil" \\ \\N 🚀
# %% name="evil"
import os"""


def choices(framework: str = "keras", title: str = "", **task: str) -> Choices:
    digits = builtin.require("digits")
    by_hand = Choices(
        pair={"title": Choice(title, MadeBy.HAND)} if title else {},
        task={name: Choice(value, MadeBy.HAND) for name, value in task.items()},
    )
    owner = Choice("ada", MadeBy.FLAG)
    return merged(proposed(digits.competition, digits.task, framework=framework, owner=owner), by_hand, flags={})


@cache
def notebook(framework: str, role: str) -> dict[str, Any]:
    content = render_kernels(choices(framework))[Path(role, f"{role}.ipynb")]
    return dict(json.loads(content))


def sources(rendered: dict[str, Any], kind: str | None = None) -> dict[str, str]:
    cells = [cell for cell in rendered["cells"] if kind in (None, cell["cell_type"])]
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


def template_texts(pattern: str = "**/*.j2") -> dict[str, str]:
    return {path.relative_to(TEMPLATES).as_posix(): path.read_text() for path in sorted(TEMPLATES.glob(pattern))}


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_the_sections_stand_in_the_same_order_in_both_notebooks(framework: str, role: str) -> None:
    prose = sources(notebook(framework, role), "markdown")
    headings = [line for source in prose.values() for line in source.split("\n") if line.startswith("#")]

    assert headings[0].startswith("# ")
    assert headings[1:] == [f"## {section}" for section in SHARED_SECTIONS + SECTIONS[role]]


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_every_section_begins_with_one_to_four_sentences(framework: str, role: str) -> None:
    for source in sources(notebook(framework, role), "markdown").values():
        if source.startswith("## "):
            heading, blank, *prose = source.split("\n")
            text = re.sub(r"`[^`]*`", "code", " ".join(prose))
            assert blank == ""
            assert 1 <= len(re.findall(r"[.!?](?= [A-Z`*]|$)", text)) <= 4, heading
            assert re.search(r"[.!?]$", text), heading


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_no_cell_is_longer_than_a_screen(framework: str, role: str) -> None:
    lengths = {name: source.count("\n") + 1 for name, source in sources(notebook(framework, role), "code").items()}
    lengths.pop("parameters")  # one value a line, and nothing to understand

    assert {name: length for name, length in lengths.items() if length > 45} == {}


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_a_rendered_notebook_is_clean_and_names_its_kernel(framework: str, role: str) -> None:
    import nbformat

    rendered = notebook(framework, role)

    nbformat.validate(rendered)
    assert rendered["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    code = [cell for cell in rendered["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in rendered["cells"]}) == len(rendered["cells"])


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_the_parameters_are_flat_literals_in_the_one_tagged_cell(framework: str, role: str) -> None:
    rendered = notebook(framework, role)
    tagged = [cell["id"] for cell in rendered["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    assert tagged == ["parameters"]

    values = {}
    for statement in ast.parse(sources(rendered)["parameters"]).body:
        assert isinstance(statement, ast.Assign)
        (target,) = statement.targets
        assert isinstance(target, ast.Name)
        assert target.id.isupper()
        values[target.id] = ast.literal_eval(statement.value)

    items = [item for value in values.values() for item in (value if isinstance(value, list) else [value])]
    assert {type(item) for item in items} <= {bool, int, float, str}
    roots = {"INPUT_ROOT": "/kaggle/input", "WORKING_ROOT": "/kaggle/working", "SMOKE_TEST": False}
    assert {name: values[name] for name in roots} == roots
    knobs = (
        ("IMAGE_SIZE", "BATCH_SIZE", "EPOCHS", "FOLDS", "SEED") if role == "train" else ("BATCH_SIZE", "TTA", "SEED")
    )
    assert [name for name in knobs if name not in values] == []


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


@pytest.mark.parametrize(("framework", "role"), BOTH)
def test_a_notebook_imports_only_what_kaggles_images_ship(framework: str, role: str) -> None:
    code = "\n".join(sources(notebook(framework, role), "code").values())

    packages = {name.split(".")[0] for name in imported(ast.parse(code))}

    assert packages - set(sys.stdlib_module_names) - SHIPPED == set()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_hostile_columns_and_files_change_no_code_but_the_parameters(framework: str) -> None:
    import jupytext

    fields = (
        "id_column",
        "label_separator",
        "train_table",
        "sample_submission",
        "train_folder",
        "test_folder",
        "image_suffix",
    )
    hostile = choices(framework, HOSTILE, **{name: f"{name} {HOSTILE}" for name in fields})
    rendered = render_kernels(hostile)
    spec = spec_of(hostile)

    for role in Role:
        text = render_text(spec, role, TEMPLATES)
        cells = read_cells(text)
        theirs = jupytext.reads(text.lstrip(), fmt="py:percent").cells
        assert [(cell.metadata.get("name"), str(cell.cell_type), cell.source) for cell in theirs] == [
            (cell.name, str(cell.kind), cell.source) for cell in cells
        ]

        plain = notebook(framework, role)
        found = sources(json.loads(rendered[Path(role, f"{role}.ipynb")]))
        assert list(found) == list(sources(plain))
        code = sources(plain, "code")
        assert {name for name in code if found[name] != code[name]} == {"parameters"}
        values = {
            statement.targets[0].id: ast.literal_eval(statement.value)
            for statement in ast.parse(found["parameters"]).body
        }
        assert values["ID_COLUMN"] == f"id_column {HOSTILE}"
        assert values["IMAGE_SUFFIX"] == f"image_suffix {HOSTILE}"
        headings = [line for source in found.values() for line in source.split("\n") if line.startswith("# %%")]
        assert headings == []


@pytest.mark.parametrize("name", template_texts())
def test_a_template_is_python_with_values_in_markdown_and_parameters_only(name: str) -> None:
    text = template_texts()[name]
    ast.parse(text)

    if "/parameters." not in name:
        without_statements = re.sub(r"^# \{[%#].*\n", "", text, flags=re.MULTILINE)
        body = without_statements[without_statements.find("# %%") :] if "# %%" in without_statements else ""
        code = [cell for cell in read_cells(body) if cell.kind is CellKind.CODE] if body else []
        assert [cell.name for cell in code if "{{" in cell.source] == []


def test_the_templates_are_clean() -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", str(TEMPLATES)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_templates_stay_short_and_shallow() -> None:
    for name, text in template_texts().items():
        assert text.count("\n") <= 250, name
        parents = re.findall(r'\{% extends "(.*?)" %\}', text)
        assert all("{% extends" not in (TEMPLATES / parent).read_text() for parent in parents), name
        assert "{% set" not in text, name
        assert "{% macro" not in text, name
        assert "{% for" not in text, name
