"""The writing of a specimen, from beginning to end."""

import hashlib
import json
from pathlib import Path

from generator import __version__
from generator.competition.facts import Task
from generator.competition.specimen.cast import cast_of
from generator.competition.specimen.facts import Original, SpecimenSummary, Wishes
from generator.competition.specimen.folders import FolderMaker
from generator.competition.specimen.media import Media, with_usual_formats
from generator.competition.specimen.record_files import RecordMaker
from generator.competition.specimen.scattering import Scattering
from generator.competition.specimen.serving import write_server
from generator.competition.specimen.table_files import table_file
from generator.competition.specimen.tables import TableMaker
from generator.competition.specimen.writing import MARKER, Writer, staged
from generator.competition.survey.facts import Survey
from generator.workspace_files import WorkspaceFiles


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
        SpecimenExistsError: There is a specimen, and it is not to be replaced.
        NotASpecimenError: There is something else, which is never touched.
        FileWriteError: The folder could not be written; what was there before is untouched.
    """
    wishes = Wishes(rows, seed, signal)
    with staged(folder, files or WorkspaceFiles(folder.parent), replace=replace) as stage, Writer(stage) as writer:
        original = Original(with_usual_formats(survey, writer.note), task)
        table_rows = _write(original, wishes, writer)
        (stage / MARKER).write_bytes(_marker(original, wishes))
    return SpecimenSummary(folder=folder, rows=table_rows, files=dict(writer.files), notes=tuple(writer.notes))


def _write(original: Original, wishes: Wishes, writer: Writer) -> dict[str, int]:
    cast = cast_of(original, wishes)
    if cast.labelling.different > len(cast.train):
        writer.note(f"There are {cast.labelling.different:,} classes, too many for {len(cast.train):,} training rows.")
    media = Media(original, wishes, len(cast.train) + len(cast.test), writer.note)
    scattering = Scattering(original, cast)
    folders = FolderMaker(original, cast, wishes, writer, media, scattering)
    cells = TableMaker(original, cast, wishes, folders.size_of, scattering).make()
    rows: dict[str, int] = {}
    for table in original.survey.tables:
        made = cells[table.path]
        try:
            content = table_file(table, made)
        except ImportError:
            writer.skip(table.path, "needs pyarrow to be written (pip install pyarrow)")
            continue
        if writer.write(table.path, content, is_archived=table.compression == "zip"):
            rows[table.path] = len(next(iter(made.values()), ()))
    write_server(original, writer)
    folders.make()
    RecordMaker(original, cast, wishes, writer, media).make()
    return rows


def _marker(original: Original, wishes: Wishes) -> bytes:
    """What says that the folder is a specimen, and of what; the digest tells one set of facts from another."""
    content = {
        "specimen": "Made-up data that only look like a competition's; scores on them mean nothing.",
        "kit_version": __version__,
        "seed": wishes.seed,
        "rows": wishes.rows,
        "signal": wishes.signal,
        "made_from": {
            "tables": [table.path for table in original.survey.tables],
            "family": original.task.family,
            "facts_sha256": hashlib.sha256(repr(original.survey).encode("utf-8", "backslashreplace")).hexdigest(),
        },
    }
    return (json.dumps(content, indent=2) + "\n").encode()
