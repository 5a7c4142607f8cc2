"""HTML that is safe to show, made from what notebooks contain: Markdown, code, terminal output, HTML.

All of it is untrusted. Nothing that comes out runs a script, loads anything from elsewhere, or reaches beyond the
element it is put into.
"""

import base64
import binascii
from functools import cache, lru_cache
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from generator.run.printed_lines import plain
from generator.run.terminal_colours import ColouredPart, coloured_parts

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = frozenset(
    {
        *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"),
        *("div", "p", "span", "br", "hr", "blockquote", "details", "summary"),
        *("b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "code", "pre", "kbd", "samp"),
        *("ul", "ol", "li", "dl", "dt", "dd"),
        *("h1", "h2", "h3", "h4", "h5", "h6"),
    }
)
_VOID = frozenset({"br", "hr"})
_WITHOUT_CONTENT = frozenset({"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"})
_NUMBERS = ("colspan", "rowspan")
_LARGEST_SPAN_DIGITS = 4
_LONGEST_HIGHLIGHTED = 20_000
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def _trusted(html: str) -> Markup:
    """Marks HTML that this module wrote, every part of it escaped or from a list of its own."""
    return Markup(html)  # noqa: S704 (the one place where text becomes HTML)


def markdown_html(text: str) -> Markup:
    """Renders a Markdown cell: raw HTML in it shows as text, and images from elsewhere as their description."""
    return _trusted(_markdown().render(text))


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("link_open", _link)
    return parser


def _image(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    description = escape(token.content)
    if source.startswith(tuple(f"data:{kind};base64," for kind in _IMAGE_TYPES)):
        return f'<img src="{escape(source)}" alt="{description}">'
    return f'<span class="image-elsewhere">{description or "image"}</span>'


def _heading(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    # The page has headings of its own above those of the notebooks.
    token = tokens[index]
    level = min(6, int(token.tag[1]) + 2)
    return f'<h{level} class="md-{token.tag}">' if token.nesting == 1 else f"</h{level}>\n"


def _link(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    target = escape(str(tokens[index].attrs.get("href", "")))
    return f'<a href="{target}" rel="noreferrer nofollow">'


def code_html(source: str) -> Markup:
    """Highlights Python code, in the classes that `code_styles` colours."""
    return _highlighted(source) if len(source) <= _LONGEST_HIGHLIGHTED else _trusted(escape(source))


@lru_cache(maxsize=1024)  # the versions of a notebook have most of their cells in common
def _highlighted(source: str) -> Markup:
    from pygments import highlight  # type: ignore[import-untyped]
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
    from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

    return _trusted(highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


def code_styles(*, light: str, dark: str) -> Markup:
    """The style sheet for `code_html`, for both colour schemes."""
    from pygments.formatters import HtmlFormatter

    sheets = [HtmlFormatter(style=style, nobackground=True).get_style_defs(".code") for style in (light, dark)]
    bright, dim = ("\n".join(line for line in sheet.split("\n") if line.startswith(".code .")) for sheet in sheets)
    scheme = "(prefers-color-scheme: dark)"
    return _trusted(f"@media not all and {scheme} {{\n{bright}\n}}\n@media {scheme} {{\n{dim}\n}}")


def terminal_html(text: str) -> Markup:
    """Shows terminal output with its bold and coloured parts; every other control sequence is dropped."""
    return _trusted("".join(_spanned(part) for part in coloured_parts(text)))


def _spanned(part: ColouredPart) -> str:
    shown = escape("".join(c for c in plain(part.text) if c.isprintable() or c in "\n\t"))
    classes = [*(["ansi-bold"] if part.is_bold else []), *([f"ansi-{part.colour}"] if part.colour else [])]
    return f'<span class="{" ".join(classes)}">{shown}</span>' if classes and shown else shown


def image_source(kind: str, data: str) -> str | None:
    """The `data:` URL of a figure, or None if it is not what it says it is; SVG in an image runs no scripts."""
    if kind == "image/svg+xml":
        return "data:image/svg+xml;base64," + base64.b64encode(data.encode()).decode()
    if kind not in _IMAGE_TYPES:
        return None
    compact = "".join(data.split())
    try:
        base64.b64decode(compact, validate=True)
    except binascii.Error:
        return None
    return f"data:{kind};base64,{compact}"


def png_size(source: str) -> tuple[int, int] | None:
    """Width and height of a PNG in pixels, from its `data:` URL; None for anything else."""
    head, _, data = source.partition(",")
    if head != "data:image/png;base64":
        return None
    # 8 bytes of signature, 4 of length, 4 of type, then the two numbers.
    header = base64.b64decode(data[:32])
    width, height = (int.from_bytes(header[start : start + 4]) for start in (16, 20))
    return (width, height) if width and height else None


def cleaned_html(text: str) -> Markup:
    """Keeps tables and simple formatting of an HTML output, and writes every tag of the result afresh."""
    cleaner = _Cleaner()
    cleaner.feed(text)
    cleaner.close()
    return cleaner.result()


class _Cleaner(HTMLParser):
    """Writes down what is on the list of allowed tags, balanced; text is always escaped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._open: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _WITHOUT_CONTENT:
            self._silent.append(tag)
        elif tag in _TAGS and not self._silent:
            kept = "".join(f' {name}="{value}"' for name, value in attrs if name in _NUMBERS and _is_small(value))
            self._parts.append(f"<{tag}{kept}>")
            if tag not in _VOID:
                self._open.append(tag)

    def handle_startendtag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID and not self._silent:
            self._parts.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif not self._silent and tag in self._open:
            while True:
                innermost = self._open.pop()
                self._parts.append(f"</{innermost}>")
                if innermost == tag:
                    break

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._parts.append(escape(data))

    def result(self) -> Markup:
        closing = "".join(f"</{tag}>" for tag in reversed(self._open))
        return _trusted("".join(self._parts) + closing)


def _is_small(value: str | None) -> bool:
    return value is not None and value.isascii() and value.isdigit() and len(value) <= _LARGEST_SPAN_DIGITS
