"""`tandem colab run` with a stand-in for Google's command line: what comes back, is refused, and is given back."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from json_documents import check_documents
from runnable_pair import write_pair
from standin_colab_cli import install, rented, until

from generator.cli.main import main
from generator.colab import train_on_colab
from generator.colab.options import ColabOptions, PlannedTraining
from generator.colab.rental import CommandLine, machine_named
from generator.pair.workspace import Workspace
from generator.run.ledger import read_runs

pytestmark = pytest.mark.slow

PARAMETERS = """
INPUT_ROOT = "/content/input"
WORKING_ROOT = "/content/working"
RESULTS = "/content/drive/MyDrive/tiny"
RELEASE_RUNTIME = True
ACCELERATOR = "tpu"
SESSION_HOURS = 24.0
EPOCHS = 3
""".strip()
TRAIN = {
    "training": """
        import hashlib, json
        from pathlib import Path
        import jax
        working = Path(WORKING_ROOT)
        working.mkdir()
        device = jax.devices()[0]
        found = {"platform": device.platform, "device_count": 1, "device_kind": device.device_kind}
        (working / "accelerator.json").write_text(json.dumps(found))
    """,
    "read": """
        rows = Path(INPUT_ROOT, "competitions/tiny/sample_submission.csv").read_text()
        print(f"{ACCELERATOR}, {EPOCHS} epochs, {RESULTS=}, {RELEASE_RUNTIME=}", flush=True)
    """,
    "hand-over": """
        score = {"metric": "accuracy", "score": 0.75}
        handover = {"complete": True, "out_of_fold": score, "accelerator": found}
        handover["sha256"] = hashlib.sha256(json.dumps(handover, sort_keys=True).encode()).hexdigest()
        (working / "handoff.json").write_text(json.dumps(handover))
    """,
}
FAILS = {**TRAIN, "read": "(working / 'checkpoints').mkdir(); (working / 'checkpoints' / 'a').touch(); 1 / 0"}
TOKEN = "KGAT_0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    write_colab_pair(tmp_path)
    return tmp_path


def write_colab_pair(workspace: Path, train: dict[str, str] = TRAIN) -> None:
    folder = write_pair(workspace, train=train, parameters=PARAMETERS)
    choices = folder / "pair.toml"
    choices.write_text(choices.read_text().replace('owner = "someone"', 'owner = "someone"\nplatform = "colab"'))


def colab(verb: str, workspace: Path, program: Path, *options: str) -> int:
    yes = ["--yes"] if verb == "run" else []
    return main(["colab", verb, "tiny", *yes, "--workspace", str(workspace), "--program", str(program), *options])


def receipt_in(workspace: Path) -> dict[str, object]:
    fields: dict[str, object] = json.loads((workspace / "output" / "tiny" / "colab" / "receipt.json").read_text())
    return fields


def test_a_pair_is_trained_on_the_machine_asked_for_and_the_machine_is_given_back(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = install(workspace / "google")
    code = colab("run", workspace, program, "--machine", "t4", "-P", "EPOCHS=5", "--hours", "2")
    said = capsys.readouterr()

    assert code == 0, said.err
    assert "gpu, 5 epochs, RESULTS='', RELEASE_RUNTIME=False" in said.err
    assert "out-of-fold  accuracy 0.7500" in said.out
    trained = workspace / "output" / "tiny" / "train"
    assert {path.name for path in trained.iterdir()} == {"accelerator.json", "handoff.json", "train.ipynb"}
    assert rented(workspace / "google") == []
    receipt = receipt_in(workspace)
    assert (receipt["asked"], receipt["stage"], receipt["failure"]) == ("T4", "given back", "")
    assert receipt["accelerator"]["device_kind"] == receipt["machine"]["device_kind"] == "Tesla T4"  # type: ignore[index]  # JSON
    assert receipt["units"] == [100.0, 99.0]
    (record,) = read_runs(Workspace(workspace), "tiny")
    assert (record.origin, record.cv, record.is_inferred, record.seconds["train"] > 0) == ("colab", 0.75, False, True)
    assert record.parameters["train"] == {"ACCELERATOR": "gpu", "SESSION_HOURS": 2.0, "EPOCHS": 5}
    calls = (workspace / "google" / "calls.txt").read_text()
    assert "--gpu T4\n" in calls
    assert "--timeout 7200" in calls


@pytest.mark.parametrize(
    ("machine", "behaviour", "got"),
    [
        ("T4", {"gives": "A100"}, "The request was for T4, but Colab assigned A100."),
        ("T4", {"device": {"platform": "gpu", "device_kind": "NVIDIA A100-SXM4-40GB"}}, "NVIDIA A100-SXM4-40GB"),
        ("v5e1", {"device": {"platform": "cpu", "device_kind": "cpu"}}, "was for v5e1, but Colab assigned 1 "),
    ],
)
def test_another_machine_than_asked_for_is_given_back_and_nothing_is_trained_on_it(
    workspace: Path, capsys: pytest.CaptureFixture[str], machine: str, behaviour: dict[str, dict[str, str]], got: str
) -> None:
    program = install(workspace / "google", **behaviour)
    assert colab("run", workspace, program, "--machine", machine) == 1

    assert got in capsys.readouterr().err
    assert rented(workspace / "google") == []
    assert receipt_in(workspace)["stage"] == "given back"
    assert got in str(receipt_in(workspace)["failure"])
    assert ".ipynb" not in (workspace / "google" / "calls.txt").read_text()


def test_the_first_cell_that_fails_ends_the_training_and_its_checkpoints_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_colab_pair(tmp_path, FAILS)
    program = install(tmp_path / "google")
    assert colab("run", tmp_path, program, "--machine", "T4") == 1

    assert 'The cell "read" failed on Colab: ZeroDivisionError: division by zero' in capsys.readouterr().err
    output = tmp_path / "output" / "tiny"
    refused = json.loads((output / "colab" / "train.ipynb").read_text())["cells"][-1]["outputs"][0]
    assert refused["ename"] == "InputRejected"
    assert not (output / "train" / "handoff.json").exists()
    assert rented(tmp_path / "google") == []

    write_colab_pair(tmp_path)
    assert colab("run", tmp_path, program, "--machine", "T4", "--resume") == 1  # the folder is there already
    assert (tmp_path / "google" / "content" / "input" / "earlier" / "checkpoints" / "a").is_file()


def test_a_notebook_that_came_back_in_half_is_a_failure_and_the_results_are_fetched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_colab_pair(tmp_path, {**TRAIN, "read": "(working / 'checkpoints').mkdir()"})
    program = install(tmp_path / "google", saves_half=True)
    assert colab("run", tmp_path, program, "--machine", "T4") == 1

    assert "the result cannot be read" in capsys.readouterr().err
    assert (tmp_path / "output" / "tiny" / "train" / "checkpoints").is_dir()
    assert rented(tmp_path / "google") == []


def test_checkpoints_that_are_a_link_are_not_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_colab_pair(tmp_path, FAILS)
    program = install(tmp_path / "google")
    assert colab("run", tmp_path, program, "--machine", "T4") == 1
    checkpoints = tmp_path / "output" / "tiny" / "train" / "checkpoints"
    checkpoints.rename(tmp_path / "secret")
    checkpoints.symlink_to(tmp_path / "secret")
    (tmp_path / "google" / "calls.txt").unlink()

    assert colab("run", tmp_path, program, "--machine", "T4", "--resume") == 1
    assert "checkpoints" in capsys.readouterr().err
    assert "new" not in (tmp_path / "google" / "calls.txt").read_text()
    assert (tmp_path / "secret" / "a").is_file()


def test_results_that_came_in_half_after_a_failure_are_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_colab_pair(tmp_path, {**FAILS, "read": f"(working / 'z').symlink_to('/etc'); {FAILS['read']}"})
    program = install(tmp_path / "google")
    assert colab("run", tmp_path, program, "--machine", "T4") == 1

    said = capsys.readouterr().err
    assert "nothing of it is kept" in said
    assert "ZeroDivisionError" in said
    assert not (tmp_path / "output" / "tiny" / "train").exists()
    assert rented(tmp_path / "google") == []


def test_a_token_of_kaggle_is_in_a_file_of_the_machine_and_nowhere_else(
    workspace: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    keep_example: Callable[[str, str], None],
) -> None:
    data = workspace / "input" / "competitions" / "tiny"
    program = install(workspace / "google")
    (workspace / "google" / "content" / "input" / "competitions").mkdir(parents=True)
    data.rename(workspace / "google" / "content" / "input" / "competitions" / "tiny")
    assert colab("run", workspace, program, "--machine", "T4") == 1
    assert "there is no Kaggle token" in capfd.readouterr().err
    assert not (workspace / "google" / "calls.txt").exists()

    tell = {"read": 'import os; print(open(os.environ["KAGGLE_API_TOKEN"]).read())'}
    write_colab_pair(workspace, {**TRAIN, **tell})
    (workspace / "input" / "competitions" / "tiny").rename(workspace / "elsewhere")
    monkeypatch.setenv("KAGGLE_API_TOKEN", TOKEN)
    assert colab("run", workspace, program, "--machine", "T4", "--json") == 0

    said = capfd.readouterr()
    check_documents(["colab", "run"], said.out, is_error=False)
    keep_example("colab-run", said.out)
    assert "[hidden]" in said.err
    with_token = [path for path in workspace.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert with_token == [workspace / "google" / "content" / "tandem" / "token"]
    assert TOKEN not in said.out + said.err


def test_a_machine_that_dies_at_any_step_is_given_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.colab.rental.RETRY", 0.0)
    for step in range(2, 20):
        workspace = tmp_path / str(step)
        workspace.mkdir()
        write_colab_pair(workspace)
        code = colab("run", workspace, install(workspace / "google", dies_at=step), "--machine", "T4")
        said = capsys.readouterr()

        assert "\x1b" not in said.out + said.err
        assert rented(workspace / "google") == []
        assert receipt_in(workspace)["stage"] == "given back"
        if code == 0:
            break
        assert receipt_in(workspace)["failure"]
        assert not (workspace / "output" / "tiny" / "train" / "handoff.json").exists()
    assert 6 <= step < 19


WAITS = {**TRAIN, "read": "print('trains', flush=True); import time; time.sleep(20)"}
DRIVER = """
    import sys
    from pathlib import Path
    from generator.colab.rental import CommandLine
    from generator.colab.rental import machine_named
    from generator.colab.options import ColabOptions, PlannedTraining
    from generator.colab import rental
    from generator.colab import train_on_colab
    from generator.pair.workspace import Workspace

    def tell(line):
        print(line, flush=True)

    planned = PlannedTraining.of(ColabOptions(Workspace(Path(sys.argv[1])), "tiny", machine_named("T4")))
    rental.BEAT, rental.SILENCE = 0.3, 3.0
    train_on_colab(planned, CommandLine(sys.argv[2]), login=None, tell=tell)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_ended_leaves_no_machine_behind(tmp_path: Path, number: signal.Signals) -> None:
    write_colab_pair(tmp_path, WAITS)
    program = install(tmp_path / "google")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", dedent(DRIVER), str(tmp_path), str(program)]
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        driver = subprocess.Popen(command, env=environment, stdout=file, stderr=file, start_new_session=True)
        until(lambda: "trains" in log.read_text())
        assert len(rented(tmp_path / "google")) == 1
        driver.send_signal(number)
        driver.wait(30)

    until(lambda: rented(tmp_path / "google") == [])
    left = "rented" if number is signal.SIGKILL else "given back"
    assert receipt_in(tmp_path)["stage"] == left
    if number is signal.SIGKILL:  # which the machine noticed by itself; the next command does so too
        assert colab("stop", tmp_path, program) == 0
        assert receipt_in(tmp_path)["stage"] == "given back"


