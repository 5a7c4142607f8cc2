"""The task that the kit proposes for a competition, from what is known of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from generator.competition import builtin
from generator.competition.description import Description
from generator.competition.facts import Competition, Task, Value
from generator.competition.presets import preset_of
from generator.competition.tables.formats import TableFormat, format_of
from generator.pair.sources import Known
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.competition.introspection import Finding
    from generator.competition.pages import Rules
    from generator.competition.survey.facts import Survey


@dataclass(frozen=True)
class Proposal:
    """A competition and the task that the kit makes of it.

    Attributes:
        known: What was found out of it.
        competition: What it is.
        task: What the kit makes of it.
        source: What that rests on, for the user.
        findings: What was weighed, in the order to show.
        warnings: Sentences for the user.
        unclear: Those of the findings that are worth a question.
    """

    known: Known
    competition: Competition
    task: Task
    source: str
    findings: "tuple[Finding, ...]" = ()
    warnings: tuple[str, ...] = ()
    unclear: "tuple[Finding, ...]" = ()

    @property
    def is_built_in(self) -> bool:
        """True if the kit itself brings the competition, its data included."""
        return self.known.survey is None

    @property
    def has_data(self) -> bool:
        """True if the competition's files are on this machine, or can be written without asking anybody."""
        return self.is_built_in or self.known.folder is not None

    @property
    def unused_files(self) -> tuple[str, ...]:
        """The files of the competition that the notebooks do not read, whole folders with a slash behind them."""
        if self.known.survey is None:
            return ()
        from generator.competition.introspection.unused_files import unused_files

        return unused_files(self.known.survey, self.task)


def propose(known: Known, *, decisions: Mapping[str, Value], models: Sequence[str] = ()) -> Proposal:
    """Makes a task of what is known of a competition.

    Args:
        known: What that is.
        decisions: What the user has decided, by key of the task; the rest is inferred given that.
        models: Of Kaggle Models, those for what the notebooks can start from pretrained models of texts.

    Raises:
        CompetitionError: It does not make a task.
    """
    if known.survey is None:
        built_in = builtin.require(known.slug)
        task = _fine_tuned(built_in.task, decisions)
        return Proposal(known, built_in.competition, task, source="the kit's own description")
    return _read(known, known.survey, decisions, models)


def _fine_tuned(task: Task, decisions: Mapping[str, Value]) -> Task:
    """Return the task with the batch size and the epochs that suit the pretrained model, if one is named."""
    preset = preset_of(task.family, str(decisions.get("pretrained", "")))
    if preset is None:
        return task
    values = {**task.details, **decisions}
    batch_size, length, epochs = (int(str(values[key])) for key in ("batch_size", "sequence_length", "epochs"))
    fitting = {"batch_size": preset.batch_size(batch_size, length), "epochs": preset.epochs(epochs)}
    return replace(task, details={**task.details, **fitting})


def _read(known: Known, survey: "Survey", decisions: Mapping[str, Value], models: Sequence[str]) -> Proposal:
    from generator.competition.introspection import Hints, read_task
    from generator.competition.pages import evaluation_text, read_rules

    description = known.description
    overrides = {key: value if isinstance(value, list) else str(value) for key, value in decisions.items()}
    hints, competition = Hints(slug=known.slug, overrides=overrides, models=models), _nameless(known.slug, survey)
    if description is not None:
        rules = read_rules(description.pages)
        competition = _described(description, rules)
        hints = replace(
            hints,
            metric_text=description.metric_text,
            evaluation_text=evaluation_text(description.pages),
            file_name=rules.file_name,
        )
    reading = read_task(survey, hints)
    said = description.source if description is not None else "what somebody said"
    return Proposal(
        known=known,
        competition=competition,
        task=reading.task,
        source=f"the files in {known.folder}" if known.folder is not None else said,
        findings=tuple(reading.findings.values()),
        unclear=tuple(reading.findings[key] for key in reading.unclear),
        warnings=(
            *(description.warnings if description else ()),
            *survey.notes,
            *reading.warnings,
            *_beyond_the_templates(survey, reading.task),
        ),
    )


def _beyond_the_templates(survey: "Survey", task: Task) -> Iterator[str]:
    """Warns of what a competition, or the name of its submission, wants of inference that the templates cannot do."""
    lookup = task.details.get("lookup_table")
    if survey.server is not None and lookup:
        yield (
            "This competition hands out its test data through an inference server (kaggle_evaluation), and the "
            f"inference notebook answers what {printable(str(lookup))} asks for: train with this "
            "pair, and write the server's predict() by hand."
        )
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
