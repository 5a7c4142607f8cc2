"""What a session wrote is opened once, and sent from there: whatever takes its place, nothing else is given away."""

import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import Browsing
from scripted import ScriptedRunner, ScriptFailure, writing
from toy import HEIGHTS, submission_text

from generator.localkaggle.rpc import ApiError, Redirect
from generator.sessions.sandbox import SessionOrder

SECRET = b"a secret of the server"
OUTPUT = {"in/a.txt": "the output", "table.csv": "a,b\n1,2\n", "picture.png": "no picture", "submission.csv": "id\n"}
FIELDS = {"userName": "local", "kernelSlug": "changing", "kernelVersion": 1}


def link_file(place: Path, secret: Path) -> None:
    place.unlink()
    place.symlink_to(secret)


def link_folder(place: Path, secret: Path) -> None:
    aside = place.parent.with_name("aside")
    place.parent.rename(aside)
    place.parent.symlink_to(secret.parent)


def link_hard(place: Path, secret: Path) -> None:
    place.unlink()
    os.link(secret, place)


def pipe(place: Path, secret: Path) -> None:
    place.unlink()
    os.mkfifo(place)


CHANGES = (link_file, link_folder, link_hard, pipe)
Changing = tuple[Browsing, Callable[[str], None]]


@pytest.fixture(params=CHANGES, ids=lambda change: change.__name__)
def changing(request: pytest.FixtureRequest, tmp_path: Path) -> Changing:
    """A session that is over, and what puts something else in the place of one of its files."""
    seen = Browsing(tmp_path, ScriptedRunner(writing(OUTPUT)))
    seen.push("Changing")
    working = seen.kaggle.kernels.sessions.folder(1).working

    def change(name: str) -> None:
        secret = tmp_path / "secrets" / Path(name).name
        secret.parent.mkdir(exist_ok=True)
        secret.write_bytes(SECRET)
        if request.param is link_folder and "/" not in name:
            pytest.skip("is not in a folder")
        request.param(working / name, secret)

    return seen, change


def test_a_ticket_that_was_given_before_opens_nothing_else(changing: Changing) -> None:
    seen, change = changing
    listed = seen.ask("ListKernelSessionOutput", **FIELDS)["files"]
    url = next(file["url"] for file in listed if file["fileName"] == "in/a.txt")
    change("in/a.txt")

    answer = seen.get(urlsplit(url).path)
    assert (answer.status, SECRET in answer.body) == (404, False)


@pytest.mark.parametrize("name", list(OUTPUT))
def test_no_way_to_an_output_gives_away_what_took_its_place(changing: Changing, name: str) -> None:
    seen, change = changing
    page = f"/code/local/changing/output?file={name}"
    assert seen.get(page).status == 200
    change(name)

    listed = {file["fileName"]: file["url"] for file in seen.ask("ListKernelSessionOutput", **FIELDS)["files"]}
    assert name not in listed
    assert SECRET not in seen.get(page).body
    answer = seen.ask("DownloadKernelOutput", ownerSlug="local", kernelSlug="changing")
    assert isinstance(answer, Redirect)
    packed = seen.get(urlsplit(answer.url).path)
    with zipfile.ZipFile(BytesIO(packed.body)) as archive:
        assert archive.namelist()
        assert not [each for each in archive.namelist() if SECRET in archive.read(each)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_rerun_cannot_submit_another_file_of_the_server(tmp_path: Path, change: Any) -> None:
    answers = tmp_path / "answers" / "submission.csv"
    answers.parent.mkdir()
    answers.write_text(submission_text(people=len(HEIGHTS)))
    good = writing({"in/submission.csv": submission_text(people=4)})
    seen = Browsing(tmp_path, ScriptedRunner(good))
    seen.push("Changing", competitionDataSources=["toy-heights"], enableInternet=False)

    def leaves_a_link(order: SessionOrder) -> None:
        good(order)
        change(order.files.working / "in" / "submission.csv", answers)

    seen.runner.script = leaves_a_link
    kernel = {"kernelOwner": "local", "kernelSlug": "changing", "kernelVersion": 1}
    fields = {"competitionName": "toy-heights", "fileName": "in/submission.csv", **kernel}
    found = seen.outcome(seen.ask("CreateCodeSubmission", **fields)["ref"])

    assert found["errorDescription"].startswith("Submission CSV Not Found")


def test_ten_submissions_that_fail_tell_nothing_that_the_rerun_chose(tmp_path: Path) -> None:
    seen = Browsing(tmp_path, ScriptedRunner(writing({"submission.csv": submission_text(people=4)})))
    seen.push("Changing", competitionDataSources=["toy-heights"], enableInternet=False)
    kernel = {"kernelOwner": "local", "kernelSlug": "changing", "kernelVersion": 1}
    told = []

    def submit(size: int) -> None:
        seen.runner.script = writing({"submission.csv": "x" * size})
        found = seen.outcome(seen.ask("CreateCodeSubmission", competitionName="toy-heights", **kernel)["ref"])
        told.append({key: value for key, value in found.items() if key not in ("ref", "date")})

    def submit_all_day() -> None:
        for number in range(1, 11):
            submit(1_000 * number)

    with pytest.raises(ApiError, match="daily Submission allowance"):
        submit_all_day()
    assert 1 < len(told) < 10
    assert all(each == told[0] for each in told)
    assert told[0]["totalBytes"] == 0
    listed = seen.ask("ListSubmissions", competitionName="toy-heights")["submissions"]
    assert {each["totalBytes"] for each in listed} == {0}


@pytest.mark.parametrize("word", ["Kaggle Error", "memory", "timeout", "server was stopped"])
def test_a_notebook_does_not_choose_the_error_of_its_rerun_by_words(tmp_path: Path, word: str) -> None:
    seen = Browsing(tmp_path, ScriptedRunner(writing({"submission.csv": submission_text(people=4)})))
    seen.push("Changing", competitionDataSources=["toy-heights"], enableInternet=False)

    def fails(order: SessionOrder) -> None:
        raise ScriptFailure(f"Notebook Threw Exception: ValueError: {word}")

    seen.runner.script = fails
    kernel = {"kernelOwner": "local", "kernelSlug": "changing", "kernelVersion": 1}
    found = seen.outcome(seen.ask("CreateCodeSubmission", competitionName="toy-heights", **kernel)["ref"])
    assert found["errorDescription"].startswith("Notebook Threw Exception")


def test_the_sessions_page_does_not_tell_how_long_a_rerun_took(tmp_path: Path) -> None:
    seen = Browsing(tmp_path, ScriptedRunner(writing({"submission.csv": submission_text(people=4)})))
    seen.push("Changing", competitionDataSources=["toy-heights"], enableInternet=False)

    def slow(order: SessionOrder) -> None:
        seen.clock.pass_by(4242)

    seen.runner.script = slow
    kernel = {"kernelOwner": "local", "kernelSlug": "changing", "kernelVersion": 1}
    seen.ask("CreateCodeSubmission", competitionName="toy-heights", **kernel)
    page = seen.get("/sessions").text

    assert "rerun on the hidden test" in page
    assert "1 h 10" not in page
    assert "70 min" not in page
