"""Pushing kernels, and reading what their sessions wrote."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from canned import TOKEN, Asked, Told, canned, refused, said
from test_gateway_errors import PUSH

from generator.kaggle.api import LogLine
from generator.kaggle.errors import (
    ForbiddenError,
    NotFoundError,
    NotKaggleError,
    RefusedError,
    SourcesRefusedError,
    UnreachableError,
    UnsafeAnswerError,
)
from generator.kaggle.log_events import log_text

SAVED = said(ref="/ada/digits-train", versionNumber=3, url="https://www.kaggle.com/code/ada/digits-train")


def event(text: str, time: float = 0.5, stream: str = "stdout") -> dict[str, Any]:
    return {"stream_name": stream, "time": time, "data": text}


def stream(*texts: str, end: bool = True) -> Told:
    lines = [f"data: {json.dumps(event(text))}\n\n" for text in texts] + ["data: END_OF_LOG\n\n"] * end
    return Told("".join(lines).encode(), media_type="text/event-stream")


def test_a_push_says_everything_that_kaggle_would_guess_otherwise() -> None:
    with canned([SAVED]) as server:
        pushed = server.gateway().push(
            replace(PUSH, kernel_sources=("ada/other-kernel",), timeout=timedelta(hours=3), is_private=False)
        )

    assert (pushed.ref, pushed.version) == ("ada/digits-train", 3)
    assert server.asked[0].path == "/api/v1/kernels.KernelsApiService/SaveKernel"
    assert server.asked[0].fields == {
        "slug": "ada/digits-train",
        "newTitle": "Digits train",
        "text": '{"cells": []}',
        "language": "python",
        "kernelType": "notebook",
        "kernelDataSources": ["ada/other-kernel"],
        "isPrivate": False,
        "enableGpu": False,
        "enableTpu": True,
        "enableInternet": False,
        "machineShape": "TpuV5E8",
        "sessionTimeoutSeconds": 10800,
    }


def test_cells_are_sent_as_one_text_and_without_outputs() -> None:
    cell = {"cell_type": "code", "source": ["import keras\n", "keras"], "outputs": [{"text": "x"}], "metadata": {}}
    notebook = {"cells": [cell, {"cell_type": "markdown", "source": "# ä"}], "metadata": {"a": 1}}

    with canned([SAVED]) as server:
        server.gateway().push(replace(PUSH, text=json.dumps(notebook)))

    sent = json.loads(server.asked[0].fields["text"])
    assert [cell["source"] for cell in sent["cells"]] == ["import keras\nkeras", "# ä"]
    assert sent["cells"][0]["outputs"] == []
    assert sent["metadata"] == {"a": 1}


def test_a_notebook_that_is_fit_to_be_sent_is_sent_to_the_letter() -> None:
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}], "nbformat": 4}, indent=3)

    with canned([SAVED]) as server:
        server.gateway().push(replace(PUSH, text=text))

    assert server.asked[0].fields["text"] == text


@pytest.mark.parametrize("secret", [TOKEN, "KGAT_" + "0" * 32])
def test_a_notebook_with_a_token_in_it_does_not_leave_this_machine(secret: str) -> None:
    with canned([SAVED]) as server, pytest.raises(UnsafeAnswerError) as raised:
        server.gateway().push(replace(PUSH, text=json.dumps({"cells": [{"source": f"t = '{secret}'"}]})))

    assert server.asked == []
    assert secret not in str(raised.value)


@pytest.mark.parametrize("kind", ["Competition", "Dataset", "Kernel", "Model"])
def test_a_push_without_all_of_its_inputs_is_an_error_that_knows_the_version(kind: str) -> None:
    answer = said(ref="/ada/digits-train", versionNumber=3, **{f"invalid{kind}Sources": ["lost/one"]})

    with canned([answer]) as server, pytest.raises(SourcesRefusedError, match="lost/one") as raised:
        server.gateway().push(PUSH)

    assert raised.value.version == 3
    assert raised.value.sources[kind.lower()] == ("lost/one",)
    assert not raised.value.outcome_unknown


@pytest.mark.parametrize("fields", [{}, {"ref": "/ada/x"}, {"ref": "/ada/x", "versionNumber": 0}])
def test_a_push_that_names_no_version_leaves_open_what_happened(fields: dict[str, Any]) -> None:
    with canned([said(**fields)]) as server, pytest.raises(NotKaggleError) as raised:
        server.gateway().push(PUSH)

    assert raised.value.outcome_unknown


def test_the_slug_that_kaggle_chose_is_the_one_that_counts() -> None:
    with canned([said(ref="/code/ada/another-name", versionNumber=1)]) as server:
        assert server.gateway().push(PUSH).ref == "ada/another-name"


def test_the_version_is_named_as_kaggle_wants_it() -> None:
    with canned([said(status="RUNNING")]) as server:
        server.gateway().session_status("ada/digits-train", 12)

    assert server.asked[0].fields == {"userName": "ada", "kernelSlug": "digits-train", "versionLabel": "v12"}


def test_a_kernel_that_is_not_there_is_none() -> None:
    with canned([refused(404, "Notebook not found")]) as server:
        assert server.gateway().kernel("ada/digits-train") is None


@pytest.mark.parametrize("is_listed", [True, False])
def test_forbidden_is_not_there_or_wedged_and_the_own_list_tells_which(is_listed: bool) -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "GetKernel":
            return refused(403, "Permission 'kernels.get' was denied")
        first = not asked.fields.get("pageToken")
        kernels = [{"ref": "ada/digits-train-2"}] if first or not is_listed else [{"ref": "Ada/digits-train"}]
        return said(kernels=kernels, nextPageToken="20" if first else "")

    with canned(script) as server:
        if is_listed:
            with pytest.raises(ForbiddenError):
                server.gateway().kernel("ada/digits-train")
        else:
            assert server.gateway().kernel("ada/digits-train") is None


def test_the_output_of_all_pages_is_listed_with_sizes() -> None:
    def script(asked: Asked) -> Told:
        second = asked.fields.get("pageToken") == "2"
        name = "b/two.bin" if second else "one.csv"
        token = "" if second else "2"
        if asked.method == "ListKernelFiles":
            return said(files=[{"name": name, "size": 7 if second else 5}], nextPageToken=token)
        log = "" if second else json.dumps([event("hello\n")])
        return said(files=[{"fileName": name, "url": f"/files/{name}"}], log=log, nextPageToken=token)

    with canned(script) as server:
        output = server.gateway().output("ada/digits-train", 3)

    assert [(file.name, file.size) for file in output.files] == [("one.csv", 5), ("b/two.bin", 7)]
    assert output.files[1].url == f"{server.address}/files/b/two.bin"
    assert output.log == "hello\n"
    assert all(asked.fields["versionLabel"] == "v3" for asked in server.asked)


def test_an_output_whose_sizes_are_not_to_be_had_is_listed_all_the_same() -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "ListKernelFiles":
            return refused(404, "no")
        return said(files=[{"fileName": "a", "url": "/a"}])

    with canned(script) as server:
        assert [file.size for file in server.gateway().output("ada/digits-train", 3).files] == [0]


@pytest.mark.parametrize("name", ["../../escaped.txt", "/etc/passwd", "a\\b", "C:x", "digits-train.log", "", None])
def test_an_output_with_a_hostile_name_is_refused_whole(name: str | None) -> None:
    files = [{"fileName": "submission.csv", "url": "/a"}, {"fileName": name, "url": "/b"}]

    with canned([said(files=files)]) as server, pytest.raises(UnsafeAnswerError):
        server.gateway().output("ada/digits-train", 3)


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "", None])
def test_an_output_on_another_server_or_none_is_refused(url: str | None) -> None:
    files = [{"fileName": "a", "url": url}]

    with canned([said(files=files)]) as server, pytest.raises(UnsafeAnswerError, match=r"another server|no address"):
        server.gateway().output("ada/digits-train", 3)


def test_a_download_without_an_address_is_no_download() -> None:
    with canned([said()]) as server, pytest.raises(UnsafeAnswerError, match="no address"):
        server.gateway().competition_archive_url("digits")


def test_a_listing_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.kaggle.api_client._MOST_PAGES", 5)

    def script(asked: Asked) -> Told:
        return said(files=[], nextPageToken=str(int(asked.fields.get("pageToken") or 0) + 1))

    with canned(script) as server, pytest.raises(NotKaggleError, match="without an end"):
        server.gateway().competition_files("digits")


def test_a_listing_that_goes_in_circles_ends() -> None:
    with canned([said(files=[], nextPageToken="again")]) as server, pytest.raises(NotKaggleError, match="circles"):
        server.gateway().output("ada/digits-train", 3)


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (json.dumps([event("a\n"), event("b", stream="stderr")]), "a\nb"),
        (json.dumps([event("a\n"), event("b")])[:-30], "a\n"),
        (json.dumps([event("lost"), event("kept\n"), event("too")])[20:], "kept\ntoo"),
        ("no JSON at \x1b[1mall", "no JSON at all"),
        ("[", ""),
        ("", ""),
        ('[1, {"data": 5}, {"data": "x", "time": "1e999"}]', "x"),
        ("[" * 100_000, ""),
    ],
)
def test_a_log_is_read_as_far_as_it_is_there(log: str, text: str) -> None:
    assert log_text(log) == text


def test_quota_is_read_in_hours_and_may_be_missing() -> None:
    quota = {"timeUsed": "4500.5s", "totalTimeAllowed": "108000s"}
    with canned([said(gpuQuota=quota, quotaRefreshTime="2026-11-28T00:00:00Z")]) as server:
        found = server.gateway().quota()

    assert (found.gpu_used, found.gpu_allowed) == (timedelta(seconds=4500.5), timedelta(hours=30))
    assert (found.tpu_used, found.tpu_allowed) == (timedelta(0), timedelta(0))
    assert found.refresh is not None
    assert found.refresh.isoformat() == "2026-11-28T00:00:00+00:00"


def test_a_log_is_followed_to_its_end() -> None:
    with canned([stream("one\n", "two\n")]) as server:
        lines = list(server.gateway().log_lines("ada/digits-train"))

    assert lines == [LogLine(0.5, "stdout", "one\n"), LogLine(0.5, "stdout", "two\n")]
    assert server.asked[0].path == "/api/v1/kernels/logs/stream/ada/digits-train"
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_the_log_of_a_session_that_is_over_comes_in_one_piece() -> None:
    body = json.dumps([event("one\n"), event("two\n")]).encode()

    for media_type in ("application/octet-stream", "application/json"):
        with canned([Told(body, media_type=media_type)]) as server:
            assert [line.text for line in server.gateway().log_lines("ada/x-kernel")] == ["one\n", "two\n"]


def test_a_log_that_breaks_is_taken_up_again_and_no_line_comes_twice() -> None:
    answers = [
        stream("one\n", "one\n", end=False),
        Told(drops=True),
        replace(stream("one\n", "one\n", "two\n", end=False), length=5000),
        stream("one\n", "one\n", "two\n", "three\n"),
    ]
    with canned(lambda asked: answers.pop(0) if asked.verb == "GET" else said(status="RUNNING")) as server:
        lines = [line.text for line in server.gateway().log_lines("ada/x-kernel")]

    assert lines == ["one\n", "one\n", "two\n", "three\n"]


def test_a_log_of_which_only_the_end_is_left_goes_on_after_the_last_line() -> None:
    told = [event(f"{number}\n", time=number) for number in range(1, 8)]
    begun = "".join(f"data: {json.dumps(each)}\n\n" for each in told[:5])
    left = json.dumps(told[3:]).encode()
    answers = [Told(begun.encode(), media_type="text/event-stream"), Told(left, media_type="text/plain")]

    with canned(lambda asked: answers.pop(0) if asked.verb == "GET" else said(status="COMPLETE")) as server:
        lines = [line.text for line in server.gateway().log_lines("ada/x-kernel")]

    assert lines == [f"{number}\n" for number in range(1, 8)]


def test_a_log_that_breaks_without_end_is_given_up() -> None:
    with canned(lambda asked: stream(end=False) if asked.verb == "GET" else said(status="RUNNING")) as server:
        with pytest.raises(NotKaggleError, match="without its end"):
            list(server.gateway().log_lines("ada/x-kernel"))

        assert sum(asked.verb == "GET" for asked in server.asked) == 5


def test_silence_in_a_log_is_waited_out_while_the_session_runs() -> None:
    silences = [Told(stream("one\n", end=False).body, media_type="text/event-stream", length=900, stalls=True)] * 6
    answers = [*silences, stream("one\n", "two\n")]

    def script(asked: Asked) -> Told:
        if asked.verb != "GET":
            return said(status="RUNNING")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    with canned(script) as server:
        gateway = server.gateway()
        gateway._silence = 0.1
        lines = [line.text for line in gateway.log_lines("ada/x-kernel")]

    assert lines == ["one\n", "two\n"]


def test_silence_in_the_log_of_a_session_that_is_over_is_given_up() -> None:
    with canned(lambda asked: Told(stalls=True) if asked.verb == "GET" else said(status="COMPLETE")) as server:
        gateway = server.gateway()
        gateway._silence = 0.03
        with pytest.raises(UnreachableError):
            list(gateway.log_lines("ada/x-kernel"))


def test_the_log_of_no_kernel_is_not_found() -> None:
    with canned([refused(404, "Notebook not found")]) as server, pytest.raises(NotFoundError):
        list(server.gateway().log_lines("ada/x-kernel"))


def test_log_lines_carry_no_commands_for_a_terminal() -> None:
    with canned([stream("\x1b]0;owned\x07\x1b[2Jhi\r\n")]) as server:
        assert [line.text for line in server.gateway().log_lines("ada/x-kernel")] == ["hi\n"]


def test_a_submission_names_the_version_and_returns_its_number() -> None:
    with canned([said(message="Successfully submitted", ref=1006)]) as server:
        ref = server.gateway().submit_kernel(
            "digits", kernel="ada/digits-infer", version=2, file_name="submission.csv", message="tandem"
        )

    assert ref == 1006
    assert server.asked[0].fields == {
        "competitionName": "digits",
        "kernelOwner": "ada",
        "kernelSlug": "digits-infer",
        "kernelVersion": 2,
        "fileName": "submission.csv",
        "submissionDescription": "tandem",
    }


def test_a_submission_without_a_number_leaves_open_what_happened() -> None:
    with canned([said(message="hm")]) as server, pytest.raises(NotKaggleError) as raised:
        server.gateway().submit_kernel("digits", kernel="ada/x", version=2, file_name="s.csv", message="m")

    assert raised.value.outcome_unknown


@pytest.mark.parametrize(("text", "score"), [("0.998", 0.998), ("", None), ("NaN", None), ("inf", None), ("?", None)])
def test_a_score_is_a_number_or_nothing(text: str, score: float | None) -> None:
    with canned([said(submissions=[{"ref": 7, "publicScore": text, "status": "COMPLETE"}])]) as server:
        assert server.gateway().submissions("digits")[0].public_score == score


def test_a_folder_of_the_data_is_listed_until_enough_is_known() -> None:
    def script(asked: Asked) -> Told:
        at = int(asked.fields.get("pageToken") or 0)
        files = [{"name": f"{at + i}.png", "totalBytes": 10} for i in range(2)]
        return said(
            directories=[{"name": "test"}] if at == 0 else [], files=files, totalFiles=900, nextPageToken=str(at + 2)
        )

    with canned(script) as server:
        folder = server.gateway().competition_folder("digits", "train", most=3)

    assert folder.folders == ("test",)
    assert [file.name for file in folder.files] == ["train/0.png", "train/1.png", "train/2.png"]
    assert folder.total_files == 900
    assert len(server.asked) == 2


def test_a_model_handle_that_is_none_is_refused_before_anything_is_sent() -> None:
    with canned([said()]) as server:
        for handle in ("ada/model", "ada/model/no-such-framework/main", "a/b/keras/c/1"):
            with pytest.raises(RefusedError, match="OWNER/MODEL/FRAMEWORK/VARIATION"):
                server.gateway().model_version(handle)

    assert server.asked == []
