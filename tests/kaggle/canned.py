"""A server on loopback that answers each request as a test says, and misbehaves below HTTP where it is told to."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import pytest

from generator.kaggle.credentials import AccessToken, Credentials
from generator.kaggle.errors import KaggleError
from generator.kaggle.gateway import Kaggle
from generator.kaggle.transport import RetryPolicy, Timeouts

TOKEN = "a-token-that-nobody-may-see"  # noqa: S105 - nobody's


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names are in lower case, `port` is that of the client."""

    verb: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int

    @property
    def method(self) -> str:
        """The name of the API's method without its service: `SaveKernel`."""
        return self.path.partition("?")[0].rpartition("/")[2]

    @property
    def fields(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Told:
    """An answer; `length` announces other than is sent, `stalls` sends nothing more, `drops` not even a status."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    length: int | None = None
    stalls: bool = False
    drops: bool = False


Script = Callable[[Asked], Told]
Ask = Callable[[Kaggle], Any]
Failure = TypeVar("Failure", bound=KaggleError)


def said(status: int = 200, /, **fields: Any) -> Told:
    """An answer in JSON."""
    return Told(json.dumps(fields).encode(), status)


def refused(status: int, message: str, **headers: str) -> Told:
    """An error as Kaggle writes it."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Told(json.dumps({"code": status, "message": message}).encode(), status, headers)


HTML = Told(b"<!DOCTYPE html><html><body>Sign in to the airport</body></html>", media_type="text/html; charset=utf-8")


@dataclass
class Canned:
    """A server that answers from a script; `asked` is everything that arrived."""

    address: str
    asked: list[Asked]
    slept: list[float]

    def gateway(self, credentials: Credentials | None = None, *, attempts: int = 3, read: float = 5) -> Kaggle:
        """A gateway to it that never really sleeps."""
        retries = RetryPolicy(attempts=attempts, sleep=self.slept.append, jitter=lambda: 1.0)
        return Kaggle(
            self.address,
            credentials or AccessToken(TOKEN, source="a test"),
            retries=retries,
            timeouts=Timeouts(connect=2, read=read, whole=10),
        )

    def methods(self) -> list[str]:
        return [asked.method for asked in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *arguments: Any) -> None:
        """Nothing is said on standard error."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body, self.client_address[1])
        self.server.asked.append(asked)
        told = self.server.script(asked)
        if told.drops:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if told.stalls and told.length is None:
            self.server.over.wait(20)
            self.close_connection = True
            return
        self.send_response(told.status)
        self.send_header("Content-Type", told.media_type)
        self.send_header("Content-Length", str(len(told.body) if told.length is None else told.length))
        for name, value in told.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(told.body)
        self.wfile.flush()
        if told.stalls:
            self.server.over.wait(20)
        if told.length is not None:
            self.close_connection = True

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - the names that the base class looks for


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[Asked] = []
        self.over = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what many of these tests are about."""


@contextmanager
def canned(script: Script | list[Told]) -> Iterator[Canned]:
    """Serves a script; a list is answered in its order, its last answer again and again."""
    answers = list(script) if isinstance(script, list) else []

    def in_order(_: Asked) -> Told:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    server = _Server(in_order if isinstance(script, list) else script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Canned(f"http://127.0.0.1:{server.server_address[1]}", server.asked, [])
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answered(script: Script | list[Told], ask: Ask, **options: Any) -> tuple[Any, Canned]:
    """What a gateway makes of these answers to a question, and the server with all that arrived there."""
    with canned(script) as server:
        return ask(server.gateway(**options)), server


def failed(
    script: Script | list[Told], kind: type[Failure], ask: Ask, *, says: str = "", **options: Any
) -> tuple[Failure, Canned]:
    """The error that a gateway makes of these answers, which says this, and the server with all that arrived there."""
    with canned(script) as server, pytest.raises(kind, match=re.escape(says) if says else None) as raised:
        ask(server.gateway(**options))
    return raised.value, server
