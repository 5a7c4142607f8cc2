"""The verbs of the chain: push, status, submit, receipt."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.generate import connect_kaggle
from generator.cli.options import pair_argument, shortest, to_option, workspace_option
from generator.cli.terminal import clock, is_interactive, live_console, table, warn
from generator.errors import CheckError, TandemError
from generator.files import WorkspaceFiles
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import ChainError, NoChainError, StepError, to_target
from generator.kaggle.chain.execution import LOCAL_POLLING, Handoff, PollingPolicy, PushOptions, RunContext
from generator.kaggle.chain.journal import (
    ChainState,
    ChainStep,
    Event,
    EventKind,
    Journal,
    Journals,
    Listener,
    Outcome,
    has_chain,
    latest,
    state_in,
)
from generator.kaggle.connect import Target, connect
from generator.kaggle.receipt import (
    ChainReceipt,
    as_html,
    as_markdown,
    check_unedited,
    github_workflow,
    receipt_of,
    receipts,
    score,
)
from generator.pair.folder import existing_pair
from generator.pair.handover import accelerator_in_words
from generator.pair.settings import PLACEHOLDER_OWNER
from generator.pair.workspace import Role, Workspace
from generator.rehearsal.record import check_rehearsed
from generator.text import is_slug, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from generator.kaggle.chain.chain import ChainResult
    from generator.kaggle.chain.inputs import PreparedKernel
    from generator.kaggle.gateway import Kaggle


# Telling of a chain: one line a step on stderr, a clock on a terminal, or JSON lines for programs.


_LONGEST_LINE = 500


@contextmanager
def chain_progress(*, as_json: bool) -> Iterator[Listener]:
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
        fields: dict[str, Any] = {"event": str(event.kind), "step": str(event.step), "text": event.text}
        click.echo(json.dumps({**fields, **event.fields}))
        sys.stdout.flush()


# The options that the verbs of the chain share, the Kaggle they talk to, and the end of their story.


Function = Callable[..., Any]
Carry = Callable[["Kaggle", "PushOptions", "RunContext"], "ChainResult"]

verify_option = click.option(
    "--no-verify", "verify", flag_value=False, default=True, help="Push even if `tandem check` finds errors."
)
allow_option = click.option(
    "--allow",
    multiple=True,
    metavar="RULE",
    callback=lambda _, __, names: _resolve_rules(names),
    help="Ignore this rule of `tandem check`. Can be repeated.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")


def enum_option(*names: str, of: type[StrEnum], **options: Any) -> Callable[[Function], Function]:
    """An option whose value is one of an enumeration's, or None."""
    choice = click.Choice([str(member) for member in of])
    return click.option(*names, type=choice, callback=lambda _, __, value: value and of(value), **options)


def _resolve_rules(names: tuple[str, ...]) -> tuple[str, ...]:
    """The ids of rules that may be passed by.

    Raises:
        CheckError: There is no such rule, or no way over it.
    """
    if not names:
        return ()
    from generator.check.checking import rule_named
    from generator.kaggle.chain.inputs import ALWAYS

    rules = tuple(rule_named(name) for name in names)
    for rule in rules:
        if rule.id in ALWAYS:
            raise CheckError(
                f"--allow {rule.id}: this rule ({rule.name}) cannot be ignored, because Kaggle needs valid files."
            )
    return tuple(rule.id for rule in rules)


def carry(carry_pair: Carry, options: "PushOptions", *, to: str, as_json: bool) -> int:
    """Carries a pair, tells of it, and writes its receipt whatever comes of it."""
    from generator.kaggle.chain.chain import check_exists

    command = f"tandem push {printable(options.pair)}" + (f" --to {to}" if to != Target.KAGGLE else "")
    # Said before credentials are asked for, which do not help.
    check_exists(options, to)
    options.workspace.files.check(_receipt_path(options.workspace, options.pair))
    kaggle = connect_kaggle(to)
    try:
        with chain_progress(as_json=as_json) as listener:
            polling = LOCAL_POLLING if kaggle.is_local else PollingPolicy()
            result = carry_pair(kaggle, options, RunContext(listener, polling))
    except StepError as error:
        if not error.step or error.names_commands:
            raise
        # Not by the same command alone, which would cost the same quota for the same failure.
        hint = f"Correct the notebook if necessary, then repeat the step with `{command} --from {error.step}`."
        raise TandemError(f"{error.message}\n{hint}") from error
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
    click.echo(json.dumps({"event": "done", **receipt.as_json()}) if as_json else receipt_summary(receipt, path))
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
    if receipt.outcome is Outcome.READY:
        lines.append(f"Submit it with `tandem submit {printable(receipt.pair)} --to {receipt.target}`.")
    if receipt.is_emulated:
        lines.append("The TPU was emulated on CPUs: the score is valid, the times are not.")
    return "\n".join(lines)


