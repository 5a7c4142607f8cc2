"""What stands behind the names of examples in the names of their files."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from generator.competition.survey.listing import suffix_of

_GLUE = "._-"
_NAMES_COMPARED, _FILES_PER_NAME = 500, 6
_OFTEN, _SOME = 0.5, 0.02

# What follows a name in the name of its file, and whether the name loses its own suffix before that.
Ending = tuple[bool, str]


def endings_of(files: Sequence[str], known: Sequence[str]) -> tuple[Ending, ...]:
    """What follows the names of examples in the sorted names of files; nothing if hardly any example has a file."""
    for is_stem in (False, True):
        counts: Counter[str] = Counter()
        compared = known[:_NAMES_COMPARED]
        for name in compared:
            start = name[: len(name) - len(suffix_of(name))] if is_stem else name
            counts.update(_following(start, files))
        if counts and max(counts.values()) >= _SOME * len(compared):
            most = max(counts.values())
            return tuple((is_stem, ending) for ending, count in sorted(counts.items()) if count >= _OFTEN * most)
    return ()


def named_in(files: Sequence[str], known: Sequence[str]) -> set[str]:
    """The examples that have a file among the sorted names of files."""
    return {name for name in known if any(True for _ in _following(name, files))}


def _following(start: str, files: Sequence[str]) -> Iterator[str]:
    first = bisect_left(files, start)
    if not start or first == len(files):
        return
    if files[first] == start:
        yield ""
        return
    for glue in _GLUE:
        first = bisect_left(files, start + glue)
        for file in files[first : first + _FILES_PER_NAME]:
            if not file.startswith(start + glue):
                break
            yield file[len(start) :]
