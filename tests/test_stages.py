"""Competitions with several stages: test tables side by side, with a sample each or one for all."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from layout_files import images, table

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, Reading
from generator.competition.survey import survey_folder

FIRST, SECOND = range(100, 140), range(200, 260)
_AT_ONCE = (*FIRST, *SECOND)


def written(folder: Path, tests: Mapping[str, Iterable[int]], samples: Mapping[str, Iterable[int]]) -> Path:
    """Write a training table, and test tables and samples with these ids."""
    rows = [[n, n % 7, n * 0.5, ("yes", "no")[n % 2]] for n in range(60)]
    files = {"train.csv": (["id", "a", "b", "kind"], rows)}
    files |= {name: (["id", "a", "b"], [[n, n % 7, n * 0.5] for n in ids]) for name, ids in tests.items()}
    files |= {name: (["id", "kind"], [[n, "no"] for n in ids]) for name, ids in samples.items()}
    for name, (header, lines) in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        table(folder / name, header, lines)
    return folder


def read(folder: Path, **overrides: str | list[str]) -> Reading:
    return read_task(survey_folder(folder), Hints(slug="some", metric_text="Accuracy", overrides=overrides))


@pytest.mark.parametrize(
    ("tests", "samples"),
    [
        (("test.csv", "test_2.csv"), ("sample_submission.csv", "sample_submission_2.csv")),
        (("test.csv", "test_stage2.csv"), ("sample_submission.csv", "sample_submission_stage2.csv")),
        (("stage_1_test.csv", "stage_2_test.csv"), ("stage_1_sample_submission.csv", "stage_2_sample_submission.csv")),
        (("test_public.csv", "test_private.csv"), ("sample_submission_public.csv", "sample_submission_private.csv")),
        (("stage1/test.csv", "stage2/test.csv"), ("stage1/sample_submission.csv", "stage2/sample_submission.csv")),
        (("test1.csv", "test2.csv"), ("sampleSubmission1.csv", "sampleSubmission2.csv")),
        (("test_9.csv", "test_10.csv"), ("sample_submission_9.csv", "sample_submission_10.csv")),
    ],
)
@pytest.mark.parametrize("second", [SECOND, FIRST, _AT_ONCE])  # other rows, the same ids anew, or more rows
def test_the_later_stage_is_taken_with_its_own_sample_and_that_is_told(
    tmp_path: Path, tests: tuple[str, str], samples: tuple[str, str], second: Iterable[int]
) -> None:
    ids = (FIRST, second)
    folder = written(tmp_path, dict(zip(tests, ids, strict=True)), dict(zip(samples, ids, strict=True)))

    reading = read(folder)

    assert (reading.task.test_table, reading.task.sample_submission) == (tests[1], samples[1])
    (told,) = [sentence for sentence in reading.warnings if "stage" in sentence and "latest" in sentence]
    assert f"To use another: --test {tests[0]} --sample {samples[0]}." in told
    assert reading.task.train_table == "train.csv"
    earlier = read(folder, test_table=tests[0], sample_submission=samples[0])
    assert (earlier.task.test_table, earlier.task.sample_submission) == (tests[0], samples[0])
    assert not [sentence for sentence in earlier.warnings if "latest" in sentence]


def test_a_single_decision_brings_the_other_file_of_its_stage(tmp_path: Path) -> None:
    tests = {"test.csv": FIRST, "test_2.csv": SECOND}
    folder = written(tmp_path, tests, {"sample_submission.csv": FIRST, "sample_submission_2.csv": SECOND})

    assert read(folder, test_table="test.csv").task.sample_submission == "sample_submission.csv"
    assert read(folder, sample_submission="sample_submission.csv").task.test_table == "test.csv"


def test_the_pair_whose_ids_fit_is_taken_whatever_the_names_say(tmp_path: Path) -> None:
    tests = {"test.csv": FIRST, "test_2.csv": SECOND}
    crossed = written(tmp_path / "crossed", tests, {"sample_submission.csv": SECOND})
    first = written(tmp_path / "first", tests, {"sample_submission_2.csv": FIRST})
    unlike = written(
        tmp_path / "unlike", {"test.csv": FIRST}, {"sample_submission.csv": FIRST, "submission_2.csv": SECOND}
    )

    assert read(crossed).task.test_table == "test_2.csv"
    assert read(first).task.test_table == "test.csv"
    assert read(unlike).task.sample_submission == "sample_submission.csv"
    assert not any("latest" in sentence for folder in (crossed, first, unlike) for sentence in read(folder).warnings)


def test_one_sample_that_fits_two_tests_goes_with_the_later(tmp_path: Path) -> None:
    folder = written(tmp_path, {"test.csv": FIRST, "test_2.csv": FIRST}, {"sample_submission.csv": FIRST})

    reading = read(folder)

    assert reading.task.test_table == "test_2.csv"
    (told,) = [sentence for sentence in reading.warnings if "latest" in sentence]
    assert "To use another: --test test.csv." in told


def test_a_sample_that_asks_for_the_rows_of_two_tests_is_told(tmp_path: Path) -> None:
    tests = {"test.csv": FIRST, "test_2.csv": SECOND}
    folder = written(tmp_path, tests, {"sample_submission.csv": _AT_ONCE})

    (told,) = [sentence for sentence in read(folder).warnings if "rows of" in sentence]

    assert told.startswith("sample_submission.csv has rows of 2 tables, test.csv, test_2.csv, but the notebooks")


def test_samples_of_two_stages_of_images_are_told_apart_by_their_files(tmp_path: Path) -> None:
    labels = [[f"t{n}", "ab"[n % 2]] for n in range(20)]
    table(tmp_path / "train.csv", ["id", "kind"], labels)
    images(tmp_path / "train", [f"t{n}.png" for n in range(20)])
    for stage in (1, 2):
        ids = [f"s{stage}_{n}" for n in range(10)]
        images(tmp_path / f"stage{stage}_test", [f"{name}.png" for name in ids])
        table(tmp_path / f"stage{stage}_sample_submission.csv", ["id", "kind"], [[name, "a"] for name in ids])

    reading = read(tmp_path)

    assert reading.task.sample_submission == "stage2_sample_submission.csv"
    assert reading.task.details["test_folder"] == "stage2_test"
    assert "To use another: --sample stage1_sample_submission.csv." in " ".join(reading.warnings)
