"""The story of a run: train, hand over, infer, validate, score, report.

PairRunError
├── NotebookMissingError        a pair without one of its notebooks
├── FolderNameError             a folder whose name no notebook can be told
├── SpecimenMissingError        there is no specimen to run on
├── TrainingIncompleteError     training stopped itself before its end
└── SubmissionMissingError      inference ended without a submission
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from generator.competition import builtin
from generator.competition.submission import SubmissionSummary, Tolerance, summarize, tolerance_of, validate
from generator.errors import RunError, TandemError
from generator.pair.folder import existing_pair
from generator.pair.generation import read_pair
from generator.pair.shared_cells import check_shared_cells
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.events import Listener, OutputKept, ReportWritten
from generator.run.execution import ExecutedNotebook, Execution, execute
from generator.run.handover import HandOver, Score, read_handover
from generator.run.kernel import KernelPlace, private_folder, require_packages
from generator.run.mirror import KernelSources, Mount, lay_out, mounts, read_sources
from generator.run.output_folder import OutputFolder
from generator.run.parameters import NotebookParameters, read_notebook_parameters, set_parameters
from generator.run.stopping import signals_as_interrupt
from generator.untrusted import printable, storable


class PairRunError(RunError):
    """A pair cannot be run to its end."""


class NotebookMissingError(PairRunError):
    """A pair is not whole."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"{printable(str(path))} does not exist. Write the pair afresh with `tandem generate`.")


class FolderNameError(PairRunError):
    """A folder whose name is not UTF-8: a notebook's parameters are, and could not name it."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"{printable(str(folder))} has a name that is not UTF-8, which no notebook can be told: "
            "rename it, or choose another folder with --output."
        )


class TrainingIncompleteError(PairRunError):
    """Training ran out of time and handed over what it had."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"Training stopped before its last epoch to stay within its time; its checkpoints are in "
            f"{printable(str(folder))}. Go on with --resume, or predict with what there is: "
            f"--only infer -P ACCEPT_INCOMPLETE=true"
        )


class SpecimenMissingError(PairRunError):
    """There is no specimen to run on."""

    def __init__(self, *, folder: Path, competition: str) -> None:
        super().__init__(
            f"There is no specimen in {printable(str(folder))}. Write one with `tandem specimen {competition}`."
        )


class SubmissionMissingError(PairRunError):
    """There is nothing to submit."""

    def __init__(self, *, path: Path) -> None:
        super().__init__(f"The inference notebook ended without writing {printable(str(path))}.")


@dataclass(frozen=True)
class RunRequest:
    """What the user asked for; `assignments` are texts such as `EPOCHS=3`.

    With `specimen` the pair runs on made-up data in the layout of the competition's.
    """

    workspace: Workspace
    pair: str
    output: Path | None = None
    roles: tuple[Role, ...] = (Role.TRAIN, Role.INFER)
    assignments: tuple[str, ...] = ()
    smoke: bool = False
    resume: bool = False
    specimen: bool = False
    timeout: float | None = None

    def output_folder(self, *, is_smoke: bool) -> Path:
        """Where everything is written: what says nothing of the model lies below what does, and never replaces it."""
        folder = self.output or self.workspace.output(self.pair)
        below = [name for name, is_meant in (("specimen", self.specimen), ("smoke", is_smoke)) if is_meant]
        return folder.joinpath(*below).absolute()

    def data(self, slug: str) -> Path:
        """The folder that stands for a competition's data."""
        return self.workspace.specimen(slug) if self.specimen else self.workspace.competition_data(slug)


@dataclass(frozen=True)
class PairFacts:
    """What a run needs to know of the pair beside its notebooks; `sample` is None where there is none."""

    title: str
    competition: str
    sample: Path | None
    tolerance: Tolerance

    def checked(self, submission: Path) -> SubmissionSummary:
        """What a submission holds, if it is what the competition asks for."""
        if self.sample is None:
            return summarize(submission)
        return validate(submission, self.sample, tolerance=self.tolerance)


