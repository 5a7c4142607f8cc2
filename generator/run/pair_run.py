"""The story of a run: train, hand over, infer, validate, score, report."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.competition import builtin
from generator.competition.baseline import Baseline
from generator.competition.submission import SubmissionSummary, sample_columns_of, summarize, tolerance_of, validate
from generator.errors import RunError, TandemError
from generator.pair.cells import check_shared_cells
from generator.pair.folder import existing_pair, handled_signals, read_pair_spec
from generator.pair.handover import HandOver, Score, read_handover
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.execution import (
    BaselineAwaited,
    Execution,
    Listener,
    NotebookParameters,
    OutputKept,
    ReportWritten,
    RunResult,
    StandInMounted,
    read_notebook_parameters,
    set_parameters,
)
from generator.run.input_mounts import KernelSources, Mount, lay_out, mounts, read_sources
from generator.run.kernel import KernelSetup, private_folder, require_packages
from generator.run.output_folder import OutputFolder
from generator.text import JsonObject, printable, storable

# A plain baseline beside a run, in a process that can neither delay it for long nor take its memory.


SECONDS = 30.0  # from its start; beside a notebook that takes longer, as long as that
_LONGEST_ANSWER = 1 << 16
_LONGEST_NAME = 100


@dataclass(frozen=True)
class BaselineProcess:
    """A process that computes a baseline, and the file that it writes its scores to."""

    process: subprocess.Popen[bytes]
    scores_file: Path
    until: float

    def scores(self, listener: Listener) -> tuple[Baseline, ...]:
        """Waits for the end of the process, or of its time, and returns the scores that it has by then."""
        left = max(0.0, self.until - time.monotonic())
        if left and self.process.poll() is None:
            listener(BaselineAwaited(left))
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=left)
        self.process.kill()
        with self.scores_file.open("rb") as file:
            return tuple(_baselines(file.read(_LONGEST_ANSWER).decode(errors="replace")))


@contextmanager
def baseline_process(
    *, workspace: Path, pair: str, data: Path, predictions: Path, scores_file: Path
) -> Iterator[BaselineProcess]:
    """Computes a baseline for as long as the block lasts, at most.

    Args:
        workspace: Where the pair is.
        pair: Its name.
        data: The competition's files.
        predictions: The `oof.npz` of its training.
        scores_file: The file to write the scores to.
    """
    request = {"workspace": workspace.absolute(), "pair": pair, "data": data.absolute(), "predictions": predictions}
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator.run.baseline_process", json.dumps(request, default=str)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # the notebook has the other cores
    with (
        scores_file.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - the kit's own module
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
        ) as process,
    ):
        try:
            yield BaselineProcess(process, scores_file, time.monotonic() + SECONDS)
        finally:
            process.kill()


def _baselines(output: str) -> Iterator[Baseline]:
    """The scores in what the process said; a line that it did not get to the end of is none."""
    for line in output.splitlines():
        fields = JsonObject.parse(line)
        score = fields.number("score")
        if score is not None:
            yield Baseline(printable(fields.text("name"))[:_LONGEST_NAME], score, fields.count("rows"))


@dataclass(frozen=True)
class RunOptions:
    """The options of `tandem run`; `assignments` are texts such as `EPOCHS=3`.

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
        """The folder of the results: made-up ones lie below those of the model, and never replace them."""
        folder = self.output or self.workspace.output(self.pair)
        below = [name for name, is_meant in (("specimen", self.specimen), ("smoke", is_smoke)) if is_meant]
        return folder.joinpath(*below).absolute()

    def data(self, slug: str) -> Path:
        """The folder that stands for a competition's data."""
        return self.workspace.specimen(slug) if self.specimen else self.workspace.competition_data(slug)


@dataclass(frozen=True)
class RunnablePair:
    """A pair that can be run: its notebooks, metadata and parameters are there and fit together."""

    folder: PairFolder
    spec: PairSpec
    parameters: Mapping[Role, NotebookParameters]
    sources: Mapping[Role, KernelSources]

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        name: str,
        assignments: Sequence[str],
        *,
        smoke: bool = False,
        at_most: Mapping[str, int] | None = None,
    ) -> "RunnablePair":
        """Reads a pair.

        Args:
            workspace: Where it is.
            name: Its name.
            assignments: Parameters of the notebooks in place of their defaults, as texts such as `EPOCHS=3`.
            smoke: Whether every cell runs on very little data.
            at_most: What parameters of the training are lowered to where its own values are larger.

        Raises:
            TandemError: It cannot be run, and why.
        """
        folder = existing_pair(workspace, name)
        defaults = {role: read_notebook_parameters(folder.notebook(role)) for role in Role}
        spec = read_pair_spec(folder)
        limits = []
        for key, most in (at_most or {}).items():
            default = defaults[Role.TRAIN].value(key)
            limits += [f"{key}={most}"] if isinstance(default, int) and default > most else []
        parameters = set_parameters(defaults, [*limits, *assignments], smoke=smoke)
        check_shared_cells(folder)
        return cls(folder, spec, parameters, {role: read_sources(folder, role) for role in Role})

    @property
    def submission_file(self) -> str:
        """The file that inference writes."""
        name = self.parameters[Role.INFER].value("SUBMISSION_FILE")
        return name if isinstance(name, str) else "submission.csv"


