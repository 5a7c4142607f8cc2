"""Texts of the length and vocabulary of sampled ones, with their words shuffled."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.competition.specimen.randomness import random_for

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
        told = source.choice(positions) if telling and positions else -1  # at least one word tells
        for position in positions:
            piece = pieces[position]
            # A word has the mark of the one in its place, so that names and sentences keep their form.
            mark = _mark(piece) if piece.isascii() else ""
            if telling and (position == told or source.random() < _SHARE_OF_MARKS):
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
    several = 0
    for value in values:
        words = [piece for piece in pieces_of(value) if piece and not piece.isspace()]
        several += len(words) > 2 or (len(words) > 1 and not _DIGIT.search(value))  # noqa: PLR2004 - see above
    return several > len(values) / 2


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
