"""Made-up values: cells of columns, ids, names and texts that are like sampled ones."""

import json
import math
import random
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, pairwise

from generator.competition.survey import NUMBERS, Column, ColumnKind, kind_of, numbers_of
from generator.competition.tables import evenly_drawn

# Random numbers that are the same for the same seed.


def random_for(seed: int, *names: object) -> random.Random:
    """A source of random numbers for one purpose, so that one part of a specimen does not change another."""
    # Bytes are hashed by SHA-512, the same on every machine; names of files may have bytes that are no characters.
    key = "/".join(map(str, (seed, *names))).encode("utf-8", "surrogatepass")
    return random.Random(key)  # noqa: S311 - nothing here is a secret


def even_quantiles(count: int, source: random.Random) -> list[float]:
    """So many quantiles from 0 to 1, one in each of as many equal parts, in any order."""
    quantiles = [(position + source.random()) / count for position in range(count)]
    source.shuffle(quantiles)
    return quantiles


def correlated_quantiles(levels: Sequence[float], source: random.Random, *, strength: float) -> list[float]:
    """Quantiles from 0 to 1 that grow with the levels, as far as the strength says.

    The ranks are spread evenly again, so that what is drawn by them has the distribution that it should have.
    """
    noisy = [strength * level + (1 - strength) * source.random() for level in levels]
    order = sorted(range(len(noisy)), key=lambda row: (noisy[row], row))
    quantiles = [0.0] * len(noisy)
    for rank, row in enumerate(order):
        quantiles[row] = (rank + source.random()) / len(noisy)
    return quantiles


# Texts of the length and vocabulary of sampled ones, with their words shuffled.


_SPACE = re.compile(r"(\s+)")
_DIGIT = re.compile(r"\d")
_LONGEST_UNSPACED, _CHARACTERS_OF_A_PIECE = 12, 2
_TEXTS_READ, _PIECES_READ = 400, 200_000
_LONGEST_TEXT = 20_000  # characters
_WORDS_OF_A_MARK = 4
_SHARE_OF_MARKS = 0.3
_PLAIN_WORD = re.compile(r"[A-Za-z]{3,12}")


@dataclass(frozen=True)
class Vocabulary:
    """The words of some sampled texts, as often as they occur.

    Attributes:
        texts: The texts, cut to 20,000 characters.
        words: Their words in ASCII, by the mark that they end in.
        foreign: The others, in pieces of two characters where a language has no spaces.
        marking: Different plain words, from which those are taken that tell of a class.
    """

    texts: tuple[str, ...]
    words: Mapping[str, Sequence[str]]
    foreign: tuple[str, ...]
    marking: tuple[str, ...]

    def write(self, quantile: float, marks: Sequence[int], source: random.Random) -> str:
        """Makes a text.

        Args:
            quantile: Which of the texts, sorted by length, gives the length and the spaces, from 0 to 1.
            marks: What words of its own the text has: those of these classes.
            source: The words are drawn from it.
        """
        telling = [word for mark in marks for word in self._words_of(mark)]
        like = self.texts[min(int(quantile * len(self.texts)), len(self.texts) - 1)]
        pieces = pieces_of(like)
        positions = [position for position, piece in enumerate(pieces) if piece and not piece.isspace()]
        marked_position = source.choice(positions) if telling and positions else -1  # at least one word tells
        for position in positions:
            piece = pieces[position]
            # A word has the mark of the one in its place, so that names and sentences keep their form.
            mark = _mark(piece) if piece.isascii() else ""
            if telling and (position == marked_position or source.random() < _SHARE_OF_MARKS):
                pieces[position] = source.choice(telling) + mark
            else:
                # A language without spaces keeps its own characters, so that sentences stay of one language.
                pieces[position] = source.choice(self.words.get(mark, (piece,)) if piece.isascii() else self.foreign)
        return "".join(_DIGIT.sub(lambda _: source.choice("0123456789"), piece) for piece in pieces)

    def _words_of(self, mark: int) -> list[str]:
        if not self.marking:
            return []
        first = mark * _WORDS_OF_A_MARK
        return [self.marking[(first + further) % len(self.marking)] for further in range(_WORDS_OF_A_MARK)]


