"""The settings of a pair: their values, who chose each, and the file `pair.toml`."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.competition import builtin
from generator.competition.facts import Competition, Task
from generator.competition.schema import (
    Setting,
    check_offered,
    common,
    keys_of,
    known_keys,
    option_of,
    requirement,
    values_of,
)
from generator.errors import PairError, did_you_mean
from generator.files import read_json
from generator.text import Value, is_slug, printable, storable

DEFAULT_FRAMEWORK = "keras"


class Origin(StrEnum):
    """Who chose a value: the kit, from evidence or without looking, or the user, by an option or in `pair.toml`."""

    INFERRED = "inferred"
    DEFAULT = "default"
    FLAG = "flag"
    HAND = "hand"


@dataclass(frozen=True)
class SettingValue:
    """A value of a setting.

    Attributes:
        value: The value.
        by: Who chose it.
        evidence: What an inferred one rests on.
    """

    value: Value
    by: Origin
    evidence: str = ""

    @property
    def is_users(self) -> bool:
        """True if the value stays when a pair is generated again."""
        return self.by in (Origin.FLAG, Origin.HAND)


@dataclass(frozen=True)
class Settings:
    """The settings of a pair by section of `pair.toml` and by key. No key of a pair is also one of a task.

    Attributes:
        pair: The competition, the framework, and where the notebooks run.
        task: What the competition asks for.
        parameters: Values that the user sets in both notebooks' parameters cells.
    """

    pair: Mapping[str, SettingValue] = field(default_factory=dict)
    task: Mapping[str, SettingValue] = field(default_factory=dict)
    parameters: Mapping[str, SettingValue] = field(default_factory=dict)

    def get(self, key: str, default: Value | None = None) -> Value | None:
        """Return the value of a key of the pair or of its task, or the default where it has none."""
        entry = self.pair.get(key) or self.task.get(key)
        return default if entry is None else entry.value

    @property
    def family(self) -> str:
        """The kind of task."""
        return str(self.pair["family"].value)

    @property
    def framework(self) -> str:
        """The framework of the notebooks."""
        return str(self.pair["framework"].value)

    @property
    def task_keys(self) -> Mapping[str, Setting]:
        """The keys that the task has in this framework."""
        return keys_of(self.family, self.framework)

    @property
    def sections(self) -> dict[str, Mapping[str, SettingValue]]:
        """The sections in the order of the file."""
        return {"pair": self.pair, "task": self.task, "parameters": self.parameters}

    @property
    def of_user(self) -> "Settings":
        """The settings that the user chose."""
        return Settings(
            **{
                section: {key: entry for key, entry in entries.items() if entry.is_users}
                for section, entries in self.sections.items()
            }
        )

    def decisions(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return what the user decides on the task, the family among it: these values, and those that are set."""
        users = self.of_user
        decisions = {**{key: entry.value for key, entry in {**users.pair, **users.task}.items()}, **values}
        return {key: value for key, value in decisions.items() if key == "family" or key not in common()["pair"]}

    def fill(self, proposal: "Settings") -> "Settings":
        """Return the settings with those of the proposal that they leave open."""
        return replace(self, pair={**proposal.pair, **self.pair}, task={**proposal.task, **self.task})

    def complete(self, *, path: Path) -> "Settings":
        """Return the settings of an existing pair, with what its file leaves open inferred from a built-in competition.

        Args:
            path: The file, for messages.

        Raises:
            SettingError: The file does not name the competition.
            CompetitionError: It leaves something open, and the competition is not a built-in one.
        """
        if "competition" not in self.pair:
            raise SettingError(
                f'{printable(str(path))}: "pair.competition" is missing.',
                remedy="Add it, or run `tandem generate` again.",
                code="pair-toml-damaged",
            )
        has_pair = all(key in self.pair for key, rule in common()["pair"].items() if not rule.optional)
        if has_pair and all(key in self.task for key, rule in self.task_keys.items() if rule.default is None):
            return self
        built_in = builtin.require(str(self.pair["competition"].value))
        owner = unknown_owner()
        return self.fill(
            propose_settings(built_in.competition, built_in.task, framework=DEFAULT_FRAMEWORK, owner=owner)
        )

    def check_templates(self, *, source: str) -> None:
        """Make sure that there are templates for the family, the framework and the task; see `check_offered`."""
        requirements = {key: str(self.task[key].value) for key in ("target_kind", "submission") if key in self.task}
        check_offered(family=self.family, framework=self.framework, requirements=requirements, source=source)

    def merge(self, current: "Settings", values: Mapping[str, Value]) -> "Settings":
        """Combine what the kit proposes with what the user chose, now and before.

        Args:
            current: The settings of the pair as it is. Inferred and default ones are replaced by the proposal.
            values: Values of the pair and of its task that the command line sets. They overrule everything, but a
                value that the user had set before keeps who set it.

        Returns:
            The settings in the proposal's order, with the user's own keys after them, and without those of other
            frameworks.
        """
        # Facts from pages stay in the file, even if nobody could be asked this time.
        optional = {
            key: entry
            for key, entry in current.pair.items()
            if key in common()["pair"] and common()["pair"][key].optional and key not in self.pair
        }
        users = current.of_user
        changes = {
            key: value
            for key, value in values.items()
            if (entry := users.pair.get(key) or users.task.get(key)) is None or entry.value != value
        }
        settings = Settings(
            pair={**self.pair, **users.pair, **optional}, task={**self.task, **users.task}, parameters=users.parameters
        ).override(changes)
        foreign_keys = keys_of(settings.family).keys() - settings.task_keys.keys()
        return replace(settings, task={key: entry for key, entry in settings.task.items() if key not in foreign_keys})

    def override(self, values: Mapping[str, Value]) -> "Settings":
        """Return the settings with values of the pair and of its task that the command line sets."""
        flags = {key: SettingValue(value, Origin.FLAG) for key, value in values.items()}
        of_pair = {key: entry for key, entry in flags.items() if key in common()["pair"]}
        of_task = {key: entry for key, entry in flags.items() if key not in of_pair}
        return replace(self, pair={**self.pair, **of_pair}, task={**self.task, **of_task})

    def with_parameters(self, values: Mapping[str, Value]) -> "Settings":
        """Return the settings with parameters of the notebooks that the command line sets."""
        flags = {
            name: SettingValue(value, Origin.FLAG)
            for name, value in values.items()
            if name not in self.parameters or self.parameters[name].value != value
        }
        return replace(self, parameters={**self.parameters, **flags})


