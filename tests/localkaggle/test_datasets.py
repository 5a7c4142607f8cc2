"""Datasets of a local Kaggle, asked without HTTP."""

import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from desk import Desk, tarred, zipped
from miniature import tree_of

REF = {"ownerSlug": "tester", "datasetSlug": "my-test-data"}


def create(desk: Desk, tree: dict[str, bytes], **fields: Any) -> Any:
    request = {"ownerSlug": "tester", "slug": "my-test-data", "title": "My Test Data", "licenseName": "CC0-1.0"}
    return desk.ask("CreateDataset", **{**request, "isPrivate": True, **desk.files(tree), **fields})


def add_version(desk: Desk, tree: dict[str, bytes], **body: Any) -> Any:
    return desk.ask("CreateDatasetVersion", **REF, body={"versionNotes": "more", **desk.files(tree), **body})


def mounted(desk: Desk, ref: str = "tester/my-test-data") -> dict[str, bytes] | None:
    folder = desk.kaggle.datasets.dataset_folder(ref)
    return None if folder is None else tree_of(folder)


def test_files_and_nested_folders_are_mounted_as_they_were_sent(desk: Desk) -> None:
    answer = create(desk, {"data.csv": b"a,b\n", "weights/fold-0/model.bin": b"\0\1", "weights/empty": b""})

    assert answer["status"] == "Ok"
    assert answer["url"] == "https://www.kaggle.com/datasets/tester/my-test-data"
    assert mounted(desk) == {"data.csv": b"a,b\n", "weights/fold-0/model.bin": b"\0\1", "weights/empty": b""}
    assert desk.ask("GetDatasetStatus", **REF) == {"status": "READY"}


def test_a_dataset_of_a_name_that_is_taken_is_refused_with_200(desk: Desk) -> None:
    create(desk, {"data.csv": b"old"})

    answer = create(desk, {"data.csv": b"new"})

    assert "already in use" in answer["error"]
    assert answer["status"] == "error"
    assert mounted(desk) == {"data.csv": b"old"}


def test_each_version_keeps_its_own_files(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})
    add_version(desk, {"data.csv": b"two", "more.csv": b"2"})

    assert mounted(desk) == {"data.csv": b"two", "more.csv": b"2"}
    assert mounted(desk, "tester/my-test-data/1") == {"data.csv": b"one"}
    assert mounted(desk, "tester/my-test-data/versions/2") == mounted(desk)
    assert mounted(desk, "tester/my-test-data/3") is None
    described = desk.ask("GetDataset", **REF)
    assert (described["currentVersionNumber"], described["totalBytes"]) == (2, 4)
    assert [version["versionNotes"] for version in described["versions"]] == ["more", "Initial release"]


def test_the_folder_of_a_version_is_named_by_its_number(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})

    folder = desk.kaggle.datasets.dataset_folder("tester/my-test-data")

    assert folder is not None
    assert folder.name == "1"


def test_versions_can_be_added_by_number_and_replace_all_older_ones(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})
    number = desk.ask("GetDataset", **REF)["id"]

    body = {**desk.files({"data.csv": b"two"}), "deleteOldVersions": True}
    desk.ask("CreateDatasetVersionById", id=number, body=body)

    assert mounted(desk, "tester/my-test-data/1") is None
    assert mounted(desk) == {"data.csv": b"two"}


def test_listing_pages_through_all_files_by_path(desk: Desk) -> None:
    create(desk, {f"part-{number}.csv": b"x" * number for number in range(5)} | {"folder/deep.csv": b""})

    first = desk.ask("ListDatasetFiles", **REF, pageSize=4, pageToken="")
    second = desk.ask("ListDatasetFiles", **REF, pageSize=4, pageToken=first["nextPageToken"])

    names = [file["name"] for file in [*first["datasetFiles"], *second["datasetFiles"]]]
    assert names == ["folder/deep.csv", *(f"part-{number}.csv" for number in range(5))]
    assert second["nextPageToken"] == ""
    assert first["datasetFiles"][3]["totalBytes"] == 2
    assert first["datasetFiles"][0]["creationDate"] == "2026-11-20T12:00:00.000Z"


