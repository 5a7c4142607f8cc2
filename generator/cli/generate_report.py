"""The report of `generate`: the choices with their evidence, the files, and what to do next."""

import json
import shlex
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from generator.accelerators import cpu_seconds, finetune_text_seconds
from generator.cli.terminal import table
from generator.cli.update import MergeFields, merge_as_text, merge_fields_of
from generator.competition.facts import Medium
from generator.competition.schema import Preset, families, preset_of
from generator.files import read_bytes
from generator.pair.generation import PairDraft
from generator.pair.settings import PLACEHOLDER_OWNER, Origin, SettingValue
from generator.pair.spec import suggested_models
from generator.pair.workspace import Workspace
from generator.text import Value, duration, printable

_MOST_FILES = 8
_SMALL_TABLE = 4 << 20  # bytes
_SHARE_OF_ONE_FOLD = 0.8  # of the examples, where one fold is held out alone


class KnobFields(TypedDict):
    """A parameter of the training notebook.

    Attributes:
        value: The value.
        by: Who chose it.
    """

    value: Value
    by: Origin


class CandidateFields(TypedDict):
    """One value that was weighed.

    Attributes:
        value: The value.
        evidence: What speaks for it.
        weight: The sum of what speaks for and against it; null for a certain one.
    """

    value: Value
    evidence: str
    weight: float | None


class PairReport(MergeFields):
    """A pair that was written, or with --dry-run would be.

    Attributes:
        schema_version: The version of this document.
        pair: The pair's name.
        folder: Its folder.
        dry_run: Whether nothing was written.
        choices: The settings by section of pair.toml and key.
        model: The model of the training notebook, as a sentence.
        knobs: The parameters of training by name.
        own_cells: The files beside pair.toml that replace cells.
        unused: The competition's files that the notebooks do not use.
        warnings: What may be wrong with the task or the data.
        next: The command that comes next.
        weighed: With --explain: all candidates of each key, the best first.
    """

    schema_version: Literal[1]
    pair: str
    folder: str
    dry_run: bool
    choices: dict[str, dict[str, SettingValue]]
    model: str
    knobs: dict[str, KnobFields]
    own_cells: list[str]
    unused: list[str]
    warnings: list[str]
    next: str
    weighed: NotRequired[dict[str, list[CandidateFields]]]


def pair_as_text(workspace: Workspace, draft: PairDraft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The settings with their evidence, the parameters of training, the files, and what to do next."""
    state = "would be written" if is_dry_run else "written"
    plan = draft.plan
    files = [[state if path in plan.stale else "unchanged", str(draft.folder.path / path)] for path in plan.files]
    lines = [_settings(draft, explain=explain), "", _parameters(draft, explain=explain), ""]
    if explain:
        lines = [_explanation(draft), "", *lines]
    lines += [table(["state", "file"], files), ""]
    if plan.changes:
        lines += [merge_as_text(plan), ""]
        if plan.stale and not is_dry_run:
            lines += [f"To restore the previous files, run: {_command(workspace, 'undo', draft.folder.name)}", ""]
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
    keys = draft.settings.task_keys
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


def pair_report(
    workspace: Workspace, draft: PairDraft, *, is_dry_run: bool, explain: bool, to: str | None
) -> PairReport:
    """The same for programs."""
    merge = merge_fields_of(draft.plan)
    report: PairReport = {
        "schema_version": 1,
        "pair": draft.folder.name,
        "folder": str(draft.folder.path),
        "dry_run": is_dry_run,
        "choices": {name: dict(section) for name, section in draft.settings.sections.items()},
        "model": draft.model,
        "knobs": {name: {"value": entry.value, "by": entry.by} for name, entry in draft.parameters.items()},
        "own_cells": [path.name for path in draft.user_files],
        "unused": list(draft.proposal.unused_files),
        "warnings": list(draft.proposal.warnings),
        "files": merge["files"],
        "changes": merge["changes"],
        "conflicts": merge["conflicts"],
        "next": _next_command(workspace, draft, to),
    }
    if explain:
        report["weighed"] = {
            finding.key: [
                {"value": candidate.value, "evidence": candidate.evidence, "weight": candidate.weight}
                for candidate in finding.candidates
            ]
            for finding in draft.proposal.findings
        }
    return report


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
