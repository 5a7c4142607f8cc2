"""The application's state: the local Kaggle, the threads that answer for it, and what is taken from a client."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request

from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.request_bodies import RequestBodies
from generator.localkaggle.local_kaggle import LocalKaggle

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


@dataclass(frozen=True)
class ServerState:
    """The parts of the server that every endpoint works with."""

    local_kaggle: LocalKaggle
    workers: Workers
    bodies: RequestBodies


def state_of(request: Request) -> ServerState:
    """The state of the application that a request came to."""
    state: ServerState = request.app.state.server
    return state
