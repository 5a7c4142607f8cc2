"""The errors of training on Colab.

ColabError
├── CommandLineMissingError   Google's command line is not installed
├── SignInError               it has nobody's permission
├── UnknownMachineError       it would take another machine without a word
├── OtherPlatformError        the pair trains elsewhere
├── NoDataError               there is no way for the competition's files to get there
├── StillRentedError          a machine of an earlier run may still cost units
├── CommandError              a command of it failed
├── SubstituteError           it got another machine than asked for
├── NotebookFailedError       a cell failed there
├── TransferError             what arrived is not what was sent
└── NoReceiptError            the pair was never trained there
"""

from collections.abc import Iterable
from pathlib import Path

from generator.errors import TandemError, did_you_mean
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


class SignInError(ColabError):
    """Google's command line asks who is there."""

    def __init__(self, *, program: str) -> None:
        super().__init__(
            f"Google's command line is not signed in: run `{printable(program)} sessions` once in a terminal and "
            "follow its link, or use Application Default Credentials (--auth adc)."
        )


class UnknownMachineError(ColabError):
    """A machine that Google's command line would answer with an A100, or a v6e1, without a word."""

    def __init__(self, *, name: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__(f'Colab has no "{printable(name)}": choose {", ".join(names)}.{did_you_mean(name, names)}')


class OtherPlatformError(ColabError):
    """A pair that was not rendered for Colab."""

    def __init__(self, *, pair: str, competition: str) -> None:
        name = f" --name {printable(pair)}" if pair != competition else ""
        super().__init__(
            f"The training of {printable(pair)} is rendered for Kaggle: "
            f"`tandem generate --competition {printable(competition)}{name} --platform colab` renders it for Colab."
        )


class NoDataError(ColabError):
    """The competition's files are neither here, or too large to be sent, nor to be had there."""

    def __init__(self, *, competition: str, folder: Path, limit: int) -> None:
        super().__init__(
            f"The machine cannot get the files of {printable(competition)}: {printable(str(folder))} does not have "
            f"them, or has more than {limit >> 20} MiB, and there is no token of Kaggle to download them there. "
            "Make one at https://www.kaggle.com/settings/api, and save it as ~/.kaggle/access_token."
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


class NotebookFailedError(ColabError):
    """A cell of the training notebook failed, or did not come to its end."""

    def __init__(self, *, cell: str, problem: str, notebook: Path) -> None:
        where = (
            f'The cell "{quoted(cell)}" failed on Colab' if cell else "The notebook did not come to its end on Colab"
        )
        super().__init__(f"{where}: {quoted(problem)}. What ran is in {printable(str(notebook))}.")


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
