"""The verb `submit`: the submission of a chain that is ready for it."""

from typing import Any

import click

from generator.cli.chain_options import allow_option, carry, json_option, verify_option
from generator.cli.options import pair_argument, to_option, workspace_option
from generator.kaggle.chain.options import PushOptions


@click.command()
@pair_argument
@to_option(default="kaggle", show_default=True)
@click.option("--message", default="", metavar="TEXT", help="What the submission says of itself.")
@verify_option
@allow_option
@workspace_option
@json_option
def submit(**options: Any) -> int:
    """Submit what the last chain of a pair made, and wait for its score.

    A code competition gets the version of the inference kernel, any other the file. What is submitted already is not
    submitted again; what the chain still lacks is waited for.

    \b
    tandem submit titanic --message "first try"
    """  # noqa: D301 - click wants the character itself
    from generator.kaggle.chain.chain import submit_pair

    chosen = {name: options[name] for name in ("workspace", "pair", "message", "verify", "allow")}
    wanted = PushOptions(**chosen, submit=True)
    return carry(submit_pair, wanted, to=options["to"], as_json=options["as_json"])
