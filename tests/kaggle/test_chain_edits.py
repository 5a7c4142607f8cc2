"""A version that was edited on Kaggle is not pushed over without a word."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from chain_pair import edit_notebook
from chain_table import LOST, Table

from generator.kaggle.chain import errors
from generator.kaggle.chain.journal import ChainStep
from generator.pair.folder import cell_edits
from generator.pair.workspace import Role

Cells = list[dict[str, Any]]


def edit_on_kaggle(table: Table, role: str, edit: Callable[[Cells], object]) -> None:
    """Saves a version of a kernel by another client than the kit, as the editor in the browser is."""
    versions = table.kaggle.saved[f"local/digits-keras-{role}"]
    notebook = json.loads(versions[-1].push.text)
    edit(notebook["cells"])
    text = json.dumps(notebook)
    versions.append(replace(versions[-1], push=replace(versions[-1].push, text=text)))


def change(cells: Cells) -> None:
    cells[-1]["source"] = "# changed in the browser"


def change_with_new_ids(cells: Cells) -> None:
    for position, cell in enumerate(cells):
        cell["id"] = f"{position:08x}"
    change(cells)


def add(cells: Cells) -> None:
    cells.insert(1, {"cell_type": "markdown", "id": "a-note", "metadata": {}, "source": ["A note."]})


def remove(cells: Cells) -> None:
    del cells[-1]


def last_cell(table: Table, role: str) -> str:
    return str(json.loads(table.folder.notebook(Role(role)).read_text())["cells"][-1]["id"])


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(
    ("edit", "said"),
    [(change, "cells changed: {last}"), (change_with_new_ids, "cells changed: {last}"), (add, "cells added: a-note"),
     (remove, "cells removed: {last}")],
)  # fmt: skip
def test_a_version_that_was_edited_on_kaggle_is_not_pushed_over(
    table: Table, role: Role, edit: Callable[[Cells], object], said: str
) -> None:
    table.push()
    edit_on_kaggle(table, role, edit)
    edit_notebook(table.folder, "train")

    error = table.stops(errors.EditedOnKaggleError, match=rf"Version 2 of local/digits-keras-{role} on Kaggle")
    assert f"(compared with what was pushed last, {said.format(last=last_cell(table, role))})" in error.message
    assert "`tandem push digits --to local --over-edits`" in error.message
    assert table.kaggle.pushes == 3  # two of the first chain, and the edit

    assert table.push(over_edits=True).state.is_finished
    assert table.counts == (5, 2)
    assert any("is pushed over (compared with what" in event.text for event in table.events)


@pytest.mark.parametrize("options", [{"restart": True}, {"back_to": ChainStep.INFER}])
def test_a_step_that_is_taken_again_does_not_go_over_edits_either(table: Table, options: dict[str, Any]) -> None:
    table.push()
    edit_on_kaggle(table, "infer", change)

    table.stops(errors.EditedOnKaggleError, match="digits-keras-infer", **options)
    assert table.kaggle.pushes == 3


@pytest.mark.slow
def test_the_next_edit_is_noticed_after_one_was_pushed_over(table: Table) -> None:
    table.push()
    edit_on_kaggle(table, "train", change)
    table.push(restart=True, over_edits=True)
    edit_on_kaggle(table, "train", add)

    table.stops(errors.EditedOnKaggleError, match="Version 4 of .*cells added: a-note", restart=True)


def as_another_client_writes(cells: Cells) -> None:
    for cell in cells:
        cell["source"] = str("".join(cell["source"])).splitlines(keepends=True)
        cell["metadata"] = {"trusted": True}
        cell["id"] = cell["id"][::-1]
        if cell["cell_type"] == "code":
            cell |= {"execution_count": 3, "outputs": [{"output_type": "stream", "name": "stdout", "text": "epoch 1"}]}


def test_outputs_metadata_ids_and_the_form_of_the_json_are_no_edits(table: Table) -> None:
    table.push()
    edit_on_kaggle(table, "train", as_another_client_writes)
    table.push(restart=True)

    assert table.counts == (5, 2)


def test_a_push_whose_answer_was_lost_for_good_is_no_edit(table: Table) -> None:
    """Kaggle took the push, and said for so long that it did not that the journal has it as withdrawn."""
    hidden, looks = table.kaggle.kernels.find, []

    def forgetful(ref: str) -> object:
        looks.append(ref)
        return None if len(looks) < 100 else hidden(ref)

    table.kaggle.kernels.find = forgetful
    table.kaggle.wrong["push-after"] = [LOST] * 3
    table.stops(errors.ChainError)
    looks += [""] * 100
    edit_notebook(table.folder, "train")
    table.push()

    assert table.submissions == 1


@pytest.mark.slow
def test_a_first_push_does_not_go_over_a_kernel_that_is_there_already(table: Table) -> None:
    other = Table(table.folder.path.parents[1] / "elsewhere")
    edit_notebook(other.folder, "train")
    other.kaggle = table.kaggle
    other.push()

    error = table.stops(errors.EditedOnKaggleError, match="Version 1 of local/digits-keras-train on Kaggle")
    changed = f"(compared with the notebook that is to be pushed, cells changed: {last_cell(table, 'train')})"
    assert changed in error.message
    assert table.kaggle.pushes == 2

    table.push(over_edits=True)
    assert table.kaggle.pushes == 4


@pytest.mark.slow
@pytest.mark.parametrize("is_edited", [False, True], ids=["the same cells", "cells edited since"])
def test_a_journal_that_was_lost_is_no_dead_end(table: Table, is_edited: bool) -> None:
    table.push()
    for path in (table.folder.state / "chains").rglob("*"):
        if path.is_file():
            path.unlink()
    if is_edited:
        edit_notebook(table.folder, "train")
    table.push()

    assert table.counts == (4, 2)


def test_a_version_that_is_no_notebook_is_not_pushed_over(table: Table) -> None:
    table.push()
    versions = table.kaggle.saved["local/digits-keras-train"]
    versions.append(replace(versions[-1], push=replace(versions[-1].push, text="print('a script')")))

    table.stops(errors.EditedOnKaggleError, match="not a notebook", restart=True)


def notebook(**sources: str) -> str:
    cells = [{"cell_type": "code", "id": name, "source": source} for name, source in sources.items()]
    return json.dumps({"cells": cells})


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"x": "1", "y": "2", "z": "3"}, ""),
        ({"x": "1", "y": "two", "z": "3"}, "cells changed: b"),
        ({"a": "1", "b": "2", "x": "new", "c": "3"}, "cells added: x"),
        ({"a": "1", "b": "2", "\x1b[31m": "new", "c": "3"}, "cells added: \\x1b[31m"),
        ({"x": "1", "z": "3"}, "cells removed: b"),
        ({"x": "3", "y": "1", "z": "2"}, "cells in another order"),
        ({"a": "1", "c": "3", "b": "two"}, "cells changed: b; cells in another order"),
    ],
)
def test_cells_are_matched_by_their_content_where_their_ids_were_replaced(now: dict[str, str], said: str) -> None:
    assert str(cell_edits(notebook(**now), since=notebook(a="1", b="2", c="3"))) == said
