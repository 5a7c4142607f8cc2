"""What a session of a local Kaggle is given, and what of it is seen afterwards: outputs, logs, reruns, restarts."""

import contextlib
import json
import os
import sqlite3
import subprocess
import zipfile
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest
from desk import TRAIN, Desk
from scripted import ScriptedRunner, ScriptFailure, writing

from generator.accelerators import AcceleratorKind
from generator.localkaggle.services.kernel_records import KernelState
from generator.localkaggle.services.kernels import TIMEOUT_REASON, SessionRules
from generator.sessions.worker import TIMEOUT

if TYPE_CHECKING:
    from generator.localkaggle.services.kernel_records import SessionRecord


def test_a_session_sees_its_sources_where_kaggle_mounts_them(tmp_path: Path, toy: Path) -> None:
    desk = Desk(tmp_path / "root", competitions=[toy])
    desk.add_sources()
    desk.runner.script = writing({"handoff.json": "{}"})
    desk.push("Digits train")
    desk.push(
        "Digits infer",
        competitionDataSources=["toy-heights"],
        datasetDataSources=["tester/wheels"],
        kernelDataSources=["tester/digits-train"],
        modelDataSources=["google/gemma/keras/base"],
    )
    mounts = desk.runner.orders[-1].mounts

    assert set(mounts) == {
        PurePosixPath("competitions/toy-heights"),
        PurePosixPath("datasets/tester/wheels"),
        PurePosixPath("notebooks/tester/digits-train"),
        PurePosixPath("models/google/gemma/keras/base/1"),
    }
    assert (mounts[PurePosixPath("notebooks/tester/digits-train")] / "handoff.json").read_text() == "{}"
    assert mounts[PurePosixPath("competitions/toy-heights")] == toy / "data"


def test_flat_mounts_are_those_of_before_2026(tmp_path: Path, toy: Path) -> None:
    rules = SessionRules(slots=0, flat_mounts=True)
    desk = Desk(tmp_path / "root", competitions=[toy], rules=rules)
    desk.add_sources()
    desk.push("Digits train")
    desk.push(
        competitionDataSources=["toy-heights"],
        datasetDataSources=["tester/wheels"],
        kernelDataSources=["tester/digits-train"],
    )

    assert {str(place) for place in desk.runner.orders[-1].mounts} == {"toy-heights", "wheels", "digits-train"}


def test_a_kernel_source_is_the_output_of_its_newest_version_that_ended_well(desk: Desk) -> None:
    def writes_its_version(order) -> None:
        (order.files.working / "version.txt").write_text(order.title[-1])
        if order.title.endswith("3"):
            raise ScriptFailure("Notebook Threw Exception")

    desk.runner.script = writes_its_version
    for _ in range(3):
        desk.push("Digits train")
    desk.push("Newest", kernelDataSources=["tester/digits-train"])
    desk.push("Pinned", kernelDataSources=["tester/digits-train/1"])
    desk.push("Failed", kernelDataSources=["tester/digits-train/3"])
    newest, pinned, failed = (order.mounts for order in desk.runner.orders[-3:])

    place = PurePosixPath("notebooks/tester/digits-train")
    assert (newest[place] / "version.txt").read_text() == "2"
    assert (pinned[place] / "version.txt").read_text() == "1"
    assert failed == {}


def test_a_tpu_is_eight_devices_of_the_cpu_and_the_notebook_is_told_to_allow_that(desk: Desk) -> None:
    desk.push(machineShape="TpuV5E8", enableInternet=True)
    order = desk.runner.orders[0]

    assert (order.accelerator, order.devices, order.parameters) == (AcceleratorKind.TPU, 8, {"ALLOW_CPU": True})
    assert (order.internet, order.time_limit) == (True, timedelta(hours=9))


def test_a_pinned_image_takes_the_tpu_away_without_a_word(desk: Desk) -> None:
    pushed = desk.push(machineShape="TpuV5E8", dockerImage="gcr.io/kaggle-images/python@sha256:0")
    order = desk.runner.orders[0]

    assert pushed["error"] == ""
    assert (order.accelerator, order.devices, order.parameters) == (AcceleratorKind.CPU, 1, {})


def test_a_session_without_an_accelerator_gets_no_parameters(desk: Desk) -> None:
    desk.push(enableInternet=False, sessionTimeoutSeconds=90)
    order = desk.runner.orders[0]

    assert (order.accelerator, order.devices, order.parameters) == (AcceleratorKind.CPU, 1, {})
    assert (order.internet, order.time_limit, order.environment) == (False, timedelta(seconds=90), {})


