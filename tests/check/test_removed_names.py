"""The table of removed names, by the installed libraries: what it calls gone is gone, what a remedy names is there."""

import importlib
import importlib.metadata
import inspect
import re
import warnings
from typing import Any

import pytest

from generator.check.environment import Removal, removed_names

pytestmark = pytest.mark.slow  # Keras, PyTorch, JAX and transformers are imported

_DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow"}
# The names in a remedy, which is an expression or a sentence.
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_ABBREVIATED = {"tf": "tensorflow", "np": "numpy", "pd": "pandas"}


def entries(table: str) -> list[Removal]:
    """The entries of a table whose library is installed in a version that no longer has the name."""
    versions = {entry: installed(entry.name.partition(".")[0]) for entry in removed_names(table).values()}
    return [entry for entry, version in versions.items() if version and numbers(version) >= numbers(entry.version)]


def installed(library: str) -> str | None:
    try:
        return importlib.metadata.version(_DISTRIBUTIONS.get(library, library))
    except importlib.metadata.PackageNotFoundError:
        return None


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def named(name: str) -> Any:
    """What a full name stands for; raises AttributeError or ImportError where it stands for nothing."""
    head, *rest = name.split(".")
    found: Any = importlib.import_module(head)
    for number, part in enumerate(rest, start=1):
        if not hasattr(found, part):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = importlib.import_module(".".join([head, *rest[:number]]))
        else:
            found = getattr(found, part)
    return found


@pytest.mark.parametrize("entry", entries("names"), ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore")
def test_a_name_that_is_called_removed_is_gone(entry: Removal) -> None:
    with pytest.raises((AttributeError, ImportError)):
        named(entry.name)


@pytest.mark.parametrize("entry", entries("arguments"), ids=lambda entry: entry.name)
def test_an_argument_that_is_called_removed_is_refused(entry: Removal) -> None:
    function, _, argument = entry.name.rstrip(")").partition("(")
    if ".*" in function:
        parent = named(function.removesuffix(".*"))
        functions = [
            each for each in vars(parent).values() if inspect.isclass(each) and each.__name__ in ("Adam", "SGD")
        ]
    else:
        functions = [named(function)]

    for each in functions:
        parameters = inspect.signature(each).parameters
        assert argument not in parameters
        new = entry.instead.removesuffix("=")
        assert new == entry.instead or new in parameters or "kwargs" in parameters


@pytest.mark.parametrize(
    "entry", [*entries("names"), *entries("arguments")], ids=lambda entry: f"{entry.name}-{entry.instead}"
)
@pytest.mark.filterwarnings("ignore")
def test_a_name_in_a_remedy_is_there(entry: Removal) -> None:
    for name in _NAME.findall(entry.instead):
        head, dot, rest = name.partition(".")
        library = _ABBREVIATED.get(head, head)
        if installed(library) is not None:
            named(f"{library}{dot}{rest}")