def test_the_tree_shows_one_folder_at_a_time(desk: Desk) -> None:
    create(desk, {"a.csv": b"1", "x/b.csv": b"22", "x/y/c.csv": b"333"})

    top = desk.ask("ListTreeDatasetFiles", **REF)
    below = desk.ask("ListTreeDatasetFiles", **REF, path="x")

    assert [item["name"] for item in top["directories"]] == ["x"]
    assert (top["directories"][0]["totalFiles"], top["directories"][0]["totalDirectories"]) == (1, 1)
    assert [item["name"] for item in top["files"]] == ["a.csv"]
    assert below["files"] == [
        {"name": "b.csv", "creationDate": "2026-11-20T12:00:00.000Z", "totalBytes": 2, "relativeUrl": "x/b.csv"}
    ]
    assert [item["relativeUrl"] for item in below["directories"]] == ["x/y"]


def test_the_summary_counts_files_by_extension(desk: Desk) -> None:
    create(desk, {"a.csv": b"1", "b.CSV": b"22", "c.bin": b"333"})

    info = desk.ask("GetDatasetFilesSummary", **REF)["fileSummaryInfo"]

    assert info["totalFileCount"] == 3
    assert {kind["extension"]: kind["totalSize"] for kind in info["fileTypes"]} == {".csv": 3, ".bin": 3}


def test_one_file_of_one_version_can_be_downloaded(desk: Desk) -> None:
    create(desk, {"x/data.csv": b"one"})
    add_version(desk, {"x/data.csv": b"two"})

    stored = desk.fetched(desk.ask("DownloadDataset", **REF, fileName="x/data.csv", datasetVersionNumber=1))

    assert (stored.name, stored.path.read_bytes()) == ("data.csv", b"one")


def test_the_whole_is_a_zip_that_is_made_once(desk: Desk) -> None:
    create(desk, {"data.csv": b"one", "x/y.bin": b"\0"})

    stored = desk.fetched(desk.ask("DownloadDataset", **REF))
    made = stored.path.stat().st_ino
    again = desk.fetched(desk.ask("DownloadDataset", **REF))

    assert stored.name.endswith(".zip")
    assert stored.media_type != "application/json"
    with zipfile.ZipFile(stored.path) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == {"data.csv": b"one", "x/y.bin": b"\0"}
    assert again.path.stat().st_ino == made


@pytest.mark.parametrize("name", ["../1.zip", "/etc/passwd", "no.csv", "x", "x/../data.csv", "x\\data.csv", "a\0b"])
def test_a_file_that_is_not_in_the_version_is_404(desk: Desk, name: str) -> None:
    create(desk, {"data.csv": b"one", "x/y.bin": b"\0"})

    assert desk.refused("DownloadDataset", **REF, fileName=name)[0] == 404


def test_what_is_not_there_is_404(desk: Desk) -> None:
    for method in ("GetDataset", "GetDatasetStatus", "GetDatasetMetadata", "ListDatasetFiles", "DeleteDataset"):
        assert desk.refused(method, **REF) == (404, "There is no dataset tester/my-test-data.")
    create(desk, {"data.csv": b"one"})
    assert desk.refused("DownloadDataset", **REF, datasetVersionNumber=7)[0] == 404
    assert mounted(desk, "tester") is None
    assert mounted(desk, "tester/other-data") is None


