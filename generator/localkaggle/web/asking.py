"""Asking the local Kaggle's API on behalf of a page, as its account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Redirect
from generator.localkaggle.services.blobs import Blobs
from generator.localkaggle.services.kernels import Kernels
from generator.localkaggle.site import Site

_PAGE = 200
_MOST_PAGES = 25


class LocalKaggleApi(Protocol):
    """What the pages ask of a local Kaggle: what its clients ask, and by the same door."""

    @property
    def site(self) -> Site:
        """The account and the clock."""

    @property
    def blobs(self) -> Blobs:
        """The files that were sent, waiting to be part of something."""

    @property
    def kernels(self) -> Kernels:
        """The kernels with their versions, sessions and files, of which the API tells its clients only a part."""

    def handle(self, call: Call) -> Answer:
        """Answers a call; raises `ApiError` where it refuses."""


@dataclass(frozen=True)
class Asker:
    """Asks for one browser; `base` is the origin that it reached us at, `account` who is logged in."""

    local_kaggle: LocalKaggleApi
    base: str
    account: str

    def ask(self, method: str, **fields: Any) -> Fields:
        """The object that a method answers.

        Raises:
            ApiError: It refuses.
        """
        answer = self._answer(method, fields)
        if not isinstance(answer, Mapping):
            raise ApiError(502, f"{method} answered with something else than an object.")
        return answer

    def redirected(self, method: str, **fields: Any) -> str:
        """The address that a method sends its callers to.

        Raises:
            ApiError: It refuses.
        """
        answer = self._answer(method, fields)
        if not isinstance(answer, Redirect):
            raise ApiError(502, f"{method} answered with something else than an address.")
        return answer.url

    def everything(self, method: str, *, key: str, **fields: Any) -> list[Fields]:
        """All items of a listing, some thousand at most.

        Raises:
            ApiError: The method refuses.
        """
        items: list[Fields] = []
        token = ""
        for _ in range(_MOST_PAGES):
            answer = self.ask(method, pageSize=_PAGE, pageToken=token, **fields)
            items.extend(objects(answer, key))
            token = text(answer, "nextPageToken")
            if not token:
                break
        return items

    def _answer(self, method: str, fields: Fields) -> Answer:
        return self.local_kaggle.handle(Call(method=method, caller=self.account, base=self.base, fields=fields))


def text(fields: Fields, name: str) -> str:
    """A field as a text; empty where there is none."""
    value = fields.get(name)
    return "" if value is None else str(value)


def whole(fields: Fields, name: str) -> int:
    """A field as a whole number; 0 where there is none."""
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def objects(fields: Fields, name: str) -> Sequence[Fields]:
    """A field as a list of objects; none where there is no such field."""
    value = fields.get(name)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def texts(fields: Fields, name: str) -> tuple[str, ...]:
    """A field as a list of texts; none where there is no such field."""
    value = fields.get(name)
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()
