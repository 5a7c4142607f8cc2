"""Replaying journals: from their lines to the state of a chain, and to what the chains of a pair have come to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from generator.kaggle.api_types import SessionState
from generator.kaggle.chain.errors import JournalDamagedError, JournalError
from generator.kaggle.chain.journal import Entry, Journal, Journals, Kind
from generator.kaggle.chain.state import (
    Begun,
    ByHand,
    Failure,
    LeaderboardScore,
    Push,
    QuotaSeen,
    SeenState,
    State,
    Step,
    Submitted,
    Upload,
)
from generator.pair.workspace import Role
from generator.untrusted import JsonObject

T = TypeVar("T")
_READERS: Mapping[Any, Callable[[JsonObject, str], Any]] = {
    str: JsonObject.text,
    int: JsonObject.count,
    bool: JsonObject.flag,
    float | None: JsonObject.number,
    JsonObject: JsonObject.section,
}


class ContradictionError(ValueError):
    """A line that cannot stand where it does; `line` is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def state_of(entries: Iterable[Entry]) -> State:
    """The state that the lines of a journal amount to. Pure; nothing here looks at the world.

    Raises:
        ContradictionError: A line contradicts those before it.
    """
    state = State()
    for number, entry in enumerate(entries, start=1):
        try:
            state = replace(_CHANGES[entry.kind](state, entry), last=entry.at)
        except (KeyError, ValueError) as error:
            raise ContradictionError(number) from error
    return state


def state_in(journal: Journal) -> State:
    """The state that a journal amounts to.

    Raises:
        FileReadError: It cannot be read.
        JournalDamagedError: One of its lines cannot be gone by.
        JournalError: One of them is of a newer version of the kit.
    """
    try:
        return state_of(journal.entries())
    except ContradictionError as error:
        raise journal.damaged(error.line, "it contradicts the lines before it") from error


def latest(journals: Journals, target: str) -> Journal | None:
    """The newest chain of the pair on a Kaggle.

    Raises:
        JournalError: Which one that is cannot be said, or how far it has come.
    """
    for journal in reversed(journals.all()):
        begun = state_in(journal).begun
        if begun is not None and begun.target == target:
            return journal
    return None


def has_chain(journals: Journals, target: str) -> bool:
    """True if the pair has a chain on a Kaggle; one that cannot be gone by counts."""
    try:
        return latest(journals, target) is not None
    except JournalError:
        return True


def repair(journals: Journals, now: datetime) -> None:
    """Cuts damaged journals down to the lines before the damage, and notes that Kaggle knows more than they do."""
    for journal in journals.all():
        try:
            state_in(journal)
        except JournalDamagedError as error:
            journal.cut(error.line)
            if journal.has_begun:
                journal.append(Kind.REPAIRED, at=now, line=error.line)


def newest_version(journals: Journals, begun: Begun, ref: str) -> int:
    """The newest version of a kernel that any chain of the pair made on the Kaggle of this one; 0 if none did.

    A journal of an earlier chain that cannot be gone by does not count: what Kaggle has is asked for as well.
    """
    newest = 0
    for journal in journals.all():
        try:
            state = state_in(journal)
        except JournalError:
            continue
        # A local Kaggle may be another one each time, with nothing in it.
        if state.begun is not None and (state.begun.target, state.begun.address) == (begun.target, begun.address):
            pushes = (*state.pushes.values(), *state.earlier)
            newest = max([newest, *(push.version for push in pushes if push.ref == ref)])
    return newest


def _read(kind: type[T], entry: Entry) -> T:
    """A part of the state, from the fields of a line by the same names; what has a default is not known yet."""
    values: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type] # a dataclass
        if each.default is not MISSING:
            continue
        if each.type is datetime:
            values[each.name] = entry.at
        elif each.type in _READERS:
            values[each.name] = _READERS[each.type](entry.fields, each.name)
        elif isinstance(each.type, type) and issubclass(each.type, StrEnum):
            values[each.name] = each.type(entry.fields.text(each.name))
    return kind(**values)


def _with_push(state: State, push: Push) -> State:
    return replace(state, pushes={**state.pushes, push.role: push})


