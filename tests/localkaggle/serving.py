"""A local Kaggle for a test: served on loopback, with the environments of the clients that talk to it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from generator.local_place import ServerRecord
from generator.localkaggle.faults import parse_rule
from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.server import Listening, Server
from generator.localkaggle.http.traffic import Traffic
from generator.localkaggle.local_kaggle import LocalKaggle

CLI_SECONDS = 60


@dataclass(frozen=True)
class Served:
    """A local Kaggle that is being served; `local_kaggle.site` is what its services share."""

    address: str
    token: str
    account: str
    local_kaggle: LocalKaggle
    traffic: Traffic

    def ask(self, method: str, *, token: str | None = None, **fields: Any) -> tuple[int, Any]:
        """Calls a method as the account, or with another token; the status, and the JSON or text of the answer."""
        answer = self.post(method, json.dumps(fields).encode(), token=token)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status_code, answer.json() if is_json else answer.text

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


@contextmanager
def served(
    root: Path, *, limits: Limits | None = None, listening: Listening | None = None, lint: bool = True, **options: Any
) -> Iterator[Served]:
    """Serves `LocalKaggle(root, **options)` at a free port; at the end its answers are held against Kaggle's SDK."""
    local_kaggle = LocalKaggle(root, **options)
    traffic = Traffic()
    server = Server(local_kaggle, listening, limits=limits, traffic=traffic)
    server.start()
    try:
        yield Served(server.address, local_kaggle.token, local_kaggle.site.account, local_kaggle, traffic)
    finally:
        server.stop()
        local_kaggle.close()
    if lint:
        from wire_lint import complaints

        found = complaints(traffic.exchanges)
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
