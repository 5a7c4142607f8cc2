"""Ids that look like those of a competition and are none of them."""

import random
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol

from generator.competition.specimen.chance import chance
from generator.competition.survey.bounds import evenly_drawn

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


class _Part(Protocol):
    """What stands between two separators."""

    def text(self, source: random.Random, index: int) -> str:
        """The part of one id; `index` counts the ids."""


@dataclass(frozen=True)
class _Word:
    """One of a few words, such as `train` or `jpg`."""

    choices: tuple[str, ...]

    def text(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        return source.choice(self.choices)


@dataclass(frozen=True)
class _Count:
    """A number that counts the ids."""

    first: int
    width: int

    def text(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        return str(self.first + index).zfill(self.width)


@dataclass(frozen=True)
class _Number:
    """Any number of a range."""

    lowest: int
    highest: int
    width: int

    def text(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        return str(source.randint(self.lowest, self.highest)).zfill(self.width)


@dataclass(frozen=True)
class _Code:
    """Letters and digits like those of the known values, behind the letters that these begin with."""

    known: tuple[str, ...]
    prefix: str
    lower: str
    upper: str

    def text(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        behind = source.choice(self.known)[len(self.prefix) :]
        return self.prefix + "".join(self._like(character, source) for character in behind)

    def _like(self, character: str, source: random.Random) -> str:
        for alphabet, drawn in ((_DIGITS, _DIGITS), (_LOWER, self.lower), (_UPPER, self.upper)):
            if character in alphabet:
                return source.choice(drawn)
        return character


@dataclass(frozen=True)
class _Repeated:
    """A code that several ids share, such as that of a car which is seen from several sides."""

    codes: _Code

    def text(self, source: random.Random, index: int) -> str:
        # New ones come up as the ids go on, since the known ones may not be enough for all of them.
        variant = index // (_IDS_OF_A_CODE * len(self.codes.known))
        number = source.randrange(len(self.codes.known))
        return self.codes.text(chance(0, *self.codes.known, number, variant), index)


@dataclass(frozen=True)
class _Shape:
    """Separators with the parts between them."""

    parts: tuple[_Part, ...]
    separators: tuple[str, ...]

    def text(self, source: random.Random, index: int) -> str:
        written = [part.text(source, index) for part in self.parts]
        return written[0] + "".join(map("".join, zip(self.separators, written[1:], strict=True)))


@dataclass(frozen=True)
class _Moment:
    """A date, as many steps behind the first one as chance says."""

    form: str
    first: datetime
    step: timedelta
    steps: int

    def text(self, source: random.Random, index: int) -> str:  # noqa: ARG002 - as the other parts
        return (self.first + self.step * source.randrange(self.steps)).strftime(self.form)


@dataclass(frozen=True)
class IdFormat:
    """How the ids of a competition are formed; see `format_of`.

    Attributes:
        shapes: One for each known id, so that frequent shapes are drawn often.
        known: The ids that it was learned from.
        is_counted: Whether the ids are numbered, so that known ones cannot be avoided.
        is_sorted: Whether the known ids grow.
    """

    shapes: tuple[_Shape, ...]
    known: frozenset[str]
    is_counted: bool
    is_sorted: bool

    def fresh(self, count: int, source: random.Random, avoid: Collection[str] = ()) -> tuple[str, ...]:
        """So many different ids that are neither known nor among those to avoid."""
        taken = set(avoid) | (set() if self.is_counted else self.known)
        made: list[str] = []
        for index in range(count * _TRIES_PER_ID):
            if len(made) == count:
                break
            candidate = source.choice(self.shapes).text(source, index)
            if candidate not in taken:
                taken.add(candidate)
                made.append(candidate)
        index = 0
        while len(made) < count:
            candidate = _numbered(source.choice(self.shapes).text(source, index), index)
            index += 1
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
    split = [tuple(_BETWEEN_PARTS.split(value)) for value in learned]
    by_shape: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for pieces in split:
        by_shape[pieces[1::2]].append(pieces[::2])
    shapes = {separators: _shape(separators, parts) for separators, parts in by_shape.items()}
    keys = [_sort_key(value) for value in learned]
    moments = _moments(values)
    if moments is not None:
        shape = _Shape((moments,), ())
        return IdFormat((shape,), frozenset(values), is_counted=False, is_sorted=list(values) == sorted(values))
    return IdFormat(
        shapes=tuple(shapes[pieces[1::2]] for pieces in split),
        known=frozenset(values),
        is_counted=any(isinstance(part, _Count) for shape in shapes.values() for part in shape.parts),
        is_sorted=len(learned) > 1 and all(one <= other for one, other in pairwise(keys)),
    )


def are_alike(value: str, others: Sequence[str]) -> bool:
    """Whether an id has the separators of one of some others."""
    separators = _BETWEEN_PARTS.findall(value)
    return any(_BETWEEN_PARTS.findall(other) == separators for other in others)


def _moments(values: Sequence[str]) -> _Moment | None:
    """The dates that ids are, from the first one on to as long behind the last one; None if they are something else."""
    for form in _DATE_FORMS:
        try:
            moments = sorted({datetime.strptime(value, form) for value in values})
        except ValueError:
            continue
        if len(moments) > 1:
            step = min(later - earlier for earlier, later in pairwise(moments))
            steps = 2 * ((moments[-1] - moments[0]) // step) + _FEWEST_MOMENTS
            return _Moment(form, moments[0], step, min(steps, (datetime.max - moments[0]) // step))
    return None


def _sort_key(value: str) -> tuple[int, str]:
    return (int(value), "") if value.isdecimal() and len(value) <= _LONGEST_NUMBER else (-1, value)


def _shape(separators: tuple[str, ...], values: Sequence[tuple[str, ...]]) -> _Shape:
    return _Shape(tuple(_part(column) for column in zip(*values, strict=True)), separators)


def _part(values: Sequence[str]) -> _Part:
    distinct = sorted(set(values))
    has_digits = any(character.isdigit() for value in distinct for character in value)
    is_single = len(distinct) == 1 and (not has_digits or len(values) >= _FEWEST_TO_JUDGE)
    if is_single or 1 < len(distinct) <= _WORDS_PER_VALUE * len(values):
        is_code = len(distinct) > 1 and has_digits and min(map(len, distinct)) >= _SHORTEST_HEX
        return _Repeated(_code(distinct)) if is_code else _Word(tuple(values))
    if all(value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER for value in distinct):
        return _numeric(distinct, len(values))
    return _code(distinct)


def _code(distinct: Sequence[str]) -> _Code:
    first, last = distinct[0], distinct[-1]  # they are sorted, so what these two begin with all do
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    letters = re.split(r"\d", first[:same], maxsplit=1)[0]
    lower = {character for value in distinct for character in value if character in _LOWER}
    upper = {character for value in distinct for character in value if character in _UPPER}
    is_hex = {*lower, *map(str.lower, upper)} <= set(_HEX) and min(map(len, distinct)) >= _SHORTEST_HEX
    return _Code(
        known=tuple(distinct),
        prefix="" if is_hex else letters,
        lower=_HEX if is_hex else _LOWER,
        upper=_HEX.upper() if is_hex else _UPPER,
    )


def _numeric(distinct: Sequence[str], count: int) -> _Part:
    numbers = sorted(map(int, distinct))
    lowest, highest = numbers[0], numbers[-1]
    is_padded = any(len(value) > 1 and value.startswith("0") for value in distinct)
    width = max(map(len, distinct)) if is_padded else 0
    if len(numbers) == 1:
        digits = len(distinct[0])
        return _Number(10 ** (digits - 1), 10**digits - 1, width)
    if len(numbers) > count / 2 and len(numbers) > _DENSE * (highest - lowest + 1):
        return _Count(lowest, width)
    return _Number(lowest, highest, width)


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
