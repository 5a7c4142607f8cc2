"""Generating a pair: from a competition and the user's options to the files of both kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from generator.competition.facts import FactSource
from generator.errors import PairError, TandemError
from generator.pair.folder import (
    WritePlan,
    complete_settings,
    keep_description,
    kept_description,
    pair_folder,
    plan_write,
    read_settings,
    settings_content,
    write_pair,
)
from generator.pair.notebook import read_own_cells
from generator.pair.overrides import Overrides, apply_overrides, parse_overrides
from generator.pair.proposal import CompetitionFacts, Proposal, gather_facts, infer_task
from generator.pair.rendering import (
    PairCells,
    default_parameters,
    kernel_files,
    model_summary,
    parameters_in_use,
    render_kernels,
    rendered_cells,
)
from generator.pair.settings import (
    DEFAULT_FRAMEWORK,
    Settings,
    SettingValue,
    check_settings,
    find_owner,
    propose_settings,
)
from generator.pair.spec import model_kinds, untested_backbone, without_foreign_backbone
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import Value, printable


@dataclass(frozen=True)
class GenerateOptions:
    """The options of `tandem generate`.

    Attributes:
        competition: The competition's slug.
        name: The pair's name; by default the competition, and its framework if that is another than usual.
        values: Settings of the pair and of its task that the command line has, such as the framework and the metric.
        task_assignments: Texts that set further keys of the task, such as `image_size=64`.
        parameter_assignments: Texts that set parameters of the notebooks, such as `EPOCHS=3`.
        data: The folder with the competition's files, where it is not in its place in the workspace.
        ask: Source of facts about the competition, if any.
        asks_always: Whether to ask what the hosts say even where the competition's files are at hand.
        force: Whether edits in the pair are overwritten rather than merged, and a pair of another competition or
            framework is replaced.
    """

    competition: str
    name: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    task_assignments: Sequence[str] = ()
    parameter_assignments: Sequence[str] = ()
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
        settings: All settings, with who chose each.
        proposal: What the kit would have chosen, and what it weighed.
        model: What the training notebook says its model is.
        parameters: The parameters of training that the user can set, each with its comment as evidence.
        main_parameters: Those of them that people set first, or that the user set.
        user_files: The files beside `pair.toml` that took the place of cells.
        plan: The files as they are to be written, merged with the user's edits.
    """

    folder: PairFolder
    settings: Settings
    proposal: Proposal
    model: str
    parameters: Mapping[str, SettingValue]
    main_parameters: frozenset[str]
    user_files: Sequence[Path]
    plan: WritePlan


def propose_task(
    workspace: Workspace, slug: str, *, data: Callable[[], Path | None], ask: FactSource | None
) -> Proposal:
    """Infers the task of a competition, as far as its pair does not decide it.

    Args:
        workspace: Where its pair and its files are, if there are any.
        slug: The competition.
        data: Makes the folder with its files that the user named, if any; called once the pair could be read.
        ask: Where to ask for what is not on this machine.

    Raises:
        TandemError: The pair cannot be read, nothing is known of the competition, or its task cannot be inferred.
    """
    pair = pair_folder(workspace, slug)
    user_decisions = read_settings(pair).decisions({})
    facts = gather_facts(
        slug,
        mount_path=workspace.competition_data(slug),
        data=data(),
        ask=ask,
        old_description=kept_description(pair, slug),
    )
    return infer_task(facts, decisions=user_decisions)


def draft(workspace: Workspace, options: GenerateOptions, *, ask: Ask | None = None) -> PairDraft:
    """Infer the task, merge it with the user's settings, and render. Nothing is written.

    Args:
        workspace: The user's workspace.
        options: The options.
        ask: Adds to the options what the user answers to what is not clear, before anything is rendered.

    Raises:
        CompetitionError: The competition is not known.
        PairError: The pair that is there is of another competition or framework, its settings cannot be used or
            rendered, or a file that somebody edited cannot be merged.
    """
    folder = _folder_of(workspace, options)
    current = read_settings(folder)
    if current.get("framework") == "blend" and options.values.get("framework", "blend") != "blend":
        raise PairError(
            f"{folder.name} is a blend. Choose another --name, or write it again with `tandem blend {folder.name} …`."
        )
    if not options.force:
        _refuse_other_pair(folder, current, options)
    facts = gather_facts(
        options.competition,
        mount_path=workspace.competition_data(options.competition),
        data=options.data,
        ask=options.ask,
        asks_always=options.asks_always,
        old_description=kept_description(folder, options.competition),
    )
    infer = partial(_infer, facts, current)
    overrides = parse_overrides(options.task_assignments, options.parameter_assignments, current)
    options = replace(options, values={**options.values, **overrides.task})
    options = ask(options, infer) if ask else options
    proposal = infer(options)

    framework = options.values.get("framework")
    if framework == "blend":
        raise PairError("A blend has members. Write it with `tandem blend NAME PAIR PAIR`, not with `generate`.")
    if framework is not None and framework != current.get("framework", framework):
        current = without_foreign_backbone(current, str(framework))
    values = {"competition": options.competition, **options.values}
    if folder.name != options.competition and not current.pair:
        values["name"] = folder.name
    settings = propose_settings(proposal.competition, proposal.task, framework=DEFAULT_FRAMEWORK, owner=find_owner())
    settings = settings.merge(current, values)
    is_of_options = bool({"family", "framework"} & set(options.values))
    settings.check_templates(source="The command line" if is_of_options else str(folder.settings_path))
    settings, cells = _render(settings, overrides, folder)
    warnings = (*proposal.warnings, *untested_backbone(settings))
    files = _files(folder, settings, cells, may_leave_open=proposal.is_built_in)
    parameters, main_parameters = parameters_in_use(settings, cells[Role.TRAIN])
    return PairDraft(
        folder=folder,
        settings=settings,
        proposal=replace(proposal, warnings=warnings),
        model=model_summary(cells[Role.TRAIN]),
        parameters=parameters,
        main_parameters=main_parameters,
        user_files=[*read_own_cells(folder)],
        plan=plan_write(folder, files, force=options.force, without_base=cache(partial(current_files, folder))),
    )


