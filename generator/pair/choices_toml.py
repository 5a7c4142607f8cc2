"""`pair.toml`, the file of a pair's choices: read, and written without losing what the user wrote around them.

ChoicesError                  pair.toml cannot be used as it stands
└── WrongValueError           a value of the wrong type, or one that is not allowed
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from generator.competition import metrics
from generator.competition.facts import Value
from generator.competition.schema import common, expected_anywhere, known_keys, option_of
from generator.errors import CompetitionError, PairError, did_you_mean
from generator.pair.choices import Choice, Choices, MadeBy
from generator.untrusted import printable, storable

_CHOICE_KEYS = ("value", "by", "evidence")
_NEW_FILE = """\
# The choices behind this pair of notebooks, written by `tandem generate`, which keeps what you change here:
# replace a table by a plain value (framework = "tensorflow"), or edit its value, and the choice is yours.

[pair]

[task]
# What the competition asks for, and what that was inferred from.

[parameters]
# Further knobs of the notebooks, as `generate -P` sets them; without a line one is the default.
"""


class ChoicesError(PairError):
    """A `pair.toml` that cannot be used as it stands."""


class WrongValueError(ChoicesError):
    """A value of the wrong type, or one that is not allowed."""

    def __init__(self, *, path: Path, key: str, expected: str, value: object) -> None:
        super().__init__(f"{printable(str(path))}: {key} is {printable(repr(value))}, but it must be {expected}.")


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


def text_of(choices: Choices, *, existing: str | None = None, may_leave_open: bool = True) -> str:
    """Writes choices as TOML.

    Args:
        choices: All choices of the pair.
        existing: The file as it is. Comments and order in it stay, and so does each entry that says the same already.
        may_leave_open: Whether what the file leaves open is left open as long as nobody but the kit chooses it, which
            only the kit's own competitions can be: the rest could not be rendered again from the file alone.

    Returns:
        The file's new content.
    """
    import tomlkit

    document = tomlkit.parse(_NEW_FILE if existing is None else existing)
    is_open = existing is not None and may_leave_open
    said = document.unwrap()
    for name, entries in choices.sections().items():
        present: Mapping[str, Any] = said.get(name, {})
        changed = {
            key: choice
            for key, choice in entries.items()
            if (not _says(present[key], choice) if key in present else not is_open or choice.by.is_the_users)
        }
        if changed and name not in document:
            document.add(name, tomlkit.table())
        for key, choice in changed.items():
            section: Any = document[name]
            section[key] = _inline_table(choice)
    # All knobs of a file are the user's: one that is no choice any more was given up.
    for key in set(said.get("parameters", {})) - set(choices.parameters):
        knobs: Any = document["parameters"]
        del knobs[key]
    return tomlkit.dumps(document)


def check_storable(choices: Choices, *, path: Path) -> None:
    """Makes sure that the file can hold what was chosen on a command line, and will be read with it.

    Raises:
        WrongValueError: It cannot hold it.
        ChoicesError: It would be refused when it is read.
    """
    for section, entries in choices.sections().items():
        for key, choice in entries.items():
            if expected := _expected_of_toml(choice.value):
                raise WrongValueError(path=path, key=f"{section}.{key}", expected=expected, value=choice.value)
            if expected := _expected(section, key, choice.value):
                said = printable(repr(choice.value))
                raise ChoicesError(f"{option_of(key)} {said}: it must be {expected}.")


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
        if expected := _expected_of_toml(data):
            raise ValueError(f"a value in it must be {expected}")
    # A number of 5,000 digits is a ValueError of Python's, not of the parser's.
    except (ValueError, RecursionError) as error:
        raise ChoicesError(f"{printable(str(path))} is not TOML: {printable(str(error))}.") from error
    return data


def _expected_of_toml(value: object) -> str:
    """Says what a value, or one in it, has to be for a file to hold it, where Python would take another; else ""."""
    if isinstance(value, dict | list):
        return next(filter(None, map(_expected_of_toml, value.values() if isinstance(value, dict) else value)), "")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "a number of at most 64 bits"
    is_storable = not isinstance(value, str) or ("\0" not in value and storable(value) == value)
    return "" if is_storable else "text in UTF-8 without NUL"


def _check_known(path: Path, entries: Mapping[str, Any], known: Iterable[str], *, prefix: str) -> None:
    for key in entries:
        if key not in known:
            names = [f"{prefix}{name}" for name in known]
            raise ChoicesError(
                f'{printable(str(path))}: there is no "{printable(prefix + key)}"; known here: {", ".join(names)}.'
                f"{did_you_mean(prefix + key, names)}"
            )


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
    if name in written and (type(written[name]), written[name]) != (type(entry["value"]), entry["value"]):
        return Choice(value, MadeBy.HAND)
    return Choice(value, MadeBy(by), evidence)


def _checked(path: Path, section: str, key: str, value: Any) -> Value:
    name = f"{section}.{key}"
    if section == "parameters":
        if not isinstance(value, bool | int | float | str | list):
            raise WrongValueError(path=path, key=name, expected="a number, true or false, text, or a list", value=value)
        return value
    if expected := _expected(section, key, value) or (_missing_metric(value) if key == "metric" else ""):
        raise WrongValueError(path=path, key=name, expected=expected, value=value)
    return cast("Value", value)


def _expected(section: str, key: str, value: object) -> str:
    """What a value has to be by its key and is not; "" if it is right, or any is."""
    if section == "parameters":
        return ""
    return expected_anywhere((common()["pair"][key],) if section == "pair" else known_keys()[key], value)


def _missing_metric(name: str) -> str:
    try:
        metrics.parsed(name)
    except CompetitionError as error:
        return f"a metric that can be computed. {error}".rstrip(".")
    return ""


def _inline_table(choice: Choice) -> Any:
    import tomlkit

    fields = {"value": choice.value, "by": str(choice.by)} | ({"evidence": choice.evidence} if choice.evidence else {})
    return tomlkit.value(
        "{ " + ", ".join(f"{key} = {tomlkit.item(value).as_string()}" for key, value in fields.items()) + " }"
    )


def _says(entry: Value | Mapping[str, Any], choice: Choice) -> bool:
    """True if an entry of the file means this choice already; a plain value is a choice by hand."""
    if isinstance(entry, Mapping):
        meant = (entry.get("value"), entry.get("by", MadeBy.HAND), entry.get("evidence", ""))
        return meant == (choice.value, choice.by, choice.evidence)
    return choice.by is MadeBy.HAND and entry == choice.value
