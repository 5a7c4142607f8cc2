"""What one compiled step costs on one core of an accelerator: plain data, for whoever plans with it."""

from collections.abc import Mapping
from dataclasses import dataclass


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
