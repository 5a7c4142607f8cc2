"""A notebook that copies the hidden test wherever it can: nobody gets it back, by any method and on any page."""

import io
import json
import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from browsing import Browsing
from scripted import ScriptedRunner
from toy import HEIGHTS, submission_text

from generator.localkaggle.rpc import Answer, ApiError, Content, Redirect
from generator.localkaggle.web import ROUTES
from generator.sessions.notebook_runner import SessionLog
from generator.sessions.sandbox import SessionOrder

HIDDEN = list(HEIGHTS)[-1].encode()
TEST = PurePosixPath("competitions/toy-heights/test.csv")
PLACES = {"slug": "toy-heights", "owner": "local", "kernel": "spying-kernel", "file": "copy.csv"}
FIELDS = {
    **dict.fromkeys(("userName", "ownerSlug", "user"), "local"),
    "kernelSlug": "spying-kernel",
    "competitionName": "toy-heights",
    "competition": "toy-heights",
}


def spying(order: SessionOrder) -> None:
    """Copies the test that is mounted to all that a session leaves behind, and into the submission where it is new."""
    test = (order.mounts[TEST.parent] / TEST.name).read_text()
    (order.files.working / "copy.csv").write_text(test)
    SessionLog(order.files.log).write(test)
    order.files.executed_notebook.write_text(
        order.files.executed_notebook.read_text().replace("print(1)", f"print({test!r})")
    )
    is_rerun = HIDDEN.decode() in test
    (order.files.working / "submission.csv").write_text(
        f'id,height\np00,"{test}"\n' if is_rerun else submission_text(people=4)
    )


@pytest.fixture
def spied(tmp_path: Path) -> tuple[Browsing, int]:
    """A local Kaggle at which the notebook ran, was submitted and ran again; and the submission."""
    seen = Browsing(tmp_path, ScriptedRunner(spying))
    seen.push("Spying kernel", competitionDataSources=["toy-heights"])
    fields = {"competitionName": "toy-heights", "kernelOwner": "local", "kernelSlug": "spying-kernel"}
    ref = seen.ask("CreateCodeSubmission", **fields, kernelVersion=1)["ref"]
    seen.kaggle.competitions.scoring.close()  # when it returns, what was submitted is scored
    copies = [path for path in tmp_path.glob("kaggle/sessions/*/working/copy.csv") if HIDDEN in path.read_bytes()]
    assert len(copies) == 1, "the rerun did not see the hidden test"
    return seen, ref


def test_a_rerun_has_no_number_by_which_its_files_are_had(spied: tuple[Browsing, int]) -> None:
    seen, _ = spied
    found = [answered(seen, "DownloadKernelOutputZip", kernelSessionId=number) for number in range(1, 6)]

    assert [status for status, _ in found] == [200, 404, 404, 404, 404]
    assert HIDDEN not in found[0][1]


@pytest.mark.parametrize("caller", ["local", "somebody"])
def test_no_method_gives_away_what_a_rerun_wrote(spied: tuple[Browsing, int], caller: str) -> None:
    seen, ref = spied
    assert len(seen.reading) > 30
    statuses = []
    for method in seen.reading:
        for number in range(4):
            names = {"versionLabel": f"v{number}"} if number else {}
            numbers = dict.fromkeys(("kernelSessionId", "versionNumber", "id"), number)
            fields = {**FIELDS, **names, **numbers, "ref": ref, "submissionId": ref}
            for file in ({}, {"filePath": "copy.csv", "fileName": "copy.csv"}):
                status, content = answered(seen, method, caller=caller, **fields, **file)
                assert HIDDEN not in content, method
                statuses.append(status)
    assert statuses.count(200) > 30


def test_the_log_that_is_followed_is_that_of_the_saved_version(spied: tuple[Browsing, int]) -> None:
    seen, _ = spied
    _, log, _ = seen.kaggle.kernels.read_log(seen.call("kernels/logs/stream", **FIELDS))

    assert "p03" in json.dumps(log.events)
    assert HIDDEN.decode() not in json.dumps(log.events)


@pytest.mark.parametrize("caller", ["local", "somebody"])
@pytest.mark.parametrize("query", ["", "?version=1", "?version=2", "?version=2&file=copy.csv", "?file=copy.csv"])
def test_no_page_shows_what_a_rerun_wrote(spied: tuple[Browsing, int], query: str, caller: str) -> None:
    seen, _ = spied
    shown = 0
    for route in ROUTES:
        address = route.path
        for place, name in PLACES.items():
            address = re.sub(rf"{{{place}:\w+}}", name, address)
        if "GET" not in route.methods or "{" in address:
            continue
        answer = seen.get(address + query, caller=caller)
        if answer.status == 303 and "__storage" in answer.headers["location"]:
            body = content_of(seen, Redirect(answer.headers["location"]))
        else:
            body = unpacked(answer.body)
        assert HIDDEN not in body, address
        shown += answer.status == 200
    assert shown > 10


def test_the_error_of_a_rerun_quotes_nothing_and_the_host_is_told(
    spied: tuple[Browsing, int], caplog: pytest.LogCaptureFixture
) -> None:
    seen, ref = spied
    found = seen.ask("GetSubmission", ref=ref)

    assert found["status"] == "ERROR"
    assert found["errorDescription"].startswith("Submission Scoring Error: Your notebook generated a submission file")
    assert found["errorDescription"].endswith("what is expected.")
    assert "p00" not in found["errorDescription"]
    assert 'column "height" of id "p00" is "id,age' in caplog.get_records("setup")[0].getMessage()


def answered(seen: Browsing, method: str, **fields: Any) -> tuple[int, bytes]:
    """The status of a call, and all that a client gets of the answer or the refusal."""
    try:
        return 200, content_of(seen, seen.ask(method, **fields))
    except ApiError as refusal:
        return refusal.status, refusal.message.encode()


def content_of(seen: Browsing, answer: Answer) -> bytes:
    """All that a client gets of an answer, with what it is sent on to."""
    if isinstance(answer, Content):
        return unpacked(answer.body)
    if not isinstance(answer, Redirect):
        files = [file["url"] for file in answer.get("files", ()) if "__storage" in file.get("url", "")]
        return json.dumps(answer).encode() + b"".join(content_of(seen, Redirect(url)) for url in files)
    return unpacked(seen.fetched(answer).path.read_bytes())


def unpacked(content: bytes) -> bytes:
    """The files in an archive; what is none, as it is."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
