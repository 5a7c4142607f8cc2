"""`generate` says what it chose and why, and writes what it says."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from miniature import Outcome, python, tree_of, write_tree

from generator.pair.workspace import Role, Workspace

Tandem = Callable[..., Outcome]


@pytest.fixture
def workspace(workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The current folder: a workspace in which the data of `digits` stand already."""
    monkeypatch.chdir(workspace_with_data.root)
    return workspace_with_data


@pytest.fixture
def generate(tandem: Tandem, workspace: Workspace) -> Tandem:
    """Generates a pair of `digits` in the current folder."""
    return partial(tandem, "generate", "--competition", "digits")


def edited(path: Path) -> bytes:
    """What a notebook was before it is edited here."""
    rendered = path.read_bytes()
    path.write_bytes(rendered.replace(b"import json", b"import json  # mine"))
    return rendered


def test_it_writes_the_pair_and_says_what_it_chose(generate: Tandem, workspace: Workspace) -> None:
    outcome = generate("--workspace", workspace.root)

    pair = workspace.pair("digits")
    assert (outcome.code, outcome.err) == (0, "")
    assert all(pair.notebook(role).is_file() and pair.metadata(role).is_file() for role in Role)
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["choice", "value", "by", "evidence"]
    assert any(line.split() == ["framework", "keras", "default"] for line in lines)
    assert any("flip" in line and line.endswith("a mirrored digit is another digit or none") for line in lines)
    assert "To push to Kaggle, generate the pair again with your Kaggle user name: --owner NAME." in lines
    assert lines[-1] == f"Next: tandem run digits --workspace {workspace.root}"


def test_generate_is_a_program_of_its_own(tandem: Tandem, workspace: Workspace) -> None:
    outcome = tandem("--competition", "digits", "--framework", "tensorflow", "--name", "mine", program="generate")

    assert outcome.out.splitlines()[-1] == "Next: tandem run mine"
    assert 'framework = { value = "tensorflow", by = "flag" }' in Path("kernels/mine/pair.toml").read_text()


@pytest.mark.slow
def test_two_pairs_of_one_competition_have_kernels_of_their_own(generate: Tandem, workspace: Workspace) -> None:
    for options in ([], ["--name", "mine"], ["--name", "mine"]):
        assert generate("--owner", "ada", *options).code == 0

    pairs = [workspace.pair(name) for name in ("digits", "mine")]
    said = {(pair.name, role): json.loads(pair.metadata(role).read_text()) for pair in pairs for role in Role}
    assert said["digits", Role.TRAIN]["id"] == "ada/digits-keras-train"
    assert said["mine", Role.TRAIN]["id"] == "ada/mine-keras-train"
    assert said["mine", Role.INFER]["kernel_sources"] == ["ada/mine-keras-train"]


@pytest.mark.slow
def test_a_pair_in_another_framework_stands_beside_the_usual_one(generate: Tandem, workspace: Workspace) -> None:
    for arguments in ([], ["--framework", "tensorflow"], ["--framework", "keras"], ["--framework", "tensorflow"]):
        last = generate(*arguments).out.splitlines()[-1]
        assert last == "Next: tandem run digits" + "-tensorflow" * ("tensorflow" in arguments)

    beside = json.loads(workspace.pair("digits-tensorflow").metadata(Role.TRAIN).read_text())
    assert (beside["id"], beside["title"]) == (
        "your-kaggle-username/digits-tensorflow-train",
        "Digits tensorflow train",
    )
    assert 'value = "keras"' in workspace.pair("digits").settings_path.read_text()
    generate("--name", "digits", "--framework", "tensorflow", "--force")
    assert generate("--framework", "tensorflow").out.splitlines()[-1] == "Next: tandem run digits"


def test_a_pair_of_another_competition_or_framework_is_replaced_only_with_force(
    tandem: Tandem, workspace: Workspace
) -> None:
    tumours = ("generate", "tumours", "--name", "tl", "--workspace", workspace.root)
    diabetes = ("generate", "diabetes", "--name", "tl", "--workspace", workspace.root)
    assert tandem(*tumours, "--framework", "lightgbm").code == 0
    before = tree_of(workspace.pair("tl").path)

    for options, difference in (
        ((*diabetes, "--framework", "lightgbm"), "tl is a pair for tumours, not for diabetes. "),
        ((*diabetes, "--dry-run"), "tl is a pair for tumours, not for diabetes. "),
        ((*tumours, "--framework", "xgboost"), "tl is a pair in lightgbm, not in xgboost. "),
    ):
        refused = tandem(*options)
        assert refused.code == 1
        assert f"{difference}Nothing was written. Choose another --name, or overwrite it with --force." in refused.err
    assert tree_of(workspace.pair("tl").path) == before
    assert tandem(*tumours).code == tandem(*diabetes, "--framework", "xgboost", "--force").code == 0
    assert 'value = "diabetes"' in workspace.pair("tl").settings_path.read_text()


