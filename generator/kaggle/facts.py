"""A competition's facts from Kaggle's API: what its hosts say of it, and a survey of files that stay where they are.

Most commands have the facts on this machine, so what talks to Kaggle is imported when it is first asked.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from generator.competition import builtin
from generator.competition.facts import CannotAskError, Competition, CompetitionDescription
from generator.errors import CompetitionError, did_you_mean
from generator.text import printable

if TYPE_CHECKING:
    from generator.competition.survey import Survey
    from generator.kaggle.gateway import Kaggle

_SECONDS_BETWEEN_LINES = 2.0


@dataclass(frozen=True)
class RemoteFacts:
    """The facts of competitions as an account can learn them; `tell` is told what is looked at."""

    kaggle: "Kaggle"
    tell: Callable[[str], None] = lambda _: None

    @property
    def source(self) -> str:
        """The name of the Kaggle that is asked, for evidence and messages."""
        return "the local Kaggle's API" if self.kaggle.is_local else "Kaggle's API"

    def describe(self, slug: str) -> CompetitionDescription:
        """The hosts' description of a competition.

        Raises:
            KaggleError: There is no such competition, or it cannot be asked.
        """
        from generator.kaggle.errors import ForbiddenError, NotFoundError

        facts = self.kaggle.competitions.facts(slug)
        pages: Mapping[str, str] = {}
        warnings = []
        try:
            pages = self.kaggle.competitions.pages(slug)
        except (NotFoundError, ForbiddenError) as error:
            warnings.append(f"The pages of the competition were not read: {error.message}")
        return CompetitionDescription(
            competition=Competition(
                slug=slug, title=facts.title.strip() or slug, is_code_competition=facts.is_code_competition
            ),
            metric_text=facts.metric,
            pages=pages,
            source=self.source,
            warnings=tuple(warnings),
        )

    def survey(self, slug: str) -> "Survey":
        """A look at a competition's files by their names and by pieces of some, within a budget.

        Raises:
            KaggleError: They may not be looked at, such as before the rules are accepted, or there are none.
        """
        from generator.competition.survey import survey_files
        from generator.kaggle.competition_data import RemoteFiles, list_competition
        from generator.kaggle.errors import KaggleError

        listing = list_competition(self.kaggle, slug)
        if not listing.sizes:
            raise KaggleError(
                f"{self.source} lists no files of {printable(slug)}: join the competition and accept its rules at "
                f"https://www.kaggle.com/competitions/{printable(slug)}/rules, or name a folder with its files: "
                "tandem generate --data DIR."
            )
        files = RemoteFiles(self.kaggle, slug, listing.sizes, tell=self.tell)
        return survey_files(files, sorted(listing.directories, key=lambda directory: directory.path), listing.notes)


@dataclass
class KaggleFactSource:
    """A Kaggle that is met when it is first asked, and asked once.

    Attributes:
        connect: Connects to it.
        tell: Is told in a sentence what is asked and looked at; nothing of a small competition.
        is_chosen: Whether the user chose this Kaggle; if not, it is no error that there are no credentials for it.
    """

    connect: Callable[[], "Kaggle"]
    tell: Callable[[str], None]
    is_chosen: bool
    _descriptions: dict[str, CompetitionDescription] = field(default_factory=dict)
    _surveys: "dict[str, Survey]" = field(default_factory=dict)
    _last_line: float = field(default_factory=time.monotonic)

    def describe(self, slug: str) -> CompetitionDescription:
        """The hosts' description of a competition, see `RemoteFacts`."""
        from generator.kaggle.errors import NotFoundError

        if slug in self._descriptions:
            return self._descriptions[slug]
        facts = self._remote_facts
        self.tell(f"Asking {facts.source} about {printable(slug)} …")
        try:
            self._descriptions[slug] = facts.describe(slug)
        except NotFoundError as error:
            name = f'competition "{printable(slug)}"'
            problem = (
                f"The local Kaggle has no {name}. {facts.kaggle.address}/competitions lists its competitions. To host "
                "a folder, start the server with `tandem serve --competition DIR`."
                if facts.kaggle.is_local
                else f"Kaggle has no {name}. Use the last part of the competition's address: "
                "kaggle.com/competitions/NAME."
            )
            raise CompetitionError(f"{problem}{did_you_mean(slug, builtin.competition_slugs())}") from error
        return self._descriptions[slug]

    def survey(self, slug: str) -> "Survey":
        """A look at its files where they are, see `RemoteFacts`."""
        if slug not in self._surveys:
            self._surveys[slug] = self._remote_facts.survey(slug)
        return self._surveys[slug]

    @cached_property
    def _remote_facts(self) -> RemoteFacts:
        from generator.kaggle.errors import CredentialsError, OtherKaggleError

        try:
            return RemoteFacts(self.connect(), tell=self._tell_path)
        except (CredentialsError, OtherKaggleError) as error:
            if self.is_chosen:
                raise
            raise CannotAskError(reason=error.message) from error

    def _tell_path(self, path: str) -> None:
        """A line now and then: a small competition needs none, a large one must not look stuck."""
        if time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.tell(f"Looking at {printable(path)} …")
