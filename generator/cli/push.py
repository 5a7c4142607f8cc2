"""The verbs `push` and `submit`: a pair on Kaggle, from its training to its score."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import click

from generator.cli.kaggle import check_credentials, connect_kaggle
from generator.cli.options import pair_argument, shortest, to_option, workspace_option
from generator.cli.terminal import clock, confirm, json_option, live_console, print_document, print_line, table, warn
from generator.errors import TandemError
from generator.kaggle import chain
from generator.kaggle.chain import ChainStep, Event, EventKind, Handoff, PushOptions
from generator.kaggle.chain.inputs import KernelFacts
from generator.kaggle.receipt import ChainReceipt, chain_receipt_path, receipt_of, score, write_receipt, write_workflow
from generator.rehearsal.record import check_rehearsed
from generator.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from generator.kaggle.chain import ChainResult, Listener, PreparedKernel

_REAL = "kaggle"


# Telling of a chain: one line a step on stderr, a clock on a terminal, or JSON lines for programs.


_LONGEST_LINE = 500


class ChainEvent(TypedDict):
    """A line while the chain goes on: something that happened. Which of the last keys are there depends on it.

    Attributes:
        schema_version: The version of this document.
        event: What sort of event it is.
        step: The step that it belongs to: train, infer, submit, quota ...
        text: A sentence for people.
        state: The state of a session or submission.
        role: The kernel's role: train or infer.
        ref: The kernel, dataset or model, as OWNER/NAME.
        url: Its page.
        version: Its version.
        accelerator: What training ran on.
        out_of_fold: The score that training measured.
        rows: The rows of the submission.
        sha256: The SHA-256 of the submission.
        reference: The number of the submission.
        public: The score on the public leaderboard.
        private: The score on the private leaderboard.
        gpu_seconds: GPU seconds of the account that are used this week.
        tpu_seconds: TPU seconds of the account that are used this week.
        seconds: When a line was printed, in seconds since the session's start.
        stream: The stream that it was printed on.
    """

    schema_version: Literal[1]
    event: EventKind
    step: str
    text: str
    state: NotRequired[str]
    role: NotRequired[str]
    ref: NotRequired[str]
    url: NotRequired[str]
    version: NotRequired[int]
    accelerator: NotRequired[str]
    out_of_fold: NotRequired[dict[str, Any] | None]
    rows: NotRequired[int]
    sha256: NotRequired[str]
    reference: NotRequired[int]
    public: NotRequired[float | None]
    private: NotRequired[float | None]
    gpu_seconds: NotRequired[float]
    tpu_seconds: NotRequired[float]
    seconds: NotRequired[float | None]
    stream: NotRequired[str]


class ChainEnd(TypedDict):
    """The last line, if there was no error: the receipt of the chain.

    Attributes:
        schema_version: The version of this document.
        event: done.
    """

    schema_version: Literal[1]
    event: Literal["done"]


class PlannedKernel(KernelFacts):
    """A kernel that would be pushed, or stays.

    Attributes:
        role: train or infer.
        cost: The session that it takes, in words.
        limit_seconds: The limit that is sent, after which Kaggle ends the session; null for none.
        limit_reason: Why that, or why none.
        likely_seconds: What the session is likely to take; null if nothing predicts it.
        is_there: The version that stays; null if a new one is pushed.
    """

    role: str
    cost: str
    limit_seconds: int | None
    limit_reason: str
    likely_seconds: float | None
    is_there: int | None


class PushPlan(TypedDict):
    """With --dry-run: what would be pushed.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        submit: Whether the result would be submitted.
        reason: Why a new chain would start; empty where none would.
        push: The kernels.
    """

    schema_version: Literal[1]
    pair: str
    submit: bool
    reason: str
    push: list[PlannedKernel]


class WorkflowReport(TypedDict):
    """With --workflow: the file that was written.

    Attributes:
        schema_version: The version of this document.
        pair: The pair.
        workflow: The file.
    """

    schema_version: Literal[1]
    pair: str
    workflow: str


@contextmanager
def chain_progress(*, as_json: bool) -> "Iterator[Listener]":
    """Whom to tell, from any thread: what suits where it goes."""
    console = None if as_json else live_console()
    if console is None:
        yield _JsonLines() if as_json else _Lines()
        return
    lines = _LinesAboveStatus(console)
    with console.status(lines):
        yield lines


class _Lines:
    """Lines, for logs and pipes."""

    def __init__(self) -> None:
        self._start_time = time.monotonic()
        self._lock = threading.Lock()

    def __call__(self, event: Event, /) -> None:
        with self._lock:
            self._show(event)

    def _show(self, event: Event) -> None:
        for line in event.text.splitlines() or [""]:
            text = printable(line.expandtabs(4)[:_LONGEST_LINE])
            if event.kind is EventKind.LOG:
                self._write(f"        {text}")
            else:
                elapsed = clock(time.monotonic() - self._start_time)
                mark = "\N{CHECK MARK} " if event.kind is EventKind.STEP else ""
                self._write(f"{elapsed:>8} {printable(event.step):<7} {mark}{text}")

    def _write(self, line: str) -> None:
        click.echo(line, err=True)


class _LinesAboveStatus(_Lines):
    """The same above one line that is kept up to date: what is waited for, and for how long."""

    def __init__(self, console: "Console") -> None:
        super().__init__()
        self._console = console
        self._waiting, self._since = "", time.monotonic()

    def __rich__(self) -> "Text":
        from rich.text import Text

        now = time.monotonic()
        waiting = f"{self._waiting} for {clock(now - self._since)}" if self._waiting else "working"
        return Text(f"{waiting}  ({clock(now - self._start_time)} in all)")

    def _show(self, event: Event) -> None:
        super()._show(event)
        if event.kind is EventKind.STATE:
            self._waiting, self._since = f"{printable(event.step)}: {printable(event.text)}", time.monotonic()
        elif event.kind is EventKind.STEP:
            self._waiting = ""

    def _write(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(line), highlight=False, soft_wrap=True)


class _JsonLines(_Lines):
    """One JSON object a line on stdout."""

    def _show(self, event: Event) -> None:
        fields: ChainEvent = {"schema_version": 1, "event": event.kind, "step": str(event.step), "text": event.text}
        print_line({**fields, **event.fields})
        sys.stdout.flush()


# The options that the verbs of the chain share, the Kaggle they talk to, and the end of their story.


Function = Callable[..., Any]
Carry = Callable[..., "ChainResult"]

verify_option = click.option(
    "--no-verify", "verify", flag_value=False, default=True, help="Push even if `tandem check` finds errors."
)
allow_option = click.option(
    "--allow",
    multiple=True,
    metavar="RULE",
    callback=lambda _, __, names: chain.allowed_rules(names) if names else (),
    help="Ignore this rule of `tandem check`. Can be repeated.",
)


def enum_option(*names: str, of: type[StrEnum], **options: Any) -> Callable[[Function], Function]:
    """An option whose value is one of an enumeration's, or None."""
    choice = click.Choice([str(member) for member in of])
    return click.option(*names, type=choice, callback=lambda _, __, value: value and of(value), **options)


