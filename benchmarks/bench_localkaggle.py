"""How the local Kaggle answers 200 clients that poll a status and follow a log each, while two notebooks run.

A tenth of the clients has no token and means harm; at the end, 24 of their kind send 32 MiB each at once.
"""

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from urllib.parse import urlsplit

import psutil
from hostile_clients import attack, flood
from measuring import Bar, Row, is_quick, print_table, program, say

CLIENTS = 200
HOSTILE = CLIENTS // 10
FLOOD_CLIENTS = 24
POLL_SECONDS = 2.0
STATUS = "kernels.KernelsApiService/GetKernelSessionStatus"
SAVE = "kernels.KernelsApiService/SaveKernel"
START_SECONDS = 60

# A notebook that computes half of the time, and says something ten times a second.
WORK = """
import time
until = time.monotonic() + SECONDS
number = 0
while time.monotonic() < until:
    began = time.monotonic()
    while time.monotonic() - began < 0.05:
        sum(range(1000))
    print("step", number, "of a session that works", flush=True)
    number += 1
    time.sleep(0.05)
"""


@dataclass
class Tally:
    """What all clients have seen."""

    answers: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lines: int = 0
    streams: int = 0
    busy: float = 0.0
    """The share of one core that the server took."""


@dataclass(frozen=True)
class Address:
    """Where the server is, and the token for it."""

    host: str
    port: int
    token: str

    async def open(
        self, verb: str, target: str, body: bytes = b""
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
        """Sends a request on a connection of its own, as the official client does; up to the end of the head."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        head = (
            f"{verb} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        return reader, writer, int(answer.split(b" ", 2)[1])

    async def call(self, method: str, **fields: object) -> tuple[int, bytes]:
        """Calls a method of the API."""
        reader, writer, status = await self.open("POST", f"/api/v1/{method}", json.dumps(fields).encode())
        content = await reader.read()
        writer.close()
        return status, content


@contextmanager
def server(root: Path) -> Iterator[tuple[Address, psutil.Process]]:
    """The server in a process of its own, as a user starts it."""
    options = ["--root", str(root), "--port", "0", "--sessions", "2", "--i-trust-these-notebooks"]
    command = [program("tandem"), "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        line = urlsplit(process.stdout.readline().strip())
        try:
            yield (
                Address(line.hostname or "", line.port or 0, line.query.removeprefix("token=")),
                psutil.Process(process.pid),
            )
        finally:
            process.terminate()


def notebook(seconds: float) -> str:
    """The source of a notebook that works for so long."""
    cell = {"cell_type": "code", "id": "work", "metadata": {}, "outputs": [], "execution_count": None}
    source = WORK.replace("SECONDS", str(seconds))
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": [{**cell, "source": source}], "metadata": {"kernelspec": kernelspec}}
    return json.dumps({**whole, "nbformat": 4, "nbformat_minor": 5})


async def push_two(address: Address, seconds: float) -> None:
    """Pushes two kernels, and waits until both run."""
    for number in (1, 2):
        title = f"Working kernel {number}"
        slug = f"local/working-kernel-{number}"
        fields = {"slug": slug, "newTitle": title, "language": "python", "kernelType": "notebook", "isPrivate": True}
        status, content = await address.call(SAVE, **fields, enableInternet=False, text=notebook(seconds))
        if status != 200 or json.loads(content).get("error"):
            raise SystemExit(f"The push of {slug} was refused: {content!r}")
    until = time.monotonic() + START_SECONDS
    for number in (1, 2):
        while (
            b"RUNNING" not in (await address.call(STATUS, userName="local", kernelSlug=f"working-kernel-{number}"))[1]
        ):
            if time.monotonic() > until:
                raise SystemExit("The sessions did not begin.")
            await asyncio.sleep(0.2)


async def poll(address: Address, number: int, tally: Tally, until: float) -> None:
    """Asks for a status every two seconds, the clients spread over them."""
    await asyncio.sleep(POLL_SECONDS * number / CLIENTS)
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            status, content = await address.call(
                STATUS, userName="local", kernelSlug=f"working-kernel-{number % 2 + 1}"
            )
        except (OSError, EOFError) as error:
            tally.errors.append(repr(error))
            continue
        took = time.perf_counter() - began
        tally.answers.append(took)
        if status != 200 or b'"RUNNING"' not in content:
            tally.errors.append(f"{status} {content[:200]!r}")
        await asyncio.sleep(max(0.0, POLL_SECONDS - took))


async def follow(address: Address, number: int, tally: Tally, until: float) -> None:
    """Follows a log as long as the measurement takes."""
    await asyncio.sleep(POLL_SECONDS * number / CLIENTS)
    target = f"/api/v1/kernels/logs/stream/local/working-kernel-{number % 2 + 1}"
    reader, writer, status = await address.open("GET", target)
    if status != 200:
        tally.errors.append(f"stream: {status}")
    tally.streams += 1
    while (left := until - time.monotonic()) > 0:
        try:
            async with asyncio.timeout(left):
                line = await reader.readline()
        except TimeoutError:
            break
        if not line:
            tally.errors.append("stream: ended early")
            break
        tally.lines += line.count(b'"data"')
    writer.close()


async def watch(process: psutil.Process, memory: list[float], until: float, *, pause: float = 0.5) -> None:
    """Notes the server's own memory, twice a second or as told, without that of the sessions."""
    while time.monotonic() < until:
        memory.append(process.memory_info().rss / 2**20)
        await asyncio.sleep(pause)


async def load(address: Address, process: psutil.Process, seconds: float) -> tuple[Tally, list[float]]:
    """All clients at once for so long."""
    tally, memory = Tally(), []
    until = time.monotonic() + seconds
    clients = [client(address, n, tally, until) for n in range(CLIENTS - HOSTILE) for client in (poll, follow)]
    hostile = [attack(address.host, address.port, number, until) for number in range(HOSTILE)]
    before = sum(process.cpu_times()[:2])
    await asyncio.gather(watch(process, memory, until), *clients, *hostile)
    tally.busy = (sum(process.cpu_times()[:2]) - before) / seconds
    return tally, memory


async def flooded(address: Address, process: psutil.Process, seconds: float) -> tuple[Tally, list[float]]:
    """The clients that poll, while large bodies from strangers come again and again for so long."""
    tally, memory = Tally(), []
    until = time.monotonic() + seconds

    def floods() -> None:
        while time.monotonic() < until:
            flood(address.host, address.port, clients=FLOOD_CLIENTS)

    clients = [poll(address, n, tally, until) for n in range(CLIENTS - HOSTILE)]
    await asyncio.gather(watch(process, memory, until, pause=0.02), asyncio.to_thread(floods), *clients)
    return tally, memory


async def measure(
    address: Address, process: psutil.Process, seconds: float
) -> tuple[tuple[Tally, list[float]], tuple[Tally, list[float]]]:
    """The load, and then the flood, which lasts a tenth as long."""
    await push_two(address, 1.2 * seconds + START_SECONDS)
    return await load(address, process, seconds), await flooded(address, process, seconds / 10)


def main() -> None:
    """Measures and prints the table."""
    quick = is_quick(__doc__)
    seconds = 15.0 if quick else 120.0
    with tempfile.TemporaryDirectory() as temporary:
        starts = [start_seconds(Path(temporary) / f"start-{n}") for n in range(3 if quick else 11)]
        with server(Path(temporary) / "site") as (address, process):
            say(f"{CLIENTS} clients for {seconds:.0f} s, {HOSTILE} of them hostile")
            (tally, memory), (during, peak) = asyncio.run(measure(address, process, seconds))
    errors = tally.errors + during.errors
    for error in sorted(set(errors))[:10]:
        say(f"error: {error}")
    quarter = len(memory) // 4
    early, late = fmean(memory[quarter : 2 * quarter]), fmean(memory[-quarter:])
    ordered = sorted(tally.answers)
    strangers = [1000 * answer for answer in during.answers]
    print(f"{len(ordered):,} answers, {tally.streams} streams with {tally.lines:,} lines, {len(errors)} errors.")
    print_table(
        [
            Row("start, until the first line", starts, bar=Bar("<", 1)),
            Row("a status", [1000 * answer for answer in ordered], "ms", Bar("<", 20)),
            Row("a status, 99th percentile", [1000 * ordered[int(0.99 * len(ordered))]], "ms"),
            Row("errors", [len(errors)], "", Bar("<=", 0)),
            Row("processor time of the server", [tally.busy], "cores"),
            Row("memory", memory, "MiB"),
            Row("memory, last quarter / second quarter", [late / early], "ratio", Bar("<", 1.1)),
            Row(f"a status, while {FLOOD_CLIENTS} strangers send 32 MiB each", strangers, "ms", Bar("<", 20)),
            Row("the most memory meanwhile", [max(peak)], "MiB", Bar("<", 200)),
        ]
    )


def start_seconds(root: Path) -> float:
    """Seconds until a server on a new folder has printed its address."""
    began = time.perf_counter()
    with server(root):
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
