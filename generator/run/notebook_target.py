"""A notebook with its inputs and parameters, ready to be executed or compiled in a private folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.pair.folder import existing_pair
from generator.pair.workspace import Role, Workspace
from generator.run.execution import (
    ExecutedNotebook,
    Execution,
    Listener,
    read_notebook_parameters,
    root_parameters,
    set_parameters,
)
from generator.run.input_mounts import InputMissingError, Mount, SpecimenMissingError, lay_out, mounts, read_sources
from generator.run.kernel import KernelSetup
from generator.text import Value


@dataclass(frozen=True)
class NotebookTarget:
    """A notebook to execute, or to compile the steps of.

    Attributes:
        path: The notebook.
        inputs: Its inputs, where Kaggle would mount them below /kaggle/input.
        parameters: Values for the constants of its parameters cell, without the two roots.
        is_specimen: Whether the inputs are made up.
    """

    path: Path
    inputs: tuple[Mount, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    is_specimen: bool = False

    def lay_out(
        self, private: Path, *, working: Path, input_root: Path, variables: Mapping[str, str] | None = None
    ) -> KernelSetup:
        """Lay out the inputs, and return the set-up of a process that reads them.

        Args:
            private: The run's own temporary folder.
            working: What stands for /kaggle/working.
            input_root: What will stand for /kaggle/input; it must not be there yet.
            variables: Environment variables beside the user's.
        """
        lay_out(list(self.inputs), input_root)
        read_only = (input_root, *(mount.source for mount in self.inputs))
        return KernelSetup(private, working, read_only, variables=variables or {})

    def execute(  # noqa: PLR0913 - the folders of a run, each by its name
        self,
        listener: Listener,
        *,
        title: str,
        private: Path,
        working: Path,
        input_root: Path,
        saved_as: Path,
        timeout: float | None = None,
    ) -> ExecutedNotebook:
        """Lay out the inputs and execute the notebook, which learns from its parameters where it is.

        Args:
            listener: Hears of the events.
            title: What the notebook is called in messages.
            private: The run's own temporary folder.
            working: What stands for /kaggle/working.
            input_root: What will stand for /kaggle/input; it must not be there yet.
            saved_as: Where the executed notebook is saved, however far it got.
            timeout: The seconds that it has.

        Raises:
            RunError: It could not be started.
            KeyboardInterrupt: A signal asked for the end.
        """
        from generator.run.engine import execute

        execution = Execution(
            title=title,
            source=self.path,
            saved_as=saved_as,
            parameters={**root_parameters(input_root, working), **self.parameters},
            kernel=self.lay_out(private, working=working, input_root=input_root),
            mount_sources={input_root / mount.at: mount.source for mount in self.inputs},
            timeout=timeout,
        )
        return execute(execution, listener)


def pair_notebook(
    workspace: Workspace, name: str, assignments: tuple[str, ...] = (), *, specimen: bool | None = None
) -> NotebookTarget:
    """The training of a pair with its inputs.

    Args:
        workspace: Where the pair is.
        name: Its name.
        assignments: Parameters in place of their defaults, as texts such as `EPOCHS=3`.
        specimen: Whether it reads a specimen in place of the competition's data; None: where only that is there.

    Raises:
        TandemError: There is no such pair, a parameter cannot be set, or there are no such data.
    """
    pair = existing_pair(workspace, name)
    notebook, sources = pair.notebook(Role.TRAIN), read_sources(pair, Role.TRAIN)
    parameters = set_parameters({Role.TRAIN: read_notebook_parameters(notebook)}, assignments, smoke=False)
    is_specimen = bool(specimen)
    try:
        inputs = mounts(sources, workspace, outputs={}, specimen=is_specimen)
    except InputMissingError as missing:
        if specimen is not None:
            raise
        try:
            inputs, is_specimen = mounts(sources, workspace, outputs={}, specimen=True), True
        except SpecimenMissingError:
            raise missing from None
    return NotebookTarget(notebook, tuple(inputs), parameters[Role.TRAIN].values, is_specimen)