def carry(carry_pair: Carry, options: "PushOptions", *, to: str, as_json: bool) -> int:
    """Carries a pair, tells of it, and writes its receipt whatever comes of it."""
    command = f"tandem push {printable(options.pair)}" + (f" --to {to}" if to != _REAL else "")
    # Said before credentials are asked for, which do not help.
    chain.check_exists(options, to)
    options.workspace.files.check(chain_receipt_path(options.workspace, options.pair))
    kaggle = connect_kaggle(to)
    try:
        with chain_progress(as_json=as_json) as listener:
            polling = chain.LOCAL_POLLING if kaggle.is_local else chain.PollingPolicy()
            result = carry_pair(kaggle, options, chain.RunContext(listener, polling))
    except chain.StepError as error:
        if not error.step or error.names_commands:
            raise
        # Not by the same command alone, which would cost the same quota for the same failure.
        hint = f"Correct the notebook if necessary, then repeat the step with `{command} --from {error.step}`."
        text = f"{error.message}\n{hint}"
        remedy = " ".join(filter(None, (error.remedy, hint)))
        raise TandemError(error.summary, remedy=remedy, code=error.code, text=text) from error
    except KeyboardInterrupt:
        click.echo(f"Notebooks that run on Kaggle continue. Resume with `{command}`.", err=True)
        raise
    finally:
        # The chain's own error, if there is one, tells more than that its receipt could not be written.
        with suppress(*([TandemError, OSError] if sys.exception() else [])):
            path = write_receipt(options.workspace, options.pair)
    receipt = receipt_of(result.journal)
    if not result.has_advanced:
        click.echo(f"Nothing to do: the chain is complete. `{command} --restart` starts a new one.", err=True)
    if as_json:
        print_line({"schema_version": 1, "event": "done", **receipt.as_json()})
    else:
        click.echo(receipt_summary(receipt, path))
    return 0


def receipt_summary(receipt: ChainReceipt, path: Path | None) -> str:
    """The end of a chain in a few lines."""
    rows = [("chain", f"{receipt.chain} of {receipt.pair}, {receipt.outcome}")]
    if receipt.out_of_fold is not None:
        rows.append(("out-of-fold", f"{receipt.metric} {score(receipt.out_of_fold)}"))
    if receipt.public is not None:
        rows.append(("leaderboard", f"{score(receipt.public)} public"))
    if path is not None:
        rows.append(("receipt", shortest(path)))
    lines = [f"{name:<13}{printable(value)}" for name, value in rows]
    if receipt.is_ready:
        lines.append(f"Submit it with `tandem submit {printable(receipt.pair)} --to {receipt.target}`.")
    if receipt.is_emulated:
        lines.append("The TPU was emulated on CPUs: the score is valid, the times are not.")
    return "\n".join(lines)


