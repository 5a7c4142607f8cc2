"""Compiles caught steps, and searches for the largest batch that fits."""

import contextlib
import hashlib
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from generator.tpu_compiler.worker.cells import CellLine, Notebook
from generator.tpu_compiler.worker.steps import StepCall

# A program of any batch, from the texts of those of two: they differ in numbers alone, which lie on lines.


_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def program_of_length(programs: Mapping[int, str], length: int) -> str:
    """Returns a program in StableHLO for a batch of this length.

    Args:
        programs: The program's text for two lengths of the batch.
        length: That of the batch to write it for.

    Raises:
        ValueError: The two do not differ, or in more than numbers; or one has no whole number for this length.
    """
    (small_length, text), (large_length, other_text) = min(programs.items()), max(programs.items())
    if small_length == large_length:
        raise ValueError("it is not copied from the host, where its size could be changed")
    fragments = _NUMBER.split(text)
    if fragments != _NUMBER.split(other_text):
        raise ValueError("with a smaller one it computes other operations")

    def at_length(number: str, other_number: str) -> str:
        # A factor such as 1 / 128 changes nothing that a compiler tells.
        if number == other_number or not (number + other_number).isdecimal():
            return number
        growth, rest = divmod((int(other_number) - int(number)) * (length - small_length), large_length - small_length)
        if rest or int(number) + growth < 0:
            raise ValueError(f"a length in it, {number}, does not grow in step with the batch")
        return str(int(number) + growth)

    numbers = map(at_length, _NUMBER.findall(text), _NUMBER.findall(other_text))
    return "".join(part for pair in zip(fragments, [*numbers, ""], strict=True) for part in pair)


# What stands in the text of an optimised program of XLA: padding, cycles, operations between cores.


_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_OPERATION = re.compile(rf" ({'|'.join(_COLLECTIVES)})(?:-start)?\(")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_TILED_ARRAY = re.compile(r"= (\w+)\[([\d,]*)\]\{([\d,]*):T\(([\d,]+)\)([^}]*)\}")
_BITS = re.compile(r"[a-z]+(\d+)")
_ELSEWHERE = "S("  # any memory space but HBM: S(1) and, for scalars, S(6) are on the chip


@dataclass(frozen=True)
class ProgramFacts:
    """What a program's text tells: `padding` and `cycles` are None where it has no tiles and no estimates."""

    padding: float | None
    cycles: int | None
    collectives: dict[str, int]


def read_program(text: str) -> ProgramFacts:
    """Reads the text that a compiled program gives of itself."""
    start = text.find("\nENTRY ")
    entry = text[start:] if start >= 0 else text
    # Those of the parts are in those of what calls them.
    cycles = [int(number) for number in _CYCLES.findall(entry)]
    logical = padded_size = 0
    for size, tiled_size in _results(entry):
        logical, padded_size = logical + size, padded_size + tiled_size
    return ProgramFacts(
        padding=round(padded_size / logical, 3) if logical else None,
        cycles=sum(cycles) if cycles else None,
        collectives=dict(sorted(Counter(_OPERATION.findall(text)).items())),
    )


