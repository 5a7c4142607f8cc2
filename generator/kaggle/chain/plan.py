"""Before a push: what it does with the chains that there are, and the checks that come before anything is sent."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from generator import __version__
from generator.accelerators import AcceleratorKind
from generator.competition import builtin
from generator.kaggle.chain.budget import forecasts
from generator.kaggle.chain.errors import ChainError, KernelUnfitError, NoChainError, StepFailedError, to_target
from generator.kaggle.chain.execution import ChainExecution, Handoff, PushOptions, RunContext
from generator.kaggle.chain.inputs import PreparedKernel, accelerator_of, check_offline, prepare, with_owner
from generator.kaggle.chain.journal import (
    ChainState,
    ChainStep,
    EntryKind,
    Journal,
    Journals,
    has_chain,
    latest,
    repair,
    state_in,
    taken_back,
)
from generator.kaggle.chain.training import TrainedElsewhere
from generator.kaggle.gateway import Kaggle, Target
from generator.pair.workspace import Role, git_commit
from generator.text import printable

# The plan of a push: which chain goes on, from which step, and which kernels are pushed. Nothing here asks Kaggle.
#
# `tandem push` does what `LocalPair.plan` says, and `tandem push --dry-run` shows it.


@dataclass(frozen=True)
class ChainPlan:
    """What a push does with the chains that there are.

    Attributes:
        pushes: The kernels that are pushed, in their order.
        journal: The chain that goes on; None if a new one begins.
        back_to: The step that it is taken back to first, if any.
        state: What it has come to then.
        reason: Why a new chain begins although none was asked for; empty if that is not so.
    """

    pushes: tuple[Role, ...]
    journal: Journal | None = None
    back_to: ChainStep | None = None
    state: ChainState = field(default_factory=ChainState)
    reason: str = ""

    @property
    def versions_that_stay(self) -> dict[Role, int]:
        """The versions that were pushed before and that the chain goes on with."""
        return {role: push.version for role, push in self.state.pushes.items() if not push.is_open}


@dataclass(frozen=True)
class LocalPair:
    """A pair that can be pushed, as far as that can be said without asking Kaggle; `target` is `local` or `kaggle`."""

    options: PushOptions
    target: str
    kernels: Mapping[Role, PreparedKernel]
    elsewhere: TrainedElsewhere | None

    @classmethod
    def of(cls, options: PushOptions, target: str, kernels: Mapping[Role, PreparedKernel]) -> "LocalPair":
        """Checks that the kernels are those of the pair, and reads a training that did not run on Kaggle.

        Raises:
            ChainError: They are not, or there is no such training.
        """
        for role, kernel in kernels.items():
            pair_id = kernel.parameters.get("PAIR_ID")
            if pair_id is not None and pair_id != options.spec.pair_id:
                problem = f'its PAIR_ID is "{pair_id}", and pair.toml makes "{options.spec.pair_id}"'
                path = options.folder.notebook(role)
                raise KernelUnfitError(
                    path=path, problem=problem, remedy="Render both notebooks with `tandem generate`."
                )
        return cls(options, target, kernels, TrainedElsewhere.of(options))

    def plan(self, journals: Journals) -> ChainPlan:
        """Decides what a push does.

        Raises:
            ChainError: What is meant has to be said first.
        """
        back_to = self.options.back_to
        journal = None if self.options.restart else latest(journals, self.target)
        if journal is None:
            if back_to not in (None, ChainStep.TRAIN):
                raise NoChainError(pair=self.options.pair, target=self.target, verb="repeat")
            return ChainPlan(self._due(ChainState()))
        state = state_in(journal)
        is_changed = self._is_changed(state, Role.TRAIN)
        if is_changed and not self.options.may_train:
            raise ChainError(
                f"The training notebook of {self._name} has changed since its last push, and `tandem submit` "
                f"does not train.",
                remedy=f"To train again: `tandem push {self._name}{to_target(self.target)} --submit`.",
                code="training-changed",
            )
        if back_to is not None:
            self._check_inputs(state, back_to)
        elif state.failure is not None:
            back_to = self._changed_step(state)
        elif is_changed and state.is_at_rest:
            change = (
                "The training notebook was changed" if self.elsewhere is None else f"{self._name} was trained again"
            )
            return ChainPlan(
                self._due(ChainState()), reason=f"{change} since chain {journal.number}. A new chain starts."
            )
        else:
            self._check_unchanged(state)
        if back_to is not None:
            state = taken_back(state, back_to, handoff=self.handoff_behind(back_to))
        if self._is_other_handoff(state):
            back_to = ChainStep.INFER
            state = taken_back(state, back_to, handoff=self.handoff_behind(back_to))
        return ChainPlan(self._due(state), journal, back_to, state)

    def handoff_behind(self, step: ChainStep) -> str:
        """How the weights travel when a step is taken again; empty for as before."""
        return str(self.options.handoff or "") if step is not ChainStep.SUBMIT else ""

    @property
    def _name(self) -> str:
        return printable(self.options.pair)

    def _due(self, state: ChainState) -> tuple[Role, ...]:
        roles = tuple(Role) if self.elsewhere is None else (Role.INFER,)
        return tuple(role for role in roles if (push := state.pushes.get(role)) is None or push.is_open)

    def _check_inputs(self, state: ChainState, step: ChainStep) -> None:
        missing = ""
        if step is ChainStep.INFER and state.training is None:
            missing = "a completed training"
        if step is ChainStep.SUBMIT and state.prediction is None:
            missing = "a submission to submit"
        if missing:
            raise ChainError(
                f"--from {step} needs {missing}, which this chain of {self._name} does not have.",
                remedy=f"Continue it with `tandem push {self._name}{to_target(self.target)}`.",
                code="step-impossible",
            )

    def _changed_step(self, state: ChainState) -> ChainStep:
        """The step to take again after a failure: only if something is different now."""
        failure = state.failure
        assert failure is not None  # noqa: S101 - asked for by the caller, for mypy
        if self._is_changed(state, Role.TRAIN):
            return ChainStep.TRAIN
        if failure.step is not ChainStep.TRAIN and self._is_changed(state, Role.INFER):
            return ChainStep.INFER
        raise StepFailedError(pair=self.options.pair, target=self.target, step=failure.step, failure=failure.message)

    def _is_changed(self, state: ChainState, role: Role) -> bool:
        if role is Role.TRAIN and self.elsewhere is not None:
            return state.training is not None and not self.elsewhere.is_in(state)
        push = state.pushes.get(role)
        return push is not None and push.source != self.kernels[role].source

    def _check_unchanged(self, state: ChainState) -> None:
        if self.elsewhere is not None and self._is_changed(state, Role.TRAIN):
            if Role.INFER in state.pushes:
                raise ChainError(
                    f"{self._name} was trained again after the push of its inference kernel. Choose one: "
                    "`--from infer` pushes inference again with this training; "
                    "`--restart` starts a new chain with it.",
                    code="training-changed",
                )
            return
        train = "`--from train` pushes it again"
        if state.training is not None and Role.TRAIN in state.pushes:
            train += f"; `--from infer` continues with the training of version {state.pushes[Role.TRAIN].version}"
        infer = "`--from infer` pushes it again with the same training; `--restart` trains again"
        for role, ways in ((Role.TRAIN, train), (Role.INFER, infer)):
            if self._is_changed(state, role):
                version = state.pushes[role].version
                raise ChainError(
                    f"The {role} notebook of {self._name} was changed after its push as version {version}.",
                    remedy=f"Choose one: {ways}.",
                    code="notebook-changed",
                )

    def _is_other_handoff(self, state: ChainState) -> bool:
        """True if the weights of a training that is done are to travel in another way than the chain began with."""
        before, handoff = state.setup.handoff if state.setup else "", self.options.handoff
        if handoff is None or before == handoff:
            return False
        if Role.INFER in state.pushes:
            raise ChainError(
                f"The inference kernel of {self._name} was pushed with --handoff {before}.",
                remedy=f"To push it again with --handoff {handoff}, add --from infer.",
                code="handoff-differs",
            )
        return state.training is not None


# Resuming: what is checked before a command continues a chain or begins one, as the plan says.


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
            f'"{printable(slug)}" is a built-in competition: it exists only on a local Kaggle.',
            remedy=f"Start one with "
            f"`tandem serve`, and push there: `tandem push {printable(options.pair)} --to local`.",
            code="competition-only-local",
        )


def prepare_kernels(options: PushOptions, target: str) -> dict[Role, PreparedKernel]:
    """Both kernels, made sure to be fit before anything is asked or sent.

    Raises:
        ChainError: One is not, or the competition is not one of this Kaggle.
        FileReadError: A file is missing.
    """
    check_exists(options, target)
    kernels = {role: prepare(options.folder, role, verify=options.verify, allow=options.allow) for role in Role}
    times = forecasts(options, target, kernels, Journals(options.folder))
    return {role: replace(kernel, forecast=times[role]) for role, kernel in kernels.items()}


@dataclass(frozen=True)
class ChainPair:
    """A pair that is ready to be carried to a Kaggle."""

    kaggle: Kaggle
    local: LocalPair
    kernels: Mapping[Role, PreparedKernel]
    account: str

    @classmethod
    def of(cls, kaggle: Kaggle, options: PushOptions) -> "ChainPair":
        """Checks everything that can be checked before anything is sent.

        Raises:
            ChainError: The pair cannot be pushed here.
            PairError: It cannot be read.
            KaggleError: Kaggle does not say whose the credentials are.
        """
        target = target_of(kaggle)
        if not options.may_train and latest(Journals(options.folder), target) is None:
            raise NoChainError(pair=options.pair, target=target, verb="submit")
        kernels = prepare_kernels(options, target)
        local = LocalPair.of(options, target, kernels)
        account = kaggle.username()
        account_kernels = {
            role: with_owner(kernel, account, is_local=kaggle.is_local, pair=options.pair)
            for role, kernel in kernels.items()
        }
        return cls(kaggle, local, account_kernels, account)

    @property
    def options(self) -> PushOptions:
        """What is asked for."""
        return self.local.options

    @property
    def elsewhere(self) -> TrainedElsewhere | None:
        """The training, if it did not run on Kaggle."""
        return self.local.elsewhere

    @property
    def accelerator_kinds(self) -> frozenset[AcceleratorKind]:
        """The kinds of accelerator that the sessions of both kernels have."""
        accelerators = [accelerator_of(kernel.push) for kernel in self.kernels.values()]
        return frozenset(accelerator.kind for accelerator in accelerators if accelerator is not None)

    @cached_property
    def journals(self) -> Journals:
        """All chains of the pair."""
        return Journals(self.options.folder)

    @contextmanager
    def resume(self, context: RunContext) -> Iterator[ChainExecution]:
        """The chain to go on with: the last one on this Kaggle, taken back as asked for, or a new one.

        No other command goes on with a chain of the pair meanwhile.

        Raises:
            ChainError: What is meant has to be said first.
        """
        with self.journals.lock():
            yield self._continue(self.journals, context)

    def _continue(self, journals: Journals, context: RunContext) -> ChainExecution:
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
            chain.write(EntryKind.BACK, to=str(plan.back_to), **({"handoff": handoff} if handoff else {}))
        if is_repair and not chain.state.is_repaired:
            chain.write(EntryKind.REPAIRED)
        if plan.reason:
            chain.tell(plan.pushes[0], plan.reason)
        for role in plan.pushes:
            kernel = self.kernels[role]
            chain.tell(role, f"to be pushed: {kernel.push.ref} ({kernel.cost(is_local=self.kaggle.is_local)})")
            chain.tell(role, kernel.forecast.limit_in_words)
        return chain

    def _begin(self, journals: Journals, context: RunContext) -> ChainExecution:
        chain = ChainExecution(self.kaggle, journals.next(), context)
        spec, folder = self.options.spec, self.options.folder
        slug = spec.competition.slug
        facts = chain.read(slug, lambda: self.kaggle.competitions.facts(slug), url=chain.page(f"competitions/{slug}"))
        if facts.is_code_competition and self.options.verify:
            check_offline(self.kernels[Role.INFER], pair=self.options.pair, allow=self.options.allow)
        chain.write(
            EntryKind.BEGUN,
            pair=self.options.pair,
            pair_id=spec.pair_id,
            target=target_of(self.kaggle),
            address=self.kaggle.address,
            account=self.account,
            competition=facts.slug,
            title=facts.title,
            is_code_competition=facts.is_code_competition,
            handoff=str(self.options.handoff or (Handoff.DATASET if self.elsewhere else Handoff.KERNEL)),
            submission_file=spec.task.submission_file,
            commit=git_commit(folder.path),
            parameters={str(role): kernel.parameters for role, kernel in self.kernels.items()},
            kit=__version__,
        )
        return chain


# What a command shows before it sends anything.


def plan_push(options: PushOptions, target: str, kernels: Mapping[Role, PreparedKernel]) -> ChainPlan:
    """Decides what a push would do, without asking Kaggle.

    Raises:
        ChainError: What is meant has to be said first.
    """
    return LocalPair.of(options, target, kernels).plan(Journals(options.folder))


def has_pushes(options: PushOptions, target: str) -> bool:
    """True if a chain of the pair on this Kaggle has begun."""
    return has_chain(Journals(options.folder), target)


def first_sessions(options: PushOptions, kernels: Mapping[Role, PreparedKernel]) -> list[str]:
    """The kernels that a first push to the real Kaggle starts, each with what it costs."""
    # Inference alone, where training ran elsewhere.
    roles = [Role.INFER] if options.spec.handover_dataset else list(Role)
    return [f"{kernels[role].push.ref} ({kernels[role].cost(is_local=False)})" for role in roles]
