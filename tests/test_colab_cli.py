"""`tandem colab` before anything is asked of Colab: what it would do, and what it refuses."""

import gzip
import json
import os
import resource
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runnable_pair import write_pair
from standin_colab import StandInColab

from generator.cli.main import main
from generator.colab.remote import WATCH
from generator.colab.rental import (
    MACHINES,
    PIECE_BYTES,
    AssignedMachine,
    ColabError,
    CommandError,
    CommandLine,
    Rental,
    TransferError,
    facts_of,
    fetch_folder,
    machine_named,
    unpack_results,
)
from generator.text import JsonObject


@pytest.fixture
def pairs(tmp_path: Path) -> list[str]:
    """A workspace as options: with a pair for Colab, and another one for Kaggle."""
    folder = write_pair(tmp_path, parameters='RESULTS = "/content/drive/MyDrive/x"\nACCELERATOR = "tpu"\nEPOCHS = 3')
    (folder / "pair.toml").write_text(
        (folder / "pair.toml").read_text().replace("[pair]", '[pair]\nplatform = "colab"')
    )
    write_pair(tmp_path, "other")
    return ["--workspace", str(tmp_path), "--program", str(tmp_path / "no-program")]


def test_a_dry_run_says_the_machine_its_price_the_data_and_the_parameters(
    pairs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["colab", "run", "tiny", "--dry-run", "--machine", "t4", "-P", "EPOCHS=9", *pairs]) == 0
    said = capsys.readouterr().out

    assert "Machine: T4 of Google Colab for up to 24 hours, 1.19 compute units an hour as of 2026-03-01." in said
    assert "Data: the files of tiny are uploaded to the machine." in said
    assert "RESULTS = ''" in said
    assert "ACCELERATOR = 'gpu'" in said
    assert "EPOCHS = 9" in said


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["tiny", "--yes", "--machine", "A1000"], 1, 'Colab has no "A1000": choose CPU, T4, L4, G4, A100'),
        (["tiny", "--yes"], 1, "Install Google's command line for Colab"),
        (["tiny"], 2, "no question can be asked: add --yes"),
        (["other", "--yes"], 1, "tandem generate --competition tiny --name other --platform colab"),
        (["tiny", "--yes", "-P", "INPUT_ROOT=/etc"], 1, "INPUT_ROOT"),
    ],
)
def test_what_would_go_wrong_is_said_before_a_machine_is_rented(
    pairs: list[str], capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    assert main(["colab", "run", *options, *pairs]) == code
    assert said in capsys.readouterr().err


def test_without_a_receipt_there_is_nothing_to_stop(pairs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("status", "stop"):
        assert main(["colab", verb, "tiny", *pairs]) == 1
    assert "tiny was never trained on Colab from this workspace" in " ".join(capsys.readouterr().err.split())


def test_every_machine_knows_its_own_device_and_no_other() -> None:
    kinds = {
        "T4": "Tesla T4",
        "L4": "NVIDIA L4",
        "G4": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "A100": "NVIDIA A100-SXM4-80GB",
        "H100": "NVIDIA H100 80GB HBM3",
        "v5e1": "TPU v5 lite",
        "v6e1": "TPU v6 lite",
    }
    for name, kind in kinds.items():
        same = [each.name for each in MACHINES if each.is_device(machine_named(name).kind, kind)]
        assert same == [name]


def test_a_program_that_wants_to_be_signed_in_says_so_and_sessions_are_read(tmp_path: Path) -> None:
    program = tmp_path / "colab"
    line = "[x] m-s-1 | Hardware: T4 | Shape: Standard | Variant: GPU"
    program.write_text(f"#!/bin/sh\necho '[colab] A new version is available'\necho '{line}'\n")
    program.chmod(0o755)
    assert CommandLine(str(program)).sessions() == [AssignedMachine("x", "m-s-1", "T4")]

    program.write_text("#!/bin/sh\necho To authorize colab-cli, visit this URL\nread code || exit 1\n")
    with pytest.raises(Exception, match="sessions` once in a terminal"):
        CommandLine(str(program)).sessions()


def test_a_command_whose_time_is_over_is_interrupted_so_that_it_can_save_and_then_is_gone(tmp_path: Path) -> None:
    program = tmp_path / "colab"
    program.write_text("#!/bin/sh\ntrap 'echo saved; exit 1' INT\necho begun\nsleep 30 & wait\n")
    program.chmod(0o755)
    answer = CommandLine(str(program)).answer("exec", seconds=0.3)

    assert (answer.is_late, answer.lines) == (True, ("begun", "saved"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "../out.txt"}, "out"),
        ({"name": "link", "type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "link is neither file nor folder"),
        ({"name": "device", "type": tarfile.CHRTYPE}, "device is neither file nor folder"),
        ({"name": "large", "size": 2**50}, "larger than there is room for"),
        ({"name": "a/" * 101 + "b"}, "outside of their folder"),
        ({"name": "/etc/passwd"}, "outside of their folder"),
    ],
)
def test_results_that_are_more_than_files_and_folders_within_bounds_are_not_unpacked(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    entry = tarfile.TarInfo(fields["name"])
    for name, value in fields.items():
        setattr(entry, name, value)
    (tmp_path / "results.tar.gz").write_bytes(gzip.compress(entry.tobuf() + bytes(1024)))
    (tmp_path / "results").mkdir()
    with pytest.raises(TransferError, match=said):
        unpack_results(tmp_path / "results.tar.gz", tmp_path / "results")

    assert list((tmp_path / "results").iterdir()) == []


def packed(*headers: bytes) -> bytes:
    return gzip.compress(b"".join(headers) + bytes(1024))


def pax(**fields: str) -> bytes:
    """An extended header, and the file that it is about."""
    records = b""
    for name, value in fields.items():
        length = len(f" {name}={value}\n")
        records += f"{length + len(str(length + 2))} {name}={value}\n".encode()
    return entry("pax", tarfile.XHDTYPE, records) + entry("file")


def entry(name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"") -> bytes:
    header = tarfile.TarInfo(name)
    header.type, header.size = kind, len(content)
    return header.tobuf() + content.ljust(-(-len(content) // 512) * 512, b"\0")


def below_zero(name: str) -> bytes:
    header = tarfile.TarInfo(name)
    header.size = -512
    return header.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "content",
    [
        packed(*[entry("long", tarfile.GNUTYPE_LONGNAME, b"a\0")] * 3_000, entry("file")),
        packed(entry("file"))[:20],
        packed(entry("long", tarfile.GNUTYPE_LONGNAME, bytes(4 << 20)), entry("file")),
        packed(entry("same"), entry("same")),
        packed(entry("earlier", content=b"x"), below_zero("file")),
        b"no archive",
    ],
    ids=["headers without end", "cut off", "a name of 4 MB", "a name twice", "a size below zero", "nonsense"],
)
def test_results_that_no_archive_can_be_are_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "results.tar.gz").write_bytes(content)
    (tmp_path / "results").mkdir()

    with pytest.raises(TransferError, match=r"^the results could not be transferred: .+\. Run the command again\.$"):
        unpack_results(tmp_path / "results.tar.gz", tmp_path / "results")

    assert len(list((tmp_path / "results").iterdir())) <= 1


def test_a_time_beyond_all_is_left_out_of_results(tmp_path: Path) -> None:
    (tmp_path / "results.tar.gz").write_bytes(packed(pax(mtime="1e30")))
    (tmp_path / "results").mkdir()
    unpack_results(tmp_path / "results.tar.gz", tmp_path / "results")

    assert [path.name for path in (tmp_path / "results").iterdir()] == ["file"]


def program(folder: Path, *lines: str) -> CommandLine:
    """A command line of Google's that does and says this."""
    path = folder / "colab"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return CommandLine(str(path))


@pytest.mark.parametrize("piece", ["\0", "--help", ["x"]])
@pytest.mark.parametrize(
    ("download", "kind"),
    [("", CommandError), (f'head -c {PIECE_BYTES + 1} /dev/zero > "$5"', TransferError)],
    ids=["none", "too large"],
)
def test_pieces_of_results_are_files_of_the_size_that_was_asked_for(
    tmp_path: Path, piece: Any, download: str, kind: type[Exception]
) -> None:
    answer = json.dumps({"pieces": [piece], "sha256": ""})
    (tmp_path / "answer").write_text(f"TANDEM-ANSWER {answer}\n")
    command_line = program(
        tmp_path,
        f'if [ "$1" = exec ]; then cat {tmp_path}/answer; elif [ "$1" = download ]; then true; {download}',
        "fi",
    )

    with pytest.raises(kind, match=r"transferred: piece 0 is larger|download /content/tandem/results\.0"):
        fetch_folder(Rental(command_line, "tandem-x", tmp_path), "/content/working", tmp_path / "results")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits the files of another process")
def test_a_download_that_is_larger_than_was_asked_for_does_not_fill_the_disk(tmp_path: Path) -> None:
    google = program(tmp_path, "sleep 0.3", 'exec head -c 100000000 /dev/zero > "$5"')
    with pytest.raises(CommandError, match="download"):
        Rental(google, "tandem-x", tmp_path).download("/content/large", tmp_path / "large", most=1_000)

    assert (tmp_path / "large").stat().st_size <= 1_001


def test_a_process_that_a_command_left_with_its_output_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    answer = program(tmp_path, "echo ready", "setsid sh -c 'while sleep 0.01; do echo x; done' & sleep 0.3").answer(
        "new", seconds=60
    )
    (tmp_path / "stop").touch()

    assert answer.lines[0] == "ready"
    assert not answer.is_late
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("lines", [["true"], ["echo '\033[2J{}'"], ["yes '[x] m'"], ["seq 3000"]])
def test_sessions_that_are_not_understood_do_not_mean_that_a_machine_is_gone(tmp_path: Path, lines: list[str]) -> None:
    lines = [f"{lines[0]} | head -5000" if "yes" in lines[0] else lines[0]]
    with pytest.raises(ColabError, match="does not list the rented machines") as raised:
        program(tmp_path, *lines).sessions()

    assert str(raised.value).isprintable()


@pytest.mark.parametrize("printed", ["KGAT_\\033[1m0123", "x" * 65_533 + "KGAT_0123" + "y" * 70_000])
def test_a_secret_is_hidden_wherever_colours_or_reads_cut_it(tmp_path: Path, printed: str) -> None:
    (tmp_path / "printed").write_text(printed)
    google = replace(program(tmp_path, f"printf '%b' \"$(cat {tmp_path}/printed)\""), secrets=("KGAT_0123",))
    lines = google.answer("exec", seconds=20).lines

    assert "[hidden]" in "".join(lines)
    assert "KGAT_" not in "".join(lines)


@pytest.mark.parametrize("kind", ["file", "folder", "pipe", "all"])
def test_what_links_of_a_workspace_lead_to_is_not_sent(
    tmp_path: Path, pairs: list[str], capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    data, secret = tmp_path / "input" / "competitions" / "tiny", tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    if kind == "all":
        data.rename(tmp_path / "moved")
        data.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(data / "pipe")
    else:
        (data / "link").symlink_to(secret / "key" if kind == "file" else secret)

    for option in ("--dry-run", "--yes"):
        assert main(["colab", "run", "tiny", option, *pairs]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "may have come with the workspace" in said


def test_of_a_machine_only_short_facts_are_kept() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    said = {"platform": "gpu", "device_count": 1, "device_kind": "\x1b[2J" + "T4" * 10_000, "more": deep, "list": [1]}

    kept = facts_of(JsonObject(said))

    assert kept.keys() == {"platform", "device_count", "device_kind"}
    assert kept["device_kind"].isprintable()
    assert len(kept["device_kind"]) == 200


def test_an_answer_that_is_nested_too_deep_is_none(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text("TANDEM-ANSWER " + '{"a": ' * 500 + "1" + "}" * 500 + "\n")
    rental = Rental(program(tmp_path, f"cat {tmp_path}/answer"), "tandem-x", tmp_path)

    with pytest.raises(CommandError, match=r"`colab exec prepare_machine\.py` failed"):
        rental.ask("prepare_machine")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"machine": ["T4"], "began": 5, "ended": {}, "asked": [], "units": 3, "failure": "\x1b[2J"}, 0),
        ({"units": [10**4000, 1], "machine": {"device_kind": "T4", "device_count": 10**4000}}, 0),
        ({"units": [float("nan"), "x"], "others": [[1]], "out_of_fold": "x", "hours": "x"}, 0),
        ({"session": "--auth=adc"}, 1),
        ({"session": "tandem-\0"}, 1),
        ({"session": 7}, 1),
        ({"stage": []}, 1),
    ],
)
def test_a_receipt_that_somebody_else_wrote_is_read_as_far_as_it_fits(
    tmp_path: Path, pairs: list[str], capsys: pytest.CaptureFixture[str], fields: dict[str, Any], code: int
) -> None:
    path = tmp_path / "output" / "tiny" / "colab" / "receipt.json"
    path.parent.mkdir(parents=True)
    usual = {"session": "tandem-tiny-012345", "stage": "rented", "asked": "T4", "high_memory": False, "hours": 2.0}
    path.write_text(json.dumps(usual | fields))
    google = ["--program", program(tmp_path, "echo No active sessions").program]

    for verb in (["status"], ["status", "--json"], ["stop"]):
        assert main(["colab", verb[0], "tiny", *verb[1:], *pairs, *google]) == code
    said = capsys.readouterr()
    assert (said.out + said.err).replace("\n", "").isprintable()


def test_a_machine_whose_clock_jumps_is_given_back_when_nobody_was_heard_of_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive, colab = tmp_path / "alive", StandInColab(monkeypatch)
    alive.touch()
    passed = 0.0

    def sleep(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        if passed < 7200:  # signs of life, dated by a clock that was set back and forward by a day
            wall = passed + 86_400 * (-1) ** (passed // 1000)
            os.utime(alive, (wall + 86_400, wall + 86_400))

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: passed)
    monkeypatch.setattr(sys, "argv", ["-c", str(alive), "36000", "1500"])
    exec(WATCH, {})  # noqa: S102 - the program that is sent

    assert colab.asked == ["unassign"]
    assert 7200 + 1400 < passed < 7200 + 1600
