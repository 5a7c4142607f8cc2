"""Fixtures of the tests of what talks to Kaggle."""

from collections.abc import Iterator
from functools import cache

import pytest
from chain_table import table
from local_fixtures import local_kaggle

from generator.check import cell_text

__all__ = ["local_kaggle", "table"]


@pytest.fixture(scope="session", autouse=True)
def cells_are_parsed_once() -> Iterator[None]:
    """Some thousand pushes send the same two notebooks; most of a push would be reading their cells anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_text, "read_cell", cache(cell_text.read_cell))
        yield
