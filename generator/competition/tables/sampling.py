"""A sample of a table, by the reader of its format."""

from typing import BinaryIO

from generator.competition.tables.delimited import sample_delimited
from generator.competition.tables.formats import FORMATS, TableFormat
from generator.competition.tables.json_records import sample_json
from generator.competition.tables.parquet import sample_parquet
from generator.competition.tables.sample import Sample, SampleBounds


def sample_table(file: BinaryIO, *, suffix: str, total: int, bounds: SampleBounds) -> Sample:
    """Reads some rows of a table.

    Args:
        file: The uncompressed bytes, or the first of them, to read and to seek in.
        suffix: Of the file's name without that of a compression, lower case.
        total: How many bytes there are in all.
        bounds: How much may be read.

    Raises:
        NotATableError: It is no table.
        UnreadableTableError: It cannot be read as one.
        OSError: It cannot be read at all.
    """
    promised = FORMATS.get(suffix)
    if promised is TableFormat.PARQUET:
        return sample_parquet(file, bounds)
    if promised in (TableFormat.JSON, TableFormat.JSON_LINES):
        return sample_json(file, suffix=suffix, total=total, bounds=bounds)
    return sample_delimited(file, suffix=suffix, total=total, bounds=bounds)
