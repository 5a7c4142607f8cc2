"""A pair that can be run: read, checked, and with its parameters, its inputs and the checks of its submission."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.competition import builtin
from generator.competition.builtin import BuiltIn
from generator.competition.submission import SubmissionSummary, sample_columns_of, summarize, tolerance_of, validate
from generator.pair.folder import existing_pair, read_pair_spec
from generator.pair.notebook import check_shared_cells
from generator.pair.spec import PairSpec
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.execution import NotebookParameters, read_notebook_parameters, set_parameters
from generator.run.input_mounts import SOURCE_KINDS, KernelSources, Mount, mounts, read_sources
from generator.run.kernel import require_packages
from generator.run.ledger import member_output


@dataclass(frozen=True)
class RunnablePair:
    """A pair that can be run: its notebooks, metadata and parameters are there and fit together."""

    workspace: Workspace
    folder: PairFolder
    spec: PairSpec
    parameters: Mapping[Role, NotebookParameters]
    sources: Mapping[Role, KernelSources]

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        name: str,
        assignments: Sequence[str],
        *,
        smoke: bool = False,
        at_most: Mapping[str, int] | None = None,
    ) -> "RunnablePair":
        """Reads a pair.

        Args:
            workspace: Where it is.
            name: Its name.
            assignments: Parameters of the notebooks in place of their defaults, as texts such as `EPOCHS=3`.
            smoke: Whether every cell runs on very little data.
            at_most: What parameters of the training are lowered to where its own values are larger.

        Raises:
            TandemError: It cannot be run, and why.
        """
        require_packages()
        folder = existing_pair(workspace, name)
        defaults = {role: read_notebook_parameters(folder.notebook(role)) for role in Role}
        spec = read_pair_spec(folder)
        limits = []
        for key, most in (at_most or {}).items():
            default = defaults[Role.TRAIN].value(key)
            limits += [f"{key}={most}"] if isinstance(default, int) and default > most else []
        parameters = set_parameters(defaults, [*limits, *assignments], smoke=smoke)
        check_shared_cells(folder)
        return cls(workspace, folder, spec, parameters, {role: read_sources(folder, role) for role in Role})

    @property
    def submission_file(self) -> str:
        """The file that inference writes."""
        name = self.parameters[Role.INFER].value("SUBMISSION_FILE")
        return name if isinstance(name, str) else "submission.csv"

    @property
    def built_in(self) -> BuiltIn | None:
        """The built-in competition that it is for, which can score its submissions; None for any other."""
        return builtin.find(self.spec.competition.slug)

    def mounts(
        self,
        role: Role,
        *,
        outputs: Mapping[str, Path],
        specimen: bool = False,
        accepts_stand_in: bool = False,
        through_links: bool = True,
    ) -> list[Mount]:
        """Find the folders behind the inputs of a notebook, as `input_mounts.mounts` does.

        Args:
            role: Which notebook.
            outputs: The folders of what it reads from other kernels, or of data that the user named.
            specimen: Whether a specimen is mounted in place of the competition's data.
            accepts_stand_in: Whether a small untrained model will do where the pretrained one is not here.
            through_links: Whether sources may be reached through links.

        Raises:
            RunError: An input is missing, or must not be used.
        """
        return mounts(
            self.sources[role],
            self.workspace,
            outputs={**self._member_outputs, **outputs},
            specimen=specimen,
            stand_ins=[self.spec.preset.handle] if self.spec.preset and accepts_stand_in else [],
            through_links=through_links,
        )

    @property
    def _member_outputs(self) -> dict[str, Path]:
        """The outputs of the members of a blend, by their training kernels."""
        return {
            member.kernel: member_output(self.workspace, member.pair, member.number)
            for member in self.spec.kernel_members
        }

    @property
    def data_mount(self) -> PurePosixPath:
        """Where the competition's data are mounted, below INPUT_ROOT."""
        return PurePosixPath(SOURCE_KINDS[0].folder, self.spec.competition.slug)

    def earlier_output(self, role: Role, folder: Path) -> Mount:
        """Mount a folder as the output of an earlier run of a notebook, which it goes on from."""
        return Mount(at=PurePosixPath("notebooks", *self.sources[role].ref.split("/")), source=folder.resolve())

    def check_submission(self, submission: Path, data: Path) -> SubmissionSummary:
        """Check a submission against the competition's sample, and return the facts of it.

        Args:
            submission: The file that inference wrote.
            data: The folder of the competition's data.

        Raises:
            SubmissionError: It is not like the sample.
        """
        task = self.spec.task
        if not task.sample_submission:
            return summarize(submission)
        sample = data / task.sample_submission
        return validate(submission, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))
