"""The folder that a run writes to."""

import os
import shutil
from pathlib import Path

import pytest

from generator.errors import TandemError
from generator.files import UnsafePlaceError
from generator.pair.workspace import Role
from generator.run.output_folder import AlreadyRunningError, OutputError, OutputFolder


def finish(folder: OutputFolder, text: str) -> None:
    """Leaves what a run of both notebooks leaves at its end."""
    folder.path.mkdir(exist_ok=True)
    for role, name in ((Role.TRAIN, "oof.csv"), (Role.INFER, "submission.csv")):
        folder.empty(role)
        (folder.working(role) / name).write_text(text)
    (folder.working(Role.TRAIN) / "handoff.json").write_text('{"complete": true}')
    folder.report.write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> OutputFolder:
    """A folder with what a finished run left."""
    folder = OutputFolder(tmp_path)
    finish(folder, "finished")
    return folder


def texts(folder: OutputFolder) -> list[str]:
    """What says of which run the oof.csv, the submission and the report are; those that are missing are left out."""
    paths = (folder.working(Role.TRAIN) / "oof.csv", folder.working(Role.INFER) / "submission.csv", folder.report)
    return [path.read_text() for path in paths if path.exists()]


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "output")

    with folder.lock():
        folder.empty(Role.TRAIN)
        with pytest.raises(AlreadyRunningError, match=rf"process {os.getpid()}\)"), folder.lock():
            pass
    with folder.lock():
        pass


