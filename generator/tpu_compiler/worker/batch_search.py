"""The largest batch a core that fits: two points on the line of memory over batch, and one to confirm."""

from collections.abc import Callable
from dataclasses import dataclass

MULTIPLE = 8
_MOST_COMPILATIONS = 4
_CAUTION = 0.98  # a compiler that has room to spare uses some of it


@dataclass(frozen=True)
class Fit:
    """What the compiler said of a batch: the memory it takes, or would take where it does not fit; None if unknown."""

    batch: int
    memory: int | None
    does_fit: bool


def largest_batch(known: Fit, *, fixed: int, limit: int, compiled: Callable[[int], Fit]) -> tuple[Fit | None, int]:
    """Finds the largest multiple of 8 that fits into memory.

    Args:
        known: What was compiled already, of any batch.
        fixed: Bytes that a step takes whatever its batch: weights and optimizer.
        limit: The bytes that there are.
        compiled: Compiles the step for a batch.

    Returns:
        The largest batch that was seen to fit, or None if not even 8 do; and the number of compilations.
    """
    points = {known.batch: known}
    best = known if known.does_fit else None
    too_large = None if known.does_fit else known.batch
    for count in range(_MOST_COMPILATIONS):
        batch = _next(points, fixed=fixed, limit=limit, above=best.batch if best else 0, below=too_large)
        if batch is None:
            return best, count
        fit = points[batch] = compiled(batch)
        if fit.does_fit:
            best = fit
        else:
            too_large = batch
    return best, _MOST_COMPILATIONS


def _next(points: dict[int, Fit], *, fixed: int, limit: int, above: int, below: int | None) -> int | None:
    """The batch to try next, or None where nothing is left to be found out."""
    # Batches that are padded to one length take the same: of those that do not fit, the smallest alone is of use.
    useful = [fit for fit in points.values() if below is None or fit.batch <= below]
    measured = sorted((fit.batch, fit.memory) for fit in useful if fit.memory is not None)
    if not measured:
        guess = above * 2 if below is None else (above + below) // 2
    else:
        (low, low_memory), (high, high_memory) = [(0, fixed), *measured][-2:]
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
