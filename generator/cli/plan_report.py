"""The report of `plan`: the accelerators beside one another, and the one to take."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.accelerators.catalog import AcceleratorKind, Service, catalog
from generator.accelerators.prediction import Prediction
from generator.cli.options import shortest
from generator.cli.table import table
from generator.plan.planning import PlannedPair
from generator.untrusted import printable
from generator.wording import dollars, duration, milliseconds, operations, share, size

if TYPE_CHECKING:
    from generator.kaggle.api_types import Quota

_HEADER = ("accelerator", "batch", "step", "bound", "epoch", "total", "memory", "price")
_LEAST = 0.01
_WHOLE = 10  # units, from which on no parts are shown
_OLD = 2023  # published once, and by nobody since
_LEGEND = (
    "bound: what a step waits for: matrix unit, memory, the host's input, its loop.\n"
    "total: with start and compilation. u: Colab's units, 100 for {} dollars{}."
)
_ROUGH = (
    "Not from a TPU's compiler ({}): memory, traffic and the times that follow are of a CPU's program, "
    "and may be off by a factor of 3. On Linux, the extra tpu tells more: pip install '.[tpu]'."
)


def plan_as_text(planned: PlannedPair, *, quota: "Quota | None", picture: Path) -> str:
    """The measurement, a line for each accelerator, what the figures teach, and the recommendation."""
    plan, chosen = planned.plan, planned.plan.recommended
    shown = [*plan.predictions, *([planned.here] if planned.here else [])]
    lines = [*_measured(planned), "", table(_HEADER, [_row(each) for each in shown]), "", _legend(shown)]
    lines += [f"Too little is known of {', '.join(each.title for each in plan.unknown)}."] if plan.unknown else []
    lines += [_ROUGH.format(planned.compiled.missing)] if plan.workload.is_rough else []
    lines += [*plan.lessons, "", f"Take {chosen.accelerator.title}. {plan.reason}"]
    lines += [_settings(planned), *_quota(chosen, quota), f"Roofline: {shortest(picture)}"]
    return "\n".join(lines)


def plan_as_json(planned: PlannedPair, *, quota: "Quota | None", picture: Path) -> str:
    """The same for programs."""
    plan, measured = planned.plan, planned.measurement
    report: dict[str, Any] = {
        "pair": planned.name,
        "specimen": measured.is_specimen,
        "measured": asdict(measured),
        "compiled": [asdict(cost) for cost in planned.compiled.costs],
        "not_compiled": planned.compiled.missing or None,
        "predictions": [_fields(planned, each) for each in plan.predictions],
        "here": _fields(planned, planned.here) if planned.here else None,
        "unknown": [each.title for each in plan.unknown],
        "recommended": {
            "accelerator": plan.recommended.accelerator.title,
            "reason": plan.reason,
            "parameters": list(planned.assignments),
        },
        "lessons": list(plan.lessons),
        "quota": None if quota is None else {name: _hours_left(quota, name) for name in ("gpu", "tpu")},
        "picture": str(picture),
    }
    return json.dumps(report, indent=2, default=str)


def _measured(planned: PlannedPair) -> list[str]:
    measured, work = planned.measurement, planned.plan.workload
    rows = f"{work.examples:,} examples" + (" of a specimen" if measured.is_specimen else "")
    times = f"{measured.folds} times {measured.epochs} epochs" if measured.folds > 1 else f"{measured.epochs} epochs"
    pace = 1 / measured.input_seconds if measured.input_seconds else float("inf")
    each = f"{operations(work.cpu_step.flops / work.cpu_step.batch)} an example"
    return [
        f"{printable(planned.name)}: {times} of {rows}; {measured.parameters:,} weights, {each}.",
        f"Its input makes {pace:,.0f} examples a second on a core of this machine.",
    ]


def _row(made: Prediction) -> tuple[str, ...]:
    return (
        made.accelerator.title,
        str(made.batch),
        milliseconds(made.step),
        str(made.bound),
        duration(made.epoch),
        duration(made.total),
        size(made.memory) if made.fits else f"{size(made.memory)}!",
        _price(made),
    )


def _price(made: Prediction) -> str:
    if made.accelerator.service is Service.HERE:
        return ""
    if made.accelerator.service is Service.KAGGLE:
        return "no quota" if made.weekly_share is None else f"{share(made.weekly_share)} of week"
    if made.units is None or made.dollars is None:
        return "? u"
    if made.units < _LEAST:
        return f"<{_LEAST} u {dollars(made.dollars)}"
    units = f"{made.units:.2f}" if made.units < _WHOLE else f"{made.units:,.0f}"
    return f"{units} u {dollars(made.dollars)}"


def _legend(shown: list[Prediction]) -> str:
    priced = [each.accelerator for each in shown if each.accelerator.units]
    old = [each.name for each in priced if each.units[-1].as_of == _OLD]
    dated = f";\n{' and '.join(old)} at the price of {_OLD}" if old else ""
    too_much = "" if all(each.fits for each in shown) else "\nmemory!: more than a device has."
    return _LEGEND.format(round(100 * catalog().dollars_per_unit, 2), dated) + too_much


def _settings(planned: PlannedPair) -> str:
    made = planned.plan.recommended
    devices = made.accelerator.devices
    batch = f"{made.batch} examples a device" + (f", {made.batch * devices:,} a step" if devices > 1 else " and step")
    loop = {
        "tensorflow": f", steps_per_execution {planned.steps_per_execution(made)}",
        "keras": ", steps_per_execution 1, as JAX takes no other",
    }.get(planned.framework, "")
    session = f"{share(made.session_share)} of a session"
    return f"There: {batch}, a peak learning rate of {planned.learning_rate(made):.2g}{loop}; {session}."


def _quota(made: Prediction, quota: "Quota | None") -> list[str]:
    kind = made.accelerator.kind
    if quota is None or kind is AcceleratorKind.CPU:
        return []
    left = _hours_left(quota, str(kind))
    enough = "" if made.total / 3600 <= left else ": too little for this training"
    return [f"{left:.1f} hours of {kind.upper()} are left of this account's week{enough}."]


def _hours_left(quota: "Quota", kind: str) -> float:
    used, allowed = (quota.gpu_used, quota.gpu_allowed) if kind == "gpu" else (quota.tpu_used, quota.tpu_allowed)
    return max(0.0, (allowed - used).total_seconds() / 3600)


def _fields(planned: PlannedPair, made: Prediction) -> dict[str, Any]:
    own = ("batch", "device", "host", "loop", "step", "epoch", "total", "memory", "fits", "intensity", "rate")
    derived = ("examples_per_second", "session_share", "weekly_share", "units", "dollars")
    return {
        "accelerator": made.accelerator.title,
        "machine_shape": made.accelerator.machine_shape,
        "bound": str(made.bound),
        **{name: getattr(made, name) for name in (*own, *derived)},
        "learning_rate": planned.learning_rate(made),
        "steps_per_execution": planned.steps_per_execution(made),
    }
