"""The steps of a chain: push, wait, verify, upload, submit."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from generator.accelerators import AcceleratorKind, Service, catalog
from generator.competition.submission import (
    MissingReaderError,
    SubmissionError,
    SubmissionSummary,
    sample_columns_of,
    summarize,
    tolerance_of,
    validate,
)
from generator.competition.tables.formats import table_format
from generator.errors import TandemError
from generator.kaggle.api_types import (
    ApiSubmission,
    DatasetState,
    KernelOutput,
    KernelPush,
    Pushed,
    RemoteFile,
    RemoteKernel,
    SessionState,
    SessionStatus,
    SubmissionStatus,
)
from generator.kaggle.api_types import DatasetUpload as Files
from generator.kaggle.chain.errors import (
    ChainError,
    EditedOnKaggleError,
    HandOverUnfitError,
    OutputDamagedError,
    OutputMissingError,
    ScoringFailedError,
    SessionFailedError,
    StepError,
    SubmissionUnfitError,
    SubmitByHandError,
    UnfinishedError,
    UploadFailedError,
    WrongAcceleratorError,
    to_target,
)
from generator.kaggle.chain.execution import ChainExecution, ExactlyOnce, Handoff, Poll, PushOptions
from generator.kaggle.chain.inputs import KernelHistory, install_cell, wheels_for
from generator.kaggle.chain.journal import AnnouncedUpload, ChainState, ChainStep, EntryKind, EventKind, Push, Submitted
from generator.kaggle.errors import (
    ForbiddenError,
    KaggleError,
    SourcesRefusedError,
    SubmitForbiddenError,
    UnsafeAnswerError,
)
from generator.kaggle.gateway import DatasetApi, ModelApi
from generator.pair.handover import FILE_NAME, DamagedError, HandOver, accelerator_in_words, read_json_object
from generator.pair.notebook import digest_of_cells, with_first_cell, with_parameters
from generator.pair.workspace import Role, dataset_beside
from generator.text import JsonObject, printable

# The checks of what a training session left: the accelerator that it had, and whether inference can use the rest.


MARKER = "accelerator.json"
_TRAIN_AGAIN = "Train again."
_SCHEMA = 2
_OF_THIS_PAIR = "Render both notebooks together, and train again."


def whole_handover(path: Path) -> HandOver:
    """Reads `handoff.json`, and makes sure by its own hash that it is whole; what it says is not checked yet.

    Raises:
        DamagedError: It is no JSON object, or not as training wrote it.
    """
    handover = HandOver(read_json_object(path))
    if not handover.is_whole:
        raise DamagedError("its hash is not the one that stands in it")
    return handover


def handover_summary(handover: HandOver) -> dict[str, Any]:
    """The parts of a hand-over that the journal keeps, as JSON."""
    fold, score = handover.fields.section("out_of_fold"), handover.out_of_fold
    return {
        "pair_id": handover.fields.text("pair_id"),
        "framework": handover.framework,
        "backend": handover.backend,
        "versions": dict(handover.versions),
        "out_of_fold": {"metric": fold.text("metric") or "score", "score": score.value if score else None},
        "sha256": handover.fields.text("sha256"),
        "files": [
            {"file": promise.file, "bytes": promise.size, "sha256": promise.sha256} for promise in handover.files
        ],
    }


def check_accelerator(marker: JsonObject, *, accelerator: str, is_local: bool, url: str) -> None:
    """Makes sure that training ran on what it asked for; a local Kaggle may emulate it.

    Raises:
        WrongAcceleratorError: It ran on something else.
    """
    if not marker.flag("emulated") and marker.get("platform") == accelerator:
        return
    if is_local and _is_emulation(marker, accelerator):
        return
    raise WrongAcceleratorError(accelerator=accelerator, actual_accelerator=describe_accelerator(marker), url=url)


def check_failed_session(marker: JsonObject, *, accelerator: str, url: str) -> WrongAcceleratorError | None:
    """The error of a training session that failed for want of its accelerator; None if it had that."""
    if marker.get("platform") == accelerator or _is_emulation(marker, accelerator):
        return None
    # The notebook calls everything emulated that it did not ask for; here nobody meant to.
    actual_accelerator = describe_accelerator(JsonObject(marker, emulated=False))
    return WrongAcceleratorError(accelerator=accelerator, actual_accelerator=actual_accelerator, url=url)


def describe_accelerator(marker: JsonObject) -> str:
    """An accelerator in words: how many of what, and whether it was emulated."""
    words = printable(accelerator_in_words(marker)) or "something unknown"
    return f"{words} (emulated)" if marker.flag("emulated") else words


def way_to_continue(options: PushOptions, *, target: str) -> str:
    """The lines and commands that let training go on in another session on Kaggle, from where the last one ended."""
    pair = printable(options.pair)
    push = f"tandem push {pair}{to_target(target)}"
    if options.spec.continues:
        return f"`{push} --from train` goes on in another session; the training kernel has its own output attached."
    generate = f"tandem generate --competition {printable(options.spec.competition.slug)} --name {pair}"
    return (
        f"To go on in another session, write `continues = true` below `[pair]` in kernels/{pair}/pair.toml, which "
        f"attaches this output to the training kernel, and run `{generate}`, then `{push}`."
    )


def check_handover(handover: HandOver, *, pair_id: str, listing: Mapping[str, RemoteFile], if_interrupted: str) -> None:
    """Makes sure that inference can use a hand-over: of this pair, complete, of real data, and all its files there.

    Args:
        handover: The hand-over.
        pair_id: The pair.
        listing: The files of the output, by name.
        if_interrupted: What the user does where training was interrupted.

    Raises:
        HandOverUnfitError: The first thing that is not so.
    """
    fields = handover.fields
    schema, pair, epochs = fields.get("schema_version"), fields.get("pair_id"), fields.get("epochs_done")
    is_smoke, is_interrupted = fields.section("settings").flag("DEBUG"), not fields.flag("complete")
    for is_unfit, problem, remedy in (
        (schema != _SCHEMA, f"its schema version is {schema!r}, and this kit knows {_SCHEMA}", _OF_THIS_PAIR),
        (pair != pair_id, f"it is of the pair {pair!r}, and not of {pair_id!r}", _OF_THIS_PAIR),
        (is_interrupted, f"training was interrupted, its folds have done {epochs} epochs", if_interrupted),
        (fields.flag("specimen"), "training ran on a specimen (synthetic data)", _TRAIN_AGAIN),
        (is_smoke, "training was a smoke test, on a few rows", "Set DEBUG = False, and train again."),
        (
            not handover.is_scored,
            "its score is NaN or infinite",
            "Look at the losses, lower LEARNING_RATE, and train again.",
        ),
    ):
        if is_unfit:
            error = UnfinishedError if remedy is if_interrupted else HandOverUnfitError
            raise error(problem=problem, remedy=remedy)
    for promise in handover.files:
        entry = listing.get(promise.file)
        if entry is None:
            raise HandOverUnfitError(problem=f"{promise.file} is not in the output", remedy=_TRAIN_AGAIN)
        # A listing that does not say the size says 0.
        if promise.size and entry.size and entry.size != promise.size:
            problem = f"{promise.file} has {entry.size:,} bytes, and training wrote {promise.size:,}"
            raise HandOverUnfitError(problem=problem, remedy=_TRAIN_AGAIN)


def _is_emulation(marker: JsonObject, accelerator: str) -> bool:
    """True if a local Kaggle stood in for the accelerator: a TPU has as many devices then as it really has."""
    devices = catalog().training.devices if accelerator == AcceleratorKind.TPU else 1
    return marker.flag("emulated") and marker.get("device_count") == devices


# Checking what inference predicted, against the competition's sample submission as this Kaggle has it.


_LARGEST = 512 * 1024 * 1024


def fetch_sample(chain: ChainExecution, options: PushOptions) -> Path | None:
    """The sample, fetched once; the workspace's copy where Kaggle does not give it; None where there is neither."""
    slug, name = options.spec.competition.slug, options.spec.task.sample_submission
    if not name:
        return None
    archive, separator, member = name.partition(".zip/")
    file = archive + separator.removesuffix("/")
    copy = chain.folder("sample") / Path(file).name
    if not copy.is_file():
        url = chain.page(f"competitions/{slug}/data")
        try:
            chain.read(f"the sample submission of {slug}", lambda: _fetch(chain, slug, file, copy), url=url)
        except KaggleError as error:
            chain.tell("infer", f"The sample submission cannot be fetched: {error.message}")
    workspace_file = options.workspace.competition_data(slug) / file
    sample = next((path for path in (copy, workspace_file) if path.is_file()), None)
    return sample / member if sample is not None and member else sample


