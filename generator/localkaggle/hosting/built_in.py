"""A built-in competition, hosted: its data are written on first use, and its answers never."""

import csv
import threading
from functools import cached_property
from itertools import islice
from pathlib import Path

from generator.competition.builtin import BuiltIn
from generator.localkaggle.hosting.answers import Answers
from generator.localkaggle.hosting.copies import copy
from generator.localkaggle.hosting.hosted import HostedFacts, Question, Scores
from generator.localkaggle.hosting.pages import built_in_pages
from generator.localkaggle.hosting.scoring import Scorer
from generator.workspace_files import WorkspaceFiles

_SHOWN_TEST_ROWS = 50


class HostedBuiltIn:
    """A competition that the kit has itself.

    Where it is a code competition, only the first test rows are shown, and a rerun sees all of them, as on Kaggle;
    where files can be submitted, everybody sees the whole test.
    """

    def __init__(self, folder: Path, built_in: BuiltIn) -> None:
        self._folder = folder
        self._built_in = built_in
        self._lock = threading.RLock()

    @cached_property
    def facts(self) -> HostedFacts:
        """The facts of it, without having to write anything."""
        competition, task = self._built_in.competition, self._built_in.task
        question = Question(task.metric, task.submission, columns=(task.id_column, *task.targets))
        return HostedFacts(
            slug=competition.slug,
            title=competition.title,
            description=self._built_in.description,
            is_code_competition=competition.is_code_competition,
            question=question,
            pages=built_in_pages(competition, task, question),
            submission_file=task.submission_file,
        )

    def data(self) -> Path:
        """The folder of the files that everybody sees."""
        shown = self._folder / "data"
        if not self.facts.is_code_competition:
            return self.hidden()
        with self._lock:
            if not shown.is_dir():
                whole = self.hidden()
                with WorkspaceFiles(self._folder).filled(shown) as folder:
                    self._show_part(whole, folder)
        return shown

    def hidden(self) -> Path:
        """The folder with the whole test."""
        whole = self._folder / ("hidden" if self.facts.is_code_competition else "data")
        with self._lock:
            if not whole.is_dir():
                with WorkspaceFiles(self._folder).filled(whole) as folder:
                    self._built_in.write(folder)
        return whole

    def score(self, submission: Path) -> Scores:
        """Scores a submission for the whole test."""
        with self._lock:
            scorer = self._scorer
        return scorer.score(submission)

    @cached_property
    def _scorer(self) -> Scorer:
        question = self.facts.question
        rows = {key: (answer,) for key, answer in self._built_in.answers().items()}
        return Scorer(question, Answers(columns=question.columns, rows=rows), seed=self.facts.slug)

    def _show_part(self, whole: Path, folder: Path) -> None:
        """Copies the data with only the first rows of the test, and of its files only theirs."""
        task = self._built_in.task
        test_folder = str(task.details.get("test_folder") or "")
        suffix = str(task.details.get("image_suffix") or "")
        for entry in whole.iterdir():
            if entry.name in (task.sample_submission, task.test_table):
                _copy_rows(entry, folder / entry.name, _SHOWN_TEST_ROWS)
            elif entry.name == test_folder:
                (folder / entry.name).mkdir()
                for key in _first_ids(whole / task.sample_submission, _SHOWN_TEST_ROWS):
                    copy(entry / f"{key}{suffix}", folder / entry.name / f"{key}{suffix}")
            else:
                copy(entry, folder / entry.name)


def _copy_rows(source: Path, destination: Path, count: int) -> None:
    with source.open(encoding="utf-8", newline="") as read, destination.open("w", encoding="utf-8", newline="") as made:
        csv.writer(made, lineterminator="\n").writerows(islice(csv.reader(read), 1 + count))


def _first_ids(table: Path, count: int) -> list[str]:
    with table.open(encoding="utf-8", newline="") as file:
        return [row[0] for row in islice(csv.reader(file), 1, 1 + count)]