def _with_upload(state: State, upload: Upload) -> State:
    return replace(state, uploads={**state.uploads, upload.what: upload})


def _role(entry: Entry) -> Role:
    return Role(entry.fields.text("role"))


def _without(known: Mapping[Any, T], key: str) -> dict[Any, T]:
    return {name: value for name, value in known.items() if name != key}


def _pushed(state: State, entry: Entry) -> State:
    ref, version, url = entry.fields.text("ref"), entry.fields.count("version"), entry.fields.text("url")
    return _with_push(state, replace(state.pushes[_role(entry)], ref=ref, version=version, url=url, pushed=entry.at))


def _session(state: State, entry: Entry) -> State:
    push = state.pushes[_role(entry)]
    seen = SeenState(SessionState(entry.fields.text("state")), entry.at)
    return _with_push(state, replace(push, seen=(*push.seen, seen)))


def _uploaded(state: State, entry: Entry) -> State:
    upload = state.uploads[entry.fields.text("what")]
    return _with_upload(state, replace(upload, version=entry.fields.count("version")))


def _submitted(state: State, entry: Entry) -> State:
    return replace(state, submitted=replace(_read(Submitted, entry), reference=entry.fields.count("reference")))


def _back(state: State, entry: Entry) -> State:
    return taken_back(state, Step(entry.fields.text("to")), handoff=entry.fields.text("handoff"))


def taken_back(state: State, step: Step, *, handoff: str = "") -> State:
    """Forgets what a step and those behind it made; a submission that was made stays made, but is no longer ours.

    Args:
        state: A chain.
        step: The step that is to be taken again.
        handoff: How the weights travel then; empty for as before.
    """
    state = replace(state, submitted=None, by_hand=None, score=None, failure=None, is_finished=False, is_repaired=False)
    if step is Step.SUBMIT:
        return state
    gone = (Role.TRAIN, Role.INFER) if step is Step.TRAIN else (Role.INFER,)
    earlier = tuple(push for role in gone if (push := state.pushes.get(role)) is not None and not push.is_open)
    return replace(
        state,
        begun=replace(state.begun, handoff=handoff) if handoff and state.begun is not None else state.begun,
        pushes={role: push for role, push in state.pushes.items() if role not in gone},
        earlier=state.earlier + earlier,
        trained=None if step is Step.TRAIN else state.trained,
        predicted=None,
    )


_CHANGES: dict[Kind, Callable[[State, Entry], State]] = {
    Kind.BEGUN: lambda state, entry: replace(state, begun=_read(Begun, entry)),
    Kind.PUSHING: lambda state, entry: _with_push(state, _read(Push, entry)),
    Kind.PUSHED: _pushed,
    Kind.NOT_PUSHED: lambda state, entry: replace(state, pushes=_without(state.pushes, _role(entry))),
    Kind.SESSION: _session,
    Kind.TRAINED: lambda state, entry: replace(state, trained=entry.fields),
    Kind.UPLOADING: lambda state, entry: _with_upload(state, _read(Upload, entry)),
    Kind.UPLOADED: _uploaded,
    Kind.NOT_UPLOADED: lambda state, entry: replace(state, uploads=_without(state.uploads, entry.fields.text("what"))),
    Kind.PREDICTED: lambda state, entry: replace(state, predicted=entry.fields),
    Kind.SUBMITTING: lambda state, entry: replace(state, submitted=_read(Submitted, entry), by_hand=None),
    Kind.SUBMITTED: _submitted,
    Kind.NOT_SUBMITTED: lambda state, _: replace(state, submitted=None),
    Kind.BY_HAND: lambda state, entry: replace(state, submitted=None, by_hand=_read(ByHand, entry)),
    Kind.SCORED: lambda state, entry: replace(state, score=_read(LeaderboardScore, entry)),
    Kind.FAILED: lambda state, entry: replace(state, failure=_read(Failure, entry)),
    Kind.BACK: _back,
    Kind.QUOTA: lambda state, entry: replace(state, quotas=(*state.quotas, _read(QuotaSeen, entry))),
    Kind.FINISHED: lambda state, _: replace(state, is_finished=True),
    Kind.REPAIRED: lambda state, _: replace(state, is_repaired=True),
}
