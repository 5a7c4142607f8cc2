"""The `competition.toml` of a hosted folder: what its host says of it."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.facts import SubmissionKind
from generator.competition.metrics import parsed
from generator.errors import did_you_mean
from generator.files import read_text
from generator.localkaggle.errors import LocalKaggleError
from generator.localkaggle.hosting.hosted import DAILY_LIMIT, PUBLIC_SHARE, HostedFacts, HostedPage, Question
from generator.untrusted import is_slug, printable

_NAME = "competition.toml"
_KEYS = (
    "slug",
    "title",
    "description",
    "metric",
    "submission",
    "code_competition",
    "internet",
    "daily_limit",
    "public_share",
    "deadline",
    "submission_file",
    "sample_submission",
    "mask_size",
    "pages",
)


class HostedFolderError(LocalKaggleError):
    """A folder cannot be hosted as a competition."""

    def __init__(self, *, path: Path, problem: str) -> None:
        end = "" if problem.endswith((".", "?")) else "."
        super().__init__(f"{printable(str(path))} cannot be hosted: {problem}{end}")


@dataclass(frozen=True)
class Description:
    """What a `competition.toml` says.

    Attributes:
        facts: What is known of the competition; its question has no columns yet.
        sample_submission: The name of the sample in `hidden/` or `data/`.
        says_submission: Whether it says what a row of a submission says; else that follows from the columns.
    """

    facts: HostedFacts
    sample_submission: str
    says_submission: bool


def read_description(folder: Path) -> Description:
    """Reads the description of the competition in a folder.

    Raises:
        FileReadError: There is none.
        HostedFolderError: It is no TOML, or says something that cannot be.
        CompetitionError: The metric is not known.
    """
    path = folder / _NAME
    try:
        entries = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError of Python's
        raise HostedFolderError(path=path, problem=f"it is not TOML ({printable(str(error))})") from error
    for key in entries:
        if key not in _KEYS:
            known = f"has the keys {', '.join(_KEYS)}.{did_you_mean(key, _KEYS)}"
            raise HostedFolderError(path=path, problem=f'"{printable(key)}" is none of its keys; it {known}')
    return _Reader(path, entries).description()


class _Reader:
    """Takes the values out of the table, each of its type and within its bounds."""

    def __init__(self, path: Path, entries: Mapping[str, Any]) -> None:
        self._path = path
        self._entries = entries

    def description(self) -> Description:
        metric = self._value("metric", str, None)
        parsed(metric)
        said = self._value("submission", str, "")
        question = Question(
            metric=metric,
            submission=self._submission(said),
            mask_size=self._mask_size(),
            public_share=self._public_share(),
        )
        return Description(
            self._facts(question), self._file_name("sample_submission", "sample_submission.csv"), bool(said)
        )

    def _facts(self, question: Question) -> HostedFacts:
        title = self._value("title", str, self._path.parent.resolve().name)
        return HostedFacts(
            slug=self._slug(),
            title=title,
            description=self._value("description", str, f"{title}."),
            is_code_competition=self._value("code_competition", bool, default=False),
            question=question,
            pages=tuple(self._pages()),
            allows_internet=self._value("internet", bool, default=False),
            daily_limit=self._daily_limit(),
            deadline=self._deadline(),
            submission_file=self._file_name("submission_file", "submission.csv"),
        )

    def _slug(self) -> str:
        slug: str = self._value("slug", str, self._path.parent.resolve().name)
        if not is_slug(slug):
            raise self._wrong("slug", "made of lower-case letters, digits and hyphens; set it, or rename the folder")
        return slug

    def _submission(self, said: str) -> SubmissionKind:
        try:
            return SubmissionKind(said) if said else SubmissionKind.NUMBERS
        except ValueError as error:
            raise self._wrong("submission", f"one of {', '.join(kind.value for kind in SubmissionKind)}") from error

    def _public_share(self) -> float:
        share = self._value("public_share", (int, float), PUBLIC_SHARE)
        if not 0 < share <= 1:
            raise self._wrong("public_share", "above 0 and at most 1")
        return float(share)

    def _daily_limit(self) -> int:
        limit: int = self._value("daily_limit", int, DAILY_LIMIT)
        if limit < 1:
            raise self._wrong("daily_limit", "1 or more")
        return limit

    def _deadline(self) -> datetime | None:
        if "deadline" not in self._entries:
            return None
        deadline: datetime = self._value("deadline", datetime, None)
        return deadline.replace(tzinfo=UTC) if deadline.tzinfo is None else deadline

    def _mask_size(self) -> tuple[int, int] | None:
        if "mask_size" not in self._entries:
            return None
        size = self._value("mask_size", list, None)
        if len(size) != 2 or not all(type(side) is int and side > 0 for side in size):  # noqa: PLR2004 - two sides
            raise self._wrong("mask_size", "two whole numbers, the height and the width")
        return size[0], size[1]

    def _file_name(self, key: str, default: str) -> str:
        name: str = self._value(key, str, default)
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name or not name.isprintable():
            raise self._wrong(key, "a relative path")
        return name

    def _pages(self) -> Iterable[HostedPage]:
        for name, content in self._value("pages", dict, {}).items():
            if not isinstance(content, str):
                raise self._wrong("pages", f'texts; "{printable(name)}" is none')
            yield HostedPage(name, name.replace("-", " ").capitalize(), content)

    def _value(self, key: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = self._entries.get(key, default)
        # A boolean is a whole number to Python, and none to the person who wrote it.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
            raise self._wrong(key, f"there, and of the type {names}")
        return value

    def _wrong(self, key: str, wanted: str) -> HostedFolderError:
        return HostedFolderError(path=self._path, problem=f"{key} has to be {wanted}")
