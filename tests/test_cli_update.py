"""`update`, `diff` and `undo`: edits and new templates come together, and back again."""

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from miniature import Outcome, tree_of

from generator.pair.workspace import PairFolder, Role, Workspace

Tandem = Callable[..., Outcome]
SHARED = '# %% name="model"\n# The same in both notebooks.\ndef build_model():\n    return 1\n\n'


@pytest.fixture
def pair(
    tandem: Tandem, workspace_with_data: Workspace, miniature_templates: Path, monkeypatch: pytest.MonkeyPatch
) -> PairFolder:
    """A pair from miniature templates, with a cell that both notebooks share, in the current folder."""
    monkeypatch.chdir(workspace_with_data.root)
    layout = miniature_templates / "_layout.py.j2"
    layout.write_text(layout.read_text().replace('# %% name="work"', f'{SHARED}# %% name="work"'))
    assert tandem("generate", "digits", "--name", "digits", "--owner", "ada").code == 0
    return Workspace(Path()).pair("digits")


def sources(pair: PairFolder, role: Role = Role.TRAIN) -> dict[str, str]:
    """The text of each cell of a notebook, which is valid."""
    notebook = nbformat.read(pair.notebook(role), as_version=4)
    nbformat.validate(notebook)
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}


def edit(pair: PairFolder, old: str, new: str, role: Role = Role.TRAIN) -> None:
    path = pair.notebook(role)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def change_template(folder: Path, old: str, new: str, name: str = "_layout.py.j2") -> None:
    path = folder / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_an_update_brings_the_template_keeps_the_edits_and_can_be_undone(
    tandem: Tandem, pair: PairFolder, miniature_templates: Path
) -> None:
    edit(pair, "print(COMPETITION, EPOCHS)", "print(EPOCHS)")
    edit(pair, "IMAGE_SIZE = 16", "IMAGE_SIZE = 24")
    change_template(miniature_templates, "  # both notebooks have it", "  # the same in both")
    change_template(miniature_templates, '# %% name="work"', '# %% name="new"\nprint("new")\n\n# %% name="work"')
    before = tree_of(pair.path)

    shown, preview = tandem("update", "digits", "--dry-run"), tandem("update", "digits", "--dry-run", "--json")
    assert tree_of(pair.path) == before
    assert shown.code == 0
    assert '+++ train/train.ipynb: new\n@@ -0,0 +1 @@\n+print("new")\n' in shown.out
    results = {(change["file"], change["name"]): change["result"] for change in json.loads(preview.out)["changes"]}
    assert results == {
        ("train/train.ipynb", "parameters"): "merged",
        ("train/train.ipynb", "new"): "added",
        ("train/train.ipynb", "work"): "kept",
        ("infer/infer.ipynb", "parameters"): "updated",
        ("infer/infer.ipynb", "new"): "added",
    }

    outcome = tandem("update", "digits")

    assert outcome.code == 0
    assert "To restore the previous files, run: tandem undo digits" in outcome.out
    assert list(sources(pair)) == ["title", "parameters", "model", "new", "work"]
    assert sources(pair)["work"] == "print(EPOCHS)"
    assert "IMAGE_SIZE = 24  # pixels" in sources(pair)["parameters"]
    assert "# the same in both" in sources(pair)["parameters"]
    assert "kernels/digits is up to date." in tandem("update", "digits").out

    after = tree_of(pair.path)
    assert "kernels/digits/train/train.ipynb  restored" in tandem("undo", "digits").out
    assert {path: content for path, content in tree_of(pair.path).items() if "previous" not in path} == before
    assert json.loads(tandem("undo", "digits", "--json").out)["restored"][0] == "kernels/digits/train/train.ipynb"
    assert tree_of(pair.path) == after


def test_a_conflict_keeps_the_edit_says_so_and_exits_with_1(
    tandem: Tandem, pair: PairFolder, miniature_templates: Path
) -> None:
    edit(pair, "print(COMPETITION, EPOCHS)", "print('mine')")
    change_template(miniature_templates, "print(COMPETITION, EPOCHS)", "print(EPOCHS + 1)", "train.py.j2")

    preview, outcome = tandem("update", "digits", "--dry-run", "--json"), tandem("update", "digits")

    assert preview.code == 1
    assert "would conflict with the template in train/train.ipynb: work" in preview.err
    assert {change["reason"] for change in json.loads(preview.out)["changes"]} == {
        'your version is kept; the template\'s text is in the cell "work-template"'
    }
    assert outcome.code == 1
    assert "Conflicts between your edits and the template in train/train.ipynb: work." in outcome.err
    assert sources(pair)["work"] == "print('mine')"
    companion = sources(pair)["work-template"].splitlines()
    assert companion[-1] == "# print(EPOCHS + 1)"
    assert all(line.startswith("#") for line in companion)
    assert tandem("update", "digits").code == 0
    checked = tandem("check", "digits", "--no-compile")
    assert checked.code == 0
    assert "work-template" not in checked.out + checked.err


