"""The parameters of the two notebooks of a pair in one run: defaults, and what this run sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.facts import Value
from generator.errors import RunError
from generator.pair.parameters import PARAMETERS_TAG, ParameterError, parse_assignment, read_parameters
from generator.pair.workspace import Role
from generator.run.notebook_file import read_notebook
from generator.untrusted import printable

ROOTS = ("INPUT_ROOT", "WORKING_ROOT")
OFF_COLAB: Mapping[str, Value] = {"RESULTS": "", "RELEASE_RUNTIME": False}
"""What keeps a notebook that was rendered for Colab from doing there what only Colab can."""


@dataclass(frozen=True)
class NotebookParameters:
    """One notebook's parameters: their defaults in the order of its cell, and the values set for this run."""

    defaults: Mapping[str, Value]
    values: Mapping[str, Value] = field(default_factory=dict)

    def value(self, name: str) -> Value | None:
        """The value that the notebook will see, or None if it has no such parameter."""
        return self.values.get(name, self.defaults.get(name))

    def with_roots(self, *, input_root: Path, working_root: Path) -> "NotebookParameters":
        """The same with the two roots set, which is how a notebook learns where it is."""
        roots = dict(zip(ROOTS, (str(input_root), str(working_root)), strict=True))
        return NotebookParameters(self.defaults, {**roots, **self.values})


def read_notebook_parameters(notebook: Path) -> NotebookParameters:
    """Reads the parameters cell of a notebook; without one there are no parameters.

    Raises:
        RunError: There is no such file.
        NotebookReadError: The file is no notebook.
        ParametersCellError: The cell holds more than plain values.
    """
    if not notebook.is_file():
        raise RunError(f"{printable(str(notebook))} does not exist. Write the pair afresh with `tandem generate`.")
    tagged = []
    for cell in read_notebook(notebook).cells:
        tagged += [cell] if PARAMETERS_TAG in cell.metadata.get("tags", []) else []
    return NotebookParameters(defaults=read_parameters(tagged[0].source) if tagged else {})


def set_parameters(
    notebooks: Mapping[Role, NotebookParameters], assignments: Sequence[str], *, smoke: bool
) -> dict[Role, NotebookParameters]:
    """Sets parameters in each notebook that has them.

    Args:
        notebooks: The parameters as the notebooks have them.
        assignments: Texts such as `EPOCHS=3`; the last one for a name counts.
        smoke: Whether the notebooks are to run in their smoke mode.

    Raises:
        ParameterError: An assignment that no notebook can take.
    """
    own: dict[str, Value] = {"ALLOW_CPU": True, **OFF_COLAB}
    if smoke:
        own["DEBUG"] = True
    values = {
        role: {name: value for name, value in own.items() if name in parameters.defaults}
        for role, parameters in notebooks.items()
    }
    known = {name: value for parameters in notebooks.values() for name, value in parameters.defaults.items()}
    for assignment in assignments:
        name, _ = assigned(assignment, known)
        for role, parameters in notebooks.items():
            if name in parameters.defaults:
                values[role][name] = parse_assignment(assignment, parameters.defaults)[1]
    return {role: NotebookParameters(parameters.defaults, values[role]) for role, parameters in notebooks.items()}


def assigned(text: str, defaults: Mapping[str, Value]) -> tuple[str, Value]:
    """Reads `NAME=VALUE` for any of these parameters but the roots.

    Raises:
        ParameterError: There is no such parameter, it is of another type, or it is one that the run chooses itself.
    """
    name, value = parse_assignment(text, defaults)
    if name in ROOTS:
        option = "--workspace" if name == "INPUT_ROOT" else "--output"
        raise ParameterError(f"The run sets {name} itself: it is the mirror of Kaggle's folder. Use {option} instead.")
    return name, value
