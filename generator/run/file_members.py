"""Members of a blend that are files: the predictions of a model that this kit did not train.

Input: two CSV files of a user, out-of-fold and test. Output: both in one form, as a dataset of Kaggle has them: the id,
and a column for each class, label or target, in the order of the pairs of the blend.
"""

import csv
import io
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.competition.baseline import read_held_out
from generator.competition.facts import TargetKind, Task
from generator.competition.tables import UnreadableTableError, delimited_rows
from generator.files import open_file, reason_not_read
from generator.pair.blend import BlendError, prediction_files
from generator.text import is_slug, printable, quote_text, slug_of

LARGEST_FILE = 1 << 28  # bytes
_MOST_NAMES = 3  # of columns or ids in a message
_NO_PREDICTIONS = {"fold", "", "Unnamed: 0"}  # an index that pandas wrote
_TOLERANCE = 1e-3  # of a sum of probabilities


@dataclass(frozen=True)
class PredictionColumns:
    """What the columns of a file of predictions mean.

    Attributes:
        task: What is predicted.
        id_columns: What the column of ids may be called.
        names: The classes, labels or targets, in the order of the pairs.
    """

    task: Task
    id_columns: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def are_probabilities(self) -> bool:
        """True if all values are between 0 and 1."""
        return self.task.target_kind is not TargetKind.NUMBER

    @property
    def is_binary(self) -> bool:
        """True if one column is enough: the probability of the second class."""
        return self.task.target_kind is TargetKind.CLASS and len(self.names) == 2  # noqa: PLR2004 - classes


@dataclass(frozen=True)
class FileMember:
    """A member that is files.

    Attributes:
        name: Its name in the blend.
        contents: Its files as the dataset has them, by their names.
        notes: What was ignored, in sentences.
    """

    name: str
    contents: Mapping[str, bytes]
    notes: tuple[str, ...]


def name_files(oof_files: Sequence[str], test_files: Sequence[str]) -> list[tuple[str, Path, Path]]:
    """Return the name and the files of each member: `NAME=FILE` has a name, any other file's is made of its own.

    Raises:
        BlendError: There are more files of one kind, or a name cannot be one.
    """
    if len(oof_files) != len(test_files):
        raise BlendError(
            f"There are {len(oof_files)} --oof and {len(test_files)} --test: give both files of each member, in the "
            "same order."
        )
    members = []
    for oof, test in zip(oof_files, test_files, strict=True):
        prefix, has_name, rest = oof.partition("=")
        name, path = (
            (prefix, Path(rest)) if has_name and not Path(oof).exists() else (slug_of(Path(oof).stem), Path(oof))
        )
        if not is_slug(name):
            raise BlendError(
                f'"{quote_text(name)}" cannot be the name of a member: give one of lower-case letters, digits and '
                f"hyphens, as in --oof catboost={printable(path.name)}."
            )
        members.append((name, path, Path(test)))
    return members


def read_file_member(  # noqa: PLR0913 - a member, and what it is compared with
    name: str, oof: Path, test: Path, *, columns: PredictionColumns, held_out: Path, predictions: Path
) -> FileMember:
    """Read and check a member.

    Args:
        name: Its name in the blend.
        oof: Its out-of-fold predictions.
        test: Its predictions for the test.
        columns: What their columns mean.
        held_out: The `oof.npz` of a pair of the blend.
        predictions: The `predictions.npz` of that pair, which need not exist.

    Raises:
        BlendError: A file cannot be used, and why.
    """
    import numpy as np

    ids, values, notes = _read_predictions(oof, columns)
    try:
        examples = read_held_out(held_out, columns.task)
        pair_ids, truth = examples.ids[examples.rows].astype(str).tolist(), examples.truth[examples.rows]
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise BlendError(f"{printable(str(held_out))} is damaged. Run its training again.") from error
    _require_unique(name, pair_ids, "the pairs were trained on")
    _compare_ids(oof, ids, pair_ids, "the out-of-fold predictions of the pairs", may_be_more=False)
    place = {key: row for row, key in enumerate(ids)}
    if _are_targets(values[[place[key] for key in pair_ids]], truth, columns.task.target_kind):
        raise BlendError(
            f"{printable(str(oof))} has the targets themselves and no predictions: give the predictions of models that "
            "were not trained on the row."
        )
    test_ids, test_values, test_notes = _read_predictions(test, columns)
    if predictions.is_file():
        try:
            with np.load(predictions, allow_pickle=False) as arrays:
                pair_ids = arrays["ids"].astype(str).tolist()
        except Exception as error:
            raise BlendError(f"{printable(str(predictions))} is damaged. Run its inference again.") from error
        _require_unique(name, pair_ids, "the pairs predict")
        _compare_ids(test, test_ids, pair_ids, "the test predictions of the pairs", may_be_more=True)
    tables = _table(ids, values, columns), _table(test_ids, test_values, columns)
    contents = dict(zip(prediction_files(name), tables, strict=True))
    return FileMember(name, contents, (*notes, *test_notes))


