"""Fixtures of the tests of the local Kaggle."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk
from local_fixtures import local_kaggle, shared
from toy import toy_competition

__all__ = ["local_kaggle", "shared"]


@pytest.fixture(autouse=True)
def closed_desks() -> Iterator[None]:
    """What a test opened is closed, however it ends."""
    yield
    for desk in list(Desk.opened):
        desk.close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A local Kaggle with nothing in it, whose sessions are over when a push is answered."""
    return Desk(tmp_path / "site")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The folder of a code competition."""
    return toy_competition(tmp_path / "toy")
