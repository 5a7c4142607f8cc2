"""The verb `blend`: what it writes, and which members it refuses."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import Outcome
from recorded_runs import record
from tasks import task_of

from generator.cli.main import main
from generator.competition.facts import Competition
from generator.pair.folder import complete_settings, existing_pair
from generator.pair.generation import render_again
from generator.pair.handover import read_handover
from generator.pair.rendering import kernel_files, rendered_cells
from generator.pair.settings import Origin, SettingValue, propose_settings
from generator.pair.spec import spec_of
from generator.pair.workspace import Role, Workspace
from generator.run.blend import plan_blend, read_results, write_blend
from generator.run.ledger import WeightsState, change_run, hash_training_table, run_folder, training_key

Change = Callable[[dict[str, Any]], None]
MEMBERS = ("tumours-torch", "tumours-lightgbm")


def write_output(
    workspace: Workspace,
    pair: str,
    change: Change = lambda _: None,
    *,
    has_oof: bool = True,
    predictions: Sequence[float] = (0.1, 0.9),
) -> None:
    folder = workspace.output(pair) / Role.TRAIN
    folder.mkdir(parents=True, exist_ok=True)
    if has_oof:
        np.savez(folder / "oof.npz", ids=["a", "b"], predictions=predictions)
    entry = {"file": "oof.npz", "sha256": hashlib.sha256((folder / "oof.npz").read_bytes()).hexdigest()}
    handoff: dict[str, Any] = {
        "complete": True,
        "run_id": "ab" * 8,
        "classes": ["0", "1"],
        "settings": {"DEBUG": False},
    }
    handoff |= {"data_sha256": "ab" * 32, "folds_sha256": "cd" * 32, "folds": [{"score": 0.9}]}
    handoff["out_of_fold"] = {"metric": "auc", "score": 0.8, "predictions": entry}
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


@pytest.fixture
def own_workspace(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A copy of it for a test that changes pairs or records runs."""
    return Workspace(Path(shutil.copytree(workspace.root, tmp_path / "own")))


def notebooks_of(workspace: Workspace, pair: str) -> dict[Role, Path]:
    return {role: existing_pair(workspace, pair).notebook(role) for role in Role}


def blend(workspace: Workspace, *arguments: str) -> int:
    return main(["blend", "both", *arguments, "--workspace", str(workspace.root)])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda h: h.update(data_sha256="ef" * 32), "were trained on different data"),
        (lambda h: h.update(folds_sha256="ef" * 32), "have different ids or folds"),
        (lambda h: h.update(classes=["1", "0"]), "predict different classes, or in another order"),
        (lambda h: h.pop("folds_sha256"), "was trained by an older notebook"),
        (lambda h: h.update(complete=False), "The training of tumours-lightgbm was interrupted. Run"),
        (lambda h: h.update(settings={"DEBUG": True}), "was a smoke test or on a specimen. Run"),
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


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda w: cut(w.output(MEMBERS[1]) / "train/oof.npz"), "oof.npz differs from its handoff.json. Run `tandem"),
        (lambda w: cut(w.output(MEMBERS[1]) / "train/handoff.json"), "handoff.json is damaged. Run `tandem run"),
        (lambda w: write_output(w, MEMBERS[1], predictions=(0.1, np.nan)), "has predictions that are NaN or infinite"),
        (lambda w: shutil.rmtree(w.output(MEMBERS[1])), f"has no run yet. Make one with `tandem run {MEMBERS[1]}`."),
        (lambda w: w.pair(MEMBERS[1]).notebook(Role.TRAIN).unlink(), "train.ipynb does not exist. Write it again with"),
        (lambda w: cut(w.pair(MEMBERS[1]).notebook(Role.TRAIN)), "is not a notebook"),
    ],
)
def test_a_damaged_member_is_refused_before_an_earlier_blend_is_touched(
    own_workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Workspace], None],
    sentence: str,
) -> None:
    write_blend(own_workspace, plan_blend(own_workspace, "both", MEMBERS))
    write_output(own_workspace, "both")
    damage(own_workspace)
    earlier = {path: path.read_bytes() for path in own_workspace.root.rglob("*both*/**/*") if path.is_file()}

    for options in ((), ("--dry-run",)):
        assert blend(own_workspace, *MEMBERS, "--method", "mean", *options) == 1
        assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)

    assert earlier == {path: path.read_bytes() for path in own_workspace.root.rglob("*both*/**/*") if path.is_file()}


