"""The competitions that a local Kaggle hosts: the built-in ones, and folders with hidden answers."""

import csv
import hashlib
import os
import re
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.builtin import BuiltIn, competition_slugs, require
from generator.competition.facts import Competition, SubmissionKind, Task
from generator.competition.metrics import parse_metric
from generator.competition.scoring import (
    PUBLIC_SHARE,
    Question,
    Scorer,
    Scores,
    inferred_submission,
    read_solution,
    sample_columns,
)
from generator.competition.submission import read_shape
from generator.errors import LocalKaggleError, did_you_mean
from generator.files import WorkspaceFiles, read_text
from generator.localkaggle.rpc import file_moment
from generator.localkaggle.storage import ListedFile
from generator.text import is_slug, markdown, markdown_code, printable

# The facts of a hosted competition.


_DAILY_LIMIT = 5


@dataclass(frozen=True)
class HostedPage:
    """A page that people read, such as `evaluation`; `content` is Markdown."""

    name: str
    title: str
    content: str


@dataclass(frozen=True)
class HostedFacts:
    """A competition as its host describes it; every text is untrusted.

    Attributes:
        slug: Its name in addresses.
        title: Its name for people.
        description: One sentence on it.
        is_code_competition: Whether only notebooks can be submitted, which then run again on the hidden test.
        question: What is asked, and how answers are scored.
        pages: The pages for people.
        allows_internet: Whether a submitted notebook may have had the internet.
        daily_limit: How many submissions an account has for a UTC day.
        deadline: When it ends; None if it never does.
        submission_file: What the submission of a notebook is called.
    """

    slug: str
    title: str
    description: str
    is_code_competition: bool
    question: Question
    pages: tuple[HostedPage, ...]
    allows_internet: bool = False
    daily_limit: int = _DAILY_LIMIT
    deadline: datetime | None = None
    submission_file: str = "submission.csv"

    @property
    def is_higher_better(self) -> bool:
        """Whether a larger score is the better one."""
        return parse_metric(self.question.metric)[0].higher_is_better


# The files of a competition.


def files_below(folder: Path) -> list[ListedFile]:
    """Every file below a folder by name; hidden ones, and links that lead out of it, are left out."""
    root = folder.resolve()
    files: list[ListedFile] = []
    for directory, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(directory, name)
            if name.startswith(".") or (path.is_symlink() and not path.resolve().is_relative_to(root)):
                continue
            try:
                facts = path.stat()
            except OSError:
                continue  # a link to nothing
            place = path.relative_to(root).as_posix()
            files.append(ListedFile(place, path, facts.st_size, file_moment(facts.st_mtime)))
    return sorted(files, key=lambda file: file.name)


