"""Scores of labels by id, for which no array is needed."""

from collections.abc import Mapping


def accuracy(*, actual: Mapping[str, str], predicted: Mapping[str, str]) -> float:
    """The share of ids whose predicted label is the actual one.

    Args:
        actual: The label of every id.
        predicted: A label for each of the same ids.

    Returns:
        A number from 0 to 1.

    Raises:
        KeyError: An id has no prediction; `generator.competition.submission` rules that out beforehand.
    """
    return sum(predicted[key] == label for key, label in actual.items()) / len(actual)