def run_pair(options: RunOptions, listener: Listener) -> RunResult:
    """Executes the notebooks of a pair on this machine, and writes a report of it.

    Raises:
        TandemError: With the sentence for the user. Once a notebook has run, the report is written all the same.
        KeyboardInterrupt: A signal asked for the end; the notebook is saved as far as it got.
    """
    require_packages()
    pair = RunnablePair.of(options.workspace, options.pair, options.assignments, smoke=options.smoke)
    # By `--smoke`, by a parameter, or by a notebook's own default.
    is_smoke = any(pair.parameters[role].value("DEBUG") is True for role in options.roles)
    folder = options.output_folder(is_smoke=is_smoke)
    if storable(str(folder)) != str(folder):
        raise RunError(
            f"{printable(str(folder))} has a name that is not UTF-8. Notebooks cannot use it. Rename it, or "
            "choose another folder with --output."
        )
    output = OutputFolder(folder, options.output or options.workspace.root.absolute())
    result = RunResult(
        pair=pair.folder.name,
        title=pair.spec.competition.title,
        is_smoke=is_smoke,
        is_specimen=options.specimen,
        report=output.report,
        folder=pair.folder,
    )
    # A resumed training moves what is there away instead.
    roles = [role for role in options.roles if not (options.resume and role is Role.TRAIN)]
    # All of them end a run in the same way.
    with handled_signals(signal.default_int_handler), output.lock(roles), private_folder() as private:
        _PairRun(options, pair, output=output, private=private, listener=listener, result=result).execute()
    if result.failure is not None:
        raise result.failure
    return result


