"""Requests whose fields are anything at all: each is answered or refused in Kaggle's way, and nothing breaks."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from generator.localkaggle.http.traffic import Exchange
from scripted import ScriptedRunner
from wire_lint import complaints, methods

from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError, Call

ME = "local"
NOTEBOOK = json.dumps(
    {"cells": [], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
)
FITTING = {
    **dict.fromkeys(("userName", "ownerSlug", "kernelOwner"), ME),
    **dict.fromkeys(("slug", "kernelSlug", "modelSlug", "datasetSlug"), "some-thing"),
    **dict.fromkeys(("newTitle", "title"), "Some thing"),
    **dict.fromkeys(("versionNumber", "datasetVersionNumber", "kernelVersion"), 1),
    "competitionName": "digits",
    "framework": "MODEL_FRAMEWORK_JAX",
    "instanceSlug": "some-thing",
    "text": NOTEBOOK,
    "language": "python",
    "kernelType": "notebook",
}
ANYTHING = [
    *(None, True, 0, -1, 1, 10**30, 1.5, "", "a", "\ud800", "a\0b", "../..", "/etc/passwd", "x" * 5_000, "é" * 60),
    *([], [None], ["a"], [{}], {}, {"a": 1}, [[[]]], [{"token": "a"}], [{"name": "..", "files": [1]}]),
    *("some-kernel/1", "v1", "v-1", "digits", "2", "-5", "\N{ARABIC-INDIC DIGIT THREE}", "1e3", "MODEL_FRAMEWORK_JAX"),
]
BODY = ("versionNotes", "files", "directories", "subtitle", "categoryIds", "deleteOldVersions", "framework")


MAKING = (
    "kernels.KernelsApiService/SaveKernel",
    "datasets.DatasetApiService/CreateDataset",
    "models.ModelApiService/CreateModel",
    "models.ModelApiService/CreateModelInstance",
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_request_breaks_a_method_or_is_answered_in_fields_that_the_sdk_does_not_know(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - a repeatable sequence is the point
    local_kaggle = LocalKaggle(tmp_path, runner=ScriptedRunner())
    known = sorted(set(local_kaggle._methods) & set(methods()))
    answered, exchanges = set(), []
    for count in range(2_000):
        if count % 200 == 0:
            make_some_things(local_kaggle)
        method = dice.choice(known)
        fields = some_fields(method, dice, wildness=dice.choice((0.02, 0.2, 0.5)))
        try:
            answer = local_kaggle.handle(Call(method, ME, "http://localhost", fields))
        except ApiError as refused:
            status, answer = refused.status, {"code": refused.status, "message": refused.message}
        else:
            status = 200
            answered.add(method)
        if isinstance(answer, dict):
            json.dumps(answer, ensure_ascii=False).encode()
            exchanges.append(Exchange(method=method, request=fields, status=status, answer=answer))
    local_kaggle.close()

    assert complaints(exchanges) == []
    assert {exchange.status for exchange in exchanges if exchange.status >= 500} == set()
    assert len(answered) > len(known) * 3 // 4, "too few of the requests made sense"


def make_some_things(local_kaggle: LocalKaggle) -> None:
    """A kernel, a dataset and a model for the requests to be about; those that are there stay."""
    call = Call("", ME, "http://localhost", {})
    tokens = [local_kaggle.blobs.start(call, name="empty.csv", size=0).token]
    files = {"files": [{"token": token} for token in tokens]}
    for method in MAKING:
        fields = {**FITTING, **files, "body": {**FITTING, **files}}
        local_kaggle.handle(Call(method, ME, "http://localhost", fields))


def some_fields(method: str, dice: random.Random, *, wildness: float) -> dict[str, Any]:
    """Fields of a request, some fitting, some missing, and `wildness` of them anything at all."""
    found: dict[str, Any] = {}
    for field in methods()[method].request._fields:
        name = field.json_name
        if dice.random() < wildness:
            found[name] = dice.choice(ANYTHING)
        elif name in FITTING and dice.random() < 0.97:
            found[name] = FITTING[name]
        elif name == "body":
            found[name] = {each: dice.choice(ANYTHING) for each in BODY if dice.random() < wildness}
    return found
