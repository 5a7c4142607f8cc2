"""Folders of files that are no tables: how many of which suffix, and what the images or sounds in them are like."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.competition.survey import images, sound
from generator.competition.survey.bounds import MOST_NAMES
from generator.competition.survey.facts import AudioFormat, Folder, ImageFormat
from generator.competition.survey.files import SurveyLimits
from generator.competition.survey.listing import Directory, suffix_of
from generator.competition.tables.sample import evenly_drawn

_FEWEST_PROBED, _RARER_PROBED = 2, 4

Opener = Callable[[Directory, str], Path | bytes | None]


@dataclass(frozen=True)
class _Contents:
    """A folder with what its most frequent suffix is; `main` are the sampled names of that suffix.

    `rarer` are some names of images of other suffixes, where that is an image's.
    """

    directory: Directory
    suffixes: dict[str, int]
    suffix: str
    main: tuple[str, ...]
    rarer: tuple[str, ...]


def folders_of(
    directories: Sequence[Directory], opener: Opener, *, limits: SurveyLimits, is_archive: bool = False
) -> tuple[Folder, ...]:
    """Describes folders by their file names and by a few of their files.

    Where there are many folders, such as one for each class, those that stand beside each other share the format:
    it is that of files from all of them.

    Args:
        directories: With the names of the files that are no tables; folders without any are left out.
        opener: Gives the path or the first bytes of a file, None if it cannot be read.
        limits: How many of them may be opened.
        is_archive: Whether the folders are in a zip.
    """
    contents = [_contents(directory) for directory in directories if directory.names]
    groups = _groups(contents, limits.lone_folders)
    probes = max(_FEWEST_PROBED, min(limits.probes_of_one, limits.probes // max(1, len(groups))))
    described: dict[str, Folder] = {}
    for group in groups:
        pictures, sounds = _formats(group, opener, probes)
        for found in group:
            described[found.directory.path] = Folder(
                path=found.directory.path,
                suffixes=found.suffixes,
                names=evenly_drawn(found.directory.names, MOST_NAMES),
                is_archive=is_archive,
                images=pictures,
                audio=sounds,
            )
    return tuple(described[path] for path in sorted(described))


def _contents(directory: Directory) -> _Contents:
    suffixes = Counter(map(suffix_of, directory.names))
    if directory.total > len(directory.names):
        scale = directory.total / len(directory.names)
        suffixes = Counter({suffix: round(count * scale) for suffix, count in suffixes.items()})
    suffix = max(suffixes, key=lambda known: (suffixes[known], known))
    main = directory.names
    if len(suffixes) > 1:
        main = tuple(name for name in directory.names if suffix_of(name) == suffix)
    rarer = [name for name in directory.names if suffix_of(name) in images.SUFFIXES - {suffix}]
    return _Contents(
        directory=directory,
        suffixes=dict(suffixes.most_common()),
        suffix=suffix,
        main=main,
        rarer=evenly_drawn(rarer, _RARER_PROBED) if suffix in images.SUFFIXES and len(suffixes) > 1 else (),
    )


def _groups(contents: Sequence[_Contents], lone: int) -> list[list[_Contents]]:
    if len(contents) <= lone:
        return [[found] for found in contents]
    tops = {found.directory.path.partition("/")[0] for found in contents}
    groups: dict[tuple[str, int, str], list[_Contents]] = defaultdict(list)
    for found in contents:
        top, _, below = found.directory.path.partition("/")
        shared = top if below and len(tops) <= lone else ""
        groups[shared, found.directory.path.count("/"), found.suffix].append(found)
    return list(groups.values())


def _formats(group: Sequence[_Contents], opener: Opener, probes: int) -> tuple[ImageFormat | None, AudioFormat | None]:
    suffix = group[0].suffix
    if suffix not in images.SUFFIXES | sound.SUFFIXES:
        return None, None
    drawn = evenly_drawn(group, probes)
    each = -(-probes // len(drawn))
    probed = [(found.directory, name) for found in drawn for name in evenly_drawn(found.main, each)]
    rarer = [(found.directory, name) for found in group for name in found.rarer]
    opened = (opener(directory, name) for directory, name in (*probed, *evenly_drawn(rarer, _RARER_PROBED)))
    files = (file for file in opened if file is not None)
    if suffix in images.SUFFIXES:
        return images.image_format(files), None
    return None, sound.audio_format(files)
