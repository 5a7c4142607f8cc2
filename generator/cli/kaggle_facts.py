"""Asking a Kaggle about a competition from the command line: which one, with progress on stderr."""

import logging
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import click

from generator.cli.terminal import warn
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable

if TYPE_CHECKING:
    from generator.competition.description import Description
    from generator.competition.survey.facts import Survey
    from generator.kaggle.gateway import Kaggle
    from generator.kaggle.remote_facts import RemoteFacts

_SECONDS_BETWEEN_LINES = 2.0


@dataclass
class KaggleFactSource:
    """A Kaggle that is met when it is first asked, and asked once; `to` is None where the user did not choose one."""

    to: str | None
    _described: "dict[str, Description]" = field(default_factory=dict)
    _surveyed: "dict[str, Survey]" = field(default_factory=dict)
    _last_line: float = field(default_factory=time.monotonic)

    def describe(self, slug: str) -> "Description":
        """The hosts' description of a competition, see `RemoteFacts`."""
        from generator.competition import builtin
        from generator.kaggle.errors import NotFoundError

        if slug in self._described:
            return self._described[slug]
        facts = self._met
        click.echo(f"Asking {facts.source} about {printable(slug)} …", err=True)
        try:
            self._described[slug] = facts.describe(slug)
        except NotFoundError as error:
            name = f'competition "{printable(slug)}"'
            problem = (
                f"The local Kaggle hosts no {name}: see {facts.kaggle.address}/competitions, or host a folder by "
                "starting it again with `tandem serve --competition DIR`."
                if facts.kaggle.is_local
                else f"Kaggle knows no {name}; its name is the last part of its address, kaggle.com/competitions/NAME."
            )
            raise CompetitionError(f"{problem}{did_you_mean(slug, builtin.known())}") from error
        return self._described[slug]

    def survey(self, slug: str) -> "Survey":
        """A look at its files where they are, see `RemoteFacts`."""
        if slug not in self._surveyed:
            self._surveyed[slug] = self._met.survey(slug)
        return self._surveyed[slug]

    @cached_property
    def _met(self) -> "RemoteFacts":
        from generator.competition.description import CannotAskError
        from generator.kaggle.errors import CredentialsError, OtherKaggleError
        from generator.kaggle.remote_facts import RemoteFacts

        try:
            return RemoteFacts(connected(self.to), tell=self._tell)
        except (CredentialsError, OtherKaggleError) as error:
            if self.to is not None:
                raise
            raise CannotAskError(why=error.message) from error

    def _tell(self, path: str) -> None:
        """A line now and then: a small competition needs none, a large one must not look stuck."""
        if time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            click.echo(f"Looking at {printable(path)} …", err=True)


class _OnStderr(logging.Handler):
    """Shows each message as a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        click.echo(printable(record.getMessage()), err=True)


def connected(to: str | None) -> "Kaggle":
    """The Kaggle that the user chose, the real one by default; what is not safe about this machine is said on stderr.

    So is from now on what is waited for, unless the command reports as JSON.

    Raises:
        KaggleError: There are no credentials for it, or no local one runs.
    """
    from generator.kaggle.connect import Target, connect
    from generator.kaggle.retries import WAITING

    context = click.get_current_context(silent=True)
    is_json = context is not None and bool(context.params.get("as_json"))
    WAITING.setLevel(logging.INFO)
    WAITING.handlers[:] = [logging.NullHandler() if is_json else _OnStderr()]
    kaggle = connect(Target(to or Target.KAGGLE))
    for warning in kaggle.warnings():
        warn(warning)
    return kaggle
