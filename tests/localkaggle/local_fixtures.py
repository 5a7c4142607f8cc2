"""Fixtures with a local Kaggle, for the tests of the server and of what talks to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import ScriptedRunner
from serving import Served, served


@pytest.fixture
def local_kaggle(tmp_path: Path) -> Iterator[Served]:
    """A local Kaggle on loopback whose sessions run no notebook, and end at once and well."""
    with served(tmp_path / "local-kaggle", runner=ScriptedRunner()) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A local Kaggle with the limits that it has for users, for tests that leave nothing behind in it."""
    with served(tmp_path_factory.mktemp("site"), runner=ScriptedRunner()) as running:
        yield running
