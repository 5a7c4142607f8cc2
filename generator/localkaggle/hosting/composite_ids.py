"""Ids of the form `<example>_<part>`, a row for each part of an example."""

from collections.abc import Sequence


def example_of(key: str) -> str:
    """The example that such an id belongs to; an id without a part is its own example."""
    return key.rpartition("_")[0] or key


def table_of(keys: Sequence[str]) -> list[list[str]]:
    """The ids as rows of examples and columns of parts, or as one column where the examples have different parts.

    Args:
        keys: The ids, each once, in any order.

    Returns:
        Rows of equal length that hold every id once; columns are in the order of the parts' names.
    """
    examples: dict[str, dict[str, str]] = {}
    for key in keys:
        example, _, part = key.rpartition("_")
        examples.setdefault(example or key, {})[part if example else ""] = key
    parts = [sorted(row) for row in examples.values()]
    if any(names != parts[0] for names in parts):
        return [[key] for key in keys]
    return [[row[name] for name in names] for row, names in zip(examples.values(), parts, strict=True)]
