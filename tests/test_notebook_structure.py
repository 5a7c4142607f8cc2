"""The structure of rendered notebooks, without running them: order, prose, sizes, and what enters where."""

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
from generator.competition.schema import extended_names
from generator.kit_files import all_sections, places, template_folder
from generator.pair.notebook import parse_percent_cells
from generator.pair.rendering import render_kernels, render_text
from generator.pair.settings import Origin, Settings, SettingValue, propose_settings
from generator.pair.spec import spec_of
from generator.pair.workspace import Role

TEMPLATES = template_folder()
PARTS = all_sections(TEMPLATES)
FRAMEWORKS = ("jax", "keras", "tensorflow")
COMPETITIONS = ("digits", "tumours")
ALL = [(slug, framework, role) for slug in COMPETITIONS for framework in FRAMEWORKS for role in ("train", "infer")]

SECTIONS = {
    "train": [
        *("Configuration", "Accelerator", "Data", "Folds", "Model", "Loss, schedule, optimizer", "Training"),
        *("Results", "Save artifacts for inference"),
    ],
    "infer": ["Configuration", "Accelerator", "Data", "Model", "Load and verify artifacts", "Prediction", "Submission"],
}

# What Kaggle's images have, so that nothing must be installed where the internet is off.
SHIPPED = {
    *(
        "PIL",
        "flax",
        "jax",
        "keras",
        "matplotlib",
        "numpy",
        "optax",
        "orbax",
        "pandas",
        "safetensors",
        "scipy",
        "sklearn",
    ),
    "tensorflow",
}

HOSTILE = """it's "x" '''\"\"\" {{ 7 * 7 }} {% raw %} {# #} # %% name="evil" \\ \\N 🚀
# %% name="evil"
import os"""


def choices(slug: str, framework: str = "keras", title: str = "", **task: str | list[str]) -> Settings:
    built_in = builtin.require(slug)
    by_hand = Settings(
        pair={"title": SettingValue(title, Origin.HAND)} if title else {},
        task={name: SettingValue(value, Origin.HAND) for name, value in task.items()},
    )
    owner = SettingValue("ada", Origin.FLAG)
    return propose_settings(built_in.competition, built_in.task, framework=framework, owner=owner).merge(by_hand, {})


@cache
def notebook(slug: str, framework: str, role: str) -> dict[str, Any]:
    content = render_kernels(choices(slug, framework))[Path(role, f"{role}.ipynb")]
    return dict(json.loads(content))


def sources(rendered: dict[str, Any], kind: str | None = None) -> dict[str, str]:
    cells = [cell for cell in rendered["cells"] if kind in (None, cell["cell_type"])]
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


@cache
def template_texts(pattern: str = "**/*.j2") -> dict[str, str]:
    return {path.relative_to(TEMPLATES).as_posix(): path.read_text() for path in sorted(TEMPLATES.glob(pattern))}


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_the_sections_stand_in_the_order_of_their_role(slug: str, framework: str, role: str) -> None:
    prose = sources(notebook(slug, framework, role), "markdown")
    headings = [line for source in prose.values() for line in source.split("\n") if line.startswith("#")]

    assert re.fullmatch(r"# .+: (training|inference)", headings[0])
    assert headings[1:] == [f"## {section}" for section in SECTIONS[role]]


