"""The task that the kit proposes for a competition: from its own knowledge of it, from its files, or from Kaggle's API.

CompetitionNameError          text that is no competition's name
CompetitionUnknownError       neither a built-in competition nor one whose files are there, and nobody can be asked
DataFolderError               the folder that was named cannot be the competition's data
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from generator.competition import builtin
from generator.competition.description import CannotAskError, Description, FactSource
from generator.competition.facts import Competition, Task, Value
from generator.competition.presets import preset_of
from generator.errors import CompetitionError, did_you_mean
from generator.files import FileWriteError
from generator.untrusted import is_slug, printable
from generator.workspace_files import WorkspaceFiles

if TYPE_CHECKING:
    from generator.competition.introspection import Finding
    from generator.competition.pages import Rules
    from generator.competition.survey.facts import Survey


class CompetitionNameError(CompetitionError):
    """Text that is no competition's name."""

    def __init__(self, *, slug: str, known: list[str]) -> None:
        super().__init__(
            f'"{printable(slug)}" is no name of a competition: it has lower-case letters, digits and hyphens, as in '
            f"its address, kaggle.com/competitions/NAME.{did_you_mean(slug, known)}"
        )


class CompetitionUnknownError(CompetitionError):
    """Neither a built-in competition nor one whose files are there, and nobody can be asked."""

    def __init__(self, *, slug: str, folder: Path, known: list[str], reason: str = "") -> None:
        super().__init__(
            f'There are no files of a competition "{printable(slug)}" in {printable(str(folder))}: put them there, as '
            f"Kaggle mounts them, or name their folder with --data DIR. Built in are: {', '.join(known)}."
            f"{did_you_mean(slug, known)}{f' {reason}' if reason else ''}"
        )


class DataFolderError(CompetitionError):
    """The folder that was named cannot be the competition's data."""

    def __init__(self, *, folder: Path, linked: Path, problem: str) -> None:
        super().__init__(
            f"{printable(str(folder))} cannot become {printable(str(linked))}: {problem}. Leave out --data to use what "
            "is there, or move it away."
        )


@dataclass(frozen=True)
class Sources:
    """The places that the facts of a competition may come from.

    Attributes:
        mounted: Where its files are, if they are there.
        data: The folder with its files that the user names; before anything else.
        ask: Who can be asked where there are no files; nobody, if None.
        asks_always: Whether to ask what the hosts say even where there are files.
        known: What the hosts said when they were asked before.
    """

    mounted: Path
    data: Path | None = None
    ask: FactSource | None = None
    asks_always: bool = False
    known: Description | None = None


@dataclass(frozen=True)
class Proposal:
    """A competition and the task that the kit makes of it.

    Attributes:
        competition: What is known of it.
        task: What the kit makes of it.
        source: What that rests on, for the user.
        data: The folder that was looked at; None where there is none.
        survey: What was seen, of a competition that is not built in.
        description: What the hosts say of it, if they were asked.
        findings: What was weighed, in the order to show.
        warnings: Sentences for the user.
    """

    competition: Competition
    task: Task
    source: str
    data: Path | None = None
    survey: "Survey | None" = field(default=None, repr=False)
    description: Description | None = field(default=None, repr=False)
    findings: "tuple[Finding, ...]" = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_built_in(self) -> bool:
        """True if the kit itself brings the competition, its data included."""
        return self.survey is None

    @property
    def has_data(self) -> bool:
        """True if the competition's files are on this machine, or can be written without asking anybody."""
        return self.is_built_in or self.data is not None


def propose(slug: str, sources: Sources, *, decisions: Mapping[str, Value]) -> Proposal:
    """Makes a task of a competition.

    Args:
        slug: The competition.
        sources: Where its facts may come from.
        decisions: What the user has decided, by key of the task; the rest is inferred given that.

    Raises:
        CompetitionError: There is nothing to make it of, or it does not make a task.
        KaggleError: It had to be asked, and could not answer.
    """
    if not is_slug(slug):
        raise CompetitionNameError(slug=slug, known=builtin.known())
    built_in = builtin.find(slug)
    if built_in is not None and sources.data is None:
        task = _fine_tuned(built_in.task, decisions)
        return Proposal(built_in.competition, task, source="the kit's own description")
    folder = sources.data or (sources.mounted if _has_files(sources.mounted) else None)
    if folder is None:
        return _read(slug, *_asked(slug, sources), decisions)
    from generator.competition.survey import survey_folder

    description = sources.known
    if sources.ask is not None and sources.asks_always:
        description = sources.ask.describe(slug)
    return _read(slug, survey_folder(folder), description, decisions, folder=folder)


def link_data(data: Path, mounted: Path, files: WorkspaceFiles) -> bool:
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
        files.link(mounted, data.resolve())
    except OSError as error:
        raise FileWriteError(path=mounted, cause=error) from error
    return True