@pytest.mark.parametrize("inference", ["first", None])
def test_a_member_whose_notebooks_were_edited_after_its_run_is_refused(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str], inference: str | None
) -> None:
    pair, folder = MEMBERS[1], existing_pair(own_workspace, MEMBERS[1])
    key = training_key(read_handover(own_workspace.output(pair) / Role.TRAIN))
    notebooks = notebooks_of(own_workspace, pair)
    if inference is None:
        del notebooks[Role.INFER]
    keys = {Role.TRAIN: key, Role.INFER: inference or ""}
    content = {name: (own_workspace.output(pair) / "train" / name).read_bytes() for name in ("handoff.json", "oof.npz")}
    record(own_workspace.root, pair=pair, inference=inference, notebooks=notebooks, keys=keys)
    for name, data in content.items():
        (own_workspace.output(pair) / "train" / name).write_bytes(data)
    np.savez(own_workspace.output(pair) / "infer/predictions.npz", predictions=[0.5])
    assert blend(own_workspace, *MEMBERS, "--dry-run") == 0

    for role in Role:
        text = folder.notebook(role).read_text()
        assert "def make_features(" in text
        folder.notebook(role).write_text(text.replace("def make_features(", "def make_features(more, "))
    assert blend(own_workspace, *MEMBERS, "--dry-run") == 1

    error = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert f"The notebooks of {pair} were edited after its run 1. Run `tandem run {pair}`, then blend again." in error


