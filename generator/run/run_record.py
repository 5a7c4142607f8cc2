"""The record of a run, `run.json`: its fields, each checked when it is read, and which of several runs is best."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from statistics import stdev
from typing import Any

from generator.competition.facts import Value
from generator.pair.handover import FILE_NAME
from generator.pair.workspace import Role
from generator.text import JsonObject, is_slug, quote_text

RECORD = "run.json"
OUT_OF_FOLD, PREDICTIONS, REPORT = "oof.npz", "predictions.npz", "report.html"
NOTEBOOKS = {role: f"{role}.ipynb" for role in Role}

LONGEST_TEXT = 300
SCHEMA = 1
DIGEST = re.compile(r"[0-9a-f]{8,64}")
_LONGEST_NOTE = 1_000
_MOST_NAMES = 2_000  # of parameters, cells, packages
_MOST_FOLDS = 1_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
CELL_NAME = re.compile(r"[A-Za-z0-9_#-]{1,64}")
# What no weights and no submission may be called.
_LEDGER_FILES = {RECORD, FILE_NAME, "oof.csv", OUT_OF_FOLD, PREDICTIONS, REPORT, *NOTEBOOKS.values()}


class RunOrigin(StrEnum):
    """Where a run was trained, or its inference ran."""

    LOCAL = "local"
    KAGGLE = "kaggle"
    COLAB = "colab"


class WeightsState(StrEnum):
    """Whether a run's weights are in its folder; those of a run on Kaggle are there."""

    KEPT = "kept"
    REMOVED = "removed"
    REMOTE = "remote"


@dataclass(frozen=True)
class RunRecord:
    """A run as `run.json` has it; texts are untrusted, and empty or None where nothing is known.

    Attributes:
        run_id: What the training notebook calls the run.
        keys: By which the training and the inference are recognised, so that each is recorded once.
        created: When it was recorded.
        cv: The out-of-fold score.
        parameters: The parameters of each notebook that differ from the defaults.
        defaults: Those of the template, of all its parameters.
        code: The first 16 digits of the SHA-256 of each code cell, without that of the parameters.
        folds_sha256: The hash of which example is in which fold.
        parent: The run before it, which it is compared with.
        submission: The name of the file.
    """

    number: int
    pair: str
    competition: str
    family: str
    framework: str
    run_id: str
    origin: RunOrigin
    keys: Mapping[str, str]
    created: datetime
    metric: str
    higher_is_better: bool | None
    cv: float | None
    fold_scores: tuple[float, ...]
    hidden_test: float | None
    public_score: float | None
    private_score: float | None
    seconds: Mapping[str, float]
    parameters: Mapping[str, Mapping[str, Value]]
    defaults: Mapping[str, Mapping[str, Value]]
    code: Mapping[str, Mapping[str, str]]
    code_sha256: str
    data_sha256: str | None
    folds_sha256: str | None
    versions: Mapping[str, str]
    accelerator: str
    git_commit: str
    parent: int | None
    note: str
    submission: str
    rows: int
    weights: WeightsState

    @property
    def name(self) -> str:
        """The name of the run on the command line, such as `titanic@7`."""
        return f"{self.pair}@{self.number}"

    @property
    def spread(self) -> float | None:
        """The standard deviation of the scores of the folds."""
        return stdev(self.fold_scores) if len(self.fold_scores) > 1 else None

    @property
    def is_inferred(self) -> bool:
        """True if it has an inference, not only a training."""
        return bool(self.keys.get(Role.INFER))

    def values(self, role: Role) -> dict[str, Value]:
        """Every parameter of a notebook."""
        return {**self.defaults.get(role, {}), **self.parameters.get(role, {})}

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"schema_version": SCHEMA, **vars(self), "created": self.created.isoformat(timespec="seconds")}


# Reading a record: it may come from anybody.