def test_a_session_that_its_limit_ended_says_so_in_the_words_of_kaggle(tmp_path: Path) -> None:
    def hangs(order) -> None:
        raise ScriptFailure(TIMEOUT)

    desk = Desk(tmp_path, ScriptedRunner(hangs), faults=("pay-to-scale",))
    desk.push(machineShape="TpuV5E8", sessionTimeoutSeconds=90)

    assert desk.ask("GetKernelSessionStatus", **TRAIN) == {"status": "ERROR", "failureMessage": TIMEOUT_REASON}
    assert desk.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]["isPayToScaleEnabled"] is True


def test_outputs_are_listed_in_pages_with_an_address_each(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(writing({f"f{index:02d}.txt": "x" * index for index in range(25)})))
    desk.push()
    first = desk.ask("ListKernelSessionOutput", **TRAIN)
    second = desk.ask("ListKernelSessionOutput", **TRAIN, pageToken=first["nextPageToken"])

    assert (len(first["files"]), len(second["files"]), second["nextPageToken"]) == (20, 5, "")
    assert desk.fetched(second["files"][-1]["url"]).path.read_text() == "x" * 24
    assert desk.ask("ListKernelFiles", **TRAIN, pageSize=200)["files"][3]["size"] == 3


def test_links_and_names_that_lead_elsewhere_are_no_outputs(tmp_path: Path) -> None:
    def hostile(order) -> None:
        (order.files.working / "link").symlink_to("/etc/passwd")
        (order.files.working / "folder").symlink_to("/etc", target_is_directory=True)
        (order.files.working / "..\\..\\evil.bat").write_text("x")
        (order.files.working / "a\x1b[31m.txt").write_text("x")
        (order.files.working / "fine.txt").write_text("x")

    desk = Desk(tmp_path, ScriptedRunner(hostile))
    desk.push()

    assert desk.output() == ["fine.txt"]


def test_nothing_is_listed_while_a_session_may_still_write(tmp_path: Path) -> None:
    runner = ScriptedRunner(writing({"a.txt": "1"}), held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    desk.push()
    runner.wait_for_a_session()
    (runner.orders[0].files.working / "half.txt").write_text("not all of it yet")
    before = (desk.status(), desk.output())
    runner.release()
    desk.kaggle.kernels.sessions.queue.wait_until_idle(10)

    assert before == ("RUNNING", [])
    assert desk.output() == ["a.txt", "half.txt"]


def test_the_whole_output_is_downloaded_as_an_archive_and_one_file_by_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedRunner(writing({"a.txt": "1", "deep/b.txt": "2"})))
    desk.push()
    names = {"ownerSlug": "tester", "kernelSlug": "my-train", "versionNumber": 1}
    archive = desk.fetched(desk.ask("DownloadKernelOutput", **names))

    assert zipfile.ZipFile(archive.path).namelist() == ["a.txt", "deep/b.txt"]
    assert desk.fetched(desk.ask("DownloadKernelOutput", **names, filePath="deep/b.txt")).path.read_text() == "2"
    assert desk.refused("DownloadKernelOutput", **names, filePath="../notebook.ipynb")[0] == 404


def test_folders_without_end_keep_no_other_file_from_being_listed(tmp_path: Path) -> None:
    def digs(order) -> None:
        writing({"a.txt": "1", "/".join("d" * 31) + "/last.txt": "2", "/".join("d" * 32) + "/beyond.txt": "3"})(order)
        here = os.open(order.files.working, os.O_RDONLY)
        for _ in range(1_500):
            with contextlib.suppress(FileExistsError):
                os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    desk = Desk(tmp_path, ScriptedRunner(digs))
    desk.push()

    try:
        assert desk.output() == ["a.txt", "/".join("d" * 31) + "/last.txt"]
    finally:
        # What Python removes, it removes by recursion.
        subprocess.run(["rm", "-rf", tmp_path / "sessions"], check=True)


@pytest.mark.parametrize("year", [1, 1979, 2108, 2446, 9_999, 40_000])
def test_a_file_of_any_date_is_listed_packed_and_dated_within_what_a_zip_can_say(tmp_path: Path, year: int) -> None:
    def dates_its_file(order) -> None:
        writing({"a.txt": "1", "b.txt": "2"})(order)
        seconds = (year - 1970) * 31_556_952
        os.utime(order.files.working / "a.txt", (seconds, seconds))

    desk = Desk(tmp_path, ScriptedRunner(dates_its_file))
    desk.push()
    files = desk.ask("ListKernelFiles", **TRAIN)["files"]
    archive = desk.fetched(desk.ask("DownloadKernelOutput", ownerSlug="tester", kernelSlug="my-train"))

    assert files[0]["creationDate"][:4] == ("1980" if year < 1980 else "2107")
    with zipfile.ZipFile(archive.path) as packed:
        assert packed.getinfo("a.txt").date_time[0] in (1980, 2107)
        assert (packed.read("a.txt"), packed.testzip()) == (b"1", None)


