"""The facts of a competition that a local Kaggle hosts, and the scores that it gives."""

from dataclasses import dataclass
from datetime import datetime

from generator.competition.facts import SubmissionKind

DAILY_LIMIT = 5
PUBLIC_SHARE = 0.3


@dataclass(frozen=True)
class HostedPage:
    """A page that people read, such as `evaluation`; `content` is Markdown."""

    name: str
    title: str
    content: str


@dataclass(frozen=True)
class Question:
    """The form of a submission, and the metric that scores it.

    Attributes:
        metric: A metric as a task names it, such as "rmse" or "map@5".
        submission: What a row says.
        columns: The id and the answers of a submission; empty where the sample submission or the answers say it.
        header: All columns of a submission in their order, where it has others or another order.
        mask_size: Height and width of the masks, where all have the same.
        public_share: The share of the examples whose score is shown while the competition runs.
    """

    metric: str
    submission: SubmissionKind
    columns: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    mask_size: tuple[int, int] | None = None
    public_share: float = PUBLIC_SHARE


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
    daily_limit: int = DAILY_LIMIT
    deadline: datetime | None = None
    submission_file: str = "submission.csv"


@dataclass(frozen=True)
class Scores:
    """The scores of one submission, on the two parts of the hidden test."""

    public: float
    private: float
