"""The task that the kit proposes for a competition: what is known of it, and what that means.

`gather_facts` asks the kit itself, a folder of files, or Kaggle's API; it takes long. `infer_task` makes a `Proposal`
of the facts, given the decisions of the user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from generator.competition import builtin
from generator.competition.facts import CannotAskError, Competition, CompetitionDescription, FactSource, Task
from generator.errors import CompetitionError, did_you_mean
from generator.pair.spec import template_limits, with_preset_budget
from generator.text import Value, is_slug, printable

if TYPE_CHECKING:
    from generator.competition.facts import Rules
    from generator.competition.introspection.evidence import Finding
    from generator.competition.survey import Survey


@dataclass(frozen=True)
class CompetitionFacts:
    """What is known of a competition before its task is inferred; gathering it takes long.

    Attributes:
        slug: The competition.
        survey: What was seen of its files; None of a built-in competition, which the kit describes itself.
        description: What the hosts say of it, if they were asked.
        folder: Where its files are, if they are here.
    """

    slug: str
    survey: "Survey | None" = field(default=None, repr=False)
    description: CompetitionDescription | None = field(default=None, repr=False)
    folder: Path | None = None


def check_name(slug: str) -> None:
    """Raises a CompetitionError for text that is no competition's name."""
    if not is_slug(slug):
        raise CompetitionError(
            f'"{printable(slug)}" is no name of a competition: it has lower-case letters, digits and hyphens, as in '
            f"its address, kaggle.com/competitions/NAME.{did_you_mean(slug, builtin.competition_slugs())}",
            code="competition-name-invalid",
        )


def gather_facts(  # noqa: PLR0913 - the places that facts may come from
    slug: str,
    *,
    mount_path: Path,
    data: Path | None = None,
    ask: FactSource | None = None,
    asks_always: bool = False,
    old_description: CompetitionDescription | None = None,
) -> CompetitionFacts:
    """Gather what is known of a competition.

    Args:
        slug: The competition.
        mount_path: Where its files are, if they are there.
        data: The folder with its files that the user names; before anything else.
        ask: Who can be asked where there are no files; nobody, if None.
        asks_always: Whether to ask what the hosts say even where there are files.
        old_description: What the hosts said when they were asked before.

    Raises:
        CompetitionError: There is nothing.
        KaggleError: It had to be asked, and could not answer.
    """
    check_name(slug)
    if data is None and builtin.find(slug) is not None:
        return CompetitionFacts(slug)
    folder = data or (mount_path if mount_path.is_dir() and any(mount_path.iterdir()) else None)
    if folder is None:
        return CompetitionFacts(slug, *_ask_for_facts(slug, mount_path, ask))
    from generator.competition.survey import survey_folder

    description = ask.describe(slug) if ask is not None and asks_always else old_description
    return CompetitionFacts(slug, survey_folder(folder), description, folder)


def _ask_for_facts(slug: str, mount_path: Path, ask: FactSource | None) -> "tuple[Survey, CompetitionDescription]":
    """Asks for the facts of a competition whose files are not here."""
    reason = ""
    if ask is not None:
        try:
            # The description first: it is the cheaper one, and says whether there is such a competition.
            description = ask.describe(slug)
            return ask.survey(slug), description
        except CannotAskError as error:
            reason = error.message
    built_in_slugs = builtin.competition_slugs()
    raise CompetitionError(
        f'There are no files of the competition "{printable(slug)}" in {printable(str(mount_path))}.',
        remedy=f"Put them there with "
        f"Kaggle's layout, or name their folder with --data DIR. Built-in competitions: {', '.join(built_in_slugs)}."
        f"{did_you_mean(slug, built_in_slugs)}{f' {reason}' if reason else ''}",
        code="competition-files-missing",
    )


@dataclass(frozen=True)
class Proposal:
    """A competition and the task that the kit makes of it.

    Attributes:
        facts: What is known of it.
        competition: The competition.
        task: Its task as inferred.
        source: What that rests on, for the user.
        findings: What was weighed, in the order to show.
        warnings: Sentences for the user.
        unclear: Those of the findings that are worth a question.
    """

    facts: CompetitionFacts
    competition: Competition
    task: Task
    source: str
    findings: "tuple[Finding, ...]" = ()
    warnings: tuple[str, ...] = ()
    unclear: "tuple[Finding, ...]" = ()

    @property
    def is_built_in(self) -> bool:
        """True if the kit itself brings the competition, its data included."""
        return self.facts.survey is None

    @property
    def has_data(self) -> bool:
        """True if the competition's files are on this machine, or can be written without asking anybody."""
        return self.is_built_in or self.facts.folder is not None

    @property
    def unused_files(self) -> tuple[str, ...]:
        """The files of the competition that the notebooks do not read, whole folders with a slash behind them."""
        if self.facts.survey is None:
            return ()
        from generator.competition.introspection.files import unused_files

        return unused_files(self.facts.survey, self.task)


def infer_task(facts: CompetitionFacts, *, decisions: Mapping[str, Value], models: Sequence[str] = ()) -> Proposal:
    """Infer the task from what is known of a competition.

    Args:
        facts: The facts.
        decisions: What the user has decided, by key of the task; the rest is inferred given that.
        models: Of Kaggle Models, those for what the notebooks can start from pretrained models of texts.

    Raises:
        CompetitionError: It does not make a task.
    """
    if facts.survey is None:
        built_in = builtin.require(facts.slug)
        task = with_preset_budget(built_in.task, decisions)
        return Proposal(facts, built_in.competition, task, source="the kit's own description")
    return _read(facts, facts.survey, decisions, models)


def _read(facts: CompetitionFacts, survey: "Survey", decisions: Mapping[str, Value], models: Sequence[str]) -> Proposal:
    from generator.competition.facts import evaluation_text, read_rules
    from generator.competition.introspection import read_task
    from generator.competition.introspection.evidence import Hints

    description = facts.description
    overrides = {key: value if isinstance(value, list) else str(value) for key, value in decisions.items()}
    hints, competition = Hints(slug=facts.slug, overrides=overrides, models=models), _nameless(facts.slug, survey)
    if description is not None:
        rules = read_rules(description.pages)
        competition = _describe(description, rules)
        hints = replace(
            hints,
            metric_text=description.metric_text,
            evaluation_text=evaluation_text(description.pages),
            file_name=rules.file_name,
        )
    reading = read_task(survey, hints)
    description_source = description.source if description is not None else "the command line"
    return Proposal(
        facts=facts,
        competition=competition,
        task=reading.task,
        source=f"the files in {facts.folder}" if facts.folder is not None else description_source,
        findings=tuple(reading.findings.values()),
        unclear=tuple(reading.findings[key] for key in reading.unclear),
        warnings=(
            *(description.warnings if description else ()),
            *survey.notes,
            *reading.warnings,
            *template_limits(reading.task, is_served=survey.server is not None),
        ),
    )


def _nameless(slug: str, survey: "Survey") -> Competition:
    """The facts of a competition of which there are only files."""
    evidence = {"title": "from its name", "code_competition": "the default; no file contradicts it"}
    if survey.server is not None:
        evidence["code_competition"] = "only a notebook can answer its inference server"
    return Competition(
        slug=slug,
        title=slug.replace("-", " ").capitalize(),
        is_code_competition=survey.server is not None,
        evidence=evidence,
    )


def _describe(description: CompetitionDescription, rules: "Rules") -> Competition:
    """The competition with what its pages demand of a submitted notebook, which runs on a GPU."""
    evidence = dict.fromkeys(("title", "code_competition"), f"from {description.source}")
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
