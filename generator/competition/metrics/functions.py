"""The metrics as functions: the very cells that the notebooks have."""

from collections.abc import Callable
from typing import Any

from generator.competition.metrics.catalog import parsed
from generator.installation import template_folder
from generator.template_files import SUFFIX, sections

_CELL = '# %% name="metric" cell="scoring"\n'


def function_of(metric: str) -> Callable[[Any, Any], float]:
    """The function that computes a metric.

    Args:
        metric: A metric as a task names it, such as "rmse" or "map@5".

    Returns:
        `competition_metric(truth, predictions)` of `templates/metrics`, for arrays of these shapes:

        * classes: truth [rows] of class indices; predictions [rows, classes] of probabilities, or [rows] of class
          indices if the metric wants labels;
        * labels: both [rows, labels], the truth 0 or 1, the predictions too if the metric wants labels, else
          probabilities;
        * numbers: both [rows, targets];
        * masks: both [rows, height, width] of 0 and 1; [rows, height, width, classes] where there are several.

    Raises:
        UnknownMetricError: There is no such metric.
        CompetitionError: Its parameter is none that it can have.
    """
    import numpy as np

    facts, parameter = parsed(metric)
    file = template_folder() / "metrics" / f"{facts.wants}{SUFFIX}"
    _, _, cell = sections(file.read_text(encoding="utf-8"))[facts.name].partition(_CELL)
    names: dict[str, Any] = {"np": np, "METRIC_PARAMETER": parameter}
    exec(compile(cell, str(file), "exec"), names)  # noqa: S102 - the kit's own file, and one text for both uses
    function: Callable[[Any, Any], float] = names["competition_metric"]
    return function
