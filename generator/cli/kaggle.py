"""The Kaggle that a command talks to: which one, and what it asks and waits for on stderr."""

import logging
from functools import partial
from typing import TYPE_CHECKING

import click

from generator.cli.terminal import warn
from generator.kaggle.facts import KaggleFactSource
from generator.text import printable

if TYPE_CHECKING:
    from generator.kaggle.api_types import Quota
    from generator.kaggle.gateway import Kaggle


class _OnStderr(logging.Handler):
    """Shows each message as a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        click.echo(printable(record.getMessage()), err=True)


def connect_kaggle(to: str | None) -> "Kaggle":
    """The Kaggle that the user chose, the real one by default; what is not safe about this machine is said on stderr.

    So is from now on what is waited for, unless the command reports as JSON.

    Raises:
        KaggleError: There are no credentials for it, or no local one runs.
    """
    from generator.kaggle.gateway import Target, connect
    from generator.kaggle.transport import WAITING

    context = click.get_current_context(silent=True)
    is_json = context is not None and bool(context.params.get("as_json"))
    WAITING.setLevel(logging.INFO)
    WAITING.handlers[:] = [logging.NullHandler() if is_json else _OnStderr()]
    kaggle = connect(Target(to or Target.KAGGLE))
    for warning in kaggle.warnings():
        warn(warning)
    return kaggle


def check_credentials() -> None:
    """Makes sure that the real Kaggle can be asked, without asking it.

    Raises:
        CredentialsError: There are no credentials for it.
    """
    from generator.kaggle.gateway import Target, connect

    connect(Target.KAGGLE)


def remaining_quota(to: str | None) -> "Quota | None":
    """What is left of the account's week, where it can be asked; that it cannot is no reason to fail."""
    from generator.kaggle.errors import KaggleError

    try:
        kaggle = connect_kaggle(to)
        click.echo("Asking Kaggle for the rest of the week's quota …", err=True)
        return kaggle.kernels.quota()
    except KaggleError as error:
        if to is not None:
            warn(f"The quota cannot be read: {error.message}")
        return None


def fact_source(to: str | None) -> KaggleFactSource:
    """A source of facts that is met when it is first asked; `to` is None where the user did not choose one."""
    return KaggleFactSource(partial(connect_kaggle, to), partial(click.echo, err=True), is_chosen=to is not None)
