"""The calls that build a Keras model."""

from generator.check.analysis.platform import is_keras
from generator.check.analysis.tpu import TpuCode
from generator.check.syntax import Call

_MODELS = {"Sequential", "Model", "Functional"}


def is_model(tpu: TpuCode, call: Call) -> bool:
    """True for a call that makes a Keras model: of Keras, of transformers, or of a class of the notebook."""
    if is_keras(call.name, tpu.code):
        return call.last in _MODELS or ".applications." in call.name or call.last == "from_preset"
    if call.name.startswith(("efficientnet.", "tensorflow_hub.", "transformers.TF")):
        return call.last[:1].isupper() or call.last == "from_pretrained"
    owner = tpu.code.classes.get(call.name)
    return owner is not None and any(
        is_keras(tpu.code.name(base), tpu.code) and tpu.code.name(base).endswith(".Model") for base in owner.bases
    )


def builds_model(tpu: TpuCode, call: Call) -> bool:
    """True for a call that makes a model, or of a function that makes one outside of a strategy's scope."""
    if is_model(tpu, call):
        return True
    for function in tpu.compiled.referred(call.node.func):
        calls = list(tpu.compiled.calls_in(function))
        if any(is_model(tpu, each) for each in calls) and not any(each.last == "scope" for each in calls):
            return True
    return False
