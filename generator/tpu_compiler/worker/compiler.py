"""Compiles a caught step, and finds the place of what the compiler refuses."""

import contextlib
import hashlib
import math
import re
import time
from collections.abc import Callable
from typing import Any

import jax

from generator.tpu_compiler.worker.batch_search import Fit, largest_batch
from generator.tpu_compiler.worker.cells import Notebook, Place
from generator.tpu_compiler.worker.program_text import read_program
from generator.tpu_compiler.worker.step import Step

_GIB = 1 << 30
_NEEDED = re.compile(
    r"(?:Used|total memory required[^(]*\(|requires?) ?\(?([\d.]+)([KMGT]) of|temporaries \(([\d.]+)([KMGT])\)"
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Figures = dict[str, Any]
Recall = Callable[[str], Figures | None]
"""Asks for what was said of a program before, by its key."""


class Compiler:
    """The TPU's compiler for one topology, or XLA's for the CPU."""

    def __init__(self, order: dict[str, Any], recall: Recall, told: Callable[[dict[str, Any]], None]) -> None:
        self._topology = order["topology"]
        self._limit: int | None = order["memory_limit"]
        self._clock: float = order["clock"]
        self._identity = f"{order['compiler']} {jax.__version__} {self._topology}"
        self._recall, self._told = recall, told

    @property
    def is_for_tpu(self) -> bool:
        """Whether this is libtpu."""
        return bool(self._topology != "cpu")

    def figures(self, step: Step, lowered: Any) -> Figures:
        """What the compiler says of a step, or said; `error` is its message, where it refuses."""
        key = hashlib.sha256(f"{self._identity}\n{lowered.as_text()}".encode()).hexdigest()
        known = self._recall(key)
        if known is not None:
            return known | {"in_cache": True}
        self._told({"progress": f"compiles {step.what} for {self._topology}, {step.name}"})
        started = time.monotonic()
        try:
            with _no_other_cache():
                program = lowered.compile()
        except Exception as error:  # noqa: BLE001 - whatever the compiler says
            figures: Figures = {"error": f"{type(error).__name__}: {error}"[:20_000]}
        else:
            figures = self._read(lowered, program, step.cores)
        figures["compile_seconds"] = round(time.monotonic() - started, 2)
        self._told({"keep": key, "figures": figures})
        return figures

    def _read(self, lowered: Any, program: Any, cores: int) -> Figures:
        cost, memory = program.cost_analysis() or {}, program.memory_analysis()
        facts = read_program(program.as_text())
        flops = float(cost.get("flops", 0.0))
        if not self.is_for_tpu:
            # XLA's compiler for the CPU counts depthwise convolutions many times over; before it, nothing is split yet.
            flops = float((lowered.cost_analysis() or {}).get("flops", flops * cores)) / cores
        return {
            "flops": flops,
            "bytes_moved": float(cost.get("bytes accessed", 0.0)),
            "peak_memory": int(memory.peak_memory_in_bytes) if self.is_for_tpu else None,
            "padding": facts.padding,
            "cycles_seconds": facts.cycles / self._clock if facts.cycles and self.is_for_tpu else None,
            "collectives": facts.collectives,
        }

    def fit(self, step: Step, lowered: Any, batch: int) -> Fit:
        """Whether a step fits into memory; one that is refused for another reason does not."""
        figures = self.figures(step, lowered)
        if error := figures.get("error"):
            return Fit(batch, needed_memory(error), does_fit=False)
        peak = figures["peak_memory"]
        return Fit(batch, peak, does_fit=peak is None or self._limit is None or peak <= self._limit)

    def largest_batch(self, step: Step, known: Fit, lower: Callable[[int], Any]) -> dict[str, Any]:
        """The largest batch of a step that fits, found in few compilations."""
        fixed = sum(_bytes(leaf) for place, leaf in enumerate(step.arguments) if place not in step.batch)
        found, compilations = largest_batch(
            known,
            fixed=fixed,
            limit=self._limit or 0,
            compiled=lambda batch: self.fit(step, lower(batch), batch),
        )
        return {
            "batch_per_core": found.batch if found else 0,
            "peak_memory": found.memory if found else None,
            "compilations": compilations,
        }


def batch_bytes(step: Step) -> int:
    """The bytes of a core's batch."""
    return sum(_bytes(step.arguments[place]) for place in step.batch) // step.parts if step.batch else 0


def _bytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else 0


def is_about_memory(message: str) -> bool:
    """Whether a compiler refuses a program for want of memory."""
    return "RESOURCE_EXHAUSTED" in message or "Ran out of memory" in message


def needed_memory(message: str) -> int | None:
    """The bytes that a program would need, from the compiler's message."""
    found = _NEEDED.search(message)
    if not found:
        return None
    number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
    return int(float(number) * _UNITS[unit])


def refused_place(message: str, lowered: Any, notebook: Notebook) -> Place | None:
    """The cell and line of the operation that a compiler's message is about."""
    if place := notebook.place_in_text(message):
        return place
    names = re.findall(r'op_name="([^"]+)"', message)
    text = lowered.as_text(debug_info=True) if names else ""
    for name in names:
        at = text.find(name)
        if at >= 0 and (place := notebook.place_in_text(text[at : at + 2_000])):
            return place
    return None


def place_of_primitive(step: Step, name: str, notebook: Notebook) -> Place | None:
    """The cell and line of the first operation of this name in a step, as JAX traces it."""
    try:
        todo = [step.trace(step.arguments).jaxpr.jaxpr]
    except Exception:  # noqa: BLE001 - the notebook's own code is traced here
        return None
    while todo:
        for equation in todo.pop().eqns:
            if equation.primitive.name == name and equation.source_info.traceback is not None:
                return notebook.place_of_frames(equation.source_info.traceback.frames)
            inner = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda each: hasattr(each, "eqns"))
            todo += [getattr(each, "jaxpr", each) for each in inner if hasattr(each, "eqns")]
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