@dataclass(frozen=True)
class RunResult:
    """What came out; a score is None where there is none to be had."""

    pair: str
    title: str
    is_smoke: bool
    is_specimen: bool
    seconds: float
    notebooks: Mapping[Role, ExecutedNotebook]
    parameters: Mapping[Role, NotebookParameters]
    handover: HandOver | None
    submission: SubmissionSummary | None
    hidden_test: Score | None
    report: Path
    failure: TandemError | None = None

    @property
    def out_of_fold(self) -> Score | None:
        """The score that training measured itself."""
        return self.handover.out_of_fold if self.handover is not None else None


@dataclass
class _Progress:
    """A run as far as it has come."""

    notebooks: dict[Role, ExecutedNotebook] = field(default_factory=dict)
    parameters: dict[Role, NotebookParameters] = field(default_factory=dict)
    handover: HandOver | None = None
    submission: SubmissionSummary | None = None
    hidden_test: Score | None = None
    failure: TandemError | None = None


def run_pair(request: RunRequest, listener: Listener) -> RunResult:
    """Executes the notebooks of a pair on this machine, and writes a report of it.

    Raises:
        TandemError: With the sentence for the user. Once a notebook has run, the report is written all the same.
        KeyboardInterrupt: A signal asked for the end; the notebook is saved as far as it got.
    """
    require_packages()
    run = _PairRun(request, listener)
    folder = request.output_folder(is_smoke=run.is_smoke)
    if storable(str(folder)) != str(folder):
        raise FolderNameError(folder=folder)
    output = OutputFolder(folder, request.output or request.workspace.root.absolute())
    # A resumed training moves what is there away instead.
    emptied = [role for role in request.roles if not (request.resume and role is Role.TRAIN)]
    with signals_as_interrupt(), output.locked(emptied), private_folder() as private:
        result = run.execute(output, private)
    if result.failure is not None:
        raise result.failure
    return result


