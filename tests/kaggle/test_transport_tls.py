"""What the gateway says when encryption fails."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from canned import TOKEN
from gateway_calls import PUSH

from generator.kaggle.credentials import AccessToken
from generator.kaggle.errors import UnreachableError
from generator.kaggle.gateway import Kaggle
from generator.kaggle.transport import Route, Timeouts


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that signed itself, and its key."""
    path = tmp_path_factory.mktemp("tls") / "server.crt"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", path.with_suffix(".rsa"), "-out", path]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return path


@pytest.fixture
def encrypted(certificate: Path) -> Iterator[str]:
    """The address of a server that takes connections, encrypts them, and hangs up after the first bytes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".rsa"))
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                try:
                    with context.wrap_socket(connection, server_side=True) as wrapped:
                        wrapped.recv(65536)
                except OSError:
                    continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def push(address: str, route: Route | None = None) -> UnreachableError:
    gateway = Kaggle(address, AccessToken(TOKEN, source="a test"), timeouts=Timeouts(connect=5, read=5), route=route)
    with pytest.raises(UnreachableError) as raised:
        gateway.kernels.push(PUSH)
    return raised.value


def test_a_certificate_that_is_not_trusted_is_named_and_nothing_was_sent(encrypted: str) -> None:
    error = push(encrypted)

    assert "certificate that this machine does not trust" in str(error)
    assert not error.outcome_unknown


def test_a_certificate_can_be_trusted_by_name_and_what_breaks_later_leaves_the_outcome_open(
    encrypted: str, certificate: Path
) -> None:
    error = push(encrypted, Route(certificates=str(certificate)))

    assert "closed the connection" in str(error)
    assert error.outcome_unknown


def test_certificates_that_are_not_there_are_said_and_nothing_was_sent(encrypted: str, tmp_path: Path) -> None:
    error = push(encrypted, Route(certificates=str(tmp_path / "no-such.pem")))

    assert "file of certificates to trust is not there" in str(error)
    assert not error.outcome_unknown


def test_a_proxy_that_is_not_there_is_named_and_nothing_was_sent(encrypted: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://ada:secret@127.0.0.1:{taken.getsockname()[1]}"

    error = push(encrypted, Route(proxy=proxy))

    assert "through the proxy" in str(error)
    assert not error.outcome_unknown
    assert "secret" not in str(error)
