"""The folders that the files of examples are scattered over, such as those of patients or classes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from generator.competition.facts import TargetKind
from generator.competition.introspection.candidate_folders import endings_behind
from generator.competition.introspection.vocabulary import is_below
from generator.competition.specimen.column_cells import Cells
from generator.competition.specimen.examples import Examples, SyntheticData
from generator.competition.specimen.original import Original
from generator.competition.specimen.sampled_names import key_column
from generator.competition.survey.facts import Column, Table
from generator.competition.survey.listing import suffix_of

_MOSTLY = 0.9
_ROWS_COMPARED, _NAMES_COMPARED = 500, 500
_OFTEN, _SOME = 0.5, 0.02

# What follows a name in the name of its file, and whether the name loses its own suffix before that.
Ending = tuple[bool, str]


def endings_of(files: Sequence[str], known: Sequence[str]) -> tuple[Ending, ...]:
    """The ends of the sorted names of files behind those of examples; nothing if hardly any example has a file."""
    compared = known[:_NAMES_COMPARED]
    for is_stem in (False, True):
        starts = [name[: len(name) - len(suffix_of(name))] if is_stem else name for name in compared]
        counts = Counter(ending for start in starts for ending in endings_behind(start, files))
        most = max(counts.values(), default=0)
        if counts and most >= _SOME * len(compared):
            return tuple((is_stem, ending) for ending, count in sorted(counts.items()) if count >= _OFTEN * most)
    return ()


def with_folders(data: SyntheticData) -> SyntheticData:
    """The same examples, dealt to the folders below that of their side, where each of these has some of the files."""
    train, test = (_dealt(examples, data.original) for examples in (data.train, data.test))
    return replace(data, train=train, test=test)


def folder_cells(original: Original, table: Table, column: Column, examples: Examples) -> Cells | None:
    """The cells of a column that names the folders of the files, for each example; None for any other column."""
    key = key_column(original, table)
    if key is None or key is column or not examples.folders:
        return None
    names = {folder.path: folder.names for folder in original.survey.folders}
    known = {
        example: name
        for name, path in _by_name(examples.folders).items()
        for example in _named_in(names[path], key.present[:_ROWS_COMPARED])
    }
    pairs = [pair for pair in zip(key.values, column.values, strict=True) if pair[0] in known]
    fitting = sum(known[str(example)] == cell for example, cell in pairs)
    if not fitting or fitting < _MOSTLY * len(pairs):
        return None
    return [path.rpartition("/")[2] for path in examples.folder_of]


def _dealt(examples: Examples, original: Original) -> Examples:
    """Examples of a class go into the folder that is named for it, those of a group into one, others in turn."""
    folders = _find(examples, original)
    if len(folders) <= 1:
        return examples
    names = _by_name(folders)
    labels = examples.truth.cells.get(original.task.targets[0], []) if examples.role == "train" else []
    if labels and all(label in names for label in labels):
        dealt = [names[str(label)] for label in labels]
    else:
        turns = examples.groups if len(examples.groups) == len(examples) else examples.ids or range(len(examples))
        dealt = [folders[turn % len(folders)] for turn in turns]
    return replace(examples, folders=tuple(folders), folder_of=tuple(dealt))


def _find(examples: Examples, original: Original) -> list[str]:
    base, folders = original.folder_of(examples.role), original.survey.folders
    inner = [folder for folder in folders if base and is_below(folder.path, base) and folder.images is not None]
    if original.task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        # Folders of masks lie beside those of images.
        inner = [folder for folder in inner if endings_of(sorted(folder.names), examples.known)]
        named = [name for folder in inner for name in _named_in(folder.names, examples.known)]
        if len(set(named)) < len(named):
            return []
    return [] if any(folder.path == base for folder in inner) else [folder.path for folder in inner]


def _named_in(files: Sequence[str], known: Sequence[str]) -> set[str]:
    """The examples that have a file among some."""
    in_order = sorted(files)
    return {name for name in known if any(True for _ in endings_behind(name, in_order))}


def _by_name(folders: Sequence[str]) -> Mapping[str, str]:
    return {path.rpartition("/")[2]: path for path in folders}