@pytest.mark.parametrize(("hangs", "left"), [("new", "given back"), ("stop", "perhaps still rented")])
def test_ctrl_c_says_what_it_waits_for_and_a_second_one_leaves_with_the_record_of_the_machine(
    tmp_path: Path, hangs: str, left: str
) -> None:
    write_colab_pair(tmp_path, WAITS)
    program = install(tmp_path / "google", hangs=hangs)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        command = [sys.executable, "-c", dedent(DRIVER), str(tmp_path), str(program)]
        driver = subprocess.Popen(command, env=environment, stdout=file, stderr=file, start_new_session=True)
        if hangs == "stop":
            until(lambda: "trains" in log.read_text())
            driver.send_signal(signal.SIGINT)
            until(lambda: "releasing the machine, which takes up to 12 minutes" in log.read_text())
        until(lambda: len(rented(tmp_path / "google")) == 1)
        until(lambda: f"\n{hangs} -s " in (tmp_path / "google" / "calls.txt").read_text())
        driver.send_signal(signal.SIGINT)
        until(lambda: "Ctrl-C again exits at once" in log.read_text())
        for _ in range(2):  # what passes Ctrl-C on sends it twice at once
            driver.send_signal(signal.SIGINT)
            driver.send_signal(signal.SIGHUP)
        time.sleep(0.7)
        assert driver.poll() is None
        assert receipt_in(tmp_path)["stage"] != "given back"
        driver.send_signal(signal.SIGINT)
        driver.wait(30)

    assert receipt_in(tmp_path)["stage"] == left
    assert f"the machine is {left}" in log.read_text()
    if hangs == "stop":
        assert len(rented(tmp_path / "google")) == 1
        (tmp_path / "google" / "behaviour.json").write_text("{}")
        assert colab("run", tmp_path, program, "--machine", "T4") == 1
        assert colab("stop", tmp_path, program) == 0
    assert rented(tmp_path / "google") == []


