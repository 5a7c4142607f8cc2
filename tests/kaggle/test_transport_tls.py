"""What the gateway says when encryption fails."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from canned import TOKEN
from gateway_calls import PUSH

from generator.kaggle.credentials import AccessToken
from generator.kaggle.errors import ProxyAddressError, UnreachableError
from generator.kaggle.gateway import Kaggle, Target, connect
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


@contextmanager
def tunnel(answer: bytes = b"200 OK") -> Iterator[tuple[str, list[bytes]]]:
    """Serve as a proxy that opens tunnels: its address, and what it and the servers behind it are sent."""
    seen: list[bytes] = []

    def copy(source: socket.socket, target: socket.socket, *, is_noted: bool) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                if is_noted:
                    seen.append(part)
                target.sendall(part)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve(client: socket.socket) -> None:
        head = client.recv(65536)
        seen.append(head)
        if not answer.startswith(b"200"):
            client.sendall(b"HTTP/1.1 " + answer + b"\r\n\r\n")
            client.close()
            return
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        with client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 " + answer + b"\r\n\r\n")
            back = threading.Thread(target=copy, args=(server, client), kwargs={"is_noted": False}, daemon=True)
            back.start()
            copy(client, server, is_noted=True)
            back.join(5)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "KAGGLE_PROXY"])
def test_a_proxy_of_the_environment_opens_a_tunnel_and_sees_no_token(
    encrypted: str, certificate: Path, variable: str
) -> None:
    with tunnel() as (proxy, seen):
        address = proxy.replace("http://", "http://ada:secret@")
        route = Route.from_environment({variable: address, "KAGGLE_SSL_CA_CERT": str(certificate)})
        error = push(encrypted, route)

    assert "closed the connection" in str(error)
    assert error.outcome_unknown
    assert seen[0].startswith(f"CONNECT {encrypted.removeprefix('https://')} ".encode())
    assert len(seen) > 1
    assert TOKEN.encode() not in b"".join(seen)


@pytest.mark.parametrize(
    "environment",
    [
        {"NO_PROXY": "example.com,127.0.0.1"},
        {"no_proxy": "*"},
    ],
)
def test_a_host_of_no_proxy_is_reached_without_it(
    encrypted: str, certificate: Path, environment: dict[str, str]
) -> None:
    with tunnel() as (proxy, seen):
        values = {"HTTPS_PROXY": proxy, "KAGGLE_SSL_CA_CERT": str(certificate), **environment}
        assert "closed the connection" in str(push(encrypted, Route.from_environment(values)))

    assert seen == []


def test_plain_http_never_goes_through_a_proxy() -> None:
    with socket.socket() as taken, tunnel() as (proxy, seen):
        taken.bind(("127.0.0.1", 0))
        push(f"http://127.0.0.1:{taken.getsockname()[1]}", Route(proxy=proxy))

    assert seen == []


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1080", "http://", "http://proxy:port", "ftp://proxy"])
def test_an_address_that_is_no_http_proxy_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(ProxyAddressError, match="HTTPS_PROXY is not the address of an HTTP proxy"):
        connect(Target.KAGGLE, environment={"HTTPS_PROXY": address, "KAGGLE_API_TOKEN": "x"})


def test_a_proxy_that_is_not_there_is_named_and_nothing_was_sent(encrypted: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://ada:secret@127.0.0.1:{taken.getsockname()[1]}"

    error = push(encrypted, Route(proxy=proxy))

    assert "through the proxy" in str(error)
    assert not error.outcome_unknown
    assert "secret" not in str(error)


def test_a_proxy_that_refuses_is_named_and_nothing_was_sent(encrypted: str) -> None:
    with tunnel(b"407 Proxy Authentication Required") as (proxy, _):
        error = push(encrypted, Route(proxy=proxy))

    assert "through the proxy" in str(error)
    assert not error.outcome_unknown
