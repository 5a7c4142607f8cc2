"""Resuming: what is checked before a command continues a chain or begins one, as the plan says."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from generator import __version__
from generator.competition import builtin
from generator.kaggle.chain.errors import ChainError
from generator.kaggle.chain.execution import ChainExecution, RunContext
from generator.kaggle.chain.git import git_commit
from generator.kaggle.chain.journal import Journals, Kind
from generator.kaggle.chain.options import Handoff, PushOptions
from generator.kaggle.chain.plan import LocalPair, cost
from generator.kaggle.chain.prepared_kernel import PreparedKernel, check_fit, owned_by, prepare
from generator.kaggle.chain.replay import repair
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
    local: LocalPair
    kernels: Mapping[Role, PreparedKernel]
    account: str

    @classmethod
    def of(cls, kaggle: Kaggle, options: PushOptions) -> "CheckedPair":
        """Checks everything that can be checked before anything is sent.

        Raises:
            ChainError: The pair cannot be pushed here.
            PairError: It cannot be read.
            KaggleError: Kaggle does not say whose the credentials are.
        """
        kernels = {role: prepare(options.folder, role, verify=options.verify, allow=options.allow) for role in Role}
        check_exists(options, target_of(kaggle))
        local = LocalPair.of(options, target_of(kaggle), kernels)
        account = kaggle.username()
        owned = {role: _owned(kernel, account, kaggle, options.pair) for role, kernel in kernels.items()}
        return cls(kaggle, local, owned, account)

    @property
    def options(self) -> PushOptions:
        """What is asked for."""
        return self.local.options

    @property
    def elsewhere(self) -> TrainedElsewhere | None:
        """The training, if it did not run on Kaggle."""
        return self.local.elsewhere

    def resumed(self, journals: Journals, context: RunContext) -> ChainExecution:
        """The chain to go on with: the last one on this Kaggle, taken back as asked for, or a new one.

        Raises:
            ChainError: What is meant has to be said first.
        """
        is_repair = self.options.repair and not self.options.restart
        if is_repair:
            repair(journals, context.clock.now())
        plan = self.local.plan(journals)
        if plan.journal is None:
            chain = self._begin(journals, context)
        else:
            chain = ChainExecution(self.kaggle, plan.journal, context)
        if plan.back_to is not None:
            handoff = self.local.handoff_behind(plan.back_to)
            chain.write(Kind.BACK, to=str(plan.back_to), **({"handoff": handoff} if handoff else {}))
        if is_repair and not chain.state.is_repaired:
            chain.write(Kind.REPAIRED)
        if plan.reason:
            chain.tell(plan.pushes[0], plan.reason)
        for role in plan.pushes:
            kernel = self.kernels[role].push
            chain.tell(role, f"to be pushed: {kernel.ref} ({cost(kernel, self.local.target)})")
        return chain

    def _begin(self, journals: Journals, context: RunContext) -> ChainExecution:
        chain = ChainExecution(self.kaggle, journals.next(), context)
        spec, folder = self.options.spec, self.options.folder
        slug = spec.competition.slug
        found = chain.read(slug, lambda: self.kaggle.competition(slug), url=chain.page(f"competitions/{slug}"))
        if found.is_code_competition and self.options.verify:
            inference = self.kernels[Role.INFER].checked
            if not inference.needs_internet_off:  # pair.toml does not know it
                offline = replace(inference, needs_internet_off=True)
                check_fit(offline, pair=self.options.pair, allow=self.options.allow)
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
