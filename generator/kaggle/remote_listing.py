"""The files of a competition at Kaggle by name and size, folder by folder, not all of them where there are many."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from generator.competition.survey.listing import Directory
from generator.competition.tables.sample import evenly_drawn
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.errors import NotFoundError
from generator.kaggle.gateway import Kaggle
from generator.untrusted import printable

_MOST_FOLDERS = 120  # each is a request
_MOST_FILES_OF_ONE = 1_000
_DEEPEST_LEVEL = 8
_NOT_DATA = frozenset(("__MACOSX", "__pycache__"))


@dataclass
class RemoteListing:
    """The folders and files of a competition.

    Attributes:
        directories: Its folders, with names of files.
        sizes: How many bytes each listed file has, by its path.
        notes: Sentences on what was not listed.
    """

    directories: list[Directory] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, path: str, files: Iterable[RemoteFile], total: int = 0) -> None:
        """Adds a folder with the files in it; hidden ones are left out."""
        named = {file.name.rpartition("/")[2]: file.size for file in files}
        shown = {name: size for name, size in named.items() if name and not name.startswith(".")}
        self.sizes |= {f"{path}/{name}" if path else name: size for name, size in shown.items()}
        is_complete = total <= len(named)
        self.directories.append(Directory(path, tuple(sorted(shown)), 0 if is_complete else total))


def list_competition(kaggle: Kaggle, slug: str) -> RemoteListing:
    """Lists a competition's files: all of a small one, of a large one the first of each folder and how many there are.

    Raises:
        KaggleError: It cannot be listed.
    """
    try:
        return _by_folder(kaggle, slug)
    except NotFoundError:
        # Competitions that are older than the listing by folder have the flat one only.
        return _flat(kaggle.competition_files(slug))


def _by_folder(kaggle: Kaggle, slug: str) -> RemoteListing:
    listing, left = RemoteListing(), _MOST_FOLDERS
    level = [""]
    for _ in range(_DEEPEST_LEVEL):
        drawn = evenly_drawn(level, left) if left else ()
        if len(drawn) < len(level):
            listing.notes.append(f"Of {len(level):,} folders on one level, {len(drawn):,} were listed.")
        left -= len(drawn)
        level = []
        for path in drawn:
            found = kaggle.competition_folder(slug, path, most=_MOST_FILES_OF_ONE)
            listing.add(path, found.files, found.total_files)
            names = sorted(name for name in found.folders if name not in _NOT_DATA and not name.startswith("."))
            level += [f"{path}/{name}" if path else name for name in names]
        if not level:
            break
    else:
        listing.notes.append(
            f"Folders more than {_DEEPEST_LEVEL} levels deep, such as {printable(level[0])}, were not."
        )
    return listing


def _flat(files: Iterable[RemoteFile]) -> RemoteListing:
    listing = RemoteListing()
    folders: dict[str, list[RemoteFile]] = {"": []}
    for file in files:
        folder = file.name.rpartition("/")[0]
        if not any(part in _NOT_DATA or part.startswith(".") for part in folder.split("/")):
            folders.setdefault(folder, []).append(file)
    for path, inside in sorted(folders.items()):
        listing.add(path, inside)
    return listing
