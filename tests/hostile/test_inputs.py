"""Inputs that ended in a traceback or a hang once: each ends in one sentence."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from commands import in_time, refused, tried
from runnable_pair import CHOICES, write_pair

from generator.competition.submission import SubmissionError, submission_table
from generator.kaggle.credentials import find_credentials
from generator.kaggle.errors import CredentialsError

BAD_NAME = b"odd\xff\xfe"
PUSH = ("push", "tiny", "--dry-run", "--to", "local")
RUN = ("run", "tiny", "--smoke")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pair that could be pushed."""
    monkeypatch.chdir(tmp_path)
    folder = write_pair(tmp_path)
    for role in ("train", "infer"):
        named = {"title": f"tiny {role}", "code_file": f"{role}.ipynb"}
        set_field(folder, role, **named, language="python", kernel_type="notebook")
    assert tried(*PUSH).code == 0
    return folder


def set_field(pair: Path, role: str, **fields: object) -> None:
    path = pair / role / "kernel-metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def data(folder: Path, *, table: bytes = b"train.csv", images: bytes = b"") -> Path:
    """A competition's folder with names of any bytes."""
    folder.mkdir()
    root = os.fsencode(folder)
    rows = "".join(f"{n},{n * 7 % 10},{n % 2}\n" for n in range(60))
    Path(os.fsdecode(root + b"/" + table)).write_text(f"id,x,y\n{rows}")
    Path(os.fsdecode(root + b"/test.csv")).write_text("id,x\n100,1\n101,2\n")
    Path(os.fsdecode(root + b"/sample_submission.csv")).write_text("id,y\n100,0\n101,1\n")
    if images:
        Path(os.fsdecode(root + b"/" + images)).mkdir()
        Path(os.fsdecode(root + b"/" + images + b"/1.png")).write_bytes(b"")
    return folder


def as_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def test_names_that_are_not_utf_8_are_left_out_of_a_survey_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    missing = refused("generate", "--competition", "x", "--data", data(tmp_path / "a", table=BAD_NAME + b".csv"))
    whole = tried("generate", "--competition", "x", "--data", data(tmp_path / "b", images=BAD_NAME))

    assert "has no training data" in missing
    assert "an entry whose name is not UTF-8" in missing
    assert whole.code == 0, whole.err
    assert "an entry whose name is not UTF-8" in whole.out + whole.err
    assert (tmp_path / "kernels/x/pair.toml").is_file()