def files_fingerprint(files: Iterable[ListedFile]) -> str:
    """Letters that change when a file is added, removed or written to."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0{file.size}\0{file.write_time.timestamp()}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


# Copies of files that nobody changes, which take no room where that can be.


def link_or_copy(source: Path, destination: Path) -> None:
    """Copies a file or folder that nobody changes: by a second name, which takes no room, where that can be."""
    if source.is_dir():
        shutil.copytree(source, destination, copy_function=_link)
    else:
        _link(str(source), str(destination))


def _link(source: str, destination: str) -> str:
    try:
        os.link(source, destination, follow_symlinks=True)
    except OSError:
        shutil.copy2(source, destination)
    return destination


# The `competition.toml` of a hosted folder: what its host says of it.


_NAME = "competition.toml"


class HostedFolderError(LocalKaggleError):
    """A folder cannot be hosted as a competition."""

    def __init__(self, *, path: Path, problem: str) -> None:
        end = "" if problem.endswith((".", "?")) else "."
        super().__init__(f"{printable(str(path))} cannot be hosted: {problem}{end}")


@dataclass(frozen=True)
class HostDescription:
    """The content of a `competition.toml`.

    Attributes:
        facts: What is known of the competition; its question has no columns yet.
        sample_submission: The name of the sample in `hidden/` or `data/`.
        id_column: The column of the answers and of submissions with the ids; "" where the host does not say it.
        says_submission: Whether it says what a row of a submission says; else that follows from the columns.
    """

    facts: HostedFacts
    sample_submission: str
    id_column: str
    says_submission: bool


@dataclass(frozen=True)
class _Key:
    """One key: its type, its default or None where it has to be said, and what its value has to be beside."""

    type: type | tuple[type, ...]
    default: Any = None
    fits: Callable[[Any], bool] = lambda _: True
    requirement: str = ""
    optional: bool = False


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and bool(path.name) and name.isprintable()


def _is_size(size: list[Any]) -> bool:
    return len(size) == 2 and all(type(side) is int and side > 0 for side in size)  # noqa: PLR2004 - two sides


_SUBMISSIONS = [kind.value for kind in SubmissionKind]
_KEYS = {
    "slug": _Key(str, "", is_slug, "made of lower-case letters, digits and hyphens; set it, or rename the folder"),
    "title": _Key(str, ""),
    "description": _Key(str, ""),
    "metric": _Key(str),
    "submission": _Key(str, "", lambda value: value in ("", *_SUBMISSIONS), f"one of {', '.join(_SUBMISSIONS)}"),
    "code_competition": _Key(bool, default=False),
    "internet": _Key(bool, default=False),
    "daily_limit": _Key(int, _DAILY_LIMIT, lambda limit: limit >= 1, "1 or more"),
    "public_share": _Key((int, float), PUBLIC_SHARE, lambda share: 0 < share <= 1, "above 0 and at most 1"),
    "deadline": _Key(datetime, optional=True),
    "submission_file": _Key(str, "submission.csv", _is_inside, "a relative path"),
    "sample_submission": _Key(str, "sample_submission.csv", _is_inside, "a relative path"),
    "id_column": _Key(str, ""),
    "mask_size": _Key(list, fits=_is_size, requirement="two whole numbers, the height and the width", optional=True),
    "pages": _Key(dict, {}),
}


def read_description(folder: Path) -> HostDescription:
    """Reads the description of the competition in a folder.

    Raises:
        FileReadError: There is none.
        HostedFolderError: It is no TOML, or says something that cannot be.
        CompetitionError: The metric is not known.
    """
    path = folder / _NAME
    try:
        entries = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError of Python's
        raise HostedFolderError(path=path, problem=f"it is not TOML ({printable(str(error))})") from error
    for key in entries:
        if key not in _KEYS:
            keys = f"has the keys {', '.join(_KEYS)}.{did_you_mean(key, _KEYS)}"
            raise HostedFolderError(path=path, problem=f'"{printable(key)}" is not a valid key; it {keys}')
    name = folder.resolve().name
    title = entries.get("title", name)
    usual = {"slug": name, "title": name, "description": f"{title}."}
    values = {key: _value(path, key, {**usual, **entries}) for key in _KEYS}
    parse_metric(values["metric"])
    deadline, size = values["deadline"], values["mask_size"]
    question = Question(
        metric=values["metric"],
        submission=SubmissionKind(values["submission"] or SubmissionKind.NUMBERS),
        mask_size=None if size is None else (size[0], size[1]),
        public_share=float(values["public_share"]),
    )
    facts = HostedFacts(
        slug=values["slug"],
        title=values["title"],
        description=values["description"],
        is_code_competition=values["code_competition"],
        question=question,
        pages=_pages(path, values["pages"]),
        allows_internet=values["internet"],
        daily_limit=values["daily_limit"],
        deadline=deadline.replace(tzinfo=UTC) if deadline is not None and deadline.tzinfo is None else deadline,
        submission_file=values["submission_file"],
    )
    sample, id_column = values["sample_submission"], values["id_column"]
    return HostDescription(facts, sample, id_column, says_submission=bool(values["submission"]))


def _value(path: Path, key: str, entries: Mapping[str, Any]) -> Any:
    rule = _KEYS[key]
    if rule.optional and key not in entries:
        return None
    value = entries.get(key, rule.default)
    kinds = rule.type if isinstance(rule.type, tuple) else (rule.type,)
    # A boolean is a whole number to Python, and none to the person who wrote it.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise HostedFolderError(path=path, problem=f"{key} is required, with the type {names}")
    if not rule.fits(value):
        raise HostedFolderError(path=path, problem=f"{key} must be {rule.requirement}")
    return value


def _pages(path: Path, pages: Mapping[str, Any]) -> tuple[HostedPage, ...]:
    for name, content in pages.items():
        if not isinstance(content, str):
            raise HostedFolderError(path=path, problem=f'all values in pages must be texts; "{printable(name)}" is not')
    return tuple(HostedPage(name, name.replace("-", " ").capitalize(), content) for name, content in pages.items())


# The pages of a competition that the kit itself hosts, as Kaggle's pages word such things.


_PLACEHOLDER = re.compile(r"\{(?:K|Beta)\}")
_ROWS = {
    SubmissionKind.NUMBERS: "a number",
    SubmissionKind.PROBABILITY: "the probability of the class 1",
    SubmissionKind.CLASS_COLUMNS: "a probability for each class",
    SubmissionKind.LABEL: "the label",
    SubmissionKind.TOP_K: "the likeliest labels, separated by spaces",
    SubmissionKind.LABEL_SET: "all labels that apply, separated by spaces",
    SubmissionKind.RUN_LENGTH: "the mask as a run-length code",
    SubmissionKind.KEYED_ROWS: "a number",
}


def metric_wording(metric: str) -> str:
    """Kaggle's name of a metric: "Categorization Accuracy", "MAP@5"."""
    facts, parameter = parse_metric(metric)
    return _PLACEHOLDER.sub(f"{parameter:g}" if parameter is not None else "", facts.names[0])


