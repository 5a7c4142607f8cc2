"""Generating a pair: from a competition and what the user chose to the files of both kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from generator.accelerators.catalog import Service
from generator.competition import builtin
from generator.competition.description import FactSource
from generator.competition.facts import Value
from generator.competition.schema import common, keys_of
from generator.errors import TandemError
from generator.files import read_text
from generator.pair.assignments import Assignments, read_assignments, with_knobs
from generator.pair.backbones import untested_backbone, without_foreign_backbone
from generator.pair.choices import Choice, Choices, MadeBy, completed, decisions, merged, proposed
from generator.pair.choices_toml import ChoicesError, check_storable, text_of
from generator.pair.edits import edits
from generator.pair.folder import pair_folder, planned, read_choices, write_pair
from generator.pair.kept_description import keep_description, kept_description
from generator.pair.kernel_files import kernel_files, render_kernels, rendered_cells
from generator.pair.knobs import Knob, knobs_of, model_of
from generator.pair.own_cells import read_own_cells
from generator.pair.owner import find_owner, unknown_owner
from generator.pair.percent import Cell
from generator.pair.proposal import Proposal, propose
from generator.pair.sources import Known, look
from generator.pair.spec import PairSpec, spec_of
from generator.pair.template_catalog import check_offered, check_tpu, frameworks
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.untrusted import is_slug, printable

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


Ask = Callable[[GenerateOptions, Callable[[GenerateOptions], Proposal]], GenerateOptions]


@dataclass(frozen=True)
class Draft:
    """A pair that is rendered but not written.

    Attributes:
        folder: Where it belongs.
        choices: Everything that was chosen, with who chose it.
        proposal: What the kit would have chosen, and what it weighed.
        model: What the training notebook says its model is.
        knobs: What can be turned in it.
        own: The files beside `pair.toml` that took the place of cells.
        files: The content of each file by its path inside of the folder.
        stale: Those that writing changes.
    """

    folder: PairFolder
    choices: Choices
    proposal: Proposal
    model: str
    knobs: Sequence[Knob]
    own: Sequence[Path]
    files: Mapping[Path, bytes]
    stale: frozenset[Path]


def draft(workspace: Workspace, options: GenerateOptions, *, ask: Ask | None = None) -> Draft:
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
    kept = read_choices(folder)
    known = look(
        options.competition,
        mounted=workspace.competition_data(options.competition),
        data=options.data,
        ask=options.ask,
        asks_always=options.asks_always,
        known=kept_description(folder, options.competition),
    )
    understand = partial(_understood, known, kept)
    said = read_assignments(options.settings, options.assignments, kept)
    options = replace(options, task_flags={**options.task_flags, **said.task})
    options = ask(options, understand) if ask else options
    made = understand(options)

    kept = _in_framework(kept, options.flags.get("framework"))
    flags = {"competition": options.competition, **options.flags}
    if folder.name != options.competition and not kept.pair:
        flags["name"] = folder.name
    proposal = proposed(made.competition, made.task, framework=DEFAULT_FRAMEWORK, owner=find_owner())
    choices = merged(proposal, kept, flags=flags, task_flags=options.task_flags)
    source = "The command line" if {"family", "framework"} & set(options.flags) else str(folder.choices)
    _check_templates(choices, source=source)
    choices, cells = _rendered_with_knobs(choices, said, folder)
    untested = untested_backbone(choices.parameters, str(choices.pair["framework"].value))
    made = replace(made, warnings=(*made.warnings, *untested))
    existing = read_text(folder.choices) if folder.choices.exists() else None
    text = text_of(choices, existing=existing, may_leave_open=made.is_built_in)
    files = {Path(folder.choices.name): text.encode("utf-8"), **kernel_files(choices, cells)}
    before = partial(_as_it_says_now, folder)
    return Draft(
        folder=folder,
        choices=choices,
        proposal=made,
        model=model_of(cells[Role.TRAIN]),
        knobs=knobs_of(choices, cells[Role.TRAIN]),
        own=[*read_own_cells(folder)],
        files=files,
        stale=planned(folder, files, force=options.force, without_base=before),
    )


def _folder_of(workspace: Workspace, options: GenerateOptions) -> PairFolder:
    """Returns where the pair belongs: a pair in another framework stands beside the one that is there."""
    usual = pair_folder(workspace, options.name or options.competition)
    framework = options.flags.get("framework")
    if options.name or not is_slug(str(framework)):
        return usual
    written = read_choices(usual).pair.get("framework")
    is_usual = framework == (DEFAULT_FRAMEWORK if written is None else written.value)
    return usual if is_usual else pair_folder(workspace, f"{options.competition}-{framework}")


def write(made: Draft) -> None:
    """Writes a draft, as a whole or not at all.

    Raises:
        FileWriteError: Nothing was changed.
    """
    write_pair(made.folder, made.files, made.stale)
    if made.proposal.known.description is not None:
        keep_description(made.folder, made.proposal.known.description)


def turn_knobs(folder: PairFolder, assignments: Sequence[str]) -> None:
    """Sets knobs of an existing pair, in its `pair.toml` and its notebooks, without looking at its competition.

    Args:
        folder: The pair.
        assignments: Texts such as `EPOCHS=3`.

    Raises:
        PairError: Its choices cannot be used, or take no such knob, or writing the notebooks would lose edits.
        FileWriteError: Nothing was changed.
    """
    said = read_assignments((), assignments, read_choices(folder))
    kept = complete_choices(folder)
    choices = replace(kept, task={**kept.task, **{key: Choice(value, MadeBy.FLAG) for key, value in said.task.items()}})
    choices, cells = _rendered_with_knobs(choices, said, folder)
    text = text_of(choices, existing=read_text(folder.choices))
    files = {Path(folder.choices.name): text.encode("utf-8"), **kernel_files(choices, cells)}
    stale = planned(folder, files, force=False, without_base=partial(_as_it_says_now, folder))
    write_pair(folder, files, stale)


def complete_choices(folder: PairFolder) -> Choices:
    """The choices of an existing pair; what its `pair.toml` leaves open is inferred without looking at the environment.

    Raises:
        ChoicesError: The file cannot be used, or does not name the competition.
        CompetitionError: It leaves something open, and the competition is not a built-in one.
    """
    written = read_choices(folder)
    competition = written.pair.get("competition")
    if competition is None:
        raise ChoicesError(
            f'{printable(str(folder.choices))}: "pair.competition" is missing; add it, or run `tandem generate` again.'
        )
    if _is_complete(written):
        return written
    known = builtin.require(str(competition.value))
    proposal = proposed(known.competition, known.task, framework=DEFAULT_FRAMEWORK, owner=unknown_owner())
    return completed(written, proposal)


def read_pair(folder: PairFolder) -> PairSpec:
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
    return render_kernels(choices, own=read_own_cells(folder))


def is_rendered(folder: PairFolder, role: Role) -> bool:
    """True if a notebook says what the kit renders of `pair.toml`, without a cell that anybody wrote."""
    try:
        choices = complete_choices(folder)
        _check_templates(choices, source=str(folder.choices))
        rendered = render_kernels(choices)
        content = read_text(folder.notebook(role)).encode()
    except TandemError:
        return False
    path = folder.notebook(role).relative_to(folder.path)
    return not edits(path, content, since=rendered[path])


def _in_framework(kept: Choices, framework: Value | None) -> Choices:
    """What stays of the choices of a pair that gets another framework, if it does."""
    before = kept.pair.get("framework")
    if framework is None or before is None or framework == before.value:
        return kept
    return replace(kept, parameters=without_foreign_backbone(kept.parameters, str(framework)))


def _understood(known: Known, kept: Choices, options: GenerateOptions) -> Proposal:
    """What the kit makes of a competition, given what the user said now and before."""
    chosen = {**{key: choice.value for key, choice in kept.pair.items()}, **options.flags}
    framework = frameworks().get(str(chosen.get("framework", DEFAULT_FRAMEWORK)))
    is_attached = chosen.get("platform", Service.KAGGLE) == Service.KAGGLE  # as Kaggle Models are nowhere else
    return propose(
        known,
        decisions=decisions(kept, flags=options.flags, task_flags=options.task_flags),
        models=framework.models if framework and is_attached else (),
    )


def _rendered_with_knobs(
    choices: Choices, said: Assignments, folder: PairFolder
) -> tuple[Choices, dict[Role, list[Cell]]]:
    """The choices with the knobs that were set now, and the cells that they render to."""
    own = read_own_cells(folder)
    cells = rendered_cells(choices, own=own)
    made = with_knobs(choices, said, cells, path=folder.choices)
    check_storable(made, path=folder.choices)
    # An accelerator has another name and other hours.
    spec = spec_of(made)
    check_tpu(framework=spec.framework, platform=spec.platform, accelerator=spec.accelerator)
    return made, cells if made == choices else rendered_cells(made, own=own)


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
    wanted = {key: str(choices.task[key].value) for key in ("target_kind", "submission") if key in choices.task}
    check_offered(family=family, framework=framework, wanted=wanted, source=source)
