"""Every field of every method, filled with what it is not: a refusal or an answer, never a mistake of the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedRunner, writing
from wire_lint import methods

from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError, Call

WRONG: tuple[Any, ...] = (
    *("", "x", "../../etc/passwd", "a/b/c/d/e/f", "\x00\x1b[2J\ud800", "%s{0}'\"; --", "9" * 400, "x" * 3_000),
    *(-1, 2**80, 1.5, True, None, [], [None], ["x", {}], {}, {"files": 3}, {"x": [{}]}),
)
PLACES = {
    "competitionName": "digits",
    "userName": "local",
    "ownerSlug": "local",
    "kernelSlug": "a-kernel",
    "datasetSlug": "a-dataset",
    "modelSlug": "a-model",
    "instanceSlug": "main",
    "framework": "MODEL_FRAMEWORK_KERAS",
    "versionNumber": 1,
    "newTitle": "A kernel",
    "language": "python",
    "kernelType": "notebook",
}


NOTEBOOK = '{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}'


def ask(local: LocalKaggle, method: str, **fields: Any) -> Any:
    """Calls a method, and takes no for no answer."""
    answer = local.handle(Call(method, "local", "http://localhost", fields))
    assert isinstance(answer, dict)
    assert not answer.get("error"), answer
    return answer


def uploaded(local: LocalKaggle) -> dict[str, str]:
    """A file that was sent, as creations name it."""
    upload = local.blobs.start(Call("", "local", "http://localhost", {}), name="w.bin", size=1)
    found = local.blobs.find(upload.token)
    assert found is not None
    local.blobs.append(found, 0, b"x")
    return {"token": upload.token}


@pytest.fixture
def local_kaggle(tmp_path: Path) -> Iterator[LocalKaggle]:
    """A local Kaggle that is asked without HTTP between, and has one of each thing."""
    local = LocalKaggle(tmp_path / "site", runner=ScriptedRunner(writing({"submission.csv": "id,label\n"})))
    saving = {"language": "python", "kernelType": "notebook", "text": NOTEBOOK, "isPrivate": True}
    ask(local, "kernels.KernelsApiService/SaveKernel", slug="local/a-kernel", newTitle="A kernel", **saving)
    titled = {"ownerSlug": "local", "isPrivate": True}
    files = [uploaded(local)]
    ask(local, "datasets.DatasetApiService/CreateDataset", slug="a-dataset", title="A dataset", files=files, **titled)
    ask(local, "models.ModelApiService/CreateModel", slug="a-model", title="A model", **titled)
    body = {"instanceSlug": "main", "framework": "MODEL_FRAMEWORK_KERAS", "files": [uploaded(local)]}
    ask(local, "models.ModelApiService/CreateModelInstance", ownerSlug="local", modelSlug="a-model", body=body)
    assert local.kernels.wait_until_idle(30)
    yield local
    local.close()


def requests(method: str) -> Iterator[dict[str, Any]]:
    """Requests with one wrong field each; the others say what they should, so that the wrong one is come to."""
    fields = [field.json_name for field in methods()[method].request._fields]
    right = {name: value for name, value in {**PLACES, "text": NOTEBOOK}.items() if name in fields}
    for name in fields:
        for wrong in WRONG:
            yield {**right, name: wrong}


def mistake_in(local: LocalKaggle, method: str, fields: dict[str, Any]) -> str:
    """What goes wrong in a call that a client could not have been told of; nothing if it is answered or refused."""
    try:
        local.handle(Call(method, "local", "http://localhost", fields))
    except ApiError as refusal:
        return "" if 400 <= refusal.status < 500 else f"{method}: {refusal.status}"
    except Exception as mistake:  # noqa: BLE001 - whatever it is, it is what the test looks for
        return f"{method}: {type(mistake).__name__}: {mistake} at {fields!r:.300}"
    return ""


@pytest.mark.slow
def test_no_field_of_any_method_brings_the_server_to_a_mistake(local_kaggle: LocalKaggle) -> None:
    # What deletes comes last: the others need something to look at.
    offered = sorted(set(local_kaggle._methods) & set(methods()), key=lambda name: ("Delete" in name, name))
    assert len(offered) > 50
    found = {mistake_in(local_kaggle, method, fields) for method in offered for fields in requests(method)} - {""}
    assert not found, "\n".join(sorted(found)[:20])
