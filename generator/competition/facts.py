"""The facts of a competition, their sources, what its pages demand, and the task that the kit makes of them."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from generator.errors import CompetitionError
from generator.text import Value, printable

if TYPE_CHECKING:
    from generator.competition.survey import Survey


_RGB = 3
_SMALLEST_PHOTOGRAPH, _LARGE_PHOTOGRAPH = 96, 384  # pixels


@dataclass(frozen=True)
class Competition:
    """A competition as Kaggle knows it.

    `title` and everything else that a host typed is untrusted text.

    Attributes:
        slug: Its name in URLs.
        title: What it is called.
        is_code_competition: Whether notebooks are submitted, not files.
        inference_hours: How long a submitted notebook may run, where its pages say so.
        internet: Whether a submitted notebook may use the internet, where its pages say so.
        evidence: What each value rests on, by the key of `pair.toml`.
    """

    slug: str
    title: str
    is_code_competition: bool
    inference_hours: float | None = None
    internet: bool | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its page on Kaggle."""
        return f"https://www.kaggle.com/competitions/{self.slug}"


class Medium(StrEnum):
    """The kinds of examples."""

    IMAGE = "image"
    AUDIO = "audio"
    ROW = "row"  # of a table: numbers, categories, dates
    TEXT = "text"  # columns of a table that are read
    SEQUENCE = "sequence"  # rows of a table in an order

    @property
    def is_files(self) -> bool:
        """True if an example is a file, or as many pixels as one, and not a row of a table."""
        return self in (Medium.IMAGE, Medium.AUDIO)


class TargetKind(StrEnum):
    """The kinds of predictions for one example."""

    CLASS = "class"  # one of several classes; two are a binary problem
    LABELS = "labels"  # any number of labels at once
    NUMBER = "number"  # one number, or several
    MASK = "mask"  # a class for each pixel
    IMAGE = "image"


class SubmissionKind(StrEnum):
    """The kinds of rows of a submission."""

    NUMBERS = "numbers"  # a number in each target column: regression, or the probability of each of several labels
    PROBABILITY = "probability"  # one column, the probability of the positive class
    CLASS_COLUMNS = "class_columns"  # a probability in one column for each class
    LABEL = "label"  # the class itself, or a rounded number
    TOP_K = "top_k"  # the k best classes, separated by spaces
    LABEL_SET = "label_set"  # all labels that apply, separated by spaces
    RUN_LENGTH = "run_length"  # the run-length code of a mask; empty for none
    KEYED_ROWS = "keyed_rows"  # a row for each part of an example, the id being `<example>_<part>`


class Wants(StrEnum):
    """The things that metrics compare with the truth."""

    PROBABILITIES = "probabilities"
    LABELS = "labels"  # the class, the labels that apply, or a number that is one of a few
    NUMBERS = "numbers"
    RANKED = "ranked"  # the k best classes or labels, in their order
    MASKS = "masks"


class ServedAnswer(StrEnum):
    """The kinds of answers that an inference server returns for a batch of test rows."""

    TABLE = "table"  # ids and answers
    TARGETS = "targets"  # answers alone
    VALUE = "value"  # the only answer, as a plain value


def are_large_photographs(image_size: object) -> bool:
    """Tells if photographs are as large as those that EfficientNetV2-S was made for, or larger."""
    return isinstance(image_size, int) and image_size >= _LARGE_PHOTOGRAPH


def are_photographs(channels: object, image_size: object, kind: TargetKind) -> bool:
    """Tells if images are such as a backbone of ImageNet learned from: in colour, large enough, and not repainted."""
    is_large = isinstance(image_size, int) and image_size >= _SMALLEST_PHOTOGRAPH
    return is_large and channels == _RGB and kind not in (TargetKind.MASK, TargetKind.IMAGE)


@dataclass(frozen=True)
class Task:
    """The task that the kit makes of a competition.

    Paths are relative to the competition's mount; an empty one says that there is no such file.

    Attributes:
        family: The kind of task, which has its own templates.
        metric: A name of `generator.competition.metrics`, such as "accuracy" or, with its parameter, "map@5".
        target_kind: What is predicted for one example.
        submission: What a row of the submission says.
        id_column: The column with the ids, as in the sample submission.
        targets: The columns with the training labels; for classes that are folders, the sample's column.
        train_table: The table with a row for each training example.
        labels_table: The table with the labels, where it is another one.
        test_table: The table with a row for each test example.
        sample_submission: The sample; where there is none, a submission is built from the test ids.
        submission_file: The name that the submission has to have.
        details: What the family needs beyond that, by the keys of its `family.toml`.
        evidence: What each value rests on, by its key.
    """

    family: str
    metric: str
    target_kind: TargetKind
    submission: SubmissionKind
    id_column: str
    targets: tuple[str, ...]
    train_table: str
    labels_table: str
    test_table: str
    sample_submission: str
    submission_file: str = "submission.csv"
    details: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, str] = field(default_factory=dict)


