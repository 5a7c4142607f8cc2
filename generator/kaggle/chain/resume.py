"""Resuming: which chain a command continues, whether it begins a new one, and what is checked before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from generator import __version__
from generator.competition import builtin
from generator.kaggle.chain.errors import ChainError, KernelUnfitError, NoChainError, StepFailedError, to_target
from generator.kaggle.chain.execution import ChainExecution, RunContext
from generator.kaggle.chain.git import git_commit
from generator.kaggle.chain.journal import Journals, Kind
from generator.kaggle.chain.options import Handoff, PushOptions
from generator.kaggle.chain.prepared_kernel import PreparedKernel, check_fit, owned_by, prepare
from generator.kaggle.chain.replay import latest, repair
from generator.kaggle.chain.state import Step
from generator.kaggle.chain.trained_elsewhere import TrainedElsewhere
from generator.kaggle.connect import Target
from generator.kaggle.gateway import Kaggle
from generator.pair.owner import PLACEHOLDER_OWNER
from generator.pair.workspace import Role
from generator.untrusted import printable


def target_of(kaggle: Kaggle) -> Target:
    """The name by which `--to` chooses this Kaggle."""
    return Target.LOCAL if kaggle.is_local else Target.KAGGLE


def check_exists(options: PushOptions, target: str) -> None:
    """Makes sure that the competition is one of the Kaggle that is meant.

    Raises:
        ChainError: It is a built-in one, and that is the real Kaggle.
    """
    slug = options.spec.competition.slug
    if target != Target.LOCAL and slug in builtin.BUILT_IN:
        raise ChainError(
            f'"{printable(slug)}" is a competition of this kit: it exists on a local Kaggle only. Start one with '
            f"`tandem serve`, and push there: `tandem push {printable(options.pair)} --to local`."
        )


@dataclass(frozen=True)
class CheckedPair:
    """A pair that is ready to be carried to a Kaggle."""

    kaggle: Kaggle
    options: PushOptions
    kernels: Mapping[Role, PreparedKernel]
    account: str
    elsewhere: TrainedElsewhere | None = None

    @classmethod
    def of(cls, kaggle: Kaggle, options: PushOptions) -> "CheckedPair":
        """Checks everything that can be checked before anything is sent.

        Raises:
            ChainError: The pair cannot be pushed here.
            PairError: It cannot be read.
            KaggleError: Kaggle does not say whose the credentials are.
        """
        folder = options.folder
        kernels = {role: prepare(folder, role, verify=options.verify) for role in Role}
        check_exists(options, target_of(kaggle))
        for role, kernel in kernels.items():
            _check_pair_id(options, role, kernel)
        elsewhere = TrainedElsewhere.of(options)
        account = kaggle.username()
        kernels = {role: _owned(kernel, account, kaggle, options.pair) for role, kernel in kernels.items()}
        return cls(kaggle, options, kernels, account, elsewhere)

    def resumed(self, journals: Journals, context: RunContext) -> ChainExecution:
        """The chain to go on with: the last one on this Kaggle, taken back as asked for, or a new one.

        Raises:
            ChainError: What is meant has to be said first.
        """
        if self.options.restart:
            return self._begin(journals, context)
        if self.options.repair:
            repair(journals, context.clock.now())
        chain = self._continued(journals, context)
        if self.options.repair and not chain.state.is_repaired:
            chain.write(Kind.REPAIRED)
        return chain

    def _continued(self, journals: Journals, context: RunContext) -> ChainExecution:
        journal, back_to = latest(journals, target_of(self.kaggle)), self.options.back_to
        if journal is None and back_to not in (None, Step.TRAIN):
            raise NoChainError(pair=self.options.pair, target=target_of(self.kaggle), verb="go back in")
        if journal is None:
            return self._begin(journals, context)
        chain = ChainExecution(self.kaggle, journal, context)
        if not self.options.may_train and self._is_changed(chain, Role.TRAIN):
            pair, to = printable(self.options.pair), to_target(target_of(self.kaggle))
            raise ChainError(
                f"The training notebook of {pair} is another one than its last chain pushed, and `tandem submit` "
                f"trains nothing anew; `tandem push {pair}{to} --submit` trains again."
            )
        if back_to is not None:
            self._check_inputs(chain, back_to)
            self._go_back(chain, back_to)
        elif chain.state.failure is not None:
            self._go_back(chain, self._changed_step(chain))
        elif self._is_changed(chain, Role.TRAIN) and chain.state.is_at_rest:
            return self._begin(journals, context)
        else:
            self._check_unchanged(chain)
        self._check_handoff(chain)
        return chain

    def _begin(self, journals: Journals, context: RunContext) -> ChainExecution:
        chain = ChainExecution(self.kaggle, journals.next(), context)
        spec, folder = self.options.spec, self.options.folder
        slug = spec.competition.slug
        found = chain.read(slug, lambda: self.kaggle.competition(slug), url=chain.page(f"competitions/{slug}"))
        if found.is_code_competition and self.options.verify:
            inference = self.kernels[Role.INFER].checked
            if not inference.needs_internet_off:  # pair.toml does not know it
                check_fit(replace(inference, needs_internet_off=True), pair=self.options.pair)
        chain.write(
            Kind.BEGUN,
            pair=self.options.pair,
            pair_id=spec.pair_id,
            target=target_of(self.kaggle),
            address=self.kaggle.address,
            account=self.account,
            competition=found.slug,
            title=found.title,
            is_code_competition=found.is_code_competition,
            handoff=str(self.options.handoff or (Handoff.DATASET if self.elsewhere else Handoff.KERNEL)),
            submission_file=spec.task.submission_file,
            commit=git_commit(folder.path),
            parameters={str(role): kernel.parameters for role, kernel in self.kernels.items()},
            kit=__version__,
        )
        return chain

    def _check_inputs(self, chain: ChainExecution, step: Step) -> None:
        missing = ""
        if step is Step.INFER and chain.state.trained is None:
            missing = "a training that ended well"
        if step is Step.SUBMIT and chain.state.predicted is None:
            missing = "a submission to submit"
        if missing:
            pair, target = printable(self.options.pair), target_of(self.kaggle)
            raise ChainError(
                f"--from {step} needs {missing}, which this chain of {pair} does not have; continue it with "
                f"`tandem push {pair}{to_target(target)}`."
            )

    def _changed_step(self, chain: ChainExecution) -> Step:
        """The step to take again after a failure: only if something is different now."""
        failure = chain.state.failure
        assert failure is not None  # noqa: S101 - asked for by the caller, for mypy
        if self._is_changed(chain, Role.TRAIN):
            return Step.TRAIN
        if failure.step is not Step.TRAIN and self._is_changed(chain, Role.INFER):
            return Step.INFER
        raise StepFailedError(
            pair=self.options.pair, target=target_of(self.kaggle), step=failure.step, failure=failure.message
        )

    def _go_back(self, chain: ChainExecution, step: Step) -> None:
        handoff = self.options.handoff if step is not Step.SUBMIT else None
        chain.write(Kind.BACK, to=str(step), **({"handoff": str(handoff)} if handoff else {}))

    def _is_changed(self, chain: ChainExecution, role: Role) -> bool:
        if role is Role.TRAIN and self.elsewhere is not None:
            return chain.state.trained is not None and not self.elsewhere.is_in(chain.state)
        push = chain.state.pushes.get(role)
        return push is not None and push.source != self.kernels[role].source

    def _check_unchanged(self, chain: ChainExecution) -> None:
        if self.elsewhere is not None and self._is_changed(chain, Role.TRAIN):
            if Role.INFER in chain.state.pushes:
                raise ChainError(
                    f"{printable(self.options.pair)} was trained anew since its inference kernel was pushed. Say what "
                    "is meant: `--from infer` pushes inference again with this training; "
                    "`--restart` begins a new chain with it."
                )
            return
        train = "`--from train` pushes it again"
        if chain.state.trained is not None:
            train += f"; `--from infer` goes on with what version {chain.state.pushes[Role.TRAIN].version} trained"
        infer = "`--from infer` pushes it again with the same training; `--restart` trains anew"
        for role, ways in ((Role.TRAIN, train), (Role.INFER, infer)):
            if self._is_changed(chain, role):
                version = chain.state.pushes[role].version
                raise ChainError(
                    f"The {role} notebook of {printable(self.options.pair)} was changed since it was pushed as version "
                    f"{version}. Say what is meant: {ways}."
                )

    def _check_handoff(self, chain: ChainExecution) -> None:
        before, wanted = chain.begun.handoff, self.options.handoff
        if wanted is None or before == wanted:
            return
        if Role.INFER in chain.state.pushes:
            raise ChainError(
                f"The inference kernel of {printable(self.options.pair)} was pushed with --handoff {before}; to push "
                f"it again with --handoff {wanted}, add --from infer."
            )
        if chain.state.trained is not None:
            self._go_back(chain, Step.INFER)


def _check_pair_id(options: PushOptions, role: Role, kernel: PreparedKernel) -> None:
    found = kernel.parameters.get("PAIR_ID")
    if found is not None and found != options.spec.pair_id:
        problem = f'its PAIR_ID is "{found}", and pair.toml makes "{options.spec.pair_id}"'
        path = options.folder.notebook(role)
        raise KernelUnfitError(path=path, problem=problem, remedy="Render both notebooks with `tandem generate`.")


def _owned(kernel: PreparedKernel, account: str, kaggle: Kaggle, pair: str) -> PreparedKernel:
    """The kernel under the account's name; only a local Kaggle takes kernels that are rendered for somebody else."""
    owner = kernel.push.ref.partition("/")[0]
    if owner == account:
        return kernel
    if not kaggle.is_local:
        shown = "nobody yet" if owner == PLACEHOLDER_OWNER else owner
        raise ChainError(
            f'The kernels of {printable(pair)} belong to "{printable(shown)}", and the credentials here to '
            f'"{printable(account)}". Render them for yourself: '
            f"`tandem generate --competition … --name {printable(pair)} --owner {printable(account)}`."
        )
    return owned_by(kernel, account, instead_of=owner)
