"""Sending files: resumed where the connection broke, and only where they belong."""

import json
from pathlib import Path
from typing import Any

import pytest
from canned import TOKEN, Ask, Asked, Canned, Told, answered, failed, refused, said
from upload_store import Store

from generator.kaggle import errors
from generator.kaggle.api_types import DatasetState, DatasetUpload
from generator.kaggle.credentials import AccessToken
from generator.kaggle.gateway import Kaggle
from generator.kaggle.transport import Request, Response, Transport

CONTENT = b"0123456789" * 5_000


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.h5"
    path.write_bytes(CONTENT)
    return path


def submitting(path: Path) -> Ask:
    return lambda kaggle: kaggle.competitions.submit_file("titanic", path=path, message="tandem")


def uploading(path: Path, *, ref: str = "ada/w-set") -> Ask:
    """Uploads a file as a dataset, or as a model where that is what `ref` names."""
    upload = DatasetUpload("W", {"w.h5": path}, notes="second")
    return lambda kaggle: (kaggle.models.upload if ref.count("/") == 3 else kaggle.datasets.upload)(ref, upload)


def puts(server: Canned) -> list[str]:
    return [asked.headers.get("content-range", "") for asked in server.asked if asked.verb == "PUT"]


def test_a_file_is_submitted_by_its_token(weights: Path) -> None:
    store = Store(answers={"CreateSubmission": said(message="ok", ref=1002)})
    ref, server = answered(store, submitting(weights))

    assert ref == 1002
    assert store.blobs == {"token-1": CONTENT}
    start, put, create = server.asked
    assert start.fields["contentLength"] == len(CONTENT)
    assert start.fields["fileName"] == "weights.h5"
    assert "authorization" not in put.headers
    assert TOKEN.encode() not in put.body
    assert create.fields == {
        "competitionName": "titanic",
        "blobFileTokens": "token-1",
        "submissionDescription": "tandem",
    }


def test_an_upload_that_breaks_goes_on_where_it_was(weights: Path) -> None:
    store = Store([12_345, refused(503, "later"), 1_000], {"CreateSubmission": said(ref=1)})
    _, server = answered(store, submitting(weights), attempts=5)

    size = len(CONTENT)
    assert store.blobs["token-1"] == CONTENT
    asked = f"bytes */{size}"
    rest = [f"bytes {at}-{size - 1}/{size}" for at in (12_345, 12_345, 13_345)]
    assert puts(server) == ["", asked, rest[0], asked, rest[1], asked, rest[2]]
    assert server.methods().count("CreateSubmission") == 1


def test_an_upload_whose_answer_was_lost_is_not_sent_again(weights: Path) -> None:
    class Forgetful(Store):
        def _put(self, asked: Asked) -> Told:
            if asked.headers.get("content-range", "").startswith("bytes */"):
                return said()
            super()._put(asked)
            return Told(drops=True)

    _, server = answered(Forgetful(answers={"CreateSubmission": said(ref=1)}), submitting(weights))

    assert puts(server) == ["", f"bytes */{len(CONTENT)}"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413])
def test_a_store_that_refuses_ends_it_and_nothing_is_submitted(weights: Path, status: int) -> None:
    # The official client goes on without the file here, and says that all is well.
    _, server = failed(Store([refused(status, "no")]), errors.KaggleError, submitting(weights))

    assert "CreateSubmission" not in server.methods()


def test_a_store_that_keeps_failing_is_given_up(weights: Path) -> None:
    store = Store([refused(500, "x")] * 9)
    _, server = failed(store, errors.ServerFailedError, submitting(weights), attempts=3)

    assert len([line for line in puts(server) if "*" not in line]) == 3


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "https://evil.example.com/x", "file:///tmp/x", ""])
def test_no_file_is_sent_to_wherever_a_server_says(weights: Path, url: str) -> None:
    _, server = failed(Store(put_at=url), errors.KaggleError, submitting(weights))

    assert puts(server) == []


def test_the_real_kaggle_cannot_have_a_file_sent_to_a_stranger(weights: Path) -> None:
    class Strange(Transport):
        def send(self, request: Request, *, limit: int) -> Response:
            assert request.host == "api.kaggle.com"
            place = json.dumps({"token": "t", "createUrl": "https://example.com/x"})
            return Response(200, {"content-type": "application/json"}, place.encode())

    kaggle = Kaggle("https://api.kaggle.com", AccessToken(TOKEN, source="a test"))
    kaggle.client.transport = Strange()

    with pytest.raises(errors.UnsafeAnswerError, match="neither Kaggle nor its store"):
        submitting(weights)(kaggle)


def test_a_file_that_changes_while_it_is_sent_is_not_submitted(weights: Path) -> None:
    class Meddler(Store):
        def _put(self, asked: Asked) -> Told:
            weights.write_bytes(b"other" + CONTENT[5:])
            return super()._put(asked)

    store = Meddler(answers={"CreateSubmission": said(ref=1)})
    _, server = failed(store, errors.UnsafeAnswerError, submitting(weights), says="changed while")

    assert "CreateSubmission" not in server.methods()


def test_a_file_with_secrets_is_not_submitted(tmp_path: Path) -> None:
    (tmp_path / "kaggle.json").write_text("{}")

    _, server = failed(Store(), errors.UnsafeAnswerError, submitting(tmp_path / "kaggle.json"))

    assert server.asked == []