def vocabulary_of(values: Sequence[str]) -> Vocabulary:
    """Reads sampled texts, at least one."""
    texts = sorted((value[:_LONGEST_TEXT] for value in values[:_TEXTS_READ]), key=lambda text: (len(text), text))
    words: list[str] = []
    for text in texts:
        words += (piece for piece in pieces_of(text) if piece and not piece.isspace())
        if len(words) > _PIECES_READ:
            break
    by_mark: dict[str, list[str]] = {}
    for word in words:
        if word.isascii():
            by_mark.setdefault(_mark(word), []).append(word)
    plain = sorted({word for word in words if _PLAIN_WORD.fullmatch(word)})
    random_for(0, "marking").shuffle(plain)
    return Vocabulary(
        texts=tuple(texts),
        words=by_mark,
        foreign=tuple(word for word in words if not word.isascii()) or ("",),
        marking=tuple(plain),
    )


def _mark(word: str) -> str:
    """Return the mark that a word ends in, such as a comma; "" if it ends in a letter or digit."""
    return "" if word[-1].isalnum() else word[-1]


def is_prose(values: Sequence[str]) -> bool:
    """True if most of the values are of several words, or long ones of a language without spaces.

    Two words with a number among them are a code.
    """
    prose_count = 0
    for value in values:
        words = [piece for piece in pieces_of(value) if piece and not piece.isspace()]
        prose_count += len(words) > 2 or (len(words) > 1 and not _DIGIT.search(value))  # noqa: PLR2004 - see above
    return prose_count > len(values) / 2


def pieces_of(text: str) -> list[str]:
    """Words and the spaces between them; long words that are not ASCII are cut, for they are sentences."""
    pieces: list[str] = []
    for piece in _SPACE.split(text):
        if len(piece) <= _LONGEST_UNSPACED or piece.isascii():
            pieces.append(piece)
        else:
            starts = range(0, len(piece), _CHARACTERS_OF_A_PIECE)
            pieces += (piece[start : start + _CHARACTERS_OF_A_PIECE] for start in starts)
    return pieces


# Ids that look like those of a competition and are none of them.


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
_NEIGHBOURS, _OTHER_ROWS = 400, 200  # that are looked at
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
    """The format of a competition's ids; see `id_format`.

    Attributes:
        shapes: One for each known id, so that frequent shapes are drawn often.
        known_ids: The ids that it was learned from.
        is_counted: Whether the ids are numbered, so that known ones cannot be avoided.
        is_sorted: Whether the known ids grow.
    """

    shapes: tuple[_Part, ...]
    known_ids: frozenset[str]
    is_counted: bool
    is_sorted: bool

    def fresh(self, size: int, source: random.Random, avoid: Collection[str] = ()) -> tuple[str, ...]:
        """So many different ids that are neither known nor among those to avoid."""
        used_ids = set(avoid) | (set() if self.is_counted else self.known_ids)
        ids: list[str] = []
        tries = size * _TRIES_PER_ID
        for attempt in count():
            if len(ids) == size:
                break
            index = attempt if attempt < tries else attempt - tries
            text = source.choice(self.shapes)(source, index)
            candidate = text if attempt < tries else _insert_number(text, index)
            if candidate not in used_ids:
                used_ids.add(candidate)
                ids.append(candidate)
        return tuple(sorted(ids, key=_sort_key) if self.is_sorted else ids)


def id_format(values: Sequence[str]) -> IdFormat:
    """Learns how ids are formed: numbers, padded numbers, hexadecimal codes, UUIDs, `prefix_number`, names of files.

    Args:
        values: Known ids in their order; if there are none, ids are numbers from 0.
    """
    values = values or _NUMBERS
    sampled_values = (*values[:_NEIGHBOURS], *evenly_drawn(values[_NEIGHBOURS:], _OTHER_ROWS))
    dates = _date(values)
    if dates is not None:
        return IdFormat((dates,), frozenset(values), is_counted=False, is_sorted=list(values) == sorted(values))
    split = [tuple(_BETWEEN_PARTS.split(value)) for value in sampled_values]
    by_shape: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for pieces in split:
        by_shape[pieces[1::2]].append(pieces[::2])
    parts = {shape: [_part(column) for column in zip(*part_rows, strict=True)] for shape, part_rows in by_shape.items()}
    shapes = {separators: _in_shape(of_shape, separators) for separators, of_shape in parts.items()}
    keys = [_sort_key(value) for value in sampled_values]
    return IdFormat(
        shapes=tuple(shapes[pieces[1::2]] for pieces in split),
        known_ids=frozenset(values),
        is_counted=any(isinstance(part, _Count) for of_shape in parts.values() for part in of_shape),
        is_sorted=len(sampled_values) > 1 and all(key <= next_key for key, next_key in pairwise(keys)),
    )