class _PairRun:
    def __init__(self, request: RunRequest, listener: Listener) -> None:
        self._request = request
        self._listener = listener
        self._pair = _whole_pair(request)
        self._facts = _facts(self._pair, request)
        self._parameters = self._checked_parameters()
        check_shared_cells(self._pair)
        self._sources = {role: read_sources(self._pair, role) for role in Role}

    @property
    def is_smoke(self) -> bool:
        """Whether a notebook runs in its smoke mode, by `--smoke`, by a parameter or by its own default."""
        return any(self._parameters[role].value("SMOKE_TEST") is True for role in self._request.roles)

    def execute(self, output: OutputFolder, private: Path) -> RunResult:
        started = time.monotonic()
        progress = _Progress()
        with self._failure_kept(progress):
            if Role.TRAIN in self._request.roles:
                self._train(output, private, progress)
            if Role.INFER in self._request.roles:
                self._infer(output, private, progress)
        result = RunResult(
            pair=self._pair.name,
            title=self._facts.title,
            is_smoke=self.is_smoke,
            is_specimen=self._request.specimen,
            seconds=time.monotonic() - started,
            notebooks=progress.notebooks,
            parameters=progress.parameters,
            handover=progress.handover,
            submission=progress.submission,
            hidden_test=progress.hidden_test,
            report=output.report,
            failure=progress.failure,
        )
        _write_report(result)
        self._listener(ReportWritten(output.report))
        return result

    def _train(self, output: OutputFolder, private: Path, progress: _Progress) -> None:
        wanted = self._mounts(Role.TRAIN, outputs={})
        if self._request.resume:
            at = PurePosixPath("notebooks", *self._sources[Role.TRAIN].ref.split("/"))
            earlier = output.set_aside()
            self._listener(OutputKept(earlier))
            wanted.append(Mount(at=at, source=earlier.resolve()))
        self._make_room(Role.TRAIN, output)
        self._execute(Role.TRAIN, wanted, output=output, private=private, progress=progress)
        progress.handover = read_handover(output.working(Role.TRAIN))
        if progress.handover.is_complete:
            output.forget_interrupted()

    def _infer(self, output: OutputFolder, private: Path, progress: _Progress) -> None:
        trained = output.working(Role.TRAIN)
        progress.handover = progress.handover or read_handover(trained)
        accepts_incomplete = self._parameters[Role.INFER].value("ACCEPT_INCOMPLETE") is True
        if not (progress.handover.is_complete or accepts_incomplete):
            raise TrainingIncompleteError(folder=trained)
        wanted = self._mounts(Role.INFER, outputs={self._sources[Role.TRAIN].ref: trained})
        self._make_room(Role.INFER, output)
        threading.Thread(target=_import_what_the_end_needs, args=[self._facts.competition], daemon=True).start()
        self._execute(Role.INFER, wanted, output=output, private=private, progress=progress)
        submission = output.working(Role.INFER) / self._submission_name()
        if not submission.is_file():
            raise SubmissionMissingError(path=submission)
        progress.submission = self._facts.checked(submission)
        if not self._request.specimen:
            progress.hidden_test = _hidden_test_score(self._facts.competition, submission)

    def _make_room(self, role: Role, output: OutputFolder) -> None:
        """Leaves a notebook an empty folder; of runs that measure something, what was there is kept."""
        kept = None if self.is_smoke or self._request.specimen else output.keep(role)
        if kept is not None:
            self._listener(OutputKept(kept))
        output.empty(role)
        output.remove_report()

    def _execute(
        self, role: Role, wanted: list[Mount], *, output: OutputFolder, private: Path, progress: _Progress
    ) -> None:
        input_root = private / role / "input"
        lay_out(wanted, input_root)
        working = output.working(role)
        parameters = self._parameters[role].with_roots(input_root=input_root, working_root=working)
        progress.parameters[role] = parameters
        execution = Execution(
            title=f"{self._pair.name}/{role}.ipynb",
            source=self._pair.notebook(role),
            saved_as=output.notebook(role),
            parameters=parameters.values,
            place=KernelPlace(private, working, (input_root, *(mount.source for mount in wanted))),
            mounted={input_root / mount.at: mount.source for mount in wanted},
            timeout=self._request.timeout,
        )
        executed = progress.notebooks[role] = execute(execution, self._listener)
        if executed.failure is not None:
            raise executed.failure

    @contextmanager
    def _failure_kept(self, progress: _Progress) -> Iterator[None]:
        try:
            yield
        except TandemError as error:
            if not progress.notebooks:
                raise
            progress.failure = error

    def _mounts(self, role: Role, *, outputs: Mapping[str, Path]) -> list[Mount]:
        sources: KernelSources = self._sources[role]
        if self._request.specimen:
            specimens = {slug: self._specimen(slug) for slug in sources.competitions}
            return mounts(sources, self._request.workspace, outputs=outputs, specimens=specimens)
        for slug in sources.competitions:
            built_in = builtin.find(slug)
            if built_in is not None:
                builtin.ensure_data(built_in, self._request.workspace)
        return mounts(sources, self._request.workspace, outputs=outputs)

    def _specimen(self, slug: str) -> Path:
        folder = self._request.data(slug)
        if not folder.is_dir():
            raise SpecimenMissingError(folder=folder, competition=slug)
        return folder

    def _checked_parameters(self) -> dict[Role, NotebookParameters]:
        notebooks = {role: read_notebook_parameters(self._pair.notebook(role)) for role in Role}
        return set_parameters(notebooks, self._request.assignments, smoke=self._request.smoke)

    def _submission_name(self) -> str:
        name = self._parameters[Role.INFER].value("SUBMISSION_FILE")
        return name if isinstance(name, str) else "submission.csv"


def _whole_pair(request: RunRequest) -> PairFolder:
    pair = existing_pair(request.workspace, request.pair)
    for role in Role:
        if not pair.notebook(role).is_file():
            raise NotebookMissingError(path=pair.notebook(role))
    return pair


def _facts(pair: PairFolder, request: RunRequest) -> PairFacts:
    spec = read_pair(pair)
    slug = spec.competition.slug
    sample = spec.task.sample_submission
    return PairFacts(
        title=spec.competition.title,
        competition=slug,
        sample=request.data(slug) / sample if sample else None,
        tolerance=tolerance_of(spec.task),
    )


def _hidden_test_score(competition: str, submission: Path) -> Score | None:
    built_in = builtin.find(competition)
    return None if built_in is None else Score(metric=str(built_in.task.metric), value=built_in.score(submission))


def _import_what_the_end_needs(competition: str) -> None:
    """Imports the libraries of scoring and reporting while the notebook runs, or one waits for them afterwards."""
    import generator.run.report  # noqa: F401 (for its own imports)

    built_in = builtin.find(competition)
    if built_in is not None:
        built_in.warm_up()


def _write_report(result: RunResult) -> None:
    from generator.run.report import write_report

    write_report(result)
