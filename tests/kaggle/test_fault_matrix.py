"""The matrix of faults: a sample of it in the fast tests, all of it in the slow ones.

Each cell ends scored, with exactly the intended number of versions and submissions on the server; or, where nothing can
help, with an error that says what to do and nothing done twice.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_cells import Arena, Cell, Play, arena
from fault_table import LINES, cells

ALL = list(cells())
EVERY = 100


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """A local Kaggle for all cells of a process."""
    with arena(tmp_path_factory.mktemp("arena")) as running:
        yield running


def parameters() -> list[object]:
    marks = [() if number % EVERY == 0 else (pytest.mark.slow,) for number in range(len(ALL))]
    return [pytest.param(cell, id=cell.name, marks=mark) for cell, mark in zip(ALL, marks, strict=True)]


@pytest.mark.parametrize("cell", parameters())
def test_a_chain_ends_right_whatever_goes_wrong(local: Arena, cell: Cell, tmp_path: Path) -> None:
    play = Play(local, cell, tmp_path)
    play.carry_out()

    assert play.counts() == cell.counts


def test_no_two_cells_are_the_same() -> None:
    assert len({cell.name + cell.mode for cell in ALL}) == len(ALL)


@pytest.mark.slow
@pytest.mark.parametrize("mode", LINES)
def test_a_kill_is_tried_at_every_line_of_a_journal(local: Arena, mode: str, tmp_path: Path) -> None:
    play = Play(local, Cell("clean", mode=mode), tmp_path)
    local.clock.days += 1
    local.set_faults(())

    assert len(play.command().journal.entries()) == LINES[mode]
