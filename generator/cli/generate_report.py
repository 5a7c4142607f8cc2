"""The report of `generate`: the choices with their evidence, the files, and what to do next."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from generator.cli.table import table
from generator.competition.presets import presets_of
from generator.pair.choices import Choices
from generator.pair.folder import FileState
from generator.pair.generation import Draft
from generator.pair.owner import PLACEHOLDER_OWNER
from generator.pair.workspace import Workspace


def pair_as_text(workspace: Workspace, draft: Draft, *, is_dry_run: bool, explain: bool, to: str | None) -> str:
    """The choices with their evidence, the files, and what to do next."""
    rows = [
        [key, value_text(choice.value), str(choice.by), choice.evidence] for key, choice in _all_choices(draft.choices)
    ]
    written = "would be written" if is_dry_run else "written"
    states = {FileState.WRITTEN: written, FileState.UNCHANGED: "unchanged"}
    files = [[str(draft.folder.path / path), states[state]] for path, state in draft.states.items()]
    lines = [table(["choice", "value", "by", "evidence"], rows), "", table(["file", "state"], files), ""]
    if explain:
        lines = [_explanation(draft), "", *lines]
    if draft.choices.pair["owner"].value == PLACEHOLDER_OWNER:
        lines.append("Pushing to Kaggle needs your user name: generate again with --owner NAME.")
    family = str(draft.choices.pair["family"].value)
    if (suggested := presets_of(family)) and "pretrained" not in draft.choices.task:
        lines.append(f"To start from a pretrained model: --set pretrained={'|'.join(suggested)}, docs/competitions.md.")
    if not draft.proposal.has_data:
        whole = _command(workspace, "data", draft.proposal.competition.slug, to)
        lines.append(f"The data are not here: rehearse on a made-up miniature, or download all with: {whole}")
    return "\n".join([*lines, f"Next: {_next_command(workspace, draft, to)}"])


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
        "warnings": list(draft.proposal.warnings),
        "files": {path.as_posix(): str(state) for path, state in draft.states.items()},
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
        return run
    return f"{_command(workspace, 'specimen', draft.proposal.competition.slug, to)} && {run} --specimen"


def _command(workspace: Workspace, verb: str, name: str, to: str | None = None) -> str:
    elsewhere = [] if workspace.root == Path() else ["--workspace", str(workspace.root)]
    asked = ["--to", to] if to else []
    return shlex.join(["tandem", verb, name, *asked, *elsewhere])


def _all_choices(choices: Choices) -> list[tuple[str, Any]]:
    return [item for section in choices.sections().values() for item in section.items()]


def value_text(value: object) -> str:
    """A value as it is shown: text that can be seen as it is, anything else as JSON."""
    return value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
