"""The verb `generate`: a pair of notebooks for a competition, its questions and its report."""

import json
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from generator import __version__
from generator.accelerators import cpu_seconds, finetune_text_seconds
from generator.cli.options import (
    KnobCommand,
    assignments_option,
    competition_name,
    data_option,
    json_option,
    to_option,
    word_completer,
    workspace_option,
)
from generator.cli.terminal import complain, is_interactive, table, warn
from generator.competition import builtin
from generator.competition.facts import Medium, Value
from generator.competition.metrics import METRICS, metric_named
from generator.competition.schema import (
    Family,
    Framework,
    Preset,
    Setting,
    common,
    display_name,
    families,
    frameworks,
    keys_of,
    preset_of,
)
from generator.errors import CompetitionError, TandemError, did_you_mean
from generator.files import read_bytes
from generator.pair import generation
from generator.pair.data import ensure_data, has_data, link_data, unpack_if_packed, unpack_whole, whole_archive
from generator.pair.generation import GenerateOptions, Infer, PairDraft
from generator.pair.overrides import parse_setting
from generator.pair.settings import PLACEHOLDER_OWNER, checked_owner
from generator.pair.spec import suggested_models
from generator.pair.workspace import Workspace
from generator.text import duration, is_slug, printable

if TYPE_CHECKING:
    from generator.competition.facts import CompetitionDescription
    from generator.competition.introspection.evidence import Finding
    from generator.competition.survey.facts import Survey
    from generator.kaggle.competition_data import RemoteFacts
    from generator.kaggle.gateway import Kaggle


# Asking a Kaggle about a competition from the command line: which one, with progress on stderr.


_SECONDS_BETWEEN_LINES = 2.0


@dataclass
class KaggleFactSource:
    """A Kaggle that is met when it is first asked, and asked once; `to` is None where the user did not choose one."""

    to: str | None
    _descriptions: "dict[str, CompetitionDescription]" = field(default_factory=dict)
    _surveys: "dict[str, Survey]" = field(default_factory=dict)
    _last_line: float = field(default_factory=time.monotonic)

    def describe(self, slug: str) -> "CompetitionDescription":
        """The hosts' description of a competition, see `RemoteFacts`."""
        from generator.competition import builtin
        from generator.kaggle.errors import NotFoundError

        if slug in self._descriptions:
            return self._descriptions[slug]
        facts = self._remote_facts
        click.echo(f"Asking {facts.source} about {printable(slug)} …", err=True)
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
    def _remote_facts(self) -> "RemoteFacts":
        from generator.competition.facts import CannotAskError
        from generator.kaggle.competition_data import RemoteFacts
        from generator.kaggle.errors import CredentialsError, OtherKaggleError

        try:
            return RemoteFacts(connect_kaggle(self.to), tell=self._tell)
        except (CredentialsError, OtherKaggleError) as error:
            if self.to is not None:
                raise
            raise CannotAskError(reason=error.message) from error

    def _tell(self, path: str) -> None:
        """A line now and then: a small competition needs none, a large one must not look stuck."""
        if time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            click.echo(f"Looking at {printable(path)} …", err=True)


