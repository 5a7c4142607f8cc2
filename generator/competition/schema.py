"""The schema of `pair.toml` and of the families, as `templates/families` declares both."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path
from statistics import median
from typing import Any

from generator.competition.facts import Medium, ServedAnswer, SubmissionKind, TargetKind, Task
from generator.competition.metrics import parse_metric
from generator.errors import CompetitionError, PairError, did_you_mean
from generator.kit_files import SUFFIX, template_folder
from generator.text import Value, is_slug, printable, python_literal

# The forms that a value of `pair.toml` can have to have, beside its type.


def _is_inside(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return not path.startswith(("/", "\\", "~")) and ".." not in parts and ":" not in parts[0]


FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "": (lambda _: True, "anything"),
    "path": (_is_inside, "a path inside of the competition's folder"),
    "file": (lambda name: name.strip(".") and not set("/\\:") & set(name), "the name of a file, without a folder"),
    "slug": (is_slug, "lower-case letters, digits and hyphens"),
    "template": (lambda name: name.replace("_", "a").isalnum(), "a name that `tandem generate --list` shows"),
}
"""By the name of a form: what tells if a value has it, and how messages say it."""


_HOLDS = {"at least": ge, "above": gt, "at most": le, "below": lt}


@dataclass(frozen=True)
class Range:
    """An interval: its bounds, by the words for them; "at least 0 and below 1" as a text."""

    bounds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "Range":
        """Read a range as it is declared; an empty one holds every number.

        Raises:
            ValueError: It is none.
        """
        parts = [part.rpartition(" ") for part in filter(None, text.split(" and "))]
        if not {words for words, _, _ in parts} <= set(_HOLDS):
            raise ValueError(text)
        return cls({words: float(bound) for words, _, bound in parts})

    def __contains__(self, number: float) -> bool:
        return all(_HOLDS[words](number, bound) for words, bound in self.bounds.items())

    def __str__(self) -> str:
        return " and ".join(f"{words} {bound:g}" for words, bound in self.bounds.items())


TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of text",
}
_ANY_LIST = "a list, such as [1, 2]"
_TYPES = {kind.__name__: kind for kind in (*TYPE_NAMES, TargetKind, SubmissionKind, ServedAnswer)}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class SchemaError(CompetitionError):
    """A declaration that says what cannot be."""

    def __init__(self, *, path: Path, problem: str, key: str = "") -> None:
        location = f', key "{printable(key)}":' if key else " cannot be used:"
        super().__init__(f"{printable(str(path))}{location} {printable(problem)}.")


@dataclass(frozen=True)
class Setting:
    """A key of `pair.toml`, or a parameter of the notebooks.

    Attributes:
        type: The Python type of its values: str, int, float, bool, or list. That of a parameter is its default's, and
            `object` in its declaration.
        help: What it means.
        options: The only values there are; any if empty.
        range: The numbers that it can be.
        form: What else a value has to be, one of `FORMS`; anything if "".
        not_empty: Whether an empty text or list is refused.
        any_items: Whether a list can have other items than text.
        default: The value where nobody sets it; None if it has to be set.
        optional: Whether a pair may lack it.
        scope: "train" or "infer" where only that notebook is rendered with it, so that a change of it leaves the other
            one as it is; "" for both.
        chosen_blindly: Whether the kit chooses it without looking at the data.
        learners: What a framework has to train for its notebooks to use a key of the task, see `Framework`; anything if
            empty.
        flag: The option of `generate` that sets it, with its metavar: "--id-column NAME"; "" where only `--set` does.
        display_name: The words for it in messages.
        group: Of a parameter: "fixed", "main" or "data", see `parameters.toml`; "" for others.
        aliases: Other names of a parameter.
        advice: When to change a parameter, for docs/knobs.md.
        default_text: The default there, where rendering computes it.
        sections: Other words for sections of that page.
    """

    type: type
    help: str = ""
    options: tuple[str, ...] = ()
    range: Range = Range()
    form: str = ""
    not_empty: bool = False
    any_items: bool = False
    default: Value | None = None
    optional: bool = False
    scope: str = ""
    chosen_blindly: bool = False
    learners: tuple[str, ...] = ()
    flag: str = ""
    called: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    advice: str = ""
    default_text: str = ""
    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def option(self) -> str:
        """Its option of `generate` without the metavar."""
        return self.flag.partition(" ")[0]

    def with_default(self, default: Value) -> "Setting":
        """Return the parameter of a notebook with this default, which has the type and is always allowed.

        0.0 is, as a LEARNING_RATE that is looked up.
        """
        own_range = self.range
        if isinstance(default, int | float) and default not in own_range:
            upper = {words: bound for words, bound in own_range.bounds.items() if words in ("at most", "below")}
            own_range = Range({"at least": default, **upper})
        options = self.options if default in self.options else ()
        return replace(self, type=type(default), any_items=True, default=default, range=own_range, options=options)

    def expected(self, value: object) -> str:
        """Return what a value has to be and is not; "" if it is right."""
        kind = str if isinstance(value, str) else type(value)  # a StrEnum is text, and True no number
        is_of_type = kind is self.type or (kind is int and self.type is float)
        has_items = not isinstance(value, list) or (_is_literal if self.any_items else _is_of_text)(value)
        if not is_of_type or not has_items or (isinstance(value, float) and not math.isfinite(value)):
            return _ANY_LIST if self.type is list and self.any_items else TYPE_NAMES[self.type]
        if self.options and value not in self.options:
            return f"one of {', '.join(self.options)}"
        if self.not_empty and not value:
            return f"{TYPE_NAMES[self.type]} that is not empty"
        is_formed, form = FORMS[self.form]
        if not is_formed(value):
            return form
        if isinstance(value, int | float) and value not in self.range:
            return str(self.range)
        return ""


def _is_of_text(items: Sequence[object]) -> bool:
    return all(isinstance(item, str) for item in items)


def _is_literal(value: object) -> bool:
    try:
        python_literal(value)
    except TypeError:
        return False
    return True


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
    task: Mapping[str, Setting] = field(default_factory=dict)
    folds_by: tuple[str, ...] = ("group_column", "time_column")
    aliases: tuple[str, ...] = ()


@cache
def common() -> Mapping[str, Mapping[str, Setting]]:
    """Returns the keys of every pair by the section of `pair.toml`: "pair" and "task".

    Raises:
        SchemaError: The declaration is broken.
    """
    path = template_folder() / "families" / "common.toml"
    return {section: _keys(path, declarations) for section, declarations in _read(path).items()}


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


def keys_of(family: str, framework: str = "") -> dict[str, Setting]:
    """Returns every key that a task of this family has, in the order of `pair.toml`; of an unknown one the common keys.

    Args:
        family: The family.
        framework: Leaves out the keys that notebooks in this framework do not use.

    Raises:
        SchemaError: A declaration is broken.
    """
    known_family = families().get(family)
    keys = {**common()["task"], **(known_family.task if known_family is not None else {})}
    candidate = frameworks().get(framework) if framework else None
    return {key: rule for key, rule in keys.items() if candidate is None or candidate.uses(rule)}


@cache
def known_keys() -> Mapping[str, tuple[Setting, ...]]:
    """Returns every key that a task of any family can have, with what it is in each of them.

    Raises:
        SchemaError: A declaration is broken.
    """
    keys = {key: (rule,) for key, rule in common()["task"].items()}
    for family in families().values():
        for key, rule in family.task.items():
            keys[key] = (*keys.get(key, ()), rule)
    return keys


def requirement(section: str, key: str, value: object) -> str:
    """Return what a value of `pair.toml` must be and is not; "" if it is right, in some family.

    The defaults in the notebooks say what parameters must be; see `Setting.with_default`.
    """
    if section == "parameters":
        is_value = isinstance(value, bool | int | float | str | list)
        return "" if is_value else "a number, true or false, text, or a list"
    expected = [rule.expected(value) for rule in ([common()["pair"][key]] if section == "pair" else known_keys()[key])]
    if "" not in expected:
        return expected[0]
    if key == "metric":
        try:
            parse_metric(str(value))
        except CompetitionError as error:
            return f"a metric that can be computed. {error}".rstrip(".")
    return ""


def option_of(key: str) -> str:
    """Returns the option of `generate` that sets a key: its own, or `--set KEY`."""
    return _rule(key).option or f"--set {key}"


def display_name(key: str) -> str:
    """Returns what messages call a key: "The metric", or "The value KEY"."""
    return _rule(key).called or f"The value {key}"


def _rule(key: str) -> Setting:
    return {**common()["pair"], **common()["task"]}.get(key, Setting(str))


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


def values_of(task: Task, keys: Mapping[str, Setting]) -> dict[str, Value]:
    """Returns the value of every key: what the task says, else the key's default.

    Raises:
        KeyError: The task says nothing of a key without a default.
    """
    attributes = {key: getattr(task, key) for key in _ATTRIBUTES}
    plain = {key: str(value) if isinstance(value, StrEnum) else value for key, value in attributes.items()}
    task_values = {**task.details, **plain, "targets": list(task.targets)}
    return {
        key: task_values[key] if key in task_values or rule.default is None else rule.default
        for key, rule in keys.items()
    }


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


_ATTRIBUTES = tuple(
    attribute.name for attribute in fields(Task) if attribute.name not in ("family", "details", "evidence")
)


@cache
def _extended_names(templates: Path) -> Mapping[str, str]:
    parents_by_name: dict[str, str] = {}
    for kind in ("families/*/family.toml", "frameworks/*/framework.toml"):
        parents_by_path = {path: read_declaration(path).get("extends", "") for path in templates.glob(kind)}
        whole = {path.parent.name for path, parent in parents_by_path.items() if not parent}
        for path, parent in parents_by_path.items():
            if parent and parent not in whole:
                choices = ", ".join(sorted(whole))
                raise SchemaError(path=path, problem=f'"extends" has to be one that extends nothing itself: {choices}')
        parents_by_name |= {path.parent.name: parent for path, parent in parents_by_path.items() if parent}
    return parents_by_name


@cache
def _families(templates: Path) -> Mapping[str, Family]:
    return {path.parent.name: _family(path) for path in sorted(templates.glob("families/*/family.toml"))}


def _family(path: Path) -> Family:
    data = read_declaration(path)
    _check_names(path, data, {attribute.name for attribute in fields(Family)} - {"name", "frameworks"})
    parents_by_name = _extended_names(path.parents[2])
    folders = [
        path.parent,
        *(path.parents[1] / parent for child, parent in parents_by_name.items() if child == path.parent.name),
    ]
    models = {model.name.removesuffix(SUFFIX) for folder in folders for model in folder.glob(f"models/*{SUFFIX}")}
    frameworks = tuple(sorted(models | {child for child, parent in parents_by_name.items() if parent in models}))
    try:
        data["medium"] = Medium(data.get("medium", ""))
        data["targets"] = tuple(map(TargetKind, data.get("targets", "")))
    except (TypeError, ValueError) as error:
        raise SchemaError(path=path, problem=f'of "medium" and "targets", {error}') from error
    data |= {"task": _keys(path, data.get("task", {}))}
    data |= {"folds_by": tuple(data["folds_by"])} if "folds_by" in data else {}
    return Family(name=path.parent.name, frameworks=frameworks, **data)


def _keys(path: Path, declarations: Mapping[str, Mapping[str, Any]]) -> dict[str, Setting]:
    return {
        key: _setting(path, key, {"range": _range_of(key), **declaration}) for key, declaration in declarations.items()
    }


def _range_of(key: str) -> str:
    """Return the range of the parameter that a key is rendered to, which is the key's as well if it declares none."""
    parameter = all_parameters().get(key.upper())
    return str(parameter.range) if parameter else ""


