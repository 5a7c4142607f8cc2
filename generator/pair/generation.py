"""Generating a pair: from a competition and what the user chose to the files of both kernels."""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from generator.accelerators import Service
from generator.competition import builtin
from generator.competition.facts import CannotAskError, Competition, CompetitionDescription, FactSource, Task, Value
from generator.competition.metrics import metric_named
from generator.competition.schema import (
    TYPE_NAMES,
    common,
    expected_anywhere,
    families,
    keys_of,
    known_keys,
    preset_of,
    value_from,
)
from generator.competition.tables.formats import TableFormat, table_format
from generator.errors import CompetitionError, PairError, TandemError, did_you_mean
from generator.files import read_bytes, read_text
from generator.pair.cells import read_own_cells
from generator.pair.choices import (
    Choice,
    Choices,
    ChoicesError,
    Knob,
    MadeBy,
    check_storable,
    choices_toml,
    decisions,
    fill_choices,
    find_owner,
    knobs_of,
    merge_choices,
    model_summary,
    propose_choices,
    unknown_owner,
)
from generator.pair.folder import (
    Edits,
    base_of,
    commit,
    edits,
    find_lost_edits,
    keep_description,
    kept_description,
    pair_folder,
    plan_write,
    read_choices,
    write_pair,
)
from generator.pair.notebook import Cell, ParameterError, is_fixed, knob_name, parse_assignment, value_of
from generator.pair.rendering import default_parameters, kernel_files, metadata_text, render_kernels, rendered_cells
from generator.pair.spec import (
    PairSpec,
    check_offered,
    check_spec,
    frameworks,
    is_model_handle,
    spec_of,
    untested_backbone,
    without_foreign_backbone,
)
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import is_slug, printable

if TYPE_CHECKING:
    from generator.competition.facts import Rules
    from generator.competition.introspection.evidence import Finding
    from generator.competition.survey.facts import Survey


# The sources of what is known of a competition: the kit itself, a folder of files, or Kaggle's API.


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
            f"its address, kaggle.com/competitions/NAME.{did_you_mean(slug, builtin.competition_slugs())}"
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
        f'There are no files of the competition "{printable(slug)}" in {printable(str(mount_path))}. '
        "Put them there with "
        f"Kaggle's layout, or name their folder with --data DIR. Built-in competitions: {', '.join(built_in_slugs)}."
        f"{did_you_mean(slug, built_in_slugs)}{f' {reason}' if reason else ''}"
    )


# The task that the kit proposes for a competition, from what is known of it.


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
        task = _fine_tuned(built_in.task, decisions)
        return Proposal(facts, built_in.competition, task, source="the kit's own description")
    return _read(facts, facts.survey, decisions, models)


def _fine_tuned(task: Task, decisions: Mapping[str, Value]) -> Task:
    """Return the task with the batch size and the epochs that suit the pretrained model, if one is named."""
    preset = preset_of(task.family, str(decisions.get("pretrained", "")))
    if preset is None:
        return task
    values = {**task.details, **decisions}
    batch_size, length, epochs = (int(str(values[key])) for key in ("batch_size", "sequence_length", "epochs"))
    fitting = {"batch_size": preset.batch_size(batch_size, length), "epochs": preset.epochs(epochs)}
    return replace(task, details={**task.details, **fitting})


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
            *_beyond_the_templates(survey, reading.task),
        ),
    )