def test_a_log_is_read_piece_by_piece_to_its_end(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    desk.push()
    runner.wait_for_a_session()
    _, first, _ = desk.kaggle.kernels.read_log(desk.call("log", **TRAIN))
    session, waiting, is_over = desk.kaggle.kernels.read_log(desk.call("log", **TRAIN), position=first.position)
    runner.release()
    desk.kaggle.kernels.sessions.queue.wait_until_idle(10)
    _, rest, _ = desk.kaggle.kernels.read_log(desk.call("log", **TRAIN), session=session, position=first.position)
    _, nothing, ended = desk.kaggle.kernels.read_log(desk.call("log", **TRAIN), session=session, position=rest.position)

    assert [event["data"] for event in first.events] == ["tester/my-train version 1 begins\n"]
    assert (waiting.events, is_over) == ((), False)
    assert [event["data"] for event in rest.events] == ["tester/my-train version 1 ends\n"]
    assert (nothing.events, ended) == ((), True)


def test_a_session_that_ended_badly_says_so_and_keeps_its_log(tmp_path: Path) -> None:
    def fails(order) -> None:
        raise ScriptFailure("Notebook Threw Exception")

    desk = Desk(tmp_path, ScriptedRunner(fails))
    desk.push()

    assert desk.status() == "ERROR"
    assert "Notebook Threw Exception" in desk.log()


def test_a_runner_with_a_bug_ends_its_session_and_not_the_server(tmp_path: Path) -> None:
    def breaks(order) -> None:
        raise ZeroDivisionError

    desk = Desk(tmp_path, ScriptedRunner(breaks))
    desk.push()

    assert desk.status() == "ERROR"


def test_a_rerun_mounts_the_hidden_test_at_the_same_path_and_costs_nothing(tmp_path: Path, toy: Path) -> None:
    desk = Desk(tmp_path / "root", competitions=[toy])

    def copies_the_test(order) -> None:
        desk.clock.pass_by(60)
        text = (order.mounts[PurePosixPath("competitions/toy-heights")] / "test.csv").read_text()
        (order.files.working / "submission.csv").write_text(text)

    desk.runner.script = copies_the_test
    ended: list[SessionRecord] = []
    desk.kaggle.kernels.sessions.when_rerun_ended.append(ended.append)
    desk.push(machineShape="NvidiaTeslaT4", competitionDataSources=["toy-heights"])
    desk.kaggle.kernels.rerun("tester", "my-train", 1, competition="toy-heights", submission=7)

    assert [(rerun.submission, rerun.failure) for rerun in ended] == [(7, "")]
    written = desk.kaggle.kernels.sessions.folder(ended[0].id).working / "submission.csv"
    assert written.read_text() == (toy / "hidden" / "test.csv").read_text()
    _, output = desk.kaggle.kernels.finished_version("tester", "my-train", 1)
    assert output["submission.csv"].read_text() == (toy / "data" / "test.csv").read_text()
    assert desk.runner.orders[1].environment == {"KAGGLE_IS_COMPETITION_RERUN": "1"}
    assert desk.ask("GetAcceleratorQuotaStatistics")["gpuQuota"]["timeUsed"] == "60s"
    assert desk.output() == ["submission.csv"]


def test_in_a_rerun_a_notebook_that_serves_has_its_own_gateway(tmp_path: Path, toy: Path) -> None:
    (toy / "hidden" / "kaggle_evaluation").mkdir()
    desk = Desk(tmp_path / "root", competitions=[toy])
    desk.push(machineShape="NvidiaTeslaT4", competitionDataSources=["toy-heights"])
    desk.kaggle.kernels.rerun("tester", "my-train", 1, competition="toy-heights", submission=7)

    assert desk.runner.orders[1].environment == {}


def test_only_a_version_that_ended_well_can_be_submitted(tmp_path: Path) -> None:
    def fails(order) -> None:
        raise ScriptFailure("no")

    desk = Desk(tmp_path, ScriptedRunner(fails))
    desk.push()
    desk.runner.script = writing({"a.txt": "1"})
    desk.push(enableInternet=True, machineShape="TpuV5E8")
    found = [desk.kaggle.kernels.finished_version("tester", "my-train", number) for number in (1, 2, 3)]

    assert (found[0], found[2], desk.kaggle.kernels.finished_version("tester", "nothing", 1)) == (None, None, None)
    settings, output = found[1]
    assert (settings.internet, settings.machine_shape, list(output)) == (True, "TpuV5E8", ["a.txt"])


def test_a_restart_marks_what_ran_as_failed_and_runs_what_waited(tmp_path: Path) -> None:
    held = ScriptedRunner(held=True)
    first = Desk(tmp_path, held, rules=SessionRules(slots=1))
    first.push("It runs")
    first.push("It waits")
    held.wait_for_a_session()
    second = first.restarted(ScriptedRunner(writing({"a.txt": "1"})))

    assert second.status(kernelSlug="it-runs") == "ERROR"
    assert second.status(kernelSlug="it-waits") == "COMPLETE"
    assert second.output(kernelSlug="it-waits") == ["a.txt"]


def test_deleting_a_kernel_stops_its_session(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    desk.push(machineShape="TpuV5E8")
    desk.push("Waiting one")
    runner.wait_for_a_session()
    desk.ask("DeleteKernel", userName="tester", kernelSlug="waiting-one")
    desk.ask("DeleteKernel", **TRAIN)

    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(10)
    assert list((tmp_path / "sessions").iterdir()) == []
    assert len(runner.orders) == 1
    assert desk.push(machineShape="TpuV5E8")["error"] == ""


# --- Misbehaviour on demand.


def faulty(tmp_path: Path, *rules: str) -> Desk:
    return Desk(tmp_path, ScriptedRunner(writing({"a.txt": "12345678"})), faults=rules)


def test_a_stale_status_is_that_of_the_version_before(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    desk = Desk(tmp_path, runner, faults=("stale-status@GetKernelSessionStatus+1x1",))
    desk.push()
    runner.script = writing({})
    desk.push(kernelExecutionType="QUICK_SAVE")

    assert [desk.status(), desk.status(), desk.status()] == ["NEW_SCRIPT", "COMPLETE", "NEW_SCRIPT"]


@pytest.mark.parametrize(("rule", "events"), [("truncated-log", 5), ("empty-log", 0)])
def test_logs_get_lost_in_part_or_as_a_whole(tmp_path: Path, rule: str, events: int) -> None:
    def talks(order) -> None:
        from generator.sessions.notebook_runner import SessionLog

        for line in range(20):
            SessionLog(order.files.log).write(f"line {line}\n")

    desk = Desk(tmp_path, ScriptedRunner(talks), faults=(f"{rule}@ListKernelSessionOutputx1",))
    desk.push()
    struck, whole = desk.log(), desk.log()

    assert struck.count("\n") == events
    assert "line 0" in whole
    assert whole.endswith(struck)


def test_a_fault_at_one_kernel_leaves_the_others_alone(tmp_path: Path) -> None:
    desk = faulty(tmp_path, "session-fails@digits-train")
    desk.push("Digits train")
    desk.push("Digits infer")

    assert desk.status(kernelSlug="digits-train") == "ERROR"
    assert desk.status(kernelSlug="digits-infer") == "COMPLETE"


def test_the_log_of_the_api_is_a_json_array_of_the_last_events(tmp_path: Path) -> None:
    desk = faulty(tmp_path)
    desk.push()
    log = json.loads(desk.ask("ListKernelSessionOutput", **TRAIN)["log"])

    assert [set(event) for event in log] == [{"stream_name", "time", "data"}] * 2


def test_a_session_that_was_cut_off_costs_quota_until_its_last_line(tmp_path: Path) -> None:
    held = ScriptedRunner(held=True)
    first = Desk(tmp_path, held, rules=SessionRules(slots=1))
    first.clock.moment -= timedelta(hours=20)  # of the next start
    first.push(machineShape="TpuV5E8")
    held.wait_for_a_session()
    last = first.clock.moment.timestamp() + 60
    log = first.kaggle.kernels.sessions.folder(1).log

    first.close()
    os.utime(log, (last, last))
    with contextlib.closing(sqlite3.connect(tmp_path / "kaggle.sqlite")) as database:  # as a kill leaves it
        database.execute("UPDATE kernel_sessions SET state = ?, failure = '', ended = NULL", (KernelState.RUNNING,))
        database.commit()
    second = Desk(tmp_path)

    assert second.status() == "ERROR"
    assert second.ask("GetAcceleratorQuotaStatistics")["tpuQuota"]["timeUsed"] == "60s"


def test_a_wedged_kernel_answers_403_until_it_is_deleted(tmp_path: Path) -> None:
    desk = faulty(tmp_path, "wedged@SaveKernelx1")
    desk.push()

    assert desk.refused("GetKernelSessionStatus", **TRAIN)[0] == 403
    assert desk.refused("ListKernelSessionOutput", **TRAIN)[0] == 403
    desk.ask("DeleteKernel", **TRAIN)
    desk.push()
    assert desk.status() == "COMPLETE"
