"""A training that was killed goes on where it was, in the same folder or with its output attached."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from notebook_session import Ended, Mirror, Notebook, Session, Sessions, names_below, write_digits

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

EPOCHS = 6


def killed_after(line: str, session: Session, fold: Path) -> dict[str, list[float]]:
    """Kills the session once it has printed this; returns the fold's history as it is on the disk then."""
    session.wait_for(line)
    session.kill()
    progress = json.loads((fold / "progress.json").read_text())
    assert 2 <= progress["epochs_done"] < EPOCHS, "it was killed too late to test anything"
    # As if it had been killed in the middle of a write.
    (fold / f"epoch{progress['epochs_done'] + 1}.weights.h5").write_bytes(b"half of a")
    (fold / "progress.json.partial").write_text('{"epochs_done"')
    return dict(progress["history"])


def assert_finished(ended: Ended, mirror: Mirror, *, history: Mapping[str, list[float]], fold: int) -> None:
    """Only the epochs that were missing were trained, and the hand-over is whole."""
    assert ended.is_done, ended
    done = len(history["loss"])
    epochs = re.findall(rf"fold (\d), epoch +(\d+)/{EPOCHS}:", ended.said("train"))
    assert epochs == [(str(fold), str(epoch)) for epoch in range(done + 1, EPOCHS + 1)]
    for name, values in ended.seen.items():
        assert len(values) == EPOCHS
        assert values[:done] == history[name]
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"]) == (True, [EPOCHS] * (fold + 1))
    of_folds = [f"fold{number}.{part}" for number in range(fold + 1) for part in ("preprocessing.json", "weights.h5")]
    tables = ("handoff.json", "oof.csv", "oof.npz")
    assert names_below(mirror.working) == ["accelerator.json", "check.npz", *of_folds, *tables]


def test_a_killed_training_goes_on_in_its_folder_and_with_its_output_attached(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_digits(mirror.competition, per_class=40)
    train, infer = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")
    parameters = mirror.parameters(train, EPOCHS=EPOCHS, FOLDS=2, BATCH_SIZE=8)
    look = "progress[1]['history']"
    checkpoints = mirror.working / "checkpoints"

    killed = sessions.start(train, parameters)
    history = killed_after(f"fold 1, epoch  2/{EPOCHS}:", killed, checkpoints / "fold1")
    mount = mirror.output_of_training("tensorflow")
    shutil.copytree(mirror.working, mount)
    attached = {name: (mount / name).read_bytes() for name in names_below(mount)}

    done = f"epochs done: {{0: {EPOCHS}, 1: {len(history['loss'])}}}"
    here = sessions.run(train, parameters, look=look)
    assert_finished(here, mirror, history=history, fold=1)
    assert here.said("checkpoints-found") == f"Goes on from {checkpoints}, {done}"
    assert here.said("train").startswith("fold 0: finished in an earlier session\n")

    shutil.rmtree(mirror.working)
    there = sessions.run(train, parameters, look=look)
    assert_finished(there, mirror, history=history, fold=1)
    assert there.said("checkpoints-found") == f"Goes on from {mount}/checkpoints, {done}"
    assert {name: (mount / name).read_bytes() for name in names_below(mount)} == attached
    assert there.seen == here.seen

    shutil.rmtree(mount)
    mirror.working.rename(mount)
    predicted = sessions.run(infer, mirror.parameters(infer))
    assert predicted.is_done, predicted


def test_a_killed_keras_training_goes_on(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition, per_class=40)
    train = Notebook("keras", "train")
    parameters = mirror.parameters(train, EPOCHS=EPOCHS, BATCH_SIZE=8)
    mount = mirror.input / "digits-keras-train"

    killed = sessions.start(train, parameters)
    history = killed_after(f"fold 0, epoch  2/{EPOCHS}:", killed, mirror.working / "checkpoints" / "fold0")
    mirror.working.rename(mount)

    ended = sessions.run(train, parameters, look="progress[0]['history']")
    assert_finished(ended, mirror, history=history, fold=0)
    assert ended.said("checkpoints-found").startswith(f"Goes on from {mount}/checkpoints, ")


def test_checkpoints_of_other_settings_or_other_data_are_left_aside(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition)
    train = Notebook("tensorflow", "train")
    parameters = mirror.parameters(train, EPOCHS=3)
    tiny_session = {**parameters, "SESSION_HOURS": 10 / 60}
    assert sessions.run(train, tiny_session).is_done
    mount = mirror.output_of_training("tensorflow")
    shutil.copytree(mirror.working, mount)
    here, there = mirror.working / "checkpoints", mount / "checkpoints"
    attached = names_below(mount)

    same = sessions.run(train, {**parameters, "ALLOW_CPU": True, "SESSION_HOURS": 3.0}, until="checkpoints-found")
    assert same.said("checkpoints-found") == f"Goes on from {here}, epochs done: {{0: 1}}"

    kept = (mirror.working / "checkpoints/fold0/progress.json").read_text()
    other = sessions.run(train, {**parameters, "LEARNING_RATE": 0.001}, until="checkpoints-found")
    aside = "is of other settings or other data, and is left aside."
    assert other.said("checkpoints-found") == f"{here} {aside}\n{there} {aside}\nStarts afresh."
    assert names_below(here) == ["run.json"]
    assert names_below(mount) == attached
    assert (there / "fold0/progress.json").read_text() == kept

    labels = list(digits.labels.items())
    digits.write_labels([*labels[1:], labels[0]])
    reordered = sessions.run(train, parameters, until="checkpoints-found")
    assert reordered.said("checkpoints-found").endswith("Starts afresh.")


def test_a_damaged_marker_of_a_checkpoint_starts_afresh(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    train = Notebook("tensorflow", "train")
    (mirror.working / "checkpoints").mkdir(parents=True)
    (mirror.working / "checkpoints" / "run.json").write_text("")

    ended = sessions.run(train, mirror.parameters(train), until="checkpoints-found")

    assert ended.is_done, ended
    assert ended.said("checkpoints-found").endswith("Starts afresh.")
