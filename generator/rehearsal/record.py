"""The record of a rehearsal and its page: what is left of it, and whether a pair has passed one as it stands."""

import hashlib
import json
from datetime import datetime
from pathlib import Path

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
from generator.text import JsonObject, printable

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


def as_fields(rehearsal: Rehearsal) -> dict[str, object]:
    """A rehearsal as JSON has it, for `--json` and for the record."""
    return {
        "pair": rehearsal.pair,
        "passed": rehearsal.is_passed,
        "conclusion": rehearsal.conclusion,
        "rerun": rehearsal.rerun,
        "data": rehearsal.data,
        "specimen": rehearsal.specimen,
        "isolation": rehearsal.isolation,
        "image": rehearsal.image,
        "seconds": round(rehearsal.seconds, 1),
        "training": [_fields(trial) for trial in rehearsal.training],
        "hidden_test": [_fields(trial) for trial in rehearsal.hidden_test],
        "report": str(rehearsal.report),
    }


def _fields(trial: Trial) -> dict[str, object]:
    return {**vars(trial), "verdict": str(trial.verdict), "seconds": round(trial.seconds, 1)}


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
    text = json.dumps({"cells": cells, **as_fields(rehearsal)}, indent=2) + "\n"
    files.write(rehearsal.report.with_name(RECORD), text.encode("utf-8", "replace"))


def check_rehearsed(workspace: Workspace, pair: str, *, specimen: bool = False) -> None:
    """Makes sure that the pair, as its cells stand now, has passed a rehearsal; with `specimen`, on made-up data too.

    Raises:
        TandemError: There is no such pair, or it has not, or not with these cells.
    """
    problem = _what_lacks(existing_pair(workspace, pair), read_json(workspace.output(pair) / RECORD), specimen=specimen)
    if problem:
        name = printable(pair)
        raise RunError(f"The pair {name} {problem}. Run `tandem rehearse {name}` first, or push without --rehearsed.")


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
