"""An executed notebook prepared for a page: its cells and outputs as safe HTML, its figures by themselves.

Whoever wrote it may have made it slow to render: what takes too long, or cannot be rendered, is shown as it was written
or left out, and the page says so.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from generator.run.notebook_file import parse_notebook, read_notebook
from generator.run.notebook_outline import INJECTED, heading
from generator.run.safe_html import (
    as_written,
    cleaned_html,
    code_html,
    image_source,
    markdown_html,
    png_size,
    terminal_html,
    text_of_html,
)
from generator.run.terminal_text import strip_ansi

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
        return self._rendered(markdown_html, text) or as_written(text)

    def code(self, source: str) -> Markup:
        return self._rendered(code_html, source) or Markup.escape(source)

    def html(self, text: str) -> Markup | None:
        """None where it has to be left out."""
        return self._rendered(cleaned_html, text)

    def terminal(self, text: str) -> Markup:
        text = _shortened(text)
        return self._rendered(terminal_html, text) or Markup.escape(strip_ansi(text))

    def _rendered(self, render: Callable[[str], Markup | None], text: str) -> Markup | None:
        if time.thread_time() > self.until:
            return None
        try:
            return render(text)
        except Exception:  # noqa: BLE001 - whatever a library raises at a hostile text costs that text, not the page
            return None


def view_notebook(path: Path) -> tuple[CellView, ...]:
    """Reads a notebook, executed or not; how long its cells took is what papermill wrote into them."""
    return _view(read_notebook(path))


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
        if cell.get("id") != INJECTED:  # papermill's own
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
            yield from _displayed(output.get("data", {}), renderer, description=description)


def _displayed(data: Mapping[str, Any], renderer: _Renderer, *, description: str) -> Iterator[Output]:
    """The richest representation that can be shown safely, behind a sentence on a richer one that cannot be shown."""
    for kind in _FIGURE_TYPES:
        source = image_source(kind, str(data[kind])) if kind in data else None
        if source is not None:
            image = Markup('<img src="{}" alt="{}">').format(source, description)
            yield Output("figure", image, source)
            return
    if "text/html" in data:
        html = str(data["text/html"])
        shown = renderer.html(html)
        if shown is not None:
            yield Output("table", shown)
            return
        why = "are too many, or take too long, to be shown here; the notebook has them."
        yield Output("note", Markup.escape(f"{len(html):,} characters of HTML {why}"))
    if "text/markdown" in data:
        yield Output("table", renderer.markdown(_shortened(str(data["text/markdown"]))))
    else:
        text = data.get("text/plain") or text_of_html(str(data.get("text/html", "")))
        yield Output("text", renderer.terminal(str(text)))


def _shortened(text: str) -> str:
    """Text without its middle if it is long: the executed notebook has all of it."""
    every = text.split("\n")
    left_out = len(every) - _HEAD_LINES - _TAIL_LINES
    if left_out > 1:
        every = [*every[:_HEAD_LINES], f"… {left_out:,} lines left out …", *every[-_TAIL_LINES:]]
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …" for line in every)