def built_in_pages(competition: Competition, task: Task, question: Question) -> tuple[HostedPage, ...]:
    """The pages of a built-in competition."""
    about = f"{markdown(competition.title)}: real data that need no account, and answers that stay hidden.\n"
    pages = [
        HostedPage("description", "Description", about),
        evaluation_page(question),
        HostedPage("data-description", "Dataset Description", _data(task, is_code=competition.is_code_competition)),
        HostedPage(
            "rules", "Rules", "This competition is hosted on your own machine, for practice. There are no prizes.\n"
        ),
    ]
    if competition.is_code_competition:
        pages.append(code_requirements_page(task.submission_file, allows_internet=False))
    return tuple(pages)


def evaluation_page(question: Question) -> HostedPage:
    """The page on the scoring of submissions and on their form."""
    facts, _ = parse_metric(question.metric)
    better = "Higher is better." if facts.higher_is_better else "Lower is better."
    name = metric_wording(question.metric)
    metric_title = (
        f"**{facts.title}**" if name.lower() == facts.title.lower() else f"**{facts.title}** ({markdown(name)})"
    )
    # Indented, not fenced: column names are a host's, and may have what ends a fence.
    content = (
        f"Submissions are evaluated on the {metric_title} between what you predict and what is true. {better}\n\n"
        f"## Submission File\n\nFor each {markdown_code(question.columns[0])} in the test set, you must predict "
        f"{_ROWS[question.submission]}. The file should contain a header and have the following format:\n\n"
        f"    {' '.join(','.join(question.header or question.columns).split())}\n"
    )
    return HostedPage("evaluation", "Evaluation", content)


def code_requirements_page(submission_file: str, *, allows_internet: bool) -> HostedPage:
    """The page on the demands of a code competition, in Kaggle's usual words."""
    content = (
        "## This is a Code Competition\n\n"
        'Submissions to this competition must be made through Notebooks. In order for the "Submit" button to be '
        "active after a commit, the following conditions must be met:\n\n"
        "* CPU Notebook <= 9 hours run-time\n"
        "* GPU Notebook <= 9 hours run-time\n"
        f"* Internet access {'enabled' if allows_internet else 'disabled'}\n"
        "* Freely & publicly available external data is allowed, including pre-trained models\n"
        f"* Submission file must be named {markdown_code(submission_file)}\n\n"
        "TPUs will not be available for making submissions. You are still welcome to use them for training: train on "
        "TPUs and run inference and submit on GPUs.\n"
    )
    return HostedPage("code-requirements", "Code Requirements", content)


def _data(task: Task, *, is_code: bool) -> str:
    files = [
        (task.train_table, "the training set, with the answers"),
        (task.labels_table, "the answers of the training set"),
        (task.test_table, "the test set"),
        (str(task.details.get("train_folder") or ""), "the files of the training set"),
        (str(task.details.get("test_folder") or ""), "the files of the test set"),
        (task.sample_submission, "a sample submission in the correct format"),
    ]
    lines = [f"* {markdown_code(name)}: {description}" for name, description in files if name]
    if is_code:
        lines.append("\nOnly the first examples of the test set are here. When your notebook is scored, all are.")
    return "\n".join(("## Files", "", *lines, ""))


