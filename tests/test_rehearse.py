"""`tandem rehearse`: what would fail on Kaggle is found here, said where and when, and kept from being pushed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome
from runnable_pair import write_pair

from generator.errors import RunError
from generator.pair.workspace import Role, Workspace
from generator.rehearsal.record import cells_of, check_rehearsed, write_record
from generator.rehearsal.sessions import Rehearsal, Trial, Verdict
from generator.rehearsal.training import seen_in

PARAMETERS = """
INPUT_ROOT = "/kaggle/input"
WORKING_ROOT = "/kaggle/working"
ALLOW_CPU = False
EPOCHS = 30
BATCH_SIZE = 2
SUBMISSION_FILE = "submission.csv"
""".strip()

TRAIN = {
    "## Training": "",
    "imports": """
        import hashlib
        import json
        from pathlib import Path

        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
    """,
    "train": """
        spread = NamedSharding(Mesh(jax.devices(), "batch"), PartitionSpec("batch"))
        global_batch, steps_per_epoch, epochs = BATCH_SIZE * jax.device_count(), 2, EPOCHS

        @jax.jit
        def train_step(state, batch):
            return state - 0.1 * (state - batch).mean()

        state, history = jax.numpy.zeros(()), []
        for step in range(epochs * steps_per_epoch):
            batch = jax.device_put(jax.numpy.arange(float(global_batch)), spread)
            state = train_step(state, batch)
            history.append({"loss": float((state - batch).mean()), "score": 0.5})
    """,
    "hand-over": """
        (Path(WORKING_ROOT) / "weights.h5").write_bytes(b"weights")
        digest = hashlib.sha256(b"weights").hexdigest()
        fold = {"score": 0.5, "history": history, "file": "weights.h5", "sha256": digest}
        handoff = {"complete": True, "folds": [fold]}
        handoff["sha256"] = hashlib.sha256(json.dumps(handoff, sort_keys=True).encode()).hexdigest()
        (Path(WORKING_ROOT) / "handoff.json").write_text(json.dumps(handoff))
    """,
}

# A third of the steps has another shape, and what is promised is not written.
FAULTY_TRAIN = {
    **TRAIN,
    "train": TRAIN["train"].replace("float(global_batch)", "float(global_batch * (1 + step % 3 // 2))"),
    "hand-over": TRAIN["hand-over"].replace('write_bytes(b"weights")', 'write_bytes(b"other weights")'),
}

INFER = {
    "## Prediction": "",
    "read": """
        import csv
        from pathlib import Path

        data = Path(INPUT_ROOT, "competitions/tiny")
        if not data.is_dir():
            data = Path("/kaggle/input/competitions/tiny")
        with open(data / "sample_submission.csv") as file:
            header, *sample = csv.reader(file)
        if not sample:
            raise ValueError("The sample has no rows, and there is nothing to predict.")
    """,
    "predict": """
        files = {path.stem: path.read_bytes() for path in sorted((data / "test").iterdir())}
        for name, content in files.items():
            if len(content) < 8:
                raise ValueError(f"{name}.png is cut off.")
        answers = {name: content[0] for name, content in files.items()}
    """,
    "submit": """
        with open(Path(WORKING_ROOT, SUBMISSION_FILE), "w") as file:
            csv.writer(file).writerows([header, *([name, answers[name]] for name, _ in sample)])
    """,
}

# Answers go by the order of the files, whatever the sample asks for.
FAULTY_INFER = {
    **INFER,
    "predict": INFER["predict"].replace(
        "answers = {name: content[0] for name, content in files.items()}",
        "answers = dict(zip([name for name, _ in sample], [content[0] for content in files.values()]))\n"
        "        a_fixed_number = list(files)[3]",
    ),
}


def write_tiny(workspace: Path, train: dict[str, str], infer: dict[str, str], *, is_rerun: bool = True) -> None:
    folder = write_pair(workspace, train=train, infer=infer, parameters=PARAMETERS)
    choices = folder / "pair.toml"
    if is_rerun:
        choices.write_text(choices.read_text().replace("code_competition = false", "code_competition = true"))
    test = workspace / "input" / "competitions" / "tiny" / "test"
    test.mkdir()
    names = ["a", "b", "c", "d", "e", "f"]
    for number, name in enumerate(names):
        (test / f"{name}.png").write_bytes(bytes([65 + number]) * 10)
    (test.parent / "sample_submission.csv").write_text("id,label\n" + "".join(f"{name},0\n" for name in names))


def rehearsed(
    tandem: Callable[..., Outcome], workspace: Path, *, keep: Callable[[str, str], None] = lambda *_: None
) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code of a rehearsal, and its trials by their names."""
    outcome = tandem("rehearse", "tiny", "--workspace", workspace, "--json")
    keep("rehearse", outcome.out)
    told = json.loads(outcome.out)
    return outcome.code, {trial["name"]: trial for trial in (*told["training"], *told["hidden_test"])}


