"""The options of a training on Colab, and what they amount to, checked as far as it can be here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.colab.rental import ColabError, ColabMachine, check_sendable, folder_size, usual_machine
from generator.pair.data import ensure_built_in, is_reached_as_the_user_chose
from generator.pair.folder import existing_pair, read_pair_spec
from generator.pair.notebook import check_shared_cells
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.execution import read_assignment, read_notebook_parameters
from generator.run.input_mounts import LinkedInputError
from generator.run.output_folder import OutputFolder
from generator.text import printable

INPUT, WORKING = "/content/input", "/content/working"
_COLAB = "colab"
MOST_SENT = 256 * 2**20  # bytes of a competition; more is downloaded there, from Kaggle


@dataclass(frozen=True)
class KaggleLogin:
    """What signs the machine in at Kaggle, if it has to download data: a file, and the variable that names it.

    The variable has a path, so that the secret is on no command line, in no notebook and in no traceback; the file goes
    with the machine.
    """

    file: str
    text: str = field(repr=False)
    variable: str
    value: str
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class ColabOptions:
    """The options of `tandem colab run`.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        machine: What to ask for; by default the least machine of the pair's accelerator.
        high_memory: Whether to ask for much memory.
        hours: How long the notebook may run; by default as long as Colab allows.
        assignments: Texts such as `EPOCHS=3`.
        smoke: Whether the notebook runs in its smoke mode.
        resume: Whether it goes on from the checkpoints of the last training here.
    """

    workspace: Workspace
    pair: str
    machine: ColabMachine | None = None
    high_memory: bool = False
    hours: float | None = None
    assignments: tuple[str, ...] = ()
    smoke: bool = False
    resume: bool = False


@dataclass(frozen=True)
class PlannedTraining:
    """A training that can be started: everything that can be checked here is."""

    options: ColabOptions
    folder: PairFolder
    spec: PairSpec
    machine: ColabMachine
    values: dict[str, Any]
    hours: float

    @classmethod
    def of(cls, options: ColabOptions) -> "PlannedTraining":
        """Reads the pair, and makes sure that it can be trained on Colab.

        Raises:
            ColabError: It is rendered for Kaggle.
            PairError: It cannot be read, or takes no such parameter.
        """
        folder = existing_pair(options.workspace, options.pair)
        spec = read_pair_spec(folder)
        if spec.platform != _COLAB:
            name = f" --name {printable(options.pair)}" if options.pair != spec.competition.slug else ""
            raise ColabError(
                f"The training notebook of {printable(options.pair)} is for Kaggle, not for Colab: "
                f"`tandem generate --competition {spec.competition.slug}{name} --platform colab` renders it for Colab."
            )
        check_shared_cells(folder)
        defaults = read_notebook_parameters(folder.notebook(Role.TRAIN)).defaults
        user_values = dict(read_assignment(text, defaults) for text in options.assignments)
        machine = options.machine or usual_machine(spec.accelerator)
        hours = options.hours or spec.session_hours
        # The results are fetched from outside, and the machine is given back behind that.
        run_values: dict[str, Any] = {"RESULTS": "", "RELEASE_RUNTIME": False, "SESSION_HOURS": hours}
        run_values |= {"ACCELERATOR": str(machine.kind), "INPUT_ROOT": INPUT, "WORKING_ROOT": WORKING}
        if options.smoke:
            run_values["DEBUG"] = True
        return cls(options, folder, spec, machine, {**run_values, **user_values}, hours)

    @property
    def slug(self) -> str:
        """The name of the competition."""
        return self.spec.competition.slug

    @property
    def is_measure(self) -> bool:
        """True unless this is a smoke run."""
        return self.values.get("DEBUG") is not True

    @property
    def data(self) -> Path:
        """The competition's files here."""
        return self.options.workspace.competition_data(self.slug)

    @property
    def output(self) -> OutputFolder:
        """Where the results go: the same place as those of a run on this machine."""
        folder = self.options.workspace.output(self.options.pair)
        return OutputFolder(
            (folder if self.is_measure else folder / "smoke").absolute(), self.options.workspace.root.absolute()
        )

    def ensure_built_in(self) -> None:
        """Writes the files of a built-in competition, if they are not here."""
        ensure_built_in(self.slug, self.options.workspace)

    def check_data(self) -> None:
        """Makes sure that the competition's files are in this workspace, and no link of somebody's leads to others.

        Raises:
            LinkedInputError: Their folder is reached by a link that `tandem generate --data` did not make here.
            ColabError: There is something in it that is not sent.
        """
        if self.data.is_dir():
            if not is_reached_as_the_user_chose(self.data, self.options.workspace):
                raise LinkedInputError(path=self.data, is_competition=False)
            if self.sends_data:
                check_sendable(self.data)

    @property
    def sends_data(self) -> bool:
        """True if the competition's files are sent from here."""
        return self.data.is_dir() and folder_size(self.data, limit=MOST_SENT) <= MOST_SENT