def test_the_dry_run_of_a_blend_says_the_whole_command(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert blend(workspace, *MEMBERS, "--method", "mean", "--dry-run") == 0

    output = capsys.readouterr().out
    assert f"tandem blend both {' '.join(MEMBERS)} --method mean --workspace {workspace.root}" in output
    assert "CV, mean of folds" in output
    assert "0.9000" in output
    assert "0.8000" not in output


def test_generating_over_a_blend_is_refused_with_the_way_to_write_it(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    write_blend(own_workspace, plan_blend(own_workspace, "both", MEMBERS))
    arguments = ["generate", "tumours", "--framework", "lightgbm", "--name", "both"]

    assert main([*arguments, "--workspace", str(own_workspace.root)]) == 1

    sentence = "both is a blend. Choose another --name, or write it again with `tandem blend both …`."
    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


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
        (["tumours-torch"], "2 to 100 members, and this one has 1. Name another pair of the competition"),
        (["tumours-torch", "tumours-torch"], "is in the blend twice"),
        (["tumours-torch", "tumours-lightgbm@4"], "has no runs"),
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


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("metric", '"accuracy"', "has metric = accuracy, and the first member auc: generate both with the same"),
        ("id_column", '"key"', "has id_column = key, and the first member id"),
        ("target_kind", '"mask"', "predicts masks: only classes, labels and numbers"),
        ("platform", '"colab"', "trains on Colab, and a blend attaches outputs of Kaggle kernels"),
    ],
)
def test_a_member_of_another_kind_is_refused(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str], key: str, value: str, sentence: str
) -> None:
    settings = existing_pair(own_workspace, "tumours-lightgbm").settings_path
    text = re.sub(rf"^{key} = .*\n", "", settings.read_text(), flags=re.MULTILINE)
    section = "[pair]\n" if key == "platform" else "[task]\n"
    settings.write_text(text.replace(section, f"{section}{key} = {value}\n"))

    assert blend(own_workspace, *MEMBERS, "--dry-run") == 1

    assert f"tumours-lightgbm {sentence}" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_the_name_of_another_pair_is_refused(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    name = "diabetes-lightgbm"
    assert main(["blend", name, *MEMBERS, "--dry-run", "--workspace", str(workspace.root)]) == 1

    assert f"{name} is a pair already. Choose another name for the blend." in capsys.readouterr().err


def test_a_blend_of_blends_is_refused(own_workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    write_blend(own_workspace, plan_blend(own_workspace, "first", MEMBERS))
    write_output(own_workspace, "first")

    assert blend(own_workspace, "first", MEMBERS[0], "--dry-run") == 1

    assert "first is a blend itself. Name its members instead." in capsys.readouterr().err


def test_a_member_with_magics_is_refused(own_workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = existing_pair(own_workspace, MEMBERS[0]).notebook(Role.INFER)
    notebook.write_text(notebook.read_text().replace('"import json', '"%%time\\n", "import json'))

    assert blend(own_workspace, *MEMBERS, "--dry-run") == 1

    assert "is not plain Python" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_ranks_are_refused_for_a_metric_that_compares_values(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    for pair in MEMBERS:
        settings = existing_pair(own_workspace, pair).settings_path
        settings.write_text(settings.read_text().replace('metric = { value = "auc"', 'metric = { value = "log_loss"'))

    assert blend(own_workspace, *MEMBERS, "--method", "mean", "--method", "rank", "--dry-run") == 1

    assert "Ranks suit areas under curves and Gini coefficients" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_a_blend_warns_of_members_that_are_stale_slow_or_without_weights(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = MEMBERS[1]
    recording = record(
        own_workspace.root,
        pair=pair,
        notebooks=notebooks_of(own_workspace, pair),
        fields={"data_sha256": "ef" * 32},
        seconds={Role.TRAIN: 1.0, Role.INFER: 20 * 3600.0},
    )
    change_run(own_workspace, recording.record, weights=WeightsState.REMOVED)
    write_output(own_workspace, pair)
    folder = run_folder(own_workspace, pair, recording.record.number)
    for name in ("handoff.json", "oof.npz"):
        shutil.copyfile(own_workspace.output(pair) / "train" / name, folder / name)
    (folder / "predictions.npz").unlink()

    assert blend(own_workspace, MEMBERS[0], f"{pair}@1", "--dry-run") == 0

    warnings = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert f"{pair}@1, the newest run, was trained on other data than {MEMBERS[0]} and {pair}@1." in warnings
    assert "The inference of all members took 20.0 h on this machine" in warnings
    command = f"Run `tandem run {MEMBERS[0]}` without --smoke first to measure it."
    assert f"The inference time is unknown for {MEMBERS[0]}. {command}" in warnings
    assert f"The weights of {pair}@1 are not on this machine" in warnings


def test_a_member_that_was_trained_on_another_training_table_is_refused(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = MEMBERS[1]
    table = own_workspace.competition_data("tumours") / "train.csv"
    spec = spec_of(complete_settings(existing_pair(own_workspace, pair)))
    digest, notebooks = hash_training_table(own_workspace, spec), notebooks_of(own_workspace, pair)
    recording = record(own_workspace.root, pair=pair, table_sha256=digest, notebooks=notebooks)
    write_output(own_workspace, pair)
    folder = run_folder(own_workspace, pair, recording.record.number)
    for name in ("handoff.json", "oof.npz"):
        shutil.copyfile(own_workspace.output(pair) / "train" / name, folder / name)
    (folder / "predictions.npz").unlink()
    members = MEMBERS[0], f"{pair}@1"
    assert blend(own_workspace, *members, "--dry-run") == 0

    table.write_text(table.read_text() + "\n")
    assert blend(own_workspace, *members, "--dry-run") == 1

    error = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert f"{pair}@1 was trained on another version of {table}. Run {pair} again" in error


def test_members_without_a_measured_inference_are_named_together(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert blend(workspace, *MEMBERS, "--dry-run") == 0

    names, commands = " and ".join(MEMBERS), " and ".join(f"`tandem run {name}`" for name in MEMBERS)
    sentence = f"The inference times are unknown for {names}. Run {commands} without --smoke first to measure them."
    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_a_blend_whose_cells_somebody_edited_is_not_run_before_its_conflicts_are_resolved(
    own_workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    write_blend(own_workspace, plan_blend(own_workspace, "both", MEMBERS))
    notebook = existing_pair(own_workspace, "both").notebook(Role.TRAIN)
    notebook.write_text(notebook.read_text().replace(r", \"stacking\"", ""))

    assert blend(own_workspace, *MEMBERS, "--method", "mean", "--method", "best") == 1

    assert "Conflicts between your edits and the template" in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_a_blend_is_a_pair_with_its_members_attached_and_their_code_as_text(workspace: Workspace) -> None:
    write_blend(workspace, plan_blend(workspace, "both", MEMBERS))

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


@pytest.mark.parametrize(
    ("kind", "metric", "details", "decision"),
    [
        ("class", "accuracy", {"class_count": 2}, "argmax"),
        ("class", "f1", {"class_count": 2}, "threshold"),
        ("class", "quadratic_weighted_kappa", {"class_count": 5}, "grades"),
        ("labels", "auc_mean_columns", {}, "none"),
        ("labels", "f1_samples", {}, "thresholds"),
        ("number", "rmse", {}, "none"),
        ("number", "rmsle", {}, "none"),
        ("number", "quadratic_weighted_kappa", {}, "rounding"),
    ],
)
def test_a_blend_is_rendered_for_every_target_and_decision(
    tmp_path: Path, kind: str, metric: str, details: dict[str, Any], decision: str
) -> None:
    facts = {"metric": metric, "test_table": "test.csv", "batch_size": 16, "epochs": 2, **details}
    task = task_of("tabular", kind, *(["a", "b"] if kind == "labels" else ["a"]), **facts)
    owner = SettingValue("ada", Origin.FLAG)
    settings = propose_settings(Competition("shops", "Shops", False), task, framework="blend", owner=owner)
    members = [f"{name} kernel=ada/{name}-train family=tabular framework=lightgbm" for name in ("one", "two")]
    members += ["mine dataset=ada/both-members"]
    settings = replace(settings, pair=settings.pair | {"members": SettingValue(members, Origin.FLAG)})

    files = kernel_files(settings, rendered_cells(settings))

    assert spec_of(settings).decision == decision
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    assert main(["check", str(tmp_path)]) == 0


def test_what_somebody_wrote_into_the_members_of_a_blend_is_no_code(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    write_blend(workspace, plan_blend(workspace, "both", MEMBERS, force=True))
    folder = existing_pair(workspace, "both")
    text = folder.settings_path.read_text()
    folder.settings_path.write_text(text.replace("kernel=your-kaggle-username/", "kernel=../../"))

    assert main(["run", "both", "--workspace", str(workspace.root)]) == 1

    assert "is not written as `tandem blend` writes it" in capsys.readouterr().err.replace("\n", " ")


# Members that are files.


IDS = [f"{number:03}" for number in range(40)]
TRUTH = [int(number % 3 == 0) for number in range(40)]
OOF = "id,malignant\n" + "".join(f"{key},{0.3 + 0.4 * TRUTH[int(key)]}\n" for key in IDS)
TEST = "id,malignant\n" + "".join(f"t{key},0.5\n" for key in IDS[:5])


def write_predictions(workspace: Workspace, pair: str = MEMBERS[0], ids: Sequence[str] = IDS) -> None:
    """Write the output of a pair with predictions by which rows with one class are a little more likely of it."""
    train, infer = (workspace.output(pair) / role for role in Role)
    infer.mkdir(parents=True, exist_ok=True)
    second = np.random.default_rng(0).uniform(0.2, 0.7, 40) + 0.1 * np.array(TRUTH)
    arrays: dict[str, Any] = {"ids": ids, "fold": np.arange(40) % 4, "truth": np.array(TRUTH), "rows": np.arange(40)}
    write_output(workspace, pair)
    np.savez(train / "oof.npz", **arrays, predictions=np.stack([1 - second, second], axis=1))
    np.savez(infer / "predictions.npz", ids=[f"t{key}" for key in IDS[:5]])
    entry = {"file": "oof.npz", "sha256": hashlib.sha256((train / "oof.npz").read_bytes()).hexdigest()}
    facts = {"specimen": False, "classes": ["benign", "malignant"], "class_names": ["benign", "malignant"]}
    scores = {"out_of_fold": {"metric": "auc", "score": 0.7, "predictions": entry}, "folds": [{"score": 0.7}]}
    write_output(workspace, pair, lambda handoff: handoff.update(facts | scores), has_oof=False)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ((OOF.replace("000,", "999,", 1), TEST), "other ids than the out-of-fold predictions of the pairs: it lacks 1"),
        ((OOF.replace("000,", "001,", 1), TEST), 'has the id "001" twice'),
        ((OOF + "040,0.5\n", TEST), "it has besides 1 ids of 40, such as 040"),
        ((OOF.replace("0.7", "1.7", 1), TEST), "outside of 0 to 1"),
        ((OOF.replace("0.7", "nan", 1), TEST), 'has "nan" for a prediction'),
        ((OOF.replace("0.7", "much", 1), TEST), 'has "much" for a prediction'),
        (("id,malignant,malignant\n000,0.5,0.5\n", TEST), "has two columns of one name"),
        ((OOF.replace("0.7", "0.7,1", 1), TEST), "has 3 cells, and the header 2"),
        ((OOF.replace("id,", "key,"), TEST), 'has no column "id" with the ids'),
        ((OOF.replace("0.7", "1.0").replace("0.3", "0.0"), TEST), "has the targets themselves"),
        (("id,a,b,c\n000,1,0.5,2\n", TEST), "needs benign, malignant, or one with the probability of malignant"),
        (("id,benign,malignant\n000,0.5,0.6\n", TEST), "do not sum to 1"),
        (("", TEST), 'has no column "id"'),
        ((OOF, TEST.replace("t000", "u000")), "has other ids than the test predictions of the pairs"),
        ((OOF, "id,malignant\n"), "has no rows"),
    ],
)
def test_files_that_are_no_predictions_for_the_rows_of_the_pairs_are_refused_in_one_sentence(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path, texts: tuple[str, str], sentence: str
) -> None:
    write_predictions(workspace)
    for name, text in zip(("oof.csv", "test.csv"), texts, strict=True):
        (tmp_path / name).write_text(text)

    files = ["--oof", f"mine={tmp_path / 'oof.csv'}", "--test", str(tmp_path / "test.csv")]
    assert blend(workspace, MEMBERS[0], *files, "--dry-run") == 1

    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_files_are_refused_where_rows_share_an_id(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_predictions(workspace, ids=["000", *IDS[:-1]])
    (tmp_path / "oof.csv").write_text(OOF)

    files = ["--oof", f"mine={tmp_path / 'oof.csv'}", "--test", str(tmp_path / "oof.csv")]
    assert blend(workspace, MEMBERS[0], *files, "--dry-run") == 1

    sentence = "several of the rows that the pairs were trained on share an id: leave it out"
    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("train/oof.npz", "differs from its handoff.json. Run `tandem run"),
        ("infer/predictions.npz", "is damaged. Run its inference"),
    ],
)
def test_damaged_predictions_of_the_pair_are_named_before_files_are_compared_with_them(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, sentence: str
) -> None:
    write_predictions(workspace)
    (workspace.output(MEMBERS[0]) / file).write_bytes(b"PK")
    for name, text in (("oof.csv", OOF), ("test.csv", TEST)):
        (tmp_path / name).write_text(text)

    files = ["--oof", f"mine={tmp_path / 'oof.csv'}", "--test", str(tmp_path / "test.csv")]
    assert blend(workspace, MEMBERS[0], *files, "--dry-run") == 1

    assert f"{Path(file).name} {sentence}" in re.sub(r"\s+", " ", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (["--oof", "oof.csv"], "There are 1 --oof and 0 --test"),
        (["--oof", "mine=oof.csv", "--test", "absent.csv"], "oof.csv cannot be read"),
        (["--oof", "A B=oof.csv", "--test", "test.csv"], '"A B" cannot be the name of a member'),
        (["--oof", "tumours-torch=oof.csv", "--test", "test.csv"], "is in the blend twice. Name the files with --oof"),
        (["--oof", "a.csv", "--oof", "b/a.csv", "--test", "x", "--test", "y"], "a is in the blend twice"),
    ],
)
def test_members_that_are_files_need_names_and_both_files(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], files: list[str], sentence: str
) -> None:
    write_predictions(workspace)

    assert blend(workspace, MEMBERS[0], *files, "--dry-run") == 1

    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_a_code_competition_refuses_members_that_are_files(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    write_predictions(workspace)
    settings = existing_pair(workspace, MEMBERS[0]).settings_path
    text = settings.read_text()
    try:
        settings.write_text(re.sub(r"(code_competition = \{ value = )false", r"\1true", text))
        assert blend(workspace, MEMBERS[0], "--oof", "a.csv", "--test", "b.csv", "--dry-run") == 1
    finally:
        settings.write_text(text)

    assert "no predictions for the hidden test of a code competition" in re.sub(r"\s+", " ", capsys.readouterr().err)


@pytest.mark.slow
def test_a_model_from_elsewhere_is_blended_by_its_files(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_predictions(workspace)
    lines = OOF.splitlines()
    (tmp_path / "My model.csv").write_text("\n".join([lines[0] + ",fold", *(f"{line},0" for line in lines[:0:-1])]))
    (tmp_path / "test.csv").write_text(TEST)

    options = ["--oof", str(tmp_path / "My model.csv"), "--test", str(tmp_path / "test.csv"), "--method", "best"]
    assert main(["blend", "elsewhere", MEMBERS[0], *options, "--workspace", str(workspace.root)]) == 0

    output = capsys.readouterr()
    assert "that are ignored: fold." in re.sub(r"\s+", " ", output.err)
    members = {entry.text("member"): entry for entry in read_results(workspace, "elsewhere").sections("report")}
    assert members["my-model"].number("weight") == members["my-model"].number("out-of-fold") == 1.0
    folder, dataset = existing_pair(workspace, "elsewhere"), "your-kaggle-username/elsewhere-members"
    for role in Role:
        assert json.loads(folder.metadata(role).read_text())["dataset_sources"] == [dataset]
    files = {path.name: path.read_text() for path in (workspace.input / "datasets" / dataset).iterdir()}
    assert files["my-model.test.csv"].splitlines()[:2] == ["id,benign,malignant", "t000,0.5,0.5"]
    assert json.loads(files["dataset-metadata.json"])["id"] == dataset
    assert main(["check", "elsewhere", "--workspace", str(workspace.root)]) == 0

    earlier = read_handover(workspace.output("elsewhere") / Role.TRAIN)
    (tmp_path / "My model.csv").write_text(OOF.replace("0.7", "0.71"))
    assert main(["blend", "elsewhere", MEMBERS[0], *options, "--workspace", str(workspace.root)]) == 0
    later = read_handover(workspace.output("elsewhere") / Role.TRAIN)
    assert later.run != earlier.run, "weights for other predictions are another run"
    assert later.fields.text("data_sha256") == earlier.fields.text("data_sha256")
