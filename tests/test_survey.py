"""A look at a competition's folder sees what is there, reads little of it, and survives what is wrong with it."""

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from layout_files import record, sound
from PIL import Image

from generator.competition.survey import (
    AudioFormat,
    ColumnKind,
    Directory,
    DiskFiles,
    ImageEncoding,
    ImageFormat,
    SurveyLimits,
    Table,
    survey_files,
    survey_folder,
)
from generator.competition.tables import TableFormat
from generator.errors import CompetitionError

# Two examples written by tf.io.TFRecordWriter: id "ab1" and "ab2", a grey PNG of 3 x 2 pixels, class -1 and 103,
# box (0.5, 2.0) and (1.5).
RECORDS = base64.b85decode(
    "lK=n!0000054r003XlN`6AA-jZ+H?65()|k0000#0000$3Q-CLX>DO=WfDjVMhZlUP)<h;3K|Lk000e1NJLTq000930006A00000xF0#j0000BNkl<Z"
    "c${NkfB*mh2mk@MSaX#C0000<MNUMnLSTXl7YYSqY+-YA5)K*+3JU-K|NsC0|Ns913JnSZX=D-y3Iz%SVPY|0!C(4@000000001R0UcZlg8>Q;3Ik$q"
    "coGN_1_}fK0Kh*AQ3?fVZDD6+5=aV03Pg!ePDc$28VUda01Zh<L{b0%00RI300IaA0002EA34SV000X~L_t(|oMT{s0000800FmHbCm!9002ovPDHLk"
    "V1fz`3I$_qVRLg51sVei0cQ#g3Ib_l5(f$e3IkzcGM3094F"
)


def only_table(folder: Path) -> Table:
    """The one table of a folder."""
    (table,) = survey_folder(folder).tables
    return table


PNG = frozenset((ImageEncoding.PNG,))


def write_image(path: Path, mode: str = "RGB", size: tuple[int, int] = (6, 4)) -> None:
    """Writes a black image with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size).save(path)


def test_a_small_table_is_read_as_a_whole_with_the_kinds_of_its_columns(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(
        "id,age,fare,alive,born,name,none\n"
        '1,22,7.25,True,2020-01-31,"Braund, Mr. ""Owen""",\n'
        "2,,-1e3,False,2020-02-01 10:00:00,N/A,NaN\n"
    )

    table = only_table(tmp_path)

    assert {column.name: column.kind.value for column in table.columns} == {
        "id": "integer",
        "age": "integer",
        "fare": "number",
        "alive": "boolean",
        "born": "date",
        "name": "text",
        "none": "empty",
    }
    assert table.columns[5].values == ('Braund, Mr. "Owen"', None)
    assert (table.rows, table.is_complete) == (2, True)


@pytest.mark.parametrize(
    ("name", "text", "separator"),
    [
        ("a.csv", "id,when\n1,2020-01-01 10:00\n2,2020-01-02 11:00\n", ","),
        ("a.csv", "id;price\n1;2,5\n2;3,25\n", ";"),
        ("a.csv", "id\ttext\n1\tone, two, three\n2\tfour\n", "\t"),
        ("a.tsv", "id\ttext\n1\tone, two\n2\tfour, five\n", "\t"),
        ("a.txt", "id|label\n1|cat\n2|dog\n", "|"),
        ("a.csv", "id label\n1 0\n2 1\n", " "),
        ("a.data", "x    y  z\n1.0  2  3\n10.5 20 30\n", r"\s+"),
    ],
)
def test_the_separator_is_the_one_that_gives_every_row_the_same_fields(
    name: str, text: str, separator: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)

    table = only_table(tmp_path)

    assert table.separator == separator
    assert all(column.missing == 0 for column in table.columns)
    assert table.rows == 2