def _setting(path: Path, name: str, declaration: Mapping[str, Any], *, types: Mapping[str, type] = _TYPES) -> Setting:
    _check_names(path, declaration, [attribute.name for attribute in fields(Setting)], key=name)
    kind = types.get(declaration.get("type", ""))
    if kind is None:
        raise SchemaError(path=path, key=name, problem=f"its type is none of {', '.join(types)}")
    options = kind if issubclass(kind, StrEnum) else declaration.get("options", ())
    kind = str if issubclass(kind, StrEnum) else kind
    try:
        numbers = Range.of(declaration.get("range", ""))
    except ValueError as error:
        problem = f'"{declaration["range"]}" is no range, such as "at least 0 and below 1"'
        raise SchemaError(path=path, key=name, problem=problem) from error
    setting = Setting(**{**declaration, "type": kind, "options": tuple(map(str, options)), "range": numbers})
    setting = replace(setting, learners=tuple(setting.learners))
    if setting.scope not in ("", "train", "infer") or setting.form not in FORMS:
        problem = f'there is no scope "{setting.scope}", or no form "{setting.form}"'
        raise SchemaError(path=path, key=name, problem=problem)
    if setting.default is not None and (expected := setting.expected(setting.default)):
        raise SchemaError(path=path, key=name, problem=f"its default must be {expected}")
    return setting