def write_receipt(workspace: Workspace, pair: str) -> Path | None:
    """Writes the newest chain's receipt to `output/PAIR/receipt.html`; None if there is no chain."""
    if not is_slug(pair):
        return None
    history = receipts(Journals(workspace.pair(pair)).list_all())
    if not history:
        return None
    path = _receipt_path(workspace, pair)
    workspace.files.write(path, as_html(history[0], history).encode("utf-8"))
    return path


def _receipt_path(workspace: Workspace, pair: str) -> Path:
    return workspace.output(pair) / "receipt.html"


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
@verify_option
@allow_option
@click.option("--yes", is_flag=True, help="Push a pair for the first time without a question.")
@click.option("--rehearsed", is_flag=True, help="Push only if exactly these cells passed `tandem rehearse`.")
@click.option("--specimen", is_flag=True, help="With --rehearsed: accept a rehearsal on synthetic data.")
@click.option("--dry-run", is_flag=True, help="Show what would be pushed, but send nothing.")
@click.option("--workflow", type=click.Choice(["github"]), help="Write a GitHub Actions workflow and exit.")
@workspace_option
@json_option
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
        return _write_workflow(push_options)
    if options["specimen"] and not options["rehearsed"]:
        context.fail("--specimen works only with --rehearsed: add --rehearsed.")
    if options["rehearsed"]:
        check_rehearsed(push_options.workspace, push_options.pair, specimen=options["specimen"])
    if options["dry_run"]:
        return _show_plan(push_options, to=options["to"], as_json=options["as_json"])
    kernels = _check(push_options, options["to"])
    if options["to"] == Target.KAGGLE and not options["yes"]:
        _ask(context, push_options, kernels)
    from generator.kaggle.chain.chain import push_pair

    return carry(push_pair, push_options, to=options["to"], as_json=options["as_json"])


def _check(options: PushOptions, to: str) -> dict[Role, "PreparedKernel"]:
    """Both kernels, made sure to be fit before anything is asked or sent; what is only doubtful is said."""
    from generator.check.findings import Severity, describe_place
    from generator.kaggle.chain.chain import check_exists
    from generator.kaggle.chain.inputs import prepare

    check_exists(options, to)
    kernels = {role: prepare(options.folder, role, verify=options.verify, allow=options.allow) for role in Role}
    for finding in (finding for kernel in kernels.values() for finding in kernel.doubts):
        if finding.severity is Severity.WARNING:
            place = ": ".join(filter(None, (shortest(finding.place.path), describe_place(finding.place))))
            warn(f"{place}: {finding.message} {finding.remedy} ({finding.rule})")
    return kernels


def _ask(context: click.Context, options: PushOptions, kernels: Mapping[Role, "PreparedKernel"]) -> None:
    """The first push of a pair to the real Kaggle begins only when somebody says so: it costs quota."""
    if has_chain(Journals(options.folder), Target.KAGGLE):
        return
    connect(Target.KAGGLE)  # says that there are no credentials before it is asked for anything else
    if not is_interactive():
        context.fail(
            "This is the first push of the pair to the real Kaggle. This is no interactive terminal, so no "
            "question can be asked: add --yes."
        )
    from generator.kaggle.chain.chain import cost

    spec = options.spec
    # The kernels that are pushed: inference alone, where training ran elsewhere.
    roles = [Role.INFER] if spec.handover_dataset else list(Role)
    sessions = (f"{kernels[role].push.ref} ({cost(kernels[role].push, Target.KAGGLE)})" for role in roles)
    question = f"Push {' and then '.join(sessions)} to Kaggle"
    click.confirm(f"{printable(question)}{', and submit' if options.submit else ''}?", abort=True, err=True)


