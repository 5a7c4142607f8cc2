"""A call of Kaggle's API and its possible answers, apart from HTTP.

Every method of Kaggle's SDK is one `POST .../v1/<package.Service>/<Method>` with a JSON object. A service of the local
Kaggle is a table of such methods, each a function from a `Call` to an `Answer`; how either travels is the business of
`generator.localkaggle.http`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Fields = Mapping[str, Any]
"""A JSON object in the API's camelCase."""

_WHOLE_NUMBERS = range(-(2**63), 2**63)  # what the database can hold
_USUAL_PAGE, _LARGEST_PAGE = 20, 200  # items


@dataclass(frozen=True)
class Call:
    """One request; `caller` is the account it is made by, `base` the origin that the client reached us at.

    `base` is what addresses in answers begin with, without a final slash: a client behind a proxy setting knows this
    server as `http://localhost`, another one as `http://127.0.0.1:PORT`.
    """

    method: str
    caller: str
    base: str
    fields: Fields

    def text(self, name: str, default: str = "") -> str:
        """A field that is a text; `ApiError` 400 if it is something else."""
        return str(self._field(name, default, _is_text, "is not a text"))

    def integer(self, name: str, default: int = 0) -> int:
        """A field that is a whole number; `ApiError` 400 if it is something else."""
        return int(self._field(name, default, _is_whole, "is not a whole number"))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A field that is true or false; `ApiError` 400 if it is something else."""
        return bool(self._field(name, default, lambda value: isinstance(value, bool), "is neither true nor false"))

    def texts(self, name: str) -> tuple[str, ...]:
        """A field that is a list of texts; `ApiError` 400 if it is something else."""
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(map(_is_text, value)):
            raise ApiError(400, f"{name} is not a list of texts")
        return tuple(value)

    def part(self, name: str) -> "Call":
        """The same call with the object in a field as its fields, such as the `body` of a creation."""
        value = self.fields.get(name) or {}
        if not isinstance(value, dict):
            raise ApiError(400, f"{name} is not an object")
        return Call(self.method, self.caller, self.base, value)

    def _field(self, name: str, default: Any, is_right: Callable[[Any], bool], wrong: str) -> Any:
        value = self.fields.get(name)
        if value is None:
            return default
        if not is_right(value):
            raise ApiError(400, f"{name} {wrong}")
        return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _WHOLE_NUMBERS


def _is_text(value: Any) -> bool:
    """True if a value is a text that can be stored: JSON can spell halves of characters, which no encoding has."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class ApiError(Exception):
    """An answer of Kaggle that is a refusal: an HTTP status of 400 or more, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Redirect:
    """The client finds what it asked for at this address (302)."""

    url: str


@dataclass(frozen=True)
class Content:
    """A body that is no JSON."""

    body: bytes
    media_type: str


@dataclass(frozen=True)
class Stored:
    """A file of this machine, to be sent with ranges; `name` is what the client would call it.

    `below` is set for what a notebook wrote: the folder of its session, from which the file is opened without links.
    """

    path: Path
    name: str
    media_type: str = "application/octet-stream"
    below: Path | None = None


Answer = Fields | Redirect | Content
Handler = Callable[[Call], Answer]
Methods = Mapping[str, Handler]


def page(items: "list[Fields]", call: Call, *, key: str) -> Fields:
    """One page of a listing, as Kaggle cuts it: `pageSize`, `pageToken` (an opaque offset), `nextPageToken`.

    Args:
        items: All items, in their order.
        call: The request with `pageSize`, `pageToken` and, from older callers, `page`.
        key: The field of the answer that holds the items.

    Raises:
        ApiError: The token is none that this server gave.
    """
    size = min(max(call.integer("pageSize") or _USUAL_PAGE, 1), _LARGEST_PAGE)
    token = call.text("pageToken")
    if token and not token.isdecimal():
        raise ApiError(400, "The page token is not valid.")
    start = int(token[:12]) if token else (max(call.integer("page", 1), 1) - 1) * size
    rest = start + size
    return {key: items[start:rest], "nextPageToken": str(rest) if rest < len(items) else ""}
