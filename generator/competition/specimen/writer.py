"""How a specimen is written: tables in the format of the original, and a folder that appears whole or not at all."""

import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from generator import __version__
from generator.competition.specimen.examples import Original
from generator.competition.specimen.values import Cells
from generator.competition.survey import Column, ColumnKind, Table, kind_of, numbers_of
from generator.competition.tables import TableFormat
from generator.errors import CompetitionError
from generator.files import PathOutsideError, WorkspaceFiles, resolve_inside, writing
from generator.text import printable, storable

_SPACES = r"\s+"
_LARGEST_INTEGER = 1 << 63
_COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
_YES = frozenset(("True", "TRUE", "true"))


def table_file(table: Table, cells: Mapping[str, Cells]) -> bytes:
    """Writes a table.

    Args:
        table: The original.
        cells: For each of its columns, the cells in order of the rows.

    Raises:
        ImportError: It is a parquet file, and pyarrow is not installed.
    """
    if table.format is TableFormat.PARQUET:
        return _parquet(table, cells)
    text = _write_csv(table, cells) if table.format is TableFormat.CSV else _json(table, cells)
    # What the encoding does not have cannot come from the original; it can from a cell that was put together.
    content = text.encode(table.encoding or "utf-8", errors="replace")
    return _COMPRESSORS[table.compression](content) if table.compression in _COMPRESSORS else content


def _write_csv(table: Table, cells: Mapping[str, Cells]) -> str:
    stream = io.StringIO(newline="")
    separator = " " if table.separator == _SPACES else table.separator[:1] or ","
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    # A column without a name has one only in the survey, as pandas gives it.
    writer.writerow("" if name.startswith("Unnamed: ") else name for name in table.column_names)
    for row in _rows(table, _as_written(table, cells)):
        # A line with nothing on it is no row.
        if len(row) == 1 and not row[0]:
            stream.write('""\n')
        else:
            writer.writerow(("NA" if separator == " " else "") if cell is None else cell for cell in row)
    return stream.getvalue()


def _as_written(table: Table, cells: Mapping[str, Cells]) -> Mapping[str, Cells]:
    """The cells with the decimal sign of the table in their numbers."""
    if table.decimal == ".":
        return cells
    new_cells = dict(cells)
    for name in (column.name for column in table.columns if numbers_of(column) is not None):
        are_numbers = [cell is not None and kind_of([cell]) is ColumnKind.NUMBER for cell in cells[name]]
        pairs = zip(cells[name], are_numbers, strict=True)
        new_cells[name] = [
            cell.replace(".", table.decimal) if cell and is_number else cell for cell, is_number in pairs
        ]
    return new_cells


def _rows(table: Table, cells: Mapping[str, Cells]) -> list[tuple[str | None, ...]]:
    return list(zip(*(cells[name] for name in table.column_names), strict=True))


def _json(table: Table, cells: Mapping[str, Cells]) -> str:
    records = []
    for row in _rows(table, cells):
        record: dict[str, Any] = {}
        for column, cell in zip(table.columns, row, strict=True):
            _put(record, column.name, _json_value(column, cell))
        records.append(record)
    if table.format is TableFormat.JSON_LINES:
        return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    return json.dumps(records, ensure_ascii=False)


def _put(record: dict[str, Any], name: str, value: object) -> None:
    """Puts a value where a dotted name leads, if nothing else stands on the way there."""
    *path, last = name.split(".")
    place = record
    for step in path:
        inner = place.setdefault(step, {})
        if not isinstance(inner, dict):
            record[name] = value
            return
        place = inner
    place[last] = value


def _json_value(column: Column, cell: str | None) -> object:
    if cell is not None and column.kind is ColumnKind.TEXT and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return _parse_cell(column.kind, cell)


def _parse_cell(kind: ColumnKind, cell: str | None) -> bool | int | float | str | None:
    if cell is None:
        return None
    if kind is ColumnKind.BOOLEAN:
        return cell in _YES
    try:
        return int(cell) if kind is ColumnKind.INTEGER else float(cell) if kind is ColumnKind.NUMBER else storable(cell)
    except ValueError:
        return cell


def _parquet(table: Table, cells: Mapping[str, Cells]) -> bytes:
    # Imported by name, since pyarrow need not be installed and has no types.
    arrow, arrow_parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    stream = io.BytesIO()
    arrays = [arrow.array(_of_one_type(column, cells[column.name])) for column in table.columns]
    names = [storable(name) for name in table.column_names]
    arrow_parquet.write_table(arrow.Table.from_arrays(arrays, names=names), stream)
    return stream.getvalue()


def _of_one_type(column: Column, cells: Cells) -> Sequence[object]:
    texts = [None if cell is None else storable(cell) for cell in cells]
    if column.kind is ColumnKind.DATE:
        try:
            return [None if cell is None else datetime.fromisoformat(cell) for cell in cells]
        except ValueError:
            return texts
    values = [_parse_cell(column.kind, cell) for cell in cells]
    is_large = any(isinstance(value, int) and abs(value) >= _LARGEST_INTEGER for value in values)
    is_mixed = len({type(value) for value in values if value is not None}) > 1
    return texts if is_large or is_mixed else values


