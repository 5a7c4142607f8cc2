"""HTML made from what notebooks contain."""

import base64
import time

import pytest

from generator.run.notebook_html import (
    cleaned_html,
    code_html,
    image_source,
    markdown_html,
    terminal_html,
    text_of_html,
)


def test_a_table_keeps_its_cells_and_loses_everything_else() -> None:
    html = cleaned_html(
        "<style>td {color: red}</style><table border=1 onclick=x()><tr><td colspan='2' style='x'>1 &lt; 2</td></tr>"
        "<script>alert(1)</script></table><img src=http://x/y.png>"
    )

    assert html == '<table><tbody><tr><td colspan="2">1 &lt; 2</td></tr></tbody></table>'


def test_an_output_cannot_close_what_it_did_not_open() -> None:
    assert cleaned_html("</div></details><div><b>x") == "<div><b>x</b></div>"


@pytest.mark.parametrize("hidden", ["<script>x", "<iframe src=http://x>x", "<svg onload=x()>x", "<object>x</object>"])
def test_active_content_leaves_nothing(hidden: str) -> None:
    assert cleaned_html(hidden) == ""


def test_markdown_shows_html_as_text_and_loads_no_image() -> None:
    html = markdown_html("# A <script>x</script>\n\n![a plot](https://x/y.png) [bad](javascript:x)")

    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<img" not in html
    assert "a plot" in html
    assert 'href="javascript' not in html


@pytest.mark.parametrize("reference", ["[x]", "![x]"])
def test_markdown_that_repeats_a_long_address_is_shown_as_written(reference: str) -> None:
    text = "[x]: data:image/png;base64," + "a" * 10_000 + "\n\n" + f"{reference} " * 10_000

    assert len(markdown_html(text)) < 2 * len(text)
    assert '<a href="/here"' in markdown_html("[x]: /here\n\n[x]")


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8888/x",
        "http://kaggle-0.localhost.:8888",
        "https://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://[::1]:80/",
        "//127.0.0.1/x",
        "http:\\\\\\127.0.0.1",
        "http:127.0.0.1",
        "HTTPS:///127.0.0.1",
        "http://127%2E0.0.1/",
        "http://me@localhost/",
    ],
)
def test_a_link_to_this_machine_is_text(address: str) -> None:
    html = markdown_html(f"[a **name**](<{address}>) and [another](https://example.com/0.1)")

    assert html.count("<a ") == html.count("</a>") == 1
    assert "<strong>name</strong></span> and <a" in html


@pytest.mark.parametrize("markup", ["[", "![", "*a_", "\n"])
def test_markdown_that_takes_a_parser_seconds_is_shown_as_written(markup: str) -> None:
    assert markdown_html(markup * 40_000).startswith("<pre>")


def test_headings_of_notebooks_stand_below_those_of_the_page() -> None:
    assert markdown_html("## Training") == '<h4 class="md-h2">Training</h4>\n'


def test_colours_of_a_traceback_survive_and_its_text_is_escaped() -> None:
    assert terminal_html("\x1b[1;31mKeyError\x1b[0m: <b>\x07") == (
        '<span class="ansi-bold ansi-red">KeyError</span>: &lt;b&gt;'
    )


def test_a_colour_without_end_is_no_colour() -> None:
    assert terminal_html(f"\x1b[{'9' * 5_000}mx\x1b[38;5;300my") == "xy"


def test_output_with_a_colour_for_each_character_is_shown_without_colours() -> None:
    start = time.thread_time()

    assert terminal_html("\x1b[31ma\x1b[1mb" * 100_000) == "ab" * 100_000
    assert time.thread_time() - start < 1


def test_code_is_escaped() -> None:
    assert "<b>" not in code_html("x = '<b>'")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["\n " * 10_000, "\n\t\n" * 6_000, '"' + "\n\x0c" * 9_000])
def test_code_that_takes_a_lexer_seconds_is_shown_without_colours(source: str) -> None:
    start = time.thread_time()
    html = code_html(f"{source}if x < 1: pass")

    assert time.thread_time() - start < 2
    assert html.endswith("if x &lt; 1: pass")


NESTED = {
    "one in another": "<div>" * 40_000,
    "each in a style of its own": "".join(f"<b class={number}>" for number in range(10_000)),
    "closed too early": ("<div>" * 1_000 + "<table>" + "</div>" * 1_000) * 17,
    "closed in a comment": "<div><!--</div>-->" * 11_000,
    "closed in a value": "<div title='</div>'>" * 9_000,
    "closed at the end": "<div>" * 18_000 + "</div>" * 18_000,
}


@pytest.mark.parametrize("html", NESTED.values(), ids=NESTED)
def test_html_that_is_nested_without_end_is_refused_at_once(html: str) -> None:
    start = time.thread_time()

    assert cleaned_html(html) is None
    assert time.thread_time() - start < 0.5


def test_a_long_table_is_shown() -> None:
    row = "<tr>\n<th scope=row id='r1'>1</th>" + '<td class="a b" colspan=2>1 &lt; 2<br></td>' * 20 + "</tr>"
    html = cleaned_html(f"<style>td {{color: red}}</style><table border=1><tbody>{row * 150}</tbody></table>")

    assert html is not None
    assert html.count("<td colspan") == 3_000


def test_the_text_of_html_has_no_tags() -> None:
    assert text_of_html("<style>b {}</style><p class='a'>1 &lt; <b>2</b></p>" + "<" * 10) == "1 < 2" + "<" * 10


def test_an_image_that_is_no_base64_is_not_shown() -> None:
    assert image_source("image/png", '"><script>') is None
    assert image_source("image/png", "é") is None
    assert image_source("text/html", "PGI+") is None


def test_an_svg_becomes_an_image_in_which_no_script_runs() -> None:
    source = image_source("image/svg+xml", "<svg onload='x()'/>")

    assert source is not None
    assert source.startswith("data:image/svg+xml;base64,")
    assert base64.b64decode(source.partition(",")[2]) == b"<svg onload='x()'/>"
