"""Competitions whose inference server hands out files: images, sounds and masks."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gateway_package import write_gateway
from layouts import LAYOUTS
from notebook_frameworks import Ended
from notebook_session import Mirror, Notebook, Sessions
from served_files import SOUNDS, of_masks, of_pictures, write_masks, write_pictures, write_sounds

from generator.competition.facts import Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.specimen import write_specimen
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)


def trained(folder: Path, task: Task, write: Any, sessions: Sessions) -> tuple[Mirror, Any]:
    """A pair that is trained, in a mirror whose competition has no gateway yet; and the right answers."""
    mirror = Mirror(folder)
    right = write(mirror.competition)
    train = Notebook("tensorflow", "train", task=task)
    sessions.finished(train, mirror.parameters(train, EPOCHS=8, LEARNING_RATE=0.01))
    mirror.working.rename(mirror.root / "train")
    return mirror, right


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> tuple[Mirror, dict[str, str]]:
    return trained(tmp_path_factory.mktemp("pictures"), of_pictures(), write_pictures, sessions)


def served(sessions: Sessions, mirror: Mirror, task: Task, **parameters: Any) -> Ended:
    infer = Notebook("tensorflow", "infer", task=task)
    return sessions.run(infer, mirror.parameters(infer, **parameters))


def submitted(mirror: Mirror) -> dict[str, Any]:
    table = pd.read_parquet(mirror.working / "submission.parquet")
    return dict(zip(table.iloc[:, 0], table.iloc[:, 1], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ("path", "value"),
        ("list", "table"),
        ("column", "targets"),
        ("folder", "table"),
        ("ids", "targets"),
    ],
)
def test_images_are_served_however_a_gateway_hands_them_over(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]], files: str, answer: str
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, answer, target="light", files=files)

    ended = served(sessions, mirror, of_pictures(answer=answer))

    assert ended.is_done, ended
    found = submitted(mirror)
    assert found.keys() == right.keys()
    assert sum(found[name] == label for name, label in right.items()) >= 18


@pytest.mark.slow
def test_an_image_that_cannot_be_read_is_named_or_gets_the_average(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]]
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, "targets", target="light", files="path")
    broken = mirror.competition / "test" / "im110.png"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100])

    stopped = served(sessions, mirror, of_pictures(answer="targets"))
    ended = served(sessions, mirror, of_pictures(answer="targets"), SKIP_UNREADABLE=True)

    broken.write_bytes(whole)
    assert stopped.cell == "serve"
    assert "1 of the image files of a batch cannot be read: im110.png is damaged or not an image. " in stopped.error
    assert ended.is_done, ended
    assert submitted(mirror).keys() == right.keys()


@pytest.mark.slow
def test_sounds_are_served(tmp_path: Path, sessions: Sessions) -> None:
    mirror, right = trained(tmp_path, SOUNDS, write_sounds, sessions)
    write_gateway(mirror.competition, "value", target="tone", files="path")

    ended = served(sessions, mirror, SOUNDS)

    assert ended.is_done, ended
    assert submitted(mirror) == right


@pytest.mark.slow
def test_masks_are_served_at_the_size_of_their_images(tmp_path: Path, sessions: Sessions) -> None:
    mirror, right = trained(tmp_path, of_masks(), write_masks, sessions)
    write_gateway(mirror.competition, "table", target="rle", files="column")

    ended = served(sessions, mirror, of_masks(served_answer="table"))

    assert ended.is_done, ended
    found = submitted(mirror)
    assert found.keys() == right.keys()
    assert np.mean([overlap(found[name], mask) for name, mask in right.items()]) > 0.8


def overlap(code: str, mask: np.ndarray) -> float:
    """The share of two masks that overlaps, 0 to 1, one of them as a run-length code."""
    decoded = np.zeros(mask.size, dtype=bool)
    numbers = list(map(int, code.split()))
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        decoded[start - 1 : start - 1 + length] = True
    shape = decoded.reshape(mask.shape[::-1]).T
    return float(2 * (shape & mask).sum() / (shape.sum() + mask.sum()))


@pytest.mark.slow
def test_shared_files_are_gone_once_they_are_answered(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]], tmp_path: Path
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, "targets", target="light", files="path")
    edits = {
        "clear-shared": lambda source: source.replace('"/kaggle/shared"', repr(str(tmp_path))),
        "serve": lambda source: source.replace(
            "tempfile.TemporaryDirectory()", f"contextlib.nullcontext({str(tmp_path)!r})"
        ),
    }
    infer = Notebook("tensorflow", "infer", task=of_pictures(answer="targets"), edits=edits)

    sessions.finished(infer, mirror.parameters(infer))

    assert submitted(mirror).keys() == right.keys()
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert len(list((mirror.competition / "test").iterdir())) == len(right)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("denoising_dirty_documents", "table"),
        ("tpu_getting_started", "targets"),
        ("understanding_clouds", "table"),
        ("nuclei_in_folders_of_their_own", "targets"),
        ("birdclef", "targets"),
        ("a_row_for_each_scan_and_finding", "table"),
    ],
)
def test_what_the_stand_in_of_a_specimen_asks_for_is_answered(
    tmp_path: Path, sessions: Sessions, name: str, answer: str
) -> None:
    next(layout for layout in LAYOUTS if layout.name == name).write(tmp_path / "data")
    write_gateway(tmp_path / "data", answer)
    survey = survey_folder(tmp_path / "data")
    task = read_task(survey, Hints(slug="digits")).task
    mirror = Mirror(tmp_path)
    write_specimen(survey, task, mirror.competition, rows=40, seed=1, signal=True)
    train, infer = (Notebook("tensorflow", role, task=task) for role in ("train", "infer"))

    small = {"IMAGE_SIZE": 32} if "image_size" in task.details else {}
    sessions.finished(train, mirror.parameters(train, DEBUG=True, **small))
    mirror.working.rename(mirror.root / "train")
    sessions.finished(infer, mirror.parameters(infer, DEBUG=True))
    sample = pd.read_csv(mirror.competition / task.sample_submission)
    written = pd.read_parquet(mirror.working / "submission.parquet")
    assert written.columns.tolist() == sample.columns.tolist()
    assert set(written[task.id_column]) == set(sample[task.id_column])
