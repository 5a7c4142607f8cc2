"""The record of a rehearsal and its page: what is left of it, and whether a pair has passed one as it stands."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, TypedDict

from generator.errors import RunError, TandemError
from generator.files import WorkspaceFiles, read_json, read_text
from generator.kit_files import PageTemplates
from generator.pair.folder import existing_pair
from generator.pair.notebook import digest_of_cells
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.rehearsal.sessions import (
    Rehearsal,
    Trial,
)
from generator.run.input_mounts import read_sources
from generator.run.report import exact_duration
from generator.text import JsonObject, json_text, printable

# What is left of a rehearsal: a page, and the record by which the cells are known again that passed it.
#
# The record lies in the output folder, which is sent around as little as the page. Whoever forges it spares
# themselves a rehearsal and nobody else: nothing but `push --rehearsed` relies on it.


RECORD, PAGE = "rehearsal.json", "rehearsal.html"


def cells_of(folder: PairFolder) -> str:
    """The digest of what the cells of both notebooks say, and of the network and inputs that their metadata ask for.

    Raises:
        TandemError: One of the files cannot be read.
    """
    contents = [[digest_of_cells(read_text(folder.notebook(role))), *_session(folder, role)] for role in Role]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _session(folder: PairFolder, role: Role) -> list[object]:
    """What the metadata give a kernel's session, whoever it belongs to."""
    kernel_sources = read_sources(folder, role)
    owner = kernel_sources.ref.partition("/")[0]
    refs = [[ref.removeprefix(f"{owner}/") for ref in source_refs] for source_refs in kernel_sources.sources.values()]
    return [kernel_sources.internet, refs]


class RehearsalReport(TypedDict):
    """A rehearsal of a pair.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        passed: Whether nothing failed.
        conclusion: The result as a sentence.
        rerun: What the hidden test will take on Kaggle, as a sentence.
        data: The data that it ran on.
        specimen: Whether those were synthetic.
        isolation: The sandbox that the notebooks ran in.
        image: The package versions that inference ran with.
        seconds: How long it took.
        training: The trials of the training.
        hidden_test: The trials of the inference on hidden tests.
        report: The page about the rehearsal.
    """

    schema_version: Literal[1]
    pair: str
    passed: bool
    conclusion: str
    rerun: str
    data: str
    specimen: bool
    isolation: str
    image: str
    seconds: float
    training: list[Trial]
    hidden_test: list[Trial]
    report: str


def as_fields(rehearsal: Rehearsal) -> RehearsalReport:
    """A rehearsal as JSON has it, for `--json` and for the record."""
    return {
        "schema_version": 1,
        "pair": rehearsal.pair,
        "passed": rehearsal.is_passed,
        "conclusion": rehearsal.conclusion,
        "rerun": rehearsal.rerun,
        "data": rehearsal.data,
        "specimen": rehearsal.specimen,
        "isolation": rehearsal.isolation,
        "image": rehearsal.image,
        "seconds": round(rehearsal.seconds, 1),
        "training": [_round_seconds(trial) for trial in rehearsal.training],
        "hidden_test": [_round_seconds(trial) for trial in rehearsal.hidden_test],
        "report": str(rehearsal.report),
    }


def _round_seconds(trial: Trial) -> Trial:
    return replace(trial, seconds=round(trial.seconds, 1))


def write_page(rehearsal: Rehearsal, files: WorkspaceFiles) -> None:
    """Writes the page, whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    page = PageTemplates(Path(__file__).parent, duration=exact_duration).render(
        "rehearsal.html.j2",
        rehearsal=rehearsal,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        parts=[
            ("Training", "training", rehearsal.training),
            ("The hidden test", "hidden-test", rehearsal.hidden_test),
        ],
    )
    files.write(rehearsal.report, page.encode("utf-8", "replace"))


def write_record(rehearsal: Rehearsal, cells: str, files: WorkspaceFiles) -> None:
    """Writes the record beside the page."""
    text = json_text({"cells": cells, **as_fields(rehearsal)}, indent=2) + "\n"
    files.write(rehearsal.report.with_name(RECORD), text.encode("utf-8", "replace"))


def check_rehearsed(workspace: Workspace, pair: str, *, specimen: bool = False) -> None:
    """Makes sure that the pair, as its cells stand now, has passed a rehearsal; with `specimen`, on made-up data too.

    Raises:
        TandemError: There is no such pair, or it has not, or not with these cells.
    """
    problem = _what_lacks(existing_pair(workspace, pair), read_json(workspace.output(pair) / RECORD), specimen=specimen)
    if problem:
        name = printable(pair)
        raise RunError(
            f"The pair {name} {problem}.",
            remedy=f"Run `tandem rehearse {name}` first, or push without --rehearsed.",
            code="not-rehearsed",
        )


def _what_lacks(folder: PairFolder, record: JsonObject, *, specimen: bool) -> str:
    """What keeps a pair from having passed, as a predicate; nothing if it has."""
    try:
        cells = cells_of(folder)
    except TandemError:
        return "has a notebook, or metadata, that cannot be read"
    if not record:
        return "was never rehearsed in this workspace"
    if record.text("cells") != cells:
        return "was changed after its rehearsal"
    if record.flag("specimen") and not specimen:
        return "was only rehearsed on synthetic data, which needs --specimen"
    return "" if record.flag("passed") else "did not pass its rehearsal"
