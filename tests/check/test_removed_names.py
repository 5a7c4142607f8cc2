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


def is_there(name: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            named(name)
        except (AttributeError, ImportError):
            return False
    return True


def test_every_name_that_is_called_removed_is_gone() -> None:
    removed = [entry.name for entry in entries("names")]

    assert removed
    assert [name for name in removed if is_there(name)] == []


def test_every_argument_that_is_called_removed_is_refused() -> None:
    removed = list(entries("arguments"))
    assert removed
    for entry in removed:
        function, _, argument = entry.name.rstrip(")").partition("(")
        owners = vars(named(function.removesuffix(".*"))) if ".*" in function else {}
        functions = [owners[name] for name in ("Adam", "SGD")] if owners else [named(function)]
        for parameters in (inspect.signature(each).parameters for each in functions):
            assert argument not in parameters, entry
            new = entry.instead.removesuffix("=")
            assert new == entry.instead or new in parameters or "kwargs" in parameters, entry


def test_every_name_in_a_remedy_is_there() -> None:
    remedies = [
        name.partition(".")
        for table in ("names", "arguments")
        for entry in entries(table)
        for name in _NAME.findall(entry.instead)
    ]
    names = {f"{_ABBREVIATED.get(head, head)}.{rest}" for head, _, rest in remedies}

    assert names
    assert [name for name in sorted(names) if installed(name.partition(".")[0]) and not is_there(name)] == []
