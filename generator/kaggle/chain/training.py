"""What a training left: on which accelerator it ran, and whether inference can use its hand-over."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from generator.accelerators import AcceleratorKind, Service, catalog
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.chain.errors import (
    ChainError,
    HandOverUnfitError,
    SessionFailedError,
    StepError,
    UnfinishedError,
    WrongAcceleratorError,
    to_target,
)
from generator.kaggle.chain.execution import ChainExecution, Handoff, PushOptions
from generator.kaggle.chain.inputs import hours_in_words
from generator.kaggle.chain.journal import ChainState, ChainStep, EntryKind, EventKind
from generator.kaggle.chain.session import KernelSession, file_digest
from generator.kaggle.errors import KaggleError
from generator.pair.handover import FILE_NAME, DamagedError, HandOver, accelerator_in_words, read_json_object
from generator.pair.workspace import Role
from generator.text import JsonObject, printable

# The step of a chain.


def await_training(chain: ChainExecution, options: PushOptions, *, accelerator: str) -> None:
    """Waits for the session of the training, verifies what it left, and writes that down.

    Args:
        chain: The chain; its training was pushed.
        options: What is asked for.
        accelerator: The accelerator that the notebook is for.

    Raises:
        StepError: The session failed, or inference could not use what it left.
        WaitedInVainError: Nothing was to be learned of it for too long.
    """
    session = KernelSession(chain, Role.TRAIN, show_log=options.show_log)
    try:
        listing = {file.name: file for file in session.wait([MARKER, FILE_NAME]).files}
    except SessionFailedError as error:
        raise chain.fail(ChainStep.TRAIN, _why_training_failed(chain, session, error, accelerator)) from error
    marker = session.fetch(MARKER, read_json_object)
    handover = session.fetch(FILE_NAME, whole_handover)
    with chain.record_failures(ChainStep.TRAIN):
        check_accelerator(marker, accelerator=accelerator, is_local=chain.kaggle.is_local, url=session.push.url)
        go_on = way_to_continue(options, target=chain.setup.target)
        if limit := session.push.limit_seconds:
            go_on += f" The limit of its session was {hours_in_words(limit)}; --hours N sets another."
        check_handover(handover, pair_id=chain.setup.pair_id, listing=listing, if_interrupted=go_on)
    write_trained(chain, marker, handover)


def write_trained(chain: ChainExecution, marker: JsonObject, handover: HandOver) -> None:
    """Writes down a training that inference can use, and tells of it."""
    record, accelerator, score = handover_summary(handover), describe_accelerator(marker), handover.out_of_fold
    chain.write(EntryKind.TRAINED, accelerator=marker, handover=record)
    score_text = "" if score is None else f", out-of-fold {score.metric} {score.value:.4f}"
    text = f"trained on {accelerator}{score_text}; the hand-over is whole"
    fields = {"accelerator": accelerator, "out_of_fold": record["out_of_fold"]}
    chain.tell(Role.TRAIN, text, kind=EventKind.STEP, **fields)


def _why_training_failed(
    chain: ChainExecution, session: KernelSession, error: SessionFailedError, accelerator: str
) -> StepError:
    """The error of a session that failed; one that ended for want of its accelerator says so in its marker."""
    try:
        files = chain.kaggle.kernels.output(session.push.ref, session.push.version).files
        if all(file.name != MARKER for file in files):
            return error
        marker = session.fetch(MARKER, read_json_object)
        return check_failed_session(marker, accelerator=accelerator, url=session.push.url) or error
    except (KaggleError, StepError):
        return error


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


def fetch_handover(chain: ChainExecution) -> dict[str, Path]:
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
