"""Fixes of findings: exact in the text of their files, shown as a diff, written only when that is asked for."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome

from generator.check.checking import fixed_files, replacements
from generator.check.findings import (
    Fix,
    Severity,
    renamed_argument,
    replace_node,
    with_argument,
    with_field,
    with_text,
    without_field,
)
from generator.check.rule import CheckRule, RuleProblem
from generator.check.source import KernelSource, read_target

Tandem = Callable[..., Outcome]
Offer = Callable[[ast.Call], Fix | None]


def calls_of(name: str, offer: Offer) -> CheckRule:
    """A rule that finds every call of a name, and offers a fix."""

    def find(kernel: KernelSource) -> Iterator[RuleProblem]:
        for cell in kernel.code.cells:
            for node in ast.walk(cell.tree):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
                    yield RuleProblem(kernel.code.place(cell, node), "m.", "r.", offer(node))

    return CheckRule("N999", "calls", Severity.WARNING, find)


def notebook_text(sources: list[str | list[str]], **layout: Any) -> str:
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell-{word}",
            "metadata": {},
            "outputs": [],
            "source": each,
        }
        for word, each in zip(("one", "two", "three"), sources, strict=False)
    ]
    spec = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": spec, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, **{"indent": 1, "ensure_ascii": False, **layout})


def fixed_text(path: Path, rule: CheckRule) -> str:
    kernels = read_target(path)
    files = fixed_files(kernels, [finding for kernel in kernels for finding in rule(kernel)])
    return files[0].new if files else path.read_bytes().decode()


DROP: Offer = lambda call: with_argument(call, "drop_remainder=True")  # noqa: E731 - reads as a table
LR: Offer = lambda call: renamed_argument(call, "lr", "learning_rate")  # noqa: E731 - reads as a table


@pytest.mark.parametrize(
    ("name", "offer", "before", "after"),
    [
        ("batch", DROP, "ds = ds.batch(64)", "ds = ds.batch(64, drop_remainder=True)"),
        (
            "batch",
            DROP,
            "ds = ds.batch( 64, )  # eight cores",
            "ds = ds.batch( 64, drop_remainder=True, )  # eight cores",
        ),
        ("batch", DROP, "ds = ds.batch(BATCH := (64))", "ds = ds.batch(BATCH := (64), drop_remainder=True)"),
        ("batch", DROP, "é = '日本'; ds = ds.batch(64) # ü", "é = '日本'; ds = ds.batch(64, drop_remainder=True) # ü"),
        ("batch", DROP, "ds = ds.batch(64, drop_remainder=DROP)", None),
        ("batch", DROP, "ds = ds.batch(64, **options)", None),
        ("batch", DROP, "ds = ds.batch(f(x) for x in y)", None),
        (
            "batch",
            DROP,
            "ds = (\n    ds.map(f)  # a )\n    .batch(\n        64,  # of a core, 8 * 8\n    )\n)",
            "ds = (\n    ds.map(f)  # a )\n    .batch(\n        64, drop_remainder=True,  # of a core, 8 * 8\n    )\n)",
        ),
        ("Adam", LR, "o = Adam(lr=1e-3, decay=lr)", "o = Adam(learning_rate=1e-3, decay=lr)"),
        ("Adam", LR, "o = Adam(f(lr=2), '(lr=3', lr = 1)", "o = Adam(f(lr=2), '(lr=3', learning_rate = 1)"),
        ("Adam", LR, "o = Adam(lr=1, learning_rate=2)", None),
        (
            "array",
            lambda call: replace_node(call.args[1], "float"),
            "a = np.array(x, np.float)",
            "a = np.array(x, float)",
        ),
        (
            "read",
            lambda call: with_text(call, "input/a/", "input/competitions/a/"),
            "x = read(f'{ROOT}/input/a/{n}.csv', 'a')",
            "x = read(f'{ROOT}/input/competitions/a/{n}.csv', 'a')",
        ),
        ("read", lambda call: with_text(call, "a", "b"), "x = read('a', 'a')", None),
    ],
)
@pytest.mark.parametrize("is_list", [True, False], ids=["lines", "text"])
def test_a_fix_changes_what_it_means_and_nothing_else(
    tmp_path: Path, *, name: str, offer: Offer, before: str, after: str | None, is_list: bool
) -> None:
    path = tmp_path / "notebook.ipynb"

    def written(source: str) -> str:
        lines = [f"import os\n\n{source}\nprint('ü')", "!pip list\nx = 1"]
        return notebook_text([each.splitlines(keepends=True) if is_list else each for each in lines]) + "\n"

    path.write_text(written(before))

    assert fixed_text(path, calls_of(name, offer)) == written(before if after is None else after)


@pytest.mark.parametrize(
    "layout",
    [{"indent": 4}, {"indent": None}, {"indent": "\t"}, {"ensure_ascii": True}, {"separators": (",", ":")}],
    ids=str,
)
def test_the_file_keeps_its_layout_its_escapes_and_its_end(tmp_path: Path, layout: dict[str, Any]) -> None:
    source = ['# \U0001f600 / ü \\ "q" \t\n', "ds = ds.batch(64)\n"]
    path = tmp_path / "notebook.ipynb"
    before = notebook_text([source], **layout).replace("/", "\\/")
    path.write_bytes(before.replace("\n", "\r\n").encode())

    after = fixed_text(path, calls_of("batch", DROP))

    assert after == before.replace("\n", "\r\n").replace("batch(64)", "batch(64, drop_remainder=True)")


def test_two_fixes_in_one_line_are_both_made(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(notebook_text(["a = x.batch(1).batch(2)"]))

    assert "a = x.batch(1, drop_remainder=True).batch(2, drop_remainder=True)" in fixed_text(
        path, calls_of("batch", DROP)
    )


def test_cells_that_share_their_id_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(notebook_text(["a = x.batch(1)", "a = x.batch(1)"]).replace("cell-two", "cell-one"))

    assert fixed_text(path, calls_of("batch", DROP)) == path.read_text()


def test_a_script_is_fixed_like_a_cell(tmp_path: Path) -> None:
    metadata = {"id": "ada/some-script", "title": "Some script", "code_file": "s.py", "kernel_type": "script"}
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(metadata | {"language": "python"}))
    (tmp_path / "s.py").write_bytes("é = 1\r\nds = ds.batch(64)\r\n".encode())

    assert fixed_text(tmp_path, calls_of("batch", DROP)) == "é = 1\r\nds = ds.batch(64, drop_remainder=True)\r\n"


@pytest.mark.parametrize(
    ("fix", "before", "after"),
    [
        (with_field("a", value=False), '{"a": "no", "b": 1}', '{"a": false, "b": 1}'),
        (
            with_field("c", value="é"),
            '{\n    "a": 1,\n    "b" : 2\n}\n',
            '{\n    "a": 1,\n    "b" : 2,\n    "c" : "\\u00e9"\n}\n',
        ),
        (with_field("c", value=True), '{\n  "a": 1\n}', '{\n  "a": 1,\n  "c": true\n}'),
        (with_field("l", 1, value="x/y"), '{"l": ["q", "datasets/x/y"]}', '{"l": ["q", "x/y"]}'),
        (without_field("a"), '{"a": {"x": [1, "}"]}, "b": 2}', '{"b": 2}'),
        (without_field("b"), '{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1\n}'),
        (without_field("l", 0), '{"l": [""], "b": 2}', '{"l": [], "b": 2}'),
        (without_field("a") & without_field("b"), '{"z": 1, "a": 1, "b": 2}', '{"z": 1}'),
        (without_field("q"), '{"a": 1}', None),
    ],
)
def test_metadata_keep_their_layout(tmp_path: Path, fix: Fix, before: str, after: str | None) -> None:
    path = tmp_path / "kernel-metadata.json"
    path.write_text(before)

    def find(kernel: KernelSource) -> Iterator[RuleProblem]:
        yield RuleProblem(kernel.in_metadata(), "m.", "r.", fix)

    assert fixed_text(path, CheckRule("M999", "m", Severity.ERROR, find)) == (before if after is None else after)


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(notebook_text(["a = x.batch(1)"]))
    kernels = read_target(path)
    (file,) = fixed_files(kernels, calls_of("batch", DROP)(kernels[0]))
    path.write_text("mine")

    with pytest.raises(Exception, match="was changed while it was checked"):
        file.write()
    assert path.read_text() == "mine"


def test_what_another_program_replaces_is_counted_in_characters_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(notebook_text(["é = '😀'\na = x.batch(1)"]))
    kernels = read_target(path)
    ((_, piece),) = replacements(kernels, calls_of("batch", DROP)(kernels[0]))[0]

    assert path.read_text()[: piece.start].endswith("a = x.batch(1")
    assert piece.new == ", drop_remainder=True"


def test_the_rules_fixes_are_shown_and_then_written(tmp_path: Path, tandem: Tandem) -> None:
    metadata = {
        "id": "ada/old-name",
        "title": "Some kernel",
        "code_file": "notebook.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "enable_tpu": "no",
        "enable_internet": "on",
        "machine_shape": "nvidia_tesla_t4",
        "docker_image": "gcr.io/x@sha256:0",
        "competition_sources": ["competitions/titanic"],
        "dataset_sources": ["ada/books"],
    }
    described = tmp_path / "kernel-metadata.json"
    described.write_text(json.dumps(metadata, indent=4))
    path = tmp_path / "notebook.ipynb"
    path.write_text(
        notebook_text(["from pathlib import Path\nd = Path('/kaggle/input') / 'books' / 'a.csv'\nx = d.read_text()"])
    )
    before = described.read_text(), path.read_text()

    shown = tandem("check", tmp_path, "--diff")
    assert '+    "id": "ada/some-kernel",' in shown.out
    assert "+d = Path('/kaggle/input') / 'datasets/ada/books' / 'a.csv'" in shown.out
    assert (described.read_text(), path.read_text()) == before
    written = tandem("check", tmp_path, "--fix")
    assert json.loads(described.read_text()) == {
        **{name: value for name, value in metadata.items() if name != "docker_image"},
        "id": "ada/some-kernel",
        "enable_tpu": False,
        "enable_internet": True,
        "machine_shape": "NvidiaTeslaT4",
        "competition_sources": ["titanic"],
    }
    assert written.code == 0, written.out
    assert tandem("check", tmp_path, "--fix").out.endswith("No finding has a safe fix.\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import keras\noptimizer = keras.optimizers.Adam(lr=1e-3)",
            "import keras\noptimizer = keras.optimizers.Adam(learning_rate=1e-3)",
        ),
        ("import numpy as np\nx = np.zeros(3, np.float)", "import numpy as np\nx = np.zeros(3, float)"),
        ("import numpy as np\nx = np.NaN", "import numpy as np\nx = np.nan"),
        ("import jax\ny = jax.tree_map(f, x)", "import jax\ny = jax.tree.map(f, x)"),
        # What stands in the place of these is something else.
        ("import numpy as np\nx = np.NINF", None),
        ("import jax\nf = jax.linear_util.wrap_init", None),
        ("import numpy as np\ndef f(x, float=None):\n    return x.astype(np.float)", None),
        ("import numpy as np\nfrom torch import int\nx = np.zeros(3, np.int)", None),
        ("import pandas as pd\nx = pd.date_range(a, b, closed='left')", None),
    ],
)
def test_names_that_went_are_written_as_they_are_called_now(
    tmp_path: Path, tandem: Tandem, before: str, after: str | None
) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(notebook_text([before]))

    assert " is removed since " in tandem("check", path, "--diff").out
    tandem("check", path, "--fix")
    assert json.loads(path.read_text())["cells"][0]["source"] == (after or before)