@dataclass(frozen=True)
class _PairRun:
    """A run of the pair into its output folder, which is locked; `result` is filled in as it gets on."""

    options: RunOptions
    pair: RunnablePair
    output: OutputFolder
    private: Path
    listener: Listener
    result: RunResult

    def execute(self) -> None:
        """Runs what the options ask for, and writes the report unless nothing ran."""
        start_time = time.monotonic()
        try:
            if Role.TRAIN in self.options.roles:
                self._train()
            with self._baseline():
                if Role.INFER in self.options.roles:
                    self._infer()
        except TandemError as error:
            if not self.result.notebooks:
                raise
            self.result.failure = error
        self.result.seconds = time.monotonic() - start_time
        from generator.run.report import write_last_run, write_report

        write_last_run(self.result)
        write_report(self.result)
        self.listener(ReportWritten(self.output.report))

    def _train(self) -> None:
        mount_points = self._mounts(Role.TRAIN, outputs={})
        if self.options.resume:
            at = PurePosixPath("notebooks", *self.pair.sources[Role.TRAIN].ref.split("/"))
            earlier = self.output.set_aside()
            self.listener(OutputKept(earlier))
            mount_points.append(Mount(at=at, source=earlier.resolve()))
        self._empty_output(Role.TRAIN)
        self._execute_notebook(Role.TRAIN, mount_points)
        self.result.handover = read_handover(self.output.working(Role.TRAIN))
        if self.result.handover.is_complete:
            self.output.forget_interrupted(self.result.handover.run)
        self._check_score()

    def _infer(self) -> None:
        self._check_handover(self.result.handover or read_handover(self.output.working(Role.TRAIN)))
        refs = (self.pair.sources[Role.TRAIN].ref, self.pair.spec.handover_dataset)
        outputs = dict.fromkeys(refs, self.output.working(Role.TRAIN))
        mount_points = self._mounts(Role.INFER, outputs=outputs)
        self._empty_output(Role.INFER)
        threading.Thread(target=self._import_what_the_end_needs, daemon=True).start()
        self._execute_notebook(Role.INFER, mount_points)
        submission = self.output.working(Role.INFER) / self.pair.submission_file
        if not submission.is_file():
            raise RunError(f"The inference notebook ended without writing {printable(str(submission))}.")
        self.result.submission = self._validate_submission(submission)
        if not self.options.specimen:
            self.result.hidden_test = _hidden_test_score(self.pair.spec.competition.slug, submission)

    @contextmanager
    def _baseline(self) -> Iterator[None]:
        """Computes what a plain model scores while the block lasts, and for some seconds more."""
        predictions = self.output.working(Role.TRAIN) / "oof.npz"
        # With a metric of the user's own, scores by the kit's would be compared with others.
        is_ours = self.pair.parameters[Role.TRAIN].value("METRIC") in (None, self.pair.spec.task.metric)
        if self.result.is_smoke or self.options.specimen or not is_ours or not predictions.is_file():
            yield
            return
        with baseline_process(
            workspace=self.options.workspace.root,
            pair=self.pair.folder.name,
            data=self.options.data(self.pair.spec.competition.slug),
            predictions=predictions,
            scores_file=self.private / "baseline.jsonl",
        ) as process:
            yield
            self.result.baselines = process.scores(self.listener)

    def _check_handover(self, handover: HandOver) -> None:
        self.result.handover = handover
        accepts_incomplete = self.pair.parameters[Role.INFER].value("ACCEPT_INCOMPLETE") is True
        if not (handover.is_complete or accepts_incomplete):
            folder = printable(str(self.output.working(Role.TRAIN)))
            raise RunError(
                f"Training reached its time limit before the last epoch. Its checkpoints are in {folder}. "
                "Continue with --resume, or predict with this model: --only infer -P ACCEPT_INCOMPLETE=true"
            )
        self._check_score()

    def _check_score(self) -> None:
        """Refuses a hand-over whose score is no number, except of a smoke run or a specimen, which measure nothing."""
        if self.result.is_measure and self.result.handover is not None and not self.result.handover.is_scored:
            raise RunError(
                "The out-of-fold score is NaN or infinite. Check the losses "
                f"in {printable(str(self.output.notebook(Role.TRAIN)))}. If they are NaN too, train with "
                "a lower LEARNING_RATE."
            )

    def _empty_output(self, role: Role) -> None:
        """Leaves a notebook an empty folder; of runs that measure something, what was there is kept."""
        backup = None if self.result.is_smoke or self.options.specimen else self.output.keep(role)
        if backup is not None:
            self.listener(OutputKept(backup))
        self.output.empty(role)
        self.output.files.remove(self.output.report)

    def _execute_notebook(self, role: Role, mount_points: list[Mount]) -> None:
        from generator.run.engine import execute

        input_root, working = self.private / role / "input", self.output.working(role)
        lay_out(mount_points, input_root)
        parameters = self.pair.parameters[role].with_roots(input_root=input_root, working_root=working)
        self.result.parameters[role] = parameters
        execution = Execution(
            title=f"{self.pair.folder.name}/{role}.ipynb",
            source=self.pair.folder.notebook(role),
            saved_as=self.output.notebook(role),
            parameters=parameters.values,
            kernel=KernelSetup(self.private, working, (input_root, *(mount.source for mount in mount_points))),
            mount_sources={input_root / mount.at: mount.source for mount in mount_points},
            timeout=self.options.timeout,
        )
        executed_notebook = self.result.notebooks[role] = execute(execution, self.listener)
        if executed_notebook.failure is not None:
            raise executed_notebook.failure

    def _mounts(self, role: Role, *, outputs: Mapping[str, Path]) -> list[Mount]:
        sources, workspace, preset = self.pair.sources[role], self.options.workspace, self.pair.spec.preset
        stand_ins = [preset.handle] if preset and (self.result.is_smoke or self.result.is_specimen) else []
        mount_points = mounts(sources, workspace, outputs=outputs, specimen=self.options.specimen, stand_ins=stand_ins)
        if any(mount.source.is_relative_to(workspace.specimen("models").resolve()) for mount in mount_points):
            self.listener(StandInMounted(stand_ins[0]))
        return mount_points

    def _validate_submission(self, submission: Path) -> SubmissionSummary:
        """Validates a submission against the sample, and returns the facts of it."""
        task = self.pair.spec.task
        if not task.sample_submission:
            return summarize(submission)
        sample = self.options.data(self.pair.spec.competition.slug) / task.sample_submission
        return validate(submission, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))

    def _import_what_the_end_needs(self) -> None:
        """Imports the libraries of scoring and reporting while the notebook runs, or one waits for them afterwards."""
        import generator.run.report  # noqa: F401 (for its own imports)

        built_in = builtin.find(self.pair.spec.competition.slug)
        if built_in is not None:
            built_in.warm_up()


def _hidden_test_score(competition: str, submission: Path) -> Score | None:
    built_in = builtin.find(competition)
    return None if built_in is None else Score(metric=str(built_in.task.metric), value=built_in.score(submission))
