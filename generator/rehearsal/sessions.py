"""The notebooks of a rehearsal in sessions like Kaggle's: training on eight devices, inference on hidden tests."""

import hashlib
import math
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from statistics import fmean, linear_regression
from typing import Any, Self

import generator
from generator.accelerators import AcceleratorKind
from generator.competition.schema import frameworks
from generator.competition.submission import SubmissionError, sample_columns_of, summarize, tolerance_of, validate
from generator.competition.survey import Survey
from generator.errors import RunError, TandemError
from generator.files import open_below, read_text
from generator.pair.handover import FILE_NAME, HandOver, HandOverError, read_handover
from generator.pair.notebook import with_first_cell
from generator.pair.workspace import Role
from generator.rehearsal.hidden_test import (
    VARIATIONS,
    Answers,
    HiddenTest,
    NoTestSetError,
    TestSet,
    archives_of,
    difference,
    of_none,
    pack_archives,
    read_test_set,
    require_room,
    submission_rows,
    unpack_archives,
    write_folder,
)
from generator.run.execution import list_cells, load_notebook_v4, strip_ansi
from generator.run.runnable_pair import RunnablePair
from generator.sessions.notebook_runner import NotebookRunner, read_all
from generator.sessions.sandbox import SessionEnd, SessionFolder, SessionOrder, path_of, remove_session_tree
from generator.text import JsonObject, printable

# The result of a rehearsal: a verdict on each thing that was tried, filled in as it gets on.


class Verdict(StrEnum):
    """The result of a trial.

    One rule tells a failure from a warning: a trial has failed if it would fail on Kaggle. A hidden test on which the
    notebook fails here is a warning where Kaggle scores the file and runs no hidden test.
    """

    PASSED = "passed"
    STOPPED = "stopped"  # by the notebook itself, with a reason, where that is all that can be asked
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "not tried"


@dataclass(frozen=True)
class Trial:
    """One thing that was tried.

    Attributes:
        name: In a few words.
        tried: What was different, as a sentence.
        verdict: What came of it.
        found: What was seen, or why it failed or was not tried: sentences, the notebook's own words among them.
        when: Where a notebook ended before its end: after how long and in which cell.
        on_kaggle: What would have become of it there, "" where nothing would.
        rows: How many rows the test had that it was tried on.
        seconds: How long the session took.
        peak_memory: The most bytes that it had.
    """

    name: str
    tried: str
    verdict: Verdict
    found: str = ""
    when: str = ""
    on_kaggle: str = ""
    rows: int = 0
    seconds: float = 0.0
    peak_memory: int = 0


@dataclass
class Rehearsal:
    """The results of a rehearsal so far.

    Attributes:
        pair: The name of the pair.
        title: What the competition is called.
        data: What it was tried on, in words.
        report: The page.
        is_code_competition: Whether Kaggle runs the inference notebook again, on a hidden test.
        specimen: Whether it was tried on made-up data.
        isolation: What keeps the notebooks apart from this machine, in words.
        image: The versions that inference ran with, in words.
        training: The trials of the training notebook.
        hidden_test: Those of the inference notebook.
        seconds: How long all of it took.
    """

    pair: str
    title: str
    data: str
    report: Path
    is_code_competition: bool
    specimen: bool = False
    isolation: str = ""
    image: str = ""
    training: list[Trial] = field(default_factory=list)
    hidden_test: list[Trial] = field(default_factory=list)
    seconds: float = 0.0

    def trials(self) -> Iterator[Trial]:
        """Every trial, in the order in which they are told."""
        yield from self.training
        yield from self.hidden_test

    @property
    def failed(self) -> list[Trial]:
        """The trials that would have failed on Kaggle."""
        return [trial for trial in self.trials() if trial.verdict is Verdict.FAILED]

    @property
    def warnings(self) -> list[Trial]:
        """The trials that failed here and would not matter on Kaggle in this competition."""
        return [trial for trial in self.trials() if trial.verdict is Verdict.WARNING]

    @property
    def is_passed(self) -> bool:
        """True if both notebooks were tried and nothing failed."""
        return not self.failed and not self._skipped_parts

    @property
    def rerun(self) -> str:
        """A sentence on what Kaggle does with the inference notebook in this competition."""
        if self.is_code_competition:
            return "Kaggle runs the inference notebook again, on a hidden test."
        return (
            "In this competition Kaggle scores the submission file, and does not run the notebook again. Only the "
            "first hidden test can fail; the others only give warnings."
        )

    @property
    def conclusion(self) -> str:
        """The verdict on the pair, as a sentence that agrees with `is_passed` and with the verdicts of the trials."""
        trial_count = sum(trial.verdict is not Verdict.SKIPPED for trial in self.trials())
        warning_count = len(self.warnings)
        warnings = f", with {warning_count} warning{'s' if warning_count > 1 else ''}" if warning_count else ""
        if self.failed:
            return f"Not passed: {len(self.failed)} of {trial_count} trials would have failed on Kaggle{warnings}."
        if self._skipped_parts:
            return f"Not passed: {' and '.join(self._skipped_parts)} could not be tested{warnings}."
        return f"Passed: none of {trial_count} trials would have failed on Kaggle{warnings}."

    @property
    def _skipped_parts(self) -> list[str]:
        parts = {"training": self.training, "inference": self.hidden_test}
        return [name for name, part in parts.items() if all(trial.verdict is Verdict.SKIPPED for trial in part)]


