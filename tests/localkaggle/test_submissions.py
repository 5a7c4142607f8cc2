"""What becomes of a submission: its score, its error, its place among the others."""

import contextlib
import csv
import io
import os
import shutil
import threading
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from desk import Desk
from scripted import ScriptedRunner, ScriptFailure, writing
from toy import HEIGHTS, submission_text, toy_competition

from generator.localkaggle.rpc import ApiError
from generator.localkaggle.services.competitions import SubmissionStage
from generator.localkaggle.services.kernel_records import SessionRecord
from generator.localkaggle.services.kernels import CUT_OFF, TIMEOUT_REASON, SessionRules
from generator.sessions.notebook_runner import TOO_MANY_PROCESSES
from generator.sessions.sandbox import SessionOrder

TOY = "toy-heights"
KERNEL = {"competitionName": TOY, "kernelOwner": "tester", "kernelSlug": "heights-infer", "kernelVersion": 1}
SHOWN = {"submission.csv": submission_text(people=4)}
Opening = Callable[..., Desk]


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    """Opens a local Kaggle that hosts the toy competition."""

    def open_desk(*, is_code: bool = False, settings: str = "", **options: Any) -> Desk:
        folder = tmp_path / ("code" if is_code else "files")
        toy = folder if folder.exists() else toy_competition(folder, is_code=is_code, settings=settings)
        return Desk(tmp_path / "kaggle", competitions=[toy], **options)

    return open_desk


def committed(desk: Desk, files: dict[str, str], **fields: Any) -> Desk:
    """Saves a notebook that writes these files for the test that everybody sees."""
    desk.runner.script = writing(files)
    desk.push("Heights infer", competitionDataSources=[TOY], **{"enableInternet": False, **fields})
    return desk


def rerun(desk: Desk, files: dict[str, str], *, failure: str = "", **fields: Any) -> int:
    """Submits the notebook, which writes these files when it is run again, and may fail then."""

    def script(order: SessionOrder) -> None:
        writing(files)(order)
        if failure:
            raise ScriptFailure(failure)

    desk.runner.script = script
    return int(desk.ask("CreateCodeSubmission", **KERNEL, **fields)["ref"])


@pytest.fixture
def desk(opening: Opening) -> Desk:
    """A local Kaggle whose toy competition takes notebooks, and a notebook that it may take."""
    return committed(opening(is_code=True), SHOWN)


def test_a_file_is_scored_on_both_parts_of_the_test(opening: Opening) -> None:
    desk = opening()
    ref = desk.submit(submission_text(off_by=1.5), submissionDescription="first")
    found = desk.outcome(ref)

    assert (found["status"], found["publicScore"], found["privateScore"]) == ("COMPLETE", "1.50000", "1.50000")
    assert (found["description"], found["fileName"], found["teamName"]) == ("first", "submission.csv", "tester")
    assert found["totalBytes"] == len(submission_text(off_by=1.5))


def test_public_and_private_scores_are_of_different_rows(opening: Opening) -> None:
    desk = opening(settings="public_share = 0.25\n")
    wrong = {f"{key},{height + (60 if key == 'p05' else 0)}" for key, height in HEIGHTS.items()}
    found = desk.outcome(desk.submit("id,height\n" + "\n".join(sorted(wrong)) + "\n"))

    # One row is off by 60: it is one of the 3 public ones, or one of the 9 private ones.
    scores = found["publicScore"], found["privateScore"]
    assert scores in (("20.00000", "0.00000"), ("0.00000", "6.66667"))


def test_the_host_may_say_which_rows_are_public(opening: Opening, tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "files", is_code=False)
    rows = [f"{key},{height},{'Public' if key == 'p00' else 'Private'}\n" for key, height in HEIGHTS.items()]
    (toy / "answers.csv").write_text("id,height,Usage\n" + "".join(rows))
    off = submission_text().replace("p00,150", "p00,153")
    desk = opening()
    found = desk.outcome(desk.submit(off))

    assert (found["publicScore"], found["privateScore"]) == ("3.00000", "0.00000")


def test_a_file_in_the_wrong_form_says_so_without_naming_a_path_of_this_machine(
    opening: Opening, tmp_path: Path
) -> None:
    desk = opening()
    found = desk.outcome(desk.submit("id,size\n"))

    assert found["status"] == "ERROR"
    assert found["publicScore"] == ""
    assert found["errorDescription"] == (
        "Evaluation Exception: submission.csv has the columns id, size; the competition asks for id, height."
    )


