"""Compile the steps of a notebook in a separate process with a time limit, and assemble the report from its events."""

import hashlib
import json
import os
import platform
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import IO, Any

from generator.errors import TandemError, did_you_mean
from generator.files import FileReadError, WorkspaceFiles, read_bytes, read_json
from generator.kit_files import installed_version
from generator.pair.folder import deferred_interrupts, handled_signals
from generator.pair.notebook import PARAMETERS_TAG, read_parameters
from generator.run.execution import OFF_COLAB, has_tag, load_notebook_v4, root_parameters, strip_ansi
from generator.run.kernel import adopted_orphans, end_processes_of, kernel_environment, private_folder, require_packages
from generator.run.notebook_target import NotebookTarget, pair_notebook
from generator.text import JsonObject, printable, python_literal

# What a notebook is compiled for: plain data.


@dataclass(frozen=True)
class CompileOptions:
    """What is compiled for.

    Attributes:
        topology: One of `TOPOLOGIES`.
        batch_per_core: Examples that a core gets, in place of the notebook's own number.
        largest_batch: Whether to look for the largest batch also where the notebook's fits; up to 4 compilations.
        time_limit: Seconds, after which what is known by then is the report.
        use_libtpu: False compiles for the CPU even where the TPU's compiler is installed.
        predict: Whether to compile the prediction step as well.
    """

    topology: str = "v5e:2x4"
    batch_per_core: int | None = None
    largest_batch: bool = False
    time_limit: float = 1800.0
    use_libtpu: bool = True
    predict: bool = True


# The TPUs that can be compiled for: a name of the compiler's, with what its library wants to hear beside it.


_MIB = 1 << 20


@dataclass(frozen=True)
class Topology:
    """The cores of a TPU, as they are connected; or those of a CPU that stand for them.

    Attributes:
        name: What JAX and the compiler call it.
        accelerator_type: What a machine with it calls it, in TPU_ACCELERATOR_TYPE.
        cores: How many devices a framework sees.
        memory_limit: Bytes of a core's memory that a program has, None where that is not known; the rest is the
            system's. From what libtpu 0.0.42.1 says where a program needs more.
        is_single_chip: Whether its machine has one chip, which the library does not take for granted.
        clock: Cycles a second that the compiler's estimates count in, taken as 1.5 GHz.
    """

    name: str
    accelerator_type: str
    cores: int
    memory_limit: int | None
    is_single_chip: bool = False
    clock: float = 1.5e9


_ALL_TOPOLOGIES = (
    Topology("v5e:2x4", "v5litepod-8", 8, 16_128 * _MIB),
    Topology("v5e:1x1", "v5litepod-1", 1, 16_128 * _MIB, is_single_chip=True),
    Topology("v3:2x2", "v3-8", 8, 15_851 * _MIB),
    Topology("v2:2x2", "v2-8", 8, 7_659 * _MIB),
    Topology("v6e:2x4", "v6e-8", 8, 32_000 * _MIB),
    Topology("v6e:1x1", "v6e-1", 1, 32_000 * _MIB, is_single_chip=True),
)
CPU = Topology("cpu", "", 8, None, clock=1.0)
"""What XLA's compiler for the CPU compiles for, where it stands in for the TPU's."""

TOPOLOGIES: Mapping[str, Topology] = {topology.name: topology for topology in _ALL_TOPOLOGIES}


def find_topology(name: str) -> Topology:
    """The topology of this name.

    Raises:
        TandemError: There is none.
    """
    try:
        return TOPOLOGIES[name]
    except KeyError:
        near = did_you_mean(name, TOPOLOGIES) or f" It can be {', '.join(TOPOLOGIES)}."
        raise TandemError(f'There is no topology "{printable(name)}" to compile for.{near}') from None


# What one compiled step costs on one core of an accelerator: plain data, for whoever plans with it.


