"""The ledger of a pair: every full run, numbered, with its notebooks, predictions, scores and settings.

    record_run              keeps a run as `output/X/runs/0007`, or completes the record of its training
    read_runs, resolve_run  what was kept; `run_folder` says where
    change_run              gives a record a note or its scores
    prunable_runs           the runs that may go; `remove_runs` removes them

A workspace may come from anybody: every field of `run.json` is checked when it is read, and a damaged record is left
out with a warning. Weights are kept for the best and the newest run, and for runs that a blend names.

LedgerError     a run cannot be kept, or there is no such run
"""

import errno
import hashlib
import json
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from statistics import stdev
from typing import Any, TypeVar

from generator.errors import RunError, TandemError, did_you_mean
from generator.files import WorkspaceFiles, open_below, reason_not_read, writing
from generator.pair.handover import FILE_NAME, HandOver, digest_of, read_handover
from generator.pair.notebook import (
    PARAMETERS_TAG,
    is_fixed,
    join_lines,
    parameters_cell,
    read_own_cells,
    read_parameters,
)
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace, git_commit
from generator.run.execution import INJECTED_TAG, OFF_COLAB
from generator.text import JsonObject, Value, is_slug, printable, quote_text, storable

RECORD = "run.json"
OUT_OF_FOLD, PREDICTIONS, REPORT = "oof.npz", "predictions.npz", "report.html"
NOTEBOOKS = {role: f"{role}.ipynb" for role in Role}

_LONGEST_TEXT = 300
_SCHEMA = 1
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_LONGEST_NOTE = 1_000
_MOST_NAMES = 2_000  # of parameters, cells, packages
_MOST_FOLDS = 1_000
_LARGEST_NUMBER = 1e100  # of scores and seconds, so that what is computed of them is finite
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_RECORDED_CELL = re.compile(r"[A-Za-z0-9_#-]{1,64}")
# What no weights and no submission may be called.
_LEDGER_FILES = {RECORD, FILE_NAME, "oof.csv", OUT_OF_FOLD, PREDICTIONS, REPORT, *NOTEBOOKS.values()}
_LARGEST_RECORD, _LARGEST_NOTEBOOK = 2**20, 2**28  # bytes
_NUMBER = re.compile(r"[0-9]{4,9}")
_REFERENCE = re.compile(r"(?P<pair>[^@]*)@0*(?P<number>[0-9]{1,9})")
_MEMBER = re.compile(r"(?<![\w-])([a-z0-9][a-z0-9-]*)@0*([0-9]{1,9})(?![\w-])")
# What the kit puts in front of a notebook that it sends to Colab.
_CONFLICT_CELL = re.compile(r"-(template|other)(-[0-9]+)?$")
_COLAB_GUARD_CELLS = {"stop-at-failure"}
# What differs between this machine and Kaggle for one and the same run.
_SESSION_PARAMETERS = {"ALLOW_CPU", *OFF_COLAB}


class LedgerError(RunError):
    """A run cannot be kept, or there is none of that number."""


class RecordDamagedError(LedgerError):
    """The record of a run is missing or damaged."""


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


_Choice = TypeVar("_Choice", bound=StrEnum)


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
        data_sha256: The hash of the examples as the training notebook read them.
        folds_sha256: The hash of which example is in which fold.
        table_sha256: The hash of the file with the training table; None if that was not in this workspace.
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
    table_sha256: str | None
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
        return {"schema_version": _SCHEMA, **vars(self), "created": self.created.isoformat(timespec="seconds")}


# Reading a record: it may come from anybody.


