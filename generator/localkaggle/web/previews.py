"""The beginning of a file that a notebook wrote, as far as it can be shown: a table, a text, a picture."""

import base64
import csv
import io
from dataclasses import dataclass
from pathlib import PurePosixPath

from generator.localkaggle.services.kernel_outputs import OutputFile
from generator.run.safe_html import image_source

_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_TEXTS = {".txt", ".json", ".toml", ".yaml", ".yml", ".md", ".log", ".py", ".xml", ".html", ".svg"}
_TABLES = {".csv": ",", ".tsv": "\t"}
_LARGEST_IMAGE = 4 * 2**20
_BEGINNING = 64 * 1024
_ROWS, _COLUMNS = 30, 40
_LONGEST_CELL = 200


@dataclass(frozen=True)
class Preview:
    """What is shown of a file; one of `table`, `text` and `image`, or none of them."""

    file: OutputFile
    table: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    image: str = ""
    is_cut: bool = False


def preview(file: OutputFile) -> Preview:
    """The beginning of a file."""
    kind = PurePosixPath(file.name).suffix.lower()
    if kind in _IMAGES and file.size <= _LARGEST_IMAGE:
        data = base64.b64encode(file.path.read_bytes()).decode()
        return Preview(file, image=image_source(_IMAGES[kind], data) or "")
    if kind in _TABLES:
        return _table(file, _TABLES[kind])
    return Preview(file, text=_beginning(file), is_cut=file.size > _BEGINNING) if kind in _TEXTS else Preview(file)


def _table(file: OutputFile, delimiter: str) -> Preview:
    beginning = _beginning(file)
    lines = beginning.splitlines(keepends=True)
    if file.size > _BEGINNING:
        lines = lines[:-1]
    try:
        rows = list(csv.reader(io.StringIO("".join(lines[: _ROWS + 1])), delimiter=delimiter))
    except csv.Error:
        return Preview(file, text=beginning, is_cut=file.size > _BEGINNING)
    shown = tuple(tuple(cell[:_LONGEST_CELL] for cell in row[:_COLUMNS]) for row in rows)
    return Preview(file, table=shown, is_cut=len(lines) > _ROWS + 1 or file.size > _BEGINNING)


def _beginning(file: OutputFile) -> str:
    with file.path.open("rb") as opened:
        return opened.read(_BEGINNING).decode("utf-8", "replace")
