"""What a notebook is compiled for: plain data."""

from dataclasses import dataclass


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
