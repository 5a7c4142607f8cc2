"""Why a chain stops; what was journalled stays, and the same command continues.

ChainError
├── AlreadyRunningError        another process carries this pair
├── NoChainError               there is nothing to continue, to submit or to tell of
├── NoSuchChainError           a chain that was asked for by its number
├── NothingToGoBackToError     --from names a step whose inputs are not there
├── ChangedError               a notebook was changed since it was pushed: somebody has to say what is meant
├── ElsewhereError             a pair that trains elsewhere (trained_elsewhere)
├── HandoffChangedError        another --handoff than the inference kernel was pushed with
├── StepFailedError            a step failed before, and nothing was changed since
├── KernelUnfitError           a kernel's folder cannot be pushed as it stands
├── OwnerError                 the kernels belong to somebody else than the credentials
├── BuiltInError               a built-in competition, on the real Kaggle
├── JournalError               a journal that cannot be gone by
│   ├── JournalDamagedError    a line of it is not what was written
│   └── JournalNewerError      a newer version of the kit wrote it
├── UndecidedError             whether a push or a submission was made cannot be found out
├── NotAcceptedError           Kaggle did not take a push or a submission, several times
├── WaitedInVainError          Kaggle was out of reach, or silent about a kernel, for too long
├── NoSubmissionLeftError      the day's submissions are used up
├── SubmitByHandError          Kaggle wants this submission to be made in a browser
├── WheelError                 a package has no wheel for Kaggle's image (generator.kaggle.chain.wheels)
└── StepError                  a step went wrong on Kaggle, which is written down
    ├── SessionFailedError     a session ended with an error, or was cancelled
    ├── WrongAcceleratorError  training did not get what it asked for
    ├── HandOverUnfitError     what training handed over cannot be used
    ├── OutputMissingError     a session ended well, without what it should have written
    ├── OutputDamagedError     a file arrived otherwise than it was written
    ├── SubmissionUnfitError   the submission is not what the competition asks for
    ├── UploadFailedError      a dataset or model version could not be made
    └── ScoringFailedError     Kaggle could not score the submission
"""

from collections.abc import Sequence
from pathlib import Path

from generator.check.finding import Finding, where
from generator.errors import TandemError
from generator.untrusted import printable


class ChainError(TandemError):
    """A chain cannot go on by itself."""


class AlreadyRunningError(ChainError):
    """Another process has the pair's lock."""

    def __init__(self, *, pair: str, process: str) -> None:
        holder = f" (process {printable(process)})" if process.strip() else ""
        super().__init__(
            f"Another chain of {printable(pair)} is running{holder}; wait for it or stop it. "
            f"`tandem status {printable(pair)}` shows where it is."
        )


class NoChainError(ChainError):
    """No chain of this pair on this Kaggle."""

    def __init__(self, *, pair: str, target: str, verb: str) -> None:
        super().__init__(
            f"There is no chain of {printable(pair)} on {target} to {verb}; begin one with "
            f"`tandem push {printable(pair)} --to {target}`."
        )


class NoSuchChainError(ChainError):
    """No chain has this number."""

    def __init__(self, *, pair: str, number: int, last: int) -> None:
        super().__init__(f"There is no chain {number} of {printable(pair)}; its last one is chain {last}.")


class NothingToGoBackToError(ChainError):
    """A step whose inputs were not made."""

    def __init__(self, *, pair: str, target: str, step: str, missing: str) -> None:
        super().__init__(
            f"--from {step} needs {missing}, which this chain of {printable(pair)} does not have; "
            f"continue it with `tandem push {printable(pair)}{_to(target)}`."
        )


class ChangedError(ChainError):
    """The notebook on the disk is not the one that was pushed."""

    def __init__(self, *, pair: str, role: str, version: int, options: str) -> None:
        super().__init__(
            f"The {role} notebook of {printable(pair)} was changed since it was pushed as version {version}. "
            f"Say what is meant: {options}."
        )


class HandoffChangedError(ChainError):
    """The inference kernel that was pushed reads its weights from somewhere else."""

    def __init__(self, *, pair: str, before: str, now: str) -> None:
        super().__init__(
            f"The inference kernel of {printable(pair)} was pushed with --handoff {before}; to push it again with "
            f"--handoff {now}, add --from infer."
        )


