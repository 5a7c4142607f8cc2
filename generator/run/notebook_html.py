"""An executed notebook as safe HTML: cells, outputs and figures."""

import base64
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from markupsafe import Markup

from generator.run.execution import INJECTED_TAG, heading, load_notebook_v4, parse_notebook, strip_ansi
from generator.text import storable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.style import Style
    from rich.text import Text


# HTML that is safe to show, made from what notebooks contain: Markdown, code, terminal output, HTML.
#
# All of it is untrusted. Nothing that comes out runs a script, loads anything from elsewhere, or reaches beyond the
# element it is put into.


_LONGEST_HTML = 200_000
# Nested elements cost their square: so many tags may come in any order, and more of them only in a shallow tree.
_MOST_TAGS, _DEEPEST = 3_000, 100
_STYLE_SHEET = re.compile(r"<style\b[^<>]*>[^<]*</style>", re.IGNORECASE)
_ATTRIBUTE = r"""\s+[a-z][\w:-]*(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+))?"""
_TAG = re.compile(rf"<(/?)([a-z][a-z0-9-]*)(?:{_ATTRIBUTE})*\s*/?>", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*>")
_VOID = {"br", "hr", "img", "input", "col", "wbr", "link", "meta"}
_TAGS = {
    *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"),
    *("div", "p", "span", "br", "hr", "blockquote", "details", "summary"),
    *("b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "code", "pre", "kbd", "samp"),
    *("ul", "ol", "li", "dl", "dt", "dd"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
}
_WITHOUT_CONTENT = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"}
_ATTRIBUTES = {"td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}, "*": set[str]()}
_LONGEST_MARKDOWN = 100_000
# What a parser has to try each time: 100,000 brackets take it seconds, on a busy machine half a minute.
_MARKUP, _MOST_MARKUP = re.compile(r"[\[!*_\n]"), 10_000
_LONGEST_ADDRESSES = 1_000_000  # of all links and images
_LONGEST_HIGHLIGHTED = 20_000
_HIGHLIGHTING_SECONDS = 0.5  # of a processor; the lexer scans blank lines once for each of them
_MOST_COLOURS = 20_000  # in one output; each takes 25 microseconds
_STYLES = ("default", "github-dark")  # of Pygments, for light and for dark
# The eight of terminals in their order; black, white and greys have the colour of the text, readable on any ground.
_COLOURS = ("", "red", "green", "yellow", "blue", "magenta", "cyan", "")
_LONE_ESCAPE = re.compile(r"\x1b(?!\[[0-9;]*m)")
_SLASHES = re.compile(r"(?i)(?<=^http):/*|(?<=^https):/*")
_NUMERIC_HOST = re.compile(r"[0-9a-fx.:%\[\]]*(?:[0-9]|:)[0-9a-fx.:%\[\]]*")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def _mark_safe(html: str) -> Markup:
    """Marks HTML that this module wrote, every part of it escaped or from a list of its own."""
    return Markup(html)  # noqa: S704 (the one place where text becomes HTML)


def markdown_html(text: str) -> Markup:
    """Renders Markdown: raw HTML in it shows as text, images from elsewhere as their description, a book as written."""
    if len(text) > _LONGEST_MARKDOWN or len(_MARKUP.findall(text)) > _MOST_MARKUP:
        return as_written(text)
    parser = _markdown()
    tokens = parser.parse(text)
    addresses = (value for token in tokens for part in token.children or () for value in part.attrs.values())
    # An address that is defined once is written wherever it is referred to: 100 KB became 560 MB so.
    if sum(len(str(address)) for address in addresses) > _LONGEST_ADDRESSES:
        return as_written(text)
    return _mark_safe(parser.renderer.render(tokens, parser.options, {}))


def as_written(text: str) -> Markup:
    """Shows text as it is, where it cannot be rendered."""
    return _mark_safe(f"<pre>{escape(text)}</pre>")


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("link_close", _link_end)
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
    target = str(tokens[index].attrs.get("href", ""))
    # A program on this machine must not be a click away: browsers send it what they know of this host.
    if _is_of_this_machine(target):
        tokens[_end_of(tokens, index)].meta["is_text"] = True
        return f'<span class="link-elsewhere" title="{escape(target)}">'
    return f'<a href="{escape(target)}" rel="noreferrer nofollow">'


def _link_end(_renderer: Any, tokens: Any, index: int, *_: Any) -> str:
    return "</span>" if tokens[index].meta.get("is_text") else "</a>"


def _end_of(tokens: Any, index: int) -> int:
    """Return the place of the end of a link; there are no links in links."""
    return next(place for place in range(index, len(tokens)) if tokens[place].type == "link_close")


def _is_of_this_machine(address: str) -> bool:
    """True for the address of a host by its number, however written, or below `localhost`; and for what is none."""
    try:
        # Browsers take any number of slashes, of either kind.
        parts = urlsplit(_SLASHES.sub("://", unquote(address).replace("\\", "/")))
        host = (parts.hostname or "").lower().rstrip(".")
    except ValueError:
        return True
    if not host:
        return bool(parts.netloc)
    return host.rpartition(".")[2] in ("localhost", "localdomain") or _NUMERIC_HOST.fullmatch(host) is not None


def code_html(source: str) -> Markup:
    """Highlights Python code, in the classes that `code_styles` colours; what takes long has no colours."""
    return _highlight(source) if len(source) <= _LONGEST_HIGHLIGHTED else _mark_safe(escape(source))


@lru_cache(maxsize=1024)  # the versions of a notebook have most of their cells in common
def _highlight(source: str) -> Markup:
    from pygments import format as formatted  # type: ignore[import-untyped]  # pygments brings no types
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]  # as above
    from pygments.lexers import PythonLexer  # type: ignore[import-untyped]  # as above

    tokens = []
    until = time.thread_time() + _HIGHLIGHTING_SECONDS
    for token in PythonLexer(stripnl=False).get_tokens(source):
        if time.thread_time() > until:
            return _mark_safe(escape(source))
        tokens.append(token)
    return _mark_safe(formatted(tokens, HtmlFormatter(nowrap=True)))


def code_styles() -> Markup:
    """The style sheet for `code_html`, for both colour schemes."""
    from pygments.formatters import HtmlFormatter

    sheets = [HtmlFormatter(style=style, nobackground=True).get_style_defs(".code") for style in _STYLES]
    bright, dim = ("\n".join(line for line in sheet.split("\n") if line.startswith(".code .")) for sheet in sheets)
    scheme = "(prefers-color-scheme: dark)"
    return _mark_safe(f"@media not all and {scheme} {{\n{bright}\n}}\n@media {scheme} {{\n{dim}\n}}")


def terminal_html(text: str) -> Markup:
    """Shows terminal output with its bold and coloured parts, unless they are too many; other sequences are dropped."""
    from rich.ansi import AnsiDecoder

    coloured_text = strip_ansi(text, keep_colours=text.count("\x1b") <= _MOST_COLOURS)
    printable_text = "".join(c for c in coloured_text if c.isprintable() or c in "\n\t\x1b")
    return _mark_safe("\n".join(map(_styled_line, AnsiDecoder().decode(_LONE_ESCAPE.sub("", printable_text)))))


def _styled_line(line: "Text") -> str:
    parts, end = [], 0
    for span in line.spans:
        parts += [escape(line.plain[end : span.start]), _style_text(line.plain[span.start : span.end], span.style)]
        end = span.end
    return "".join([*parts, escape(line.plain[end:])])


def _style_text(text: str, style: "Style | str") -> str:
    from rich.color import ColorSystem

    classes = []
    if not isinstance(style, str):
        classes += ["ansi-bold"] if style.bold else []
        number = style.color.downgrade(ColorSystem.STANDARD).number if style.color is not None else None
        colour = "" if number is None else _COLOURS[number % len(_COLOURS)]
        classes += [f"ansi-{colour}"] if colour else []
    return f'<span class="{" ".join(classes)}">{escape(text)}</span>' if classes else escape(text)


def image_source(kind: str, data: str) -> str | None:
    """The `data:` URL of a figure, or None if it is not what it says it is; SVG in an image runs no scripts."""
    if kind == "image/svg+xml":
        return "data:image/svg+xml;base64," + base64.b64encode(data.encode("utf-8", "replace")).decode()
    if kind not in _IMAGE_TYPES:
        return None
    compact = "".join(data.split())
    try:
        base64.b64decode(compact, validate=True)
    except ValueError:
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


def cleaned_html(text: str) -> Markup | None:
    """Keep tables and simple formatting of an HTML output, balanced, and nothing that loads, runs or styles.

    Returns:
        The HTML; None where it is too long, or has many tags that are nested deeply or not closed in their turn.
    """
    import nh3

    if len(text) > _LONGEST_HTML or (text.count("<") > _MOST_TAGS and not _is_shallow(text)):
        return None

    return _mark_safe(
        nh3.clean(storable(text), tags=_TAGS, clean_content_tags=_WITHOUT_CONTENT, attributes=_ATTRIBUTES)
    )


def text_of_html(text: str) -> str:
    """Return what HTML says, without its tags."""
    return unescape(_ANY_TAG.sub("", _STYLE_SHEET.sub("", text)))


def _is_shallow(html: str) -> bool:
    """True if every tag is closed in its turn, and few are open at a time; False for what would need a parser."""
    html = _STYLE_SHEET.sub("", html)
    open_tags: list[str] = []
    start = html.find("<")
    while start >= 0:
        tag = _TAG.match(html, start)
        if tag is None:
            return False
        is_end, name = tag[1], tag[2].lower()
        if is_end:
            if not open_tags or open_tags.pop() != name:
                return False
        elif name not in _VOID:
            open_tags.append(name)
            if len(open_tags) > _DEEPEST:
                return False
        start = html.find("<", tag.end())
    return True


# An executed notebook prepared for a page: its cells and outputs as safe HTML, its figures by themselves.
#
# Whoever wrote it may have made it slow to render: what takes too long, or cannot be rendered, is shown as it was
# written or left out, and the page says so.


_FIGURE_TYPES = ("image/svg+xml", "image/png", "image/jpeg", "image/webp", "image/gif")
_NARROWEST, _WIDEST = 0.5, 5.0
_HEAD_LINES, _TAIL_LINES = 200, 100
_LONGEST_LINE = 5_000
_RENDERING_SECONDS = 5.0  # of a processor, for a whole notebook; one that was not made for this takes tenths of one


@dataclass(frozen=True)
class Output:
    """One output of a code cell; `kind` is stream, stderr, error, figure, table, text, or note, which says of one.

    `source` is the `data:` URL of a figure.
    """

    kind: str
    html: Markup
    source: str = ""

    @property
    def aspect(self) -> float:
        """Width over height of a figure, within what a page can lay out."""
        width, height = png_size(self.source) or (3, 2)
        return min(max(width / height, _NARROWEST), _WIDEST)


@dataclass(frozen=True)
class CellView:
    """A cell as the page shows it; Markdown cells have no code and no outputs."""

    name: str
    section: str
    markdown: Markup | None
    code: Markup | None = None
    outputs: tuple[Output, ...] = ()
    seconds: float | None = None
    is_failed: bool = False
    is_folded: bool = False

    @property
    def is_unreached(self) -> bool:
        """True if it would have been executed, and was not."""
        return self.code is not None and self.seconds is None


@dataclass(frozen=True)
class _Renderer:
    """Renders what strangers wrote, for as long as a page may take; `until` is a reading of this thread's CPU time."""

    until: float

    def markdown(self, text: str) -> Markup:
        return self._render(markdown_html, text) or as_written(text)

    def code(self, source: str) -> Markup:
        return self._render(code_html, source) or Markup.escape(source)

    def html(self, text: str) -> Markup | None:
        """None where it has to be left out."""
        return self._render(cleaned_html, text)

    def terminal(self, text: str) -> Markup:
        text = _shorten(text)
        return self._render(terminal_html, text) or Markup.escape(strip_ansi(text))

    def _render(self, render: Callable[[str], Markup | None], text: str) -> Markup | None:
        if time.thread_time() > self.until:
            return None
        try:
            return render(text)
        except Exception:  # noqa: BLE001 - whatever a library raises at a hostile text costs that text, not the page
            return None


def view_notebook(path: Path) -> tuple[CellView, ...]:
    """Reads a notebook, executed or not; how long its cells took is what papermill wrote into them."""
    return _view(load_notebook_v4(path))


def view_content(content: bytes, *, name: str, cells: Sequence[str] = ()) -> tuple[CellView, ...]:
    """Reads the bytes of a notebook.

    Args:
        content: The bytes.
        name: What the notebook is called in the error.
        cells: What its cells are called, by their place, in place of their ids: those of a notebook without ids are
            made up when it is executed.

    Raises:
        NotebookReadError: They are no notebook.
    """
    return _view(parse_notebook(content, path=Path(name)), cells)


def _recorded_seconds(metadata: Mapping[str, Any]) -> float | None:
    record = metadata.get("papermill")
    duration = record.get("duration") if isinstance(record, Mapping) else None
    return float(duration) if isinstance(duration, int | float) and 0 <= duration < math.inf else None


def _view(notebook: Any, names: Sequence[str] = ()) -> tuple[CellView, ...]:
    cells: list[CellView] = []
    places = iter(names)
    section = ""
    renderer = _Renderer(until=time.thread_time() + _RENDERING_SECONDS)
    for position, cell in enumerate(notebook.cells, start=1):
        name = str(cell.get("id", f"cell-{position}"))
        if cell.get("id") != INJECTED_TAG:  # papermill's own
            name = next(places, name)
        if cell.cell_type == "markdown":
            section = heading(cell.source) or section
            cells.append(CellView(name, section, renderer.markdown(cell.source)))
        elif cell.cell_type == "code" and cell.source.strip():
            outputs = tuple(_outputs(cell.outputs, renderer, description=f"{section}: {name}" if section else name))
            cells.append(
                CellView(
                    name=name,
                    section=section,
                    markdown=None,
                    code=renderer.code(cell.source),
                    outputs=outputs,
                    seconds=_recorded_seconds(cell.metadata),
                    is_failed=any(output.kind == "error" for output in outputs),
                    is_folded=_is_folded(cell.metadata),
                )
            )
    return tuple(cells)


def _is_folded(metadata: Mapping[str, Any]) -> bool:
    """True if the code is folded away: by Kaggle's mark, JupyterLab's, or the tag that nbconvert is told of."""
    jupyter, tags = metadata.get("jupyter"), metadata.get("tags")
    return (
        metadata.get("_kg_hide-input") is True
        or (isinstance(jupyter, Mapping) and jupyter.get("source_hidden") is True)
        or (isinstance(tags, list) and "hide-input" in tags)
    )


def _outputs(outputs: Sequence[Any], renderer: _Renderer, *, description: str) -> Iterator[Output]:
    for output in outputs:
        if output.output_type == "stream":
            kind = "stderr" if output.name == "stderr" else "stream"
            yield Output(kind, renderer.terminal(output.text))
        elif output.output_type == "error":
            yield Output("error", renderer.terminal("\n".join(output.traceback)))
        else:
            yield from _render_display(output.get("data", {}), renderer, description=description)


def _render_display(data: Mapping[str, Any], renderer: _Renderer, *, description: str) -> Iterator[Output]:
    """The richest representation that can be shown safely, behind a sentence on a richer one that cannot be shown."""
    for kind in _FIGURE_TYPES:
        source = image_source(kind, str(data[kind])) if kind in data else None
        if source is not None:
            image = Markup('<img src="{}" alt="{}">').format(source, description)
            yield Output("figure", image, source)
            return
    if "text/html" in data:
        html = str(data["text/html"])
        table_html = renderer.html(html)
        if table_html is not None:
            yield Output("table", table_html)
            return
        reason = "are too many, or take too long, to be shown here; the notebook has them."
        yield Output("note", Markup.escape(f"{len(html):,} characters of HTML {reason}"))
    if "text/markdown" in data:
        yield Output("table", renderer.markdown(_shorten(str(data["text/markdown"]))))
    else:
        text = data.get("text/plain") or text_of_html(str(data.get("text/html", "")))
        yield Output("text", renderer.terminal(str(text)))


def _shorten(text: str) -> str:
    """Text without its middle if it is long: the executed notebook has all of it."""
    every = text.split("\n")
    left_out = len(every) - _HEAD_LINES - _TAIL_LINES
    if left_out > 1:
        every = [*every[:_HEAD_LINES], f"… {left_out:,} lines left out …", *every[-_TAIL_LINES:]]
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …" for line in every)