def dataset_metadata(ref: str) -> bytes:
    """Return the file with which Kaggle's own command line makes a dataset of its folder."""
    fields = {"title": ref.partition("/")[2], "id": ref, "licenses": [{"name": "other"}]}
    return (json.dumps(fields, indent=2) + "\n").encode()


@dataclass(frozen=True)
class _RawPredictions:
    """A file as it is: the ids, the numbers [rows, columns], the columns' names, and those that were ignored."""

    ids: list[str]
    values: Any
    names: list[str]
    extra: list[str]


def _read_rows(path: Path, columns: PredictionColumns) -> _RawPredictions:
    import numpy as np

    location, ids, values = printable(str(path)), [], []
    try:
        with open_file(path) as file, closing(delimited_rows(file)) as rows:
            if os.fstat(file.fileno()).st_size > LARGEST_FILE:
                raise BlendError(f"{location} is larger than {LARGEST_FILE >> 20} MB: leave out columns, or round.")
            _, header = next(rows, (0, []))
            id_place, places = _find_columns(location, header, columns)
            for line, cells in rows:
                if len(cells) != len(header):
                    raise BlendError(
                        f"Line {line} of {location} has {len(cells)} cells, and the header {len(header)}: write the "
                        "file again."
                    )
                ids.append(cells[id_place])
                values.append([_number(location, line, cells[place]) for place in places])
    except OSError as error:
        raise BlendError(f"{location} cannot be read: {reason_not_read(error)}.") from error
    except UnreadableTableError as error:
        raise BlendError(f"{location} {error}: give a CSV file.") from error
    names = [header[place].removeprefix("predicted ") for place in places]
    extra = [quote_text(name) for place, name in enumerate(header) if place not in (id_place, *places)]
    return _RawPredictions(ids, np.array(values, dtype="float64"), names, extra)


def _read_predictions(path: Path, columns: PredictionColumns) -> tuple[list[str], Any, list[str]]:
    """Return the ids, the predictions [ids, names], and notes on what was ignored."""
    import numpy as np

    raw, location = _read_rows(path, columns), printable(str(path))
    if not raw.ids:
        raise BlendError(f"{location} has no rows: give a CSV file with the id and the predictions.")
    counts = Counter(raw.ids)
    if len(counts) < len(raw.ids):
        key = counts.most_common(1)[0][0]
        raise BlendError(f'{location} has the id "{quote_text(key)}" twice: give one row for each id.')
    values = raw.values
    if columns.are_probabilities and not ((values >= 0) & (values <= 1)).all():
        raise BlendError(f"{location} has values outside of 0 to 1: give probabilities.")
    if columns.is_binary and len(raw.names) == 1:
        is_first = raw.names[0] == columns.names[0]
        values = np.concatenate([values, 1 - values] if is_first else [1 - values, values], axis=1)
    elif columns.task.target_kind is TargetKind.CLASS and (np.abs(values.sum(axis=1) - 1) > _TOLERANCE).any():
        raise BlendError(f"{location} has rows whose probabilities do not sum to 1: divide each row by its sum.")
    count = len(raw.extra) - _MOST_NAMES
    rest = f" and {count} more" if count > 0 else ""
    notes = [f"Columns of {location} that are ignored: {', '.join(raw.extra[:_MOST_NAMES])}{rest}."]
    notes = notes if raw.extra else []
    if {*raw.names}.isdisjoint([*columns.names, *columns.task.targets]):
        texts = [", ".join(map(quote_text, names[:_MOST_NAMES])) for names in (raw.names, columns.names)]
        is_single = len(raw.names) < len(columns.names)
        meaning = f"the probability of {quote_text(columns.names[1])}" if is_single else texts[1]
        notes.append(f"Columns of {location} have other names, and are read in their order: {texts[0]} for {meaning}.")
    return raw.ids, values, notes


