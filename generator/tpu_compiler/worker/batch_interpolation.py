"""A program of any batch, from the texts of those of two: they differ in numbers alone, which lie on lines."""

import re
from collections.abc import Mapping

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def program_of_length(programs: Mapping[int, str], length: int) -> str:
    """Returns a program in StableHLO for a batch of this length.

    Args:
        programs: The program's text for two lengths of the batch.
        length: That of the batch to write it for.

    Raises:
        ValueError: The two do not differ, or in more than numbers; or one has no whole number for this length.
    """
    (one, text), (other, other_text) = min(programs.items()), max(programs.items())
    if one == other:
        raise ValueError("it is not copied from the host, where its size could be changed")
    between = _NUMBER.split(text)
    if between != _NUMBER.split(other_text):
        raise ValueError("with a smaller one it computes other operations")

    def at_length(number: str, other_number: str) -> str:
        # A factor such as 1 / 128 changes nothing that a compiler tells.
        if number == other_number or not (number + other_number).isdecimal():
            return number
        grown, rest = divmod((int(other_number) - int(number)) * (length - one), other - one)
        if rest or int(number) + grown < 0:
            raise ValueError(f"a length in it, {number}, does not grow in step with the batch")
        return str(int(number) + grown)

    numbers = map(at_length, _NUMBER.findall(text), _NUMBER.findall(other_text))
    return "".join(part for pair in zip(between, [*numbers, ""], strict=True) for part in pair)
