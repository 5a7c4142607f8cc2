"""The keys of the section `task` in `pair.toml`: those of every task, and those that a family's `family.toml` adds.

TaskKeyError                  a `family.toml` describes a key in a way that cannot be
SettingError                  text of the command line that sets no key, or not to a value that it can have
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind, Task, Value
from generator.errors import PairError, did_you_mean
from generator.installation import template_folder
from generator.untrusted import printable


class TaskKeyError(PairError):
    """A `family.toml` describes a key in a way that cannot be."""

    def __init__(self, *, path: Path, key: str, problem: str) -> None:
        super().__init__(f'{printable(str(path))}, key "{printable(key)}": {printable(problem)}.')


class SettingError(PairError):
    """Text that sets no key of a task, or not to a value that it can have."""

    def __init__(self, *, text: str, known: Iterable[str] = (), expected: str = "") -> None:
        key = text.partition("=")[0].strip()
        if expected:
            super().__init__(f'--set "{printable(text)}": {printable(key)} must be {expected}.')
        else:
            names = list(known)
            near = did_you_mean(key, names) or f" Known: {', '.join(names)}."
            super().__init__(f'--set "{printable(text)}" sets no key of a task; write KEY=VALUE.{near}')


class KeyType(StrEnum):
    """What a value is, in the words of messages."""

    TEXT = "text"
    WHOLE_NUMBER = "a whole number"
    NUMBER = "a number"
    YES_OR_NO = "true or false"
    LIST_OF_TEXT = "a list of text"

    def holds(self, value: object) -> bool:
        """Whether a value that was read from TOML is of this type."""
        if self is KeyType.LIST_OF_TEXT:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        if self is KeyType.NUMBER:
            return type(value) in (int, float)
        return type(value) is {KeyType.TEXT: str, KeyType.WHOLE_NUMBER: int, KeyType.YES_OR_NO: bool}[self]


@dataclass(frozen=True)
class TaskKey:
    """One key of the section.

    Attributes:
        type: What its value is.
        options: The only values there are; any if empty.
        minimum: The least number.
        is_path: Whether it is a path inside of the competition's folder; "" says that there is none.
        is_required: Whether an empty text or list is refused.
        default: What it is where nobody says anything; None if it has to be said.
        is_of_training_only: Whether only training is rendered with it, so that it may change without a new training.
        is_of_inference_only: Whether only inference is.
        is_a_default: Whether the kit chooses it without looking at the data.
    """

    type: KeyType
    options: tuple[str, ...] = ()
    minimum: float | None = None
    is_path: bool = False
    is_required: bool = False
    default: Value | None = None
    is_of_training_only: bool = False
    is_of_inference_only: bool = False
    is_a_default: bool = False


_TEXT = KeyType.TEXT
_PATH = TaskKey(_TEXT, is_path=True, default="")

COMMON: Mapping[str, TaskKey] = {
    "metric": TaskKey(_TEXT, is_required=True),
    "target_kind": TaskKey(_TEXT, options=tuple(TargetKind)),
    "submission": TaskKey(_TEXT, options=tuple(SubmissionKind)),
    "id_column": TaskKey(_TEXT, is_required=True),
    "targets": TaskKey(KeyType.LIST_OF_TEXT, is_required=True),
    "train_table": _PATH,
    "labels_table": _PATH,
    "test_table": _PATH,
    "sample_submission": _PATH,
    "submission_file": TaskKey(
        _TEXT, is_path=True, is_required=True, default="submission.csv", is_of_inference_only=True
    ),
    "submission_separator": TaskKey(_TEXT, options=(",", ";", "\t", "|", " "), default=",", is_of_inference_only=True),
    "separator": TaskKey(_TEXT, default=","),
    "encoding": TaskKey(_TEXT, default="utf-8"),
    "decimal": TaskKey(_TEXT, options=(".", ","), default="."),
    "has_training_ids": TaskKey(KeyType.YES_OR_NO, default=True, is_of_training_only=True),
    "has_test_ids": TaskKey(KeyType.YES_OR_NO, default=True, is_of_inference_only=True),
    "keep_null_words": TaskKey(KeyType.YES_OR_NO, default=False),
    "label_separator": TaskKey(_TEXT, default=""),
    "label_rows": TaskKey(KeyType.YES_OR_NO, default=False, is_of_training_only=True),
    "group_column": TaskKey(_TEXT, default=""),
    "time_column": TaskKey(_TEXT, default=""),
    "inference_server": TaskKey(_TEXT, default="", is_of_inference_only=True),
    "gateway_files": TaskKey(KeyType.LIST_OF_TEXT, default=[], is_of_inference_only=True),
    "served_answer": TaskKey(
        _TEXT, options=tuple(ServedAnswer), default=str(ServedAnswer.TABLE), is_of_inference_only=True
    ),
}
_ATTRIBUTES = (
    *("metric", "target_kind", "submission", "id_column", "targets", "train_table", "labels_table", "test_table"),
    *("sample_submission", "submission_file"),
)
_DESCRIPTION = ("type", "options", "minimum", "path", "default", "of_training_only", "chosen_blindly", "help")
_TYPES = {
    "text": KeyType.TEXT,
    "whole number": KeyType.WHOLE_NUMBER,
    "number": KeyType.NUMBER,
    "yes or no": KeyType.YES_OR_NO,
    "list of text": KeyType.LIST_OF_TEXT,
}


def keys_of(family: str, *, templates: Path | None = None) -> dict[str, TaskKey]:
    """Every key that a task of this family has, in the order of `pair.toml`.

    Args:
        family: The family; one that there are no templates for has the common keys alone.
        templates: The folder of templates; by default the kit's own.

    Raises:
        TaskKeyError: The `family.toml` is broken.
    """
    return {**COMMON, **_facts(templates or template_folder(), family)}


@cache
def known_keys(*, templates: Path | None = None) -> dict[str, tuple[TaskKey, ...]]:
    """Every key that a task of any family can have, with what it is in each of them.

    Raises:
        TaskKeyError: A `family.toml` is broken.
    """
    folder = templates or template_folder()
    keys: dict[str, tuple[TaskKey, ...]] = {key: (rule,) for key, rule in COMMON.items()}
    for path in sorted(folder.glob("families/*/family.toml")):
        for key, rule in _facts(folder, path.parent.name).items():
            keys[key] = (*keys.get(key, ()), rule)
    return keys


def values_of(task: Task, keys: Mapping[str, TaskKey]) -> dict[str, Value]:
    """The value of every key: what the task says, else the key's default.

    Raises:
        KeyError: The task says nothing of a key without a default.
    """
    values: dict[str, Value] = {}
    for key, rule in keys.items():
        if key in _ATTRIBUTES:
            value = getattr(task, key)
            values[key] = str(value) if isinstance(value, StrEnum) else list(value) if key == "targets" else value
        elif key in task.details or rule.default is None:
            values[key] = task.details[key]
        else:
            values[key] = rule.default
    return values


def task_of(family: str, values: Mapping[str, Any], evidence: Mapping[str, str]) -> Task:
    """The task that the values of all its keys describe."""
    attributes = {key: values[key] for key in _ATTRIBUTES}
    attributes |= {
        "target_kind": TargetKind(values["target_kind"]),
        "submission": SubmissionKind(values["submission"]),
        "targets": tuple(values["targets"]),
    }
    details = {key: value for key, value in values.items() if key not in _ATTRIBUTES}
    return Task(family=family, details=details, evidence=evidence, **attributes)


def setting_of(text: str) -> tuple[str, Value]:
    """The key and the value of a text such as `image_size=64` or `text_columns=title,body`.

    Raises:
        SettingError: It is no setting of a task, or its value is of another kind.
    """
    key, equals, value = text.partition("=")
    rules = known_keys().get(key.strip())
    if not equals or rules is None:
        raise SettingError(text=text, known=known_keys())
    try:
        setting = _value_from(value.strip(), rules[0].type)
    except ValueError as error:
        raise SettingError(text=text, expected=str(rules[0].type)) from error
    if expected := broken_everywhere(rules, setting):
        raise SettingError(text=text, expected=expected)
    return key.strip(), setting


def _value_from(text: str, kind: KeyType) -> Value:
    if kind is KeyType.WHOLE_NUMBER:
        return int(text)
    if kind is KeyType.NUMBER:
        return float(text)
    if kind is KeyType.LIST_OF_TEXT:
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind is KeyType.YES_OR_NO:
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    return text


def broken_rule(rule: TaskKey, value: object) -> str:
    """What a value has to be and is not; "" if it is right."""
    if not rule.type.holds(value):
        return str(rule.type)
    if rule.options and value not in rule.options:
        return f"one of {', '.join(rule.options)}"
    if rule.is_required and not value:
        return f"{rule.type} that is not empty"
    if rule.is_path and value and not _is_inside(str(value)):
        return "a path inside of the competition's folder"
    if rule.minimum is not None and isinstance(value, int | float) and value < rule.minimum:
        return f"{rule.minimum:g} or more"
    return ""


def broken_everywhere(rules: Sequence[TaskKey], value: object) -> str:
    """What a value has to be and is not, in whatever family; "" if it is right in one of them."""
    broken = [broken_rule(rule, value) for rule in rules]
    return "" if "" in broken else broken[0]


def _is_inside(text: str) -> bool:
    parts = text.replace("\\", "/").split("/")
    return not text.startswith(("/", "\\", "~")) and ".." not in parts and ":" not in parts[0]


@cache
def _facts(templates: Path, family: str) -> Mapping[str, TaskKey]:
    path = templates / "families" / family / "family.toml"
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8")).get("facts", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TaskKeyError(path=path, key="facts", problem=str(error)) from error
    return {key: _task_key(path, key, description) for key, description in described.items()}


def _task_key(path: Path, key: str, description: Mapping[str, Any]) -> TaskKey:
    unknown = sorted(set(description) - set(_DESCRIPTION))
    if unknown:
        raise TaskKeyError(path=path, key=key, problem=f'there is no "{unknown[0]}"; known: {", ".join(_DESCRIPTION)}')
    type_name = description.get("type")
    if type_name not in _TYPES:
        raise TaskKeyError(path=path, key=key, problem=f"its type is none of {', '.join(_TYPES)}")
    rule = TaskKey(
        _TYPES[type_name],
        options=tuple(description.get("options", ())),
        minimum=description.get("minimum"),
        is_path=description.get("path", False),
        default=description.get("default"),
        is_of_training_only=description.get("of_training_only", False),
        is_a_default=description.get("chosen_blindly", False),
    )
    if rule.default is not None and (expected := broken_rule(rule, rule.default)):
        raise TaskKeyError(path=path, key=key, problem=f"its default must be {expected}")
    return rule
