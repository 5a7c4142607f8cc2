"""`tandem colab` before anything is asked of Colab: what it would do, and what it refuses."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
from runnable_pair import write_pair

from generator.cli.main import main
from generator.colab.command_line import Assigned, CommandLine
from generator.colab.errors import TransferError
from generator.colab.machines import MACHINES, machine_named
from generator.colab.transfer import unpack


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

    assert "A T4 of Colab for up to 24 hours, 1.19 compute units an hour as of 2026-03-01." in said
    assert "Data: the files of tiny are sent." in said
    assert "RESULTS = ''" in said
    assert "ACCELERATOR = 'gpu'" in said
    assert "EPOCHS = 9" in said


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["tiny", "--yes", "--machine", "A1000"], 1, 'Colab has no "A1000": choose CPU, T4, L4, G4, A100'),
        (["tiny", "--yes"], 1, "install Google's command line for Colab"),
        (["tiny"], 2, "nobody is there to ask: add --yes"),
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
    assert "tiny was never trained on Colab from here" in " ".join(capsys.readouterr().err.split())


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
    assert CommandLine(str(program)).sessions() == [Assigned("x", "m-s-1", "T4")]

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
        ({"name": "large", "size": 2**50}, "too large"),
    ],
)
def test_results_that_are_more_than_files_and_folders_within_bounds_are_not_unpacked(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    entry = tarfile.TarInfo(fields["name"])
    for name, value in fields.items():
        setattr(entry, name, value)
    (tmp_path / "results.tar").write_bytes(entry.tobuf() + bytes(1024))
    (tmp_path / "results").mkdir()
    with pytest.raises(TransferError, match=said):
        unpack(tmp_path / "results.tar", tmp_path / "results")

    assert list((tmp_path / "results").iterdir()) == []