def check_submission(path: Path, sample: Path | None, options: PushOptions) -> SubmissionSummary:
    """The summary of a submission that is what the competition asks for; without columns where nothing here reads it.

    Raises:
        DamagedError: It is not, or it arrived in part.
        SubmissionUnfitError: It is empty.
    """
    unread = SubmissionSummary(path=path, rows=0, columns=())
    if table_format(path.name).format is None:
        if not path.stat().st_size:
            raise SubmissionUnfitError(problem=f"{path.name} is empty.")
        return unread
    try:
        if sample is None:
            return summarize(path)
        task = options.spec.task
        return validate(path, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))
    except MissingReaderError:
        # The notebook has checked it as well, and a chain is long: that is no reason to stop at its end.
        return unread
    except SubmissionError as error:
        # Half of a file looks like one with rows missing: it is fetched again before that is believed.
        raise DamagedError(error.message) from error


def _fetch(chain: ChainExecution, slug: str, name: str, copy: Path) -> None:
    files = {file.name: file for file in chain.kaggle.competitions.list_files(slug)}
    if name not in files or files[name].size > _LARGEST:
        return
    for _ in chain.kaggle.files.download(chain.kaggle.competitions.file_url(slug, name), copy, size=files[name].size):
        pass


# Waiting for the session of the version that was pushed, and for no other; and fetching what it wrote.


