"""The plan of a training: what it takes on each accelerator, which one to take, and what the figures teach."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.accelerators.catalog import Accelerator, AcceleratorKind, Service, Status, catalog
from generator.accelerators.prediction import Bound, Prediction, Workload, best_batch, predict
from generator.wording import duration, milliseconds

_BATCHES = (8, 16, 32, 64, 128)
_FEWEST_STEPS = 8  # of an epoch, as for the batch that `generate` proposes
_SOON = 600  # seconds that nobody minds waiting for
_PATIENCE = 1.5  # times as long as the fastest is fine where it costs no quota
_WORTH_SAYING = 1.25


@dataclass(frozen=True)
class Plan:
    """What a training takes, wherever that can be said.

    Attributes:
        workload: The training.
        predictions: One for each accelerator that everybody can have, with the batch to use there.
        unknown: The accelerators of which too little is known.
        recommended: The one to take.
        reason: Why.
        lessons: What the figures show beside, a sentence each.
    """

    workload: Workload
    predictions: tuple[Prediction, ...]
    unknown: tuple[Accelerator, ...]
    recommended: Prediction
    reason: str
    lessons: tuple[str, ...]


def plan_training(work: Workload, *, batch: int, sees_tpu: bool = True) -> Plan:
    """Returns the plan of a training.

    Args:
        work: The training.
        batch: The examples a device that the pair takes now.
        sees_tpu: Whether its framework can use the TPU of Kaggle's image.
    """
    offered = [each for each in catalog().everything if each.status is Status.OFFERED]
    made = {each.title: best_batch(work, each, _candidates(work, each, batch)) for each in offered}
    predictions = tuple(found for found in made.values() if found is not None)
    ours = [found for found in predictions if found.accelerator.service is Service.KAGGLE]
    usable = [found for found in ours if sees_tpu or found.accelerator.kind is not AcceleratorKind.TPU]
    recommended, reason = _recommended(usable)
    unknown = tuple(each for each in offered if made[each.title] is None)
    return Plan(work, predictions, unknown, recommended, reason, tuple(_lessons(work, predictions, recommended)))


def _candidates(work: Workload, accelerator: Accelerator, batch: int) -> list[int]:
    """The batches that leave an epoch enough steps; the pair's own where nothing is known that speaks for another."""
    most = work.examples // (_FEWEST_STEPS * accelerator.devices)
    if accelerator.kind is AcceleratorKind.CPU or work.is_rough:
        return [batch]
    return [each for each in _BATCHES if each <= most] or [_BATCHES[0]]


def _recommended(predictions: Sequence[Prediction]) -> tuple[Prediction, str]:
    fitting = [each for each in predictions if each.fits] or list(predictions)
    fastest = min(fitting, key=lambda each: each.total)
    frugal = next((each for each in fitting if each.weekly_share is None and each.session_share < 1), None)
    if frugal is fastest:
        return frugal, "It is the fastest, and costs no quota."
    if frugal is not None and (frugal.total < _SOON or frugal.total < _PATIENCE * fastest.total):
        times = f"{duration(frugal.total)}, against {duration(fastest.total)} on {fastest.accelerator.title}"
        return frugal, f"It takes {times}, and costs no quota."
    second = min((each for each in fitting if each is not fastest), key=lambda each: each.total, default=None)
    slower = f", {second.total / fastest.total:.1f} times as fast as {second.accelerator.title}" if second else ""
    sessions = (
        "" if fastest.session_share < 1 else f" It takes {fastest.session_share:.1f} sessions, one after the other."
    )
    return fastest, f"It is the fastest{slower}.{sessions}"


def _lessons(work: Workload, predictions: Sequence[Prediction], recommended: Prediction) -> list[str]:
    """What people learn the hard way, where this training shows it."""
    lessons = []
    starved = [each for each in predictions if each.bound is Bound.INPUT and each.accelerator.chip is not None]
    for each in starved[:1]:
        loss = each.step / max(each.device, 1e-9)
        times = f"{milliseconds(each.host)} of them and {milliseconds(each.device)} of the device"
        cores = f"{each.accelerator.cores} cores starve {each.accelerator.title}"
        lessons.append(f"{cores}: a batch takes {times}, which could use {loss:.1f} times as many.")
    lessons += [lesson for each in predictions if (lesson := _largest_host(work, each))]
    tpu = next((each for each in predictions if each.accelerator == catalog().training), None)
    if tpu is not None:
        lessons += _batches(work, tpu)
        if recommended.accelerator.kind is AcceleratorKind.CPU and recommended.total < tpu.total:
            computing = f"its chips would compute for {_computing(work, tpu):.1f} s"
            lessons.append(f"Small model, small data: of {duration(tpu.total)} on {tpu.accelerator.title} {computing}.")
    return lessons


def _batches(work: Workload, tpu: Prediction) -> list[str]:
    small, large = (predict(work, tpu.accelerator, batch) for batch in (_BATCHES[0], _BATCHES[-1]))
    if small is None or large is None or large.examples_per_second < _WORTH_SAYING * small.examples_per_second:
        return []
    rates = " and ".join(f"{each.examples_per_second:,.0f} with {each.batch} a device" for each in (small, large))
    return [f"{tpu.accelerator.title} wants large batches, in multiples of 8: examples a second are {rates}."]


def _largest_host(work: Workload, prediction: Prediction) -> str:
    """Return the total on the largest host of an accelerator as a sentence; "" if it is about the same."""
    accelerator = prediction.accelerator
    if accelerator.max_cores is None:
        return ""
    other = predict(work, replace(accelerator, cores=accelerator.max_cores), prediction.batch)
    if other is None or prediction.total < _WORTH_SAYING * other.total:
        return ""
    hosts = f"{accelerator.title} has hosts of {accelerator.cores} and of {accelerator.max_cores} cores"
    times = f"{duration(prediction.total)} on the smaller, {duration(other.total)} on the larger"
    return f"{hosts}, and this training waits for its input: {times}."


def _computing(work: Workload, made: Prediction) -> float:
    steps = work.examples // (made.batch * made.accelerator.devices)
    return steps * made.device * work.epochs * work.folds
