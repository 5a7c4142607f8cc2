"""The tables among a competition's files: which files are some, and what a sample says of their columns."""

from codecs import BOM_UTF8

from generator.competition.survey.columns import columns_of, kind_of, with_points
from generator.competition.survey.facts import NUMBERS, Table
from generator.competition.survey.file_sources import FileSource, TableFile
from generator.competition.survey.listing import suffix_of
from generator.competition.tables.delimited import sample_delimited
from generator.competition.tables.errors import NotATableError, UnreadableTableError
from generator.competition.tables.formats import FORMATS, LOOSE_SUFFIXES, PACKED, TableFormat
from generator.competition.tables.json_records import sample_json
from generator.competition.tables.parquet import sample_parquet
from generator.competition.tables.sample import Sample, SampleBounds

_HEAD = 100
# What downloads and clones leave in the place of a file.
_IN_PLACE_OF_FILES = {
    (b"<!doctype html", b"<html"): "is an HTML page in the place of the file; download it again, signed in",
    (b"version https://git-lfs",): "is a pointer of Git LFS in the place of the file; fetch it with: git lfs pull",
}


def is_table_name(name: str) -> bool:
    """True if a file of this name may be a table, or a compressed one."""
    suffix = suffix_of(name)
    if suffix not in PACKED:
        return suffix in FORMATS or suffix in LOOSE_SUFFIXES
    inner = suffix_of(name[: -len(suffix)])
    return inner in LOOSE_SUFFIXES or FORMATS.get(inner, TableFormat.PARQUET) is not TableFormat.PARQUET


def read_table(source: FileSource, path: str, bounds: SampleBounds) -> tuple[Table, tuple[str, ...]]:
    """Reads a sample of a table.

    Args:
        source: Where it is.
        path: Its path relative to the competition's folder.
        bounds: How much may be read.

    Returns:
        The table, and remarks on it.

    Raises:
        NotATableError: It is no table.
        UnreadableTableError: It cannot be read as one.
        OSError: It cannot be read at all.
    """
    stored = source.table_file(path, bounds.size)
    with stored.file:
        sample = _sample(stored, bounds)
    columns, renamed = columns_of(sample)
    # Where commas separate cells, or may stand between thousands, a comma is no decimal point.
    pointed = with_points(columns) if sample.separator == ";" else None
    table = Table(
        path=path,
        format=sample.format,
        columns=pointed or columns,
        rows=sample.total,
        is_complete=sample.is_complete,
        separator=sample.separator,
        encoding=sample.encoding,
        decimal="," if pointed else ".",
        compression=stored.compression,
        has_long_rows=any(len(row) > len(sample.header) for row in sample.rows),
        has_trailing_separator=sample.has_trailing_separator,
    )
    return table, (*stored.remarks, *renamed, *sample.remarks, *_remarks(sample))


def _sample(stored: TableFile, bounds: SampleBounds) -> Sample:
    """Reads some rows by the reader of the format that the name promises."""
    stored.file.seek(0)
    head = stored.file.read(_HEAD).removeprefix(BOM_UTF8).lstrip().lower()
    stored.file.seek(0)
    for beginnings, problem in _IN_PLACE_OF_FILES.items():
        if head.startswith(beginnings):
            raise NotATableError if stored.suffix in LOOSE_SUFFIXES else UnreadableTableError(problem)
    promised = FORMATS.get(stored.suffix)
    if promised is TableFormat.PARQUET:
        return sample_parquet(stored.file, bounds)
    read = sample_json if promised in (TableFormat.JSON, TableFormat.JSON_LINES) else sample_delimited
    return read(stored.file, suffix=stored.suffix, total=stored.total, bounds=bounds)


def _remarks(sample: Sample) -> tuple[str, ...]:
    is_text = sample.format is TableFormat.CSV and sample.rows
    if is_text and all(kind_of([name]) in NUMBERS for name in sample.header):
        return ("has only numbers in its first line, which was taken for the header",)
    return ()
