"""The training of a rehearsal: on eight devices of this CPU and on one, observed from a cell in front of all others."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from generator.accelerators import AcceleratorKind
from generator.competition.schema import frameworks
from generator.files import open_below, read_text
from generator.pair.handover import FILE_NAME, HandOver, HandOverError, read_handover
from generator.pair.notebook import with_first_cell
from generator.pair.workspace import Role
from generator.rehearsal.sessions import FinishedSession, Sessions, Trial, Verdict
from generator.run.runnable_pair import RunnablePair
from generator.sessions.notebook_runner import read_all
from generator.sessions.sandbox import SessionOrder
from generator.text import JsonObject, printable

if TYPE_CHECKING:
    from concurrent.futures import Future


# A look inside a training: a cell in front of all others that counts what is compiled, and on how many devices.
#
# The notebook's own cells stay as they are. What the cell finds it prints; the notebook runs beside it, so that all
# of it is the notebook's word.


_MARK = "tandem-rehearsal"
_MOST_NAMES = 1_000
ENVIRONMENT = {"JAX_LOG_COMPILES": "1"}

# JAX tells of each compilation, TensorFlow of none: there each graph that is made of a Python function counts as one.
_WATCHER = '''
def watch_for_rehearsal(devices):
    """Look on for `tandem rehearse`; this cell is in no notebook of yours."""
    import contextlib
    import json
    import logging
    import operator
    import re
    import sys

    compiled = []

    class Compilations(logging.Handler):
        def emit(self, record):
            said = r"Compiling (?:jit\\()?([\\w<>.-]+)\\)? (.*?)(?:\\. Argument|$)"
            found = re.match(said, record.getMessage(), re.S)
            if found:
                compiled.append([found[1], str(hash(found[2]))])

    logger = logging.getLogger("jax")
    logger.addHandler(Compilations())
    logger.propagate = False

    if {uses_tensorflow}:
        import tensorflow as tf
        from tensorflow.python.framework import func_graph

        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * devices
        tf.config.set_logical_device_configuration(cpu, parts)
        trace = func_graph.func_graph_from_py_func

        def counted(name, *arguments, **options):
            compiled.append([str(name), "traced"])
            return trace(name, *arguments, **options)

        func_graph.func_graph_from_py_func = counted

    def tell(*_):
        found = {"{mark}": True, "devices": 0}
        for start in range(0, len(compiled), 50):  # a line of a log is not endless
            print(json.dumps({"{mark}": True, "compiled": compiled[start : start + 50]}), flush=True)
        compiled.clear()
        if "jax" in sys.modules and not {uses_tensorflow}:
            arrays = sys.modules["jax"].live_arrays()
            found["devices"] = max((len(array.sharding.device_set) for array in arrays), default=0)
        names = get_ipython().user_ns
        if "torch_xla" in sys.modules and hasattr(names.get("model"), "parameters"):
            from torch_xla.distributed.spmd import wrap_if_sharded

            weight = wrap_if_sharded(next(names["model"].parameters()))
            found["devices"] = len(getattr(weight, "local_shards", [weight]))
        if {uses_tensorflow}:
            found["devices"] = getattr(names.get("strategy"), "num_replicas_in_sync", 0)
        for name in ("steps_per_epoch", "epochs"):
            with contextlib.suppress(KeyError, TypeError):
                found[name] = operator.index(names[name])
        if found["devices"]:
            print(json.dumps(found), flush=True)

    get_ipython().events.register("post_run_cell", tell)


watch_for_rehearsal({devices})
del watch_for_rehearsal
'''


@dataclass(frozen=True)
class TrainingObservations:
    """What was seen inside of a training.

    Attributes:
        devices: On how many devices values were at once.
        compile_counts: How often each function was compiled, by its name.
        shapes: For how many different shapes of its inputs.
        steps: How many steps were taken, 0 if that is not known.
    """

    devices: int
    compile_counts: Mapping[str, int]
    shapes: Mapping[str, int]
    steps: int


def write_watched(notebook: Path, *, framework: str, devices: int) -> str:
    """A copy of a notebook with the cell in front that looks on."""
    source = _WATCHER
    values = {"uses_tensorflow": str(framework == "tensorflow"), "mark": _MARK, "devices": str(devices)}
    for name, value in values.items():
        source = source.replace(f"{{{name}}}", value)
    return with_first_cell(read_text(notebook), name=_MARK, source=source.strip())


def seen_in(lines: Iterable[str]) -> TrainingObservations:
    """Puts together what the cell printed in the course of a notebook."""
    devices, sizes = 0, {"steps_per_epoch": 0, "epochs": 0}
    compile_counts: Counter[str] = Counter()
    shapes: dict[str, set[str]] = {}
    for line in lines:
        message = JsonObject.parse(line) if _MARK in line else JsonObject()
        if not message.flag(_MARK):
            continue
        devices = max(devices, message.count("devices"))
        sizes = {name: message.count(name) or size for name, size in sizes.items()}
        pairs = message.get("compiled")
        for pair in pairs if isinstance(pairs, list) else ():
            if isinstance(pair, list) and len(pair) == 2 and len(compile_counts) < _MOST_NAMES:  # noqa: PLR2004 - a pair
                name = printable(str(pair[0]))[:100]
                compile_counts[name] += 1
                shapes.setdefault(name, set()).add(str(pair[1]))
    steps = sizes["steps_per_epoch"] * sizes["epochs"]
    return TrainingObservations(
        devices, compile_counts, {name: len(name_shapes) for name, name_shapes in shapes.items()}, steps
    )


# The training notebook on eight devices of this CPU, beside the same on one: what is seen, what has to be equal.


DEVICES = 8
FEW_EPOCHS = 2
# Relative to the largest loss. Under JAX a batch is one, whatever it is spread over; under tf.distribute each replica
# drops out and normalizes by itself.
_TOLERANCES = {"tensorflow": 0.2}
_TOLERANCE = 1e-3
_MOST_COMPILATIONS = 2  # the second step may find its state laid out in another way than the first


def start_trainings(
    sessions: Sessions, pair: RunnablePair, mounts: Mapping[PurePosixPath, Path], folder: Path
) -> "list[Future[FinishedSession]]":
    """Starts the training on eight devices, and on one with the same global batch if that can be set.

    A framework that uses no TPU trains once, on what the pair asks for.
    """
    batch = pair.parameters[Role.TRAIN].value("BATCH_SIZE")  # of one replica
    batches = {DEVICES: {"BATCH_SIZE": batch}, 1: {"BATCH_SIZE": batch * DEVICES}} if isinstance(batch, int) else {}
    is_for_tpu, futures = _is_for_tpu(pair.spec.framework), []
    for devices, overrides in (batches or {DEVICES if is_for_tpu else 1: {}}).items():
        name = f"train-{devices}"
        notebook = folder / f"{name}.ipynb"
        source = pair.folder.notebook(Role.TRAIN)
        notebook.write_text(write_watched(source, framework=pair.spec.framework, devices=devices), encoding="utf-8")
        order = SessionOrder(
            title=name,
            notebook=notebook,
            files=sessions.files(name),
            mounts=mounts,
            parameters={**pair.parameters[Role.TRAIN].values, **overrides},
            environment=ENVIRONMENT,
            accelerator=AcceleratorKind.TPU if is_for_tpu else pair.spec.accelerator,
            devices=devices,
            time_limit=timedelta(hours=pair.spec.session_hours),
            internet=pair.sources[Role.TRAIN].internet,
        )
        futures.append(sessions.start(order))
    return futures


def _is_for_tpu(framework: str) -> bool:
    return AcceleratorKind.TPU in frameworks()[framework].accelerators


def training_trials(framework: str, eight: FinishedSession, single_session: FinishedSession | None) -> Iterator[Trial]:
    """The verdicts on a training on eight devices, or on the only one of a framework that uses no TPU."""
    handover = _handover(eight)
    observations = seen_in(str(event.get("data", "")) for event in read_all(eight.files.log))
    ran = Trial(f"{DEVICES} devices", f"The training notebook on {DEVICES} devices, a few steps.", Verdict.PASSED)
    if not _is_for_tpu(framework):
        ran = Trial("training", "The training notebook, with one fold.", Verdict.PASSED, "It ran to its end.")
    ran = replace(ran, seconds=eight.end.seconds, peak_memory=eight.end.peak_memory)
    if not eight.is_done:
        kaggle = "The training would stop there, and the quota until then would be lost."
        yield replace(ran, verdict=Verdict.FAILED, found=eight.stop.reason, when=eight.stop_point, on_kaggle=kaggle)
        return
    if not _is_for_tpu(framework):
        yield ran
        yield _whole(handover, eight.files.working)
        return
    if framework == "torch" and not observations.devices:
        finding = "PyTorch/XLA is not installed here, so the notebook ran on the CPU as one device."
        yield replace(ran, verdict=Verdict.SKIPPED, found=finding)
    else:
        yield _devices_used(ran, observations)
        yield _same_losses(framework, handover, single_session)
    yield _compilations(observations)
    yield _whole(handover, eight.files.working)


def _handover(session: FinishedSession) -> HandOver | None:
    try:
        # Its notebook may have written a link; nothing of the session runs that could change it now.
        open_below(session.files.working, FILE_NAME).close()
        return read_handover(session.files.working)
    except (HandOverError, OSError):
        return None


def _devices_used(ran: Trial, observations: TrainingObservations) -> Trial:
    steps = f", in {observations.steps} steps" if observations.steps else ""
    if observations.devices == DEVICES:
        return replace(ran, found=f"All {DEVICES} devices were used{steps}.")
    kaggle = (
        f"{DEVICES - max(1, observations.devices)} of {DEVICES} cores of the TPU would idle for the whole training."
    )
    finding = f"Values were on {observations.devices} of {DEVICES} devices."
    return replace(ran, verdict=Verdict.FAILED, found=finding, when="from the first step on", on_kaggle=kaggle)


def _same_losses(framework: str, handover: HandOver | None, single_session: FinishedSession | None) -> Trial:
    trial = Trial("the loss", "The same with one device and the same global batch.", Verdict.SKIPPED)
    if single_session is None:
        return replace(trial, found="The notebook has no parameter BATCH_SIZE, so the global batch cannot be the same.")
    trial = replace(trial, seconds=single_session.end.seconds, peak_memory=single_session.end.peak_memory)
    if not single_session.is_done:
        return replace(
            trial, found=f"On one device the notebook stopped {single_session.stop_point}: {single_session.stop.reason}"
        )
    single_handover = _handover(single_session)
    losses = [
        outcome.folds[0].losses if outcome is not None and outcome.folds else ()
        for outcome in (handover, single_handover)
    ]
    pairs = list(zip_longest(*losses, fillvalue=math.nan))
    if not pairs:
        return replace(trial, found="The hand-over has no losses to compare.")
    tolerance = _TOLERANCES.get(framework, _TOLERANCE)
    scale = (
        max(abs(single_loss) for _, single_loss in pairs) or 1.0
    )  # what is learned to the end says nothing by its digits
    apart = [abs(loss - single_loss) / scale for loss, single_loss in pairs]
    furthest = math.nan if any(map(math.isnan, apart)) else max(apart)
    finding = f"{pairs[-1][0]:.6f} and {pairs[-1][1]:.6f}; difference at most {furthest:.1g}, tolerance {tolerance:g}."
    if furthest <= tolerance:  # NaN is not
        return replace(trial, verdict=Verdict.PASSED, found=finding)
    kaggle = "On the TPU the model would learn differently than on the machine where it was tested."
    return replace(trial, verdict=Verdict.FAILED, found=finding, when="in the first epochs", on_kaggle=kaggle)


def _compilations(observations: TrainingObservations) -> Trial:
    trial = Trial("compilations", "Whether any step is compiled after the second one.", Verdict.PASSED)
    steps = {
        name: count
        for name, count in observations.compile_counts.items()
        if "step" in name.lower() or "train" in name.lower()
    }
    if not steps:
        return replace(trial, verdict=Verdict.SKIPPED, found="No compilation of a step was observed.")
    times = {name: "once" if count == 1 else f"{count} times" for name, count in sorted(steps.items())[:5]}
    summary = ", ".join(f"{name} {frequency}" for name, frequency in times.items())
    # A step of training is compiled for several shapes where its last batch is not full.
    ragged_steps = {name for name in steps if "train" in name.lower() and observations.shapes[name] > 1}
    again = [name for name in steps if steps[name] > _MOST_COMPILATIONS or name in ragged_steps]
    if not again:
        return replace(trial, found=f"Compiled: {summary}.")
    shapes = max(observations.shapes[name] for name in again)
    reason = f" for {shapes} shapes of its inputs. Use the same shape in every batch" if shapes > 1 else ""
    kaggle = "Each compilation takes seconds to minutes on a TPU, without training."
    return replace(
        trial,
        verdict=Verdict.FAILED,
        found=f"Compiled: {summary}{reason}.",
        when="at every new shape of a step",
        on_kaggle=kaggle,
    )


def _whole(handover: HandOver | None, working: Path) -> Trial:
    trial = Trial("the hand-over", "Every file in handoff.json, and its digest.", Verdict.FAILED)
    kaggle = "After the complete training, inference would have no model to load."
    trial = replace(trial, when="at the end of the training", on_kaggle=kaggle)
    if handover is None or not handover.is_whole:
        return replace(trial, found="There is no handoff.json, or its digest is wrong.")
    wrong = [file.file for file in handover.files if _digest(working, file.file) != file.sha256]
    if wrong or not handover.files:
        return replace(
            trial, found=f"Missing, or with a wrong digest: {', '.join(wrong[:5]) or 'handoff.json lists no file'}."
        )
    if not handover.is_complete:
        return replace(trial, found="Training reached its time limit before the last epoch.")
    files = "1 file" if len(handover.files) == 1 else f"{len(handover.files)} files"
    return replace(
        trial, verdict=Verdict.PASSED, found=f"{files}, complete and with the right digest.", when="", on_kaggle=""
    )


def _digest(working: Path, name: str) -> str:
    try:
        with open_below(working, name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
