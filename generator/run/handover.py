"""What a training notebook says of itself in `handoff.json`, as far as a run reports it.

HandOverError
├── HandOverMissingError     the training notebook ended without one
└── HandOverUnreadableError  it is not what the training notebook writes
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import read_bytes
from generator.untrusted import printable

FILE_NAME = "handoff.json"


class HandOverError(RunError):
    """Training left nothing that inference can use."""


class HandOverMissingError(HandOverError):
    """There is no hand-over."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(
            f"{printable(str(path))} does not exist, so there is no model to predict with. "
            f"Run the training notebook to its end: the same command without --only, or with --only train."
        )


class HandOverUnreadableError(HandOverError):
    """The hand-over is not JSON, or not an object."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"{printable(str(path))} is damaged: it is not a JSON object. Run the training again.")


@dataclass(frozen=True)
class Score:
    """A metric's name and value."""

    metric: str
    value: float


@dataclass(frozen=True)
class HandOver:
    """The parts of a hand-over that a report shows; what a notebook left out is empty or None."""

    is_complete: bool
    framework: str
    backend: str
    versions: Mapping[str, str]
    out_of_fold: Score | None
    accelerator: str


def read_handover(folder: Path) -> HandOver:
    """Reads the hand-over in a training output.

    Raises:
        HandOverMissingError: There is none.
        HandOverUnreadableError: It is damaged.
    """
    path = folder / FILE_NAME
    try:
        fields = json.loads(read_bytes(path))
    except FileNotFoundError:
        raise HandOverMissingError(path=path) from None
    except (OSError, ValueError, RecursionError) as error:
        raise HandOverUnreadableError(path=path) from error
    if not isinstance(fields, dict):
        raise HandOverUnreadableError(path=path)
    versions = _object(fields, "versions")
    return HandOver(
        is_complete=fields.get("complete", True) is True,
        framework=_text(fields, "framework"),
        backend=_text(fields, "backend"),
        versions={str(name): str(version) for name, version in versions.items()},
        out_of_fold=_score(_object(fields, "out_of_fold")),
        accelerator=_accelerator(_object(fields, "accelerator")),
    )


def _object(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _score(fields: Mapping[str, Any]) -> Score | None:
    value = fields.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Score(metric=_text(fields, "metric") or "score", value=float(value))


def _accelerator(fields: Mapping[str, Any]) -> str:
    kind = _text(fields, "device_kind") or _text(fields, "platform")
    count = fields.get("device_count")
    return f"{count} \N{MULTIPLICATION SIGN} {kind}" if kind and isinstance(count, int) else kind
