"""The kinds of a table's columns: numbers, dates, categories, or nothing that a model can learn from."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from layout_files import some, table
from notebook_cells import executed_alone

from generator.competition.facts import Value
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Confidence, Hints, Reading, UnusableValueError
from generator.competition.survey import survey_folder
from generator.competition.survey.columns import column_of
from generator.competition.survey.facts import Survey, Table
from generator.competition.tables.formats import TableFormat

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


def kinds(reading: Reading) -> dict[str, Value]:
    kinds = ("number", "date", "category", "coordinate", "short_text", "text", "drop")
    details = reading.task.details
    return {f"{kind}_columns": details[f"{kind}_columns"] for kind in kinds if details[f"{kind}_columns"]}


def cycle(*cells: object) -> list[object]:
    return [cells[n % len(cells)] for n in range(ROWS)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["?", *range(ROWS - 1)], "number_columns"),
        (["?", "-", "#", "x", *range(ROWS - 4)], "drop_columns"),  # numbers among texts, and hardly one twice
        (["n/a", *(f"{n}.5" for n in range(ROWS - 1))], ""),  # pandas reads that as nothing
        (cycle("red", "blue"), ""),
        (cycle(*(f"shade {n}" for n in range(25))), ""),
        ([f"oak {n}" for n in range(ROWS)], "drop_columns"),
        ([f"oak {n % 40}" for n in range(ROWS)], "short_text_columns"),  # more than half are different, and many twice
        ([f"oak {n % 58}" for n in range(ROWS)], "drop_columns"),
        ([f"{'ABC'[n % 3]}{n}" for n in range(ROWS)], "short_text_columns"),  # letters before digits
        (["", *(f"{'ABC'[n % 3]} {n}/7" for n in range(ROWS - 1))], "short_text_columns"),
        ([f"Oak{n}, {('Mr', 'Dr')[n % 2]}. Al Bo" for n in range(ROWS)], "short_text_columns"),  # words between marks
        ([f"Oak{n}, {'xyz'[n % 3]}{n}. It" for n in range(ROWS)], "text_columns"),
        ([f"{n}@oak.org" for n in range(ROWS)], "drop_columns"),
        (cycle("a" * 150, "b" * 150), "drop_columns"),
        ([f"{n} oaks and an elm" for n in range(ROWS)], "text_columns"),
        (cycle("an oak " * 20, "an elm " * 20), "text_columns"),
        (cycle("an oak and an elm", "a birch"), ""),  # words, but so few texts that they are categories
        (cycle("True", "False"), ""),
        (cycle("only"), "drop_columns"),
        ([f"2020-01-{n % 28 + 1:02d}" for n in range(ROWS)], "date_columns"),
        (["soon", *(f"2020-{n % 12 + 1:02d}-07 10:0{n % 10}:00" for n in range(ROWS - 1))], "date_columns"),
        ([f"{n % 28 + 1} Mar 2021" for n in range(ROWS)], "date_columns"),
        ([f"{n % 24:02d}:{n:02d}" for n in range(ROWS)], "drop_columns"),  # an hour without its day
        (cycle("08:00", "16:00"), ""),
    ],
)
def test_a_column_is_what_nearly_all_of_its_sampled_values_are(
    tmp_path: Path, cells: Sequence[object], kind: str
) -> None:
    write(tmp_path, {"noted": cells})

    assert kinds(read(tmp_path)) == ({kind: ["noted"]} if kind else {})


def test_numbers_that_only_the_test_table_has_marks_among_are_named_as_well(tmp_path: Path) -> None:
    write(tmp_path, {"load": range(0, ROWS * 2, 2)}, test={"load": ["?", *range(ROWS - 1)]})

    assert kinds(read(tmp_path)) == {"number_columns": ["load"]}


def test_codes_stay_categories_where_a_mark_stands_for_one_that_is_unknown(tmp_path: Path) -> None:
    write(tmp_path, {"zip_code": ["?", *cycle(80331, 10115, 20095)[1:]]})

    assert kinds(read(tmp_path)) == {"category_columns": ["zip_code"]}


def test_numbers_in_quotes_are_told_from_numbers_where_the_format_can(tmp_path: Path) -> None:
    rows = [{"id": n, "width": n % 9 / 2, "height": str(n % 7 / 2), "y": n % 11 / 4} for n in range(ROWS)]
    (tmp_path / "train.json").write_text(json.dumps(rows))
    unlabelled = [
        {key: cell for key, cell in {**row, "id": n + ROWS}.items() if key != "y"} for n, row in enumerate(rows)
    ]
    (tmp_path / "test.json").write_text(json.dumps(unlabelled))
    table(tmp_path / "sample_submission.csv", ["id", "y"], [[n + ROWS, 0.0] for n in range(ROWS)])

    assert kinds(read(tmp_path)) == {"number_columns": ["height"]}


def test_the_column_that_groups_the_folds_is_none_of_the_features(tmp_path: Path) -> None:
    patients = [f"{n // 3:03d}" if n > 2 else "?" for n in range(ROWS)]
    write(tmp_path, {"patient_id": patients}, test={"patient_id": [f"9{patient}" for patient in patients]})

    reading = read(tmp_path)

    assert (reading.task.details["group_column"], kinds(reading)) == ("patient_id", {})


def test_the_latitude_and_longitude_of_two_places_are_found_by_name_and_range(tmp_path: Path) -> None:
    places = {f"{end}_{axis}": cycle(48.5, -0.25, 7.125) for end in ("start", "end") for axis in ("lat", "lng")}
    write(tmp_path, places)
    assert kinds(read(tmp_path)) == {"coordinate_columns": ["start_lat", "start_lng", "end_lat", "end_lng"]}

    write(tmp_path, {**places, "end_lat": cycle(90.5, 2.5)})
    assert kinds(read(tmp_path)) == {}  # what is no place on earth, and one place alone, has no distance

    ends = ["end_lat", "end_lng", "start_lat", "start_lng"]
    assert kinds(read(tmp_path, coordinate_columns=ends)) == {"coordinate_columns": ends}
    with pytest.raises(UnusableValueError, match="the latitude and the longitude of a place, then those of another"):
        read(tmp_path, coordinate_columns=ends[:3])


def test_what_the_user_calls_a_text_is_read_as_one(tmp_path: Path) -> None:
    remarks = [f"{n} oaks and {n} elms" for n in range(ROWS)]
    write(tmp_path, {"ticket": [f"T{n}" for n in range(ROWS)], "remark": remarks})

    assert kinds(read(tmp_path, text_columns=["ticket"])) == {"text_columns": ["ticket"], "drop_columns": ["remark"]}
    assert kinds(read(tmp_path, drop_columns=["remark", "ticket"])) == {"drop_columns": ["remark", "ticket"]}


def test_what_the_user_calls_a_category_is_not_dropped(tmp_path: Path) -> None:
    write(tmp_path, {"ticket": [f"T{n}" for n in range(ROWS)], "born": cycle("2001-01-01", "2002-01-01")})

    reading = read(tmp_path, category_columns=["ticket"], drop_columns=["x"])
    assert kinds(reading) == {"category_columns": ["ticket"], "drop_columns": ["x"], "date_columns": ["born"]}
    assert kinds(read(tmp_path, category_columns=["ticket", "born"])) == {"category_columns": ["ticket", "born"]}


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
    ("born", "day_first", "confidence"),
    [
        ([f"{n % 28 + 1:02d}/{n % 12 + 1:02d}/1999" for n in range(ROWS)], True, Confidence.SURE),
        ([f"{n % 12 + 1:02d}/{n % 28 + 1:02d}/1999" for n in range(ROWS)], False, Confidence.SURE),
        ([f"{n % 12 + 1}.{n % 9 + 1}.99" for n in range(ROWS)], True, Confidence.SURE),
        ([f"1999-{n % 12 + 1:02d}-{n % 28 + 1:02d}" for n in range(ROWS)], False, Confidence.SURE),
        ([f"{n % 12 + 1}/{n % 9 + 1}/99" for n in range(ROWS)], False, Confidence.THIN),
    ],
)
def test_whether_a_date_begins_with_its_day_is_what_its_largest_parts_say(
    tmp_path: Path, born: Sequence[object], day_first: bool, confidence: Confidence
) -> None:
    write(tmp_path, {"born": born})

    reading = read(tmp_path)

    found = reading.findings["day_first"]
    assert (found.value, found.confidence) == (day_first, confidence)
    assert any("--set day_first" in warning for warning in reading.warnings) is (confidence is Confidence.THIN)


def test_the_user_is_asked_where_one_order_of_day_and_month_does_not_suit_all_dates(tmp_path: Path) -> None:
    german = [f"{n % 28 + 1:02d}.{n % 12 + 1:02d}.1999" for n in range(ROWS)]
    write(tmp_path, {"born": german, "sold": [f"2020-01-{n % 28 + 1:02d}" for n in range(ROWS)]})

    assert any("day comes first in born but not in sold" in warning for warning in read(tmp_path).warnings)


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


@pytest.mark.parametrize(
    "cells",
    [
        ["3 days", "1 year", "2 weeks"],
        ["35k", "1.2M", "40k"],
        ["35k", "40", "50k"],
        ["12A", "13B", "14C"],
        ["192.168.1.1", "10.0.0.1", "10.0.0.2"],
        ["555-1234", "555-9999", "555-0000"],
        ["12345-6789", "12345-0000", "54321-1111"],
        ["AB 123", "CD 124", "EF 125"],
        ["(1,2)", "(3,4)", "(2,1)"],
        ["1,2", "3,4", "2,1"],
    ],
)
def test_codes_and_numbers_of_several_units_are_no_numbers(tmp_path: Path, cells: list[str]) -> None:
    write(tmp_path, {"code": cycle(*cells)})

    assert read(tmp_path).task.details["formatted_columns"] == []


def test_a_target_with_separators_of_thousands_is_a_number(tmp_path: Path) -> None:
    header = ["id", "x", "price"]
    table(tmp_path / "train.csv", header, [[n, n % 7, f"${1000 * n + 999:,}"] for n in range(ROWS)])
    table(tmp_path / "test.csv", header[:2], [[n, n % 7] for n in range(ROWS, 2 * ROWS)])
    table(tmp_path / "sample_submission.csv", ["id", "price"], [[n, 0] for n in range(ROWS, 2 * ROWS)])

    task = read(tmp_path).task

    assert (task.target_kind, task.details["formatted_columns"]) == ("number", ["price"])


def test_a_target_of_few_percentages_is_a_class_unless_the_user_says_number(tmp_path: Path) -> None:
    header = ["id", "x", "share"]
    table(tmp_path / "train.csv", header, [[n, n % 7, f"{n % 5 * 10}%"] for n in range(ROWS)])
    table(tmp_path / "test.csv", header[:2], [[n, n % 7] for n in range(ROWS, 2 * ROWS)])
    table(tmp_path / "sample_submission.csv", ["id", "share"], [[n, "0%"] for n in range(ROWS, 2 * ROWS)])

    hints = Hints(slug="some", overrides={"target_kind": "number"})

    assert read_task(survey_folder(tmp_path), Hints(slug="some")).task.target_kind == "class"
    assert read_task(survey_folder(tmp_path), hints).task.details["formatted_columns"] == ["share"]


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


@pytest.mark.parametrize(("word", "share"), [("-", "12%"), ("unknown", "12%"), ("n/a", "")])
def test_a_column_of_numbers_and_other_words_is_named_with_the_way_to_read_it(
    tmp_path: Path, word: str, share: str
) -> None:
    cells = [word if n % 9 == 4 else f"40,{n:03}" for n in range(ROWS)]
    write(tmp_path, {"income": cells})

    reading = read(tmp_path)
    decided = read(tmp_path, number_columns=["income"])

    said = f'numbers such as "40,000", but {share} of its sampled cells are text such as "{word}". To read text as'
    assert (said in " ".join(reading.warnings)) == bool(share)
    assert not any("income" in warning for warning in decided.warnings)
    for task in (decided.task, *([reading.task] if not share else [])):
        assert (task.details["number_columns"], task.details["formatted_columns"]) == (["income"], ["income"])


def test_amounts_of_two_words_are_no_texts(tmp_path: Path) -> None:
    fees = [f"{n}.{n:03},50 \u20ac" for n in range(1, 2 * ROWS + 1)]
    table(tmp_path / "train.csv", ["id", "fee", "y"], [[n, fees[n], n / 7] for n in range(ROWS)])
    table(tmp_path / "test.csv", ["id", "fee"], [[n, fees[n]] for n in range(ROWS, 2 * ROWS)])
    table(tmp_path / "sample_submission.csv", ["id", "y"], [[n, 0] for n in range(ROWS, 2 * ROWS)])

    task = read(tmp_path).task

    assert (task.family, task.details["other_decimal_columns"]) == ("tabular", ["fee"])


def test_a_decimal_comma_with_points_between_thousands_is_read(tmp_path: Path) -> None:
    rows = [f"{n};1.2{n:02d},50 \u20ac;{n},5" for n in range(ROWS)]
    (tmp_path / "train.csv").write_text("\n".join(["id;income;y", *rows]))
    (tmp_path / "test.csv").write_text("\n".join(["id;income", *(row.rpartition(";")[0] for row in rows)]))
    task = read(tmp_path, targets=["y"], separator=";").task

    assert (task.details["decimal"], task.details["formatted_columns"]) == (",", ["income"])
    names = executed_alone(["read-table", "read-formatted-numbers"], task, "train")
    assert names.read_table(tmp_path / "train.csv", [])["income"].tolist()[:2] == [1200.5, 1201.5]


@pytest.mark.parametrize(
    ("known", "later"),
    [
        ("2024-10-27 02:30:00+02:00", "2024-10-27 02:15:00+01:00"),
        ("2024-01-11 12:00:00", "2024-01-11 12:00:00.250"),
        ("2024-01-11", "2024-01-11 12:00:00"),
        ("20/12/2023", "13/01/2024"),
        ("Dec 20, 2023", "Jan 3, 2024 4:05 PM"),
    ],
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_folds_are_in_time_where_the_test_is_later_however_times_are_written(
    tmp_path: Path, known: str, later: str, is_turned: bool
) -> None:
    first, *earlier = ("unknown", "2000-01-05") if known.startswith("2024") else (known, "13/05/2000")
    trained = [first, *earlier, *[known] * (ROWS - 2)] if not is_turned else [later] * (ROWS - 1) + [known]
    table(tmp_path / "train.csv", ["id", "day", "target"], [[n, day, n % 7 / 3] for n, day in enumerate(trained)])
    asked = [known if is_turned else later] * ROWS
    table(tmp_path / "test.csv", ["id", "day"], [[100 + n, day] for n, day in enumerate(asked)])
    table(tmp_path / "sample_submission.csv", ["id", "target"], [[100 + n, 0] for n in range(ROWS)])

    assert read(tmp_path).task.details["time_column"] == ("" if is_turned else "day")
