"""What a compilation of a notebook's steps told, assembled from the worker's events."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from generator.errors import TandemError, did_you_mean
from generator.run.execution import strip_ansi
from generator.text import JsonObject, printable

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
