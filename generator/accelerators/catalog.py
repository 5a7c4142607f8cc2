"""The catalog of accelerators that Kaggle lends, read from the dated file beside this module."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path


class AcceleratorKind(StrEnum):
    """The kinds of device that compute in a session."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"


@dataclass(frozen=True)
class Accelerator:
    """One choice of Kaggle's accelerator menu.

    Attributes:
        machine_shape: The id in `kernel-metadata.json`; empty without an accelerator.
        name: What Kaggle's menu calls it.
        kind: CPU, GPU or TPU.
        devices: How many devices a framework sees.
        device_memory_gib: Memory of each device.
        host_memory_gib: Memory of the machine.
        cores: CPU cores of the machine.
        session_hours: How long one session may last.
        weekly_hours: How long all sessions of a week may last, or None without such a limit.
    """

    machine_shape: str
    name: str
    kind: AcceleratorKind
    devices: int
    device_memory_gib: int
    host_memory_gib: int
    cores: int
    session_hours: int
    weekly_hours: int | None


@dataclass(frozen=True)
class Catalog:
    """All accelerators as of a date.

    Attributes:
        as_of: When the facts were last checked.
        accelerators: What is offered, by machine shape.
        training: What a training notebook asks for.
        inference: What an inference notebook asks for.
        retired: Machine shapes that are no longer offered, with what the server runs instead.
    """

    as_of: date
    accelerators: Mapping[str, Accelerator]
    training: Accelerator
    inference: Accelerator
    retired: Mapping[str, Accelerator]


@cache
def catalog() -> Catalog:
    """The catalog that comes with this version of the kit."""
    data = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))
    offered = {
        entry["machine_shape"]: Accelerator(
            **{**entry, "kind": AcceleratorKind(entry["kind"]), "weekly_hours": entry.get("weekly_hours")}
        )
        for entry in data["accelerator"]
    }
    return Catalog(
        as_of=data["as_of"],
        accelerators=offered,
        training=offered[data["training"]],
        inference=offered[data["inference"]],
        retired={shape: offered[replacement] for shape, replacement in data["retired"].items()},
    )