@dataclass(frozen=True)
class StepCost:
    """The compiler's figures of one step; all of them per core and step.

    Attributes:
        what: "train" or "predict"; the name of the function where a notebook has steps of its own.
        framework: "keras", "jax", "torch" or "tensorflow".
        topology: What it was compiled for: "v5e:2x4", "v3:2x2"; "cpu" where the TPU's compiler is not there.
        cores: The cores that the step runs on.
        batch_per_core: Examples that one core gets in a step; 0 where no argument is a batch.
        flops: Floating-point operations.
        bytes_moved: Bytes to and from memory; under "cpu" those of XLA's CPU compiler, which say nothing of a TPU.
        peak_memory: The most bytes that are in use at once, or None where that is not known.
        memory_limit: The bytes that a program has of a core's memory, or None where that is not known.
        padding: Bytes of results in memory as they are tiled, over their bytes without padding; None if not known.
        cycles_seconds: The compiler's own estimate of the time without scatters and collectives; None if not known.
        collectives: How often each operation between the cores occurs, such as {"all-reduce": 2}.
        parameters: How many numbers the model has, its optimizer's not counted; 0 where that is not known.
        batch_bytes: Bytes of the batch that the host sends.
        compile_seconds: How long the compiler took; for a step out of the cache, how long it took then.
        cell: The name of the notebook's cell that runs the step.
        line: The line of that cell.
        in_cache: Whether the figures come out of the cache.
    """

    what: str
    framework: str
    topology: str
    cores: int
    batch_per_core: int
    flops: float
    bytes_moved: float
    peak_memory: int | None
    memory_limit: int | None
    padding: float | None
    cycles_seconds: float | None
    collectives: Mapping[str, int]
    parameters: int
    batch_bytes: int
    compile_seconds: float
    cell: str = ""
    line: int | None = None
    in_cache: bool = False


@dataclass(frozen=True)
class CompilerProblem:
    """Something that would fail, or cost time, on a TPU.

    Attributes:
        kind: "error" (the notebook does not reach its step), "refused", "memory", "recompilation", "one-core",
            "on-host", "padding", "time-limit" or "died".
        sentence: What is wrong.
        remedy: What to do.
        cell: The name of the cell, or "".
        line: The line of the cell, counted from 1, or None.
    """

    kind: str
    sentence: str
    remedy: str
    cell: str = ""
    line: int | None = None

    @property
    def is_error(self) -> bool:
        """Whether the notebook would fail for it; else it costs time."""
        return self.kind in ("error", "refused", "memory", "died")


@dataclass(frozen=True)
class LargestBatch:
    """The largest batch of a training step that fits into the memory of a core.

    Attributes:
        batch_per_core: Examples a core, a multiple of 8; 0 if not even 8 fit.
        peak_memory: What the step then takes, or None if no compilation confirmed it.
        compilations: How many it took to find.
    """

    batch_per_core: int
    peak_memory: int | None
    compilations: int


