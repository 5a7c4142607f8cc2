"""The record of a pair's chains, as plain facts: what was pushed, on what it ran, what it cost, what it scored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from generator.accelerators.catalog import catalog
from generator.kaggle.chain.errors import JournalError
from generator.kaggle.chain.folding import state_in
from generator.kaggle.chain.handover import described
from generator.kaggle.chain.journal import Entry, Journal, Kind
from generator.kaggle.chain.state import Outcome, Push, State
from generator.pair.workspace import Role


@dataclass(frozen=True)
class KernelLine:
    """One version of a kernel that the chain pushed; `replaced` if a later one took its place."""

    role: str
    ref: str
    version: int
    url: str
    asked_for: str
    state: str
    queued_minutes: float | None
    ran_minutes: float | None
    replaced: bool


@dataclass(frozen=True)
class HandedOver:
    """A file that inference got from training."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Receipt:
    """One chain; texts are untrusted, and empty where nothing is known."""

    chain: int
    pair: str
    target: str
    account: str
    competition: str
    title: str
    outcome: Outcome
    failure: str
    begun: datetime | None
    last: datetime | None
    commit: str
    kit: str
    handoff: str
    parameters: Mapping[str, Mapping[str, Any]]
    kernels: tuple[KernelLine, ...]
    accelerator: str
    is_emulated: bool
    versions: Mapping[str, str]
    metric: str
    out_of_fold: float | None
    public: float | None
    private: float | None
    submission: int
    submission_sha256: str
    submission_rows: int
    files: tuple[HandedOver, ...]
    uploads: tuple[str, ...]
    gpu_hours: float | None
    tpu_hours: float | None
    by_hand_page: str
    by_hand_button: str

    @property
    def minutes(self) -> float | None:
        """From the first line of the journal to the last."""
        return (self.last - self.begun).total_seconds() / 60 if self.begun and self.last else None

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values, for programs."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **fields,
            "outcome": str(self.outcome),
            "begun": self.begun.isoformat() if self.begun else None,
            "last": self.last.isoformat() if self.last else None,
            "minutes": None if self.minutes is None else round(self.minutes, 2),
            "parameters": {role: dict(values) for role, values in self.parameters.items()},
            "versions": dict(self.versions),
            "kernels": [vars(kernel) for kernel in self.kernels],
            "files": [vars(file) for file in self.files],
            "uploads": list(self.uploads),
        }


def receipt_of(journal: Journal) -> Receipt:
    """The receipt of one chain.

    Raises:
        FileReadError: Its journal cannot be read.
        JournalError: Its journal cannot be gone by.
    """
    return _receipt(journal.number, state_in(journal), journal.entries())


def receipts(journals: Sequence[Journal]) -> list[Receipt]:
    """The receipts of all chains, the newest first; of one that cannot be gone by there is the reason alone."""
    return [_receipt_or_damage(journal) for journal in reversed(journals)]


def _receipt_or_damage(journal: Journal) -> Receipt:
    try:
        return receipt_of(journal)
    except JournalError as error:
        return replace(_receipt(journal.number, State(), ()), outcome=Outcome.UNREADABLE, failure=error.message)


def _receipt(chain: int, state: State, entries: Sequence[Entry]) -> Receipt:
    begun, trained, predicted = state.begun, state.trained or {}, state.predicted or {}
    handover, accelerator = _section(trained, "handover"), _section(trained, "accelerator")
    fold = _section(handover, "out_of_fold")
    gpu, tpu = _hours(state)
    by_hand = next((entry for entry in reversed(entries) if entry.kind is Kind.BY_HAND), None)
    return Receipt(
        chain=chain,
        pair=begun.pair if begun else "",
        target=begun.target if begun else "",
        account=begun.account if begun else "",
        competition=begun.competition if begun else "",
        title=begun.title if begun else "",
        outcome=state.outcome,
        failure=state.failure.message if state.failure else "",
        begun=begun.at if begun else None,
        last=state.last,
        commit=begun.commit if begun else "",
        kit=begun.kit if begun else "",
        handoff=begun.handoff if begun else "",
        parameters={role: _section(begun.parameters, role) for role in Role} if begun else {},
        kernels=_kernels(state),
        accelerator=described(accelerator) if accelerator else "",
        is_emulated=accelerator.get("emulated") is True,
        versions={str(name): str(value) for name, value in _section(handover, "versions").items()},
        metric=str(fold.get("metric", "")),
        out_of_fold=_number(fold.get("score")),
        public=state.score.public if state.score else None,
        private=state.score.private if state.score else None,
        submission=state.submitted.reference if state.submitted else 0,
        submission_sha256=str(predicted.get("sha256", "")),
        submission_rows=_count(predicted.get("rows")),
        files=tuple(_handed_over(handover.get("files"))),
        uploads=tuple(f"{u.kind} {u.ref}, version {u.version}" for u in state.uploads.values() if u.version),
        gpu_hours=gpu,
        tpu_hours=tpu,
        by_hand_page=state.by_hand,
        by_hand_button=by_hand.text("button") if by_hand and state.by_hand else "",
    )


def _kernels(state: State) -> tuple[KernelLine, ...]:
    current = [push for role in Role if (push := state.pushes.get(role)) is not None and not push.is_open]
    lines = [_line(push, replaced=True) for push in state.earlier]
    return (*lines, *(_line(push, replaced=False) for push in current))


def _line(push: Push, *, replaced: bool) -> KernelLine:
    known = catalog().accelerators.get(push.machine_shape)
    return KernelLine(
        role=str(push.role),
        ref=push.ref,
        version=push.version,
        url=push.url,
        asked_for=known.name if known else push.machine_shape,
        state=str(push.last or "not seen yet"),
        queued_minutes=_minutes(push.queued),
        ran_minutes=_minutes(push.ran),
        replaced=replaced,
    )


def _hours(state: State) -> tuple[float | None, float | None]:
    """Accelerator hours that the account used from the first look to the last, in this or any other session."""
    if len(state.quotas) < 2:  # noqa: PLR2004 - a difference takes two
        return None, None
    first, last = state.quotas[0], state.quotas[-1]
    # A week may have begun anew in between.
    return tuple(
        round((after - before) / 3600, 3) if after >= before else None
        for before, after in ((first.gpu, last.gpu), (first.tpu, last.tpu))
    )  # type: ignore[return-value] # two pairs make two values


def _minutes(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds() / 60, 2)


def _handed_over(files: object) -> Iterator[HandedOver]:
    for file in files if isinstance(files, list) else []:
        if isinstance(file, dict):
            yield HandedOver(str(file.get("file")), _count(file.get("bytes")), str(file.get("sha256")))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # of a whole number
        return None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _section(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}