@pytest.mark.parametrize("text", ["", "id,height\n", "\x00\xff", 'id,height\n"', "id,height\np00,inf\n"])
def test_whatever_a_file_holds_it_ends_in_an_error_and_the_next_is_scored(opening: Opening, text: str) -> None:
    desk = opening()

    assert desk.outcome(desk.submit(text))["status"] == "ERROR"
    assert desk.outcome(desk.submit(submission_text()))["status"] == "COMPLETE"


def test_submissions_are_listed_newest_first_and_only_to_their_team(opening: Opening) -> None:
    desk = opening()
    refs = [desk.submit(submission_text(off_by=off)) for off in (3, 1, 2)]
    for ref in refs:
        desk.outcome(ref)
    wrong = desk.submit("id\n")
    desk.outcome(wrong)

    def listed(**fields: object) -> list[int]:
        return [each["ref"] for each in desk.ask("ListSubmissions", competitionName=TOY, **fields)["submissions"]]

    assert listed() == [wrong, *reversed(refs)]
    assert listed(group="SUBMISSION_GROUP_SUCCESSFUL") == list(reversed(refs))
    assert listed(sortBy="SUBMISSION_SORT_BY_PUBLIC_SCORE") == [refs[1], refs[2], refs[0], wrong]
    assert listed(caller="somebody") == []
    assert desk.refused("GetSubmission", ref=refs[0], caller="somebody") == (404, "Submission not found")


def test_a_submitted_file_can_be_had_back(opening: Opening) -> None:
    desk = opening()
    ref = desk.submit(submission_text())

    stored = desk.fetched(desk.ask("DownloadSubmission", submissionId=ref))
    assert (stored.name, stored.path.read_text()) == ("submission.csv", submission_text())
    assert desk.refused("DownloadSubmission", submissionId=ref, caller="somebody")[0] == 404


def test_the_day_has_so_many_submissions_and_a_wrong_one_does_not_count(opening: Opening) -> None:
    desk = opening(settings="daily_limit = 2\n")
    desk.outcome(desk.submit("id\n"))
    for _ in range(2):
        desk.outcome(desk.submit(submission_text()))

    assert desk.ask("GetSubmissionLimits", competitionName=TOY) == {
        "numToday": 2,
        "numTotal": 3,
        "numAllowedNow": 0,
        "limitedByTotal": False,
    }
    with pytest.raises(
        ApiError, match=r"daily Submission allowance \(2\) today, .* \(12\.0 hours from now\)"
    ) as refusal:
        desk.submit(submission_text())
    assert refusal.value.status == 400


def test_a_day_ends_at_midnight_utc(opening: Opening) -> None:
    desk = opening(settings="daily_limit = 1\n")
    desk.submit(submission_text())
    desk.clock.moment += timedelta(hours=11, minutes=59)
    with pytest.raises(ApiError):
        desk.submit(submission_text())
    desk.clock.moment += timedelta(minutes=1)

    desk.submit(submission_text())
    assert desk.ask("GetSubmissionLimits", competitionName=TOY)["numAllowedNow"] == 0


def test_submissions_at_the_same_moment_cannot_both_be_the_last(opening: Opening) -> None:
    desk = opening(settings="daily_limit = 3\n")
    refused: list[ApiError] = []

    def submit() -> None:
        try:
            desk.submit(submission_text())
        except ApiError as error:
            refused.append(error)

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 5
    assert len(desk.ask("ListSubmissions", competitionName=TOY)["submissions"]) == 3


def test_a_code_competition_takes_no_files(opening: Opening) -> None:
    desk = opening(is_code=True)
    sentence = "Submission not allowed: This competition only accepts Submissions from Notebooks."

    assert desk.refused("StartSubmissionUpload", competitionName=TOY, contentLength=1) == (400, sentence)
    with pytest.raises(ApiError, match="only accepts Submissions from Notebooks"):
        desk.submit(submission_text())
    assert desk.ask("ListSubmissions", competitionName=TOY)["submissions"] == []


def test_a_notebook_is_run_again_on_the_hidden_test_and_that_is_what_is_scored(opening: Opening) -> None:
    desk = committed(opening(is_code=True, rules=SessionRules(slots=1)), SHOWN)
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(60)
    desk.runner.hold()
    desk.runner.script = writing({"submission.csv": submission_text(off_by=0.25)})
    answer = desk.ask("CreateCodeSubmission", **KERNEL, fileName="submission.csv", submissionDescription="code")
    pending = desk.ask("GetSubmission", ref=answer["ref"])
    desk.runner.release()
    found = desk.outcome(answer["ref"])

    assert answer["message"] == "Successfully submitted to Toy heights"
    assert [order.title for order in desk.runner.orders] == ["tester/heights-infer version 1"] * 2
    assert (pending["status"], pending["publicScore"]) == ("PENDING", "")
    assert (found["status"], found["publicScore"]) == ("COMPLETE", "0.25000")
    assert desk.refused("DownloadSubmission", submissionId=answer["ref"])[0] == 403


