"""The choices behind a pair: what they are, who made each, and the file `pair.toml`."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from generator.competition import metrics
from generator.competition.facts import Competition, Task, Value
from generator.competition.schema import (
    all_parameters,
    common,
    expected_anywhere,
    keys_of,
    known_keys,
    option_of,
    values_of,
)
from generator.errors import CompetitionError, PairError, did_you_mean
from generator.files import read_json
from generator.pair.notebook import Cell, is_fixed, parameters_cell, read_comments, read_parameters
from generator.text import is_slug, printable, storable


class MadeBy(StrEnum):
    """The maker of a choice."""

    INFERRED = "inferred"
    DEFAULT = "default"
    FLAG = "flag"
    HAND = "hand"

    @property
    def is_the_users(self) -> bool:
        """True if the choice stays when a pair is generated again."""
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


def propose_choices(competition: Competition, task: Task, *, framework: str, owner: Choice) -> Choices:
    """The kit's own choices for a competition, where nobody says anything else.

    Args:
        competition: The competition as its source describes it.
        task: The task as inferred, with evidence.
        framework: The default framework.
        owner: Who owns the kernels, see `generator.pair.choices`.
    """

    def infer_choices(**values: Value | None) -> dict[str, Choice]:
        default_evidence = "what is known of the competition"
        return {
            key: Choice(value, MadeBy.INFERRED, competition.evidence.get(key, default_evidence))
            for key, value in values.items()
            if value is not None
        }

    pair = {
        "competition": Choice(competition.slug, MadeBy.FLAG),
        **infer_choices(title=storable(competition.title), code_competition=competition.is_code_competition),
        "family": Choice(task.family, MadeBy.INFERRED, task.evidence.get("family", "")),
        "framework": Choice(framework, MadeBy.DEFAULT),
        "owner": owner,
        **infer_choices(inference_hours=competition.inference_hours, internet=competition.internet),
    }
    return Choices(pair=pair, task=_task_choices(task))


def decisions(
    current_choices: Choices, *, flags: Mapping[str, Value], task_flags: Mapping[str, Value]
) -> dict[str, Value]:
    """The user's decisions on a task, made now or before, by key; the family is among them.

    Args:
        current_choices: The choices of the pair as it is.
        flags: As for `merge_choices`.
        task_flags: As for `merge_choices`.
    """
    before = {
        key: choice.value for key, choice in {**_users(current_choices.pair), **_users(current_choices.task)}.items()
    }
    values = {**before, **flags, **task_flags}
    return {key: value for key, value in values.items() if key == "family" or key not in common()["pair"]}


def merge_choices(
    proposal: Choices,
    current_choices: Choices,
    *,
    flags: Mapping[str, Value],
    task_flags: Mapping[str, Value] | None = None,
) -> Choices:
    """Combines what the kit proposes with what the user said, now and before.

    Args:
        proposal: What the kit would choose.
        current_choices: The choices of the pair as it is; inferred and default ones are replaced by the proposal.
        flags: Values of the section `pair` that the command line sets; they overrule everything, but saying again what
            the user had said before does not change who said it.
        task_flags: The same for the section `task`.

    Returns:
        The choices in the proposal's order, with the user's own keys after them.
    """
    # What pages said once stays in the file, even if nobody could be asked this time.
    optional = {key for key, rule in common()["pair"].items() if rule.optional}
    optional_choices = {
        key: choice for key, choice in current_choices.pair.items() if key in optional and key not in proposal.pair
    }
    return Choices(
        pair={
            **proposal.pair,
            **_users(current_choices.pair),
            **optional_choices,
            **_flag_choices(flags, current_choices.pair),
        },
        task={**proposal.task, **_users(current_choices.task), **_flag_choices(task_flags or {}, current_choices.task)},
        parameters=_users(current_choices.parameters),
    )


def fill_choices(file_choices: Choices, proposal: Choices) -> Choices:
    """Adds to the choices of a file those of the proposal that it leaves open; what the file says stays."""
    return replace(
        file_choices, pair={**proposal.pair, **file_choices.pair}, task={**proposal.task, **file_choices.task}
    )


def _task_choices(task: Task) -> dict[str, Choice]:
    keys = keys_of(task.family)
    return {
        key: Choice(value, MadeBy.DEFAULT if keys[key].chosen_blindly else MadeBy.INFERRED, task.evidence.get(key, ""))
        for key, value in values_of(task, keys).items()
        if key in task.evidence or keys[key].default != value
    }


def _flag_choices(flags: Mapping[str, Value], current_choices: Mapping[str, Choice]) -> dict[str, Choice]:
    user_values = {key: choice.value for key, choice in _users(current_choices).items()}
    return {key: Choice(value, MadeBy.FLAG) for key, value in flags.items() if user_values.get(key) != value}


def _users(choices: Mapping[str, Choice]) -> dict[str, Choice]:
    return {key: choice for key, choice in choices.items() if choice.by.is_the_users}


# The owner of the kernels: the Kaggle user name, from the command line or from Kaggle's own configuration.


PLACEHOLDER_OWNER = "your-kaggle-username"
"""Stands where no user name is known; `push` refuses it."""

_LARGEST_CONFIGURATION = 64 * 1024


def checked_owner(owner: str) -> str:
    """The user name in lower case.

    Raises:
        PairError: It cannot be one.
    """
    name = owner.strip().lower()
    if not is_slug(name):
        raise PairError(
            f'"{printable(owner)}" is not a Kaggle user name. Use the name in the address of your profile '
            "(kaggle.com/NAME): lower-case letters, digits and hyphens."
        )
    return name


def find_owner() -> Choice:
    """Looks for the user name where Kaggle's own tools keep it; files that are missing or broken count as absent.

    Nothing but the user name is taken from them. Keys and tokens are neither kept nor shown.

    Returns:
        The name with where it was found, or the placeholder.
    """
    for name, evidence in _candidates():
        lower = name.strip().lower()
        if is_slug(lower):
            return Choice(lower, MadeBy.INFERRED, evidence)
    return unknown_owner()


def unknown_owner() -> Choice:
    """The placeholder, where no user name is known."""
    return Choice(PLACEHOLDER_OWNER, MadeBy.DEFAULT, "no Kaggle user name found; set one with --owner")


def _candidates() -> Iterator[tuple[str, str]]:
    if name := os.environ.get("KAGGLE_USERNAME"):
        yield name, "KAGGLE_USERNAME"
    for folder in _folders():
        for file_name in ("kaggle.json", "credentials.json"):
            if name := read_json(folder / file_name, most=_LARGEST_CONFIGURATION).text("username"):
                yield name, f"the user name in Kaggle's {file_name}"


def _folders() -> Iterator[Path]:
    if config_folder := os.environ.get("KAGGLE_CONFIG_DIR"):
        yield Path(config_folder)
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    if home:
        yield Path(home) / ".kaggle"
    if xdg_folder := os.environ.get("XDG_CONFIG_HOME"):
        yield Path(xdg_folder) / "kaggle"
    elif home:
        yield Path(home) / ".config" / "kaggle"


# The knobs of a pair: what its training notebook lets people turn, for who looks at a pair from outside.


_MODEL_CELL = "model"
_END_OF_CLAUSE = re.compile(r"[.:;](?=\s|$)| \(")


@dataclass(frozen=True)
class Knob:
    """A parameter of the training notebook, with what its comment says of it.

    `is_main` says that it belongs to what people turn first, or that the user turned it.
    """

    name: str
    value: Value
    by: MadeBy
    meaning: str
    is_main: bool


def knobs_of(choices: Choices, training: Iterable[Cell]) -> list[Knob]:
    """Returns the knobs in the order of the parameters cell, the user's values in them.

    Args:
        choices: The choices of the pair.
        training: The cells of its training notebook.
    """
    cell = parameters_cell(training)
    if cell is None:
        return []
    comments = read_comments(cell.source)
    knobs = []
    for name, default in read_parameters(cell.source).items():
        choice = choices.parameters.get(name) or choices.task.get(name.lower())
        value = choices.parameters[name].value if name in choices.parameters else default
        by = choice.by if choice else MadeBy.DEFAULT
        meaning = comments.get(name) or (choice.evidence if choice else "")
        is_main = name in choices.parameters or (name in all_parameters() and all_parameters()[name].group == "main")
        if not is_fixed(name):
            knobs.append(Knob(name, value, by, meaning, is_main))
    return knobs


def model_summary(training: Iterable[Cell]) -> str:
    """Returns what the notebook says its model is: the first clause below the heading; "" if it says nothing."""
    text = next((cell.source for cell in training if cell.name == _MODEL_CELL), "")
    lines = [line.lstrip("# ").strip() for line in text.split("\n") if not line.startswith("#")]
    prose = " ".join(filter(None, lines))
    return _END_OF_CLAUSE.split(prose)[0].replace("`", "")


# `pair.toml`, the file of a pair's choices: read, and written without losing what the user wrote around them.


_CHOICE_KEYS = ("value", "by", "evidence")
_NEW_FILE = """\
# The choices of this pair of notebooks, written by `tandem generate`. It keeps your changes: replace a table with a
# plain value (framework = "tensorflow"), or edit the value in the table.

