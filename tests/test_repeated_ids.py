"""Training ids that repeat: rows of one stay together, copies are left out, and inference finds each row again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layout_files import some, table
from notebook_cells import known_after
from notebook_session import Mirror, Notebook, Sessions, read_table

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, Reading
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)

SAMPLE = "sample_submission.csv"
WORDS = ("good", "bad", "fine", "awful", "great", "poor", "nice", "sad")


def write_visits(folder: Path, *, patients: int = 50, copies: int = 0) -> list[list[str]]:
    """Writes visits of patients in no order, some without an answer, whose answers may differ; returns them."""
    draw, rows = some(3), []
    for patient in range(patients):
        for _ in range(draw.randint(1, 4)):
            pulse = draw.gauss(0.02 * patient, 0.3)
            answer = "" if draw.random() < 0.15 else str(int(pulse > 0.5))
            rows.append([f"p{patient:03d}", f"{pulse:.3f}", draw.choice("abc"), answer])
    draw.shuffle(rows)
    rows = [*rows[:20], *rows[:copies], *rows[20:]]
    table(folder / "train.csv", ["patient", "pulse", "ward", "ill"], rows)
    test = [[f"q{number:03d}", f"{draw.random():.3f}", draw.choice("abc")] for number in range(20)]
    table(folder / "test.csv", ["patient", "pulse", "ward"], test)
    table(folder / SAMPLE, ["patient", "ill"], [[row[0], 0] for row in test])
    return rows


def reading_of(folder: Path, **overrides: str) -> Reading:
    return read_task(survey_folder(folder), Hints(slug="visits", metric_text="accuracy", overrides=overrides))


def folds_of(names: Any, column: str) -> int:
    """The most folds that rows with the same cell of a column are in."""
    return int(names.train.assign(fold=names.fold_of_row).groupby(column)["fold"].nunique().max())


def test_folds_follow_ids_that_repeat(tmp_path: Path) -> None:
    write_visits(tmp_path)

    reading = reading_of(tmp_path)

    found = reading.findings["group_column"]
    assert (found.value, reading.warnings) == ("patient", tuple(w for w in reading.warnings if "ill" in w))
    assert found.evidence.endswith("sampled values of patient repeat in train.csv; their rows stay in the same fold")


def test_copies_alone_make_no_groups(tmp_path: Path) -> None:
    rows = [[f"p{number}", str(number % 7), str(number % 2)] for number in range(60)]
    table(tmp_path / "train.csv", ["id", "size", "ill"], [*rows, *rows[:9]])
    table(tmp_path / "test.csv", ["id", "size"], [[f"q{number}", "1"] for number in range(20)])
    table(tmp_path / SAMPLE, ["id", "ill"], [[f"q{number}", "0"] for number in range(20)])

    reading = reading_of(tmp_path)
    names = known_after("assign-folds", reading.task, "train", tmp_path)

    assert reading.findings["group_column"].value == ""
    assert names.train["id"].tolist() == [row[0] for row in rows]


def test_rows_of_one_id_are_in_one_fold_and_keep_their_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "visits"
    rows = write_visits(folder, copies=6)

    names = known_after("assign-folds", reading_of(folder).task, "train", folder, N_FOLDS=3)

    said = capsys.readouterr().out
    assert "6 exact copies of rows in train.csv are left out." in said
    assert "Folds keep the rows of one together." in said
    assert folds_of(names, "patient") == 1
    of_file = [rows[row] for row in names.train["table row"]]
    assert [row[:3] for row in of_file] == [
        [patient, f"{pulse:.3f}", ward] for patient, pulse, ward in names.train[["patient", "pulse", "ward"]].to_numpy()
    ]
    assert [str(int(row[3])) for row in of_file] == [str(int(float(names.classes[index]))) for index in names.truth]
    assert len(names.train) == len({(*row,) for row in rows if row[3]})
    assert "table row" not in names.columns["numbers"]


def test_another_group_column_is_kept_and_what_it_does_not_hold_together_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "visits"
    write_visits(folder)

    names = known_after("assign-folds", reading_of(folder, group_column="ward").task, "train", folder, N_FOLDS=3)

    assert folds_of(names, "ward") == 1
    assert " values of patient are in several groups, which may be in several folds." in capsys.readouterr().out


def labels_apart(folder: Path, *, order: int = 1) -> None:
    """Moves the answers of visits to a table of their own, with the rows in the same order or in the reverse."""
    header, *rows = read_table(folder / "train.csv")
    kept = [row for row in rows if row[3]]
    table(folder / "train.csv", header[:3], [row[:3] for row in kept])
    table(folder / "train_labels.csv", [header[0], header[3]], [[row[0], row[3]] for row in kept[::order]])


def test_labels_in_a_table_of_their_own_belong_to_the_rows_in_the_same_place(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    rows = write_visits(folder)
    labels_apart(folder)
    task = reading_of(folder).task

    names = known_after("assign-folds", task, "train", folder)

    assert task.labels_table == "train_labels.csv"
    assert folds_of(names, "patient") == 1
    assert sorted(map(str, names.train["ill"])) == sorted(row[3] for row in rows if row[3])


def test_labels_that_could_belong_to_several_rows_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    write_visits(folder)
    labels_apart(folder, order=-1)

    with pytest.raises(
        ValueError, match=r"which belong together is unknown\. Put the rows of both into the same order"
    ):
        known_after("assign-folds", reading_of(folder).task, "train", folder)


def test_several_labels_of_one_row_are_rows_that_stay_together(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    write_visits(folder, patients=60)
    draw = some(8)
    table(folder / "train.csv", ["patient", "pulse", "ward"], [[f"p{n:03d}", n % 9, "abc"[n % 3]] for n in range(60)])
    said = [[f"p{number % 60:03d}", draw.choice("01")] for number in range(150)]
    table(folder / "train_labels.csv", ["patient", "ill"], said)
    task = reading_of(folder).task

    names = known_after("assign-folds", task, "train", folder)

    assert task.details["group_column"] == "patient"
    assert folds_of(names, "patient") == 1
    assert len(names.train) == len({(*row,) for row in said})


def trained_and_inferred(sessions: Sessions, mirror: Mirror, **parameters: object) -> dict[str, Any]:
    """What a training handed over, after inference has found its rows again and written a submission."""
    task = reading_of(mirror.competition).task
    train, infer = (Notebook("keras", role, task=task) for role in ("train", "infer"))
    ended = sessions.finished(train, mirror.parameters(train, N_FOLDS=2, **parameters), look="float(oof_score)")
    assert ended.is_done
    oof = dict(np.load(mirror.working / "oof.npz"))
    header, *judged = read_table(mirror.working / "oof.csv")
    mirror.working.rename(mirror.root / "train")
    ended = sessions.finished(infer, mirror.parameters(infer, **parameters))
    assert ended.is_done
    asked = read_table(mirror.competition / SAMPLE)
    assert [row[0] for row in read_table(mirror.working / "submission.csv")] == [row[0] for row in asked]
    return {"oof": oof, "judged": [dict(zip(header, row, strict=True)) for row in judged]}


@pytest.mark.slow
def test_inference_finds_the_rows_of_repeated_ids_again(sessions: Sessions, mirror: Mirror) -> None:
    rows = write_visits(mirror.competition, copies=6)

    done = trained_and_inferred(sessions, mirror, EPOCHS=2)

    assert [rows[row][0] for row in done["oof"]["table_rows"]] == done["oof"]["ids"].tolist()
    for row in done["judged"]:
        assert rows[int(row["table row"])][:2] == [row["patient"], f"{float(row['pulse']):.3f}"]


@pytest.mark.slow
def test_the_linear_model_of_texts_is_fitted_to_the_rows_of_repeated_ids(sessions: Sessions, mirror: Mirror) -> None:
    draw = some(5)
    texts = [" ".join(draw.choice(WORDS) for _ in range(8)) for _ in range(120)]
    rows = [
        [f"d{number // 3:03d}", text, str(int("good" in text)) if number % 9 else ""]
        for number, text in enumerate(texts)
    ]
    draw.shuffle(rows)
    table(mirror.competition / "train.csv", ["patient", "text", "ill"], [*rows, *rows[:4]])
    table(mirror.competition / "test.csv", ["patient", "text"], [[f"t{n}", texts[n]] for n in range(12)])
    table(mirror.competition / SAMPLE, ["patient", "ill"], [[f"t{n}", 0] for n in range(12)])

    done = trained_and_inferred(sessions, mirror, DEBUG=True)

    assert [rows[int(row["table row"])][1] for row in done["judged"]] == [row["text"] for row in done["judged"]]