def test_a_terminal_that_was_closed_does_not_keep_a_machine_rented(workspace: Path) -> None:
    program = install(workspace / "google")
    planned = PlannedTraining.of(ColabOptions(Workspace(workspace), "tiny", machine_named("T4")))

    def tell(_: str) -> None:
        if rented(workspace / "google"):
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        train_on_colab(planned, CommandLine(str(program)), login=None, tell=tell)

    assert rented(workspace / "google") == []
    assert receipt_in(workspace)["stage"] == "given back"


@pytest.mark.parametrize("behaviour", [{"stop_fails": True}, {"new_is_cut_off": True}])
def test_a_machine_that_may_be_left_is_said_and_no_other_is_rented(
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    behaviour: dict[str, bool],
) -> None:
    monkeypatch.setattr("generator.colab.rental.RETRY", 0.0)
    program = install(workspace / "google", **behaviour)
    colab("run", workspace, program, "--machine", "T4")
    assert "the machine is perhaps still rented" in capsys.readouterr().err
    assert receipt_in(workspace)["stage"] == "perhaps still rented"
    assert len(rented(workspace / "google")) == 1

    if "stop_fails" in behaviour:
        assert colab("run", workspace, program, "--machine", "T4") == 1
        assert "To release it: `tandem colab stop tiny`" in capsys.readouterr().err
        assert colab("status", workspace, program) == 0
        assert "is rented" in capsys.readouterr().out
        (workspace / "google" / "behaviour.json").write_text("{}")
        assert colab("stop", workspace, program) == 0
        assert rented(workspace / "google") == []
