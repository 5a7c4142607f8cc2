"""The choices behind a pair: what they are, who made each, and which of two prevails.

ChoicesError                  pair.toml cannot be used as it stands
├── BrokenChoicesError        it is not TOML
├── UnknownKeyError           a section or key that does not exist
├── MissingKeyError           a key without which the pair is not known
└── WrongValueError           a value of the wrong type, or one that is not allowed
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from generator.competition import metrics
from generator.competition.facts import Competition, Task, Value
from generator.competition.schema import common, expected_anywhere, keys_of, known_keys, values_of
from generator.errors import CompetitionError, PairError, did_you_mean
from generator.untrusted import printable, storable


class ChoicesError(PairError):
    """A `pair.toml` that cannot be used as it stands."""


class BrokenChoicesError(ChoicesError):
    """The file is not TOML."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} is not TOML: {printable(problem)}.")


class UnknownKeyError(ChoicesError):
    """A section or key that does not exist."""

    def __init__(self, *, path: Path, key: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__(
            f'{printable(str(path))}: there is no "{printable(key)}"; known here: {", ".join(names)}.'
            f"{did_you_mean(key, names)}"
        )


class MissingKeyError(ChoicesError):
    """A key without which the pair is not known."""

    def __init__(self, *, path: Path, key: str) -> None:
        super().__init__(f'{printable(str(path))}: "{key}" is missing; add it, or run `tandem generate` again.')


class WrongValueError(ChoicesError):
    """A value of the wrong type, or one that is not allowed."""

    def __init__(self, *, path: Path, key: str, expected: str, value: object) -> None:
        super().__init__(f"{printable(str(path))}: {key} is {printable(repr(value))}, but it must be {expected}.")


class MadeBy(StrEnum):
    """Who made a choice."""

    INFERRED = "inferred"
    DEFAULT = "default"
    FLAG = "flag"
    HAND = "hand"

    @property
    def is_the_users(self) -> bool:
        """Whether the choice stays when a pair is generated again."""
        return self in (MadeBy.FLAG, MadeBy.HAND)


@dataclass(frozen=True)
class Choice:
    """A value, who chose it, and for an inferred one what it rests on."""

    value: Value
    by: MadeBy
    evidence: str = ""


@dataclass(frozen=True)
class Choices:
    """Every choice of a pair, by section and key.

    Attributes:
        pair: The competition and what the pair is made of.
        task: What the competition asks for.
        parameters: Values that the user sets in both notebooks' parameters cells.
    """

    pair: Mapping[str, Choice] = field(default_factory=dict)
    task: Mapping[str, Choice] = field(default_factory=dict)
    parameters: Mapping[str, Choice] = field(default_factory=dict)

    def sections(self) -> dict[str, Mapping[str, Choice]]:
        """The sections in the order of the file."""
        return {"pair": self.pair, "task": self.task, "parameters": self.parameters}


_CHOICE_KEYS = ("value", "by", "evidence")


def proposed(competition: Competition, task: Task, *, framework: str, owner: Choice) -> Choices:
    """What the kit would choose for a competition if nobody said anything else.

    Args:
        competition: The competition as its source describes it.
        task: The task as inferred, with evidence.
        framework: The default framework.
        owner: Who owns the kernels, see `generator.pair.owner`.
    """
    known = "what is known of the competition"
    evidence = competition.evidence
    pair = {
        "competition": Choice(competition.slug, MadeBy.FLAG),
        "title": Choice(storable(competition.title), MadeBy.INFERRED, evidence.get("title", known)),
        "code_competition": Choice(
            competition.is_code_competition, MadeBy.INFERRED, evidence.get("code_competition", known)
        ),
        "family": Choice(task.family, MadeBy.INFERRED, task.evidence.get("family", "")),
        "framework": Choice(framework, MadeBy.DEFAULT),
        "owner": owner,
    }
    if competition.inference_hours is not None:
        hours = evidence.get("inference_hours", known)
        pair["inference_hours"] = Choice(competition.inference_hours, MadeBy.INFERRED, hours)
    if competition.internet is not None:
        pair["internet"] = Choice(competition.internet, MadeBy.INFERRED, evidence.get("internet", known))
    return Choices(pair=pair, task=_task_choices(task))


def decisions(kept: Choices, *, flags: Mapping[str, Value], task_flags: Mapping[str, Value]) -> dict[str, Value]:
    """What the user has decided of a task, now or before, by key; the family is among it.

    Args:
        kept: The choices of the pair as it is.
        flags: As for `merged`.
        task_flags: As for `merged`.
    """
    before = {key: choice.value for key, choice in (*kept.pair.items(), *kept.task.items()) if choice.by.is_the_users}
    decided = {**before, **flags, **task_flags}
    return {key: value for key, value in decided.items() if key == "family" or key not in common()["pair"]}


def merged(
    proposal: Choices, kept: Choices, *, flags: Mapping[str, Value], task_flags: Mapping[str, Value] | None = None
) -> Choices:
    """Combines what the kit proposes with what the user said, now and before.

    Args:
        proposal: What the kit would choose.
        kept: The choices of the pair as it is; inferred and default ones are replaced by the proposal.
        flags: Values of the section `pair` that the command line sets; they overrule everything, but saying again what
            the user had said before does not change who said it.
        task_flags: The same for the section `task`.

    Returns:
        The choices in the proposal's order, with the user's own keys after them.
    """
    # What pages said once stays in the file, even if nobody could be asked this time.
    optional = {key for key, rule in common()["pair"].items() if rule.optional}
    said = {key: choice for key, choice in kept.pair.items() if key in optional and key not in proposal.pair}
    return Choices(
        pair={**_prevailing(proposal.pair, kept.pair), **said, **_flagged(flags, kept.pair)},
        task={**_prevailing(proposal.task, kept.task), **_flagged(task_flags or {}, kept.task)},
        parameters=_prevailing(proposal.parameters, kept.parameters),
    )


def check_storable(choices: Choices, *, path: Path) -> None:
    """Makes sure that the file can hold what was chosen on a command line.

    Raises:
        WrongValueError: It cannot.
    """
    for section, entries in choices.sections().items():
        for key, choice in entries.items():
            if expected := _expected_of_toml(choice.value):
                raise WrongValueError(path=path, key=f"{section}.{key}", expected=expected, value=choice.value)


def completed(written: Choices, proposal: Choices) -> Choices:
    """Adds to the choices of a file those of the proposal that it leaves open; what the file says stays."""
    return Choices(
        pair={**proposal.pair, **written.pair},
        task={**proposal.task, **written.task},
        parameters={**proposal.parameters, **written.parameters},
    )


def parsed(text: str, *, path: Path, as_written: str | None = None) -> Choices:
    """Reads the choices of a `pair.toml`.

    Args:
        text: The file's content.
        path: The file, for messages.
        as_written: The content as the kit last wrote it. A value that differs from it was edited by hand.

    Returns:
        The choices that the file has; it may leave any of them out.

    Raises:
        ChoicesError: One sentence with the file, the key, and what is wrong with it.
    """
    data = _toml(text, path)
    _check_known(path, data, ("pair", "task", "parameters"), prefix="")
    written = _values_as_written(as_written)
    sections = {}
    for name, known in (("pair", common()["pair"]), ("task", known_keys()), ("parameters", None)):
        entries = data.get(name, {})
        if not isinstance(entries, dict):
            raise WrongValueError(path=path, key=name, expected="a section", value=entries)
        if known is not None:
            _check_known(path, entries, known, prefix=f"{name}.")
        sections[name] = {key: _choice(path, name, key, entry, written) for key, entry in entries.items()}
    return Choices(**sections)


def _task_choices(task: Task) -> dict[str, Choice]:
    keys = keys_of(task.family)
    return {
        key: Choice(value, MadeBy.DEFAULT if keys[key].chosen_blindly else MadeBy.INFERRED, task.evidence.get(key, ""))
        for key, value in values_of(task, keys).items()
        if key in task.evidence or keys[key].default != value
    }


def _flagged(flags: Mapping[str, Value], kept: Mapping[str, Choice]) -> dict[str, Choice]:
    said = {key: choice.value for key, choice in kept.items() if choice.by.is_the_users}
    return {key: Choice(value, MadeBy.FLAG) for key, value in flags.items() if said.get(key) != value}


def _prevailing(proposal: Mapping[str, Choice], kept: Mapping[str, Choice]) -> dict[str, Choice]:
    users = {key: choice for key, choice in kept.items() if choice.by.is_the_users}
    return {**proposal, **users}


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
        expected = _expected_of_toml(data)
    # A number of 5,000 digits is a ValueError of Python's, not of the parser's.
    except (ValueError, RecursionError) as error:
        raise BrokenChoicesError(path=path, problem=str(error)) from error
    if expected:
        raise BrokenChoicesError(path=path, problem=f"a value in it must be {expected}")
    return data


def _expected_of_toml(value: object) -> str:
    """What a value, or one in it, has to be for a file to hold it, where Python lets pass that it is not; else ""."""
    if isinstance(value, dict | list):
        return next(filter(None, map(_expected_of_toml, value.values() if isinstance(value, dict) else value)), "")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "a number of at most 64 bits"
    is_storable = not isinstance(value, str) or ("\0" not in value and storable(value) == value)
    return "" if is_storable else "text in UTF-8 without NUL"


def _check_known(path: Path, entries: Mapping[str, Any], known: Iterable[str], *, prefix: str) -> None:
    for key in entries:
        if key not in known:
            raise UnknownKeyError(path=path, key=f"{prefix}{key}", known=[f"{prefix}{name}" for name in known])


def _values_as_written(text: str | None) -> dict[str, Any]:
    """The value of every choice table in the kit's own copy, by section and key; nothing if there is no good copy."""
    try:
        data = tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return {
        f"{section}.{key}": entry["value"]
        for section, entries in data.items()
        if isinstance(entries, dict)
        for key, entry in entries.items()
        if isinstance(entry, dict) and "value" in entry
    }


def _choice(path: Path, section: str, key: str, entry: Any, written: Mapping[str, Any]) -> Choice:
    name = f"{section}.{key}"
    if not isinstance(entry, dict):
        return Choice(_checked(path, section, key, entry), MadeBy.HAND)
    _check_known(path, entry, _CHOICE_KEYS, prefix=f"{name}.")
    if "value" not in entry:
        expected = 'a value, or a table with one, such as { value = "x" }'
        raise WrongValueError(path=path, key=name, expected=expected, value=entry)
    value = _checked(path, section, key, entry["value"])
    by, evidence = entry.get("by", MadeBy.HAND), entry.get("evidence", "")
    if by not in list(MadeBy):
        raise WrongValueError(path=path, key=f"{name}.by", expected=f"one of {', '.join(MadeBy)}", value=by)
    if not isinstance(evidence, str):
        raise WrongValueError(path=path, key=f"{name}.evidence", expected="text", value=evidence)
    if name in written and not _is_same(written[name], entry["value"]):
        return Choice(value, MadeBy.HAND)
    return Choice(value, MadeBy(by), evidence)


def _is_same(first: object, second: object) -> bool:
    return type(first) is type(second) and first == second


def _checked(path: Path, section: str, key: str, value: Any) -> Value:
    name = f"{section}.{key}"
    if section == "parameters":
        if not isinstance(value, bool | int | float | str | list):
            raise WrongValueError(path=path, key=name, expected="a number, true or false, text, or a list", value=value)
        return value
    rules = (common()["pair"][key],) if section == "pair" else known_keys()[key]
    if expected := expected_anywhere(rules, value) or (_missing_metric(value) if key == "metric" else ""):
        raise WrongValueError(path=path, key=name, expected=expected, value=value)
    return cast("Value", value)


def _missing_metric(name: str) -> str:
    try:
        metrics.parsed(name)
    except CompetitionError as error:
        return f"a metric that can be computed. {error}".rstrip(".")
    return ""
