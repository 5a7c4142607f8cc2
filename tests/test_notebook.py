"""Notebook files are what Jupyter expects, the same bytes every time, and read back as what was written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from generator.errors import PairError
from generator.pair.notebook import Cell, CellKind, NotebookReadError, check_syntax, notebook_text, written_cells

CELLS = [
    Cell(name="title", kind=CellKind.MARKDOWN, source="# Title \u2028 and 🚀\n\ntext"),
    Cell(name="parameters", kind=CellKind.CODE, source='A = "\x0c"\nB = 2', tags=("parameters",)),
    Cell(name="empty", kind=CellKind.CODE, source=""),
]
PATH = Path("train.ipynb")


def test_jupyter_accepts_the_file_and_reads_the_same_sources() -> None:
    import nbformat

    notebook = nbformat.reads(notebook_text(CELLS), as_version=4)
    nbformat.validate(notebook)

    assert [(cell.id, cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell.name, cell.kind, cell.source) for cell in CELLS
    ]
    assert notebook.cells[1].metadata.tags == ["parameters"]
    assert notebook.cells[0].metadata == {}
    assert notebook.metadata.kernelspec.name == "python3"


def test_a_folded_cell_is_folded_on_kaggle_in_jupyterlab_and_by_nbconvert() -> None:
    import nbformat

    folded = Cell(name="checkpoints", kind=CellKind.CODE, source="x = 1", tags=("hide-input",))
    notebook = nbformat.reads(notebook_text([*CELLS, folded]), as_version=4)
    nbformat.validate(notebook)

    assert notebook.cells[-1].metadata == {
        "_kg_hide-input": True,
        "jupyter": {"source_hidden": True},
        "tags": ["hide-input"],
    }


def test_folding_a_cell_is_no_edit_of_it() -> None:
    folded = [replace(cell, tags=(*cell.tags, "hide-input")) for cell in CELLS]

    assert written_cells(notebook_text(folded).encode(), path=PATH) == written_cells(
        notebook_text(CELLS).encode(), path=PATH
    )


def test_the_file_is_stable_line_by_line() -> None:
    text = notebook_text(CELLS)

    assert text == notebook_text(CELLS)
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert json.loads(text)["cells"][1]["source"] == ['A = "\x0c"\n', "B = 2"]


def test_outputs_and_counts_are_not_read_back() -> None:
    notebook = json.loads(notebook_text(CELLS))
    notebook["cells"][1] |= {
        "execution_count": 3,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}],
        "source": 'A = "\x0c"\nB = 2',
    }

    assert written_cells(json.dumps(notebook).encode(), path=PATH) == written_cells(
        notebook_text(CELLS).encode(), path=PATH
    )


def test_cells_without_an_id_are_named_by_their_place() -> None:
    content = b'{"cells": [{"cell_type": "code", "source": ["a\\n", "b"]}, {"id": "x"}, {"id": "x"}]}'

    assert list(written_cells(content, path=PATH)) == ["#1", "x", "#3"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff\xfe"])
def test_a_file_that_is_no_notebook_is_one_sentence(content: bytes) -> None:
    with pytest.raises(NotebookReadError, match=r"train\.ipynb is not a notebook"):
        written_cells(content, path=PATH)


def test_a_cell_that_is_not_python_is_named_with_its_line() -> None:
    cells = [CELLS[0], Cell(name="model", kind=CellKind.CODE, source="x = 1\nif x\n    pass")]

    with pytest.raises(PairError, match=r'The train notebook\'s cell "model" is not valid Python: .* in its line 2'):
        check_syntax(cells, notebook="train")
