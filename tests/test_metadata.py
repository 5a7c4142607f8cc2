"""kernel-metadata.json says everything that Kaggle asks for, and nothing that sends a kernel to a wrong machine."""

import json
from typing import Any

import pytest

from generator.competition import builtin
from generator.pair.rendering import metadata_text
from generator.pair.settings import Origin, SettingValue, propose_settings
from generator.pair.spec import PairSpec, spec_of
from generator.pair.workspace import Role

FIELDS = {
    "id": str,
    "title": str,
    "code_file": str,
    "language": str,
    "kernel_type": str,
    "is_private": bool,
    "enable_gpu": bool,
    "enable_tpu": bool,
    "enable_internet": bool,
    "machine_shape": str,
    "keywords": list,
    "dataset_sources": list,
    "competition_sources": list,
    "kernel_sources": list,
    "model_sources": list,
}
"""Every field that the client reads, but `docker_image`: an image of the GPU in a TPU session hides the TPU."""


@pytest.fixture
def spec() -> PairSpec:
    digits = builtin.require("digits")
    return spec_of(
        propose_settings(digits.competition, digits.task, framework="keras", owner=SettingValue("ada", Origin.FLAG))
    )


def metadata(spec: PairSpec, role: Role) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(metadata_text(spec, role))
    return data


@pytest.mark.parametrize("role", list(Role))
def test_every_field_is_explicit_and_no_image_is_pinned(spec: PairSpec, role: Role) -> None:
    assert {key: type(value) for key, value in metadata(spec, role).items()} == FIELDS


def test_training_is_private_on_the_tpu_with_internet(spec: PairSpec) -> None:
    data = metadata(spec, Role.TRAIN)

    assert (data["machine_shape"], data["enable_tpu"], data["enable_gpu"]) == ("TpuV5E8", True, False)
    assert (data["is_private"], data["enable_internet"]) == (True, True)
    assert data["kernel_sources"] == []


def test_inference_is_on_the_gpu_without_internet_and_takes_the_training_output(spec: PairSpec) -> None:
    data = metadata(spec, Role.INFER)

    assert (data["machine_shape"], data["enable_tpu"], data["enable_gpu"]) == ("NvidiaTeslaT4", False, True)
    assert data["enable_internet"] is False
    assert data["kernel_sources"] == [metadata(spec, Role.TRAIN)["id"]] == ["ada/digits-keras-train"]
    assert data["competition_sources"] == ["digits"]
