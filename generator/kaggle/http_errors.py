"""The error that an answer of Kaggle stands for: by its HTTP status and its words, or by words that came with 200."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from generator.kaggle.errors import (
    ForbiddenError,
    IdentityNotVerifiedError,
    KaggleError,
    NotFoundError,
    PhoneNotVerifiedError,
    QuotaUsedUpError,
    RateLimitedError,
    RefusedError,
    RulesNotAcceptedError,
    ServerFailedError,
    SessionLimitError,
    SlugTakenError,
    SubmissionLimitError,
    SubmitForbiddenError,
)
from generator.kaggle.retries import retry_after

REAL_HOST = "api.kaggle.com"


@dataclass(frozen=True)
class Operation:
    """Something that is asked of Kaggle, as far as the sentences of errors need it.

    Attributes:
        doing: A verb and its object, such as "push ada/digits-train".
        competition: The competition it is about, if it is about one.
        is_submission: Whether a submission is being made.
    """

    doing: str
    competition: str = ""
    is_submission: bool = False


@dataclass(frozen=True)
class Endpoint:
    """The addresses of an API and its web pages; `address` is the API's origin without a final slash."""

    address: str
    is_local: bool

    @property
    def is_real(self) -> bool:
        """True for Kaggle's own."""
        return urlsplit(self.address).hostname == REAL_HOST

    @property
    def host(self) -> str:
        """The host with its port, for sentences."""
        return urlsplit(self.address).netloc

    @property
    def api(self) -> str:
        """The address that the API's methods stand below."""
        # Only the real one has a host of its own for the API; everywhere else it is below /api.
        return f"{self.address}/v1" if self.is_real else f"{self.address}/api/v1"

    @property
    def site(self) -> str:
        """The address of the web pages, without a final slash."""
        return "https://www.kaggle.com" if self.is_real else self.address

    def competition(self, operation: Operation) -> str:
        """The page of the competition that an operation is about, or of all."""
        return f"{self.site}/competitions/{operation.competition}".rstrip("/")

    def rules(self, operation: Operation) -> str:
        """The page on which a competition's rules are accepted."""
        return f"{self.competition(operation)}/rules" if operation.competition else self.competition(operation)

    @property
    def work(self) -> str:
        """The page that lists the account's own notebooks and their running sessions."""
        return f"{self.site}/work"


def transient_error(status: int, headers: Mapping[str, str], *, doing: str, said: str = "") -> KaggleError | None:
    """The error for a status that may be another one a moment later: 429 or 5xx; None for any other status."""
    wait = retry_after(headers.get("retry-after"))
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimitedError(doing=doing, retry_after=wait)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFailedError(doing=doing, status=status, said=said, retry_after=wait)
    return None


def refusal(status: int, said: str, *, operation: Operation, endpoint: Endpoint) -> KaggleError:
    """The error for an answer with a status of 400 to 499 other than 401 and 429, or for a refusal in words.

    Args:
        status: The HTTP status, or the `code` in an answer that came with 200; 400 for an `error` field.
        said: The server's words; may be empty.
        operation: The operation that was refused.
        endpoint: Where the pages are that the error names.
    """
    doing = operation.doing
    if known := _by_words(said, operation, endpoint):
        return known
    if status == HTTPStatus.CONFLICT:
        return SlugTakenError(doing=doing, said=said, page=endpoint.work)
    if status == HTTPStatus.NOT_FOUND:
        page = endpoint.competition(Operation(doing)) if operation.competition else endpoint.work
        return NotFoundError(doing=doing, said=said, look_at=page)
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden(said, operation, endpoint)
    return RefusedError(doing=doing, said=said or f"with status {status}")


# The order counts: a sentence on a quota may speak of sessions, but none on sessions of a quota.
_BY_WORDS: tuple[tuple[type[ForbiddenError] | type[RefusedError], str], ...] = (
    (RulesNotAcceptedError, r"\baccept\w*\b.{0,60}\brules\b|\brules\b.{0,60}\baccept"),
    (PhoneNotVerifiedError, r"\bphone\b"),
    (IdentityNotVerifiedError, r"\bidentity\b|\bpersona\b"),
    (SubmissionLimitError, r"\bsubmissions?\b.{0,40}\b(?:limit|allowance|left|remaining|per day)\b"),
    (SubmissionLimitError, r"\b(?:limit|maximum|no more|used all)\b.{0,40}\bsubmissions?\b"),
    (QuotaUsedUpError, r"\bquota\b"),
    (SessionLimitError, r"\bsession count\b|\bmaximum\b.{0,40}\bsessions?\b|\btoo many\b.{0,40}\bsessions?\b"),
    (SlugTakenError, r"\balready (?:exists|in use|taken|used)\b|\bis (?:taken|in use)\b|\bconflict"),
)


def _by_words(said: str, operation: Operation, endpoint: Endpoint) -> KaggleError | None:
    for error, pattern in _BY_WORDS:
        if error is SubmissionLimitError and not operation.is_submission:
            continue
        if re.search(pattern, said, re.IGNORECASE | re.DOTALL):
            return error(doing=operation.doing, said=said, page=_page(error, operation, endpoint))
    return None


def _page(error: type[KaggleError], operation: Operation, endpoint: Endpoint) -> str:
    """The page on which a refusal is mended; phone and identity are verified, and quota is shown, in the settings."""
    if error is RulesNotAcceptedError:
        return endpoint.rules(operation)
    return endpoint.work if error in (SessionLimitError, SlugTakenError) else f"{endpoint.site}/settings"


def _forbidden(said: str, operation: Operation, endpoint: Endpoint) -> KaggleError:
    if operation.is_submission:
        return SubmitForbiddenError(doing=operation.doing, said=said, page=f"{endpoint.competition(operation)}/submit")
    remedy = f"check that the name is right and that it belongs to this account, at {endpoint.work}"
    if operation.competition:
        # Kaggle answers 403 without a reason for what only those see who have joined.
        remedy = f"join the competition and accept its rules at {endpoint.rules(operation)}, then try again"
    return ForbiddenError(doing=operation.doing, said=said, remedy=remedy)
