"""The frameworks of models: one name on the wire, another in handles, and both read without regard to case."""

_WIRE = "MODEL_FRAMEWORK_"
_WIRE_NAMES = (
    *("TENSOR_FLOW_1", "TENSOR_FLOW_2", "TF_LITE", "TF_JS", "PY_TORCH", "JAX", "FLAX", "PAX", "MAX_TEXT", "GEMMA_CPP"),
    *("GGML", "GGUF", "CORAL", "SCIKIT_LEARN", "MXNET", "ONNX", "KERAS", "TRANSFORMERS", "API", "OTHER"),
    *("TENSOR_RT_LLM", "TRITON", "VLLM"),
)


def _handle(wire_name: str) -> str:
    first, *others = wire_name.lower().split("_")
    return first + "".join(map(str.capitalize, others))


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_WIRE_NAME_OF = {_handle(name): name for name in _WIRE_NAMES}
_BY_FOLDED = {_folded(name): name for name in _WIRE_NAME_OF}


def framework_named(text: str) -> str | None:
    """The name in handles (`pyTorch`) of what a handle, a metadata file or the wire calls so; None if there is none."""
    return _BY_FOLDED.get(_folded(text.removeprefix(_WIRE)))


def wire_name(framework: str) -> str:
    """The name on the wire (`MODEL_FRAMEWORK_PY_TORCH`) of a framework in a handle (`pyTorch`)."""
    return _WIRE + _WIRE_NAME_OF[framework]
