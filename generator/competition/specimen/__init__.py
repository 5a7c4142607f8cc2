"""Write a small synthetic copy of a competition's data: `write_specimen`."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from generator.competition import builtin
from generator.competition.facts import Task
from generator.competition.specimen.examples import Original, synthetic_data
from generator.competition.specimen.files import (
    MediaFiles,
    with_folders,
    with_usual_formats,
    write_files,
    write_server,
)
from generator.competition.specimen.tables import TableMaker
from generator.competition.specimen.values import id_format
from generator.competition.specimen.writer import MARKER, Writer, marker_of, stage_folder, table_file
from generator.competition.survey import Survey, survey_folder
from generator.files import WorkspaceFiles

# The writing of a specimen, from beginning to end.


@dataclass(frozen=True)
class SpecimenSummary:
    """A summary of what was written.

    Attributes:
        folder: Where.
        rows: Of each table, by path.
        files: How many files there are, by folder; "" is the specimen itself.
        notes: Sentences on what is not like the original.
    """

    folder: Path
    rows: Mapping[str, int]
    files: Mapping[str, int]
    notes: tuple[str, ...]


def write_specimen(  # noqa: PLR0913 - each is a decision of its own
    survey: Survey,
    task: Task,
    folder: Path,
    *,
    rows: int,
    seed: int,
    signal: bool,
    replace: bool = False,
    files: WorkspaceFiles | None = None,
) -> SpecimenSummary:
    """Writes a miniature synthetic copy of a competition's data, as a whole or not at all.

    It has the files, columns, formats, ids, distributions and labels that the survey saw, and no row, text, picture or
    sound of the real data. Its marker file says that it is none of them.

    Args:
        survey: What is known of the real data; untrusted, so that no name in it leads out of the folder.
        task: What was made of it.
        folder: Where to write.
        rows: How many training rows; more where a few of every class need them. The test has a third of that.
        seed: The same seed gives the same bytes.
        signal: Whether the labels can be learned from the inputs.
        replace: Whether a specimen that is there is replaced.
        files: The way to write below the workspace that the folder lies in; without it the user named the folder.

    Raises:
        CompetitionError: There is a specimen, and it is not to be replaced; or something else, which is never touched.
        FileWriteError: The folder could not be written; what was there before is untouched.
    """
    place = files or WorkspaceFiles(folder.parent)
    with stage_folder(folder, place, replace=replace) as stage, closing(Writer(stage)) as writer:
        original = Original(with_usual_formats(survey.with_null_words, writer.note), task, rows, seed, signal)
        table_rows = _write(original, writer)
        (stage / MARKER).write_bytes(marker_of(original))
    return SpecimenSummary(folder=folder, rows=table_rows, files=dict(writer.files), notes=tuple(writer.notes))


def write_built_in_specimen(slug: str, task: Task, folder: Path, **options: Any) -> SpecimenSummary:
    """Writes a specimen of a built-in competition, whose files are written for the time that it takes to survey them.

    Args:
        slug: The competition.
        task: What was made of it.
        folder: Where to write.
        options: Those of `write_specimen`.

    Raises:
        CompetitionError: As `write_specimen`.
        FileWriteError: As `write_specimen`.
    """
    with TemporaryDirectory() as place:
        builtin.require(slug).write(Path(place))
        return write_specimen(survey_folder(Path(place)), task, folder, **options)


def _write(original: Original, writer: Writer) -> dict[str, int]:
    data = with_folders(synthetic_data(original))
    if data.sampler.different > len(data.train):
        writer.note(f"There are {data.sampler.different:,} classes, too many for {len(data.train):,} training rows.")
    media = MediaFiles(original, len(data.train) + len(data.test), writer.note)
    cells = TableMaker(data, media.size_of_example).make()
    rows: dict[str, int] = {}
    for table in original.survey.tables:
        table_cells = cells[table.path]
        try:
            content = table_file(table, table_cells)
        except ImportError:
            writer.skip(table.path, "needs pyarrow to be written (pip install pyarrow)")
            continue
        if writer.write(table.path, content, is_archived=table.compression == "zip"):
            rows[table.path] = len(next(iter(table_cells.values()), ()))
    write_server(original, writer)
    write_files(data, writer, media)
    return rows


__all__ = ["MARKER", "SpecimenSummary", "id_format", "table_file", "write_built_in_specimen", "write_specimen"]
