"""The command line as the tests of hostile inputs judge it: a result or one sentence, and in time."""

import io
import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from miniature import Outcome

from generator.cli.main import main

SECONDS = 10


@contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """Fails what hangs, wherever it hangs; what libraries log and warn of is dropped, as no report can hold it."""

    def late(*_: object) -> None:
        raise AssertionError(f"nothing came of it in {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tried(*arguments: str | Path) -> Outcome:
    """What a user sees of a command, once it is sure that it is either a result or a sentence."""
    out, err = io.StringIO(), io.StringIO()
    with in_time(), redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    outcome = Outcome(code, out.getvalue(), err.getvalue())
    assert code in (0, 1, 2), outcome
    assert code != 1 or "Error: " in outcome.err or outcome.out, outcome
    assert "\x1b" not in outcome.out + outcome.err
    return outcome


def refused(*arguments: str | Path) -> str:
    """The sentence with which a command ends."""
    outcome = tried(*arguments)
    assert outcome.code == 1, outcome
    return outcome.err
