"""The TPUs that can be compiled for: a name of the compiler's, with what its library wants to hear beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import TandemError, did_you_mean
from generator.untrusted import printable

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


_ALL = (
    Topology("v5e:2x4", "v5litepod-8", 8, 16_128 * _MIB),
    Topology("v5e:1x1", "v5litepod-1", 1, 16_128 * _MIB, is_single_chip=True),
    Topology("v3:2x2", "v3-8", 8, 15_851 * _MIB),
    Topology("v2:2x2", "v2-8", 8, 7_659 * _MIB),
    Topology("v6e:2x4", "v6e-8", 8, 32_000 * _MIB),
    Topology("v6e:1x1", "v6e-1", 1, 32_000 * _MIB, is_single_chip=True),
)
CPU = Topology("cpu", "", 8, None, clock=1.0)
"""What XLA's compiler for the CPU compiles for, where it stands in for the TPU's."""

TOPOLOGIES: Mapping[str, Topology] = {topology.name: topology for topology in _ALL}


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