def are_alike(value: str, known_values: Sequence[str]) -> bool:
    """True if an id has the separators of one of some others."""
    separators = _BETWEEN_PARTS.findall(value)
    return any(_BETWEEN_PARTS.findall(known_value) == separators for known_value in known_values)


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
        first, *other_parts = [part(source, index) for part in parts]
        return first + "".join(map("".join, zip(separators, other_parts, strict=True)))

    return write


def _part(values: Sequence[str]) -> _Part:
    distinct = sorted(set(values))
    has_digits = any(character.isdigit() for value in distinct for character in value)
    is_single = len(distinct) == 1 and (not has_digits or len(values) >= _FEWEST_TO_JUDGE)
    if is_single or 1 < len(distinct) <= _WORDS_PER_VALUE * len(values):
        is_code = len(distinct) > 1 and has_digits and min(map(len, distinct)) >= _SHORTEST_HEX
        # One of a few words, such as `train` or `jpg`.
        return _shared_code(distinct) if is_code else lambda source, _: source.choice(values)
    if all(value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER for value in distinct):
        return _numeric(distinct, len(values))
    return _code(distinct)


def _code(distinct: Sequence[str]) -> _Part:
    """Writes letters and digits like those of the known values, behind the letters that these begin with."""
    first, last = distinct[0], distinct[-1]  # they are sorted, so what these two begin with all do
    common_length = next(
        (
            at
            for at, (first_letter, last_letter) in enumerate(zip(first, last, strict=False))
            if first_letter != last_letter
        ),
        len(first),
    )
    letters = {character.lower() for value in distinct for character in value if character in _LOWER + _UPPER}
    is_hex = letters <= set(_HEX) and min(map(len, distinct)) >= _SHORTEST_HEX
    prefix = "" if is_hex else re.split(r"\d", first[:common_length], maxsplit=1)[0]
    lower, upper = (_HEX, _HEX.upper()) if is_hex else (_LOWER, _UPPER)
    alphabets = dict.fromkeys(_DIGITS, _DIGITS) | dict.fromkeys(_LOWER, lower) | dict.fromkeys(_UPPER, upper)

    def write(source: random.Random, index: int) -> str:  # noqa: ARG001 - as the other parts
        behind = source.choice(distinct)[len(prefix) :]
        return prefix + "".join(
            source.choice(alphabets[character]) if character in alphabets else character for character in behind
        )

    return write


def _shared_code(distinct: Sequence[str]) -> _Part:
    """Writes codes that several ids share, such as that of a car which is seen from several sides."""
    code = _code(distinct)

    def write(source: random.Random, index: int) -> str:
        # New ones come up as the ids go on, since the known ones may not be enough for all of them.
        variant = index // (_IDS_OF_A_CODE * len(distinct))
        return code(random_for(0, *distinct, source.randrange(len(distinct)), variant), index)

    return write


def _numeric(distinct: Sequence[str], value_count: int) -> _Part:
    numbers = sorted(map(int, distinct))
    lowest, highest = numbers[0], numbers[-1]
    is_padded = any(len(value) > 1 and value.startswith("0") for value in distinct)
    width = max(map(len, distinct)) if is_padded else 0
    if len(numbers) == 1:
        digits = len(distinct[0])
        lowest, highest = 10 ** (digits - 1), 10**digits - 1
    elif len(numbers) > value_count / 2 and len(numbers) > _DENSE * (highest - lowest + 1):
        return _Count(lowest, width)
    return lambda source, _: str(source.randint(lowest, highest)).zfill(width)


def _insert_number(text: str, index: int) -> str:
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


# Cells of one column that are like its sampled values: of their kind, range, frequency and missingness.


Cells = list[str | None]

_ORDERED_KINDS = NUMBERS | {ColumnKind.DATE}
_FEW_VALUES, _FEW_SHARE = 20, 0.1
_LONGEST_INTEGER, _MOST_DECIMALS = 15, 17
_LONGEST_LIST = 200
_TRIES = 20


