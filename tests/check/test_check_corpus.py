"""Every fault of the corpus is found in its place and nothing else; nothing is found in sound notebooks."""

from pathlib import Path

import pytest
from check_corpus import SOUND, Case, cases, sound
from layouts import ALL_LAYOUTS
from miniature import write_tree
from rendered_pairs import layout_choices

from generator.check.checking import check_kernels
from generator.check.findings import Severity
from generator.check.rules import RULES, kernel_files
from generator.check.source import read_notebook, read_pair_sources
from generator.pair.rendering import render_kernels
from generator.pair.workspace import PairFolder


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_in_a_sound_notebook(name: str, tmp_path: Path) -> None:
    assert check_kernels([sound(name).read(tmp_path)]) == []


@pytest.mark.parametrize("tag", ["", ":latest", "@sha256:a2111cb9"])
def test_the_tpus_own_image_may_be_pinned_on_a_tpu(tag: str, tmp_path: Path) -> None:
    kernel = sound("digits-in-keras-on-jax")
    kernel.metadata["docker_image"] = f"gcr.io/kaggle-private-byod/python-tpuvm{tag}"

    assert check_kernels([kernel.read(tmp_path)]) == []


PYTHON_313 = (
    "import cgi\nimport imghdr as ih\nfrom pipes import quote\nimport telnetlib\nprint(cgi, ih, quote, telnetlib)"
)


@pytest.mark.parametrize(
    ("base", "cell", "lines"),
    [
        ("titanic-with-lightgbm", PYTHON_313, [1, 2, 3, 4]),
        ("titanic-with-lightgbm", "import unittest\nunittest.makeSuite(int)", [2]),
        ("titanic-with-lightgbm", "try:\n    import imghdr\nexcept ImportError:\n    imghdr = None", []),
        ("titanic-with-lightgbm", "!pip install standard-telnetlib==3.13.0\nimport telnetlib", []),
        ("digits-in-keras-on-jax", PYTHON_313, []),  # the image of a TPU has Python 3.12
        ("digits-in-keras-on-jax", "import asyncore", [1]),
    ],
)
def test_modules_that_the_python_of_an_image_no_longer_has_are_found(
    base: str, cell: str, lines: list[int], tmp_path: Path
) -> None:
    kernel = sound(base)
    kernel.cells.append({**kernel.cells[-1], "id": "pasted", "source": cell})

    found = [each for each in check_kernels([kernel.read(tmp_path)]) if each.rule in ("N025", "N026")]

    assert [(each.rule, each.place.cell, each.place.line) for each in found] == [
        ("N025", "pasted", line) for line in lines
    ]


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_a_fault_is_found_where_it_is_and_nothing_else(case: Case, tmp_path: Path) -> None:
    found = check_kernels([case.kernel().read(tmp_path)])

    assert len(found) == 1
    assert case.is_found(found[0]), found[0]


def test_every_rule_of_metadata_and_notebooks_has_a_fault() -> None:
    rules = {rule.id for rule in RULES if rule.id[0] in "MN"}

    # The tests below have these, and test_offline_code.py the last one.
    assert rules - {case.rule for case in cases()} == {"N004", "N015", "N027", "N035", "N093", "N065"}


def test_a_notebook_that_is_too_large_to_be_sent_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_files, "_LARGEST", 1_000)  # characters, of a notebook that has more

    assert [each.rule for each in check_kernels([sound("titanic-with-lightgbm").read(tmp_path)])] == ["N004"]


def test_outputs_are_not_sent_and_make_no_notebook_too_large(tmp_path: Path) -> None:
    kernel = sound("titanic-with-lightgbm")
    kernel.cells[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 2_000_000}]

    assert [each.rule for each in check_kernels([kernel.read(tmp_path)])] == ["N007"]


def test_a_notebook_without_metadata_may_be_imported_where_no_kernelspec_is_needed(tmp_path: Path) -> None:
    kernel = sound("titanic-with-lightgbm")
    kernel.notebook = {}
    (found,) = check_kernels([kernel.read(tmp_path)])
    (tmp_path / "kernel-metadata.json").unlink()
    (alone,) = check_kernels([read_notebook(tmp_path / "notebook.ipynb")])

    assert (found.rule, found.severity) == ("N002", Severity.ERROR)
    assert (alone.rule, alone.severity) == ("N002", Severity.WARNING)


