"""A client of the local Kaggle's own API, for a page: its methods are called as the account that looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Redirect

_PAGE = 200
_MOST_PAGES = 25


@dataclass(frozen=True)
class ApiClient:
    """Calls methods for one browser; `base` is the origin that it reached us at, `account` who is logged in."""

    local_kaggle: LocalKaggle
    base: str
    account: str

    def call(self, method: str, **fields: Any) -> Fields:
        """The object that a method answers.

        Raises:
            ApiError: It refuses.
        """
        answer = self._answer(method, fields)
        if not isinstance(answer, Mapping):
            raise ApiError(502, f"{method} answered with something else than an object.")
        return answer

    def address(self, method: str, **fields: Any) -> str:
        """The address that a method sends its callers to.

        Raises:
            ApiError: It refuses.
        """
        answer = self._answer(method, fields)
        if not isinstance(answer, Redirect):
            raise ApiError(502, f"{method} answered with something else than an address.")
        return answer.url

    def items(self, method: str, *, key: str, **fields: Any) -> list[Fields]:
        """All items of a listing, some thousand at most.

        Raises:
            ApiError: The method refuses.
        """
        items: list[Fields] = []
        token = ""
        for _ in range(_MOST_PAGES):
            answer = self.call(method, pageSize=_PAGE, pageToken=token, **fields)
            items.extend(answer[key])
            token = answer["nextPageToken"]
            if not token:
                break
        return items

    def _answer(self, method: str, fields: Fields) -> Answer:
        return self.local_kaggle.handle(Call(method=method, caller=self.account, base=self.base, fields=fields))
