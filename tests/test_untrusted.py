"""Text that somebody else wrote reaches terminals, Markdown and code only as itself."""

import ast
import subprocess
import sys

import pytest

from generator.text import (
    JsonObject,
    filled_list,
    is_slug,
    markdown,
    markdown_code,
    parsed_json,
    printable,
    python_literal,
    quote_text,
)

NASTY = [
    "it's",
    'say "hi"',
    """both ' and " and '""",
    "two\nlines\r\n\ttab",
    "{{ 7 * 7 }} {% raw %} # {# x #}",
    "# %% name",
    "back\\slash \\n \\u2028",
    "\u2028 \u2029 \x85 \x0b \x00 \x1b[31m",
    "\ud800 alone",
    "rocket 🚀, family 👨‍👩‍👧",
    "\u202e desrever",
    "\U000e0041 tag",
    "",
    '"""',
]


@pytest.mark.parametrize("text", NASTY)
def test_a_literal_reads_back_as_the_text_and_stays_on_one_printable_line(text: str) -> None:
    literal = python_literal(text)

    assert ast.literal_eval(literal) == text
    assert literal.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("\x1b" * 5_000_000, ("\\x1b" * 50)[:199] + "…"),
    ],
)
def test_a_quote_is_printable_and_never_long(text: str, shown: str) -> None:
    assert quote_text(text) == shown


def test_a_literal_keeps_an_emoji_as_it_is() -> None:
    assert python_literal("🚀") == '"🚀"'


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (True, "True"),
        (None, "None"),
        (-3, "-3"),
        (1e-05, "1e-05"),
        (["a", 1, 2.5, False], '["a", 1, 2.5, False]'),
        ((1,), "(1,)"),
        ((), "()"),
        ({"a": {"b": []}}, '{"a": {"b": []}}'),
    ],
)
def test_numbers_and_collections_are_written_as_python_writes_them(value: object, literal: str) -> None:
    assert python_literal(value) == literal


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes", {1, 2}])
def test_a_value_without_a_literal_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no Python literal"):
        python_literal(value)


def test_the_formatter_leaves_literals_alone() -> None:
    values = [*[text for text in NASTY if "\ud800" not in text], 1e-05, 1e16, -1, [1, 2], (1,), {"a": 'b"c'}, None]
    code = "".join(f"NAME_{index} = {python_literal(value)}\n" for index, value in enumerate(values))

    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "200", "-"],
        input=code,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert formatted.stdout == code


def test_a_long_list_fills_its_lines_and_reads_back() -> None:
    literal = filled_list([*NASTY, *map(str, range(100))])

    assert ast.literal_eval(literal) == [*NASTY, *map(str, range(100))]
    assert all(line.isprintable() for line in literal.split("\n"))
    assert max(map(len, literal.split("\n")[-10:])) in range(85, 97)


def test_terminal_text_has_no_character_that_a_terminal_obeys() -> None:
    text = "red \x1b[31m bell \x07 \u202e reversed \u2028 line \x9b csi \ud800"

    shown = printable(text)

    assert shown.isprintable()
    assert shown.startswith("red \\x1b[31m bell \\x07 \\u202e reversed")


@pytest.mark.parametrize("text", NASTY)
def test_markdown_is_one_line_that_opens_no_cell(text: str) -> None:
    line = markdown(text)

    assert "\n" not in line
    assert not f"# {line}".startswith("# %%")
    line.encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "*bold* _soft_ `code`",
        "a | b",
        "<script>alert(1)</script> &amp; &lt;",
        "[link](https://example.org) ![image](x)",
        "# heading",
        "1. item",
        "12) item",
        "- item",
        "+ item",
        "=== underline",
        "~~struck~~",
        "%% magic",
        "C:\\temp\\*",
    ],
)
def test_markdown_renders_as_the_text_itself(text: str) -> None:
    from html import unescape

    from markdown_it import MarkdownIt

    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown(text)).strip()

    assert html.startswith("<p>")
    assert html.count("<") == 2, html
    assert unescape(html.removeprefix("<p>").removesuffix("</p>")) == text


def test_a_code_span_shows_an_underscore_without_a_backslash() -> None:
    assert markdown_code("image_id") == "`image_id`"


@pytest.mark.parametrize("text", ["a`b", "a|b", "%% x", ""])
def test_what_a_code_span_cannot_hold_is_escaped_as_prose(text: str) -> None:
    assert markdown_code(text) == markdown(text)


@pytest.mark.parametrize("text", ["digits", "house-prices-2026", "a--b"])
def test_a_slug_is_accepted(text: str) -> None:
    assert is_slug(text)


@pytest.mark.parametrize("text", ["", "..", "a/b", "-a", "a-", "Ab", "a b", "ä", "a\n", "x" * 101])
def test_what_could_leave_a_folder_or_break_a_url_is_no_slug(text: str) -> None:
    assert not is_slug(text)


def test_a_field_of_another_type_than_asked_for_counts_as_left_out() -> None:
    fields = JsonObject({"a": "1", "b": True, "c": 10**400, "d": [], "e": {"f": 2}, "g": float("nan"), "h": 3})

    assert [fields.text(name) for name in "abcx"] == ["1", "", "", ""]
    assert [fields.count(name) for name in "abhx"] == [0, 0, 3, 0]
    assert [fields.number(name) for name in "abcghx"] == [None, None, None, None, 3.0, None]
    assert [fields.flag(name) for name in "abhx"] == [False, True, False, False]
    assert [fields.section(name) for name in "adex"] == [{}, {}, {"f": 2}, {}]


@pytest.mark.parametrize("levels", [101, 950, 100_000])
def test_json_that_is_nested_deeper_than_anybody_writes_it_is_none(levels: int) -> None:
    text = '[{"a": ' * (levels // 2) + "1" + "}]" * (levels // 2)
    if levels % 2:
        text = f"[{text}]"

    with pytest.raises(ValueError, match="nested too deep"):
        parsed_json(text)
    assert JsonObject.parse(text) == {}
    assert parsed_json("[" * 100 + "]" * 100)