# The verb `push`: a pair on Kaggle, from its training to its score.


@click.command()
@pair_argument
@click.option("--submit", is_flag=True, help="Submit the result and wait for the score.")
@to_option(default="kaggle", show_default=True)
@enum_option("--from", "back_to", of=ChainStep, help="Repeat this step and all later steps.")
@click.option("--restart", is_flag=True, help="Start a new chain instead of continuing the last one.")
@click.option("--repair", is_flag=True, help="Continue from a damaged journal; read the missing steps from Kaggle.")
@click.option("--over-edits", is_flag=True, help="Push even if the newest version was edited on Kaggle.")
@enum_option("--handoff", of=Handoff, help="How inference gets the weights. Default: kernel (the training's output).")
@click.option("--offline-wheels", is_flag=True, help="Attach wheels for imports that Kaggle's image does not have.")
@click.option("--message", default="", metavar="TEXT", help="The description of the submission.")
@click.option("--logs", "show_log", is_flag=True, help="Show the lines that the notebooks print on Kaggle.")
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="End each session after N hours. Default: what the last session with the same parameters took, and a margin.",
)
@click.option("--anyway", is_flag=True, help="Push even if too little of the week's quota is left.")
@click.option("--may-cost-money", is_flag=True, help="Push even if the session can cost money.")
@verify_option
@allow_option
@click.option("--yes", is_flag=True, help="Push without a question. Needed if this is no interactive terminal.")
@click.option("--rehearsed", is_flag=True, help="Push only if exactly these cells passed `tandem rehearse`.")
@click.option("--specimen", is_flag=True, help="With --rehearsed: accept a rehearsal on synthetic data.")
@click.option("--dry-run", is_flag=True, help="Show what would be pushed, but send nothing.")
@click.option("--workflow", type=click.Choice(["github"]), help="Write a GitHub Actions workflow and exit.")
@workspace_option
@json_option(ChainEvent, (ChainReceipt, ChainEnd), PushPlan, WorkflowReport, is_lines=True)
@click.pass_context
def push(context: click.Context, /, **options: Any) -> int:
    """Push a pair to Kaggle: push training, wait, verify its output, push inference, wait, submit.

    You can stop the command at any moment. The same command then continues and pushes nothing twice. All these steps
    together are a chain. Its journal is in kernels/PAIR/.tandem/chains, its receipt is output/PAIR/receipt.html.

    \b
    tandem push digits --to local --submit
    tandem push titanic --submit
    tandem push titanic --from infer
    """  # noqa: D301 - click wants the character itself
    if sum(map(bool, (options["back_to"], options["restart"], options["repair"]))) > 1:
        context.fail(
            "Choose one: --from repeats steps of the last chain, --repair continues it, --restart starts a new one."
        )
    options["submit"] = options["submit"] or options["back_to"] is ChainStep.SUBMIT
    push_options = PushOptions(
        **{name: value for name, value in options.items() if name in PushOptions.__dataclass_fields__}
    )
    if options["workflow"]:
        return _write_workflow(push_options, as_json=options["as_json"])
    if options["specimen"] and not options["rehearsed"]:
        context.fail("--specimen works only with --rehearsed: add --rehearsed.")
    if options["rehearsed"]:
        check_rehearsed(push_options.workspace, push_options.pair, specimen=options["specimen"])
    if options["dry_run"]:
        return _show_plan(push_options, to=options["to"], as_json=options["as_json"])
    kernels = _check(push_options, options["to"])
    if options["to"] == _REAL:
        _ask(push_options, kernels, is_confirmed=options["yes"])
    return carry(chain.push_pair, push_options, to=options["to"], as_json=options["as_json"])


def _check(options: PushOptions, to: str) -> "Mapping[Any, PreparedKernel]":
    """Both kernels, made sure to be fit before anything is asked or sent; what is only doubtful is said."""
    kernels = chain.prepare_kernels(options, to)
    for path, place, sentences in (warning for kernel in kernels.values() for warning in kernel.check.warnings):
        warn(f"{': '.join(filter(None, (shortest(path), place)))}: {sentences}")
    return kernels