def test_an_empty_file_can_be_sent(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    store = Store(answers={"CreateSubmission": said(ref=1)})
    answered(store, submitting(tmp_path / "empty.csv"))

    assert store.blobs == {"token-1": b""}


def test_a_dataset_that_is_not_there_is_created_privately_with_its_folders(weights: Path) -> None:
    store = Store(answers={"CreateDataset": said(status="Ok", ref="/ada/digits-weights")})
    upload = DatasetUpload(
        "Digits weights", {"handoff.json": weights, "folds/0/w.h5": weights, "folds/1/w.h5": weights}
    )

    version, server = answered(store, lambda kaggle: kaggle.datasets.upload("ada/digits-weights", upload))

    assert version == 1
    assert server.asked[-1].fields == {
        "ownerSlug": "ada",
        "slug": "digits-weights",
        "title": "Digits weights",
        "licenseName": "other",
        "isPrivate": True,
        "files": [{"token": "token-3"}],
        "directories": [
            {
                "name": "folds",
                "directories": [
                    {"name": "0", "files": [{"token": "token-1"}]},
                    {"name": "1", "files": [{"token": "token-2"}]},
                ],
            }
        ],
    }
    started = [asked.fields for asked in server.asked if asked.method == "StartBlobUpload"]
    assert [(each["type"], each["name"]) for each in started] == [
        ("DATASET", "w.h5"),
        ("DATASET", "w.h5"),
        ("DATASET", "handoff.json"),
    ]


def test_a_dataset_that_is_there_gets_its_next_version(weights: Path) -> None:
    answers = {"GetDataset": said(currentVersionNumber=4), "CreateDatasetVersion": said(status="ok", error="")}
    version, server = answered(Store(answers=answers), uploading(weights))

    assert version == 5
    assert server.asked[-1].fields == {
        "ownerSlug": "ada",
        "datasetSlug": "w-set",
        "body": {"versionNotes": "second", "files": [{"token": "token-1"}]},
    }


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said(error="The requested title is already in use by a dataset.", status="error"), errors.SlugTakenError),
        (said(status="error", error=""), errors.RefusedError),
        (refused(403, "no"), errors.ForbiddenError),
        (refused(500, "after the commit"), errors.ServerFailedError),
    ],
)
def test_a_dataset_that_is_not_taken_is_an_error_and_sent_once(
    weights: Path, answer: Told, kind: type[errors.KaggleError]
) -> None:
    _, server = failed(Store(answers={"CreateDataset": answer}), kind, uploading(weights))

    assert server.methods().count("CreateDataset") == 1


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (said(status="READY"), DatasetState.READY),
        (said(status="FAILED"), DatasetState.FAILED),
        (said(status="BLOBS_RECEIVED"), DatasetState.PREPARING),
        (said(), DatasetState.PREPARING),
        (refused(404, "none"), DatasetState.MISSING),
    ],
)
def test_whether_a_dataset_is_ready_is_known(told: Told, state: DatasetState) -> None:
    assert answered([told], lambda kaggle: kaggle.datasets.state("ada/w-set"))[0] is state


def test_a_model_that_is_not_there_is_created_privately(weights: Path) -> None:
    answers: dict[str, Any] = {"CreateModel": said(id=1, ref="ada/m"), "CreateModelInstance": said(id=2, error="")}
    version, server = answered(Store(answers=answers), uploading(weights, ref="ada/m/pyTorch/main"))

    assert version == 1
    methods = [name for name in server.methods() if "Model" in name]
    assert methods == ["GetModelInstance", "GetModel", "CreateModel", "CreateModelInstance"]
    create = next(asked.fields for asked in server.asked if asked.method == "CreateModel")
    assert create == {"ownerSlug": "ada", "slug": "m", "title": "W", "isPrivate": True}
    body = server.asked[-1].fields["body"]
    assert (body["framework"], body["instanceSlug"]) == ("MODEL_FRAMEWORK_PY_TORCH", "main")


def test_a_variation_that_is_there_gets_its_next_version(weights: Path) -> None:
    answers = {"GetModelInstance": said(versionNumber=2), "CreateModelInstanceVersion": said(ref="x")}
    version, server = answered(Store(answers=answers), uploading(weights, ref="ada/m/keras/main"))

    assert version == 3
    assert server.asked[-1].fields == {
        "ownerSlug": "ada",
        "modelSlug": "m",
        "framework": "MODEL_FRAMEWORK_KERAS",
        "instanceSlug": "main",
        "body": {"versionNotes": "second", "files": [{"token": "token-1"}]},
    }


def test_a_variation_that_was_there_all_along_gets_its_next_version(weights: Path) -> None:
    found = [refused(403, "not yet visible"), said(versionNumber=8)]

    class Shy(Store):
        def __call__(self, asked: Asked) -> Told:
            return found.pop(0) if asked.method == "GetModelInstance" else super().__call__(asked)

    answers = {
        "GetModel": said(id=1),
        "CreateModelInstance": said(error="The variation exists", errorCode=409),
        "CreateModelInstanceVersion": said(ref="x"),
    }
    assert answered(Shy(answers=answers), uploading(weights, ref="ada/m/keras/main"))[0] == 8


def test_nothing_to_upload_is_said_before_anything_is_sent() -> None:
    nothing, refused_with = DatasetUpload("W"), errors.UnsafeAnswerError
    _, server = failed(
        Store(), refused_with, lambda kaggle: kaggle.datasets.upload("ada/w-set", nothing), says="no files"
    )

    assert "CreateDataset" not in server.methods()
