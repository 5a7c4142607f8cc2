"""Reference pairs are what their pair.toml renders to, on every machine."""

from pathlib import Path

import pytest
from miniature import tree_of, write_tree

from generator.errors import CompetitionError, PairError
from generator.pair import reference_pairs
from generator.pair.reference_pairs import EditedPairsError
from generator.pair.settings import SettingError
from generator.pair.workspace import Workspace

DIGITS = '[pair]\ncompetition = "digits"\nowner = "ada"\nflagship = true\n'
TENSORFLOW = '[pair]\ncompetition = "digits"\nframework = "tensorflow"\nowner = "ada"\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two pairs of which nothing is there but their pair.toml."""
    files = {"kernels/digits/pair.toml": DIGITS, "kernels/digits-tensorflow/pair.toml": TENSORFLOW}
    return Workspace(write_tree(tmp_path / "workspace", files))


def test_writing_makes_the_check_pass_and_leaves_pair_toml(workspace: Workspace, miniature_templates: Path) -> None:
    assert len(reference_pairs.compare_files(workspace, reference_pairs.render_pairs(workspace))) == 9

    assert len(reference_pairs.write_reference_pairs(workspace)) == 9

    assert reference_pairs.compare_files(workspace, reference_pairs.render_pairs(workspace)) == {}
    assert reference_pairs.write_reference_pairs(workspace) == []
    assert workspace.pair("digits").settings_path.read_text() == DIGITS


def test_the_root_metadata_is_the_flagships_training_kernel(workspace: Workspace, miniature_templates: Path) -> None:
    reference_pairs.write_reference_pairs(workspace)

    root = (workspace.root / "kernel-metadata.json").read_text()
    train = (workspace.root / "kernels/digits/train/kernel-metadata.json").read_text()
    assert root == train.replace('"train.ipynb"', '"kernels/digits/train/train.ipynb"')
    assert root != train


def test_the_environment_changes_nothing(
    workspace: Workspace, miniature_templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.pair("digits").settings_path.write_text('[pair]\ncompetition = "digits"\n')
    before = reference_pairs.render_pairs(workspace)
    monkeypatch.setenv("KAGGLE_USERNAME", "grace")

    assert reference_pairs.render_pairs(workspace) == before


def test_a_change_is_shown_as_a_unified_diff(workspace: Workspace, miniature_templates: Path) -> None:
    reference_pairs.write_reference_pairs(workspace)
    template = miniature_templates / "infer.py.j2"
    template.write_text(template.read_text().replace("predicting", "foretelling"))

    diffs = reference_pairs.compare_files(workspace, reference_pairs.render_pairs(workspace))

    infer = Path("kernels/digits/infer/infer.ipynb")
    assert set(diffs) == {infer, Path("kernels/digits-tensorflow/infer/infer.ipynb")}
    assert '-    "print(\\"predicting\\", TITLE)"\n+    "print(\\"foretelling\\", TITLE)"\n' in diffs[infer]
    assert diffs[infer].startswith(f"--- {infer} as it is\n+++ {infer} as rendered\n@@")


def test_outputs_in_a_reference_notebook_are_drift_and_are_removed(
    workspace: Workspace, miniature_templates: Path
) -> None:
    reference_pairs.write_reference_pairs(workspace)
    notebook = workspace.root / "kernels/digits/train/train.ipynb"
    notebook.write_text(notebook.read_text().replace('"execution_count": null', '"execution_count": 3'))

    assert reference_pairs.write_reference_pairs(workspace) == [Path("kernels/digits/train/train.ipynb")]


def test_edits_in_one_pair_or_at_the_root_keep_all_from_being_written(
    workspace: Workspace, miniature_templates: Path
) -> None:
    reference_pairs.write_reference_pairs(workspace)
    template = miniature_templates / "infer.py.j2"
    template.write_text(template.read_text().replace("predicting", "foretelling"))
    notebook = workspace.root / "kernels/digits-tensorflow/infer/infer.ipynb"
    root = workspace.root / "kernel-metadata.json"
    notebook.write_text(notebook.read_text().replace("predicting", "guessing"))
    root.write_text(root.read_text().replace('"is_private": true', '"is_private": false'))
    before = tree_of(workspace.root)

    with pytest.raises(EditedPairsError) as caught:
        reference_pairs.write_reference_pairs(workspace)

    assert "kernels/digits-tensorflow/infer/infer.ipynb (cells changed: work)" in str(caught.value)
    assert "  kernel-metadata.json (fields changed: is_private)" in str(caught.value)
    assert "kernels/digits/" not in str(caught.value)
    assert before == tree_of(workspace.root)
    assert len(reference_pairs.write_reference_pairs(workspace, force=True)) == 3


def test_metadata_at_the_root_that_follow_their_pair_are_no_edit(
    workspace: Workspace, miniature_templates: Path
) -> None:
    reference_pairs.write_reference_pairs(workspace)
    choices = workspace.pair("digits").settings_path
    choices.write_text(choices.read_text().replace('"ada"', '"grace"'))

    written = reference_pairs.write_reference_pairs(workspace)

    assert Path("kernel-metadata.json") in written


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('[pair]\nowner = "ada"\n', SettingError, r'pair\.toml: "pair\.competition" is missing'),
        ('[pair]\ncompetition = "digit"\n', CompetitionError, 'Did you mean "digits"'),
        (
            '[pair]\ncompetition = "digits"\nframework = "kears"\n',
            PairError,
            r'pair\.toml: unknown framework "kears"\. .* Did you mean "keras"',
        ),
        (
            '[pair]\ncompetition = "digits"\nframework = "torch"\n',
            PairError,
            'the family "image_classification" has no templates for the framework "torch"',
        ),
    ],
)
def test_a_pair_that_cannot_be_rendered_is_one_sentence(
    workspace: Workspace, miniature_templates: Path, text: str, error: type[Exception], message: str
) -> None:
    workspace.pair("digits").settings_path.write_text(text)

    with pytest.raises(error, match=message):
        reference_pairs.render_pairs(workspace)


def test_two_flagships_are_refused(workspace: Workspace, miniature_templates: Path) -> None:
    workspace.pair("digits-tensorflow").settings_path.write_text(TENSORFLOW + "flagship = true\n")

    with pytest.raises(PairError, match="not digits and digits-tensorflow"):
        reference_pairs.render_pairs(workspace)


def test_a_workspace_without_pairs_is_one_sentence(tmp_path: Path, miniature_templates: Path) -> None:
    with pytest.raises(PairError, match="There is no pair in"):
        reference_pairs.render_pairs(Workspace(tmp_path))
