"""The `competition.toml` of a hosted folder: what its host says of it."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.facts import SubmissionKind
from generator.competition.metrics import parsed
from generator.errors import LocalKaggleError, did_you_mean
from generator.files import read_text
from generator.localkaggle.hosting.hosted import DAILY_LIMIT, PUBLIC_SHARE, HostedFacts, HostedPage, Question
from generator.untrusted import is_slug, printable

_NAME = "competition.toml"


class HostedFolderError(LocalKaggleError):
    """A folder cannot be hosted as a competition."""

    def __init__(self, *, path: Path, problem: str) -> None:
        end = "" if problem.endswith((".", "?")) else "."
        super().__init__(f"{printable(str(path))} cannot be hosted: {problem}{end}")


@dataclass(frozen=True)
class Description:
    """The content of a `competition.toml`.

    Attributes:
        facts: What is known of the competition; its question has no columns yet.
        sample_submission: The name of the sample in `hidden/` or `data/`.
        id_column: The column of the answers and of submissions with the ids; "" where the host does not say it.
        says_submission: Whether it says what a row of a submission says; else that follows from the columns.
    """

    facts: HostedFacts
    sample_submission: str
    id_column: str
    says_submission: bool


@dataclass(frozen=True)
class _Key:
    """One key: its type, its default or None where it has to be said, and what its value has to be beside."""

    type: type | tuple[type, ...]
    default: Any = None
    fits: Callable[[Any], bool] = lambda _: True
    wanted: str = ""
    optional: bool = False


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and bool(path.name) and name.isprintable()


def _is_size(size: list[Any]) -> bool:
    return len(size) == 2 and all(type(side) is int and side > 0 for side in size)  # noqa: PLR2004 - two sides


_SUBMISSIONS = [kind.value for kind in SubmissionKind]
_KEYS = {
    "slug": _Key(str, "", is_slug, "made of lower-case letters, digits and hyphens; set it, or rename the folder"),
    "title": _Key(str, ""),
    "description": _Key(str, ""),
    "metric": _Key(str),
    "submission": _Key(str, "", lambda said: said in ("", *_SUBMISSIONS), f"one of {', '.join(_SUBMISSIONS)}"),
    "code_competition": _Key(bool, default=False),
    "internet": _Key(bool, default=False),
    "daily_limit": _Key(int, DAILY_LIMIT, lambda limit: limit >= 1, "1 or more"),
    "public_share": _Key((int, float), PUBLIC_SHARE, lambda share: 0 < share <= 1, "above 0 and at most 1"),
    "deadline": _Key(datetime, optional=True),
    "submission_file": _Key(str, "submission.csv", _is_inside, "a relative path"),
    "sample_submission": _Key(str, "sample_submission.csv", _is_inside, "a relative path"),
    "id_column": _Key(str, ""),
    "mask_size": _Key(list, fits=_is_size, wanted="two whole numbers, the height and the width", optional=True),
    "pages": _Key(dict, {}),
}


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
    name = folder.resolve().name
    title = entries.get("title", name)
    usual = {"slug": name, "title": name, "description": f"{title}."}
    values = {key: _value(path, key, {**usual, **entries}) for key in _KEYS}
    parsed(values["metric"])
    deadline, size = values["deadline"], values["mask_size"]
    question = Question(
        metric=values["metric"],
        submission=SubmissionKind(values["submission"] or SubmissionKind.NUMBERS),
        mask_size=None if size is None else (size[0], size[1]),
        public_share=float(values["public_share"]),
    )
    facts = HostedFacts(
        slug=values["slug"],
        title=values["title"],
        description=values["description"],
        is_code_competition=values["code_competition"],
        question=question,
        pages=_pages(path, values["pages"]),
        allows_internet=values["internet"],
        daily_limit=values["daily_limit"],
        deadline=deadline.replace(tzinfo=UTC) if deadline is not None and deadline.tzinfo is None else deadline,
        submission_file=values["submission_file"],
    )
    sample, id_column = values["sample_submission"], values["id_column"]
    return Description(facts, sample, id_column, says_submission=bool(values["submission"]))


def _value(path: Path, key: str, entries: Mapping[str, Any]) -> Any:
    rule = _KEYS[key]
    if rule.optional and key not in entries:
        return None
    value = entries.get(key, rule.default)
    kinds = rule.type if isinstance(rule.type, tuple) else (rule.type,)
    # A boolean is a whole number to Python, and none to the person who wrote it.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise HostedFolderError(path=path, problem=f"{key} has to be there, and of the type {names}")
    if not rule.fits(value):
        raise HostedFolderError(path=path, problem=f"{key} has to be {rule.wanted}")
    return value


def _pages(path: Path, written: Mapping[str, Any]) -> tuple[HostedPage, ...]:
    for name, content in written.items():
        if not isinstance(content, str):
            raise HostedFolderError(path=path, problem=f'pages has to be texts; "{printable(name)}" is none')
    return tuple(HostedPage(name, name.replace("-", " ").capitalize(), content) for name, content in written.items())
