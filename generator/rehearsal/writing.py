"""Writing a competition's folder with another test in it; all the rest is the same files, under another name."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from generator.competition.specimen.table_files import table_file
from generator.competition.survey.facts import Column, ColumnKind, Table
from generator.competition.tfrecord import Values, example_of, features_of, record_file
from generator.files import PathOutsideError, contained, open_file
from generator.rehearsal.test_set import Row, TestSet

_RECORDS = "test-0.tfrec"
_MOST_OF_HALF = 2**28  # bytes


def write_folder(data: Path, test: TestSet, folder: Path) -> None:
    """Writes the competition's files with this test.

    Args:
        data: The competition's files as they are; they are neither changed nor copied where that can be helped.
        test: What takes the place of the test in them.
        folder: An empty folder that was just made.

    Raises:
        OSError: It could not be written.
    """
    data = data.resolve()
    tables = {table.path for table in (test.table, test.sample) if table is not None}
    for path in files_below(data):
        if path not in tables and path not in test.taken:
            link(data, path, folder / path)
    (folder / test.folder).mkdir(parents=True, exist_ok=True)
    for example in test.examples:
        for file in example.files:
            target = contained(folder / file.target, root=folder)
            if file.is_damaged:
                _write_half(data, file.source, target)
            elif not target.exists():
                link(data, file.source, target)
    if test.record_id:
        (folder / test.folder / _RECORDS).write_bytes(record_file(_records(test)))
    if test.table is not None:
        rows = [row for example in test.examples for row in example.rows]
        _write_table(folder, _with_columns(test.table, test.columns), rows)
    if test.sample is not None:
        _write_table(folder, test.sample, [row for place in test.answers for row in test.examples[place].answers])


def _write_half(data: Path, path: str, target: Path) -> None:
    try:
        with open_file(contained(data / path, root=data)) as file:
            content = file.read(min(_MOST_OF_HALF, os.fstat(file.fileno()).st_size // 2))
    except (OSError, PathOutsideError):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def files_below(data: Path) -> Iterator[str]:
    """Yields the paths of all files below a folder, relative to it."""
    for at, _, names in os.walk(data):
        yield from ((Path(at) / name).relative_to(data).as_posix() for name in names)


def link(data: Path, path: str, target: Path) -> None:
    """Gives a file of the data another name as well; where that cannot be, on another disk say, it is copied.

    A link that leads out of the data is left out: a workspace that was sent may have one to any file of the user's. So
    are a link to nothing and what is no file.
    """
    try:
        source = contained(data / path, root=data)
    except PathOutsideError:
        return
    if not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_table(folder: Path, table: Table, rows: list[Row]) -> None:
    columns: Mapping[str, list[str | None]] = {
        name: [row[place] or None for row in rows] for place, name in enumerate(table.column_names)
    }
    path = folder / table.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(table_file(table, columns))


def _with_columns(table: Table, names: tuple[str, ...]) -> Table:
    return replace(table, columns=tuple(table.column(name) or Column(name, ColumnKind.TEXT, ()) for name in names))


def _records(test: TestSet) -> Iterator[bytes]:
    for example in test.examples:
        features: dict[str, tuple[str, Values]] = {
            name: (feature.kind, cast("Values", feature.values))
            for name, feature in features_of(example.record).items()
        }
        kind, _ = features[test.record_id]
        key: list[bytes] | list[int] = [example.key.encode()] if kind == "bytes" else [int(float(example.key))]
        yield example_of({**features, test.record_id: (kind, key)})