class _RecordFields:
    """The fields of a record, each checked as it is taken.

    Raises:
        ValueError: By every method: the field is not what was written.
    """

    def __init__(self, values: JsonObject) -> None:
        self._values = values

    def text(self, name: str, *, most: int = _LONGEST_TEXT, pattern: re.Pattern[str] | None = None) -> str:
        value = self._values.get(name)
        if isinstance(value, str) and len(value) > most:
            raise ValueError(f'its field "{name}" has more than {most:,} characters')
        is_valid = isinstance(value, str) and (pattern is None or pattern.fullmatch(value))
        return str(self._valid(name, value, is_valid=bool(is_valid)))

    def choice(self, name: str, values: type[_Choice]) -> _Choice:
        text = self.text(name)
        self._valid(name, text, is_valid=text in set(values))
        return values(text)

    def digest(self, name: str) -> str | None:
        return None if self._values.get(name) is None else self.text(name, pattern=_DIGEST)

    def count(self, name: str, *, least: int = 0) -> int:
        value = self._values.get(name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and least <= value < 10**12
        return int(self._valid(name, value, is_valid=is_count))

    def number(self, name: str) -> float | None:
        value = self._values.get(name)
        return None if value is None else self._number(name, value)

    def numbers(self, name: str) -> tuple[float, ...]:
        values = self._values.get(name)
        self._valid(name, values, is_valid=isinstance(values, list) and len(values) <= _MOST_FOLDS)
        return tuple(self._number(name, value) for value in values or ())

    def seconds(self, name: str) -> dict[str, float]:
        """For each role a time."""
        seconds = {role: self._number(name, value) for role, value in self.by_role(name).items()}
        self._valid(name, seconds, is_valid=all(value >= 0 for value in seconds.values()))
        return seconds

    def _number(self, name: str, value: object) -> float:
        number = JsonObject({name: value}).number(name)
        self._valid(name, value, is_valid=number is not None and abs(number) <= _LARGEST_NUMBER)
        return number or 0.0

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self._values.get(name)
        self._valid(name, value, is_valid=isinstance(value, dict) and len(value) <= _MOST_NAMES)
        return value or {}

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
        text, at = self.text(name), None
        with suppress(ValueError):
            at = datetime.fromisoformat(text)
        if at is None or at.tzinfo is None or at.year not in range(2000, 9000):
            raise ValueError(_field_problem(name, text))
        return at.astimezone(UTC)

    def file_name(self, name: str) -> str:
        value = self.text(name)
        return str(self._valid(name, value, is_valid=not value or _is_file_name(value)))

    def _valid(self, name: str, value: Any, *, is_valid: bool) -> Any:
        if not is_valid:
            raise ValueError(_field_problem(name, value) if name in self._values else f'it has no field "{name}"')
        return value


def _field_problem(name: str, value: object) -> str:
    return f'its field "{name}" cannot be {quote_text(repr(value)[:_LONGEST_TEXT])}'


def _is_value(value: object) -> bool:
    """True if a value can be that of a parameter."""
    if isinstance(value, list):
        return len(value) <= _MOST_NAMES and all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool | int | str)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_file_name(name: str) -> bool:
    """True if a name is that of a file in the run's folder, and not one that the ledger writes itself."""
    plain = PurePosixPath(name).name == name and name.isprintable() and "\\" not in name and not name.startswith(".")
    return bool(name) and plain and len(name.encode()) <= _LONGEST_TEXT and name not in _LEDGER_FILES


def _record_of(values: JsonObject) -> RunRecord:
    """Make a record of the fields of a `run.json`.

    Raises:
        ValueError: A field is not what was written.
    """
    if not values:
        raise ValueError("it is no JSON object")
    read = _RecordFields(values)
    if values.get("schema_version") != _SCHEMA:
        raise ValueError(
            f"it is of another version of Tandem, with schema_version {quote_text(repr(values['schema_version']))}"
            if "schema_version" in values
            else 'it has no field "schema_version"'
        )
    is_better = values.get("higher_is_better")
    if is_better is not None and not isinstance(is_better, bool):
        raise ValueError(_field_problem("higher_is_better", is_better))
    pair = read.text("pair")
    if not is_slug(pair):
        raise ValueError(_field_problem("pair", pair))
    keys, versions = read.by_role("keys"), read.mapping("versions")
    if not all(map(_is_text, (*keys.values(), *versions, *versions.values()))):
        raise ValueError('its field "keys" or "versions" has values that are no short texts')
    return RunRecord(
        number=read.count("number", least=1),
        pair=pair,
        competition=read.text("competition"),
        family=read.text("family"),
        framework=read.text("framework"),
        run_id=read.text("run_id"),
        origin=read.choice("origin", RunOrigin),
        keys=dict(keys),
        created=read.moment("created"),
        metric=read.text("metric"),
        higher_is_better=is_better,
        cv=read.number("cv"),
        fold_scores=read.numbers("fold_scores"),
        hidden_test=read.number("hidden_test"),
        public_score=read.number("public_score"),
        private_score=read.number("private_score"),
        seconds=read.seconds("seconds"),
        parameters=read.role_mapping("parameters", _NAME, _is_value),
        defaults=read.role_mapping("defaults", _NAME, _is_value),
        code=read.role_mapping("code", _RECORDED_CELL, _is_digest),
        code_sha256=read.text("code_sha256", pattern=_DIGEST),
        data_sha256=read.digest("data_sha256"),
        folds_sha256=read.digest("folds_sha256"),
        table_sha256=read.digest("table_sha256"),
        versions=dict(versions),
        accelerator=read.text("accelerator"),
        git_commit=read.text("git_commit"),
        parent=None if values.get("parent") is None else read.count("parent", least=1),
        note=read.text("note", most=_LONGEST_NOTE),
        submission=read.file_name("submission"),
        rows=read.count("rows"),
        weights=read.choice("weights", WeightsState),
    )