def _results(entry: str) -> Iterator[tuple[int, int]]:
    """The bytes of each result in HBM, without padding and in tiles."""
    for kind, dimensions, order, tile, rest in _TILED_ARRAY.findall(entry):
        bits = _BITS.match(kind)
        if _ELSEWHERE in rest or not (bits or kind == "pred"):
            continue
        size = max(1, int(bits[1]) // 8) if bits else 1
        shape = [int(length) for length in (dimensions or "1").split(",")]  # a number alone takes a tile as well
        tiled_shape = list(shape)
        for axis, by in zip((order or "0").split(","), reversed(tile.split(",")), strict=False):
            tiled_shape[int(axis)] = -(-tiled_shape[int(axis)] // int(by)) * int(by)
        yield math.prod(shape) * size, math.prod(tiled_shape) * size


# The largest batch a core that fits: two points on the line of memory over batch, and one to confirm.


MULTIPLE = 8
_MOST_COMPILATIONS = 4
_CAUTION = 0.98  # a compiler that has room to spare uses some of it


@dataclass(frozen=True)
class Fit:
    """What the compiler said of a batch: the memory it takes, or would take where it does not fit; None if unknown."""

    batch: int
    memory: int | None
    does_fit: bool


def largest_batch(
    first_fit: Fit, *, fixed_memory: int, limit: int, compile_batch: Callable[[int], Fit]
) -> tuple[Fit | None, int]:
    """Finds the largest multiple of 8 that fits into memory.

    Args:
        first_fit: What was compiled already, of any batch.
        fixed_memory: Bytes that a step takes whatever its batch: weights and optimizer.
        limit: The bytes that there are.
        compile_batch: Compiles the step for a batch.

    Returns:
        The largest batch that was seen to fit, or None if not even 8 do; and the number of compilations.
    """
    points = {first_fit.batch: first_fit}
    best = first_fit if first_fit.does_fit else None
    too_large = None if first_fit.does_fit else first_fit.batch
    for count in range(_MOST_COMPILATIONS):
        batch = _next(points, fixed_memory=fixed_memory, limit=limit, above=best.batch if best else 0, below=too_large)
        if batch is None:
            return best, count
        fit = points[batch] = compile_batch(batch)
        if fit.does_fit:
            best = fit
        else:
            too_large = batch
    return best, _MOST_COMPILATIONS


def _next(points: dict[int, Fit], *, fixed_memory: int, limit: int, above: int, below: int | None) -> int | None:
    """The batch to try next, or None where nothing is left to be found out."""
    # Batches that are padded to one length take the same: of those that do not fit, the smallest alone is of use.
    useful = [fit for fit in points.values() if below is None or fit.batch <= below]
    measurements = sorted((fit.batch, fit.memory) for fit in useful if fit.memory is not None)
    if not measurements:
        guess = above * 2 if below is None else (above + below) // 2
    else:
        (low, low_memory), (high, high_memory) = [(0, fixed_memory), *measurements][-2:]
        slope = max((high_memory - low_memory) / (high - low), 1.0)
        guess = int(high + (_CAUTION * limit - high_memory) / slope)
    smallest = above // MULTIPLE * MULTIPLE + MULTIPLE
    batch = max(guess // MULTIPLE * MULTIPLE, smallest)
    if below is not None:
        batch = min(batch, (below - 1) // MULTIPLE * MULTIPLE)
    if batch < smallest or batch in points:
        return None
    # A few per cent more are not worth minutes of compiling.
    is_close = above and batch < above * 1.05 and len(points) > 1
    return None if is_close else batch


_GIB = 1 << 30
_MEMORY_NEED = re.compile(
    r"(?:Used|total memory required[^(]*\(|requires?) ?\(?([\d.]+)([KMGT]) of|temporaries \(([\d.]+)([KMGT])\)"
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Figures = dict[str, Any]
Recall = Callable[[str], Figures | None]
"""Asks for what was said of a program before, by its key."""


class Compiler:
    """The TPU's compiler for one topology, or XLA's for the CPU."""

    def __init__(self, order: dict[str, Any], recall: Recall, tell: Callable[[dict[str, Any]], None]) -> None:
        self._topology = order["topology"]
        self._limit: int | None = order["memory_limit"]
        self._clock: float = order["clock"]
        self._identity = f"{order['compiler']} {jax.__version__} {self._topology}"
        self._recall, self._tell = recall, tell

    @property
    def is_for_tpu(self) -> bool:
        """Whether this is libtpu."""
        return bool(self._topology != "cpu")

    def figures(self, step: StepCall, lowering: Any) -> Figures:
        """What the compiler says of a step, or said; `error` is its message, where it refuses."""
        key = hashlib.sha256(f"{self._identity}\n{lowering.as_text()}".encode()).hexdigest()
        cached_figures = self._recall(key)
        if cached_figures is not None:
            return cached_figures | {"in_cache": True}
        self._tell({"progress": f"compiles {step.kind} for {self._topology}, {step.name}"})
        start_time = time.monotonic()
        try:
            with _no_other_cache():
                program = lowering.compile()
        except Exception as error:  # noqa: BLE001 - whatever the compiler says
            figures: Figures = {"error": f"{type(error).__name__}: {error}"[:20_000]}
        else:
            figures = self._read(lowering, program, step.cores)
        figures["compile_seconds"] = round(time.monotonic() - start_time, 2)
        self._tell({"keep": key, "figures": figures})
        return figures

    def _read(self, lowering: Any, program: Any, cores: int) -> Figures:
        cost, memory = program.cost_analysis() or {}, program.memory_analysis()
        facts = read_program(program.as_text())
        flops = float(cost.get("flops", 0.0))
        if not self.is_for_tpu:
            # XLA's compiler for the CPU counts depthwise convolutions many times over; before it, nothing is split yet.
            flops = float((lowering.cost_analysis() or {}).get("flops", flops * cores)) / cores
        return {
            "flops": flops,
            "bytes_moved": float(cost.get("bytes accessed", 0.0)),
            "peak_memory": int(memory.peak_memory_in_bytes) if self.is_for_tpu else None,
            "padding": facts.padding,
            "cycles_seconds": facts.cycles / self._clock if facts.cycles and self.is_for_tpu else None,
            "collectives": facts.collectives,
        }

    def fit(self, step: StepCall, lowering: Any, batch: int) -> Fit:
        """Whether a step fits into memory; one that is refused for another reason does not."""
        figures = self.figures(step, lowering)
        if error := figures.get("error"):
            return Fit(batch, needed_memory(error), does_fit=False)
        peak = figures["peak_memory"]
        return Fit(batch, peak, does_fit=peak is None or self._limit is None or peak <= self._limit)

    def largest_batch(self, step: StepCall, first_fit: Fit, lower: Callable[[int], Any]) -> dict[str, Any]:
        """The largest batch of a step that fits, found in few compilations."""
        fixed_memory = sum(_bytes(leaf) for place, leaf in enumerate(step.arguments) if place not in step.batch)
        best_fit, compilations = largest_batch(
            first_fit,
            fixed_memory=fixed_memory,
            limit=self._limit or 0,
            compile_batch=lambda batch: self.fit(step, lower(batch), batch),
        )
        return {
            "batch_per_core": best_fit.batch if best_fit else 0,
            "peak_memory": best_fit.memory if best_fit else None,
            "compilations": compilations,
        }


def batch_bytes(step: StepCall) -> int:
    """The bytes of a core's batch."""
    return sum(_bytes(step.arguments[place]) for place in step.batch) // step.parts if step.batch else 0


def _bytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else 0


def is_about_memory(message: str) -> bool:
    """Whether a compiler refuses a program for want of memory."""
    return "RESOURCE_EXHAUSTED" in message or "Ran out of memory" in message


def needed_memory(message: str) -> int | None:
    """The bytes that a program would need, from the compiler's message."""
    match = _MEMORY_NEED.search(message)
    if not match:
        return None
    number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    return int(float(number) * _UNITS[unit])


def refused_place(message: str, lowering: Any, notebook: Notebook) -> CellLine | None:
    """The cell and line of the operation that a compiler's message is about."""
    if place := notebook.place_in_text(message):
        return place
    names = re.findall(r'op_name="([^"]+)"', message)
    text = lowering.as_text(debug_info=True) if names else ""
    for name in names:
        at = text.find(name)
        if at >= 0 and (place := notebook.place_in_text(text[at : at + 2_000])):
            return place
    return None


def place_of_primitive(step: StepCall, name: str, notebook: Notebook) -> CellLine | None:
    """The cell and line of the first operation of this name in a step, as JAX traces it."""
    try:
        todo = [step.trace(step.arguments).jaxpr.jaxpr]
    except Exception:  # noqa: BLE001 - the notebook's own code is traced here
        return None
    while todo:
        for equation in todo.pop().eqns:
            if equation.primitive.name == name and equation.source_info.traceback is not None:
                return notebook.place_of_frames(equation.source_info.traceback.frames)
            inner = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda value: hasattr(value, "eqns"))
            todo += [getattr(value, "jaxpr", value) for value in inner if hasattr(value, "eqns")]
    return None


@contextlib.contextmanager
def _no_other_cache() -> Any:
    """JAX's own cache, which a notebook may have switched on, keeps programs to be run; these are not."""
    was = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", was)


# Every caught step given to the compiler, and what it says as events.


_PRIMITIVE = re.compile(r"primitive '?([\w.-]+)'?")
_LONGEST_REASON = 250  # characters of a Python error that are told


class CaughtSteps(Protocol):
    """The steps of a notebook; `is_complete` says whether an epoch was seen to its end."""

    notebook: Notebook
    steps: list[StepCall]
    is_complete: bool

    def lower(self, step: StepCall, arguments: list[Any]) -> Any:
        """The step with these arguments, as the compiler takes it."""


class StepCompilation:
    """The steps that a watch caught, given to a compiler one after the other."""

    def __init__(
        self, watch: CaughtSteps, compiler: Compiler, order: dict[str, Any], tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self._watch, self._compiler, self._order, self._tell = watch, compiler, order, tell

    def tell_all(self) -> None:
        """Compiles all."""
        if not self._watch.is_complete:
            self._tell({"unknown": "An epoch was not waited for to its end, where a ragged last batch would show."})
        for step in self._watch.steps:
            if step.kind == "predict" and not self._order["predict"]:
                continue
            if len(step.shapes) > 1:
                self._tell({"recompilation": list(step.shapes), **_at(step)})
            if self._compiler.is_for_tpu and 1 == step.cores < self._order["cores"] and step.kind == "train":
                self._tell({"one_core": True, **_at(step)})
            elif step.cores > 1 and step.kind == "train" and step.batch and step.parts == 1:
                self._tell({"whole_batch": step.cores, **_at(step)})
            self._compile(step)

    def _compile(self, step: StepCall) -> None:
        if step.error is not None:
            self._refused_by_jax(step, step.error)
            return
        batch, lowering, requested_batch = step.batch_per_core, step.lowering, self._order["batch_per_core"]
        if requested_batch and requested_batch != batch and batch:
            try:
                lowering = self._of_batch(step, requested_batch)
                batch = requested_batch
            except Exception as refusal:  # noqa: BLE001 - the notebook's own code is traced here
                self._knows_no_other(step, batch, refusal)
        if not self._compiler.is_for_tpu and not self._exports(step):
            return
        figures = self._compiler.figures(step, lowering)
        error = figures.get("error", "")
        if error and not is_about_memory(error):
            self._tell_refusal(step, error, refused_place(error, lowering, self._watch.notebook) or step.place)
            return
        if error:
            self._tell({"memory": needed_memory(error), "batch_per_core": batch, **_at(step)})
            fit = Fit(batch, needed_memory(error), does_fit=False)
        else:
            step_fields = {"batch_per_core": batch, "cores": step.cores, "parameters": step.parameters}
            size = batch_bytes(step) * batch // max(step.batch_per_core, 1)
            self._tell(
                {"figures": figures, "batch_bytes": size, "framework": step.framework, **step_fields, **_at(step)}
            )
            fit = Fit(batch, figures["peak_memory"], does_fit=True)
        if step.kind == "train" and batch and self._compiler.is_for_tpu and (error or self._order["largest_batch"]):
            self._find_largest(step, fit)

    def _find_largest(self, step: StepCall, fit: Fit) -> None:
        try:
            result = self._compiler.largest_batch(step, fit, lambda size: self._of_batch(step, size))
        except Exception as error:  # noqa: BLE001 - the notebook's own code is traced here
            self._knows_no_other(step, fit.batch, error)
        else:
            self._tell({"largest": result})

    def _knows_no_other(self, step: StepCall, batch: int, error: Exception) -> None:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        self._tell({"unknown": f"The step {step.name} was compiled for no other batch than {batch:,} a core: {reason}"})

    def _of_batch(self, step: StepCall, size: int) -> Any:
        return self._watch.lower(step, step.of_batch(size))

    def _exports(self, step: StepCall) -> bool:
        """Whether JAX lowers a step for the TPU, which needs no compiler and finds what has no TPU implementation."""
        try:
            step.export(step.arguments)
        except Exception as error:  # noqa: BLE001 - whatever the lowering says
            self._refused_by_jax(step, error)
            return False
        return True

    def _refused_by_jax(self, step: StepCall, error: Exception) -> None:
        """An error of the lowering, at the line that has the operation, or else that it passed through."""
        notebook, message = self._watch.notebook, f"{type(error).__name__}: {error}"
        match = _PRIMITIVE.search(message)
        place = place_of_primitive(step, match[1], notebook) if match else None
        error_place = notebook.place_of(error)
        self._tell_refusal(step, message, place or (error_place if error_place.line else step.place))

    def _tell_refusal(self, step: StepCall, message: str, place: CellLine) -> None:
        self._tell({"refused": message[:20_000], **_at(step), "cell": place.cell, "line": place.line})


def _at(step: StepCall) -> dict[str, Any]:
    return {"step": step.name, "what": step.kind, "cell": step.place.cell, "line": step.place.line}
