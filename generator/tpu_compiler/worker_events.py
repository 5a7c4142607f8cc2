"""The events of the worker, made a report: what a notebook's process says is read as anybody's text."""

from dataclasses import dataclass, field, replace

from generator.run.terminal_text import strip_ansi
from generator.tpu_compiler.report import CompileReport, LargestBatch, Problem
from generator.tpu_compiler.step_cost import StepCost
from generator.tpu_compiler.topologies import CPU, Topology
from generator.untrusted import JsonObject, printable

_LONGEST = 400
_MOST = 50  # events
_MOST_COUNT, _MOST_NUMBER = 1 << 53, 1e24  # of what a notebook's process says
_ON_THE_WAY = {"progress", "ask", "keep"}
_WASTEFUL_PADDING = 1.3
_WASTED_BYTES = 1e9  # a step: about a millisecond of a core's memory; a small model's padding costs nothing
_MULTIPLE = 8
GIB = 1 << 30


@dataclass
class Told:
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
            "failed": self._failed,
            "refused": self._refused,
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
        none = f"Make the model smaller: of {largest.compilations} smaller batches that were tried, none fits."
        remedy = f"Give a core at most {size} examples a step." if size else none
        problems[:] = [replace(each, remedy=remedy) if each.kind == "memory" else each for each in problems]

    @property
    def _compiled_for(self) -> Topology:
        """A step that TensorFlow compiles is compiled for the CPU wherever libtpu is."""
        return CPU if self.framework == "tensorflow" else self.topology

    def _problem(self, kind: str, event: JsonObject, sentence: str, remedy: str) -> None:
        self.report.problems.append(
            Problem(kind, sentence, remedy, _text(event, "cell"), _count(event, "line") or None)
        )

    def _failed(self, event: JsonObject) -> None:
        sentence = f"The notebook stops before its steps are seen: {_text(event, 'failed')}"
        if self.report.steps:
            return
        remedy = "Run it here with `tandem run` first; if it wants files, give them to the check."
        self._problem("error", event, sentence, remedy)

    def _refused(self, event: JsonObject) -> None:
        name = "XLA" if self._compiled_for is CPU else f"The compiler for {self.topology.name}"
        sentence = f"{name} refuses the step {_text(event, 'step')}: {_first_sentence(event.text('refused'))}"
        remedy = "Move the operation to the host, into the input pipeline, or take one that the compiler has."
        self._problem("refused", event, sentence, remedy)

    def _recompilation(self, event: JsonObject) -> None:
        shapes = event.get("recompilation")
        seen = [printable(str(shape))[:80] for shape in shapes[:4]] if isinstance(shapes, list) else []
        sentence = f"The step {_text(event, 'step')} is compiled again for each new shape: {'; '.join(seen)}."
        remedy = "Give every step the same shapes: drop the last batch with drop_remainder=True, or fill it up."
        self._problem("recompilation", event, sentence, remedy)

    def _one_core(self, event: JsonObject) -> None:
        sentence = f"The step {_text(event, 'step')} runs on one of {self.topology.cores} cores."
        how = "keras.distribution.DataParallel, or a jax.sharding.Mesh over all devices"
        if self.framework == "torch":
            how = "torch_xla.runtime.use_spmd(), and mark_sharding over an xs.Mesh of all devices"
        remedy = f"Split the batch: {how}."
        self._problem("one-core", event, sentence, remedy)

    def _on_host(self, event: JsonObject) -> None:
        sentence = f"PyTorch/XLA leaves {_text(event, 'on_host')} to the host, in the step {_text(event, 'step')}."
        remedy = "Take operations whose shapes are constant, such as torch.where for a mask, or move it to the loader."
        self._problem("on-host", event, sentence, remedy)

    def _whole_batch(self, event: JsonObject) -> None:
        cores = _count(event, "whole_batch")
        sentence = f"Each of {cores} cores takes the step {_text(event, 'step')} with the same whole batch."
        how = "jax.device_put with NamedSharding(mesh, PartitionSpec(axis))"
        if self.framework == "torch":
            how = 'MpDeviceLoader with input_sharding, or xs.mark_sharding(batch, mesh, ("data", None, ...))'
        remedy = f"Split the batch over its first axis: {how}."
        self._problem("one-core", event, sentence, remedy)

    def _memory(self, event: JsonObject) -> None:
        needed, limit = _count(event, "memory"), self.topology.memory_limit or 0
        needs = f"needs {needed / GIB:.1f} GiB" if needed else "needs more memory than there is"
        sentence = (
            f"A batch of {_count(event, 'batch_per_core'):,} a core does not fit: the step {needs} "
            f"of a core's {limit / GIB:.1f} GiB."
        )
        self._problem("memory", event, sentence, "Give a core a smaller batch.")

    def _largest_batch(self, event: JsonObject) -> None:
        found = event.section("largest")
        peak = _count(found, "peak_memory") or None
        self.report.largest_batch = LargestBatch(_count(found, "batch_per_core"), peak, _count(found, "compilations"))

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
        moved = _number(figures, "bytes_moved") or 0.0
        if padding is not None and padding > _WASTEFUL_PADDING and moved * (1 - 1 / padding) > _WASTED_BYTES:
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