def test_a_single_column_is_a_table_too(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id\na b\nc\n")

    assert only_table(tmp_path).column_names == ("id",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("rows", [3, 150_000], ids=["small", "large"])
def test_text_is_read_in_its_encoding(encoding: str, rows: int, tmp_path: Path) -> None:
    text = "id,städte\n" + "".join(f"{row},Köln {row}\n" for row in range(rows))
    (tmp_path / "train.csv").write_bytes(text.encode(encoding))

    table = only_table(tmp_path)

    assert (table.encoding, table.column_names) == (encoding, ("id", "städte"))
    assert all(value.startswith("Köln ") for value in table.columns[1].present)
    assert max(int(value) for value in table.columns[0].present) == rows - 1 or rows > 3
    assert table.rows == pytest.approx(rows, rel=0.05)


def test_a_large_table_that_is_sorted_by_class_is_seen_from_end_to_end_and_hardly_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 200_000
    with (tmp_path / "train.csv").open("w") as file:
        file.write("id,text,label\n")
        file.writelines(
            f'{row},"a text, with ""quotes"",\nand more, than one\n\nline in row {row}",class {row * 5 // rows}\n'
            for row in range(rows)
        )
    read = []

    class Counted(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            read.append(len(found := super().read(size)))
            return found

    monkeypatch.setattr(DiskFiles, "open_file", lambda self, path: Counted(self.root / path))

    table = only_table(tmp_path)

    assert table.columns[2].distinct == {f"class {index}" for index in range(5)}
    assert table.columns[0].kind is ColumnKind.INTEGER
    assert table.columns[0].is_unique
    assert all(value.startswith("a text, with") for value in table.columns[1].present)
    assert table.rows == pytest.approx(rows, rel=0.05)
    assert not table.is_complete
    assert len(table.columns[0].values) <= 2_000
    assert sum(read) < 3_000_000 < (tmp_path / "train.csv").stat().st_size


def test_a_sparse_file_of_five_gigabytes_does_not_hurt(tmp_path: Path) -> None:
    with (tmp_path / "train.csv").open("wb") as file:
        file.write(b"id,label\n" + b"".join(b"%d,0\n" % row for row in range(200_000)))
        file.truncate(5_000_000_000)

    survey = survey_folder(tmp_path)

    assert survey.tables[0].columns[1].distinct == {"0"}
    assert survey.notes == ("train.csv has stretches of NUL bytes, which were left out.",)


@pytest.mark.parametrize(
    ("suffix", "compress", "compression"),
    [(".gz", gzip.compress, "gzip"), (".bz2", bz2.compress, "bz2"), (".xz", lzma.compress, "xz")],
)
def test_a_compressed_table_is_a_table(
    suffix: str, compress: Callable[[bytes], bytes], compression: str, tmp_path: Path
) -> None:
    (tmp_path / f"train.csv{suffix}").write_bytes(compress(b"id,label\n1,cat\n2,dog\n"))

    table = only_table(tmp_path)

    assert (table.compression, table.rows, table.is_complete) == (compression, 2, True)
    assert table.columns[1].values == ("cat", "dog")


@pytest.mark.slow
def test_a_bomb_is_unpacked_no_further_than_its_sample(tmp_path: Path) -> None:
    bomb = b"id,x\n" + b"1,2\n" * 4_000_000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(bomb))
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b.csv", bomb)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"id,x\n1,2\n")[:-12])

    survey = survey_folder(tmp_path)

    assert [table.path for table in survey.tables] == ["a.csv.gz", "b.zip/b.csv"]
    assert [table.rows for table in survey.tables] == pytest.approx([4_000_000] * 2, rel=0.2)
    assert sum("times its size" in note for note in survey.notes) == 2
    assert "c.csv.gz cannot be unpacked: it is damaged, cut off, or not gzip." in survey.notes


def test_a_million_columns_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(",".join(map(str, range(1_000_000))) + "\n")
    (tmp_path / "test.csv").write_text(",".join(["x"] * 30_000) + "\n" + ",".join(["1"] * 30_000) + "\n")

    survey = survey_folder(tmp_path)

    assert survey.tables == ()
    assert len(survey.notes) == 2
    assert all("20,000 are the most that are" in note for note in survey.notes)


def test_columns_have_names_of_their_own_as_pandas_gives_them(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(",x,x,x.1,\n0,1,2,3,4\n")

    survey = survey_folder(tmp_path)

    pandas = pytest.importorskip("pandas")
    assert list(survey.tables[0].column_names) == list(pandas.read_csv(tmp_path / "train.csv").columns)
    assert any("without a name" in note for note in survey.notes)
    assert any('named "x"' in note for note in survey.notes)


def test_prose_and_settings_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("The data.\n\nEach row, in train.csv, is a cat.\nUse it, and enjoy.\n")
    (tmp_path / "names.json").write_text('{"cat": "a pet", "dog": "another"}')

    survey = survey_folder(tmp_path)

    assert survey.tables == ()
    assert survey.folders[0].names == ("README.txt", "names.json")


def test_names_of_numbers_are_a_table(tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text('{"0": "cat", "1": "dog"}')

    assert [column.values for column in survey_folder(tmp_path).tables[0].columns] == [("0", "1"), ("cat", "dog")]


def test_rows_of_another_length_than_the_header_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n" + "1,2\n" * 50 + "3\n4,5,6\n")

    survey = survey_folder(tmp_path)

    assert survey.tables[0].columns[1].values[-2:] == (None, "5")
    assert survey.notes == ("a.csv has 2 rows, of 52 sampled, with another number of fields than the header.",)


@pytest.mark.parametrize(
    ("name", "text", "table_format"),
    [
        ("a.json", '[{"id": 1, "of": {"x": 0.5, "tags": ["a"]}}, {"id": 2, "of": {"x": null}}]', TableFormat.JSON),
        ("a.json", '{"id": [1, 2], "of.x": [0.5, null], "of.tags": [["a"], null]}', TableFormat.JSON),
        (
            "a.json",
            '{"id": {"0": 1, "1": 2}, "of.x": {"0": 0.5, "1": null}, "of.tags": {"0": ["a"], "1": null}}',
            TableFormat.JSON,
        ),
        ("a.json", '{"id": 1, "of": {"x": 0.5, "tags": ["a"]}}\n{"id": 2, "of": {}}\n', TableFormat.JSON_LINES),
        ("a.jsonl", '{"id": 1, "of": {"x": 0.5, "tags": ["a"]}}\n{"id": 2}\n', TableFormat.JSON_LINES),
    ],
)
def test_json_of_any_shape_gives_the_same_columns(
    name: str, text: str, table_format: TableFormat, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)

    table = only_table(tmp_path)

    assert (table.format, table.rows, table.is_complete) == (table_format, 2, True)
    assert table.columns[0].values == ("1", "2")
    assert (table.column("of.x") or table.columns[0]).values == ("0.5", None)
    assert (table.column("of.tags") or table.columns[0]).values == ('["a"]', None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train.json", "train.jsonl"])
def test_large_json_is_seen_from_end_to_end(name: str, tmp_path: Path) -> None:
    rows = [
        {"id": row, "words": [{"word": "},{"}, {"word": "b"}] * 10, "label": row * 4 // 40_000} for row in range(40_000)
    ]
    text = json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(text)

    table = only_table(tmp_path)

    assert table.column_names == ("id", "words", "label")
    assert table.columns[2].distinct == {"0", "1", "2", "3"}
    assert table.columns[0].is_unique
    assert table.rows == pytest.approx(40_000, rel=0.05)
    assert not table.is_complete


def test_parquet_has_the_kinds_that_its_schema_says(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = 10_000
    content = arrow.table({"id": [f"{row:05d}" for row in range(rows)], "y": [row * 4 // rows for row in range(rows)]})
    parquet.write_table(content, tmp_path / "train.parquet", row_group_size=rows // 4)
    (tmp_path / "test.parquet").write_bytes(b"PAR1")

    survey = survey_folder(tmp_path)

    (table,) = survey.tables
    assert [column.kind for column in table.columns] == [ColumnKind.TEXT, ColumnKind.INTEGER]
    assert (table.rows, table.is_complete, len(table.columns[0].values)) == (rows, False, 2_000)
    assert table.columns[1].distinct == {"0", "1", "2", "3"}
    assert survey.notes == ("test.parquet is not a parquet file, or it is damaged or cut off.",)


def test_a_table_for_each_example_is_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "series").mkdir()
    for row in range(60):
        (tmp_path / "series" / f"{row}.csv").write_text("t,x\n0,1\n")
    (tmp_path / "train.csv").write_text("id,label\n0,1\n")

    survey = survey_folder(tmp_path)

    assert [table.path for table in survey.tables] == ["train.csv"]
    assert [(folder.path, folder.suffixes) for folder in survey.folders] == [("series", {".csv": 60})]


@pytest.mark.parametrize(
    ("name", "mode", "encoding"),
    [
        ("a.jpg", "L", ImageEncoding.JPEG),
        ("a.jpg", "CMYK", ImageEncoding.OTHER),
        ("a.png", "RGBA", ImageEncoding.PNG),
        ("a.png", "I;16", ImageEncoding.OTHER),
        ("a.png", "P", ImageEncoding.OTHER),
        ("a.gif", "P", ImageEncoding.GIF),
        ("a.bmp", "RGB", ImageEncoding.BMP),
        ("a.tif", "RGB", ImageEncoding.OTHER),
    ],
)
def test_images_have_the_mode_and_size_of_their_headers(
    name: str, mode: str, encoding: ImageEncoding, tmp_path: Path
) -> None:
    write_image(tmp_path / "train" / name, mode)

    (folder,) = survey_folder(tmp_path).folders

    assert folder.images == ImageFormat(mode, width=6, height=4, is_uniform=True, encodings=frozenset((encoding,)))


@pytest.mark.parametrize(
    ("text", "decimal", "kinds"),
    [
        ("id;price;note\n1;2,5;a\n2;-,25;b\n3;NA;c\n", ",", ["integer", "number", "text"]),
        ("id;price\n1;2,5\n2;3.25\n", ".", ["integer", "text"]),
        ("id;price;size\n1;2,5;0.5\n2;3,25;0.7\n", ".", ["integer", "text", "number"]),
        ("id;tags\n1;2,5,7\n2;3\n", ".", ["integer", "text"]),
        ('id,price\n1,"2,500"\n2,"3,250"\n', ".", ["integer", "text"]),
    ],
)
def test_commas_are_decimal_points_where_semicolons_separate_the_cells(
    text: str, decimal: str, kinds: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(text)

    table = only_table(tmp_path)

    assert (table.decimal, [column.kind for column in table.columns]) == (decimal, kinds)
    if decimal == ",":
        assert table.columns[1].values == ("2.5", "-.25", None)


def test_images_of_a_rarer_suffix_are_looked_at_as_well(tmp_path: Path) -> None:
    for row in range(30):
        write_image(tmp_path / f"{row}.jpg")
    write_image(tmp_path / "99.png", "I;16")

    (folder,) = survey_folder(tmp_path).folders

    assert folder.images is not None
    assert folder.images.encodings == {ImageEncoding.JPEG, ImageEncoding.OTHER}


def test_an_image_is_known_by_its_first_bytes_whatever_its_name_says(tmp_path: Path) -> None:
    write_image(tmp_path / "1.png")
    (tmp_path / "1.png").rename(tmp_path / "1.jpg")
    write_image(tmp_path / "2.jpg")

    (folder,) = survey_folder(tmp_path).folders

    assert folder.images is not None
    assert folder.images.encodings == {ImageEncoding.JPEG, ImageEncoding.PNG}


def test_images_of_several_sizes_are_not_uniform_and_broken_ones_do_not_count(tmp_path: Path) -> None:
    for row, size in enumerate([(6, 4), (8, 4), (10, 9)]):
        write_image(tmp_path / f"{row}.png", size=size)
    (tmp_path / "4.png").write_bytes(b"no image")

    (folder,) = survey_folder(tmp_path).folders

    assert folder.images == ImageFormat(mode="RGB", width=8, height=4, is_uniform=False, encodings=PNG)


def test_an_image_with_more_pixels_than_pillow_opens_warns_nobody(tmp_path: Path) -> None:
    header = struct.pack(">4sIIBBBBB", b"IHDR", 60_000, 50_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I4sI", 0, b"IDAT", 0x35AF061E))
    limit = Image.MAX_IMAGE_PIXELS

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (folder,) = survey_folder(tmp_path).folders

    assert folder.images == ImageFormat(mode="RGB", width=60_000, height=50_000, is_uniform=True, encodings=PNG)
    assert limit == Image.MAX_IMAGE_PIXELS


@pytest.mark.slow
def test_many_classes_are_sampled_and_said_and_all_have_a_format(tmp_path: Path) -> None:
    for row in range(2_100):
        (tmp_path / "train" / f"{row:04d}").mkdir(parents=True)
        os.link(tmp_path / "train" / "0000" / "a.png", tmp_path / "train" / f"{row:04d}" / "a.png") if row else None
        if not row:
            write_image(tmp_path / "train" / "0000" / "a.png")

    survey = survey_folder(tmp_path)

    assert len(survey.folders) == 2_000
    assert (survey.folders[0].path, survey.folders[-1].path) == ("train/0000", "train/2099")
    assert {folder.images for folder in survey.folders} == {ImageFormat("RGB", 6, 4, is_uniform=True, encodings=PNG)}
    assert survey.notes == ("Of 2,100 folders in train, 2,000 were looked at.",)


@pytest.mark.slow
def test_names_are_drawn_from_all_over_a_large_folder(tmp_path: Path) -> None:
    for row in range(2_500):
        (tmp_path / f"{row:04d}.npy").touch()

    (folder,) = survey_folder(tmp_path).folders

    assert (folder.files, len(folder.names)) == (2_500, 2_000)
    assert (folder.names[0], folder.names[-1]) == ("0000.npy", "2499.npy")
    assert folder.names == tuple(sorted(set(folder.names)))


def test_archives_are_seen_without_being_unpacked(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png")
    image = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").unlink()
    with zipfile.ZipFile(tmp_path / "train.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.png", image)
        archive.writestr("cats/2.png", image)
        archive.writestr("train.csv", "id,label\n1,0\n")
        archive.writestr("../evil.sh", "")
        archive.writestr("__MACOSX/._1.png", "")
    (tmp_path / "test.zip").write_bytes(b"PK\3\4 cut off")

    survey = survey_folder(tmp_path)

    assert [(table.path, table.compression) for table in survey.tables] == [("train.zip/train.csv", "zip")]
    assert [(folder.path, folder.names, folder.is_archive) for folder in survey.folders] == [
        ("", ("test.zip",), False),
        ("train.zip", ("1.png",), True),
        ("train.zip/cats", ("2.png",), True),
    ]
    assert survey.folders[1].images == ImageFormat(mode="RGB", width=6, height=4, is_uniform=True, encodings=PNG)
    assert set(survey.notes) == {
        "train.zip has members that would be unpacked outside of their folder.",
        "test.zip is not a zip archive, or it is damaged or cut off.",
    }


@pytest.mark.parametrize(
    ("name", "method", "remark"),
    [
        ("a.parquet", zipfile.ZIP_DEFLATED, "is a parquet file in an archive; unpack the archive first"),
        ("a.csv.gz", zipfile.ZIP_STORED, "is compressed twice; unpack the archive first"),
        ("a.csv", zipfile.ZIP_LZMA, "is packed by a method that is not deflate; unpack the archive first"),
        ("a.csv", zipfile.ZIP_STORED, "cannot be unpacked: the archive is damaged"),
    ],
)
def test_a_table_in_an_archive_that_is_not_read_is_said(tmp_path: Path, name: str, method: int, remark: str) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w", method) as archive:
        archive.writestr(name, "id,label\n1,0\n")
    packed = (tmp_path / "train.zip").read_bytes()
    (tmp_path / "train.zip").write_bytes(packed.replace(b"1,0", b"1,1"))

    assert survey_folder(tmp_path).notes == (f"train.zip/{name} {remark}.",)


def test_an_archive_of_very_many_files_is_not_listed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as archive:
        for row in range(30):
            archive.writestr(f"{row}.txt", "")
    files = DiskFiles(tmp_path, SurveyLimits(archive_listings=1_000))

    survey = survey_files(files, [Directory("", ("train.zip",))])

    assert survey.notes == ("train.zip has too many files in it to be looked at before it is unpacked.",)


@pytest.mark.parametrize("name", ["00-3x2-2.tfrec", "train-00000-of-00001"])
def test_tfrecords_tell_their_features_without_tensorflow(name: str, tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / name).write_bytes(RECORDS)
    (tmp_path / "train" / "LICENSE").write_text("Anybody may use this.")

    survey = survey_folder(tmp_path)

    (records,) = survey.records
    assert (records.path, records.names, records.examples) == ("train", (name,), 2)
    features = {feature.name: feature for feature in records.features}
    assert (features["id"].kind, features["id"].values) == ("bytes", ("ab1", "ab2"))
    assert (features["class"].kind, features["class"].length, features["class"].values) == ("int64", 1, ("-1", "103"))
    assert (features["box"].length, features["box"].values) == (None, ("0.5", "2.0", "1.5"))
    assert features["image"].image == ImageFormat(mode="L", width=3, height=2, is_uniform=True, encodings=PNG)
    assert [folder.names for folder in survey.folders] == [("LICENSE",)]


def test_records_have_images_although_a_few_are_empty_or_damaged(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
    contents = (png, b"", b"<html>404 Not Found</html>", png, png)
    examples = [{"id": f"a{row}".encode(), "image": content} for row, content in enumerate(contents)]
    (tmp_path / "a.tfrec").write_bytes(b"".join(map(record, examples)))

    features = {feature.name: feature for feature in survey_folder(tmp_path).records[0].features}

    assert features["image"].is_image
    assert features["id"].values == ("a0", "a1", "a2", "a3", "a4")


def test_examples_are_counted_by_names_where_all_names_count_them(tmp_path: Path) -> None:
    for name in ("00-3x2-2.tfrec", "01-3x2-3.tfrec"):
        (tmp_path / name).write_bytes(RECORDS)

    assert survey_folder(tmp_path).records[0].examples == 5


def test_records_that_are_none_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.tfrec").write_bytes(b"\xff" * 100)

    survey = survey_folder(tmp_path)

    assert survey.records == ()
    assert "cannot be read" in survey.notes[0]


AIFF = b"FORM\0\0\0\x2eAIFFCOMM\0\0\0\x12" + struct.pack(">hIh", 1, 22_050, 16) + b"\x40\x0e\xac\x44" + bytes(6)
FLAC = (
    b"fLaC\x80\0\0\x22" + bytes(10) + ((44_100 << 44) | (1 << 41) | (15 << 36) | 88_200).to_bytes(8, "big") + bytes(16)
)
PAGE = b"OggS\0\2" + bytes(20)
VORBIS = PAGE + b"\1\x1e\1vorbis" + struct.pack("<IBI", 0, 1, 32_000) + bytes(13)
OPUS = PAGE + b"\1\x13OpusHead" + struct.pack("<BBHI", 1, 2, 312, 16_000) + bytes(3)


def last_page(samples: int) -> bytes:
    """The end of an ogg file of this length."""
    return b"OggS\0\4" + struct.pack("<q", samples) + bytes(13)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.wav", sound(seconds=0.5, rate=16_000, channels=2), AudioFormat(16_000, 0.5, 2, is_plain_wav=True)),
        ("a.aiff", AIFF, AudioFormat(44_100, 0.5, 1)),
        ("a.flac", FLAC, AudioFormat(44_100, 2.0, 2)),
        ("a.ogg", VORBIS + last_page(64_000), AudioFormat(32_000, 2.0, 1)),
        ("a.opus", OPUS + last_page(48_312), AudioFormat(48_000, 1.0, 2)),
    ],
)
def test_sounds_have_the_rate_length_and_channels_of_their_headers(
    name: str, content: bytes, expected: AudioFormat, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"broken{name}").write_bytes(content[:9])

    (folder,) = survey_folder(tmp_path).folders

    assert folder.audio == expected


def test_links_are_followed_only_within_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("id,x\n1,2\n")
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "train.csv").write_text("id,x\n1,2\n")
    (folder / "same.csv").symlink_to("train.csv")
    (folder / "out.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "out").symlink_to(tmp_path)
    (folder / "sub" / "loop").symlink_to(folder)
    (folder / "gone.csv").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.csv")
    (tmp_path / "link").symlink_to(folder)

    survey = survey_folder(tmp_path / "link")

    assert [table.path for table in survey.tables] == ["same.csv", "train.csv"]
    assert set(survey.notes) == {
        "out.csv is a link out of the folder and was not followed.",
        "out is a link out of the folder and was not followed.",
        "sub/loop is a link to another folder of the competition and was not followed.",
        "gone.csv is a link that leads nowhere.",
    }


def test_hostile_names_survive_as_data_and_are_escaped_in_notes(tmp_path: Path) -> None:
    (tmp_path / "\x1b[2Jtrain.csv").touch()
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.csv", os.O_CREAT))

    survey = survey_folder(tmp_path)

    assert "\x1b[2Jtrain.csv" in survey.folders[0].names
    assert all(note.isprintable() for note in survey.notes)
    assert "\\x1b[2Jtrain.csv is empty." in survey.notes


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("id\n1\n")
    (tmp_path / "train.csv").chmod(0)

    assert survey_folder(tmp_path).notes == ("train.csv cannot be read: there is no permission to read it.",)


def test_a_folder_without_files_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()

    with pytest.raises(CompetitionError, match=r"There are no files in .* tandem generate --data DIR"):
        survey_folder(tmp_path)
    with pytest.raises(CompetitionError, match=r"does not exist.* tandem generate --data DIR"):
        survey_folder(tmp_path / "nowhere")


def test_a_survey_is_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("id,x\n" + "".join(f"{row},{row % 7}\n" for row in range(9_000)))
    write_image(tmp_path / "train" / "a.png")

    assert survey_folder(tmp_path) == survey_folder(tmp_path)
