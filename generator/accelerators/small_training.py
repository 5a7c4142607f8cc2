"""How long a CPU trains what is small, and what it is asked for nevertheless: rules of thumb, not a plan."""

from generator.accelerators.catalog import catalog

_SOON = 600  # seconds that nobody minds waiting for
_SMALL_IMAGE = 32**2  # pixels


def cpu_seconds(examples: int, passes: int, *, pixels: int | None, is_table: bool) -> float | None:
    """Returns about how long a CPU trains, where that is soon; None for anything that deserves a plan.

    Args:
        examples: The rows of the table of labels.
        passes: How often the training sees each of them, in all folds.
        pixels: Of an image, where they are images.
        is_table: Whether an example is a row of a table.
    """
    experience = catalog().experience
    if is_table:
        seconds = examples * passes / experience.rows_per_second
    elif pixels is not None and pixels <= _SMALL_IMAGE:
        seconds = examples * passes * pixels / experience.pixels_per_second
    else:
        return None
    return seconds if 0 < seconds < _SOON else None


def text_seconds(tokens: float, layers: int) -> float:
    """Returns about how long two cores fine-tune a pretrained model of texts.

    Args:
        tokens: The tokens of all examples, as often as the training sees them.
        layers: Millions of parameters that each token passes.
    """
    return tokens * layers * 1e6 / catalog().experience.weights_per_second
