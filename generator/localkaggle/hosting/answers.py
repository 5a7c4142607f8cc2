"""The hidden answers of a competition: a table like a submission, with the right cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.submission import UnreadableSubmissionError, read_table
from generator.errors import LocalKaggleError
from generator.untrusted import printable, quoted

_USAGE = "usage"
_HEIGHT, _WIDTH = "height", "width"
_PUBLIC = "public"


class AnswersError(LocalKaggleError):
    """A file of hidden answers that cannot be scored by."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} cannot be scored by: {problem}.")


@dataclass(frozen=True)
class Answers:
    """The answers by id.

    Attributes:
        columns: The header, the id first.
        rows: The cells beside the id, for each id.
        public: The ids whose score is public, where the host chose them; else None.
        sizes: Height and width of the mask of an id, where the host gave them.
    """

    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]
    public: frozenset[str] | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def read_answers(path: Path) -> Answers:
    """Reads a perfect submission in any of their formats, optionally with the columns `Usage`, `height` and `width`.

    Raises:
        AnswersError: It is missing, is no such table, or has an id twice.
    """
    if not path.exists():
        raise AnswersError(path=path, problem="it is missing; put a perfect submission there")
    try:
        lines = [cells for _, cells in read_table(path)]
    except UnreadableSubmissionError as error:
        raise AnswersError(path=path, problem=error.why) from error
    if len(lines) < 2 or len(lines[0]) < 2:  # noqa: PLR2004 - a header and a row; an id and an answer
        raise AnswersError(path=path, problem="it needs a header with an id and an answer, and a row for each id")
    return _parsed(path, lines[0], lines[1:])


def _parsed(path: Path, header: list[str], lines: list[list[str]]) -> Answers:
    places = _places_of_notes(header)
    asked = [index for index in range(1, len(header)) if index not in places.values()]
    if not asked:
        raise AnswersError(path=path, problem="no column of its is an answer")
    rows: dict[str, tuple[str, ...]] = {}
    for cells in lines:
        if len(cells) != len(header):
            raise AnswersError(path=path, problem=f"the row of {quoted(cells[0])} has {len(cells)} cells")
        if cells[0] in rows:
            raise AnswersError(path=path, problem=f"the id {quoted(cells[0])} stands there twice")
        rows[cells[0]] = tuple(cells[index] for index in asked)
    return Answers(
        columns=(header[0], *(header[index] for index in asked)),
        rows=rows,
        public=_public(lines, places.get(_USAGE)),
        sizes=_sizes(path, lines, places),
    )


def _places_of_notes(header: list[str]) -> dict[str, int]:
    """The positions of the columns that are notes for the scoring; a height without a width, or alone, is an answer."""
    places = {name.lower(): index for index, name in enumerate(header) if index}
    notes = {_USAGE} & places.keys()
    if {_HEIGHT, _WIDTH} <= places.keys() and len(header) > 1 + len(notes) + 2:
        notes |= {_HEIGHT, _WIDTH}
    return {name: places[name] for name in notes}


def _public(lines: list[list[str]], place: int | None) -> frozenset[str] | None:
    if place is None:
        return None
    return frozenset(cells[0] for cells in lines if cells[place].strip().lower() == _PUBLIC)


def _sizes(path: Path, lines: list[list[str]], places: dict[str, int]) -> dict[str, tuple[int, int]]:
    if not {_HEIGHT, _WIDTH} <= places.keys():
        return {}
    try:
        return {cells[0]: (int(cells[places[_HEIGHT]]), int(cells[places[_WIDTH]])) for cells in lines}
    except ValueError as error:
        raise AnswersError(path=path, problem="height and width have to be whole numbers") from error