# The facts of a competition beside its files, and the sources that can be asked for them.


class CannotAskError(CompetitionError):
    """Kaggle cannot be asked from this machine.

    Args:
        reason: Why, and what to do, as sentences.
    """

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"Kaggle was not asked. {reason}")


@dataclass(frozen=True)
class CompetitionDescription:
    """A competition as its hosts describe it; every text is untrusted.

    Attributes:
        competition: Its name, its title, and whether notebooks are submitted.
        metric_text: What its metric is called there, or "".
        pages: The content of its pages, Markdown or HTML, by their names.
        source: Who says so, such as "Kaggle's API".
        warnings: Sentences for the user.
    """

    competition: Competition
    metric_text: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    warnings: tuple[str, ...] = ()


class FactSource(Protocol):
    """Somebody who knows competitions, such as Kaggle's API.

    Whatever cannot be answered is a `TandemError`; `CannotAskError` where it is for want of credentials.
    """

    def describe(self, slug: str) -> CompetitionDescription:
        """Asks for what the hosts say of a competition; costs a request or two."""

    def survey(self, slug: str) -> "Survey":
        """A look at its files without downloading them: their names and sizes, and pieces of some."""


# The demands of a competition's pages on its notebooks: run time, internet, the name of the file.
#
# Hosts write these pages by hand, in Markdown or HTML, from a few templates of Kaggle's. Nothing here is certain,
# so that every rule carries the words that it was read from.


_LONGEST_PAGE = 200_000
_QUOTE_LENGTH = 100
# From one mark to the other, which may overlap as in `<!-->`; what is never ended, to the end.
_HTML_BLOCKS = [
    re.compile(rf"(?={begin}).*?(?={end}|\Z)", re.IGNORECASE | re.DOTALL)
    for begin, end in (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))
]
_LINE_ENDING_TAG = re.compile(r"<\s{0,3}(?:br|/?(?:p|li|ul|ol|div|tr|h[1-6]|table))\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINK = re.compile(r"!?\[([^\]]{0,300})\]\([^)\s]{0,500}\)")
_EMPHASIS = re.compile(r"\\([\\`*_{}\[\]()#+.!<>=-])|[*`#]+|^\s*>+|(?<!\w)_+|_+(?!\w)")

_CLAUSE_END = re.compile(r"[\n;]|(?<=[\w)])\.(?=\s)")
_DURATION = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,2})?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
    r"[\s-]*(?P<unit>hours?|hrs?|h|minutes?|mins?)\b",
    re.IGNORECASE,
)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_NUMBERS = dict(zip(_WORDS, (*range(1, 11), 12), strict=True))
_DEVICE = re.compile(r"\b(cpu|gpu|tpu)s?\b", re.IGNORECASE)
_RUNS = re.compile(
    r"\b(?:run[\s-]?times?|run|runs|running|execut\w+|complete|finish|takes?)\b|\b[ct]pu|\bgpu", re.IGNORECASE
)
_LIMITS = re.compile(
    r"<|\u2264|=|:|\bless than|\bat most|\bmore than|\bwithin|\bunder|\bup to|\blimit|\bmax|\bexceed|\brun[\s-]?time"
    r"|\bin\b",
    re.IGNORECASE,
)
# Hours of other things: a day's submissions, a server that has to be up, what Kaggle adds to hide the run time.
_OTHER_TIMES = re.compile(
    r"\b(?:per|a|each|every) (?:day|week)\b|\bdaily\b|\bserver\b|\bstart(?:s|up)?\b|\bdeadline\b|\bobfuscat|\bpredict\("
    r"|\bquota\b|\bweekly\b|\bprevious\b|\btrain(?:ing|ed)?\b",
    re.IGNORECASE,
)
_NO_INTERNET = re.compile(
    r"\binternet\b[^.\n]{0,40}?\b(?:disabled|off|not (?:be )?(?:enabled|allowed|available|permitted)|prohibited)\b"
    r"|\b(?:no|without|disable|turn off|switch off)\b[^.\n]{0,20}?\binternet\b",
    re.IGNORECASE,
)
_INTERNET = re.compile(
    r"\binternet\b(?: access)?(?: is| may be| can be| must be)?\s+(?:enabled|allowed|permitted|on)\b", re.IGNORECASE
)
_NAME_PATTERN = re.compile(
    r"(?:named|called|name of|file ?name(?: is)?|titled|entitled)[\s:]{1,3}(?:exactly\s+)?['\"\u2018\u201c]?"
    r"(?P<name>[A-Za-z0-9][\w-]{0,60}\.(?:csv|parquet|jsonl?|ndjson|zip|npz|tsv|txt|pkl|h5)"
    r"(?:\.(?:gz|bz2|xz|zip))?)\b",
    re.IGNORECASE,
)
_DEVICES = ("cpu", "gpu", "tpu")
# Rules and prizes have other hours, and other files, in plenty.
_TELLING_PAGES = ("code", "notebook", "kernel", "evaluation", "overview", "description", "abstract")
_OTHER_PAGES = ("data", "prize", "rule", "timeline")
_MOST_HOURS = 48.0
_MINUTES_OF_AN_HOUR = 60

