"""The hand-over, `handoff.json`: what training says of itself, for inference, a run here and a chain on Kaggle."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import read_bytes
from generator.pair.workspace import Role
from generator.text import JsonObject, parsed_json, printable

FILE_NAME = "handoff.json"


class HandOverError(RunError):
    """Training left nothing that inference can use."""


class DamagedError(ValueError):
    """Bytes that are not what a notebook wrote: cut off on the way, or changed."""


@dataclass(frozen=True)
class Score:
    """A metric's name and value."""

    metric: str
    value: float


@dataclass(frozen=True)
class PromisedFile:
    """A file of a hand-over, as training described it; `size` is 0 where it does not say."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class TrainedFold:
    """A fold as training describes it: its score, and the score and the loss of each epoch."""

    score: float
    scores: tuple[float, ...]
    losses: tuple[float, ...]


@dataclass(frozen=True)
class HandOver:
    """A hand-over as training wrote it; what it leaves out is empty or None."""

    fields: JsonObject

    @property
    def is_whole(self) -> bool:
        """True if its own hash is right."""
        rest = {name: value for name, value in self.fields.items() if name != "sha256"}
        return bool(self.fields.get("sha256") == digest_of(rest))

    @property
    def is_complete(self) -> bool:
        """True if training came to its end."""
        return self.fields.get("complete", True) is True

    @property
    def run(self) -> str:
        """What the notebook calls the run: the digest of its settings and data."""
        return self.fields.text("run_id")

    @property
    def framework(self) -> str:
        """The framework that trained."""
        return self.fields.text("framework")

    @property
    def backend(self) -> str:
        """The backend that the framework computed with."""
        return self.fields.text("backend")

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the packages that trained."""
        return {str(name): str(version) for name, version in self.fields.section("versions").items()}

    @property
    def out_of_fold(self) -> Score | None:
        """The score that training measured itself."""
        fold = self.fields.section("out_of_fold")
        value = fold.number("score")
        return None if value is None else Score(fold.text("metric") or "score", value)

    @property
    def is_higher_better(self) -> bool | None:
        """Whether a larger score is better, as training says or the kit knows; None where neither does."""
        direction = self.fields.get("higher_is_better")
        if isinstance(direction, bool) or self.out_of_fold is None:
            return direction if isinstance(direction, bool) else None
        from generator.competition.metrics import UnknownMetricError, parse_metric

        try:
            return parse_metric(self.out_of_fold.metric)[0].higher_is_better
        except UnknownMetricError:
            return None

    @property
    def is_scored(self) -> bool:
        """True unless the score that training measured is no number, as where its losses are none."""
        return self.out_of_fold is not None or "score" not in self.fields.section("out_of_fold")

    @property
    def folds(self) -> tuple[TrainedFold, ...]:
        """The folds that were trained; none of which it does not say a score."""
        all_folds = map(_trained_fold, self.fields.sections("folds"))
        return tuple(fold for fold in all_folds if fold is not None)

    @property
    def accelerator(self) -> str:
        """The accelerator that training had, in words."""
        return accelerator_in_words(self.fields.section("accelerator"))

    @property
    def files(self) -> tuple[PromisedFile, ...]:
        """Every file that it promises, wherever it does so."""
        return tuple(promised_files(self.fields))


def _trained_fold(fields: JsonObject) -> TrainedFold | None:
    score, epochs = fields.number("score"), fields.sections("history")
    scores, losses = ([epoch.number(name) for epoch in epochs] for name in ("score", "loss"))
    series = [[value for value in values if value is not None] for values in (scores, losses)]
    if score is None:
        return None
    is_whole = len(series[0]) == len(series[1]) == len(epochs)
    return TrainedFold(score, *(tuple(values) if is_whole else () for values in series))


def read_handover(folder: Path) -> HandOver:
    """Reads the hand-over in a training output.

    Raises:
        HandOverError: There is none, or it is damaged.
    """
    path = folder / FILE_NAME
    try:
        return HandOver(read_json_object(path))
    except FileNotFoundError:
        raise HandOverError(
            f"{printable(str(path))} does not exist, so there is no model to predict with.",
            remedy="Run the training notebook to its end: the same command without --only, or with --only train.",
            code="hand-over-missing",
        ) from None
    except DamagedError as error:
        raise HandOverError(
            f"{printable(str(path))} is damaged: it is not a JSON object.",
            remedy="Run the training again.",
            code="hand-over-damaged",
        ) from error


