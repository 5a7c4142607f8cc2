"""An answer that comes byte by byte, or never begins, is given up in time, whatever part of it is read."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO

import pytest

from generator.kaggle.errors import UnreachableError
from generator.kaggle.transport import Request, Route, Timeouts, Transport

TIMEOUTS = Timeouts(connect=0.3, read=0.7, whole=1)
HEAD = b"HTTP/1.1 200 OK\r\n"


def drip(begin: bytes, piece: bytes, pause: float = 0.05) -> Callable[[socket.socket], None]:
    """Answers with a beginning, and then with the same piece again and again."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(begin)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


ENDLESS = {
    "a header without an end": drip(HEAD + b"X-Long: ", b"a"),
    "headers without an end": drip(HEAD, b"X-More: b\r\n"),
    "a status line without an end": drip(b"HTTP/1.1 200 ", b"O"),
    "100 Continue again and again": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 Continue as fast as it can": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50, 0),
    "a body that drips": drip(HEAD + b"Content-Length: 100000\r\n\r\n", b"c"),
    "a body without a length": drip(HEAD + b"Connection: close\r\n\r\n", b"c"),
    "a chunk's size without an end": drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x"),
}


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=answered, args=(connection,), daemon=True).start()

        def answered(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                connection.recv(65536)
                answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


@contextmanager
def given_up_within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    with pytest.raises(UnreachableError, match="in time"):
        yield
    assert time.monotonic() - began < seconds


@pytest.mark.parametrize("is_repeatable", [True, False], ids=["read", "change"])
@pytest.mark.parametrize("what", ENDLESS)
def test_an_answer_without_an_end_is_given_up_in_time(what: str, is_repeatable: bool) -> None:
    with serving(ENDLESS[what]) as url, given_up_within(4):
        Transport(TIMEOUTS).send(Request("GET", url, "ask", is_repeatable=is_repeatable), limit=1 << 20)


def test_a_proxy_whose_answer_has_no_end_is_given_up_in_time() -> None:
    with serving(drip(b"HTTP/1.1 200 ", b"O")) as proxy, given_up_within(4):
        Transport(TIMEOUTS, route=Route(proxy)).send(Request("GET", "https://kaggle.invalid/", "ask"), limit=100)


def test_the_head_of_a_stream_is_given_up_in_time() -> None:
    with (
        serving(ENDLESS["headers without an end"]) as url,
        given_up_within(4),
        Transport(TIMEOUTS).stream(Request("GET", url, "read")),
    ):
        pass


def test_an_upload_that_is_answered_without_an_end_is_given_up_in_time() -> None:
    request = Request("PUT", "", "send", body=BytesIO(b"x" * 1000), headers={"Content-Length": "1000"})
    with serving(ENDLESS["a header without an end"]) as url, given_up_within(4):
        Transport(TIMEOUTS).send(Request(**{**vars(request), "url": url}), limit=100)


@pytest.mark.slow
def test_a_stream_that_goes_on_is_read_for_longer_than_the_deadline() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 20\r\n\r\n")
        for _ in range(20):
            connection.sendall(b"c")
            time.sleep(0.1)

    with serving(answer) as url, Transport(TIMEOUTS).stream(Request("GET", url, "read")) as stream:
        assert b"".join(stream.chunks) == b"c" * 20


def test_the_user_is_told_once_of_an_answer_that_is_long_in_coming(caplog: pytest.LogCaptureFixture) -> None:
    timeouts = Timeouts(connect=0.3, read=0.7, whole=1, silent=0.2)
    with caplog.at_level("INFO", "generator.kaggle.waiting"), serving(ENDLESS["a body that drips"]) as url:
        with given_up_within(4):
            Transport(timeouts).send(Request("GET", url, "look up ada/x"), limit=1 << 20)
        with Transport(timeouts).stream(Request("GET", url, "read")) as stream:
            for _ in range(10):
                next(stream.chunks)

    (line,) = caplog.messages
    assert line.startswith("Cannot look up ada/x yet: 127.0.0.1:")
    assert "Waiting up to 1 s more" in line


def test_the_user_is_told_nothing_of_an_answer_that_comes_in_time(caplog: pytest.LogCaptureFixture) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with caplog.at_level("INFO", "generator.kaggle.waiting"), serving(answer) as url:
        Transport(TIMEOUTS).send(Request("GET", url, "ask"), limit=10)
        time.sleep(0.1)

    assert caplog.messages == []


def test_a_kept_connection_is_watched_as_well() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        connection.recv(65536)
        drip(HEAD, b"X-More: b\r\n")(connection)

    with serving(answer) as url:
        transport, request = Transport(TIMEOUTS), Request("GET", url, "ask")
        assert transport.send(request, limit=10).body == b"{}"
        with given_up_within(4):
            transport.send(request, limit=10)
