"""A request for a page: who asks, what for, the form that was sent, and what every page says beside its own content.

What a page shows is asked of the API's own methods, as the account that looks.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from generator.localkaggle.http.authentication import BASE, CALLER
from generator.localkaggle.http.limits import LARGEST_FORM
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Redirect
from generator.localkaggle.services.kernels import Kernels
from generator.localkaggle.web.templating import rendered

_MOST_FIELDS = 2_000
_LISTED_AT_ONCE, _MOST_LISTINGS = 200, 25
_REFUSED = 422


@dataclass(frozen=True)
class PageRequest:
    """A request for a page of this local Kaggle by somebody who is logged in; `body` is what a POST sent."""

    local_kaggle: LocalKaggle
    request: Request
    body: bytes = b""

    @property
    def account(self) -> str:
        """The account whose pages these are."""
        return str(self.request.scope[CALLER])

    @property
    def path(self) -> str:
        """The path with percent-escapes decoded; `request.url` would end it at a `?` in a name."""
        return str(self.request.scope["path"])

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters behind the question mark."""
        return self.request.query_params

    @property
    def kernels(self) -> Kernels:
        """The kernels with their versions, sessions and files."""
        return self.local_kaggle.kernels

    @property
    def now(self) -> datetime:
        """The present moment at this local Kaggle."""
        return self.local_kaggle.site.clock.now()

    @property
    def is_form(self) -> bool:
        """True if a form was sent, whatever stands in it."""
        return self.request.method == "POST"

    @cached_property
    def form(self) -> Mapping[str, str]:
        """The texts of the form that was sent.

        Raises:
            ApiError: The body is no form.
        """
        return {name: value for name, value in self._sent.items() if isinstance(value, str)}

    def file(self, name: str) -> UploadFile | None:
        """The file that was chosen in a field of the form, or None.

        Raises:
            ApiError: The body is no form.
        """
        value = self._sent.get(name)
        return value if isinstance(value, UploadFile) and value.filename else None

    @cached_property
    def _sent(self) -> FormData:
        return _parsed(self.body, self.request.headers)

    def call(self, method: str, **fields: Any) -> Fields:
        """The object that a method of the API answers.

        Raises:
            ApiError: It refuses.
        """
        return cast("Fields", self._answer(method, fields))

    def address(self, method: str, **fields: Any) -> str:
        """The address that a method of the API sends its callers to.

        Raises:
            ApiError: It refuses.
        """
        return cast("Redirect", self._answer(method, fields)).url

    def items(self, method: str, *, key: str, **fields: Any) -> list[Fields]:
        """All items of a listing of the API, some thousand at most.

        Raises:
            ApiError: The method refuses.
        """
        items: list[Fields] = []
        token = ""
        for _ in range(_MOST_LISTINGS):
            answer = self.call(method, pageSize=_LISTED_AT_ONCE, pageToken=token, **fields)
            items.extend(answer[key])
            token = answer["nextPageToken"]
            if not token:
                break
        return items

    def _answer(self, method: str, fields: Fields) -> Answer:
        return self.local_kaggle.handle(Call(method, self.account, self.request.scope[BASE], fields))

    def render(self, template: str, *, here: str, status: int = 200, problem: str = "", **values: Any) -> Response:
        """A page from a template.

        Args:
            template: Its file.
            here: The word of the bar on top that the page belongs to.
            status: The HTTP status.
            problem: Why a form that was sent is shown again, which has a status of its own; empty if it is not.
            **values: What the template shows; with `moves` the page looks again by itself.
        """
        common = {"account": self.account, "here": here, "now": self.now, "moves": False, "problem": problem}
        return rendered(template, {**common, **values}, status=_REFUSED if problem else status)


def redirect(address: str) -> Response:
    """Sends the browser to another address, to be fetched by GET whatever the request was."""
    return RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})


def _parsed(body: bytes, headers: Headers) -> FormData:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    kind, options = parse_options_header(headers.get("content-type"))
    try:
        if kind == b"application/x-www-form-urlencoded":
            # Starlette's own parser of these would replace what is not UTF-8, silently.
            return FormData(dict(parse_qsl(body.decode(), True, max_num_fields=_MOST_FIELDS, errors="strict")))
        if kind == b"multipart/form-data" and b"boundary" in options:
            # The parser takes what it has got for the whole where the end is missing.
            if b"--%b--" % options[b"boundary"] not in body:
                raise ApiError(400, "The form was not sent to its end.")
            parser = MultiPartParser(headers, stream(), max_fields=_MOST_FIELDS, max_part_size=LARGEST_FORM)
            return asyncio.run(parser.parse())
    except (ValueError, MultiPartException) as error:
        raise ApiError(400, "What was sent is no form in UTF-8.") from error
    raise ApiError(415, "What was sent is no form.")