# A built-in competition, hosted: its data are written on first use, and its answers never.


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
        question = self._built_in.question(public_share=PUBLIC_SHARE)
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
        public_folder = self._folder / "data"
        if not self.facts.is_code_competition:
            return self.hidden()
        with self._lock:
            if not public_folder.is_dir():
                whole = self.hidden()
                with WorkspaceFiles(self._folder).fill_folder(public_folder) as folder:
                    self._show_part(whole, folder)
        return public_folder

    def hidden(self) -> Path:
        """The folder with the whole test."""
        whole = self._folder / ("hidden" if self.facts.is_code_competition else "data")
        with self._lock:
            if not whole.is_dir():
                with WorkspaceFiles(self._folder).fill_folder(whole) as folder:
                    self._built_in.write(folder)
        return whole

    def score(self, submission: Path) -> Scores:
        """Scores a submission for the whole test."""
        with self._lock:
            scorer = self._scorer
        return scorer.score(submission)

    @cached_property
    def _scorer(self) -> Scorer:
        return self._built_in.scorer(self.facts.question)

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
                    link_or_copy(entry / f"{key}{suffix}", folder / entry.name / f"{key}{suffix}")
            else:
                link_or_copy(entry, folder / entry.name)


def _copy_rows(source: Path, destination: Path, count: int) -> None:
    with (
        source.open(encoding="utf-8", newline="") as source_file,
        destination.open("w", encoding="utf-8", newline="") as target,
    ):
        csv.writer(target, lineterminator="\n").writerows(islice(csv.reader(source_file), 1 + count))


def _first_ids(table: Path, count: int) -> list[str]:
    with table.open(encoding="utf-8", newline="") as file:
        return [row[0] for row in islice(csv.reader(file), 1, 1 + count)]


# A folder with a `competition.toml`, hosted: its data, its hidden test and its hidden answers.


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
        CompetitionError: The answers cannot be read, or the metric is not known.
    """

    def __init__(self, folder: Path, *, store: Path) -> None:
        if not (folder / _DATA).is_dir():
            raise HostedFolderError(path=folder / _DATA, problem="it is missing; put the competition's files there")
        description = read_description(folder)
        self._folder = folder.resolve()
        self._store = store / description.facts.slug
        self._lock = threading.RLock()
        sample = self._sample(description.sample_submission)
        answers = read_solution(_answers_file(self._folder), sample=sample, id_column=description.id_column)
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
        hidden_folder = self._folder / _HIDDEN
        if not hidden_folder.is_dir():
            return self.data()
        with self._lock:
            digest = files_fingerprint((*files_below(self.data()), *files_below(hidden_folder)))
            merged_folder = self._store / f"hidden-{digest}"
            if not merged_folder.is_dir():
                with WorkspaceFiles(self._store).fill_folder(merged_folder) as folder:
                    for name in sorted({entry.name for entry in (*self.data().iterdir(), *hidden_folder.iterdir())}):
                        link_or_copy(
                            hidden_folder / name if (hidden_folder / name).exists() else self.data() / name,
                            folder / name,
                        )
        return merged_folder

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
    page_names = {page.name for page in facts.pages}
    return replace(facts, pages=(*facts.pages, *(page for page in usual if page.name not in page_names)))


HostedCompetition = HostedBuiltIn | HostedFolder
"""A competition and its secret. Every method may be called from any thread, and writes on first use only."""

__all__ = ["HostedCompetition", "HostedFacts", "host"]


def host(root: Path, folders: Iterable[Path] = ()) -> Mapping[str, HostedCompetition]:
    """Every competition of a local Kaggle by its slug: the given folders, and the built-in ones that they leave free.

    Args:
        root: The server's folder; what the competitions need beside their own files is written below it, on first use.
        folders: Folders with a `competition.toml`.

    Raises:
        HostedFolderError: A folder is none that can be hosted.
    """
    competitions: dict[str, HostedCompetition] = {
        slug: HostedBuiltIn(root / "competitions" / slug, require(slug)) for slug in competition_slugs()
    }
    for folder in folders:
        competition = HostedFolder(folder, store=root / "competitions")
        competitions[competition.facts.slug] = competition
    return competitions