def _find_columns(location: str, header: Sequence[str], columns: PredictionColumns) -> tuple[int, list[int]]:
    """Return the positions of the ids and of the predictions: of one column where the class is one of two."""
    places = {name: place for place, name in enumerate(header)}
    if len(places) != len(header):
        raise BlendError(f"{location} has two columns of one name: give each a name of its own.")
    id_place = next((places[name] for name in columns.id_columns if name in places), None)
    if id_place is None:
        raise BlendError(f'{location} has no column "{quote_text(columns.id_columns[0])}" with the ids: add it.')

    def find(name: str) -> int | None:  # a table of a pair has the target beside its prediction
        place = places.get(f"predicted {name}", places.get(name))
        return None if place == id_place else place

    by_name = [find(name) for name in columns.names]
    matches = [place for place in by_name if place is not None]
    rest = [place for name, place in places.items() if place != id_place and name not in _NO_PREDICTIONS]
    if len(matches) == len(columns.names):
        return id_place, matches
    if columns.is_binary:
        targets = columns.task.targets
        single = by_name[1] if by_name[1] is not None else by_name[0]
        single = find(targets[0]) if single is None and len(targets) == 1 else single
        if single is not None or len(rest) == 1:
            return id_place, [rest[0] if single is None else single]
    if not matches and len(rest) == len(columns.names):
        return id_place, rest
    names = ", ".join(quote_text(name) for name in columns.names[:_MOST_NAMES])
    names += ", …" if len(columns.names) > _MOST_NAMES else ""
    also = f", or one with the probability of {quote_text(columns.names[1])}" if columns.is_binary else ""
    raise BlendError(f"{location} lacks columns of predictions: beside the id it needs {names}{also}.")


def _number(location: str, line: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BlendError(f'Line {line} of {location} has "{quote_text(cell)}" for a prediction: give finite numbers.')
    return value


def _require_unique(name: str, ids: Sequence[str], rows: str) -> None:
    if len(set(ids)) < len(ids):
        raise BlendError(
            f"{name} is files, with one prediction for each id, and several of the rows that {rows} share an id: leave "
            "it out, or make a pair of the model."
        )


def _compare_ids(path: Path, ids: Sequence[str], expected: Sequence[str], owner: str, *, may_be_more: bool) -> None:
    file_ids, pair_ids = set(ids), set(expected)
    lacking, extra = sorted(pair_ids - file_ids), [] if may_be_more else sorted(file_ids - pair_ids)
    if not lacking and not extra:
        return
    differences = [
        f"{verb} {len(keys):,} ids of {len(pair_ids):,}, such as {', '.join(map(quote_text, keys[:_MOST_NAMES]))}"
        for verb, keys in (("lacks", lacking), ("has besides", extra))
        if keys
    ]
    raise BlendError(
        f"{printable(str(path))} has other ids than {owner}: it {' and '.join(differences)}. Give a prediction "
        "for exactly those rows."
    )


def _are_targets(values: Any, truth: Any, kind: TargetKind) -> bool:
    import numpy as np

    if kind is TargetKind.CLASS:
        return bool((values[np.arange(len(values)), np.asarray(truth, dtype=int)] == 1).all())
    return bool(np.array_equal(values.astype("float32"), np.asarray(truth, dtype="float32").reshape(values.shape)))


def _table(ids: Sequence[str], values: Any, columns: PredictionColumns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([columns.id_columns[0], *columns.names])
    writer.writerows([key, *map(repr, row)] for key, row in zip(ids, values.tolist(), strict=True))
    return text.getvalue().encode()
