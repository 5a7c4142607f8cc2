"""The errors of Kaggle, and of the way to it; each names the next step.

KaggleError
├── CredentialsError              no credentials here, or some that cannot be used
│   └── CredentialsRefusedError   Kaggle does not accept them (401)
├── OtherKaggleError              the environment points at another Kaggle than the real one
├── UnreachableError              no connection, a connection that broke, or no answer in time
├── NotKaggleError                an answer that is not of Kaggle's API: HTML, no JSON, a type that is not known
├── ServerFailedError             5xx, after the retries that were safe
├── RateLimitedError              429, after the retries that were safe
├── NotFoundError                 404: no such competition, kernel, dataset, model or file
├── ForbiddenError                403 with no reason that is known
│   ├── RulesNotAcceptedError     the competition's rules have to be accepted in a browser
│   ├── PhoneNotVerifiedError     the account's phone number is not verified
│   ├── IdentityNotVerifiedError  the account's identity is not verified
│   └── SubmitForbiddenError      this submission has to be made in a browser
├── RefusedError                  Kaggle understood and said no: an `error` field, or another 4xx
│   ├── QuotaUsedUpError          no accelerator hours are left this week
│   ├── SessionLimitError         as many sessions run already as the account may have
│   ├── SlugTakenError            another kernel, dataset or model has this name
│   ├── SubmissionLimitError      no submission is left today
│   └── SourcesRefusedError       a push that was saved without some of its inputs
└── UnsafeAnswerError             an answer, or a file to be sent, that a guard refused

`doing` is always what was asked, as a verb and its object: "push ada/digits-train". Whatever a server said is made
printable and cut short before it becomes part of a sentence.
"""

from collections.abc import Mapping
from datetime import timedelta

from generator.errors import TandemError
from generator.untrusted import printable

_LONGEST_QUOTE = 300  # characters of what a server said


class KaggleError(TandemError):
    """Something went wrong between this machine and Kaggle.

    `outcome_unknown` says of something that was to be changed whether Kaggle may have done it all the same: then look
    first, and do not send it again.
    """

    outcome_unknown = False
    retry_after: timedelta | None = None
    """The time for which the server asked to be left alone, if it said so."""


class CredentialsError(KaggleError):
    """There are no credentials on this machine, or they cannot be read; never carries any part of them."""

    def __init__(self, *, why: str, remedy: str) -> None:
        super().__init__(f"Cannot sign in to Kaggle: {why}; {remedy}.")


class CredentialsRefusedError(CredentialsError):
    """Kaggle does not accept the credentials; `source` says where they were found."""

    def __init__(self, *, source: str, site: str) -> None:
        super().__init__(
            why=f"the credentials from {printable(source)} are not accepted, they may have expired",
            remedy=f"make a new token at {site}/settings/api and put it in their place",
        )


class OtherKaggleError(KaggleError):
    """The real Kaggle was asked for in an environment that the official client would not reach it from."""

    def __init__(self, *, value: str) -> None:
        super().__init__(
            f"KAGGLE_API_ENVIRONMENT is {printable(value)[:40]}, so the credentials of this shell are not for the real "
            "Kaggle and nothing was sent: say `--to local`, or unset KAGGLE_API_ENVIRONMENT."
        )


class UnreachableError(KaggleError):
    """No answer came; `was_sent` is False where the request cannot have arrived, or changes nothing."""

    timed_out = False
    """True where the connection held, and nothing came over it for too long."""

    def __init__(self, *, doing: str, host: str, why: str, was_sent: bool) -> None:
        unclear = ", and whether it was done is not known" if was_sent else ""
        is_here = host.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
        remedy = "see whether `tandem serve` still runs" if is_here else "check the connection to the internet"
        super().__init__(
            f"Cannot {printable(doing)}: {printable(host)} {printable(why)}{unclear}; {remedy}, then run the command "
            "again."
        )
        self.outcome_unknown = was_sent


class NotKaggleError(KaggleError):
    """An answer that is not of Kaggle's API, or of a newer one than this kit knows."""

    outcome_unknown = True

    def __init__(self, *, doing: str, host: str, why: str) -> None:
        super().__init__(
            f"Cannot {printable(doing)}: the answer of {printable(host)} {quoted(why)}; something between may have "
            "answered in its place (a proxy, a sign-in page), or Kaggle has trouble: try again in a few minutes."
        )


class ServerFailedError(KaggleError):
    """Kaggle itself failed."""

    outcome_unknown = True

    def __init__(self, *, doing: str, status: int, said: str, retry_after: timedelta | None = None) -> None:
        super().__init__(
            f"Cannot {printable(doing)}: Kaggle failed with {status}{_said(said)}; that is on its side, try again in a "
            "few minutes."
        )
        self.status = status
        self.retry_after = retry_after