def propose_settings(competition: Competition, task: Task, *, framework: str, owner: SettingValue) -> Settings:
    """Return the kit's own settings for a competition, where the user chooses nothing.

    Args:
        competition: The competition as its source describes it.
        task: The task as inferred, with evidence.
        framework: The default framework.
        owner: The owner of the kernels, see `find_owner`.
    """

    def infer(**values: Value | None) -> dict[str, SettingValue]:
        default_evidence = "what is known of the competition"
        return {
            key: SettingValue(value, Origin.INFERRED, competition.evidence.get(key, default_evidence))
            for key, value in values.items()
            if value is not None
        }

    pair = {
        "competition": SettingValue(competition.slug, Origin.FLAG),
        **infer(title=storable(competition.title), code_competition=competition.is_code_competition),
        "family": SettingValue(task.family, Origin.INFERRED, task.evidence.get("family", "")),
        "framework": SettingValue(framework, Origin.DEFAULT),
        "owner": owner,
        **infer(inference_hours=competition.inference_hours, internet=competition.internet),
    }
    keys = keys_of(task.family, framework)
    of_task = {
        key: SettingValue(
            value, Origin.DEFAULT if keys[key].chosen_blindly else Origin.INFERRED, task.evidence.get(key, "")
        )
        for key, value in values_of(task, keys).items()
        if key in task.evidence or keys[key].default != value
    }
    return Settings(pair, of_task)


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
            f'"{printable(owner)}" is not a Kaggle user name.',
            remedy="Use the name in the address of your profile "
            "(kaggle.com/NAME): lower-case letters, digits and hyphens.",
            code="owner-invalid",
        )
    return name