class StepFailedError(ChainError):
    """Pushing the same thing again would fail the same way, and cost quota."""

    def __init__(self, *, pair: str, target: str, step: str, failure: str) -> None:
        told = "\n".join(f"  {printable(line)}" for line in failure.splitlines())
        super().__init__(
            f"The step {step} of {printable(pair)} failed, and nothing was changed since:\n"
            f"{told}\n"
            f"Do what it says and take the step again with `tandem push {printable(pair)}{_to(target)} --from {step}`."
        )


class KernelUnfitError(ChainError):
    """Something in the folder of a kernel that Kaggle would refuse or misunderstand."""

    def __init__(self, *, path: Path, problem: str, remedy: str = "Render it afresh with `tandem generate`.") -> None:
        super().__init__(f"{printable(str(path))} cannot be pushed: {printable(problem)}. {printable(remedy)}")

    @classmethod
    def found(cls, findings: Sequence[Finding], *, pair: str) -> "KernelUnfitError":
        """The error for what `tandem check` found: the first of it, and how many more there are."""
        first, more = findings[0], len(findings) - 1
        problem = ": ".join(filter(None, (where(first.place), first.message.rstrip("."))))
        listed = f" `tandem check {pair}` lists {more} more." if more else ""
        return cls(path=first.place.path, problem=f"{problem} ({first.rule})", remedy=f"{first.remedy}{listed}")


class OwnerError(ChainError):
    """A push under this name would be refused, or go to a kernel that the other notebook does not know."""

    def __init__(self, *, pair: str, owner: str, account: str) -> None:
        super().__init__(
            f'The kernels of {printable(pair)} belong to "{printable(owner)}", and the credentials here to '
            f'"{printable(account)}". Render them for yourself: '
            f"`tandem generate --competition … --name {printable(pair)} --owner {printable(account)}`."
        )


class BuiltInError(ChainError):
    """The competition does not exist on the real Kaggle."""

    def __init__(self, *, pair: str, competition: str) -> None:
        super().__init__(
            f'"{printable(competition)}" is a competition of this kit: it exists on a local Kaggle only. Start one '
            f"with `tandem serve`, and push there: `tandem push {printable(pair)} --to local`."
        )


class JournalError(ChainError):
    """A journal that does not say how far its chain has come."""


class JournalDamagedError(JournalError):
    """A line that is not what was written: doing again what it said could do it twice."""

    def __init__(self, *, path: Path, pair: str, line: int, problem: str) -> None:
        command = f"tandem push {printable(pair)}"
        super().__init__(
            f"{printable(str(path))} is damaged in line {line}: {problem}. What the chain did from there on is not "
            f"known, and nothing is sent that could be sent twice. `{command} --repair` goes on from the lines before "
            f"it, with what Kaggle says was done (with the same --to); `{command} --restart` begins a new chain."
        )
        self.line = line


class JournalNewerError(JournalError):
    """A kind of line that this version does not know."""

    def __init__(self, *, path: Path, line: int) -> None:
        super().__init__(
            f"Line {line} of {printable(str(path))} was written by a newer version of the kit, which is needed to go "
            "on with this chain; --restart begins a new one."
        )


class UndecidedError(ChainError):
    """Doing it again might do it twice."""

    def __init__(  # noqa: PLR0913 - the parts of one sentence
        self, *, what: str, why: str, url: str, pair: str, target: str, step: str
    ) -> None:
        command = f"tandem push {printable(pair)}{_to(target)}"
        super().__init__(
            f"Whether {printable(what)} was taken cannot be found out: {printable(why)}. Look at {printable(url)}: if "
            f"it is there, `{command}` finds it later; if it is not, take the step again with "
            f"`{command} --from {step}`."
        )


class NotAcceptedError(ChainError):
    """Tried several times, each of them known not to have been taken."""

    def __init__(self, *, what: str, attempts: int, last: str) -> None:
        super().__init__(
            f"Kaggle did not take {printable(what)} in {attempts} attempts; the last answer was: {printable(last)} "
            f"Nothing is lost: the same command continues."
        )