def test_sections_of_both_notebooks_stand_in_the_same_order() -> None:
    of_both = set(SECTIONS["train"]) & set(SECTIONS["infer"])

    train, infer = ([section for section in SECTIONS[role] if section in of_both] for role in ("train", "infer"))

    assert train == infer


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_the_title_says_what_to_do_what_to_change_and_what_comes_out(slug: str, framework: str, role: str) -> None:
    title = sources(notebook(slug, framework, role))["title"]
    other = {"train": f"ada/{slug}-{framework}-infer", "infer": f"ada/{slug}-{framework}-train"}[role]

    _, prose, table = title.split("\n\n")
    assert re.findall(r"\*\*(.+?)\*\*", prose) == ["Fork", {"train": "Tune", "infer": "Edit"}[role], "Output:"]
    assert f"`{other}`" in prose
    names = [line.split(" | ")[0].strip("| ") for line in table.split("\n")]
    assert names[:5] == ["", "---|---", "competition", "task", "metric"]


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_every_section_begins_with_one_to_five_sentences(slug: str, framework: str, role: str) -> None:
    for source in sources(notebook(slug, framework, role), "markdown").values():
        if source.startswith("## "):
            heading, blank, *prose = source.split("\n")
            text = re.sub(r"`[^`]*`|\[.*?\]\(.*?\)", "code", " ".join(prose))
            assert blank == ""
            assert 1 <= len(re.findall(r"[.!?]\)?(?= [A-Z`*(]|$)", text)) <= 5, heading
            assert re.search(r"[.!?]\)?$", text), heading


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_no_cell_is_longer_than_a_screen(slug: str, framework: str, role: str) -> None:
    lengths = {
        name: source.count("\n") + 1 for name, source in sources(notebook(slug, framework, role), "code").items()
    }
    lengths.pop("parameters")  # one value a line, and nothing to understand
    lengths.pop("runtime")  # folded

    assert {name: length for name, length in lengths.items() if length > 45} == {}


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_a_rendered_notebook_is_clean_and_names_its_kernel(slug: str, framework: str, role: str) -> None:
    import nbformat

    rendered = notebook(slug, framework, role)

    nbformat.validate(rendered)
    assert rendered["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    code = [cell for cell in rendered["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in rendered["cells"]}) == len(rendered["cells"])


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_the_parameters_are_flat_literals_in_the_one_tagged_cell(slug: str, framework: str, role: str) -> None:
    rendered = notebook(slug, framework, role)
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
    roots = {"INPUT_ROOT": "/kaggle/input", "WORKING_ROOT": "/kaggle/working", "DEBUG": False}
    assert {name: values[name] for name in roots} == roots
    knobs = {
        ("digits", "train"): {"IMAGE_SIZE", "BATCH_SIZE", "EPOCHS", "N_FOLDS", "SEED", "SESSION_HOURS"},
        ("digits", "infer"): {"BATCH_SIZE", "SKIP_UNREADABLE", "SESSION_HOURS", "ACCEPT_INCOMPLETE"},
        ("tumours", "train"): {"K", "BATCH_SIZE", "EPOCHS", "N_FOLDS", "SEED", "SESSION_HOURS"},
        ("tumours", "infer"): {"BATCH_SIZE", "SESSION_HOURS", "ACCEPT_INCOMPLETE"},
    }
    assert knobs[slug, role] - values.keys() == set()
    code = "\n".join(source for name, source in sources(rendered, "code").items() if name != "parameters")
    unused = {name for name in values if not re.search(rf"\b{name}\b", code)}
    assert unused == set(), "a parameter that nothing reads"


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


@pytest.mark.parametrize(("slug", "framework", "role"), ALL)
def test_a_notebook_imports_only_what_kaggles_images_ship(slug: str, framework: str, role: str) -> None:
    code = "\n".join(sources(notebook(slug, framework, role), "code").values())

    packages = {name.split(".")[0] for name in imported(ast.parse(code))}

    assert packages - set(sys.stdlib_module_names) - SHIPPED == set()


def test_a_served_notebook_imports_what_it_uses_though_nothing_is_to_be_prepared() -> None:
    files = render_kernels(choices("tumours", "jax", inference_server="tumour_inference_server"))

    code = sources(json.loads(files[Path("infer", "infer.ipynb")]), "code")
    assert {"jax", "pandas"} <= set(imported(ast.parse(code["imports"])))


