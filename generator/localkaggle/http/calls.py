"""The methods of the API: `POST .../v1/<package.Service>/<Method>`."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from generator.localkaggle.http.answers import answered, parsed, refusal, refused
from generator.localkaggle.http.bodies import Bodies
from generator.localkaggle.http.door import BASE, BY_COOKIE, CALLER
from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.misbehaviour import afterwards, fault, instead
from generator.localkaggle.http.traffic import Exchange, Traffic
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError, Call
from generator.localkaggle.services.accounts import OPEN_METHODS

_LOG = logging.getLogger(__name__)
_UNAUTHENTICATED = "Unauthenticated: send the token that this server printed when it started."

Result = TypeVar("Result")


class Workers:
    """The few threads in which everything happens that may wait for the database or the disk, and those of pages."""

    def __init__(self, limits: Limits) -> None:
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="local-kaggle")
        self._pages = ThreadPoolExecutor(limits.page_threads, thread_name_prefix="local-kaggle-page")

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Calls a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def run_page(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Calls a function that makes a page, which no call of the API waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._pages, function, *arguments)

    def close(self) -> None:
        """Lets the threads end once their work is done."""
        for pool in (self._pool, self._pages):
            pool.shutdown(wait=False, cancel_futures=True)


class Calls:
    """Answers calls by the methods of a local Kaggle."""

    def __init__(
        self, local_kaggle: LocalKaggle, workers: Workers, bodies: Bodies, *, traffic: Traffic | None = None
    ) -> None:
        self._local_kaggle = local_kaggle
        self._workers = workers
        self._bodies = bodies
        self._traffic = traffic

    async def __call__(self, request: Request) -> Response:
        """Answers one call."""
        method = f"{request.path_params['service']}/{request.path_params['method']}"
        if not may_call(request) and method not in OPEN_METHODS:
            return refusal(401, _UNAUTHENTICATED)
        strikes = fault(self._local_kaggle.site.faults, at=method)
        misbehaviour = instead(strikes)
        if misbehaviour is not None:
            return misbehaviour
        most = self._bodies.limits.largest_of(method)
        try:
            async with self._bodies.whole(request, most=most) as body:
                answer = await self._workers.run(self._answer, request, method, body)
        except ApiError as error:
            answer = refused(error)
        return afterwards(strikes, answer)

    def _answer(self, request: Request, method: str, body: bytes) -> Response:
        fields: Mapping[str, Any] = {}
        try:
            fields = parsed(body)
            result = self._local_kaggle.handle(Call(method, request.scope[CALLER], request.scope[BASE], fields))
            answer = answered(result)
        except ApiError as error:
            result, answer = {"code": error.status, "message": error.message}, refused(error)
        except Exception:  # noqa: BLE001 - a bug in one method must not end the server; it is told in the log
            _LOG.exception("%s failed", method)
            result, answer = None, refusal(500, f"{method} failed: a mistake of this server, told in its log.")
        if self._traffic is not None:
            known = dict(result) if isinstance(result, Mapping) else None
            self._traffic.add(Exchange(method, fields, answer.status_code, known))
        return answer


def may_call(request: Request) -> bool:
    """Whether the request has credentials that no browser adds on its own, so that no foreign page made it."""
    return bool(request.scope[CALLER]) and not request.scope[BY_COOKIE]
