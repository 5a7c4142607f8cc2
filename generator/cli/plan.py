"""The verb `plan`: what a pair's training takes on each accelerator, and the one to take."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import click

from generator.accelerators import Accelerator, AcceleratorKind, Prediction, Service, Status, catalog
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    optional_pair_argument,
    output_option,
    shortest,
    to_option,
    workspace_option,
)
from generator.cli.progress import progress
from generator.cli.terminal import json_option, print_document, table
from generator.plan import Measurement, PlannedPair, PlanOptions, plan_pair, roofline_picture
from generator.text import dollars, duration, milliseconds, operations, printable, share, size
from generator.tpu_compiler.compilation import StepCost

if TYPE_CHECKING:
    from generator.kaggle.api_types import AcceleratorQuota, Quota


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
    accelerator_catalog = catalog()
    parts = [f"What Kaggle and Colab lend, as of {accelerator_catalog.as_of}. ? means unknown.", ""]
    public_accelerators = [
        accelerator for accelerator in accelerator_catalog.all_accelerators if accelerator.status is Status.OFFERED
    ]
    parts += [table(_ACCELERATOR_HEADER, [_accelerator_row(accelerator) for accelerator in public_accelerators]), ""]
    parts += [
        "TFLOP/s, GB/s: all chips together; dense matrix products in bfloat16 (TPU) or float16 (GPU).",
        "cores: the smallest and the largest host, if they differ. RAM: in GiB.",
        "hours: limit of a session / quota of a week. sessions: at the same time, including queued ones.",
        "units/h: Colab's compute units, first and last known price.",
        "",
    ]
    other_accelerators = [
        accelerator for accelerator in accelerator_catalog.all_accelerators if accelerator.status is not Status.OFFERED
    ]
    parts.append(
        table(
            ("not for everybody", "chips", "note"), [_restricted_row(accelerator) for accelerator in other_accelerators]
        )
    )
    return "\n".join(parts)


class AcceleratorTitle(TypedDict):
    """An accelerator's name.

    Attributes:
        title: The name, with who lends it.
    """

    title: str


class AcceleratorList(TypedDict):
    """With --accelerators: what Kaggle and Colab lend, with the source of every figure.

    Attributes:
        schema_version: The version of this document.
        as_of: The date of the figures.
        dollars_per_unit: The price of a compute unit of Colab.
        accelerators: The accelerators.
    """

    schema_version: Literal[1]
    as_of: str
    dollars_per_unit: float
    accelerators: list[Annotated[dict[str, Any], Accelerator, AcceleratorTitle]]


def accelerator_list() -> AcceleratorList:
    """The same for programs, with the source of every figure."""
    accelerator_catalog = catalog()
    return {
        "schema_version": 1,
        "as_of": str(accelerator_catalog.as_of),
        "dollars_per_unit": accelerator_catalog.dollars_per_unit,
        "accelerators": [
            {**asdict(accelerator), "title": accelerator.title} for accelerator in accelerator_catalog.all_accelerators
        ],
    }


def _accelerator_row(accelerator: Accelerator) -> tuple[str, ...]:
    rate = accelerator.rate(accelerator.chip.training_dtype) if accelerator.chip else None
    chips = f"{accelerator.chips} x " if accelerator.chips > 1 else ""
    return (
        accelerator.title,
        _figure(rate and rate / 1e12) if accelerator.chip else "",
        f"{chips}{accelerator.chip.memory_gb:g} GB" if accelerator.chip else "",
        _figure(accelerator.bandwidth and accelerator.bandwidth / 1e9) if accelerator.chip else "",
        _figure(accelerator.cores) + (f"-{accelerator.max_cores}" if accelerator.max_cores else ""),
        _figure(accelerator.host_memory_gib),
        f"{accelerator.session_hours}/{accelerator.weekly_hours}"
        if accelerator.weekly_hours
        else f"{accelerator.session_hours}",
        str(accelerator.concurrent_sessions or ""),
        _units(accelerator),
        accelerator.good_for,
    )


def _units(accelerator: Accelerator) -> str:
    if accelerator.service is not Service.COLAB:
        return ""
    prices = sorted(
        {price.per_hour for price in accelerator.units}, key=[price.per_hour for price in accelerator.units].index
    )
    return "→".join(f"{price:g}" for price in prices) or _UNKNOWN


def _restricted_row(accelerator: Accelerator) -> tuple[str, ...]:
    chips = f"{accelerator.chips} x {accelerator.chip.name}" if accelerator.chip else ""
    since = (
        f"retired{f' {accelerator.retired_on}' if accelerator.retired_on else ''}: "
        if accelerator.status is Status.RETIRED
        else ""
    )
    return accelerator.title, printable(chips), f"{since}{accelerator.good_for}"


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


def plan_as_text(planned_pair: PlannedPair, *, quota: "Quota | None", picture: Path) -> str:
    """The measurement, a line for each accelerator, what the figures teach, and the recommendation."""
    plan, recommendation = planned_pair.plan, planned_pair.plan.recommendation
    predictions = [*plan.predictions, *([planned_pair.local_prediction] if planned_pair.local_prediction else [])]
    lines = [
        *_measurement_lines(planned_pair),
        "",
        table(_PLAN_HEADER, [_prediction_row(prediction) for prediction in predictions]),
        "",
        _legend(predictions),
    ]
    lines += (
        [f"Not enough data for {', '.join(accelerator.title for accelerator in plan.unknown)}."] if plan.unknown else []
    )
    lines += [_ROUGH.format(planned_pair.compilation.missing)] if plan.workload.is_rough else []
    lines += [*plan.lessons, "", f"Recommended: {recommendation.accelerator.title}. {plan.reason}"]
    lines += [_settings(planned_pair), *_quota_lines(recommendation, quota), *_concurrency(recommendation)]
    lines += [f"Roofline: {shortest(picture)}"]
    return "\n".join(lines)


class PredictionFields(TypedDict):
    """The prediction of a training on one accelerator. Times are in seconds, memory in bytes.

    Attributes:
        accelerator: The accelerator.
        machine_shape: Its id in kernel-metadata.json; empty where it has none.
        bound: The bottleneck of a step.
        batch: The examples of a step on each device.
        device: What a step takes on the device.
        host: What the input pipeline takes for a step.
        loop: What the training loop takes for a step.
        step: What a step takes.
        epoch: What an epoch takes.
        total: What the whole training takes, with start and compilation.
        memory: What a step takes of the device's memory.
        fits: Whether that is there.
        intensity: Operations for each byte that is moved.
        rate: The operations a second that can be reached.
        examples_per_second: The speed of the training.
        session_share: The share of a session that it takes.
        weekly_share: The share of a week's quota; null where there is no quota.
        concurrent_sessions: The sessions of its kind that an account can run side by side; null where there is no
            such limit, or it is not known.
        units: Colab's compute units; null where they are not known or not needed.
        dollars: Their price.
        learning_rate: The peak learning rate at this batch.
        steps_per_execution: Steps in one call of the training loop.
    """

    accelerator: str
    machine_shape: str
    bound: str
    batch: int
    device: float
    host: float
    loop: float
    step: float
    epoch: float
    total: float
    memory: float
    fits: bool
    intensity: float
    rate: float
    examples_per_second: float
    session_share: float
    weekly_share: float | None
    concurrent_sessions: int | None
    units: float | None
    dollars: float | None
    learning_rate: float
    steps_per_execution: int


class RecommendationFields(TypedDict):
    """The recommended accelerator.

    Attributes:
        accelerator: The accelerator.
        reason: Why, as a sentence.
        parameters: The parameters of the notebooks for it, as NAME=VALUE.
    """

    accelerator: str
    reason: str
    parameters: list[str]


class QuotaFields(TypedDict):
    """Hours that are left of the week's quota: neither used nor reserved by sessions that run.

    Attributes:
        gpu: Of GPUs.
        tpu: Of TPUs.
    """

    gpu: float
    tpu: float


class PlanReport(TypedDict):
    """The plan of a training.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        specimen: Whether it was measured on synthetic data.
        measured: What was measured on this machine.
        compiled: What the TPU's compiler said of the training step.
        not_compiled: Why the TPU's compiler said nothing; null if it did.
        predictions: The prediction for each accelerator.
        here: The prediction for this machine.
        unknown: The accelerators of which too little is known.
        recommended: The recommendation.
        lessons: What the figures say, in sentences.
        quota: What is left of the week's quota; null if Kaggle was not asked.
        picture: The file with the roofline.
    """

    schema_version: Literal[1]
    pair: str
    specimen: bool
    measured: Measurement
    compiled: list[StepCost]
    not_compiled: str | None
    predictions: list[PredictionFields]
    here: PredictionFields | None
    unknown: list[str]
    recommended: RecommendationFields
    lessons: list[str]
    quota: QuotaFields | None
    picture: str


def plan_report(planned_pair: PlannedPair, *, quota: "Quota | None", picture: Path) -> PlanReport:
    """The same for programs."""
    plan, measurement = planned_pair.plan, planned_pair.measurement
    return {
        "schema_version": 1,
        "pair": planned_pair.name,
        "specimen": measurement.is_specimen,
        "measured": measurement,
        "compiled": list(planned_pair.compilation.costs),
        "not_compiled": planned_pair.compilation.missing or None,
        "predictions": [_fields(planned_pair, prediction) for prediction in plan.predictions],
        "here": _fields(planned_pair, planned_pair.local_prediction) if planned_pair.local_prediction else None,
        "unknown": [accelerator.title for accelerator in plan.unknown],
        "recommended": {
            "accelerator": plan.recommendation.accelerator.title,
            "reason": plan.reason,
            "parameters": list(planned_pair.assignments),
        },
        "lessons": list(plan.lessons),
        "quota": None if quota is None else {"gpu": _hours_left(quota.gpu), "tpu": _hours_left(quota.tpu)},
        "picture": str(picture),
    }


def _measurement_lines(planned_pair: PlannedPair) -> list[str]:
    measurement, work = planned_pair.measurement, planned_pair.plan.workload
    rows = f"{work.examples:,} examples" + (" of a specimen" if measurement.is_specimen else "")
    times = (
        f"{measurement.folds} times {measurement.epochs} epochs"
        if measurement.folds > 1
        else f"{measurement.epochs} epochs"
    )
    pace = 1 / measurement.input_seconds if measurement.input_seconds else float("inf")
    example_cost = f"{operations(work.cpu_step.flops / work.cpu_step.batch)} an example"
    return [
        f"{printable(planned_pair.name)}: {times} of {rows}; {measurement.parameters:,} weights, {example_cost}.",
        f"The input pipeline delivers {pace:,.0f} examples per second on one core of this machine.",
    ]


def _prediction_row(prediction: Prediction) -> tuple[str, ...]:
    return (
        prediction.accelerator.title,
        str(prediction.batch),
        milliseconds(prediction.step),
        str(prediction.bound),
        duration(prediction.epoch),
        duration(prediction.total),
        size(prediction.memory) if prediction.fits else f"{size(prediction.memory)}!",
        _price(prediction),
    )


def _price(prediction: Prediction) -> str:
    if prediction.accelerator.service is Service.HERE:
        return ""
    if prediction.accelerator.service is Service.KAGGLE:
        return "no quota" if prediction.weekly_share is None else f"{share(prediction.weekly_share)} of week"
    if prediction.units is None or prediction.dollars is None:
        return "? u"
    if prediction.units < _LEAST:
        return f"<{_LEAST} u {dollars(prediction.dollars)}"
    units = f"{prediction.units:.2f}" if prediction.units < _WHOLE else f"{prediction.units:,.0f}"
    return f"{units} u {dollars(prediction.dollars)}"


def _legend(predictions: list[Prediction]) -> str:
    accelerators = [prediction.accelerator for prediction in predictions if prediction.accelerator.units]
    old = [accelerator.name for accelerator in accelerators if accelerator.units[-1].as_of == _OLD]
    note = f";\n{' and '.join(old)} at the price of {_OLD}" if old else ""
    too_much = "" if all(prediction.fits for prediction in predictions) else "\nmemory!: does not fit into a device."
    return _LEGEND.format(round(100 * catalog().dollars_per_unit, 2), note) + too_much


def _settings(planned_pair: PlannedPair) -> str:
    prediction = planned_pair.plan.recommendation
    devices = prediction.accelerator.devices
    batch = f"{prediction.batch} examples a device" + (
        f", {prediction.batch * devices:,} a step" if devices > 1 else " and step"
    )
    loop = {
        "tensorflow": f", steps_per_execution {planned_pair.steps_per_execution(prediction)}",
        "keras": ", steps_per_execution 1, as JAX takes no other",
    }.get(planned_pair.framework, "")
    session = f"{share(prediction.session_share)} of a session"
    return f"There: {batch}, a peak learning rate of {planned_pair.learning_rate(prediction):.2g}{loop}; {session}."


def _quota_lines(prediction: Prediction, quota: "Quota | None") -> list[str]:
    kind = prediction.accelerator.kind
    entry = (quota.gpu if kind is AcceleratorKind.GPU else quota.tpu) if quota else None
    if entry is None or kind is AcceleratorKind.CPU:
        return []
    left = _hours_left(entry)
    note = "" if prediction.total / 3600 <= left else ": too little for this training"
    return [f"{left:.1f} hours of {kind.upper()} are left of this account's week{note}."]


def _hours_left(quota: "AcceleratorQuota | None") -> float:
    return quota.left.total_seconds() / 3600 if quota else 0.0


def _concurrency(prediction: Prediction) -> list[str]:
    count, kind = prediction.accelerator.concurrent_sessions, prediction.accelerator.kind.upper()
    if count is None:
        return []
    sessions = "1 session" if count == 1 else f"{count} sessions"
    return [f"Kaggle runs {sessions} on a {kind} side by side for an account; one that waits in the queue counts."]


def _fields(planned_pair: PlannedPair, prediction: Prediction) -> PredictionFields:
    return {
        "accelerator": prediction.accelerator.title,
        "machine_shape": prediction.accelerator.machine_shape,
        "bound": str(prediction.bound),
        "batch": prediction.batch,
        "device": prediction.device,
        "host": prediction.host,
        "loop": prediction.loop,
        "step": prediction.step,
        "epoch": prediction.epoch,
        "total": prediction.total,
        "memory": prediction.memory,
        "fits": prediction.fits,
        "intensity": prediction.intensity,
        "rate": prediction.rate,
        "examples_per_second": prediction.examples_per_second,
        "session_share": prediction.session_share,
        "weekly_share": prediction.weekly_share,
        "concurrent_sessions": prediction.accelerator.concurrent_sessions,
        "units": prediction.units,
        "dollars": prediction.dollars,
        "learning_rate": planned_pair.learning_rate(prediction),
        "steps_per_execution": planned_pair.steps_per_execution(prediction),
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
@json_option(PlanReport, AcceleratorList)
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
        if options["as_json"]:
            print_document(accelerator_list())
        else:
            click.echo(accelerators_as_text())
        return 0
    from generator.cli.kaggle import remaining_quota

    planned_pair = _make_plan(options)
    picture = _write_picture(planned_pair, options)
    _keep_times(planned_pair, options)

    quota = remaining_quota(options["to"])
    if not options["as_json"]:
        click.echo(plan_as_text(planned_pair, quota=quota, picture=picture))
    if options["is_applied"]:
        _apply(planned_pair, options)
    if options["as_json"]:
        print_document(plan_report(planned_pair, quota=quota, picture=picture))
    elif not options["is_applied"]:
        assignments = " and ".join(planned_pair.assignments)
        click.echo(f"`tandem plan {printable(planned_pair.name)} --apply` writes {assignments} to pair.toml.")
    return 0


def _make_plan(options: dict[str, Any]) -> "PlannedPair":
    plan_options = PlanOptions(
        **{name: value for name, value in options.items() if name in PlanOptions.__dataclass_fields__}
    )
    with progress() as listener:
        return plan_pair(plan_options, listener, lambda text: click.echo(f"{printable(text)} …", err=True))


def _write_picture(planned_pair: "PlannedPair", options: dict[str, Any]) -> "Path":
    from generator.files import WorkspaceFiles, writing

    workspace = options["workspace"]
    path: Path = (options["output"] or workspace.output(planned_pair.name)) / "plan.svg"
    files = WorkspaceFiles(options["output"]) if options["output"] else workspace.files
    svg = roofline_picture(
        planned_pair.plan, title=f"{planned_pair.name}: a training step", local_prediction=planned_pair.local_prediction
    )
    with writing(path):
        files.make_folder(path.parent)
    files.write(path, svg.encode("utf-8"))
    return path


def _keep_times(planned_pair: "PlannedPair", options: dict[str, Any]) -> None:
    """Keep the predictions for the next push, unless they are too rough, or of synthetic data of another size."""
    from generator.kaggle.chain.budget import PlannedTime, training_parameters, write_planned_times

    is_of_specimen = planned_pair.measurement.is_specimen and not options["examples"]
    if planned_pair.plan.workload.is_rough or is_of_specimen or options["output"]:
        return
    workspace = options["workspace"]
    parameters = training_parameters(workspace, planned_pair.name, options["assignments"])
    times = []
    for prediction in planned_pair.plan.predictions:
        if prediction.accelerator.service is Service.KAGGLE:
            choice = {"ACCELERATOR": str(prediction.accelerator.kind), "BATCH_SIZE": prediction.batch}
            values = {name: choice.get(name, value) for name, value in parameters.items()}
            times.append(PlannedTime(prediction.accelerator.machine_shape, values, prediction.total))
    write_planned_times(workspace, planned_pair.name, times)


def _apply(planned_pair: "PlannedPair", options: dict[str, Any]) -> None:
    from generator.pair.generation import change_parameters

    folder = options["workspace"].pair(planned_pair.name)
    assignments = (*planned_pair.assignments, *options["assignments"])
    change_parameters(folder, assignments)
    click.echo(f"{shortest(folder.settings_path)} and the notebooks now have {', '.join(assignments)}.", err=True)
