"""What a page shows of a notebook whose outputs were made to break it."""

import json
import time
from typing import Any

import pytest

from generator.errors import TandemError
from generator.run.notebook_html import Output, view_content

TWO_MEGABYTES = 2_000_000


def content(*outputs: Any, source: str = "1", markdown: str = "## Section", **cell: Any) -> bytes:
    """A notebook with a cell of Markdown and one of code."""
    code = {"cell_type": "code", "id": "c", "metadata": {}, "execution_count": 1, "source": source, "outputs": outputs}
    cells = [{"cell_type": "markdown", "id": "m", "metadata": {}, "source": markdown}, {**code, **cell}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def display(**data: Any) -> dict[str, Any]:
    """A rich output with representations by the last part of their type: `html`, `plain`, `markdown`."""
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {f"text/{name}": value for name, value in data.items()},
    }


def outputs_of(text: bytes) -> tuple[Output, ...]:
    return view_content(text, name="x.ipynb")[-1].outputs


@pytest.mark.parametrize("piece", ["<!--", "</", "<a ", "<b>", "<div><div>", "<![b["])
def test_html_that_is_too_long_is_left_out_and_its_text_is_shown(piece: str) -> None:
    note, text = outputs_of(content(display(html=piece * (TWO_MEGABYTES // len(piece)), plain="a table")))

    assert (note.kind, text.kind) == ("note", "text")
    assert "characters of HTML are too many, or take too long, to be shown here" in note.html
    assert text.html == "a table"


def test_html_that_is_nested_too_deeply_is_shown_as_its_text() -> None:
    note, text = outputs_of(content(display(html="<div>" * 20_000 + "a &lt; b")))

    assert (note.kind, text.kind) == ("note", "text")
    assert text.html == "a &lt; b"


@pytest.mark.slow
def test_a_page_is_bounded_in_time_inside_of_cells_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.run.notebook_html._RENDERING_SECONDS", 0.2)
    cells = [
        {"cell_type": "code", "id": f"c{number}", "metadata": {}, "execution_count": 1, "outputs": [], "source": source}
        for number, source in enumerate(f"{number}{chr(10)} " + "\n " * 4_000 for number in range(10))
    ]
    start = time.thread_time()

    view_content(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode(), name="x")

    assert time.thread_time() - start < 1.5


def test_what_follows_an_output_that_takes_too_long_is_left_out_and_shown_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("generator.run.notebook_html._RENDERING_SECONDS", -1)

    cells = view_content(content(display(html="<b>bold</b>"), source="x = '<b>'"), name="x.ipynb")

    assert cells[0].markdown == "<pre>## Section</pre>"
    assert cells[1].code == "x = &#39;&lt;b&gt;&#39;"
    assert [(output.kind, output.html) for output in cells[1].outputs][1:] == [("text", "bold")]
    assert "take too long" in cells[1].outputs[0].html


def test_an_output_that_a_library_fails_on_costs_nothing_but_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: str) -> str:
        raise AssertionError

    monkeypatch.setattr("generator.run.notebook_html.cleaned_html", failing)

    note, text, table = outputs_of(content(display(html="<b>x"), {**display(markdown="*fine*")}))

    assert (note.kind, text.html) == ("note", "x")
    assert "<em>fine</em>" in table.html


def test_html_that_parsers_of_python_fail_on_is_shown() -> None:
    (table,) = outputs_of(content(display(html="<![b[ <table><tr><td>1</td></tr></table>", plain="1")))

    assert table.kind == "table"


def test_half_of_a_surrogate_pair_breaks_no_output() -> None:
    half = "\ud800"
    outputs = outputs_of(
        content(
            display(html=f"<b>{half}</b>"),
            display(markdown=f"*{half}*"),
            {"output_type": "stream", "name": "stdout", "text": half},
            {**display(), "data": {"image/svg+xml": f"<svg>{half}</svg>"}},
            source=f"'{half}'",
        )
    )

    assert [output.kind for output in outputs] == ["table", "table", "stream", "figure"]


def test_markdown_as_long_as_a_book_is_shown_as_it_was_written() -> None:
    cells = view_content(content(markdown="![" * 1_000_000), name="x.ipynb")

    assert str(cells[0].markdown).startswith("<pre>![![")


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": None},
        {"source": 3},
        {"id": {}},
        {"outputs": {}},
        {"outputs": [3]},
        {"outputs": [{"output_type": "stream", "name": "stdout", "text": 3}]},
        {"outputs": [{"output_type": "error", "traceback": [3]}]},
        {"outputs": [{"output_type": "display_data", "data": []}]},
    ],
)
def test_a_cell_of_another_shape_is_named(broken: dict[str, Any]) -> None:
    with pytest.raises(TandemError, match=r"^x\.ipynb is not a notebook: "):
        view_content(content(**broken), name="x.ipynb")


def test_a_time_without_end_is_no_time() -> None:
    cells = view_content(content(metadata={"papermill": {"duration": float("inf")}}), name="x.ipynb")

    assert cells[1].seconds is None


def test_a_heading_that_goes_on_and_on_is_read_in_time() -> None:
    (cell,) = view_content(content(markdown="## Name #\n## a" + " " * 90_000 + "x", source=""), name="x.ipynb")

    assert cell.section.endswith("x")
