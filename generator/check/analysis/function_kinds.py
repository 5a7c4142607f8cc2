"""How a function of a notebook can be run, and the names in each framework that make it so."""

from enum import Flag, auto

from generator.check.syntax import Call, is_true


class Kind(Flag):
    """How a function is run."""

    NOTHING = 0
    TRACED = auto()  # its Python runs once, while it is compiled
    DEVICE = auto()  # and what was compiled runs on the TPU
    JAX = auto()  # by JAX, which has no AutoGraph
    TENSORFLOW = auto()
    TORCH = auto()  # lazily: its Python runs in every step, and the TPU behind it
    GRADIENT = auto()  # it computes one: a training step
    STEP = auto()  # a training step, or what it calls
    PMAP = auto()  # on each device by itself
    HOST = auto()  # in an input pipeline


JIT = {
    "jax.jit", "flax.nnx.jit", "equinox.filter_jit", "haiku.jit", "jax.experimental.pjit.pjit",
}  # fmt: skip
# Outside of a compiled function it runs eagerly: operation by operation, with Python's values.
SHARD_MAP = {"jax.shard_map", "jax.experimental.shard_map.shard_map", "flax.nnx.shard_map", "jax.smap"}
PMAP = {"jax.pmap", "flax.nnx.pmap", "equinox.filter_pmap", "flax.jax_utils.pmap"}
LOOPS = {"scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan"}
GRADIENTS = {
    "jax.grad", "jax.value_and_grad", "flax.nnx.grad", "flax.nnx.value_and_grad", "equinox.filter_grad",
    "equinox.filter_value_and_grad", "tensorflow.GradientTape",
}  # fmt: skip
PIPELINE = {"map", "filter", "flat_map", "interleave", "scan", "from_generator", "map_with_options", "apply"}
CALLBACKS = {"py_function", "numpy_function", "py_func", "pure_callback", "io_callback", "callback"}
KERAS_METHODS = {"call", "train_step", "test_step", "predict_step", "compute_loss", "update_state"}
BASES: dict[str, tuple[set[str], Kind]] = {
    "flax.linen.Module": ({"__call__"}, Kind.JAX),
    "flax.nnx.Module": ({"__call__"}, Kind.JAX),
    "haiku.Module": ({"__call__"}, Kind.JAX),
    "equinox.Module": ({"__call__"}, Kind.JAX),
    "torch.nn.Module": ({"forward"}, Kind.TORCH),
}


def transformed(name: str, call: Call | None) -> Kind:
    """How a function is run that is given to a decorator or a call of this name."""
    if name in JIT:
        return Kind.TRACED | Kind.DEVICE | Kind.JAX
    if name in SHARD_MAP:
        return Kind.DEVICE | Kind.JAX
    if name in PMAP:
        return Kind.TRACED | Kind.DEVICE | Kind.JAX | Kind.PMAP
    if name == "tensorflow.function":
        asked = call.keyword("jit_compile", "experimental_compile") if call is not None else None
        return Kind.TRACED | Kind.TENSORFLOW | (Kind.DEVICE if is_true(asked) else Kind.NOTHING)
    return Kind.NOTHING
