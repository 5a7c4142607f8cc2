"""Hidden tests that a rehearsal makes of the test that is here: what is different in each, and what stays."""

import os
import shutil
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from layout_files import read_table
from layouts import zipped

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.survey import survey_folder
from generator.competition.tables import features_of, first_records, record_file, tf_example
from generator.errors import RunError
from generator.rehearsal.hidden_test import (
    VARIATIONS,
    NoTestSetError,
    TestSet,
    archives_of,
    difference,
    pack_archives,
    read_test_set,
    submission_rows,
    unpack_archives,
    write_folder,
)
from generator.rehearsal.sessions import Trial, Verdict, find_image, size_trial
from generator.sessions.sandbox import SessionFolder, SessionOrder

HOUSES = Task(
    family="tabular",
    metric="rmse",
    target_kind=TargetKind.NUMBER,
    submission=SubmissionKind.NUMBERS,
    id_column="id",
    targets=("price",),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample.csv",
)
IMAGES = replace(
    HOUSES, test_table="", details={"train_folder": "train", "test_folder": "test", "labels_from": "table"}
)
KINDS = ["brick", "wood", "clay"]


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    folder = tmp_path / "houses"
    folder.mkdir()
    (folder / "train.csv").write_text("id,area,kind,price\n1,20,brick,3\n")
    rows = [f"{100 + number},{number}.5,{KINDS[number % 3]}\n" for number in range(20)]
    (folder / "test.csv").write_text("id,area,kind\n" + "".join(rows))
    (folder / "sample.csv").write_text("id,price\n" + "".join(f"{100 + number},0\n" for number in range(20)))
    return folder


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    folder = tmp_path / "scans"
    for name in ("train", "test"):
        (folder / name).mkdir(parents=True)
    (folder / "train.csv").write_text("id,price\nt1,3\n")
    (folder / "train" / "t1.png").write_bytes(b"train" * 8)
    for number in range(6):
        (folder / "test" / f"s{number}.png").write_bytes(bytes([number]) * 40)
    (folder / "sample.csv").write_text("id,price\n" + "".join(f"s{number},0\n" for number in range(6)))
    return folder


def read(folder: Path, task: Task, *, most: int = 1_000) -> TestSet:
    return read_test_set(folder, survey_folder(folder), task, most=most)


def hidden(folder: Path, task: Task, name: str) -> Path:
    """The competition's folder with the hidden test of this name in it."""
    varied = next(each for each in VARIATIONS if each.name == name).vary(read(folder, task))
    assert varied is not None
    written = folder.with_name(f"hidden {name}")
    written.mkdir()
    write_folder(folder, varied, written)
    return written


def rows_of(path: Path) -> list[list[str]]:
    return read_table(path)[1:]


def ids_of(path: Path) -> list[str]:
    return [row[0] for row in rows_of(path)]


def test_a_larger_test_has_every_example_ten_times_under_ids_of_its_own(houses: Path) -> None:
    larger = hidden(houses, HOUSES, "10 times larger")

    ids = ids_of(larger / "test.csv")
    assert len(ids) == len(set(ids)) == 200
    assert ids_of(larger / "sample.csv") == ids
    assert [row[1] for row in rows_of(larger / "test.csv")] == 10 * [row[1] for row in rows_of(houses / "test.csv")]


def test_another_order_is_another_one_in_the_table_and_in_the_sample(houses: Path) -> None:
    shuffled = hidden(houses, HOUSES, "another order")

    orders = [ids_of(path) for path in (houses / "test.csv", shuffled / "test.csv", shuffled / "sample.csv")]
    assert len({tuple(order) for order in orders}) == 3
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert sorted(rows_of(shuffled / "test.csv")) == sorted(rows_of(houses / "test.csv"))


def test_unseen_ids_are_none_of_the_known_ones(houses: Path) -> None:
    unseen = hidden(houses, HOUSES, "unseen ids")

    assert not set(ids_of(unseen / "test.csv")) & set(ids_of(houses / "test.csv"))
    assert [row[1:] for row in rows_of(unseen / "test.csv")] == [row[1:] for row in rows_of(houses / "test.csv")]


def test_cells_are_missing_and_categories_new_but_never_an_id(houses: Path) -> None:
    missing = rows_of(hidden(houses, HOUSES, "missing values") / "test.csv")
    renewed = rows_of(hidden(houses, HOUSES, "a new category") / "test.csv")

    assert missing[0][1:] == ["", ""]
    assert 5 < sum(cell == "" for row in missing for cell in row) < 25
    assert {row[2] for row in renewed} - set(KINDS) == {"never seen before"}
    assert [row[0] for row in missing] == [row[0] for row in renewed] == ids_of(houses / "test.csv")