_Texts = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CompetitionRule:
    """Something that a page demands: `value`, and the words that say so, in which page."""

    value: str
    quote: str
    page: str

    @property
    def evidence(self) -> str:
        """A short clause in plain words."""
        return printable(f'the page "{self.page}" says "{self.quote}"')


@dataclass(frozen=True)
class Rules:
    """The demands of the pages; None or nothing where they do not say.

    Attributes:
        hours: How long a submitted notebook may run, by "cpu", "gpu" and "tpu", the strictest where several are said.
        file_name: What the submission has to be called.
        internet: "off" or "on".
    """

    hours: Mapping[str, CompetitionRule] = field(default_factory=dict)
    file_name: CompetitionRule | None = None
    internet: CompetitionRule | None = None


def read_rules(pages: Mapping[str, str]) -> Rules:
    """Reads what the pages of a competition demand of its notebooks.

    Args:
        pages: The content of each page, Markdown or HTML, by name.
    """
    texts = [(name, plain_text(content)) for name, content in _in_order(pages)]
    return Rules(
        hours=_hours(texts),
        file_name=_first(texts, _NAME_PATTERN, lambda match: match["name"]),
        internet=_first(texts, _NO_INTERNET, lambda _: "off") or _first(texts, _INTERNET, lambda _: "on"),
    )


def plain_text(content: str) -> str:
    """The words of a page, without tags, links and emphasis; a line for each paragraph or item of a list."""
    text = content[:_LONGEST_PAGE]
    for pattern in _HTML_BLOCKS:
        text = pattern.sub(" ", text)
    text = _TAG.sub("", _LINE_ENDING_TAG.sub("\n", text))
    text = _LINK.sub(r"\1", html.unescape(text))
    lines = (" ".join(_EMPHASIS.sub(lambda match: match[1] or "", line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def evaluation_text(pages: Mapping[str, str]) -> str:
    """The page that says how submissions are scored, as plain text; "" if there is none."""
    page = next((content for name, content in pages.items() if "evaluation" in name.lower()), "")
    return plain_text(page)


def _in_order(pages: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pages that tell of notebooks and submissions, those on code requirements first."""
    ranks = [
        (min(place for place, word in enumerate(_TELLING_PAGES) if word in name.lower()), name)
        for name in pages
        if any(word in name.lower() for word in _TELLING_PAGES)
        and not any(word in name.lower() for word in _OTHER_PAGES)
    ]
    return [(name, pages[name]) for _, name in sorted(ranks)]


def _first(texts: _Texts, pattern: re.Pattern[str], value: Callable[[re.Match[str]], str]) -> CompetitionRule | None:
    for page, text in texts:
        for clause in _clauses(text):
            match = pattern.search(clause)
            if match is not None:
                return CompetitionRule(value(match), _quote(clause, match), page)
    return None


def _clauses(text: str) -> Iterator[str]:
    return (clause.strip() for clause in _CLAUSE_END.split(text) if clause.strip())


def _quote(clause: str, match: re.Match[str]) -> str:
    """The clause, or the middle of a long one with what was found in it."""
    if len(clause) <= _QUOTE_LENGTH:
        return clause
    start = max(0, min(match.start() - _QUOTE_LENGTH // 4, len(clause) - _QUOTE_LENGTH))
    return f"{'… ' if start else ''}{clause[start : start + _QUOTE_LENGTH].strip()} …"


def _hours(texts: _Texts) -> dict[str, CompetitionRule]:
    """The strictest limit for each device; the first page that has any is the one that counts."""
    for page, text in texts:
        strictest: dict[str, tuple[float, CompetitionRule]] = {}
        for clause in _clauses(text):
            for device, hours, match in _limits(clause):
                if device not in strictest or hours < strictest[device][0]:
                    strictest[device] = hours, CompetitionRule(f"{hours:g}", _quote(clause, match), page)
        if strictest:
            return {device: strictest[device][1] for device in _DEVICES if device in strictest}
    return {}


def _limits(clause: str) -> Iterator[tuple[str, float, re.Match[str]]]:
    """The devices of which a clause says how long a notebook may run; all where it names none."""
    if not _RUNS.search(clause) or not _LIMITS.search(clause) or _OTHER_TIMES.search(clause):
        return
    before = 0
    for match in _DURATION.finditer(clause):
        number = match["number"].lower()
        hours = float(_NUMBERS.get(number, 0) or number)
        if match["unit"].lower().startswith("m"):
            hours /= _MINUTES_OF_AN_HOUR
        devices = _DEVICE.findall(clause[before : match.start()]) or _DEVICE.findall(clause)
        before = match.end()
        if 0 < hours <= _MOST_HOURS:
            yield from ((device, hours, match) for device in {name.lower(): 0 for name in devices} or _DEVICES)
