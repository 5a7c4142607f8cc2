"""The built-in competition `digits`: its files, its secret, and its score."""

import errno
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from layout_files import read_table
from miniature import names_in, tree_of
from PIL import Image

from generator.competition import builtin
from generator.competition.builtin import BuiltIn, require
from generator.competition.submission import SubmissionError, SubmissionIdsError, SubmissionRowError, validate
from generator.errors import CompetitionError
from generator.files import FileWriteError
from generator.pair.data import ensure_data
from generator.pair.workspace import Workspace


@pytest.fixture(scope="module")
def digits_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of `digits` as written on first use; read only."""
    return ensure_data(require("digits"), Workspace(tmp_path_factory.mktemp("digits")))


def hidden_labels() -> dict[str, str]:
    from sklearn.datasets import load_digits

    from generator.competition.builtin import key_of

    return {key_of("digits", str(index)): str(label) for index, label in enumerate(load_digits().target.tolist())}


def write_submission(path: Path, rows: list[tuple[str, str]], header: str = "id,label") -> Path:
    path.write_text("\n".join([header, *(f"{key},{label}" for key, label in rows)]) + "\n")
    return path


def test_the_files_are_those_of_an_image_competition(digits_folder: Path) -> None:
    training, sample = read_table(digits_folder / "train.csv"), read_table(digits_folder / "sample_submission.csv")

    assert sorted(path.name for path in digits_folder.iterdir()) == [
        "sample_submission.csv",
        "test",
        "train",
        "train.csv",
    ]
    assert (training[0], sample[0]) == (["id", "label"], ["id", "label"])
    assert (len(training) - 1, len(sample) - 1) == (1257, 540)
    assert {f"{row[0]}.png" for row in training[1:]} == set(names_in(digits_folder / "train"))
    assert {f"{row[0]}.png" for row in sample[1:]} == set(names_in(digits_folder / "test"))


def test_no_hidden_label_lies_among_the_files(digits_folder: Path) -> None:
    assert {row[1] for row in read_table(digits_folder / "sample_submission.csv")[1:]} == {"0"}
    test_ids = {row[0] for row in read_table(digits_folder / "sample_submission.csv")[1:]}
    assert not test_ids & {row[0] for row in read_table(digits_folder / "train.csv")[1:]}


def test_ids_and_their_order_say_nothing_of_the_label(digits_folder: Path) -> None:
    ids = [row[0] for row in read_table(digits_folder / "train.csv")[1:]]
    labels = [int(row[1]) for row in read_table(digits_folder / "train.csv")[1:]]
    equal_neighbours = sum(a == b for a, b in pairwise(labels)) / len(labels)

    assert ids == sorted(set(ids))
    # In scikit-learn's own order the digits come as 0, 1, 2, ...; a tenth of neighbours is what chance gives.
    assert equal_neighbours == pytest.approx(0.1, abs=0.03)


def test_scans_use_the_whole_range_of_grey(digits_folder: Path) -> None:
    paths = sorted((digits_folder / "train").iterdir())[:50]
    images = [Image.open(path) for path in paths]

    assert {(image.mode, image.size) for image in images} == {("L", (8, 8))}
    assert max(image.getextrema()[1] for image in images) == 255


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes(digits_folder: Path, tmp_path: Path) -> None:
    again = ensure_data(require("digits"), Workspace(tmp_path))

    files = tree_of(again)
    assert len(files) == 1799
    assert files == tree_of(digits_folder)


def test_the_true_labels_score_one_whatever_the_order_of_rows(digits_folder: Path, tmp_path: Path) -> None:
    labels = hidden_labels()
    ids = [row[0] for row in read_table(digits_folder / "sample_submission.csv")[1:]]
    submission = write_submission(tmp_path / "s.csv", [(key, f"{labels[key]}.0") for key in reversed(ids)])

    assert require("digits").score(submission) == 1.0


def test_each_wrong_label_costs_one_row(digits_folder: Path, tmp_path: Path) -> None:
    labels = hidden_labels()
    ids = [row[0] for row in read_table(digits_folder / "sample_submission.csv")[1:]]
    rows = [(key, labels[key] if index >= 54 else str((int(labels[key]) + 1) % 10)) for index, key in enumerate(ids)]

    assert require("digits").score(write_submission(tmp_path / "s.csv", rows)) == pytest.approx(0.9)


def test_a_submission_with_foreign_ids_or_columns_is_not_scored(digits_folder: Path, tmp_path: Path) -> None:
    ids = [row[0] for row in read_table(digits_folder / "sample_submission.csv")[1:]]
    score = require("digits").score

    with pytest.raises(SubmissionIdsError, match='does not have, "deadbeef"'):
        score(write_submission(tmp_path / "a.csv", [("deadbeef", "1")]))
    with pytest.raises(SubmissionIdsError, match="539 of 540 ids are missing"):
        score(write_submission(tmp_path / "b.csv", [(ids[0], "1")]))
    with pytest.raises(SubmissionError, match="has the columns id, digit"):
        score(write_submission(tmp_path / "c.csv", [], header="id,digit"))
    with pytest.raises(SubmissionRowError, match='"three" where the sample has a number'):
        score(write_submission(tmp_path / "d.csv", [(ids[0], "three")]))


def test_the_sample_is_a_valid_submission(digits_folder: Path) -> None:
    sample = digits_folder / "sample_submission.csv"

    assert validate(sample, sample).rows == 540


def test_data_that_the_user_changed_are_left_alone(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    folder = workspace.competition_data("digits")
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("mine")

    assert ensure_data(require("digits"), workspace) == folder
    assert names_in(folder) == ["train.csv"]


@pytest.mark.slow
def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.competition_data("digits").mkdir(parents=True)

    assert (ensure_data(require("digits"), workspace) / "train.csv").is_file()


def built_in_that_writes(write: object) -> BuiltIn:
    digits = require("digits")
    return replace(digits, write=write)


def test_a_disk_that_fills_up_leaves_no_folder_behind(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "train.csv").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileWriteError, match="the disk is full"):
        ensure_data(built_in_that_writes(write), Workspace(tmp_path / "new"))

    assert names_in(tmp_path) == []


def test_an_interrupt_while_writing_leaves_no_folder_behind(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "train.csv").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure_data(built_in_that_writes(write), Workspace(tmp_path / "new"))

    assert names_in(tmp_path) == []


def test_a_process_that_was_faster_is_no_error(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    folder = workspace.competition_data("digits")

    def write(staged: Path) -> None:
        (staged / "train.csv").write_text("the same")
        folder.mkdir()
        (folder / "train.csv").write_text("the same")

    assert ensure_data(built_in_that_writes(write), workspace) == folder
    assert [path.name for path in folder.parent.iterdir()] == ["digits"]


def test_an_unknown_competition_is_told_with_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(CompetitionError) as caught:
        builtin.require("digit\n")

    assert str(caught.value) == (
        'There is no competition "digit\\n" here; the built-in ones are: diabetes, digits, docstrings, '
        'tumours. Did you mean "digits"?'
    )
    assert builtin.find("titanic") is None
