"""The training notebook on eight devices of this CPU, beside the same on one: what is seen, what has to be equal."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from generator.accelerators.catalog import AcceleratorKind
from generator.files import open_below
from generator.pair.handover import FILE_NAME, HandOver, HandOverError, read_handover
from generator.pair.workspace import Role
from generator.rehearsal.result import Trial, Verdict
from generator.rehearsal.sessions import Session, Sessions
from generator.rehearsal.watching import ENVIRONMENT, Seen, seen_in, write_watched
from generator.run.pair_run import CheckedPair
from generator.sessions.runner import SessionOrder
from generator.sessions.session_log import read_all

if TYPE_CHECKING:
    from concurrent.futures import Future

DEVICES = 8
FEW_EPOCHS = 2
# Relative to the largest loss. Under JAX a batch is one, whatever it is spread over; under tf.distribute each replica
# drops out and normalizes by itself.
_TOLERANCES = {"tensorflow": 0.2}
_TOLERANCE = 1e-3
_MOST_COMPILATIONS = 2  # the second step may find its state laid out in another way than the first


def start_trainings(
    sessions: Sessions, pair: CheckedPair, mounts: Mapping[PurePosixPath, Path], folder: Path
) -> "list[Future[Session]]":
    """Starts the training on eight devices, and on one with the same global batch if that can be set."""
    batch = pair.parameters[Role.TRAIN].value("BATCH_SIZE")  # of one replica
    batches = {DEVICES: {"BATCH_SIZE": batch}, 1: {"BATCH_SIZE": batch * DEVICES}} if isinstance(batch, int) else {}
    started = []
    for devices, changed in (batches or {DEVICES: {}}).items():
        name = f"train-{devices}"
        watched = folder / f"{name}.ipynb"
        source = pair.folder.notebook(Role.TRAIN)
        watched.write_text(write_watched(source, framework=pair.spec.framework, devices=devices), encoding="utf-8")
        order = SessionOrder(
            title=name,
            notebook=watched,
            files=sessions.files(name),
            mounts=mounts,
            parameters={**pair.parameters[Role.TRAIN].values, **changed},
            environment=ENVIRONMENT,
            accelerator=AcceleratorKind.TPU,
            devices=devices,
            time_limit=timedelta(hours=pair.spec.session_hours),
            internet=pair.sources[Role.TRAIN].internet,
        )
        started.append(sessions.start(order))
    return started


def training_trials(framework: str, eight: Session, one: Session | None) -> Iterator[Trial]:
    """The verdicts on a training on eight devices."""
    handover = _handover(eight)
    seen = seen_in(str(event.get("data", "")) for event in read_all(eight.files.log))
    ran = replace(
        Trial(f"{DEVICES} devices", f"The training notebook on {DEVICES} devices, a few steps.", Verdict.PASSED),
        seconds=eight.end.seconds,
        peak_memory=eight.end.peak_memory,
    )
    if not eight.is_done:
        kaggle = "The training would stop there, and cost the quota until then."
        yield replace(ran, verdict=Verdict.FAILED, found=eight.stop.reason, when=eight.when, on_kaggle=kaggle)
        return
    if framework == "torch" and not seen.devices:
        found = "PyTorch/XLA is not installed here, so that the notebook ran on the CPU as one device."
        yield replace(ran, verdict=Verdict.SKIPPED, found=found)
    else:
        yield _devices_used(ran, seen)
        yield _same_losses(framework, handover, one)
    yield _compilations(seen)
    yield _whole(handover, eight.files.working)


def _handover(session: Session) -> HandOver | None:
    try:
        # Its notebook may have written a link; nothing of the session runs that could change it now.
        open_below(session.files.working, FILE_NAME).close()
        return read_handover(session.files.working)
    except (HandOverError, OSError):
        return None


def _devices_used(ran: Trial, seen: Seen) -> Trial:
    steps = f", in {seen.steps} steps" if seen.steps else ""
    if seen.devices == DEVICES:
        return replace(ran, found=f"All {DEVICES} were used{steps}.")
    kaggle = f"{DEVICES - max(1, seen.devices)} of {DEVICES} cores of the TPU would idle for the whole training."
    found = f"Values were on {seen.devices} of {DEVICES} devices."
    return replace(ran, verdict=Verdict.FAILED, found=found, when="from the first step on", on_kaggle=kaggle)


def _same_losses(framework: str, handover: HandOver | None, one: Session | None) -> Trial:
    trial = Trial("the loss", "The same with one device and the same global batch.", Verdict.SKIPPED)
    if one is None:
        return replace(trial, found="The notebook has no parameter BATCH_SIZE to set the same global batch by.")
    trial = replace(trial, seconds=one.end.seconds, peak_memory=one.end.peak_memory)
    if not one.is_done:
        return replace(trial, found=f"On one device it stopped {one.when}: {one.stop.reason}")
    other = _handover(one)
    losses = [each.folds[0].losses if each is not None and each.folds else () for each in (handover, other)]
    pairs = list(zip_longest(*losses, fillvalue=math.nan))
    if not pairs:
        return replace(trial, found="The hand-over says no losses to compare.")
    tolerance = _TOLERANCES.get(framework, _TOLERANCE)
    scale = max(abs(others) for _, others in pairs) or 1.0  # what is learned to the end says nothing by its digits
    apart = [abs(some - others) / scale for some, others in pairs]
    furthest = math.nan if any(map(math.isnan, apart)) else max(apart)
    found = f"{pairs[-1][0]:.6f} beside {pairs[-1][1]:.6f}; up to {furthest:.1g} apart, {tolerance:g} is allowed."
    if furthest <= tolerance:  # NaN is not
        return replace(trial, verdict=Verdict.PASSED, found=found)
    kaggle = "The model would learn something else on the TPU than on the machine where it was tried out."
    return replace(trial, verdict=Verdict.FAILED, found=found, when="in the first epochs", on_kaggle=kaggle)


def _compilations(seen: Seen) -> Trial:
    trial = Trial("compilations", "Whether any step is compiled after the second one.", Verdict.PASSED)
    steps = {name: count for name, count in seen.compiled.items() if "step" in name.lower() or "train" in name.lower()}
    if not steps:
        return replace(trial, verdict=Verdict.SKIPPED, found="No compilation of a step was seen.")
    times = {name: "once" if count == 1 else f"{count} times" for name, count in sorted(steps.items())[:5]}
    said = ", ".join(f"{name} {often}" for name, often in times.items())
    # A step of training is compiled for several shapes where its last batch is not full.
    ragged = {name for name in steps if "train" in name.lower() and seen.shapes[name] > 1}
    again = [name for name in steps if steps[name] > _MOST_COMPILATIONS or name in ragged]
    if not again:
        return replace(trial, found=f"Compiled: {said}.")
    shapes = max(seen.shapes[name] for name in again)
    why = f" for {shapes} shapes of its inputs: let every batch have the same" if shapes > 1 else ""
    kaggle = "Each compilation takes a TPU from seconds to minutes in which nothing is trained."
    return replace(
        trial,
        verdict=Verdict.FAILED,
        found=f"Compiled: {said}{why}.",
        when="whenever a step has not been seen in that form",
        on_kaggle=kaggle,
    )


def _whole(handover: HandOver | None, working: Path) -> Trial:
    trial = Trial("the hand-over", "Every file that training promises, and its digest.", Verdict.FAILED)
    kaggle = "Inference would have no model to load, after all the hours of training."
    trial = replace(trial, when="at the end of the training", on_kaggle=kaggle)
    if handover is None or not handover.is_whole:
        return replace(trial, found="There is no handoff.json, or its digest is wrong.")
    wrong = [file.file for file in handover.files if _digest(working, file.file) != file.sha256]
    if wrong or not handover.files:
        return replace(trial, found=f"Missing or not as promised: {', '.join(wrong[:5]) or 'no file is promised'}.")
    if not handover.is_complete:
        return replace(trial, found="Training stopped before its last epoch, for want of time.")
    files = "1 file" if len(handover.files) == 1 else f"{len(handover.files)} files"
    return replace(trial, verdict=Verdict.PASSED, found=f"{files}, all there and as promised.", when="", on_kaggle="")


def _digest(working: Path, name: str) -> str:
    try:
        with open_below(working, name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