class WaitedInVainError(ChainError):
    """One sort of trouble has lasted too long; the kernel itself may go on."""

    def __init__(self, *, what: str, trouble: str, url: str, remedy: str) -> None:
        super().__init__(
            f"Gave up on {printable(what)}: {printable(trouble)}. Look at {printable(url)}. {remedy} "
            "The same command continues to wait; nothing is pushed again."
        )


class NoSubmissionLeftError(ChainError):
    """Counted by the UTC day."""

    def __init__(self, *, competition: str, pair: str, target: str) -> None:
        super().__init__(
            f"No submission to {printable(competition)} is left today; the count begins anew at 00:00 UTC. "
            f"Everything is ready: `tandem submit {printable(pair)}{_to(target)}` goes on from here."
        )


class SubmitByHandError(ChainError):
    """The API refuses; the browser does not."""

    def __init__(self, *, page: str, button: str, why: str, pair: str, target: str) -> None:
        super().__init__(
            f"Kaggle does not take this submission from a program ({printable(why)}). Open {printable(page)} and press "
            f'"{button}". `tandem receipt {printable(pair)}` has this on record; to let the kit try again: '
            f"`tandem submit {printable(pair)}{_to(target)}`."
        )


class StepError(ChainError):
    """A failure of a step, the same for everybody who continues the chain; `step` is empty until it is written down."""

    step = ""


class SessionFailedError(StepError):
    """The notebook stopped, or was stopped."""

    def __init__(self, *, role: str, state: str, failure: str, url: str, tail: str) -> None:
        reason = f" ({printable(failure)})" if failure else ""
        log = "\n" + "\n".join(f"  {printable(line)}" for line in tail.splitlines()) if tail else ""
        super().__init__(f"The {role} session ended: {state}{reason}. Its log is at {printable(url)}{log}")


class WrongAcceleratorError(StepError):
    """Kaggle ran the notebook on something else, and said nothing of it."""

    def __init__(self, *, wanted: str, obtained: str, url: str) -> None:
        super().__init__(
            f"Training asked for a {wanted.upper()} and got {printable(obtained)}. On Kaggle this has three causes: a "
            "docker_image pinned in kernel-metadata.json (remove it), an account whose identity is not verified "
            f"(https://www.kaggle.com/settings), or a retired machine shape. If none applies, open {printable(url)} in "
            "the editor, choose TPU v5e-8, Save & Run All."
        )


class HandOverUnfitError(StepError):
    """Inference would refuse it."""

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"What training handed over cannot be used: {printable(problem)}. {remedy}")


class OutputMissingError(StepError):
    """A file that the notebook has to write is not there."""

    def __init__(self, *, role: str, names: str, url: str) -> None:
        super().__init__(
            f"The {role} session ended well, but its output has no {printable(names)}. Look at {printable(url)}."
        )


class OutputDamagedError(StepError):
    """Fetched several times, and never whole."""

    def __init__(self, *, role: str, name: str, problem: str) -> None:
        super().__init__(f"{printable(name)} of the {role} output arrived damaged: {printable(problem)}.")


class SubmissionUnfitError(StepError):
    """The competition would refuse it."""

    def __init__(self, *, problem: str) -> None:
        super().__init__(f"The submission would be refused: {printable(problem)}")


class UploadFailedError(StepError):
    """Kaggle has the files, and could not make a version of them."""

    def __init__(self, *, what: str, problem: str) -> None:
        super().__init__(f"The {printable(what)} could not be made ready: {printable(problem)}.")


class ScoringFailedError(StepError):
    """A submission that has no score."""

    def __init__(self, *, reference: int, problem: str, url: str) -> None:
        super().__init__(
            f"Kaggle could not score submission {reference}: {printable(problem or 'no reason given')}. "
            f"Look at {printable(url)}."
        )


def _to(target: str) -> str:
    """The option for a command to go to the same Kaggle; the real one is meant without it."""
    return "" if target == "kaggle" else f" --to {printable(target)}"
