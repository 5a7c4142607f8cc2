"""The report of a run: one HTML page with scores, conclusions and findings."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import ceil, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal, NamedTuple, TypedDict

from generator.competition.baseline import CONSTANT, COPY, Baseline
from generator.files import FileReadError, WorkspaceFiles, read_text
from generator.kit_files import PageTemplates
from generator.pair.handover import Score, TrainedFold
from generator.pair.notebook import NotebookReadError
from generator.pair.workspace import PairFolder, Role
from generator.run.execution import ExecutedNotebook
from generator.run.notebook_html import CellView, code_styles, view_notebook
from generator.run.result import RunResult
from generator.text import JsonObject, json_text, markdown, printable, python_literal

# The findings of `tandem check` beside the cells that they are in, for pages that show a notebook.
#
# Whoever wrote the notebook may have made it slow to check: it is checked by a process of its own, which has so
# many seconds and so much memory, and the page says so where that was not enough.


SECONDS = 10.0  # of a check; a notebook that was not made for this takes one
_MEMORY = 2 * 2**30
_MOST_FINDINGS = 200
_MOST_KEPT, _MOST_WAITING = 256, 8
_METADATA = "kernel-metadata.json"
_PENDING = "`tandem check` is checking this notebook. Reload the page for the findings."
_BUSY = "`tandem check` is checking many notebooks. Reload the page later for the findings of this one."
_TOO_LONG = f"`tandem check` did not finish within {SECONDS:.0f} seconds and 2 GB of memory."


@dataclass(frozen=True)
class CellFinding:
    """A finding, and the name that a page gives its cell; "" for the notebook as a whole."""

    rule: str
    severity: str
    message: str
    remedy: str
    cell: str = ""
    line: int = 0


@dataclass(frozen=True)
class CellFindings:
    """The findings in a notebook; `problem` says why they are not known."""

    findings: tuple[CellFinding, ...] = ()
    problem: str = ""

    def of(self, cell: str) -> list[CellFinding]:
        """The findings in a cell."""
        return [finding for finding in self.findings if finding.cell == cell]

    def beside(self, cells: Collection[str]) -> list[CellFinding]:
        """The findings that are in none of some cells: those of the notebook as a whole, and of cells not shown."""
        return [finding for finding in self.findings if finding.cell not in cells]

    @property
    def summary(self) -> str:
        """How many findings there are, in words; "" for none."""
        counts = {
            name: sum(finding.severity == name for finding in self.findings) for name in ("error", "warning", "note")
        }
        return ", ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)


def findings_in_pair(folder: PairFolder) -> dict[Role, CellFindings]:
    """Check both kernels of a pair, and say what is found in each notebook and its metadata."""
    outcome = _run_check(folder.path.absolute())
    if isinstance(outcome, str):
        return dict.fromkeys(Role, CellFindings(problem=outcome))
    return {role: _of_notebook(outcome, folder.notebook(role), folder.metadata(role)) for role in Role}


def findings_in_text(text: str, metadata: Mapping[str, Any]) -> CellFindings:
    """Check the text of a notebook or a script.

    Args:
        text: What its file would hold.
        metadata: The fields of its kernel-metadata.json; findings in those are left out.
    """
    is_script = metadata.get("kernel_type") == "script"
    with tempfile.TemporaryDirectory(prefix="tandem-check-") as name:
        folder = Path(name).resolve()
        code = folder / ("script.py" if is_script else "notebook.ipynb")
        code.write_bytes(text.encode("utf-8", "replace"))
        (folder / _METADATA).write_text(json.dumps({**metadata, "code_file": code.name}), encoding="utf-8")
        outcome = _run_check(folder)
        return CellFindings(problem=outcome) if isinstance(outcome, str) else _of_notebook(outcome, code, None)


class BackgroundChecks:
    """Checks that go on while pages are shown without them; what was found is kept for the next page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._futures: OrderedDict[tuple[str, str], Future[CellFindings]] = OrderedDict()

    def findings(self, text: str, metadata: Mapping[str, Any], *, wait: float) -> CellFindings:
        """The findings in a notebook, or that they are not known yet.

        Args:
            text: What its file would hold.
            metadata: The fields of its kernel-metadata.json.
            wait: The seconds until a page goes without them.
        """
        key = text, json.dumps(metadata, sort_keys=True)
        with self._lock:
            future = self._futures.get(key)
            if future is None:
                if sum(not cached_future.done() for cached_future in self._futures.values()) >= _MOST_WAITING:
                    return CellFindings(problem=_BUSY)
                future = self._futures[key] = Future()
                threading.Thread(target=self._check, args=(future, text, metadata), daemon=True).start()
            self._futures.move_to_end(key)
            while len(self._futures) > _MOST_KEPT:
                self._futures.popitem(last=False)
        try:
            return future.result(timeout=wait)
        except NotYetError:
            return CellFindings(problem=_PENDING)

    def _check(self, future: "Future[CellFindings]", text: str, metadata: Mapping[str, Any]) -> None:
        findings = CellFindings(problem="`tandem check` could not be started.")
        try:
            with self._one_at_a_time:
                findings = findings_in_text(text, metadata)
        finally:
            with suppress(InvalidStateError):
                future.set_result(findings)