def cells_like(
    column: Column,
    quantiles: Sequence[float],
    source: random.Random,
    marks: Sequence[Sequence[int]] = (),
) -> Cells:
    """Makes up cells.

    Args:
        column: What they have to be like.
        quantiles: For each cell, where it stands among the sampled values, from 0, the smallest, to 1.
        source: For everything else that is left to chance.
        marks: For each cell, the classes that texts should tell of.

    Returns:
        As many cells as there are quantiles; None where one is missing.
    """
    if not column.present or not quantiles:
        return [None] * len(quantiles)
    values = _maker(column)(column, quantiles, source)
    is_text = column.kind is ColumnKind.TEXT and not is_categorical(column) and not _are_lists(column)
    if is_text and is_prose(column.present):
        values = _prose(column, len(quantiles), source, marks)
    if column.kind in _ORDERED_KINDS and _grows(column):
        values = sorted(values, key=_order(column))
    cells: Cells = list(values)
    for row in _missing_rows(column, len(cells), source):
        cells[row] = None
    return _of_same_kind(cells, column, source)


def is_categorical(column: Column) -> bool:
    """True if the column holds a few values again and again: categories."""
    limit = max(_FEW_VALUES, _FEW_SHARE * len(column.present))
    return len(column.distinct) <= min(limit, len(column.present) / 2)


def is_id_like(column: Column) -> bool:
    """True if each row has an own whole number or code, as ids are."""
    return (
        len(column.values) > 1
        and column.is_unique
        and _numbers_among_marks(column) is None
        and (
            column.kind is ColumnKind.INTEGER or (column.kind is ColumnKind.TEXT and not is_prose(column.present[:200]))
        )
    )


def _maker(column: Column) -> Callable[[Column, Sequence[float], random.Random], list[str]]:
    if is_categorical(column) or column.kind is ColumnKind.BOOLEAN:
        return _categories
    numbers = _numbers_among_marks(column)
    if numbers is not None:
        return lambda _, quantiles, source: _maker(numbers)(numbers, quantiles, source)
    if column.kind is ColumnKind.TEXT and len(column.distinct) <= len(column.present) / 2:
        return _categories  # such as keywords: several rows share each
    if column.kind in NUMBERS:
        return _integers if column.kind is ColumnKind.INTEGER else _numbers
    if column.kind is ColumnKind.DATE:
        return _dates
    return _lists if _are_lists(column) else _codes


def _numbers_among_marks(column: Column) -> Column | None:
    """The numbers of a column of which nearly all values are numbers, but for a mark such as `?`; None for others."""
    has_marks = column.kind is ColumnKind.TEXT and kind_of(column.distinct) is ColumnKind.TEXT
    return numbers_of(column) if has_marks else None


