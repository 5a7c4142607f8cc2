"""The sources of what is known of a competition: the kit itself, a folder of files, or Kaggle's API."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from generator.competition import builtin
from generator.competition.description import CannotAskError, Description, FactSource
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import is_slug, printable

if TYPE_CHECKING:
    from generator.competition.survey.facts import Survey


@dataclass(frozen=True)
class Known:
    """Everything that is known of a competition before anything is concluded; it takes long to find out.

    Attributes:
        slug: The competition.
        survey: What was seen of its files; None of a built-in competition, which the kit describes itself.
        description: What the hosts say of it, if they were asked.
        folder: Where its files are, if they are here.
    """

    slug: str
    survey: "Survey | None" = field(default=None, repr=False)
    description: Description | None = field(default=None, repr=False)
    folder: Path | None = None


def check_name(slug: str) -> None:
    """Raises a CompetitionError for text that is no competition's name."""
    if not is_slug(slug):
        raise CompetitionError(
            f'"{printable(slug)}" is no name of a competition: it has lower-case letters, digits and hyphens, as in '
            f"its address, kaggle.com/competitions/NAME.{did_you_mean(slug, builtin.known())}"
        )


def look(  # noqa: PLR0913 - the places that facts may come from
    slug: str,
    *,
    mounted: Path,
    data: Path | None = None,
    ask: FactSource | None = None,
    asks_always: bool = False,
    known: Description | None = None,
) -> Known:
    """Looks at what there is of a competition.

    Args:
        slug: The competition.
        mounted: Where its files are, if they are there.
        data: The folder with its files that the user names; before anything else.
        ask: Who can be asked where there are no files; nobody, if None.
        asks_always: Whether to ask what the hosts say even where there are files.
        known: What the hosts said when they were asked before.

    Raises:
        CompetitionError: There is nothing.
        KaggleError: It had to be asked, and could not answer.
    """
    check_name(slug)
    if data is None and builtin.find(slug) is not None:
        return Known(slug)
    folder = data or (mounted if mounted.is_dir() and any(mounted.iterdir()) else None)
    if folder is None:
        return Known(slug, *_asked(slug, mounted, ask))
    from generator.competition.survey import survey_folder

    description = ask.describe(slug) if ask is not None and asks_always else known
    return Known(slug, survey_folder(folder), description, folder)


def _asked(slug: str, mounted: Path, ask: FactSource | None) -> "tuple[Survey, Description]":
    """Asks for the facts of a competition whose files are not here."""
    reason = ""
    if ask is not None:
        try:
            # The description first: it is the cheaper one, and says whether there is such a competition.
            description = ask.describe(slug)
            return ask.survey(slug), description
        except CannotAskError as error:
            reason = error.message
    known = builtin.known()
    raise CompetitionError(
        f'There are no files of a competition "{printable(slug)}" in {printable(str(mounted))}: put them '
        f"there, as Kaggle mounts them, or name their folder with --data DIR. Built in are: {', '.join(known)}."
        f"{did_you_mean(slug, known)}{f' {reason}' if reason else ''}"
    )
