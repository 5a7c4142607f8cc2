"""The ids of test rows without a column of them: put together from the cells of a row, or counted."""

from collections.abc import Mapping
from itertools import product

from generator.competition.specimen.column_cells import Cells
from generator.competition.specimen.id_format import format_of
from generator.competition.specimen.original import Original


def with_different_ids(original: Original, rows: Mapping[str, Cells]) -> dict[str, Cells]:
    """Returns the cells of the test table with another combination of the columns of the ids in each row."""
    names = [name for name in original.texts("id_columns") if name in rows]
    if not names:
        return dict(rows)
    first, *others = [[cell or "" for cell in rows[name]] for name in names]
    # New values for the first column are a reserve, where the combinations of what is there are too few.
    reserve = format_of(tuple(dict.fromkeys(first))).fresh(len(first), original.random("ids", *names), set(first))
    free = product((*dict.fromkeys(first), *reserve), *map(dict.fromkeys, others))
    taken = set(zip(first, *others, strict=True))
    seen: set[tuple[str, ...]] = set()
    made = []
    for row in zip(first, *others, strict=True):
        new = next(combination for combination in free if combination not in taken) if row in seen else row
        seen.add(new)
        made.append(new)
    return {**rows, **{name: list(cells) for name, cells in zip(names, zip(*made, strict=True), strict=True)}}


def ids_of_rows(original: Original, rows: Mapping[str, Cells]) -> list[str]:
    """Returns the ids that the task makes of the rows of the test table; none where a column has them."""
    names, task = original.texts("id_columns"), original.task
    count = len(next(iter(rows.values()), ()))
    if names and rows.keys() >= set(names):
        cells = zip(*(rows[name] for name in names), strict=True)
        return [original.text("id_separator").join(cell or "" for cell in row) for row in cells]
    if "first_id" in task.details and task.id_column not in rows:
        first = int(str(task.details["first_id"]))
        return [str(first + row) for row in range(count)]
    return []
