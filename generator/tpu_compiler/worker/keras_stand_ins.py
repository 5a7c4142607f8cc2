"""Keras on JAX, whatever backend a notebook asks for: a model's code is the same, and JAX reaches the TPU's compiler.

Weights that would be fetched are not: which numbers a model starts from changes nothing of its program.
"""

from typing import Any

_NOT_FETCHED = "/not-fetched/"


def import_keras() -> None:
    """Imports Keras, where it is installed, with its fetching of weights switched off."""
    try:
        import keras
        from keras.src.utils import file_utils
    except ImportError:
        return
    real_get, real_load = file_utils.get_file, keras.Model.load_weights

    def get_file(fname: Any = None, origin: Any = None, *arguments: Any, **options: Any) -> Any:
        if str(fname or origin).endswith((".h5", ".keras")):
            return f"{_NOT_FETCHED}{fname}"
        return real_get(fname, origin, *arguments, **options)

    def load_weights(model: Any, filepath: Any, *arguments: Any, **options: Any) -> Any:
        if not str(filepath).startswith(_NOT_FETCHED):
            return real_load(model, filepath, *arguments, **options)
        return None

    file_utils.get_file = get_file
    keras.utils.get_file = get_file
    keras.Model.load_weights = load_weights
    keras.config.set_max_epochs(1)  # one shows every shape that there is