_ACTIVE = (SessionState.QUEUED, SessionState.RUNNING, SessionState.CANCELLING, SessionState.NEW)
_TAIL_LINES, _TAIL_LETTERS = 8, 2000
T = TypeVar("T")


class KernelSession:
    """The session of a kernel's version, seen from here."""

    def __init__(self, chain: ChainExecution, role: Role, *, show_log: bool = False) -> None:
        self._chain = chain
        self._role = role
        self._show_log = show_log
        self._finals = 0

    @property
    def push(self) -> Push:
        """The version."""
        return self._chain.state.pushes[self._role]

    @property
    def label(self) -> str:
        """The version in words."""
        return f"{self.push.ref}, version {self.push.version}"

    def file(self, name: str) -> Path:
        """The place of a fetched file in the chain's folder."""
        return self._chain.folder(self._role) / PurePosixPath(name).name

    def wait(self, required_names: Collection[str]) -> KernelOutput:
        """Waits until the session is over, and has what it should have written.

        Args:
            required_names: Names that have to be in the output.

        Raises:
            SessionFailedError: It ended otherwise than well.
            OutputMissingError: It ended well, without these files.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        if self._show_log and not self._is_over:
            self._follow_log()
        poll = self._chain.poll(self.label, url=self.push.url, is_new=True)
        policy, over = self._chain.polling, poll.seconds
        while True:
            status = self._status(poll)
            is_believed = status.state.is_final and self._is_believed(status.state)
            if is_believed and status.state is not SessionState.COMPLETE:
                raise self._failure(status)
            if is_believed:
                output = poll.ask(self._output)
                missing = set(required_names) - {file.name for file in output.files}
                if not missing or poll.seconds - over >= policy.settle:
                    self._write_state(SessionState.COMPLETE)
                    if not missing:
                        return output
                    names = ", ".join(sorted(missing))
                    error = OutputMissingError(role=self._role, names=names, url=self.push.url)
                    raise self._chain.fail(ChainStep(self._role), error)
            else:
                over = poll.seconds
            trouble = f"it has been {status.state} for {policy.queue / 3600:.0f} hours"
            poll.give_up_after(policy.queue, trouble=trouble, remedy="It may be stuck.")
            poll.pause()

    def fetch(self, name: str, reader: Callable[[Path], T], *, failure: Callable[[str], StepError] | None = None) -> T:
        """Fetches a file of the output into the chain's folder, and again if it arrives otherwise than it was written.

        Args:
            name: Which file.
            reader: Makes something of the file; raises `DamagedError` if it is not whole.
            failure: Makes another error of what was wrong each time.

        Raises:
            OutputDamagedError: It never arrived whole.
        """
        destination = self.file(name)
        poll = self._chain.poll(f"{name} of {self.label}", url=self.push.url)
        problem, damage_count = "", 0
        while damage_count < self._chain.polling.attempts:
            try:
                self._chain.kaggle.files.fetch_output(self._find_file(name), destination)
                return reader(destination)
            except (DamagedError, UnsafeAnswerError) as error:
                problem, damage_count = str(error), damage_count + 1
                poll.pause()
            except TandemError as error:
                poll.tolerate(error)
        unfit = failure(problem) if failure else OutputDamagedError(role=self._role, name=name, problem=problem)
        raise self._chain.fail(ChainStep(self._role), unfit)

    def _find_file(self, name: str) -> RemoteFile:
        """The file as it is listed now: the addresses of a listing are valid for a while only."""
        for file in self._output().files:
            if file.name == name:
                return file
        raise DamagedError("it is no longer listed")

    @property
    def _is_over(self) -> bool:
        return self.push.last is not None and self.push.last.is_final

    def _output(self) -> KernelOutput:
        return self._chain.kaggle.kernels.output(self.push.ref, self.push.version)

    def _status(self, poll: Poll) -> SessionStatus:
        status = poll.ask(lambda: self._chain.kaggle.kernels.session_status(self.push.ref, self.push.version))
        if status.state in _ACTIVE:
            self._finals = 0
            if self._write_state(status.state):
                poll.hurry()
        return status

    def _is_believed(self, state: SessionState) -> bool:
        """True if a final state is that of our version: one never seen at work may still be the version before."""
        if self.push.last is state or self.push.first_seen(*_ACTIVE) is not None or self.push.baseline == 0:
            return True
        self._finals += 1
        return self._finals >= self._chain.polling.confirm

    def _write_state(self, state: SessionState) -> bool:
        if self.push.last is state:
            return False
        self._chain.write(EntryKind.SESSION, role=str(self._role), version=self.push.version, state=str(state))
        self._chain.tell(self._role, _WORDS.get(state, str(state)), kind=EventKind.STATE, state=str(state))
        return True

    def _failure(self, status: SessionStatus) -> TandemError:
        self._write_state(status.state)
        tail = ""
        # A session that failed may have no output at all, and its log may be lost.
        with suppress(KaggleError):
            tail = "\n".join(self._output().log[-_TAIL_LETTERS:].splitlines()[-_TAIL_LINES:])
        return SessionFailedError(
            role=self._role, state=str(status.state), failure=status.failure, url=self.push.url, tail=tail
        )

    def _follow_log(self) -> None:
        """Shows the log as it grows; a thread of its own, because the stream blocks and may break."""

        def follow() -> None:
            try:
                for line in self._chain.kaggle.kernels.log_lines(self.push.ref):
                    fields = {"seconds": line.seconds, "stream": line.stream}
                    for text in line.text.splitlines():
                        self._chain.tell(self._role, text, kind=EventKind.LOG, **fields)
            except KaggleError as error:
                self._chain.tell(self._role, f"The log cannot be followed: {error.message}")

        threading.Thread(target=follow, name=f"log of {self.push.ref}", daemon=True).start()


_WORDS = {
    SessionState.QUEUED: "waiting for a machine",
    SessionState.RUNNING: "running",
    SessionState.COMPLETE: "complete",
    SessionState.CANCELLING: "being cancelled",
}


# Pushing a version of a kernel exactly once.
#
# Announced with the newest version that Kaggle has; a newer one that says what was sent is ours. One that the pair
# did not push is not pushed over, unless that is asked for.


class KernelVersion(ExactlyOnce[Push]):
    """A version of one kernel of a pair, which runs as soon as it is pushed.

    Args:
        chain: The chain.
        role: Which kernel.
        kernel: What is sent.
        source: The digest of the kernel's folder.
        known: The newest version that earlier chains made; a Kaggle that says less is not up to date.
        history: What the pair sent before.
        options: What is asked for.
    """

    _noun, _withdrawn = "push", EntryKind.NOT_PUSHED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self,
        chain: ChainExecution,
        role: Role,
        kernel: KernelPush,
        *,
        source: str,
        known_version: int,
        history: KernelHistory,
        options: PushOptions,
    ) -> None:
        poll = chain.poll(f"the {role} push", url=chain.page("code"))
        super().__init__(chain, ChainStep(role), subject=f"the {role} kernel {kernel.ref}", poll=poll)
        self._role, self._kernel, self._source, self._known_version = role, kernel, source, known_version
        self._history, self._options = history, options
        self._key, self._digest = {"role": str(role)}, digest_of_cells(kernel.text)

    def check_unedited(self) -> RemoteKernel | None:
        """Makes sure that a push loses nothing that the pair did not push, and returns the newest version on Kaggle.

        Raises:
            EditedOnKaggleError: It would.
        """
        newest = self._newest(self._kernel.ref)
        if newest is None:
            return None
        subject = f"Version {newest.version} of {self._kernel.ref}"
        edits = self._history.edits(self._role, self._kernel.ref, newest, sends=self._kernel.text)
        if edits and self._options.over_edits:
            self._chain.tell(self._role, f"{subject} was not pushed from this pair, and is pushed over ({edits}).")
        elif edits:
            raise EditedOnKaggleError(
                subject=subject,
                edits=edits,
                notebook=self._options.folder.notebook(self._role),
                page=self._page(self._kernel.ref),
                command=self._command,
            )
        return newest

    @property
    def _current(self) -> Push | None:
        return self._chain.state.pushes.get(self._role)

    def _announce(self) -> None:
        before = self.check_unedited()
        self._history.keep(self._kernel.text)
        self._write_announced(baseline=max(before.version if before else 0, self._known_version))

    def _send(self) -> None:
        self._write_made(self._chain.kaggle.kernels.push(self._kernel))

    def _find(self) -> bool:
        push = self._chain.state.pushes[self._role]
        newest = self._newest(push.ref)
        version = newest.version if newest else 0
        if newest is not None and version > push.baseline and digest_of_cells(newest.source) == push.sent:
            self._write_found(push.ref, version)
            return True
        if version > push.baseline + 1:
            reason = f"it has version {version} now, which says something else, and there were versions before it"
            raise self._outcome_error(push, reason)
        return False

    def _adopt(self) -> None:
        newest = self._newest(self._kernel.ref)
        if (
            newest is not None
            and newest.version > self._known_version
            and digest_of_cells(newest.source) == self._digest
        ):
            self._write_announced(baseline=newest.version - 1)
            self._write_found(self._kernel.ref, newest.version)

    def _explain(self, error: KaggleError) -> None:
        """Fails the step for a version that is there and runs, without its inputs."""
        if isinstance(error, SourcesRefusedError):
            self._write_found(self._kernel.ref, error.version)
            raise self._chain.fail(self._step, error)

    def _is_outcome_unknown(self, error: KaggleError) -> bool:
        return error.outcome_unknown or (isinstance(error, UnsafeAnswerError) and error.was_sent)

    def _newest(self, ref: str) -> RemoteKernel | None:
        try:
            return self._chain.read(
                f"the kernel {ref}", lambda: self._chain.kaggle.kernels.find(ref), url=self._page(ref)
            )
        except ForbiddenError as error:
            if self._current is None:
                raise
            raise self._outcome_error(self._current, error.message) from error

    def _write_announced(self, *, baseline: int) -> None:
        self._chain.write(
            EntryKind.PUSHING,
            role=str(self._role),
            ref=self._kernel.ref,
            source=self._source,
            sent=self._digest,
            baseline=baseline,
            machine_shape=self._kernel.machine_shape,
        )

    def _write_found(self, ref: str, version: int) -> None:
        self._write_made(Pushed(ref, version, self._page(ref)))

    def _write_made(self, push: Pushed) -> None:
        ref, fields = self._chain.state.pushes[self._role].ref, vars(push)
        self._chain.write(EntryKind.PUSHED, role=str(self._role), **fields)
        if push.ref != ref:
            self._chain.tell(self._role, f"Kaggle saved {ref} as {push.ref}; following it there.")
        text = f"pushed {push.ref} as version {push.version}: {push.url}"
        self._chain.tell(self._role, text, kind=EventKind.STEP, **fields)

    def _page(self, ref: str) -> str:
        return self._chain.page(f"code/{ref}")

    @property
    def _command(self) -> str:
        return f"tandem push {printable(self._chain.setup.pair)}{to_target(self._chain.setup.target)}"

    def _outcome_error(self, push: Push, reason: str) -> ChainError:
        command = self._command
        return ChainError(
            f"Whether the push of {printable(push.ref)} was taken cannot be found out: {printable(reason)}. Look at "
            f"{printable(self._page(push.ref))}: if it is there, `{command}` finds it later; if it is not, take the "
            f"step again with `{command} --from {self._role}`."
        )


# Uploading a version of a dataset or a model exactly once, and waiting until it can be mounted.


_UPLOAD_STEP = ChainStep.INFER


class UploadedVersion(ExactlyOnce[AnnouncedUpload]):
    """One version of a dataset or a model.

    Args:
        chain: The chain.
        name: What the journal calls it.
        kind: Whether it is of a dataset or of a model.
        ref: The dataset, or the model's variation.
        title: What Kaggle calls that.
        files: Where the files are, by their names in it.
    """

    _noun, _withdrawn = "upload", EntryKind.NOT_UPLOADED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self, chain: ChainExecution, name: str, kind: Handoff, *, ref: str, title: str, files: Mapping[str, Path]
    ) -> None:
        self._url = chain.page(f"{kind}s/{ref}")
        super().__init__(
            chain, _UPLOAD_STEP, subject=f"the {kind} {ref}", poll=chain.poll(f"the upload of {ref}", url=self._url)
        )
        self._key = {"what": name}
        self._name, self._kind, self._ref, self._title, self._files = name, kind, ref, title, files
        digest = hashlib.sha256(f"{kind} {ref}".encode())
        for file, path in sorted(files.items()):
            digest.update(f"\n{file} {file_digest(path)}".encode())
        self._digest = digest.hexdigest()

    def execute(self) -> AnnouncedUpload:
        """Makes the version, or finds what an earlier attempt made, and waits until it can be mounted.

        Raises:
            UploadFailedError: Kaggle could not process it.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        version = super().execute()
        if self._kind is Handoff.DATASET:
            self._wait_until_ready()
        return version

    @property
    def _api(self) -> DatasetApi | ModelApi:
        return self._chain.kaggle.datasets if self._kind is Handoff.DATASET else self._chain.kaggle.models

    @property
    def _current(self) -> AnnouncedUpload | None:
        upload = self._chain.state.uploads.get(self._name)
        return upload if upload is not None and (upload.is_open or upload.digest == self._digest) else None

    def _announce(self) -> None:
        fields = {"what": self._name, "kind": str(self._kind), "ref": self._ref, "digest": self._digest}
        self._chain.write(EntryKind.UPLOADING, baseline=self._newest(), **fields)
        size = sum(path.stat().st_size for path in self._files.values())
        self._chain.tell(_UPLOAD_STEP, f"uploading {self._ref}: {len(self._files)} files, {size:,} bytes")

    def _send(self) -> None:
        self._write_made(self._api.upload(self._ref, Files(self._title, self._files, notes=self._digest[:12])))

    def _find(self) -> bool:
        newest = self._newest()
        is_there = newest > self._chain.state.uploads[self._name].baseline
        if is_there:
            self._write_made(newest)
        return is_there

    def _newest(self) -> int:
        return self._chain.read(self._subject, lambda: self._api.version(self._ref), url=self._url)

    def _write_made(self, version: int) -> None:
        self._chain.write(EntryKind.UPLOADED, what=self._name, version=version)
        text = f"{self._ref}, version {version}, is uploaded: {self._url}"
        self._chain.tell(_UPLOAD_STEP, text, kind=EventKind.STEP, ref=self._ref, version=version)

    def _wait_until_ready(self) -> None:
        """A kernel that is pushed before a version is ready mounts the version before."""
        poll = self._chain.poll(self._ref, url=self._url)
        while True:
            state = poll.ask(lambda: self._chain.kaggle.datasets.state(self._ref))
            if state is DatasetState.READY:
                return
            if state is DatasetState.FAILED:
                self._last = "processing failed"
                self._withdraw()
                raise self._chain.fail(_UPLOAD_STEP, UploadFailedError(subject=f"dataset {self._ref}"))
            poll.give_up_after(self._chain.polling.ready, trouble=f"it is still {state}", remedy="Kaggle may be slow.")
            poll.pause()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A training that did not run on Kaggle, but on Colab: its output on this machine stands for a pushed version.


