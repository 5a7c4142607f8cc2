"""The stages of a competition: of several test tables and samples, the pair that belongs together.

The pair whose ids fit is taken, and where several do, the later stage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generator.competition.introspection.vocabulary import stem, words
from generator.competition.survey.facts import Column, Survey, Table
from generator.untrusted import printable

_ORDER = {"old": 0, "public": 1, "first": 1, "second": 2, "third": 3, "new": 50, "private": 90, "final": 91}
_NUMBER = re.compile(r"\d+")
_ALIKE = 0.8  # of the columns of two tables that are for the same
_SOME, _NEARLY_ALL = 0.1, 0.9  # of the sampled ids
_MOST_COMPARED = 20
_COLUMNS_COMPARED = 20
_SHOWN = 4


@dataclass(frozen=True)
class Stage:
    """A sample submission and the test table, or the folder of test files, with its ids.

    Attributes:
        sample: The path of the sample.
        test: The path of the test table; "" where the examples are files.
        others: The further test tables that fit a sample, with this sample, each as (test, sample).
        parts: The test tables whose ids the sample asks for together; empty where one has all.
    """

    sample: str
    test: str
    others: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()


def find_stage(survey: Survey, samples: Sequence[Table], tests: Sequence[Table]) -> Stage | None:
    """Choose among the samples and test tables that their names and columns allow; None if there is no choice.

    Args:
        survey: What was seen.
        samples: Tables that may be the sample submission, the likeliest first.
        tests: Tables that may be the test table, the likeliest first.
    """
    samples = _like_first(samples)
    tests = _like_first([table for table in tests if not any(table is sample for sample in samples)])
    if len(samples) < 2 and len(tests) < 2:  # noqa: PLR2004 - a choice
        return None
    if not tests:
        return _stage_of_files(survey, samples)
    best: list[tuple[float, Table, Table]] = []
    for sample in samples:
        fits = [(_fit(sample, test), test) for test in tests]
        fit, test = max(fits, key=lambda each: (each[0], _has_stage_of(sample, each[1], samples), _stage(each[1])))
        best.append((fit, sample, test))
    if max(fit for fit, _, _ in best) <= _SOME:
        return None
    fitting = [pair for pair in best if pair[0] >= _NEARLY_ALL] or [max(best, key=lambda pair: pair[0])]
    _, sample, test = max(fitting, key=lambda pair: (_stage(pair[2]), _stage(pair[1])))
    others = [(other.path, one.path) for fit, one, other in best if one is not sample and fit > _SOME]
    others += [
        (other.path, sample.path)
        for other in tests
        if other is not test and _fit(sample, other) >= _NEARLY_ALL and other.path not in dict(others)
    ]
    return Stage(sample.path, test.path, tuple(others), tuple(_parts(sample, test, tests)))


def warnings_of_stages(stage: Stage | None, *, is_decided: bool) -> Iterator[str]:
    """Yield what was chosen among several stages, and that a sample asks for the rows of several tables."""
    if stage is None:
        return
    if stage.parts:
        tables = ", ".join(map(printable, stage.parts[:_SHOWN])) + (" …" if len(stage.parts) > _SHOWN else "")
        yield (
            f"{printable(stage.sample)} asks for the rows of {len(stage.parts)} tables, {tables}, and the notebooks "
            "read one, so that inference stops: put all of them into one table and name it with --test."
        )
    if stage.others and not is_decided:
        test, sample = stage.others[0]
        is_of_files = not stage.test
        taken = printable(stage.sample) if is_of_files else f"{printable(stage.test)} with {printable(stage.sample)}"
        flags = f"--sample {printable(sample)}" if is_of_files else f"--test {printable(test)}"
        flags += f" --sample {printable(sample)}" if sample != stage.sample and not is_of_files else ""
        yield f"There are several stages of the test; {taken} is taken as the latest that fits, {flags} takes another."


def _stage_of_files(survey: Survey, samples: Sequence[Table]) -> Stage | None:
    """The latest sample whose ids are the names of files."""
    names = {stem(name) for folder in survey.folders for name in folder.names}
    fitting = [
        sample
        for sample in samples
        if sample.columns and len(sample.columns[0].distinct & names) > _SOME * len(sample.columns[0].distinct)
    ]
    if len(fitting) < 2:  # noqa: PLR2004 - a choice
        return Stage(fitting[0].path, "") if fitting else None
    latest = max(fitting, key=_stage)
    return Stage(latest.path, "", tuple(("", sample.path) for sample in fitting if sample is not latest))


def _like_first(tables: Sequence[Table]) -> list[Table]:
    """The first table, and those with much the same columns."""
    if not tables:
        return []
    names = set(tables[0].column_names)
    return [
        table
        for table in tables[:_MOST_COMPARED]
        if len(names & set(table.column_names)) >= _ALIKE * len(names | set(table.column_names))
    ]


def _fit(sample: Table, test: Table) -> float:
    """The degree to which a test table has the ids of a sample: 1 for the same ids, 0.9 for more, else less."""
    pairs = [(ids, found) for ids in sample.columns[:_COLUMNS_COMPARED] if (found := _same(ids, test)) is not None]
    if not pairs:
        return 0.0
    shares = [(len(ids.distinct & found.distinct) / len(ids.distinct), ids, found) for ids, found in pairs]
    share, ids, found = max(shares, key=lambda each: each[0])
    if not (sample.is_complete and test.is_complete):
        return 1.0 if share > _SOME else 0.0  # the pieces that were sampled are the same only in part
    if share < 1:
        return share * _NEARLY_ALL
    return 1.0 if len(ids.distinct) == len(found.distinct) else _NEARLY_ALL


def _same(ids: Column, test: Table) -> Column | None:
    """The column of a test table that is called as the ids of a sample, which are all different."""
    return test.column(ids.name) if ids.is_unique else None


def _parts(sample: Table, test: Table, tests: Sequence[Table]) -> Iterator[str]:
    """Yield the tables whose ids make those of a sample together, where one alone does not have them."""
    ids = next((column for column in sample.columns if _same(column, test) is not None), None)
    if ids is None or not sample.is_complete or _fit(sample, test) >= _NEARLY_ALL:
        return
    known = [(other, column.distinct) for other in tests if (column := other.column(ids.name)) is not None]
    alone = test.column(ids.name)
    together = frozenset[str]().union(*(values for _, values in known))
    if alone is not None and len(together & ids.distinct) > len(alone.distinct & ids.distinct):
        yield from (other.path for other, values in known if values & ids.distinct)


def _has_stage_of(sample: Table, test: Table, samples: Sequence[Table]) -> bool:
    """True if a test table is named for the stage of one of several samples."""
    return len(samples) > 1 and _stage(sample)[0] == _stage(test)[0]


def _stage(table: Table) -> tuple[tuple[int, ...], str]:
    """A key by which later stages come last: the numbers in the path of a table, else the path."""
    numbers = [int(number[:9]) for number in _NUMBER.findall(table.path)]
    numbers += [_ORDER[word] for word in words(table.path) if word in _ORDER]
    return tuple(numbers) or (1,), table.path