def test_metadata_can_be_read_and_changed(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"}, description="What it is", categoryIds=["images"])
    settings = {"title": "Another Title", "subtitle": "s", "description": "", "licenses": [{"name": "MIT"}]}

    assert desk.ask("UpdateDatasetMetadata", **REF, settings=settings) == {"errors": []}

    info = desk.ask("GetDatasetMetadata", **REF)["info"]
    assert (info["title"], info["description"], info["licenses"]) == ("Another Title", "", [{"name": "MIT"}])
    assert info["keywords"] == ["images"]
    assert info["isPrivate"] is True
    short = desk.ask("UpdateDatasetMetadata", **REF, settings={**settings, "title": "short"})
    assert short["errors"] == ["The dataset title must be between 6 and 50 characters"]


def test_search_finds_datasets_by_name_and_owner(desk: Desk) -> None:
    create(desk, {"a": b""}, slug="first-data", title="First Data")
    create(desk, {"a": b""}, slug="second-data", title="Second Data", isPrivate=False)

    def found(**fields: Any) -> list[str]:
        return [item["ref"] for item in desk.ask("ListDatasets", page=1, pageToken="", **fields)["datasets"]]

    assert found(search="FIRST") == ["tester/first-data"]
    assert found() == ["tester/second-data", "tester/first-data"]
    assert found(user="somebody") == []
    assert found(group="DATASET_SELECTION_GROUP_MY_PUBLIC") == ["tester/second-data"]


def test_a_deleted_dataset_leaves_its_name_free_and_its_files_until_the_next_start(desk: Desk) -> None:
    create(desk, {"data.csv": b"old"})
    folder = desk.kaggle.datasets.dataset_folder("tester/my-test-data")
    assert folder is not None

    assert desk.ask("DeleteDataset", **REF) == {}
    create(desk, {"data.csv": b"new"})

    assert tree_of(folder) == {"data.csv": b"old"}, "a session may have it mounted"
    restarted = desk.restarted()
    assert not folder.exists()
    assert mounted(restarted) == {"data.csv": b"new"}


def test_an_archive_of_a_deleted_version_goes_with_its_files(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})
    stored = desk.fetched(desk.ask("DownloadDataset", **REF))
    desk.ask("DeleteDataset", **REF)

    desk.restarted()

    assert not stored.path.exists()


def test_what_is_not_from_here_is_never_removed(desk: Desk) -> None:
    own = desk.root / "dataset-versions"
    mine = {"thesis/2/chapter.txt", "7/notes/a.txt", "7/readme.txt", "8.zip"}
    for path in mine:
        (own / path).parent.mkdir(parents=True, exist_ok=True)
        (own / path).write_text("mine")

    desk.restarted()

    assert set(tree_of(own)) == mine


def test_files_of_a_version_that_was_never_written_down_are_not_in_the_way(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})
    left = desk.root / "dataset-versions" / "1" / "2"
    left.mkdir()
    (left / "half.csv").write_text("ha")

    add_version(desk, {"data.csv": b"two"})

    assert mounted(desk) == {"data.csv": b"two"}


def test_versions_that_are_made_at_once_have_numbers_of_their_own(desk: Desk) -> None:
    create(desk, {"data.csv": b"0"})
    trees = [desk.files({"data.csv": str(number).encode()}) for number in range(6)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda tree: desk.ask("CreateDatasetVersion", **REF, body=tree), trees))

    assert [answer["status"] for answer in answers] == ["Ok"] * 6
    found = [mounted(desk, f"tester/my-test-data/{number}") for number in range(1, 8)]
    assert sorted(tree["data.csv"] for tree in found if tree) == [b"0", b"0", b"1", b"2", b"3", b"4", b"5"]