@dataclass(frozen=True)
class TrainedElsewhere:
    """What `tandem colab run` fetched: the hand-over, and what the training notebook ran on."""

    folder: Path
    handover: HandOver
    marker: JsonObject

    @classmethod
    def of(cls, options: PushOptions) -> "TrainedElsewhere | None":
        """Reads it, and makes sure that inference can use it; None for a pair that trains on Kaggle.

        Raises:
            HandOverUnfitError: Inference would refuse it.
            ChainError: There is no kernel whose output could carry it; or there is no training, or no complete one.
        """
        if options.spec.platform is Service.KAGGLE:
            return None
        if options.handoff is Handoff.KERNEL:
            raise ChainError(
                f"{printable(options.pair)} trains on {options.spec.platform_name}, so that no kernel on Kaggle has "
                "its weights: --handoff dataset, which is usual then, or --handoff model carry them."
            )
        folder = options.workspace.output(options.pair) / Role.TRAIN
        options.workspace.files.check(folder / FILE_NAME)
        training = None
        with suppress(FileNotFoundError, DamagedError):
            training = cls(folder, whole_handover(folder / FILE_NAME), read_json_object(folder / MARKER))
        if training is None or not training.handover.is_complete:
            resume = "" if training is None else " --resume"
            raise ChainError(
                f"{printable(str(folder))} has no complete training of {printable(options.pair)} to go on from: "
                f"`{_training(options)}{resume}` makes one."
            )
        training.check(options)
        return training

    @property
    def sha256(self) -> str:
        """The hash by which the hand-over names itself."""
        return self.handover.fields.text("sha256")

    def is_in(self, state: ChainState) -> bool:
        """True if it is the training that a chain knows."""
        return state.training is not None and state.training.section("handover").text("sha256") == self.sha256

    @property
    def files(self) -> dict[str, Path]:
        """The files that inference needs, by their names."""
        names = [FILE_NAME, *(PurePosixPath(promise.file).name for promise in self.handover.files)]
        return {name: self.folder / name for name in names}

    def check(self, options: PushOptions) -> None:
        """Makes sure that the hand-over is of this pair, and that its files are as training wrote them.

        Raises:
            HandOverUnfitError: The first thing that is not so.
        """
        for path in self.files.values():
            options.workspace.files.check(path)
        listing = {name: RemoteFile(name, path.stat().st_size) for name, path in self.files.items() if path.is_file()}
        go_on = f"`{_training(options)} --resume` goes on with it."
        check_handover(self.handover, pair_id=options.spec.pair_id, listing=listing, if_interrupted=go_on)
        for promise in self.handover.files:
            if file_digest(self.files[PurePosixPath(promise.file).name]) != promise.sha256:
                problem = f"the SHA-256 of {promise.file} is not the one in it"
                raise HandOverUnfitError(problem=problem, remedy="Train again.")


