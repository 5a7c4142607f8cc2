"""A local Kaggle for a test: served on loopback, with the environments of the clients that talk to it."""

import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests

from generator.local_server import ServerRecord
from generator.localkaggle.endpoints import Limits
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import Answer, ApiCall, ApiError, StoredFile, parse_rule
from generator.localkaggle.server import Listening, Server

CLI_SECONDS = 60


@dataclass(frozen=True)
class Exchange:
    """A call and its answer; `answer` is None where it was no JSON object."""

    method: str
    request: Mapping[str, Any]
    status: int
    answer: Mapping[str, Any] | None


@dataclass
class DailyClock:
    """A clock that a test sets forward by days."""

    days: int = 0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=self.days)

    def monotonic(self) -> float:
        return time.monotonic()


class RecordedKaggle(LocalKaggle):
    """A local Kaggle that keeps what it was asked and what it answered."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.exchanges: deque[Exchange] = deque(maxlen=5_000)
        super().__init__(root, **options)

    def handle(self, call: ApiCall) -> Answer:
        """Answers a call."""
        try:
            answer = super().handle(call)
        except ApiError as error:
            refusal = {"code": error.status, "message": error.message}
            self.exchanges.append(Exchange(call.method, call.fields, error.status, refusal))
            raise
        known = dict(answer) if isinstance(answer, Mapping) else None
        self.exchanges.append(Exchange(call.method, call.fields, 200, known))
        return answer


@dataclass(frozen=True)
class Served:
    """A local Kaggle that is being served; `local_kaggle.site` is what its services share."""

    address: str
    token: str
    account: str
    local_kaggle: RecordedKaggle

    def ask(self, method: str, *, token: str | None = None, **fields: Any) -> tuple[int, Any]:
        """Calls a method as the account, or with another token; the status, and the JSON or text of the answer."""
        answer = self.post(method, json.dumps(fields).encode(), token=token)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status_code, answer.json() if is_json else answer.text

    def ticket(self, path: Path, *, name: str | None = None, media_type: str = "application/octet-stream") -> str:
        """The target at which a file can be fetched."""
        call = ApiCall("test", self.account, self.address, {})
        url = self.site.tickets.download(call, StoredFile(path, name or path.name, media_type))
        return str(url).removeprefix(self.address)

    def save_kernel(self, title: str, text: str, **fields: Any) -> dict[str, Any]:
        """Saves a notebook as a kernel of the account, and runs it unless told otherwise."""
        saved = {"newTitle": title, "text": text, "language": "python", "kernelType": "notebook", **fields}
        status, answer = self.ask("kernels.KernelsApiService/SaveKernel", isPrivate=True, **saved)
        assert (status, answer.get("error", "")) == (200, ""), answer
        return dict(answer)

    def post(self, method: str, body: bytes = b"{}", *, token: str | None = None) -> requests.Response:
        """Sends a body to a method, and follows nothing."""
        return self.request("POST", f"/api/v1/{method}", data=body, token=token)

    def request(
        self, verb: str, target: str, *, token: str | None = None, headers: Mapping[str, str] | None = None, **more: Any
    ) -> requests.Response:
        """Any request, with the account's token or, if that is empty, with no credentials; follows nothing."""
        token = self.token if token is None else token
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        with requests.Session() as session:
            # Whatever proxies the person at this machine has are none of a test's business.
            session.trust_env = False
            more = {"timeout": CLI_SECONDS, "allow_redirects": False, **more}
            return session.request(verb, f"{self.address}{target}", headers=headers, **more)

    def record(self, root: Path) -> None:
        """Leaves the record by which `--to local` finds this server, for whoever is told of the root."""
        ServerRecord(self.address, self.token, self.account, os.getpid()).write(root)

    def set_faults(self, *rules: str) -> None:
        """Puts these faults in force in place of those before."""
        self.site.faults.replace([parse_rule(rule) for rule in rules])

    @property
    def site(self) -> Any:
        return self.local_kaggle.site

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


def notebook(*cells: str) -> str:
    """A notebook's text with these code cells."""
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
        for n, cell in enumerate(cells or ("print(1)",))
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


@contextmanager
def served(
    root: Path, *, limits: Limits | None = None, listening: Listening | None = None, lint: bool = True, **options: Any
) -> Iterator[Served]:
    """Serves `LocalKaggle(root, **options)` at a free port; at the end its answers are held against Kaggle's SDK."""
    local_kaggle = RecordedKaggle(root, **options)
    server = Server(local_kaggle, listening, limits=limits)
    server.start()
    try:
        yield Served(server.address, local_kaggle.token, local_kaggle.site.account, local_kaggle)
    finally:
        server.stop()
        local_kaggle.close()
    if lint:
        from wire_lint import complaints

        found = complaints(local_kaggle.exchanges)
        assert not found, "Answers that Kaggle's SDK does not know:\n" + "\n".join(found)


def client_environment(served: Served, home: Path) -> dict[str, str]:
    """The environment of an unmodified client: it reaches this server only, and reads no one's credentials."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "VIRTUAL_ENV") if name in os.environ}
    home.mkdir(parents=True, exist_ok=True)
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), served.address)
    return {
        **kept,
        **proxies,
        "no_proxy": "",
        "NO_PROXY": "",
        "HOME": str(home),
        "KAGGLE_CONFIG_DIR": str(home / ".kaggle"),
        "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
        "KAGGLE_API_TOKEN": served.token,
    }


def run_kaggle(
    served: Served,
    home: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs the unmodified `kaggle` command line against the server, in a folder."""
    program = Path(sys.executable).with_name("kaggle")
    return subprocess.run(
        [program, *map(str, arguments)],
        env={**client_environment(served, home), **(environment or {})},
        cwd=folder or home,
        capture_output=True,
        text=True,
        timeout=CLI_SECONDS,
        check=False,
    )
