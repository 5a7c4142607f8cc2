"""Run-length codes of masks: pairs of a start, counted from 1 down the columns, and a length."""

from typing import Any

from generator.competition.submission import SubmissionError
from generator.untrusted import quoted

_LARGEST_PIXELS = 1 << 28
_LONGEST_NUMBER = 10


class RunLengthError(SubmissionError):
    """A cell that is no run-length code of a mask of this size."""

    def __init__(self, *, key: str, problem: str) -> None:
        super().__init__(f'The run-length code of id "{quoted(key)}" {problem}.')


def mask_of(key: str, code: str, size: tuple[int, int] | None) -> Any:
    """The mask [1, height, width] of 0 and 1 that a code of an example stands for.

    Raises:
        RunLengthError: It is no such code, or leads out of the mask.
    """
    import numpy

    if size is None or min(size) < 1 or size[0] * size[1] > _LARGEST_PIXELS:
        raise RunLengthError(key=key, problem="is of a mask whose size is not known, or too large")
    height, width = size
    flat = numpy.zeros(height * width, dtype="uint8")
    parts = code.split()
    if len(parts) % 2 or not all(_is_whole(part) for part in parts):
        # Some competitions write a single 0 or -1 for an empty mask.
        if parts in (["0"], ["-1"]):
            return flat.reshape(1, height, width)
        raise RunLengthError(key=key, problem="is not made of pairs of whole numbers")
    for start, length in zip(map(int, parts[::2]), map(int, parts[1::2]), strict=True):
        if start < 1 or start - 1 + length > flat.size:
            raise RunLengthError(key=key, problem=f"leads out of its {height} x {width} pixels")
        flat[start - 1 : start - 1 + length] = 1
    return flat.reshape(width, height).T[None]


def _is_whole(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= _LONGEST_NUMBER
