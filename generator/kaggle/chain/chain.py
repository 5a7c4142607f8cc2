"""The story of a chain: train, verify, hand over, infer, validate, submit, score."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from generator import __version__
from generator.accelerators import Accelerator, AcceleratorKind, Service, catalog
from generator.competition import builtin
from generator.competition.tables.formats import table_format
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import (
    ChainError,
    KernelUnfitError,
    NoChainError,
    SessionFailedError,
    StepError,
    StepFailedError,
    SubmissionUnfitError,
    to_target,
)
from generator.kaggle.chain.execution import ChainExecution, Handoff, PushOptions, RunContext
from generator.kaggle.chain.inputs import KernelHistory, PreparedKernel, check_fit, git_commit, owned_by, prepare
from generator.kaggle.chain.journal import (
    ChainState,
    ChainStep,
    EntryKind,
    EventKind,
    Journal,
    Journals,
    latest,
    newest_version,
    repair,
    state_in,
    taken_back,
)
from generator.kaggle.chain.steps import (
    MARKER,
    KernelSession,
    KernelVersion,
    TaggedSubmission,
    TrainedElsewhere,
    check_accelerator,
    check_failed_session,
    check_handover,
    check_submission,
    describe_accelerator,
    fetch_sample,
    file_digest,
    handover_summary,
    way_to_continue,
    whole_handover,
    with_handover,
    with_wheels,
)
from generator.kaggle.connect import Target
from generator.kaggle.errors import KaggleError
from generator.kaggle.gateway import Kaggle
from generator.pair.choices import PLACEHOLDER_OWNER
from generator.pair.handover import FILE_NAME as HANDOVER
from generator.pair.handover import DamagedError, HandOver, read_json_object
from generator.pair.workspace import Role
from generator.text import JsonObject, printable

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
                f"does not train. To train again: `tandem push {self._name}{to_target(self.target)} --submit`."
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
                f"--from {step} needs {missing}, which this chain of {self._name} does not have. Continue it with "
                f"`tandem push {self._name}{to_target(self.target)}`."
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
                    "`--restart` starts a new chain with it."
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
                    f"The {role} notebook of {self._name} was changed after its push as version {version}. "
                    f"Choose one: {ways}."
                )

    def _is_other_handoff(self, state: ChainState) -> bool:
        """True if the weights of a training that is done are to travel in another way than the chain began with."""
        before, handoff = state.setup.handoff if state.setup else "", self.options.handoff
        if handoff is None or before == handoff:
            return False
        if Role.INFER in state.pushes:
            raise ChainError(
                f"The inference kernel of {self._name} was pushed with --handoff {before}. To push it again with "
                f"--handoff {handoff}, add --from infer."
            )
        return state.training is not None


def accelerator_of(kernel: KernelPush) -> Accelerator | None:
    """What the session of a pushed kernel runs on; None if the catalog does not know its machine shape."""
    shape = "" if kernel.machine_shape == "Gpu" else kernel.machine_shape
    if not shape and (kernel.enable_tpu or kernel.enable_gpu or kernel.machine_shape):
        return catalog().training if kernel.enable_tpu else catalog().inference
    accelerators = {
        accelerator.machine_shape: accelerator
        for accelerator in catalog().all_accelerators
        if accelerator.service is Service.KAGGLE
    }
    return catalog().replacements.get(shape) or accelerators.get(shape)


def cost(kernel: KernelPush, target: str) -> str:
    """What a push costs: the accelerator, and how long the session may last, which is taken from a week's quota."""
    accelerator = accelerator_of(kernel)
    if accelerator is None:
        return kernel.machine_shape
    name = "no accelerator" if accelerator.kind is AcceleratorKind.CPU else accelerator.name
    quota = " of quota" if accelerator.weekly_hours else ", without quota"
    return f"{name}, at most {accelerator.session_hours} h{'' if target == Target.LOCAL else quota}"


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
            f'"{printable(slug)}" is a built-in competition: it exists only on a local Kaggle. Start one with '
            f"`tandem serve`, and push there: `tandem push {printable(options.pair)} --to local`."
        )


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
        kernels = {role: prepare(options.folder, role, verify=options.verify, allow=options.allow) for role in Role}
        check_exists(options, target_of(kaggle))
        local = LocalPair.of(options, target_of(kaggle), kernels)
        account = kaggle.username()
        account_kernels = {
            role: _assign_owner(kernel, account, kaggle, options.pair) for role, kernel in kernels.items()
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

    def resume(self, journals: Journals, context: RunContext) -> ChainExecution:
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
            chain.write(EntryKind.BACK, to=str(plan.back_to), **({"handoff": handoff} if handoff else {}))
        if is_repair and not chain.state.is_repaired:
            chain.write(EntryKind.REPAIRED)
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
        facts = chain.read(slug, lambda: self.kaggle.competitions.facts(slug), url=chain.page(f"competitions/{slug}"))
        if facts.is_code_competition and self.options.verify:
            inference = self.kernels[Role.INFER].kernel_source
            if not inference.needs_internet_off:  # pair.toml does not know it
                offline = replace(inference, needs_internet_off=True)
                check_fit(offline, pair=self.options.pair, allow=self.options.allow)
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


def _assign_owner(kernel: PreparedKernel, account: str, kaggle: Kaggle, pair: str) -> PreparedKernel:
    """The kernel under the account's name; only a local Kaggle takes kernels that are rendered for somebody else."""
    owner = kernel.push.ref.partition("/")[0]
    if owner == account:
        return kernel
    if not kaggle.is_local:
        owner_name = "nobody yet" if owner == PLACEHOLDER_OWNER else owner
        raise ChainError(
            f'The kernels of {printable(pair)} belong to "{printable(owner_name)}", and the credentials here to '
            f'"{printable(account)}". Render them for yourself: '
            f"`tandem generate --competition … --name {printable(pair)} --owner {printable(account)}`."
        )
    return owned_by(kernel, account, instead_of=owner)


@dataclass(frozen=True)
class ChainResult:
    """A chain as a command left it; `has_advanced` says whether there was anything to do."""

    journal: Journal
    state: ChainState
    has_advanced: bool


def push_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """Carries a pair as far as asked for, from wherever the last command left it.

    Args:
        kaggle: Where to.
        options: What is asked for.
        context: Who is told, how long it waits, and by which clocks.

    Returns:
        The chain, with all that was asked for done.

    Raises:
        ChainError: It cannot go on by itself.
        KaggleError: Kaggle refuses.
        PairError: The pair cannot be read.
    """
    pair = ChainPair.of(kaggle, options)
    journals = Journals(options.folder)
    with journals.lock():
        chain = pair.resume(journals, context or RunContext())
        for role in Role:
            chain.folder(role)  # what cannot be written is said before anything is sent
        before = len(chain.journal.entries())
        _Story(pair, chain, journals).carry()
        has_advanced = len(chain.journal.entries()) > before
    return ChainResult(chain.journal, chain.state, has_advanced)


def submit_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """As `push_pair` with `submit`, for a chain that has begun; nothing is trained anew.

    Raises:
        NoChainError: There is none.
        ChainError: The training notebook changed since.
    """
    if latest(Journals(options.folder), target_of(kaggle)) is None:
        raise NoChainError(pair=options.pair, target=target_of(kaggle), verb="submit")
    return push_pair(kaggle, replace(options, submit=True, may_train=False), context)


class _Story:
    def __init__(self, pair: ChainPair, chain: ChainExecution, journals: Journals) -> None:
        self._pair = pair
        self._chain = chain
        self._journals = journals
        self._options = pair.options
        self._setup = chain.setup
        self._sessions = {role: KernelSession(chain, role, show_log=self._options.show_log) for role in Role}

    def carry(self) -> None:
        if not self._chain.state.quotas:
            self._note_quota()
        if self._pair.elsewhere is None:
            self._push(Role.TRAIN)
            if self._chain.state.training is None:
                self._check_training()
        elif not self._pair.elsewhere.is_in(self._chain.state):
            self._write_trained(self._pair.elsewhere.marker, self._pair.elsewhere.handover)
        self._push(Role.INFER)
        if self._chain.state.prediction is None:
            self._check_submission()
        if self._options.submit and self._chain.state.score is None:
            file = self._restored_submission()
            submission = TaggedSubmission(self._chain, file=file, message=self._options.message)
            submission.wait(submission.execute())
        if self._chain.state.score is not None and not self._chain.state.is_finished:
            self._note_quota()
            self._chain.write(EntryKind.FINISHED)

    def _push(self, role: Role) -> None:
        current = self._chain.state.pushes.get(role)
        if current is not None and not current.is_open:
            return
        kernel = self._pair.kernels[role].push
        if role is Role.TRAIN and current is None and not self._options.over_edits:
            # Said before hours of training, not behind them.
            self._version(Role.INFER, self._pair.kernels[Role.INFER].push).check_unedited()
        if role is Role.INFER:
            training_kernel = self._pair.kernels[Role.TRAIN].push.ref
            kernel = with_handover(self._chain, kernel, training_kernel=training_kernel, elsewhere=self._pair.elsewhere)
            if self._options.offline_wheels:
                kernel = with_wheels(self._chain, kernel)
        if kernel.ref in kernel.kernel_sources and not newest_version(self._journals, self._setup, kernel.ref):
            kernel = self._without_itself(kernel)
        self._version(role, kernel).execute()

    def _version(self, role: Role, kernel: KernelPush) -> KernelVersion:
        return KernelVersion(
            self._chain,
            role,
            kernel,
            source=self._pair.kernels[role].source,
            known_version=newest_version(self._journals, self._setup, kernel.ref),
            history=KernelHistory(self._options.folder, self._journals),
            options=self._options,
        )

    def _without_itself(self, kernel: KernelPush) -> KernelPush:
        """The kernel without its own output among its sources, unless Kaggle has the kernel already."""
        url = self._chain.page(f"code/{kernel.ref}")
        if self._chain.read(f"the kernel {kernel.ref}", lambda: self._pair.kaggle.kernels.find(kernel.ref), url=url):
            return kernel
        return replace(kernel, kernel_sources=tuple(source for source in kernel.kernel_sources if source != kernel.ref))

    def _check_training(self) -> None:
        session, accelerator = self._sessions[Role.TRAIN], self._pair.kernels[Role.TRAIN].wants
        try:
            listing = {file.name: file for file in session.wait([MARKER, HANDOVER]).files}
        except SessionFailedError as error:
            raise self._chain.fail(ChainStep.TRAIN, self._why_training_failed(session, error, accelerator)) from error
        marker = session.fetch(MARKER, read_json_object)
        handover = session.fetch(HANDOVER, whole_handover)
        with self._failures_kept(ChainStep.TRAIN):
            check_accelerator(
                marker, accelerator=accelerator, is_local=self._pair.kaggle.is_local, url=session.push.url
            )
            go_on = way_to_continue(self._options, target=self._setup.target)
            check_handover(handover, pair_id=self._setup.pair_id, listing=listing, if_interrupted=go_on)
        self._write_trained(marker, handover)

    def _write_trained(self, marker: JsonObject, handover: HandOver) -> None:
        record, accelerator, score = handover_summary(handover), describe_accelerator(marker), handover.out_of_fold
        self._chain.write(EntryKind.TRAINED, accelerator=marker, handover=record)
        score_text = "" if score is None else f", out-of-fold {score.metric} {score.value:.4f}"
        text = f"trained on {accelerator}{score_text}; the hand-over is whole"
        fields = {"accelerator": accelerator, "out_of_fold": record["out_of_fold"]}
        self._chain.tell(Role.TRAIN, text, kind=EventKind.STEP, **fields)

    def _why_training_failed(self, session: KernelSession, error: SessionFailedError, accelerator: str) -> StepError:
        """The error of a session that failed; one that ended for want of its accelerator says so in its marker."""
        try:
            files = self._pair.kaggle.kernels.output(session.push.ref, session.push.version).files
            if all(file.name != MARKER for file in files):
                return error
            marker = session.fetch(MARKER, read_json_object)
            return check_failed_session(marker, accelerator=accelerator, url=session.push.url) or error
        except (KaggleError, StepError):
            return error

    def _check_submission(self) -> None:
        session, name = self._sessions[Role.INFER], self._setup.submission_file
        try:
            session.wait([name])
        except SessionFailedError as error:
            raise self._chain.fail(ChainStep.INFER, error) from error
        sample = fetch_sample(self._chain, self._options)
        with self._failures_kept(ChainStep.INFER):
            handover_summary = session.fetch(
                name,
                lambda path: check_submission(path, sample, self._options),
                failure=lambda problem: SubmissionUnfitError(problem=problem),
            )
        digest, size = file_digest(session.file(name)), session.file(name).stat().st_size
        self._chain.write(EntryKind.PREDICTED, file=name, rows=handover_summary.rows, bytes=size, sha256=digest)
        text = f"{name} has {handover_summary.rows:,} rows, and has the format of the competition"
        if not handover_summary.columns:
            is_known = table_format(name).format is not None
            reason = "pyarrow is not installed" if is_known else "the kit does not read this format"
            text = f"{name} has {size:,} bytes; its rows were not checked, since {reason}"
        self._chain.tell(Role.INFER, text, kind=EventKind.STEP, rows=handover_summary.rows, sha256=digest)

    def _restored_submission(self) -> Path:
        """The file that was checked, fetched again if somebody removed or changed it since."""
        session, name = self._sessions[Role.INFER], self._setup.submission_file
        digest = self._chain.state.prediction.text("sha256") if self._chain.state.prediction is not None else ""

        def check(path: Path) -> None:
            if file_digest(path) != digest:
                raise DamagedError(f"it is not the file of version {session.push.version} that was checked")

        file = session.file(name)
        if not file.is_file() or file_digest(file) != digest:
            session.fetch(name, check)
        return file

    def _note_quota(self) -> None:
        """Accelerator hours are good to know, and nothing to fail for."""
        try:
            quota = self._pair.kaggle.kernels.quota()
        except KaggleError as error:
            self._chain.tell("quota", f"The quota cannot be read: {error.message}")
            return
        gpu, tpu = quota.gpu_used.total_seconds(), quota.tpu_used.total_seconds()
        self._chain.write(EntryKind.QUOTA, gpu=gpu, tpu=tpu)
        left = (quota.tpu_allowed - quota.tpu_used).total_seconds() / 3600
        self._chain.tell("quota", f"{left:.1f} hours of TPU are left this week", gpu_seconds=gpu, tpu_seconds=tpu)

    @contextmanager
    def _failures_kept(self, step: ChainStep) -> Iterator[None]:
        """Writes down what goes wrong with a step, unless that was done already."""
        try:
            yield
        except StepError as error:
            if self._chain.state.failure is None:
                self._chain.fail(step, error)
            raise
