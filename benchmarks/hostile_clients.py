"""Clients of a local Kaggle that mean harm and have no token, for the measurement of what others notice of them."""

import asyncio
import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

LARGE = 32 * 2**20
INTROSPECT = "POST /api/v1/security.OAuthService/IntrospectToken HTTP/1.1\r\nHost: localhost\r\n"
_PAUSE_SECONDS = 0.1
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Attack:
    """What is sent on a connection: a beginning, and then a piece again and again, so many seconds apart."""

    beginning: str
    piece: bytes = b""
    pieces: int = 0
    seconds: float = 0.01


ATTACKS = (
    Attack(f"{INTROSPECT}Content-Length: {LARGE}\r\n\r\n", b" " * 65_536, LARGE // 65_536),
    Attack(f"{INTROSPECT}Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65_536 + b"\r\n", 10_000),
    Attack(f"{INTROSPECT}Content-Length: 8000\r\n\r\n" + "[" * 8_000),
    Attack(f"{INTROSPECT}Content-Length: 8000\r\n\r\n", b"{", 40, seconds=0.1),
    Attack(f"{INTROSPECT}X-Slow: ", b"x", 40, seconds=0.1),
    Attack(f"{INTROSPECT}X-Long: ", b"x" * 4_096, 100),
    Attack("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic \xff\xff\r\n\r\n"),
    Attack("GET /?token=guessed HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Attack("GET /__storage/guessed/x HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"),
    Attack("\x00\x01\x02" * 1_000),
)


async def attack(host: str, port: int, number: int, until: float) -> None:
    """Attacks in every way in turn, the clients each at another place of the list."""
    while time.monotonic() < until:
        # Who is refused or hung up on tries the next way.
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await _carry_out(host, port, ATTACKS[number % len(ATTACKS)])
        number += 1
        await asyncio.sleep(_PAUSE_SECONDS)


async def _carry_out(host: str, port: int, chosen: Attack) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(chosen.beginning.encode("latin-1"))
        for _ in range(chosen.pieces):
            writer.write(chosen.piece)
            await writer.drain()
            await asyncio.sleep(chosen.seconds)
        await reader.read(1)
    finally:
        writer.close()


def flood(host: str, port: int, *, clients: int) -> None:
    """Has so many clients at once send a body of 32 MiB each, as fast as they can."""
    body = b" " * LARGE

    def send(_number: int) -> None:
        with contextlib.suppress(OSError), socket.create_connection((host, port)) as connection:
            connection.sendall(f"{INTROSPECT}Content-Length: {LARGE}\r\n\r\n".encode())
            connection.sendall(body)
            connection.recv(1)

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(send, range(clients)))
