"""What the API says of competitions, and the files that it hands out."""

import zipfile
from pathlib import Path

import pytest
from desk import Desk
from miniature import tree_of
from toy import HEIGHTS, toy_competition

from generator.competition.builtin import competition_slugs, require
from generator.competition.metrics import find_metric
from generator.localkaggle.hosting import host


@pytest.fixture
def desk(tmp_path: Path, toy: Path) -> Desk:
    """A local Kaggle that hosts it."""
    return Desk(tmp_path / "kaggle", competitions=[toy])


def test_all_built_in_competitions_and_the_given_folders_are_listed(desk: Desk) -> None:
    found = desk.ask("ListCompetitions")["competitions"]

    assert {each["ref"].rpartition("/")[2] for each in found} == {*competition_slugs(), "toy-heights"}


def test_a_search_finds_words_of_the_title(desk: Desk) -> None:
    found = desk.ask("ListCompetitions", search="toy HEIGHTS")["competitions"]

    assert [each["title"] for each in found] == ["Toy heights"]


def test_a_competition_is_described_without_its_data_being_written(tmp_path: Path, desk: Desk) -> None:
    found = desk.ask("GetCompetition", competitionName="digits")

    assert (found["title"], found["isKernelsSubmissionsOnly"]) == ("Handwritten digits", True)
    assert found["userHasEntered"]
    assert found["maxDailySubmissions"] == 5
    assert not (tmp_path / "kaggle" / "competitions" / "digits").exists()


def test_the_metric_of_every_built_in_competition_is_found_in_its_facts_and_on_its_pages(desk: Desk) -> None:
    for slug in competition_slugs():
        pages = desk.ask("ListCompetitionPages", competitionName=slug, pageName="evaluation")["pages"]
        named = desk.ask("GetCompetition", competitionName=slug)["evaluationMetric"]

        assert find_metric(named) == find_metric(pages[0]["content"]) == require(slug).task.metric


@pytest.mark.parametrize("method", ["GetCompetition", "ListDataFiles", "DownloadDataFiles", "GetLeaderboard"])
def test_a_competition_that_is_not_hosted_is_not_found(desk: Desk, method: str) -> None:
    assert desk.refused(method, competitionName="house-prices") == (404, "Competition not found")


def test_a_code_competition_has_the_requirements_among_its_pages(desk: Desk) -> None:
    pages = {
        page["name"]: page["content"] for page in desk.ask("ListCompetitionPages", competitionName="digits")["pages"]
    }

    assert "Submission file must be named `submission.csv`" in pages["code-requirements"]
    assert "Internet access disabled" in pages["code-requirements"]


def test_pages_that_the_host_wrote_stand_in_for_the_usual_ones(tmp_path: Path) -> None:
    toy = toy_competition(tmp_path / "toy", settings='[pages]\nevaluation = "As you like it."\nprizes = "None."\n')
    desk = Desk(tmp_path / "kaggle", competitions=[toy])
    pages = desk.ask("ListCompetitionPages", competitionName="toy-heights")["pages"]

    assert [(page["name"], page["content"]) for page in pages[:2]] == [
        ("evaluation", "As you like it."),
        ("prizes", "None."),
    ]
    assert [page["name"] for page in pages[2:]] == ["code-requirements"]


def test_files_are_listed_page_by_page_with_their_sizes(desk: Desk, toy: Path) -> None:
    first = desk.ask("ListDataFiles", competitionName="toy-heights", pageSize=2)
    rest = desk.ask("ListDataFiles", competitionName="toy-heights", pageSize=2, pageToken=first["nextPageToken"])

    sizes = {file["name"]: file["totalBytes"] for page in (first, rest) for file in page["files"]}
    assert sizes == {name: len(content) for name, content in tree_of(toy / "data").items()}
    assert rest["nextPageToken"] == ""


def test_a_tree_is_listed_one_folder_at_a_time(tmp_path: Path, desk: Desk, toy: Path) -> None:
    (toy / "data" / "images").mkdir()
    (toy / "data" / "images" / "a.png").write_bytes(b"png")

    top = desk.ask("ListDataTreeFiles", competitionName="toy-heights")
    below = desk.ask("ListDataTreeFiles", competitionName="toy-heights", path="images")

    assert [(folder["name"], folder["totalFiles"]) for folder in top["directories"]] == [("images", 1)]
    assert [file["name"] for file in below["files"]] == ["a.png"]
    kinds = desk.ask("GetCompetitionDataFilesSummary", competitionName="toy-heights")["fileSummaryInfo"]
    assert {kind["extension"]: kind["fileCount"] for kind in kinds["fileTypes"]} == {".csv": 3, ".png": 1}


def test_a_file_is_downloaded_from_an_address_that_ends_in_its_name(desk: Desk) -> None:
    answer = desk.ask("DownloadDataFile", competitionName="toy-heights", fileName="test.csv")

    assert answer.url.endswith("/test.csv")
    assert desk.fetched(answer).path.read_text().startswith("id,age\np00,0\n")


@pytest.mark.parametrize("name", ["../answers.csv", "hidden/test.csv", "/etc/passwd", "", "nope.csv", "./test.csv"])
def test_nothing_but_the_listed_files_can_be_downloaded(desk: Desk, name: str) -> None:
    assert desk.refused("DownloadDataFile", competitionName="toy-heights", fileName=name) == (404, "File not found")