def _run_check(folder: Path) -> list[JsonObject] | str:
    """What `tandem check` reports, or why it does not."""
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator", "check", str(folder), "--no-compile", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    try:
        with subprocess.Popen(  # noqa: S603 - the kit's own module
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            _limit(process.pid)
            try:
                answer, _ = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return _TOO_LONG
            finally:
                process.kill()
    except OSError as error:
        return f"`tandem check` could not be started ({error.strerror})."
    report = JsonObject.parse(answer.decode("utf-8", "replace"))
    return report.sections("findings") if "findings" in report else _TOO_LONG


def _limit(process: int) -> None:
    """Let a process end by itself where nobody is left to end it, and not take this machine's memory."""
    with suppress(ImportError, AttributeError, OSError, ValueError):  # Linux has it
        import resource

        seconds = int(SECONDS) + 1
        resource.prlimit(process, resource.RLIMIT_CPU, (seconds, seconds))
        resource.prlimit(process, resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _of_notebook(entries: list[JsonObject], path: Path, metadata: Path | None) -> CellFindings:
    """The findings in one notebook, and in its metadata where those have a place."""
    names = _names_of_cells(path)
    places = [entry.absolute() for entry in (path, metadata) if entry is not None]
    findings = []
    for entry in entries:
        at = Path(os.path.abspath(entry.text("path")))  # noqa: PTH100 - which follows no link
        if at in places:
            cell = entry.text("cell")
            findings.append(
                CellFinding(
                    rule=entry.text("rule"),
                    severity=entry.text("severity"),
                    message=printable(entry.text("message")),
                    remedy=printable(entry.text("remedy")),
                    cell=names.get(cell, cell),
                    line=entry.count("line"),
                )
            )
    return CellFindings(tuple(findings[:_MOST_FINDINGS]))


def _names_of_cells(path: Path) -> dict[str, str]:
    """What a page calls the cells that a finding calls by their number."""
    if path.suffix != ".ipynb":
        return {}
    with suppress(OSError):
        cells = JsonObject.parse(path.read_bytes().decode("utf-8", "replace")).sections("cells")
        return {f"cell {number}": cell.text("id") or f"cell-{number}" for number, cell in enumerate(cells, start=1)}
    return {}


# The conclusions of a run from its own figures: what the scores say, and what to try next.
#
# A figure that is not there has no sentence: after a smoke run, on a specimen or of half a training there are none,
# and a single fold says less than five.


_FEWEST_FOLDS, _FEWEST_EPOCHS, _FEWEST_EPOCHS_BEHIND = 3, 4, 2
_EARLY, _EARLY_OF_ONE_FOLD, _LATE = 0.6, 0.5, 0.85  # of the epochs
_CHANGE = 0.05  # of all that was gained since the first epoch; less is noise
_CHANGE_BEHIND = 0.01  # the same where a plain model does better
_LEARNT = 0.03  # of the loss
_USUAL_FOLDS = 5
_CLEARLY = 3  # standard errors


@dataclass(frozen=True)
class Conclusions:
    """The sentences on the figures of a run, and on what to try because of them."""

    findings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def conclusions(result: RunResult) -> Conclusions:
    """Draws what can be concluded from a run; nothing of one that measured nothing."""
    if not result.is_measure or result.handover is None or result.out_of_fold is None:
        return Conclusions()
    if result.is_higher_better is None:
        return Conclusions()
    figures = _Figures(result, result.handover.folds, result.out_of_fold.value, result.is_higher_better)
    findings = (*figures.score_spread(), *figures.beside_baselines(), *figures.best_epochs(), *figures.gap())
    return Conclusions(findings, tuple(figures.advice()))


def model_baseline(result: RunResult) -> Baseline | None:
    """The better score of a copy and a plain model, if either was computed."""
    candidates = [baseline for baseline in result.baselines if baseline.name != CONSTANT]
    if not candidates or result.out_of_fold is None:
        return None
    sign = -1 if result.is_higher_better is False else 1
    return max(candidates, key=lambda baseline: sign * baseline.score)


def constant_baseline(result: RunResult) -> Baseline | None:
    """The best constant's score, if it was computed."""
    return next((baseline for baseline in result.baselines if baseline.name == CONSTANT), None)


@dataclass(frozen=True)
class _Figures:
    """The figures of a run that measured something."""

    result: RunResult
    folds: tuple[TrainedFold, ...]
    score: float
    is_higher_better: bool

    @property
    def _standard_error(self) -> float | None:
        """That of the mean of the folds; None of two, which have no spread to speak of."""
        scores = [fold.score for fold in self.folds]
        return stdev(scores) / sqrt(len(scores)) if len(scores) >= _FEWEST_FOLDS else None

    @property
    def _epochs(self) -> int:
        """How many epochs each fold was trained; 0 where that is not known."""
        lengths = {len(fold.scores) for fold in self.folds}
        return lengths.pop() if len(lengths) == 1 else 0

    def _gain(self, score: float, over: float) -> float:
        """By how much a score is better than another."""
        return score - over if self.is_higher_better else over - score

    def score_spread(self) -> Iterator[str]:
        scores = [fold.score for fold in self.folds]
        if self._standard_error is None:
            return
        yield (
            f"The folds score {', '.join(f'{score:.4f}' for score in scores)}: a standard deviation of "
            f"{stdev(scores):.4f}, and a standard error of {self._standard_error:.4f} of their mean. A smaller "
            f"difference between two runs may be chance."
        )

    def beside_baselines(self) -> Iterator[str]:
        metric = printable(self.result.out_of_fold.metric) if self.result.out_of_fold else ""
        for baseline in self.result.baselines:
            gain = self._gain(self.score, baseline.score)
            verdict = "better than" if gain > 0 else "worse than" if gain < 0 else "as good as"
            held_out = self.result.handover.fields.section("out_of_fold").count("rows") if self.result.handover else 0
            coverage = (
                f", on {baseline.rows:,} of the {held_out:,} held-out rows" if 0 < baseline.rows < held_out else ""
            )
            by = f"{abs(gain):.4f} {verdict}" if gain else verdict
            yield f"Out-of-fold {metric} {self.score:.4f} is {by} {baseline.name}, {baseline.score:.4f}{coverage}."

    def best_epochs(self) -> Iterator[str]:
        if self._epochs < _FEWEST_EPOCHS:
            return
        bests = self._best_epochs()
        if len(set(bests)) == 1:
            sentence = f"The best epoch is {bests[0]} of {self._epochs}"
            yield f"{sentence}, in every fold." if len(bests) > 1 else f"{sentence}."
        else:
            yield f"The best epochs are {min(bests)} to {max(bests)} of {self._epochs}."

    def _best_epochs(self) -> list[int]:
        """The epoch of each fold with the best validation score, of equals the last one; the last epoch is kept."""
        return [len(gains) - gains[::-1].index(max(gains)) for gains in self._gains()]

    def gap(self) -> Iterator[str]:
        if self.result.hidden_test is None:
            return
        gap = self._gain(self.result.hidden_test.value, self.score)
        than = "better" if gap > 0 else "worse"
        yield f"The hidden test scores {abs(gap):.4f} {than} than the out-of-fold estimate."
        error = self._standard_error
        if error is not None and gap < -_CLEARLY * error:
            yield "That is more than three standard errors. Check whether folds should separate groups or times."

    def advice(self) -> Iterator[str]:
        # The model is to blame only where its curves ask for nothing else.
        on_curves = tuple(self._on_epochs())
        yield from on_curves or self._on_baselines()
        if len(self.folds) == 1 and self._knob("N_FOLDS") == 1:
            yield (
                f"One fold does not show how much the score varies. Try -P N_FOLDS={_USUAL_FOLDS}: it takes "
                f"{_USUAL_FOLDS} times as long, and inference averages its models."
            )

    def _on_baselines(self) -> Iterator[str]:
        constant, model = constant_baseline(self.result), model_baseline(self.result)
        if constant is not None and self._gain(self.score, constant.score) <= 0:
            yield (
                "The model is no better than a constant. Check the loss and the worst mistakes: do the labels "
                "belong to these examples? Is LEARNING_RATE far too high or too low?"
            )
        elif model is not None and self._is_behind and model.name.startswith(COPY):
            yield (
                f"Submitting {model.name} scores better. Look at the rows where it is wrong, and train only on the "
                f"difference."
            )
        elif model is not None and self._is_behind:
            yield (
                f"A baseline scores better: {model.name}. Submit it as well, and find out which of its features this "
                f"model lacks."
            )

    @property
    def _is_behind(self) -> bool:
        """True if a plain model scores better by more than chance."""
        model = model_baseline(self.result)
        return model is not None and self._gain(self.score, model.score) < -(self._standard_error or 0.0)

    def _on_epochs(self) -> Iterator[str]:
        epochs, fewest = self._epochs, _FEWEST_EPOCHS_BEHIND if self._is_behind else _FEWEST_EPOCHS
        if epochs < fewest or self._knob("EPOCHS") != epochs:
            return
        bests = self._best_epochs()
        falls = [1 - fold.losses[-1] / fold.losses[0] for fold in self.folds if fold.losses and fold.losses[0] > 0]
        if falls and mean(falls) < _LEARNT:
            yield "The training loss hardly decreases. Try a LEARNING_RATE ten times as high, then ten times as low."
        elif max(bests) <= epochs * (_EARLY if len(bests) > 1 else _EARLY_OF_ONE_FOLD) and self._decline() > _CHANGE:
            yield (
                f"The validation score gets worse after the best epochs. Try -P EPOCHS={max(bests)}, so that the "
                f"learning rate decays by then, or more regularization{self._regularisation()}."
            )
        elif min(bests) > epochs * _LATE and self._is_still_learning():
            yield (
                f"The best epochs are the last ones, and the models were still improving. "
                f"Try -P EPOCHS={ceil(1.5 * epochs)}."
            )

    def _is_still_learning(self) -> bool:
        """True if the last quarter of the epochs still gained; less is enough where a plain model does better."""
        if not self._is_behind:
            return self._gained_late() > _CHANGE
        return self._gained_late() > _CHANGE_BEHIND or self._loss_fell_late() > _CHANGE

    def _loss_fell_late(self) -> float:
        """The share of the fall of the loss in training that came in the last quarter of the epochs."""
        curves = [[fold.losses[0] - loss for loss in fold.losses] for fold in self.folds if fold.losses]
        return mean([self._share(fall, over=max(fall[: self._late_from(fall)])) for fall in curves] or [0.0])

    def _decline(self) -> float:
        """What was lost after the best epochs, as a share of what was gained until then."""
        return mean(self._share(gains, over=gains[-1]) for gains in self._gains())

    def _gained_late(self) -> float:
        """The share of all that was gained which came in the last quarter of the epochs."""
        return mean(self._share(gains, over=max(gains[: self._late_from(gains)])) for gains in self._gains())

    def _gains(self) -> Iterator[list[float]]:
        """Of each fold what each epoch has gained since the first one."""
        for fold in self.folds:
            yield [self._gain(score, fold.scores[0]) for score in fold.scores]

    @staticmethod
    def _late_from(curve: Sequence[float]) -> int:
        """The first epoch of the last quarter, which has one epoch at least."""
        return min(ceil(len(curve) * 3 / 4), len(curve) - 1)

    @staticmethod
    def _share(gains: list[float], *, over: float) -> float:
        return (max(gains) - over) / max(gains) if max(gains) > 0 else 0.0

    def _regularisation(self) -> str:
        names = [name for name in ("DROPOUT", "WEIGHT_DECAY", "LABEL_SMOOTHING") if self._knob(name) is not None]
        return f" ({', '.join(names)})" if names else ""

    def _knob(self, name: str) -> object:
        parameters = self.result.parameters.get(Role.TRAIN)
        return None if parameters is None else parameters.value(name)


# The result of a run in the first cell of its executed notebooks, where a template says that there is none yet.


NOT_RUN = "| last run | not run yet |"
"""The row of the table in the title cell; both templates have it."""


def write_last_run(result: RunResult) -> None:
    """Write what a run came to into the title cells of its notebooks, unless its scores say nothing."""
    if not result.is_measure:
        return
    row = f"| last run | {last_run(result)} |"
    for notebook in result.notebooks.values():
        text = read_text(notebook.path)
        text = text.replace(_in_json(NOT_RUN), _in_json(row), 1)
        WorkspaceFiles(result.report.parent).write(notebook.path, text.encode())


def last_run(result: RunResult) -> str:
    """Return a run's scores, time and accelerator, as a cell of a Markdown table."""
    parts = []
    if result.out_of_fold is not None:
        folds = [fold.score for fold in result.handover.folds] if result.handover else []
        deviation = f" (folds ± {stdev(folds):.4f})" if len(folds) > 1 else ""
        parts.append(f"out-of-fold {_in_words(result.out_of_fold)}{deviation}")
    if result.hidden_test is not None:
        parts.append(f"hidden test {_in_words(result.hidden_test)}")
    minutes = sum(notebook.seconds for notebook in result.notebooks.values()) / 60
    parts.append(f"{minutes:.1f} min")
    if result.handover is not None and result.handover.accelerator:
        parts.append(result.handover.accelerator)
    return markdown(", ".join(parts))


def _in_words(score: Score) -> str:
    return f"{score.metric} {score.value:.4f}"


def _in_json(text: str) -> str:
    """Return a text as it stands inside of a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


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


class ExecutedFields(TypedDict):
    """A notebook that was executed.

    Attributes:
        path: The executed notebook.
        seconds: How long it ran.
        sections: The seconds of each of its sections.
    """

    path: str
    seconds: float
    sections: dict[str, float]


class ScoreFields(TypedDict):
    """A score.

    Attributes:
        metric: The metric.
        score: The score; null where it is NaN or infinite.
    """

    metric: str
    score: float | None


class SubmissionFields(TypedDict):
    """A submission file that was checked.

    Attributes:
        path: The file.
        rows: Its rows.
    """

    path: str
    rows: int


class RunReport(TypedDict):
    """A run of a pair on this machine.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        smoke: Whether it was a smoke run; its scores mean nothing.
        specimen: Whether it ran on synthetic data; its scores mean nothing.
        seconds: How long it took.
        notebooks: The executed notebooks by role: train, infer.
        out_of_fold: The score that training measured.
        hidden_test: The score on the hidden test of a built-in competition.
        baselines: The scores of plain methods.
        findings: What the figures say, in sentences.
        advice: What to do next, in sentences.
        submission: The submission; null if inference did not run.
        failure: The message of the error that ended the run; null if there was none.
        report: The page about the run.
        run: The name of the run in the ledger, such as digits@7; null if it is not kept.
        notes: What the ledger did, in sentences.
        warnings: What to know of the run, in sentences.
    """

    schema_version: Literal[1]
    pair: str
    smoke: bool
    specimen: bool
    seconds: float
    notebooks: dict[str, ExecutedFields]
    out_of_fold: ScoreFields | None
    hidden_test: ScoreFields | None
    baselines: list[Baseline]
    findings: list[str]
    advice: list[str]
    submission: SubmissionFields | None
    failure: str | None
    report: str
    run: str | None
    notes: list[str]
    warnings: list[str]


def report_fields(result: RunResult) -> RunReport:
    """The report of a run for programs."""
    summary = conclusions(result)
    return {
        "schema_version": 1,
        "pair": result.pair,
        "smoke": result.is_smoke,
        "specimen": result.is_specimen,
        "seconds": round(result.seconds, 3),
        "notebooks": {
            str(role): {
                "path": str(notebook.path),
                "seconds": round(notebook.seconds, 3),
                "sections": {name: round(seconds, 3) for name, seconds in notebook.sections.items()},
            }
            for role, notebook in result.notebooks.items()
        },
        "out_of_fold": _score_fields(result.out_of_fold),
        "hidden_test": _score_fields(result.hidden_test),
        "baselines": list(result.baselines),
        "findings": list(summary.findings),
        "advice": list(summary.advice),
        "submission": None
        if result.submission is None
        else {"path": str(result.submission.path), "rows": result.submission.rows},
        "failure": None if result.failure is None else result.failure.message,
        "report": str(result.report),
        "run": result.record.name if result.record else None,
        "notes": list(result.notes),
        "warnings": list(result.warnings),
    }


def _score_fields(score: Score | None) -> ScoreFields | None:
    return None if score is None else {"metric": score.metric, "score": score.value}


def write_report(result: RunResult) -> None:
    """Writes the report of a run to `result.report`: whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    parts = list(_parts(result))
    page = PageTemplates(Path(__file__).parent, duration=exact_duration, literal=_literal).render(
        "report.html.j2",
        run=result,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        tiles=list(_tiles(result)),
        findings=conclusions(result).findings,
        next_steps=list(_next_steps(result)),
        parameters=list(dict.fromkeys(name for entry in result.parameters.values() for name in entry.defaults)),
        roles=list(Role),
        notebooks=parts,
        longest=max((seconds for part in parts for seconds in part.times.values()), default=0.0) or 1.0,
        figures=[
            (part.word, cell, entry) for part in parts for cell in part.cells for entry in cell.outputs if entry.source
        ],
        code_styles=code_styles(),
    )
    # The run has made sure of the folder.
    WorkspaceFiles(result.report.parent).write(result.report, page.encode("utf-8", "replace"))


def write_report_fields(result: RunResult) -> None:
    """Writes the report of a run as JSON beside its page: whole or not at all.

    Raises:
        FileWriteError: It could not be written.
    """
    path = result.report.with_suffix(".json")
    WorkspaceFiles(path.parent).write(path, f"{json_text(report_fields(result), indent=2)}\n".encode())


def exact_duration(seconds: float) -> str:
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
        validity = (
            "valid against the sample submission" if result.submission.has_sample else "there is no sample submission"
        )
        yield Tile("Submission", f"{result.submission.rows:,} rows", validity)
    if result.out_of_fold is not None:
        yield Tile(f"Out-of-fold {result.out_of_fold.metric}", f"{result.out_of_fold.value:.4f}", smoke)
        if result.is_measure and result.baselines:
            constant, model = constant_baseline(result), model_baseline(result)
            best = model or constant
            constant_note = f"; the best constant gets {constant.score:.4f}" if model and constant else ""
            if best is not None:
                yield Tile(f"Baseline's {result.out_of_fold.metric}", f"{best.score:.4f}", best.name + constant_note)
    if result.handover is not None and result.handover.accelerator:
        framework = " on ".join(part for part in (result.handover.framework, result.handover.backend) if part)
        yield Tile("Trained on", result.handover.accelerator, framework)
    parts = [
        f"{_WORDS[role].lower()} {exact_duration(notebook.seconds)}" for role, notebook in result.notebooks.items()
    ]
    yield Tile("Time", exact_duration(result.seconds), ", ".join(parts))


def _next_steps(result: RunResult) -> Iterator[str]:
    if result.failure is not None:
        yield "The error is above. The notebooks below show the cells that were executed."
        return
    if result.is_smoke:
        yield f"Every cell runs. For meaningful scores: tandem run {result.pair}"
    if result.handover is not None and not result.handover.is_complete:
        yield f"The training is incomplete. To continue it: tandem run {result.pair} --resume"
    yield from conclusions(result).advice
    if result.submission is not None:
        validity = (
            "passed every check against the sample" if result.submission.has_sample else "no sample to compare with"
        )
        yield f"The submission has {result.submission.rows:,} rows and {validity}: {result.submission.path}"


def _literal(value: object) -> str:
    try:
        return python_literal(value)
    except TypeError:
        return repr(value)


def _parts(result: RunResult) -> Iterator[NotebookPart]:
    findings_by_role = {} if result.folder is None else findings_in_pair(result.folder)
    for role, notebook in result.notebooks.items():
        cells, problem = tuple[CellView, ...](), ""
        try:
            cells = view_notebook(notebook.path)
        except (FileReadError, NotebookReadError) as error:
            problem = error.message
        yield NotebookPart(
            _WORDS[role], notebook, _times(notebook), cells, problem, findings_by_role.get(role, CellFindings())
        )


def _times(notebook: ExecutedNotebook) -> dict[str, float]:
    """Seconds by section, with what the kernel took to start and to end."""
    sections = {section or "Before the first section": seconds for section, seconds in notebook.sections.items()}
    return {**sections, "Kernel": max(0.0, notebook.seconds - sum(sections.values()))}
