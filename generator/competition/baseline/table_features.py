"""The features of rows of a table: its raw columns, its texts, its pixels, or the statistics of a sequence."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from generator.competition.baseline.features import GRADIENT_BOOSTING, LINEAR, Features, sampled
from generator.competition.baseline.held_out import HeldOut
from generator.competition.facts import Task
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.rows import table_rows
from generator.files import contained

_MOST_ROWS, _MOST_CELLS = 300_000, 6_000_000  # that are read
_MOST_SAMPLED, _MOST_SAMPLED_CELLS = 20_000, 3_000_000
_MOST_CATEGORIES = 200
_MOSTLY = 0.9


def read_columns(held_out: HeldOut, data: Path) -> Features | None:
    """The raw columns as numbers; of a sequence that is one example, their statistics."""
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]  # pandas brings no types

    task = held_out.task
    is_group = task.details.get("prediction_per") == "group"
    key = str(task.details["group_column"]) if is_group else task.id_column
    table = read_table(task, data, key)
    if table is None:
        return None
    left_out = {key, task.id_column, *task.targets, *_names(task, "drop_columns")}
    decimal = str(task.details.get("decimal", "."))
    others = _names(task, "other_decimal_columns")
    for name in table.columns.intersection(_names(task, "formatted_columns")):
        sign = decimal if name not in others else "." if decimal == "," else ","
        table[name] = table[name].str.replace(r"^\s*\((.*)\)\s*$", r"-\1", regex=True)
        table[name] = table[name].str.replace(rf"[^0-9{sign}+-]|[{sign}](?!\d)", "", regex=True)
        table[name] = table[name].str.replace(sign, decimal, regex=False)
    numbers = table[table.columns.difference(left_out)].apply(_as_features, decimal=decimal)
    if is_group:
        numbers = numbers.groupby(table[key], sort=False).agg(["mean", "std", "min", "max", "first", "last"])
    else:
        numbers.index = pd.Index(table[key])
    numbers = numbers.loc[:, numbers.nunique().to_numpy() > 1]
    most = min(_MOST_SAMPLED, _MOST_SAMPLED_CELLS // max(1, numbers.shape[1]))
    rows, places = _found(numbers.index, held_out, most)
    if not len(rows) or not numbers.shape[1]:
        return None
    name = "the statistics of each sequence" if is_group else "the raw columns"
    return Features(rows, numbers.to_numpy(dtype=np.float32)[places], name, GRADIENT_BOOSTING)


def read_texts(held_out: HeldOut, data: Path) -> Features | None:
    """The words of the columns that are read, one after the other."""
    task = held_out.task
    table = read_table(task, data, task.id_column)
    if table is None:
        return None
    texts = table[_names(task, "text_columns")].agg(" ".join, axis=1)
    rows, places = _found(table[task.id_column], held_out, _MOST_SAMPLED)
    if not len(rows):
        return None
    return Features(rows, texts.to_numpy()[places], "the words (TF-IDF)", LINEAR)


def read_pixels(held_out: HeldOut, data: Path) -> Features | None:
    """The pixels that are columns of a table, from 0 to 1."""
    import re

    import numpy as np

    task = held_out.task
    table = read_table(task, data, task.id_column)
    if table is None:
        return None
    names = [name for name in table.columns if re.fullmatch(r"(?i)(pixel|pix|px|p|x)?[_.]?\d+(x\d+)?", name)]
    rows, places = _found(table[task.id_column], held_out, _MOST_SAMPLED_CELLS // max(1, len(names)))
    if not len(rows) or not names:
        return None
    return Features(rows, table[names].to_numpy()[places].astype(np.float32) / 255, "the pixels", LINEAR)


def cells_by_id(task: Task, data: Path, column: str) -> dict[str, str]:
    """What stands in a column of the training table, by the id; nothing where that cannot be read."""
    table = read_table(task, data, task.id_column)
    if table is None or column not in table:
        return {}
    return dict(zip(table[task.id_column], table[column], strict=True))


def read_table(task: Task, data: Path, key: str) -> Any:
    """The first rows of the training table as text; None where it cannot be read or does not have the columns."""
    import pandas as pd

    try:
        written = {name: str(task.details[name]) for name in ("separator", "encoding") if name in task.details}
        rows = table_rows(contained(data / task.train_table, root=data), **written)
        _, header = next(rows)
        most = max(1, min(_MOST_ROWS, _MOST_CELLS // len(header)))
        cells = [(row + [""] * len(header))[: len(header)] for _, row in islice(rows, most)]
    except (OSError, UnreadableTableError, StopIteration):
        return None
    table = pd.DataFrame(cells, columns=header, dtype=str)
    if not task.details.get("has_training_ids", True):
        table.insert(0, task.id_column, [str(number) for number in range(len(table))])
    is_fit = key in table and table.columns.is_unique and {*_names(task, "text_columns")} <= {*table.columns}
    return table if is_fit else None


def _found(ids: Iterable[str], held_out: HeldOut, most: int) -> tuple[Any, Any]:
    """The positions of at most so many examples, and the places where their ids stand."""
    rows = sampled(held_out, most)
    places = held_out.places_in(ids)[rows]
    return rows[places >= 0], places[places >= 0]


def as_numbers(column: Any, decimal: str) -> Any:
    """A column of text as the numbers that it says, NaN where it says none."""
    import pandas as pd

    text = column.str.strip()
    return pd.to_numeric(text.str.replace(decimal, ".", regex=False) if decimal != "." else text, errors="coerce")


def _as_features(column: Any, decimal: str) -> Any:
    """A column of text as numbers: what they say, or how often a category is, as a rank where there are few."""
    text = column.str.strip()
    filled = text != ""
    numbers = as_numbers(column, decimal)
    if numbers.notna().sum() >= _MOSTLY * filled.sum():
        return numbers
    counts = text.value_counts()
    if len(counts) > _MOST_CATEGORIES:
        return text.map(counts).astype(float)
    return text.map({name: float(place) for place, name in enumerate(counts.index)})


def _names(task: Task, key: str) -> list[str]:
    names = task.details.get(key, [])
    return list(names) if isinstance(names, list | tuple) else []
