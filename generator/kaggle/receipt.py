"""Receipts: the record of a pair's chains, and a workflow that pushes a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from generator.accelerators import catalog
from generator.errors import PairError
from generator.files import read_text
from generator.kaggle.chain.errors import JournalError
from generator.kaggle.chain.journal import ChainState, Journal, Journals, Outcome, Push, QuotaSeen, state_in
from generator.kaggle.chain.training import describe_accelerator
from generator.kit_files import PageTemplates
from generator.pair.handover import PromisedFile, promised_files
from generator.pair.workspace import Role, Workspace
from generator.text import JsonObject, is_slug, markdown, markdown_code, printable, storable

_SETUP_FIELDS = ("pair", "target", "account", "competition", "title", "commit", "kit", "handoff")


@dataclass(frozen=True)
class KernelLine:
    """One version of a kernel that the chain pushed.

    Attributes:
        role: train or infer.
        ref: The kernel, as OWNER/NAME.
        version: The version.
        url: Its page.
        asked_for: The accelerator that was asked for.
        state: The last known state of its session.
        queued_minutes: How long it waited.
        ran_minutes: How long it ran.
        limit_minutes: The limit that its push sent; null for none.
        replaced: Whether a later version took its place.
    """

    role: str
    ref: str
    version: int
    url: str
    asked_for: str
    state: str
    queued_minutes: float | None
    ran_minutes: float | None
    limit_minutes: float | None
    replaced: bool


@dataclass(frozen=True)
class ChainReceipt:
    """One chain: a push from training to score. Texts are untrusted, and empty where nothing is known.

    Attributes:
        chain: Its number.
        pair: The pair.
        target: The Kaggle that it was pushed to: kaggle or local.
        account: The account.
        competition: The competition.
        title: The competition's title.
        outcome: How far it came.
        failure: The message of the error that stopped it.
        begun: The time of the journal's first entry.
        last: The time of its last entry.
        minutes: The time between both.
        commit: The commit of the repository that the workspace is in.
        kit: The version of Tandem.
        handoff: How inference gets the weights.
        parameters: The parameters of each notebook by role.
        kernels: The versions that were pushed.
        accelerator: What training ran on.
        is_emulated: Whether that was emulated by a local Kaggle.
        versions: The package versions of the training.
        metric: The metric of the out-of-fold score.
        out_of_fold: The score that training measured.
        public: The score on the public leaderboard.
        private: The score on the private leaderboard.
        submission: The number of the submission; 0 if there is none.
        submission_sha256: The SHA-256 of the submission file.
        submission_rows: Its rows.
        files: The files of the hand-over.
        uploads: The datasets and models that were uploaded.
        gpu_hours: GPU hours of the account that were used meanwhile.
        tpu_hours: TPU hours of the account that were used meanwhile.
        by_hand_page: The page on which to submit by hand.
        by_hand_button: The button to press there.
    """

    chain: int
    pair: str
    target: str
    account: str
    competition: str
    title: str
    outcome: Outcome
    failure: str
    begun: datetime | None
    last: datetime | None
    commit: str
    kit: str
    handoff: str
    parameters: Mapping[str, Mapping[str, Any]]
    kernels: tuple[KernelLine, ...]
    accelerator: str
    is_emulated: bool
    versions: Mapping[str, str]
    metric: str
    out_of_fold: float | None
    public: float | None
    private: float | None
    submission: int
    submission_sha256: str
    submission_rows: int
    files: tuple[PromisedFile, ...]
    uploads: tuple[str, ...]
    gpu_hours: float | None
    tpu_hours: float | None
    by_hand_page: str
    by_hand_button: str
    minutes: float | None

    @property
    def is_ready(self) -> bool:
        """True if the chain has a submission that was not submitted."""
        return self.outcome is Outcome.READY

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values, for programs."""
        return {
            **vars(self),
            "begun": self.begun.isoformat() if self.begun else None,
            "last": self.last.isoformat() if self.last else None,
            "kernels": [vars(kernel) for kernel in self.kernels],
            "files": [vars(file) for file in self.files],
        }


def receipt_of(journal: Journal) -> ChainReceipt:
    """The receipt of one chain.

    Raises:
        FileReadError: Its journal cannot be read.
        JournalError: Its journal cannot be gone by.
    """
    return _receipt(journal.number, state_in(journal))


def receipts(journals: Sequence[Journal]) -> list[ChainReceipt]:
    """The receipts of all chains, the newest first; of one that cannot be gone by there is the reason alone."""
    return [_receipt_or_damage(journal) for journal in reversed(journals)]


def as_html(receipt: ChainReceipt, pair_receipts: Sequence[ChainReceipt]) -> str:
    """A self-contained page: the receipt, and a table over `pair_receipts`, all chains of the pair."""
    return _render("receipt.html.j2", receipt, pair_receipts)


def as_markdown(receipt: ChainReceipt, pair_receipts: Sequence[ChainReceipt]) -> str:
    """The same as Markdown."""
    return _render("receipt.md.j2", receipt, pair_receipts)


def score(value: float | None) -> str:
    """A score with as many digits as a leaderboard of Kaggle shows, or nothing."""
    return "" if value is None else f"{value:.5f}"


def chain_receipt_path(workspace: Workspace, pair: str) -> Path:
    """The place of a pair's receipt."""
    return workspace.output(pair) / "receipt.html"