def test_a_marker_left_by_a_killed_run_does_not_block(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    (tmp_path / ".tandem-run").write_text("99999999\n")

    with folder.lock():
        assert (tmp_path / ".tandem-run").read_text() == f"{os.getpid()}\n"


def test_files_that_no_run_wrote_are_never_emptied(tmp_path: Path) -> None:
    precious = tmp_path / "train" / "weights.h5"
    precious.parent.mkdir()
    precious.write_text("nine hours on a TPU")

    with pytest.raises(OutputError, match="--output"), OutputFolder(tmp_path).lock():
        pass

    assert precious.is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


def test_emptying_does_not_follow_links(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    folder = OutputFolder(tmp_path / "output")
    folder.empty(Role.TRAIN)
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


def test_checkpoints_of_another_run_outlive_later_trainings(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    for run in ("dropout", "epochs"):
        folder.empty(Role.TRAIN)
        (folder.working(Role.TRAIN) / "checkpoints" / run).mkdir(parents=True)
        (folder.working(Role.TRAIN) / "checkpoints" / run / "epoch19.pt").write_text(run)
        folder.set_aside()
    kept = folder.interrupted_output.working(Role.TRAIN) / "checkpoints"
    assert {path.parent.name: path.read_text() for path in kept.glob("*/*")} == {
        "dropout": "dropout",
        "epochs": "epochs",
    }

    finish(folder, "of another run")
    assert folder.set_aside() == folder.interrupted_output.working(Role.TRAIN)
    for run in ("another", "../../..", "epochs"):
        folder.forget_interrupted(run)
        assert {path.name for path in kept.iterdir()} == {"dropout", "epochs"} - {run}
    folder.forget_interrupted("dropout")
    assert not folder.interrupted_output.path.exists()


def test_a_finished_run_is_kept_whole_and_only_the_last_one(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    for name in ("first", "second"):
        finish(folder, name)
        assert folder.keep(Role.TRAIN) == folder.previous.path
        assert texts(folder.previous) == [name] * 3
    assert texts(folder) == []
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["previous"]


def test_inference_alone_takes_nothing_of_an_earlier_training_away(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    finish(folder, "first")
    folder.keep(Role.TRAIN)
    finish(folder, "second")

    folder.keep(Role.INFER)

    assert texts(folder) == ["second"]
    assert texts(folder.previous) == ["first", "second", "second"]


def test_a_run_that_got_nowhere_does_not_replace_a_finished_one(folder: OutputFolder) -> None:
    folder.keep(Role.TRAIN)
    folder.empty(Role.TRAIN)
    (folder.working(Role.TRAIN) / "train.ipynb").touch()

    assert folder.keep(Role.TRAIN) is None
    assert texts(folder.previous) == ["finished"] * 3


@pytest.mark.parametrize("left", [{"fold0.weights.h5": ""}, {"handoff.json": '{"complete": false}'}])
def test_a_training_that_is_resumed_leaves_the_finished_run_before_it(
    folder: OutputFolder, left: dict[str, str]
) -> None:
    folder.keep(Role.TRAIN)
    folder.empty(Role.TRAIN)
    for name, text in left.items():
        (folder.working(Role.TRAIN) / name).write_text(text)

    resumed = folder.set_aside()

    assert [path.name for path in resumed.iterdir()] == list(left)
    assert texts(folder.previous) == ["finished"] * 3


@pytest.mark.parametrize(
    ("place", "named"),
    [("previous/train", "previous"), ("interrupted/train", "interrupted"), ("previous/report.html", r"report\.html")],
)
def test_what_a_user_put_where_runs_are_kept_is_not_replaced(folder: OutputFolder, place: str, named: str) -> None:
    if "interrupted" in place:
        (folder.working(Role.TRAIN) / "handoff.json").unlink()
    mine = folder.path / place / "mine"
    mine.parent.mkdir(parents=True)
    mine.touch()

    with pytest.raises(OutputError, match=named):
        folder.keep(Role.TRAIN)
    folder.forget_interrupted("")

    assert mine.exists()
    assert texts(folder) == ["finished"] * 3


def test_a_link_is_no_place_to_keep_a_run_in(tmp_path: Path) -> None:
    folder, elsewhere = OutputFolder(tmp_path / "output"), OutputFolder(tmp_path / "elsewhere")
    finish(folder, "finished")
    finish(elsewhere, "of somebody else")
    (elsewhere.path / ".tandem-run").touch()
    folder.previous.path.symlink_to(elsewhere.path)

    with pytest.raises(UnsafePlaceError):
        folder.keep(Role.TRAIN)

    assert texts(elsewhere) == ["of somebody else"] * 3


def test_resuming_without_a_previous_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="without --resume"):
        OutputFolder(tmp_path).set_aside()


@pytest.mark.parametrize("place", ["train", ".tandem-run", "previous", "report.html", ""])
def test_a_link_in_the_place_of_an_output_is_neither_written_nor_emptied(tmp_path: Path, place: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / ".tandem-run").write_text("1\n")
    (precious / "thesis").write_text("of the user")
    path = tmp_path / "workspace" / "output" / "digits"
    path.parent.mkdir(parents=True)
    if place:
        path.mkdir()
        (path / ".tandem-run").write_text("1\n")
        (path / place).unlink(missing_ok=True)
    (path / place).symlink_to(precious / "thesis" if place.startswith((".", "report")) else precious)
    folder = OutputFolder(path, tmp_path / "workspace")

    with pytest.raises(TandemError, match=r"is a link\. .*nothing was written\. "), folder.lock():
        folder.empty(Role.TRAIN)

    assert {entry.name: entry.read_text() for entry in precious.iterdir()} == {
        ".tandem-run": "1\n",
        "thesis": "of the user",
    }


def test_a_copied_workspace_can_be_run_but_no_file_that_was_added_is_emptied(tmp_path: Path) -> None:
    made = OutputFolder(tmp_path / "made")
    with made.lock():
        made.empty(Role.TRAIN)
        (made.working(Role.TRAIN) / "weights.h5").write_text("nine hours on a TPU")
    copies = []
    for name in ("copied", "added to", "changed", "by hand"):
        shutil.copytree(made.path, tmp_path / name)
        copies.append(OutputFolder(tmp_path / name))
    copied, added, changed, by_hand = copies
    (added.working(Role.TRAIN) / "thesis").write_text("of the user")
    (changed.working(Role.TRAIN) / "weights.h5").write_text("of the user")
    (by_hand.path / ".tandem-run").write_text('files train [] \nfiles train {"weights.h5": "19"}\n')

    for folder, name in ((added, "thesis"), (changed, "weights.h5"), (by_hand, "weights.h5")):
        before = texts_of(folder.working(Role.TRAIN))
        for roles in (Role, [Role.INFER]):
            with (
                pytest.raises(OutputError, match=f"has files that `tandem run` did not write, such as {name}, and a"),
                folder.lock(roles),
            ):
                folder.empty(Role.TRAIN)
        assert texts_of(folder.working(Role.TRAIN)) == before
    for text in ("19", "afterwards"):
        with copied.lock():
            copied.empty(Role.TRAIN)
            (copied.working(Role.TRAIN) / text).write_text(text)
    assert texts_of(copied.working(Role.TRAIN)) == {"afterwards": "afterwards"}


def texts_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_run_empties_what_an_earlier_one_wrote(tmp_path: Path) -> None:
    for moved in ("here", "there"):
        folder = OutputFolder(tmp_path / "here")
        with folder.lock():
            folder.empty(Role.TRAIN)
            assert not list(folder.working(Role.TRAIN).iterdir())
            (folder.working(Role.TRAIN) / "weights.h5").touch()
        folder.path.rename(tmp_path / moved)
    with OutputFolder(tmp_path / "there").lock():
        pass
