"""What is private is its owner's: other accounts of a local Kaggle neither see it, nor find it, nor mount it."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import Browsing
from scripted import ScriptedRunner, writing

from generator.localkaggle.rpc import ApiError, Redirect

DATASET = {"ownerSlug": "other", "datasetSlug": "their-secret"}
MODEL = {"ownerSlug": "other", "modelSlug": "their-secret", "framework": "MODEL_FRAMEWORK_JAX", "instanceSlug": "main"}
KERNEL = {"userName": "other", "ownerSlug": "other", "kernelSlug": "their-secret"}
SOURCES = {
    "kernelDataSources": ["other/their-secret"],
    "datasetDataSources": ["other/their-secret"],
    "modelDataSources": ["other/their-secret/jax/main"],
}
OWNERS = ("local", "other")
PAGES = ("/", "/code", "/sessions", "/datasets", "/models", "/competitions/toy-heights/code")
INVALID = {f"invalid{kind}Sources" for kind in ("Kernel", "Dataset", "Model")}


@pytest.fixture
def seen(tmp_path: Path) -> Browsing:
    """A local Kaggle with two accounts."""
    made = Browsing(tmp_path, ScriptedRunner(writing({"their-secret.txt": "1"})))
    made.kaggle.accounts.token("other")
    return made


def make(seen: Browsing, *, is_private: bool) -> None:
    """A kernel, a dataset and a model of the other account."""
    owned = {"ownerSlug": "other", "title": "Their secret", "slug": "their-secret", "isPrivate": is_private}
    seen.push("Their secret", caller="other", isPrivate=is_private, competitionDataSources=["toy-heights"])
    files = [seen.files({"their-secret.txt": b""}, caller="other") for _ in range(2)]
    seen.ask("CreateDataset", caller="other", **owned, **files[0])
    seen.ask("CreateModel", caller="other", **owned)
    body = {"framework": MODEL["framework"], "instanceSlug": "main", **files[1]}
    seen.ask("CreateModelInstance", caller="other", **MODEL, body=body)


def told(seen: Browsing, caller: str) -> str:
    """All that the methods that read say of those things to an account."""
    answers: list[Any] = []
    for method in seen.reading:
        named = DATASET if "Dataset" in method else MODEL if "Model" in method else KERNEL
        for asked in ({}, named, {"user": "other"}, {"owner": "other"}):
            for number in range(3):
                fields = {**asked, **dict.fromkeys(("kernelSessionId", "id"), number)}
                try:
                    answer = seen.ask(method, caller=caller, **fields)
                except ApiError as refusal:
                    answers.append(refusal.message)
                else:
                    answers.append({"url": answer.url} if isinstance(answer, Redirect) else answer)
    return json.dumps(answers, default=str)


def test_what_is_private_is_told_to_its_owner_alone(seen: Browsing) -> None:
    make(seen, is_private=True)

    assert "their-secret" in told(seen, "other")
    assert "secret" not in told(seen, "local")


@pytest.mark.parametrize("is_private", [True, False])
def test_what_is_private_is_a_source_of_its_owners_notebooks_alone(seen: Browsing, is_private: bool) -> None:
    make(seen, is_private=is_private)
    asked = {"newTitle": "Curious", "kernelType": "script", "text": "1", "language": "python", **SOURCES}

    answers = {caller: seen.ask("SaveKernel", caller=caller, **asked) for caller in OWNERS}
    mounted = {order.title.partition("/")[0]: len(order.mounts) for order in seen.runner.orders[1:]}

    assert {name for name in INVALID if answers["local"][name]} == (INVALID if is_private else set())
    assert {name for name in INVALID if answers["other"][name]} == set()
    assert mounted == {"local": 0 if is_private else 3, "other": 3}


@pytest.mark.slow
@pytest.mark.parametrize("is_private", [True, False])
def test_the_pages_show_what_is_private_to_its_owner_alone(seen: Browsing, is_private: bool) -> None:
    make(seen, is_private=is_private)

    for address in PAGES:
        assert ("Their secret" in seen.get(address).text) is not is_private, address
        assert "Their secret" in seen.get(address, caller="other").text
    for address in ("/code/other/their-secret", "/datasets/other/their-secret", "/models/other/their-secret"):
        assert seen.get(address, caller="other").status == 200
        assert (seen.get(address).status in (403, 404)) is is_private
