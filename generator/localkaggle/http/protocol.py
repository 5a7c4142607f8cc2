"""uvicorn's HTTP protocol with bounds on the head of a request, and a way for a fault to break the connection."""

import asyncio
from typing import Any, ClassVar

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from generator.localkaggle.http.limits import Limits

TRANSPORT = "tandem.transport"
"""The key of a request's scope with the connection itself."""
_PROTOCOL = "tandem.protocol"

_PAUSE_SECONDS = 0.05


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request does not get to the end of its head, in time or in size."""

    limits = Limits()
    waiting: ClassVar[dict["BoundedProtocol", None]] = {}
    """The connections without a request of somebody known, the one that has waited longest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        """A client has connected, and should say what it wants soon."""
        super().connection_made(transport)
        # Else whoever opens connections without a token would keep out everybody who has one.
        while self.waiting and len(self.connections) >= self.limits.connections:
            self._drop_longest_waiting()
        self.waiting[self] = None
        self._unknown: asyncio.Task[Any] | None = None
        self._in_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has left."""
        self.waiting.pop(self, None)
        self._unwatch()
        super().connection_lost(exc)
        if self._unknown is not None:
            self._unknown.cancel()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a head or a body have come."""
        if self._in_head and self._deadline is None:
            self._watch()
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._is_refused():
            # What nobody reads any more may come slowly: as fast as it is sent, it would hold up everybody else.
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, self.flow.resume_reading)
        if self._in_head and self._head_bytes > self.limits.largest_head and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """The head of a request begins."""
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment] # a key of our own
        scope[TRANSPORT] = self.transport
        scope[_PROTOCOL] = self
        self._in_head = True

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        self._in_head = False
        self._head_bytes = 0
        self._unwatch()
        # uvicorn would count what is left of the requests of connections that are gone as well.
        has_room = len(self.connections) < self.limits.connections
        self.limit_concurrency = None if has_room else self.limits.connections
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is complete; the next bytes are the head of another one."""
        super().on_message_complete()
        self._in_head = True
        self._unwatch()

    def on_response_complete(self) -> None:
        """A request is answered; of one that was refused, the rest of the body may come, and not without end."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self.waiting[self] = None
        if self._is_refused() and self._deadline is None:
            self._watch()

    def keep_open(self) -> None:
        """The request that is being answered is one of somebody known."""
        self.waiting.pop(self, None)
        self._unknown = None

    def end_with_connection(self, task: "asyncio.Task[Any] | None") -> None:
        """The request that a task answers is one of nobody known."""
        self._unknown = task

    def _is_refused(self) -> bool:
        """True if the newest request was answered while its body still comes."""
        return not self._in_head and self.cycle is not None and self.cycle.response_complete

    def _drop_longest_waiting(self) -> None:
        oldest = next(iter(self.waiting))
        del self.waiting[oldest]
        self.connections.discard(oldest)
        oldest.transport.abort()

    def _watch(self) -> None:
        self._deadline = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()


def keep_open(scope: Scope) -> None:
    """Keep the connection of a request with a token or a ticket to the end of its answer, however many others come."""
    if _PROTOCOL in scope:  # tests call the application without a connection
        scope[_PROTOCOL].keep_open()


def end_with_connection(scope: Scope) -> None:
    """End this task, which works for nobody known, when its connection is closed."""
    if _PROTOCOL in scope:
        scope[_PROTOCOL].end_with_connection(asyncio.current_task())


def bounded(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol with these bounds."""
    attributes: dict[str, Any] = {"limits": limits, "waiting": {}}
    return type("BoundedProtocol", (BoundedProtocol,), attributes)