def _best_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The best run by each metric; all runs where it is not known whether higher is better."""
    best = []
    for metric in dict.fromkeys(record.metric for record in records):
        candidates = [record for record in records if record.metric == metric and record.cv is not None]
        if any(record.higher_is_better is None for record in candidates):
            best += candidates
        elif candidates:
            best.append(max(candidates, key=_goodness))
    return best


def _goodness(record: RunRecord) -> float:
    """The out-of-fold score, negative if lower is better; minus infinity without one."""
    if record.cv is None:
        return -math.inf
    return -record.cv if record.higher_is_better is False else record.cv


def sort_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs with the best first; those by the metric of most of them come before others."""
    counts = Counter(record.metric for record in records)
    return sorted(
        records, key=lambda record: (-counts[record.metric], record.metric, -_goodness(record), -record.number)
    )


# The folder of the runs.


def runs_folder(workspace: Workspace, pair: str) -> Path:
    """The folder of a pair's runs."""
    return workspace.output(pair) / "runs"


def run_folder(workspace: Workspace, pair: str, number: int) -> Path:
    """The folder of a run, whether it is there or not."""
    return runs_folder(workspace, pair) / f"{number:04}"


def member_output(workspace: Workspace, pair: str, number: int | None) -> Path:
    """The folder with the training of a member of a blend: of a run, or of what the pair's output is now."""
    return workspace.output(pair) / Role.TRAIN if number is None else run_folder(workspace, pair, number)


def recorded_pairs(workspace: Workspace) -> list[str]:
    """The pairs of a workspace that have runs, by name."""
    folders = (path.parent for path in (workspace.root / "output").glob("*/runs"))
    return sorted(folder.name for folder in folders if is_slug(folder.name))


def read_runs(
    workspace: Workspace, pair: str, *, warn: Callable[[str], None] = lambda _: None
) -> tuple[RunRecord, ...]:
    """Read the records of a pair, the oldest first.

    Args:
        workspace: The workspace.
        pair: The name of the pair.
        warn: Hears of records that are damaged, which are left out.

    Raises:
        UnsafePlaceError: The folder of the runs is a link.
    """
    records, damages = _read_folder(workspace, pair)
    for sentence in damages.values():
        warn(sentence)
    return tuple(records)


def _read_folder(workspace: Workspace, pair: str) -> tuple[list[RunRecord], dict[int, str]]:
    """The records of a pair, the oldest first, and by number a sentence on each that is damaged."""
    records, damages = [], {}
    for number in _numbers(workspace, pair):
        path = run_folder(workspace, pair, number) / RECORD
        try:
            records.append(_read_record(workspace.files, path, pair=pair, number=number))
        except FileNotFoundError:
            damages[number] = f"{printable(str(path.parent))} has no {RECORD}: restore it, or remove the folder."
        except (OSError, ValueError, OverflowError, TandemError) as error:
            problem = reason_not_read(error) if isinstance(error, OSError) else printable(str(error)).removesuffix(".")
            place = printable(str(path))
            damages[number] = f"{place} is damaged ({problem}): restore it, or remove the folder {path.parent.name}."
    return records, damages


def _read_record(files: WorkspaceFiles, path: Path, *, pair: str, number: int) -> RunRecord:
    with os.fdopen(files.open(path, os.O_RDONLY), "rb") as file:
        content = file.read(_LARGEST_RECORD + 1)
    if len(content) > _LARGEST_RECORD:
        raise ValueError("it is larger than 1 MB")
    record = _record_of(JsonObject.parse(content))
    if (record.pair, record.number) != (pair, number):
        raise ValueError(f"it is the record of {quote_text(record.name)}")
    return record


