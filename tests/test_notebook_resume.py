"""A training that was killed goes on where it was, in the same folder or with its output attached."""

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from notebook_competitions import write_shops
from notebook_frameworks import Ended
from notebook_session import Mirror, Sessions, arrays_in, names_below, needs_torch, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

EPOCHS = 6
SETTINGS = {"EPOCHS": EPOCHS, "FOLDS": 2}
LOOK = "[[[epoch['loss'], epoch['score']] for epoch in history] for history in histories]"

KILL_AT = """
import os
import signal
kept = write_json
def write_json(path, value):
    kept(path, value)
    if path.parent.name == "fold{fold}" and path.name == "history.json" and len(value) == {epoch}:
        # As if it had been killed in the middle of a write.
        (path.parent / "epoch{next}.npz").write_bytes(b"half of a")
        (path.parent / "history.json.partial").write_text("[")
        os.kill(os.getpid(), signal.SIGKILL)
"""

# Epochs say how long they took; nobody waits for them.
FAST_CLOCK = """
import time
monotonic, time.passed = time.monotonic, 0
time.monotonic = lambda: monotonic() + time.passed
"""


def killed(sessions: Sessions, mirror: Mirror, framework: str, *, fold: int, epoch: int, ema: float = 0.0) -> None:
    """Trains until the process dies at the end of an epoch, its history just written."""
    code = KILL_AT.format(fold=fold, epoch=epoch, next=epoch + 1)
    watched = of_shops(framework, "train", {"checkpoint-files": lambda cell: cell + code}, ema=ema)
    session = sessions.start(watched, mirror.parameters(watched, **SETTINGS))
    assert session.ended().status < 0
    assert "handoff.json" not in names_below(mirror.working)


def outcome(ended: Ended, mirror: Mirror) -> tuple[Any, list[list[str]], Any]:
    """The curves, the out-of-fold predictions and the facts of the folds that a finished training leaves."""
    assert ended.is_done, ended
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"]) == (True, [EPOCHS] * 2)
    weights = [entry["file"] for entry in handoff["folds"]]
    assert names_below(mirror.working) == ["accelerator.json", *weights, "handoff.json", "oof.csv", "oof.npz"]
    folds = [(entry["score"], arrays_in(mirror.working / entry["file"])) for entry in handoff["folds"]]
    return ended.seen, read_table(mirror.working / "oof.csv"), [handoff["out_of_fold"]["score"], *folds]


def epochs_in(ended: Ended) -> list[tuple[int, int]]:
    """The fold and number of each epoch that was trained."""
    found = re.findall(rf"fold (\d), epoch +(\d+)/{EPOCHS}:", ended.said("train"))
    return [(int(fold), int(epoch)) for fold, epoch in found]


@pytest.fixture(scope="module")
def uninterrupted(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """The outcome of a training that nobody kills, which is trained once for each framework."""

    @cache
    def ended(framework: str, ema: float) -> Any:
        shops = Mirror(tmp_path_factory.mktemp("uninterrupted"), slug="shops")
        write_shops(shops.competition)
        train = of_shops(framework, "train", ema=ema)
        return outcome(sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK), shops)

    return ended


@pytest.mark.parametrize(
    ("framework", "ema"),
    [("keras", 0.9), ("tensorflow", 0.0), ("jax", 0.9), pytest.param("torch", 0.9, marks=needs_torch)],
)
def test_a_killed_training_ends_as_one_that_was_not_in_its_folder_and_with_its_output_attached(
    sessions: Sessions, shops: Mirror, uninterrupted: Callable[..., Any], framework: str, ema: float
) -> None:
    write_shops(shops.competition)
    train, infer = of_shops(framework, "train", ema=ema), of_shops(framework, "infer", ema=ema)
    parameters = shops.parameters(train, **SETTINGS)
    expected = uninterrupted(framework, ema)

    killed(sessions, shops, framework, fold=1, epoch=3, ema=ema)
    mount = shops.output_of_training(framework)
    shutil.copytree(shops.working, mount)
    attached = {name: (mount / name).read_bytes() for name in names_below(mount)}

    here = sessions.run(train, parameters, look=LOOK)
    assert outcome(here, shops) == expected
    assert epochs_in(here) == [(1, epoch) for epoch in range(4, EPOCHS + 1)]
    assert here.said("take-up-checkpoints").startswith(f"Goes on from {shops.working}/checkpoints/")
    assert f"\nfold 0: {EPOCHS} of {EPOCHS} epochs are done\n" in here.said("train")

    shutil.rmtree(shops.working)
    there = sessions.run(train, parameters, look=LOOK)
    assert outcome(there, shops) == expected
    assert epochs_in(there) == epochs_in(here)
    assert there.said("take-up-checkpoints").startswith(f"Goes on from {mount}/checkpoints/")
    assert {name: (mount / name).read_bytes() for name in names_below(mount)} == attached

    shutil.rmtree(mount)
    shops.working.rename(mount)
    sessions.finished(infer, shops.parameters(infer))


@pytest.mark.parametrize("mount", ["notebooks/ada/shops-tensorflow-train", "shops-tensorflow-train"])
def test_a_training_that_was_killed_between_two_folds_ends_as_one_that_was_not(
    sessions: Sessions, shops: Mirror, uninterrupted: Callable[..., Any], mount: str
) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    expected = uninterrupted("tensorflow", 0.0)
    killed(sessions, shops, "tensorflow", fold=0, epoch=EPOCHS)
    (shops.input / mount).parent.mkdir(parents=True, exist_ok=True)
    shops.working.rename(shops.input / mount)

    ended = sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK)

    assert outcome(ended, shops) == expected
    assert epochs_in(ended) == [(1, epoch) for epoch in range(1, EPOCHS + 1)]
    assert ended.said("take-up-checkpoints").startswith(f"Goes on from {shops.input / mount}/checkpoints/")


