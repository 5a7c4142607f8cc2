"""The verb `status`: the steps of a pair's last chain, as far as this machine saw them."""

import json
from datetime import datetime
from typing import Any

import click

from generator.cli.chain_options import json_option
from generator.cli.options import pair_argument, to_option, workspace_option
from generator.cli.table import table
from generator.kaggle.chain.errors import NoChainError
from generator.kaggle.chain.journal import Journal, Journals
from generator.kaggle.chain.replay import latest, state_in
from generator.kaggle.chain.state import State
from generator.kaggle.receipt import receipt_of
from generator.pair.folder import existing_pair
from generator.pair.handover import accelerator_in_words
from generator.pair.workspace import Role, Workspace
from generator.untrusted import printable


@click.command()
@pair_argument
@to_option()
@workspace_option
@json_option
def status(**options: Any) -> int:
    """Show how far the last chain of a pair has come. Nothing is sent; `tandem push PAIR` goes on.

    \b
    tandem status titanic
    """  # noqa: D301 - click wants the character itself
    journal = chosen_journal(options["workspace"], options["pair"], options["to"])
    if options["as_json"]:
        click.echo(json.dumps(receipt_of(journal).as_json(), indent=2))
        return 0
    state = state_in(journal)
    begun = state.begun
    place = f"{begun.target}, as {begun.account}" if begun else ""
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
    found = latest(journals, to) if to else next(reversed(journals.all()), None)
    if found is None:
        raise NoChainError(pair=pair, target=to or "kaggle", verb="tell of")
    return found


def _rows(state: State) -> list[tuple[str, str, str, str]]:
    rows = []
    for role in Role:
        push = state.pushes.get(role)
        if push is None and role is Role.TRAIN and state.trained is not None:
            accelerator = accelerator_in_words(state.trained.section("accelerator"))
            rows.append((str(role), accelerator, "trained elsewhere", ""))
        elif push is None:
            rows.append((str(role), "", "to be pushed", ""))
        elif push.is_open:
            rows.append((str(role), push.ref, "pushed or not: the next command finds out", _time(push.announced)))
        else:
            since = push.seen[-1].at if push.seen else push.pushed
            what = f"{push.ref}, version {push.version}"
            rows.append((str(role), what, str(push.last or "not seen yet"), _time(since)))
    rows.append(("submit", *_submission(state)))
    return rows


def _submission(state: State) -> tuple[str, str, str]:
    if state.score is not None and state.submitted is not None:
        score = "no score shown" if state.score.public is None else f"scored {state.score.public:.5f}"
        return f"submission {state.submitted.reference}", score, _time(state.score.at)
    if state.by_hand is not None:
        return state.by_hand.page, "to be submitted by hand", ""
    if state.submitted is not None:
        reference = state.submitted.reference
        what = f"submission {reference}" if reference else ""
        waits = "waiting for its score" if reference else "submitted or not: the next command finds out"
        return what, waits, _time(state.submitted.announced)
    return "", "ready" if state.predicted is not None else "nothing yet", ""


def _time(at: datetime | None) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at else ""
