"""The verb `receipt`: the record of a pair's chains."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from generator.cli.options import pair_argument, to_option, workspace_option
from generator.cli.status import chosen_journal
from generator.kaggle.chain.errors import ChainError
from generator.kaggle.chain.journal import Journal, Journals
from generator.kaggle.receipt import as_html, as_markdown, receipt_of, receipts
from generator.untrusted import printable
from generator.workspace_files import WorkspaceFiles


@click.command()
@pair_argument
@click.option("--format", "as_", type=click.Choice(["html", "md", "json"]), default="html", show_default=True)
@click.option("--chain", type=click.IntRange(min=1), metavar="NUMBER", help="Another chain than the last.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to write it.")
@to_option()
@workspace_option
def receipt(**options: Any) -> int:
    """Write the record of a chain: versions, accelerators, minutes, quota, hashes, scores; and a table of all chains.

    HTML goes to output/PAIR/receipt.html, Markdown and JSON go to standard output, unless --output says otherwise.

    \b
    tandem receipt titanic
    tandem receipt titanic --format json
    """  # noqa: D301 - click wants the character itself
    workspace = options["workspace"]
    journal = chosen_journal(workspace, options["pair"], options["to"])
    journals = Journals(workspace.pair(options["pair"])).all()
    if options["chain"]:
        journal = _numbered(journals, options["chain"], pair=options["pair"])
    made, others = receipt_of(journal), receipts(journals)
    if options["as_"] == "json":
        fields = made.as_json() | {"chains": [other.as_json() for other in others]}
        text = json.dumps(fields, indent=2) + "\n"
    else:
        text = as_html(made, others) if options["as_"] == "html" else as_markdown(made, others)
    path = options["output"] or workspace.output(options["pair"]) / "receipt.html"
    if options["output"] is not None:
        named = Path(os.path.realpath(path))
        WorkspaceFiles(named.parent).write(named, text.encode("utf-8"))
    elif options["as_"] == "html":
        workspace.files.write(path, text.encode("utf-8"))
    else:
        click.echo(text, nl=False)
        return 0
    click.echo(printable(str(path)))
    return 0


def _numbered(journals: Sequence[Journal], number: int, *, pair: str) -> Journal:
    found = next((journal for journal in journals if journal.number == number), None)
    if found is None:
        raise ChainError(
            f"There is no chain {number} of {printable(pair)}; its last one is chain {journals[-1].number}."
        )
    return found