def test_a_restart_keeps_everything_and_removes_what_a_killed_server_left(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})
    desk.ask("DownloadDataset", **REF)
    half = desk.root / "dataset-versions" / ".staging-killed"
    half.mkdir()
    orphan = desk.root / "dataset-versions" / "1" / "2"
    orphan.mkdir()

    restarted = desk.restarted()
    add_version(restarted, {"data.csv": b"two"})

    assert not half.exists()
    assert mounted(restarted) == {"data.csv": b"two"}
    assert mounted(restarted, "tester/my-test-data/1") == {"data.csv": b"one"}
    assert restarted.ask("GetDatasetMetadata", **REF)["info"]["title"] == "My Test Data"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"slug": "tiny"}, "slug"),
        ({"slug": "a" * 51}, "slug"),
        ({"title": "t" * 51}, "title"),
        ({"slug": "under_score"}, "hyphens"),
        ({"slug": "../../etc"}, "hyphens"),
    ],
)
def test_names_that_kaggle_would_not_take_are_refused(desk: Desk, fields: dict[str, str], word: str) -> None:
    answer = create(desk, {"data.csv": b"one"}, **fields)

    assert answer["status"] == "error"
    assert word in answer["error"]


def test_nobody_writes_into_the_datasets_of_another_account(desk: Desk) -> None:
    create(desk, {"data.csv": b"one"})

    assert desk.refused("CreateDataset", ownerSlug="other", title="Some Data", slug="some-data")[0] == 403
    assert desk.refused("DeleteDataset", caller="other", **REF)[0] == 403
    assert desk.refused("CreateDatasetVersion", caller="other", **REF, body={})[0] == 403
    assert desk.refused("UpdateDatasetMetadata", caller="other", **REF, settings={})[0] == 403


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({f"{number}.csv": b"" for number in range(51)}, "51 files at the top"),
        ({"/".join("x" * 30) + "/data.csv": b"1"}, "folders deep"),
        ({}, "no files"),
        ({"weights/a.bin": b"1", "weights.zip": zipped({"a.bin": b"2"})}, "name of a folder"),
    ],
)
def test_files_that_make_no_version_are_refused_with_the_reason(desk: Desk, tree: dict[str, bytes], words: str) -> None:
    assert words in create(desk, tree)["error"]
    assert mounted(desk) is None


def test_two_files_of_one_name_are_refused(desk: Desk) -> None:
    twice = [{"token": desk.upload("data.csv", b"1")}, {"token": desk.upload("data.csv", b"2")}]

    assert "twice" in create(desk, {}, files=twice)["error"]


@pytest.mark.parametrize(
    "fields",
    [
        {"files": "token"},
        {"files": ["token"]},
        {"files": [{}]},
        {"files": [{"token": 1}]},
        {"files": [{"token": "unknown"}]},
        {"directories": [{"files": []}, 1]},
        {"directories": [{"name": "a/b", "files": [{"token": "blob-0"}]}]},
    ],
)
def test_requests_that_are_not_built_as_they_should_be_are_400(desk: Desk, fields: dict[str, Any]) -> None:
    status, _ = desk.refused("CreateDataset", ownerSlug="tester", slug="my-test-data", title="My Test Data", **fields)

    assert status == 400
    assert mounted(desk) is None


@pytest.mark.parametrize("name", ["..", ".", "a\\b", "c:", "line\nend", "n" * 300])
def test_folders_with_names_that_lead_elsewhere_are_refused(desk: Desk, name: str) -> None:
    inside = {"name": name, "files": [{"token": desk.upload("data.csv", b"1")}]}

    answer = create(desk, {}, directories=[inside])

    assert "no name for a file" in answer["error"]
    assert [path.name for path in (desk.root / "dataset-versions").glob("*")] == []


def test_an_archive_among_other_files_becomes_a_folder_of_its_name(desk: Desk) -> None:
    packed = tarred(("./deep/c.bin", b"c"), ("d.bin", b"d"))
    create(desk, {"weights.zip": zipped({"a.bin": b"a", "b/c.bin": b"bc"}), "more.tar.gz": packed, "x.csv": b"x"})

    assert mounted(desk) == {
        "weights/a.bin": b"a",
        "weights/b/c.bin": b"bc",
        "more/deep/c.bin": b"c",
        "more/d.bin": b"d",
        "x.csv": b"x",
    }