def _training(options: PushOptions) -> str:
    return f"tandem colab run {printable(options.pair)}"


# The inputs that the inference kernel gets beside the competition: the output of training, and packages of its own.


_FRAMEWORKS = {"keras": "keras", "tensorflow": "tensorFlow2", "jax": "jax", "torch": "pyTorch"}


def with_handover(
    chain: ChainExecution, push: KernelPush, *, training_kernel: str, elsewhere: TrainedElsewhere | None = None
) -> KernelPush:
    """The inference kernel with what training handed over among its sources.

    Args:
        chain: The chain; its training has ended well.
        push: The kernel as its folder says.
        training_kernel: The training kernel that the folder says it reads.
        elsewhere: The training, if it did not run on Kaggle.
    """
    handoff = Handoff(chain.setup.handoff)
    ref = training_kernel if elsewhere else chain.state.pushes[Role.TRAIN].ref
    other_kernels = tuple(source for source in push.kernel_sources if source not in (training_kernel, ref))
    if handoff is Handoff.KERNEL:
        text = with_parameters(push.text, {"TRAIN_KERNEL": ref})
        return replace(push, text=text, kernel_sources=(ref, *other_kernels))
    dataset = dataset_beside(ref, "-handover")
    # Of a pair that trains elsewhere the folder has it already, in the name of whom it was rendered for.
    datasets = tuple(source for source in push.dataset_sources if source.partition("/")[2] != dataset.partition("/")[2])
    push = replace(push, kernel_sources=other_kernels, dataset_sources=datasets)
    files = elsewhere.files if elsewhere else _fetch_promised(chain)
    if handoff is Handoff.DATASET:
        _dataset(chain, "handover", dataset, files)
        mounts = [f"datasets/{dataset}", dataset.partition("/")[2]]
        push = replace(push, dataset_sources=(*push.dataset_sources, dataset))
    else:
        trained_with = (chain.state.training or JsonObject()).section("handover").text("framework")
        model = f"{dataset_beside(ref, '')}/{_FRAMEWORKS.get(trained_with, 'other')}/handover"
        title = ref.partition("/")[2]
        upload = UploadedVersion(chain, "handover", handoff, ref=model, title=title, files=files).execute()
        version = f"{upload.ref}/{upload.version}"
        mounts = [f"models/{version}", version.partition("/")[2]]
        push = replace(push, model_sources=(*push.model_sources, version))
    return replace(push, text=with_parameters(push.text, {"TRAIN_KERNEL": ref, "HANDOFF_MOUNTS": mounts}))


