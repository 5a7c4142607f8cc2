"""Survey the files of a competition within limits: `survey_folder` on this disk, `survey_files` elsewhere.

Input: files, local or remote, and their names (`sources`). Output: a `Survey` (`facts`): tables, folders of images and
sounds, TFRecord files and an inference server, with notes on unreadable files. `introspection` and `specimen` interpret
the survey.
"""

from collections.abc import Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from generator.competition.survey.contents import (
    IMAGE_SUFFIXES,
    MISSING,
    MOST,
    SOUND_SUFFIXES,
    are_dates,
    as_number,
    column_of,
    find_server,
    folders_of,
    header_names,
    is_table_name,
    kind_of,
    moment_of,
    numbers_of,
    read_table_sample,
    take_records,
    without_null_words,
)
from generator.competition.survey.sources import (
    MOST_TABLES,
    NUMBERS,
    Archive,
    AudioFormat,
    Column,
    ColumnKind,
    Directory,
    DiskFiles,
    Files,
    FileSource,
    Folder,
    ImageEncoding,
    ImageFormat,
    InferenceServer,
    MountedFolder,
    RecordFeature,
    Records,
    Survey,
    SurveyLimits,
    Table,
    bounds_for,
    list_directories,
    open_archives,
    suffix_of,
)
from generator.competition.tables import NotATableError, SampleBounds, UnreadableTableError
from generator.errors import CompetitionError
from generator.files import reason_not_read
from generator.text import printable

__all__ = [
    "IMAGE_SUFFIXES",
    "MISSING",
    "MOST",
    "NUMBERS",
    "SOUND_SUFFIXES",
    "AudioFormat",
    "Column",
    "ColumnKind",
    "Directory",
    "DiskFiles",
    "Folder",
    "ImageEncoding",
    "ImageFormat",
    "InferenceServer",
    "RecordFeature",
    "Records",
    "Survey",
    "SurveyLimits",
    "Table",
    "are_dates",
    "as_number",
    "column_of",
    "header_names",
    "kind_of",
    "moment_of",
    "numbers_of",
    "suffix_of",
    "survey_files",
    "survey_folder",
    "without_null_words",
]

_MOST_TABLES_OF_A_FOLDER = 50
_REMEDY = "download the competition's data there, or name the folder that has it: tandem generate --data DIR."


def survey_folder(folder: Path) -> Survey:
    """Looks at the files of a competition: all names, up to bounds, and a few pieces of a few files.

    A table of 5 GB or a folder of 200,000 images takes less than two seconds and less than 300 MB.

    Args:
        folder: Where the files are, as Kaggle mounts them; it may be a link.

    Raises:
        CompetitionError: The folder does not exist, may not be read, or has no file in it.
    """
    try:
        root = folder.resolve(strict=True)
        directories, notes = list_directories(root)
    except (OSError, RuntimeError) as error:
        cause = reason_not_read(error if isinstance(error, OSError) else OSError())
        raise CompetitionError(f"Cannot read the data in {printable(str(folder))}: {cause}; {_REMEDY}") from error
    if not any(directory.names for directory in directories):
        raise CompetitionError(f"There are no files in {printable(str(folder))}; {_REMEDY}")
    return survey_files(DiskFiles(root), directories, notes)


def survey_files(files: Files, directories: Sequence[Directory], notes: Sequence[str] = ()) -> Survey:
    """Looks at files whose names are known, wherever they are, as far as their `limits` allow.

    Args:
        files: The competition's files.
        directories: Their names, folder by folder.
        notes: Sentences on how the names were found.
    """
    record_groups, directories, record_notes = take_records(files, directories)
    with ExitStack() as stack:
        zip_paths = [
            directory.path_of(name)
            for directory in directories
            for name in directory.names
            if suffix_of(name) == ".zip"
        ]
        archives, archive_notes = open_archives(stack, files, zip_paths)
        mount = MountedFolder(files, _without_files(directories, {archive.path for archive in archives}))
        tables, folders, table_notes = _survey_sources([mount, *archives], files.limits)
    return Survey(
        tables=tuple(sorted(tables, key=lambda table: table.path)),
        folders=tuple(sorted(folders, key=lambda folder: folder.path)),
        records=record_groups,
        notes=(*notes, *record_notes, *archive_notes, *table_notes),
        server=find_server(files, directories),
    )


def _survey_sources(sources: Sequence[FileSource], limits: SurveyLimits) -> tuple[list[Table], list[Folder], list[str]]:
    candidates = [(source, path) for source in sources for path in _table_paths(source)]
    bounds = bounds_for(len(candidates), limits.table)
    tables: list[Table] = []
    notes: list[str] = []
    for source, path in candidates[:MOST_TABLES]:
        table, remarks = _read(source, path, bounds)
        notes += (f"{printable(path)} {remark}." for remark in remarks)
        tables += [table] if table is not None else []
    table_paths = {table.path for table in tables}
    folders: list[Folder] = []
    for source in sources:
        other_directories = _without_files(source.directories, table_paths)
        folders += folders_of(other_directories, source.head, limits=limits, is_archive=isinstance(source, Archive))
    if len(candidates) > MOST_TABLES:
        notes.append(f"Of {len(candidates):,} tables, {MOST_TABLES} were looked at.")
    return tables, folders, notes


def _table_paths(source: FileSource) -> list[str]:
    """The files that may be tables, those that lie highest first; in a folder of many, each is an example."""
    paths: list[str] = []
    for directory in source.directories:
        table_names = [name for name in directory.names if is_table_name(name)]
        paths += map(directory.path_of, table_names if len(table_names) <= _MOST_TABLES_OF_A_FOLDER else ())
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _read(source: FileSource, path: str, bounds: SampleBounds) -> tuple[Table | None, tuple[str, ...]]:
    """A table, or None where it is none, and remarks."""
    try:
        return read_table_sample(source, path, bounds)
    except NotATableError:
        return None, ()
    except UnreadableTableError as error:
        return None, (str(error),)
    except OSError as error:
        return None, (f"cannot be read: {reason_not_read(error)}",)


def _without_files(directories: Sequence[Directory], paths: Set[str]) -> tuple[Directory, ...]:
    folders = {path.rpartition("/")[0] for path in paths}
    return tuple(
        replace(directory, names=tuple(name for name in directory.names if directory.path_of(name) not in paths))
        if directory.path in folders
        else directory
        for directory in directories
    )
