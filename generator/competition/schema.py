"""The schema of `pair.toml` and of the families, as `templates/families` declares both.

`common.toml` has the keys of every pair and task, `<family>/family.toml` what the kit has to know of a family and
the keys that its tasks have beside those. Flags, help, checks and what templates call `task.<key>` all come from there.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from generator.competition.facts import Medium, ServedAnswer, SubmissionKind, TargetKind, Task, Value
from generator.competition.value_forms import FORMS
from generator.errors import CompetitionError
from generator.installation import template_folder
from generator.template_files import SUFFIX
from generator.untrusted import printable

TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of text",
}
_TYPES = {kind.__name__: kind for kind in (*TYPE_NAMES, TargetKind, SubmissionKind, ServedAnswer)}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class SchemaError(CompetitionError):
    """A declaration that says what cannot be."""

    def __init__(self, *, path: Path, problem: str, key: str = "") -> None:
        where = f', key "{printable(key)}":' if key else " cannot be used:"
        super().__init__(f"{printable(str(path))}{where} {printable(problem)}.")


@dataclass(frozen=True)
class Key:
    """One key of `pair.toml`.

    Attributes:
        type: Of which Python type its value is: str, int, float, bool, or list for a list of texts.
        help: What it says.
        options: The only values there are; any if empty.
        minimum: The least number.
        form: What a value has to be beside, one of `FORMS`; anything if "".
        not_empty: Whether an empty text or list is refused.
        default: What it is where nobody says anything; None if it has to be said.
        optional: Whether a pair may lack it.
        scope: "train" or "infer" where only that notebook is rendered with it, so that a change of it leaves the other
            one as it is; "" for both.
        chosen_blindly: Whether the kit chooses it without looking at the data.
        flag: The option of `generate` that sets it, with its metavar: "--id-column NAME"; "" where only `--set` does.
        called: What messages call it.
    """

    type: type
    help: str = ""
    options: tuple[str, ...] = ()
    minimum: float | None = None
    form: str = ""
    not_empty: bool = False
    default: Value | None = None
    optional: bool = False
    scope: str = ""
    chosen_blindly: bool = False
    flag: str = ""
    called: str = ""

    @property
    def option(self) -> str:
        """Its option of `generate` without the metavar."""
        return self.flag.partition(" ")[0]

    def expected(self, value: object) -> str:
        """Returns what a value has to be and is not; "" if it is right."""
        kind = str if isinstance(value, str) else type(value)  # a StrEnum is text, and True no number
        is_of_type = kind is self.type or (kind is int and self.type is float)
        if not is_of_type or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            return TYPE_NAMES[self.type]
        if self.options and value not in self.options:
            return f"one of {', '.join(self.options)}"
        if self.not_empty and not value:
            return f"{TYPE_NAMES[self.type]} that is not empty"
        is_formed, form = FORMS[self.form]
        if not is_formed(value):
            return form
        if self.minimum is not None and isinstance(value, int | float) and value < self.minimum:
            return f"{self.minimum:g} or more"
        return ""


@dataclass(frozen=True)
class Family:
    """A kind of task that there are templates for.

    Attributes:
        name: Its folder.
        title: What people call it.
        description: One sentence.
        medium: What an example is, which says where introspection and specimens look for it.
        targets: The kinds of target that it has models for.
        frameworks: The frameworks that it has a model in.
        extends: The family that its templates are taken from, as far as it has none of its own; "" for none.
        task: The keys that its tasks have beside the common ones.
        folds_by: The common keys that say by which columns folds are made, as far as its notebooks read them.
        aliases: What else people call it.
    """

    name: str
    title: str
    description: str
    medium: Medium
    targets: tuple[TargetKind, ...]
    frameworks: tuple[str, ...]
    extends: str = ""
    task: Mapping[str, Key] = field(default_factory=dict)
    folds_by: tuple[str, ...] = ("group_column", "time_column")
    aliases: tuple[str, ...] = ()


@cache
def common() -> Mapping[str, Mapping[str, Key]]:
    """Returns the keys of every pair by the section of `pair.toml`: "pair" and "task".

    Raises:
        SchemaError: The declaration is broken.
    """
    path = template_folder() / "families" / "common.toml"
    return {section: _keys(path, described) for section, described in _read(path).items()}


def extended_names() -> Mapping[str, str]:
    """Returns what each family and framework extends, of those that do.

    Raises:
        SchemaError: A declaration is broken.
    """
    return _extended_names(template_folder())


def families() -> Mapping[str, Family]:
    """Returns all families that the templates offer, by name.

    Raises:
        SchemaError: A declaration is broken.
    """
    return _families(template_folder())


def keys_of(family: str) -> dict[str, Key]:
    """Returns every key that a task of this family has, in the order of `pair.toml`; of an unknown one the common keys.

    Raises:
        SchemaError: A declaration is broken.
    """
    known = families().get(family)
    return {**common()["task"], **(known.task if known is not None else {})}


@cache
def known_keys() -> Mapping[str, tuple[Key, ...]]:
    """Returns every key that a task of any family can have, with what it is in each of them.

    Raises:
        SchemaError: A declaration is broken.
    """
    keys = {key: (rule,) for key, rule in common()["task"].items()}
    for family in families().values():
        for key, rule in family.task.items():
            keys[key] = (*keys.get(key, ()), rule)
    return keys


def expected_anywhere(rules: Sequence[Key], value: object) -> str:
    """Returns what a value has to be and is not, in whatever family; "" if it is right in one of them."""
    expected = [rule.expected(value) for rule in rules]
    return "" if "" in expected else expected[0]


def option_of(key: str) -> str:
    """Returns the option of `generate` that sets a key: its own, or `--set KEY`."""
    return _rule(key).option or f"--set {key}"


def called(key: str) -> str:
    """Returns what messages call a key: "The metric", or "The value KEY"."""
    return _rule(key).called or f"The value {key}"


def _rule(key: str) -> Key:
    return {**common()["pair"], **common()["task"]}.get(key, Key(str))


def value_from(text: str, kind: type) -> Value:
    """Reads the text of an option as a value of a type.

    Raises:
        ValueError: It cannot be one.
    """
    if kind is bool and text.lower() not in _TRUTH:
        raise ValueError(text)
    if kind is list:
        return [item.strip() for item in text.split(",") if item.strip()]
    value: Value = _TRUTH[text.lower()] if kind is bool else kind(text)
    return value


def values_of(task: Task, keys: Mapping[str, Key]) -> dict[str, Value]:
    """Returns the value of every key: what the task says, else the key's default.

    Raises:
        KeyError: The task says nothing of a key without a default.
    """
    attributes = {key: getattr(task, key) for key in _ATTRIBUTES}
    plain = {key: str(value) if isinstance(value, StrEnum) else value for key, value in attributes.items()}
    said = {**task.details, **plain, "targets": list(task.targets)}
    return {key: said[key] if key in said or rule.default is None else rule.default for key, rule in keys.items()}


def task_of(family: str, values: Mapping[str, Any], evidence: Mapping[str, str]) -> Task:
    """Returns the task that the values of all its keys describe."""
    types = {"target_kind": TargetKind, "submission": SubmissionKind, "targets": tuple}
    attributes: dict[str, Any] = {key: types.get(key, lambda value: value)(values[key]) for key in _ATTRIBUTES}
    details = {key: value for key, value in values.items() if key not in _ATTRIBUTES}
    return Task(family=family, details=details, evidence=evidence, **attributes)


def read_declaration(path: Path) -> dict[str, Any]:
    """Reads a `family.toml` or `framework.toml`, which has a title and a description.

    Raises:
        SchemaError: It is no TOML, or lacks one of them.
    """
    data = _read(path)
    if not isinstance(data.get("title"), str) or not isinstance(data.get("description"), str):
        raise SchemaError(path=path, problem='it needs the texts "title" and "description"')
    return data


_ATTRIBUTES = tuple(each.name for each in fields(Task) if each.name not in ("family", "details", "evidence"))


@cache
def _extended_names(templates: Path) -> Mapping[str, str]:
    extended: dict[str, str] = {}
    for kind in ("families/*/family.toml", "frameworks/*/framework.toml"):
        declared = {path: read_declaration(path).get("extends", "") for path in templates.glob(kind)}
        whole = {path.parent.name for path, parent in declared.items() if not parent}
        for path, parent in declared.items():
            if parent and parent not in whole:
                known = ", ".join(sorted(whole))
                raise SchemaError(path=path, problem=f'"extends" has to be one that extends nothing itself: {known}')
        extended |= {path.parent.name: parent for path, parent in declared.items() if parent}
    return extended


@cache
def _families(templates: Path) -> Mapping[str, Family]:
    return {path.parent.name: _family(path) for path in sorted(templates.glob("families/*/family.toml"))}


def _family(path: Path) -> Family:
    data = read_declaration(path)
    _check_names(path, data, {each.name for each in fields(Family)} - {"name", "frameworks"})
    extended = _extended_names(path.parents[2])
    folders = [path.parent, *(path.parents[1] / parent for own, parent in extended.items() if own == path.parent.name)]
    models = {model.name.removesuffix(SUFFIX) for folder in folders for model in folder.glob(f"models/*{SUFFIX}")}
    frameworks = tuple(sorted(models | {own for own, parent in extended.items() if parent in models}))
    try:
        data["medium"] = Medium(data.get("medium", ""))
        data["targets"] = tuple(map(TargetKind, data.get("targets", "")))
    except (TypeError, ValueError) as error:
        raise SchemaError(path=path, problem=f'of "medium" and "targets", {error}') from error
    data |= {"task": _keys(path, data.get("task", {}))}
    data |= {"folds_by": tuple(data["folds_by"])} if "folds_by" in data else {}
    return Family(name=path.parent.name, frameworks=frameworks, **data)


def _keys(path: Path, described: Mapping[str, Mapping[str, Any]]) -> dict[str, Key]:
    return {key: _key(path, key, description) for key, description in described.items()}


def _key(path: Path, key: str, description: Mapping[str, Any]) -> Key:
    _check_names(path, description, [each.name for each in fields(Key)], key=key)
    kind = _TYPES.get(description.get("type", ""))
    if kind is None:
        raise SchemaError(path=path, key=key, problem=f"its type is none of {', '.join(_TYPES)}")
    options = kind if issubclass(kind, StrEnum) else description.get("options", ())
    kind = str if issubclass(kind, StrEnum) else kind
    rule = Key(**{**description, "type": kind, "options": tuple(map(str, options))})
    if rule.scope not in ("", "train", "infer") or rule.form not in FORMS:
        raise SchemaError(path=path, key=key, problem=f'there is no scope "{rule.scope}", or no form "{rule.form}"')
    if rule.default is not None and (expected := rule.expected(rule.default)):
        raise SchemaError(path=path, key=key, problem=f"its default must be {expected}")
    return rule


def _check_names(path: Path, data: Mapping[str, Any], known: Iterable[str], *, key: str = "") -> None:
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise SchemaError(path=path, key=key, problem=f'there is no "{unknown[0]}"; known: {", ".join(known)}')


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SchemaError(path=path, problem=str(error)) from error
