"""The catalog of accelerators that Kaggle and Colab lend, read from the dated file beside this module."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class AcceleratorKind(StrEnum):
    """The kinds of device that compute in a session."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"


class Service(StrEnum):
    """Who lends an accelerator; nobody lends the machine that the kit runs on."""

    KAGGLE = "kaggle"
    COLAB = "colab"
    HERE = "here"


class Status(StrEnum):
    """Who can have an accelerator today."""

    OFFERED = "offered"
    COMPETITION = "competition"
    RETIRED = "retired"


@dataclass(frozen=True)
class Chip:
    """The chip of an accelerator as its data sheet describes it; a figure that is not known is None or missing.

    Attributes:
        name: What its maker calls it.
        kind: GPU or TPU.
        memory_gb: Memory of the chip.
        bandwidth: Of that memory, in GB/s.
        rates: Dense matrix operations in 10^12 a second, by dtype.
        source: Where the figures stand.
    """

    name: str
    kind: AcceleratorKind
    memory_gb: float
    source: str
    bandwidth: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def training_dtype(self) -> str:
        """The dtype that matrices multiply in when the notebooks train on it."""
        return "bfloat16" if self.kind is AcceleratorKind.TPU else "float16"


@dataclass(frozen=True)
class UnitPrice:
    """What an hour costs in Colab's units, and since when that is known."""

    per_hour: float
    as_of: date | int
    source: str


@dataclass(frozen=True)
class Accelerator:
    """One choice of the accelerator menu of Kaggle or Colab; what is not known of it is None.

    Attributes:
        machine_shape: The id in `kernel-metadata.json`; empty without an accelerator, and on Colab.
        name: What the menu calls it.
        kind: CPU, GPU or TPU.
        session_hours: How long one session may last.
        source: Where its figures stand.
        good_for: What it is good for, in a few words.
        service: Who lends it.
        status: Who can have it today.
        chip: The chip that computes; None for a CPU.
        chips: How many of them there are.
        devices: How many devices a framework sees.
        cores: CPU cores of the machine; the fewest, where hosts differ.
        max_cores: CPU cores of the largest host, where hosts differ.
        host_memory_gib: Memory of the machine.
        disk_gb: Disk for what a session writes and keeps.
        tmp_gb: Disk for temporary files (`/kaggle/tmp`), which the session does not keep.
        weekly_hours: How long all sessions of a week may last, or None without such a limit.
        concurrent_sessions: How many sessions of its kind an account may have at a time, queued ones included.
        units: What an hour costs on Colab, the latest price last.
        replaced_by: The machine shape that took its place.
        retired_on: When that was.
    """

    machine_shape: str
    name: str
    kind: AcceleratorKind
    session_hours: int
    source: str
    good_for: str
    service: Service = Service.KAGGLE
    status: Status = Status.OFFERED
    chip: Chip | None = None
    chips: int = 0
    devices: int = 1
    cores: int | None = None
    host_memory_gib: float | None = None
    max_cores: int | None = None
    disk_gb: float | None = None
    tmp_gb: float | None = None
    weekly_hours: int | None = None
    concurrent_sessions: int | None = None
    units: tuple[UnitPrice, ...] = ()
    replaced_by: str | None = None
    retired_on: str = ""

    @property
    def title(self) -> str:
        """The accelerator with who lends it, as both have a T4."""
        name = self.name if self.name != "None" else "CPU"
        return name if self.service is Service.HERE else f"{self.service.capitalize()} {name}"

    @property
    def device_memory_gib(self) -> float | None:
        """Memory of each device, in GiB: chips of two cores are two devices that share it."""
        return None if self.chip is None else self.chip.memory_gb * self.chips / self.devices

    def rate(self, dtype: str) -> float | None:
        """Operations a second of all chips for a dtype, or None if it is not known or they do not have it."""
        known = self.chip.rates.get(dtype) if self.chip else None
        return None if known is None else known * 1e12 * self.chips

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second that all chips together move to and from their memory."""
        known = self.chip.bandwidth if self.chip else None
        return None if known is None else known * 1e9 * self.chips


@dataclass(frozen=True)
class Experience:
    """What is reached of a data sheet, and what a session needs beside its steps, as measured."""

    attainable: float
    cpu_attainable: float
    loop_seconds: float
    epoch_seconds: float
    prediction_share: float
    rows_per_second: float
    pixels_per_second: float
    weights_per_second: float


@dataclass(frozen=True)
class Catalog:
    """All accelerators as of a date.

    Attributes:
        as_of: When the facts were last checked.
        accelerators: What Kaggle offers everybody, by machine shape.
        training: What a training notebook asks for.
        inference: What an inference notebook asks for.
        retired: Machine shapes that are no longer offered, with what the server runs instead.
        everything: All of it, with what only competitions lend, what was retired, and what Colab lends.
        experience: What of the figures is reached.
        dollars_per_unit: What one of Colab's units costs.
    """

    as_of: date
    accelerators: Mapping[str, Accelerator]
    training: Accelerator
    inference: Accelerator
    retired: Mapping[str, Accelerator]
    everything: tuple[Accelerator, ...]
    experience: Experience
    dollars_per_unit: float


@cache
def catalog() -> Catalog:
    """The catalog that comes with this version of the kit."""
    data = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))
    chips = {entry["name"]: Chip(**{**entry, "kind": AcceleratorKind(entry["kind"])}) for entry in data["chip"]}
    everything = tuple(_accelerator(entry, chips) for entry in data["runtime"])
    of_kaggle = [each for each in everything if each.service is Service.KAGGLE]
    offered = {each.machine_shape: each for each in of_kaggle if each.status is Status.OFFERED}
    return Catalog(
        as_of=data["as_of"],
        accelerators=offered,
        training=offered[data["training"]],
        inference=offered[data["inference"]],
        retired={shape: offered[replacement] for shape, replacement in data["retired"].items()},
        everything=everything,
        experience=Experience(**data["experience"]),
        dollars_per_unit=data["money"]["dollars_per_unit"],
    )


def _accelerator(entry: Mapping[str, Any], chips: Mapping[str, Chip]) -> Accelerator:
    named: dict[str, Any] = {
        "kind": AcceleratorKind(entry["kind"]),
        "service": Service(entry["service"]),
        "status": Status(entry["status"]),
        "units": tuple(UnitPrice(**price) for price in entry.get("units", ())),
    }
    if "chip" in entry:
        named["chip"] = chips[entry["chip"]]
    return Accelerator(**{"machine_shape": "", **entry, **named})