def read_json_object(path: Path) -> JsonObject:
    """Reads a file that a training notebook wrote.

    Raises:
        DamagedError: It is no JSON object, or cannot be read.
        FileNotFoundError: There is none.
    """
    try:
        fields = parsed_json(read_bytes(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedError("it cannot be read") from error
    except ValueError as error:
        raise DamagedError("it is not JSON") from error
    if not isinstance(fields, dict):
        raise DamagedError("it is not a JSON object")
    return JsonObject(fields)


def digest_of(fields: Mapping[str, Any]) -> str:
    """The hash of a hand-over, as the notebooks compute it (`handoff_hash`)."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def accelerator_in_words(fields: JsonObject) -> str:
    """An accelerator as the notebooks describe it, in words: how many of what."""
    kind = fields.text("device_kind") or fields.text("platform")
    count = fields.count("device_count")
    return f"{count} \N{MULTIPLICATION SIGN} {kind}" if kind and count else kind


def promised_files(value: object) -> Iterator[PromisedFile]:
    """Yields every object with a file and its hash, wherever a value out of JSON has one."""
    if isinstance(value, dict):
        fields = JsonObject(value)
        if isinstance(fields.get("file"), str) and isinstance(fields.get("sha256"), str):
            yield PromisedFile(fields.text("file"), fields.count("bytes"), fields.text("sha256"))
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from promised_files(part)


# What a half of a pair needs, and which cells of the kit bring it.


@dataclass(frozen=True)
class Requirement:
    """Something that a half of a pair needs.

    Attributes:
        name: Its name.
        text: What it is, in words.
        roles: The halves that need it.
        cells: The ids of the cells that bring it.
        pattern: What the code of a notebook has that brings it itself.
        is_first: Whether its cells come before those of the notebook.
    """

    name: str
    text: str
    roles: tuple[Role, ...]
    cells: tuple[str, ...]
    pattern: str
    is_first: bool = False


_REQUIREMENTS = (
    Requirement(
        "parameters",
        "one cell tagged parameters, with COMPETITION and PAIR_ID",
        tuple(Role),
        ("configuration", "parameters"),
        r"^PAIR_ID = ",
        is_first=True,
    ),
    Requirement(
        "run",
        "a run, which finds inputs, checks the accelerator and writes files",
        tuple(Role),
        ("imports", "runtime-text", "runtime", "accelerator", "devices"),
        r"^run = (?:Run|Inference)\(",
        is_first=True,
    ),
    Requirement(
        "model", "build_model, the same in both notebooks", tuple(Role), ("define-model",), r"^def build_model\("
    ),
    Requirement(
        "weights out",
        "the weights and handoff.json for inference",
        (Role.TRAIN,),
        ("handoff", "save-artifacts"),
        r"\bhand_over\(|\bhandoff\.json\b",
    ),
    Requirement(
        "weights in",
        "the weights that handoff.json names",
        (Role.INFER,),
        ("handoff", "artifacts"),
        r"\bread_handoff\(|\bhandoff\.json\b",
    ),
    Requirement(
        "submission",
        "a submission that is compared with the sample",
        (Role.INFER,),
        ("submission", "submit"),
        r"\bwrite_submission\(|\bto_csv\(|\bsubmission\.csv\b",
    ),
)


_RUNTIME = r"^class (?:Run|Inference)\b"


def lacks(cells: Iterable[str], role: Role) -> list[Requirement]:
    """Return what the code cells of a notebook lack as a half of a pair; the kit's own definitions bring nothing."""
    code = "\n".join(source for source in cells if not re.search(_RUNTIME, source, re.MULTILINE))
    return [
        requirement
        for requirement in _REQUIREMENTS
        if role in requirement.roles and not re.search(requirement.pattern, code, re.MULTILINE)
    ]
