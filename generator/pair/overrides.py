"""The settings that a command line changes by `KEY=VALUE` texts: `--set` for keys of the task, `-P` for parameters.

A parameter that is called as a key of the task, as EPOCHS is, sets that key: what the templates make of it follows. So
does WEIGHTS where it names a model for Kaggle to attach; a path, "" and what is fetched are for the notebook alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.competition.metrics import metric_named
from generator.competition.schema import (
    TYPE_NAMES,
    all_parameters,
    families,
    frameworks,
    is_model_handle,
    keys_of,
    known_keys,
    requirement,
    value_from,
)
from generator.errors import PairError, did_you_mean
from generator.pair.notebook import ParameterError, is_fixed, knob_name, parse_assignment, value_of
from generator.pair.settings import SettingError, Settings
from generator.pair.spec import check_spec, spec_of
from generator.text import Value, printable

_PRETRAINED = "WEIGHTS"


@dataclass(frozen=True)
class Overrides:
    """The texts of a command line, sorted.

    Attributes:
        task: The keys of the task that they set.
        parameters: The texts that set other parameters of the notebooks, which have to be rendered to check them.
        unknown: The texts that set a key which no task has.
    """

    task: Mapping[str, Value] = field(default_factory=dict)
    parameters: Sequence[str] = ()
    unknown: Sequence[str] = ()

    @property
    def accelerator(self) -> dict[str, Value]:
        """The accelerator, the only one of these parameters that templates read: its name and its hours differ."""
        texts = [text for text in self.parameters if "=" in text and _key_of(text) == "ACCELERATOR"]
        return {"ACCELERATOR": _text_of(texts[-1])} if texts else {}


def parse_overrides(
    task_assignments: Sequence[str], parameter_assignments: Sequence[str], current: Settings
) -> Overrides:
    """Sort the texts of a command line.

    Args:
        task_assignments: The texts of `--set`.
        parameter_assignments: The texts of `-P`.
        current: The settings of the pair as it is; a parameter that it sets stays one.

    Raises:
        SettingError: A value is of another kind than its key.
        ParameterError: A parameter is none that the user can set.
    """
    task: dict[str, Value] = {}
    parameters, unknown, weights = [], [], []
    for assignment in task_assignments:
        small = _key_of(assignment).lower().replace("-", "_")
        text = _with_key(assignment, small) if small in known_keys() else assignment
        if "=" in text and _key_of(text) not in known_keys():
            unknown.append(text)
        else:
            task |= [parse_setting(text)]
    for assignment in parameter_assignments:
        name = knob_name(_key_of(assignment))
        text = _with_key(assignment, name)
        if is_fixed(name):
            raise ParameterError(
                f"{printable(name)} cannot be changed: the notebooks need it to find their inputs and each other.",
                code="parameter-fixed",
            )
        if name == _PRETRAINED:
            weights.append(_text_of(text))
        if name.lower() in known_keys() and "=" in text and name not in current.parameters:
            task |= [parse_setting(text, option="-P")]
        elif name != _PRETRAINED or not is_model_handle(weights[-1]):
            parameters.append(text)
    models = [name for name in weights if is_model_handle(name)]
    if models:
        task["pretrained"] = models[-1]
    if len(weights) > len(models) and (current.get("pretrained") or not weights[-1]):
        task["pretrained"] = ""  # the parameter takes its place
    return Overrides(task, parameters, unknown)


def apply_overrides(
    settings: Settings, overrides: Overrides, defaults: Mapping[str, Value], *, source: str
) -> Settings:
    """Return the settings of a pair with the parameters that the command line sets.

    Args:
        settings: The settings without them.
        overrides: The texts of the command line.
        defaults: The parameters of the notebooks that the settings render to.
        source: The pair's `pair.toml`, for messages.

    Raises:
        SettingError: The command line sets a key that no task has.
        UnknownKeyError: It sets one of another family.
        ParameterError: No notebook has a parameter, or its value is of another kind.
        PairError: It sets a key that the file overrules; or a pretrained model that is none, for a notebook that starts
            from nothing else.
    """
    family = settings.family
    if overrides.unknown:
        raise _unknown_key(overrides.unknown[0], family, list(defaults))
    for key in overrides.task:
        if key not in keys_of(family):
            from generator.competition.introspection.evidence import UnknownKeyError

            raise UnknownKeyError(key=key, family=family, keys=keys_of(family))
        if key not in settings.task_keys:
            names = [name for name, rule in all_parameters().items() if name in defaults and rule.group == "main"]
            remedy = (
                ""
                if key == "epochs" and frameworks()[settings.framework].learner == "trees"
                else f"Parameters for -P: {', '.join(names)}."
            )
            raise SettingError(unused_key(key, settings.framework), remedy=remedy)
        if key.upper() in settings.parameters:
            raise PairError(
                f"{printable(source)} sets the parameter {key.upper()}, which has priority over the key {key}.",
                remedy=f"Use -P {key.upper()}=VALUE, or remove the parameter from the file.",
                code="setting-overridden",
            )
    texts = overrides.parameters
    if _PRETRAINED not in defaults and "pretrained" in keys_of(family):
        # Such notebooks start from scratch: the text may only say so.
        for text in texts:
            if _key_of(text) == _PRETRAINED:
                check_spec(spec_of(settings.override({"pretrained": _text_of(text)})))
        texts = [text for text in texts if _key_of(text) != _PRETRAINED]
    return settings.with_parameters(dict(parse_assignment(text, defaults) for text in texts))


def unused_key(key: str, framework: str) -> str:
    """Return a sentence on a key of a task that no notebook in a framework uses."""
    learners = dict.fromkeys(learner for rule in known_keys()[key] for learner in rule.learners)
    title = frameworks()[framework].title
    if key == "epochs" and frameworks()[framework].learner == "trees":
        return f"{title} has no epochs. Limit training with ROUNDS and EARLY_STOPPING."
    return f"{title} does not use {key}: only notebooks that train a {' or '.join(learners)} do."


def _unknown_key(text: str, family: str, parameters: list[str]) -> SettingError:
    """The error for a key that no task of the family has."""
    key, declaration = _key_of(text), families()[family]
    nearest = did_you_mean(key, [*parameters, *keys_of(family)])
    if any(f'"{name}"' in nearest for name in parameters):
        nearest += " That is a parameter of the notebooks: set it with -P NAME=VALUE."
    # The keys that people change: those chosen without looking at the data, those of folds, and lists of columns.
    examples = [key for key, rule in declaration.task.items() if rule.chosen_blindly or key.endswith("_columns")]
    hint = f" Examples of its keys: {', '.join([*examples, *declaration.folds_by])}. docs/knobs.md lists all."
    problem = f'a task of the family {printable(family)} has no key "{printable(key)}".{nearest or hint}'
    return SettingError(f'--set "{printable(text)}": {problem}')


def parse_setting(text: str, *, option: str = "--set") -> tuple[str, Value]:
    """Return the key and the value of a text such as `image_size=64` or `text_columns=title,body`.

    Args:
        text: Sets a key that some family has.
        option: The option that the text stood behind. With `-P` it may be in capitals.

    Raises:
        SettingError: It is no setting of a task, or its value is of another kind.
    """
    raw_key, equals, value_text = (part.strip() for part in text.partition("="))
    key = raw_key.lower() if option == "-P" else raw_key
    rules = known_keys().get(key)
    place = f'{option} "{printable(text)}"'
    if not equals:
        raise SettingError(
            f"{place}: it has no value.", remedy="Write KEY=VALUE, such as epochs=3.", code="setting-without-value"
        )
    if rules is None:
        raise SettingError(
            f'{place}: unknown key "{printable(key)}".{did_you_mean(key, known_keys())}', code="setting-unknown"
        )
    try:
        # As `tandem run -P` takes it: in quotes, or a list as JSON.
        value = value_of(value_text, rules[0].type()) if option == "-P" else value_text
        if isinstance(value, str):
            value = value_from(value, rules[0].type)
    except ValueError as error:
        raise SettingError(f"{place}: {raw_key} must be {TYPE_NAMES[rules[0].type]}.") from error
    if key == "metric":
        value = metric_named(str(value))
    if expected := requirement("task", key, value):
        raise SettingError(f"{place}: {raw_key} must be {expected}.")
    return key, value


def _text_of(text: str) -> str:
    """The text that a text such as `WEIGHTS="small"` sets a key to."""
    return str(value_of(text.partition("=")[2].strip(), ""))


def _key_of(text: str) -> str:
    return text.partition("=")[0].strip()


def _with_key(text: str, key: str) -> str:
    """The text with its key written so; as it is where it sets nothing."""
    return f"{key}={text.partition('=')[2]}" if "=" in text and key else text
