"""What a command line says of a pair in `KEY=VALUE` texts: keys of its task, and knobs of its notebooks.

A knob that is called as a key of the task, as EPOCHS is, sets that key: what the templates make of it follows. So does
WEIGHTS where it names a model for Kaggle to attach; a path, "" and what is fetched are for the notebook alone.

SettingError                  text that sets no key of a task, or not to a value that it can have
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from generator.competition.facts import Value
from generator.competition.metrics import metric_named
from generator.competition.schema import TYPE_NAMES, expected_anywhere, families, keys_of, known_keys, value_from
from generator.errors import PairError, did_you_mean
from generator.pair.choices import Choice, Choices, MadeBy
from generator.pair.kernel_files import default_parameters
from generator.pair.parameters import FIXED, ParameterError, knob_name, parse_assignment, value_of
from generator.pair.percent import Cell
from generator.pair.pretrained_models import is_model
from generator.pair.spec import spec_of
from generator.pair.workspace import Role
from generator.untrusted import printable

_PRETRAINED = "WEIGHTS"


class SettingError(PairError):
    """Text that sets no key of a task, or not to a value that it can have."""

    def __init__(self, *, text: str, problem: str, option: str = "--set") -> None:
        super().__init__(f'{option} "{printable(text)}": {problem}')


@dataclass(frozen=True)
class Assignments:
    """The texts of a command line, sorted.

    Attributes:
        task: The keys of the task that they set.
        knobs: The texts that set something else in the notebooks, which have to be rendered to know what.
        unknown: The texts that set a key which no task has.
    """

    task: Mapping[str, Value] = field(default_factory=dict)
    knobs: Sequence[str] = ()
    unknown: Sequence[str] = ()


def read_assignments(settings: Sequence[str], assignments: Sequence[str], kept: Choices) -> Assignments:
    """Sorts the texts of a command line.

    Args:
        settings: What stood behind `--set`.
        assignments: What stood behind `-P`.
        kept: The choices of the pair as it is; a knob that is a parameter there stays one.

    Raises:
        SettingError: A value is of another kind than its key.
        ParameterError: What is to be set is no knob.
    """
    assignments = [_with_key(text, knob_name(_key_of(text))) for text in assignments]
    settings = [_with_key(text, _key_in_small_letters(_key_of(text))) for text in settings]
    for text in assignments:
        if _key_of(text) in FIXED:
            raise ParameterError(
                f"{printable(_key_of(text))} is no knob: by it the notebooks find their inputs and one another."
            )
    of_task = [text for text in assignments if _key_of(text).lower() in known_keys() and "=" in text]
    of_task = [text for text in of_task if _key_of(text).isupper() and _key_of(text) not in kept.parameters]
    of_weights = [text for text in assignments if _key_of(text) == _PRETRAINED]
    models = [text for text in of_weights if is_model(_text_of(text))]
    unknown = [text for text in settings if "=" in text and _key_of(text) not in known_keys()]
    task = dict(setting_of(text) for text in settings if text not in unknown)
    task |= dict(setting_of(text, option="-P") for text in of_task)
    task |= {"pretrained": _text_of(models[-1])} if models else {}
    knobs = [text for text in assignments if text not in (*of_task, *models)]
    attached = kept.task.get("pretrained")
    if len(of_weights) > len(models) and ((attached and attached.value) or not _text_of(of_weights[-1])):
        task["pretrained"] = ""  # what the knob names, or nothing, takes its place
    return Assignments(task, knobs, unknown)


def _unknown(text: str, family: str, knobs: list[str]) -> SettingError:
    """The error for a key that no task of the family has."""
    key = _key_of(text)
    nearest = did_you_mean(key, [*knobs, *keys_of(family)])
    if any(f'"{name}"' in nearest for name in knobs):
        nearest += " That is a knob of the notebooks: -P NAME=VALUE sets it."
    few = f" Some that it has: {', '.join(_tuned(family))}; docs/knobs.md tells of all."
    problem = f'a task of the family {printable(family)} has no key "{printable(key)}".{nearest or few}'
    return SettingError(text=text, problem=problem)


def with_knobs(choices: Choices, said: Assignments, cells: Mapping[Role, list[Cell]], *, path: Path) -> Choices:
    """Adds to the choices of a pair the knobs that the command line sets.

    Args:
        choices: The choices without them.
        said: What the command line says.
        cells: What the choices render to.
        path: The pair's `pair.toml`, for messages.

    Raises:
        SettingError: The command line sets a key that there is not.
        UnknownKeyError: It sets one of another family.
        ParameterError: A knob that no notebook has, or a value of another kind.
        PairError: It sets a key that the file overrules; or a pretrained model that is none, for a notebook that starts
            from nothing else.
    """
    defaults, family = default_parameters(cells), str(choices.pair["family"].value)
    if said.unknown:
        raise _unknown(said.unknown[0], family, list(defaults))
    for key in said.task:
        if key not in keys_of(family):
            from generator.competition.introspection.errors import UnknownKeyError

            raise UnknownKeyError(key=key, family=family, keys=keys_of(family))
        if key.upper() in choices.parameters:
            raise PairError(
                f"{printable(str(path))} sets {key.upper()} in its section parameters, which overrules the key {key}: "
                f"say -P {key.upper()}=VALUE, or remove it there."
            )
    if _PRETRAINED not in defaults and "pretrained" in keys_of(family):
        said = replace(said, knobs=[text for text in said.knobs if not _is_from_scratch(text, choices)])
    made = dict(parse_assignment(text, defaults) for text in said.knobs)
    kept = {name: choice.value for name, choice in choices.parameters.items()}
    flagged = {name: Choice(value, MadeBy.FLAG) for name, value in made.items() if kept.get(name) != value}
    return replace(choices, parameters={**choices.parameters, **flagged})


def setting_of(text: str, *, option: str = "--set") -> tuple[str, Value]:
    """The key and the value of a text such as `image_size=64` or `text_columns=title,body`.

    Args:
        text: What sets a key that some family has.
        option: The option that the text stood behind. With `-P` it may be in capitals.

    Raises:
        SettingError: It is no setting of a task, or its value is of another kind.
    """
    given, equals, value = (part.strip() for part in text.partition("="))
    key = given.lower() if option == "-P" else given
    rules = known_keys().get(key)
    if not equals:
        raise SettingError(text=text, problem="it sets nothing; write KEY=VALUE, such as epochs=3.")
    if rules is None:
        raise SettingError(text=text, problem=f'there is no key "{printable(key)}".{did_you_mean(key, known_keys())}')
    try:
        # As `tandem run -P` takes it: in quotes, or a list as JSON.
        setting = value_of(value, rules[0].type()) if option == "-P" else value
        if isinstance(setting, str):
            setting = value_from(setting, rules[0].type)
    except ValueError as error:
        problem = f"{given} must be {TYPE_NAMES[rules[0].type]}."
        raise SettingError(text=text, problem=problem, option=option) from error
    if key == "metric":
        setting = metric_named(str(setting))
    if expected := expected_anywhere(rules, setting):
        raise SettingError(text=text, problem=f"{given} must be {expected}.", option=option)
    return key, setting


def _is_from_scratch(text: str, choices: Choices) -> bool:
    """True if a text says of a notebook that starts from scratch that it does; raises if it names a model."""
    if _key_of(text) != _PRETRAINED:
        return False
    model = {"pretrained": Choice(_text_of(text), MadeBy.FLAG)}
    spec_of(replace(choices, task={**choices.task, **model})).check_model()
    return True


def _text_of(text: str) -> str:
    """The text that a text such as `WEIGHTS="small"` sets a key to."""
    return str(value_of(text.partition("=")[2].strip(), ""))


def _key_of(text: str) -> str:
    """The key that a text such as `image_size=64` sets."""
    return text.partition("=")[0].strip()


def _with_key(text: str, key: str) -> str:
    """The text with its key written so; as it is where it sets nothing."""
    return f"{key}={text.partition('=')[2]}" if "=" in text and key else text


def _key_in_small_letters(key: str) -> str:
    """A key of a task as `pair.toml` writes it, where the text is one in another case."""
    small = key.lower().replace("-", "_")
    return small if small in known_keys() else key


def _tuned(family: str) -> list[str]:
    """The keys that people turn: what is chosen without looking at the data, what folds go by, and lists of columns."""
    known = families()[family]
    own = [key for key, rule in known.task.items() if rule.chosen_blindly or key.endswith("_columns")]
    return [*own, *known.folds_by]