def _fine_tuned(task: Task, decisions: Mapping[str, Value]) -> Task:
    """Return the task with the batch size and the epochs that suit the pretrained model, if one is named."""
    preset = preset_of(task.family, str(decisions.get("pretrained", "")))
    if preset is None:
        return task
    values = {**task.details, **decisions}
    batch_size, length, epochs = (int(str(values[key])) for key in ("batch_size", "sequence_length", "epochs"))
    fitting = {"batch_size": preset.batch_size(batch_size, length), "epochs": preset.epochs(epochs)}
    return replace(task, details={**task.details, **fitting})


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and next(folder.iterdir(), None) is not None


def _asked(slug: str, sources: Sources) -> "tuple[Survey, Description]":
    """Asks for the facts of a competition whose files are not here."""
    reason = ""
    if sources.ask is not None:
        try:
            # The description first: it is the cheaper one, and says whether there is such a competition.
            description = sources.ask.describe(slug)
            return sources.ask.survey(slug), description
        except CannotAskError as error:
            reason = error.message
    raise CompetitionUnknownError(slug=slug, folder=sources.mounted, known=builtin.known(), reason=reason)


def _read(
    slug: str,
    survey: "Survey",
    description: Description | None,
    decisions: Mapping[str, Value],
    *,
    folder: Path | None = None,
) -> Proposal:
    from generator.competition.introspection import Hints, read_task
    from generator.competition.pages import evaluation_text, read_rules

    overrides = {key: value if isinstance(value, list) else str(value) for key, value in decisions.items()}
    hints, competition = Hints(slug=slug, overrides=overrides), _nameless(slug, survey)
    if description is not None:
        rules = read_rules(description.pages)
        competition = _described(description, rules)
        hints = replace(
            hints,
            metric_text=description.metric_text,
            evaluation_text=evaluation_text(description.pages),
            file_name=rules.file_name.value if rules.file_name else "",
            file_name_evidence=rules.file_name.evidence if rules.file_name else "",
        )
    reading = read_task(survey, hints)
    said = description.source if description is not None else "what somebody said"
    return Proposal(
        competition=competition,
        task=reading.task,
        source=f"the files in {folder}" if folder is not None else said,
        data=folder,
        survey=survey,
        description=description,
        findings=tuple(reading.findings.values()),
        warnings=(
            *(description.warnings if description else ()),
            *survey.notes,
            *reading.warnings,
            *_beyond_the_templates(survey, reading.task),
        ),
    )


def _beyond_the_templates(survey: "Survey", task: Task) -> Iterator[str]:
    """Warns of what a competition wants of an inference notebook that the templates cannot do."""
    from generator.competition.introspection.inference_server import can_serve

    if survey.server is not None and not can_serve(task.details):
        yield (
            "This competition hands out its test data through an inference server (kaggle_evaluation), and the "
            f"inference notebook answers what {printable(str(task.details['lookup_table']))} asks for: train with this "
            "pair, and write the server's predict() by hand."
        )
    yield from _beyond_the_formats(task)


def _beyond_the_formats(task: Task) -> Iterator[str]:
    """Warns of what the name of the submission promises that the inference notebook does not write."""
    from generator.competition.tables.formats import TableFormat, format_of

    name, promised = task.submission_file, format_of(task.submission_file)
    is_binary_archive = promised.format is TableFormat.PARQUET and promised.compression
    is_json = promised.format in (TableFormat.JSON, TableFormat.JSON_LINES)
    if promised.format is None or is_binary_archive or (is_json and promised.compression == ".zip"):
        yield (
            f"The submission has to be called {printable(name)}, and the inference notebook writes text with "
            "separators, JSON and Parquet: change its last cells by hand, or say --file-name if another is accepted "
            "as well."
        )
    elif is_json and format_of(task.sample_submission).format is not promised.format:
        yield (
            f"{printable(name)} will have one JSON object a row, with the names of the sample's columns: compare it "
            "with what the evaluation page shows."
        )


def _nameless(slug: str, survey: "Survey") -> Competition:
    """The facts of a competition of which there are only files."""
    evidence = {"title": "made of its name", "code_competition": "nothing in its files says otherwise"}
    if survey.server is not None:
        evidence["code_competition"] = "only notebooks can answer to its inference server"
    return Competition(
        slug=slug,
        title=slug.replace("-", " ").capitalize(),
        is_code_competition=survey.server is not None,
        evidence=evidence,
    )


def _described(description: Description, rules: "Rules") -> Competition:
    """The competition with what its pages demand of a submitted notebook, which runs on a GPU."""
    evidence = dict.fromkeys(("title", "code_competition"), f"{description.source} says it")
    competition = description.competition
    limit = rules.hours.get("gpu") or rules.hours.get("cpu")
    if limit is not None:
        competition = replace(competition, inference_hours=float(limit.value))
        evidence["inference_hours"] = limit.evidence
    # Where pages allow the internet it stays off: the notebook needs none, and another rule may forbid it.
    if rules.internet is not None and rules.internet.value == "off":
        competition = replace(competition, internet=False)
        evidence["internet"] = rules.internet.evidence
    return replace(competition, evidence=evidence)