@cache
def all_parameters() -> Mapping[str, Setting]:
    """Return the parameters of all notebooks, those that people turn first before others.

    Raises:
        SchemaError: The declaration is broken.
    """
    path = template_folder() / "families" / "parameters.toml"
    declarations = _read(path)
    groups = {name: group for group in ("main", "fixed", "data") for name in declarations.pop(group)}
    names = dict.fromkeys((*groups, *declarations))
    return {
        name: _setting(path, name, {"group": groups.get(name, ""), **declarations.get(name, {})}, types={"": object})
        for name in names
    }


def _check_names(path: Path, data: Mapping[str, Any], allowed_names: Iterable[str], *, key: str = "") -> None:
    unknown = sorted(set(data) - set(allowed_names))
    if unknown:
        raise SchemaError(path=path, key=key, problem=f'there is no "{unknown[0]}"; known: {", ".join(allowed_names)}')


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SchemaError(path=path, problem=str(error)) from error


# The frameworks, and what there are templates for.


@dataclass(frozen=True)
class Framework:
    """A framework that notebooks can be written in.

    Attributes:
        name: Its folder's name, such as "keras".
        title: What people call it.
        description: One sentence for those who choose.
        extends: The framework that its templates, and what is not said here, are taken from; "" for none.
        streams_with: The framework whose pipelines read its files; itself where nothing is said.
        models: Of Kaggle Models, those for what it reads pretrained models of texts from, such as "keras".
        learner: What it trains: a "network", boosted "trees", or the weights of a "blend".
        accelerators: The kinds of accelerator that it trains on, the default first.
        inference: The kind of accelerator of its inference notebooks.
        tpu: The platforms whose TPU it can use.
        backbones: The names of those for photographs; none where they are too many to know.
        untested: What the names of those begin with that no test and no measurement of this kit has run.
        encoders: The same for what is no photograph.
        weights: The library that downloads pretrained weights of backbones; "" where none does.
        several_hosts: Whether its training notebooks can run on several hosts at once.
        aliases: What else people call it.
    """

    name: str
    title: str
    description: str
    extends: str = ""
    streams_with: str = ""
    models: tuple[str, ...] = ()
    learner: str = "network"
    accelerators: Sequence[str] = ("tpu", "gpu", "cpu")
    inference: str = "gpu"
    tpu: Sequence[str] = ("kaggle", "colab")
    backbones: Sequence[str] = ()
    untested: Sequence[str] = ()
    encoders: Sequence[str] = ()
    weights: str = ""
    several_hosts: bool = False
    aliases: Sequence[str] = ()

    def uses(self, rule: Setting) -> bool:
        """Return whether its notebooks use a key of a task."""
        return not rule.learners or self.learner in rule.learners