def test_diff_shows_the_edits_of_one_notebook_or_both(tandem: Tandem, pair: PairFolder) -> None:
    assert tandem("diff", "digits").out == "kernels/digits has no edits.\n"
    edit(pair, "print(COMPETITION, EPOCHS)", "print('mine')")
    pair.metadata(Role.INFER).write_text(
        pair.metadata(Role.INFER).read_text().replace('"is_private": true', '"is_private": false')
    )

    both, train = tandem("diff", "digits").out, tandem("diff", "digits", "--role", "train").out

    assert "--- train/train.ipynb: work\n" in both
    assert "-print(COMPETITION, EPOCHS)\n+print('mine')\n" in both
    assert "+++ infer/kernel-metadata.json: is_private\n@@ -1 +1 @@\n-true\n+false\n" in both
    assert "infer" not in train
    assert [edit["name"] for edit in json.loads(tandem("diff", "digits", "--json").out)["edits"]] == [
        "work",
        "is_private",
    ]


def test_the_id_and_the_text_of_a_cell_send_nothing_to_the_terminal(tandem: Tandem, pair: PairFolder) -> None:
    notebook = json.loads(pair.notebook(Role.TRAIN).read_text())
    own = {"cell_type": "code", "id": "\x1b[2J\u202e", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].append(own | {"source": "print('\x1b]0;owned\x07')"})
    pair.notebook(Role.TRAIN).write_text(json.dumps(notebook))

    diff = tandem("diff", "digits").out

    assert r"+++ train/train.ipynb: \x1b[2J\u202e" in diff
    assert r"+print('\x1b]0;owned\x07')" in diff
    assert not {"\x1b", "\x07", "\u202e"} & set(diff)


@pytest.mark.parametrize("role", list(Role))
def test_the_edit_of_a_shared_cell_is_copied_into_the_other_notebook(
    tandem: Tandem, pair: PairFolder, role: Role
) -> None:
    edit(pair, "return 1", "return 2", role)
    before = sources(pair, role)

    outcome = tandem("update", "digits", "--share", "model")

    assert outcome.code == 0
    assert sources(pair, role) == before
    assert {sources(pair, each)["model"] for each in Role} == {before["model"]}
    assert "No cell differs" in tandem("update", "digits", "--share", "model").out


def test_shared_cells_with_edits_in_both_notebooks_are_merged_or_refused(tandem: Tandem, pair: PairFolder) -> None:
    edit(pair, "return 1", "return 2")
    edit(pair, "return 1", "return 3", Role.INFER)

    refused = tandem("update", "digits", "--share", "model")
    assert (refused.code, sources(pair, Role.INFER)["model"][-1]) == (1, "3")
    assert "tandem update digits --share model --role train" in refused.err

    assert tandem("update", "digits", "--share", "model", "--role", "train").code == 0
    assert {sources(pair, each)["model"][-1] for each in Role} == {"2"}


def test_wrong_names_are_answered_with_the_right_ones(tandem: Tandem, pair: PairFolder) -> None:
    unknown = tandem("update", "digits", "--share", "modle")

    assert unknown.code == 1
    assert 'Did you mean "model"? Shared cells: model.' in unknown.err
    assert tandem("update", "digits", "--role", "train").code == 2
    assert "There is nothing to undo in kernels/digits" in tandem("undo", "digits").err
    assert "There is no pair" in tandem("update", "other").err


def test_a_clone_without_the_copy_of_what_was_rendered_keeps_every_difference(
    tandem: Tandem, pair: PairFolder, miniature_templates: Path
) -> None:
    for path in (pair.state / "rendered").rglob("*"):
        if path.is_file():
            path.unlink()
    change_template(miniature_templates, "print(COMPETITION, EPOCHS)", "print(EPOCHS)", "train.py.j2")

    outcome = tandem("update", "digits")

    assert outcome.code == 0
    assert "counts as your edit" in outcome.err
    assert sources(pair)["work"] == "print(COMPETITION, EPOCHS)"


def test_generate_all_names_the_edited_cells_of_a_pair_whose_copy_of_what_was_rendered_is_damaged(
    tandem: Tandem, pair: PairFolder, miniature_templates: Path
) -> None:
    edit(pair, "print(COMPETITION, EPOCHS)", "print('mine')")
    (pair.state / "rendered" / "train" / "train.ipynb").write_text("{")

    outcome = tandem("generate", "--all")

    assert outcome.code == 1
    assert "cells changed: work" in outcome.err
