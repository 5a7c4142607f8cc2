"""The errors that a user can mend, each of which writes its own sentence.

TandemError
├── CompetitionError          a competition or its data (generator.competition)
├── PairError                 a pair of notebooks and its choices (generator.pair)
├── CheckError                what is to be checked, and how (generator.check)
├── ColabError                training on Colab (generator.colab.rental)
├── KaggleError               Kaggle, or the way to it (generator.kaggle.errors)
├── ChainError                carrying a pair to its score (generator.kaggle.chain.errors)
├── LocalKaggleError          a Kaggle on this machine (generator.localkaggle)
└── RunError                  running a pair on this machine (generator.run)

A message is what is wrong, where, and what to do. One that is said in a single place is written there; an error that is
raised in several, that somebody catches, or that carries data, is a class, beside the code that raises it, whose
constructor takes the data by keyword. Only `generator.cli` catches `TandemError`: one message on stderr, exit code 1.
With `--json`, programs get the code, the summary and the remedy apart.
"""

import re
from collections.abc import Iterable


class TandemError(Exception):
    """Anything that the user can mend; `str(error)` is the whole message, without a trailing newline.

    Args:
        summary: What is wrong, and where; with what to do, where `remedy` is empty.
        remedy: What to do, as sentences of their own.
        code: The name of this kind of error for programs; by default that of its class.
        text: The whole message, where it is not the summary and then the remedy.
    """

    def __init__(self, summary: str, *, remedy: str = "", code: str = "", text: str = "") -> None:
        self.message = text or " ".join(filter(None, (summary, remedy)))
        super().__init__(self.message)
        self.summary = summary
        self.remedy = remedy
        self.code = code or code_of(type(self))


def code_of(kind: type[TandemError]) -> str:
    """Return the code of a class of errors: `NotFoundError` is `not-found`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__.removesuffix("Error")).lower()


class CompetitionError(TandemError):
    """A competition or its data are not what the kit can work with."""


class PairError(TandemError):
    """A pair of notebooks cannot be rendered, read or written."""


class LocalKaggleError(TandemError):
    """A local Kaggle cannot do what was asked of it by the person who runs it."""


class CheckError(TandemError):
    """Notebooks could not be checked; what is wrong with them is a finding, and no error."""


class RunError(TandemError):
    """A pair could not be run on this machine."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Names the nearest known name, or one that has this for its initials, for the end of a message.

    Args:
        name: What the user wrote; upper and lower case count as the same.
        candidates: The names that would have been right.

    Returns:
        ` Did you mean "x"?`, or nothing if no name is near.
    """
    from difflib import get_close_matches

    by_lower_case = {candidate.lower(): candidate for candidate in candidates}
    query = name[:100].lower()
    of_initials = [lower_name for lower_name in by_lower_case if "_" in lower_name and query == _initials(lower_name)]
    of_letters = [lower_name for lower_name in by_lower_case if sorted(query) == sorted(lower_name)]  # in another order
    nearest = get_close_matches(query, by_lower_case, n=1) or of_initials or of_letters
    return f' Did you mean "{by_lower_case[nearest[0]]}"?' if nearest else ""


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.split("_"))
