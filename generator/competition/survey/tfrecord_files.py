"""Groups of TFRecord files: those of a folder whose examples have the same features."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from generator.competition.survey import images
from generator.competition.survey.bounds import MOST_NAMES
from generator.competition.survey.facts import RecordFeature, Records
from generator.competition.survey.files import Files
from generator.competition.survey.listing import Directory, suffix_of
from generator.competition.tables.sample import evenly_drawn
from generator.competition.tfrecord import (
    FRAME,
    Feature,
    NotRecordsError,
    begins_like_records,
    features_of,
    first_records,
)
from generator.untrusted import printable

_SUFFIXES = frozenset((".tfrec", ".tfrecord", ".tfrecords"))
_MOST_FOLDERS, _MOST_GROUPS = 20, 8
_FILES_OF_A_GROUP, _RECORDS_OF_A_FILE = 4, 16
_LONGEST_VALUE = 200  # bytes
_VALUES_OF_AN_EXAMPLE, _SAMPLED_VALUES = 8, 256
_SAMPLED_IMAGES = 12
_PLAUSIBLE_FACTOR = 3
_COUNT_IN_NAME = re.compile(r".*-(\d+)\.[a-z]+")  # as in `00-224x224-798.tfrec`
_NUMBERS = re.compile(r"\d+")


def take_records(
    files: Files, directories: Sequence[Directory]
) -> tuple[tuple[Records, ...], tuple[Directory, ...], tuple[str, ...]]:
    """Reads a few examples of the TFRecord files of all folders.

    Args:
        files: The competition's files.
        directories: All folders.

    Returns:
        Groups of files, the folders without these files, and notes.
    """
    groups: list[Records] = []
    rest: list[Directory] = []
    notes: list[str] = []
    taken = 0
    for directory in directories:
        names = frozenset(_names(files, directory))
        if not names:
            rest.append(directory)
            continue
        taken += 1
        if taken <= _MOST_FOLDERS:
            found, remarks = _groups(files, replace(directory, names=tuple(sorted(names))))
            groups += found
            notes += (f"{printable(directory.path) or 'The folder'} {remark}." for remark in remarks)
        rest.append(replace(directory, names=tuple(name for name in directory.names if name not in names)))
    if taken > _MOST_FOLDERS:
        notes.append(f"Of {taken:,} folders with TFRecord files, {_MOST_FOLDERS} were looked at.")
    return tuple(groups), tuple(rest), tuple(notes)


def _names(files: Files, directory: Directory) -> list[str]:
    named = [name for name in directory.names if suffix_of(name) in _SUFFIXES]
    if named:
        return named
    # Names such as `train-00000-of-00010` say nothing; then the first of those that are alike does.
    alike = _alike(name for name in directory.names if not suffix_of(name))
    drawn = evenly_drawn(list(alike.values()), _MOST_GROUPS)
    return [name for names in drawn if _is_records_file(files, directory.path_of(names[0])) for name in names]


def _alike(names: Iterable[str]) -> dict[str, list[str]]:
    """File names that differ only in their numbers."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[_NUMBERS.sub("0", name)].append(name)
    return found


def _is_records_file(files: Files, path: str) -> bool:
    try:
        with files.opened(path) as stream:
            return begins_like_records(stream.read(12))
    except OSError:
        return False


def _groups(files: Files, directory: Directory) -> tuple[tuple[Records, ...], tuple[str, ...]]:
    """The groups of the TFRecord files of one folder, and remarks on those that cannot be read."""
    by_pattern = _alike(directory.names)
    if len(by_pattern) > _MOST_GROUPS:
        by_pattern = {"": list(directory.names)}
    groups: dict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    sampled: dict[frozenset[tuple[str, str]], list[bytes]] = defaultdict(list)
    remarks = []
    for names in by_pattern.values():
        try:
            found = [
                record
                for name in evenly_drawn(names, _FILES_OF_A_GROUP)
                for record in _first_records(files, directory.path_of(name))
            ]
            signature = _signature(found)
        except (NotRecordsError, OSError):
            remarks.append(f"has {len(names):,} TFRecord files whose examples cannot be read, such as {names[0]!a}")
            continue
        groups[signature] += names
        sampled[signature] += found
    records = [_group(files, directory, sorted(groups[key]), sampled[key]) for key in groups]
    return tuple(sorted(records, key=lambda group: group.names)), tuple(remarks)


def _first_records(files: Files, path: str) -> list[bytes]:
    with files.opened(path) as stream:
        return first_records(stream, _RECORDS_OF_A_FILE)


def _signature(records: Sequence[bytes]) -> frozenset[tuple[str, str]]:
    if not records:
        raise NotRecordsError
    return frozenset((name, feature.kind) for record in records for name, feature in features_of(record).items())


def _group(files: Files, directory: Directory, names: Sequence[str], sampled: Sequence[bytes]) -> Records:
    parsed = [features_of(record) for record in sampled]
    features = dict.fromkeys(name for example in parsed for name in example)
    return Records(
        path=directory.path,
        names=evenly_drawn(names, MOST_NAMES),
        features=tuple(_feature(name, [example[name] for example in parsed if name in example]) for name in features),
        examples=_examples(files, directory, names, sampled),
    )


def _feature(name: str, found: Sequence[Feature]) -> RecordFeature:
    lengths = {len(feature.values) for feature in found}
    values = [value for feature in found for value in feature.values[:_VALUES_OF_AN_EXAMPLE]]
    pictures = [value for value in values if isinstance(value, bytes) and value.startswith(images.STARTS)]
    is_image = len(pictures) > len(values) / 2  # a few may be empty or damaged
    return RecordFeature(
        name=name,
        kind=max((feature.kind for feature in found if feature.values), default=found[0].kind),
        length=lengths.pop() if len(lengths) == 1 else None,
        values=()
        if is_image
        else tuple(text for value in values if (text := _text(value)) is not None)[:_SAMPLED_VALUES],
        is_image=is_image,
        image=images.image_format(evenly_drawn(pictures, _SAMPLED_IMAGES)) if is_image else None,
    )


def _text(value: bytes | float) -> str | None:
    if not isinstance(value, bytes):
        return str(value)
    if len(value) > _LONGEST_VALUE:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _examples(files: Files, directory: Directory, names: Sequence[str], sampled: Sequence[bytes]) -> int:
    """The number of examples, by the names if these count them, else by the sizes of the files."""
    drawn = evenly_drawn(names, MOST_NAMES)
    size = sum(files.size(directory.path_of(name)) for name in drawn) * len(names) / len(drawn)
    estimated = size * len(sampled) / sum(len(record) + FRAME for record in sampled)
    counts = [int(match[1]) for name in names if (match := _COUNT_IN_NAME.fullmatch(name))]
    # The last number of `train-00001-00010.tfrec` is something else; the sizes tell.
    said = sum(counts) if len(counts) == len(names) else 0
    return said if estimated / _PLAUSIBLE_FACTOR < said < estimated * _PLAUSIBLE_FACTOR else round(estimated)
