"""Everything that is known before it is settled what is to be predicted."""

from dataclasses import dataclass

from generator.competition.introspection.companions import Companions
from generator.competition.introspection.metric import KnownMetric
from generator.competition.introspection.source import Source
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.targets import Targets
from generator.competition.introspection.traits import LabelTraits


@dataclass(frozen=True)
class Clues:
    """The clues, each of which was found by its own module.

    Attributes:
        tables: The tables by their roles.
        source: The files of the examples, or None.
        companions: Folders with a mask or an image for each training image.
        targets: The columns with the labels.
        traits: What the labels are like.
        metric: What is said of the metric.
    """

    tables: Tables
    source: Source | None
    companions: Companions
    targets: Targets
    traits: LabelTraits
    metric: KnownMetric

    @property
    def classes(self) -> int:
        """How many classes there are, as far as they were seen."""
        if self.targets.are_classes_asked or self.traits.is_one_hot:
            return len(self.targets.asked) or len(self.targets.names)
        return self.traits.distinct