def test_a_rerun_may_write_another_format_than_the_sample(opening: Opening) -> None:
    lines = "".join(f'{{"id": "{key}", "height": {height + 1.5}}}\n' for key, height in HEIGHTS.items())
    desk = opening(is_code=True, settings='submission_file = "submission.jsonl"\n')
    committed(desk, {"submission.jsonl": lines})
    found = desk.outcome(rerun(desk, {"submission.jsonl": lines}))

    assert (found["status"], found["publicScore"], found["fileName"]) == ("COMPLETE", "1.50000", "submission.jsonl")


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"kernelVersion": 2}, 404, "Notebook version not found"),
        ({"kernelOwner": "somebody"}, 404, "Notebook version not found"),
        ({"fileName": "other.csv"}, 400, "The output file was not found"),
        ({"fileName": "../../etc/passwd"}, 400, "is no name for a file"),
        ({"kernelVersion": "1"}, 400, "kernelVersion is not a whole number"),
    ],
)
def test_only_what_a_version_of_ones_own_wrote_can_be_submitted(
    desk: Desk, change: dict[str, object], status: int, sentence: str
) -> None:
    desk.push("Heights infer", caller="somebody", slug="somebody/heights-infer", isPrivate=False)
    found = desk.refused("CreateCodeSubmission", **{**KERNEL, "fileName": "submission.csv", **change})

    assert found[0] == status
    assert sentence in found[1]
    assert len(desk.runner.orders) == 2


def test_a_notebook_with_the_internet_on_is_refused_unless_the_host_allows_it(opening: Opening, tmp_path: Path) -> None:
    desk = committed(opening(is_code=True), SHOWN, enableInternet=True)
    refused = desk.refused("CreateCodeSubmission", **KERNEL)
    toml = tmp_path / "code" / "competition.toml"
    toml.write_text(toml.read_text() + "internet = true\n")
    allowing = desk.restarted(competitions=[tmp_path / "code"])

    assert refused[0] == 400
    assert refused[1].startswith("Your Notebook cannot use internet access in this competition.")
    assert allowing.ask("CreateCodeSubmission", **KERNEL)["ref"]


def test_a_notebook_on_a_tpu_is_refused(opening: Opening) -> None:
    desk = committed(opening(is_code=True), SHOWN, machineShape="TpuV5E8")

    assert desk.refused("CreateCodeSubmission", **KERNEL)[1].startswith("Your Notebook cannot use TPUs")


@pytest.mark.parametrize(
    ("files", "failure", "sentence"),
    [
        ({}, "", "Submission CSV Not Found"),
        ({"submission.csv": submission_text(people=4)}, "", "Submission Scoring Error: Your notebook generated"),
        ({}, "ValueError: no such column", "Notebook Threw Exception"),
        ({}, TIMEOUT_REASON, "Notebook Timeout"),
        ({}, TOO_MANY_PROCESSES, "Notebook Exceeded Allowed Compute"),
        ({}, CUT_OFF, "Kaggle Error"),
    ],
)
def test_a_rerun_that_does_not_end_well_is_an_error_in_kaggles_words(
    desk: Desk, files: dict[str, str], failure: str, sentence: str
) -> None:
    found = desk.outcome(rerun(desk, files, failure=failure))

    assert found["status"] == "ERROR"
    assert found["errorDescription"].startswith(sentence)


@pytest.mark.parametrize("what", ["links in a circle", "a link to the answers", "a file that nobody may read"])
def test_a_file_that_cannot_be_read_is_none(desk: Desk, tmp_path: Path, what: str) -> None:
    def leaves_it(order: SessionOrder) -> None:
        written = order.files.working / "submission.csv"
        if what == "a link to the answers":
            written.symlink_to(tmp_path / "code" / "answers.csv")
        elif what == "links in a circle":
            written.symlink_to(order.files.working / "other.csv")
            (order.files.working / "other.csv").symlink_to(written)
        else:
            written.touch(mode=0)

    if what == "a file that nobody may read" and os.geteuid() == 0:
        pytest.skip("root may read any file")
    desk.runner.script = leaves_it
    ref = desk.ask("CreateCodeSubmission", **KERNEL)["ref"]

    assert desk.outcome(ref)["errorDescription"].startswith("Submission CSV Not Found")


