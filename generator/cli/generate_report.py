"""The report of `generate`: the choices with their evidence, the files, and what to do next."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

from generator.accelerators.small_training import cpu_seconds, text_seconds
from generator.cli.table import table
from generator.competition.facts import Medium
from generator.competition.presets import Preset, preset_of
from generator.competition.schema import families, keys_of
from generator.files import read_bytes
from generator.pair.generation import Draft
from generator.pair.owner import PLACEHOLDER_OWNER
from generator.pair.pretrained_models import suggested_models
from generator.pair.workspace import Workspace
from generator.untrusted import printable
from generator.wording import duration

_MOST_FILES = 8
_SMALL_TABLE = 4 << 20  # bytes
_SHARE_OF_ONE_FOLD = 0.8  # of the examples, where one fold is held out alone


def pair_as_text(workspace: Workspace, draft: Draft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The choices with their evidence, the knobs of training, the files, and what to do next."""
    written = "would be written" if is_dry_run else "written"
    files = [[written if path in draft.stale else "unchanged", str(draft.folder.path / path)] for path in draft.files]
    lines = [_choices(draft, explain=explain), "", _knobs(draft, explain=explain), ""]
    if explain:
        lines = [_explanation(draft), "", *lines]
    lines += [table(["state", "file"], files), ""]
    if draft.own:
        own = ", ".join(printable(path.name) for path in draft.own)
        lines.append(f"Cells from your files in {printable(str(draft.folder.path))}: {own}.")
    lines += _unused(draft)
    if draft.choices.pair["owner"].value == PLACEHOLDER_OWNER:
        lines.append("Pushing to Kaggle needs your user name: generate again with --owner NAME.")
    family, framework = (str(draft.choices.pair[key].value) for key in ("family", "framework"))
    preset, chosen = _preset(draft), draft.choices.task.get("pretrained")
    if preset and chosen and not chosen.by.is_the_users:
        fetched = _command(workspace, "data", draft.proposal.competition.slug, to)
        lines.append(
            f"Training starts from the pretrained model {preset.handle}, which Kaggle attaches: {fetched} downloads it "
            "for runs on this machine, and --set pretrained='' trains a small model from scratch instead."
        )
    elif not chosen and (suggested := suggested_models(family, framework)):
        lines.append(f"To start from a pretrained model: --set pretrained={'|'.join(suggested)}, docs/competitions.md.")
    lines += _text_on_a_cpu(workspace, draft, preset) if preset else _on_a_cpu(workspace, draft)
    if not draft.proposal.has_data:
        whole = _command(workspace, "data", draft.proposal.competition.slug, to)
        lines.append(f"The data are not here: rehearse on a made-up miniature, or download all with: {whole}")
    return "\n".join([*lines, f"Next: {_next_command(workspace, draft, to)}"])


def _preset(draft: Draft) -> Preset | None:
    """The pretrained model of texts that training starts from."""
    chosen = draft.choices.task.get("pretrained")
    return preset_of(str(draft.choices.pair["family"].value), str(chosen.value)) if chosen else None


def _choices(draft: Draft, *, explain: bool) -> str:
    """What was chosen, but for what stands among the knobs and for what is as it is where nobody says anything."""
    keys = keys_of(str(draft.choices.pair["family"].value))
    knobs = {knob.name for knob in draft.knobs if knob.is_main or explain}
    rows = [
        [key, value_text(choice.value), str(choice.by), choice.evidence]
        for section in draft.choices.sections().values()
        for key, choice in section.items()
        if key.upper() not in knobs
        and (explain or choice.by.is_the_users or key not in keys or choice.value != keys[key].default)
    ]
    return table(["choice", "value", "by", "evidence"], rows)


def _knobs(draft: Draft, *, explain: bool) -> str:
    rows = [
        [knob.name, value_text(knob.value), str(knob.by), knob.meaning]
        for knob in draft.knobs
        if knob.is_main or explain
    ]
    model = [f"Training: {printable(draft.model)}."] if draft.model else []
    others = len(draft.knobs) - len(rows)
    more = [f"-P NAME=VALUE turns these and {others} more knobs; docs/knobs.md tells of them."] if others else []
    return "\n".join([*model, table(["knob", "value", "by", "meaning"], rows), *more])


def _unused(draft: Draft) -> list[str]:
    """A sentence on the files that the notebooks leave aside."""
    unused = draft.proposal.unused_files
    shown = [printable(path) for path in unused[:_MOST_FILES]]
    more = f" and {len(unused) - len(shown)} more" if len(unused) > len(shown) else ""
    return [f"Not used by the notebooks: {', '.join(shown)}{more}."] if unused else []