class _OnStderr(logging.Handler):
    """Shows each message as a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        click.echo(printable(record.getMessage()), err=True)


def connect_kaggle(to: str | None) -> "Kaggle":
    """The Kaggle that the user chose, the real one by default; what is not safe about this machine is said on stderr.

    So is from now on what is waited for, unless the command reports as JSON.

    Raises:
        KaggleError: There are no credentials for it, or no local one runs.
    """
    from generator.kaggle.connect import Target, connect
    from generator.kaggle.transport import WAITING

    context = click.get_current_context(silent=True)
    is_json = context is not None and bool(context.params.get("as_json"))
    WAITING.setLevel(logging.INFO)
    WAITING.handlers[:] = [logging.NullHandler() if is_json else _OnStderr()]
    kaggle = connect(Target(to or Target.KAGGLE))
    for warning in kaggle.warnings():
        warn(warning)
    return kaggle


# The report of `generate`: the settings with their evidence, the files, and what to do next.


_MOST_FILES = 8
_SMALL_TABLE = 4 << 20  # bytes
_SHARE_OF_ONE_FOLD = 0.8  # of the examples, where one fold is held out alone


def pair_as_text(workspace: Workspace, draft: PairDraft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The settings with their evidence, the parameters of training, the files, and what to do next."""
    state = "would be written" if is_dry_run else "written"
    files = [[state if path in draft.stale else "unchanged", str(draft.folder.path / path)] for path in draft.files]
    lines = [_settings(draft, explain=explain), "", _parameters(draft, explain=explain), ""]
    if explain:
        lines = [_explanation(draft), "", *lines]
    lines += [table(["state", "file"], files), ""]
    if draft.user_files:
        own_cells = ", ".join(printable(path.name) for path in draft.user_files)
        lines.append(f"These cells come from your files in {printable(str(draft.folder.path))}: {own_cells}.")
    lines += _list_unused(draft)
    if draft.settings.get("owner") == PLACEHOLDER_OWNER:
        lines.append("To push to Kaggle, generate the pair again with your Kaggle user name: --owner NAME.")
    preset, pretrained = _preset(draft), draft.settings.task.get("pretrained")
    if preset and pretrained and not pretrained.is_users:
        data_command = _command(workspace, "data", draft.proposal.competition.slug, to)
        lines.append(
            f"Training starts from the pretrained model {preset.handle}. Kaggle attaches it to the notebooks. For runs "
            f"on this machine, download it with {data_command}. To train a small model from scratch instead, use "
            "--set pretrained=''."
        )
    elif not pretrained and (models := suggested_models(draft.settings.family, draft.settings.framework)):
        lines.append(
            f"To start from a pretrained model, use --set pretrained={'|'.join(models)} (see docs/competitions.md)."
        )
    lines += _text_on_a_cpu(workspace, draft, preset) if preset else _on_a_cpu(workspace, draft)
    if not draft.proposal.has_data:
        whole = _command(workspace, "data", draft.proposal.competition.slug, to)
        lines.append(
            f"The data are not on this machine. Test on a small synthetic copy, or download them with: {whole}"
        )
    return "\n".join([*lines, f"Next: {_next_command(workspace, draft, to)}"])


def _preset(draft: PairDraft) -> Preset | None:
    """The pretrained model of texts that training starts from."""
    return preset_of(draft.settings.family, str(draft.settings.get("pretrained", "")))


def _settings(draft: PairDraft, *, explain: bool) -> str:
    """The settings, but for those among the parameters, and those that have their default."""
    keys = keys_of(draft.settings.family)
    parameters = draft.parameters if explain else draft.main_parameters
    rows = [
        [key, value_text(entry.value), str(entry.by), entry.evidence]
        for section in draft.settings.sections.values()
        for key, entry in section.items()
        if key.upper() not in parameters
        and (explain or entry.is_users or key not in keys or entry.value != keys[key].default)
    ]
    return table(["choice", "value", "by", "evidence"], rows)


def _parameters(draft: PairDraft, *, explain: bool) -> str:
    rows = [
        [name, value_text(entry.value), str(entry.by), entry.evidence]
        for name, entry in draft.parameters.items()
        if name in draft.main_parameters or explain
    ]
    model = [f"Training: {printable(draft.model)}."] if draft.model else []
    hidden_count = len(draft.parameters) - len(rows)
    hint = (
        [f"Change a knob with -P NAME=VALUE. docs/knobs.md explains these and {hidden_count} more."]
        if hidden_count
        else []
    )
    return "\n".join([*model, table(["knob", "value", "by", "meaning"], rows), *hint])


