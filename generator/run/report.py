"""The report of a run: one HTML page that needs nothing else, neither a network nor scripts."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from generator.competition.facts import Value
from generator.files import FileReadError
from generator.page_templates import PageTemplates
from generator.pair.notebook import NotebookReadError
from generator.pair.workspace import Role
from generator.run.cell_findings import CellFindings, findings_in_pair
from generator.run.conclusions import conclusions, constant_baseline, model_baseline
from generator.run.execution import ExecutedNotebook
from generator.run.notebook_view import CellView, view_notebook
from generator.run.result import RunResult
from generator.run.safe_html import code_styles
from generator.untrusted import python_literal
from generator.workspace_files import WorkspaceFiles

_TENTHS_BELOW = 10
_WORDS = {Role.TRAIN: "Training", Role.INFER: "Inference"}


class Tile(NamedTuple):
    """A number that deserves large type."""

    label: str
    value: str
    note: str = ""


class NotebookPart(NamedTuple):
    """The page's part on one notebook: its seconds by section, its cells and what is found in them.

    `problem` says why there are no cells.
    """

    word: str
    executed: ExecutedNotebook
    times: dict[str, float]
    cells: tuple[CellView, ...]
    problem: str
    checked: CellFindings


def write_report(result: RunResult) -> None:
    """Writes the report of a run to `result.report`, whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    parts = list(_parts(result))
    page = PageTemplates(Path(__file__).parent, duration=duration, literal=_literal).render(
        "report.html.j2",
        run=result,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        tiles=list(_tiles(result)),
        findings=conclusions(result).findings,
        next_steps=list(_next_steps(result)),
        parameters=list(dict.fromkeys(name for each in result.parameters.values() for name in each.defaults)),
        roles=list(Role),
        notebooks=parts,
        longest=max((seconds for part in parts for seconds in part.times.values()), default=0.0) or 1.0,
        figures=[
            (part.word, cell, each) for part in parts for cell in part.cells for each in cell.outputs if each.source
        ],
        code_styles=code_styles(),
    )
    # The run has made sure of the folder.
    WorkspaceFiles(result.report.parent).write(result.report, page.encode("utf-8", "replace"))


def duration(seconds: float) -> str:
    """Writes a time the way people say it: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if round(seconds, 1) < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minute else f"{second} s"


def _tiles(result: RunResult) -> Iterator[Tile]:
    smoke = "smoke run: not a measure of the model" if result.is_smoke else ""
    smoke = "made-up data: not a measure of the competition" if result.is_specimen else smoke
    if result.hidden_test is not None:
        yield Tile(f"Hidden-test {result.hidden_test.metric}", f"{result.hidden_test.value:.4f}", smoke)
    elif result.submission is not None:
        checked = "valid against the sample submission" if result.submission.has_sample else "there is no sample of it"
        yield Tile("Submission", f"{result.submission.rows:,} rows", checked)
    if result.out_of_fold is not None:
        yield Tile(f"Out-of-fold {result.out_of_fold.metric}", f"{result.out_of_fold.value:.4f}", smoke)
        if result.is_measure and result.baselines:
            constant, model = constant_baseline(result), model_baseline(result)
            best = model or constant
            others = f"; the best constant gets {constant.score:.4f}" if model and constant else ""
            if best is not None:
                yield Tile(f"Baseline's {result.out_of_fold.metric}", f"{best.score:.4f}", best.name + others)
    if result.handover is not None and result.handover.accelerator:
        framework = " on ".join(part for part in (result.handover.framework, result.handover.backend) if part)
        yield Tile("Trained on", result.handover.accelerator, framework)
    parts = [f"{_WORDS[role].lower()} {duration(notebook.seconds)}" for role, notebook in result.notebooks.items()]
    yield Tile("Time", duration(result.seconds), ", ".join(parts))


def _next_steps(result: RunResult) -> Iterator[str]:
    if result.failure is not None:
        yield "The message above says what stopped the run; the notebooks below show how far it got."
        return
    if result.is_smoke:
        yield f"Every cell runs. For scores that mean something: tandem run {result.pair}"
    if result.handover is not None and not result.handover.is_complete:
        yield f"The training stopped before its end: tandem run {result.pair} --resume goes on with it."
    yield from conclusions(result).advice
    if result.submission is not None:
        checked = "passed every check against the sample" if result.submission.has_sample else "no sample to be like"
        yield f"The submission has {result.submission.rows:,} rows and {checked}: {result.submission.path}"


def _literal(value: Value | None) -> str:
    try:
        return python_literal(value)
    except TypeError:
        return repr(value)


def _parts(result: RunResult) -> Iterator[NotebookPart]:
    checked = {} if result.folder is None else findings_in_pair(result.folder)
    for role, notebook in result.notebooks.items():
        cells, problem = tuple[CellView, ...](), ""
        try:
            cells = view_notebook(notebook.path)
        except (FileReadError, NotebookReadError) as error:
            problem = error.message
        yield NotebookPart(_WORDS[role], notebook, _times(notebook), cells, problem, checked.get(role, CellFindings()))


def _times(notebook: ExecutedNotebook) -> dict[str, float]:
    """Seconds by section, with what the kernel took to start and to end."""
    sections = {section or "Before the first section": seconds for section, seconds in notebook.sections.items()}
    return {**sections, "Kernel": max(0.0, notebook.seconds - sum(sections.values()))}
