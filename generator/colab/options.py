"""The options of a training on Colab, and what they amount to, checked as far as it can be here."""

from dataclasses import dataclass, field
from pathlib import Path

from generator.accelerators.catalog import Service
from generator.colab.errors import ColabError
from generator.colab.machines import Machine, usual_machine
from generator.colab.transfer import check_sendable, size_of
from generator.competition.facts import Value
from generator.pair.folder import existing_pair
from generator.pair.generation import read_pair
from generator.pair.mounted_data import is_reached_as_the_user_chose
from generator.pair.shared_cells import check_shared_cells
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.input_mounts import LinkedInputError
from generator.run.output_folder import OutputFolder
from generator.run.parameters import assigned, read_notebook_parameters
from generator.untrusted import printable

INPUT, WORKING = "/content/input", "/content/working"
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
    machine: Machine | None = None
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
    machine: Machine
    values: dict[str, Value]
    hours: float

    @classmethod
    def of(cls, options: ColabOptions) -> "PlannedTraining":
        """Reads the pair, and makes sure that it can be trained on Colab.

        Raises:
            ColabError: It is rendered for Kaggle.
            PairError: It cannot be read, or takes no such parameter.
        """
        folder = existing_pair(options.workspace, options.pair)
        spec = read_pair(folder)
        if spec.platform is not Service.COLAB:
            name = f" --name {printable(options.pair)}" if options.pair != spec.competition.slug else ""
            raise ColabError(
                f"The training of {printable(options.pair)} is rendered for Kaggle: "
                f"`tandem generate --competition {spec.competition.slug}{name} --platform colab` renders it for Colab."
            )
        check_shared_cells(folder)
        defaults = read_notebook_parameters(folder.notebook(Role.TRAIN)).defaults
        said = dict(assigned(text, defaults) for text in options.assignments)
        machine = options.machine or usual_machine(spec.accelerator)
        hours = options.hours or spec.session_hours
        # The results are fetched from outside, and the machine is given back behind that.
        own: dict[str, Value] = {"RESULTS": "", "RELEASE_RUNTIME": False, "SESSION_HOURS": hours}
        own |= {"ACCELERATOR": str(machine.kind), "INPUT_ROOT": INPUT, "WORKING_ROOT": WORKING}
        if options.smoke:
            own["DEBUG"] = True
        return cls(options, folder, spec, machine, {**own, **said}, hours)

    @property
    def data(self) -> Path:
        """The competition's files here."""
        return self.options.workspace.competition_data(self.spec.competition.slug)

    @property
    def output(self) -> OutputFolder:
        """Where the results go: the same place as those of a run on this machine."""
        folder = self.options.workspace.output(self.options.pair)
        is_smoke = self.values.get("DEBUG") is True
        return OutputFolder(
            (folder / "smoke" if is_smoke else folder).absolute(), self.options.workspace.root.absolute()
        )

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
        return self.data.is_dir() and size_of(self.data, limit=MOST_SENT) <= MOST_SENT
