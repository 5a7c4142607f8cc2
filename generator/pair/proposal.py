"""What the kit would choose for a competition: from its own knowledge of it, or from the files that are there.

CompetitionNameError          text that is no competition's name
CompetitionUnknownError       neither a built-in competition nor one whose files are there
DataFolderError               the folder that was named cannot be the competition's data
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.competition import builtin
from generator.competition.facts import Competition, Task, Value
from generator.errors import CompetitionError, did_you_mean
from generator.files import FileWriteError
from generator.untrusted import is_slug, printable


class CompetitionNameError(CompetitionError):
    """Text that is no competition's name."""

    def __init__(self, *, slug: str, known: list[str]) -> None:
        super().__init__(
            f'"{printable(slug)}" is no name of a competition: it has lower-case letters, digits and hyphens, as in '
            f"its address, kaggle.com/competitions/NAME.{did_you_mean(slug, known)}"
        )


class CompetitionUnknownError(CompetitionError):
    """Neither a built-in competition nor one whose files are there."""

    def __init__(self, *, slug: str, folder: Path, known: list[str]) -> None:
        super().__init__(
            f'There are no files of a competition "{printable(slug)}" in {printable(str(folder))}: put them there, as '
            f"Kaggle mounts them, or name their folder with --data DIR. Built in are: {', '.join(known)}."
            f"{did_you_mean(slug, known)}"
        )


class DataFolderError(CompetitionError):
    """The folder that was named cannot be the competition's data."""

    def __init__(self, *, folder: Path, linked: Path, problem: str) -> None:
        super().__init__(
            f"{printable(str(folder))} cannot become {printable(str(linked))}: {problem}. Leave out --data to use what "
            "is there, or move it away."
        )


@dataclass(frozen=True)
class Weighed:
    """One value of the task that was weighed against others.

    Attributes:
        key: A key of the task, or "family".
        is_thin: Whether it is hardly better than a guess.
        candidates: Every value, best first, with its evidence and weight; the chosen one is among them.
    """

    key: str
    is_thin: bool
    candidates: tuple[tuple[Value, str, float], ...]


@dataclass(frozen=True)
class Proposal:
    """A competition and the task that the kit makes of it.

    Attributes:
        competition: What is known of it.
        task: What the kit makes of it.
        source: What that rests on, for the user.
        data: The folder that was looked at; None for a built-in competition.
        weighed: What was weighed, in the order to show.
        warnings: Sentences for the user.
    """

    competition: Competition
    task: Task
    source: str
    data: Path | None = None
    weighed: tuple[Weighed, ...] = ()
    warnings: tuple[str, ...] = ()


def propose(slug: str, mounted: Path, *, data: Path | None, decisions: Mapping[str, Value]) -> Proposal:
    """Makes a task of a competition.

    Args:
        slug: The competition.
        mounted: Where its files are, if they are there.
        data: The folder with its files that the user names; before anything else.
        decisions: What the user has decided, by key of the task; the rest is inferred given that.

    Raises:
        CompetitionError: There is nothing to make it of, or it does not make a task.
    """
    if not is_slug(slug):
        raise CompetitionNameError(slug=slug, known=builtin.known())
    built_in = builtin.find(slug)
    if data is not None:
        return _from_folder(slug, data, decisions)
    if built_in is not None:
        return Proposal(built_in.competition, built_in.task, source="the kit's own description")
    if not _has_files(mounted):
        raise CompetitionUnknownError(slug=slug, folder=mounted, known=builtin.known())
    return _from_folder(slug, mounted, decisions)


def link_data(data: Path, mounted: Path) -> bool:
    """Links the folder that the user named to where the notebooks look for it, if nothing is there yet.

    Returns:
        Whether a link was made.

    Raises:
        DataFolderError: Something else stands there.
        FileWriteError: The link cannot be made.
    """
    if mounted.exists():
        if mounted.resolve() != data.resolve():
            raise DataFolderError(folder=data, linked=mounted, problem="other files stand there")
        return False
    try:
        mounted.parent.mkdir(parents=True, exist_ok=True)
        mounted.symlink_to(data.resolve(), target_is_directory=True)
    except OSError as error:
        raise FileWriteError(path=mounted, cause=error) from error
    return True


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and next(folder.iterdir(), None) is not None


def _from_folder(slug: str, folder: Path, decisions: Mapping[str, Value]) -> Proposal:
    from generator.competition.introspection.facts import Confidence, Hints
    from generator.competition.introspection.reading import read_task
    from generator.competition.survey import survey_folder

    survey = survey_folder(folder)
    overrides = {key: value if isinstance(value, list) else str(value) for key, value in decisions.items()}
    reading = read_task(survey, Hints(slug=slug, overrides=overrides))
    weighed = tuple(
        Weighed(
            key=finding.key,
            is_thin=finding.confidence is Confidence.THIN,
            candidates=tuple((each.value, each.evidence, each.weight) for each in finding.candidates),
        )
        for finding in reading.findings.values()
    )
    title = slug.replace("-", " ").capitalize()
    return Proposal(
        competition=Competition(slug=slug, title=title, is_code_competition=False),
        task=reading.task,
        source=f"the files in {folder}",
        data=folder,
        weighed=weighed,
        warnings=(*survey.notes, *reading.warnings),
    )
