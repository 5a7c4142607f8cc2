"""A competition's files: whatever their names and bytes are, `generate` ends well or in a sentence, in time."""

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from cases import CASES
from commands import in_time, tried
from hypothesis import given
from hypothesis import strategies as st
from mutations import VALUES, mutated, pieces
from PIL import Image

from generator.competition.submission import SubmissionError, summarize, validate
from generator.competition.survey import survey_folder
from generator.errors import CompetitionError

GENERATE = ("generate", "--competition", "x", "--dry-run", "--data")
ROWS = [{"id": n, "x": n * 7 % 10, "word": f"w{n % 3}", "y": n % 2} for n in range(30)]
CSV = "id,x,word,y\n" + "".join(",".join(map(str, row.values())) + "\n" for row in ROWS)
SAMPLE = "id,y\n100,0\n101,1\n"
TEST = "id,x,word\n100,1,w1\n101,2,w2\n"
NAMES = st.sampled_from(
    [
        *map(os.fsdecode, (b"\xff.csv", b"a\xff", b"\xed\xa0\x80.png", b"-rf", b"--help", b"%s", b"{x}.csv", b".csv")),
        *("train.csv", "a\nb.csv", "\x1b[31m.csv", "\u202etxt.csv", "'.csv", '".png', "$(id).csv", "`id`", "é.csv"),
        *(" .csv", "..csv", "a..b.csv", "CON", "x" * 250, "train", "images", "sample_submission.csv", "1.png", "2.jpg"),
    ]
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def folder(files: dict[str, bytes]) -> Path:
    """The competition's files, in place of those of the case before."""
    root = Path("data").absolute()
    shutil.rmtree(root, ignore_errors=True)
    usual = {"sample_submission.csv": SAMPLE, "train.csv": CSV, "test.csv": TEST}
    for name, content in ({name: text.encode() for name, text in usual.items()} | files).items():
        with suppress(OSError):  # two of the names are those of a file and of a folder
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
    return root


def parquet(values: list[int], kind: Any) -> bytes:
    """A table with a column of a type, if there are such values of it."""
    table = {"id": list(range(len(values))), "when": values, "y": [n % 2 for n in range(len(values))]}
    made = io.BytesIO()
    with suppress(pyarrow.ArrowException, OverflowError):
        table["when"] = pyarrow.array(values, pyarrow.int64()).cast(kind)
        pyarrow.parquet.write_table(pyarrow.table(table), made)
    return made.getvalue()


PARQUET = st.builds(
    parquet,
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=20, max_size=30),
    st.sampled_from(
        [pyarrow.date64(), pyarrow.time64("us"), pyarrow.duration("s"), pyarrow.duration("ms"), pyarrow.float32()]
        + [pyarrow.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin")]
        + [pyarrow.decimal128(38, 3), pyarrow.string(), pyarrow.bool_()]
    ),
)
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}


def zipped(names: list[str], content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in dict.fromkeys(name.encode("utf-8", "replace").decode().replace("\0", "") for name in names):
            archive.writestr(name, content)
    return made.getvalue()


def image(size: tuple[int, int], kind: str) -> bytes:
    made = io.BytesIO()
    Image.new("L", size).save(made, kind)
    return made.getvalue()


@CASES
@given(st.lists(NAMES, max_size=5), st.lists(NAMES, max_size=3), st.binary(max_size=20) | st.just(CSV.encode()))
def test_any_names(names: list[str], folders: list[str], content: bytes) -> None:
    files = {**dict.fromkeys(names, content), **{f"{each}/{name}": content for each in folders for name in names}}

    tried(*GENERATE, folder(files))


@CASES
@given(pieces(CSV.encode()), st.sampled_from(["train.csv", "test.csv", "train.tsv", "train.csv.gz", "train.txt"]))
def test_any_text_as_a_table(text: bytes, name: str) -> None:
    tried(*GENERATE, folder({name: text}))


@CASES
@given(
    mutated(ROWS[:12], most=6) | mutated({name: [row[name] for row in ROWS[:12]] for name in ROWS[0]}) | VALUES,
    st.sampled_from(["train.json", "train.jsonl"]),
)
def test_any_json_as_a_table(document: Any, name: str) -> None:
    lines = document if isinstance(document, list) and name.endswith("l") else [document]

    tried(*GENERATE, folder({"train.csv": b"", name: "\n".join(map(json.dumps, lines)).encode()}))


@CASES
@given(PARQUET | PARQUET.flatmap(pieces))
def test_any_parquet_as_a_table(content: bytes) -> None:
    tried(*GENERATE, folder({"train.csv": b"", "train.parquet": content}))


@CASES
@given(st.lists(NAMES, max_size=4), pieces(CSV.encode()), st.data())
def test_any_archive(names: list[str], text: bytes, data: st.DataObject) -> None:
    content = zipped(names, text)

    tried(*GENERATE, folder({"train.zip": data.draw(st.just(content) | pieces(content))}))


@CASES
@given(st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF"]).flatmap(lambda kind: pieces(image((8, 8), kind))))
def test_any_image(content: bytes) -> None:
    images = {f"train/{n}.png": content for n in range(30)} | {f"test/{n}.png": content for n in (100, 101)}

    tried(*GENERATE, folder({"train.csv": b"id,y\n" + b"".join(b"%d,%d\n" % (n, n % 2) for n in range(30)), **images}))


@CASES
@given(
    pieces(SAMPLE.encode()) | PARQUET,
    st.sampled_from(["csv", "tsv", "json", "jsonl", "parquet", "csv.zip", "txt"]),
    st.sampled_from(sorted(PACKED)),
)
def test_any_submission_is_read_or_refused(content: bytes, suffix: str, packed: str) -> None:
    root = folder({f"submission.{suffix}{packed}": PACKED[packed](content)})

    with in_time(), suppress(SubmissionError):
        summarize(root / f"submission.{suffix}{packed}")
    with in_time(), suppress(SubmissionError):
        validate(root / f"submission.{suffix}{packed}", root / "sample_submission.csv")


@CASES
@given(st.lists(st.binary(min_size=1, max_size=30), max_size=8))
def test_any_bytes_as_names_are_surveyed(names: list[bytes]) -> None:
    root = folder({})
    for name in names:
        with suppress(OSError, ValueError):
            Path(os.fsdecode(os.fsencode(root) + b"/" + name.replace(b"/", b"_"))).write_bytes(CSV.encode())

    with in_time(), suppress(CompetitionError):
        survey = survey_folder(root)
        assert all(table.path.encode() for table in survey.tables)
        assert all(name.encode() for each in survey.folders for name in each.names)
