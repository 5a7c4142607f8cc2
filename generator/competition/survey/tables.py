"""Tables of any format: which files are tables, and which reader takes them."""

from generator.competition.survey import json_tables, parquet, separated
from generator.competition.survey.bounds import TableBounds
from generator.competition.survey.facts import Table, TableFormat
from generator.competition.survey.listing import suffix_of
from generator.competition.survey.packed import COMPRESSIONS
from generator.competition.survey.places import Place, TableFile
from generator.competition.survey.sample import Sample, UnreadableTableError

_TEXT_SUFFIXES = separated.SURE_SUFFIXES | separated.POSSIBLE_SUFFIXES | json_tables.SUFFIXES


def is_table_name(name: str) -> bool:
    """Whether a file of this name may be a table, or a compressed one."""
    suffix = suffix_of(name)
    if suffix in COMPRESSIONS:
        return suffix_of(name[: -len(suffix)]) in _TEXT_SUFFIXES
    return suffix in _TEXT_SUFFIXES or suffix in parquet.SUFFIXES


def read_table(place: Place, path: str, bounds: TableBounds) -> tuple[Table, tuple[str, ...]]:
    """Reads a sample of a table.

    Args:
        place: Where it is.
        path: Its path relative to the competition's folder.
        bounds: How much may be read.

    Returns:
        The table, and remarks on it.

    Raises:
        NotATableError: It is no table.
        UnreadableTableError: It cannot be read as one.
        OSError: It cannot be read at all.
    """
    stored = place.table_file(path, bounds.size)
    table_format, sample = _sample(stored, bounds)
    table = Table(
        path=path,
        format=table_format,
        columns=sample.columns,
        rows=sample.rows,
        is_complete=sample.is_complete,
        size=stored.size,
        separator=sample.separator,
        encoding=sample.encoding,
        decimal=sample.decimal,
        compression=stored.compression,
    )
    return table, (*stored.remarks, *sample.remarks)


def _sample(stored: TableFile, bounds: TableBounds) -> tuple[TableFormat, Sample]:
    if stored.suffix in parquet.SUFFIXES:
        if stored.opened is None:
            raise UnreadableTableError("is a parquet file in an archive; unpack the archive first")
        with stored.opened() as file:
            return TableFormat.PARQUET, parquet.sample_parquet(file, bounds)
    if stored.suffix in json_tables.SUFFIXES:
        return json_tables.sample_json(stored.source, suffix=stored.suffix, bounds=bounds)
    return TableFormat.CSV, separated.sample_separated(stored.source, suffix=stored.suffix, bounds=bounds)
