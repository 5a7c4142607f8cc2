"""Why a chain stops; what was journalled stays, and the same command continues.

ChainError
├── NoChainError               there is nothing to continue, to submit or to tell of
├── StepFailedError            a step failed before, and nothing was changed since
├── KernelUnfitError           a kernel's folder cannot be pushed as it stands
├── JournalError               a journal that cannot be gone by
│   └── JournalDamagedError    a line of it is not what was written
├── EditedOnKaggleError        a kernel has a version there that the pair did not push
├── NotAcceptedError           Kaggle did not take a push or a submission, several times
├── WaitedInVainError          Kaggle was out of reach, or silent about a kernel, for too long
├── SubmitByHandError          Kaggle wants this submission to be made in a browser
└── StepError                  a step went wrong on Kaggle, which is written down
    ├── SessionFailedError     a session ended with an error, or was cancelled
    │   └── SessionTimeoutError   it reached the limit that its push sent
    ├── WrongAcceleratorError  training did not get what it asked for
    ├── HandOverUnfitError     what training handed over cannot be used
    │   └── UnfinishedError    the session ended before training did
    ├── OutputMissingError     a session ended well, without what it should have written
    ├── OutputDamagedError     a file arrived otherwise than it was written
    ├── SubmissionUnfitError   the submission is not what the competition asks for
    ├── UploadFailedError      a dataset or model version could not be made
    └── ScoringFailedError     Kaggle could not score the submission
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from generator.check.findings import CheckFinding, describe_place
from generator.errors import TandemError
from generator.text import printable


class ChainError(TandemError):
    """A chain cannot go on by itself."""


class NoChainError(ChainError):
    """No chain of this pair on this Kaggle."""

    def __init__(self, *, pair: str, target: str, verb: str) -> None:
        super().__init__(
            f"There is no chain of {printable(pair)} on {target} to {verb}.",
            remedy=f"Start one with `tandem push {printable(pair)} --to {target}`.",
        )


class StepFailedError(ChainError):
    """A step failed before. The same push would fail again and cost quota."""

    def __init__(self, *, pair: str, target: str, step: str, failure: str) -> None:
        failure_text = "\n".join(f"  {printable(line)}" for line in failure.splitlines())
        summary = (
            f"The step {step} of {printable(pair)} failed, and the notebook has not changed since:\n{failure_text}"
        )
        command = f"tandem push {printable(pair)}{to_target(target)} --from {step}"
        remedy = f"Solve this problem, then repeat the step with `{command}`."
        super().__init__(summary, remedy=remedy, text=f"{summary}\n{remedy}")


class KernelUnfitError(ChainError):
    """Something in the folder of a kernel that Kaggle would refuse or misunderstand."""

    def __init__(self, *, path: Path, problem: str, remedy: str = "Render it again with `tandem generate`.") -> None:
        summary = f"{printable(str(path))} cannot be pushed: {printable(problem)}."
        super().__init__(summary, remedy=printable(remedy))

    @classmethod
    def of_findings(cls, findings: Sequence[CheckFinding], *, pair: str, always: Collection[str]) -> "KernelUnfitError":
        """The error for what `tandem check` found: the first of it, how many more there are, and the way over them.

        Args:
            findings: The errors.
            pair: The pair's name.
            always: Rules that there is no way over.
        """
        first, remainder = findings[0], len(findings) - 1
        problem = ": ".join(filter(None, (describe_place(first.place), first.message.rstrip("."))))
        hint = f" `tandem check {pair}` lists {remainder} more." if remainder else ""
        flags = " ".join(f"--allow {rule}" for rule in dict.fromkeys(finding.rule for finding in findings))
        is_final = any(finding.rule in always for finding in findings)
        way = "" if is_final else f" To push it anyway, add {flags}."
        return cls(path=first.place.path, problem=f"{problem} ({first.rule})", remedy=f"{first.remedy}{hint}{way}")


class JournalError(ChainError):
    """A journal that does not say how far its chain has come."""


class JournalDamagedError(JournalError):
    """A line that is not what was written: doing again what it said could do it twice."""

    def __init__(self, *, path: Path, pair: str, line: int, problem: str) -> None:
        command = f"tandem push {printable(pair)}"
        super().__init__(
            f"{printable(str(path))} is damaged in line {line}: {problem}. The later steps of the chain are "
            "unknown, so nothing was sent.",
            remedy=f"`{command} --repair` (with the same --to) continues from the lines before it, and asks Kaggle "
            f"which steps are done. `{command} --restart` starts a new chain.",
        )
        self.line = line


class EditedOnKaggleError(ChainError):
    """A push would go over what somebody wrote on Kaggle, or another program sent there."""

    def __init__(self, *, subject: str, edits: str, notebook: Path, page: str, command: str) -> None:
        super().__init__(
            f"{printable(subject)} on Kaggle was not pushed from this pair, and a push would replace it ({edits}).",
            remedy=f"To bring the edits into {printable(str(notebook))}, run "
            f"`{command.replace(' push ', ' pull ', 1)}`. To replace them, run `{command} --over-edits`. "
            f"They are at {printable(page)}.",
        )


class NotAcceptedError(ChainError):
    """Kaggle did not accept a push or a submission in several attempts."""

    def __init__(self, *, subject: str, attempts: int, last: str) -> None:
        super().__init__(
            f"Kaggle did not accept {printable(subject)} in {attempts} attempts. The last response: {printable(last)} "
            f"Nothing is lost: the same command continues."
        )


class WaitedInVainError(ChainError):
    """Waiting for Kaggle took too long; the kernel may still run."""

    def __init__(self, *, subject: str, trouble: str, url: str, remedy: str) -> None:
        super().__init__(
            f"Gave up on {printable(subject)}: {printable(trouble)}.",
            remedy=f"Look at {printable(url)}. {remedy} The same command continues to wait; nothing is pushed again.",
        )


class SubmitByHandError(ChainError):
    """The submission has to be made in a browser."""

    def __init__(self, *, page: str, button: str, reason: str, pair: str, target: str) -> None:
        super().__init__(
            f"Kaggle does not take this submission from a program ({printable(reason)}).",
            remedy=f'Open {printable(page)} and press "{button}". `tandem receipt {printable(pair)}` has this on '
            f"record; to let the kit try again: `tandem submit {printable(pair)}{to_target(target)}`.",
        )


class StepError(ChainError):
    """A step of a chain failed on Kaggle.

    It fails the same way for everybody who continues the chain. `step` is empty until the failure is written down.
    """

    step = ""
    names_commands = False
    """Whether the message itself says which commands come next."""


class SessionFailedError(StepError):
    """A session on Kaggle failed or was cancelled."""

    def __init__(  # noqa: PLR0913 - a session is all of these
        self, *, role: str, state: str, failure: str, url: str, tail: str, limit: str = ""
    ) -> None:
        reason = f" ({printable(failure)})" if failure else ""
        log = "\n" + "\n".join(f"  {printable(line)}" for line in tail.splitlines()) if tail else ""
        note = self._note(limit) if limit else ""
        super().__init__(f"The {role} session ended: {state}{reason}.{note} Its log is at {printable(url)}{log}")

    def _note(self, limit: str) -> str:
        return f" Its limit was {limit}."


class SessionTimeoutError(SessionFailedError):
    """A session reached the limit that its push sent, and Kaggle ended it."""

    def _note(self, limit: str) -> str:
        return f" It reached its limit of {limit}: it hung, or needs more time, which --hours N gives."


class WrongAcceleratorError(StepError):
    """Kaggle ran the training on another accelerator than it asked for."""

    def __init__(self, *, accelerator: str, actual_accelerator: str, url: str) -> None:
        super().__init__(
            f"Training asked for a {accelerator.upper()} and got {printable(actual_accelerator)}. On "
            "Kaggle this has three causes: a "
            "docker_image pinned in kernel-metadata.json (remove it), an account whose identity is not verified "
            f"(https://www.kaggle.com/settings), or a retired machine shape. If none applies, open {printable(url)} in "
            "the editor, choose TPU v5e-8, Save & Run All."
        )


class HandOverUnfitError(StepError):
    """The hand-over of the training cannot be used."""

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"The hand-over of the training cannot be used: {printable(problem)}.", remedy=remedy)


class UnfinishedError(HandOverUnfitError):
    """The session ended before the training did. It needs another session."""

    names_commands = True


class OutputMissingError(StepError):
    """A file that the notebook has to write is not there."""

    def __init__(self, *, role: str, names: str, url: str) -> None:
        super().__init__(
            f"The {role} session was successful, but its output has no {printable(names)}.",
            remedy=f"Look at {printable(url)}.",
        )


class OutputDamagedError(StepError):
    """A file of an output arrived damaged several times."""

    def __init__(self, *, role: str, name: str, problem: str) -> None:
        super().__init__(f"{printable(name)} of the {role} output arrived damaged: {printable(problem)}.")


class SubmissionUnfitError(StepError):
    """The competition would refuse the submission."""

    def __init__(self, *, problem: str) -> None:
        super().__init__(f"The submission would be refused: {printable(problem)}")


class UploadFailedError(StepError):
    """Kaggle has the files, and could not make a version of them."""

    def __init__(self, *, subject: str) -> None:
        super().__init__(f"The {printable(subject)} could not be made ready: Kaggle could not process its files.")


class ScoringFailedError(StepError):
    """Kaggle could not score the submission."""

    def __init__(self, *, reference: int, problem: str, url: str) -> None:
        super().__init__(
            f"Kaggle could not score submission {reference}: {printable(problem or 'no reason given')}.",
            remedy=f"Look at {printable(url)}.",
        )


def to_target(target: str) -> str:
    """The option for a command to go to the same Kaggle; the real one is meant without it."""
    return "" if target == "kaggle" else f" --to {printable(target)}"