def _show_plan(options: PushOptions, *, to: str, as_json: bool) -> int:
    from generator.kaggle.chain.chain import LocalPair, cost

    kernels = _check(options, to)
    plan = LocalPair.of(options, to, kernels).plan(Journals(options.folder))
    versions = plan.versions_that_stay
    pushes = {role: kernels[role].push for role in Role if role in (*plan.pushes, *versions)}
    _warn_of_owner(options)
    if as_json:
        push = [
            {"role": str(role), **_facts(kernel), "cost": cost(kernel, to), "is_there": versions.get(role)}
            for role, kernel in pushes.items()
        ]
        fields = {"pair": options.pair, "submit": options.submit, "reason": plan.reason, "push": push}
        click.echo(json.dumps(fields, indent=2))
        return 0
    rows = [
        (
            str(role),
            f"version {versions[role]} stays" if role in versions else "push",
            facts["kernel"],
            facts["machine_shape"],
            "" if role in versions else cost(kernel, to),
            "on" if facts["internet"] else "off",
            "you" if facts["private"] else "EVERYBODY",
            f"{facts['bytes']:,} bytes, reads {', '.join(facts['sources'])}",
        )
        for role, kernel, facts in ((role, kernel, _facts(kernel)) for role, kernel in pushes.items())
    ]
    click.echo(table(("step", "plan", "kernel", "accelerator", "session", "internet", "seen by", "notebook"), rows))
    if plan.reason:
        click.echo(plan.reason)
    if not plan.pushes:
        command = f"tandem push {printable(options.pair)}{to_target(to)}"
        click.echo(f"No notebook is pushed, because none has changed. `{command} --restart` pushes both again.")
    click.echo("Nothing was sent.")
    return 0


def _facts(kernel: KernelPush) -> dict[str, Any]:
    sources = (kernel.competition_sources, kernel.kernel_sources, kernel.dataset_sources, kernel.model_sources)
    return {
        "kernel": kernel.ref,
        "machine_shape": kernel.machine_shape,
        "internet": kernel.enable_internet,
        "private": kernel.is_private,
        "sources": [ref for refs in sources for ref in refs],
        "bytes": len(kernel.text.encode("utf-8")),
    }


def _write_workflow(options: PushOptions) -> int:
    _warn_of_owner(options)
    path = options.workspace.root / ".github" / "workflows" / f"tandem-{options.pair}.yml"
    check_unedited(path, options.pair)
    options.workspace.files.write(path, github_workflow(options.pair, submit=options.submit).encode("utf-8"))
    click.echo(
        f"Wrote {printable(str(path))}. Add the repository secret KAGGLE_API_TOKEN. If the repository is not a clone "
        "of Tandem, set the variable TANDEM to the source from which pip installs Tandem. Then run the workflow from "
        "the Actions tab."
    )
    return 0


def _warn_of_owner(options: PushOptions) -> None:
    if options.spec.train.ref.partition("/")[0] == PLACEHOLDER_OWNER:
        slug, name = printable(options.spec.competition.slug), printable(options.pair)
        click.echo(
            f"Warning: the kernels have no owner yet ({PLACEHOLDER_OWNER}), and the real Kaggle would refuse them. "
            f"Set your Kaggle user name: `tandem generate --competition {slug} --name {name} --owner NAME`.",
            err=True,
        )


# The verb `status`: the steps of a pair's last chain, as far as this machine saw them.


@click.command()
@pair_argument
@to_option()
@workspace_option
@json_option
def status(**options: Any) -> int:
    """Show the progress of a pair's last chain (push). Nothing is sent. `tandem push PAIR` continues the chain.

    \b
    tandem status titanic
    """  # noqa: D301 - click wants the character itself
    journal = chosen_journal(options["workspace"], options["pair"], options["to"])
    if options["as_json"]:
        click.echo(json.dumps(receipt_of(journal).as_json(), indent=2))
        return 0
    state = state_in(journal)
    start = state.setup
    place = f"{start.target}, as {start.account}" if start else ""
    click.echo(f"Chain {journal.number} of {options['pair']} on {place}: {state.outcome}.")
    click.echo(table(("step", "what", "state", "since"), _rows(state)))
    if state.failure is not None:
        click.echo("\n".join(printable(line) for line in state.failure.message.splitlines()))
    return 0


def chosen_journal(workspace: Workspace, pair: str, to: str | None) -> Journal:
    """The newest chain of a pair, on the Kaggle that is asked for or on any.

    Raises:
        NoChainError: There is none.
    """
    journals = Journals(existing_pair(workspace, pair))
    journal = latest(journals, to) if to else next(reversed(journals.list_all()), None)
    if journal is None:
        raise NoChainError(pair=pair, target=to or "kaggle", verb="show")
    return journal


