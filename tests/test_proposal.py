"""The proposal for a competition that somebody else describes, and for one whose files are here as well."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from layouts import LAYOUTS
from miniature import write_tree

from generator.competition.facts import CannotAskError, Competition, CompetitionDescription
from generator.competition.survey import Survey, survey_folder
from generator.errors import CompetitionError
from generator.pair.folder import keep_description, kept_description
from generator.pair.proposal import gather_facts, infer_task
from generator.pair.workspace import PairFolder

FILES = {
    "train.csv": "id,amount,height\n" + "".join(f"{row},{row % 7},{row / 3:.2f}\n" for row in range(60)),
    "test.csv": "id,amount\n" + "".join(f"{row},{row % 5}\n" for row in range(60, 90)),
    "sample_submission.csv": "id,height\n" + "".join(f"{row},0.5\n" for row in range(60, 90)),
}
REQUIREMENTS = "CPU Notebook <= 9 hours run-time\nInternet access is allowed\nSubmission file must be named answer.csv"


@dataclass
class Teller:
    """Knows one competition by heart, and remembers what it was asked."""

    folder: Path
    metric: str = "Root Mean Squared Error"
    pages: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def describe(self, slug: str) -> CompetitionDescription:
        self.asked.append("describe")
        competition = Competition(slug, "Heights", is_code_competition=True)
        return CompetitionDescription(competition, metric_text=self.metric, pages=self.pages, source="a friend")

    def survey(self, slug: str) -> Survey:
        self.asked.append("survey")
        return survey_folder(self.folder)


@pytest.fixture
def teller(tmp_path: Path) -> Teller:
    return Teller(write_tree(tmp_path / "elsewhere", FILES), pages={"code-requirements": REQUIREMENTS})


def test_without_files_somebody_is_asked(teller: Teller, tmp_path: Path) -> None:
    made = infer_task(gather_facts("heights", mount_path=tmp_path / "nothing", ask=teller), decisions={})

    assert (made.competition.title, made.competition.is_code_competition) == ("Heights", True)
    assert (made.task.metric, made.task.submission_file) == ("rmse", "answer.csv")
    assert (made.source, made.facts.folder, made.has_data) == ("a friend", None, False)
    assert teller.asked == ["describe", "survey"]


def test_what_the_cpu_may_take_counts_where_nothing_is_said_of_the_gpu(teller: Teller, tmp_path: Path) -> None:
    made = infer_task(gather_facts("heights", mount_path=tmp_path / "nothing", ask=teller), decisions={})

    assert made.competition.inference_hours == 9
    assert "CPU Notebook <= 9 hours" in made.competition.evidence["inference_hours"]


def test_that_the_internet_is_allowed_does_not_switch_it_on(teller: Teller, tmp_path: Path) -> None:
    made = infer_task(gather_facts("heights", mount_path=tmp_path / "nothing", ask=teller), decisions={})

    assert made.competition.internet is None


def test_with_files_nobody_is_asked(teller: Teller) -> None:
    made = infer_task(gather_facts("heights", mount_path=teller.folder, ask=teller), decisions={})

    assert teller.asked == []
    assert (made.competition.title, made.has_data) == ("Heights", True)
    assert made.competition.is_code_competition is False


def test_with_files_what_was_said_before_still_counts(teller: Teller) -> None:
    known = teller.describe("heights")
    made = infer_task(gather_facts("heights", mount_path=teller.folder, old_description=known), decisions={})

    assert made.competition.is_code_competition is True
    assert made.task.evidence["metric"].startswith("Kaggle calls it")


def test_the_users_decision_is_stronger_than_any_page(teller: Teller, tmp_path: Path) -> None:
    decisions = {"submission_file": "mine.csv", "metric": "mae"}
    made = infer_task(gather_facts("heights", mount_path=tmp_path / "nothing", ask=teller), decisions=decisions)

    assert (made.task.submission_file, made.task.metric) == ("mine.csv", "mae")


def test_who_cannot_be_asked_is_named_in_the_one_sentence(tmp_path: Path) -> None:
    class Nobody(Teller):
        def describe(self, slug: str) -> CompetitionDescription:
            raise CannotAskError(reason="There is no token here.")

    with pytest.raises(CompetitionError, match=r'"heigths".* Kaggle was not asked\. There is no token here\.$'):
        infer_task(gather_facts("heigths", mount_path=tmp_path / "nothing", ask=Nobody(tmp_path)), decisions={})


def test_a_format_that_the_notebooks_do_not_write_is_said(teller: Teller, tmp_path: Path) -> None:
    teller.pages = {"evaluation": "The file must be named submission.npz"}

    made = infer_task(gather_facts("heights", mount_path=tmp_path / "nothing", ask=teller), decisions={})

    assert ["JSON and Parquet" in warning for warning in made.warnings] == [True]


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"kaggle_evaluation/some_inference_server.py": ""})
    next(layout for layout in LAYOUTS if layout.name == "facial_keypoints").write(folder)

    made = infer_task(gather_facts("some-thing", mount_path=folder), decisions={})

    assert "inference_server" not in made.task.details
    assert sum("write the server's predict() by hand" in warning for warning in made.warnings) == 1


def test_a_description_comes_back_as_it_was_kept(teller: Teller, tmp_path: Path) -> None:
    folder, said = PairFolder(tmp_path / "pair"), teller.describe("heights")
    keep_description(folder, said)

    assert kept_description(folder, "heights") == said
    assert kept_description(folder, "widths") is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"slug": "heights"}', '{"slug": "heights", "title": 1, "pages": 3}']
)
def test_a_damaged_description_is_as_good_as_none(content: str, tmp_path: Path) -> None:
    folder = PairFolder(tmp_path / "pair")
    write_tree(folder.state, {"competition.json": content})

    assert kept_description(folder, "heights") is None