def test_a_session_ends_between_two_folds_where_a_fold_would_take_too_long(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    slow = "def train_epoch(model, batches):\n    time.passed += 300\n    return 1.0\n"
    train = of_shops("tensorflow", "train", {"train-epoch": lambda cell: slow})
    minutes = 10 + 40  # five folds of 2 epochs of 5 minutes are too much

    parameters = shops.parameters(train, EPOCHS=2, FOLDS=5, SESSION_HOURS=minutes / 60)
    sessions.finished(train, parameters, before=FAST_CLOCK)
    handoff = json.loads((shops.working / "handoff.json").read_text())
    done = handoff["epochs_done"]
    assert handoff["complete"] is False
    assert done[0] == 2
    assert done[-1] == 0
    assert [entry["fold"] for entry in handoff["folds"]] == [fold for fold in range(5) if done[fold] == 2]
    assert handoff["out_of_fold"]["rows"] == len(read_table(shops.working / "oof.csv")) - 1 == 16 * done.count(2)


def test_checkpoints_of_other_settings_or_other_data_are_left_aside(sessions: Sessions, shops: Mirror) -> None:
    competition = write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    parameters = shops.parameters(train, EPOCHS=3)
    assert sessions.run(train, {**parameters, "SESSION_HOURS": 10 / 60}).is_done
    mount = shops.output_of_training("tensorflow")
    here = shops.working / "checkpoints"
    (first,) = here.iterdir()
    saved = {name: (first / name).read_bytes() for name in names_below(first)}

    def said(**more: Any) -> list[str]:
        ended = sessions.run(train, {**parameters, **more}, until="take-up-checkpoints")
        assert {name: (first / name).read_bytes() for name in names_below(first)} == saved
        return ended.said("take-up-checkpoints").splitlines()

    assert said(SESSION_HOURS=3.0) == [f"Goes on from {first}"]

    default = re.search(r"^LEARNING_RATE = ([\d.]+)", first.joinpath("settings.txt").read_text(), re.MULTILINE)
    assert default is not None
    afresh = "No matching checkpoint, training from scratch"
    differs = f"{first} stays: EPOCHS = 3, now 4; LEARNING_RATE = {default[1]}, now 0.001"
    assert said(LEARNING_RATE=0.001, EPOCHS=4) == [afresh, differs]
    (second,) = set(here.iterdir()) - {first}
    assert names_below(second) == ["settings.txt"]
    (mount / "checkpoints").mkdir(parents=True)
    first.rename(mount / "checkpoints" / first.name)
    assert said() == [f"Goes on from {mount}/checkpoints/{first.name}"]

    row, *others = competition.training
    competition.write_training([*others, row])
    reordered = said()
    assert (reordered[0], f"{first} stays: other data" in reordered) == (afresh, True)
    competition.write_training([(*row[:-1], "1" if row[-1] == "0" else "0"), *others])
    assert said()[0] == afresh


def test_other_checkpoints_in_the_folder_do_not_mix_with_those_that_are_attached(
    sessions: Sessions, shops: Mirror
) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    parameters = shops.parameters(train, EPOCHS=3, FOLDS=2)
    assert sessions.run(train, {**parameters, "SESSION_HOURS": 10 / 60}).is_done
    mount = shops.output_of_training("tensorflow")
    mount.parent.mkdir(parents=True)
    shops.working.rename(mount)
    killed(sessions, shops, "tensorflow", fold=1, epoch=2)

    ended = sessions.finished(train, parameters, until="train")
    epochs = re.findall(r"fold (\d), epoch +(\d)/3", ended.said("train"))
    assert epochs == [("0", "2"), ("0", "3"), ("1", "1"), ("1", "2"), ("1", "3")]


def test_a_reworded_error_message_throws_no_checkpoint_away(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    parameters = shops.parameters(train, EPOCHS=3)
    assert sessions.run(train, {**parameters, "SESSION_HOURS": 10 / 60}).is_done
    (there,) = (shops.working / "checkpoints").iterdir()
    edits = {
        "find-folder": lambda cell: cell.replace("Attach it", "Please attach it"),
        "train-epoch": lambda cell: cell.replace("The loss is", "Alas, the loss is"),
        "parameters": lambda cell: cell.replace("# TabM ensemble size K", "# so many networks"),
    }
    reworded = of_shops("tensorflow", "train", edits)

    ended = sessions.run(reworded, parameters, until="take-up-checkpoints")

    assert ended.said("take-up-checkpoints") == f"Goes on from {there}"


@pytest.mark.parametrize("text", [b"", b"=", b"\xff"])
def test_damaged_settings_of_another_run_start_afresh(sessions: Sessions, shops: Mirror, text: bytes) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    (shops.working / "checkpoints" / "other").mkdir(parents=True)
    (shops.working / "checkpoints" / "other" / "settings.txt").write_bytes(text)

    ended = sessions.finished(train, shops.parameters(train), until="take-up-checkpoints")

    assert ended.said("take-up-checkpoints").startswith("No matching checkpoint")
