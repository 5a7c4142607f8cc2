"""The report of a run: one HTML page that needs nothing else, neither a network nor scripts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from generator.competition.facts import Value
from generator.files import FileReadError
from generator.pair.notebook import NotebookReadError
from generator.pair.workspace import Role
from generator.run.notebook_view import Figure, NotebookView, view_notebook
from generator.run.safe_html import code_styles
from generator.untrusted import python_literal
from generator.workspace_files import WorkspaceFiles

if TYPE_CHECKING:
    from generator.run.execution import ExecutedNotebook
    from generator.run.pair_run import RunResult

TEMPLATE = "report.html.j2"
_TENTHS_BELOW = 10
_WORDS = {Role.TRAIN: "Training", Role.INFER: "Inference"}


@dataclass(frozen=True)
class Tile:
    """A number that deserves large type."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Setting:
    """One parameter in one notebook."""

    value: str
    default: str
    is_changed: bool


@dataclass(frozen=True)
class ParameterRow:
    """One parameter; None where a notebook does not have it."""

    name: str
    train: Setting | None
    infer: Setting | None


@dataclass(frozen=True)
class Bar:
    """The time of a section, as a share of the longest one in percent."""

    label: str
    seconds: float
    percent: float


@dataclass(frozen=True)
class NotebookPart:
    """What the page shows of one notebook; `problem` says why there is none of it."""

    role: Role
    word: str
    file: str
    seconds: float
    is_failed: bool
    bars: tuple[Bar, ...]
    view: NotebookView
    problem: str = ""


@dataclass(frozen=True)
class Page:
    """Everything that the template shows."""

    pair: str
    title: str
    written: str
    is_smoke: bool
    failure: str
    tiles: tuple[Tile, ...]
    next_steps: tuple[str, ...]
    parameters: tuple[ParameterRow, ...]
    versions: tuple[tuple[str, str], ...]
    notebooks: tuple[NotebookPart, ...]

    @property
    def figures(self) -> list[tuple[str, Figure]]:
        """Every figure with the word for its notebook."""
        return [(part.word, figure) for part in self.notebooks for figure in part.view.figures]


def write_report(result: "RunResult") -> None:
    """Writes the report of a run to `result.report`, whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    page = render(page_of(result, now=datetime.now())).encode("utf-8", "replace")
    # The run has made sure of the folder.
    WorkspaceFiles(result.report.parent).write(result.report, page)


def render(page: Page) -> str:
    """Fills in the template."""
    import jinja2  # noqa: TID251 (rendering.py has the rules for notebooks; a page escapes HTML instead)

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = duration
    styles = code_styles(light="default", dark="github-dark")
    return environment.get_template(TEMPLATE).render(page=page, code_styles=styles)


def page_of(result: "RunResult", *, now: datetime) -> Page:
    """Collects what the page shows of a run."""
    handover = result.handover
    return Page(
        pair=result.pair,
        title=result.title,
        written=f"{now:%Y-%m-%d %H:%M}",
        is_smoke=result.is_smoke,
        failure="" if result.failure is None else result.failure.message,
        tiles=tuple(_tiles(result)),
        next_steps=tuple(_next_steps(result)),
        parameters=tuple(_parameter_rows(result)),
        versions=() if handover is None else tuple(handover.versions.items()),
        notebooks=tuple(_parts(result)),
    )


def duration(seconds: float) -> str:
    """Writes a time the way people say it: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if round(seconds, 1) < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minute else f"{second} s"


def _tiles(result: "RunResult") -> Iterator[Tile]:
    smoke = "smoke run: not a measure of the model" if result.is_smoke else ""
    smoke = "made-up data: not a measure of the competition" if result.is_specimen else smoke
    if result.hidden_test is not None:
        yield Tile(f"Hidden-test {result.hidden_test.metric}", f"{result.hidden_test.value:.4f}", smoke)
    elif result.submission is not None:
        checked = "valid against the sample submission" if result.submission.has_sample else "there is no sample of it"
        yield Tile("Submission", f"{result.submission.rows:,} rows", checked)
    if result.out_of_fold is not None:
        yield Tile(f"Out-of-fold {result.out_of_fold.metric}", f"{result.out_of_fold.value:.4f}", smoke)
    if result.handover is not None and result.handover.accelerator:
        framework = " on ".join(part for part in (result.handover.framework, result.handover.backend) if part)
        yield Tile("Trained on", result.handover.accelerator, framework)
    parts = [f"{_WORDS[role].lower()} {duration(notebook.seconds)}" for role, notebook in result.notebooks.items()]
    yield Tile("Time", duration(result.seconds), ", ".join(parts))


def _next_steps(result: "RunResult") -> Iterator[str]:
    if result.failure is not None:
        yield "The message above says what stopped the run; the notebooks below show how far it got."
        return
    if result.is_smoke:
        yield f"Every cell runs. For scores that mean something: tandem run {result.pair}"
    if Role.TRAIN in result.notebooks:
        yield "Do the learning curves still fall where they end? Then more epochs may help; if they part, fewer."
        yield "Which predictions are the worst? The figures of the validation show them, and what is like them."
    if result.submission is not None:
        checked = "passed every check against the sample" if result.submission.has_sample else "no sample to be like"
        yield f"The submission has {result.submission.rows:,} rows and {checked}: {result.submission.path}"
    if result.hidden_test is not None and result.out_of_fold is not None and not result.is_smoke:
        gap = result.hidden_test.value - result.out_of_fold.value
        yield (
            f"The hidden test scores {abs(gap):.4f} {'above' if gap > 0 else 'below'} the out-of-fold estimate. "
            f"If that gap is large or grows, the folds do not resemble the test set."
        )


def _parameter_rows(result: "RunResult") -> Iterator[ParameterRow]:
    names = dict.fromkeys(name for parameters in result.parameters.values() for name in parameters.defaults)
    for name in names:
        settings: dict[Role, Setting | None] = {}
        for role in Role:
            parameters = result.parameters.get(role)
            if parameters is None or name not in parameters.defaults:
                settings[role] = None
                continue
            value, default = parameters.value(name), parameters.defaults[name]
            settings[role] = Setting(_literal(value), _literal(default), is_changed=value != default)
        yield ParameterRow(name, settings[Role.TRAIN], settings[Role.INFER])


def _literal(value: Value | None) -> str:
    try:
        return python_literal(value)
    except TypeError:
        return repr(value)


def _parts(result: "RunResult") -> Iterator[NotebookPart]:
    times = {role: _times(notebook) for role, notebook in result.notebooks.items()}
    longest = max((seconds for each in times.values() for seconds in each.values()), default=0.0) or 1.0
    for role, notebook in result.notebooks.items():
        bars = tuple(Bar(label, seconds, 100 * seconds / longest) for label, seconds in times[role].items())
        view, problem = NotebookView((), ()), ""
        try:
            view = view_notebook(notebook.path, seconds={cell.name: cell.seconds for cell in notebook.cells})
        except (FileReadError, NotebookReadError) as error:
            problem = error.message
        yield NotebookPart(
            role=role,
            word=_WORDS[role],
            file=f"{role}.ipynb",
            seconds=notebook.seconds,
            is_failed=notebook.failure is not None,
            bars=bars,
            view=view,
            problem=problem,
        )


def _times(notebook: "ExecutedNotebook") -> dict[str, float]:
    """Seconds by section, with what the kernel took to start and to end."""
    sections = {section or "Before the first section": seconds for section, seconds in notebook.sections().items()}
    return {**sections, "Kernel": max(0.0, notebook.seconds - sum(sections.values()))}
