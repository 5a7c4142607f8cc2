"""The options that the verbs of the chain share, the Kaggle they talk to, and the end of their story."""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.chain_progress import chain_progress
from generator.cli.kaggle_facts import connected
from generator.cli.options import shortest
from generator.errors import CheckError, TandemError
from generator.kaggle.chain.errors import StepError
from generator.kaggle.chain.journal import Journals
from generator.kaggle.chain.state import Outcome
from generator.kaggle.connect import Target
from generator.kaggle.receipt import Receipt, as_html, receipt_of, receipts, score
from generator.pair.workspace import Workspace
from generator.untrusted import is_slug, printable

if TYPE_CHECKING:
    from generator.kaggle.chain.chain import ChainResult
    from generator.kaggle.chain.execution import RunContext
    from generator.kaggle.chain.options import PushOptions
    from generator.kaggle.gateway import Kaggle

Function = Callable[..., Any]
Carry = Callable[["Kaggle", "PushOptions", "RunContext"], "ChainResult"]

verify_option = click.option(
    "--no-verify", "verify", flag_value=False, default=True, help="Go on in spite of what `tandem check` finds."
)
allow_option = click.option(
    "--allow",
    multiple=True,
    metavar="RULE",
    callback=lambda _, __, names: _allowed(names),
    help="Go on in spite of what this rule of `tandem check` finds; may be given several times.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Report as JSON: one object a line.")


def enum_option(*names: str, of: type[StrEnum], **options: Any) -> Callable[[Function], Function]:
    """An option whose value is one of an enumeration's, or None."""
    choice = click.Choice([str(each) for each in of])
    return click.option(*names, type=choice, callback=lambda _, __, value: value and of(value), **options)


def _allowed(names: tuple[str, ...]) -> tuple[str, ...]:
    """The ids of rules that may be passed by.

    Raises:
        CheckError: There is no such rule, or no way over it.
    """
    if not names:
        return ()
    from generator.check.checking import rule_named
    from generator.kaggle.chain.prepared_kernel import ALWAYS

    rules = tuple(rule_named(name) for name in names)
    for rule in rules:
        if rule.id in ALWAYS:
            raise CheckError(
                f"--allow {rule.id}: there is no way over this rule ({rule.name}), as nothing can be sent."
            )
    return tuple(rule.id for rule in rules)


def carry(carry_pair: Carry, options: "PushOptions", *, to: str, as_json: bool) -> int:
    """Carries a pair, tells of it, and writes its receipt whatever comes of it."""
    from generator.kaggle.chain.execution import RunContext
    from generator.kaggle.chain.polling import LOCAL_POLLING, PollingPolicy
    from generator.kaggle.chain.resume import check_exists

    command = f"tandem push {printable(options.pair)}" + (f" --to {to}" if to != Target.KAGGLE else "")
    # Said before credentials are asked for, which do not help.
    check_exists(options, to)
    options.workspace.files.check(_receipt_path(options.workspace, options.pair))
    kaggle = connected(to)
    try:
        with chain_progress(as_json=as_json) as listener:
            polling = LOCAL_POLLING if kaggle.is_local else PollingPolicy()
            carried = carry_pair(kaggle, options, RunContext(listener, polling))
    except StepError as error:
        if not error.step or error.names_commands:
            raise
        # Not by the same command alone, which would cost the same quota for the same failure.
        hint = f"Take the step again with `{command} --from {error.step}`, or change the notebook first."
        raise TandemError(f"{error.message}\n{hint}") from error
    except KeyboardInterrupt:
        click.echo(f"What runs on Kaggle goes on; `{command}` continues.", err=True)
        raise
    finally:
        # The chain's own error, if there is one, tells more than that its receipt could not be written.
        with suppress(*([TandemError, OSError] if sys.exception() else [])):
            path = write_receipt(options.workspace, options.pair)
    receipt = receipt_of(carried.journal)
    if not carried.has_advanced:
        click.echo(f"There was nothing left to do. `{command} --restart` begins a new chain.", err=True)
    click.echo(json.dumps({"event": "done", **receipt.as_json()}) if as_json else summary(receipt, path))
    return 0


def summary(receipt: Receipt, path: Path | None) -> str:
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
        lines.append("The TPU was emulated on CPUs: the score counts, the times say nothing.")
    return "\n".join(lines)


def write_receipt(workspace: Workspace, pair: str) -> Path | None:
    """Writes the newest chain's receipt to `output/PAIR/receipt.html`; None if there is no chain."""
    if not is_slug(pair):
        return None
    known = receipts(Journals(workspace.pair(pair)).all())
    if not known:
        return None
    path = _receipt_path(workspace, pair)
    workspace.files.write(path, as_html(known[0], known).encode("utf-8"))
    return path


def _receipt_path(workspace: Workspace, pair: str) -> Path:
    return workspace.output(pair) / "receipt.html"