def frameworks() -> Mapping[str, Framework]:
    """All frameworks that the templates offer, by name.

    Raises:
        SchemaError: A description is broken.
    """
    return _frameworks(template_folder())


@cache
def _frameworks(templates: Path) -> Mapping[str, Framework]:
    declarations = {path.parent.name: read_declaration(path) for path in templates.glob("frameworks/*/framework.toml")}
    parents = _extended_names(templates).items()
    parent_values = {name: declarations[parent] for name, parent in parents if name in declarations}
    return {
        name: Framework(name, **({"streams_with": name} | parent_values.get(name, {}) | own_values))
        for name, own_values in sorted(declarations.items())
    }


def check_offered(*, family: str, framework: str, requirements: Mapping[str, str], source: str) -> None:
    """Makes sure that there are templates for a family in a framework, and for what the task wants of it.

    Args:
        family: A family's name.
        framework: A framework's name.
        requirements: The task's `target_kind` and `submission`, as far as they are known.
        source: Where the names come from, for messages: a file, or an option of the command line.

    Raises:
        PairError: There is no such family, or no such framework at all; or the family does not come in this framework,
            or has nothing for this kind of target; or nothing is there for the submission.
    """
    all_families = families()
    offered_frameworks = [name for name, candidate in frameworks().items() if candidate.learner != "blend"]
    names = {"family": (family, list(all_families)), "framework": (framework, offered_frameworks)}
    for kind, (name, options) in names.items():
        if name not in options and name not in frameworks():
            raise PairError(
                f'{printable(source)}: unknown {kind} "{printable(name)}". Valid values: '
                f"{', '.join(options) or 'none'}.{did_you_mean(name, options)}"
            )
    of_family = all_families[family].frameworks
    if frameworks()[framework].learner != "blend" and framework not in of_family:
        raise PairError(
            f'{printable(source)}: the family "{family}" has no templates for the framework "{framework}". It has: '
            f"{', '.join(of_family)}."
        )
    kinds = {
        "target_kind": list(map(str, all_families[family].targets)),
        "submission": sorted(
            path.name.removesuffix(SUFFIX) for path in template_folder().glob(f"submissions/*{SUFFIX}")
        ),
    }
    for kind, valid_names in kinds.items():
        if valid_names and requirements.get(kind, valid_names[0]) not in valid_names:
            raise PairError(
                f'{printable(source)}: the family "{printable(family)}" has no templates for the {kind} '
                f'"{printable(requirements[kind])}"; there are some for: {", ".join(valid_names)}. '
                f"Another family or {kind} may "
                "fit: `tandem generate --list` shows them."
            )


