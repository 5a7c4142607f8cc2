"""A training that did not run on Kaggle, but on Colab: its output on this machine stands for a pushed version."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.accelerators.catalog import Service
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.chain.errors import ChainError, HandOverUnfitError
from generator.kaggle.chain.options import Handoff, PushOptions
from generator.kaggle.chain.state import State
from generator.kaggle.chain.upload_step import file_digest
from generator.kaggle.chain.verification import MARKER, check_handover, whole_handover
from generator.pair.handover import FILE_NAME, DamagedError, HandOver, json_object
from generator.pair.workspace import Role
from generator.untrusted import JsonObject, printable


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
        made = None
        with suppress(FileNotFoundError, DamagedError):
            made = cls(folder, whole_handover(folder / FILE_NAME), json_object(folder / MARKER))
        if made is None or not made.handover.is_complete:
            resume = "" if made is None else " --resume"
            raise ChainError(
                f"{printable(str(folder))} has no complete training of {printable(options.pair)} to go on from: "
                f"`{_training(options)}{resume}` makes one."
            )
        made.check(options)
        return made

    @property
    def sha256(self) -> str:
        """The hash by which the hand-over names itself."""
        return self.handover.fields.text("sha256")

    def is_in(self, state: State) -> bool:
        """True if it is the training that a chain knows."""
        return state.trained is not None and state.trained.section("handover").text("sha256") == self.sha256

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
        there = {name: RemoteFile(name, path.stat().st_size) for name, path in self.files.items() if path.is_file()}
        go_on = f"`{_training(options)} --resume` goes on with it."
        check_handover(self.handover, pair_id=options.spec.pair_id, listing=there, if_interrupted=go_on)
        for promise in self.handover.files:
            if file_digest(self.files[PurePosixPath(promise.file).name]) != promise.sha256:
                problem = f"the SHA-256 of {promise.file} is not the one in it"
                raise HandOverUnfitError(problem=problem, remedy="Train again.")


def _training(options: PushOptions) -> str:
    return f"tandem colab run {printable(options.pair)}"