def _list_unused(draft: PairDraft) -> list[str]:
    """A sentence on the files that the notebooks leave aside."""
    unused_files = draft.proposal.unused_files
    names = [printable(path) for path in unused_files[:_MOST_FILES]]
    suffix = f" and {len(unused_files) - len(names)} more" if len(unused_files) > len(names) else ""
    return [f"Not used by the notebooks: {', '.join(names)}{suffix}."] if unused_files else []


def _on_a_cpu(workspace: Workspace, draft: PairDraft) -> list[str]:
    """A sentence where the model and its data are so small that a CPU trains it before a TPU has started."""
    if "ACCELERATOR" in draft.settings.parameters:
        return []
    values = {name: entry.value for name, entry in draft.parameters.items()}
    seconds = cpu_seconds(
        _training_rows(workspace, draft),
        int(str(values.get("EPOCHS", 0))) * int(str(values.get("N_FOLDS", 1))),
        pixels=int(str(values["IMAGE_SIZE"])) ** 2 if "IMAGE_SIZE" in values else None,
        is_table=families()[draft.settings.family].medium is Medium.ROW,
    )
    if seconds is None:
        return []
    compares = f"To compare accelerators: {_command(workspace, 'plan', draft.folder.name)}."
    takes = f"The data are small: a CPU trains this model in about {duration(seconds)}, without quota or queue."
    return [f"{takes} To train on a CPU: -P ACCELERATOR=cpu. {compares}"]


def _text_on_a_cpu(workspace: Workspace, draft: PairDraft, preset: Preset) -> list[str]:
    """A sentence on how long a CPU fine-tunes a pretrained model of texts, and what makes that less."""
    values = {name: entry.value for name, entry in draft.parameters.items()}
    accelerator = draft.settings.parameters.get("ACCELERATOR")
    folds, epochs, length = (int(str(values.get(name, 0))) for name in ("N_FOLDS", "EPOCHS", "SEQUENCE_LENGTH"))
    tokens = _training_rows(workspace, draft) * length * epochs
    if not tokens or (accelerator is not None and accelerator.value != "cpu"):
        return []
    one_fold_time, all_folds_time = (
        duration(finetune_text_seconds(tokens * times, preset.layers)) for times in (_SHARE_OF_ONE_FOLD, folds - 1)
    )
    fewer = f" With -P N_FOLDS=1 it takes {one_fold_time}; fewer EPOCHS take less." if folds > 1 else ""
    takes = all_folds_time if folds > 1 else one_fold_time
    return [f"A CPU with two cores trains this in about {takes}.{fewer} --set pretrained='' is much faster."]


def _training_rows(workspace: Workspace, draft: PairDraft) -> int:
    """The rows of the training table, as far as they were seen; 0 where nothing is known of them."""
    name, survey = draft.settings.get("train_table"), draft.proposal.facts.survey
    if name is None:
        return 0
    table = survey.table(str(name)) if survey is not None else None
    if table is not None:
        return table.rows
    path = workspace.competition_data(draft.proposal.competition.slug) / str(name)
    try:
        return read_bytes(path).count(b"\n") - 1 if path.stat().st_size < _SMALL_TABLE else 0
    except OSError:
        return 0


def _explanation(draft: PairDraft) -> str:
    """Everything that was weighed, the best candidate of each key first."""
    rows = [
        [
            finding.key if place == 0 else "",
            value_text(candidate.value),
            f"{candidate.weight:g}",
            f"{candidate.evidence}{' (thin)' if finding.confidence == 'thin' and place == 0 else ''}",
        ]
        for finding in draft.proposal.findings
        for place, candidate in enumerate(finding.candidates)
    ]
    if not rows:
        return f"No candidates were compared: the task comes from {draft.proposal.source}."
    return table(["key", "candidate", "weight", "evidence"], rows)