def test_columns_are_added_in_front_and_at_the_end(houses: Path) -> None:
    header = (hidden(houses, HOUSES, "more columns") / "test.csv").read_text().splitlines()[0].split(",")

    assert header[1:-1] == ["id", "area", "kind"]


@pytest.mark.parametrize(("name", "rows"), [("one row", 1), ("empty", 0)])
def test_a_small_test_has_so_many_rows_in_both_tables(houses: Path, name: str, rows: int) -> None:
    small = hidden(houses, HOUSES, name)

    assert [len(rows_of(small / table)) for table in ("test.csv", "sample.csv")] == [rows, rows]
    assert (small / "train.csv").samefile(houses / "train.csv")


def test_files_go_with_the_ids(scans: Path) -> None:
    larger = hidden(scans, IMAGES, "10 times larger")

    ids = ids_of(larger / "sample.csv")
    assert sorted(path.stem for path in (larger / "test").iterdir()) == sorted(ids)
    assert len(ids) == 60
    assert (larger / "test" / f"{ids[7]}.png").read_bytes() == bytes([1]) * 40
    assert (larger / "train" / "t1.png").samefile(scans / "train" / "t1.png")


def test_a_test_in_archives_is_packed_as_it_was(scans: Path, tmp_path: Path) -> None:
    task = replace(
        IMAGES, sample_submission="sample.zip/sample.csv", details={**IMAGES.details, "test_folder": "data.zip/test"}
    )
    (scans / "notes.txt").write_text("not of the test")
    with zipfile.ZipFile(scans / "data.zip", "w") as archive:
        archive.write(scans / "notes.txt", "notes.txt")
        for path in (scans / "test").iterdir():
            archive.write(path, f"test/{path.name}")
    with zipfile.ZipFile(scans / "sample.zip", "w") as archive:
        archive.write(scans / "sample.csv", "sample.csv")
    shutil.rmtree(scans / "test")
    unpacked, survey = tmp_path / "unpacked", survey_folder(scans)
    unpacked.mkdir()

    unpack_archives(scans, archives_of(task), unpacked)
    test = read_test_set(unpacked, survey, task, most=1_000)
    for count, variation in ((60, VARIATIONS[1]), (0, VARIATIONS[-1])):
        written, varied = tmp_path / variation.name, variation.vary(test)
        assert varied is not None
        written.mkdir()
        write_folder(unpacked, varied, written)
        pack_archives(written, archives_of(task))

        with zipfile.ZipFile(written / "data.zip") as archive, zipfile.ZipFile(written / "sample.zip") as sample:
            names = archive.namelist()
            ids = [line.split(",")[0] for line in sample.read("sample.csv").decode().splitlines()[1:]]
        assert len(ids) == count
        assert sorted(names) == sorted(["notes.txt", "test/", *(f"test/{name}.png" for name in ids)])
        assert sorted(path.name for path in written.iterdir()) == ["data.zip", "notes.txt", "sample.csv", "sample.zip",
                                                                   "train", "train.csv"]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"PK", "cannot be unpacked: File is not a zip file"),
        (zipped({"test/s0.png": b"", "test/s0.png/a": b""}), "cannot be unpacked"),
        (None, "cannot be unpacked"),
        (zipped({"test/s0.png": b"", "../s1.png": b""}), "would write outside of its folder"),
        (zipped({"a/" * 900 + "s0.png": b""}), "would write outside of its folder, or too deep"),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_named(
    scans: Path, tmp_path: Path, content: bytes | None, why: str
) -> None:
    if content is None:
        (scans / "data.zip").symlink_to(tmp_path / "secret.zip")
        (tmp_path / "secret.zip").write_bytes(zipped({"secret.txt": b"token"}))
    else:
        (scans / "data.zip").write_bytes(content)
    (tmp_path / "unpacked").mkdir()

    with pytest.raises(NoTestSetError, match=rf"data\.zip {why}"):
        unpack_archives(scans, ["data.zip"], tmp_path / "unpacked")


def test_a_damaged_file_is_half_a_file_and_the_users_own_is_whole(scans: Path) -> None:
    damaged = hidden(scans, IMAGES, "a damaged file")

    assert sorted(path.stat().st_size for path in (damaged / "test").iterdir()) == [20, 40, 40, 40, 40, 40]
    assert {path.stat().st_size for path in (scans / "test").iterdir()} == {40}