def test_a_link_that_leads_out_of_the_data_is_not_handed_out(desk: Desk, toy: Path) -> None:
    (toy / "data" / "secret.csv").symlink_to(toy / "answers.csv")

    names = [file["name"] for file in desk.ask("ListDataFiles", competitionName="toy-heights")["files"]]
    with zipfile.ZipFile(desk.fetched(desk.ask("DownloadDataFiles", competitionName="toy-heights")).path) as archive:
        assert archive.namelist() == names
    assert "secret.csv" not in names
    assert desk.refused("DownloadDataFile", competitionName="toy-heights", fileName="secret.csv")[0] == 404


def test_the_archive_holds_what_everybody_may_see_and_is_made_once(desk: Desk, toy: Path) -> None:
    first = desk.fetched(desk.ask("DownloadDataFiles", competitionName="toy-heights"))
    made = first.path.stat().st_mtime_ns
    second = desk.fetched(desk.ask("DownloadDataFiles", competitionName="toy-heights"))

    assert (first.name, first.path, made) == ("toy-heights.zip", second.path, second.path.stat().st_mtime_ns)
    with zipfile.ZipFile(first.path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == tree_of(toy / "data")


def test_files_that_changed_between_two_starts_are_packed_anew(tmp_path: Path, desk: Desk, toy: Path) -> None:
    desk.ask("DownloadDataFiles", competitionName="toy-heights")
    (toy / "data" / "train.csv").write_text("id,age,height\n")
    restarted = desk.restarted(competitions=[toy])
    stored = restarted.fetched(restarted.ask("DownloadDataFiles", competitionName="toy-heights"))

    with zipfile.ZipFile(stored.path) as archive:
        assert archive.read("train.csv") == b"id,age,height\n"


def test_who_has_not_accepted_the_rules_gets_no_data(tmp_path: Path, toy: Path) -> None:
    desk = Desk(tmp_path / "kaggle", competitions=[toy], faults=("rules-not-accepted@toy-heights",))
    refused = [desk.refused(method, competitionName="toy-heights") for method in ("DownloadDataFiles", "ListDataFiles")]
    has_entered = desk.ask("GetCompetition", competitionName="toy-heights")["userHasEntered"]

    sentence = "You must accept this competition's rules before you'll be able to download files."
    assert refused == [(403, sentence)] * 2
    assert not has_entered


def test_a_rerun_sees_the_whole_test_where_everybody_sees_its_beginning(desk: Desk, toy: Path) -> None:
    shown = tree_of(desk.kaggle.hosted_competitions["toy-heights"].data())
    hidden = tree_of(desk.kaggle.hosted_competitions["toy-heights"].hidden())

    assert shown == tree_of(toy / "data")
    assert hidden == {**shown, **tree_of(toy / "hidden")}
    assert (shown["test.csv"].count(b"\np"), hidden["test.csv"].count(b"\np")) == (4, len(HEIGHTS))


def test_hidden_files_that_change_are_mounted_as_they_are_then(desk: Desk, toy: Path) -> None:
    desk.kaggle.hosted_competitions["toy-heights"].hidden()
    (toy / "hidden" / "extra.csv").write_text("id\n")

    assert (desk.kaggle.hosted_competitions["toy-heights"].hidden() / "extra.csv").is_file()


def test_without_a_hidden_folder_a_rerun_sees_what_everybody_sees(tmp_path: Path) -> None:
    hosted = host(tmp_path, [toy_competition(tmp_path / "toy", is_code=False)])["toy-heights"]

    assert hosted.hidden() == hosted.data()


def test_a_competition_that_is_not_hosted_has_no_folder(desk: Desk) -> None:
    assert "nope" not in desk.kaggle.hosted_competitions


@pytest.mark.slow
def test_digits_shows_its_first_test_images_and_hides_the_others(desk: Desk, tmp_path: Path) -> None:
    shown = desk.kaggle.hosted_competitions["digits"].data()
    hidden = desk.kaggle.hosted_competitions["digits"].hidden()
    shown_ids = [line.partition(",")[0] for line in (shown / "sample_submission.csv").read_text().splitlines()[1:]]
    hidden_ids = [line.partition(",")[0] for line in (hidden / "sample_submission.csv").read_text().splitlines()[1:]]

    assert (len(shown_ids), len(hidden_ids)) == (50, 540)
    assert shown_ids == hidden_ids[:50]
    assert sorted(path.stem for path in (shown / "test").iterdir()) == sorted(shown_ids)
    assert sorted(path.stem for path in (hidden / "test").iterdir()) == sorted(hidden_ids)
    assert (shown / "train.csv").read_bytes() == (hidden / "train.csv").read_bytes()
    assert not list((tmp_path / "kaggle").rglob("*answers*"))


def test_where_files_can_be_submitted_everybody_sees_the_whole_test(desk: Desk) -> None:
    shown = desk.kaggle.hosted_competitions["tumours"].data()

    assert shown == desk.kaggle.hosted_competitions["tumours"].hidden()
    assert len((shown / "test.csv").read_text().splitlines()) == 1 + 171


@pytest.mark.slow
@pytest.mark.parametrize("slug", competition_slugs())
def test_the_right_answers_are_a_perfect_submission_to_a_built_in_competition(slug: str, tmp_path: Path) -> None:
    built_in = require(slug)
    hosted = host(tmp_path / "kaggle")[slug]
    question = hosted.facts.question
    rows = "".join(f"{key},{answer}\n" for key, answer in built_in.answers().items())
    (tmp_path / "submission.csv").write_text(f"{','.join(question.columns)}\n{rows}")
    scores = hosted.score(tmp_path / "submission.csv")

    assert scores.public == scores.private == built_in.score(tmp_path / "submission.csv")
    assert scores.public == (0.0 if question.metric == "rmse" else 1.0)