def test_code_beyond_a_size_is_said_to_be_left_out_and_searched_for_secrets_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.check.cell_text.MOST_TOKENS", 2_000)
    kernel = sound("titanic-with-lightgbm")
    pasted = ["!pip install tqdm-like", *(f"x_{number} = undefined_{number}" for number in range(1_000))]
    pasted.append("token = 'hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0bX'")
    kernel.cells.insert(1, {**kernel.cells[-1], "id": "pasted", "source": "\n".join(pasted)})

    found = check_kernels([kernel.read(tmp_path)])

    assert {(each.rule, each.place.cell, each.place.line) for each in found} == {
        ("N015", "pasted", 0),
        ("N008", "pasted", 1_002),
        ("N020", "pasted", 1),
    }
    assert next(each.severity for each in found if each.rule == "N015") is Severity.NOTE


@pytest.mark.parametrize(
    "cut",
    [
        "",
        'x = """\n' + "a b c\n" * 1_000 + '"""\n',  # within a text, whose lines look like statements
        "@print\n" * 1_000 + "def decorated(): pass\n",
        "if x:\n    y = 1\nelse:\n" + "    z = 1\n" * 1_000,
    ],
)
def test_the_beginning_of_a_cell_beyond_the_size_is_analysed(
    cut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.check.cell_text.MOST_TOKENS", 2_000)
    kernel = sound("titanic-with-lightgbm")
    code = f"import numpy as np\nx = np.float(3)\n{cut}" + "np.int(4)\n" * 1_000 + "!pip install tqdm-like"
    kernel.cells.append({**kernel.cells[-1], "id": "pasted", "source": code})

    found = check_kernels([kernel.read(tmp_path)])

    assert ("N025", "pasted", 2) in {(each.rule, each.place.cell, each.place.line) for each in found}
    assert ("N020", code.count("\n") + 1) in {(each.rule, each.place.line) for each in found}
    (note,) = [each.message for each in found if each.rule == "N015"]
    assert "This cell is not analysed beyond line" in note


def test_a_module_beside_the_notebook_is_not_pushed(tmp_path: Path) -> None:
    kernel = sound("house-prices-catboost-optuna")
    kernel.cells[-1]["source"] = "import helpers"
    (tmp_path / "helpers.py").write_text("")

    assert "N027" in [each.rule for each in check_kernels([kernel.read(tmp_path)])]


def test_keras_on_tensorflow_does_not_use_a_tpu(tmp_path: Path) -> None:
    kernel = sound("digits-in-keras-on-jax")
    code = "import keras\nnet = keras.Sequential()\nnet.compile('adam', 'mse')\nnet.fit([1], [1], epochs=1)"
    kernel.cells = [{**kernel.cells[0], "source": code}]

    assert "N093" in [each.rule for each in check_kernels([kernel.read(tmp_path)])]


def test_a_training_that_writes_nothing_is_found(tmp_path: Path) -> None:
    kernel = sound("digits-in-keras-on-jax")
    code = "import keras\nnet = keras.Sequential()\nnet.compile('adam', 'mse')\nnet.fit([1], [1], epochs=9)"
    kernel.cells = [{**kernel.cells[0], "source": code}]

    assert "N035" in [each.rule for each in check_kernels([kernel.read(tmp_path)])]


# Between them they have every family, and tables that a gateway hands out.
LAYOUTS = (
    *(
        "titanic",
        "nlp_getting_started",
        "tpu_getting_started",
        "birdclef",
        "salt_identification",
        "ventilator_pressure",
    ),
    *("denoising_dirty_documents", "rows_that_a_gateway_asks_for"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_pairs_of_layouts_could_be_pushed(name: str, tmp_path: Path) -> None:
    layout = next(layout for layout in ALL_LAYOUTS if layout.name == name)
    for framework, choices in layout_choices(layout).items():
        folder = PairFolder(tmp_path / "kernels" / framework)
        write_tree(folder.path, {str(path): content.decode() for path, content in render_kernels(choices).items()})

        assert [each for each in check_kernels(read_pair_sources(folder)) if each.severity is not Severity.NOTE] == []
