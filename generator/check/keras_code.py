"""What is a model of Keras in a notebook, and how it is trained."""

import ast
from functools import lru_cache

from generator.check.analysis.platform import is_keras
from generator.check.code import NotebookCode
from generator.check.syntax import Call

_ENOUGH_EPOCHS = 3


def keras_stars(code: NotebookCode) -> set[str]:
    """The modules of which the notebook imports every name, and that bring no framework of somebody's own."""
    return {each for each in code.stars if each.startswith(("keras", "tensorflow", "matplotlib", "numpy", "tqdm"))}


def is_keras_model(code: NotebookCode, call: Call) -> bool:
    """True if what a method is called of was compiled, fitted, or made by Keras, under the name that it has here."""
    if call.receiver is None:
        return False
    if ast.unparse(call.receiver) in _compiled(code):
        return True
    made = code.call(code.resolved(call.receiver))
    return made is not None and is_keras(made.name, code) and made.last in {"Sequential", "Model", "Functional"}


@lru_cache(maxsize=1)
def _compiled(code: NotebookCode) -> frozenset[str]:
    """What the notebook compiles, or shows a summary of, as it is written there."""
    calls = [each for each in code.calls if each.last in {"compile", "summary"}]
    return frozenset(ast.unparse(each.receiver) for each in calls if each.receiver is not None)


def is_keras_fit(code: NotebookCode, call: Call) -> bool:
    """True for `fit` of a Keras model: one that is compiled, or that is given epochs or callbacks."""
    named = call.keyword("epochs", "steps_per_epoch", "validation_data", "callbacks") is not None
    return call.receiver is not None and (named or call.is_open or is_keras_model(code, call))


def is_long_keras_fit(code: NotebookCode, call: Call) -> bool:
    """True for `fit` of a Keras model for several epochs."""
    if call.last not in {"fit", "fit_generator"} or not {"keras", "tensorflow"} & code.modules:
        return False
    epochs = code.number(call.argument(5, "epochs"))
    return is_keras_fit(code, call) and epochs is not None and epochs >= _ENOUGH_EPOCHS
