"""The roofline: the operations that an accelerator can do a second, by those that there are for each byte moved."""

from dataclasses import dataclass

from generator.accelerators.catalog import Accelerator
from generator.accelerators.prediction import Workload, peak_rates


@dataclass(frozen=True)
class Roofline:
    """The roof of an accelerator: operations a second at most, and bytes a second at most."""

    accelerator: Accelerator
    flops: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The intensity from which on it is the matrix unit that bounds."""
        return self.flops / self.bandwidth

    def at(self, intensity: float) -> float:
        """The operations a second that a program of this intensity reaches at most."""
        return min(self.flops, self.bandwidth * intensity)


def roofline_of(work: Workload, accelerator: Accelerator) -> Roofline | None:
    """Returns the roof of an accelerator; None where its rates are not known."""
    rates = peak_rates(work, accelerator)
    return None if rates is None else Roofline(accelerator, *rates)