@pytest.mark.slow
def test_two_workspaces_get_the_same_bytes(generate: Tandem, tmp_path: Path, workspace: Workspace) -> None:
    other = Workspace(tmp_path / "other")
    write_tree(other.competition_data("digits"), {"train.csv": ""})
    for each in (workspace, other):
        generate("--workspace", each.root)

    first, second = (tree_of(each.root / "kernels") for each in (workspace, other))
    assert first == second
    assert len(first) == 10


@pytest.mark.slow
def test_the_report_is_there_as_json(generate: Tandem) -> None:
    first, again = (json.loads(generate("--owner", "Ada", "--json").out) for _ in range(2))

    assert first["choices"]["pair"]["owner"] == {"value": "ada", "by": "flag", "evidence": ""}
    assert set(first["files"].values()) == {"written"}
    assert set(again["files"].values()) == {"unchanged"}


@pytest.mark.slow
def test_a_dry_run_writes_nothing(tandem: Tandem, tmp_path: Path) -> None:
    outcome = tandem("generate", "--competition", "digits", "--workspace", tmp_path / "new", "--dry-run")

    assert outcome.code == 0
    assert "would be written" in outcome.out
    assert not (tmp_path / "new").exists()


def test_an_edited_notebook_is_merged_and_its_cells_are_named(generate: Tandem, workspace: Workspace) -> None:
    generate()
    notebook = workspace.pair("digits").notebook(Role.TRAIN)
    edited(notebook)

    merged, again = generate("-P", "EPOCHS=3"), generate("-P", "EPOCHS=3", "--json")

    assert merged.code == 0
    assert ["train/train.ipynb", "runtime", "kept", "your", "edit"] in [
        line.split() for line in merged.out.splitlines()
    ]
    assert "# mine" in notebook.read_text()
    assert "EPOCHS = 3" in notebook.read_text()
    assert json.loads(again.out)["changes"] == [
        {"file": "train/train.ipynb", "name": "runtime", "result": "kept", "reason": "your edit"}
    ]
    assert generate("--force").code == 0
    assert "# mine" not in notebook.read_text()


@pytest.mark.slow
def test_the_data_are_written_on_first_use_only_after_the_pair_is_known_to_be_fine(
    tandem: Tandem, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path)
    write_tree(workspace.pair("digits").path, {"pair.toml": '[pair]\nframework = "kears"\n'})

    refused = tandem("generate", "--competition", "digits", "--workspace", tmp_path)
    assert refused.code == 1
    assert 'pair.toml: unknown framework "kears"' in refused.err
    assert 'Did you mean "keras"?' in refused.err
    assert not workspace.input.exists()

    workspace.pair("digits").settings_path.unlink()
    assert "Writing the data of digits" in tandem("generate", "--competition", "digits", "--workspace", tmp_path).err
    assert len(list(workspace.competition_data("digits").glob("*/*.png"))) == 1797


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--framework", "kears"],
            'Valid values: catboost, jax, keras, lightgbm, tensorflow, torch, xgboost. Did you mean "keras"?',
        ),
        (["--framework", ""], 'unknown framework "". Valid values: catboost'),
        (["--framework", "../x"], 'unknown framework "../x"'),
        (["--family", "../x"], 'unknown family "../x"'),
        (["-P", "INFERENCE_BACKEND=torch"], "trained in keras can only be loaded with keras."),
        (["--framework", "jax", "-P", "INFERENCE_BACKEND=toch"], 'loaded with jax or torch. Did you mean "torch"?'),
        (["--framework", "torch", "--set", "several_hosts=true"], "trains on one host. Set it to false"),
        (["--owner", "a b"], '"a b" is not a Kaggle user name'),
        (["--name", "../x"], '"../x" cannot be the name of a pair'),
        (["--file-name", "../../x.csv"], "--file-name '../../x.csv': it must be the name of a file, without a folder."),
        (["--file-name", "out/x.csv"], "it must be the name of a file"),
        (["--file-name", ".."], "it must be the name of a file"),
        (["--sample", "../x.csv"], "--sample '../x.csv': it must be a path inside of the competition's folder."),
    ],
)
def test_a_wrong_option_is_one_sentence(
    generate: Tandem, workspace: Workspace, arguments: list[str], message: str
) -> None:
    outcome = generate(*arguments)

    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (workspace.root / "kernels").exists()


