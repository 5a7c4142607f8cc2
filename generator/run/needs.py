"""What the trainings of a competition's pairs take beside its files: datasets, models and pretrained weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from generator.errors import TandemError
from generator.pair.folder import read_pair_spec
from generator.pair.proposal import check_name
from generator.pair.workspace import Role, Workspace
from generator.run.execution import read_notebook_parameters, set_parameters
from generator.run.input_mounts import SOURCE_KINDS, PretrainedWeights, read_sources, wanted_weights


@dataclass(frozen=True)
class TrainingNeeds:
    """What the training of a pair takes.

    Attributes:
        sources: The kind, the name and the folder below `input` of each dataset and model.
        weights: The pretrained weights that it starts from, if any.
    """

    sources: tuple[tuple[str, str, str], ...]
    weights: PretrainedWeights | None

    @property
    def needs_more(self) -> bool:
        """True if there is anything."""
        return bool(self.sources or self.weights)


def needs_of_pairs(
    slug: str, workspace: Workspace, assignments: Sequence[str], *, warn: Callable[[str], None]
) -> list[TrainingNeeds]:
    """The needs of the pairs of a competition; pairs that cannot be read are left out, with a warning.

    Args:
        slug: The competition.
        workspace: Where the pairs are.
        assignments: Parameters of the training, such as `BACKBONE=MobileNetV2`.
        warn: Is told what is left out.

    Raises:
        TandemError: It is no name of a competition, or a training takes no such parameter.
    """
    check_name(slug)
    needs = []
    for folder in workspace.pairs():
        try:
            spec = read_pair_spec(folder)
            if slug != spec.competition.slug:
                continue
            defaults = read_notebook_parameters(folder.notebook(Role.TRAIN))
            source_names = read_sources(folder, Role.TRAIN).sources
        except TandemError as error:
            if folder.name == slug:
                warn(f"The datasets, models and weights of the pair {folder.name} are not downloaded: {error}")
            continue
        parameters = set_parameters({Role.TRAIN: defaults}, assignments, smoke=False)[Role.TRAIN]
        sources = [
            (kind.word, name, "/".join([kind.folder, *name.split("/")[: kind.mount_depth]]))
            for kind in SOURCE_KINDS
            if kind.word in ("dataset", "model")
            for name in source_names[kind]
        ]
        values = {name: parameters.value(name) for name in ("BACKBONE", "WEIGHTS", "IMAGE_SIZE")}
        needs.append(TrainingNeeds(tuple(sources), wanted_weights(spec.framework, values)))
    return needs