def converters_of(framework: str) -> list[str]:
    """Return the frameworks that load weights of another: a template `frameworks/FRAMEWORK/OTHER.py.j2` converts."""
    paths = template_folder().glob(f"frameworks/{framework}/*{SUFFIX}")
    return [path.name.removesuffix(SUFFIX) for path in paths]


# Pretrained models by short names, as `templates/families/<family>/presets.toml` declares them.


_HANDLE = re.compile(r"[a-z0-9-]+/[A-Za-z0-9_.-]+/[A-Za-z]+/[A-Za-z0-9_.-]+/[1-9]\d*")
_SMALLEST_BATCH, _FEWEST_EPOCHS = 8, 3
_EPOCHS_FROM_SCRATCH = 3  # for one of a model that has read before


@dataclass(frozen=True)
class Preset:
    """A pretrained model, and what suits its fine-tuning.

    Attributes:
        handle: The Kaggle Model, owner/model/framework/variation/version.
        description: What it reads, and its size.
        learning_rate: For 128 examples a step.
        tokens: How many a replica reads in a step.
        layers: Millions of parameters that each token passes: all but the embeddings.
        chosen_for: The language of texts for which it is taken unless the user says otherwise; "" for none.
    """

    handle: str
    description: str
    learning_rate: float
    tokens: int
    layers: int
    chosen_for: str = ""

    @property
    def kind(self) -> str:
        """The framework that Kaggle files it under, in lower case, such as "keras": the third part of its handle."""
        return "".join(self.handle.lower().split("/")[2:3])

    def batch_size(self, usual: int, sequence_length: int) -> int:
        """Return the examples per replica, where a model from scratch has so many as usual."""
        return min(usual, max(_SMALLEST_BATCH, self.tokens // sequence_length))

    def epochs(self, usual: int) -> int:
        """Return the epochs, where a model from scratch has so many as usual."""
        return max(_FEWEST_EPOCHS, round(usual / _EPOCHS_FROM_SCRATCH))


@cache
def presets_of(family: str) -> Mapping[str, Preset]:
    """Return the suggested models of a family by short name.

    Raises:
        SchemaError: The declaration is broken.
    """
    path = template_folder() / "families" / family / "presets.toml"
    try:
        declarations = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return {name: Preset(**values) for name, values in declarations.items()}
    except (OSError, ValueError, TypeError) as error:
        raise SchemaError(path=path, problem=str(error)) from error


def is_handle(name: str) -> bool:
    """True if a name is one of Kaggle Models: owner/model/framework/variation/version."""
    return _HANDLE.fullmatch(name) is not None


def is_model_handle(name: str) -> bool:
    """True if a name is that of a model to attach: a handle, or the short name of a suggested one of some family."""
    return is_handle(name) or any(name in presets_of(family) for family in families())


def preset_for(family: str, *, language: str, kinds: Sequence[str]) -> str:
    """Return the name of the model to start from for texts in a language; "" where a framework reads none.

    Args:
        family: The family of the task.
        language: A language, or "".
        kinds: What the framework reads models of, such as "keras".
    """
    fitting = (name for name, preset in presets_of(family).items() if preset.kind in kinds and preset.chosen_for)
    return next((name for name in fitting if presets_of(family)[name].chosen_for == language), "")


def preset_of(family: str, pretrained: str) -> Preset | None:
    """Return the model that a short name or a handle means; None where none is named.

    A model that is not suggested is fine-tuned with the smallest steps of those that are, and taken for a usual one.
    """
    presets = presets_of(family)
    if not pretrained or not presets:
        return None
    by_handle = {preset.handle: preset for preset in presets.values()}
    known_preset = presets.get(pretrained) or by_handle.get(pretrained)
    rates, tokens = zip(*((candidate.learning_rate, candidate.tokens) for candidate in presets.values()), strict=True)
    return known_preset or Preset(
        pretrained, "", min(rates), min(tokens), int(median(candidate.layers for candidate in presets.values()))
    )
