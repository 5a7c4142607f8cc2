"""The verb `plan`: what a pair's training takes on each accelerator, and the one to take."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.accelerators import Accelerator, AcceleratorKind, Prediction, Service, Status, catalog
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    json_option,
    optional_pair_argument,
    output_option,
    shortest,
    to_option,
    workspace_option,
)
from generator.cli.terminal import progress, table, warn
from generator.plan import PlannedPair, PlanOptions, plan_pair, roofline_picture
from generator.text import dollars, duration, milliseconds, operations, printable, share, size

if TYPE_CHECKING:
    from generator.kaggle.api_types import Quota


# What Kaggle and Colab lend, as a table and as JSON.


_ACCELERATOR_HEADER = (
    "accelerator",
    "TFLOP/s",
    "memory",
    "GB/s",
    "cores",
    "RAM",
    "hours",
    "sessions",
    "units/h",
    "good for",
)
_UNKNOWN = "?"


def accelerators_as_text() -> str:
    """The comparison: what everybody can have, what only some competitions lend, what is retired."""
    known = catalog()
    parts = [f"What Kaggle and Colab lend, as of {known.as_of}. ? means unknown.", ""]
    offered = [each for each in known.everything if each.status is Status.OFFERED]
    parts += [table(_ACCELERATOR_HEADER, [_accelerator_row(each) for each in offered]), ""]
    parts += [
        "TFLOP/s, GB/s: all chips together; dense matrix products in bfloat16 (TPU) or float16 (GPU).",
        "cores: the smallest and the largest host, if they differ. RAM: in GiB.",
        "hours: limit of a session / quota of a week. sessions: at the same time, including queued ones.",
        "units/h: Colab's compute units, first and last known price.",
        "",
    ]
    others = [each for each in known.everything if each.status is not Status.OFFERED]
    parts.append(table(("not for everybody", "chips", "note"), [_other(each) for each in others]))
    return "\n".join(parts)


def accelerators_as_json() -> str:
    """The same for programs, with the source of every figure."""
    known = catalog()
    return json.dumps(
        {
            "as_of": str(known.as_of),
            "dollars_per_unit": known.dollars_per_unit,
            "accelerators": [{**asdict(each), "title": each.title} for each in known.everything],
        },
        indent=2,
        default=str,
    )


def _accelerator_row(each: Accelerator) -> tuple[str, ...]:
    rate = each.rate(each.chip.training_dtype) if each.chip else None
    chips = f"{each.chips} x " if each.chips > 1 else ""
    return (
        each.title,
        _figure(rate and rate / 1e12) if each.chip else "",
        f"{chips}{each.chip.memory_gb:g} GB" if each.chip else "",
        _figure(each.bandwidth and each.bandwidth / 1e9) if each.chip else "",
        _figure(each.cores) + (f"-{each.max_cores}" if each.max_cores else ""),
        _figure(each.host_memory_gib),
        f"{each.session_hours}/{each.weekly_hours}" if each.weekly_hours else f"{each.session_hours}",
        str(each.concurrent_sessions or ""),
        _units(each),
        each.good_for,
    )


def _units(each: Accelerator) -> str:
    if each.service is not Service.COLAB:
        return ""
    prices = sorted({price.per_hour for price in each.units}, key=[price.per_hour for price in each.units].index)
    return "→".join(f"{price:g}" for price in prices) or _UNKNOWN


def _other(each: Accelerator) -> tuple[str, ...]:
    chips = f"{each.chips} x {each.chip.name}" if each.chip else ""
    since = f"retired{f' {each.retired_on}' if each.retired_on else ''}: " if each.status is Status.RETIRED else ""
    return each.title, printable(chips), f"{since}{each.good_for}"


def _figure(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - digits


# The report of `plan`: the accelerators beside one another, and the one to take.


_PLAN_HEADER = ("accelerator", "batch", "step", "bound", "epoch", "total", "memory", "price")
_LEAST = 0.01
_WHOLE = 10  # units, from which on no parts are shown
_OLD = 2023  # published once, and by nobody since
_LEGEND = (
    "bound: the bottleneck of a step: matrix unit, memory, input pipeline or training loop.\n"
    "total: includes start and compilation. u: Colab's compute units; 100 units cost {} dollars{}."
)
_ROUGH = (
    "The TPU compiler was not used ({}). Memory, traffic and times come from a program for CPUs and can be wrong by a "
    "factor of 3. For better predictions on Linux: pip install '.[tpu]'."
)


def plan_as_text(planned: PlannedPair, *, quota: "Quota | None", picture: Path) -> str:
    """The measurement, a line for each accelerator, what the figures teach, and the recommendation."""
    plan, chosen = planned.plan, planned.plan.recommended
    shown = [*plan.predictions, *([planned.here] if planned.here else [])]
    lines = [
        *_measured(planned),
        "",
        table(_PLAN_HEADER, [_prediction_row(each) for each in shown]),
        "",
        _legend(shown),
    ]
    lines += [f"Not enough data for {', '.join(each.title for each in plan.unknown)}."] if plan.unknown else []
    lines += [_ROUGH.format(planned.compiled.missing)] if plan.workload.is_rough else []
    lines += [*plan.lessons, "", f"Recommended: {chosen.accelerator.title}. {plan.reason}"]
    lines += [_settings(planned), *_quota_lines(chosen, quota), f"Roofline: {shortest(picture)}"]
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
        f"The input pipeline delivers {pace:,.0f} examples per second on one core of this machine.",
    ]


def _prediction_row(made: Prediction) -> tuple[str, ...]:
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
    too_much = "" if all(each.fits for each in shown) else "\nmemory!: does not fit into a device."
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


def _quota_lines(made: Prediction, quota: "Quota | None") -> list[str]:
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


@click.command(cls=KnobCommand)
@optional_pair_argument
@click.option("--accelerators", is_flag=True, help="Compare what Kaggle and Colab lend, without a pair.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the recommendation to pair.toml and the notebooks.")
@click.option("--specimen", is_flag=True, help="Measure on the synthetic data of `tandem specimen`.")
@click.option(
    "--examples", type=click.IntRange(1), metavar="N", help="The real number of training examples, with --specimen."
)
@click.option(
    "--compile/--no-compile", "asks_compiler", default=True, help="Use Google's TPU compiler, if it is installed."
)
@assignments_option("Plan with another value of a parameter. Can be repeated.")
@to_option("Which Kaggle to ask for the rest of the week's quota. Default: kaggle, if there is a token.")
@workspace_option
@output_option(metavar="DIRECTORY", default="output/PAIR")
@json_option
@click.pass_context
def plan(context: click.Context, /, **options: Any) -> int:
    """Predict a pair's training on every accelerator: bottleneck, hours, memory, cost.

    The cells of the training notebook run on this machine up to the first training step. The step is compiled but not
    executed, and the speed of the input pipeline is measured. Only the request for the quota is sent to Kaggle.

    \b
    tandem plan --accelerators
    tandem plan digits
    tandem plan digits --apply
    """  # noqa: D301 - click wants the character itself
    if options["accelerators"] == bool(options["pair"]):
        context.fail("Name a pair or use --accelerators, but not both.")
    if options["accelerators"]:
        click.echo(accelerators_as_json() if options["as_json"] else accelerators_as_text())
        return 0
    planned = _planned(options)
    picture = _write_picture(planned, options)

    report = plan_as_json if options["as_json"] else plan_as_text
    click.echo(report(planned, quota=_remaining_quota(options["to"]), picture=picture))
    if options["is_applied"]:
        _apply(planned, options)
    elif not options["as_json"]:
        assigned = " and ".join(planned.assignments)
        click.echo(f"`tandem plan {printable(planned.name)} --apply` writes {assigned} to pair.toml.")
    return 0


def _planned(options: dict[str, Any]) -> "PlannedPair":
    wanted = PlanOptions(**{name: value for name, value in options.items() if name in PlanOptions.__dataclass_fields__})
    with progress() as listener:
        return plan_pair(wanted, listener, lambda text: click.echo(f"{printable(text)} …", err=True))


def _write_picture(planned: "PlannedPair", options: dict[str, Any]) -> "Path":
    from generator.files import WorkspaceFiles, writing

    workspace = options["workspace"]
    path: Path = (options["output"] or workspace.output(planned.name)) / "plan.svg"
    files = WorkspaceFiles(options["output"]) if options["output"] else workspace.files
    drawn = roofline_picture(planned.plan, title=f"{planned.name}: a training step", here=planned.here)
    with writing(path):
        files.make_folder(path.parent)
    files.write(path, drawn.encode("utf-8"))
    return path


def _remaining_quota(to: str | None) -> "Quota | None":
    """What is left of the account's week, where it can be asked; that it cannot is no reason to fail."""
    from generator.cli.generate import connected
    from generator.kaggle.errors import KaggleError

    try:
        kaggle = connected(to)
        click.echo("Asking Kaggle for the rest of the week's quota …", err=True)
        return kaggle.kernels.quota()
    except KaggleError as error:
        if to is not None:
            warn(f"The quota cannot be read: {error.message}")
        return None


def _apply(planned: "PlannedPair", options: dict[str, Any]) -> None:
    from generator.pair.folder import existing_pair
    from generator.pair.generation import turn_knobs

    folder = existing_pair(options["workspace"], planned.name)
    said = (*planned.assignments, *options["assignments"])
    turn_knobs(folder, said)
    click.echo(f"{shortest(folder.choices)} and the notebooks now have {', '.join(said)}.", err=True)
