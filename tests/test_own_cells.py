"""Files of Python beside `pair.toml` take the place of cells, and stay there when a pair is generated again."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from miniature import Outcome

from generator.pair import rendering
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace

METRIC = '''"""Balanced accuracy."""

import numpy as np
from sklearn.metrics import recall_score

HIGHER_IS_BETTER = True


def competition_metric(truth, predictions):
    return float(recall_score(truth, predictions, average="macro"))
'''


@pytest.fixture
def generate(
    tandem: Callable[..., Outcome], workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Generates a pair of `digits` in the current folder."""
    monkeypatch.chdir(workspace_with_data.root)
    return partial(tandem, "generate", "--competition", "digits")


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The notebooks that templates were rendered for, in their order."""
    rendered: list[str] = []
    render_text = rendering.render_text

    def noted(spec: PairSpec, role: Role) -> str:
        rendered.append(role)
        return render_text(spec, role)

    monkeypatch.setattr(rendering, "render_text", noted)
    return rendered


@pytest.fixture
def pair(generate: Callable[..., Outcome], workspace_with_data: Workspace) -> PairFolder:
    """A pair of `digits`."""
    assert generate().code == 0
    return workspace_with_data.pair("digits")


def cells(pair: PairFolder, role: Role) -> dict[str, str]:
    notebook = json.loads(pair.notebook(role).read_text())
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


@pytest.mark.slow
def test_a_metric_of_ones_own_takes_the_place_of_the_rendered_one(
    generate: Callable[..., Outcome], pair: PairFolder
) -> None:
    (pair.path / "metric.py").write_text(METRIC)

    outcome = generate()

    train = cells(pair, Role.TRAIN)
    assert (outcome.code, outcome.err) == (0, "")
    assert 'average="macro"' in train["scoring"]
    assert "import" not in train["scoring"]
    assert "recall_score" in train["imports"]
    assert 'METRIC = "metric.py"' in train["parameters"]
    assert train["metric-meaning"] == "From `metric.py`, beside `pair.toml`."


@pytest.mark.slow
def test_a_model_of_ones_own_is_the_same_in_both_notebooks(generate: Callable[..., Outcome], pair: PairFolder) -> None:
    (pair.path / "build_model.py").write_text("def build_model(**arguments):\n    return keras.Model(**arguments)")

    assert generate().code == 0

    model = cells(pair, Role.TRAIN)["define-model"]
    assert "return keras.Model(**arguments)" in model
    assert "def activate(" in model, "the other parts of the cell stay"
    assert cells(pair, Role.INFER)["define-model"] == model


@pytest.mark.slow
def test_notebooks_are_rendered_once_whatever_is_set_and_whichever_cells_are_ones_own(
    generate: Callable[..., Outcome], pair: PairFolder, notebooks: list[str]
) -> None:
    (pair.path / "metric.py").write_text(METRIC)
    notebooks.clear()

    assert generate("-P", "ACCELERATOR=gpu", "-P", "DROPOUT=0.3", "-P", "EPOCHS=2").code == 0

    assert notebooks == ["train", "infer"]
    assert 'ACCELERATOR = "gpu"' in cells(pair, Role.TRAIN)["parameters"]


@pytest.mark.slow
def test_a_whole_cell_of_ones_own_takes_the_place_of_all_its_parts(
    generate: Callable[..., Outcome], pair: PairFolder
) -> None:
    whole = cells(pair, Role.TRAIN)["define-model"].replace("small_cnn(", "tiny_cnn(")
    (pair.path / "define_model.py").write_text(whole)

    assert generate().code == 0

    assert cells(pair, Role.TRAIN)["define-model"] == whole == cells(pair, Role.INFER)["define-model"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("metrics.py", METRIC, 'does not match a cell. Did you mean "metric.py"?'),
        ("parameters.py", "EPOCHS = 3", "does not match a cell."),
        ("metric.py", "def other():\n    pass", "has to define HIGHER_IS_BETTER and competition_metric"),
        ("metric.py", "def competition_metric(:", "is not valid Python: line 1, "),
    ],
)
def test_a_file_that_cannot_be_a_cell_is_refused(
    generate: Callable[..., Outcome], pair: PairFolder, name: str, text: str, problem: str
) -> None:
    before = pair.notebook(Role.TRAIN).read_bytes()
    (pair.path / name).write_text(text)

    outcome = generate()

    assert outcome.code == 1
    assert f"{name} {problem}" in outcome.err
    assert pair.notebook(Role.TRAIN).read_bytes() == before


def test_a_link_is_not_read(generate: Callable[..., Outcome], pair: PairFolder, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text(METRIC)
    (pair.path / "metric.py").symlink_to(secret)

    outcome = generate()

    assert outcome.code == 1
    assert "metric.py is a link" in outcome.err
    assert "recall_score" not in cells(pair, Role.TRAIN)["imports"]


def edit(pair: PairFolder, role: Role, cell: str, old: str, new: str) -> str:
    """Changes a cell in its notebook, as in JupyterLab, and returns its code."""
    notebook = json.loads(pair.notebook(role).read_text())
    [found] = [each for each in notebook["cells"] if each["id"] == cell]
    code = "".join(found["source"])
    assert old in code
    found["source"] = code.replace(old, new)
    pair.notebook(role).write_text(json.dumps(notebook))
    return str(found["source"])


@pytest.mark.slow
def test_what_was_taken_from_files_is_named(generate: Callable[..., Outcome], pair: PairFolder) -> None:
    assert "come from your files" not in generate().out
    (pair.path / "metric.py").write_text(METRIC)

    assert "These cells come from your files in kernels/digits: metric.py." in generate().out
    assert json.loads(generate("--json").out)["own_cells"] == ["metric.py"]


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
def test_an_edited_cell_that_is_saved_as_a_file_needs_no_force(
    generate: Callable[..., Outcome], pair: PairFolder, role: Role
) -> None:
    code = edit(pair, role, "define-model", "softmax(", "softmax(1.0 * ")
    refused = generate()
    assert refused.code == 1
    assert "save the code of its cell in kernels/digits (define-model as define_model.py)" in refused.err
    (pair.path / "define_model.py").write_text(f"import math\n{code}\n")

    outcome = generate()

    assert (outcome.code, outcome.err) == (0, "")
    for notebook in Role:
        assert "softmax(1.0 * " in cells(pair, notebook)["define-model"]


@pytest.mark.slow
def test_a_file_with_other_code_than_the_edited_cell_still_needs_force(
    generate: Callable[..., Outcome], pair: PairFolder
) -> None:
    code = edit(pair, Role.TRAIN, "define-model", "softmax(", "softmax(1.0 * ")
    for other in (code.replace("1.0", "2.0"), code.replace("1.0 * ", "")):
        (pair.path / "define_model.py").write_text(other)
        assert generate().code == 1
    edit(pair, Role.TRAIN, "define-model", "softmax(", "softmax(  # my note\n        ")
    (pair.path / "define_model.py").write_text(code)
    assert generate().code == 1


def test_an_edit_that_no_file_can_keep_is_offered_none(generate: Callable[..., Outcome], pair: PairFolder) -> None:
    edit(pair, Role.TRAIN, "parameters", "EPOCHS = ", "EPOCHS = 1")

    assert "as parameters.py" not in generate().err