def find_owner() -> SettingValue:
    """Looks for the user name where Kaggle's own tools keep it; files that are missing or broken count as absent.

    Nothing but the user name is taken from them. Keys and tokens are neither kept nor shown.

    Returns:
        The name with where it was found, or the placeholder.
    """
    for name, evidence in _candidates():
        lower = name.strip().lower()
        if is_slug(lower):
            return SettingValue(lower, Origin.INFERRED, evidence)
    return unknown_owner()


def unknown_owner() -> SettingValue:
    """The placeholder, where no user name is known."""
    return SettingValue(PLACEHOLDER_OWNER, Origin.DEFAULT, "no Kaggle user name found; set one with --owner")


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


# `pair.toml`, the file of a pair's settings: read, and written without losing what the user wrote around them.


_ENTRY_KEYS = ("value", "by", "evidence")
_NEW_FILE = """\
# The choices of this pair of notebooks, written by `tandem generate`. It keeps your changes: replace a table with a
# plain value (framework = "tensorflow"), or edit the value in the table.

[pair]

[task]
# The task of the competition, with the evidence for each value.

[parameters]
# Parameters of the notebooks, as set with `generate -P`. All others have their defaults.
"""


class SettingError(PairError):
    """A setting that cannot be used as it stands, in a file or on the command line."""


def parse_settings(text: str, *, path: Path, as_written: str | None = None) -> Settings:
    """Read the settings of a `pair.toml`.

    Args:
        text: The file's content.
        path: The file, for messages.
        as_written: The content as the kit last wrote it. A value that differs from it was edited by hand.

    Returns:
        The settings that the file has; it may leave any of them out.

    Raises:
        SettingError: One sentence with the file, the key, and the problem.
    """
    return _SettingsFile(path, _written_values(as_written)).parse(text)


@dataclass(frozen=True)
class _SettingsFile:
    """A `pair.toml` to read, with the values that the kit last wrote to it, by section and key."""

    path: Path
    written_values: Mapping[str, Any]

    def parse(self, text: str) -> Settings:
        try:
            data = tomllib.loads(text)
            if expected := _storable_form(data):
                raise ValueError(f"a value in it must be {expected}")
        # A number of 5,000 digits is a ValueError of Python's, not of the parser's.
        except (ValueError, RecursionError) as error:
            raise SettingError(
                f"{printable(str(self.path))} is not TOML: {printable(str(error))}.",
                remedy=f"Correct it, or restore it: with `tandem undo {printable(self.path.parent.name)}`, or from the "
                f"copy {printable(str(self.path.parent / '.tandem' / 'rendered' / self.path.name))}.",
                code="pair-toml-damaged",
            ) from error
        valid_keys = {"pair": common()["pair"], "task": known_keys(), "parameters": None}
        self._check_keys(data, valid_keys)
        sections = {}
        for section, keys in valid_keys.items():
            entries = data.get(section, {})
            if not isinstance(entries, dict):
                raise _wrong_value(self.path, section, entries, "a section")
            if keys is not None:
                self._check_keys(entries, keys, prefix=f"{section}.")
            sections[section] = {key: self._entry(section, key, entry) for key, entry in entries.items()}
        return Settings(**sections)

    def _check_keys(self, entries: Mapping[str, Any], valid_keys: Iterable[str], *, prefix: str = "") -> None:
        for key in entries:
            if key not in valid_keys:
                names = [f"{prefix}{name}" for name in valid_keys]
                raise SettingError(
                    f'{printable(str(self.path))}: unknown key "{printable(prefix + key)}". Valid keys: '
                    f"{', '.join(names)}.{did_you_mean(prefix + key, names)}",
                    code="setting-unknown",
                )

    def _entry(self, section: str, key: str, entry: Any) -> SettingValue:
        name = f"{section}.{key}"
        table = entry if isinstance(entry, dict) else {"value": entry}
        self._check_keys(table, _ENTRY_KEYS, prefix=f"{name}.")
        if "value" not in table:
            raise _wrong_value(self.path, name, entry, 'a value, or a table with one, such as { value = "x" }')
        value, by, evidence = table["value"], table.get("by", Origin.HAND), table.get("evidence", "")
        if expected := requirement(section, key, value):
            raise _wrong_value(self.path, name, value, expected)
        if by not in list(Origin):
            raise _wrong_value(self.path, f"{name}.by", by, f"one of {', '.join(Origin)}")
        if not isinstance(evidence, str):
            raise _wrong_value(self.path, f"{name}.evidence", evidence, "text")
        if table is entry and name in self.written_values:
            written_value = self.written_values[name]
            if (type(written_value), written_value) != (type(value), value):
                return SettingValue(value, Origin.HAND)
        return SettingValue(value, Origin(by), evidence)


