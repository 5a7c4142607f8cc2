"""A competition is surveyed through Kaggle's API as it is on the disk, without downloading it."""

import gzip
import zipfile
from pathlib import Path
from zlib import crc32

import pytest
from folder_kaggle import FolderKaggle
from layouts import LAYOUTS, Layout
from miniature import write_tree

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.survey import survey_folder
from generator.kaggle.competition_data import DownloadBudget, RemoteFiles
from generator.kaggle.errors import KaggleError, RulesNotAcceptedError
from generator.kaggle.facts import RemoteFacts

MEGABYTE = 1 << 20
# The same ones, whatever layouts there will be.
SOME_LAYOUTS = [layout for layout in LAYOUTS if crc32(layout.name.encode()) % 4 == 0]


def table(rows: int) -> str:
    return "id,label,text\n" + "".join(f"{row},{row % 3},some text of row {row:09}\n" for row in range(rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("layout", SOME_LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_is_seen_through_the_api_as_it_is_on_the_disk(layout: Layout, folder: Path) -> None:
    layout.write(folder)

    assert RemoteFacts(FolderKaggle(folder)).survey("some-thing") == survey_folder(folder)


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [False, True])
def test_every_layout_gives_the_same_task_through_the_api(is_packed: bool, tmp_path: Path) -> None:
    for layout in LAYOUTS:
        folder = tmp_path / layout.name / "data"
        folder.mkdir(parents=True)
        layout.write(folder)
        hints = Hints(slug=layout.name.replace("_", "-"), metric_text=layout.metric)
        survey = RemoteFacts(FolderKaggle(folder, is_packed=is_packed)).survey("some-thing")

        assert read_task(survey, hints).task == read_task(survey_folder(folder), hints).task, layout.name


@pytest.mark.slow
def test_of_a_large_table_only_pieces_are_fetched(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(700_000), "test.csv": "id,text\n1,a\n"})
    kaggle = FolderKaggle(folder)

    survey = RemoteFacts(kaggle).survey("some-thing")

    train = survey.table("train.csv")
    assert train is not None
    assert (folder / "train.csv").stat().st_size > 20 * MEGABYTE
    assert 600_000 < train.rows < 800_000
    assert not train.is_complete
    assert int(train.columns[0].values[-1] or 0) > 690_000  # the end of the file was looked at as well
    assert kaggle.sent < 4 * MEGABYTE
    assert kaggle.calls["range"] < 15
    assert kaggle.calls["ticket"] == 2


def test_who_reads_on_is_given_more_at_a_time(folder: Path) -> None:
    (folder / "train.tfrec").write_bytes(bytes(range(256)) * 8 * 1024)
    kaggle = FolderKaggle(folder)
    files = RemoteFiles(kaggle, "some-thing", {"train.tfrec": 2 * MEGABYTE})

    with files.open_file("train.tfrec") as file:
        content = b"".join(iter(lambda: file.read(1_000), b""))

    assert content == (folder / "train.tfrec").read_bytes()
    assert kaggle.calls["range"] < 10
    assert kaggle.sent == 2 * MEGABYTE


def test_a_table_that_kaggle_sends_as_a_zip_is_read_all_the_same(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(300)})

    (train,) = RemoteFacts(FolderKaggle(folder, is_packed=True)).survey("some-thing").tables

    assert (train.column_names, train.rows, train.is_complete) == (("id", "label", "text"), 300, True)


def test_a_zip_in_the_listing_is_read_by_its_directory_and_by_pieces(folder: Path) -> None:
    with zipfile.ZipFile(folder / "train.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("train.csv", table(200))
        for number in range(200):
            archive.writestr(f"blobs/{number:03}.bin", bytes(40_000))
    kaggle = FolderKaggle(folder)

    survey = RemoteFacts(kaggle).survey("some-thing")

    assert survey.tables[0].path == "train.zip/train.csv"
    assert survey.folders[0].files == 200
    assert kaggle.sent < MEGABYTE < (folder / "train.zip").stat().st_size


def test_a_compressed_table_is_unpacked_as_far_as_it_is_needed(folder: Path) -> None:
    (folder / "train.csv.gz").write_bytes(gzip.compress(table(300).encode()))

    assert RemoteFacts(FolderKaggle(folder)).survey("some-thing") == survey_folder(folder)


@pytest.mark.slow
def test_of_a_large_folder_the_first_names_and_the_count_are_asked_for(folder: Path) -> None:
    write_tree(folder, {f"train/{number:05}.bin": "x" for number in range(1_500)})
    kaggle = FolderKaggle(folder)

    (found,) = RemoteFacts(kaggle).survey("some-thing").folders

    assert (found.files, len(found.names)) == (1_500, 1_000)
    assert found.suffixes == {".bin": 1_500}


def test_of_very_many_folders_some_are_listed_and_that_is_said(folder: Path) -> None:
    write_tree(folder, {f"class{number:03}/a.bin": "x" for number in range(200)})
    kaggle = FolderKaggle(folder)

    survey = RemoteFacts(kaggle).survey("some-thing")

    assert kaggle.calls["list"] == 120
    assert survey.notes == ("Of 200 folders on one level, 119 were listed.",)


def test_a_competition_without_a_listing_by_folder_is_listed_flat(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(30), "images/a/1.bin": "x", ".hidden/x": "x", "__MACOSX/y.csv": "a,b\n"})

    survey = RemoteFacts(FolderKaggle(folder, has_tree=False)).survey("some-thing")

    assert survey == survey_folder(folder)


def test_a_listing_without_sizes_still_shows_the_table(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(30)})

    (train,) = RemoteFacts(FolderKaggle(folder, lists={"train.csv": 0})).survey("some-thing").tables

    assert train.rows == 30


def test_what_is_beyond_the_budget_is_left_out_and_said(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(30)})
    files = RemoteFiles(FolderKaggle(folder), "some-thing", {"train.csv": 100}, budget=DownloadBudget(requests=0))

    with pytest.raises(OSError, match="`tandem data` downloads all of it"):
        files.open_file("train.csv")


def test_a_file_that_is_listed_but_not_handed_out_is_a_note(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(30), "test.csv": table(30)})
    kaggle = FolderKaggle(folder)
    address = kaggle.competitions.file_url
    missing = RemoteFacts(FolderKaggle(folder, slug="other")).describe

    def only_train(slug: str, name: str) -> str:
        if name == "test.csv":
            missing("unknown")
        return address(slug, name)

    kaggle.competitions.file_url = only_train
    survey = RemoteFacts(kaggle).survey("some-thing")

    assert [found.path for found in survey.tables] == ["train.csv"]
    assert survey.notes == ("test.csv cannot be read: Kaggle lists it, but does not hand it out.",)


def test_rules_that_were_not_accepted_are_not_taken_for_a_broken_file(folder: Path) -> None:
    write_tree(folder, {"train.csv": table(30)})

    with pytest.raises(RulesNotAcceptedError, match="accept its rules"):
        RemoteFacts(FolderKaggle(folder, has_rules_accepted=False)).survey("some-thing")


def test_a_competition_without_files_is_one_sentence(folder: Path) -> None:
    with pytest.raises(KaggleError, match="lists no files of some-thing"):
        RemoteFacts(FolderKaggle(folder)).survey("some-thing")