def _categories(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """Values by their frequencies; each occurs at least once where there are rows enough."""
    values = sorted(column.present, key=_order(column))
    cells = [_at(values, quantile) for quantile in quantiles]
    absent = sorted(column.distinct - set(cells))
    if 2 * len(absent) <= len(cells):
        for row, value in zip(sorted(source.sample(range(len(cells)), len(absent))), absent, strict=True):
            if cells.count(cells[row]) > 1:
                cells[row] = value
    return cells


def _numbers(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:  # noqa: ARG001 - as the others
    values = sorted(column.present, key=_order(column))
    return [_interpolate(values, quantile) for quantile in quantiles]


def _interpolate(values: Sequence[str], quantile: float) -> str:
    """A number between two neighbours, with as many decimals as one of them."""
    at = quantile * (len(values) - 1)
    lower, upper = values[int(at)], values[min(int(at) + 1, len(values) - 1)]
    low, high = float(lower), float(upper)
    if not math.isfinite(low) or not math.isfinite(high) or lower == upper:
        return lower
    number = low + (high - low) * (at - int(at))
    if "e" in lower.lower() or "e" in upper.lower() or not math.isfinite(number):
        return repr(number)
    decimals = max(len(text.strip().partition(".")[2]) for text in (lower, upper))
    return f"{number:.{min(decimals, _MOST_DECIMALS)}f}"


def _integers(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    if max(map(len, column.distinct)) > _LONGEST_INTEGER:
        return _codes(column, quantiles, source)
    values = sorted(int(value) for value in column.present)
    widths = {len(value.strip()) for value in column.distinct}
    is_padded = len(widths) == 1 and any(value.startswith("0") and len(value) > 1 for value in column.distinct)
    width = max(widths) if is_padded else 0
    numbers = []
    for quantile in quantiles:
        at = quantile * (len(values) - 1)
        low, high = values[int(at)], values[min(int(at) + 1, len(values) - 1)]
        numbers.append(str(round(low + (high - low) * (at - int(at)))).zfill(width))
    return numbers


def _dates(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """The day of one value with the time of another, in whatever notation they are."""
    values = sorted(column.present)
    dates = [_at(values, quantile) for quantile in quantiles]
    for mark in ("T", " "):
        if all(value.count(mark) == 1 for value in column.distinct):
            times = [value.partition(mark)[2] for value in values]
            return [value.partition(mark)[0] + mark + source.choice(times) for value in dates]
    return dates


def _codes(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """New codes of the same format, which repeat as often as the sampled ones."""
    share = len(column.distinct) / len(column.present)
    different = id_format(column.present).fresh(max(1, math.ceil(share * len(quantiles))), source)
    return [_at(different, quantile) for quantile in quantiles]


def _lists(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """Lists of the sampled lengths with elements of any of them."""
    lists = sorted((json.loads(value) for value in column.present), key=len)
    elements = [element for value_list in lists for element in value_list] or [None]
    texts = []
    for quantile in quantiles:
        length = min(len(lists[min(int(quantile * len(lists)), len(lists) - 1)]), _LONGEST_LIST)
        new_list = source.sample(elements, length) if length <= len(elements) else []
        texts.append(json.dumps(new_list, ensure_ascii=False))
    return texts


def _are_lists(column: Column) -> bool:
    if not all(value.startswith("[") and value.endswith("]") for value in column.present):
        return False
    try:
        return all(isinstance(json.loads(value), list) for value in column.present)
    except (ValueError, RecursionError):
        return False


def _prose(column: Column, count: int, source: random.Random, marks: Sequence[Sequence[int]]) -> list[str]:
    vocabulary = vocabulary_of(column.present)
    # The lengths are drawn anew: they would tell of the class too, and more plainly than words do.
    lengths = even_quantiles(count, source)
    used_texts: set[str] = set()
    texts = []
    for row, length in enumerate(lengths):
        text = vocabulary.write(length, marks[row] if marks else (), source)
        for _ in range(_TRIES * column.is_unique):
            if text not in used_texts:
                break
            text = vocabulary.write(source.random(), marks[row] if marks else (), source)
        used_texts.add(text)
        texts.append(text)
    return texts


def _order(column: Column) -> Callable[[str], tuple[float, str]]:
    if column.kind in NUMBERS:
        return lambda value: (float(value), value)
    return lambda value: (0.0, value)


def _grows(column: Column) -> bool:
    """True if the rows are in the order of this column."""
    keys = list(map(_order(column), column.present))
    return len(set(keys)) > 2 and all(key <= next_key for key, next_key in pairwise(keys))  # noqa: PLR2004 - a switch is no order


def _at(values: Sequence[str], quantile: float) -> str:
    return values[min(int(quantile * len(values)), len(values) - 1)]


def _missing_rows(column: Column, count: int, source: random.Random) -> list[int]:
    if not column.missing:
        return []
    missing = round(count * column.missing / len(column.values))
    return source.sample(range(count), min(max(missing, 1), count - 1))


def _of_same_kind(cells: Cells, column: Column, source: random.Random) -> Cells:
    """Puts one sampled value in, where chance has left out those that make the column what it is."""
    if kind_of(value for value in cells if value is not None) is column.kind:
        return cells
    telling = sorted(value for value in column.distinct if kind_of([value]) is column.kind)
    rows = [row for row, cell in enumerate(cells) if cell is not None]
    if telling and rows:
        values = sorted(column.present, key=_order(column)) if column.kind in _ORDERED_KINDS else sorted(column.present)
        row = min(rows, key=lambda row: abs(_rank(values, cells[row]) - _rank(values, telling[0])))
        cells[row] = source.choice(telling)
    return cells


def _rank(values: Sequence[str], value: str | None) -> int:
    return bisect_left(values, value or "")
