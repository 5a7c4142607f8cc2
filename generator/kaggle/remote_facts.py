"""A competition's facts from Kaggle's API: what its hosts say of it, and a survey of files that stay where they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from generator.competition.description import Description
from generator.competition.facts import Competition
from generator.competition.survey import survey_files
from generator.competition.survey.facts import Survey
from generator.kaggle.errors import ForbiddenError, KaggleError, NotFoundError
from generator.kaggle.gateway import Kaggle
from generator.kaggle.remote_files import RemoteFiles
from generator.kaggle.remote_listing import list_competition
from generator.untrusted import printable


@dataclass(frozen=True)
class RemoteFacts:
    """The facts of competitions as an account can learn them; `tell` is told what is looked at."""

    kaggle: Kaggle
    tell: Callable[[str], None] = lambda _: None

    @property
    def source(self) -> str:
        """The name of the Kaggle that is asked, for evidence and messages."""
        return "the local Kaggle's API" if self.kaggle.is_local else "Kaggle's API"

    def describe(self, slug: str) -> Description:
        """The hosts' description of a competition.

        Raises:
            KaggleError: There is no such competition, or it cannot be asked.
        """
        found = self.kaggle.competition(slug)
        pages: Mapping[str, str] = {}
        warnings = []
        try:
            pages = self.kaggle.pages(slug)
        except (NotFoundError, ForbiddenError) as error:
            warnings.append(f"The pages of the competition were not read: {error.message}")
        return Description(
            competition=Competition(
                slug=slug, title=found.title.strip() or slug, is_code_competition=found.is_code_competition
            ),
            metric_text=found.metric,
            pages=pages,
            source=self.source,
            warnings=tuple(warnings),
        )

    def survey(self, slug: str) -> Survey:
        """A look at a competition's files by their names and by pieces of some, within a budget.

        Raises:
            KaggleError: They may not be looked at, such as before the rules are accepted, or there are none.
        """
        listing = list_competition(self.kaggle, slug)
        if not listing.sizes:
            raise KaggleError(
                f"{self.source} lists no files of {printable(slug)}: join the competition and accept its rules at "
                f"https://www.kaggle.com/competitions/{printable(slug)}/rules, or name a folder with its files: "
                "tandem generate --data DIR."
            )
        files = RemoteFiles(self.kaggle, slug, listing.sizes, tell=self.tell)
        return survey_files(files, sorted(listing.directories, key=lambda found: found.path), listing.notes)