def test_a_workspace_that_is_a_file_is_refused(tandem: Tandem, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert tandem("generate", "--competition", "digits", "--workspace", tmp_path / "file").code == 2
    below = tandem("generate", "--competition", "digits", "--workspace", tmp_path / "file" / "below")
    assert (below.code, below.err.count("\n")) == (1, 2)
    assert "part of the path is a file" in below.err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--list", "--all"],
        ["--competition", "digits", "--all"],
        ["--list", "--check"],
        ["--all", "--framework", "keras"],
        ["--list", "--force"],
        ["--all", "--check", "--force"],
    ],
)
def test_combinations_that_mean_nothing_are_usage(tandem: Tandem, arguments: list[str]) -> None:
    assert tandem("generate", *arguments).code == 2


def test_list_shows_families_frameworks_and_competitions(tandem: Tandem) -> None:
    text, data = tandem("generate", "--list"), json.loads(tandem("generate", "--list", "--json").out)

    assert "image_classification  jax, keras, tensorflow, torch" in text.out
    assert {framework["name"] for framework in data["frameworks"]} >= {"keras", "tensorflow"}
    assert data["competitions"] == ["diabetes", "digits", "docstrings", "tumours"]
    assert "map@5" in text.out
    assert data["metrics"]["auc"] == "area under the ROC curve"


def test_all_writes_what_its_check_asks_for(tandem: Tandem, tmp_path: Path) -> None:
    write_tree(tmp_path, {"kernels/digits/pair.toml": '[pair]\ncompetition = "digits"\nflagship = true\n'})

    stale = tandem("generate", "--all", "--check", "--workspace", tmp_path)
    written = tandem("generate", "--all", "--workspace", tmp_path)
    fresh = tandem("generate", "--all", "--check", "--workspace", tmp_path)

    assert (stale.code, written.code, fresh.code) == (1, 0, 0)
    assert "+++ kernels/digits/train/train.ipynb as rendered" in stale.out
    assert "kernel-metadata.json  written" in written.out
    assert fresh.out == "All files are up to date.\n"


@pytest.mark.slow
def test_no_verb_overwrites_a_notebook_that_was_edited(tandem: Tandem, generate: Tandem, workspace: Workspace) -> None:
    for name in ("digits", "clean"):
        generate("--name", name, "--owner", "ada")
    # What would be written anew, were it not for the edits in the other pair.
    choices = workspace.pair("clean").settings_path
    choices.write_text(choices.read_text().replace('"ada"', '"grace"'))
    edited(workspace.pair("digits").notebook(Role.TRAIN))
    before = tree_of(workspace.root / "kernels")

    assert tandem("generate", "--competition", "digits").code == 0
    refused = tandem("generate", "--all")
    for verb in (["--dry-run"], ["--check"]):
        tandem("generate", "--all", *verb)
    for verb in (["push", "digits", "--to", "local", "--dry-run"], ["push", "digits", "--workflow", "github"]):
        assert tandem(*verb).code == 0

    assert refused.code == 1
    assert "train/train.ipynb (cells changed: runtime)" in refused.err
    assert "--force" in refused.err
    assert tree_of(workspace.root / "kernels") == before


@pytest.mark.slow
def test_the_check_of_all_pairs_recommends_nothing_that_loses_edits(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tree(tmp_path, {"kernels/digits/pair.toml": '[pair]\ncompetition = "digits"\n'}))
    tandem("generate", "--all")
    notebook = Workspace(tmp_path).pair("digits").notebook(Role.INFER)
    rendered = edited(notebook)

    check = tandem("generate", "--all", "--check")
    assert (check.code, "+++ kernels/digits/infer/infer.ipynb as rendered" in check.out) == (1, True)
    assert "kernels/digits/infer/infer.ipynb (cells changed: runtime)" in check.err
    assert "`tandem generate --all` wrote nothing" in check.err
    report = json.loads(tandem("generate", "--all", "--check", "--json").out)
    assert report["edited"] == {"kernels/digits/infer/infer.ipynb": "cells changed: runtime"}

    forced = tandem("generate", "--all", "--force")
    assert (forced.code, forced.out) == (0, "kernels/digits/infer/infer.ipynb  written\n")
    assert notebook.read_bytes() == rendered


@pytest.mark.slow
def test_generating_imports_nothing_that_is_slow(workspace_with_data: Workspace) -> None:
    script = """
import sys
from generator.cli.main import main
code = main(["generate", "--competition", "digits", "--workspace", sys.argv[1]])
slow = {"nbformat", "jupytext", "papermill", "numpy", "sklearn", "PIL", "rich", "IPython", "jsonschema", "yaml"}
sys.exit(str(slow & set(sys.modules)) if slow & set(sys.modules) else code)
"""
    done = python("-c", script, workspace_with_data.root)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_python_dash_m_is_tandem(workspace_with_data: Workspace) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = python("-m", "generator", "generate", "--competition", "digits", cwd=workspace_with_data.root, env=env)

    assert (done.returncode, done.stderr) == (0, "")
    assert (workspace_with_data.root / "kernels/digits/infer/infer.ipynb").is_file()
