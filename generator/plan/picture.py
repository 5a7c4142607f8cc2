"""The picture of a plan, as SVG: the roofs of the accelerators, with the training's point below each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from generator.accelerators.catalog import Service
from generator.accelerators.prediction import Prediction, Roofline, roofline_of
from generator.plan.recommendation import Plan
from generator.untrusted import printable
from generator.wording import operations

_WIDTH, _HEIGHT = 860, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 236, 56, 62
_COLOURS = ("#0b6e99", "#c2571a", "#4b7f2a", "#7a4fa3", "#a31545")
_INK, _PALE = "#222222", "#dddddd"


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


@dataclass(frozen=True)
class _Drawing:
    """An SVG with two axes."""

    root: ET.Element
    across: _Scale
    up: _Scale

    def axes(self) -> None:
        """Draws the grid and what stands beside it."""
        for power in self.across.decades:
            x = self.across(10.0**power)
            self.line([(x, _TOP), (x, _HEIGHT - _BOTTOM)], _PALE)
            self.text((x, _HEIGHT - _BOTTOM + 18), f"{10.0**power:g}", anchor="middle")
        for power in self.up.decades:
            y = self.up(10.0**power)
            self.line([(_LEFT, y), (_WIDTH - _RIGHT, y)], _PALE)
            self.text((_LEFT - 8, y + 4), operations(10.0**power), anchor="end")
        self.line([(_LEFT, _TOP), (_LEFT, _HEIGHT - _BOTTOM), (_WIDTH - _RIGHT, _HEIGHT - _BOTTOM)], _INK)
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        self.text((middle, _HEIGHT - 18), "operations for each byte moved", anchor="middle")
        self.text((_LEFT, _TOP - 10), "operations a second")

    def roof(self, roof: Roofline, colour: str) -> None:
        """Draws a roof; where its slope is below the axis, it begins at the axis."""
        first = max(self.across.low, self.up.low / roof.bandwidth)
        corners = (first, roof.ridge, self.across.high)
        self.line([(self.across(each), self.up(roof.at(each))) for each in corners], colour, width=2)

    def point(self, made: Prediction, colour: str, *, is_chosen: bool) -> None:
        """Draws a training, with a ring around it if it is the one to take."""
        self._dot((self.across(made.intensity), self.up(made.rate)), fill=colour, r="5")
        if is_chosen:
            at = (self.across(made.intensity), self.up(made.rate))
            self._dot(at, fill="none", r="9", stroke=colour, **{"stroke-width": "2"})

    def legend(self, made: Prediction, place: int, colour: str, *, is_chosen: bool) -> None:
        """Says beside the picture what a colour is."""
        x, y = _WIDTH - _RIGHT + 24, _TOP + 12 + place * 56
        self._dot((x, y - 4), fill=colour, r="5")
        self.text((x + 14, y), made.accelerator.title, **{"font-weight": "bold" if is_chosen else "normal"})
        self.text((x + 14, y + 17), f"{operations(made.rate)} a second,")
        self.text((x + 14, y + 33), f"batch {made.batch}, bound: {made.bound}")

    def line(self, points: Sequence[tuple[float, float]], colour: str, *, width: float = 1) -> None:
        """Draws a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        look = {"fill": "none", "stroke": colour, "stroke-width": f"{width:g}"}
        ET.SubElement(self.root, "polyline", {"points": path, **look})

    def text(self, at: tuple[float, float], text: str, *, anchor: str = "start", **look: str) -> None:
        """Writes a line of text."""
        place = {"x": f"{at[0]:.1f}", "y": f"{at[1]:.1f}", "text-anchor": anchor}
        ET.SubElement(self.root, "text", {**place, **look}).text = text

    def _dot(self, at: tuple[float, float], **look: str) -> None:
        ET.SubElement(self.root, "circle", {"cx": f"{at[0]:.1f}", "cy": f"{at[1]:.1f}", **look})


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
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "width": str(_WIDTH), "height": str(_HEIGHT)}
    style = {"font-family": "sans-serif", "font-size": "13", "fill": _INK}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **box, **style})
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    drawing = _Drawing(root, *_scales(drawn))
    drawing.axes()
    drawing.text((_LEFT, 26), printable(title), **{"font-size": "17"})
    for place, (made, roof) in enumerate(drawn):
        colour = _COLOURS[place % len(_COLOURS)]
        drawing.roof(roof, colour)
        drawing.point(made, colour, is_chosen=made is plan.recommended)
        drawing.legend(made, place, colour, is_chosen=made is plan.recommended)
    return ET.tostring(root, encoding="unicode") + "\n"


def _scales(drawn: Sequence[tuple[Prediction, Roofline]]) -> tuple[_Scale, _Scale]:
    intensities = [value for made, roof in drawn for value in (made.intensity, roof.ridge) if value > 0] or [1.0]
    rates = [value for made, roof in drawn for value in (made.rate, roof.flops) if value > 0] or [1e9]
    across = _Scale(min(intensities) / 3, max(intensities) * 6, _LEFT, _WIDTH - _RIGHT)
    return across, _Scale(min(rates) / 5, max(rates) * 3, _HEIGHT - _BOTTOM, _TOP)
