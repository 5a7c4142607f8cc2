"""The picture of a plan, as SVG: the roofs of the accelerators, with the training's point below each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.accelerators.catalog import Service
from generator.accelerators.prediction import Prediction, Roofline, roofline_of
from generator.page_templates import PageTemplates
from generator.plan.recommendation import Plan
from generator.untrusted import printable
from generator.wording import operations

_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 624, 56, 438  # the edges of what the axes span
_COLOURS = ("#0b6e99", "#c2571a", "#4b7f2a", "#7a4fa3", "#a31545")


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(max(value, self.low)) - math.log10(self.low)) / (
            math.log10(self.high) - math.log10(self.low)
        )
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def decades(self) -> list[int]:
        """The powers of ten on it."""
        return list(range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1))


def roofline_picture(plan: Plan, *, title: str, here: Prediction | None = None) -> str:
    """Draws the roofs of what Kaggle lends, and of this machine.

    Args:
        plan: The plan.
        title: What is planned.
        here: The training on this machine.

    Returns:
        The SVG, a file of its own.
    """
    shown = [each for each in plan.predictions if each.accelerator.service is Service.KAGGLE]
    shown += [here] if here else []
    found = [(each, roofline_of(plan.workload, each.accelerator)) for each in shown]
    drawn = [(made, roof) for made, roof in found if roof is not None]
    across, up = _scales(drawn)
    return PageTemplates(Path(__file__).parent, operations=operations).render(
        "roofline.html.j2",
        title=printable(title),
        across=across,
        up=up,
        drawn=[(*each, _COLOURS[place % len(_COLOURS)]) for place, each in enumerate(drawn)],
        recommended=plan.recommended,
    )


def _scales(drawn: Sequence[tuple[Prediction, Roofline]]) -> tuple[_Scale, _Scale]:
    intensities = [value for made, roof in drawn for value in (made.intensity, roof.ridge) if value > 0] or [1.0]
    rates = [value for made, roof in drawn for value in (made.rate, roof.flops) if value > 0] or [1e9]
    across = _Scale(min(intensities) / 3, max(intensities) * 6, _LEFT, _RIGHT)
    return across, _Scale(min(rates) / 5, max(rates) * 3, _BOTTOM, _TOP)
