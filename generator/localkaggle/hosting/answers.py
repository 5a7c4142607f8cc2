"""The hidden answers of a competition: a table like a submission, with the right cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.introspection.vocabulary import looks_like_id
from generator.competition.submission import SampleColumns, UnreadableSubmissionError, read_table
from generator.competition.survey.columns import header_names
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
        columns: The names of the id and, behind it, of the answers.
        rows: The cells beside the id, for each id.
        public: The ids whose score is public, where the host chose them; else None.
        sizes: Height and width of the mask of an id, where the host gave them.
    """

    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]
    public: frozenset[str] | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def read_answers(path: Path, *, sample: Path | None = None, id_column: str = "") -> Answers:
    """Reads a perfect submission in any of their formats, optionally with the columns `Usage`, `height` and `width`.

    Args:
        path: The file.
        sample: The sample submission, if there is one: what it has in each row already is no answer.
        id_column: The column with the ids; by default the first one without equal cells in both files, or the
            first of all.

    Raises:
        AnswersError: It is missing, is no such table, or has an id twice.
        SubmissionError: The sample cannot be read.
    """
    if not path.exists():
        raise AnswersError(path=path, problem="it is missing; put a perfect submission there")
    try:
        lines = [cells for _, cells in read_table(path, is_sample=True)]
    except UnreadableSubmissionError as error:
        raise AnswersError(path=path, problem=error.why) from error
    if len(lines) < 2 or len(lines[0]) < 2:  # noqa: PLR2004 - a header and a row; an id and an answer
        raise AnswersError(path=path, problem="it needs a header with an id and an answer, and a row for each id")
    header, rows = lines[0], lines[1:]
    for cells in rows:
        if len(cells) != len(header):
            raise AnswersError(path=path, problem=f"the row of {quoted(cells[0])} has {len(cells)} cells")
    if id_column and id_column not in header:
        raise AnswersError(path=path, problem=f'it has no column "{quoted(id_column)}", which id_column names')
    cells_of_sample = _cells_by_column(sample) if sample is not None else {}
    place = header.index(id_column) if id_column else _place_of_ids(header, rows, cells_of_sample)
    return _parsed(path, header, rows, place, cells_of_sample)


def sample_columns(answers: Answers, sample: Path) -> SampleColumns:
    """The columns of a sample submission that are no answers, by the file of answers.

    Where the answers are in other columns than those of a submission, such as the name of the class where that has a
    column for each, every column beside the id is an answer.
    """
    _, header = next(read_table(sample), (0, []))
    names, (key, *asked) = header_names(header)[0], answers.columns
    if key not in names:
        return SampleColumns()
    context = [name for name in names if name not in answers.columns] if set(asked) <= set(names) else []
    return SampleColumns(key, tuple(context))


def _cells_by_column(table: Path) -> Mapping[str, list[str]]:
    rows = [cells for _, cells in read_table(table, is_sample=True)]
    columns = zip(*(cells for cells in rows[1:] if len(cells) == len(rows[0])), strict=True) if rows else ()
    return {name: list(cells) for name, cells in zip(rows[0] if rows else (), columns, strict=False)}


def _place_of_ids(header: list[str], rows: list[list[str]], sample: Mapping[str, list[str]]) -> int:
    """The first column without equal or empty cells in both files, one named like an id rather than another."""
    found = []
    for place, name in enumerate(header):
        told = ([cells[place] for cells in rows], sample.get(name, []))
        if name in sample and all(len(set(cells)) == len(cells) and "" not in cells for cells in told):
            found.append(place)
    return next((place for place in found if looks_like_id(header[place])), found[0] if found else 0)


def _parsed(path: Path, header: list[str], lines: list[list[str]], at: int, sample: Mapping[str, list[str]]) -> Answers:
    places = _places_of_notes(header, at)
    ids = sample.get(header[at], [])
    told = {cells[at]: cells for cells in lines}

    def is_repeated(place: int) -> bool:
        """True if the sample has the same in each of its rows, and not the same in all of them."""
        cells = sample.get(header[place], [])
        rows = zip(ids, cells, strict=False)
        return len(set(cells)) > 1 and all(key in told and told[key][place] == cell for key, cell in rows)

    asked = [place for place in range(len(header)) if place != at and place not in places.values()]
    asked = [place for place in asked if not is_repeated(place)]
    if not asked:
        raise AnswersError(path=path, problem="no column of its is an answer")
    rows: dict[str, tuple[str, ...]] = {}
    for cells in lines:
        if cells[at] in rows:
            raise AnswersError(path=path, problem=f"the id {quoted(cells[at])} stands there twice")
        rows[cells[at]] = tuple(cells[index] for index in asked)
    return Answers(
        columns=(header[at], *(header[index] for index in asked)),
        rows=rows,
        public=_public(lines, at, places.get(_USAGE)),
        sizes=_sizes(path, lines, at, places),
    )


def _places_of_notes(header: list[str], at: int) -> dict[str, int]:
    """The positions of the columns that are notes for the scoring; a height without a width, or alone, is an answer."""
    places = {name.lower(): index for index, name in enumerate(header) if index != at}
    notes = {_USAGE} & places.keys()
    if {_HEIGHT, _WIDTH} <= places.keys() and len(header) > 1 + len(notes) + 2:
        notes |= {_HEIGHT, _WIDTH}
    return {name: places[name] for name in notes}


def _public(lines: list[list[str]], at: int, place: int | None) -> frozenset[str] | None:
    if place is None:
        return None
    return frozenset(cells[at] for cells in lines if cells[place].strip().lower() == _PUBLIC)


def _sizes(path: Path, lines: list[list[str]], at: int, places: dict[str, int]) -> dict[str, tuple[int, int]]:
    if not {_HEIGHT, _WIDTH} <= places.keys():
        return {}
    try:
        return {cells[at]: (int(cells[places[_HEIGHT]]), int(cells[places[_WIDTH]])) for cells in lines}
    except ValueError as error:
        raise AnswersError(path=path, problem="height and width have to be whole numbers") from error
