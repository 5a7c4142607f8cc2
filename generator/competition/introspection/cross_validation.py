"""Honest folds: groups that must stay together, and time that must not run backwards."""

from collections import Counter
from collections.abc import Collection, Sequence

from generator.competition.introspection.column_statistics import overlap
from generator.competition.introspection.feature_types import date_order
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.survey.columns import are_dates, moment_of
from generator.competition.survey.facts import Column

_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_REPEATS, _FEWEST_GROUPS = 2, 5  # as many groups as folds
_DISJOINT = 0.05


def settle_folds(
    features: Features,
    keys: Collection[str],
    found: Findings,
    *,
    of_ids: Collection[str] = (),
    repeated: tuple[Column, str] | None = None,
) -> None:
    """Settles by which columns folds are made, of those that a family's notebooks read.

    Args:
        features: The columns.
        keys: The keys that say by which columns folds are made.
        found: Takes the findings.
        of_ids: A column whose values the ids begin with: it names what several rows are of.
        repeated: The column of ids that several training rows have, and the evidence; None if there is none.
    """
    later = next((column.name for column in features.columns if _is_later(column, features)), "")
    if "group_column" in keys:
        name, evidence = _group(features, of_ids)
        if repeated is not None and not (name and _is_within(repeated[0], features.train.column(name))):
            is_forecast = bool(later) and "time_column" in keys and _are_in_test(repeated[0], features)
            name, evidence = repeated[0].name, repeated[1]
            if is_forecast:  # which folds of time are honest about
                name, evidence = "", f"test examples have the same {name}, at later times"
        found.settle("group_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
    if "time_column" in keys:
        name = later
        evidence = f"all sampled values of {name} are later in the test examples"
        evidence = evidence if name else "the test examples are not from a later time"
        name = found.settle("time_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
        column = features.train.column(name)
        if column is not None:
            order = date_order(column.present)
            evidence = (
                f"dates of {name} begin with the {order}"
                if len(order) > 1
                else f"the order of day and month in {name} is unknown"
            )
            found.settle("day_first", order == "day", evidence, Confidence.THIN if order == "?" else Confidence.SURE)


def _group(features: Features, of_ids: Collection[str]) -> tuple[str, str]:
    """The column whose groups the test examples have others of; "" if there is none."""
    for column in features.columns:
        test = features.in_test(column.name)
        is_named = column.name in of_ids or looks_like_id(column.name) or bool(words(column.name) & _GROUP)
        repeats = _FEWEST_GROUPS <= len(column.distinct) <= len(column.present) / _REPEATS
        if is_named and repeats and test is not None and overlap(column, test) <= _DISJOINT:
            return column.name, f"{column.name} repeats, and the test examples have other ones"
        if repeats and features.test is None and words(column.name) & _GROUP:
            return column.name, f"{column.name} repeats, and nothing says that the test examples have the same ones"
    return "", "no column groups rows that the test examples have others of"


def find_repeated_ids(tables: Tables, names: Sequence[str], targets: Collection[str]) -> tuple[Column, str] | None:
    """Finds the column of ids, or of files, that several training rows have; None if each row has its own.

    Exact copies of rows do not count, as training leaves them out.

    Args:
        tables: The tables by their roles.
        names: The columns that name examples, or their files.
        targets: The columns with the labels, which may have a table of their own.
    """
    train, labels = tables.train, tables.labels
    if train is None:
        return None
    found: list[tuple[Column, str]] = []
    for name in dict.fromkeys(names):
        ids, of_labels = train.column(name), labels.column(name) if labels is not None else None
        if ids is None:
            continue
        count, path = _repeated(ids, train.columns), train.name
        if not count and labels is not None and of_labels is not None:
            answers = [column for column in labels.columns if column.name in targets]
            count, path = _repeated(of_labels, answers), labels.name
        if count:
            found.append((ids, f"{count:,} sampled values of {name} repeat in {path}, and their rows stay together"))
    whole = (each for each in found if all(_is_within(other, each[0]) for other, _ in found))
    return next(whole, found[0] if found else None)


def _repeated(ids: Column, columns: Sequence[Column]) -> int:
    """The number of values that rows have of which some other column says different things."""
    rows = zip(ids.values, *(column.values for column in columns), strict=True)
    different = Counter(row[0] for row in dict.fromkeys(rows) if row[0] is not None)
    return sum(count > 1 for count in different.values())


def _is_within(ids: Column, groups: Column | None) -> bool:
    """True if all rows of an id are in the same group."""
    pairs = set(zip(ids.values, groups.values, strict=True)) if groups is not None else set()
    return len(pairs) == len({value for value, _ in pairs})


def _are_in_test(ids: Column, features: Features) -> bool:
    """True if the test examples go on with ids of training."""
    test = features.in_test(ids.name)
    return test is not None and overlap(ids, test) > _DISJOINT


def _is_later(train: Column, features: Features) -> bool:
    """True if the test's times begin where training's end; False where days cannot be told from months."""
    test = features.in_test(train.name)
    if test is None or len(train.distinct) <= 1 or not (are_dates(train) and are_dates(test)):
        return False
    order = date_order((*train.present, *test.present))
    before, after = (
        [moment for value in column.distinct if (moment := moment_of(value, day_first=order == "day")) is not None]
        for column in (train, test)
    )
    return order != "?" and bool(before and after) and max(before) <= min(after)
