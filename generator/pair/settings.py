"""Keys of a task as the command line sets them: `--set KEY=VALUE`, or `-P KEY=VALUE` as its parameter is called.

SettingError                  text that sets no key of a task, or not to a value that it can have
└── UnknownSettingError       there is no such key
"""

from collections.abc import Iterable

from generator.competition.facts import Value
from generator.competition.schema import TYPE_NAMES, expected_anywhere, families, keys_of, known_keys, value_from
from generator.errors import PairError, did_you_mean
from generator.pair.parameters import value_of
from generator.untrusted import printable


class SettingError(PairError):
    """Text that sets no key of a task, or not to a value that it can have."""

    def __init__(self, *, text: str, problem: str, option: str = "--set") -> None:
        super().__init__(f'{option} "{printable(text)}": {problem}')


class UnknownSettingError(SettingError):
    """A key that no task of the family has."""

    def __init__(self, *, text: str, family: str, parameters: Iterable[str]) -> None:
        key, knobs = key_of(text), list(parameters)
        nearest = did_you_mean(key, [*knobs, *keys_of(family)])
        if any(f'"{name}"' in nearest for name in knobs):
            nearest += " That is a knob of the notebooks: -P NAME=VALUE sets it."
        few = f" Some that it has: {', '.join(_tuned(family))}; docs/knobs.md tells of all."
        problem = f'a task of the family {printable(family)} has no key "{printable(key)}".{nearest or few}'
        super().__init__(text=text, problem=problem)


def key_of(text: str) -> str:
    """The key that a text such as `image_size=64` sets."""
    return text.partition("=")[0].strip()


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
    if expected := expected_anywhere(rules, setting):
        raise SettingError(text=text, problem=f"{given} must be {expected}.", option=option)
    return key, setting


def _tuned(family: str) -> list[str]:
    """The keys that people turn: what is chosen without looking at the data, what folds go by, and lists of columns."""
    known = families()[family]
    own = [key for key, rule in known.task.items() if rule.chosen_blindly or key.endswith("_columns")]
    return [*own, *known.folds_by]
