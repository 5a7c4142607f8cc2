"""The facts of a competition beside its files, and the sources that can be asked for them.

CannotAskError                nobody can be asked from this machine
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from generator.competition.facts import Competition
from generator.errors import CompetitionError

if TYPE_CHECKING:
    from generator.competition.survey.facts import Survey


class CannotAskError(CompetitionError):
    """Nobody can be asked from this machine; `why` is a whole sentence, with what to do."""

    def __init__(self, *, why: str) -> None:
        super().__init__(f"Kaggle was not asked. {why}")


@dataclass(frozen=True)
class Description:
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

    def describe(self, slug: str) -> Description:
        """Asks for what the hosts say of a competition; costs a request or two."""

    def survey(self, slug: str) -> "Survey":
        """A look at its files without downloading them: their names and sizes, and pieces of some."""