def _ask(options: PushOptions, kernels: "Mapping[Any, PreparedKernel]", *, is_confirmed: bool) -> None:
    """A push to the real Kaggle costs quota: at a terminal the first one of a pair is asked about."""
    if not is_confirmed:
        check_credentials()  # says that there are no credentials before it is asked for anything else
    question, reason = "", "A push to the real Kaggle costs quota."
    if not chain.has_pushes(options, _REAL):
        question = f"Push {' and then '.join(chain.first_sessions(options, kernels))} to Kaggle"
        question += ", and submit" if options.submit else ""
        reason = "This is the first push of the pair to the real Kaggle."
    confirm(question, reason=reason, is_confirmed=is_confirmed)


def _show_plan(options: PushOptions, *, to: str, as_json: bool) -> int:
    kernels = _check(options, to)
    plan = chain.plan_push(options, to, kernels)
    versions = plan.versions_that_stay
    pushes = {role: kernel for role, kernel in kernels.items() if role in (*plan.pushes, *versions)}
    _warn_of_owner(options)
    if as_json:
        push: list[PlannedKernel] = [
            {
                "role": str(role),
                **kernel.facts,
                "cost": kernel.cost(is_local=to != _REAL),
                "limit_seconds": kernel.forecast.limit_seconds or None,
                "limit_reason": kernel.forecast.limit_reason,
                "likely_seconds": kernel.forecast.seconds,
                "is_there": versions.get(role),
            }
            for role, kernel in pushes.items()
        ]
        report: PushPlan = {
            "schema_version": 1,
            "pair": options.pair,
            "submit": options.submit,
            "reason": plan.reason,
            "push": push,
        }
        print_document(report)
        return 0
    rows = [
        (
            str(role),
            f"version {versions[role]} stays" if role in versions else "push",
            facts["kernel"],
            facts["machine_shape"],
            "" if role in versions else kernel.cost(is_local=to != _REAL),
            "on" if facts["internet"] else "off",
            "you" if facts["private"] else "EVERYBODY",
            f"{facts['bytes']:,} bytes, reads {', '.join(facts['sources'])}",
        )
        for role, kernel, facts in ((role, kernel, kernel.facts) for role, kernel in pushes.items())
    ]
    click.echo(table(("step", "plan", "kernel", "accelerator", "session", "internet", "seen by", "notebook"), rows))
    for role in plan.pushes:
        click.echo(f"{role}: {printable(kernels[role].forecast.limit_in_words)}")
    if plan.reason:
        click.echo(plan.reason)
    if not plan.pushes:
        command = f"tandem push {printable(options.pair)}{chain.to_target(to)}"
        click.echo(f"No notebook is pushed, because none has changed. `{command} --restart` pushes both again.")
    click.echo("Nothing was sent.")
    return 0


def _write_workflow(options: PushOptions, *, as_json: bool) -> int:
    _warn_of_owner(options)
    path = write_workflow(options.workspace, options.pair, submit=options.submit)
    if as_json:
        print_document(WorkflowReport(schema_version=1, pair=options.pair, workflow=str(path)))
        return 0
    click.echo(
        f"Wrote {printable(str(path))}. Add the repository secret KAGGLE_API_TOKEN. If the repository is not a clone "
        "of Tandem, set the variable TANDEM to the source from which pip installs Tandem. Then run the workflow from "
        "the Actions tab."
    )
    return 0


def _warn_of_owner(options: PushOptions) -> None:
    if not options.spec.has_owner:
        owner = options.spec.train.ref.partition("/")[0]
        slug, name = printable(options.spec.competition.slug), printable(options.pair)
        click.echo(
            f"Warning: the kernels have no owner yet ({owner}), and the real Kaggle would refuse them. "
            f"Set your Kaggle user name: `tandem generate --competition {slug} --name {name} --owner NAME`.",
            err=True,
        )


# The verb `submit`: the submission of a chain that is ready for it.


@click.command()
@pair_argument
@to_option(default="kaggle", show_default=True)
@click.option("--message", default="", metavar="TEXT", help="The description of the submission.")
@verify_option
@allow_option
@click.option("--yes", is_flag=True, help="Needed if this is no interactive terminal.")
@workspace_option
@json_option(ChainEvent, (ChainReceipt, ChainEnd), is_lines=True)
def submit(**options: Any) -> int:
    """Submit the result of a pair's last push, and wait for the score.

    In a code competition, the version of the inference kernel is submitted. In other competitions, the submission file
    is uploaded. Nothing is submitted twice. If a notebook of the chain still runs, the command waits for it.

    \b
    tandem submit titanic --message "first try"
    """  # noqa: D301 - click wants the character itself
    fields = {name: options[name] for name in ("workspace", "pair", "message", "verify", "allow")}
    push_options = PushOptions(**fields, submit=True)
    if options["to"] == _REAL:
        chain.check_exists(push_options, _REAL)
        reason = "A submission to the real Kaggle counts against the competition's limit."
        confirm("", reason=reason, is_confirmed=options["yes"])
    return carry(chain.submit_pair, push_options, to=options["to"], as_json=options["as_json"])