def _beyond_the_templates(survey: "Survey", task: Task) -> Iterator[str]:
    """Warns of what a competition, or the name of its submission, wants of inference that the templates cannot do."""
    lookup = task.details.get("lookup_table")
    if survey.server is not None and lookup:
        yield (
            "This competition serves its test data through an inference server (kaggle_evaluation), but the "
            f"inference notebook only predicts the rows of {printable(str(lookup))}. Train with this "
            "pair, and write the server's predict() by hand."
        )
    name, file_format = task.submission_file, table_format(task.submission_file)
    is_binary_archive = file_format.format is TableFormat.PARQUET and file_format.compression
    is_json = file_format.format in (TableFormat.JSON, TableFormat.JSON_LINES)
    if file_format.format is None or is_binary_archive or (is_json and file_format.compression == ".zip"):
        yield (
            f"The submission must have the name {printable(name)}, but the inference notebook can only write CSV, JSON "
            "and "
            "Parquet. Change its last cells by hand. If the competition accepts another file, set it with --file-name."
        )
    elif is_json and table_format(task.sample_submission).format is not file_format.format:
        yield (
            f"{printable(name)} will have one JSON object per row, with the names of the sample's columns. Compare it "
            "with the example on the evaluation page."
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


# What a command line says of a pair in `KEY=VALUE` texts: keys of its task, and knobs of its notebooks.
#
# A knob that is called as a key of the task, as EPOCHS is, sets that key: what the templates make of it follows. So
# does WEIGHTS where it names a model for Kaggle to attach; a path, "" and what is fetched are for the notebook
# alone.


_PRETRAINED = "WEIGHTS"


class SettingError(PairError):
    """Text that sets no key of a task, or not to a value that it can have."""

    def __init__(self, *, text: str, problem: str, option: str = "--set") -> None:
        super().__init__(f'{option} "{printable(text)}": {problem}')


@dataclass(frozen=True)
class Overrides:
    """The texts of a command line, sorted.

    Attributes:
        task: The keys of the task that they set.
        knobs: The texts that set something else in the notebooks, which have to be rendered to know what.
        unknown: The texts that set a key which no task has.
    """

    task: Mapping[str, Value] = field(default_factory=dict)
    knobs: Sequence[str] = ()
    unknown: Sequence[str] = ()


def parse_overrides(settings: Sequence[str], assignments: Sequence[str], current_choices: Choices) -> Overrides:
    """Sorts the texts of a command line.

    Args:
        settings: What stood behind `--set`.
        assignments: What stood behind `-P`.
        current_choices: The choices of the pair as it is; a knob that is a parameter there stays one.

    Raises:
        SettingError: A value is of another kind than its key.
        ParameterError: What is to be set is no knob.
    """
    assignments = [_with_key(text, knob_name(_key_of(text))) for text in assignments]
    settings = [_with_key(text, _key_in_small_letters(_key_of(text))) for text in settings]
    for text in assignments:
        if is_fixed(_key_of(text)):
            raise ParameterError(
                f"{printable(_key_of(text))} cannot be changed: the notebooks need it to find their inputs and each "
                "other."
            )
    of_task = [text for text in assignments if _key_of(text).lower() in known_keys() and "=" in text]
    of_task = [text for text in of_task if _key_of(text).isupper() and _key_of(text) not in current_choices.parameters]
    of_weights = [text for text in assignments if _key_of(text) == _PRETRAINED]
    models = [text for text in of_weights if is_model_handle(_text_of(text))]
    unknown = [text for text in settings if "=" in text and _key_of(text) not in known_keys()]
    task = dict(setting_of(text) for text in settings if text not in unknown)
    task |= dict(setting_of(text, option="-P") for text in of_task)
    task |= {"pretrained": _text_of(models[-1])} if models else {}
    knobs = [text for text in assignments if text not in (*of_task, *models)]
    model_choice = current_choices.task.get("pretrained")
    if len(of_weights) > len(models) and ((model_choice and model_choice.value) or not _text_of(of_weights[-1])):
        task["pretrained"] = ""  # what the knob names, or nothing, takes its place
    return Overrides(task, knobs, unknown)


def _unknown(text: str, family: str, knobs: list[str]) -> SettingError:
    """The error for a key that no task of the family has."""
    key = _key_of(text)
    nearest = did_you_mean(key, [*knobs, *keys_of(family)])
    if any(f'"{name}"' in nearest for name in knobs):
        nearest += " That is a parameter of the notebooks: set it with -P NAME=VALUE."
    examples = f" Examples of its keys: {', '.join(_tunable_keys(family))}. docs/knobs.md lists all."
    problem = f'the family {printable(family)} has no key "{printable(key)}".{nearest or examples}'
    return SettingError(text=text, problem=problem)


def with_knobs(choices: Choices, overrides: Overrides, cells: Mapping[Role, list[Cell]], *, path: Path) -> Choices:
    """Adds to the choices of a pair the knobs that the command line sets.

    Args:
        choices: The choices without them.
        overrides: What the command line says.
        cells: What the choices render to.
        path: The pair's `pair.toml`, for messages.

    Raises:
        SettingError: The command line sets a key that there is not.
        UnknownKeyError: It sets one of another family.
        ParameterError: A knob that no notebook has, or a value of another kind.
        PairError: It sets a key that the file overrules; or a pretrained model that is none, for a notebook that starts
            from nothing else.
    """
    defaults, family = default_parameters(cells), str(choices.pair["family"].value)
    if overrides.unknown:
        raise _unknown(overrides.unknown[0], family, list(defaults))
    for key in overrides.task:
        if key not in keys_of(family):
            from generator.competition.introspection.evidence import UnknownKeyError

            raise UnknownKeyError(key=key, family=family, keys=keys_of(family))
        if key.upper() in choices.parameters:
            raise PairError(
                f"{printable(str(path))} sets the parameter {key.upper()}, which has priority over the key {key}. "
                f"Use -P {key.upper()}=VALUE, or remove the parameter from the file."
            )
    if _PRETRAINED not in defaults and "pretrained" in keys_of(family):
        overrides = replace(overrides, knobs=[text for text in overrides.knobs if not _is_from_scratch(text, choices)])
    values = dict(parse_assignment(text, defaults) for text in overrides.knobs)
    current_values = {name: choice.value for name, choice in choices.parameters.items()}
    flag_choices = {
        name: Choice(value, MadeBy.FLAG) for name, value in values.items() if current_values.get(name) != value
    }
    return replace(choices, parameters={**choices.parameters, **flag_choices})


def setting_of(text: str, *, option: str = "--set") -> tuple[str, Value]:
    """The key and the value of a text such as `image_size=64` or `text_columns=title,body`.

    Args:
        text: What sets a key that some family has.
        option: The option that the text stood behind. With `-P` it may be in capitals.

    Raises:
        SettingError: It is no setting of a task, or its value is of another kind.
    """
    raw_key, equals, value = (part.strip() for part in text.partition("="))
    key = raw_key.lower() if option == "-P" else raw_key
    rules = known_keys().get(key)
    if not equals:
        raise SettingError(text=text, problem="it has no value. Write KEY=VALUE, such as epochs=3.")
    if rules is None:
        raise SettingError(text=text, problem=f'unknown key "{printable(key)}".{did_you_mean(key, known_keys())}')
    try:
        # As `tandem run -P` takes it: in quotes, or a list as JSON.
        setting = value_of(value, rules[0].type()) if option == "-P" else value
        if isinstance(setting, str):
            setting = value_from(setting, rules[0].type)
    except ValueError as error:
        problem = f"{raw_key} must be {TYPE_NAMES[rules[0].type]}."
        raise SettingError(text=text, problem=problem, option=option) from error
    if key == "metric":
        setting = metric_named(str(setting))
    if expected := expected_anywhere(rules, setting):
        raise SettingError(text=text, problem=f"{raw_key} must be {expected}.", option=option)
    return key, setting


def _is_from_scratch(text: str, choices: Choices) -> bool:
    """True if a text says of a notebook that starts from scratch that it does; raises if it names a model."""
    if _key_of(text) != _PRETRAINED:
        return False
    model = {"pretrained": Choice(_text_of(text), MadeBy.FLAG)}
    check_spec(spec_of(replace(choices, task={**choices.task, **model})))
    return True


def _text_of(text: str) -> str:
    """The text that a text such as `WEIGHTS="small"` sets a key to."""
    return str(value_of(text.partition("=")[2].strip(), ""))


def _key_of(text: str) -> str:
    """The key that a text such as `image_size=64` sets."""
    return text.partition("=")[0].strip()


def _with_key(text: str, key: str) -> str:
    """The text with its key written so; as it is where it sets nothing."""
    return f"{key}={text.partition('=')[2]}" if "=" in text and key else text


def _key_in_small_letters(key: str) -> str:
    """A key of a task as `pair.toml` writes it, where the text is one in another case."""
    small = key.lower().replace("-", "_")
    return small if small in known_keys() else key


def _tunable_keys(family: str) -> list[str]:
    """The keys that people turn: what is chosen without looking at the data, what folds go by, and lists of columns."""
    declaration = families()[family]
    task_keys = [key for key, rule in declaration.task.items() if rule.chosen_blindly or key.endswith("_columns")]
    return [*task_keys, *declaration.folds_by]


DEFAULT_FRAMEWORK = "keras"


@dataclass(frozen=True)
class GenerateOptions:
    """The options of `tandem generate`.

    Attributes:
        competition: The competition's slug.
        name: The pair's name; by default the competition, and its framework if that is another than usual.
        flags: Choices of the section `pair` that the command line makes, such as the framework.
        task_flags: Choices of the section `task` that the command line makes, such as the metric.
        settings: Texts that make further ones, such as `image_size=64`.
        assignments: Texts that set knobs of the notebooks, such as `EPOCHS=3`.
        data: The folder with the competition's files, where it is not in its place in the workspace.
        ask: Who can be asked about competitions; nobody by default.
        asks_always: Whether to ask what the hosts say even where the competition's files are at hand.
        force: Whether edits in the pair may be overwritten.
    """

    competition: str
    name: str | None = None
    flags: Mapping[str, Value] = field(default_factory=dict)
    task_flags: Mapping[str, Value] = field(default_factory=dict)
    settings: Sequence[str] = ()
    assignments: Sequence[str] = ()
    data: Path | None = None
    ask: FactSource | None = None
    asks_always: bool = False
    force: bool = False


Infer = Callable[[GenerateOptions], Proposal]
Ask = Callable[[GenerateOptions, Infer], GenerateOptions]


@dataclass(frozen=True)
class PairDraft:
    """A pair that is rendered but not written.

    Attributes:
        folder: Where it belongs.
        choices: Everything that was chosen, with who chose it.
        proposal: What the kit would have chosen, and what it weighed.
        model: What the training notebook says its model is.
        knobs: What can be turned in it.
        user_files: The files beside `pair.toml` that took the place of cells.
        files: The content of each file by its path inside of the folder.
        stale: Those that writing changes.
    """

    folder: PairFolder
    choices: Choices
    proposal: Proposal
    model: str
    knobs: Sequence[Knob]
    user_files: Sequence[Path]
    files: Mapping[Path, bytes]
    stale: frozenset[Path]


def draft(workspace: Workspace, options: GenerateOptions, *, ask: Ask | None = None) -> PairDraft:
    """Infers, merges with what the user chose before, and renders. Nothing is written.

    Args:
        workspace: The user's workspace.
        options: What is asked for.
        ask: Adds to the options what the user answers to what is not clear, before anything is rendered.

    Raises:
        CompetitionError: The competition is not known.
        PairError: Its choices cannot be used or rendered, or writing them would lose edits.
    """
    folder = _folder_of(workspace, options)
    current_choices = read_choices(folder)
    facts = gather_facts(
        options.competition,
        mount_path=workspace.competition_data(options.competition),
        data=options.data,
        ask=options.ask,
        asks_always=options.asks_always,
        old_description=kept_description(folder, options.competition),
    )
    infer = partial(_infer, facts, current_choices)
    overrides = parse_overrides(options.settings, options.assignments, current_choices)
    options = replace(options, task_flags={**options.task_flags, **overrides.task})
    options = ask(options, infer) if ask else options
    proposal = infer(options)

    current_choices = _in_framework(current_choices, options.flags.get("framework"))
    flags = {"competition": options.competition, **options.flags}
    if folder.name != options.competition and not current_choices.pair:
        flags["name"] = folder.name
    proposed_choices = propose_choices(
        proposal.competition, proposal.task, framework=DEFAULT_FRAMEWORK, owner=find_owner()
    )
    choices = merge_choices(proposed_choices, current_choices, flags=flags, task_flags=options.task_flags)
    source = "The command line" if {"family", "framework"} & set(options.flags) else str(folder.choices)
    _check_templates(choices, source=source)
    choices, cells = _rendered_with_knobs(choices, overrides, folder)
    backbone_warnings = untested_backbone(choices.parameters, str(choices.pair["framework"].value))
    proposal = replace(proposal, warnings=(*proposal.warnings, *backbone_warnings))
    existing = read_text(folder.choices) if folder.choices.exists() else None
    text = choices_toml(choices, existing=existing, may_leave_open=proposal.is_built_in)
    files = {Path(folder.choices.name): text.encode("utf-8"), **kernel_files(choices, cells)}
    before = partial(_as_it_says_now, folder)
    return PairDraft(
        folder=folder,
        choices=choices,
        proposal=proposal,
        model=model_summary(cells[Role.TRAIN]),
        knobs=knobs_of(choices, cells[Role.TRAIN]),
        user_files=[*read_own_cells(folder)],
        files=files,
        stale=plan_write(folder, files, force=options.force, without_base=before),
    )


def _folder_of(workspace: Workspace, options: GenerateOptions) -> PairFolder:
    """Returns where the pair belongs: a pair in another framework stands beside the one that is there."""
    usual = pair_folder(workspace, options.name or options.competition)
    framework = options.flags.get("framework")
    if options.name or not is_slug(str(framework)):
        return usual
    framework_choice = read_choices(usual).pair.get("framework")
    is_usual = framework == (DEFAULT_FRAMEWORK if framework_choice is None else framework_choice.value)
    return usual if is_usual else pair_folder(workspace, f"{options.competition}-{framework}")


def write(draft: PairDraft) -> None:
    """Writes a draft, as a whole or not at all.

    Raises:
        FileWriteError: Nothing was changed.
    """
    write_pair(draft.folder, draft.files, draft.stale)
    if draft.proposal.facts.description is not None:
        keep_description(draft.folder, draft.proposal.facts.description)


def turn_knobs(folder: PairFolder, assignments: Sequence[str]) -> None:
    """Sets knobs of an existing pair, in its `pair.toml` and its notebooks, without looking at its competition.

    Args:
        folder: The pair.
        assignments: Texts such as `EPOCHS=3`.

    Raises:
        PairError: Its choices cannot be used, or take no such knob, or writing the notebooks would lose edits.
        FileWriteError: Nothing was changed.
    """
    overrides = parse_overrides((), assignments, read_choices(folder))
    current_choices = complete_choices(folder)
    choices = replace(
        current_choices,
        task={**current_choices.task, **{key: Choice(value, MadeBy.FLAG) for key, value in overrides.task.items()}},
    )
    choices, cells = _rendered_with_knobs(choices, overrides, folder)
    text = choices_toml(choices, existing=read_text(folder.choices))
    files = {Path(folder.choices.name): text.encode("utf-8"), **kernel_files(choices, cells)}
    stale = plan_write(folder, files, force=False, without_base=partial(_as_it_says_now, folder))
    write_pair(folder, files, stale)


def complete_choices(folder: PairFolder) -> Choices:
    """The choices of an existing pair; what its `pair.toml` leaves open is inferred without looking at the environment.

    Raises:
        ChoicesError: The file cannot be used, or does not name the competition.
        CompetitionError: It leaves something open, and the competition is not a built-in one.
    """
    file_choices = read_choices(folder)
    competition = file_choices.pair.get("competition")
    if competition is None:
        raise ChoicesError(
            f'{printable(str(folder.choices))}: "pair.competition" is missing. Add it, or run `tandem generate` again.'
        )
    if _is_complete(file_choices):
        return file_choices
    built_in = builtin.require(str(competition.value))
    proposal = propose_choices(built_in.competition, built_in.task, framework=DEFAULT_FRAMEWORK, owner=unknown_owner())
    return fill_choices(file_choices, proposal)


def read_pair_spec(folder: PairFolder) -> PairSpec:
    """Reads the specification of an existing pair: its id, kernels, competition and task.

    Raises:
        ChoicesError: Its `pair.toml` cannot be used.
        CompetitionError: As for `complete_choices`.
    """
    return spec_of(complete_choices(folder))


def render_again(folder: PairFolder) -> dict[Path, bytes]:
    """Renders the kernels of an existing pair purely from its `pair.toml`.

    Raises:
        PairError: As for `draft`.
    """
    choices = complete_choices(folder)
    _check_templates(choices, source=str(folder.choices))
    return render_kernels(choices, user_files=read_own_cells(folder))


def is_rendered(folder: PairFolder, role: Role) -> bool:
    """True if a notebook says what the kit renders of `pair.toml`, without a cell that anybody wrote."""
    try:
        choices = complete_choices(folder)
        _check_templates(choices, source=str(folder.choices))
        files = render_kernels(choices)
        content = read_text(folder.notebook(role)).encode()
    except TandemError:
        return False
    path = folder.notebook(role).relative_to(folder.path)
    return not edits(path, content, since=files[path])


def _in_framework(current_choices: Choices, framework: Value | None) -> Choices:
    """What stays of the choices of a pair that gets another framework, if it does."""
    before = current_choices.pair.get("framework")
    if framework is None or before is None or framework == before.value:
        return current_choices
    return replace(current_choices, parameters=without_foreign_backbone(current_choices.parameters, str(framework)))


def _infer(facts: CompetitionFacts, current_choices: Choices, options: GenerateOptions) -> Proposal:
    """What the kit makes of a competition, given what the user said now and before."""
    pair_values = {**{key: choice.value for key, choice in current_choices.pair.items()}, **options.flags}
    framework = frameworks().get(str(pair_values.get("framework", DEFAULT_FRAMEWORK)))
    is_attached = pair_values.get("platform", Service.KAGGLE) == Service.KAGGLE  # as Kaggle Models are nowhere else
    return infer_task(
        facts,
        decisions=decisions(current_choices, flags=options.flags, task_flags=options.task_flags),
        models=framework.models if framework and is_attached else (),
    )


def _rendered_with_knobs(
    choices: Choices, overrides: Overrides, folder: PairFolder
) -> tuple[Choices, dict[Role, list[Cell]]]:
    """The choices with the knobs that were set now, and the cells that they render to."""
    # Of all knobs, templates read only the accelerator, which has another name and other hours.
    accelerator_texts = [text for text in overrides.knobs if "=" in text and _key_of(text) == "ACCELERATOR"]
    accelerator = {_key_of(text): Choice(_text_of(text), MadeBy.FLAG) for text in accelerator_texts}
    with_accelerator = replace(choices, parameters={**choices.parameters, **accelerator})
    cells = rendered_cells(with_accelerator, user_files=read_own_cells(folder))
    choices = with_knobs(choices, overrides, cells, path=folder.choices)
    check_storable(choices, path=folder.choices)
    return choices, cells


def _as_it_says_now(folder: PairFolder) -> dict[Path, bytes]:
    """Renders the pair's `pair.toml` as it is before it is changed; nothing if it does not render."""
    try:
        return render_again(folder) if folder.choices.exists() else {}
    except TandemError:
        return {}


def _is_complete(choices: Choices) -> bool:
    if not all(key in choices.pair for key, rule in common()["pair"].items() if not rule.optional):
        return False
    keys = keys_of(str(choices.pair["family"].value))
    return all(key in choices.task for key, rule in keys.items() if rule.default is None)


def _check_templates(choices: Choices, *, source: str) -> None:
    family, framework = str(choices.pair["family"].value), str(choices.pair["framework"].value)
    requirements = {key: str(choices.task[key].value) for key in ("target_kind", "submission") if key in choices.task}
    check_offered(family=family, framework=framework, requirements=requirements, source=source)


# The pairs that a workspace keeps as reference: rendering them again, and checking that nothing drifted.


_ROOT_METADATA = Path("kernel-metadata.json")


class EditedPairsError(PairError):
    """Files of some pairs were edited since they were rendered, so that writing all of them would lose the edits."""

    def __init__(self, *, lost_edits: Mapping[Path, Edits]) -> None:
        files = "\n".join(f"  {printable(str(path))} ({changes})" for path, changes in lost_edits.items())
        super().__init__(
            f"These files have edits, so `tandem generate --all` wrote nothing:\n{files}\n"
            "Render the other pairs one by one with `tandem generate --competition X`, or overwrite these edits with "
            "`tandem generate --all --force`."
        )


def render_pairs(workspace: Workspace) -> dict[Path, bytes]:
    """Renders every pair of a workspace purely from its `pair.toml`.

    The pair with `flagship = true` also gives the metadata at the workspace's root, so that Kaggle's own client pushes
    its training kernel from there.

    Returns:
        What each file should hold, by its path inside of the workspace.

    Raises:
        PairError: There is no pair, one cannot be rendered, or two are flagships.
    """
    pairs = [pair_folder(workspace, pair.name) for pair in workspace.pairs()]
    if not pairs:
        raise PairError(
            f"There is no pair in {workspace.pair('x').path.parent}. Write one with `tandem generate --competition X`."
        )
    files: dict[Path, bytes] = {}
    for pair in pairs:
        for path, content in render_again(pair).items():
            files[pair.path.relative_to(workspace.root) / path] = content
    flagships = [pair for pair in pairs if _is_flagship(pair)]
    if len(flagships) > 1:
        raise PairError(
            "Only one pair can have `flagship = true` in its pair.toml, not "
            f"{' and '.join(pair.name for pair in flagships)}."
        )
    for flagship in flagships:
        files[_ROOT_METADATA] = _root_metadata(workspace, flagship)
    return files


def compare_files(workspace: Workspace, files: Mapping[Path, bytes]) -> dict[Path, str]:
    """Compares every file with what it should hold.

    Args:
        workspace: The workspace.
        files: What was rendered.

    Returns:
        A unified diff, from the file to what it should hold, for each file that differs.
    """
    existing = {path: _existing(workspace.root / path) for path in files}
    return {
        path: _diff(path, existing[path] or b"", content)
        for path, content in files.items()
        if existing[path] != content
    }


def edits_of(workspace: Workspace, files: Mapping[Path, bytes]) -> dict[Path, Edits]:
    """The edits that writing all pairs would lose. A file without the kit's copy of it counts as edited if it differs.

    Args:
        workspace: The workspace.
        files: What was rendered.

    Returns:
        The edits in each file that has some, by its path inside of the workspace.
    """
    lost_edits: dict[Path, Edits] = {}
    for pair, of_pair in _by_pair(workspace, files):
        relative = pair.path.relative_to(workspace.root)
        lost_edits |= {relative / path: changes for path, changes in find_lost_edits(pair, of_pair).items()}
    existing = _existing(workspace.root / _ROOT_METADATA)
    if _ROOT_METADATA in files and existing is not None:
        changes = edits(_ROOT_METADATA, existing, since=files[_ROOT_METADATA])
        if changes and not _is_of_a_pair(workspace, existing):
            lost_edits[_ROOT_METADATA] = changes
    return lost_edits


def write_reference_pairs(workspace: Workspace, *, force: bool = False) -> list[Path]:
    """Writes every file that does not hold what it should, outputs in notebooks included: all pairs, or none.

    `pair.toml` and the kit's copy of it stay as they are, so that an edit in it is still noticed later.

    Args:
        workspace: The workspace.
        force: Whether edits may be overwritten.

    Returns:
        The files that were written, by their paths inside of the workspace.

    Raises:
        EditedPairsError: Some were edited; nothing is written. Never with `force`.
        FileWriteError: The pair at hand is unchanged; those before it are written.
    """
    files = render_pairs(workspace)
    lost_edits = {} if force else edits_of(workspace, files)
    if lost_edits:
        raise EditedPairsError(lost_edits=lost_edits)
    stale = {path: content for path, content in files.items() if _existing(workspace.root / path) != content}
    for pair, changes in _by_pair(workspace, stale):
        commit(pair, changes | {base_of(path): text for path, text in changes.items()})
    if _ROOT_METADATA in stale:
        workspace.files.write(workspace.root / _ROOT_METADATA, stale[_ROOT_METADATA])
    return sorted(stale)


def _by_pair(workspace: Workspace, files: Mapping[Path, bytes]) -> Iterator[tuple[PairFolder, dict[Path, bytes]]]:
    """Yields each pair that some files belong to, with these files by their paths inside of its folder."""
    for pair in workspace.pairs():
        folder = pair.path.relative_to(workspace.root)
        if of_pair := {path.relative_to(folder): text for path, text in files.items() if path.is_relative_to(folder)}:
            yield pair, of_pair


def _is_flagship(pair: PairFolder) -> bool:
    choice = complete_choices(pair).pair.get("flagship")
    return choice is not None and choice.value is True


def _root_metadata(workspace: Workspace, flagship: PairFolder) -> bytes:
    code_file = flagship.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
    return metadata_text(read_pair_spec(flagship), Role.TRAIN, code_file=code_file).encode("utf-8")


def _is_of_a_pair(workspace: Workspace, metadata: bytes) -> bool:
    """True if metadata at the root say what those of a pair's training kernel say, so that nobody edited them."""
    for pair in workspace.pairs():
        code_file = pair.notebook(Role.TRAIN).relative_to(workspace.root).as_posix()
        try:
            fields = json.loads(pair.metadata(Role.TRAIN).read_bytes())
            if json.loads(metadata) == fields | {"code_file": code_file}:
                return True
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return False


def _existing(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except OSError:
        return None


def _diff(path: Path, existing: bytes, content: bytes) -> str:
    before, after = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (existing, content))
    return "".join(difflib.unified_diff(before, after, fromfile=f"{path} as it is", tofile=f"{path} as rendered"))