# The environment with the package versions of Kaggle's GPU image, where there is one to infer in.


_USUAL, _STAMP = ".venv-gpu", "image.stamp"


def find_image(folder: Path | None) -> Path | None:
    """The Python of the environment that the user named, or of the one that `make` puts beside the kit, if it is there.

    Raises:
        RunError: What the user named is none that this Python's packages fit into.
    """
    usual = Path(generator.__file__).resolve().parent.parent / _USUAL
    if folder is None and not (usual / _STAMP).is_file():
        return None
    environment = (folder or usual).absolute()
    python, version = environment / "bin" / "python", f"python{sys.version_info.major}.{sys.version_info.minor}"
    if python.is_file() and (environment / "lib" / version).is_dir():
        return python
    problem = f"does not have the Python version of this one, {version}" if python.is_file() else "has no bin/python"
    raise RunError(
        f"{printable(str(environment))} {problem}. Name a virtual environment with the packages of "
        "Kaggle's GPU image, or "
        "omit --gpu-image to infer with the installed versions."
    )


def image_in_words(python: Path | None) -> str:
    """The versions in words; None is the kit's own environment."""
    if python is None:
        return (
            "the package versions of this environment, because there is no environment with those of Kaggle's GPU image"
        )
    return f"the package versions in {python.parent.parent.name}, those of Kaggle's GPU image"


# Time and memory of inference at the size of the real test, from what it took on smaller ones.


_MOST = 10**12  # more rows than this no test has
_GIB = 2**30


@dataclass(frozen=True)
class Line:
    """A straight line: `start` for a test without rows, and `slope` for each of them."""

    start: float
    slope: float

    def at(self, rows: int) -> float:
        """The value at a number of rows."""
        return self.start + self.slope * rows

    def rows_within(self, limit: float) -> int:
        """The most rows at which the value is within a limit."""
        return _MOST if self.slope <= 0 else max(0, min(_MOST, int((limit - self.start) / self.slope)))


def line_through(rows: Sequence[float], values: Sequence[float]) -> Line:
    """The line of least squares through points of two different numbers of rows at least; it does not fall."""
    slope, start = linear_regression(rows, values)
    return Line(start, slope) if slope > 0 else Line(fmean(values), 0.0)


def size_trial(trials: Sequence[Trial], session: SessionOrder, *, rows: int) -> Trial:
    """The trial of the limits, which is computed from those that passed.

    Args:
        trials: What was tried on tests of different sizes.
        session: A session with the limits of those on Kaggle.
        rows: How many rows the real test is taken to have.
    """
    name, description = "time and memory", f"The prediction for {rows:,} rows, from the measurements with fewer rows."
    passed_trials = [trial for trial in trials if trial.verdict is Verdict.PASSED and trial.rows and trial.seconds]
    if len({trial.rows for trial in passed_trials}) < 2:  # noqa: PLR2004 - a line
        return Trial(name, description, Verdict.SKIPPED, "This needs two passed tests of different sizes.")
    sizes = [trial.rows for trial in passed_trials]
    time = line_through(sizes, [trial.seconds for trial in passed_trials])
    memory = line_through(sizes, [trial.peak_memory for trial in passed_trials])
    seconds, peak, longest = time.at(rows), memory.at(rows), session.time_limit.total_seconds()
    fits = min(time.rows_within(longest), memory.rows_within(session.memory_limit))
    room = "No number of rows comes near a limit." if fits == _MOST else f"About {_round_rows(fits):,} rows would fit."
    memory_use = f"{peak / _GIB:.1f} of {session.memory_limit / _GIB:.0f} GiB"
    finding = f"About {_hours(seconds)} of {_hours(longest)}, and {memory_use}. {room}"
    trial = Trial(name, description, Verdict.PASSED, finding, rows=rows)
    if seconds <= longest and peak <= session.memory_limit:
        return trial
    is_slow = time.rows_within(longest) < memory.rows_within(session.memory_limit)
    word = "Notebook Timeout" if is_slow else "Notebook Exceeded Allowed Compute"
    stop_point = f"after {_hours(longest)}" if is_slow else "when its memory is full"
    return Trial(name, description, Verdict.FAILED, finding, stop_point, on_kaggle=f"{word}.", rows=rows)