def with_wheels(chain: ChainExecution, push: KernelPush) -> KernelPush:
    """The inference kernel with a dataset of wheels, and a first cell that installs them; itself if it needs none."""
    wheels = wheels_for(push.text, chain.folder("wheels"), chain.journal.files)
    if not wheels.files:
        chain.tell(Role.INFER, "Kaggle's image has everything that the inference notebook imports; no wheels.")
        return push
    ref = _dataset(chain, "wheels", dataset_beside(push.ref, "-wheels"), wheels.files)
    text = with_first_cell(push.text, name="offline-wheels", source=install_cell(wheels, ref))
    return replace(push, text=text, dataset_sources=(*push.dataset_sources, ref))


def _dataset(chain: ChainExecution, name: str, ref: str, files: Mapping[str, Path]) -> str:
    """Makes a version of a dataset, and returns the dataset."""
    title = ref.partition("/")[2]
    return UploadedVersion(chain, name, Handoff.DATASET, ref=ref, title=title, files=files).execute().ref


def _fetch_promised(chain: ChainExecution) -> dict[str, Path]:
    """Every file of the hand-over, each with the hash that training gave it."""
    session = KernelSession(chain, Role.TRAIN)
    whole = session.fetch(FILE_NAME, whole_handover)
    files = {FILE_NAME: session.file(FILE_NAME)}
    for promise in whole.files:
        target = session.file(promise.file)

        def check(path: Path, digest: str = promise.sha256) -> None:
            if file_digest(path) != digest:
                raise DamagedError("its SHA-256 is not the one in the hand-over")

        if not target.is_file() or file_digest(target) != promise.sha256:
            session.fetch(promise.file, check)
        files[target.name] = target
    return files


