"""The verb `blend`: what it writes, and which members it refuses."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from miniature import Outcome

from generator.cli.main import main
from generator.pair.folder import existing_pair
from generator.pair.generation import render_again
from generator.pair.workspace import Role, Workspace

Change = Callable[[dict[str, Any]], None]
MEMBERS = ("tumours-torch", "tumours-lightgbm")


def write_output(workspace: Workspace, pair: str, change: Change = lambda _: None, *, has_oof: bool = True) -> None:
    folder = workspace.output(pair) / Role.TRAIN
    folder.mkdir(parents=True, exist_ok=True)
    if has_oof:
        np.savez(folder / "oof.npz", ids=["a", "b"])
    handoff: dict[str, Any] = {
        "complete": True,
        "run_id": "ab" * 8,
        "classes": ["0", "1"],
        "settings": {"DEBUG": False},
    }
    handoff |= {"data_sha256": "ab" * 32, "folds_sha256": "cd" * 32, "out_of_fold": {"metric": "auc", "score": 0.9}}
    change(handoff)
    digest = hashlib.sha256(json.dumps(handoff, sort_keys=True).encode()).hexdigest()
    (folder / "handoff.json").write_text(json.dumps({**handoff, "sha256": digest}))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with pairs of two competitions and three frameworks."""
    root = tmp_path_factory.mktemp("blend")
    for competition, framework in (("tumours", "torch"), ("tumours", "lightgbm"), ("diabetes", "lightgbm")):
        arguments = ["generate", "--competition", competition, "--framework", framework, "--workspace", str(root)]
        assert main(arguments) == 0
    return Workspace(root)


@pytest.fixture
def workspace(pairs: Workspace) -> Workspace:
    for pair in (*MEMBERS, "diabetes-lightgbm"):
        write_output(pairs, pair)
    return pairs


def blend(workspace: Workspace, *arguments: str) -> int:
    return main(["blend", "both", *arguments, "--workspace", str(workspace.root)])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda h: h.update(data_sha256="ef" * 32), "were trained on different data"),
        (lambda h: h.update(folds_sha256="ef" * 32), "have different ids or folds"),
        (lambda h: h.update(classes=["1", "0"]), "predict different classes, or in another order"),
        (lambda h: h.pop("folds_sha256"), "was trained by an older notebook"),
        (lambda h: h.update(complete=False), "damaged, interrupted or a smoke test"),
        (lambda h: h.update(settings={"DEBUG": True}), "damaged, interrupted or a smoke test"),
    ],
)
def test_a_member_that_would_hurt_is_refused_in_one_sentence(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], change: Change, sentence: str
) -> None:
    write_output(workspace, "tumours-lightgbm", change)

    assert blend(workspace, *MEMBERS, "--dry-run") == 1

    error = capsys.readouterr().err
    assert sentence in error.replace("\n", " ")
    assert "tumours-lightgbm" in error
    assert not workspace.pair("both").path.exists()


def test_a_blend_has_its_document(
    workspace: Workspace, tandem: Callable[..., Outcome], keep_example: Callable[[str, str], None]
) -> None:
    outcome = tandem("blend", "both", *MEMBERS, "--dry-run", "--json", "--workspace", workspace.root)

    assert [entry["member"] for entry in json.loads(outcome.out)["members"]] == list(MEMBERS)
    keep_example("blend", outcome.out)


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        (["tumours-torch", "diabetes-lightgbm"], "blend pairs of one competition"),
        (["tumours-torch"], "A blend needs 2 to 100 members"),
        (["tumours-torch", "tumours-torch"], "is in the blend twice"),
        (["tumours-torch", "tumours-lightgbm@4"], "has no runs that can be used"),
        (["tumours-torch", "unknown"], 'There is no pair "unknown"'),
    ],
)
def test_members_have_to_be_different_pairs_of_one_competition(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], members: list[str], sentence: str
) -> None:
    assert blend(workspace, *members, "--dry-run") == 1

    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_a_member_without_out_of_fold_predictions_is_refused(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace.output("tumours-lightgbm") / "train/oof.npz").unlink()

    assert blend(workspace, *MEMBERS, "--dry-run") == 1

    assert "tumours-lightgbm has no out-of-fold predictions" in capsys.readouterr().err


def test_a_member_whose_inference_saves_no_predictions_is_refused(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = existing_pair(workspace, "tumours-torch").notebook(Role.INFER)
    text = notebook.read_text()
    try:
        notebook.write_text(text.replace("predictions.npz", "elsewhere.npz"))
        assert blend(workspace, *MEMBERS, "--dry-run") == 1
    finally:
        notebook.write_text(text)

    assert "does not save predictions.npz" in capsys.readouterr().err.replace("\n", " ")


def test_a_blend_is_a_pair_with_its_members_attached_and_their_code_as_text(workspace: Workspace) -> None:
    from generator.run.blend import plan_blend, write_blend

    write_blend(plan_blend(workspace, "both", MEMBERS))

    folder = existing_pair(workspace, "both")
    metadata = {role: json.loads(folder.metadata(role).read_text()) for role in Role}
    trainings = [f"your-kaggle-username/{pair}-train" for pair in MEMBERS]
    assert metadata[Role.TRAIN]["kernel_sources"] == trainings
    assert metadata[Role.INFER]["kernel_sources"] == [metadata[Role.TRAIN]["id"], *trainings]
    assert not metadata[Role.TRAIN]["enable_gpu"]
    assert metadata[Role.INFER]["enable_gpu"]
    cells = {
        cell["id"]: "".join(cell["source"]) for cell in json.loads(folder.notebook(Role.INFER).read_text())["cells"]
    }
    names: dict[str, Any] = {}
    exec(cells["member-code"], names)  # noqa: S102 - the cell that the kit wrote
    infer = json.loads(existing_pair(workspace, "tumours-torch").notebook(Role.INFER).read_text())
    sources = ["".join(cell["source"]) for cell in infer["cells"] if cell["cell_type"] == "code"]
    assert names["MEMBER_CODE"]["tumours-torch"] == sources
    assert {path: folder.path.joinpath(path).read_bytes() for path in render_again(folder)} == render_again(folder)
    for role in Role:
        source = "\n".join("".join(cell["source"]) for cell in json.loads(folder.notebook(role).read_text())["cells"])
        assert not re.search(r"\{\{|\{%", source)
    assert main(["check", "both", "--workspace", str(workspace.root)]) == 0


def test_what_somebody_wrote_into_the_members_of_a_blend_is_no_code(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    from generator.run.blend import plan_blend, write_blend

    write_blend(plan_blend(workspace, "both", MEMBERS, force=True))
    folder = existing_pair(workspace, "both")
    text = folder.settings_path.read_text()
    folder.settings_path.write_text(text.replace("kernel=your-kaggle-username/", "kernel=../../"))

    assert main(["run", "both", "--workspace", str(workspace.root)]) == 1

    assert "is not written as `tandem blend` writes it" in capsys.readouterr().err.replace("\n", " ")