def test_a_workspace_whose_name_no_notebook_can_be_told_is_refused(tmp_path: Path) -> None:
    workspace = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + BAD_NAME))
    write_pair(workspace)

    assert "has a name that is not UTF-8" in refused(*RUN, "--workspace", workspace)
    assert not (workspace / "output").exists()


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(
            (flag, "")
            for flag in ("--train", "--target", "--id-column", "--metric", "--owner", "--name", "--file-name")
        ),
        *(("--set", key) for key in ("text_columns=a,", "group_column=", "sample_submission=")),
        ("--set", f"epochs={'9' * 400}"),
    ],
)
def test_a_value_that_no_file_can_hold_is_refused(
    tmp_path: Path, flag: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = value if "9" in value else value + os.fsdecode(BAD_NAME)

    outcome = tried("generate", "--competition", "x", "--data", data(tmp_path / "a"), flag, text)

    assert outcome.code in (1, 2), outcome
    assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize(
    "line",
    [
        f"[parameters]\nEPOCHS = {'1' * 6_000}",
        f"[parameters]\nEPOCHS = 0x{'f' * 6_000}",
        f"[parameters]\nSIZES = [1, [0x{'f' * 6_000}]]",
        f"[pair]\ntitle = {'9' * 6_000}",
        '[parameters]\nNAME = "a\\u0000b"',
        f"[parameters]\nDEEP = {'[' * 5_000}",
    ],
)
@pytest.mark.parametrize(
    "command", [PUSH, RUN, ("generate", "--all", "--check"), ("generate", "--competition", "tiny")]
)
def test_a_value_that_is_none_in_pair_toml_is_told(pair: Path, line: str, command: tuple[str, ...]) -> None:
    (pair / "pair.toml").write_text(f"{CHOICES}\n{line}\n" if "[parameters]" in line else line)

    assert "pair.toml is not TOML" in refused(*command)


@pytest.mark.parametrize("name", ["a\0.ipynb", "\0", "train.ipynb\0", "\ud800.ipynb", "../../x.ipynb", "x" * 5_000])
def test_a_code_file_that_no_file_can_be_called_is_told(pair: Path, name: str) -> None:
    set_field(pair, "train", code_file=name)

    assert "kernel-metadata.json" in refused(*PUSH) or "Cannot read" in refused(*PUSH)


@pytest.mark.parametrize("make", [as_pipe, as_device])
@pytest.mark.parametrize(
    "name", ["train/train.ipynb", "train/kernel-metadata.json", "pair.toml", ".tandem/rendered/pair.toml"]
)
@pytest.mark.parametrize(
    "command", [PUSH, RUN, ("generate", "--competition", "tiny"), ("generate", "--all", "--check")]
)
def test_a_pipe_or_a_device_in_place_of_a_file_hangs_no_command(
    pair: Path, name: str, make: Callable[[Path], None], command: tuple[str, ...]
) -> None:
    (pair / ".tandem/rendered").mkdir(parents=True, exist_ok=True)
    make(pair / name)

    tried(*command)


def test_a_pipe_as_a_notebook_is_named(pair: Path) -> None:
    as_pipe(pair / "train/train.ipynb")

    assert "train.ipynb is a pipe or a device, not an ordinary file" in refused(*PUSH)


@pytest.mark.parametrize("name", ["train.csv", "test.csv", "sample_submission.csv", "train/1.png"])
@pytest.mark.parametrize("make", [as_pipe, as_device])
def test_a_pipe_or_a_device_among_the_data_hangs_no_survey(
    tmp_path: Path, name: str, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(data(tmp_path / "a", images=b"train") / name)

    tried("generate", "--competition", "x", "--data", tmp_path / "a")


@pytest.mark.parametrize("name", ["access_token", "kaggle.json", "credentials.json"])
def test_a_pipe_as_credentials_is_told(isolated_home: Path, name: str) -> None:
    (isolated_home / ".kaggle").mkdir()
    os.mkfifo(isolated_home / ".kaggle" / name)

    with in_time(), pytest.raises(CredentialsError, match="it is a pipe or a device"):
        find_credentials({"HOME": str(isolated_home)})


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_dates_beyond_the_year_9999_are_told(tmp_path: Path, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = data(tmp_path / "a")
    (folder / "train.csv").unlink()
    # Parquet has no seconds.
    far = pyarrow.array([10**15 if unit == "s" else 2**62] * 40, pyarrow.int64()).cast(pyarrow.timestamp(unit))
    table = {"id": list(range(40)), "when": far, "y": [0, 1] * 20}
    pyarrow.parquet.write_table(pyarrow.table(table), folder / "train.parquet")

    sentence = refused("generate", "--competition", "x", "--data", folder)

    assert "train.parquet has dates beyond the year 9999" in sentence
    with pytest.raises(SubmissionError, match="dates beyond the year 9999"):
        list(submission_table(folder / "train.parquet"))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(28, "No space left on device", "/somewhere/file"), "The disk is full (/somewhere/file): make room"),
        (
            OSError(30, "Read-only file system", "/somewhere/file"),
            "The file system is read-only (/somewhere/file): choose a workspace that can be written to",
        ),
        (
            FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/var/tmp']"),
            "No folder for temporary files can be written to: set TMPDIR to one that can",
        ),
    ],
)
def test_a_disk_that_cannot_be_written_to_is_told_in_one_sentence(
    pair: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("generator.kaggle.chain.plan.check_exists", fails)

    assert refused(*PUSH) == f"Error: {sentence}, then run the command again.\n"