def _hours(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"  # noqa: PLR2004 - two hours


def _round_rows(rows: int) -> int:
    """The number with two digits that say something."""
    unit: int = 10 ** max(0, len(str(rows)) - 2)
    return rows // unit * unit


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


_LONGEST_REASON = 1_000
_LONGEST_LINE = 120
_FRAME = re.compile(
    r"(?:Cell|Input) In ?\[\d+\](?:, line (\d+))?|File "
)  # the beginning of one in IPython's tracebacks


@dataclass(frozen=True)
class NotebookStop:
    """Why a notebook ended early, and in which cell; `is_own` says that it did so by a `raise` there, with a reason.

    `line` is the last one of a cell that was reached, where the reason does not say enough.
    """

    reason: str
    cell: str = ""
    section: str = ""
    line: str = ""
    is_own: bool = False


@dataclass(frozen=True)
class FinishedSession:
    """A session that is over; everything in its folder is a stranger's word.

    Attributes:
        end: What Kaggle would say of it.
        files: What it wrote, and the notebook as executed.
        stop: Why it ended; says nothing if it came to its end.
    """

    end: SessionEnd
    files: SessionFolder
    stop: NotebookStop

    @property
    def is_done(self) -> bool:
        """True if the notebook came to its end."""
        return not self.end.failure

    @property
    def stop_point(self) -> str:
        """The place where it ended, in words."""
        place = f", in the cell {self.stop.cell}" if self.stop.cell else ""
        section = f" ({self.stop.section})" if place and self.stop.section else ""
        line = f": {self.stop.line}" if self.stop.line else ""
        return f"after {self.end.seconds:.0f} s{place}{section}{line}"


class Sessions:
    """Runs notebooks for the length of a block, some at a time, each in a folder of its own below `folder`."""

    def __init__(self, folder: Path, *, at_a_time: int) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(at_a_time)
        self._stop = threading.Event()
        self._runner = NotebookRunner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stops those that still run."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine, in words."""
        return self._runner.isolation

    def files(self, name: str) -> SessionFolder:
        """The files of the session of this name."""
        return SessionFolder(self._folder, name)

    def start(self, order: SessionOrder) -> "Future[FinishedSession]":
        """Starts a session as soon as there is room for it."""
        return self._pool.submit(self.run, order)

    def run(self, order: SessionOrder) -> FinishedSession:
        """Runs a session to its end."""
        order.files.make()
        end = self._runner.run(order, stop=self._stop)
        stop = _stop(order.files.executed_notebook) if end.failure else None
        return FinishedSession(end, order.files, stop or NotebookStop(printable(end.failure)))


def _stop(notebook: Path) -> NotebookStop | None:
    """The place where an executed notebook ended, from its first error."""
    try:
        cells = list_cells(load_notebook_v4(notebook))
    except TandemError:
        return None
    for planned_cell in cells:
        for output in planned_cell.cell.outputs:
            if output.output_type == "error":
                return _stop_at(planned_cell, output)
    return None


def _stop_at(planned_cell: Any, output: Mapping[str, Any]) -> NotebookStop:
    name, message = str(output.get("ename", "")), strip_ansi(str(output.get("evalue", "")))
    frames = [strip_ansi(text) for text in output["traceback"] if _FRAME.match(strip_ansi(text))]
    in_cells = [frame for frame in frames if frame.startswith(("Cell", "Input"))]
    # Of comprehensions IPython shows another line than theirs.
    line_frames = [frame for frame in in_cells if ", in <" not in frame.partition("\n")[0]]
    line = _line(line_frames[-1]) if line_frames else ""
    # Where the last frame is in a cell, and its statement raises by itself, that was meant for the reader.
    is_own = name != "AssertionError" and frames[-1:] == in_cells[-1:] and re.match(r"raise\b", line) is not None
    return NotebookStop(
        cell=printable(planned_cell.name),
        section=printable(planned_cell.section),
        line="" if is_own else printable(line[:_LONGEST_LINE]),
        reason=": ".join(filter(None, (printable(name), " ".join(map(printable, message.split())))))[:_LONGEST_REASON],
        is_own=is_own,
    )


def _line(frame: str) -> str:
    """The line that a frame of a cell was at; the arrow in front of it is not always at the right one."""
    begins = _FRAME.match(frame)
    number = begins[1] if begins is not None else None
    match = re.search(rf"^(?:-+>)? *{number} +(.*)$", frame, re.MULTILINE)
    return match[1].strip() if number and match is not None else ""


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


# The inference notebook on one hidden test after the other, as Kaggle runs it again to score it.


RERUN = {"KAGGLE_IS_COMPETITION_RERUN": "1"}
_NOT_SO = "This variation does not apply to this test."

Listener = Callable[[Trial], None]


@dataclass(frozen=True)
class InferenceWish:
    """The inference to come.

    Attributes:
        pair: The pair.
        session: What all sessions have in common, its limits on Kaggle among it; `mounts` has the data at `place`.
        place: Where the competition is mounted.
        survey: What is in its data.
        examples: How many examples of the test are taken.
        rows: How many the real test has, None if nobody says so.
    """

    pair: RunnablePair
    session: SessionOrder
    place: PurePosixPath
    survey: Survey
    examples: int
    rows: int | None

    @property
    def data(self) -> Path:
        """The competition's files as they are."""
        return self.session.mounts[self.place]


def hidden_test_trials(sessions: Sessions, wish: InferenceWish, folder: Path, listener: Listener) -> list[Trial]:
    """Tries every variation of the test, some at a time.

    Args:
        sessions: What runs the notebook.
        wish: What is to be run.
        folder: Where the varied data may be written.
        listener: Is called with each verdict as soon as it is there.
    """
    archives = archives_of(wish.pair.spec.task)
    try:
        data = _unpack_data(wish.data, archives, folder / "unpacked") if archives else wish.data
        test = read_test_set(data, wish.survey, wish.pair.spec.task, most=wish.examples)
        if archives:
            require_room(data, archives, test)
    except NoTestSetError as error:
        return _on_the_data_alone(sessions, wish, error.reason, listener)
    return _Trials(sessions, wish, folder, data, archives, test, listener).run()


def _unpack_data(data: Path, archives: Sequence[str], folder: Path) -> Path:
    folder.mkdir()
    unpack_archives(data, archives, folder)
    return folder


def _on_the_data_alone(sessions: Sessions, wish: InferenceWish, reason: str, listener: Listener) -> list[Trial]:
    """The verdict on the test as it is, all of it, and for each variation that it was not tried."""
    as_it_is, *other_variations = VARIATIONS
    session = sessions.run(wish.session)
    problem = _problem(wish, session, wish.data) if session.is_done else ""
    trials = [_verdict(wish, as_it_is, session, problem)]
    trials += [
        Trial(variation.name, variation.description, Verdict.SKIPPED, f"No hidden test can be made: {reason}")
        for variation in other_variations
    ]
    for trial in trials:
        listener(trial)
    return trials


@dataclass(frozen=True)
class _Trials:
    """The trials on a test that can be varied."""

    sessions: Sessions
    wish: InferenceWish
    folder: Path
    data: Path  # the competition's, the archives with the test in it unpacked
    archives: Sequence[str]
    test: TestSet
    listener: Listener

    def run(self) -> list[Trial]:
        """Starts all of them and returns the verdicts, in the order of `VARIATIONS`."""
        is_served = self.wish.survey.server is not None  # who asks for nothing gets no answers
        tests = {
            candidate.name: (candidate, None if is_served and candidate.vary is of_none else candidate.vary(self.test))
            for candidate in VARIATIONS
        }
        running = {name: self._start(candidate, test) for name, (candidate, test) in tests.items() if test is not None}
        reference_answers: Answers | None = None
        trials_by_name: dict[str, Trial] = {}
        first = VARIATIONS[0].name
        for name in self._as_they_end(running, first):
            variation, test = tests[name]
            if test is None:
                trials_by_name[name] = Trial(name, variation.description, Verdict.SKIPPED, _NOT_SO)
            else:
                session = running[name].result()
                trials_by_name[name] = self._judge(variation, test, session, reference_answers)
                if name == first and trials_by_name[name].verdict is Verdict.PASSED:
                    reference_answers = self._answers(session, test)
                remove_session_tree(session.files.path)  # ten of them might be 20 GB each
            self.listener(trials_by_name[name])
        trials = [trials_by_name[candidate.name] for candidate in VARIATIONS]
        rows = self.wish.rows or 10 * max(trial.rows for trial in trials)
        limits = size_trial(trials, self.wish.session, rows=rows)
        if self.wish.rows is None and not self.wish.pair.spec.competition.is_code_competition:
            limits = _as_warning(limits)  # so many rows are assumed for a hidden test, which it does not have
        self.listener(limits)
        return [*trials, limits]

    def _start(self, variation: HiddenTest, test: TestSet) -> "Future[FinishedSession]":
        data = self._data_folder(variation)
        data.mkdir()
        write_folder(self.data, test, data)
        pack_archives(data, self.archives)
        mounts = {**self.wish.session.mounts, self.wish.place: data}
        name = data.name.replace("data", "infer")
        return self.sessions.start(
            replace(self.wish.session, title=name, files=self.sessions.files(name), mounts=mounts)
        )

    def _data_folder(self, variation: HiddenTest) -> Path:
        return self.folder / f"data-{variation.name.replace(' ', '-')}"

    @staticmethod
    def _as_they_end(running: Mapping[str, "Future[FinishedSession]"], first: str) -> Iterator[str]:
        """The names of the variations, the first one first, because the others are compared with it."""
        yield first
        names = {future: name for name, future in running.items() if name != first}
        yield from (names[future] for future in as_completed(names))
        yield from (variation.name for variation in VARIATIONS if variation.name not in running)

    def _answers(self, session: FinishedSession, test: TestSet) -> Answers:
        name = self.wish.pair.submission_file
        with open_below(session.files.working, name) as file, path_of(file, name) as submission:
            return submission_rows(submission, test)

    def _judge(
        self, variation: HiddenTest, test: TestSet, session: FinishedSession, reference_answers: Answers | None
    ) -> Trial:
        problem = ""
        if session.is_done:
            problem = _problem(self.wish, session, self._data_folder(variation), rows=_rows_of(test))
            if not problem and variation.keeps_answers and reference_answers is not None:
                answers = self._answers(session, test)
                problem = difference(
                    test, answers, reference_answers, are_texts=tolerance_of(self.wish.pair.spec.task).texts
                )
        return replace(_verdict(self.wish, variation, session, problem), rows=_rows_of(test))


def _rows_of(test: TestSet) -> int:
    return sum(max(1, len(example.answers)) for example in test.examples)


def _problem(wish: InferenceWish, session: FinishedSession, data: Path, *, rows: int | None = None) -> str:
    """What is wrong with the submission of a notebook that came to its end, as a sentence, or nothing."""
    task, name = wish.pair.spec.task, wish.pair.submission_file
    try:
        file = open_below(session.files.working, name)
    except OSError:
        return f"The notebook ended without writing {printable(name)}."
    with file, path_of(file, name) as submission:
        try:
            if task.sample_submission:
                sample, columns = data / task.sample_submission, sample_columns_of(task)
                validate(submission, sample, columns=columns, tolerance=tolerance_of(task))
            elif (row_count := summarize(submission).rows) != rows and rows is not None:
                return f"The submission has {row_count:,} rows, but the test has {rows:,}."
        except SubmissionError as error:
            return error.message.replace(f"{submission.parent}/", "").replace(f"{data}/", "")
    return ""


def _verdict(wish: InferenceWish, variation: HiddenTest, session: FinishedSession, problem: str) -> Trial:
    trial = Trial(
        variation.name,
        variation.description,
        Verdict.PASSED,
        "A valid submission with the right rows.",
        seconds=session.end.seconds,
        peak_memory=session.end.peak_memory,
    )
    if session.is_done and not problem:
        return trial
    if session.is_done:
        word = "a wrong score" if "another answer" in problem else "Submission Scoring Error"
        outcome = replace(trial, verdict=Verdict.FAILED, found=problem, when="when the submission is scored")
    else:
        word = printable(session.end.failure.partition(":")[0])
        verdict = Verdict.STOPPED if variation.may_stop and session.stop.is_own else Verdict.FAILED
        outcome = replace(trial, verdict=verdict, found=session.stop.reason, when=session.stop_point)
    if variation is VARIATIONS[0] or wish.pair.spec.competition.is_code_competition:
        return replace(outcome, on_kaggle=_on_kaggle(wish, variation, word))
    return _as_warning(outcome)


def _as_warning(trial: Trial) -> Trial:
    """The trial of a competition without a hidden test: what failed in it is a warning."""
    verdict = Verdict.WARNING if trial.verdict is Verdict.FAILED else trial.verdict
    return replace(trial, verdict=verdict, on_kaggle="")


def _on_kaggle(wish: InferenceWish, variation: HiddenTest, word: str) -> str:
    if not wish.pair.spec.competition.is_code_competition:
        return f"{word}: there would be no valid file to submit."
    if variation is VARIATIONS[0]:
        return f"{word}, when the version is saved, before a submission."
    return f"{word}, only in the rerun, and Kaggle does not show the reason."
