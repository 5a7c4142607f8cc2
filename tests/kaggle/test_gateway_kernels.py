"""Pushing kernels, and reading what their sessions wrote."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from canned import TOKEN, Ask, Asked, Told, answered, canned, failed, refused, said
from gateway_calls import PUSH, QUOTA, READS, WRITES

from generator.kaggle import errors
from generator.kaggle.api_types import KernelOutput, SessionState, SubmissionStatus
from generator.kaggle.gateway import Kaggle

SAVED = said(ref="/ada/digits-train", versionNumber=3, url="https://www.kaggle.com/code/ada/digits-train")


def pushing(**changes: Any) -> Ask:
    return lambda kaggle: kaggle.kernels.push(replace(PUSH, **changes))


def output(kaggle: Kaggle) -> KernelOutput:
    return kaggle.kernels.output("ada/digits-train", 3)


def test_a_push_says_everything_that_kaggle_would_guess_otherwise() -> None:
    ask = pushing(kernel_sources=("ada/other-kernel",), is_private=False)
    pushed, server = answered([SAVED], ask)

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
    }


def test_cells_are_sent_as_one_text_and_without_outputs() -> None:
    cell = {"cell_type": "code", "source": ["import keras\n", "keras"], "outputs": [{"text": "x"}], "metadata": {}}
    notebook = {"cells": [cell, {"cell_type": "markdown", "source": "# ä"}], "metadata": {"a": 1}}

    _, server = answered([SAVED], pushing(text=json.dumps(notebook)))

    sent = json.loads(server.asked[0].fields["text"])
    assert [cell["source"] for cell in sent["cells"]] == ["import keras\nkeras", "# ä"]
    assert sent["cells"][0]["outputs"] == []
    assert sent["metadata"] == {"a": 1}


def test_a_notebook_that_is_fit_to_be_sent_is_sent_to_the_letter() -> None:
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}], "nbformat": 4}, indent=3)

    _, server = answered([SAVED], pushing(text=text))

    assert server.asked[0].fields["text"] == text


@pytest.mark.parametrize("secret", [TOKEN, "KGAT_" + "0123456789abcdef" * 2])
def test_a_notebook_with_a_token_in_it_does_not_leave_this_machine(secret: str) -> None:
    text = json.dumps({"cells": [{"source": f"t = '{secret}'"}]})
    error, server = failed([SAVED], errors.UnsafeAnswerError, pushing(text=text))

    assert server.asked == []
    assert secret not in str(error)


@pytest.mark.parametrize("kind", ["Competition", "Dataset", "Kernel", "Model"])
def test_a_push_without_all_of_its_inputs_is_an_error_that_knows_the_version(kind: str) -> None:
    answer = said(ref="/ada/digits-train", versionNumber=3, **{f"invalid{kind}Sources": ["lost/one"]})

    error, _ = failed([answer], errors.SourcesRefusedError, pushing(), says="lost/one")

    assert error.version == 3
    assert error.sources[kind.lower()] == ("lost/one",)
    assert not error.outcome_unknown


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        *(("SaveKernel", fields) for fields in ({}, {"ref": "/ada/x"}, {"ref": "/ada/x", "versionNumber": 0})),
        ("CreateCodeSubmission", {"message": "hm"}),
    ],
)
def test_an_answer_that_names_no_version_and_no_number_leaves_open_what_happened(
    method: str, fields: dict[str, Any]
) -> None:
    error, _ = failed([said(**fields)], errors.NotKaggleError, WRITES[method])

    assert error.outcome_unknown


def test_the_slug_that_kaggle_chose_is_the_one_that_counts() -> None:
    pushed, _ = answered([said(ref="/code/ada/another-name", versionNumber=1)], pushing())

    assert pushed.ref == "ada/another-name"


def test_the_version_is_named_as_kaggle_wants_it() -> None:
    _, server = answered([said(status="RUNNING")], lambda kaggle: kaggle.kernels.session_status("ada/digits-train", 12))

    assert server.asked[0].fields == {"userName": "ada", "kernelSlug": "digits-train", "versionLabel": "v12"}


def test_a_kernel_that_is_not_there_is_none() -> None:
    assert answered([refused(404, "Notebook not found")], READS["GetKernel"])[0] is None


@pytest.mark.parametrize("is_listed", [True, False])
def test_forbidden_is_not_there_or_wedged_and_the_own_list_tells_which(is_listed: bool) -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "GetKernel":
            return refused(403, "Permission 'kernels.get' was denied")
        first = not asked.fields.get("pageToken")
        kernels = [{"ref": "ada/digits-train-2"}] if first or not is_listed else [{"ref": "Ada/digits-train"}]
        return said(kernels=kernels, nextPageToken="20" if first else "")

    if is_listed:
        failed(script, errors.ForbiddenError, READS["GetKernel"])
    else:
        assert answered(script, READS["GetKernel"])[0] is None


def test_the_output_of_all_pages_is_listed_with_sizes() -> None:
    def script(asked: Asked) -> Told:
        second = asked.fields.get("pageToken") == "2"
        name = "b/two.bin" if second else "one.csv"
        token = "" if second else "2"
        if asked.method == "ListKernelFiles":
            return said(files=[{"name": name, "size": 7 if second else 5}], nextPageToken=token)
        log = "" if second else json.dumps([{"stream_name": "stdout", "time": 0.5, "data": "hello\n"}])
        return said(files=[{"fileName": name, "url": f"/files/{name}"}], log=log, nextPageToken=token)

    found, server = answered(script, output)

    assert [(file.name, file.size) for file in found.files] == [("one.csv", 5), ("b/two.bin", 7)]
    assert found.files[1].url == f"{server.address}/files/b/two.bin"
    assert found.log == "hello\n"
    assert all(asked.fields["versionLabel"] == "v3" for asked in server.asked)


def test_an_output_whose_sizes_are_not_to_be_had_is_listed_all_the_same() -> None:
    def script(asked: Asked) -> Told:
        if asked.method == "ListKernelFiles":
            return refused(404, "no")
        return said(files=[{"fileName": "a", "url": "/a"}])

    assert [file.size for file in answered(script, output)[0].files] == [0]


@pytest.mark.parametrize("name", ["../../escaped.txt", "/etc/passwd", "a\\b", "C:x", "digits-train.log", "", None])
def test_an_output_with_a_hostile_name_is_refused_whole(name: str | None) -> None:
    files = [{"fileName": "submission.csv", "url": "/a"}, {"fileName": name, "url": "/b"}]

    failed([said(files=files)], errors.UnsafeAnswerError, output)


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "", None])
def test_an_output_on_another_server_or_none_is_refused(url: str | None) -> None:
    says = "another server" if url else "no address"
    failed([said(files=[{"fileName": "a", "url": url}])], errors.UnsafeAnswerError, output, says=says)


def test_a_download_without_an_address_is_no_download() -> None:
    failed([said()], errors.UnsafeAnswerError, READS["DownloadDataFiles"], says="no address")


def test_a_listing_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.kaggle.client._MOST_PAGES", 5)
    pages = (said(files=[], nextPageToken=str(number)) for number in range(1000))
    failed(lambda _: next(pages), errors.NotKaggleError, READS["ListDataFiles"], says="without an end")


def test_a_listing_that_goes_in_circles_ends() -> None:
    failed([said(files=[], nextPageToken="again")], errors.NotKaggleError, output, says="circles")


def test_quota_is_read_in_hours_and_may_be_missing() -> None:
    quota = {
        "timeUsed": "4500.5s",
        "timeReserved": "3600s",
        "totalTimeAllowed": "10800s",
        "isPayToScaleEnabled": True,
    }
    found, _ = answered([said(gpuQuota=quota)], QUOTA)

    assert (found.gpu.usage, found.gpu.allowance) == (timedelta(seconds=4500.5), timedelta(hours=3))
    assert (found.gpu.left, found.gpu.is_pay_to_scale) == (timedelta(seconds=2699.5), True)
    assert found.tpu is None


def test_a_submission_names_the_version_and_returns_its_number() -> None:
    ref, server = answered([said(message="Successfully submitted", ref=1006)], WRITES["CreateCodeSubmission"])

    assert ref == 1006
    assert server.asked[0].fields == {
        "competitionName": "digits",
        "kernelOwner": "ada",
        "kernelSlug": "digits-infer",
        "kernelVersion": 2,
        "fileName": "submission.csv",
        "submissionDescription": "m",
    }


@pytest.mark.parametrize(("text", "score"), [("0.998", 0.998), ("", None), ("NaN", None), ("inf", None), ("?", None)])
def test_a_score_is_a_number_or_nothing(text: str, score: float | None) -> None:
    answer = said(submissions=[{"ref": 7, "publicScore": text, "status": "COMPLETE"}])

    assert answered([answer], READS["ListSubmissions"])[0][0].public_score == score


def test_a_folder_of_the_data_is_listed_until_enough_is_known() -> None:
    def script(asked: Asked) -> Told:
        at = int(asked.fields.get("pageToken") or 0)
        files = [{"name": f"{at + i}.png", "totalBytes": 10} for i in range(2)]
        return said(
            directories=[{"name": "test"}] if at == 0 else [], files=files, totalFiles=900, nextPageToken=str(at + 2)
        )

    folder, server = answered(script, lambda kaggle: kaggle.competitions.list_folder("digits", "train", most=3))

    assert folder.folders == ("test",)
    assert [file.name for file in folder.files] == ["train/0.png", "train/1.png", "train/2.png"]
    assert folder.total_files == 900
    assert len(server.asked) == 2


@pytest.mark.parametrize("handle", ["ada/model", "ada/model/no-such-framework/main", "a/b/keras/c/1"])
def test_a_model_handle_that_is_none_is_refused_before_anything_is_sent(handle: str) -> None:
    says = "OWNER/MODEL/FRAMEWORK/VARIATION"
    _, server = failed([said()], errors.RefusedError, lambda kaggle: kaggle.models.version(handle), says=says)

    assert server.asked == []


@pytest.mark.parametrize("status", ["PREEMPTED", "", 99, 3.5, ["COMPLETE"], {"name": "COMPLETE"}])
def test_a_status_that_nobody_knows_is_unknown_and_no_crash(status: object) -> None:
    with canned([said(status=status)]) as server:
        assert server.gateway().kernels.session_status("ada/digits-train", 3).state is SessionState.UNKNOWN
        assert server.gateway().competitions.submission("digits", 7).status is SubmissionStatus.UNKNOWN
        assert str(server.gateway().datasets.state("ada/weights")) == "preparing"


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": "complete"}, SessionState.COMPLETE),
        ({"status": "cancelAcknowledged"}, SessionState.CANCELLED),
        ({"status": "CANCEL_REQUESTED"}, SessionState.CANCELLING),
        ({"status": "NEW_SCRIPT"}, SessionState.NEW),
        ({"status": 3}, SessionState.ERROR),
        ({}, SessionState.QUEUED),  # a status that is left out is the first one
    ],
)
def test_a_status_is_read_however_it_is_written(fields: dict[str, object], state: SessionState) -> None:
    status, _ = answered([said(failureMessage=None, **fields)], READS["GetKernelSessionStatus"])

    assert status.state is state


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": "none"},
        {"metadata": {"title": {"en": "x"}}},
        {"metadata": {"currentVersionNumber": "three"}},
        {"metadata": {"competitionDataSources": "digits"}},
        {},
        {"metadata": {"slug": "somebody-elses"}},
        {"metadata": {"slug": "digits-train"}, "blob": {"slug": "../../evil"}},
    ],
)
def test_an_answer_of_another_shape_is_not_kaggles(fields: dict[str, object]) -> None:
    failed([said(**fields)], errors.NotKaggleError, READS["GetKernel"], attempts=1)