def test_a_file_that_is_too_large_is_not_even_copied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("generator.localkaggle.services.competitions.LARGEST_SUBMISSION", 50)
    ref = rerun(desk, {"submission.csv": submission_text()})

    assert desk.outcome(ref)["errorDescription"].endswith("too large.")
    assert not (tmp_path / "kaggle" / "submissions").exists()


def test_a_disk_without_room_ends_a_submission_and_not_the_session_that_wrote_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=100 << 20))
    ref = rerun(desk, {"submission.csv": submission_text()})

    assert "no room for the submission" in desk.outcome(ref)["errorDescription"]


def test_a_rerun_that_is_reported_twice_counts_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    def deaf(_: SessionRecord) -> None:
        raise RuntimeError("the server is killed here")

    desk.kaggle.kernels.sessions.when_rerun_ended.append(deaf)
    ref = rerun(desk, {"submission.csv": submission_text(off_by=1)})
    first = desk.outcome(ref)
    (output,) = desk.root.glob("sessions/2/working/submission.csv")
    output.write_text(submission_text(off_by=2))
    desk.kaggle.kernels.rerun("tester", "heights-infer", 1, competition=TOY, submission=999)  # there is none
    caplog.clear()
    restarted = desk.restarted(competitions=[desk.root.parent / "code"])
    restarted.kaggle.competitions.scoring.close()  # when it returns, what was to be scored is

    assert restarted.ask("GetSubmission", ref=ref) == first
    assert (desk.root / "submissions" / str(ref) / "submission.csv").read_text() == submission_text(off_by=1)
    assert restarted.kaggle.kernels.records.unreported_reruns() == []
    assert not caplog.records


def test_where_files_can_be_submitted_a_notebooks_file_is_taken_as_it_is(opening: Opening) -> None:
    desk = committed(opening(), {"out/mine.csv": submission_text(off_by=2)}, enableInternet=True)
    ref = desk.ask("CreateCodeSubmission", **KERNEL, fileName="out/mine.csv")["ref"]

    assert desk.outcome(ref)["publicScore"] == "2.00000"
    assert len(desk.runner.orders) == 1


def test_what_waited_for_its_score_is_scored_after_a_restart(opening: Opening) -> None:
    desk = opening()
    desk.kaggle.competitions.scoring.queue = lambda ref: None  # the server ends before it comes to scoring
    ref = desk.submit(submission_text())
    desk.close()

    assert opening().outcome(ref)["status"] == "COMPLETE"


def test_a_rerun_that_waits_is_run_after_a_restart(opening: Opening) -> None:
    desk = committed(opening(is_code=True, rules=SessionRules(slots=1)), SHOWN)
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(60)
    desk.runner.hold()
    desk.push("Takes the machine")
    desk.runner.wait_for_a_session(2)
    ref = desk.ask("CreateCodeSubmission", **KERNEL)["ref"]
    desk.close()
    runner = ScriptedRunner(writing({"submission.csv": submission_text()}), held=True)
    restarted = opening(is_code=True, runner=runner, rules=SessionRules(slots=1))
    assert restarted.ask("GetSubmission", ref=ref)["status"] == "PENDING"
    runner.release()

    assert restarted.outcome(ref)["publicScore"] == "0.00000"
    assert len(runner.orders) == 1


def test_a_rerun_that_is_cut_off_by_a_killed_server_is_an_error(opening: Opening, tmp_path: Path) -> None:
    desk = committed(opening(is_code=True, rules=SessionRules(slots=1)), SHOWN)
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(60)
    desk.runner.hold()
    ref = desk.ask("CreateCodeSubmission", **KERNEL)["ref"]
    desk.runner.wait_for_a_session(2)
    left = shutil.copytree(desk.root, tmp_path / "killed")

    found = Desk(left, competitions=[tmp_path / "code"]).outcome(ref)
    assert (found["status"], found["errorDescription"][:12]) == ("ERROR", "Kaggle Error")