class RateLimitedError(KaggleError):
    """Kaggle wants fewer requests; it did not do what was asked."""

    def __init__(self, *, doing: str, retry_after: timedelta | None) -> None:
        wait = _duration(retry_after) if retry_after else "some minutes"
        super().__init__(f"Cannot {printable(doing)}: Kaggle is asked too often; wait {wait}, then try again.")
        self.retry_after = retry_after


class NotFoundError(KaggleError):
    """There is no such thing, or this account may not know of it."""

    def __init__(self, *, doing: str, said: str, look_at: str) -> None:
        super().__init__(
            f"Cannot {printable(doing)}: Kaggle has nothing of that name for this account{_said(said)}; check the "
            f"spelling at {look_at}."
        )


class _AnsweredNoError(KaggleError):
    """Kaggle understood, and said no, in words that `said` keeps; `remedy` may name the page on which it is mended."""

    answer = ""
    remedy = ""

    def __init__(self, *, doing: str, said: str, remedy: str = "", page: str = "") -> None:
        remedy = remedy or self.remedy.format(page=page)
        super().__init__(f"Cannot {printable(doing)}: Kaggle {self.answer}{_said(said)}; {remedy}.")
        self.said = quoted(said)


class ForbiddenError(_AnsweredNoError):
    """This account may not do it, for a reason that Kaggle does not give or that this kit does not know."""

    answer = "forbids it"


class RulesNotAcceptedError(ForbiddenError):
    """The rules of a competition have to be accepted first."""

    remedy = "open {page} in a browser, join the competition and accept its rules"


class PhoneNotVerifiedError(ForbiddenError):
    """The account's phone number has to be verified first."""

    remedy = "verify your phone number at {page}"


class IdentityNotVerifiedError(ForbiddenError):
    """The account's owner has to prove who they are first."""

    remedy = "verify your identity at {page}"


class SubmitForbiddenError(ForbiddenError):
    """The API does not take this submission; a browser may."""

    remedy = (
        "open {page} in a browser and press Submit Prediction; if the button is not there, accept the rules or look at "
        "the deadline"
    )


class RefusedError(_AnsweredNoError):
    """Kaggle refuses something for what it is."""

    answer = "refuses it"
    remedy = "change that, then try again"


class QuotaUsedUpError(RefusedError):
    """No accelerator hours are left."""

    remedy = "the hours begin anew on Saturday at 00:00 UTC, see {page}; until then take another accelerator"


class SessionLimitError(RefusedError):
    """As many sessions run as this account may have."""

    remedy = "wait for a running session to end, or stop one at {page}, then try again"


class SlugTakenError(RefusedError):
    """The name belongs to something else already."""

    remedy = "take another title, or delete what has it at {page}"


class SubmissionLimitError(RefusedError):
    """No submission is left today."""

    remedy = "the day's count begins anew at 00:00 UTC, submit after that"


class SourcesRefusedError(RefusedError):
    """A version was saved, and runs, without some of the inputs it was to have.

    Attributes:
        version: The version that was saved all the same.
        sources: What is missing, by kind: `competition`, `dataset`, `kernel`, `model`.
    """

    def __init__(self, *, ref: str, version: int, sources: Mapping[str, tuple[str, ...]]) -> None:
        missing = ", ".join(f"{kind} {printable(name)}" for kind, names in sources.items() for name in names)
        super().__init__(
            doing=f"push {ref} with all of its inputs",
            said=f"version {version} was saved without {missing}",
            remedy="check those names, and that this account may use them (accepted rules, private datasets, an output "
            "that is there), then push again",
        )
        self.version = version
        self.sources = {kind: tuple(names) for kind, names in sources.items()}


class UnsafeAnswerError(KaggleError):
    """A guard refused something that would have been unsafe to write, to open or to send.

    `was_sent` is false where the guard stood before the request.
    """

    def __init__(
        self, *, doing: str, what: str, remedy: str = "nothing was written or sent", was_sent: bool = True
    ) -> None:
        super().__init__(f"Cannot {printable(doing)}: {what}; {remedy}.")
        self.was_sent = was_sent


def quoted(said: str) -> str:
    """A server's words on one line, printable, cut short and without the full stop at their end."""
    line = printable(" ".join(said.split()))
    line = line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"
    return line.rstrip(".")


def _said(said: str) -> str:
    return f" ({quoted(said)})" if said.strip() else ""


def _duration(time: timedelta) -> str:
    seconds = round(time.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"  # noqa: PLR2004 - two minutes
