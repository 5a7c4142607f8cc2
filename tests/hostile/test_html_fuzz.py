"""Whatever a notebook shows as HTML, Markdown or terminal output, a page gets harmless, balanced HTML of it."""

import re
from html.parser import HTMLParser

import pytest
from cases import CASES, FEW_CASES
from commands import in_time
from hypothesis import example, given
from hypothesis import strategies as st

from generator.run.notebook_html import cleaned_html, code_html, markdown_html, terminal_html

VOID = {"br", "hr", "img"}
CLEANED = {
    *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "div", "p", "span", "br", "hr", "blockquote"),
    *("details", "summary", "b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "code", "pre", "kbd", "samp"),
    *("ul", "ol", "li", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"),
}
ATTRIBUTES = {"td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
MARKDOWN = CLEANED | {"a", "img"}
OF_MARKDOWN = {
    "a": {"href", "rel", "title"},
    "img": {"src", "alt"},
    "span": {"class"},
    "code": {"class"},
    "ol": {"start"},
    "td": {"style"},
    "th": {"style"},
    **{f"h{level}": {"class"} for level in range(1, 7)},
}
VECTORS = """
<script>alert(1)</script>
<img src=x onerror=alert(1)>
<svg onload=alert(1)>
<svg><script>alert(1)</script></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">
<iframe srcdoc="<script>alert(1)</script>">
<a href="javascript:alert(1)">x</a>
<a href="&#106;avascript:alert(1)">x</a>
<base href="https://evil.example/">
<link rel=stylesheet href=https://evil.example/x.css>
<meta http-equiv=refresh content="0;url=https://evil.example">
<form action=https://evil.example><input name=x><button>go</button></form>
<style>@import url(https://evil.example/x.css);</style>
<div style="background:url(https://evil.example/x)">x</div>
<table background=https://evil.example/x><td background=https://evil.example/y>1
<object data=https://evil.example/x></object>
<embed src=https://evil.example/x>
<video src=https://evil.example/x autoplay><source src=https://evil.example/y></video>
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<template><script>alert(1)</script></template>
<details open ontoggle=alert(1)>x</details>
<b onmouseover=alert(1)>x</b>
</div></main></body></html><script>alert(1)</script>
<plaintext><script>alert(1)</script>
<textarea></textarea><script>alert(1)</script>
<!--><script>alert(1)</script>-->
<![CDATA[<script>alert(1)</script>]]>
<![b[<script>alert(1)</script>
<td colspan="2&quot; onclick=alert(1)">x
<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>
<select><noembed></select><script>alert(1)</script>
<xmp><script>alert(1)</script></xmp>
""".strip().split("\n")
PIECES = st.sampled_from(
    [
        *VECTORS,
        *(f"<{tag}>" for tag in sorted(CLEANED)),
        *(f"</{tag}>" for tag in sorted(CLEANED)),
        *(
            "<",
            ">",
            "&",
            "&lt;script&gt;",
            "&#60;",
            "<!--",
            "-->",
            "<![",
            "]]>",
            "</",
            "/>",
            '"',
            "'",
            "`",
            "\0",
            "\ud800",
        ),
        *("![", "](", ")", "[", "]", "|", "-|-", "\n", "# ", "```", "javascript:", "data:text/html,"),
        *("data:image/png;base64,", "\x1b[", "\x1b]0;", "31m", "\x07", "\r", "\b", "\u202e"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=20), max_size=25).map("".join)


class Checked(HTMLParser):
    """Fails where HTML has another element or attribute than it may, or is not balanced."""

    def __init__(self, allowed: set[str], attributes: dict[str, set[str]]) -> None:
        super().__init__()
        self.open: list[str] = []
        self._allowed, self._attributes = allowed, attributes

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self._allowed, tag
        for name, value in attrs:
            assert name in self._attributes.get(tag, set()), (tag, name)
            if name in ("href", "src"):
                self._check_address(name, str(value).strip().lower())
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    @staticmethod
    def _check_address(name: str, address: str) -> None:
        if name == "src":
            assert re.match(r"data:image/(png|jpeg|gif|webp);base64,", address), address
        else:
            assert not re.match(r"(javascript|vbscript|file|data:(?!image/))", address), address


def check(html: str, allowed: set[str], attributes: dict[str, set[str]]) -> None:
    page = Checked(allowed, attributes)
    page.feed(html)
    page.close()
    assert page.open == []


@pytest.mark.parametrize("vector", VECTORS)
def test_known_ways_to_run_or_load_something_leave_nothing_of_it(vector: str) -> None:
    for html in (vector, f"<table><tr><td>{vector}</td></tr></table>", f"<pre>{vector}"):
        check(cleaned_html(html), CLEANED, ATTRIBUTES)
        check(markdown_html(html), MARKDOWN, OF_MARKDOWN)


@pytest.mark.slow
@CASES
@given(TEXTS)
def test_html_comes_out_harmless(text: str) -> None:
    with in_time():
        check(cleaned_html(text), CLEANED, ATTRIBUTES)


@pytest.mark.slow
@CASES
@given(TEXTS)
@example("\\\r0")
def test_markdown_comes_out_harmless(text: str) -> None:
    with in_time():
        check(markdown_html(text), MARKDOWN, OF_MARKDOWN)


@pytest.mark.slow
@CASES
@given(TEXTS)
def test_terminal_output_and_code_come_out_harmless(text: str) -> None:
    with in_time():
        for html in (terminal_html(text), code_html(text)):
            check(html, {"span"}, {"span": {"class"}})
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", terminal_html(text))


@pytest.mark.slow
@FEW_CASES
@given(st.lists(PIECES, min_size=1, max_size=3).map("".join))
def test_what_is_repeated_without_end_is_rendered_in_time(piece: str) -> None:
    with in_time():
        cleaned_html(piece * (20_000 // len(piece)))
        markdown_html(piece * (20_000 // len(piece)))
        terminal_html(piece * (20_000 // len(piece)))