def _on_a_cpu(workspace: Workspace, draft: Draft) -> list[str]:
    """A sentence where the model and its data are so small that a CPU trains it before a TPU has started."""
    if "ACCELERATOR" in draft.choices.parameters:
        return []
    knobs = {knob.name: knob.value for knob in draft.knobs}
    seconds = cpu_seconds(
        _training_rows(workspace, draft),
        int(str(knobs.get("EPOCHS", 0))) * int(str(knobs.get("N_FOLDS", 1))),
        pixels=int(str(knobs["IMAGE_SIZE"])) ** 2 if "IMAGE_SIZE" in knobs else None,
        is_table=families()[str(draft.choices.pair["family"].value)].medium is Medium.ROW,
    )
    if seconds is None:
        return []
    compares = f"{_command(workspace, 'plan', draft.folder.name)} compares; -P ACCELERATOR=cpu renders it for one."
    return [f"Small data: a CPU trains this in about {duration(seconds)}, without quota or queue. {compares}"]


def _text_on_a_cpu(workspace: Workspace, draft: Draft, preset: Preset) -> list[str]:
    """A sentence on how long a CPU fine-tunes a pretrained model of texts, and what makes that less."""
    knobs, accelerator = {knob.name: knob.value for knob in draft.knobs}, draft.choices.parameters.get("ACCELERATOR")
    folds, epochs, length = (int(str(knobs.get(name, 0))) for name in ("N_FOLDS", "EPOCHS", "SEQUENCE_LENGTH"))
    read = _training_rows(workspace, draft) * length * epochs
    if not read or (accelerator is not None and accelerator.value != "cpu"):
        return []
    one, several = (duration(text_seconds(read * times, preset.layers)) for times in (_SHARE_OF_ONE_FOLD, folds - 1))
    takes = f"about {several}: -P N_FOLDS=1 makes that {one}, fewer EPOCHS still less" if folds > 1 else f"about {one}"
    return [f"A CPU of two cores trains this in {takes}; --set pretrained='' is far quicker."]


def _training_rows(workspace: Workspace, draft: Draft) -> int:
    """The rows of the training table, as far as they were seen; 0 where nothing is known of them."""
    chosen, survey = draft.choices.task.get("train_table"), draft.proposal.known.survey
    if chosen is None:
        return 0
    table = survey.table(str(chosen.value)) if survey is not None else None
    if table is not None:
        return table.rows
    path = workspace.competition_data(draft.proposal.competition.slug) / str(chosen.value)
    try:
        return read_bytes(path).count(b"\n") - 1 if path.stat().st_size < _SMALL_TABLE else 0
    except OSError:
        return 0


def _explanation(draft: Draft) -> str:
    """Everything that was weighed, the best candidate of each key first."""
    rows = [
        [
            finding.key if place == 0 else "",
            value_text(each.value),
            f"{each.weight:g}",
            f"{each.evidence}{' (thin)' if finding.confidence == 'thin' and place == 0 else ''}",
        ]
        for finding in draft.proposal.findings
        for place, each in enumerate(finding.candidates)
    ]
    if not rows:
        return f"Nothing was weighed: the task is known from {draft.proposal.source}."
    return table(["key", "candidate", "weight", "what speaks for it"], rows)


def pair_as_json(workspace: Workspace, draft: Draft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The same for programs."""
    sections = {
        name: {key: {"value": c.value, "by": str(c.by), "evidence": c.evidence} for key, c in section.items()}
        for name, section in draft.choices.sections().items()
    }
    report = {
        "pair": draft.folder.name,
        "folder": str(draft.folder.path),
        "dry_run": is_dry_run,
        "choices": sections,
        "model": draft.model,
        "knobs": {knob.name: {"value": knob.value, "by": str(knob.by)} for knob in draft.knobs},
        "own_cells": [path.name for path in draft.own],
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


def _next_command(workspace: Workspace, draft: Draft, to: str | None) -> str:
    run = _command(workspace, "run", draft.folder.name)
    if draft.proposal.has_data:
        preset = _preset(draft)
        return run if preset is None or (workspace.input / "models" / preset.handle).is_dir() else f"{run} --smoke"
    return f"{_command(workspace, 'specimen', draft.proposal.competition.slug, to)} && {run} --specimen"


def _command(workspace: Workspace, verb: str, name: str, to: str | None = None) -> str:
    elsewhere = [] if workspace.root == Path() else ["--workspace", str(workspace.root)]
    asked = ["--to", to] if to else []
    return shlex.join(["tandem", verb, name, *asked, *elsewhere])


def value_text(value: object) -> str:
    """A value as it is shown: text that can be seen as it is, anything else as JSON."""
    return value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
