"""Hosting a folder: what its description may say, and what is said where it is wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pandas
import pytest
from toy import HEIGHTS, submission_text, toy_competition

from generator.competition.facts import SubmissionKind
from generator.errors import TandemError
from generator.localkaggle.hosting import HostedCompetition, host


def hosted(folder: Path, tmp_path: Path) -> HostedCompetition:
    """The last competition of a local Kaggle that hosts a folder."""
    return [*host(tmp_path / "kaggle", [folder]).values()][-1]


def test_a_description_may_be_short(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "some-heights", is_code=False)
    (toy / "competition.toml").write_text('metric = "rmse"\n')
    facts = hosted(toy, tmp_path).facts

    assert (facts.slug, facts.title, facts.is_code_competition) == ("some-heights", "some-heights", False)
    assert (facts.question.submission, facts.question.columns) == (SubmissionKind.NUMBERS, ("id", "height"))
    assert (facts.daily_limit, facts.deadline, facts.submission_file) == (5, None, "submission.csv")


def test_a_description_may_say_everything(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy", is_code=False)
    (toy / "competition.toml").write_text(
        'slug = "heights-2"\ntitle = "Heights"\ndescription = "Tall or not."\nmetric = "map@3"\nsubmission = "top_k"\n'
        "code_competition = true\ninternet = true\ndaily_limit = 2\npublic_share = 0.5\ndeadline = 2026-12-31\n"
        'submission_file = "answer.csv"\nsample_submission = "sample_submission.csv"\nmask_size = [4, 5]\n'
    )
    (toy / "competition.toml").write_text(
        (toy / "competition.toml").read_text().replace("2026-12-31", "2026-12-31T12:00:00+02:00")
    )
    facts = hosted(toy, tmp_path).facts

    assert (facts.slug, facts.title, facts.description) == ("heights-2", "Heights", "Tall or not.")
    assert (facts.allows_internet, facts.daily_limit, facts.submission_file) == (True, 2, "answer.csv")
    assert facts.deadline == datetime(2026, 12, 31, 10, tzinfo=UTC)
    assert (facts.question.metric, facts.question.public_share, facts.question.mask_size) == ("map@3", 0.5, (4, 5))


def test_a_folder_may_stand_in_for_a_built_in_competition(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy")
    (toy / "competition.toml").write_text('slug = "digits"\ntitle = "My digits"\nmetric = "mae"\n')

    assert host(tmp_path / "kaggle", [toy])["digits"].facts.title == "My digits"


@pytest.mark.parametrize("suffix", ["csv.gz", "tsv", "parquet", "json", "jsonl"])
def test_answers_sample_and_submission_may_be_in_any_format(tmp_path: Path, suffix: str) -> None:
    toy = toy_competition(tmp_path / "toy", is_code=False, settings=f'sample_submission = "sample.{suffix}"\n')
    (toy / "data" / "sample_submission.csv").unlink()
    heights = pandas.DataFrame({"id": list(HEIGHTS), "height": list(HEIGHTS.values())})
    tables = {"answers": heights, "data/sample": heights.assign(height=0.5), "submission": heights[::-1]}
    (toy / "answers.csv").unlink()
    for name, table in tables.items():
        write_table(table.assign(height=table["height"] + (name == "submission")), toy / f"{name}.{suffix}")

    scores = hosted(toy, tmp_path).score(toy / f"submission.{suffix}")

    assert (scores.public, scores.private) == (1, 1)


def write_table(table: pandas.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif ".json" in path.name:
        table.to_json(path, orient="records", lines=path.suffix == ".jsonl")
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('metric = "maee"\n', 'There is no metric "maee". Did you mean'),
        ('metric = "mae@3"\n', "left out, since it has no parameter"),
        ("", "metric is required, with the type str"),
        ('metric = "mae"\nmetrics = 1\n', '"metrics" is not a valid key'),
        ('metric = "mae"\nslug = "My Heights"\n', "slug must be made of lower-case letters"),
        ('metric = "mae"\nslug = "../x"\n', "slug must be made of lower-case letters"),
        ('metric = "mae"\ndaily_limit = 0\n', "daily_limit must be 1 or more"),
        ('metric = "mae"\ndaily_limit = true\n', "daily_limit is required, with the type int"),
        ('metric = "mae"\ndaily_limit = "many"\n', "with the type int"),
        ('metric = "mae"\npublic_share = 0\n', "public_share must be above 0 and at most 1"),
        ('metric = "mae"\npublic_share = 1.5\n', "public_share must be above 0 and at most 1"),
        ('metric = "mae"\nsubmission = "number"\n', "submission must be one of numbers, probability"),
        ('metric = "mae"\nsubmission_file = "../a.csv"\n', "submission_file must be a relative path"),
        ('metric = "mae"\nsample_submission = "/etc/passwd"\n', "sample_submission must be a relative path"),
        ('metric = "mae"\nmask_size = [3]\n', "mask_size must be two whole numbers"),
        ('metric = "mae"\ndeadline = "soon"\n', "with the type datetime"),
        ('metric = "mae"\n[pages]\nrules = 1\n', 'all values in pages must be texts; "rules" is not'),
        ("metric = mae\n", "it is not TOML"),
        ('metric = "dice"\n', "mask_size"),
    ],
)
def test_a_wrong_description_is_one_sentence_at_the_start(tmp_path: Path, text: str, sentence: str) -> None:
    toy = toy_competition(tmp_path / "toy")
    (toy / "competition.toml").write_text(text)

    with pytest.raises(TandemError) as error:
        host(tmp_path / "kaggle", [toy])
    assert sentence in error.value.message
    assert "\n" not in error.value.message


@pytest.mark.parametrize("missing", ["competition.toml", "answers.csv"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    toy = toy_competition(tmp_path / "toy")
    (toy / missing).unlink()

    with pytest.raises(TandemError, match=missing):
        host(tmp_path / "kaggle", [toy])


def test_missing_answers_are_asked_for(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy")
    (toy / "answers.csv").unlink()

    with pytest.raises(TandemError, match=r"answers\.csv .* it is missing; put a perfect submission there"):
        host(tmp_path / "kaggle", [toy])


def test_a_folder_without_data_is_not_hosted(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()

    with pytest.raises(TandemError, match="put the competition's files there"):
        host(tmp_path / "kaggle", [tmp_path / "toy"])


def test_names_with_control_characters_reach_no_terminal(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy")
    (toy / "competition.toml").write_text('metric = "mae"\n"\\u001b[2J" = 1\n')

    with pytest.raises(TandemError) as error:
        host(tmp_path / "kaggle", [toy])
    assert "\x1b" not in error.value.message


def test_a_competition_without_a_sample_is_asked_for_in_the_form_of_its_answers(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy", is_code=False)
    (toy / "data" / "sample_submission.csv").unlink()
    (tmp_path / "submission.csv").write_text(submission_text(off_by=2))
    competition = hosted(toy, tmp_path)

    assert competition.score(tmp_path / "submission.csv").public == pytest.approx(2.0)
    assert "    id,height\n" in competition.facts.pages[0].content


def test_hidden_files_are_not_copied_where_a_second_name_will_do(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy")
    merged = hosted(toy, tmp_path).hidden()

    assert (merged / "train.csv").stat().st_ino == (toy / "data" / "train.csv").stat().st_ino
    assert (merged / "test.csv").stat().st_ino == (toy / "hidden" / "test.csv").stat().st_ino
