"""Nobody's edits are lost, and what was edited is named."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generator.errors import PairError
from generator.files import PathOutsideError
from generator.pair.folder import existing_pair, pair_folder, read_pair_spec
from generator.pair.generation import GenerateOptions, draft, write
from generator.pair.workspace import PairFolder, Role, Workspace

REQUEST = GenerateOptions("digits", values={"owner": "ada"})
TRAIN = Path("train/train.ipynb")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture
def generate(workspace: Workspace, miniature_templates: Path) -> Callable[..., dict[Path, bool]]:
    """Generates with miniature templates, as often as a test likes."""

    def run(**flags: str) -> dict[Path, bool]:
        force = flags.pop("force", "") == "yes"
        settings = workspace.pair("digits").settings_path
        if "framework" in flags and not force and settings.exists():  # by hand: `generate` refuses another framework
            entry = f'framework = {{ value = "{flags["framework"]}", by = "flag" }}'
            settings.write_text(re.sub("^framework = .*", entry, settings.read_text(), flags=re.MULTILINE))
        request = GenerateOptions("digits", name="digits", values={"owner": "ada", **flags}, force=force)
        made = draft(workspace, request)
        write(made)
        return {path: path in made.plan.stale for path in made.plan.files}

    return run


@pytest.fixture
def pair(workspace: Workspace, generate: Callable[..., object]) -> PairFolder:
    """A pair as it was generated."""
    generate()
    return workspace.pair("digits")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> bytes:
    data = json.loads(path.read_bytes())
    change(data)
    path.write_text(json.dumps(data))
    return path.read_bytes()


def with_outputs(notebook: dict[str, Any]) -> None:
    notebook["metadata"]["kernelspec"]["display_name"] = "another"
    notebook["cells"][1]["execution_count"] = 7
    notebook["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x"]}]
    notebook["cells"][1]["source"] = "".join(notebook["cells"][1]["source"])


def test_generating_again_touches_nothing(pair: PairFolder, generate: Callable[..., dict[Path, bool]]) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in pair.path.rglob("*") if path.is_file()}

    assert set(generate().values()) == {False}
    assert before == {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before}


def test_outputs_are_no_edits_and_stay(pair: PairFolder, generate: Callable[..., dict[Path, bool]]) -> None:
    executed = edit(pair.notebook(Role.TRAIN), with_outputs)

    assert generate()[TRAIN] is False
    assert pair.notebook(Role.TRAIN).read_bytes() == executed


def test_an_executed_notebook_is_rendered_anew_when_a_choice_changes(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]]
) -> None:
    edit(pair.notebook(Role.TRAIN), with_outputs)

    assert generate(framework="tensorflow")[TRAIN] is True
    assert b"digits-tensorflow-" in pair.notebook(Role.TRAIN).read_bytes()


def test_edits_stay_where_an_option_changes_and_force_overwrites_them(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]]
) -> None:
    def change(notebook: dict[str, Any]) -> None:
        notebook["cells"][2]["source"] = ["print('mine')"]
        notebook["cells"].append({"cell_type": "code", "id": "my-own", "source": [], "metadata": {}, "outputs": []})
        del notebook["cells"][0]

    edit(pair.notebook(Role.TRAIN), change)
    edit(pair.metadata(Role.INFER), lambda data: data.update(title="Mine", docker_image="x"))

    generate(framework="tensorflow")

    notebook, metadata = (
        json.loads(pair.notebook(Role.TRAIN).read_text()),
        json.loads(pair.metadata(Role.INFER).read_text()),
    )
    assert [cell["id"] for cell in notebook["cells"]] == ["parameters", "work", "my-own"]
    assert "".join(notebook["cells"][1]["source"]) == "print('mine')"
    assert b"digits-tensorflow-" in pair.notebook(Role.TRAIN).read_bytes()
    assert (metadata["title"], metadata["docker_image"]) == ("Mine", "x")
    assert 'framework = { value = "tensorflow"' in pair.settings_path.read_text()

    generate(framework="tensorflow", force="yes")
    assert b"mine" not in pair.notebook(Role.TRAIN).read_bytes()
    assert b"docker_image" not in pair.metadata(Role.INFER).read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda notebook: notebook["cells"].reverse(),
        lambda notebook: notebook["cells"][2].update(cell_type="markdown"),
        lambda notebook: notebook["cells"][2].update(source="mine"),
        lambda notebook: notebook["cells"].clear(),
    ],
    ids=["another order", "another kind", "another text", "no cells"],
)
def test_every_kind_of_edit_stays_byte_for_byte_while_the_template_is_the_same(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]], change: Callable[[dict[str, Any]], object]
) -> None:
    edit(pair.notebook(Role.INFER), change)
    before = pair.notebook(Role.INFER).read_bytes()

    assert set(generate().values()) == {False}
    assert pair.notebook(Role.INFER).read_bytes() == before


def test_what_is_no_notebook_any_more_is_not_overwritten(pair: PairFolder, generate: Callable[..., object]) -> None:
    edit(pair.notebook(Role.INFER), lambda notebook: notebook.update(cells=3))
    before = pair.notebook(Role.INFER).read_bytes()

    with pytest.raises(PairError, match=r"infer\.ipynb is not a notebook: .* Nothing was written\. .*--force"):
        generate(framework="tensorflow")
    assert pair.notebook(Role.INFER).read_bytes() == before


def test_the_same_edit_as_a_new_rendering_is_no_conflict(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]], miniature_templates: Path
) -> None:
    template = miniature_templates / "infer.py.j2"
    template.write_text(template.read_text().replace("predicting", "foretelling"))
    edit(
        pair.notebook(Role.INFER),
        lambda notebook: notebook["cells"][2].update(source='print("foretelling", TITLE)'),
    )

    assert generate()[Path("infer/infer.ipynb")] is False


def test_without_the_kits_copy_a_pair_that_its_own_choices_render_to_counts_as_unedited(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]]
) -> None:
    # This is what a clone has: the generated files are under version control, and the kit's own folder is not.
    shutil.rmtree(pair.state)

    assert generate(title="Other digits")[TRAIN] is True


def test_without_the_kits_copy_an_edit_stays(pair: PairFolder, generate: Callable[..., object]) -> None:
    shutil.rmtree(pair.state)
    edit(pair.notebook(Role.TRAIN), lambda notebook: notebook["cells"][2].update(source="mine"))

    generate(title="Other digits")

    assert b'"mine"' in pair.notebook(Role.TRAIN).read_bytes()
    assert b"Other digits" in pair.notebook(Role.TRAIN).read_bytes()


def test_without_anything_to_compare_with_a_file_that_differs_counts_as_edited(
    pair: PairFolder, generate: Callable[..., object]
) -> None:
    shutil.rmtree(pair.state)
    pair.settings_path.unlink()

    with pytest.raises(PairError, match="cells changed: parameters"):
        generate(framework="tensorflow")


def test_a_notebook_that_was_deleted_is_written_again(
    pair: PairFolder, generate: Callable[..., dict[Path, bool]]
) -> None:
    pair.notebook(Role.TRAIN).unlink()

    written = generate()

    assert [path for path, is_written in written.items() if is_written] == [TRAIN]


def test_an_edit_in_pair_toml_takes_effect_and_stays(
    pair: PairFolder, generate: Callable[..., object], miniature_templates: Path
) -> None:
    text = re.sub("epochs = { value = [0-9]+", "# fewer\nepochs = { value = 5", pair.settings_path.read_text())
    pair.settings_path.write_text(text + "IMAGE_SIZE = 24\n")

    generate()
    generate()

    assert '# fewer\nepochs = { value = 5, by = "hand" }' in pair.settings_path.read_text()
    assert b"EPOCHS = 5" in pair.notebook(Role.TRAIN).read_bytes()
    assert b"IMAGE_SIZE = 24" in pair.notebook(Role.TRAIN).read_bytes()


def test_both_notebooks_of_a_pair_have_its_id(pair: PairFolder) -> None:
    pair_id = read_pair_spec(pair).pair_id

    assert all(pair_id in pair.notebook(role).read_text() for role in Role)


def test_a_pair_that_is_missing_is_told_with_the_pairs_that_are_there(workspace: Workspace, pair: PairFolder) -> None:
    assert existing_pair(workspace, "digits") == pair
    with pytest.raises(PairError, match=r'no pair "digit".*Did you mean "digits"\? .*Existing pairs: digits\.'):
        existing_pair(workspace, "digit")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "x\n"])
def test_a_name_that_leaves_the_folder_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(PairError, match="cannot be the name of a pair"):
        pair_folder(workspace, name)


def test_a_pair_that_is_a_link_to_elsewhere_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "kernels").mkdir(parents=True)
    (workspace.root / "kernels" / "digits").symlink_to(tmp_path)

    with pytest.raises(PathOutsideError):
        pair_folder(workspace, "digits")
