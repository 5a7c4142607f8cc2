"""The TPU's devices in the place of the CPU's: the same shardings on another mesh."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding


class TpuMesh:
    """The devices that are compiled for; those of the CPU where `devices` is empty, and then nothing is swapped."""

    def __init__(self, devices: list[Any]) -> None:
        self.devices = devices
        self._meshes: dict[Any, Mesh] = {}

    def mesh(self, mesh: Any) -> Any:
        """A mesh of the same shape on these devices."""
        if not self.devices or not isinstance(mesh, Mesh) or mesh.devices.flat[0] in self.devices:
            return mesh
        if mesh not in self._meshes:
            chips = np.array(self.devices[: mesh.devices.size]).reshape(mesh.devices.shape)
            self._meshes[mesh] = Mesh(chips, mesh.axis_names, axis_types=mesh.axis_types)
        return self._meshes[mesh]

    def sharding(self, sharding: Any) -> Any:
        """A sharding on these devices; what is none, such as None, stays as it is."""
        if not self.devices or not isinstance(sharding, Sharding):
            return sharding
        if isinstance(sharding, NamedSharding):
            return NamedSharding(self.mesh(sharding.mesh), sharding.spec)
        return SingleDeviceSharding(self.devices[0])

    def tree(self, shardings: Any) -> Any:
        """A tree of shardings on these devices."""
        return jax.tree.map(self.sharding, shardings, is_leaf=lambda each: each is None or isinstance(each, Sharding))

    def abstract(self, leaves: list[Any]) -> list[Any]:
        """Shapes in place of arrays; what lies on no mesh goes along with what does."""
        named = [leaf.sharding for leaf in leaves if _is_on_a_mesh(leaf)]
        first = self.devices[0] if self.devices else jax.devices()[0]
        alone: Any = NamedSharding(self.mesh(named[0].mesh), PartitionSpec()) if named else SingleDeviceSharding(first)
        return [shape_of(leaf, self.sharding(leaf.sharding) if _is_on_a_mesh(leaf) else alone) for leaf in leaves]


def shape_of(leaf: Any, sharding: Any = None) -> Any:
    """The shape of an array, as JAX lowers it; what is none stays as it is."""
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        return leaf
    dtype = leaf.dtype if isinstance(leaf, jax.Array) else jax.dtypes.canonicalize_dtype(leaf.dtype)
    return jax.ShapeDtypeStruct(leaf.shape, dtype, sharding=sharding)


def _is_on_a_mesh(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and isinstance(leaf.sharding, NamedSharding)
