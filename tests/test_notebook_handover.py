"""Inference takes what training promised and nothing else, and names both sides of a disagreement."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from notebook_competitions import write_shops
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below, of_shops

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = of_shops("tensorflow", "train"), of_shops("tensorflow", "infer")
KERNEL = "ada/shops-tensorflow-train"


@pytest.fixture
def handed_over(trained: Trained, tmp_path: Path) -> Mirror:
    """A mirror with a finished training of the tensorflow pair."""
    return trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")


@pytest.fixture(params=["keras", "tensorflow"])
def either(request: pytest.FixtureRequest, trained: Trained, tmp_path: Path) -> tuple[str, Mirror]:
    """A framework, and a mirror with a finished training in it."""
    return request.param, trained.mirror(request.param, tmp_path / "mirror", slug="shops")


def refused(
    sessions: Sessions, mirror: Mirror, notebook: Notebook = INFER, *, at: str = "verify", **parameters: str
) -> str:
    """The error that ended inference in this cell, which wrote nothing."""
    ended = sessions.run(notebook, mirror.parameters(notebook, **parameters))
    assert not ended.is_done
    assert names_below(mirror.working) == []
    assert ended.cell == at
    return ended.error


def promise_otherwise(mirror: Mirror, change: Callable[[dict[str, object]], None]) -> None:
    """Changes the hand-over as if training had promised something else: its own hash is right."""
    path = mirror.output_of_training("tensorflow") / "handoff.json"
    handoff = json.loads(path.read_text())
    del handoff["sha256"]
    change(handoff)
    handoff["sha256"] = hashlib.sha256(json.dumps(handoff, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(handoff))


def test_the_output_of_the_other_framework_is_refused(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("keras", tmp_path / "mirror", slug="shops")
    mirror.output_of_training("keras").rename(mirror.output_of_training("tensorflow"))

    error = refused(sessions, mirror)

    assert re.match(r"ValueError: handoff\.json has pair_id shops-keras-\S+, expected shops-tensorflow-", error)


@pytest.mark.parametrize(
    ("function", "cell", "edit"),
    [
        ("make_features", "make-features", ('.fillna("")', '.fillna("?")')),
        ("random_signs", "build-model", ("-1, 1,", "-2, 2,")),
        ("batches_in_order", "batches-in-order", ("prefetch(4)", "prefetch(2)")),
    ],
)
def test_an_edit_of_what_both_notebooks_share_is_noticed_and_named(
    sessions: Sessions, either: tuple[str, Mirror], function: str, cell: str, edit: tuple[str, str]
) -> None:
    framework, mirror = either
    edited = of_shops(framework, "infer", {cell: lambda source: source.replace(*edit)})

    error = refused(sessions, mirror, edited)

    assert re.fullmatch(
        rf"ValueError: {function} differs from the training notebook\. "
        r"Copy its cell from there\.",
        error,
    )


def test_every_function_in_a_cell_that_has_to_be_the_same_is_hashed(sessions: Sessions, handed_over: Mirror) -> None:
    handoff = json.loads((handed_over.output_of_training("tensorflow") / "handoff.json").read_text())
    shared = [source for _, source in INFER.cells({}) if source.startswith("# The same in both notebooks.")]

    functions = {name for source in shared for name in re.findall(r"^def (\w+)", source, re.MULTILINE)}

    assert functions == set(handoff["code"])


@pytest.mark.parametrize(("fold", "factor"), [(0, "float('nan')"), (1, "1.1")])
def test_a_model_that_loads_but_computes_something_else_is_noticed_in_every_fold(
    sessions: Sessions, either: tuple[str, Mirror], fold: int, factor: str
) -> None:
    framework, mirror = either
    other = (
        f"    if entry['fold'] == {fold}:\n        model.set_weights([one * {factor} for one in model.get_weights()])"
    )
    edit = {"load-model": lambda cell: cell.replace("    return model", f"{other}\n    return model")}

    error = refused(sessions, mirror, of_shops(framework, "infer", edit), at="repeat-check")

    assert re.match(
        r"ValueError: The weights load, but predictions differ from training by up to (0\.\d+|nan) "
        r"\(tolerance 0\.001\)\. ",
        error,
    )


def test_the_weights_of_another_fold_are_noticed(sessions: Sessions, handed_over: Mirror) -> None:
    def exchange(handoff: dict[str, object]) -> None:
        one, other = handoff["folds"]
        for name in ("file", "sha256"):
            one[name], other[name] = other[name], one[name]

    promise_otherwise(handed_over, exchange)

    error = refused(sessions, handed_over, at="repeat-check")

    assert error.startswith("ValueError: The weights load, but predictions differ from training by up to ")


def test_training_rows_of_another_order_are_no_other_rows(sessions: Sessions, handed_over: Mirror) -> None:
    header, *rows = (handed_over.competition / "train.csv").read_text().splitlines()
    (handed_over.competition / "train.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")

    sessions.finished(INFER, handed_over.parameters(INFER))

    assert names_below(handed_over.working) == ["predictions.npz", "submission.csv"]


def test_training_that_stopped_itself_is_refused_accepted_on_request_and_finished_by_a_next_session(
    sessions: Sessions, shops: Mirror
) -> None:
    write_shops(shops.competition)
    mount = shops.output_of_training("tensorflow")
    settings = {"EPOCHS": 3, "N_FOLDS": 2, "RESERVE_MINUTES": 10.0}

    stopped = sessions.finished(TRAIN, shops.parameters(TRAIN, **settings, SESSION_HOURS=10 / 60))
    mount.parent.mkdir(parents=True)
    shops.working.rename(mount)
    handoff = json.loads((mount / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"]) == (False, [1, 0])
    run = handoff["run_id"]
    assert stopped.said("train").endswith("\nfold 1: skipped, out of time (0 epochs)")
    assert "Interrupted: attach this output to this notebook" in stopped.said("save-artifacts")

    error = refused(sessions, shops)

    assert error == (
        f"ValueError: Training was interrupted. Attach the output of {KERNEL} to itself "
        "and run that again, or set ACCEPT_INCOMPLETE = True."
    )
    assert sessions.run(INFER, shops.parameters(INFER, ACCEPT_INCOMPLETE=True)).is_done
    shutil.rmtree(shops.working)

    finished = sessions.finished(TRAIN, shops.parameters(TRAIN, **settings))

    assert f"Resuming from {mount}/checkpoints/{run}\n" in finished.said("train")
    assert re.findall(r"fold (\d), epoch +(\d)/3", finished.said("train")) == [
        *(("0", "2"), ("0", "3")),
        *(("1", "1"), ("1", "2"), ("1", "3")),
    ]
    handoff = json.loads((shops.working / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"], handoff["run_id"]) == (True, [3, 3], run)
    assert not (shops.working / "checkpoints" / run).exists()
    shutil.rmtree(mount)
    shops.working.rename(mount)
    assert sessions.run(INFER, shops.parameters(INFER)).is_done
