"""The beginning of a file that a notebook wrote, as far as it can be shown: a table, a text, a picture."""

import base64
import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from generator.competition.tables import (
    TableFormat,
    UnreadableTableError,
    open_unpacked,
    separator_in,
    table_format,
    table_rows,
)
from generator.localkaggle.storage import ListedFile
from generator.run.notebook_html import image_source
from generator.sessions.sandbox import path_of

_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_TEXTS = {".txt", ".json", ".jsonl", ".ndjson", ".toml", ".yaml", ".yml", ".md", ".log", ".py", ".xml", ".html", ".svg"}
_LARGEST_IMAGE = 4 * 2**20
_BEGINNING = 64 * 1024
_ROWS, _COLUMNS = 30, 40
_LONGEST_CELL = 200


@dataclass(frozen=True)
class Preview:
    """The part of a file that is shown: one of `table`, `text` and `image`, or none of them."""

    file: ListedFile
    table: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    image: str = ""
    is_cut: bool = False


def preview(file: ListedFile) -> Preview:
    """The beginning of a file."""
    kind = PurePosixPath(file.name).suffix.lower()
    is_image = kind in _IMAGES and file.size <= _LARGEST_IMAGE
    if not is_image and table_format(file.name).format is None and kind not in _TEXTS:
        return Preview(file)
    try:
        with file.open() as source:
            if is_image:
                data = base64.b64encode(source.read(_LARGEST_IMAGE)).decode()
                return Preview(file, image=image_source(_IMAGES[kind], data) or "")
            reader = _of_rows if table_format(file.name).format is TableFormat.PARQUET else _of_text
            with path_of(source, file.name) as path:
                return reader(file, path)
    except (UnreadableTableError, OSError):
        return Preview(file)


def _of_rows(file: ListedFile, path: Path) -> Preview:
    rows = [cells for _, cells in islice(table_rows(path), _ROWS + 2)]
    return Preview(file, table=_cut(rows[: _ROWS + 1]), is_cut=len(rows) > _ROWS + 1)


def _of_text(file: ListedFile, path: Path) -> Preview:
    with open_unpacked(path) as (stream, name):
        beginning = stream.read(_BEGINNING + 1)
    file_format, is_cut = table_format(name), len(beginning) > _BEGINNING
    text = beginning[:_BEGINNING].decode("utf-8", "replace")
    is_text = PurePosixPath(name).suffix.lower() in _TEXTS and not table_format(file.name).compression
    if file_format.format is TableFormat.PARQUET or (file_format.format is None and not is_text):
        return Preview(file)
    if file_format.format is not TableFormat.CSV or name.lower().endswith(".txt"):
        return Preview(file, text=text, is_cut=is_cut)
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if is_cut else lines
    try:
        separator = file_format.separator or separator_in(lines[0] if lines else "")
        rows = list(csv.reader(io.StringIO("".join(lines[: _ROWS + 1])), delimiter=separator))
    except csv.Error:
        return Preview(file, text=text, is_cut=is_cut)
    return Preview(file, table=_cut(rows), is_cut=len(lines) > _ROWS + 1 or is_cut)


def _cut(rows: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(cell[:_LONGEST_CELL] for cell in row[:_COLUMNS]) for row in rows)
