"""Fixtures of the tests of what talks to Kaggle."""

from collections.abc import Iterator
from functools import cache

import pytest
from chain_table import table
from local_fixtures import local_kaggle

from generator.check import code

__all__ = ["local_kaggle", "table"]


@pytest.fixture(scope="session", autouse=True)
def cells_are_parsed_once() -> Iterator[None]:
    """Some thousand pushes send the same two notebooks; most of a push would be reading their cells anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "read_cell", cache(code.read_cell))
        yield
