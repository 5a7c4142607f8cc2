"""What stands in the text of an optimised program of XLA: padding, cycles, operations between cores."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_OPERATION = re.compile(rf" ({'|'.join(_COLLECTIVES)})(?:-start)?\(")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_TILED = re.compile(r"= (\w+)\[([\d,]*)\]\{([\d,]*):T\(([\d,]+)\)([^}]*)\}")
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
    cycles = [int(found) for found in _CYCLES.findall(entry)]
    logical = padded = 0
    for size, tiled_size in _results(entry):
        logical, padded = logical + size, padded + tiled_size
    return ProgramFacts(
        padding=round(padded / logical, 3) if logical else None,
        cycles=sum(cycles) if cycles else None,
        collectives=dict(sorted(Counter(_OPERATION.findall(text)).items())),
    )


def _results(entry: str) -> Iterator[tuple[int, int]]:
    """The bytes of each result in HBM, without padding and in tiles."""
    for kind, dimensions, order, tile, rest in _TILED.findall(entry):
        bits = _BITS.match(kind)
        if _ELSEWHERE in rest or not (bits or kind == "pred"):
            continue
        size = max(1, int(bits[1]) // 8) if bits else 1
        shape = [int(length) for length in (dimensions or "1").split(",")]  # a number alone takes a tile as well
        tiled = list(shape)
        for axis, by in zip((order or "0").split(","), reversed(tile.split(",")), strict=False):
            tiled[int(axis)] = -(-tiled[int(axis)] // int(by)) * int(by)
        yield math.prod(shape) * size, math.prod(tiled) * size