def _folder_of(workspace: Workspace, options: GenerateOptions) -> PairFolder:
    """Return where the pair belongs: a pair in another framework stands beside the one that is there."""
    usual = pair_folder(workspace, options.name or options.competition)
    framework = options.values.get("framework")
    if options.name or not isinstance(framework, str) or not framework.isalnum():
        return usual
    is_usual = framework == read_settings(usual).get("framework", DEFAULT_FRAMEWORK)
    return usual if is_usual else pair_folder(workspace, f"{options.competition}-{framework}")


def _refuse_other_pair(folder: PairFolder, current: Settings, options: GenerateOptions) -> None:
    """Make sure that a pair that is there stays one of its competition and of its framework."""
    name, remedy = printable(folder.name), "Choose another --name, or overwrite it with --force."
    competition, framework = (str(current.get(key, "")) for key in ("competition", "framework"))
    if competition not in ("", options.competition):
        raise PairError(
            f"{name} is a pair for {printable(competition)}, not for {printable(options.competition)}. "
            "Nothing was written.",
            remedy=remedy,
            code="pair-of-other-competition",
        )
    if framework not in ("", options.values.get("framework", framework)):
        raise PairError(
            f"{name} is a pair in {printable(framework)}, not in {printable(str(options.values['framework']))}. "
            "Nothing was written.",
            remedy=remedy,
            code="pair-of-other-framework",
        )


def write(draft: PairDraft) -> None:
    """Write a draft, as a whole or not at all.

    Raises:
        FileWriteError: Nothing was changed.
    """
    write_pair(draft.folder, draft.plan)
    if draft.proposal.facts.description is not None:
        keep_description(draft.folder, draft.proposal.facts.description)


def change_parameters(folder: PairFolder, assignments: Sequence[str]) -> None:
    """Change parameters of an existing pair, in its `pair.toml` and its notebooks, without looking at its competition.

    Args:
        folder: The pair.
        assignments: Texts such as `EPOCHS=3`.

    Raises:
        PairError: Its settings cannot be used, or have no such parameter, or somebody edited it in a notebook.
        FileWriteError: Nothing was changed.
    """
    overrides = parse_overrides((), assignments, read_settings(folder))
    settings, cells = _render(complete_settings(folder).override(overrides.task), overrides, folder)
    files = _files(folder, settings, cells)
    plan = plan_write(folder, files, force=False, without_base=cache(partial(current_files, folder)))
    for path, change in plan.conflicts:
        raise PairError(
            f"{printable(str(folder.path / path))} has edits that conflict with these values: "
            f"{printable(change.name)}, {printable(change.note)}. Nothing was written. Change the "
            f"notebook, or run `tandem generate --force`."
        )
    write_pair(folder, plan)


def render_again(folder: PairFolder, *, has_user_files: bool = True) -> dict[Path, bytes]:
    """Render the kernels of an existing pair purely from its `pair.toml`, perhaps without the user's own cells.

    Raises:
        PairError: As for `draft`.
    """
    settings = complete_settings(folder)
    settings.check_templates(source=str(folder.settings_path))
    return render_kernels(settings, user_files=read_own_cells(folder) if has_user_files else {})


def _infer(facts: CompetitionFacts, current: Settings, options: GenerateOptions) -> Proposal:
    """Infer the task of a competition, given the user's settings of now and before."""
    framework = str(options.values.get("framework", current.get("framework", DEFAULT_FRAMEWORK)))
    # Kaggle Models are attached nowhere else.
    is_attached = options.values.get("platform", current.get("platform", "kaggle")) == "kaggle"
    models = model_kinds(framework) if is_attached else ()
    return infer_task(facts, decisions=current.decisions(options.values), models=models)


def _render(settings: Settings, overrides: Overrides, folder: PairFolder) -> tuple[Settings, PairCells]:
    """Return the settings with the parameters that the command line sets, and the cells that they render to."""
    cells = rendered_cells(settings.with_parameters(overrides.accelerator), user_files=read_own_cells(folder))
    settings = apply_overrides(settings, overrides, default_parameters(cells), source=str(folder.settings_path))
    check_settings(settings, path=folder.settings_path)
    return settings, cells


def _files(
    folder: PairFolder, settings: Settings, cells: PairCells, *, may_leave_open: bool = True
) -> dict[Path, bytes]:
    return {
        Path(folder.settings_path.name): settings_content(folder, settings, may_leave_open=may_leave_open),
        **kernel_files(settings, cells),
    }


def current_files(folder: PairFolder) -> dict[Path, bytes]:
    """Render the `pair.toml` of a pair as it is on the disk; nothing if it does not render."""
    try:
        return render_again(folder) if folder.settings_path.exists() else {}
    except TandemError:
        return {}