def _numbers(workspace: Workspace, pair: str) -> list[int]:
    """The numbers that are in use."""
    folder = runs_folder(workspace, pair)
    try:
        with workspace.files.handle_on(folder) as handle:
            names = os.listdir(handle)  # noqa: PTH208 - of an open folder
            return sorted(int(name) for name in names if _NUMBER.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def resolve_run(workspace: Workspace, reference: str) -> RunRecord:
    """Find a run by its name: `X@7`, or `X` for the newest run of a pair.

    Raises:
        LedgerError: There is no such run, or its record is damaged.
    """
    match = _REFERENCE.fullmatch(reference)
    pair, number = (match["pair"], int(match["number"])) if match else (reference, None)
    if not is_slug(pair):
        raise LedgerError(
            f'"{quote_text(reference)}" is not a run.',
            remedy="Write PAIR or PAIR@NUMBER, such as titanic@7.",
            code="run-name-invalid",
        )
    records, damages = _read_folder(workspace, pair)
    record = next((entry for entry in reversed(records) if number in (None, entry.number)), None)
    last_number = max([*damages, *(entry.number for entry in records)], default=0)
    wanted_number = last_number if number is None else number
    if wanted_number in damages:
        remedy = f"Or name another run, such as {pair}@{record.number}." if number is None and record else ""
        raise RecordDamagedError(damages[wanted_number], remedy=remedy)
    if record is not None:
        return record
    if not last_number:
        raise no_runs_error(workspace, pair)
    raise LedgerError(
        f"{pair} has no run {number}.",
        remedy=f"Its last run is {last_number}; `tandem runs {pair}` lists all.",
        code="run-not-found",
    )


def no_runs_error(workspace: Workspace, pair: str) -> LedgerError:
    """The error of a pair without runs, which may be the misspelling of one that has some."""
    near = did_you_mean(pair, recorded_pairs(workspace)).strip()
    remedy = f"Make one with `tandem run {pair}`."
    if near and not workspace.pair(pair).path.is_dir():
        remedy = near
    return LedgerError(f"{pair} has no runs.", remedy=remedy, code="run-not-found")


# Recording: staged in a folder beside, which then takes the number.


@dataclass(frozen=True)
class RunOutputs:
    """What a finished run left, and the facts of it that are not in its hand-over.

    Attributes:
        workspace: The workspace.
        folder: The pair.
        spec: Its specification.
        origin: Where it ran.
        handover: The hand-over of its training.
        keys: By which its training and its inference, if there was one, are recognised.
        folders: The outputs of the notebooks.
        notebooks: The notebooks that were executed, with their parameters.
        seconds: The time of each, as far as it is known.
        submission: The submission; None without an inference.
        rows: The number of its rows.
        report: The page about the run, if there is one.
        has_weights: Whether the weights are in the output of the training.
        hidden_test: The score of the submission on the hidden test of a built-in competition.
        commit: The commit of the pair; empty for that of now.
        table_sha256: The hash of the training table that it read, as `hash_training_table` returns it.
    """

    workspace: Workspace
    folder: PairFolder
    spec: PairSpec
    origin: RunOrigin
    handover: HandOver
    keys: Mapping[Role, str]
    folders: Mapping[Role, Path]
    notebooks: Mapping[Role, Path]
    seconds: Mapping[Role, float] = field(default_factory=dict)
    submission: Path | None = None
    rows: int = 0
    report: Path | None = None
    has_weights: bool = True
    hidden_test: float | None = None
    commit: str = ""
    table_sha256: str | None = None


@dataclass(frozen=True)
class Recording:
    """A record that was written, and sentences for the user: what was removed, and what to know of it."""

    record: RunRecord
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def hash_training_table(workspace: Workspace, spec: PairSpec) -> str | None:
    """Return the SHA-256 of the file with the training table; None if it is not in the workspace, or is a link."""
    data = workspace.competition_data(spec.competition.slug)
    try:
        with open_below(data, spec.task.train_table or spec.task.labels_table) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def training_key(handover: HandOver) -> str:
    """The key of a training whose output is on this machine: the hash of its hand-over."""
    return handover.fields.text("sha256") if handover.is_whole else digest_of(handover.fields)


def record_run(outputs: RunOutputs) -> Recording:
    """Keep a run under the next free number, or complete the record of its training; a run is recorded once.

    Everything is copied. A new run takes its place as a whole, or not at all. To a training that is completed, the
    files of the inference are added one by one, and then the record.

    Raises:
        LedgerError: Some of it is nothing that can be recorded.
        TandemError: A file cannot be written, or something in the workspace is a link.
        OSError: A file cannot be read.
    """
    workspace, pair = outputs.workspace, outputs.folder.name
    files, folder = workspace.files, runs_folder(workspace, pair)
    facts = _facts_of(outputs)
    with writing(folder):
        files.make_folder(folder)
    with writing(folder), _lock(files, folder):
        records = read_runs(workspace, pair)
        candidates = [entry for entry in records if entry.keys.get(Role.TRAIN) == facts.keys.get(Role.TRAIN)]
        for entry in candidates:
            if not facts.is_inferred or entry.keys.get(Role.INFER) == facts.keys[Role.INFER]:
                return Recording(entry)
        # A training that waits for its inference.
        earlier = next((entry for entry in reversed(candidates) if not entry.is_inferred), None)
        if earlier is not None:
            record = _complete(earlier, facts)
        else:
            parent = records[-1].number if records else None
            number = max(_numbers(workspace, pair), default=0) + 1
            record = replace(facts, number=number, parent=parent)
        target, content_of_record = run_folder(workspace, pair, record.number), _record_bytes(record)
        with files.beside(target) as stage:
            content = stage / "new"
            content.mkdir()
            _copy_outputs(outputs, record, content, list(Role) if earlier is None else [Role.INFER])
            if earlier is None:
                files.write(content / RECORD, content_of_record)
                files.move(content, target)
            else:
                for name in (PREDICTIONS, NOTEBOOKS[Role.INFER]):  # of another inference that did not come this far
                    files.remove(target / name)
                for path in sorted(content.iterdir()):
                    files.move(path, target / path.name)
                files.write(target / RECORD, content_of_record)
        notes = _drop_weights(workspace, [entry for entry in records if entry.number < record.number], record)
    return Recording(record, tuple(notes), tuple(_folds_warnings(workspace, record)))


def _complete(record: RunRecord, facts: RunRecord) -> RunRecord:
    """The record of a training with what its inference adds."""
    role = Role.INFER
    code = {**record.code, role: facts.code.get(role, {})}
    return replace(
        record,
        keys={**record.keys, role: facts.keys[role]},
        seconds={**record.seconds, role: facts.seconds.get(role, 0.0)},
        parameters={**record.parameters, role: facts.parameters.get(role, {})},
        defaults={**record.defaults, role: facts.defaults.get(role, {})},
        code=code,
        code_sha256=_hash_of(code),
        hidden_test=facts.hidden_test,
        submission=facts.submission,
        rows=facts.rows,
    )


def _facts_of(outputs: RunOutputs) -> RunRecord:
    """The record of a run, without its number, checked as one that is read.

    Raises:
        LedgerError: The run left something that no record can hold.
    """
    handover, spec = outputs.handover, outputs.spec
    score = handover.out_of_fold
    notebooks = {role: read_executed_code(path) for role, path in outputs.notebooks.items()}
    code = {str(role): notebook.hashes for role, notebook in notebooks.items()}
    values = {role: _without_session(notebook.parameters) for role, notebook in notebooks.items()}
    defaults = _default_parameters(outputs.folder, values)
    submission = outputs.submission.name if outputs.submission is not None else ""
    facts = {
        "schema_version": _SCHEMA,
        "number": 1,
        "pair": outputs.folder.name,
        "competition": spec.competition.slug,
        "family": spec.family,
        "framework": spec.framework,
        "run_id": _shorten(handover.run),
        "origin": str(outputs.origin),
        "keys": {str(role): key for role, key in outputs.keys.items()},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "metric": _shorten(score.metric if score else ""),
        "higher_is_better": handover.is_higher_better,
        "cv": score.value if score else None,
        "fold_scores": [fold.score for fold in handover.folds],
        "hidden_test": outputs.hidden_test,
        "public_score": None,
        "private_score": None,
        "seconds": {str(role): max(0.0, round(seconds, 3)) for role, seconds in outputs.seconds.items()},
        "parameters": {
            str(role): {name: value for name, value in entries.items() if value != defaults[role].get(name)}
            for role, entries in values.items()
        },
        "defaults": {str(role): entries for role, entries in defaults.items()},
        "code": code,
        "code_sha256": _hash_of(code),
        "data_sha256": _digest_in(handover, "data_sha256"),
        "folds_sha256": _digest_in(handover, "folds_sha256"),
        "table_sha256": outputs.table_sha256,
        "versions": {_shorten(name): _shorten(version) for name, version in handover.versions.items()},
        "accelerator": _shorten(handover.accelerator),
        "git_commit": outputs.commit or git_commit(outputs.folder.path),
        "parent": None,
        "note": "",
        "submission": submission if _is_file_name(submission) else "",
        "rows": outputs.rows,
        "weights": str(WeightsState.KEPT if outputs.has_weights else WeightsState.REMOTE),
    }
    try:
        return _record_of(JsonObject(facts))
    except (ValueError, OverflowError) as error:
        raise LedgerError(
            f"The run of {outputs.folder.name} is not recorded: {printable(str(error))}.", code="run-not-recorded"
        ) from error


def _shorten(text: str) -> str:
    return storable(text)[:_LONGEST_TEXT]


def _digest_in(handover: HandOver, name: str) -> str | None:
    digest = handover.fields.text(name)
    return digest if _is_digest(digest) else None


def _default_parameters(
    folder: PairFolder, role_values: Mapping[Role, Mapping[str, Value]]
) -> dict[Role, dict[str, Value]]:
    """The defaults of the parameters that notebooks have: the template's, or the notebook's where it has more."""
    from generator.pair.folder import complete_settings
    from generator.pair.rendering import rendered_cells

    defaults = {role: dict(read_executed_code(folder.notebook(role)).parameters) for role in role_values}
    with suppress(TandemError, OSError):  # of a pair that no template renders to
        notebooks = rendered_cells(complete_settings(folder), user_files=read_own_cells(folder))
        for role in role_values:
            cell = parameters_cell(notebooks[role])
            defaults[role] |= read_parameters(cell.source) if cell is not None else {}
    return {
        role: {name: value for name, value in defaults[role].items() if name in values}
        for role, values in role_values.items()
    }


def _without_session(values: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters that a user chooses, and that are the same for one run here and on Kaggle."""
    return {name: value for name, value in values.items() if name not in _SESSION_PARAMETERS and not is_fixed(name)}


@dataclass(frozen=True)
class ExecutedCode:
    """What a notebook computes: the values of its parameters, and the source of its other code cells by their ids."""

    parameters: Mapping[str, Value]
    cells: Mapping[str, str]

    @property
    def hashes(self) -> dict[str, str]:
        """The first digits of the SHA-256 of each cell."""
        return {
            name: hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:16]
            for name, source in self.cells.items()
        }


def is_folded_conflict(name: str, source: str) -> bool:
    """True for the folded cell with the other text of a conflict: called like `model-template`, and all comments."""
    return bool(_CONFLICT_CELL.search(name)) and all(line.startswith("#") for line in source.splitlines() if line)


def read_executed_code(notebook: Path) -> ExecutedCode:
    """Read the code of an executed notebook, with the parameters that papermill injected.

    Raises:
        OSError: It cannot be read, or is a link.
        ParametersCellError: The parameters are no plain values.
    """
    with open_below(notebook.parent, notebook.name) as file:
        content = file.read(_LARGEST_NOTEBOOK)
    parameters: dict[str, Value] = {}
    code: dict[str, str] = {}
    for number, cell in enumerate(JsonObject.parse(content).sections("cells"), start=1):
        tags, name, source = cell.section("metadata").get("tags"), cell.text("id"), join_lines(cell.get("source"))
        if cell.text("cell_type") != "code" or name in _COLAB_GUARD_CELLS or is_folded_conflict(name, source):
            continue
        if isinstance(tags, list) and (PARAMETERS_TAG in tags or INJECTED_TAG in tags):
            parameters |= read_parameters(source)
        else:
            code[name if _RECORDED_CELL.fullmatch(name) and name not in code else f"#{number}"] = source
    return ExecutedCode(parameters, code)


def _hash_of(code: Mapping[str, Mapping[str, str]]) -> str:
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()


def _record_bytes(record: RunRecord) -> bytes:
    """The content of `run.json`.

    Raises:
        LedgerError: It is larger than what is read.
    """
    content = (json.dumps(record.as_json(), indent=1, allow_nan=False) + "\n").encode("utf-8", "replace")
    if len(content) > _LARGEST_RECORD:
        raise LedgerError(
            f"The record of {record.name} would be larger than 1 MB.",
            remedy="Shorten the parameters of the notebooks.",
            code="record-too-large",
        )
    return content


def _copy_outputs(outputs: RunOutputs, record: RunRecord, target: Path, roles: Collection[Role]) -> None:
    """Copy what the notebooks wrote into a new folder; files that a notebook did not write are left out."""
    places = [(outputs.notebooks[role], NOTEBOOKS[role]) for role in roles if role in outputs.notebooks]
    if Role.TRAIN in roles:
        weights = _weight_files(outputs.handover, record) if outputs.has_weights else []
        names = [FILE_NAME, "oof.csv", OUT_OF_FOLD, *weights]
        places += [(outputs.folders[Role.TRAIN] / name, name) for name in names]
    if Role.INFER in roles and Role.INFER in outputs.folders:
        places.append((outputs.folders[Role.INFER] / PREDICTIONS, PREDICTIONS))
    if outputs.submission is not None and record.submission:
        places.append((outputs.submission, record.submission))
    if outputs.report is not None and Role.TRAIN in roles:  # else that of the training stays
        places.append((outputs.report, REPORT))
    for source, name in places:
        try:
            file = open_below(source.parent, source.name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LedgerError(
                f"{printable(str(source))} cannot be recorded: {reason_not_read(error)}.", code="run-not-recorded"
            ) from error
        with file, (target / name).open("xb") as copy:
            shutil.copyfileobj(file, copy, 2**20)
            copy.flush()
            os.fsync(copy.fileno())


def _weight_files(handover: HandOver, record: RunRecord) -> list[str]:
    """The files that a hand-over promises beside the predictions, as far as their names are contained."""
    names = dict.fromkeys(entry.file for entry in handover.files if _is_file_name(entry.file))
    return [name for name in names if name != record.submission]


@contextmanager
def _lock(files: WorkspaceFiles, folder: Path) -> Iterator[None]:
    """Keep other writers of this ledger out until the block, or this process, ends; wait for one that is there."""
    handle = files.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        with suppress(ImportError, OSError):  # Windows, or a file system without locks
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# What is removed: weights, and whole runs.


def _member_numbers(workspace: Workspace, pair: str) -> set[int]:
    """The runs of a pair that any `pair.toml` of the workspace names as `X@7`, as a blend names its members.

    Raises:
        LedgerError: One cannot be read, so that it may name any run.
    """
    numbers: set[int] = set()
    location = kernels = workspace.root / "kernels"
    try:
        for folder in sorted(kernels.iterdir()):
            location = folder
            text = _settings_text(PairFolder(folder))
            numbers |= {int(number) for name, number in _MEMBER.findall(text) if name == pair}
    except FileNotFoundError:  # no folder of pairs
        return numbers
    except OSError as error:
        raise LedgerError(
            f"The pair.toml in {printable(str(location))} cannot be read ({reason_not_read(error)}), and it may name "
            f"runs of {pair} as members of a blend, so nothing was removed.",
            remedy="Replace it with an ordinary file.",
            code="members-unknown",
        ) from error
    return numbers


def _settings_text(folder: PairFolder) -> str:
    """The `pair.toml` of a pair; nothing if there is none."""
    try:
        with open_below(folder.path, folder.settings_path.name) as file:
            content = file.read(_LARGEST_RECORD + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if len(content) > _LARGEST_RECORD:
        raise OSError(errno.EFBIG, "it is larger than 1 MB")
    return content.decode("utf-8", "replace")


def _drop_weights(workspace: Workspace, earlier: Sequence[RunRecord], newest: RunRecord) -> list[str]:
    """Remove the weights of all runs but the newest, the best and members of blends; say so in a sentence."""
    kept_numbers = {record.number for record in _best_runs([*earlier, newest])}
    candidates = [
        record for record in earlier if record.weights is WeightsState.KEPT and record.number not in kept_numbers
    ]
    if not candidates:
        return []
    try:
        member_numbers = _member_numbers(workspace, newest.pair)
    except LedgerError as error:
        return [error.message]
    numbers_without = []
    for record in candidates:
        if record.number in member_numbers:
            continue
        folder = run_folder(workspace, record.pair, record.number)
        with suppress(OSError, TandemError):
            names = _weight_files(read_handover(folder), record)
            workspace.files.write(folder / RECORD, _record_bytes(replace(record, weights=WeightsState.REMOVED)))
            for name in names:
                workspace.files.remove(folder / name)
            numbers_without.append(record.number)
    if not numbers_without:
        return []
    label = f"run{'s' * (len(numbers_without) > 1)} {', '.join(map(str, numbers_without))}"
    return [f"The weights of {label} were removed; those of the best and the newest run are kept."]


def prunable_runs(workspace: Workspace, records: Sequence[RunRecord], *, keep: int) -> list[RunRecord]:
    """The runs of a pair that may go, so that `keep` are left: the last of `sort_runs` first.

    Never the best, the newest, or a member of a blend.

    Args:
        workspace: The workspace.
        records: All runs of the pair.
        keep: How many are to be left.

    Raises:
        LedgerError: It is not known which runs blends name.
    """
    kept_numbers = {record.number for record in [*_best_runs(records), *records[-1:]]}
    kept_numbers |= _member_numbers(workspace, records[-1].pair) if records else set()
    candidates = [record for record in reversed(sort_runs(records)) if record.number not in kept_numbers]
    return candidates[: max(0, len(records) - keep)]


def remove_runs(workspace: Workspace, records: Sequence[RunRecord]) -> None:
    """Remove runs with all their files, each as a whole.

    Raises:
        FileWriteError: One cannot be removed; those before it are gone.
        UnsafePlaceError: A link is in the way.
    """
    for record in records:
        folder = runs_folder(workspace, record.pair)
        target = run_folder(workspace, record.pair, record.number)
        with writing(target), _lock(workspace.files, folder), workspace.files.beside(target) as stage:
            workspace.files.move(target, stage / "old")


def change_run(workspace: Workspace, record: RunRecord, **changes: Any) -> RunRecord:
    """Change fields of a record, such as `note` or `public_score`, and return it as it is then.

    Raises:
        LedgerError: The record is gone or damaged, or the new value does not fit.
        FileWriteError: It cannot be written; the old one is untouched.
    """
    path = run_folder(workspace, record.pair, record.number) / RECORD
    with writing(path), _lock(workspace.files, path.parents[1]):
        try:
            current = _read_record(workspace.files, path, pair=record.pair, number=record.number)
            changed_record = replace(current, **changes)
            _record_of(JsonObject(json.loads(_record_bytes(changed_record))))
        except (OSError, ValueError, OverflowError) as error:
            raise LedgerError(
                f"{record.name} cannot be changed: {printable(str(error))}.", code="run-not-changed"
            ) from error
        workspace.files.write(path, _record_bytes(changed_record))
    return changed_record


# The folds of a competition, the same for all its runs with as many folds: their predictions can be joined then.


def _folds_warnings(workspace: Workspace, record: RunRecord) -> list[str]:
    """Note the folds of a competition at its first run; warn of a run that has others."""
    if record.folds_sha256 is None or not is_slug(record.competition):
        return []
    path = workspace.root / "output" / ".folds" / f"{record.competition}.json"
    with suppress(OSError, TandemError):  # the run is recorded all the same
        workspace.files.make_folder(path.parent)
        with _lock(workspace.files, path.parent):
            return _compare_folds(workspace.files, path, record)
    return []


def _compare_folds(files: WorkspaceFiles, path: Path, record: RunRecord) -> list[str]:
    try:
        with os.fdopen(files.open(path, os.O_RDONLY), "rb") as file:
            notes = JsonObject.parse(file.read(_LARGEST_RECORD))
    except FileNotFoundError:
        notes = JsonObject()
    count = str(len(record.fold_scores))
    first = notes.section("folds").section(count)
    if first.text("sha256") == record.folds_sha256:
        return []
    if _is_digest(first.text("sha256")):
        first_run = f"run {first.count('number')} of {quote_text(first.text('pair'))}"
        warning = (
            f"Run {record.number} of {record.pair} has other folds than {first_run}, although both have {count}: their "
            "data or ids differ. Their out-of-fold predictions cannot be blended."
        )
        return [warning]
    entry = {"sha256": record.folds_sha256, "pair": record.pair, "number": record.number}
    folds = {**notes.section("folds"), count: entry}
    content = {"schema_version": _SCHEMA, "competition": record.competition, "folds": folds}
    files.write(path, (json.dumps(content, indent=1) + "\n").encode())
    return []
