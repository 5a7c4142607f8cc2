"""The verbs `status` and `receipt`: how far the chains of a pair have come, and their record."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import click

from generator.cli.options import pair_argument, to_option, workspace_option
from generator.cli.terminal import json_option, print_document, table, warn
from generator.errors import TandemError
from generator.files import WorkspaceFiles, reason_not_read
from generator.kaggle.chain import ChainState, chain_of, chains_of, newest_chain, state_in
from generator.kaggle.receipt import ChainReceipt, as_html, as_markdown, chain_receipt_path, receipt_of, receipts
from generator.pair.handover import accelerator_in_words
from generator.pair.workspace import Role, Workspace
from generator.text import json_text, printable


class VersionOnly(TypedDict):
    """A document's version.

    Attributes:
        schema_version: The version of this document.
    """

    schema_version: Literal[1]


class ReceiptHistory(VersionOnly):
    """All chains of a pair.

    Attributes:
        chains: The receipts of all chains, the newest first.
    """

    chains: list[ChainReceipt]


# The verb `status`: the steps of a pair's last chain, as far as this machine saw them.


@click.command()
@pair_argument
@to_option()
@workspace_option
@json_option((ChainReceipt, VersionOnly))
def status(**options: Any) -> int:
    """Show the progress of a pair's last chain (push). Nothing is sent. `tandem push PAIR` continues the chain.

    \b
    tandem status titanic
    """  # noqa: D301 - click wants the character itself
    journal = newest_chain(options["workspace"], options["pair"], options["to"])
    state = state_in(journal)
    _keep_scores(options["workspace"], options["pair"], state)
    if options["as_json"]:
        print_document({"schema_version": 1, **receipt_of(journal).as_json()})
        return 0
    start = state.setup
    place = f"{start.target}, as {start.account}" if start else ""
    click.echo(f"Chain {journal.number} of {options['pair']} on {place}: {state.outcome}.")
    click.echo(table(("step", "what", "state", "since"), _rows(state)))
    if state.failure is not None:
        click.echo("\n".join(printable(line) for line in state.failure.message.splitlines()))
    return 0


def _keep_scores(workspace: Workspace, pair: str, state: ChainState) -> None:
    """Bring the scores of a chain into the ledger of runs, where a command that was stopped did not."""
    if state.score is None:
        return
    from generator.kaggle.chain.ledger import keep_scores

    try:
        keep_scores(workspace, pair, state)
    except TandemError as error:
        warn(error.message)
    except OSError as error:
        warn(f"The runs of {printable(pair)} cannot be read: {reason_not_read(error)}.")


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
@json_option((ChainReceipt, ReceiptHistory))
def receipt(**options: Any) -> int:
    """Write a report of a chain (push): versions, accelerators, minutes, quota, hashes, scores, and all other chains.

    Without --output, HTML is written to output/PAIR/receipt.html, and Markdown and JSON to standard output.
    With --json, the JSON is printed, and a file is written only with --output.

    \b
    tandem receipt titanic
    tandem receipt titanic --format json
    """  # noqa: D301 - click wants the character itself
    workspace = options["workspace"]
    journal = newest_chain(workspace, options["pair"], options["to"])
    if options["chain"]:
        journal = chain_of(workspace, options["pair"], options["chain"])
    _keep_scores(workspace, options["pair"], state_in(journal))
    report, history = receipt_of(journal), receipts(chains_of(workspace, options["pair"]))
    document = {"schema_version": 1, **report.as_json(), "chains": [entry.as_json() for entry in history]}
    if options["as_json"]:
        print_document(document)
        if options["output"] is None:
            return 0
    if options["as_"] == "json":
        text = f"{json_text(document, indent=2)}\n"
    else:
        text = as_html(report, history) if options["as_"] == "html" else as_markdown(report, history)
    path = options["output"] or chain_receipt_path(workspace, options["pair"])
    if options["output"] is not None:
        output_path = Path(os.path.realpath(path))
        WorkspaceFiles(output_path.parent).write(output_path, text.encode("utf-8"))
    elif options["as_"] == "html":
        workspace.files.write(path, text.encode("utf-8"))
    else:
        click.echo(text, nl=False)
        return 0
    if not options["as_json"]:
        click.echo(printable(str(path)))
    return 0