def write_receipt(workspace: Workspace, pair: str) -> Path | None:
    """Writes the newest chain's receipt to `output/PAIR/receipt.html`; None if there is no chain."""
    if not is_slug(pair):
        return None
    history = receipts(Journals(workspace.pair(pair)).list_all())
    if not history:
        return None
    path = chain_receipt_path(workspace, pair)
    workspace.files.write(path, as_html(history[0], history).encode("utf-8"))
    return path


def _receipt_or_damage(journal: Journal) -> ChainReceipt:
    try:
        return receipt_of(journal)
    except JournalError as error:
        return replace(_receipt(journal.number, ChainState()), outcome=Outcome.UNREADABLE, failure=error.message)


def _receipt(chain: int, state: ChainState) -> ChainReceipt:
    setup, prediction = state.setup, state.prediction or JsonObject()
    training = state.training or JsonObject()
    handover, accelerator = training.section("handover"), training.section("accelerator")
    fold = handover.section("out_of_fold")
    gpu, tpu = _hours(state.quotas)
    return ChainReceipt(
        **{name: str(getattr(setup, name, "")) for name in _SETUP_FIELDS},
        chain=chain,
        outcome=state.outcome,
        failure=state.failure.message if state.failure else "",
        begun=setup.at if setup else None,
        last=state.last,
        # The clock may have been set back meanwhile.
        minutes=_minutes(max(state.last - setup.at, timedelta())) if setup and state.last else None,
        parameters={role: setup.parameters.section(role) for role in Role} if setup else {},
        kernels=_kernels(state),
        accelerator=describe_accelerator(accelerator) if accelerator else "",
        is_emulated=accelerator.flag("emulated"),
        versions={str(name): str(value) for name, value in handover.section("versions").items()},
        metric=str(fold.get("metric", "")),
        out_of_fold=fold.number("score"),
        public=state.score.public if state.score else None,
        private=state.score.private if state.score else None,
        submission=state.submission.reference if state.submission else 0,
        submission_sha256=prediction.text("sha256"),
        submission_rows=prediction.count("rows"),
        files=tuple(promised_files(handover.get("files"))),
        uploads=tuple(f"{u.kind} {u.ref}, version {u.version}" for u in state.uploads.values() if u.version),
        gpu_hours=gpu,
        tpu_hours=tpu,
        by_hand_page=state.by_hand.page if state.by_hand else "",
        by_hand_button=state.by_hand.button if state.by_hand else "",
    )


def _kernels(state: ChainState) -> tuple[KernelLine, ...]:
    current = [push for role in Role if (push := state.pushes.get(role)) is not None and not push.is_open]
    return tuple(_line(push, is_replaced=push not in current) for push in (*state.earlier, *current))


def _line(push: Push, *, is_replaced: bool) -> KernelLine:
    accelerator = catalog().accelerators.get(push.machine_shape)
    return KernelLine(
        role=str(push.role),
        ref=push.ref,
        version=push.version,
        url=push.url,
        asked_for=accelerator.name if accelerator else push.machine_shape,
        state=str(push.last or "not seen yet"),
        queued_minutes=_minutes(push.queue_time),
        ran_minutes=_minutes(push.ran),
        limit_minutes=_minutes(timedelta(seconds=push.limit_seconds)) if push.limit_seconds else None,
        replaced=is_replaced,
    )


def _hours(quotas: Sequence[QuotaSeen]) -> tuple[float | None, float | None]:
    """Accelerator hours that the account used from the first look to the last, in this or any other session."""

    def hours_between(before: float | None, after: float | None) -> float | None:
        # A week may have begun anew in between.
        if before is None or after is None or after < before:
            return None
        return round((after - before) / 3600, 3)

    if len(quotas) < 2:  # noqa: PLR2004 - a difference takes two
        return None, None
    return hours_between(quotas[0].gpu, quotas[-1].gpu), hours_between(quotas[0].tpu, quotas[-1].tpu)


def _minutes(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds() / 60, 2)


def _moment(at: datetime | None) -> str:
    """A moment to the minute, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""


def _number(value: float | None) -> str:
    """An amount, or nothing."""
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _render(template: str, receipt: ChainReceipt, pair_receipts: Sequence[ChainReceipt]) -> str:
    return storable(_TEMPLATES.render(template, receipt=receipt, others=pair_receipts))


# The page escapes what it shows by itself, Markdown by `md` and `code`.
_TEMPLATES = PageTemplates(
    Path(__file__).parent,
    md=markdown,
    code=markdown_code,
    moment=_moment,
    number=_number,
    score=score,
    literal=repr,
)


# A GitHub Actions workflow that pushes a pair, from the text beside this module; secrets by name only.


def write_workflow(workspace: Workspace, pair: str, *, submit: bool) -> Path:
    """Writes the workflow of a pair into the repository that the workspace is.

    Args:
        workspace: The workspace.
        pair: The pair's name, a slug.
        submit: Whether it also submits.

    Raises:
        PairError: One is there that was edited.
    """
    path = workspace.root / ".github" / "workflows" / f"tandem-{pair}.yml"
    ours = [_github_workflow(pair, submit=is_submitting) for is_submitting in (False, True)]
    if path.exists() and read_text(path) not in ours:
        raise PairError(
            f"{printable(str(path))} has edits, so it was not overwritten.",
            remedy="To write it again, move it to another place.",
            code="workflow-edited",
        )
    workspace.files.write(path, _github_workflow(pair, submit=submit).encode("utf-8"))
    return path


def _github_workflow(pair: str, *, submit: bool) -> str:
    text = Path(__file__).with_name("github_workflow.yml").read_text(encoding="utf-8")
    return text.replace("[[pair]]", pair).replace("[[submit]]", " --submit" if submit else "")