class _RecordFields:
    """The fields of a record, each checked as it is taken.

    Raises:
        ValueError: By every method: the field is not what was written.
    """

    def __init__(self, values: JsonObject) -> None:
        self._values = values

    def text(self, name: str, *, most: int = LONGEST_TEXT, pattern: re.Pattern[str] | None = None) -> str:
        value = self._values.get(name)
        is_valid = isinstance(value, str) and len(value) <= most and (pattern is None or pattern.fullmatch(value))
        return str(self._valid(name, value, is_valid=bool(is_valid)))

    def digest(self, name: str) -> str | None:
        return None if self._values.get(name) is None else self.text(name, pattern=DIGEST)

    def count(self, name: str, *, least: int = 0) -> int:
        value = self._values.get(name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and least <= value < 10**12
        return int(self._valid(name, value, is_valid=is_count))

    def number(self, name: str) -> float | None:
        if self._values.get(name) is None:
            return None
        number = self._values.number(name)
        self._valid(name, self._values[name], is_valid=number is not None)
        return number

    def numbers(self, name: str) -> tuple[float, ...]:
        values = self._values.get(name)
        if not isinstance(values, list) or len(values) > _MOST_FOLDS:
            raise ValueError(f"{name} is not a list of numbers")
        entries = [JsonObject({name: value}).number(name) for value in values]
        numbers = tuple(entry for entry in entries if entry is not None)
        self._valid(name, values, is_valid=len(numbers) == len(entries))
        return numbers

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self._values.get(name)
        if not isinstance(value, dict) or len(value) > _MOST_NAMES:
            raise ValueError(f"{name} is not an object of fewer than {_MOST_NAMES:,} fields")
        return value

    def by_role(self, name: str) -> Mapping[str, Any]:
        value = self.mapping(name)
        self._valid(name, value, is_valid=set(value) <= set(Role))
        return value

    def role_mapping(
        self, name: str, names: re.Pattern[str], is_value: Callable[[object], bool]
    ) -> dict[str, dict[str, Any]]:
        """For each role an object, whose keys and values are checked."""
        roles = self.by_role(name)
        for values in roles.values():
            fits = isinstance(values, dict) and len(values) <= _MOST_NAMES
            fits = fits and all(names.fullmatch(key) and is_value(value) for key, value in values.items())
            self._valid(name, values, is_valid=fits)
        return {role: dict(values) for role, values in roles.items()}

    def moment(self, name: str) -> datetime:
        at = datetime.fromisoformat(self.text(name))
        self._valid(name, at, is_valid=at.tzinfo is not None and at.year in range(2000, 9000))
        return at.astimezone(UTC)

    def file_name(self, name: str) -> str:
        value = self.text(name)
        return str(self._valid(name, value, is_valid=not value or is_file_name(value)))

    def _valid(self, name: str, value: Any, *, is_valid: bool) -> Any:
        if not is_valid:
            raise ValueError(f"{name} is {quote_text(repr(value)[:LONGEST_TEXT])}")
        return value


def _is_value(value: object) -> bool:
    """True if a value can be that of a parameter."""
    if isinstance(value, list):
        return len(value) <= _MOST_NAMES and all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool | int | str)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def is_file_name(name: str) -> bool:
    """True if a name is that of a file in the run's folder, and not one that the ledger writes itself."""
    plain = PurePosixPath(name).name == name and name.isprintable() and "\\" not in name and not name.startswith(".")
    return bool(name) and plain and len(name.encode()) <= LONGEST_TEXT and name not in _LEDGER_FILES


def record_of(values: JsonObject) -> RunRecord:
    """Make a record of the fields of a `run.json`.

    Raises:
        ValueError: A field is not what was written.
    """
    read = _RecordFields(values)
    if values.get("schema_version") != SCHEMA:
        raise ValueError(f"schema_version is {quote_text(repr(values.get('schema_version')))}, not {SCHEMA}")
    is_better = values.get("higher_is_better")
    if is_better is not None and not isinstance(is_better, bool):
        raise ValueError("higher_is_better is neither true nor false")
    pair, seconds = read.text("pair"), read.by_role("seconds")
    if not is_slug(pair) or not all(isinstance(value, int | float) for value in seconds.values()):
        raise ValueError("pair or seconds is not what was written")
    keys, versions = read.by_role("keys"), read.mapping("versions")
    if not all(map(_is_text, (*keys.values(), *versions, *versions.values()))):
        raise ValueError("keys or versions is not what was written")
    return RunRecord(
        number=read.count("number", least=1),
        pair=pair,
        competition=read.text("competition"),
        family=read.text("family"),
        framework=read.text("framework"),
        run_id=read.text("run_id"),
        origin=RunOrigin(read.text("origin")),
        keys=dict(keys),
        created=read.moment("created"),
        metric=read.text("metric"),
        higher_is_better=is_better,
        cv=read.number("cv"),
        fold_scores=read.numbers("fold_scores"),
        hidden_test=read.number("hidden_test"),
        public_score=read.number("public_score"),
        private_score=read.number("private_score"),
        seconds={role: JsonObject(seconds).number(role) or 0.0 for role in seconds},
        parameters=read.role_mapping("parameters", _NAME, _is_value),
        defaults=read.role_mapping("defaults", _NAME, _is_value),
        code=read.role_mapping(
            "code", CELL_NAME, lambda value: isinstance(value, str) and bool(DIGEST.fullmatch(value))
        ),
        code_sha256=read.text("code_sha256", pattern=DIGEST),
        data_sha256=read.digest("data_sha256"),
        folds_sha256=read.digest("folds_sha256"),
        versions=dict(versions),
        accelerator=read.text("accelerator"),
        git_commit=read.text("git_commit"),
        parent=None if values.get("parent") is None else read.count("parent", least=1),
        note=read.text("note", most=_LONGEST_NOTE),
        submission=read.file_name("submission"),
        rows=read.count("rows"),
        weights=WeightsState(read.text("weights")),
    )


def best_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The best run by each metric; all runs where it is not known whether higher is better."""
    best = []
    for metric in dict.fromkeys(record.metric for record in records):
        candidates = [record for record in records if record.metric == metric and record.cv is not None]
        if any(record.higher_is_better is None for record in candidates):
            best += candidates
        elif candidates:
            best.append(max(candidates, key=goodness))
    return best


def goodness(record: RunRecord) -> float:
    """The out-of-fold score, negative if lower is better; minus infinity without one."""
    if record.cv is None:
        return -math.inf
    return -record.cv if record.higher_is_better is False else record.cv