def test_ids_that_count_the_rows_go_on_counting(houses: Path) -> None:
    counted = replace(HOUSES, id_column="ImageId", details={"has_test_ids": False})
    (houses / "test.csv").write_text("pixel\n" + "".join(f"{number}\n" for number in range(5)))
    (houses / "sample.csv").write_text("ImageId,price\n" + "".join(f"{number + 1},0\n" for number in range(5)))

    assert ids_of(hidden(houses, counted, "10 times larger") / "sample.csv") == [str(n + 1) for n in range(50)]
    shuffled = hidden(houses, counted, "another order")
    assert (shuffled / "test.csv").read_text() == (houses / "test.csv").read_text()
    assert ids_of(shuffled / "sample.csv") != ids_of(houses / "sample.csv")


def test_several_files_of_an_example_go_with_its_id(scans: Path) -> None:
    for path in list((scans / "test").iterdir()):
        path.rename(path.with_name(f"{path.stem}_red.png"))
        path.with_name(f"{path.stem}_blue.png").write_bytes(b"blue")

    unseen = hidden(scans, IMAGES, "unseen ids")

    ids = ids_of(unseen / "sample.csv")
    assert not set(ids) & set(ids_of(scans / "sample.csv"))
    names = {path.name for path in (unseen / "test").iterdir()}
    assert names == {f"{name}_{colour}.png" for name in ids for colour in ("red", "blue")}


def test_ids_that_columns_make_are_made_anew_for_each_group(houses: Path) -> None:
    task = replace(HOUSES, id_column="name", details={"id_columns": ["street", "number"], "group_column": "street"})
    (houses / "test.csv").write_text("street,number,area\n" + "".join(f"{n // 5},{n % 5},{n}.5\n" for n in range(20)))
    (houses / "sample.csv").write_text("name,price\n" + "".join(f"{n // 5}_{n % 5},0\n" for n in range(20)))

    larger, missing = (hidden(houses, task, name) for name in ("10 times larger", "missing values"))

    for folder, count in ((larger, 200), (missing, 20)):
        ids = ids_of(folder / "sample.csv")
        assert [f"{row[0]}_{row[1]}" for row in rows_of(folder / "test.csv")] == ids
        assert len(set(ids)) == count
    assert len({name.partition("_")[0] for name in ids_of(larger / "sample.csv")}) == 40
    assert len(rows_of(hidden(houses, task, "one row") / "test.csv")) == 5


def test_records_have_the_new_ids_inside(scans: Path) -> None:
    task = replace(
        IMAGES, details={**IMAGES.details, "labels_from": "records", "record_id": "id", "record_image": "image"}
    )
    for path in (scans / "test").iterdir():
        path.unlink()
    made = [
        tf_example({"id": ("bytes", [b"s%d" % n]), "image": ("bytes", [b"\xff\xd8" + bytes([n])])}) for n in range(6)
    ]
    (scans / "test" / "part-6.tfrec").write_bytes(record_file(made))

    larger = hidden(scans, task, "10 times larger")

    (path,) = (larger / "test").iterdir()
    with path.open("rb") as file:
        found = [features_of(record) for record in first_records(file, 100)]
    assert [each["id"].values[0].decode() for each in found] == ids_of(larger / "sample.csv")
    assert len(found) == 60
    assert found[7]["image"].values[0] == b"\xff\xd8\x01"


def test_rows_for_parts_of_an_example_stay_its_own(scans: Path) -> None:
    (scans / "sample.csv").write_text("id,price\n" + "".join(f"s{n}_{part},0\n" for n in range(6) for part in "ab"))

    unseen = ids_of(hidden(scans, IMAGES, "unseen ids") / "sample.csv")

    assert [name[-2:] for name in unseen] == 6 * ["_a", "_b"]
    assert len({name[:-2] for name in unseen}) == 6


def test_ids_that_no_example_has_are_said_to_be_so(houses: Path) -> None:
    (houses / "sample.csv").write_text("id,price\n7,0\n")

    with pytest.raises(NoTestSetError, match="the sample has the id 7, which no example has"):
        read(houses, HOUSES)