def test_an_archive_that_comes_alone_is_unpacked_to_the_top(desk: Desk) -> None:
    create(desk, {"archive.zip": zipped({"a.bin": b"a", "b/c.bin": b"bc"})})

    assert mounted(desk) == {"a.bin": b"a", "b/c.bin": b"bc"}


def test_wheels_and_broken_archives_stay_as_they_are(desk: Desk) -> None:
    wheel = zipped({"package/__init__.py": b""})
    encrypted = wheel.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    )
    tree = {"one.whl": wheel, "broken.zip": b"PK no more", "half.tar.gz": tarred(("a", b"1" * 9999))[:60]}
    create(desk, {**tree, "secret.zip": encrypted})

    assert mounted(desk) == {**tree, "secret.zip": encrypted}


def _link() -> tarfile.TarInfo:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return link


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("up.zip", zipped({"../../outside": b"!"})),
        ("absolute.zip", zipped({"/tmp/outside": b"!"})),
        ("windows.zip", zipped({"..\\outside": b"!"})),
        ("up.tar", tarred(("../outside", b"!"), mode="w:")),
        ("link.tar.gz", tarred(_link(), ("link/outside", b"!"))),
        ("twice.tgz", tarred(("a", b"1"), ("a", b"2"))),
        ("clash.tgz", tarred(("a", b"1"), ("a/b", b"2"))),
    ],
    ids=lambda value: value if isinstance(value, str) else "archive",  # an archive has the time in it
)
def test_hostile_archives_are_refused_and_leave_nothing(desk: Desk, name: str, content: bytes, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    answer = create(desk, {name: content, "data.csv": b"1"})

    assert answer["status"] == "error"
    assert answer["error"]
    assert mounted(desk) is None
    assert [path.name for path in (desk.root / "dataset-versions").glob("*")] == []
    assert sorted(tmp_path.iterdir()) == before


def test_a_disk_without_room_takes_no_version_and_packs_no_archive(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    create(desk, {"data.csv": b"one"})
    body = desk.files({"data.csv": b"two"})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=100 << 20))
    added = desk.ask("CreateDatasetVersion", **REF, body=body)

    assert "becomes larger than there is room for" in added["error"]
    assert desk.refused("DownloadDataset", **REF)[0] == 507
    assert mounted(desk) == {"data.csv": b"one"}
    shelf = desk.root / "dataset-versions"
    assert sorted(path.relative_to(shelf).as_posix() for path in shelf.rglob("*")) == ["1", "1/1", "1/1/data.csv"]


def test_a_slow_version_is_not_mounted_until_it_was_waited_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path, faults=("dataset-slow@CreateDatasetVersion",))
    create(desk, {"data.csv": b"one"})
    add_version(desk, {"data.csv": b"two"})

    seen = []
    while (status := desk.ask("GetDatasetStatus", **REF)["status"]) != "READY":
        seen.append(status)
        assert mounted(desk) == {"data.csv": b"one"} or len(seen) == 3
        assert len(seen) < 9

    assert seen == ["BLOBS_RECEIVED"] * 3
    assert mounted(desk) == {"data.csv": b"two"}


def test_a_slow_version_is_ready_after_a_while_without_being_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, faults=("dataset-slow",))
    create(desk, {"data.csv": b"one"})
    assert mounted(desk) is None
    assert desk.refused("ListDatasetFiles", **REF) == (404, "Dataset tester/my-test-data has no version that is ready.")

    desk.clock.pass_by(61)

    assert mounted(desk) == {"data.csv": b"one"}


def test_a_version_that_fails_says_so_and_the_one_before_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path, faults=("dataset-fails@CreateDatasetVersion",))
    create(desk, {"data.csv": b"one"})

    assert add_version(desk, {"data.csv": b"two"})["status"] == "Ok"

    assert desk.ask("GetDatasetStatus", **REF) == {"status": "FAILED"}
    assert desk.ask("GetDataset", **REF)["currentVersionNumber"] == 1
    assert mounted(desk) == {"data.csv": b"one"}
