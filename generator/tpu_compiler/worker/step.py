"""A step as it was called, and which of its arguments are the batch."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from generator.tpu_compiler.worker.cells import Place


@dataclass
class Step:
    """A step as it was called: `arguments` are the leaves of its arguments, of which `batch` are those of the batch."""

    name: str
    what: str
    framework: str
    place: Place
    lower: Callable[[list[Any]], Any]
    export: Callable[[list[Any]], Any]
    trace: Callable[[list[Any]], Any]
    arguments: list[Any]
    batch: list[int]
    is_mapped: bool = False
    parameters: int = 0
    lowered: Any = None
    error: Exception | None = None
    shapes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen = [str(tuple(self.arguments[place].shape)) for place in self.batch[:3]]
        self.shapes[", ".join(seen)] = None  # in the order in which they come

    @property
    def cores(self) -> int:
        """The devices that it runs on."""
        if self.is_mapped:
            return int(self.arguments[self.batch[0]].shape[0]) if self.batch else jax.device_count()
        shardings = [leaf.sharding for leaf in self.arguments if hasattr(leaf, "sharding")]
        return max((sharding.num_devices for sharding in shardings), default=1)

    @property
    def batch_per_core(self) -> int:
        """Examples that a core gets; 0 where no argument is a batch."""
        if not self.batch:
            return 0
        leaf = self.arguments[self.batch[0]]
        if self.is_mapped:
            return int(leaf.shape[1]) if len(leaf.shape) > 1 else 0
        return int(leaf.shape[0]) // self.parts

    @property
    def parts(self) -> int:
        """Into how many parts the batch is split; 1 where every core gets all of it."""
        leaf = self.arguments[self.batch[0]]
        if self.is_mapped:
            return int(leaf.shape[0])
        return int(leaf.shape[0]) // max(int(leaf.sharding.shard_shape(leaf.shape)[0]), 1)

    def of_batch(self, per_core: int) -> list[Any]:
        """The arguments with another batch."""
        shape_of = {
            place: (leaf.shape[0], per_core, *leaf.shape[2:])
            if self.is_mapped
            else (per_core * self.parts, *leaf.shape[1:])
            for place in self.batch
            if (leaf := self.arguments[place]).shape
        }
        return [
            jax.ShapeDtypeStruct(shape_of[place], leaf.dtype, sharding=leaf.sharding) if place in shape_of else leaf
            for place, leaf in enumerate(self.arguments)
        ]


def model_of(fun: Any) -> Any:
    """The Keras model that a step of Keras's own belongs to."""
    owner = getattr(fun, "__self__", None)
    if owner is None and (getattr(fun, "__module__", "") or "").startswith("keras."):
        owner = inspect.getclosurevars(fun).nonlocals.get("self")
    return owner if hasattr(owner, "count_params") else None


def batch_places(leaves: list[Any], tree: Any, *, is_keras: bool, is_mapped: bool) -> list[int]:
    """The places of the batch: Keras says which; else what is split over its first axis, or came from the host."""
    arrays = [place for place, leaf in enumerate(leaves) if getattr(leaf, "shape", ())]
    if is_keras:
        state = tree.children()[0].children()[0].num_leaves
        return [place for place in arrays if place >= state]
    if not is_mapped:
        found = [place for place in arrays if _is_split(leaves[place])]
        found = found or [place for place in arrays if isinstance(leaves[place], np.ndarray)]
    else:
        found = []
    if not found and arrays:  # the last arguments of one length
        axis = 1 if is_mapped else 0
        length = leaves[arrays[-1]].shape[: axis + 1]
        for place in reversed(arrays):
            if leaves[place].shape[: axis + 1] != length:
                break
            found.append(place)
        found.reverse()
    return found


def _is_split(leaf: Any) -> bool:
    sharding = getattr(leaf, "sharding", None)
    return isinstance(sharding, NamedSharding) and bool(sharding.spec) and sharding.spec[0] is not None
