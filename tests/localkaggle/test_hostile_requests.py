"""Requests whose fields are anything at all: each is answered or refused in Kaggle's way, and nothing breaks."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedRunner, writing
from serving import RecordedKaggle, notebook
from wire_lint import complaints, methods

from generator.localkaggle.rpc import ApiCall, ApiError

ME = "local"
FITTING: dict[str, Any] = {
    **dict.fromkeys(("userName", "ownerSlug", "kernelOwner"), ME),
    **dict.fromkeys(("slug", "kernelSlug", "modelSlug", "datasetSlug", "instanceSlug"), "some-thing"),
    **dict.fromkeys(("newTitle", "title"), "Some thing"),
    **dict.fromkeys(("versionNumber", "datasetVersionNumber", "kernelVersion"), 1),
    "competitionName": "digits",
    "framework": "MODEL_FRAMEWORK_JAX",
    "text": notebook(),
    "language": "python",
    "kernelType": "notebook",
}
WRONG: tuple[Any, ...] = (
    *("", "x", "../../etc/passwd", "a/b/c/d/e/f", "\x00\x1b[2J\ud800", "%s{0}'\"; --", "9" * 400, "x" * 3_000),
    *(-1, 2**80, 1.5, True, None, [], [None], ["x", {}], {}, {"files": 3}, {"x": [{}]}),
)
ANYTHING = [
    *WRONG,
    *(0, 1, 10**30, "a", "\ud800", "a\0b", "../..", "/etc/passwd", "x" * 5_000, "é" * 60),
    *(["a"], [{}], {"a": 1}, [[[]]], [{"token": "a"}], [{"name": "..", "files": [1]}]),
    *("some-kernel/1", "v1", "v-1", "digits", "2", "-5", "\N{ARABIC-INDIC DIGIT THREE}", "1e3", "MODEL_FRAMEWORK_JAX"),
]
BODY = ("versionNotes", "files", "directories", "subtitle", "categoryIds", "deleteOldVersions", "framework")
MAKING = (
    "kernels.KernelsApiService/SaveKernel",
    "datasets.DatasetApiService/CreateDataset",
    "models.ModelApiService/CreateModel",
    "models.ModelApiService/CreateModelInstance",
)

pytestmark = pytest.mark.slow


@pytest.fixture
def local_kaggle(tmp_path: Path) -> Iterator[RecordedKaggle]:
    """A local Kaggle that is asked without HTTP between, and has one of each thing."""
    local = RecordedKaggle(tmp_path / "site", runner=ScriptedRunner(writing({"submission.csv": "id,label\n"})))
    make_some_things(local)
    assert local.kernels.sessions.queue.wait_until_idle(30)
    yield local
    local.close()


def make_some_things(local: RecordedKaggle) -> None:
    """A kernel, a dataset and a model for the requests to be about; those that are there stay."""
    token = local.blobs.start(ApiCall("", ME, "http://localhost", {}), name="empty.csv", size=0)["token"]
    files = {"files": [{"token": token}]}
    for method in MAKING:
        local.handle(ApiCall(method, ME, "http://localhost", {**FITTING, **files, "body": {**FITTING, **files}}))


def status_of(local: RecordedKaggle, method: str, fields: dict[str, Any]) -> int:
    """The status of a call; an exception that no client could be told of is the test's to see."""
    try:
        answer = local.handle(ApiCall(method, ME, "http://localhost", fields))
    except ApiError as refusal:
        return refusal.status
    if isinstance(answer, dict):
        json.dumps(answer, ensure_ascii=False).encode()
    return 200


def offered(local: RecordedKaggle) -> list[str]:
    """The methods that clients can call; those that delete come last, as the others need something to look at."""
    return sorted(set(local.methods) & set(methods()), key=lambda name: ("Delete" in name, name))


def fields_of(method: str) -> list[str]:
    return [field.json_name for field in methods()[method].request._fields]


def test_no_field_of_any_method_brings_the_server_to_a_mistake(local_kaggle: RecordedKaggle) -> None:
    found = set()
    for method in offered(local_kaggle):
        # The other fields say what they should, so that the wrong one is come to.
        right = {name: FITTING[name] for name in fields_of(method) if name in FITTING}
        for name in fields_of(method):
            for wrong in WRONG:
                status = status_of(local_kaggle, method, {**right, name: wrong})
                found |= {f"{method}: {status} at {name}={wrong!r:.300}"} if status >= 500 else set()
    assert len(offered(local_kaggle)) > 50
    assert not found, "\n".join(sorted(found)[:20])


@pytest.mark.parametrize("seed", [1, 2])
def test_no_request_breaks_a_method_or_is_answered_in_fields_that_the_sdk_does_not_know(
    local_kaggle: RecordedKaggle, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - a repeatable sequence is the point
    known, answered = offered(local_kaggle), set()
    local_kaggle.exchanges.clear()
    for count in range(2_000):
        if count % 200 == 0:
            make_some_things(local_kaggle)
        method = dice.choice(known)
        fields = some_fields(method, dice, wildness=dice.choice((0.02, 0.2, 0.5)))
        answered |= {method} if status_of(local_kaggle, method, fields) == 200 else set()

    assert complaints(local_kaggle.exchanges) == []
    assert {exchange.status for exchange in local_kaggle.exchanges if exchange.status >= 500} == set()
    assert len(answered) > len(known) * 3 // 4, "too few of the requests made sense"


def some_fields(method: str, dice: random.Random, *, wildness: float) -> dict[str, Any]:
    """Fields of a request, some fitting, some missing, and `wildness` of them anything at all."""
    found: dict[str, Any] = {}
    for name in fields_of(method):
        if dice.random() < wildness:
            found[name] = dice.choice(ANYTHING)
        elif name in FITTING and dice.random() < 0.97:
            found[name] = FITTING[name]
        elif name == "body":
            found[name] = {each: dice.choice(ANYTHING) for each in BODY if dice.random() < wildness}
    return found
