"""A merge keeps the user's lines, takes the template's, and says where it cannot do both."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from generator.pair.merge import Merge, MergeOutcome, merge_lines, merge_metadata, merge_notebooks
from generator.pair.notebook import Cell, CellKind, notebook_text

PATH = Path("train.ipynb")


def cell(label: str | None, source: str, kind: str = "code", **metadata: Any) -> dict[str, Any]:
    fields = {"cell_type": kind, "id": label, "metadata": metadata, "source": source}
    fields |= {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {key: value for key, value in fields.items() if key != "id" or value is not None}


def notebook(*cells: dict[str, Any], **metadata: Any) -> bytes:
    minor = 5 if all("id" in each for each in cells) else 4
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}).encode()


def merged(base: bytes, user: bytes, template: bytes) -> tuple[Merge, dict[str, str]]:
    """The merge, and the text of each of its cells by id."""
    result = merge_notebooks(base, user, template, path=PATH)
    parsed = nbformat.reads(result.content.decode(), as_version=4)
    nbformat.validate(parsed)
    assert len({each["id"] for each in parsed["cells"]}) == len(parsed["cells"])
    return result, {each["id"]: each["source"] for each in parsed["cells"]}


def outcomes(merge: Merge) -> dict[str, str]:
    return {change.name: str(change.outcome) for change in merge.changes}


@pytest.mark.parametrize(
    ("base", "user", "template", "expected"),
    [
        ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc", "a\nb\nc\nd", "a\nc", "a\nc\nd"),
        ("a\nb", "a\nx\nb", "a\nx\nb", "a\nx\nb"),
        ("a\nb\nc", "a\nB\nc", "a\nbb\nc", None),
        ("a", "a\nmine", "a\nnew", None),
        (
            "import a\nimport b",
            "import a\nimport mine\nimport b",
            "import a\nimport new",
            "import a\nimport new\nimport mine",
        ),
        ("import a", "import a\nfrom here on, mine", "import a\nfrom now on, theirs", None),
        ("a\n" * 3000, "a\n" * 2000 + "x", "a\n" * 2500 + "y", None),
    ],
    ids=[
        "other lines",
        "added and removed",
        "the same",
        "one line",
        "one place",
        "imports",
        "prose",
        "too many equal lines",
    ],
)
def test_lines_are_merged_as_git_merges_them(base: str, user: str, template: str, expected: str | None) -> None:
    assert merge_lines(base, user, template) == expected


def test_each_cell_follows_whoever_changed_it() -> None:
    base = notebook(*(cell(name, f"{name} = 1\nprint({name})\n# end") for name in "abcdef"))
    user = notebook(
        cell("a", "a = 1\nprint(a)\n# end"),
        cell("b", "b = 2\nprint(b)\n# end"),
        cell("c", "c = 2\nprint(c)\n# end"),
        cell("own", "print('own')"),
        cell("d", "d = 2\nprint(d)\n# end"),
        cell("f", "f = 2\nprint(f)\n# end"),
    )
    template = notebook(
        cell("a", "a = 3\nprint(a)\n# end"),
        cell("new", "print('new')"),
        cell("b", "b = 1\nprint(b)\n# end"),
        cell("c", "c = 1\nprint(c)\n# the end"),
        cell("d", "d = 3\nprint(d)\n# end"),
        cell("e", "e = 3\nprint(e)\n# end"),
    )

    merge, cells = merged(base, user, template)

    assert list(cells) == ["a", "new", "b", "c", "own", "d", "d-template", "f"]
    assert (cells["a"], cells["b"]) == ("a = 3\nprint(a)\n# end", "b = 2\nprint(b)\n# end")
    assert cells["c"] == "c = 2\nprint(c)\n# the end"
    assert cells["d"] == "d = 2\nprint(d)\n# end"
    assert "# d = 3" in cells["d-template"]
    assert all(line.startswith("#") for line in cells["d-template"].splitlines())
    assert outcomes(merge) == {
        "a": "updated",
        "new": "added",
        "b": "kept",
        "c": "merged",
        "d": "conflict",
        "e": "removed",
        "f": "kept",
    }


def test_a_second_merge_after_a_conflict_changes_nothing() -> None:
    base, user, template = (notebook(cell("a", f"a = {value}")) for value in (1, 2, 3))
    first, _ = merged(base, user, template)

    second, _ = merged(template, first.content, template)
    third, cells = merged(template, first.content, notebook(cell("a", "a = 4")))

    assert second.content == first.content
    assert not second.conflicts
    assert len(third.conflicts) == 1
    assert list(cells) == ["a", "a-template"], "the template's older version is not kept beside the newer one"
    assert "# a = 4" in cells["a-template"]


def test_a_second_conflict_of_parameters_replaces_the_folded_cell_of_the_first() -> None:
    def parameters(value: int) -> bytes:
        return notebook(cell("parameters", f"LR = {value}  # the rate\nSIZE = 8", tags=["parameters"]))

    first, _ = merged(parameters(1), parameters(2), parameters(3))
    second, cells = merged(parameters(3), first.content, parameters(4))
    edited = first.content.replace(b"# LR = 3", b"# LR = 3, I think")

    assert [change.companion for change in second.conflicts] == ["parameters-template"]
    assert list(cells) == ["parameters", "parameters-template"]
    assert cells["parameters-template"].splitlines()[2:] == ["# LR = 4  # the rate"]
    assert len(merged(parameters(3), edited, parameters(4))[1]) == 3, "what the user wrote into it stays"


def test_a_cell_that_the_template_empties_is_a_conflict_with_an_edit() -> None:
    merge, cells = merged(*(notebook(cell("a", source)) for source in ("x = 1", "x = 2", "")))

    assert [change.name for change in merge.conflicts] == ["a"]
    assert (cells["a"], list(cells)) == ("x = 2", ["a", "a-template"])


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        ({"attachments": {"plot.png": {"image/png": "AAAA"}}}, True),
        ({"metadata": {"tags": ["mine"]}}, True),
        ({"metadata": {"id": "Xy12", "execution": {"iopub.status.busy": "?"}}}, False),
    ],
    ids=["a picture", "a tag", "what Colab and a run write"],
)
def test_a_cell_that_the_template_drops_stays_if_the_user_added_to_it(fields: dict[str, Any], is_kept: bool) -> None:
    text, rest = cell("a", "text", "markdown"), cell("b", "x = 1")

    merge, cells = merged(notebook(text, rest), notebook({**text, **fields}, rest), notebook(rest))

    assert list(cells) == (["a", "b"] if is_kept else ["b"])
    assert outcomes(merge)["a"] == ("kept" if is_kept else "removed")


@pytest.mark.parametrize("line", ["LR = (0.1 / 2)  # mine", "LR = (\n    0.2\n)", "LR = 0.2; print(LR)"])
def test_parameters_in_brackets_or_with_a_second_statement_stay_python(line: str) -> None:
    base, template = (f"LR = 0.1  # the rate\n\nSIZE = 8\n\nSEED = {seed}" for seed in (1, 2))
    user = base.replace("LR = 0.1  # the rate", line)

    merge, cells = merged(*(notebook(cell("p", text, tags=["parameters"])) for text in (base, user, template)))

    assert cells["p"] == user.replace("SEED = 1", "SEED = 2")
    assert outcomes(merge) == {"p": "merged"}


def test_parameters_are_merged_by_their_names() -> None:
    base = "EPOCHS = 10  # passes\nLR = 0.1\nBATCH = 8\n\nOLD = 1\nSIZE = 16  # pixels"
    user = (
        "EPOCHS = 3  # passes\nLR = 0.2\nBATCH = 8\n\nOLD = 1\nMINE = 'x'  # own\nSIZE = 24  # pixels\n# tuned by hand"
    )
    template = "LR = 0.3\nBATCH = 16\nNEW = 2\nEPOCHS = 10  # of training\n\nSIZE = 16  # pixels"
    tagged = {"tags": ["parameters"]}

    merge, cells = merged(*(notebook(cell("parameters", text, **tagged)) for text in (base, user, template)))

    lines = cells["parameters"].splitlines()
    assert [line for line in lines if line] == [
        "LR = 0.2",
        "BATCH = 16",
        "MINE = 'x'  # own",
        "NEW = 2",
        "EPOCHS = 3  # of training",
        "SIZE = 24  # pixels",
        "# tuned by hand",
    ]
    assert cells["parameters-template"].splitlines()[2:] == ["# LR = 0.3"]
    assert "your values of LR are kept" in merge.conflicts[0].note


def test_cells_are_found_without_their_ids() -> None:
    sources = {"load": "import x\nx.load()\nprint(1)", "model": "def model():\n    return 1", "train": "train(model())"}
    base = notebook(*(cell(name, source) for name, source in sources.items()))
    user = notebook(
        cell(None, "import x\nx.load()\nprint(2)"),
        cell(None, "everything else", name="model"),
        cell(None, "my_own()"),
        cell(None, sources["train"]),
    )
    template = notebook(
        cell("load", "import x\nx.load()\nprint(1)"), cell("model", sources["model"]), cell("train", "fit()")
    )

    _, cells = merged(base, user, template)

    assert list(cells) == ["load", "model", "cell-3", "train"]
    assert list(cells.values()) == ["import x\nx.load()\nprint(2)", "everything else", "my_own()", "fit()"]


def test_a_cell_that_the_template_renames_keeps_its_edit() -> None:
    lines = [f"line_{number} = {number}" for number in range(8)]
    base, template = (notebook(cell(name, "\n".join(lines))) for name in ("old-name", "new-name"))
    user = notebook(cell("old-name", "\n".join(["# mine", *lines])))

    _, cells = merged(base, user, template)

    assert cells == {"new-name": "\n".join(["# mine", *lines])}


def test_cells_stay_where_the_user_moved_them_and_follow_the_template_else() -> None:
    base = notebook(*(cell(name, name) for name in "abc"))
    moved = notebook(*(cell(name, name) for name in "cab"))
    grown = notebook(*(cell(name, name) for name in "abxc"))

    assert list(merged(base, moved, grown)[1]) == ["c", "a", "b", "x"]
    assert list(merged(base, grown, moved)[1]) == ["c", "a", "b", "x"]


def test_metadata_of_cells_and_notebook_are_merged_and_stay_valid() -> None:
    base = notebook(
        cell("a", "1"), cell("b", "2", tags=["x"]), kernelspec={"name": "python3", "display_name": "Python 3"}
    )
    user = notebook(
        {**cell("a", "1", execution={"iopub.status.busy": "?"}, collapsed="no"), "extra": 1},
        cell("b", "2", tags=["x", "mine"], name="\n", jupyter=3),
        kernelspec=3,
        kaggle={"accelerator": "gpu"},
    )
    template = notebook(
        cell("a", "3", tags=["hide-input"]),
        cell("b", "2", tags=["x", "new"]),
        kernelspec={"name": "python3", "display_name": "Python 3"},
    )

    merge, _ = merged(base, user, template)

    data = json.loads(merge.content)
    assert [each["metadata"] for each in data["cells"]] == [{"tags": ["hide-input"]}, {"tags": ["x", "new", "mine"]}]
    assert data["metadata"]["kaggle"] == {"accelerator": "gpu"}
    assert data["metadata"]["kernelspec"]["name"] == "python3"


def test_a_merge_that_would_break_python_is_a_conflict() -> None:
    base, user, template = "if a:\n    b\n\n    c\nd", "if a:\n    b\n\nd", "if a:\n\n    c\nd"

    assert merge_lines(base, user, template) == "if a:\n\nd"
    assert len(merged(*(notebook(cell("x", source)) for source in (base, user, template)))[0].conflicts) == 1


def test_fields_of_a_kernel_are_merged_by_key() -> None:
    base = {"title": "A", "enable_gpu": False, "competition_sources": ["x"], "is_private": True}
    user = {**base, "title": "Mine", "competition_sources": ["x", "y"], "docker_image": "z", "is_private": False}
    template = {**base, "title": "B", "enable_gpu": True, "competition_sources": ["x", "w"]}

    merge = merge_metadata(*(json.dumps(fields).encode() for fields in (base, user, template)), path=PATH)

    assert json.loads(merge.content) == {
        "title": "Mine",
        "enable_gpu": True,
        "competition_sources": ["x", "w", "y"],
        "is_private": False,
        "docker_image": "z",
    }
    assert [(change.name, change.note) for change in merge.conflicts] == [
        ("title", 'yours is kept; the template has "B"')
    ]


def test_what_was_rendered_is_written_as_it_is_rendered() -> None:
    base, template = (
        notebook_text(
            [Cell("a", CellKind.CODE, source), Cell("b", CellKind.MARKDOWN, "text", ("hide-input",))]
        ).encode()
        for source in ("1", "2")
    )

    assert merge_notebooks(base, base, template, path=PATH).content == template
    assert merge_notebooks(base, base, base, path=PATH).content == base


def test_outputs_go_with_the_code_that_made_them() -> None:
    executed = cell("a", "1") | {
        "execution_count": 3,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}],
    }
    base, user, template = notebook(cell("a", "1")), notebook(executed), notebook(cell("a", "2"))

    assert json.loads(merge_notebooks(base, user, template, path=PATH).content)["cells"][0]["outputs"] == []
    assert merge_notebooks(base, user, base, path=PATH).content == user


def test_half_of_a_surrogate_pair_in_the_users_text_stays() -> None:
    base, template = notebook(cell("a", "1"), cell("b", "2")), notebook(cell("a", "3"), cell("b", "2"))
    user = notebook(cell("a", "1"), cell("b", "'\ud800'"))

    merge = merge_notebooks(base, user, template, path=PATH)

    assert [change.outcome for change in merge.changes] == [MergeOutcome.UPDATED, MergeOutcome.KEPT]
    assert json.loads(merge.content)["cells"][1]["source"] == ["'\ud800'"]
