"""Keys of a task as the command line sets them, `--set KEY=VALUE`."""

from collections.abc import Iterable

from generator.competition.facts import Value
from generator.competition.schema import TYPE_NAMES, expected_anywhere, known_keys, value_from
from generator.errors import PairError, did_you_mean
from generator.untrusted import printable


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
        setting = value_from(value.strip(), rules[0].type)
    except ValueError as error:
        raise SettingError(text=text, expected=TYPE_NAMES[rules[0].type]) from error
    if expected := expected_anywhere(rules, setting):
        raise SettingError(text=text, expected=expected)
    return key.strip(), setting
