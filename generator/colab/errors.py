"""The errors of training on Colab.

ColabError
├── CommandLineMissingError   Google's command line is not installed
├── StillRentedError          a machine of an earlier run may still cost units
├── CommandError              a command of it failed
├── SubstituteError           it got another machine than asked for
├── TransferError             what arrived is not what was sent
└── NoReceiptError            the pair was never trained there
"""

from collections.abc import Iterable
from pathlib import Path

from generator.errors import TandemError
from generator.untrusted import printable, quoted


class ColabError(TandemError):
    """A pair cannot be trained on Colab."""


class CommandLineMissingError(ColabError):
    """Google's command line is not installed."""

    def __init__(self, *, program: str) -> None:
        super().__init__(
            f"There is no program {printable(program)}: install Google's command line for Colab, on Linux or macOS, "
            "into an environment of its own (`pipx install google-colab-cli` or `uv tool install google-colab-cli`; it "
            "needs Python 3.12), or name it with --program."
        )


class StillRentedError(ColabError):
    """A machine of an earlier run may still be there."""

    def __init__(self, *, pair: str, session: str) -> None:
        super().__init__(
            f"The machine {printable(session)} of an earlier run of {printable(pair)} is still rented, or may be: "
            f"`tandem colab stop {printable(pair)}` gives it back."
        )


class CommandError(ColabError):
    """A command of Google's command line failed."""

    def __init__(self, *, what: str, said: Iterable[str], seconds: float | None = None) -> None:
        last = [quoted(line) for line in said if line.strip()][-3:]
        why = f"took longer than {seconds:.0f} seconds" if seconds else "failed"
        super().__init__(f"`colab {printable(what)}` {why}{': ' if last else '.'}{' / '.join(last)}")


class SubstituteError(ColabError):
    """Colab gave another machine than it was asked for."""

    def __init__(self, *, asked: str, got: str) -> None:
        super().__init__(
            f"Colab was asked for {printable(asked)} and gave {quoted(got)}; nothing was trained on it. Ask again "
            "later, or for another machine: what a plan may have differs, and changes with demand."
        )


class TransferError(ColabError):
    """What arrived is not what was sent, or cannot be taken."""

    def __init__(self, *, what: str, problem: str) -> None:
        super().__init__(f"{printable(what)} could not be carried: {quoted(problem)}. Run it again.")


class NoReceiptError(ColabError):
    """There is no receipt, or none that can be read."""

    def __init__(self, *, pair: str, path: Path) -> None:
        super().__init__(
            f"{printable(str(path))} does not exist or cannot be read: {printable(pair)} was never trained on Colab "
            "from here. `colab sessions` lists what this account has rented."
        )
