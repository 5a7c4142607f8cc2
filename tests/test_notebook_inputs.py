"""The notebooks find what is attached, wherever Kaggle mounts it, and say what they looked at if it is not there."""

import shutil
from pathlib import Path

import pytest
from notebook_competitions import write_shops
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = of_shops("tensorflow", "train"), of_shops("tensorflow", "infer")
FOUND = "str(competition_folder), len(train)"

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


@pytest.mark.parametrize("place", ["competitions/shops", "shops", "datasets/ada/a-copy/shops v2"])
@pytest.mark.parametrize(("notebook", "until"), [(TRAIN, "read-training-table"), (INFER, "test-rows")])
def test_the_competition_is_found_in_every_layout(
    sessions: Sessions, shops: Mirror, place: str, notebook: Notebook, until: str
) -> None:
    write_shops(shops.input / place)

    ended = sessions.finished(notebook, shops.parameters(notebook), until=until, look=FOUND)

    assert ended.seen == [str(shops.input / place), 80]


def test_the_mount_of_the_competition_goes_before_other_folders_with_a_file_of_that_name(
    sessions: Sessions, shops: Mirror
) -> None:
    write_shops(shops.input / "another", training_rows=20)
    write_shops(shops.competition, training_rows=30)

    ended = sessions.run(TRAIN, shops.parameters(TRAIN), until="read-training-table", look=FOUND)

    assert ended.seen == [str(shops.competition), 30]


@pytest.mark.parametrize(
    "place", ["notebooks/ada/shops-tensorflow-train", "shops-tensorflow-train", "datasets/ada/weights", "named/here"]
)
def test_the_output_of_training_is_found_in_every_layout(
    sessions: Sessions, trained: Trained, tmp_path: Path, place: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")
    output = mirror.output_of_training("tensorflow").rename(mirror.root / "output")
    shutil.rmtree(mirror.input / "notebooks")
    (mirror.input / place).parent.mkdir(parents=True, exist_ok=True)
    output.rename(mirror.input / place)
    (mirror.input / "another").mkdir()
    others = {"HANDOFF_MOUNTS": [place]} if place == "named/here" else {}
    if others:
        shutil.copyfile(mirror.input / place / "handoff.json", mirror.input / "another" / "handoff.json")

    ended = sessions.run(INFER, mirror.parameters(INFER, **others), until="verify")

    assert ended.said("verify").startswith(f"{mirror.input / place}: out-of-fold auc ")


@pytest.mark.parametrize("empty", [".", "competitions/shops"])
def test_a_mount_that_is_empty_at_first_is_waited_for(
    sessions: Sessions, shops: Mirror, tmp_path: Path, empty: str
) -> None:
    write_shops(tmp_path / "later" / "competitions" / "shops")
    (shops.input / empty).mkdir(parents=True, exist_ok=True)

    session = sessions.start(
        TRAIN, shops.parameters(TRAIN), until="read-training-table", before=TELL_WHEN_WAITING, look=FOUND
    )
    session.wait_for("waits\n")
    (tmp_path / "later" / empty).rename(shops.input / empty)

    assert session.ended().seen == [str(shops.competition), 80]


def test_a_mount_that_stays_empty_is_given_up_after_a_minute(sessions: Sessions, shops: Mirror) -> None:
    ended = sessions.run(TRAIN, shops.parameters(TRAIN), before=IMPATIENT)

    assert (ended.cell, ended.error) == (
        "read-training-table",
        (
            f"FileNotFoundError: There is no train.csv in {shops.competition}, {shops.input}/shops, {shops.input}. "
            "Attach it with Add Input and run again."
        ),
    )


def test_what_is_not_attached_is_said_at_once_with_what_is(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    for folder in ("datasets/ada/other", "too/far/down/for/us"):
        (shops.input / folder).mkdir(parents=True)
    (shops.input / "too/far/down/for/us/handoff.json").write_text("{}")
    forbidden = "import time\ndef sleep(seconds): raise AssertionError('it waits')\ntime.sleep = sleep"

    ended = sessions.run(INFER, shops.parameters(INFER), before=forbidden)

    kernel = "ada/shops-tensorflow-train"
    looked_at = [
        *(f"notebooks/{kernel}", "shops-tensorflow-train", "../train", "", "competitions", "datasets", "too"),
        *("competitions/shops", "datasets/ada", "too/far", "datasets/ada/other", "too/far/down", "too/far/down/for"),
    ]
    folders = [str(shops.root / "train" if name == "../train" else shops.input / name) for name in looked_at]
    assert (ended.cell, ended.error) == (
        "verify",
        (
            f"FileNotFoundError: There is no handoff.json in {', '.join(folders)}. "
            "Attach it with Add Input and run again."
        ),
    )
    assert names_below(shops.working) == []


def test_opened_in_jupyterlab_the_pair_reads_and_writes_in_its_workspace(sessions: Sessions, tmp_path: Path) -> None:
    asked = write_shops(tmp_path / "input" / "competitions" / "shops").asked
    for role in ("train", "infer"):
        (tmp_path / "kernels" / "shops" / role).mkdir(parents=True)
    before = names_below(tmp_path)

    for notebook, parameters in ((TRAIN, {"ALLOW_CPU": True, "EPOCHS": 1, "N_FOLDS": 1}), (INFER, {})):
        sessions.finished(notebook, parameters, cwd=tmp_path / "kernels" / "shops" / notebook.role)

    written = sorted(set(names_below(tmp_path)) - set(before))
    assert {Path(name).parent.as_posix() for name in written} == {"output/shops/train", "output/shops/infer"}
    submission = read_table(tmp_path / "output/shops/infer/submission.csv")
    assert [row[0] for row in submission] == ["id", *asked]
