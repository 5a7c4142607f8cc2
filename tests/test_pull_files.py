"""`tandem pull` and `tandem adopt` with notebooks in files: copies of a pair, odd copies, other notebooks."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome, tree_of

Tandem = Callable[..., Outcome]
TRAIN = Path("kernels/digits/train/train.ipynb")


@pytest.fixture(scope="module")
def rendering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the pair of digits, rendered."""
    from generator.cli.main import main

    root = tmp_path_factory.mktemp("pair")
    assert main(["generate", "digits", "--owner", "ada", "--workspace", str(root)]) == 0
    return root / "kernels"


@pytest.fixture
def workspace(rendering: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a workspace with that pair."""
    shutil.copytree(rendering, tmp_path / "kernels")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def copy_of(path: Path, target: str, change: Callable[[dict[str, Any]], object]) -> str:
    """Write a copy of a notebook that was changed, and return its path."""
    notebook = json.loads(path.read_text())
    change(notebook)
    Path(target).write_text(json.dumps(notebook))
    return target


def with_text(name: str, old: str, new: str) -> Callable[[dict[str, Any]], object]:
    """Replace text in a cell."""

    def change(notebook: dict[str, Any]) -> None:
        cell = next(cell for cell in notebook["cells"] if cell["id"] == name)
        source = "".join(cell["source"])
        assert old in source
        cell["source"] = source.replace(old, new, 1)

    return change


def as_in_windows(notebook: dict[str, Any]) -> None:
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")


def sources(path: Path = TRAIN) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]}


def test_line_ends_of_windows_are_no_edits(tandem: Tandem, workspace: Path) -> None:
    before = tree_of(workspace / "kernels")

    outcome = tandem("pull", "digits", "--from", copy_of(TRAIN, "copy.ipynb", as_in_windows), "--yes")

    assert outcome.code == 0
    assert tree_of(workspace / "kernels") == before


def test_a_copy_from_before_a_new_option_brings_its_edits_and_not_the_old_option(
    tandem: Tandem, workspace: Path
) -> None:
    copy = copy_of(TRAIN, "copy.ipynb", with_text("train", "\n", "  # mine\n"))
    assert tandem("generate", "digits", "-P", "IMAGE_SIZE=24", "-P", "EPOCHS=33").code == 0

    outcome = tandem("pull", "digits", "--from", copy, "--yes")

    assert outcome.code == 0, outcome.err
    assert "  # mine\n" in sources()["train"]
    assert "EPOCHS = 33" in sources()["parameters"]
    assert "IMAGE_SIZE = 24" in sources()["parameters"]


def test_a_conflict_that_is_pulled_again_has_one_folded_cell(tandem: Tandem, workspace: Path) -> None:
    copy = copy_of(TRAIN, "copy.ipynb", with_text("train", "\n", "  # other\n"))
    copy_of(TRAIN, str(TRAIN), with_text("train", "\n", "  # mine\n"))

    codes = [tandem("pull", "digits", "--from", copy, "--yes").code for _ in range(3)]

    assert codes == [1, 1, 1]
    assert [name for name in sources() if name.endswith("-other") or "-other-" in name] == ["train-other"]


def test_a_picture_comes_with_the_text_that_shows_it(tandem: Tandem, workspace: Path) -> None:
    picture = {"sketch.png": {"image/png": "aGVsbG8="}}

    def paste(notebook: dict[str, Any]) -> None:
        cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        cell.update(source=["".join(cell["source"]), "\n![](attachment:sketch.png)"], attachments=picture)

    assert tandem("pull", "digits", "--from", copy_of(TRAIN, "copy.ipynb", paste), "--yes").code == 0

    cells = json.loads(TRAIN.read_text())["cells"]
    assert [cell["attachments"] for cell in cells if "attachment:" in "".join(cell["source"])] == [picture]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_text("parameters", "digits-keras-", "digits-jax-"), "belongs to the pair digits-jax-"),
        (with_text("parameters", "PAIR_ID", "# PAIR_ID"), "has no PAIR_ID"),
        (lambda notebook: notebook["metadata"].update(kernelspec={"language": "R"}), "its language is r, not Python"),
    ],
    ids=["another pair", "no pair", "another language"],
)
def test_a_notebook_that_is_no_copy_is_not_merged(
    tandem: Tandem, workspace: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    before = tree_of(workspace / "kernels")

    outcome = tandem("pull", "digits", "--from", copy_of(TRAIN, "copy.ipynb", change), "--role", "train", "--yes")

    assert outcome.code == 1
    assert words in outcome.err
    assert tree_of(workspace / "kernels") == before


def test_the_other_half_is_not_merged_or_adopted(tandem: Tandem, workspace: Path) -> None:
    before = tree_of(workspace / "kernels")
    infer = copy_of(Path("kernels/digits/infer/infer.ipynb"), "copy.ipynb", lambda _: None)

    for verb in (["pull", "digits", "--from", infer, "--yes"], ["adopt", infer, "--name", "fork"]):
        outcome = tandem(*verb, "--role", "train")
        assert outcome.code == 1
        assert "Use --role infer" in outcome.err
    assert "are both train notebooks" in tandem("adopt", str(TRAIN), str(TRAIN), "--name", "fork").err
    assert tree_of(workspace / "kernels") == before


@pytest.mark.parametrize("value", ["2 * 10", "None", "1e999", 'float("nan")'])
def test_a_fork_with_a_parameter_that_is_no_constant_is_a_fork(tandem: Tandem, workspace: Path, value: str) -> None:
    copy = copy_of(TRAIN, "copy.ipynb", with_text("parameters", "EPOCHS = 20", f"EPOCHS = {value}"))

    outcome = tandem("adopt", copy, "--name", "fork", "--owner", "ada")

    assert outcome.code == 0, outcome.err
    assert "a fork of digits-keras-" in outcome.out
    assert f"EPOCHS = {value}" in sources(Path("kernels/fork/train/train.ipynb"))["parameters"]
