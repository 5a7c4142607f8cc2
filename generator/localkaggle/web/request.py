"""A request for a page and its answer, apart from HTTP; how either travels is up to `generator.localkaggle.http`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from generator.localkaggle.rpc import ApiError, Stored
from generator.localkaggle.web.forms import Form, parse

LARGEST_FORM = 32 * 2**20
"""The most bytes of a body that a page takes: a notebook in the longest form that the API saves, or a file."""


@dataclass(frozen=True)
class WebRequest:
    """What a browser asks for, by somebody who is logged in.

    The server in front has checked the host, the cookie and, of a POST, that it comes from one of our own pages.

    Args:
        method: GET (also for HEAD, whose body the server drops) or POST.
        path: The path with percent-escapes decoded, beginning with a slash.
        base: The origin that the browser reached us at, without a final slash.
        caller: The account that is logged in; if it is empty, the one that the server belongs to.
        query: What stands behind the question mark, each name once.
        body: What a POST sends, at most `LARGEST_FORM` bytes.
        content_type: The type that the browser gives its body.
    """

    method: str
    path: str
    base: str
    caller: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""

    def form(self) -> Form:
        """The form that was sent.

        Raises:
            ApiError: The body is no form, or too large.
        """
        if len(self.body) > LARGEST_FORM:
            raise ApiError(413, f"A form may have {LARGEST_FORM:,} bytes, and this one has more.")
        return parse(self.body, self.content_type)


@dataclass(frozen=True)
class WebAnswer:
    """What a browser gets: `body`, or the file in `stored`, to be sent with ranges; never `stored` with a body."""

    status: int = HTTPStatus.OK
    body: bytes = b""
    media_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    stored: Stored | None = None


def redirect(location: str) -> WebAnswer:
    """Sends the browser to another address, to be fetched by GET whatever the request was."""
    return WebAnswer(status=HTTPStatus.SEE_OTHER, headers={"Location": location, "Cache-Control": "no-store"})