MARKER = "SPECIMEN.json"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a zip archive; so that the same specimen has the same bytes
_IN_ARCHIVE = re.compile(r"(.*?\.zip)/(.*)", re.IGNORECASE)
_LONGEST_NAME, _LONGEST_PATH = 255, 2_000  # bytes


@contextmanager
def stage_folder(folder: Path, files: WorkspaceFiles, *, replace: bool) -> Iterator[Path]:
    """Gives an empty folder to be filled, which becomes `folder` at the end if nothing went wrong.

    Args:
        folder: Where the specimen belongs.
        files: The way to write there.
        replace: Whether a specimen that is there is replaced; anything else never is.

    Raises:
        CompetitionError: There is a specimen, and it is not to be replaced; or something else.
        FileWriteError: The folder could not be written; what was there before is untouched.
        UnsafePlaceError: There is a link on the way to it.
    """
    with writing(folder):
        _check_free(folder, replace=replace)
        files.make_folder(folder.parent)
        with files.beside(folder) as stage:
            content = stage / "new"
            content.mkdir()
            yield content
            _swap(content, folder, stage / "old", files)


def _swap(content: Path, folder: Path, old: Path, files: WorkspaceFiles) -> None:
    """Puts the new folder where the old one is, which comes back if that fails."""
    if folder.exists():
        files.move(folder, old)
    try:
        files.move(content, folder)
    except OSError:
        if old.exists():
            files.move(old, folder)
        raise


def _check_free(folder: Path, *, replace: bool) -> None:
    is_empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if is_empty and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / MARKER).is_file():
        raise CompetitionError(
            f"{printable(str(folder))} is not empty and no specimen, and was left alone; "
            "write the specimen elsewhere: --output DIR."
        )
    if not replace:
        raise CompetitionError(f"There is a specimen in {printable(str(folder))} already; write it again with --force.")


@dataclass
class Writer:
    """Writes files below a folder, by the paths of a survey, and skips those that cannot be files there.

    Attributes:
        root: The folder.
        notes: Sentences on what was skipped.
        files: How many files were written, by the folder of the survey that they are in.
    """

    root: Path
    notes: list[str] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    _archives: dict[str, zipfile.ZipFile] = field(default_factory=dict, init=False)
    _written_paths: set[str] = field(default_factory=set, init=False)

    def close(self) -> None:
        """Completes the archives."""
        for archive in self._archives.values():
            archive.close()

    def write(self, path: str, content: bytes, *, is_archived: bool = False) -> bool:
        """Writes one file, unless it is there or cannot be.

        Args:
            path: Relative, with `/`; a member of an archive is `archive.zip/member`.
            content: All of it.
            is_archived: Whether the first part of the path that ends in `.zip` is an archive.

        Returns:
            Whether it was written.
        """
        if not _is_usable(path) or path == MARKER:
            self.skip(path, "cannot be the name of a file here")
            return False
        if path in self._written_paths:
            return False
        archive_match = _IN_ARCHIVE.fullmatch(path) if is_archived else None
        try:
            if archive_match is not None:
                self._archive(archive_match[1]).writestr(_member(archive_match[2]), content)
            else:
                file = resolve_inside(self.root / path, root=self.root)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        except (PathOutsideError, NotADirectoryError, FileExistsError, IsADirectoryError, UnicodeError):
            self.skip(path, "cannot be the name of a file here")
            return False
        self._written_paths.add(path)
        self.files[path.rpartition("/")[0]] += 1
        return True

    def skip(self, path: str, reason: str) -> None:
        """Notes that a file was not written; `reason` is a predicate."""
        self.note(f"{printable(path[:200])} {reason} and was left out.")

    def note(self, sentence: str) -> None:
        """Notes something once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def _archive(self, path: str) -> zipfile.ZipFile:
        if path not in self._archives:
            file = resolve_inside(self.root / path, root=self.root)
            file.parent.mkdir(parents=True, exist_ok=True)
            self._archives[path] = zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED)
        return self._archives[path]


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EARLIEST)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _is_usable(path: str) -> bool:
    """True if a path is relative, stays inside, and has only names that file systems take."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return False
    parts = path.split("/")
    has_odd_name = any(
        part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME or part != part.strip() or "\\" in part
        for part in parts
    )
    return size <= _LONGEST_PATH and not has_odd_name and path.isprintable() and ":" not in parts[0]


def marker_of(original: Original) -> bytes:
    """Return the marker that names the original of a specimen; the digest tells one set of facts from another."""
    content = {
        "specimen": "Made-up data that only look like a competition's; scores on them mean nothing.",
        "kit_version": __version__,
        "seed": original.seed,
        "rows": original.rows,
        "signal": original.signal,
        "made_from": {
            "tables": [table.path for table in original.survey.tables],
            "family": original.task.family,
            "facts_sha256": hashlib.sha256(repr(original.survey).encode("utf-8", "backslashreplace")).hexdigest(),
        },
    }
    return (json.dumps(content, indent=2) + "\n").encode()
