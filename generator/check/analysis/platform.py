"""Which frameworks a notebook uses on a TPU, and whether it is for one at all."""

import ast
import re
from dataclasses import dataclass, replace

from generator.check.code import NotebookCode
from generator.check.source import KernelSource

KERAS = (
    "keras.",
    "tensorflow.keras.",
    "tf_keras.",
    "tensorflow.python.keras.",
    "keras_hub.",
    "keras_cv.",
    "keras_nlp.",
)
XLA_DEVICES = (
    "torch_xla.core.xla_model.xla_device", "torch_xla.device", "torch_xla.core.xla_model.get_xla_supported_devices",
)  # fmt: skip
_COLAB_TPUS = ("V2-8", "V28", "V5E", "V6E")
# The name of one, or what splits arrays over several devices.
_TPU = re.compile(r"TPU|(?<![A-Za-z])tpu|\b(?:pmap|Mesh|make_mesh|NamedSharding)\b|keras\.distribution")
_JAX = {"jax", "flax", "haiku", "equinox", "optax"}


@dataclass(frozen=True)
class Platform:
    """The frameworks by which a notebook uses a TPU."""

    tensorflow: bool  # TPUStrategy, or Keras with TensorFlow
    jax: bool  # JAX itself: jit, pmap, sharding
    keras_jax: bool  # Keras 3 with JAX
    torch: bool  # PyTorch/XLA
    is_named: bool = False  # the metadata ask for a TPU, or the code names one or several devices

    @property
    def any(self) -> bool:
        """True if the notebook is for a TPU."""
        return self.tensorflow or self.jax or self.keras_jax or self.torch


NO_TPU = Platform(tensorflow=False, jax=False, keras_jax=False, torch=False)


def platform_of(kernel: KernelSource, code: NotebookCode) -> Platform:
    """Return how a notebook uses a TPU; none at all if it is for a GPU."""
    modules = kernel.code.modules
    asked = _asked_for(kernel, code)
    backend = _keras_backend(code)
    uses_jax = bool(_JAX & modules)
    names = {call.name for call in code.calls}
    ends = {name.rpartition(".")[2] for name in names}
    if asked is False or (asked is None and _names_a_gpu(code)):
        return NO_TPU
    found = Platform(
        tensorflow=("tensorflow" in modules and bool(ends & {"TPUStrategy", "TPUClusterResolver"}))
        or (asked is True and _has_strategy(code)),
        jax=uses_jax and any(name.startswith(("jax.", "flax.", "haiku.", "equinox.")) for name in names),
        keras_jax=backend == "jax" and "keras" in modules,
        torch="torch_xla" in modules,
    )
    if asked and not found.any:
        is_keras = bool({"keras", "tensorflow"} & modules) and backend in {None, "tensorflow"}
        found = Platform(tensorflow=is_keras, jax=uses_jax, keras_jax=False, torch=False)
    is_named = bool(asked) or found.tensorflow or found.torch or any(_TPU.search(cell.source) for cell in code.cells)
    return replace(found, is_named=is_named)


def is_keras(name: str, code: NotebookCode) -> bool:
    """True for what Keras calls so, also after `from keras.layers import *`."""
    return name.startswith(KERAS) or ("." not in name and any(f"{each}.".startswith(KERAS) for each in code.stars))


def _asked_for(kernel: KernelSource, code: NotebookCode) -> bool | None:
    """True if the metadata ask for a TPU, False if for another machine, None if they do not say."""
    settings = [kernel.setting(name) for name in ("machine_shape", "enable_tpu", "enable_gpu")]
    if any(setting is not None for setting in settings):
        if kernel.is_on_tpu or "tpu" in kernel.machine_shape.lower():
            return True
        # Code for a TPU in a session that has none was meant for one.
        is_cpu = not kernel.machine_shape and not kernel.is_on("enable_gpu")
        return None if is_cpu and _names_a_tpu(code) else False
    metadata = kernel.notebook.section("metadata")
    colab = metadata.section("colab")
    for chosen in (metadata.section("kaggle").get("accelerator"), colab.get("gpuType"), metadata.get("accelerator")):
        if isinstance(chosen, str) and chosen.lower() not in {"", "none"}:
            return chosen.upper().startswith(_COLAB_TPUS) or "tpu" in chosen.lower()
    return None


def _names_a_tpu(code: NotebookCode) -> bool:
    ends = code.called
    return "torch_xla" in code.modules or bool(ends & {"TPUStrategy", "TPUClusterResolver", "initialize_tpu_system"})


def _has_strategy(code: NotebookCode) -> bool:
    """True if the notebook uses a strategy of TensorFlow, also one that a helper of its own made."""
    uses = any(call.last in {"scope", "run"} and "strategy" in call.name.lower() for call in code.calls)
    return uses or any(node.attr == "num_replicas_in_sync" for node in code.nodes(ast.Attribute))


def _keras_backend(code: NotebookCode) -> str | None:
    """The backend that the notebook sets for Keras 3."""
    for call in code.calls:
        if call.name == "keras.config.set_backend":
            return code.text(call.argument(0))
    return code.environment.get("KERAS_BACKEND")


def _names_a_gpu(code: NotebookCode) -> bool:
    """True if the notebook asks for a GPU by name and never mentions a TPU."""
    for call in code.calls:
        if call.last in {"TPUStrategy", "TPUClusterResolver"} or call.name.startswith("torch_xla."):
            return False
    asked = [call for call in code.calls if call.name in {"jax.devices", "jax.local_devices"} and call.node.args]
    kinds = {code.text(call.node.args[0]) for call in asked}
    return bool(kinds & {"gpu", "cuda"}) and "tpu" not in kinds