def _rows(state: ChainState) -> list[tuple[str, str, str, str]]:
    rows = []
    for role in Role:
        push = state.pushes.get(role)
        if push is None and role is Role.TRAIN and state.training is not None:
            accelerator = accelerator_in_words(state.training.section("accelerator"))
            rows.append((str(role), accelerator, "trained elsewhere", ""))
        elif push is None:
            rows.append((str(role), "", "to be pushed", ""))
        elif push.is_open:
            rows.append((str(role), push.ref, "perhaps pushed; the next push checks it", _time(push.announce_time)))
        else:
            since = push.observations[-1].at if push.observations else push.push_time
            kernel_version = f"{push.ref}, version {push.version}"
            rows.append((str(role), kernel_version, str(push.last or "no status yet"), _time(since)))
    rows.append(("submit", *_submission(state)))
    return rows


def _submission(state: ChainState) -> tuple[str, str, str]:
    if state.score is not None and state.submission is not None:
        score = "no score shown" if state.score.public is None else f"scored {state.score.public:.5f}"
        return f"submission {state.submission.reference}", score, _time(state.score.at)
    if state.by_hand is not None:
        return state.by_hand.page, "to be submitted by hand", ""
    if state.submission is not None:
        reference = state.submission.reference
        label = f"submission {reference}" if reference else ""
        waits = "waiting for its score" if reference else "perhaps submitted; the next push checks it"
        return label, waits, _time(state.submission.announce_time)
    return "", "ready" if state.prediction is not None else "not yet", ""


def _time(at: datetime | None) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at else ""


# The verb `submit`: the submission of a chain that is ready for it.


@click.command()
@pair_argument
@to_option(default="kaggle", show_default=True)
@click.option("--message", default="", metavar="TEXT", help="The description of the submission.")
@verify_option
@allow_option
@workspace_option
@json_option
def submit(**options: Any) -> int:
    """Submit the result of a pair's last push, and wait for the score.

    In a code competition, the version of the inference kernel is submitted. In other competitions, the submission file
    is uploaded. Nothing is submitted twice. If a notebook of the chain still runs, the command waits for it.

    \b
    tandem submit titanic --message "first try"
    """  # noqa: D301 - click wants the character itself
    from generator.kaggle.chain.chain import submit_pair

    fields = {name: options[name] for name in ("workspace", "pair", "message", "verify", "allow")}
    push_options = PushOptions(**fields, submit=True)
    return carry(submit_pair, push_options, to=options["to"], as_json=options["as_json"])


# The verb `receipt`: the record of a pair's chains.


@click.command()
@pair_argument
@click.option("--format", "as_", type=click.Choice(["html", "md", "json"]), default="html", show_default=True)
@click.option(
    "--chain", type=click.IntRange(min=1), metavar="NUMBER", help="The number of the chain. Default: the last one."
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to this file.")
@to_option()
@workspace_option
def receipt(**options: Any) -> int:
    """Write a report of a chain (push): versions, accelerators, minutes, quota, hashes, scores, and all other chains.

    Without --output, HTML is written to output/PAIR/receipt.html, and Markdown and JSON to standard output.

    \b
    tandem receipt titanic
    tandem receipt titanic --format json
    """  # noqa: D301 - click wants the character itself
    workspace = options["workspace"]
    journal = chosen_journal(workspace, options["pair"], options["to"])
    journals = Journals(workspace.pair(options["pair"])).list_all()
    if options["chain"]:
        journal = _find_journal(journals, options["chain"], pair=options["pair"])
    report, history = receipt_of(journal), receipts(journals)
    if options["as_"] == "json":
        fields = report.as_json() | {"chains": [entry.as_json() for entry in history]}
        text = json.dumps(fields, indent=2) + "\n"
    else:
        text = as_html(report, history) if options["as_"] == "html" else as_markdown(report, history)
    path = options["output"] or workspace.output(options["pair"]) / "receipt.html"
    if options["output"] is not None:
        output_path = Path(os.path.realpath(path))
        WorkspaceFiles(output_path.parent).write(output_path, text.encode("utf-8"))
    elif options["as_"] == "html":
        workspace.files.write(path, text.encode("utf-8"))
    else:
        click.echo(text, nl=False)
        return 0
    click.echo(printable(str(path)))
    return 0


def _find_journal(journals: Sequence[Journal], number: int, *, pair: str) -> Journal:
    chain_journal = next((journal for journal in journals if journal.number == number), None)
    if chain_journal is None:
        raise ChainError(
            f"There is no chain {number} of {printable(pair)}. The last one is chain {journals[-1].number}."
        )
    return chain_journal