def test_answers_have_to_follow_their_examples(houses: Path, tmp_path: Path) -> None:
    test = read(houses, HOUSES)
    shuffled = VARIATIONS[2].vary(test)
    assert shuffled is not None
    right, by_place = tmp_path / "right.csv", tmp_path / "by_place.csv"
    ids = [example.key for example in shuffled.examples]
    right.write_text("id,price\n" + "".join(f"{name},{int(name) + 1e-7}\n" for name in ids))
    by_place.write_text("id,price\n" + "".join(f"{name},{place}\n" for place, name in enumerate(ids)))
    known = {example.key: [[example.key]] for example in test.examples}

    assert difference(shuffled, submission_rows(right, shuffled), known) == ""
    assert "20 of 20 rows have another answer" in difference(shuffled, submission_rows(by_place, shuffled), known)


def test_a_link_out_of_the_data_hands_no_file_of_the_users_to_a_notebook(houses: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("id,area,kind\n100,token,brick\n")
    (houses / "secret.csv").symlink_to(tmp_path / "secret.csv")
    (houses / "nothing.csv").symlink_to(houses / "not there.csv")
    os.mkfifo(houses / "pipe.csv")

    hidden_test = hidden(houses, HOUSES, "one row")

    assert sorted(path.name for path in hidden_test.iterdir()) == ["sample.csv", "test.csv", "train.csv"]
    (houses / "test.csv").unlink()
    (houses / "test.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(NoTestSetError, match=r"test\.csv does not exist"):
        read(houses, HOUSES)


@pytest.mark.parametrize("name", ["", "lib/python2.7"])
def test_an_environment_that_cannot_be_inferred_in_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    if name:
        (tmp_path / "bin" / "python").write_text("")
        (tmp_path / name).mkdir(parents=True)

    with pytest.raises(RunError, match="Name a virtual environment with the packages of Kaggle's GPU image"):
        find_image(tmp_path)


def tried(rows: int, seconds: float, gib: float) -> Trial:
    return Trial("", "", Verdict.PASSED, rows=rows, seconds=seconds, peak_memory=int(gib * 2**30))


@pytest.mark.parametrize(
    ("rows", "gib", "verdict", "when"),
    [
        (10_000, 2, Verdict.PASSED, ""),
        (100_000, 2, Verdict.FAILED, "when its memory is full"),
        (1_000_000, 1.001, Verdict.FAILED, "after 9.0 h"),
    ],
)
def test_time_and_memory_are_those_of_the_real_size(rows: int, gib: float, verdict: Verdict, when: str) -> None:
    files, nine = SessionFolder(Path(), "infer"), timedelta(hours=9)
    limits = SessionOrder("infer", files.notebook, files, {}, time_limit=nine, memory_limit=29 * 2**30)

    trial = size_trial([tried(1, 10.1, 1), tried(100, 20, 1 + gib / 20), tried(1_000, 110, gib)], limits, rows=rows)

    assert (trial.verdict, trial.when) == (verdict, when)
    assert "of 9.0 h, and" in trial.found


def test_the_id_of_a_sample_may_stand_in_any_column(houses: Path, tmp_path: Path) -> None:
    rows = [f"{number},0,{100 + number}\n" for number in range(20)]
    (houses / "sample.csv").write_text(",price,id\n" + "".join(rows))

    larger = hidden(houses, HOUSES, "10 times larger")

    ids = ids_of(larger / "test.csv")
    assert [row[2] for row in rows_of(larger / "sample.csv")] == ids
    assert (larger / "sample.csv").read_text().splitlines()[:2] == [",price,id", "0,0,100"]


def test_rows_of_test_and_sample_may_end_in_a_separator(houses: Path) -> None:
    for name in ("test.csv", "sample.csv"):
        header, *lines = (houses / name).read_text().splitlines()
        (houses / name).write_text("\n".join([header, *(line + "," for line in lines), ""]))

    larger = hidden(houses, HOUSES, "10 times larger")

    assert [row[0] for row in rows_of(larger / "sample.csv")] == ids_of(larger / "test.csv")


def test_rows_without_ids_are_those_of_the_test_in_their_order(houses: Path) -> None:
    rows = [f"{KINDS[number % 3]},0\n" for number in range(20)]
    (houses / "sample.csv").write_text("kind,price\n" + "".join(rows))
    (houses / "test.csv").write_text((houses / "test.csv").read_text().replace("id,area", "key,area"))
    details = {"has_sample_ids": False, "has_test_ids": False, "context_columns": ["kind"]}
    task = replace(HOUSES, id_column="row", details=details)

    larger = hidden(houses, task, "10 times larger")

    kinds = [row[2] for row in rows_of(larger / "test.csv")]
    assert [row[0] for row in rows_of(larger / "sample.csv")] == kinds
    assert len(kinds) == 200
    assert VARIATIONS[2].vary(read(houses, task)) is None