@pytest.mark.slow
def test_a_sound_pair_passes_and_may_be_pushed_until_a_cell_is_changed(
    tandem: Callable[..., Outcome], tmp_path: Path, keep_example: Callable[[str, str], None]
) -> None:
    write_tiny(tmp_path, TRAIN, INFER)

    code, trials = rehearsed(tandem, tmp_path, keep=keep_example)

    assert code == 0
    verdicts = {name: trial["verdict"] for name, trial in trials.items()}
    stopped = {name for name, verdict in verdicts.items() if verdict == "stopped"}
    assert stopped == {"a damaged file", "empty"}
    assert trials["empty"]["found"] == "ValueError: The sample has no rows, and there is nothing to predict."
    assert "in the cell read (Prediction)" in trials["empty"]["when"]
    assert {name for name, verdict in verdicts.items() if verdict == "not tried"} == {
        *("more columns", "missing values", "a new category")
    }
    assert trials["8 devices"]["found"] == "All 8 devices were used, in 4 steps."
    assert trials["10 times larger"]["rows"] == 60
    assert trials["10 times larger"]["peak_memory"] > 2**24
    assert not [path for path in (tmp_path / "output").iterdir() if path.name.startswith(".")]
    check_rehearsed(Workspace(tmp_path), "tiny")
    notebook = tmp_path / "kernels" / "tiny" / "infer" / "infer.ipynb"
    notebook.write_text(notebook.read_text().replace("cut off", "broken"))
    pushed = tandem("push", "tiny", "--rehearsed", "--dry-run", "--workspace", tmp_path)
    assert pushed.code == 1
    assert "The pair tiny was changed after its rehearsal. Run `tandem rehearse tiny` first" in pushed.err


