"""The plan of a push: which chain goes on, from which step, and which kernels are pushed. Nothing here asks Kaggle.

`tandem push` does what `LocalPair.plan` says, and `tandem push --dry-run` shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from generator.accelerators.catalog import Accelerator, AcceleratorKind, Service, catalog
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import ChainError, KernelUnfitError, NoChainError, StepFailedError, to_target
from generator.kaggle.chain.journal import Journal, Journals
from generator.kaggle.chain.options import PushOptions
from generator.kaggle.chain.prepared_kernel import PreparedKernel
from generator.kaggle.chain.replay import latest, state_in, taken_back
from generator.kaggle.chain.state import State, Step
from generator.kaggle.chain.trained_elsewhere import TrainedElsewhere
from generator.kaggle.connect import Target
from generator.pair.workspace import Role
from generator.untrusted import printable


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
    back_to: Step | None = None
    state: State = field(default_factory=State)
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
            found = kernel.parameters.get("PAIR_ID")
            if found is not None and found != options.spec.pair_id:
                problem = f'its PAIR_ID is "{found}", and pair.toml makes "{options.spec.pair_id}"'
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
            if back_to not in (None, Step.TRAIN):
                raise NoChainError(pair=self.options.pair, target=self.target, verb="go back in")
            return ChainPlan(self._due(State()))
        state = state_in(journal)
        is_changed = self._is_changed(state, Role.TRAIN)
        if is_changed and not self.options.may_train:
            raise ChainError(
                f"The training notebook of {self._name} is another one than its last chain pushed, and `tandem submit` "
                f"trains nothing anew; `tandem push {self._name}{to_target(self.target)} --submit` trains again."
            )
        if back_to is not None:
            self._check_inputs(state, back_to)
        elif state.failure is not None:
            back_to = self._changed_step(state)
        elif is_changed and state.is_at_rest:
            what = "The training notebook was changed" if self.elsewhere is None else f"{self._name} was trained anew"
            return ChainPlan(self._due(State()), reason=f"{what} since chain {journal.number}: a new chain begins.")
        else:
            self._check_unchanged(state)
        if back_to is not None:
            state = taken_back(state, back_to, handoff=self.handoff_behind(back_to))
        if self._is_other_handoff(state):
            back_to = Step.INFER
            state = taken_back(state, back_to, handoff=self.handoff_behind(back_to))
        return ChainPlan(self._due(state), journal, back_to, state)

    def handoff_behind(self, step: Step) -> str:
        """How the weights travel when a step is taken again; empty for as before."""
        return str(self.options.handoff or "") if step is not Step.SUBMIT else ""

    @property
    def _name(self) -> str:
        return printable(self.options.pair)

    def _due(self, state: State) -> tuple[Role, ...]:
        roles = tuple(Role) if self.elsewhere is None else (Role.INFER,)
        return tuple(role for role in roles if (push := state.pushes.get(role)) is None or push.is_open)

    def _check_inputs(self, state: State, step: Step) -> None:
        missing = ""
        if step is Step.INFER and state.trained is None:
            missing = "a training that ended well"
        if step is Step.SUBMIT and state.predicted is None:
            missing = "a submission to submit"
        if missing:
            raise ChainError(
                f"--from {step} needs {missing}, which this chain of {self._name} does not have; continue it with "
                f"`tandem push {self._name}{to_target(self.target)}`."
            )

    def _changed_step(self, state: State) -> Step:
        """The step to take again after a failure: only if something is different now."""
        failure = state.failure
        assert failure is not None  # noqa: S101 - asked for by the caller, for mypy
        if self._is_changed(state, Role.TRAIN):
            return Step.TRAIN
        if failure.step is not Step.TRAIN and self._is_changed(state, Role.INFER):
            return Step.INFER
        raise StepFailedError(pair=self.options.pair, target=self.target, step=failure.step, failure=failure.message)

    def _is_changed(self, state: State, role: Role) -> bool:
        if role is Role.TRAIN and self.elsewhere is not None:
            return state.trained is not None and not self.elsewhere.is_in(state)
        push = state.pushes.get(role)
        return push is not None and push.source != self.kernels[role].source

    def _check_unchanged(self, state: State) -> None:
        if self.elsewhere is not None and self._is_changed(state, Role.TRAIN):
            if Role.INFER in state.pushes:
                raise ChainError(
                    f"{self._name} was trained anew since its inference kernel was pushed. Say what is meant: "
                    "`--from infer` pushes inference again with this training; "
                    "`--restart` begins a new chain with it."
                )
            return
        train = "`--from train` pushes it again"
        if state.trained is not None and Role.TRAIN in state.pushes:
            train += f"; `--from infer` goes on with what version {state.pushes[Role.TRAIN].version} trained"
        infer = "`--from infer` pushes it again with the same training; `--restart` trains anew"
        for role, ways in ((Role.TRAIN, train), (Role.INFER, infer)):
            if self._is_changed(state, role):
                version = state.pushes[role].version
                raise ChainError(
                    f"The {role} notebook of {self._name} was changed since it was pushed as version {version}. Say "
                    f"what is meant: {ways}."
                )

    def _is_other_handoff(self, state: State) -> bool:
        """True if the weights of a training that is done are to travel in another way than the chain began with."""
        before, wanted = state.begun.handoff if state.begun else "", self.options.handoff
        if wanted is None or before == wanted:
            return False
        if Role.INFER in state.pushes:
            raise ChainError(
                f"The inference kernel of {self._name} was pushed with --handoff {before}; to push it again with "
                f"--handoff {wanted}, add --from infer."
            )
        return state.trained is not None


def accelerator_of(kernel: KernelPush) -> Accelerator | None:
    """What the session of a pushed kernel runs on; None if the catalog does not know its machine shape."""
    shape = "" if kernel.machine_shape == "Gpu" else kernel.machine_shape
    if not shape and (kernel.enable_tpu or kernel.enable_gpu or kernel.machine_shape):
        return catalog().training if kernel.enable_tpu else catalog().inference
    lent = {each.machine_shape: each for each in catalog().everything if each.service is Service.KAGGLE}
    return catalog().retired.get(shape) or lent.get(shape)


def cost(kernel: KernelPush, target: str) -> str:
    """What a push costs: the accelerator, and how long the session may last, which is taken from a week's quota."""
    accelerator = accelerator_of(kernel)
    if accelerator is None:
        return kernel.machine_shape
    name = "no accelerator" if accelerator.kind is AcceleratorKind.CPU else accelerator.name
    quota = " of quota" if accelerator.weekly_hours else ", without quota"
    return f"{name}, at most {accelerator.session_hours} h{'' if target == Target.LOCAL else quota}"
