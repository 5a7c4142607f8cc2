"""How many devices a TPU session has, and what in a notebook depends on them."""

import ast

from generator.check.code import NotebookCode
from generator.check.syntax import walk

DEVICES = 8  # of a TPU v5e-8 and v3-8
_ROUNDS = 30  # names that are given names
_COUNTS = {
    "jax.device_count", "jax.local_device_count", "torch_xla.core.xla_model.xrt_world_size",
    "torch_xla.runtime.world_size", "torch_xla.runtime.global_runtime_device_count",
    "torch_xla.runtime.global_device_count", "torch_xla.core.xla_model.xla_device_count",
}  # fmt: skip
_DEVICE_LISTS = {
    "jax.devices", "jax.local_devices", "keras.distribution.list_devices",
    "torch_xla.core.xla_model.get_xla_supported_devices",
}  # fmt: skip
_QUERIES = {
    "tensorflow.config.list_logical_devices", "tensorflow.config.experimental.list_logical_devices",
    "jax.default_backend", "torch_xla.core.xla_model.xla_device_hw", "torch_xla.runtime.device_type",
    "jax.lib.xla_bridge.get_backend",
}  # fmt: skip
_ASKING = _QUERIES | _DEVICE_LISTS


class Devices:
    """What a notebook's code says of the devices that it runs on."""

    def __init__(self, code: NotebookCode) -> None:
        self.code = code
        self.names: set[str] = set()  # whose values depend on what the session runs on, in any scope
        self._deciding: set[ast.AST] = {each for each in code.nodes(ast.Attribute) if self.is_count(each)}
        self._deciding |= {each.node for each in code.calls if self.is_count(each.node) or each.name in _ASKING}
        if not self._deciding:
            return
        waiting = [(_names_in(target), _names_in(value), value) for target, value in code.bindings() if value]
        self.names = {name for names, _, value in waiting if self.decide(value) for name in names}
        for _ in range(_ROUNDS):
            found = {name for names, used, _ in waiting if used & self.names for name in names}
            if found <= self.names:
                break
            self.names |= found

    def number(self, node: ast.expr | None) -> float | None:
        """The number that an expression comes to on a TPU of eight devices, or None where that is not known."""
        return self.code.number(node, self._count)

    def number_on_one(self, node: ast.expr | None) -> float | None:
        """The number that an expression comes to where a session has one device, as without its TPU."""
        return self.code.number(node, self._count_of_one)

    def _count_of_one(self, node: ast.expr) -> float | None:
        return 1 if self.is_count(node) else None

    def _count(self, node: ast.expr) -> float | None:
        return DEVICES if self.is_count(node) else None

    def is_count(self, node: ast.AST) -> bool:
        """True for an expression that says over how many devices a step is split."""
        if isinstance(node, ast.Attribute):
            return node.attr == "num_replicas_in_sync"
        call = self.code.call(node)
        if call is None:
            return False
        if call.name == "len" and call.node.args:
            listed = self.code.call(self.code.resolved(call.node.args[0]))
            return listed is not None and listed.name in _DEVICE_LISTS
        return call.name in _COUNTS

    def decide(self, node: ast.AST) -> bool:
        """True if what the session runs on decides on an expression."""
        return bool(self._deciding) and any(
            each in self._deciding or (isinstance(each, ast.Name) and each.id in self.names) for each in walk(node)
        )


def _names_in(node: ast.expr) -> set[str]:
    return {each.id for each in walk(node) if isinstance(each, ast.Name)}
