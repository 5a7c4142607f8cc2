"""Ids that look like those of a competition and are none of them."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, pairwise

from generator.competition.specimen.randomness import random_for
from generator.competition.tables.sample import evenly_drawn

_BETWEEN_PARTS = re.compile(r"([\W_]+)")
_LETTERS_IN_FRONT = re.compile(r"[^\W\d_]+(?=\d)")
_LONGEST_NUMBER = 18
_SHORTEST_HEX = 6
_FEWEST_TO_JUDGE = 5
_WORDS_PER_VALUE = 0.2
_DENSE = 0.25
_TRIES_PER_ID = 20
_IDS_OF_A_CODE = 8
_NUMBERS = ("0", "1", "2")
_DATE_FORMS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m")
_FEWEST_MOMENTS = 200
_NEIGHBOURS, _OTHERS = 400, 200  # that are looked at
_LOWER, _UPPER, _DIGITS, _HEX = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "abcdef"


# Writes an id, or a part of one; the number counts the ids.
_Part = Callable[[random.Random, int], str]


@dataclass(frozen=True)
class _Count:
    """A number that counts the ids."""

    first: int
    width: int

    def __call__(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        return str(self.first + index).zfill(self.width)


@dataclass(frozen=True)
class IdFormat:
    """The format of a competition's ids; see `format_of`.

    Attributes:
        shapes: One for each known id, so that frequent shapes are drawn often.
        known: The ids that it was learned from.
        is_counted: Whether the ids are numbered, so that known ones cannot be avoided.
        is_sorted: Whether the known ids grow.
    """

    shapes: tuple[_Part, ...]
    known: frozenset[str]
    is_counted: bool
    is_sorted: bool

    def fresh(self, wanted: int, source: random.Random, avoid: Collection[str] = ()) -> tuple[str, ...]:
        """So many different ids that are neither known nor among those to avoid."""
        taken = set(avoid) | (set() if self.is_counted else self.known)
        made: list[str] = []
        tries = wanted * _TRIES_PER_ID
        for attempt in count():
            if len(made) == wanted:
                break
            index = attempt if attempt < tries else attempt - tries
            text = source.choice(self.shapes)(source, index)
            candidate = text if attempt < tries else _numbered(text, index)
            if candidate not in taken:
                taken.add(candidate)
                made.append(candidate)
        return tuple(sorted(made, key=_sort_key) if self.is_sorted else made)


def format_of(values: Sequence[str]) -> IdFormat:
    """Learns how ids are formed: numbers, padded numbers, hexadecimal codes, UUIDs, `prefix_number`, names of files.

    Args:
        values: Known ids in their order; if there are none, ids are numbers from 0.
    """
    values = values or _NUMBERS
    learned = (*values[:_NEIGHBOURS], *evenly_drawn(values[_NEIGHBOURS:], _OTHERS))
    dates = _date(values)
    if dates is not None:
        return IdFormat((dates,), frozenset(values), is_counted=False, is_sorted=list(values) == sorted(values))
    split = [tuple(_BETWEEN_PARTS.split(value)) for value in learned]
    by_shape: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for pieces in split:
        by_shape[pieces[1::2]].append(pieces[::2])
    parts = {shape: [_part(column) for column in zip(*known, strict=True)] for shape, known in by_shape.items()}
    shapes = {separators: _in_shape(of_shape, separators) for separators, of_shape in parts.items()}
    keys = [_sort_key(value) for value in learned]
    return IdFormat(
        shapes=tuple(shapes[pieces[1::2]] for pieces in split),
        known=frozenset(values),
        is_counted=any(isinstance(part, _Count) for of_shape in parts.values() for part in of_shape),
        is_sorted=len(learned) > 1 and all(one <= other for one, other in pairwise(keys)),
    )


def are_alike(value: str, others: Sequence[str]) -> bool:
    """True if an id has the separators of one of some others."""
    separators = _BETWEEN_PARTS.findall(value)
    return any(_BETWEEN_PARTS.findall(other) == separators for other in others)


def _date(values: Sequence[str]) -> _Part | None:
    """Writes dates like the known ones, until as long behind the last as the first is before; None if it is no date."""
    for form in _DATE_FORMS:
        try:
            moments = sorted({datetime.strptime(value, form) for value in values})
        except ValueError:
            continue
        if len(moments) > 1:
            first, step = moments[0], min(later - earlier for earlier, later in pairwise(moments))
            steps = min(2 * ((moments[-1] - first) // step) + _FEWEST_MOMENTS, (datetime.max - first) // step)
            return lambda source, _: (first + step * source.randrange(steps)).strftime(form)
    return None


def _sort_key(value: str) -> tuple[int, str]:
    return (int(value), "") if value.isdecimal() and len(value) <= _LONGEST_NUMBER else (-1, value)


def _in_shape(parts: Sequence[_Part], separators: Sequence[str]) -> _Part:
    """Writes parts with separators between them."""

    def write(source: random.Random, index: int) -> str:
        first, *others = [part(source, index) for part in parts]
        return first + "".join(map("".join, zip(separators, others, strict=True)))

    return write


def _part(values: Sequence[str]) -> _Part:
    distinct = sorted(set(values))
    has_digits = any(character.isdigit() for value in distinct for character in value)
    is_single = len(distinct) == 1 and (not has_digits or len(values) >= _FEWEST_TO_JUDGE)
    if is_single or 1 < len(distinct) <= _WORDS_PER_VALUE * len(values):
        is_code = len(distinct) > 1 and has_digits and min(map(len, distinct)) >= _SHORTEST_HEX
        # One of a few words, such as `train` or `jpg`.
        return _repeated(distinct) if is_code else lambda source, _: source.choice(values)
    if all(value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER for value in distinct):
        return _numeric(distinct, len(values))
    return _code(distinct)


def _code(distinct: Sequence[str]) -> _Part:
    """Writes letters and digits like those of the known values, behind the letters that these begin with."""
    first, last = distinct[0], distinct[-1]  # they are sorted, so what these two begin with all do
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    letters = {character.lower() for value in distinct for character in value if character in _LOWER + _UPPER}
    is_hex = letters <= set(_HEX) and min(map(len, distinct)) >= _SHORTEST_HEX
    prefix = "" if is_hex else re.split(r"\d", first[:same], maxsplit=1)[0]
    lower, upper = (_HEX, _HEX.upper()) if is_hex else (_LOWER, _UPPER)
    alphabets = dict.fromkeys(_DIGITS, _DIGITS) | dict.fromkeys(_LOWER, lower) | dict.fromkeys(_UPPER, upper)

    def write(source: random.Random, index: int) -> str:  # noqa: ARG001 - as the other parts
        behind = source.choice(distinct)[len(prefix) :]
        return prefix + "".join(source.choice(alphabets[each]) if each in alphabets else each for each in behind)

    return write


def _repeated(distinct: Sequence[str]) -> _Part:
    """Writes codes that several ids share, such as that of a car which is seen from several sides."""
    code = _code(distinct)

    def write(source: random.Random, index: int) -> str:
        # New ones come up as the ids go on, since the known ones may not be enough for all of them.
        variant = index // (_IDS_OF_A_CODE * len(distinct))
        return code(random_for(0, *distinct, source.randrange(len(distinct)), variant), index)

    return write


def _numeric(distinct: Sequence[str], known: int) -> _Part:
    numbers = sorted(map(int, distinct))
    lowest, highest = numbers[0], numbers[-1]
    is_padded = any(len(value) > 1 and value.startswith("0") for value in distinct)
    width = max(map(len, distinct)) if is_padded else 0
    if len(numbers) == 1:
        digits = len(distinct[0])
        lowest, highest = 10 ** (digits - 1), 10**digits - 1
    elif len(numbers) > known / 2 and len(numbers) > _DENSE * (highest - lowest + 1):
        return _Count(lowest, width)
    return lambda source, _: str(source.randint(lowest, highest)).zfill(width)


def _numbered(text: str, index: int) -> str:
    """The text with its longest part replaced by a number, where nothing else makes it different.

    Letters in front of digits stay, so that `p7` becomes `p12`, and no codes become numbers.
    """
    pieces = _BETWEEN_PARTS.split(text)
    inner = pieces[::2][:-1] if len(pieces) > 1 else pieces
    longest = max(range(len(inner)), key=lambda position: len(inner[position]))
    letters = _LETTERS_IN_FRONT.match(inner[longest])
    start = letters[0] if letters else ""
    pieces[2 * longest] = start + str(index).zfill(len(inner[longest]) - len(start))
    return "".join(pieces)
