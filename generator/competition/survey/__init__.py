"""A bounded look at the files of a competition: `survey_folder` on this disk, `survey_files` elsewhere.

In: files, wherever they are (`files`, `file_sources`), and their names (`listing`). Out: a `Survey` (`facts`): tables,
folders of images and sounds, TFRecord files and an inference server, with notes on what could not be read. It only says
what is there; `introspection` and `specimen` import it to make something of it.
"""

from collections.abc import Iterable, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from generator.competition.survey.bounds import MOST_TABLES, bounds_for
from generator.competition.survey.errors import EmptyFolderError, MissingFolderError, why
from generator.competition.survey.facts import Folder, Survey, Table
from generator.competition.survey.file_sources import FileSource, Mounted, open_archives
from generator.competition.survey.files import DiskFiles, Files, Reach
from generator.competition.survey.folders import folders_of
from generator.competition.survey.listing import Directory, list_directories, suffix_of
from generator.competition.survey.records import take_records
from generator.competition.survey.servers import find_server
from generator.competition.survey.tables import is_table_name, read_table
from generator.competition.tables.errors import NotATableError, UnreadableTableError
from generator.competition.tables.sample import SampleBounds
from generator.untrusted import printable

__all__ = ["survey_files", "survey_folder"]

_MOST_TABLES_OF_A_FOLDER = 50


@dataclass(frozen=True)
class _Sorted:
    """The files of a source by what their names say; `tables` are paths, in order of depth."""

    source: FileSource
    tables: tuple[str, ...]
    others: tuple[Directory, ...]


def survey_folder(folder: Path) -> Survey:
    """Looks at the files of a competition: all names, up to bounds, and a few pieces of a few files.

    A table of 5 GB or a folder of 200,000 images takes less than two seconds and less than 300 MB.

    Args:
        folder: Where the files are, as Kaggle mounts them; it may be a link.

    Raises:
        MissingFolderError: The folder does not exist or may not be read.
        EmptyFolderError: There is no file in it.
    """
    try:
        root = folder.resolve(strict=True)
        directories, notes = list_directories(root)
    except (OSError, RuntimeError) as error:
        raise MissingFolderError(folder=folder, cause=error if isinstance(error, OSError) else OSError()) from error
    if not any(directory.names for directory in directories):
        raise EmptyFolderError(folder=folder)
    return survey_files(DiskFiles(root), directories, notes)


def survey_files(files: Files, directories: Sequence[Directory], notes: Sequence[str] = ()) -> Survey:
    """Looks at files whose names are known, wherever they are, as far as their `reach` allows.

    Args:
        files: The competition's files.
        directories: Their names, folder by folder.
        notes: Sentences on how the names were found.
    """
    record_groups, directories, record_notes = take_records(files, directories)
    with ExitStack() as stack:
        zipped = [found.path_of(name) for found in directories for name in found.names if suffix_of(name) == ".zip"]
        archives, archive_notes = open_archives(stack, files, zipped)
        mounted = Mounted(files, _without_files(directories, {archive.path for archive in archives}))
        tables, folders, table_notes = _survey_sources([mounted, *archives], files.reach)
    return Survey(
        tables=tuple(sorted(tables, key=lambda table: table.path)),
        folders=tuple(sorted(folders, key=lambda found: found.path)),
        records=record_groups,
        notes=(*notes, *record_notes, *archive_notes, *table_notes),
        server=find_server(files, directories),
    )


def _survey_sources(sources: Sequence[FileSource], reach: Reach) -> tuple[list[Table], list[Folder], list[str]]:
    sorted_places = [_sorted(source) for source in sources]
    count = sum(len(found.tables) for found in sorted_places)
    bounds = bounds_for(count, pieces=reach.pieces, row_group=reach.row_group)
    tables: list[Table] = []
    folders: list[Folder] = []
    notes: list[str] = []
    left = MOST_TABLES
    for found in sorted_places:
        others = list(found.tables[left:])
        for path in found.tables[:left]:
            table, remarks = _read(found.source, path, bounds)
            notes += (f"{printable(path)} {remark}." for remark in remarks)
            if table is None:
                others.append(path)
            else:
                tables.append(table)
        left = max(0, left - len(found.tables))
        directories = _with_files(found.others, others)
        folders += folders_of(directories, found.source.head, reach=reach, is_archive=found.source.is_archive)
    if count > MOST_TABLES:
        notes.append(f"Of {count:,} tables, {MOST_TABLES} were looked at.")
    return tables, folders, notes


def _read(source: FileSource, path: str, bounds: SampleBounds) -> tuple[Table | None, tuple[str, ...]]:
    """A table, or None where it is none, and remarks."""
    try:
        return read_table(source, path, bounds)
    except NotATableError:
        return None, ()
    except UnreadableTableError as error:
        return None, (error.problem,)
    except OSError as error:
        return None, (f"cannot be read: {why(error)}",)


def _sorted(source: FileSource) -> _Sorted:
    tables: list[str] = []
    others = []
    for directory in source.directories:
        named = [name for name in directory.names if is_table_name(name)]
        if not named or len(named) > _MOST_TABLES_OF_A_FOLDER:
            others.append(directory)
            continue
        tables += map(directory.path_of, named)
        known = set(named)
        others.append(replace(directory, names=tuple(name for name in directory.names if name not in known)))
    return _Sorted(source, tuple(sorted(tables, key=lambda path: (path.count("/"), path))), tuple(others))


def _without_files(directories: Sequence[Directory], paths: Set[str]) -> tuple[Directory, ...]:
    folders = {path.rpartition("/")[0] for path in paths}
    return tuple(
        replace(found, names=tuple(name for name in found.names if found.path_of(name) not in paths))
        if found.path in folders
        else found
        for found in directories
    )


def _with_files(directories: Iterable[Directory], paths: Iterable[str]) -> list[Directory]:
    """The folders with the files of these paths put back, which turned out to be no tables."""
    added: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        added.setdefault(folder, []).append(name)
    return [
        replace(directory, names=tuple(sorted((*directory.names, *added[directory.path]))))
        if directory.path in added
        else directory
        for directory in directories
    ]