# Submitting exactly once, and waiting for the score.
#
# Every submission carries a tag in its message, by which it is found again after a lost answer or a crash.


_SUBMIT_STEP = ChainStep.SUBMIT
_TAG_BYTES = 4


class TaggedSubmission(ExactlyOnce[Submitted]):
    """The submission of a chain: the version of the inference kernel, or the file that it wrote.

    Args:
        chain: The chain.
        file: What that wrote, here.
        message: What the submission says of itself before its tag.
    """

    _noun, _withdrawn = "submission", EntryKind.NOT_SUBMITTED

    def __init__(self, chain: ChainExecution, *, file: Path, message: str) -> None:
        setup = chain.setup
        self._competition_page = chain.page(f"competitions/{setup.competition}")
        self._url = f"{self._competition_page}/submissions"
        poll = chain.poll("the submission", url=self._url)
        super().__init__(chain, _SUBMIT_STEP, subject=f"the submission to {setup.competition}", poll=poll)
        self._setup, self._push, self._file, self._message = setup, chain.state.pushes[Role.INFER], file, message
        self._beginning_of_tag = f"tandem {setup.pair} {chain.journal.number:04}-"

    def wait(self, announcement: Submitted) -> None:
        """Waits until the submission has its score.

        Raises:
            ScoringFailedError: It has none.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        competition, reference = self._setup.competition, announcement.reference
        poll = self._chain.poll(f"submission {reference}", url=self._url, is_new=True)
        self._chain.tell(_SUBMIT_STEP, "waiting for the score", kind=EventKind.STATE, state="pending")
        while True:
            submission = poll.ask(lambda: self._chain.kaggle.competitions.submission(competition, reference))
            if submission.status is SubmissionStatus.COMPLETE:
                break
            if submission.status is SubmissionStatus.ERROR:
                failure = ScoringFailedError(reference=reference, problem=submission.error, url=self._url)
                raise self._chain.fail(_SUBMIT_STEP, failure)
            poll.give_up_after(self._chain.polling.queue, trouble=f"it is still {submission.status}")
            poll.pause()
        fields = {"public": submission.public_score, "private": submission.private_score}
        self._chain.write(EntryKind.SCORED, **fields)
        score_text = (
            "no score shown" if submission.public_score is None else f"public score {submission.public_score:.5f}"
        )
        self._chain.tell(_SUBMIT_STEP, f"{competition}: {score_text}", kind=EventKind.STEP, **fields)

    @property
    def _current(self) -> Submitted | None:
        return self._chain.state.submission

    def _announce(self) -> None:
        competition = self._setup.competition
        left = self._chain.read(
            "the submission limits",
            lambda: self._chain.kaggle.competitions.submissions_left(competition),
            url=self._url,
        )
        if left <= 0:
            raise ChainError(
                f"No submission to {printable(competition)} is left today; the count begins anew at 00:00 UTC. "
                "Everything is ready: "
                f"`tandem submit {printable(self._setup.pair)}{to_target(self._setup.target)}` goes on from here."
            )
        self._chain.write(EntryKind.SUBMITTING, tag=f"{self._beginning_of_tag}{secrets.token_hex(_TAG_BYTES)}")

    def _send(self) -> None:
        kaggle, competition = self._chain.kaggle, self._setup.competition
        message = f"{self._message} [{self._tag}]".strip()
        if self._setup.is_code_competition:
            reference = kaggle.competitions.submit_kernel(
                competition,
                kernel=self._push.ref,
                version=self._push.version,
                file_name=self._setup.submission_file,
                message=message,
            )
        else:
            reference = kaggle.competitions.submit_file(competition, path=self._file, message=message)
        self._write_made(self._tag, reference)

    def _find(self) -> bool:
        ours = next((submission for submission in self._submissions() if self._tag in submission.description), None)
        if ours is not None:
            self._write_made(self._tag, ours.ref)
        return ours is not None

    def _adopt(self) -> None:
        for submission in self._submissions():
            _, beginning, rest = submission.description.rpartition(self._beginning_of_tag)
            if beginning:
                tag = beginning + rest[: 2 * _TAG_BYTES]
                self._chain.write(EntryKind.SUBMITTING, tag=tag)
                self._write_made(tag, submission.ref)
                return

    def _explain(self, error: KaggleError) -> None:
        """Names the page and the button, where Kaggle wants the submission to be made in a browser."""
        if not isinstance(error, SubmitForbiddenError):
            return
        setup, push, reason = self._setup, self._push, error.words or "it gives no reason"
        page, button = f"{self._competition_page}/submit", f"Submit Prediction, with {self._file}"
        if setup.is_code_competition:
            page, button = push.url, f"Submit to competition (version {push.version}, {setup.submission_file})"
        self._chain.write(EntryKind.BY_HAND, page=page, button=button, why=reason)
        raise SubmitByHandError(
            page=page, button=button, reason=reason, pair=setup.pair, target=setup.target
        ) from error

    @property
    def _tag(self) -> str:
        submission = self._chain.state.submission
        return submission.tag if submission is not None else ""

    def _submissions(self) -> tuple[ApiSubmission, ...]:
        competition = self._setup.competition
        return self._chain.read(
            "the list of submissions", lambda: self._chain.kaggle.competitions.submissions(competition), url=self._url
        )

    def _write_made(self, tag: str, reference: int) -> None:
        self._chain.write(EntryKind.SUBMITTED, tag=tag, reference=reference)
        is_kernel, push = self._setup.is_code_competition, self._push
        subject = f"version {push.version} of {push.ref}" if is_kernel else self._setup.submission_file
        text = f"submitted {subject} to {self._setup.competition}: submission {reference}"
        self._chain.tell(_SUBMIT_STEP, text, kind=EventKind.STEP, reference=reference)
