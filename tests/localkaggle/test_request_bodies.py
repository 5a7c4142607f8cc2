"""How much of a request's body the server takes: by who sends it, by what it is for, and of how many at a time."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from scripted import ScriptedRunner
from serving import Served, notebook, served

from generator.localkaggle.endpoints import Limits

HELLO = "api.v1.DiagnosticsService/Hello"
INTROSPECT = "security.OAuthService/IntrospectToken"
GENERATE = "users.AccountService/GenerateAccessToken"
SAVE = "kernels.KernelsApiService/SaveKernel"
MIB = 2**20


def begun(running: Served, method: str, *headers: str, token: str = "") -> socket.socket:
    """A connection on which the head of a call was sent, and its body is still to come."""
    connection = socket.create_connection(("127.0.0.1", running.port), timeout=10)
    credentials = [f"Authorization: Bearer {token}"] if token else []
    lines = [f"POST /api/v1/{method} HTTP/1.1", "Host: localhost", *credentials, *headers, "", ""]
    connection.sendall("\r\n".join(lines).encode())
    return connection


def send_chunks(connection: socket.socket, *, count: int) -> None:
    """Sends chunks of a body, a hundred a second."""
    for _ in range(count):
        connection.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        time.sleep(0.01)


@pytest.mark.parametrize("method", [INTROSPECT, GENERATE])
def test_who_has_not_signed_in_sends_a_token_and_not_much_more(shared: Served, method: str) -> None:
    def piecewise() -> Iterator[bytes]:
        yield from [b" " * 1_000] * 20

    token = {"token": shared.token, "refreshToken": shared.token}
    assert shared.request("POST", f"/v1/{method}", token="", json=token).status_code == 200
    for body in (b" " * 10_000, piecewise()):
        assert shared.request("POST", f"/v1/{method}", token="", data=body).status_code == 413
    with closing(begun(shared, method, f"Content-Length: {32 * MIB}")) as connection:
        assert connection.recv(1_000).startswith(b"HTTP/1.1 413"), "it is refused before it was sent"


@pytest.mark.slow
def test_a_method_takes_as_much_as_it_is_for(shared: Served) -> None:
    # As many escapes as prose has.
    text = notebook('A "quoted" line of prose\n' * (7 * MIB // 25))
    shared.save_kernel("A long one", text, kernelExecutionType="QUICK_SAVE")

    for method, size in ((HELLO, 4 * MIB), (SAVE, 16 * MIB)):
        answer = shared.post(method, b" " * (size + 1))
        assert (answer.status_code, f"{size:,} bytes" in answer.json()["message"]) == (413, True)


def test_large_bodies_wait_for_each_other_and_nobody_waits_for_them(tmp_path: Path) -> None:
    limits = Limits(small_body=1_000, large_bodies=1)
    with served(tmp_path, runner=ScriptedRunner(), limits=limits) as running:
        first = begun(running, HELLO, "Content-Length: 5000", "Connection: close", token=running.token)
        first.sendall(b" " * 4_000)
        answers: list[int] = []
        second = threading.Thread(target=lambda: answers.append(running.post(HELLO, b" " * 5_000 + b"{}").status_code))
        second.start()
        for _ in range(20):
            assert running.post(HELLO, b" " * 500 + b"{}").status_code == 200
        second.join(timeout=0.2)
        assert second.is_alive(), "the second large body was read beside the first"

        first.sendall(b" " * 998 + b"{}")
        assert first.recv(1_000).startswith(b"HTTP/1.1 200")
        first.close()
        second.join(timeout=20)
        assert answers == [200]


def test_who_breaks_off_a_large_body_leaves_the_place_to_others(tmp_path: Path) -> None:
    limits = Limits(small_body=1_000, large_bodies=1, body_seconds=10)
    with served(tmp_path, runner=ScriptedRunner(), limits=limits) as running:
        for _ in range(3):
            with closing(begun(running, HELLO, "Content-Length: 5000", token=running.token)) as broken:
                broken.sendall(b" " * 4_000)
        assert running.post(HELLO, b" " * 5_000 + b"{}").status_code == 200


def test_a_body_without_end_is_hung_up_on_once_it_was_refused(tmp_path: Path) -> None:
    limits = Limits(head_seconds=0.3)
    with (
        served(tmp_path, runner=ScriptedRunner(), limits=limits) as running,
        closing(begun(running, INTROSPECT, "Transfer-Encoding: chunked")) as connection,
        pytest.raises(ConnectionError),
    ):
        send_chunks(connection, count=300)
