"""From the lines of a journal to the state of its chain. Pure; nothing here looks at the world."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from generator.kaggle.api import SessionState
from generator.kaggle.chain.journal import Entry, Journal, Kind
from generator.kaggle.chain.state import (
    Begun,
    Failure,
    Push,
    QuotaSeen,
    Score,
    SeenState,
    State,
    Step,
    Submitted,
    Upload,
)
from generator.pair.workspace import Role


class ContradictionError(ValueError):
    """A line that cannot stand where it does; `line` is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def state_of(entries: Iterable[Entry]) -> State:
    """What the lines of a journal amount to.

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
    """What a journal amounts to.

    Raises:
        FileReadError: It cannot be read.
        JournalDamagedError: One of its lines cannot be gone by.
        JournalNewerError: One of them is of a newer version of the kit.
    """
    try:
        return state_of(journal.entries())
    except ContradictionError as error:
        raise journal.damaged(error.line, "it contradicts the lines before it") from error


def _begun(state: State, entry: Entry) -> State:
    names = ("pair", "pair_id", "target", "address", "account", "competition", "title", "handoff", "submission_file")
    return replace(
        state,
        begun=Begun(
            at=entry.at,
            is_code_competition=entry.flag("is_code_competition"),
            commit=entry.text("commit"),
            parameters=entry.section("parameters"),
            kit=entry.text("kit"),
            **{name: entry.text(name) for name in names},
        ),
    )


def _pushing(state: State, entry: Entry) -> State:
    role = Role(entry.text("role"))
    push = Push(
        role=role,
        ref=entry.text("ref"),
        source=entry.text("source"),
        sent=entry.text("sent"),
        baseline=entry.number("baseline"),
        machine_shape=entry.text("machine_shape"),
        announced=entry.at,
    )
    return replace(state, pushes={**state.pushes, role: push})


def _pushed(state: State, entry: Entry) -> State:
    role = Role(entry.text("role"))
    made = replace(
        state.pushes[role],
        ref=entry.text("ref"),
        version=entry.number("version"),
        url=entry.text("url"),
        pushed=entry.at,
    )
    return replace(state, pushes={**state.pushes, role: made})


def _not_pushed(state: State, entry: Entry) -> State:
    role = Role(entry.text("role"))
    return replace(state, pushes={known: push for known, push in state.pushes.items() if known is not role})


def _session(state: State, entry: Entry) -> State:
    role = Role(entry.text("role"))
    push = state.pushes[role]
    seen = (*push.seen, SeenState(SessionState(entry.text("state")), entry.at))
    return replace(state, pushes={**state.pushes, role: replace(push, seen=seen)})


def _uploading(state: State, entry: Entry) -> State:
    what = entry.text("what")
    upload = Upload(
        what=what,
        kind=entry.text("kind"),
        ref=entry.text("ref"),
        digest=entry.text("digest"),
        baseline=entry.number("baseline"),
        announced=entry.at,
    )
    return replace(state, uploads={**state.uploads, what: upload})


def _uploaded(state: State, entry: Entry) -> State:
    what = entry.text("what")
    made = replace(state.uploads[what], version=entry.number("version"))
    return replace(state, uploads={**state.uploads, what: made})


def _not_uploaded(state: State, entry: Entry) -> State:
    what = entry.text("what")
    return replace(state, uploads={known: upload for known, upload in state.uploads.items() if known != what})


def _scored(state: State, entry: Entry) -> State:
    public, private = (entry.fields.get(name) for name in ("public", "private"))
    return replace(
        state,
        score=Score(
            at=entry.at,
            public=public if isinstance(public, float) else None,
            private=private if isinstance(private, float) else None,
        ),
    )


def _failed(state: State, entry: Entry) -> State:
    step = Step(entry.text("step"))
    return replace(state, failure=Failure(step, entry.text("message"), entry.text("error"), entry.at))


def _back(state: State, entry: Entry) -> State:
    """Forgets what a step and those behind it made; a submission that was made stays made, but is no longer ours."""
    step = Step(entry.text("to"))
    state = replace(state, submitted=None, by_hand="", score=None, failure=None, is_finished=False, is_repaired=False)
    if step is Step.SUBMIT:
        return state
    gone = (Role.TRAIN, Role.INFER) if step is Step.TRAIN else (Role.INFER,)
    earlier = tuple(push for role in gone if (push := state.pushes.get(role)) is not None and not push.is_open)
    state = replace(
        state,
        pushes={role: push for role, push in state.pushes.items() if role not in gone},
        earlier=state.earlier + earlier,
        predicted=None,
    )
    if entry.text("handoff") and state.begun is not None:
        state = replace(state, begun=replace(state.begun, handoff=entry.text("handoff")))
    if step is Step.INFER:
        return state
    return replace(state, trained=None)


def _quota(state: State, entry: Entry) -> State:
    gpu, tpu = (entry.fields.get(name) for name in ("gpu", "tpu"))
    if not isinstance(gpu, int | float) or not isinstance(tpu, int | float):
        return state
    return replace(state, quotas=(*state.quotas, QuotaSeen(entry.at, float(gpu), float(tpu))))


_CHANGES: dict[Kind, Callable[[State, Entry], State]] = {
    Kind.BEGUN: _begun,
    Kind.PUSHING: _pushing,
    Kind.PUSHED: _pushed,
    Kind.NOT_PUSHED: _not_pushed,
    Kind.SESSION: _session,
    Kind.TRAINED: lambda state, entry: replace(state, trained=entry.fields),
    Kind.UPLOADING: _uploading,
    Kind.UPLOADED: _uploaded,
    Kind.NOT_UPLOADED: _not_uploaded,
    Kind.PREDICTED: lambda state, entry: replace(state, predicted=entry.fields),
    Kind.SUBMITTING: lambda state, entry: replace(state, submitted=Submitted(entry.text("tag"), entry.at), by_hand=""),
    Kind.SUBMITTED: lambda state, entry: replace(
        state, submitted=Submitted(entry.text("tag"), entry.at, entry.number("reference"))
    ),
    Kind.NOT_SUBMITTED: lambda state, _: replace(state, submitted=None),
    Kind.BY_HAND: lambda state, entry: replace(state, submitted=None, by_hand=entry.text("page")),
    Kind.SCORED: _scored,
    Kind.FAILED: _failed,
    Kind.BACK: _back,
    Kind.QUOTA: _quota,
    Kind.FINISHED: lambda state, _: replace(state, is_finished=True),
    Kind.REPAIRED: lambda state, _: replace(state, is_repaired=True),
}
