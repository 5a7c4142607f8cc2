"""The options of a chain, and the pair that they are for."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from generator.kaggle.chain.state import Step
from generator.pair.folder import existing_pair
from generator.pair.workspace import PairFolder, Workspace

if TYPE_CHECKING:
    from generator.pair.spec import PairSpec


class Handoff(StrEnum):
    """The ways of the weights from one notebook to the other."""

    KERNEL = "kernel"
    DATASET = "dataset"
    MODEL = "model"


@dataclass(frozen=True)
class PushOptions:
    """The options of `tandem push` and `tandem submit`.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        submit: Whether to submit, and to wait for the score.
        may_train: Whether a training notebook that changed since the last chain is pushed.
        back_to: The step to take again, with all behind it.
        restart: Whether to begin a new chain, whatever there is of the last one.
        repair: Whether to go on from a damaged journal, with what Kaggle says was done.
        handoff: How the weights travel; None for as the chain began, which is by the kernel's output if there is one.
        offline_wheels: Whether to take along what the inference notebook imports beyond Kaggle's image.
        message: What stands in the submission before the kit's tag.
        show_log: Whether to show the sessions' own lines.
        over_edits: Whether to push over a version that was edited on Kaggle.
        verify: Whether errors of `tandem check` refuse a push.
        allow: Rules of `tandem check` whose findings are passed by, by their ids.
    """

    workspace: Workspace
    pair: str
    submit: bool = False
    may_train: bool = True
    back_to: Step | None = None
    restart: bool = False
    repair: bool = False
    handoff: Handoff | None = None
    offline_wheels: bool = False
    message: str = ""
    show_log: bool = False
    over_edits: bool = False
    verify: bool = True
    allow: tuple[str, ...] = ()

    @cached_property
    def folder(self) -> PairFolder:
        """The folder of the pair.

        Raises:
            PairError: There is no pair of this name.
        """
        return existing_pair(self.workspace, self.pair)

    @cached_property
    def spec(self) -> "PairSpec":
        """The specification that the pair's choices amount to.

        Raises:
            PairError: There is no pair of this name, or its choices cannot be used.
        """
        from generator.pair.generation import read_pair

        return read_pair(self.folder)