@pytest.mark.slow
def test_inference_that_counts_on_the_order_and_number_of_rows_is_found(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    write_tiny(tmp_path, TRAIN, FAULTY_INFER)

    code, trials = rehearsed(tandem, tmp_path)

    assert code == 1
    failed = {name for name, trial in trials.items() if trial["verdict"] == "failed"}
    assert failed == {"10 times larger", "another order", "one row"}
    assert trials["as it is"]["verdict"] == "passed"
    assert "have another answer than the same example" in trials["another order"]["found"]
    assert trials["another order"]["on_kaggle"].startswith("a wrong score, only in the rerun")
    assert trials["one row"]["found"] == "IndexError: list index out of range"
    assert "in the cell predict (Prediction)" in trials["one row"]["when"]
    page = (tmp_path / "output" / "tiny" / "rehearsal.html").read_text()
    assert "What would have failed on Kaggle" in page
    assert "IndexError: list index out of range" in page


@pytest.mark.slow
def test_where_kaggle_scores_a_file_a_hidden_test_that_fails_is_a_warning_in_terminal_and_page(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    write_tiny(tmp_path, TRAIN, FAULTY_INFER, is_rerun=False)

    outcome = tandem("rehearse", "tiny", "--workspace", tmp_path)

    assert outcome.code == 0, outcome.out + outcome.err
    assert "In this competition Kaggle scores the submission file, and does not run the notebook again" in outcome.out
    assert "trials would have failed on Kaggle, with 3 warnings." in outcome.out
    assert ": failed" not in outcome.err
    assert "one row: warning" in outcome.err
    page = (tmp_path / "output" / "tiny" / "rehearsal.html").read_text()
    assert "with 3 warnings." in page
    assert "What would have failed on Kaggle" not in page


@pytest.mark.slow
def test_training_that_compiles_again_and_breaks_its_promise_is_found(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    write_tiny(tmp_path, FAULTY_TRAIN, INFER)

    code, trials = rehearsed(tandem, tmp_path)

    assert code == 1
    assert trials["compilations"]["found"].startswith("Compiled: train_step 3 times for 2 shapes of its inputs")
    assert trials["the hand-over"]["found"] == "Missing, or with a wrong digest: weights.h5."
    assert trials["as it is"]["verdict"] == "not tried"


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [("nothere", "There is no pair"), ("tiny", "EPOCHS must be at least 1")],
    ids=["no-pair", "no-epochs"],
)
def test_what_is_wrong_is_said_before_anything_begins(
    tandem: Callable[..., Outcome], tmp_path: Path, pair: str, sentence: str
) -> None:
    write_tiny(tmp_path, TRAIN, INFER)

    outcome = tandem("rehearse", pair, "-P", "EPOCHS=0", "--workspace", tmp_path)

    assert outcome.code == 1
    assert sentence in outcome.err
    assert "the training notebook" not in outcome.err


@pytest.mark.parametrize(
    "place", ["input", "input/competitions", "input/competitions/tiny", "kernels/tiny/infer/infer.ipynb"]
)
def test_what_a_link_of_a_sent_workspace_leads_to_is_not_given_to_a_sandbox(
    tandem: Callable[..., Outcome], tmp_path: Path, place: str
) -> None:
    workspace = tmp_path / "workspace"
    write_tiny(workspace, TRAIN, INFER)
    (workspace / place).rename(tmp_path / "elsewhere")
    (workspace / place).symlink_to(tmp_path / "elsewhere")

    outcome = tandem("rehearse", "tiny", "--workspace", workspace)

    assert outcome.code == 1
    assert " is a link" in outcome.err
    assert "the training notebook" not in outcome.err


def result(workspace: Path, verdict: Verdict) -> Rehearsal:
    report = workspace / "output" / "tiny" / "rehearsal.html"
    trial = Trial("as it is", "The public test.", verdict, on_kaggle="Notebook Timeout.")
    return Rehearsal("tiny", "Tiny", "its own data", report, True, training=[trial], hidden_test=[trial])


@pytest.mark.parametrize(
    ("inference", "conclusion"),
    [
        (Verdict.PASSED, "Passed: none of 2 trials would have failed on Kaggle."),
        (Verdict.STOPPED, "Passed: none of 2 trials would have failed on Kaggle."),
        (Verdict.WARNING, "Passed: none of 2 trials would have failed on Kaggle, with 1 warning."),
        (Verdict.FAILED, "Not passed: 1 of 2 trials would have failed on Kaggle."),
        (Verdict.SKIPPED, "Not passed: inference could not be tested."),
    ],
)
def test_the_conclusion_agrees_with_the_verdicts(tmp_path: Path, inference: Verdict, conclusion: str) -> None:
    passed = result(tmp_path, Verdict.PASSED)
    rehearsal = replace(passed, hidden_test=[replace(passed.hidden_test[0], verdict=inference)])

    assert rehearsal.conclusion == conclusion
    assert rehearsal.is_passed == conclusion.startswith("Passed")


def test_what_was_not_rehearsed_or_did_not_pass_is_not_pushed(tmp_path: Path) -> None:
    write_tiny(tmp_path, TRAIN, INFER)
    workspace = Workspace(tmp_path)
    with pytest.raises(RunError, match="was never rehearsed in this workspace"):
        check_rehearsed(workspace, "tiny")

    for verdict in (Verdict.FAILED, Verdict.SKIPPED):
        write_record(result(tmp_path, verdict), cells_of(workspace.pair("tiny")), workspace.files)
        with pytest.raises(RunError, match="did not pass its rehearsal"):
            check_rehearsed(workspace, "tiny")

    write_record(result(tmp_path, Verdict.PASSED), cells_of(workspace.pair("tiny")), workspace.files)
    check_rehearsed(workspace, "tiny")


def test_a_rehearsal_on_made_up_data_counts_where_that_is_said(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    write_tiny(tmp_path, TRAIN, INFER)
    workspace = Workspace(tmp_path)
    on_specimen = replace(result(tmp_path, Verdict.PASSED), specimen=True)
    write_record(on_specimen, cells_of(workspace.pair("tiny")), workspace.files)
    push = ("push", "tiny", "--rehearsed", "--dry-run", "--workspace", tmp_path)

    assert "was only rehearsed on synthetic data, which needs --specimen" in tandem(*push).err
    assert "specimen alone" not in tandem(*push, "--specimen").err


@pytest.mark.parametrize("change", [{"enable_internet": True}, {"dataset_sources": ["ada/wheels"]}])
def test_a_pair_with_another_network_or_other_inputs_is_not_pushed(tmp_path: Path, change: dict[str, Any]) -> None:
    write_tiny(tmp_path, TRAIN, INFER)
    workspace = Workspace(tmp_path)
    write_record(result(tmp_path, Verdict.PASSED), cells_of(workspace.pair("tiny")), workspace.files)
    metadata = workspace.pair("tiny").metadata(Role.INFER)
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), **change}))

    with pytest.raises(RunError, match="was changed after its rehearsal"):
        check_rehearsed(workspace, "tiny")


def test_a_misspelt_pair_is_said_to_be_none(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    write_tiny(tmp_path, TRAIN, INFER)

    assert 'Did you mean "tiny"?' in tandem("push", "tini", "--rehearsed", "--workspace", tmp_path).err


def test_what_a_notebook_prints_beside_is_not_taken_for_what_was_seen() -> None:
    lines = [
        '{"tandem-rehearsal": true, "compiled": [["train_step", "1"], ["train_step", "2"]], "devices": 8}\n',
        '{"tandem-rehearsal": true, "compiled": [["train_step"], 7], "devices": "many"}\n',
        '{"tandem-rehearsal": tr\n',
        "epoch 1\n",
    ]

    seen = seen_in(lines)

    assert (seen.devices, dict(seen.compile_counts), seen.shapes) == (8, {"train_step": 2}, {"train_step": 2})