def _wrong_value(path: Path, name: str, value: object, expected: str) -> SettingError:
    return SettingError(f"{printable(str(path))}: {name} is {printable(repr(value))}, but it must be {expected}.")


def _storable_form(value: object) -> str:
    """Return what a value, or one in it, must be for a file to hold it, where Python would take another; else ""."""
    if isinstance(value, dict | list):
        return next(filter(None, map(_storable_form, value.values() if isinstance(value, dict) else value)), "")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "a number of at most 64 bits"
    is_storable = not isinstance(value, str) or ("\0" not in value and storable(value) == value)
    return "" if is_storable else "text in UTF-8 without NUL"


def _written_values(text: str | None) -> dict[str, Any]:
    """Return the value of every table in the kit's own copy, by section and key; nothing if there is no good copy."""
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


def check_settings(settings: Settings, *, path: Path) -> None:
    """Make sure that the file can hold the settings of a command line, and will be read with them.

    Raises:
        SettingError: It cannot hold one, or would be refused when it is read.
    """
    for section, entries in settings.sections.items():
        for key, entry in entries.items():
            if expected := _storable_form(entry.value):
                raise _wrong_value(path, f"{section}.{key}", entry.value, expected)
            if expected := requirement(section, key, entry.value):
                raise SettingError(f"{option_of(key)} {printable(repr(entry.value))}: it must be {expected}.")


def settings_toml(settings: Settings, *, existing: str | None = None, may_leave_open: bool = True) -> str:
    """Write settings as TOML.

    Args:
        settings: All settings of the pair.
        existing: The file as it is. Comments and order in it stay, and so does each entry that says the same already.
        may_leave_open: Whether the file may go on leaving out keys that the user does not set, which only a built-in
            competition can: the others could not be rendered again from the file alone.

    Returns:
        The file's new content.
    """
    import tomlkit

    document = tomlkit.parse(_NEW_FILE if existing is None else existing)
    is_open = existing is not None and may_leave_open
    file_data = document.unwrap()
    for name, entries in settings.sections.items():
        present: Mapping[str, Any] = file_data.get(name, {})
        changes = {
            key: entry
            for key, entry in entries.items()
            if (not _is_same(present[key], entry) if key in present else not is_open or entry.is_users)
        }
        if changes and name not in document:
            document.add(name, tomlkit.table())
        for key, entry in changes.items():
            fields = {"value": entry.value, "by": str(entry.by)} | (
                {"evidence": entry.evidence} if entry.evidence else {}
            )
            items = ", ".join(
                f"{field_name} = {tomlkit.item(value).as_string()}" for field_name, value in fields.items()
            )
            section: Any = document[name]
            section[key] = tomlkit.value(f"{{ {items} }}")
    # All parameters of a file are the user's: one that is no setting any more was given up.
    for key in set(file_data.get("parameters", {})) - set(settings.parameters):
        parameters: Any = document["parameters"]
        del parameters[key]
    return tomlkit.dumps(document)


def _is_same(entry: Value | Mapping[str, Any], setting: SettingValue) -> bool:
    """True if an entry of the file has this value and origin already; a plain value was set by hand."""
    if isinstance(entry, Mapping):
        fields = (entry.get("value"), entry.get("by", Origin.HAND), entry.get("evidence", ""))
        return fields == (setting.value, setting.by, setting.evidence)
    return setting.by is Origin.HAND and entry == setting.value
