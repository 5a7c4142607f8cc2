"""py:percent text is read as jupytext reads it, and what is not ours is refused with its line."""

import pytest

from generator.pair.notebook import FOLDED_TAG, Cell, CellKind, PercentError, parse_percent_cells

CRAFTED = '''
# %% [markdown] name="introduction"
# # A title
#
# Text with `code`, a | table |, and 2 > 1.
#   indented

# %% name="parameters" tags=["parameters"]
EPOCHS = 3  # passes
TEXT = "# %% no cell"


def twice(number):
    """Twice.

    # not a cell
    """
    return number * 2


# A comment at the end.

# %% [markdown] name="empty-markdown"
#

# %% name="empty"

# %% name="folded" tags=["hide-input"]
def thrice(number):
    return number * 3


# %% name="last"
if EPOCHS:
    print("# %%")
'''


def test_cells_have_their_names_kinds_tags_and_sources() -> None:
    cells = parse_percent_cells(CRAFTED)

    assert [cell.name for cell in cells] == [
        "introduction",
        "parameters",
        "empty-markdown",
        "empty",
        "folded",
        "last",
    ]
    assert cells[0].kind is CellKind.MARKDOWN
    assert cells[0].source == "# A title\n\nText with `code`, a | table |, and 2 > 1.\n  indented"
    assert cells[1].tags == ("parameters",)
    assert cells[1].source.startswith("EPOCHS = 3  # passes\n")
    assert cells[1].source.endswith("# A comment at the end.")
    assert cells[3] == Cell(name="empty", kind=CellKind.CODE, source="")
    assert [cell.name for cell in cells if FOLDED_TAG in cell.tags] == ["folded"]


def test_jupytext_reads_the_same_cells() -> None:
    import jupytext

    theirs = jupytext.reads(CRAFTED.lstrip(), fmt="py:percent").cells

    read = [
        (cell.metadata["name"], str(cell.cell_type), cell.source, tuple(cell.metadata.get("tags", ())))
        for cell in theirs
    ]
    assert read == [(cell.name, str(cell.kind), cell.source, cell.tags) for cell in parse_percent_cells(CRAFTED)]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('\nimport os\n# %% name="a"\n', 2, "text stands before the first cell"),
        ("# %%\n", 1, "a cell needs a name"),
        ("# %% [markdown]\n# x\n", 1, "a cell needs a name"),
        ('# %% name="Setup"\n', 1, "a cell needs a name"),
        (f'# %% name="{"a" * 65}"\n', 1, "a cell needs a name"),
        ('# %% name="a"\n\n# %% name="b"\n\n# %% name="a"\n', 5, 'two cells have the name "a"'),
        ('# %% [markdown] name="a"\n# fine\nnot fine\n', 3, "a line of Markdown begins with `# `"),
        ('# %% A title name="a"\n', 1, "a cell opens with"),
        ('# %% [raw] name="a"\n', 1, "a cell opens with"),
        ('# %% name="a" hidden=true\n', 1, "a cell opens with"),
        ('# %% name="a" name="b"\n', 1, "a cell opens with"),
        ('# %% name="a" tags=["x"\n', 1, "a cell opens with"),
        ('# %% name="a" tags=[1]\n', 1, "tags are a list of texts"),
        ('# %% name="a"\n# %%%% sub\n', 2, "a cell opens with"),
        ('# %% name="a"\n# In[3]:\n', 2, "a cell opens with"),
        ('# %% name="a"\nif x:\n    # %%\n    pass\n', 3, "a cell opens with"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(PercentError) as caught:
        parse_percent_cells(text)

    assert caught.value.line == line
    assert problem in str(caught.value)
