"""Cells that say that they are the same in both notebooks are the same."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from generator.errors import PairError
from generator.pair.notebook import check_shared_cells
from generator.pair.workspace import PairFolder, Role

MARK = "# The same in both notebooks."


def text(*cells: tuple[str | None, str]) -> str:
    """A notebook with these code cells, by id."""
    made = [{"cell_type": "code", "source": [source]} | ({"id": name} if name else {}) for name, source in cells]
    return json.dumps({"cells": made})


def compare(train: str, infer: str) -> None:
    with TemporaryDirectory() as place:
        folder = PairFolder(Path(place))
        for role, content in ((Role.TRAIN, train), (Role.INFER, infer)):
            folder.notebook(role).parent.mkdir()
            folder.notebook(role).write_text(content)
        check_shared_cells(folder)


def test_all_cells_that_differ_are_named_in_one_message() -> None:
    with pytest.raises(PairError, match=r'The cells "a", "b" differ between .*train\.ipynb and .*infer\.ipynb'):
        compare(text(("a", f"{MARK}\n1"), ("b", f"{MARK}\n1")), text(("a", f"{MARK}\n2"), ("b", f"{MARK}\n2")))


@pytest.mark.parametrize(("train", "infer"), [(f"{MARK}\n1", "1"), ("1", f"{MARK}\n1"), (MARK, "")])
def test_a_mark_that_only_one_notebook_lost_counts(train: str, infer: str) -> None:
    with pytest.raises(PairError, match='The cell "model" differs'):
        compare(text(("model", train)), text(("model", infer)))


@pytest.mark.parametrize(
    ("train", "infer"),
    [
        (("model", f"{MARK}\n1"), ("model", f"\n{MARK}\n1\n\n")),
        (("model", f"{MARK}\n1"), ("other", f"{MARK}\n2")),
        (("model", "1"), ("model", "2")),
        (("model", f"1\n{MARK}"), ("model", f"2\n{MARK}")),
        ((None, f"{MARK}\n1"), (None, f"{MARK}\n2")),
    ],
    ids=["space around it", "another cell", "no mark", "the mark further below", "no ids"],
)
def test_other_cells_may_differ(train: tuple[str | None, str], infer: tuple[str | None, str]) -> None:
    compare(text(train), text(infer))


def test_terminal_codes_in_a_cells_id_are_not_printed() -> None:
    with pytest.raises(PairError) as caught:
        compare(text(("\x1b[31m", f"{MARK}\n1")), text(("\x1b[31m", f"{MARK}\n2")))

    assert "\x1b" not in str(caught.value)
