"""The notebooks find what is attached, wherever Kaggle mounts it, and say what they looked at if it is not there."""

import shutil
from pathlib import Path

import pytest
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below, read_table, write_digits

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")

IMPATIENT = """
import time
clock, skipped = time.monotonic, []
time.sleep = skipped.append
time.monotonic = lambda: clock() + sum(skipped)
"""
"""A clock that sleeping sets forward."""

TELL_WHEN_WAITING = """
import time
sleep = time.sleep
def telling(seconds):
    print("waits", flush=True)
    sleep(seconds)
time.sleep = telling
"""


@pytest.mark.parametrize("place", ["competitions/digits", "digits", "datasets/ada/a-copy/digits v2"])
def test_the_competition_is_found_in_every_layout(sessions: Sessions, mirror: Mirror, place: str) -> None:
    write_digits(mirror.input / place)

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN), until="training-examples")

    assert ended.said("training-examples") == f"80 training images in {mirror.input / place}/train"


def test_the_mount_of_the_competition_goes_before_other_folders_with_a_file_of_that_name(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_digits(mirror.input / "another", per_class=2)
    write_digits(mirror.competition, per_class=3)

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN), until="training-examples")

    assert ended.said("training-examples").startswith("30 training images")


@pytest.mark.parametrize(
    "place", ["notebooks/ada/digits-tensorflow-train", "digits-tensorflow-train", "datasets/ada/weights"]
)
def test_the_output_of_training_is_found_in_every_layout(
    sessions: Sessions, trained: Trained, tmp_path: Path, place: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    output = mirror.output_of_training("tensorflow").rename(mirror.root / "output")
    shutil.rmtree(mirror.input / "notebooks")
    (mirror.input / place).parent.mkdir(parents=True, exist_ok=True)
    output.rename(mirror.input / place)

    ended = sessions.run(INFER, mirror.parameters(INFER), until="handoff-found")

    assert ended.said("handoff-found").startswith(f"{mirror.input / place}: 1 folds, out-of-fold ")


@pytest.mark.parametrize("empty", [".", "competitions/digits"])
def test_a_mount_that_is_empty_at_first_is_waited_for(
    sessions: Sessions, mirror: Mirror, tmp_path: Path, empty: str
) -> None:
    write_digits(tmp_path / "later" / "competitions" / "digits")
    (mirror.input / empty).mkdir(parents=True, exist_ok=True)

    session = sessions.start(TRAIN, mirror.parameters(TRAIN), until="training-examples", before=TELL_WHEN_WAITING)
    session.wait_for("waits\n")
    (tmp_path / "later" / empty).rename(mirror.input / empty)

    assert session.ended().said("training-examples").endswith(f"80 training images in {mirror.competition}/train")


def test_a_mount_that_stays_empty_is_given_up_after_a_minute(sessions: Sessions, mirror: Mirror) -> None:
    ended = sessions.run(TRAIN, mirror.parameters(TRAIN), before=IMPATIENT)

    assert (ended.cell, ended.error) == (
        "training-examples",
        (
            f"FileNotFoundError: Competition digits is not attached: there is no train.csv in {mirror.competition}, "
            f"{mirror.input}/digits, nor below {mirror.input} (which is empty). Attach it with Add Input and run again."
        ),
    )


def test_what_is_not_attached_is_said_at_once_with_what_is(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    for folder in ("datasets/ada/other", "too/far/down/for/us"):
        (mirror.input / folder).mkdir(parents=True)
    (mirror.input / "too/far/down/for/us/handoff.json").write_text("{}")
    forbidden = "import time\ndef sleep(seconds): raise AssertionError('it waits')\ntime.sleep = sleep"

    ended = sessions.run(INFER, mirror.parameters(INFER), before=forbidden)

    kernel = "ada/digits-tensorflow-train"
    assert (ended.cell, ended.error) == (
        "handoff-found",
        (
            f"FileNotFoundError: The output of {kernel} is not attached: there is no handoff.json in "
            f"{mirror.input}/notebooks/{kernel}, {mirror.input}/digits-tensorflow-train, {mirror.root}/train, nor "
            f"below {mirror.input} (competitions, datasets, too, competitions/digits, datasets/ada, too/far, "
            "competitions/digits/test, competitions/digits/train, datasets/ada/other, too/far/down, too/far/down/for). "
            "Attach it with Add Input and run again."
        ),
    )
    assert names_below(mirror.working) == []


def test_opened_in_jupyterlab_the_pair_reads_and_writes_in_its_workspace(sessions: Sessions, tmp_path: Path) -> None:
    digits = write_digits(tmp_path / "input" / "competitions" / "digits")
    for role in ("train", "infer"):
        (tmp_path / "kernels" / "digits" / role).mkdir(parents=True)
    before = names_below(tmp_path)

    for notebook, parameters in ((TRAIN, {"ALLOW_CPU": True, "EPOCHS": 1}), (INFER, {})):
        ended = sessions.run(notebook, parameters, cwd=tmp_path / "kernels" / "digits" / notebook.role)
        assert ended.is_done, ended

    written = sorted(set(names_below(tmp_path)) - set(before))
    assert {Path(name).parent.as_posix() for name in written} == {"output/digits/train", "output/digits/infer"}
    submission = read_table(tmp_path / "output/digits/infer/submission.csv")
    assert [row[0] for row in submission] == ["id", *digits.answers]
