"""The folder that a run writes to."""

import os
from pathlib import Path

import pytest

from generator.pair.workspace import Role
from generator.run.output_folder import (
    AlreadyRunningError,
    ForeignFolderError,
    NothingToResumeError,
    OutputFolder,
)


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "output")

    with folder.locked(), pytest.raises(AlreadyRunningError, match=rf"process {os.getpid()}\)"), folder.locked():
        pass
    with folder.locked():
        pass


def test_a_marker_left_by_a_killed_run_does_not_block(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    (tmp_path / ".tandem-run").write_text("99999999\n")

    with folder.locked():
        assert (tmp_path / ".tandem-run").read_text() == f"{os.getpid()}\n"


def test_files_that_no_run_wrote_are_never_emptied(tmp_path: Path) -> None:
    precious = tmp_path / "train" / "weights.h5"
    precious.parent.mkdir()
    precious.write_text("nine hours on a TPU")

    with pytest.raises(ForeignFolderError, match="--output"), OutputFolder(tmp_path).locked():
        pass

    assert precious.is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


def test_emptying_does_not_follow_links(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    folder = OutputFolder(tmp_path / "output")
    (folder.working(Role.TRAIN) / "checkpoints" / "fold0").mkdir(parents=True)
    (folder.working(Role.TRAIN) / "link").symlink_to(elsewhere)

    folder.empty(Role.TRAIN)

    assert not list(folder.working(Role.TRAIN).iterdir())
    assert (elsewhere / "file").is_file()


def test_the_previous_training_survives_one_that_got_nowhere(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    working = folder.working(Role.TRAIN)
    working.mkdir()
    (working / "fold0.weights.h5").write_text("from the first run")
    folder.set_aside()
    folder.empty(Role.TRAIN)
    (working / "train.ipynb").write_text("killed in its first cell")

    previous = folder.set_aside()

    assert (previous / "fold0.weights.h5").read_text() == "from the first run"


def test_resuming_without_a_previous_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToResumeError, match="without --resume"):
        OutputFolder(tmp_path).set_aside()
