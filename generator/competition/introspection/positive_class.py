"""The positive class: that of two whose probability is asked for, or that is called 1 in the submission."""

from collections.abc import Sequence

from generator.competition.facts import SubmissionKind
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import UnusableValueError, listed
from generator.competition.introspection.findings import Findings, Reason, best_first, weighed
from generator.competition.introspection.vocabulary import words
from generator.competition.survey.columns import MISSING, kind_of
from generator.competition.survey.facts import NUMBERS, ColumnKind

_KEY, _FLAGS_KEY = "positive_class", "answers_are_flags"
_YES = frozenset(("1", "1.0", "true", "t", "yes", "y", "positive", "pos"))
_NO = frozenset(("0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "negative", "neg", "none", "null"))
_FLAGS = frozenset(("0", "1", "0.0", "1.0"))
_CERTAIN = 4


def settle_positive_class(submission: SubmissionKind, seen: Observations, found: Findings) -> None:
    """Settles it where it is not clearly the last class in order, which the notebooks take.

    Raises:
        UnusableValueError: The user decided on something that is none of the classes.
    """
    decided = found.hints.overrides.get(_KEY)
    names = _names(seen)
    if decided is not None and names and decided not in names:
        raise UnusableValueError(key=_KEY, value=str(decided), wanted=f"one of the classes, {listed(names)}")
    if len(names) != 2:  # noqa: PLR2004 - yes and no
        return
    flag = _flag_asked(names, seen) if submission is SubmissionKind.LABEL else ""
    if flag:
        evidence = (
            f'the cells of the sample submission are like "{flag}", and the classes are {names[0]} and {names[1]}'
        )
        found.settle(_FLAGS_KEY, value=True, evidence=evidence)
    elif not (decided or submission is SubmissionKind.PROBABILITY):
        return
    asked = seen.targets.asked[0] if len(seen.targets.asked) == 1 else ""
    last, first = names[::-1]
    is_named = {name: class_in(asked, names) == name for name in names}
    candidates = [
        weighed(
            name,
            [
                Reason(4 * is_named[name], f"the sample submission asks for {asked}"),
                Reason(4 * _says_yes(name, other), f"{name} says yes, or {other} no"),
                Reason(3 * (other in MISSING and not _says_yes(name, other)), f"{other} may stand for nothing"),
                # Labels that are turned round look like any, and cost more than a probability that is.
                Reason((1 if flag else 2) * (name == last), "it is the last in order"),
            ],
        )
        for name, other in ((last, first), (first, last))
    ]
    best = best_first(candidates)[0]
    if decided or best.value != last or best.weight < _CERTAIN:
        found.choose(_KEY, candidates)


def class_in(column: str, classes: Sequence[str]) -> str | None:
    """Returns the one class whose name is in that of a column, such as `bad` of `prob_bad`; None if there is none."""
    common = frozenset.intersection(*map(words, classes)) if classes else frozenset()
    named = [name for name in classes if (words(name) - common) & words(column)]
    return named[0] if len(named) == 1 else None


def class_asked(column: str, classes: Sequence[str]) -> str | None:
    """Return the class whose probability a column asks for: that of its name, else the one of two that says yes."""
    named = class_in(column, classes)
    if named is None and len(classes) == 2:  # noqa: PLR2004 - yes and no
        first, last = classes
        named = first if _says_yes(first, last) else last if _says_yes(last, first) else None
    return named


def _says_yes(name: str, other: str) -> bool:
    return name.lower() in _YES or other.lower() in _NO


def _flag_asked(names: Sequence[str], seen: Observations) -> str:
    """A cell of the sample that is 0 or 1, or true or false, where the classes are other words; "" if none is."""
    if len(seen.targets.answers) != 1 or not seen.targets.answers[0].present:
        return ""
    (answer,) = seen.targets.answers
    is_flag = answer.kind is ColumnKind.BOOLEAN or answer.distinct <= _FLAGS
    kinds = {answer.kind, kind_of(names)}
    return answer.present[0] if is_flag and len(kinds) > 1 and not kinds <= NUMBERS else ""


def _names(seen: Observations) -> list[str]:
    """The classes in the notebooks' order, as far as they were seen."""
    columns, files = seen.targets.columns, seen.files
    names = {*columns[0].distinct} if len(columns) == 1 else {*(files.source.classes if files is not None else ())}
    return sorted(names, key=int if all(map(str.isdecimal, names)) else str)
