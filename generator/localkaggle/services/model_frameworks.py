"""The frameworks of models: one name on the wire, another in handles, and both read without regard to case."""

_WIRE = "MODEL_FRAMEWORK_"
_NAMES = {
    "tensorFlow1": "TENSOR_FLOW_1",
    "tensorFlow2": "TENSOR_FLOW_2",
    "tfLite": "TF_LITE",
    "tfJs": "TF_JS",
    "pyTorch": "PY_TORCH",
    "jax": "JAX",
    "flax": "FLAX",
    "pax": "PAX",
    "maxText": "MAX_TEXT",
    "gemmaCpp": "GEMMA_CPP",
    "ggml": "GGML",
    "gguf": "GGUF",
    "coral": "CORAL",
    "scikitLearn": "SCIKIT_LEARN",
    "mxnet": "MXNET",
    "onnx": "ONNX",
    "keras": "KERAS",
    "transformers": "TRANSFORMERS",
    "api": "API",
    "other": "OTHER",
    "tensorRtLlm": "TENSOR_RT_LLM",
    "triton": "TRITON",
    "vllm": "VLLM",
}


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_BY_FOLDED = {_folded(name): name for name in _NAMES}


def framework_named(text: str) -> str | None:
    """The name in handles (`pyTorch`) of what a handle, a metadata file or the wire calls so; None if there is none."""
    return _BY_FOLDED.get(_folded(text.removeprefix(_WIRE)))


def wire_name(framework: str) -> str:
    """The name on the wire (`MODEL_FRAMEWORK_PY_TORCH`) of a framework in a handle (`pyTorch`)."""
    return _WIRE + _NAMES[framework]
