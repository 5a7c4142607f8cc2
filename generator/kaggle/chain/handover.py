"""What a training session left: the accelerator it had, and whether inference can use its hand-over."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.kaggle.api import RemoteFile
from generator.kaggle.chain.errors import HandOverUnfitError, WrongAcceleratorError
from generator.untrusted import printable

MARKER = "accelerator.json"
HANDOVER = "handoff.json"
_TRAIN_AGAIN = "Train again."
_OF_THIS_PAIR = "Render both notebooks together, and train again."


class DamagedError(Exception):
    """Bytes that are not what a notebook wrote: cut off on the way, or changed."""


@dataclass(frozen=True)
class Promise:
    """A file of a hand-over, as training described it."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class HandOver:
    """A hand-over whose own hash is right; what it says is not checked yet."""

    fields: Mapping[str, Any]

    @property
    def files(self) -> tuple[Promise, ...]:
        """Every file that it promises."""
        return tuple(_promises(self.fields))

    def summary(self) -> dict[str, Any]:
        """What the journal and the receipt keep of it, as JSON."""
        fold = _object(self.fields, "out_of_fold")
        score = fold.get("score")
        is_number = isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
        return {
            "pair_id": str(self.fields.get("pair_id", "")),
            "framework": str(self.fields.get("framework", "")),
            "backend": str(self.fields.get("backend", "")),
            "versions": {str(name): str(value) for name, value in _object(self.fields, "versions").items()},
            "out_of_fold": {"metric": str(fold.get("metric", "score")), "score": score if is_number else None},
            "sha256": str(self.fields.get("sha256", "")),
            "files": [{"file": p.file, "bytes": p.size, "sha256": p.sha256} for p in self.files],
        }


def read_marker(content: bytes) -> dict[str, Any]:
    """Reads `accelerator.json`.

    Raises:
        DamagedError: It is no JSON object.
    """
    return _json(content)


def read_handover(content: bytes) -> HandOver:
    """Reads `handoff.json`, and makes sure by its own hash that it is whole.

    Raises:
        DamagedError: It is no JSON object, or not as training wrote it.
    """
    fields = _json(content)
    rest = {name: value for name, value in fields.items() if name != "sha256"}
    if fields.get("sha256") != digest_of(rest):
        raise DamagedError("its hash is not the one that stands in it")
    return HandOver(fields)


def digest_of(fields: Mapping[str, Any]) -> str:
    """The hash of a hand-over, as the notebooks compute it (`handoff_hash`)."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def check_accelerator(marker: Mapping[str, Any], *, wanted: str, is_local: bool, url: str) -> None:
    """Makes sure that training ran on what it asked for; a local Kaggle may emulate it.

    Raises:
        WrongAcceleratorError: It ran on something else.
    """
    if marker.get("emulated") is not True and marker.get("platform") == wanted:
        return
    if is_local and _is_emulation(marker, wanted):
        return
    raise WrongAcceleratorError(wanted=wanted, obtained=described(marker), url=url)


def check_failed_session(marker: Mapping[str, Any], *, wanted: str, url: str) -> WrongAcceleratorError | None:
    """Why a training session failed, if it did so for want of its accelerator."""
    if marker.get("platform") == wanted or _is_emulation(marker, wanted):
        return None
    # The notebook calls everything emulated that it did not ask for; here nobody meant to.
    return WrongAcceleratorError(wanted=wanted, obtained=described({**marker, "emulated": False}), url=url)


def described(marker: Mapping[str, Any]) -> str:
    """An accelerator in words: how many of what."""
    kind = printable(str(marker.get("device_kind") or marker.get("platform") or "something unknown"))
    count = marker.get("device_count")
    words = f"{count} \N{MULTIPLICATION SIGN} {kind}" if isinstance(count, int) else kind
    return f"{words} (emulated)" if marker.get("emulated") is True else words


def check_handover(handover: HandOver, *, pair_id: str, listing: Mapping[str, RemoteFile]) -> None:
    """Makes sure that inference can use a hand-over: of this pair, complete, of real data, and all its files there.

    Raises:
        HandOverUnfitError: The first thing that is not so.
    """
    fields = handover.fields
    if fields.get("schema_version") != 1:
        problem = f"its schema version is {fields.get('schema_version')!r}, and this kit knows 1"
        raise HandOverUnfitError(problem=problem, remedy=_OF_THIS_PAIR)
    if fields.get("pair_id") != pair_id:
        problem = f"it is of the pair {fields.get('pair_id')!r}, and not of {pair_id!r}"
        raise HandOverUnfitError(problem=problem, remedy=_OF_THIS_PAIR)
    if fields.get("complete") is not True:
        problem = f"training was interrupted, its folds have done {fields.get('epochs_done')} epochs"
        remedy = "Attach the training kernel's own output to it, and train on: `--from train`."
        raise HandOverUnfitError(problem=problem, remedy=remedy)
    if fields.get("specimen") is True:
        raise HandOverUnfitError(problem="training ran on a specimen, made-up data", remedy=_TRAIN_AGAIN)
    if _object(fields, "settings").get("SMOKE_TEST") is True:
        problem = "training was a smoke test, on a few rows"
        raise HandOverUnfitError(problem=problem, remedy="Set SMOKE_TEST = False, and train again.")
    _check_files(handover.files, listing)


def _is_emulation(marker: Mapping[str, Any], wanted: str) -> bool:
    """Whether a local Kaggle stood in for the accelerator: a TPU has as many devices then as it really has."""
    if marker.get("emulated") is not True:
        return False
    devices = catalog().training.devices if wanted == AcceleratorKind.TPU else 1
    return marker.get("device_count") == devices


def _check_files(promises: tuple[Promise, ...], listing: Mapping[str, RemoteFile]) -> None:
    for promise in promises:
        found = listing.get(promise.file)
        if found is None:
            raise HandOverUnfitError(problem=f"{promise.file} is not in the output", remedy=_TRAIN_AGAIN)
        # A listing that does not say the size says 0.
        if promise.size and found.size and found.size != promise.size:
            problem = f"{promise.file} has {found.size:,} bytes, and training wrote {promise.size:,}"
            raise HandOverUnfitError(problem=problem, remedy=_TRAIN_AGAIN)


def _promises(value: object) -> Iterator[Promise]:
    """Every object with a file and its hash, wherever a hand-over has it."""
    if isinstance(value, dict):
        file, sha256, size = value.get("file"), value.get("sha256"), value.get("bytes")
        if isinstance(file, str) and isinstance(sha256, str):
            yield Promise(file, size if isinstance(size, int) else 0, sha256)
        for part in value.values():
            yield from _promises(part)
    elif isinstance(value, list):
        for part in value:
            yield from _promises(part)


def _json(content: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedError("it is not JSON") from error
    if not isinstance(fields, dict):
        raise DamagedError("it is not a JSON object")
    return fields


def _object(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}
