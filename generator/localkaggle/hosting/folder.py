"""A folder with a `competition.toml`, hosted: its data, its hidden test and its hidden answers.

LocalKaggleError
└── HostedFolderError    a folder that cannot be hosted
"""

import threading
from dataclasses import replace
from pathlib import Path

from generator.competition.submission import read_shape
from generator.localkaggle.hosting.answers import read_answers, sample_columns
from generator.localkaggle.hosting.copies import copy
from generator.localkaggle.hosting.description import HostedFolderError, read_description
from generator.localkaggle.hosting.hosted import HostedFacts, Scores
from generator.localkaggle.hosting.listing import files_below, fingerprint
from generator.localkaggle.hosting.metric_inputs import inferred_submission
from generator.localkaggle.hosting.pages import code_requirements_page, evaluation_page
from generator.localkaggle.hosting.scoring import Scorer
from generator.workspace_files import WorkspaceFiles

_DATA, _HIDDEN = "data", "hidden"
_ANSWERS = tuple(f"answers.{suffix}" for suffix in ("csv", "csv.gz", "tsv", "parquet", "json", "jsonl"))


class HostedFolder:
    """A competition of whoever runs the server, after a look at what it says of itself, at its data and its answers.

    Args:
        folder: It has `competition.toml`, `data/`, `answers.csv` (or `.parquet`, `.json` and so on) and, where the
            hidden test differs, `hidden/`.
        store: Where a folder for what is made of it may be written.

    Raises:
        HostedFolderError: The description is wrong, or something is missing.
        AnswersError: The answers cannot be read.
        CompetitionError: The metric is not known.
    """

    def __init__(self, folder: Path, *, store: Path) -> None:
        if not (folder / _DATA).is_dir():
            raise HostedFolderError(path=folder / _DATA, problem="it is missing; put the competition's files there")
        description = read_description(folder)
        self._folder = folder.resolve()
        self._store = store / description.facts.slug
        self._lock = threading.RLock()
        sample = self._sample(description.sample_submission)
        answers = read_answers(_answers_file(self._folder), sample=sample, id_column=description.id_column)
        columns, header = answers.columns, answers.columns
        if sample is not None:
            shape = read_shape(sample, columns=sample_columns(answers, sample))
            columns, header = (answers.columns[0], *shape.answer_columns), shape.columns
        question = replace(description.facts.question, columns=columns, header=header)
        if not description.says_submission:
            kind = inferred_submission(question.metric, columns, answers.columns)
            question = replace(question, submission=kind)
        self.facts = _with_pages(replace(description.facts, question=question))
        """The facts that its `competition.toml` and its files say."""
        self._scorer = Scorer(question, answers, sample=sample, seed=self.facts.slug)

    def data(self) -> Path:
        """The folder of the files that everybody sees."""
        return self._folder / _DATA

    def hidden(self) -> Path:
        """The data, where each entry of `hidden/` stands in for that of its name; `data` where there is none."""
        own = self._folder / _HIDDEN
        if not own.is_dir():
            return self.data()
        with self._lock:
            told = fingerprint((*files_below(self.data()), *files_below(own)))
            merged = self._store / f"hidden-{told}"
            if not merged.is_dir():
                with WorkspaceFiles(self._store).filled(merged) as folder:
                    for name in sorted({entry.name for entry in (*self.data().iterdir(), *own.iterdir())}):
                        copy(own / name if (own / name).exists() else self.data() / name, folder / name)
        return merged

    def score(self, submission: Path) -> Scores:
        """Scores a submission for the hidden test."""
        return self._scorer.score(submission)

    def _sample(self, name: str) -> Path | None:
        for folder in (_HIDDEN, _DATA):
            path = self._folder / folder / name
            if path.is_file():
                return path
        return None


def _answers_file(folder: Path) -> Path:
    """The answers in whatever format they are in; `answers.csv` where there are none."""
    return next((folder / name for name in _ANSWERS if (folder / name).exists()), folder / _ANSWERS[0])


def _with_pages(facts: HostedFacts) -> HostedFacts:
    """The facts with the pages that the host did not write but everybody looks for."""
    usual = [evaluation_page(facts.question)]
    if facts.is_code_competition:
        usual.append(code_requirements_page(facts.submission_file, allows_internet=facts.allows_internet))
    written = {page.name for page in facts.pages}
    return replace(facts, pages=(*facts.pages, *(page for page in usual if page.name not in written)))
