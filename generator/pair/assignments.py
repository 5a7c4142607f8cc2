"""What a command line says of a pair in `KEY=VALUE` texts: keys of its task, and knobs of its notebooks.

A knob that is called as a key of the task, as EPOCHS is, sets that key: what the templates make of it follows.

AssignedTwiceError            a knob that `pair.toml` sets as a parameter already, under the name of a key
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from generator.competition.facts import Value
from generator.competition.schema import keys_of, known_keys
from generator.errors import PairError
from generator.pair.choices import Choice, Choices, MadeBy
from generator.pair.kernel_files import default_parameters
from generator.pair.parameters import FIXED, FixedParameterError, parse_assignment
from generator.pair.percent import Cell
from generator.pair.settings import UnknownSettingError, key_of, setting_of
from generator.pair.workspace import Role
from generator.untrusted import printable


class AssignedTwiceError(PairError):
    """A key of the task that `pair.toml` overrules."""

    def __init__(self, *, path: Path, name: str) -> None:
        super().__init__(
            f"{printable(str(path))} sets {name} in its section parameters, which overrules the key {name.lower()}: "
            f"say -P {name}=VALUE, or remove it there."
        )


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


def settled(settings: Sequence[str], assignments: Sequence[str], kept: Choices) -> Assignments:
    """Sorts the texts of a command line.

    Args:
        settings: What stood behind `--set`.
        assignments: What stood behind `-P`.
        kept: The choices of the pair as it is; a knob that is a parameter there stays one.

    Raises:
        SettingError: A value is of another kind than its key.
        FixedParameterError: What is to be set is no knob.
    """
    for text in assignments:
        if key_of(text) in FIXED:
            raise FixedParameterError(name=key_of(text))
    of_task = [text for text in assignments if key_of(text).lower() in known_keys() and "=" in text]
    of_task = [text for text in of_task if key_of(text).isupper() and key_of(text) not in kept.parameters]
    unknown = [text for text in settings if "=" in text and key_of(text) not in known_keys()]
    task = dict(setting_of(text) for text in settings if text not in unknown)
    task |= dict(setting_of(text, option="-P") for text in of_task)
    return Assignments(task, [text for text in assignments if text not in of_task], unknown)


def assigned(choices: Choices, said: Assignments, cells: Mapping[Role, list[Cell]], *, path: Path) -> Choices:
    """Adds to the choices of a pair the knobs that the command line sets.

    Args:
        choices: The choices without them.
        said: What the command line says.
        cells: What the choices render to.
        path: The pair's `pair.toml`, for messages.

    Raises:
        UnknownSettingError: The command line sets a key that there is not.
        UnknownKeyError: It sets one of another family.
        AssignedTwiceError: It sets a key that the file overrules.
        ParameterError: A knob that no notebook has, or a value of another kind.
    """
    defaults, family = default_parameters(cells), str(choices.pair["family"].value)
    if said.unknown:
        raise UnknownSettingError(text=said.unknown[0], family=family, parameters=defaults)
    for key in said.task:
        if key not in keys_of(family):
            from generator.competition.introspection.errors import UnknownKeyError

            raise UnknownKeyError(key=key, family=family, keys=keys_of(family))
        if key.upper() in choices.parameters:
            raise AssignedTwiceError(path=path, name=key.upper())
    made = dict(parse_assignment(text, defaults) for text in said.knobs)
    kept = {name: choice.value for name, choice in choices.parameters.items()}
    flagged = {name: Choice(value, MadeBy.FLAG) for name, value in made.items() if kept.get(name) != value}
    return replace(choices, parameters={**choices.parameters, **flagged})