@dataclass
class CompileReport:
    """The compiler's word on a notebook, filled in as it is heard.

    Attributes:
        topology: What was compiled for; "cpu" if the TPU's compiler is not there.
        compiler: The compiler and its version, such as "libtpu 0.0.42.1".
        steps: The cost of each step that compiled, in the order of their calls.
        problems: What is wrong.
        unknown: What could not be known, a sentence each.
        largest_batch: Of the training step, where it was asked for or the notebook's own batch does not fit.
        seconds: How long it all took, with the notebook's own cells.
    """

    topology: str
    compiler: str
    steps: list[StepCost] = field(default_factory=list)
    problems: list[CompilerProblem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    largest_batch: LargestBatch | None = None
    seconds: float = 0.0


# The events of the worker, made a report: what a notebook's process says is read as anybody's text.


_LONGEST = 400
_MOST = 50  # events
_MOST_COUNT, _MOST_NUMBER = 1 << 53, 1e24  # of what a notebook's process says
_ON_THE_WAY = {"progress", "ask", "keep"}
_WASTEFUL_PADDING = 1.3
_WASTED_BYTES = 1e9  # a step: about a millisecond of a core's memory; a small model's padding costs nothing
_MULTIPLE = 8
GIB = 1 << 30


@dataclass
class ReportBuilder:
    """What the worker told so far, which fills in a report."""

    topology: Topology
    report: CompileReport
    framework: str = "jax"
    is_done: bool = False
    is_unseen: bool = False  # the steps, for want of what would run them
    events: list[JsonObject] = field(default_factory=list)

    def add(self, event: JsonObject) -> None:
        """Takes one event in."""
        if len(self.events) >= _MOST or not event or not event.keys().isdisjoint(_ON_THE_WAY):
            return
        self.events.append(event)
        self.framework = _text(event, "framework") or self.framework
        self.is_done = self.is_done or event.flag("done")
        self.is_unseen = self.is_unseen or event.flag("unseen")
        if (unknown := _text(event, "unknown")) and unknown not in self.report.unknown:
            self.report.unknown.append(unknown)
        takers = {
            "failed": self._failure,
            "refused": self._refusal,
            "recompilation": self._recompilation,
            "one_core": self._one_core,
            "on_host": self._on_host,
            "whole_batch": self._whole_batch,
            "memory": self._memory,
            "largest": self._largest_batch,
            "figures": self._step,
        }
        for name, take in takers.items():
            if name in event:
                take(event)

    def finish(self) -> None:
        """Adds the remedy that takes all events: the largest batch to one that does not fit."""
        largest, problems = self.report.largest_batch, self.report.problems
        if largest is None:
            return
        size = largest.batch_per_core
        fallback = f"Make the model smaller: of {largest.compilations} smaller batches that were tried, none fits."
        remedy = f"Use at most {size} examples per core and step." if size else fallback
        problems[:] = [replace(problem, remedy=remedy) if problem.kind == "memory" else problem for problem in problems]

    @property
    def _compiled_for(self) -> Topology:
        """A step that TensorFlow compiles is compiled for the CPU wherever libtpu is."""
        return CPU if self.framework == "tensorflow" else self.topology

    def _problem(self, kind: str, event: JsonObject, sentence: str, remedy: str) -> None:
        self.report.problems.append(
            CompilerProblem(kind, sentence, remedy, _text(event, "cell"), _count(event, "line") or None)
        )

    def _failure(self, event: JsonObject) -> None:
        sentence = f"The notebook stops before its steps are seen: {_text(event, 'failed')}"
        if self.report.steps:
            return
        remedy = "Run it here with `tandem run` first. If it needs files, pass them to the check."
        self._problem("error", event, sentence, remedy)

    def _refusal(self, event: JsonObject) -> None:
        name = "XLA" if self._compiled_for is CPU else f"The compiler for {self.topology.name}"
        sentence = f"{name} refuses the step {_text(event, 'step')}: {_first_sentence(event.text('refused'))}"
        remedy = "Move the operation to the host, into the input pipeline, or use one that the compiler supports."
        self._problem("refused", event, sentence, remedy)

    def _recompilation(self, event: JsonObject) -> None:
        shapes = event.get("recompilation")
        shape_texts = [printable(str(shape))[:80] for shape in shapes[:4]] if isinstance(shapes, list) else []
        sentence = f"The step {_text(event, 'step')} is compiled again for each new shape: {'; '.join(shape_texts)}."
        remedy = "Give every step the same shapes: drop the last batch with drop_remainder=True, or pad it."
        self._problem("recompilation", event, sentence, remedy)

    def _one_core(self, event: JsonObject) -> None:
        sentence = f"The step {_text(event, 'step')} runs on one of {self.topology.cores} cores."
        method = "keras.distribution.DataParallel, or a jax.sharding.Mesh over all devices"
        if self.framework == "torch":
            method = "torch_xla.runtime.use_spmd(), and mark_sharding over an xs.Mesh of all devices"
        remedy = f"Split the batch: {method}."
        self._problem("one-core", event, sentence, remedy)

    def _on_host(self, event: JsonObject) -> None:
        sentence = f"PyTorch/XLA leaves {_text(event, 'on_host')} to the host, in the step {_text(event, 'step')}."
        remedy = "Use operations whose shapes are constant, such as torch.where for a mask, or move it to the loader."
        self._problem("on-host", event, sentence, remedy)

    def _whole_batch(self, event: JsonObject) -> None:
        cores = _count(event, "whole_batch")
        sentence = f"Each of {cores} cores takes the step {_text(event, 'step')} with the same whole batch."
        method = "jax.device_put with NamedSharding(mesh, PartitionSpec(axis))"
        if self.framework == "torch":
            method = 'MpDeviceLoader with input_sharding, or xs.mark_sharding(batch, mesh, ("data", None, ...))'
        remedy = f"Split the batch over its first axis: {method}."
        self._problem("one-core", event, sentence, remedy)

    def _memory(self, event: JsonObject) -> None:
        needed_bytes, limit = _count(event, "memory"), self.topology.memory_limit or 0
        needs = f"needs {needed_bytes / GIB:.1f} GiB" if needed_bytes else "needs more memory than there is"
        sentence = (
            f"A batch of {_count(event, 'batch_per_core'):,} a core does not fit: the step {needs} "
            f"of a core's {limit / GIB:.1f} GiB."
        )
        self._problem("memory", event, sentence, "Use a smaller batch per core.")

    def _largest_batch(self, event: JsonObject) -> None:
        section = event.section("largest")
        peak = _count(section, "peak_memory") or None
        self.report.largest_batch = LargestBatch(
            _count(section, "batch_per_core"), peak, _count(section, "compilations")
        )

    def _step(self, event: JsonObject) -> None:
        figures, topology = event.section("figures"), self._compiled_for
        padding = _number(figures, "padding")
        batch = _count(event, "batch_per_core")
        collectives = figures.section("collectives")
        self.report.steps.append(
            StepCost(
                what=_text(event, "what") or _text(event, "step"),
                framework=_text(event, "framework") or self.framework,
                topology=topology.name,
                cores=_count(event, "cores") or 1,
                batch_per_core=batch,
                flops=_number(figures, "flops") or 0.0,
                bytes_moved=_number(figures, "bytes_moved") or 0.0,
                peak_memory=_count(figures, "peak_memory") or None,
                memory_limit=topology.memory_limit,
                padding=padding,
                cycles_seconds=_number(figures, "cycles_seconds"),
                collectives={printable(name)[:40]: _count(collectives, name) for name in sorted(collectives)[:20]},
                parameters=_count(event, "parameters"),
                batch_bytes=_count(event, "batch_bytes"),
                compile_seconds=_number(figures, "compile_seconds") or _number(event, "compile_seconds") or 0.0,
                cell=_text(event, "cell"),
                line=_count(event, "line") or None,
                in_cache=figures.flag("in_cache"),
            )
        )
        traffic = _number(figures, "bytes_moved") or 0.0
        if padding is not None and padding > _WASTEFUL_PADDING and traffic * (1 - 1 / padding) > _WASTED_BYTES:
            multiple = "" if batch % _MULTIPLE == 0 else f" A batch of {batch} a core is no multiple of {_MULTIPLE}."
            sentence = f"The step's results take {padding:.1f} times their size in memory, for padding.{multiple}"
            remedy = "Give a core more examples, in multiples of 8 and at best 128; features in multiples of 128."
            self._problem("padding", event, sentence, remedy)


def _count(event: JsonObject, name: str) -> int:
    """A whole number that can be reckoned with, or 0."""
    value = event.count(name)
    return value if 0 <= value <= _MOST_COUNT else 0


def _number(event: JsonObject, name: str) -> float | None:
    value = event.number(name)
    return value if value is not None and 0 <= value <= _MOST_NUMBER else None


def _text(event: JsonObject, name: str) -> str:
    return printable(strip_ansi(event.text(name)[:_LONGEST]))


def _first_sentence(message: str) -> str:
    """The line of a compiler's message that says most: the first that is no frame of a traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return printable(lines[0][:_LONGEST]) if lines else "it does not say why"


# The cells of a notebook as the worker takes them.


_LONGEST_NAME = 200
_KAGGLE_INPUT, _KAGGLE_WORKING = "/kaggle/input", "/kaggle/working"


def code_cells(target: NotebookTarget, *, input_root: Path, working: Path) -> list[dict[str, Any]]:
    """The code cells as the worker takes them: with its folders, and parameters set below the cell that has them.

    Raises:
        TandemError: The file is no notebook.
    """
    cells: list[dict[str, Any]] = []
    is_set, roots = False, root_parameters(input_root, working)
    for position, cell in enumerate(load_notebook_v4(target.path).cells, start=1):
        if cell.cell_type != "code":
            continue
        source = cell.source.replace(_KAGGLE_INPUT, str(input_root)).replace(_KAGGLE_WORKING, str(working))
        source = source.encode(errors="replace").decode()  # half of a surrogate pair is in no file
        cells.append({"name": _name(cell, position), "source": source, "own": False})
        if not is_set and has_tag(cell, PARAMETERS_TAG):
            is_set = True
            cells.append({"name": "", "source": _assignments(target, cell.source, roots), "own": True})
    return cells


def _assignments(target: NotebookTarget, parameters_cell: str, roots: Mapping[str, object]) -> str:
    """Statements that make a rendered notebook take 8 devices of a CPU for those of a TPU."""
    defaults = read_parameters(parameters_cell)
    kit_values: dict[str, object] = {"ALLOW_CPU": True, "ACCELERATOR": "cpu", **roots, **OFF_COLAB}
    if defaults.get("PRECISION") == "auto":
        kit_values["PRECISION"] = "mixed_bfloat16"
    values = {name: value for name, value in kit_values.items() if name in defaults} | dict(target.parameters)
    return "\n".join(f"{name} = {python_literal(value)}" for name, value in values.items())


def _name(cell: Any, position: int) -> str:
    """The name of a cell: its id where somebody chose it, or its place."""
    name = str(cell.metadata.get("name") or "")
    identity = str(cell.get("id", ""))
    is_chosen = bool(identity) and not all(character in "0123456789abcdef" for character in identity.replace("-", ""))
    return (name or (identity if is_chosen else f"cell {position}"))[:_LONGEST_NAME]


# The key of a whole report: the notebook, its inputs as the file system lists them, and what compiles it.


_PACKAGES = (
    *("jax", "jaxlib", "libtpu", "keras", "tensorflow", "tensorflow-cpu", "numpy", "flax", "optax"),
    *("torch", "torch-xla", "timm", "transformers"),
)
_MOST_FILES = 200_000


def report_fingerprint(target: NotebookTarget, options: CompileOptions) -> str | None:
    """The SHA-256 of what a report depends on; None where there are too many files to look at each time.

    Raises:
        FileReadError: The notebook cannot be read.
    """
    try:
        content = read_bytes(target.path)
    except OSError as error:
        raise FileReadError(path=target.path, cause=error) from error
    mounts = [str(mount.at) for mount in target.inputs]
    about = [asdict(options), dict(target.parameters), mounts, target.is_specimen, platform.python_version()]
    digest = hashlib.sha256(json.dumps([about, [installed_version(name) for name in _PACKAGES]], default=str).encode())
    digest.update(content)
    for module in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(module.read_bytes())
    for count, line in enumerate(line for mount in target.inputs for line in _listing(mount.source)):
        if count > _MOST_FILES:
            return None
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def _listing(folder: Path) -> Iterator[str]:
    """A line for each file, with its size and its time."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            try:
                status = path.stat()
            except OSError:
                continue
            yield f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n"


# What the compiler said of a program before, in the user's own cache folder: figures by the hash of the program.


_KEY = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 16  # bytes of an entry
_FORMAT = "2"  # another one where a program of the same text gets other figures


class ResultCache:
    """A folder with a file for each program; nothing depends on it, so whatever goes wrong with it goes unsaid."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _own_folder()

    def get(self, key: str) -> JsonObject | None:
        """What was kept under a key, or None."""
        return (read_json(self._folder / f"{key}.json", most=_LARGEST) or None) if _KEY.fullmatch(key) else None

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Keeps a value, as a whole or not at all."""
        content = json.dumps(value).encode()
        if not _KEY.fullmatch(key) or len(content) > _LARGEST:
            return
        with suppress(OSError, TandemError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            WorkspaceFiles(self._folder).write(self._folder / f"{key}.json", content, mode=0o600)


def _own_folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "tandem" / f"compiled-steps-{_FORMAT}"


# The process that compiles, as the kit sees it: its start, what it tells, and its end.


Progress = Callable[[str], None]

_SAY_AGAIN_SECONDS = 15.0
_LOOK_SECONDS = 0.5
_BEHIND_THE_END_SECONDS = 1.0
_MOST_PROGRESS, _MOST_KEPT = 1_000, 100  # lines that are shown, programs whose figures are kept
_LONGEST_LINE = 1 << 20
_PIECE, _LAST_PIECES = 4_096, 4
_PATIENCE = 5.0  # seconds
_LONGEST_ANSWER = 1 << 15  # half of what a pipe holds


@dataclass(frozen=True)
class Job:
    """What a worker is to do, in a folder of its own."""

    target: NotebookTarget
    options: CompileOptions
    topology: Topology
    private: Path
    compiler: str
    cache: ResultCache

    def run(self, event_log: ReportBuilder, progress: Progress, *, until: float) -> None:
        """Takes in what the worker tells, until it is done or the time is over, and leaves nothing of it behind."""
        input_root, working = self.private / "input", self.private / "working"
        working.mkdir()
        setup = self.target.lay_out(self.private, working=working, input_root=input_root, variables=self._variables())
        events, telling = os.pipe()
        answers_reader, answers = os.pipe()
        order = {
            **asdict(self.options),
            **asdict(self.topology),
            "topology": self.topology.name,
            "cells": code_cells(self.target, input_root=input_root, working=working),
            "read_only": [str(path) for path in setup.read_only],
            "compiler": self.compiler,
            "events": telling,
            "answers": answers_reader,
        }
        last_words = deque[bytes](maxlen=_LAST_PIECES)
        with tempfile.TemporaryFile() as stdin:
            stdin.write(json.dumps(order).encode())
            stdin.seek(0)
            process = subprocess.Popen(
                # Without -P the folder that the kit was started in could bring modules along.
                [sys.executable, "-P", "-m", "generator.tpu_compiler.worker.process"],
                env=kernel_environment(setup, base=os.environ),
                cwd=working,
                stdin=stdin,
                stdout=subprocess.PIPE,  # which a notebook may fill for minutes: the end alone is kept
                stderr=subprocess.STDOUT,
                pass_fds=(telling, answers_reader),
                start_new_session=True,
            )
            # A notebook that takes all memory is what Linux ends, and no other program of the user's.
            with suppress(OSError):
                Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
            reading = Thread(target=_read_end, args=(process.stdout, last_words), daemon=True)
            reading.start()
            os.close(telling)
            os.close(answers_reader)
            os.set_blocking(answers, False)  # nobody need read them, and the time limit is looked at here
            with (
                adopted_orphans() as orphans,
                os.fdopen(events, "rb") as incoming,
                os.fdopen(answers, "wb") as outgoing,
            ):
                try:
                    conversation = _Conversation(process, self, outgoing.fileno(), event_log, progress)
                    in_time = conversation.listen(incoming, until)
                finally:
                    with deferred_interrupts():
                        with suppress(ProcessLookupError, PermissionError):
                            os.killpg(process.pid, signal.SIGKILL)
                        process.wait()
                        end_processes_of(self.private / "home")  # what left its group
                        orphans.end()  # what has another HOME as well
        reading.join(_PATIENCE)
        if in_time and not event_log.is_done:
            event_log.report.problems.append(_death(b"".join(last_words)))

    def _variables(self) -> dict[str, str]:
        home = self.private / "home"
        home.mkdir()
        return {
            "HOME": str(home),
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "PJRT_DEVICE": "CPU",
            "CPU_NUM_DEVICES": str(self.topology.cores),
            "XLA_IR_DEBUG": "1",  # operations know the lines that they come from
            "XLA_HLO_DEBUG": "1",
            "MPLBACKEND": "agg",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={self.topology.cores}",
            # libtpu looks for a TPU and for the service of Google's machines that describes it; and it takes a lock,
            # which compiling does not need.
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": self.topology.accelerator_type,
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_LOG_DIR": str(self.private / "tmp"),
        }


@dataclass
class _Conversation:
    """What a process says and is answered, within bounds: the notebook in it can say anything as well."""

    process: subprocess.Popen[bytes]
    job: Job
    answers: int
    event_log: ReportBuilder
    progress: Progress
    doing: str = ""
    since: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    lines: int = 0
    kept_count: int = 0

    def listen(self, events: IO[bytes], until: float) -> bool:
        """Takes in events until the process is done or has ended; False if the time was over before.

        The end of the pipe does not tell: what a notebook started has it as well, and may outlive the process.
        """
        has_ended, rest = False, b""
        with selectors.DefaultSelector() as selector:
            selector.register(events, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0:
                if not has_ended and self.process.poll() is not None:
                    has_ended, until = True, min(until, time.monotonic() + _BEHIND_THE_END_SECONDS)
                if selector.select(0 if has_ended else min(left, _LOOK_SECONDS)):
                    chunk = os.read(events.fileno(), 1 << 16)
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._take(JsonObject.parse(line))
                    if not chunk or len(rest) > _LONGEST_LINE or self.event_log.is_done:
                        return True
                elif has_ended:
                    return True
                else:
                    self._say_again()
        if not has_ended:
            self.event_log.report.problems.append(_too_late(self.doing))
        return has_ended

    def _take(self, event: JsonObject) -> None:
        if doing := printable(event.text("progress")[:200]):
            self.doing, self.since, self.lines = doing, time.monotonic(), self.lines + 1
            if self.lines <= _MOST_PROGRESS:
                self.last = self.since
                self.progress(doing)
        if key := event.text("ask"):
            figures = json.dumps(self.job.cache.get(self._key(key))).encode()
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self.answers, (figures if len(figures) <= _LONGEST_ANSWER else b"null") + b"\n")
        elif (key := event.text("keep")) and self.kept_count < _MOST_KEPT:
            self.kept_count += 1
            self.job.cache.put(self._key(key), event.section("figures"))
        self.event_log.add(event)

    def _say_again(self) -> None:
        if time.monotonic() - self.last > _SAY_AGAIN_SECONDS:
            self.last = time.monotonic()
            self.progress(f"{self.doing}, {self.last - self.since:.0f} s")

    def _key(self, program: str) -> str:
        """The key of a program's figures, of this notebook alone: what another one says of that program is untrusted.

        It goes by the path, so that figures of programs which an edit of the notebook leaves alone are found again.
        """
        about = json.dumps([os.path.realpath(self.job.target.path), program])
        return hashlib.sha256(about.encode()).hexdigest()


def _too_late(doing: str) -> CompilerProblem:
    sentence = f"The time limit ended while the process {doing or 'started'}. Some steps were not compiled."
    return CompilerProblem("time-limit", sentence, "Set a longer time. The compiled steps are in the cache.")


def _read_end(stream: IO[bytes] | None, pieces: deque[bytes]) -> None:
    """Reads a pipe until there is no more; the pieces keep its end."""
    while stream is not None and (piece := os.read(stream.fileno(), _PIECE)):
        pieces.append(piece)


def _death(last_words: bytes) -> CompilerProblem:
    last = last_words.decode(errors="replace").strip().splitlines()[-3:]
    quotation = " ".join(printable(line)[:300] for line in last)
    return CompilerProblem(
        "died",
        f"The compiling process ended by itself. {f'It said last: {quotation}' if quotation else 'It said nothing.'}",
        "Check its memory: compiling a large model takes several GB.",
    )


__all__ = ["CompileOptions", "NotebookTarget", "compile_steps", "pair_notebook"]

_NOT_KNOWN_WITHOUT = (
    "libtpu is not installed, so the TPU's compiler has not seen the step: whether it takes every operation, and how "
    "much memory, traffic, padding and time the step takes on a TPU, is not known. FLOPs are known, and whether JAX "
    "lowers the step for a TPU."
)


def compile_steps(
    target: NotebookTarget,
    options: CompileOptions | None = None,
    *,
    progress: Progress = lambda _line: None,
    cache: ResultCache | None = None,
) -> CompileReport:
    """Runs a notebook until its steps are caught, on 8 virtual devices, and has them compiled.

    Args:
        target: The notebook and its inputs.
        options: What to compile for.
        progress: Hears what is being done, a line each.
        cache: What the compiler said before; the user's own by default.

    Returns:
        The report; a notebook that fails and a step that is refused are problems of it.

    Raises:
        TandemError: The notebook cannot be read, there is no such topology, or the extra `run` is not installed.
        KeyboardInterrupt: A signal asked for the end.
    """
    options, cache, start_time = options or CompileOptions(), cache or ResultCache(), time.monotonic()
    tpu_topology = find_topology(options.topology)
    compiler = installed_version("libtpu") if options.use_libtpu else ""
    topology = tpu_topology if compiler else CPU
    jaxlib = installed_version("jaxlib") or "that is missing"
    compiler_name = f"libtpu {compiler}" if compiler else f"XLA for the CPU, jaxlib {jaxlib}"
    report = CompileReport(topology.name, compiler_name)
    event_log = ReportBuilder(topology, report)
    if topology is CPU:
        report.unknown.append(_NOT_KNOWN_WITHOUT)
    if target.is_specimen:
        report.unknown.append("The notebook ran on a specimen: shapes that come from the data may be others.")
    key = report_fingerprint(target, options)
    cache_entry = cache.get(key) if key else None
    if cache_entry is not None:
        for event in cache_entry.sections("events"):
            event_log.add(_as_kept(event))
    else:
        require_packages()
        # All of them end the process that compiles.
        with (
            handled_signals(signal.default_int_handler),
            private_folder() as private,
        ):
            job = Job(target, options, topology, private, compiler_name, cache)
            job.run(event_log, progress, until=start_time + options.time_limit)
        if key and event_log.is_done:
            cache.put(key, {"events": event_log.events})
    event_log.finish()
    if not report.steps and not report.problems and not event_log.is_unseen:
        report.unknown.append(
            "The notebook called no step under jax.jit, jax.pmap, Keras's fit, tf.function or torch_xla.sync. Nothing "
            "was compiled."
        )
    report.seconds = time.monotonic() - start_time
    return report


def _as_kept(event: JsonObject) -> JsonObject:
    if "figures" not in event:
        return event
    return JsonObject(event | {"figures": event.section("figures") | {"in_cache": True}})
