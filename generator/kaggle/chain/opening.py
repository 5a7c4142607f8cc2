"""Which chain a command continues, or whether it begins a new one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from generator import __version__
from generator.competition import builtin
from generator.kaggle.chain.errors import (
    BuiltInError,
    ChangedError,
    HandoffChangedError,
    JournalDamagedError,
    JournalError,
    KernelUnfitError,
    NoChainError,
    NothingToGoBackToError,
    OwnerError,
    StepFailedError,
)
from generator.kaggle.chain.folding import state_in
from generator.kaggle.chain.journal import Journal, Journals, Kind
from generator.kaggle.chain.record import Record
from generator.kaggle.chain.request import Handoff, Request, Subject, Surroundings, git_commit
from generator.kaggle.chain.source import Prepared, owned_by, prepare
from generator.kaggle.chain.state import Begun, State, Step
from generator.kaggle.gateway import Kaggle
from generator.pair.owner import PLACEHOLDER_OWNER
from generator.pair.shared_cells import compare_shared_cells
from generator.pair.workspace import Role

_LOCAL = "local"


def target_name(kaggle: Kaggle) -> str:
    """What `--to` calls this Kaggle."""
    return _LOCAL if kaggle.is_local else "kaggle"


def check_exists(subject: Subject, target: str) -> None:
    """Makes sure that the competition is one of the Kaggle that is meant.

    Raises:
        BuiltInError: It is a built-in one, and that is the real Kaggle.
    """
    slug = subject.spec.competition.slug
    if target != _LOCAL and slug in builtin.BUILT_IN:
        raise BuiltInError(pair=subject.folder.name, competition=slug)


def latest(journals: Journals, target: str) -> Journal | None:
    """The newest chain of the pair on this Kaggle.

    Raises:
        JournalError: Which one that is cannot be said, or how far it has come.
    """
    for journal in reversed(journals.all()):
        state = state_in(journal)
        if state.begun is not None and state.begun.target == target:
            return journal
    return None


def has_chain(journals: Journals, target: str) -> bool:
    """Whether the pair has a chain on this Kaggle; one that cannot be gone by counts."""
    try:
        return latest(journals, target) is not None
    except JournalError:
        return True


def repair(journals: Journals, now: datetime) -> None:
    """Cuts damaged journals down to the lines before the damage, and notes that Kaggle knows more than they do."""
    for journal in journals.all():
        try:
            state_in(journal)
        except JournalDamagedError as error:
            journal.cut(error.line)
            if journal.has_begun:
                journal.append(Kind.REPAIRED, at=now, line=error.line)


def newest_version(journals: Journals, begun: Begun, ref: str) -> int:
    """The newest version of a kernel that any chain of the pair made on the Kaggle of this one; 0 if none did.

    A journal of an earlier chain that cannot be gone by does not count: what Kaggle has is asked for as well.
    """
    newest = 0
    for journal in journals.all():
        try:
            state = state_in(journal)
        except JournalError:
            continue
        # A local Kaggle may be another one each time, with nothing in it.
        if state.begun is not None and (state.begun.target, state.begun.address) == (begun.target, begun.address):
            pushes = (*state.pushes.values(), *state.earlier)
            newest = max([newest, *(push.version for push in pushes if push.ref == ref)])
    return newest


@dataclass(frozen=True)
class Opening:
    """A pair that is ready to be carried to a Kaggle."""

    kaggle: Kaggle
    request: Request
    subject: Subject
    kernels: Mapping[Role, Prepared]
    account: str

    @classmethod
    def of(cls, kaggle: Kaggle, request: Request) -> "Opening":
        """Checks everything that can be checked before anything is sent.

        Raises:
            ChainError: The pair cannot be pushed here.
            PairError: It cannot be read.
            KaggleError: Kaggle does not say whose the credentials are.
        """
        subject = Subject.of(request.workspace, request.pair)
        kernels = {role: prepare(subject.folder, role) for role in Role}
        check_exists(subject, target_name(kaggle))
        for role, kernel in kernels.items():
            _check_pair_id(subject, role, kernel)
        compare_shared_cells({subject.folder.notebook(role): kernel.push.text for role, kernel in kernels.items()})
        account = kaggle.username()
        kernels = {role: _owned(kernel, account, kaggle, request.pair) for role, kernel in kernels.items()}
        return cls(kaggle, request, subject, kernels, account)

    def record(self, journals: Journals, surroundings: Surroundings) -> Record:
        """The chain to go on with: the last one on this Kaggle, taken back as asked for, or a new one.

        Raises:
            ChainError: What is meant has to be said first.
        """
        if self.request.restart:
            return self._begin(journals.next(), surroundings)
        if self.request.repair:
            repair(journals, surroundings.clock.now())
        record = self._continued(journals, surroundings)
        if self.request.repair and not record.state.is_repaired:
            record.write(Kind.REPAIRED)
        return record

    def _continued(self, journals: Journals, surroundings: Surroundings) -> Record:
        journal = latest(journals, target_name(self.kaggle))
        if journal is None and self.request.back_to not in (None, Step.TRAIN):
            raise NoChainError(pair=self.request.pair, target=target_name(self.kaggle), verb="go back in")
        if journal is None:
            return self._begin(journals.next(), surroundings)
        record = Record(
            self.kaggle, journal, surroundings.listener, patience=surroundings.patience, clock=surroundings.clock
        )
        if self.request.back_to is not None:
            self._go_back(record, self.request.back_to)
        elif record.state.failure is not None:
            self._mend(record, record.state)
        elif self._is_changed(record.state, Role.TRAIN) and record.state.is_at_rest:
            return self._begin(journals.next(), surroundings)
        else:
            self._check_unchanged(record.state)
        self._check_handoff(record)
        return record

    def _begin(self, journal: Journal, surroundings: Surroundings) -> Record:
        record = Record(
            self.kaggle, journal, surroundings.listener, patience=surroundings.patience, clock=surroundings.clock
        )
        spec = self.subject.spec
        url = record.page(f"competitions/{spec.competition.slug}")
        found = record.read(spec.competition.slug, lambda: self.kaggle.competition(spec.competition.slug), url=url)
        if found.is_code_competition and self.kernels[Role.INFER].push.enable_internet:
            path = str(self.subject.folder.metadata(Role.INFER))
            problem = f"{found.slug} is a code competition, and this kernel has the internet switched on"
            raise KernelUnfitError(path=path, problem=problem, remedy='Set "enable_internet": false.')
        record.write(
            Kind.BEGUN,
            pair=self.request.pair,
            pair_id=spec.pair_id,
            target=target_name(self.kaggle),
            address=self.kaggle.address,
            account=self.account,
            competition=found.slug,
            title=found.title,
            is_code_competition=found.is_code_competition,
            handoff=str(self.request.handoff or Handoff.KERNEL),
            submission_file=spec.task.submission_file,
            commit=git_commit(self.subject.folder.path),
            parameters={str(role): kernel.parameters for role, kernel in self.kernels.items()},
            kit=__version__,
        )
        return record

    def _go_back(self, record: Record, step: Step) -> None:
        state = record.state
        if step is Step.INFER and state.trained is None:
            missing = "a training that ended well"
            raise self._nothing_for(step, missing=missing)
        if step is Step.SUBMIT and state.predicted is None:
            raise self._nothing_for(step, missing="a submission to submit")
        self._back(record, step)

    def _nothing_for(self, step: Step, *, missing: str) -> NothingToGoBackToError:
        target = target_name(self.kaggle)
        return NothingToGoBackToError(pair=self.request.pair, target=target, step=step, missing=missing)

    def _mend(self, record: Record, state: State) -> None:
        """A step that failed is taken again only if something is different now, or somebody says so."""
        assert state.failure is not None  # noqa: S101 - asked for by the caller, for mypy
        failed = state.failure.step
        if self._is_changed(state, Role.TRAIN):
            self._back(record, Step.TRAIN)
        elif failed is not Step.TRAIN and self._is_changed(state, Role.INFER):
            self._back(record, Step.INFER)
        else:
            target, failure = target_name(self.kaggle), state.failure.message
            raise StepFailedError(pair=self.request.pair, target=target, step=failed, failure=failure)

    def _back(self, record: Record, step: Step) -> None:
        handoff = {"handoff": str(self.request.handoff)} if self.request.handoff and step is not Step.SUBMIT else {}
        record.write(Kind.BACK, to=str(step), **handoff)

    def _is_changed(self, state: State, role: Role) -> bool:
        push = state.pushes.get(role)
        return push is not None and push.source != self.kernels[role].source

    def _check_unchanged(self, state: State) -> None:
        if self._is_changed(state, Role.TRAIN):
            options = "`--from train` pushes it again"
            if state.trained is not None:
                options += f"; `--from infer` goes on with what version {state.pushes[Role.TRAIN].version} trained"
            raise ChangedError(
                pair=self.request.pair, role=Role.TRAIN, version=state.pushes[Role.TRAIN].version, options=options
            )
        if self._is_changed(state, Role.INFER):
            options = "`--from infer` pushes it again with the same training; `--restart` trains anew"
            raise ChangedError(
                pair=self.request.pair, role=Role.INFER, version=state.pushes[Role.INFER].version, options=options
            )

    def _check_handoff(self, record: Record) -> None:
        begun, wanted = record.state.begun, self.request.handoff
        if begun is None or wanted is None or begun.handoff == wanted:
            return
        if Role.INFER in record.state.pushes:
            raise HandoffChangedError(pair=self.request.pair, before=begun.handoff, now=wanted)
        if record.state.trained is not None:
            self._back(record, Step.INFER)


def _check_pair_id(subject: Subject, role: Role, kernel: Prepared) -> None:
    found = kernel.parameters.get("PAIR_ID")
    if found is not None and found != subject.spec.pair_id:
        problem = f'its PAIR_ID is "{found}", and pair.toml makes "{subject.spec.pair_id}"'
        path = str(subject.folder.notebook(role))
        raise KernelUnfitError(path=path, problem=problem, remedy="Render both notebooks with `tandem generate`.")


def _owned(kernel: Prepared, account: str, kaggle: Kaggle, pair: str) -> Prepared:
    """The kernel under the account's name; only a local Kaggle takes kernels that are rendered for somebody else."""
    owner = kernel.push.ref.partition("/")[0]
    if owner == account:
        return kernel
    if not kaggle.is_local:
        shown = "nobody yet" if owner == PLACEHOLDER_OWNER else owner
        raise OwnerError(pair=pair, owner=shown, account=account)
    return owned_by(kernel, account, instead_of=owner)