@pytest.mark.parametrize("step", ["rerun", "receive"])
def test_a_submission_that_was_kept_when_a_server_ended_is_scored_by_the_next(opening: Opening, step: str) -> None:
    def killed(*_: object) -> None:
        raise RuntimeError("the server is killed here")

    desk = committed(opening(is_code=True), SHOWN)
    setattr(desk.kaggle.competitions.scoring, step, killed)
    with contextlib.suppress(RuntimeError):
        rerun(desk, {"submission.csv": submission_text()})
    (kept,) = desk.ask("ListSubmissions", competitionName=TOY)["submissions"]
    desk.close()
    restarted = opening(is_code=True, runner=desk.runner)

    assert restarted.outcome(kept["ref"])["publicScore"] == "0.00000"
    assert [order.environment for order in desk.runner.orders] == [{}, {"KAGGLE_IS_COMPETITION_RERUN": "1"}]
    assert restarted.kaggle.kernels.records.unreported_reruns() == []


def test_a_file_that_was_not_all_here_when_the_server_ended_is_an_error(opening: Opening) -> None:
    desk = opening()
    desk.kaggle.competitions.scoring.receive = lambda submission, file: None  # the server ends before the file is kept
    ref = desk.submit(submission_text())
    assert desk.ask("GetSubmission", ref=ref)["status"] == SubmissionStage.RECEIVING.status == "PENDING"
    desk.close()

    assert opening().outcome(ref)["errorDescription"].startswith("Kaggle Error")


def test_the_leaderboard_has_the_best_submission_of_each_team(opening: Opening) -> None:
    desk = opening()
    for caller, off in (("ada", 2), ("bob", 1), ("ada", 0.5), ("bob", 4), ("cleo", 1)):
        desk.outcome(desk.submit(submission_text(off_by=off), caller=caller), caller=caller)
    rows = desk.ask("GetLeaderboard", competitionName=TOY)["submissions"]

    # The smaller an error the better; of equal ones the earlier.
    assert [(row["teamName"], row["score"]) for row in rows] == [
        ("ada", "0.50000"),
        ("bob", "1.00000"),
        ("cleo", "1.00000"),
    ]
    assert desk.ask("GetCompetition", competitionName=TOY, caller="cleo")["userRank"] == 3
    assert desk.ask("GetCompetition", competitionName=TOY, caller="dora")["userRank"] == 0
    packed = zipfile.ZipFile(io.BytesIO(desk.ask("DownloadLeaderboard", competitionName=TOY).body))
    table = list(csv.DictReader(io.StringIO(packed.read("toy-heights-publicleaderboard.csv").decode())))
    assert [(row["Rank"], row["TeamName"], row["SubmissionCount"]) for row in table] == [
        ("1", "ada", "2"),
        ("2", "bob", "2"),
        ("3", "cleo", "1"),
    ]


def test_private_scores_show_when_the_competition_is_over(opening: Opening, tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "files", is_code=False, settings="deadline = 2026-11-21T00:00:00Z\n")
    rows = [f"{key},{height},{'Public' if key < 'p06' else 'Private'}\n" for key, height in HEIGHTS.items()]
    (toy / "answers.csv").write_text("id,height,Usage\n" + "".join(rows))
    desk = opening()
    text = submission_text().replace("p00,150", "p00,156").replace("p11,172", "p11,178.5")
    ref = desk.submit(text)
    running = desk.outcome(ref)
    public = desk.ask("GetLeaderboard", competitionName=TOY)["submissions"][0]["score"]
    desk.clock.moment += timedelta(days=1)

    assert (running["publicScore"], running["privateScore"]) == ("1.00000", "")
    assert public == "1.00000"
    assert desk.ask("GetSubmission", ref=ref)["privateScore"] == "1.08333"
    assert desk.ask("GetLeaderboard", competitionName=TOY)["submissions"][0]["score"] == "1.08333"
    shown = desk.ask("GetLeaderboard", competitionName=TOY, overridePublic=True)["submissions"]
    assert shown[0]["score"] == "1.00000"


@pytest.mark.parametrize(
    ("fault", "status", "sentence"),
    [
        ("submit-403", 403, "Permission 'competitions.submit' was denied"),
        ("submit-limit", 400, "daily Submission allowance (5) today"),
        ("rules-not-accepted@CreateSubmission", 403, "accept this competition's rules"),
    ],
)
def test_a_submission_can_be_refused_on_demand_and_leaves_no_trace(
    opening: Opening, fault: str, status: int, sentence: str
) -> None:
    desk = opening(faults=(f"{fault}x1",))
    with pytest.raises(ApiError) as refusal:
        desk.submit(submission_text())

    assert refusal.value.status == status
    assert sentence in refusal.value.message
    assert desk.ask("GetSubmissionLimits", competitionName=TOY)["numTotal"] == 0
    assert desk.outcome(desk.submit(submission_text()))["status"] == "COMPLETE"
