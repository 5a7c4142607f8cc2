"""The time of a session: what it is likely to take, the limit that a push sends, and the quota that has to be left."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generator.accelerators import Accelerator, AcceleratorKind
from generator.errors import TandemError
from generator.files import FileReadError, read_text
from generator.kaggle.api_types import AcceleratorQuota, KernelPush, SessionState
from generator.kaggle.chain.errors import ChainError, JournalError, WaitedInVainError, to_target
from generator.kaggle.chain.execution import ChainExecution, PushOptions
from generator.kaggle.chain.inputs import Forecast, PreparedKernel, accelerator_of, hours_in_words, pushed_parameters
from generator.kaggle.chain.journal import ChainState, Journals, Push, state_in
from generator.kaggle.errors import CredentialsError, KaggleError
from generator.pair.notebook import digest_of_cells, parse_assignment, with_parameters
from generator.pair.workspace import Role, Workspace
from generator.text import JsonObject, duration, printable

# The forecast of a session, from the last one of the same role, accelerator and parameters on the same Kaggle.


_FACTOR, _EXTRA_SECONDS, _LEAST_SECONDS = 2, 15 * 60, 30 * 60
"""The margin of a limit: sessions differ, and a training that reaches its limit has to be continued."""
_PLAN_FACTOR = 3
"""A plan knows a session from its data sheet only."""
_OF_SESSIONS = frozenset({"TRAIN_KERNEL", "HANDOFF_MOUNTS", "SESSION_HOURS", "RESERVE_MINUTES"})
_OF_LEARNING = frozenset({"SEED", "LEARNING_RATE", "WARMUP_EPOCHS", "WEIGHT_DECAY", "DROPOUT", "LABEL_SMOOTHING"})
"""Parameters that change what is learned, and not how long it takes."""
_IN_PROPORTION = ("EPOCHS", "N_FOLDS")


def forecasts(
    options: PushOptions, target: str, kernels: Mapping[Role, PreparedKernel], journals: Journals
) -> dict[Role, Forecast]:
    """The forecast of each kernel's session, with the limit that its push sends.

    Raises:
        ChainError: `--hours` is no limit that Kaggle or the notebook could keep.
    """
    return {role: _forecast(options, target, kernels, journals, role) for role in kernels}


def _forecast(
    options: PushOptions, target: str, kernels: Mapping[Role, PreparedKernel], journals: Journals, role: Role
) -> Forecast:
    kernel = kernels[role]
    accelerator = accelerator_of(kernel.push)
    longest = accelerator.session_hours * 3600.0 if accelerator else math.inf
    forecast = _earlier_forecast(options, target, kernels, journals, role)
    own_hours = _own_hours(kernel)
    if options.hours is not None:
        _check_hours(options.hours, kernel, accelerator)
        forecast = forecast.with_limit(round(options.hours * 3600), "that of --hours")
    elif own_hours is not None and own_hours * 3600 < min(longest, forecast.limit_seconds or math.inf):
        forecast = forecast.with_limit(math.ceil(own_hours * 3600), "SESSION_HOURS of the notebook")
    if isinstance(own_hours, int):  # a parameter that takes whole hours only
        forecast = replace(forecast, limit_seconds=3600 * math.ceil(forecast.limit_seconds / 3600))
    if forecast.limit_seconds >= longest:
        forecast = forecast.with_limit(0, "a session ends by then")
    if role is Role.INFER and options.spec.competition.is_code_competition:
        forecast = for_rerun(forecast)
    return forecast


def _own_hours(kernel: PreparedKernel) -> float | None:
    """The time that the notebook gives itself."""
    hours = kernel.parameters.get("SESSION_HOURS")
    return hours if isinstance(hours, int | float) and hours > 0 else None


def for_rerun(forecast: Forecast) -> Forecast:
    """The forecast of a version that a code competition runs again, on a test of another size, maybe with its limit."""
    return forecast.with_limit(0, "the competition runs this version again, with the hidden test")


def _earlier_forecast(
    options: PushOptions, target: str, kernels: Mapping[Role, PreparedKernel], journals: Journals, role: Role
) -> Forecast:
    """The forecast from the newest chain whose session of this role ended well."""
    for journal in reversed(journals.list_all()):
        try:
            state = state_in(journal)
        except JournalError:
            continue
        push = state.pushes.get(role)
        if push is None or push.last is not SessionState.COMPLETE or not push.seconds:
            continue
        if state.setup is None or state.setup.target != target or (role is Role.TRAIN and state.training is None):
            continue
        ratio = _ratio(state, kernels, journals, role)
        if ratio is None or push.machine_shape != kernels[role].push.machine_shape:
            continue
        # A training that went on from its own output took the sessions before as well.
        sessions = [push, *(state.earlier if options.spec.continues and role is Role.TRAIN else ())]
        seconds = sum(session.seconds for session in sessions if session.role is role)
        times = f", with {1 / ratio:.2g} of its epochs" if ratio > 1 else ""
        return _with_margin(ratio * seconds, _FACTOR, f"chain {journal.number} took {duration(seconds)}{times}")
    return (role is Role.TRAIN and _plan_forecast(options, kernels[role])) or Forecast(
        limit_reason="no earlier session predicts its time, nor does `tandem plan`"
    )


def _ratio(state: ChainState, kernels: Mapping[Role, PreparedKernel], journals: Journals, role: Role) -> float | None:
    """How many times as long a session takes as that of a chain; None where the parameters do not say it."""
    ratio = 1.0
    for notebook in dict.fromkeys((Role.TRAIN, role)):
        push, parameters = state.pushes.get(notebook), kernels[notebook].parameters
        if push is None:  # trained elsewhere
            continue
        notebook_ratio = _parameter_ratio(_pushed_parameters(journals, push), parameters, role)
        if notebook_ratio is None:
            return None
        ratio *= notebook_ratio
    return max(1.0, ratio)


def _parameter_ratio(earlier: Mapping[str, object], parameters: Mapping[str, object], role: Role) -> float | None:
    ratio = 1.0
    # With early stopping, the learning rate decides on the number of rounds.
    neutral = _OF_SESSIONS | ({"SEED"} if "EARLY_STOPPING" in parameters else _OF_LEARNING)
    for name in (earlier.keys() | parameters.keys()) - neutral:
        before, now = earlier.get(name), parameters.get(name)
        if name in _IN_PROPORTION and isinstance(before, int) and isinstance(now, int) and before > 0:
            # Inference predicts with the model of each fold, however long they were trained.
            ratio *= now / before if role is Role.TRAIN or name == "N_FOLDS" else 1
        elif before != now:
            return None
    return ratio


@dataclass(frozen=True)
class PlannedTime:
    """A time that `tandem plan` predicts: of a training with these parameters, on a machine shape of Kaggle."""

    machine_shape: str
    parameters: Mapping[str, object]
    seconds: float


def training_parameters(workspace: Workspace, pair: str, assignments: Iterable[str]) -> dict[str, object]:
    """The parameters of a pair's training notebook, with those that texts such as `EPOCHS=3` assign.

    Raises:
        FileReadError: The notebook cannot be read.
        ParameterError: A text assigns no parameter.
    """
    parameters: dict[str, Any] = {**pushed_parameters(read_text(workspace.pair(pair).notebook(Role.TRAIN)))}
    return parameters | dict(parse_assignment(text, parameters) for text in assignments)


def write_planned_times(workspace: Workspace, pair: str, times: Sequence[PlannedTime]) -> None:
    """Keeps what `tandem plan` predicts for the next push, in `output/PAIR/plan.json`.

    Raises:
        FileWriteError: No permission or no space.
        UnsafePlaceError: It is a link, or below one.
    """
    text = json.dumps({"predictions": [vars(time) for time in times]}, indent=1)
    workspace.files.write(_plan_path(workspace, pair), text.encode())


def _plan_path(workspace: Workspace, pair: str) -> Path:
    return workspace.output(pair) / "plan.json"


def _plan_forecast(options: PushOptions, kernel: PreparedKernel) -> Forecast | None:
    path = _plan_path(options.workspace, options.pair)
    try:
        options.workspace.files.check(path)
        predictions = JsonObject.parse(read_text(path).encode()).sections("predictions")
    except (TandemError, ValueError, RecursionError):
        return None
    for prediction in predictions:
        seconds, parameters = prediction.number("seconds"), prediction.section("parameters")
        if prediction.text("machine_shape") != kernel.push.machine_shape or not seconds or seconds < 0:
            continue
        ratio = _parameter_ratio(parameters, kernel.parameters, Role.TRAIN)
        if ratio is not None:
            seconds *= max(1.0, ratio)
            return _with_margin(seconds, _PLAN_FACTOR, f"`tandem plan` predicts {duration(seconds)}")
    return None


def _with_margin(seconds: float, factor: int, origin: str) -> Forecast:
    """The forecast of a session that is likely to take these seconds."""
    limit = 60 * math.ceil(max(factor * seconds + _EXTRA_SECONDS, _LEAST_SECONDS) / 60)
    reason = f"{factor} times {duration(seconds)} and {_EXTRA_SECONDS // 60} min, because {origin}"
    return Forecast(seconds, origin, limit, reason)


def _pushed_parameters(journals: Journals, push: Push) -> Mapping[str, object]:
    if not push.sent.isalnum():  # no digest, and maybe a path that leads elsewhere
        return {}
    try:
        return pushed_parameters(read_text(journals.folder / "sent" / f"{push.sent}.ipynb"))
    except FileReadError:
        return {}


def _check_hours(hours: float, kernel: PreparedKernel, accelerator: Accelerator | None) -> None:
    reserve = kernel.parameters.get("RESERVE_MINUTES")
    if accelerator is not None and hours > accelerator.session_hours:
        raise ChainError(
            f"--hours {hours:g} is more than a session of {printable(kernel.push.ref)} may last: "
            f"{accelerator.session_hours} hours on {accelerator.title}.",
            remedy=f"Give at most {accelerator.session_hours}, or leave the option out.",
            code="hours-too-many",
        )
    if isinstance(reserve, int | float) and hours * 60 <= reserve:
        raise ChainError(
            f"--hours {hours:g} leaves {printable(kernel.push.ref)} no time: it stops RESERVE_MINUTES = {reserve:g} "
            "minutes before the limit.",
            remedy="Give more hours.",
            code="hours-too-few",
        )


# The limit in what is sent: the notebook ends before Kaggle ends its session.


def with_limit(kernel: PreparedKernel) -> PreparedKernel:
    """The kernel with the limit of its forecast, which its notebook keeps as well.

    A training that Kaggle ends has no output; one that ends itself before hands over what it has, to be continued.
    """
    limit, hours = kernel.forecast.limit_seconds, _own_hours(kernel)
    if not limit:
        return kernel
    push = replace(kernel.push, limit_seconds=limit)
    if hours is not None and limit < hours * 3600:
        value = limit // 3600 if isinstance(hours, int) else round(limit / 3600, 4)
        push = replace(push, text=with_parameters(push.text, {"SESSION_HOURS": value}))
    return replace(kernel, push=push)


def is_same_notebook(text: str, reference: str) -> bool:
    """True if two notebooks have the same cells, whatever limits they were sent with."""
    try:
        digests = {digest_of_cells(with_parameters(notebook, {"SESSION_HOURS": 1.0})) for notebook in (text, reference)}
    except (TandemError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        digests = {digest_of_cells(text), digest_of_cells(reference)}
    return len(digests) == 1


# The quota: what is left of the week, before each push.


def check_quota(chain: ChainExecution, kernel: PreparedKernel, options: PushOptions) -> None:
    """Makes sure that the session of a kernel can end within this week's quota, and costs no money.

    Raises:
        ChainError: It is likely to take more than is left, or nothing is left, or what is left cannot be found out; or
            it may take more than is left, and the account pays for that.
        KaggleError: Kaggle does not accept the credentials.
    """
    kind = _kind(kernel.push)
    if kind is AcceleratorKind.CPU:
        return
    try:
        quota = chain.read("the accelerator quota", chain.kaggle.kernels.quota, url=chain.page("settings"))
    except (KaggleError, WaitedInVainError) as error:
        if options.may_cost_money:
            chain.tell("quota", f"The quota cannot be read: {error.message}")
            return
        if isinstance(error, CredentialsError | WaitedInVainError):
            raise
        raise _quota_unknown(chain, error.message) from error
    if not chain.state.quotas:
        chain.note_quota(quota, kind)
    entry = quota.tpu if kind is AcceleratorKind.TPU else quota.gpu
    if entry is None and not options.may_cost_money:
        raise _quota_unknown(chain, f"Kaggle's answer has nothing on {kind.upper()}s.")
    if entry is not None:
        _check_entry(chain, entry, kind, kernel, options)


def _quota_unknown(chain: ChainExecution, problem: str) -> ChainError:
    return ChainError(
        f"The accelerator quota cannot be read, so that a session could cost money: {printable(problem)}",
        remedy=f"Nothing was pushed. Try again later, or push with `{_command(chain)} --may-cost-money`.",
        code="quota-unknown",
    )


def _command(chain: ChainExecution) -> str:
    return f"tandem push {printable(chain.setup.pair)}{to_target(chain.setup.target)}"


def _check_entry(
    chain: ChainExecution,
    entry: AcceleratorQuota,
    kind: AcceleratorKind,
    kernel: PreparedKernel,
    options: PushOptions,
) -> None:
    left, forecast, ref = entry.left.total_seconds(), kernel.forecast, printable(kernel.push.ref)
    accelerator = accelerator_of(kernel.push)
    longest = accelerator.session_hours * 3600 if accelerator else math.inf
    usage, reservation, allowance = (
        f"{time.total_seconds() / 3600:.1f} h" for time in (entry.usage, entry.reservation, entry.allowance)
    )
    numbers = (
        f"{left / 3600:.1f} h of {kind.upper()} are left this week ({usage} used and {reservation} reserved by other "
        f"sessions, of {allowance})"
    )
    if entry.is_pay_to_scale:
        limit = forecast.limit_seconds or longest
        if limit > left and not options.may_cost_money:
            raise ChainError(
                f"The session of {ref} may last {hours_in_words(limit)}, and {numbers}. This account pays for time "
                "beyond that.",
                remedy=f"Nothing was pushed. `--hours N` with less than is left costs nothing; `{_command(chain)} "
                "--may-cost-money` lets the session cost money.",
                code="costs-money",
            )
        return
    likely = min(forecast.seconds, longest) if forecast.seconds is not None else None
    if options.anyway or (left > 0 if likely is None else likely <= left):
        return
    claim = "needs quota" if likely is None else f"is likely to take {duration(likely)} ({forecast.origin})"
    raise ChainError(
        f"The session of {ref} {claim}, and only {numbers}.",
        remedy=f"Nothing was pushed. The week begins anew on Saturday at 00:00 UTC; until then, `{_command(chain)} "
        "--anyway` pushes all the same.",
        code="quota-too-small",
    )


def _kind(kernel: KernelPush) -> AcceleratorKind:
    """The kind of accelerator whose quota a session takes; one that the catalog does not know is taken for a GPU."""
    accelerator = accelerator_of(kernel)
    if accelerator is not None:
        return accelerator.kind
    return AcceleratorKind.TPU if "tpu" in kernel.machine_shape.lower() else AcceleratorKind.GPU
