"""Which error an answer of Kaggle is: its HTTP status and its words, or the words of an answer that came with 200."""

import re
from dataclasses import dataclass

from generator.kaggle.errors import (
    ForbiddenError,
    IdentityNotVerifiedError,
    KaggleError,
    NotFoundError,
    PhoneNotVerifiedError,
    QuotaUsedUpError,
    RefusedError,
    RulesNotAcceptedError,
    ServerFailedError,
    SessionLimitError,
    SlugTakenError,
    SubmissionLimitError,
    SubmitForbiddenError,
)

_RULES = re.compile(r"\baccept\w*\b.{0,60}\brules\b|\brules\b.{0,60}\baccept", re.IGNORECASE | re.DOTALL)
_PHONE = re.compile(r"\bphone\b", re.IGNORECASE)
_IDENTITY = re.compile(r"\bidentity\b|\bpersona\b", re.IGNORECASE)
_QUOTA = re.compile(r"\bquota\b", re.IGNORECASE)
_SESSIONS = re.compile(
    r"\bsession count\b|\bmaximum\b.{0,40}\bsessions?\b|\btoo many\b.{0,40}\bsessions?\b", re.I | re.S
)
_TAKEN = re.compile(r"\balready (?:exists|in use|taken|used)\b|\bis (?:taken|in use)\b|\bconflict", re.IGNORECASE)
_SUBMISSIONS = re.compile(
    r"\bsubmissions?\b.{0,40}\b(?:limit|allowance|left|remaining|per day)\b"
    r"|\b(?:limit|maximum|no more|used all)\b.{0,40}\bsubmissions?\b",
    re.IGNORECASE | re.DOTALL,
)
_FORBIDDEN, _NOT_FOUND, _CONFLICT, _FAILED = 403, 404, 409, 500


@dataclass(frozen=True)
class Errand:
    """What is being asked, as far as the sentences of errors need it.

    Attributes:
        doing: A verb and its object, such as "push ada/digits-train".
        competition: The competition it is about, if it is about one.
        is_submission: Whether a submission is being made.
    """

    doing: str
    competition: str = ""
    is_submission: bool = False


@dataclass(frozen=True)
class Site:
    """Where the web pages of a Kaggle are, without a final slash: `https://www.kaggle.com`."""

    base: str

    def rules(self, errand: Errand) -> str:
        """The page on which a competition's rules are accepted."""
        return f"{self.competition(errand)}/rules" if errand.competition else f"{self.base}/competitions"

    def competition(self, errand: Errand) -> str:
        """The page of the competition that an errand is about, or of all."""
        return f"{self.base}/competitions/{errand.competition}" if errand.competition else f"{self.base}/competitions"

    def list(self, errand: Errand) -> str:
        """The page that lists what an errand may have meant: all competitions, or the account's own work."""
        return f"{self.base}/competitions" if errand.competition else self.work

    @property
    def settings(self) -> str:
        """The page on which phone and identity are verified, tokens are made and quota is shown."""
        return f"{self.base}/settings"

    @property
    def work(self) -> str:
        """The page that lists the account's own notebooks and their running sessions."""
        return f"{self.base}/work"


def refusal(status: int, said: str, *, errand: Errand, site: Site) -> KaggleError:
    """The error for an answer with a status of 400 or more other than 401 and 429, or for a refusal in words.

    Args:
        status: The HTTP status, or the `code` in an answer that came with 200; 400 for an `error` field.
        said: What the server said; may be empty.
        errand: What was asked.
        site: Where the pages are that the error names.
    """
    if status >= _FAILED:
        return ServerFailedError(doing=errand.doing, status=status, said=said)
    if known := _by_words(said, errand=errand, site=site):
        return known
    if status == _CONFLICT:
        return SlugTakenError(doing=errand.doing, said=said, page=site.work)
    if status == _NOT_FOUND:
        return NotFoundError(doing=errand.doing, said=said, look_at=site.list(errand))
    if status == _FORBIDDEN:
        return _forbidden(said, errand=errand, site=site)
    return RefusedError(doing=errand.doing, said=said or f"with status {status}")


def _by_words(said: str, *, errand: Errand, site: Site) -> KaggleError | None:
    doing = errand.doing
    # The order counts: a sentence on a quota may speak of sessions, but none on sessions of a quota.
    if _RULES.search(said):
        return RulesNotAcceptedError(doing=doing, said=said, page=site.rules(errand))
    for pattern, verification in ((_PHONE, PhoneNotVerifiedError), (_IDENTITY, IdentityNotVerifiedError)):
        if pattern.search(said):
            return verification(doing=doing, said=said, page=site.settings)
    if errand.is_submission and _SUBMISSIONS.search(said):
        return SubmissionLimitError(doing=doing, said=said)
    for pattern, refused, page in (
        (_QUOTA, QuotaUsedUpError, site.settings),
        (_SESSIONS, SessionLimitError, site.work),
        (_TAKEN, SlugTakenError, site.work),
    ):
        if pattern.search(said):
            return refused(doing=doing, said=said, page=page)
    return None


def _forbidden(said: str, *, errand: Errand, site: Site) -> KaggleError:
    if errand.is_submission:
        return SubmitForbiddenError(doing=errand.doing, said=said, page=f"{site.competition(errand)}/submit")
    if errand.competition:
        # Kaggle answers 403 without a reason for what only those see who have joined.
        return ForbiddenError(
            doing=errand.doing,
            said=said,
            remedy=f"join the competition and accept its rules at {site.rules(errand)}, then try again",
        )
    return ForbiddenError(
        doing=errand.doing,
        said=said,
        remedy=f"check that the name is right and that it belongs to this account, at {site.work}",
    )
