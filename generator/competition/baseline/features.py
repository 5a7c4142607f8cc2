"""What an example looks like to scikit-learn: numbers for each, or a text."""

from dataclasses import dataclass
from typing import Any

from generator.competition.baseline.held_out import HeldOut

GRADIENT_BOOSTING, LINEAR = "gradient boosting", "a linear model"


@dataclass(frozen=True)
class Features:
    """The features of some examples.

    Attributes:
        rows: The positions of the examples, ascending [features].
        values: Numbers [features, columns], with NaN for what is not known, or texts [features].
        name: What they are, such as "the raw columns".
        model: The model that suits them: gradient boosting, or a linear one.
    """

    rows: Any
    values: Any
    name: str
    model: str


def sampled(held_out: HeldOut, most: int) -> Any:
    """The positions of at most so many examples, half of them held out, drawn evenly by chance."""
    import numpy as np

    if len(held_out.ids) <= most:
        return np.arange(len(held_out.ids))
    random = np.random.default_rng(0)
    others = np.setdiff1d(np.arange(len(held_out.ids)), held_out.rows)
    judged = random.permutation(held_out.rows)[: most // 2 if len(others) else most]
    return np.sort(np.concatenate([judged, random.permutation(others)[: most - len(judged)]]))
