"""The built-in competitions on tables: their files, their secret, and their score."""

from pathlib import Path

import pytest
from layout_files import read_rows
from miniature import names_in

from generator.competition.builtin import DIABETES, TUMOURS, BuiltIn
from generator.competition.submission import SubmissionError, SubmissionRowError, validate

BOTH = pytest.mark.parametrize("built_in", [TUMOURS, DIABETES], ids=["tumours", "diabetes"])
Table = list[dict[str, str]]


def written(built_in: BuiltIn, folder: Path) -> dict[str, Table]:
    """The tables of a competition, by the name of the file."""
    built_in.write(folder)
    return {path.stem: read_rows(path) for path in folder.glob("*.csv")}


def answers(built_in: BuiltIn, tables: dict[str, Table]) -> dict[str, float]:
    """The hidden answers, found by the measures of a row: no two rows of these data are alike."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    if built_in is TUMOURS:
        data = load_breast_cancer()
        truth = 1 - data.target
    else:
        data = load_diabetes(scaled=False)
        truth = data.target
    known = {tuple(row): float(answer) for row, answer in zip(data.data.tolist(), truth.tolist(), strict=True)}
    return {row["id"]: known[tuple(map(float, list(row.values())[1:]))] for row in tables["test"]}


def write_submission(path: Path, target: str, predicted: dict[str, float]) -> Path:
    path.write_text("\n".join([f"id,{target}", *(f"{key},{value}" for key, value in predicted.items())]) + "\n")
    return path


@BOTH
def test_the_tables_share_their_ids_and_measures_and_only_training_has_answers(
    tmp_path: Path, built_in: BuiltIn
) -> None:
    tables = written(built_in, tmp_path)
    target = built_in.task.targets[0]

    assert names_in(tmp_path) == ["sample_submission.csv", "test.csv", "train.csv"]
    assert list(tables["train"][0]) == [*tables["test"][0], target]
    assert [row["id"] for row in tables["sample_submission"]] == [row["id"] for row in tables["test"]]
    assert not {row["id"] for row in tables["train"]} & {row["id"] for row in tables["test"]}
    assert len({row[target] for row in tables["sample_submission"]}) == 1


def test_measures_keep_the_names_and_units_of_their_source(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    tumour, patient = written(TUMOURS, tmp_path / "a")["train"][0], written(DIABETES, tmp_path / "b")["train"][0]

    assert list(tumour)[1:4] == ["mean radius", "mean texture", "mean perimeter"]
    assert list(patient)[1:] == ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression"]
    assert 18 <= int(patient["age"]) <= 80


@BOTH
def test_ids_and_their_order_say_nothing_of_the_answer(tmp_path: Path, built_in: BuiltIn) -> None:
    from scipy.stats import spearmanr

    rows = written(built_in, tmp_path)["train"]
    ids = [row["id"] for row in rows]
    truth = [float(row[built_in.task.targets[0]]) for row in rows]

    assert ids == sorted(set(ids))
    # With 300 rows and more, chance gives a rank correlation beyond 0.15 once in a hundred times.
    assert abs(spearmanr(range(len(rows)), truth).statistic) < 0.15
    assert abs(spearmanr(truth[1:], truth[:-1]).statistic) < 0.15


@BOTH
def test_writing_again_gives_the_same_bytes(tmp_path: Path, built_in: BuiltIn) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        built_in.write(tmp_path / name)

    for name in names_in(tmp_path / "first"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_a_submission_is_scored_by_the_metric_of_its_competition(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    malignant = answers(TUMOURS, written(TUMOURS, tmp_path / "a"))
    progression = answers(DIABETES, written(DIABETES, tmp_path / "b"))
    ranked = {key: 0.4 + 0.1 * value for key, value in reversed(malignant.items())}
    off_by_three = {key: value + (3 if index % 2 else -3) for index, (key, value) in enumerate(progression.items())}

    assert TUMOURS.score(write_submission(tmp_path / "1.csv", "malignant", ranked)) == 1
    assert DIABETES.score(write_submission(tmp_path / "2.csv", "progression", off_by_three)) == pytest.approx(3)


@BOTH
def test_the_sample_is_a_valid_submission_no_better_than_a_constant(tmp_path: Path, built_in: BuiltIn) -> None:
    tables = written(built_in, tmp_path)
    sample = tmp_path / "sample_submission.csv"

    assert validate(sample, sample).rows == len(tables["test"])
    assert built_in.score(sample) == pytest.approx(0.5 if built_in is TUMOURS else 79.4, abs=0.1)


@BOTH
def test_a_submission_that_the_competition_would_refuse_is_not_scored(tmp_path: Path, built_in: BuiltIn) -> None:
    ids = [row["id"] for row in written(built_in, tmp_path)["test"]]

    with pytest.raises(SubmissionError, match="has the columns id, answer"):
        built_in.score(write_submission(tmp_path / "s.csv", "answer", dict.fromkeys(ids, 0.5)))
    with pytest.raises(SubmissionRowError, match="is empty or NaN"):
        built_in.score(write_submission(tmp_path / "s.csv", built_in.task.targets[0], dict.fromkeys(ids, float("nan"))))
