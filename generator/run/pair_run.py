"""The story of a run: train, hand over, infer, validate, score, report."""

import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from generator.errors import RunError, TandemError
from generator.pair.workspace import Role, Workspace
from generator.run.baseline_process import baseline_process
from generator.run.execution import Listener, OutputKept, ReportWritten, StandInMounted
from generator.run.ledger import RunOrigin, RunOutputs, hash_training_table, record_run, training_key
from generator.run.notebook_target import NotebookTarget
from generator.run.output_folder import OutputFolder
from generator.run.result import RunResult
from generator.run.runnable_pair import RunnablePair
from generator.text import printable, storable


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


def run_pair(options: RunOptions, listener: Listener) -> RunResult:
    """Executes the notebooks of a pair on this machine, and writes a report of it.

    Raises:
        TandemError: With the sentence for the user. Once a notebook has run, the report is written all the same.
        KeyboardInterrupt: A signal asked for the end; the notebook is saved as far as it got.
    """
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
    with output.reserve(roles) as private:
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
        from generator.run.report import write_last_run, write_report, write_report_fields

        write_last_run(self.result)
        write_report(self.result)
        self.listener(ReportWritten(self.output.report))
        if self.result.is_measure:
            self._record()
        write_report_fields(self.result)

    def _train(self) -> None:
        target = self._target(Role.TRAIN, outputs={})
        if self.options.resume:
            earlier = self.output.set_aside()
            self.listener(OutputKept(earlier))
            target = replace(target, inputs=(*target.inputs, self.pair.earlier_output(Role.TRAIN, earlier)))
        self._empty_output(Role.TRAIN)
        self._execute_notebook(Role.TRAIN, target)
        self.result.handover = self.output.handover()
        if self.result.handover.is_complete:
            self.output.forget_interrupted(self.result.handover.run)
        self._check_score()

    def _infer(self) -> None:
        self.result.handover = self.result.handover or self.output.handover()
        self._check_handover()
        refs = (self.pair.sources[Role.TRAIN].ref, self.pair.spec.handover_dataset)
        outputs = dict.fromkeys(refs, self.output.working(Role.TRAIN))
        target = self._target(Role.INFER, outputs=outputs)
        self._empty_output(Role.INFER)
        threading.Thread(target=self._import_what_the_end_needs, daemon=True).start()
        self._execute_notebook(Role.INFER, target)
        submission = self.output.working(Role.INFER) / self.pair.submission_file
        if not submission.is_file():
            raise RunError(f"The inference notebook ended without writing {printable(str(submission))}.")
        self.result.submission = self.pair.check_submission(submission, self._data)
        if self.pair.built_in is not None and not self.options.specimen:
            self.result.score_hidden_test(self.pair.built_in, submission)

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
            data=self._data,
            predictions=predictions,
            scores_file=self.private / "baseline.jsonl",
        ) as process:
            yield
            self.result.baselines = process.scores(self.listener)

    def _record(self) -> None:
        """Keeps the run in the ledger; a run that cannot be kept is a run all the same."""
        result, output = self.result, self.output
        has_inference = Role.INFER in result.notebooks
        roles = [Role.TRAIN, *([Role.INFER] if has_inference else [])]
        workspace, spec = self.options.workspace, self.pair.spec
        assert result.handover is not None  # noqa: S101 - of a run that measured something, for mypy
        try:
            outputs = RunOutputs(
                workspace=workspace,
                folder=self.pair.folder,
                spec=spec,
                origin=RunOrigin.LOCAL,
                handover=result.handover,
                keys={
                    # A blend computes the same from the same members in another time: it is one run.
                    Role.TRAIN: (spec.members and result.handover.run) or training_key(result.handover),
                    Role.INFER: uuid.uuid4().hex if has_inference else "",
                },
                folders={role: output.working(role) for role in roles},
                notebooks={role: output.notebook(role) for role in roles if output.notebook(role).is_file()},
                seconds={role: notebook.seconds for role, notebook in result.notebooks.items()},
                submission=result.submission.path if result.submission else None,
                rows=result.submission.rows if result.submission else 0,
                report=output.report,
                hidden_test=result.hidden_test.value if result.hidden_test else None,
                table_sha256=hash_training_table(workspace, spec) if Role.TRAIN in result.notebooks else None,
            )
            recording = record_run(outputs)
        except (TandemError, OSError) as error:
            result.warnings.append(f"This run is not kept in the ledger of runs. {error}")
            return
        result.record, result.notes = recording.record, list(recording.notes)
        result.warnings += recording.warnings

    def _check_handover(self) -> None:
        accepts_incomplete = self.pair.parameters[Role.INFER].value("ACCEPT_INCOMPLETE") is True
        if not (accepts_incomplete or (self.result.handover is not None and self.result.handover.is_complete)):
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
        for report in self.output.reports:
            self.output.files.remove(report)

    @property
    def _data(self) -> Path:
        """The folder that stands for the competition's data."""
        return self.options.data(self.pair.spec.competition.slug)

    def _target(self, role: Role, *, outputs: Mapping[str, Path]) -> NotebookTarget:
        accepts_stand_in = self.result.is_smoke or self.result.is_specimen
        inputs = self.pair.mounts(
            role, outputs=outputs, specimen=self.options.specimen, accepts_stand_in=accepts_stand_in
        )
        stand_ins, preset = self.options.workspace.specimen("models").resolve(), self.pair.spec.preset
        if preset and any(mount.source.is_relative_to(stand_ins) for mount in inputs):
            self.listener(StandInMounted(preset.handle))
        return NotebookTarget(self.pair.folder.notebook(role), tuple(inputs), self.pair.parameters[role].values)

    def _execute_notebook(self, role: Role, target: NotebookTarget) -> None:
        input_root, working = self.private / role / "input", self.output.working(role)
        self.result.parameters[role] = self.pair.parameters[role].with_roots(
            input_root=input_root, working_root=working
        )
        executed_notebook = self.result.notebooks[role] = target.execute(
            self.listener,
            title=f"{self.pair.folder.name}/{role}.ipynb",
            private=self.private,
            working=working,
            input_root=input_root,
            saved_as=self.output.notebook(role),
            timeout=self.options.timeout,
        )
        if executed_notebook.failure is not None:
            raise executed_notebook.failure

    def _import_what_the_end_needs(self) -> None:
        """Imports the libraries of scoring and reporting while the notebook runs, or one waits for them afterwards."""
        import generator.run.report  # noqa: F401 (for its own imports)

        if self.pair.built_in is not None:
            self.pair.built_in.warm_up()