[pair]

[task]
# The task of the competition, with the evidence for each value.

[parameters]
# Parameters of the notebooks, as set with `generate -P`. All others have their defaults.
"""


class ChoicesError(PairError):
    """A `pair.toml` that cannot be used as it stands."""


class WrongValueError(ChoicesError):
    """A value of the wrong type, or one that is not allowed."""

    def __init__(self, *, path: Path, key: str, expected: str, value: object) -> None:
        super().__init__(f"{printable(str(path))}: {key} is {printable(repr(value))}, but it must be {expected}.")


def parse_choices(text: str, *, path: Path, as_written: str | None = None) -> Choices:
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
    written_values = _values_as_written(as_written)
    sections = {}
    for name, valid_keys in (("pair", common()["pair"]), ("task", known_keys()), ("parameters", None)):
        entries = data.get(name, {})
        if not isinstance(entries, dict):
            raise WrongValueError(path=path, key=name, expected="a section", value=entries)
        if valid_keys is not None:
            _check_known(path, entries, valid_keys, prefix=f"{name}.")
        sections[name] = {key: _choice(path, name, key, entry, written_values) for key, entry in entries.items()}
    return Choices(**sections)


def choices_toml(choices: Choices, *, existing: str | None = None, may_leave_open: bool = True) -> str:
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
    file_data = document.unwrap()
    for name, entries in choices.sections().items():
        present: Mapping[str, Any] = file_data.get(name, {})
        changes = {
            key: choice
            for key, choice in entries.items()
            if (not _says(present[key], choice) if key in present else not is_open or choice.by.is_the_users)
        }
        if changes and name not in document:
            document.add(name, tomlkit.table())
        for key, choice in changes.items():
            section: Any = document[name]
            section[key] = _inline_table(choice)
    # All knobs of a file are the user's: one that is no choice any more was given up.
    for key in set(file_data.get("parameters", {})) - set(choices.parameters):
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
                value_text = printable(repr(choice.value))
                raise ChoicesError(f"{option_of(key)} {value_text}: it must be {expected}.")


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


def _check_known(path: Path, entries: Mapping[str, Any], valid_keys: Iterable[str], *, prefix: str) -> None:
    for key in entries:
        if key not in valid_keys:
            names = [f"{prefix}{name}" for name in valid_keys]
            raise ChoicesError(
                f'{printable(str(path))}: unknown key "{printable(prefix + key)}". Valid keys: {", ".join(names)}.'
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


def _choice(path: Path, section: str, key: str, entry: Any, written_values: Mapping[str, Any]) -> Choice:
    name = f"{section}.{key}"
    if not isinstance(entry, dict):
        return Choice(_check_value(path, section, key, entry), MadeBy.HAND)
    _check_known(path, entry, _CHOICE_KEYS, prefix=f"{name}.")
    if "value" not in entry:
        expected = 'a value, or a table with one, such as { value = "x" }'
        raise WrongValueError(path=path, key=name, expected=expected, value=entry)
    value = _check_value(path, section, key, entry["value"])
    by, evidence = entry.get("by", MadeBy.HAND), entry.get("evidence", "")
    if by not in list(MadeBy):
        raise WrongValueError(path=path, key=f"{name}.by", expected=f"one of {', '.join(MadeBy)}", value=by)
    if not isinstance(evidence, str):
        raise WrongValueError(path=path, key=f"{name}.evidence", expected="text", value=evidence)
    if name in written_values and (type(written_values[name]), written_values[name]) != (
        type(entry["value"]),
        entry["value"],
    ):
        return Choice(value, MadeBy.HAND)
    return Choice(value, MadeBy(by), evidence)


def _check_value(path: Path, section: str, key: str, value: Any) -> Value:
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
        metrics.parse_metric(name)
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
        entry_fields = (entry.get("value"), entry.get("by", MadeBy.HAND), entry.get("evidence", ""))
        return entry_fields == (choice.value, choice.by, choice.evidence)
    return choice.by is MadeBy.HAND and entry == choice.value