def pair_as_json(workspace: Workspace, draft: PairDraft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The same for programs."""
    sections = {
        name: {key: {"value": c.value, "by": str(c.by), "evidence": c.evidence} for key, c in section.items()}
        for name, section in draft.settings.sections.items()
    }
    report = {
        "pair": draft.folder.name,
        "folder": str(draft.folder.path),
        "dry_run": is_dry_run,
        "choices": sections,
        "model": draft.model,
        "knobs": {name: {"value": entry.value, "by": str(entry.by)} for name, entry in draft.parameters.items()},
        "own_cells": [path.name for path in draft.user_files],
        "unused": list(draft.proposal.unused_files),
        "warnings": list(draft.proposal.warnings),
        "files": {path.as_posix(): "written" if path in draft.stale else "unchanged" for path in draft.files},
        "next": _next_command(workspace, draft, to),
    }
    if explain:
        report["weighed"] = {
            finding.key: [asdict(candidate) for candidate in finding.candidates] for finding in draft.proposal.findings
        }
    return json.dumps(report, indent=2)


def _next_command(workspace: Workspace, draft: PairDraft, to: str | None) -> str:
    run_command = _command(workspace, "run", draft.folder.name)
    if draft.proposal.has_data:
        preset = _preset(draft)
        return (
            run_command
            if preset is None or (workspace.input / "models" / preset.handle).is_dir()
            else f"{run_command} --smoke"
        )
    return f"{_command(workspace, 'specimen', draft.proposal.competition.slug, to)} && {run_command} --specimen"


def _command(workspace: Workspace, verb: str, name: str, to: str | None = None) -> str:
    elsewhere = [] if workspace.root == Path() else ["--workspace", str(workspace.root)]
    to_flag = ["--to", to] if to else []
    return shlex.join(["tandem", verb, name, *to_flag, *elsewhere])


def value_text(value: object) -> str:
    """A value as it is shown: text that can be seen as it is, anything else as JSON."""
    return value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)


# The questions of `generate`: values that are hardly more than a guess are put to whoever sits at the terminal.


_MOST_SHOWN = 9


def ask_about_unclear(options: GenerateOptions, infer: Infer) -> GenerateOptions:
    """Asks for every value that is not clear; each answer counts for those that rest on it.

    Args:
        options: The options of the command line.
        infer: Infers the task, given the options.

    Returns:
        The options with the answers among their flags, which are kept even where they confirm what was inferred.
    """
    answered_keys: set[str] = set()
    while unclear := [finding for finding in infer(options).unclear if finding.key not in answered_keys]:
        options = _with_answer(unclear[0], options, infer)
        answered_keys.add(unclear[0].key)
    return options


def _with_answer(finding: "Finding", options: GenerateOptions, infer: Infer) -> GenerateOptions:
    candidates = finding.candidates[:_MOST_SHOWN]
    # A number that is typed could be meant for either, so numbers are not numbered.
    is_number = isinstance(finding.value, int | float) and not isinstance(finding.value, bool)
    names = [
        value_text(candidate.value) if is_number else str(place) for place, candidate in enumerate(candidates, start=1)
    ]
    rows = [
        [name, _format_value(candidate.value), candidate.evidence]
        for name, candidate in zip(names, candidates, strict=True)
    ]
    click.echo(f"{display_name(finding.key)} is not clear from the files. The candidates are:", err=True)
    click.echo(
        table(["", "value", "evidence"][is_number:], [row[is_number:] for row in rows], stream=sys.stderr), err=True
    )
    question = "Value" if is_number else "Number of a candidate, or another value"
    while True:
        text = click.prompt(question, default=names[0], err=True).strip()
        try:
            values = dict(zip(names, (candidate.value for candidate in candidates), strict=True))
            value = values[text] if text in values else _value(finding.key, text)
            with_answer = replace(options, values={**options.values, finding.key: value})
            infer(with_answer)
        except TandemError as error:
            complain(error.message)
        else:
            return with_answer


def _value(key: str, text: str) -> Value:
    return text if key == "family" else parse_setting(f"{key}={text}")[1]


def _format_value(value: Value) -> str:
    return "none" if value in ("", []) else value_text(value)


_Command = Callable[..., Any]
# With the keys of pair.toml that have flags.
_DECIDING = ("data", "to", "inference_hours", "settings", "assignments", "owner", "name", "explain")


def _keys_with_flags(section: str) -> dict[str, Setting]:
    return {key: rule for key, rule in common()[section].items() if rule.flag}


def _flags_of_keys(command: _Command) -> _Command:
    """Gives a command an option for each key of `pair.toml` that is declared with a flag."""
    for key, rule in reversed({**_keys_with_flags("pair"), **_keys_with_flags("task")}.items()):
        flag, metavar = rule.flag.split()
        is_list, complete = rule.type is list, word_completer(partial(_words, key, rule))
        option = click.option(flag, key, metavar=metavar, multiple=is_list, help=rule.help, shell_complete=complete)
        command = option(command)
    return command


def _competitions(context: click.Context) -> set[str]:
    data_folder = context.params["workspace"].competition_data("x").parent
    return {*builtin.competition_slugs(), *(path.name for path in data_folder.glob("*/"))}


def _words(key: str, rule: Setting, _: click.Context) -> Iterable[str]:
    """What a shell completes the option of a key with."""
    if key == "metric":
        return [facts.task_name(facts.parameter_default) for facts in METRICS.values()]
    if key == "framework":
        return list(frameworks())
    return families() if key == "family" else rule.options


@click.command(cls=KnobCommand)
@click.argument("named", metavar="[COMPETITION]", required=False, shell_complete=word_completer(_competitions))
@click.option(
    "--competition",
    metavar="SLUG",
    help="The same as the argument COMPETITION.",
    shell_complete=word_completer(_competitions),
)
@data_option(default="input/competitions/SLUG")
@to_option(
    "Which Kaggle to ask if the files are not on this machine: the real one (default) or the local one of "
    "`tandem serve`. With --to, title, metric and rules come from there even if the files are on this machine."
)
@_flags_of_keys
@click.option(
    "--inference-hours",
    type=click.FloatRange(0, 48, min_open=True),
    metavar="N",
    help="Time limit of the inference notebook in hours, if the competition's pages do not state it.",
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any other key of the task in pair.toml."
)
@assignments_option("Set a parameter of the notebooks (see docs/knobs.md). Can be repeated.")
@click.option("--owner", metavar="NAME", help="Your Kaggle user name. Default: the name in Kaggle's credentials.")
@click.option("--name", metavar="NAME", help="The name of the folder in kernels/. Default: the competition's name.")
@click.option("--force", is_flag=True, help="Overwrite edited notebooks and metadata. With --all: in every pair.")
@workspace_option
@click.option("--explain", is_flag=True, help="Show all candidates for each value, with their evidence.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, but write nothing.")
@json_option
@click.option("--list", "show_list", is_flag=True, help="List families, frameworks, built-in competitions and metrics.")
@click.option("--all", "all_pairs", is_flag=True, help="Render every pair of the workspace again from its pair.toml.")
@click.option("--check", is_flag=True, help="With --all: write nothing; show a diff and exit with 1 if a file differs.")
@click.version_option(__version__, prog_name="tandem")
@click.pass_context
def generate(context: click.Context, /, **options: Any) -> int:
    """Write a pair of notebooks for a competition to kernels/NAME.

    COMPETITION is the name of a competition on Kaggle, its address, or the name of a built-in competition.

    The task is inferred from the competition's files. If the files are not on this machine, parts of them are read
    through Kaggle's API. The report shows the evidence for each value. You can set every value with an option or in
    pair.toml, and your values are kept. Notebooks that you edited are overwritten only with --force.

    \b
    tandem generate digits
    tandem generate --competition titanic --data ~/Downloads/titanic --metric accuracy
    tandem generate --competition titanic -P N_FOLDS=10 -P DROPOUT=0.2
    """  # noqa: D301 - click wants the character itself
    argument = options.pop("named")
    if argument is not None and options["competition"] is not None:
        context.fail(
            f"There are two competitions, {printable(argument)} and {printable(options['competition'])}: name only one."
        )
    if (competition := argument or options["competition"]) is not None:
        options["competition"] = competition_name(competition)
    _check_usage(context, options)
    if options["show_list"]:
        return _show_list(as_json=options["as_json"])
    workspace: Workspace = options["workspace"]
    if options["all_pairs"]:
        if options["check"] or options["dry_run"]:
            return _check_all(workspace, as_json=options["as_json"])
        return _write_all(workspace, force=options["force"], as_json=options["as_json"])
    return _generate(workspace, options)


def _check_usage(context: click.Context, options: Mapping[str, Any]) -> None:
    """Refuses combinations that mean nothing, as usage errors with exit code 2."""
    modes = [name for name in ("competition", "show_list", "all_pairs") if options[name]]
    if len(modes) != 1:
        context.fail("Name one competition, for example `tandem generate titanic`, or use --list or --all.")
    if options["check"] and not options["all_pairs"]:
        context.fail("--check works only with --all.")
    if options["force"] and (options["show_list"] or options["check"]):
        context.fail("--force does not work with --list or --check: these write nothing.")
    of_one_pair = {*_DECIDING, *_keys_with_flags("pair"), *_keys_with_flags("task")}
    flags = [option.opts[0] for option in context.command.params if option.name in of_one_pair and options[option.name]]
    if flags and not options["competition"]:
        context.fail(f"{flags[0]} works only with a competition.")


def _generate(workspace: Workspace, options: Mapping[str, Any]) -> int:
    values = _values(options)
    slug = options["competition"]
    if not options["dry_run"]:
        data = unpack_if_packed(slug, options["data"], workspace, tell=partial(click.echo, err=True))
        return _generate_from(workspace, data, values, options)
    with TemporaryDirectory() as place:
        archive = whole_archive(slug, options["data"] or workspace.competition_data(slug)) if is_slug(slug) else None
        if archive is None:
            return _generate_from(workspace, options["data"], values, options)
        unpack_whole(slug, archive, Workspace(Path(place)))
        return _generate_from(workspace, Workspace(Path(place)).competition_data(slug), values, options)


def _generate_from(workspace: Workspace, data: Path | None, values: dict[str, Any], options: Mapping[str, Any]) -> int:
    generate_options = GenerateOptions(
        options["competition"],
        name=options["name"],
        values=values,
        data=data,
        task_assignments=options["settings"],
        parameter_assignments=options["assignments"],
        ask=KaggleFactSource(options["to"]),
        asks_always=options["to"] is not None,
        force=options["force"],
    )
    may_ask = is_interactive() and not (options["as_json"] or options["dry_run"])
    draft = generation.draft(workspace, generate_options, ask=ask_about_unclear if may_ask else None)
    if not options["dry_run"]:
        _bring_data(workspace, draft)
        generation.write(draft)
    for warning in draft.proposal.warnings:
        warn(warning)
    report = pair_as_json if options["as_json"] else pair_as_text
    click.echo(report(workspace, draft, is_dry_run=options["dry_run"], explain=options["explain"], to=options["to"]))
    return 0


def _values(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the pair and of its task that options of their own set, by key."""
    pair_keys = [key for key in _keys_with_flags("pair") if options[key] is not None]
    values: dict[str, Any] = {key: _canonical(key, options[key]) for key in pair_keys}
    if options["inference_hours"] is not None:
        values["inference_hours"] = options["inference_hours"]
    if options["owner"]:
        values["owner"] = checked_owner(options["owner"])
    for key in _keys_with_flags("task"):
        if value := options[key]:
            is_name = key in ("target_kind", "submission")
            values[key] = list(value) if isinstance(value, tuple) else _canonical(key, value) if is_name else value
    if "metric" in values:
        values["metric"] = metric_named(values["metric"])
    return values


def _canonical(key: str, name: str) -> str:
    """A name that the kit declares, where the text is it in another case, or what it is called elsewhere."""
    lower = name.strip().lower()
    candidates: list[Family | Framework] = []
    if key in ("family", "framework"):
        candidates = [*(families() if key == "family" else frameworks()).values()]
    alias = lower.replace("-", "_").replace(" ", "_")
    return next((candidate.name for candidate in candidates if alias in candidate.aliases), lower)


def _bring_data(workspace: Workspace, draft: PairDraft) -> None:
    """Puts the competition's files where the notebooks look for them: writes or links them, if they are not there."""
    competition = draft.proposal.competition.slug
    target_folder = workspace.competition_data(competition)
    data = draft.proposal.facts.folder
    if draft.proposal.is_built_in:
        built_in = builtin.require(competition)
        if not has_data(built_in, workspace):
            click.echo(f"Writing the data of {competition} …", err=True)
        ensure_data(built_in, workspace)
    elif data is not None and link_data(data, target_folder, workspace.files):
        click.echo(f"{target_folder} is now a link to {data}.", err=True)


def _show_list(*, as_json: bool) -> int:
    if as_json:
        report = {
            "families": [_family_as_json(family) for family in families().values()],
            "frameworks": [vars(framework) for framework in frameworks().values()],
            "competitions": builtin.competition_slugs(),
            "metrics": {name: facts.title for name, facts in METRICS.items()},
        }
        click.echo(json.dumps(report, indent=2))
        return 0
    rows = [[family.name, ", ".join(family.frameworks), family.description] for family in families().values()]
    click.echo(table(["family", "frameworks", "what it is"], rows) + "\n")
    rows = [[framework.name, framework.title, framework.description] for framework in frameworks().values()]
    click.echo(table(["framework", "title", "what it is"], rows) + "\n")
    rows = [[slug, builtin.require(slug).competition.title] for slug in builtin.competition_slugs()]
    click.echo(table(["competition", "title"], rows) + "\n")
    rows = [
        [facts.task_name(facts.parameter_default), facts.title, "higher" if facts.higher_is_better else "lower"]
        for facts in METRICS.values()
    ]
    click.echo(table(["metric", "title", "better"], rows))
    return 0


def _family_as_json(family: Family) -> dict[str, Any]:
    names = ("name", "title", "description", "frameworks", "targets")
    keys = {key: rule.help for key, rule in keys_of(family.name).items()}
    return {name: getattr(family, name) for name in names} | {"keys": keys}


def _write_all(workspace: Workspace, *, force: bool, as_json: bool) -> int:
    from generator.pair import reference_pairs

    paths = [path.as_posix() for path in reference_pairs.write_reference_pairs(workspace, force=force)]
    text = "\n".join(f"{path}  written" for path in paths) or "All files are up to date."
    click.echo(json.dumps({"written": paths}, indent=2) if as_json else text)
    return 0


def _check_all(workspace: Workspace, *, as_json: bool) -> int:
    from generator.cli.main import EXIT_ERROR
    from generator.pair import reference_pairs

    files = reference_pairs.render_pairs(workspace)
    diffs = reference_pairs.compare_files(workspace, files)
    edits = reference_pairs.edits_of(workspace, files) if diffs else {}
    if as_json:
        report = {
            "differs": {path.as_posix(): diff for path, diff in diffs.items()},
            "edited": {path.as_posix(): str(changes) for path, changes in edits.items()},
        }
        click.echo(json.dumps(report, indent=2))
    elif diffs:
        click.echo("".join(diffs.values()))
        ways = reference_pairs.EditedPairsError(lost_edits=edits) if edits else "`tandem generate --all` writes them."
        click.echo(f"{len(diffs)} files differ from the rendered ones. {ways}", err=True)
    else:
        click.echo("All files are up to date.")
    return EXIT_ERROR if diffs else 0