HOSTILE_FIELDS = {
    "digits": ("id_column", "train_table", "sample_submission", "train_folder", "test_folder", "image_suffix"),
    "tumours": ("id_column", "train_table", "test_table", "sample_submission"),
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("slug", COMPETITIONS)
def test_hostile_columns_and_files_change_no_code_but_the_parameters(slug: str, framework: str) -> None:
    hostile = choices(slug, framework, HOSTILE, **{name: f"{name} {HOSTILE}" for name in HOSTILE_FIELDS[slug]})
    rendered = render_kernels(hostile)

    for role in Role:
        plain = notebook(slug, framework, role)
        found = sources(json.loads(rendered[Path(role, f"{role}.ipynb")]))
        assert list(found) == list(sources(plain))
        code = sources(plain, "code")
        assert {name for name in code if found[name] != code[name]} == {"parameters"}
        values = {
            statement.targets[0].id: ast.literal_eval(statement.value)
            for statement in ast.parse(found["parameters"]).body
        }
        assert values["ID_COLUMN"] == f"id_column {HOSTILE}"
        headings = [line for source in found.values() for line in source.split("\n") if line.startswith("# %%")]
        assert headings == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("slug", COMPETITIONS)
def test_jupytext_reads_hostile_columns_and_files_as_the_same_cells(slug: str, framework: str) -> None:
    import jupytext

    spec = spec_of(choices(slug, framework, HOSTILE, **{name: f"{name} {HOSTILE}" for name in HOSTILE_FIELDS[slug]}))
    for role in Role:
        text = render_text(spec, role)
        theirs = jupytext.reads(text.lstrip(), fmt="py:percent").cells
        assert [(cell.metadata.get("name"), str(cell.cell_type), cell.source.strip("\n")) for cell in theirs] == [
            (cell.name, str(cell.kind), cell.source.strip("\n")) for cell in parse_percent_cells(text)
        ]


@pytest.mark.parametrize("file", template_texts())
def test_a_template_is_python_with_values_in_markdown_and_parameters_only(file: str) -> None:
    ast.parse(template_texts()[file])

    for name, text in PARTS.items():
        if name.partition("#")[0] == file and "parameters" not in name:
            plain = re.sub(r"^ *# \{[%#].*\n", "", text, flags=re.MULTILINE)
            _, *cells = re.split(r"^# %% ", plain, flags=re.MULTILINE)
            assert [cell for cell in cells if "{{" in cell and not cell.startswith("[markdown]")] == [], name


def test_the_templates_are_clean() -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", str(TEMPLATES)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_templates_stay_few_short_and_plain() -> None:
    assert len(template_texts()) <= 250
    for name, text in template_texts().items():
        assert text.count("\n") <= 400, name
        assert not re.search("{% (set|macro|for|import|from) |ignore missing", text), name


@cache
def included(part: str) -> list[str]:
    """The parts that a part of a template may include, whatever the variables in their names are."""
    found = []
    for statement in re.findall(r"\{% (?:include|extends) (.*?) %\}", PARTS[part]):
        for name in statement.strip("[]").split(", "):
            if " ~ " in name:
                pattern = "".join(re.escape(one[1:-1]) if one[0] == '"' else r"\w+" for one in name.split(" ~ "))
                parts = [other for other in PARTS if re.fullmatch(pattern, other)]
            else:
                parts = [place for place in places(name.strip('"'), extended_names()) if place in PARTS][:1]
            assert parts or ".j2" not in name, f"{part} includes {name}, which is nowhere"
            found += parts
    return found


def chains(part: str, chain: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """What a template includes, what that includes, and so on: each chain by itself."""
    yield chain
    for other in included(part):
        yield from chains(other, (*chain, other))


def test_every_part_of_a_template_is_in_some_notebook_at_most_three_includes_below_it() -> None:
    tops = {f"{folder}{role}.py.j2" for folder in ("", "frameworks/blend/") for role in Role}
    all_chains = {chain for top in tops for chain in chains(top)}

    assert {chain for chain in all_chains if len(chain) > 3} == set()
    reached = {part for chain in all_chains for part in chain}
    assert PARTS.keys() - reached == tops


def test_every_stream_of_batches_ends_without_delay() -> None:
    # tf.data's autotuning, where it is on, holds up the end of half of the epochs by seconds.
    text = "".join(template_texts().values())
    assert text.count(".prefetch(4)") == text.count(".prefetch(4).with_options(no_autotune)") > 0
