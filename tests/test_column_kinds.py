"""The kinds of a table's columns: numbers, dates, categories, or nothing that a model can learn from."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from layout_files import some, table
from notebook_cells import executed_alone

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, Reading
from generator.competition.survey import Survey, Table, column_of, survey_folder
from generator.competition.tables import TableFormat

ROWS = 60


def read(folder: Path, **overrides: str | list[str]) -> Reading:
    return read_task(survey_folder(folder), Hints(slug="some", metric_text="RMSE", overrides=overrides))


def write(
    folder: Path, columns: dict[str, Sequence[object]], *, test: dict[str, Sequence[object]] | None = None
) -> None:
    """Writes a table of these columns beside numbers, and a test table, by default with the same cells."""
    source = some()
    numbers = [[n, round(source.gauss(0, 1), 3)] for n in range(ROWS)]
    for name, cells in (("train", columns), ("test", {**columns, **(test or {})})):
        rows = [[*numbers[n], *(values[n] for values in cells.values())] for n in range(ROWS)]
        if name == "train":
            table(folder / "train.csv", ["id", "x", *cells, "y"], [[*row, row[1] * 2 + 0.5] for row in rows])
        else:
            table(folder / "test.csv", ["id", "x", *cells], [[row[0] + ROWS, *row[1:]] for row in rows])
    table(folder / "sample_submission.csv", ["id", "y"], [[n + ROWS, 0.0] for n in range(ROWS)])


def cycle(*cells: object) -> list[object]:
    return [cells[n % len(cells)] for n in range(ROWS)]


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "is_dropped"), [(5_000, False), (400_000, False), (990_000, True)])
def test_a_category_of_many_levels_is_not_taken_for_text_because_a_sample_has_few_of_them_twice(
    levels: int, is_dropped: bool
) -> None:
    source, rows, sampled = some(), 1_000_000, 2_000

    def part(path: str, start: int, **more: Sequence[str]) -> Table:
        ids = [str(n * 7 + start) for n in range(sampled)]
        shops = [f"shop {source.randrange(levels)}" for _ in range(sampled)]
        cells = {"id": ids, "x": [f"{source.random():.6f}" for _ in ids], "shop": shops, **more}
        columns = tuple(column_of(name, values) for name, values in cells.items())
        return Table(path, TableFormat.CSV, columns, rows, is_complete=False)

    train = part("train.csv", 0, y=[f"{source.gauss(0, 1):.4f}" for _ in range(sampled)])
    survey = Survey((part("test.csv", 20_000_000), train), ())

    dropped = read_task(survey, Hints(slug="some", metric_text="RMSE")).task.details["drop_columns"]

    assert dropped == (["shop"] if is_dropped else [])


@pytest.mark.parametrize(
    ("separator", "encoding", "name"), [("\t", "utf-8", "separator"), (",", "cp1252", "encoding"), (",", "utf-8", "")]
)
def test_a_table_that_is_written_in_another_way_than_the_first_is_named(
    tmp_path: Path, separator: str, encoding: str, name: str
) -> None:
    write(tmp_path, {"colour": cycle("rosé", "rouge")})
    rows = [[n + ROWS, n / 7, ["rosé", "rouge"][n % 2]] for n in range(ROWS)]
    table(tmp_path / "test.csv", ["id", "x", "colour"], rows, separator=separator, encoding=encoding)

    warnings = [warning for warning in read(tmp_path).warnings if "test.csv and train.csv differ" in warning]

    assert [f"differ in the {name}" in warning for warning in warnings] == [True] * bool(name)


def test_one_encoding_is_found_that_reads_the_plain_tables_as_well(tmp_path: Path) -> None:
    write(tmp_path, {"colour": cycle("blanc", "rouge")})
    rows = [[n + ROWS, n / 7, ["rosé", "rouge"][n % 2]] for n in range(ROWS)]
    table(tmp_path / "test.csv", ["id", "x", "colour"], rows, encoding="cp1252")

    reading = read(tmp_path)

    assert (reading.task.details["encoding"], reading.warnings) == ("cp1252", ())


@pytest.mark.parametrize(
    ("cells", "plain"),
    [
        (["4,098", "998", "1,234,567"], [4098, 998, 1234567]),
        (["$1,200", "-$3.50", "$ 4"], [1200, -3.5, 4]),
        (["1 200", "12 345 678", "5"], [1200, 12345678, 5]),
        (["12%", "7.5%", "100%"], [12, 7.5, 100]),
        (["3.5 kg", "1,200 kg.", "4 kg"], [3.5, 1200, 4]),
        (["(1,200)", "30", "(5)"], [-1200, 30, -5]),
        (["1 year", "2 years", "10 years"], [1, 2, 10]),
        (["77,292 sq ft", "9 sq ft"], [77292, 9]),
        (["40.823,68 \u20ac", "1.042,5 \u20ac", "7 \u20ac"], [40823.68, 1042.5, 7]),
        (["3,5 kg", "12,25 kg"], [3.5, 12.25]),
    ],
)
def test_formatted_numbers_are_numbers(tmp_path: Path, cells: list[str], plain: list[float]) -> None:
    write(tmp_path, {"income": cycle(*cells)})
    reading = read(tmp_path)

    assert reading.task.details["formatted_columns"] == ["income"]
    assert reading.task.details["number_columns"] == ["income"]
    names = executed_alone(["read-table", "read-formatted-numbers"], reading.task, "train")
    assert names.read_table(tmp_path / "train.csv", [])["income"].tolist()[: len(plain)] == plain


def priced(folder: Path, cell: Callable[[int], str]) -> None:
    """Writes a competition whose target `price` has these cells."""
    header = ["id", "x", "price"]
    table(folder / "train.csv", header, [[n, n % 7, cell(n)] for n in range(ROWS)])
    table(folder / "test.csv", header[:2], [[n, n % 7] for n in range(ROWS, 2 * ROWS)])
    table(folder / "sample_submission.csv", ["id", "price"], [[n, 0] for n in range(ROWS, 2 * ROWS)])


@pytest.mark.parametrize("word", ["n/a", "NA", "None", ""])
@pytest.mark.parametrize("written", ["40,{:03}", "40.{:03},50 \u20ac", "40{:03}"])
def test_words_for_missing_do_not_count_against_the_numbers_of_a_target(
    tmp_path: Path, word: str, written: str
) -> None:
    priced(tmp_path, lambda n: word if n % 9 == 4 else written.format(n))

    reading = read(tmp_path)

    assert reading.task.target_kind == "number"
    assert f"of {ROWS} sampled rows of train.csv have no price. Training skips these rows." in reading.warnings[-1]


@pytest.mark.parametrize("written", ["40,{:03}", "40{:03}"])
def test_a_target_of_numbers_and_other_words_is_a_number_where_the_user_says_so(tmp_path: Path, written: str) -> None:
    priced(tmp_path, lambda n: "unknown" if n % 9 == 4 else written.format(n))

    task = read(tmp_path, target_kind="number").task

    names = executed_alone(["read-table", "read-formatted-numbers"], task, "train")
    cells = names.read_table(tmp_path / "train.csv", [])["price"]
    assert task.target_kind == "number"
    assert cells.index[cells.isna()].tolist() == list(range(4, ROWS, 9))
    assert cells[1] == 40001


def test_a_decimal_comma_with_points_between_thousands_is_read(tmp_path: Path) -> None:
    rows = [f"{n};1.2{n:02d},50 \u20ac;{n},5" for n in range(ROWS)]
    (tmp_path / "train.csv").write_text("\n".join(["id;income;y", *rows]))
    (tmp_path / "test.csv").write_text("\n".join(["id;income", *(row.rpartition(";")[0] for row in rows)]))
    task = read(tmp_path, targets=["y"], separator=";").task

    assert (task.details["decimal"], task.details["formatted_columns"]) == (",", ["income"])
    names = executed_alone(["read-table", "read-formatted-numbers"], task, "train")
    assert names.read_table(tmp_path / "train.csv", [])["income"].tolist()[:2] == [1200.5, 1201.5]
