"""The story of a rehearsal, and its record."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

from generator.accelerators import AcceleratorKind, catalog
from generator.competition.survey import survey_folder
from generator.pair.folder import handled_signals
from generator.pair.workspace import Role, Workspace
from generator.rehearsal.hidden_test import VARIATIONS
from generator.rehearsal.record import PAGE, as_fields, cells_of, write_page, write_record
from generator.rehearsal.sessions import (
    FEW_EPOCHS,
    RERUN,
    FinishedSession,
    InferenceWish,
    Rehearsal,
    Sessions,
    Trial,
    Verdict,
    find_image,
    hidden_test_trials,
    image_in_words,
    start_trainings,
    training_trials,
)
from generator.run.runnable_pair import RunnablePair
from generator.sessions.sandbox import SessionOrder

Listener = Callable[[str], None]

_ROWS, _FILES = 1_000, 300  # examples of the test that are taken, by default
_MOST_AT_A_TIME = 4
_GIB = 2**30
_HANDED_OVER = "the hand-over"


@dataclass(frozen=True)
class RehearsalOptions:
    """The options of `tandem rehearse`; `assignments` are texts such as `EPOCHS=3`.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        assignments: Parameters of the notebooks, in place of their defaults and the rehearsal's own.
        specimen: Whether it runs on made-up data in the layout of the competition's.
        data: The folder of the competition's data, where that is not in the workspace.
        examples: How many examples of the test are taken, None for as many as can be had in a minute or two.
        hidden_rows: How many rows the hidden test has, None if nobody knows.
        gpu_image: An environment with the versions of Kaggle's GPU image, None for the usual one.
    """

    workspace: Workspace
    pair: str
    assignments: tuple[str, ...] = ()
    specimen: bool = False
    data: Path | None = None
    examples: int | None = None
    hidden_rows: int | None = None
    gpu_image: Path | None = None


def rehearse_pair(options: RehearsalOptions, listener: Listener) -> Rehearsal:
    """Tries both notebooks of a pair under the conditions of Kaggle, and writes a page and a record of it.

    Args:
        options: What is wanted.
        listener: Is called with what begins, and with each verdict as soon as it is there.

    Raises:
        TandemError: The pair cannot be tried at all. What fails in its notebooks is in the result.
        KeyboardInterrupt: A signal asked for the end; neither page nor record is written.
    """
    start_time = time.monotonic()
    image, parameter_caps = find_image(options.gpu_image), {"EPOCHS": FEW_EPOCHS, "N_FOLDS": 1}
    pair = RunnablePair.of(options.workspace, options.pair, options.assignments, at_most=parameter_caps)
    cells, files = cells_of(pair.folder), options.workspace.files
    for role in Role:
        files.check(pair.folder.notebook(role))
    output = options.workspace.output(pair.folder.name)
    files.make_folder(output.parent)
    result = Rehearsal(
        pair=pair.folder.name,
        title=pair.spec.competition.title,
        data="a specimen (synthetic data)" if options.specimen else "the competition's own data",
        report=output / PAGE,
        is_code_competition=pair.spec.competition.is_code_competition,
        specimen=options.specimen,
        image=image_in_words(image),
    )
    at_a_time = min(_MOST_AT_A_TIME, os.cpu_count() or 1)
    with (
        handled_signals(signal.default_int_handler),
        files.beside(output.absolute()) as stage,
        Sessions(stage / "sessions", at_a_time=at_a_time) as running,
    ):
        result.isolation = running.isolation
        _Rehearsing(options, pair, image, stage, running, listener, result).execute()
    result.seconds = time.monotonic() - start_time
    write_page(result, files)
    write_record(result, cells, files)
    return result


@dataclass(frozen=True)
class _Rehearsing:
    """A rehearsal below a folder that nothing is left of; `result` is filled in as it gets on."""

    options: RehearsalOptions
    pair: RunnablePair
    image: Path | None
    stage: Path
    sessions: Sessions
    listener: Listener
    result: Rehearsal

    def execute(self) -> None:
        """Tries the training, and the inference on what that handed over."""
        # What inference reads besides the training is looked for now, and not after minutes of training.
        self._mounts(Role.INFER, {self.pair.sources[Role.TRAIN].ref: self.stage})
        self.listener("training")
        train_session = self._train()
        handed_over = [trial for trial in self.result.training if trial.name == _HANDED_OVER]
        if handed_over and handed_over[0].verdict is Verdict.PASSED:
            self._infer(train_session)
            return
        for variation in VARIATIONS:
            reason = "There is no model, because the training did not hand one over."
            self._tell(Trial(variation.name, variation.description, Verdict.SKIPPED, reason), self.result.hidden_test)

    def _tell(self, trial: Trial, part: list[Trial]) -> None:
        part.append(trial)
        self._say(trial)

    def _say(self, trial: Trial) -> None:
        self.listener(f"{trial.name}: {trial.verdict}")

    def _train(self) -> FinishedSession:
        trainings = start_trainings(self.sessions, self.pair, self._mounts(Role.TRAIN, {}), self.stage)
        eight, *single_sessions = [future.result() for future in trainings]
        for trial in training_trials(self.pair.spec.framework, eight, single_sessions[0] if single_sessions else None):
            self._tell(trial, self.result.training)
        return eight

    def _infer(self, train_session: FinishedSession) -> None:
        spec, sources = self.pair.spec, self.pair.sources
        mount_paths = self._mounts(Role.INFER, {sources[Role.TRAIN].ref: train_session.files.working})
        place = self.pair.data_mount
        data = mount_paths[place]
        machine = next(
            accelerator for accelerator in catalog().accelerators.values() if accelerator.kind is AcceleratorKind.GPU
        )
        memory = round(machine.host_memory_gib * _GIB) if machine.host_memory_gib else SessionOrder.memory_limit
        # In a rerun an inference server waits for Kaggle's gateway, and here nobody would come: the competition's own
        # local gateway asks instead.
        is_served = (data / "kaggle_evaluation").is_dir()
        session = SessionOrder(
            title="infer",
            notebook=self.pair.folder.notebook(Role.INFER),
            files=self.sessions.files("infer"),
            mounts=mount_paths,
            parameters=self.pair.parameters[Role.INFER].values,
            environment={} if is_served else RERUN,
            accelerator=AcceleratorKind.GPU,
            time_limit=timedelta(hours=spec.inference_hours),
            memory_limit=memory,
            python=self.image,
            internet=sources[Role.INFER].internet,
        )
        has_files = bool(spec.task.details.get("test_folder"))
        examples = self.options.examples or (_FILES if has_files else _ROWS)
        wish = InferenceWish(self.pair, session, place, survey_folder(data), examples, rows=self.options.hidden_rows)
        self.result.hidden_test += hidden_test_trials(self.sessions, wish, self.stage, self._say)

    def _mounts(self, role: Role, outputs: Mapping[str, Path]) -> dict[PurePosixPath, Path]:
        specimen, data = self.options.specimen, self.options.data
        user_data = {} if data is None else {self.pair.spec.competition.slug: data}
        input_mounts = self.pair.mounts(
            role,
            outputs={**outputs, **user_data},
            specimen=specimen,
            accepts_stand_in=specimen,
            through_links=False,
        )
        return {mount.at: mount.source for mount in input_mounts}


__all__ = ["RehearsalOptions", "as_fields", "rehearse_pair"]
