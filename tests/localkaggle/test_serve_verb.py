"""The verb `serve`: what it prints, how it ends, and the environment that it gives to official clients."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import requests
from miniature import Outcome
from serving import notebook

from generator.local_server import ServerRecord

TANDEM = [sys.executable, "-m", "generator"]
# The notebooks of these tests are known, whatever this machine has to hold them.
TRUSTED = "--i-trust-these-notebooks"


@contextmanager
def serving(root: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The verb in a process of its own: the first line that it printed."""
    process = subprocess.Popen(
        [*TANDEM, "serve", TRUSTED, "--root", str(root), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def refused(root: Path, *options: str) -> str:
    """The message of a server that cannot be started."""
    command = [*TANDEM, "serve", TRUSTED, "--root", str(root), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    return done.stderr


def exported(lines: str) -> Mapping[str, str]:
    """The variables that a shell would have after these lines."""
    found = (shlex.split(line) for line in lines.splitlines() if line.startswith("export "))
    return dict(pair.split("=", 1) for _, pair in found)


@pytest.mark.slow
def test_without_a_server_a_shell_that_asks_for_its_environment_stays_as_it_is(tmp_path: Path) -> None:
    asked = shlex.join([*TANDEM, "serve", "--env", "--root", str(tmp_path / "a root")])
    script = f'eval "$({asked})"; {asked}; echo "exit code $?"; echo "$HOME $https_proxy"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == f"exit code 1\n{os.environ['HOME']} {os.environ.get('https_proxy', '')}\n"
    assert f"Start one with `tandem serve --root '{tmp_path}/a root'`" in done.stderr
    assert not (tmp_path / "a root").exists()


def test_the_record_of_a_server_that_was_killed_is_no_server(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    ServerRecord("http://127.0.0.1:8400", "local-token", "local", process.pid).write(tmp_path)

    outcome = tandem("serve", "--env", "--root", tmp_path)

    assert (outcome.code, outcome.out) == (1, "")
    assert "No local Kaggle is running in" in outcome.err


def test_the_environment_is_that_of_the_server_that_runs(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    root = tmp_path / "a root; with `odd` $(characters)"
    root.mkdir()
    ServerRecord("http://127.0.0.1:8400", "local-token", "local", os.getpid()).write(root)
    outcome = tandem("serve", "--env", "--root", root)
    assert outcome.code == 0
    variables = exported(outcome.out)
    assert variables["http_proxy"] == "http://127.0.0.1:8400"
    assert variables["KAGGLE_API_TOKEN"].startswith("local-")
    assert variables["TANDEM_LOCAL_KAGGLE"] == str(root)
    assert "unset KAGGLE_USERNAME KAGGLE_KEY" in outcome.out


def test_a_folder_that_cannot_be_used_has_no_environment_either(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text('{"address": "htt')
    (tmp_path / "clients").write_text("a file where the clients' home would be")
    for root in (tmp_path, tmp_path / "clients"):
        outcome = tandem("serve", "--env", "--root", root)
        assert (outcome.code, outcome.out) == (1, "")
        assert "is not a valid record of a local Kaggle server" in outcome.err
    ServerRecord("http://127.0.0.1:8400", "local-token", "local", os.getpid()).write(tmp_path)
    outcome = tandem("serve", "--env", "--root", tmp_path)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)


@pytest.mark.slow
def test_the_line_for_the_official_clients_works_as_it_is_printed(tmp_path: Path) -> None:
    root = tmp_path / "a root; with `odd` $(characters)"
    with serving(root) as (line, process):
        assert process.stderr is not None
        told = next(text for text in process.stderr if "For the official clients, run: " in text)
        command = told.partition("run: ")[2].strip()
        program = f'tandem() {{ {shlex.join(TANDEM)} "$@"; }}'
        script = f'{program}; {command}; echo "$http_proxy $TANDEM_LOCAL_KAGGLE"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        # Browsers look names below localhost up by themselves; Python asks the system, which may not know them.
        pages = urlsplit(requests.get(line, timeout=10, allow_redirects=False).headers["Location"]).netloc
        with requests.Session() as browser:
            browser.headers["Host"] = pages
            page = browser.get(line, timeout=10).text
    assert done.stdout == f"{line.partition('/?')[0]} {root}\n", done.stderr
    assert 'eval "$(tandem serve --root' in page


def test_other_machines_are_let_in_only_when_told_in_so_many_words(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    outcome = tandem("serve", "--root", tmp_path / "site", "--host", "0.0.0.0")  # noqa: S104 - to be refused
    assert outcome.code == 2
    assert "--allow-other-machines" in outcome.err
    assert not (tmp_path / "site").exists()


def test_a_folder_that_is_no_competition_is_explained_and_nothing_is_made(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "holiday").mkdir()
    outcome = tandem("serve", TRUSTED, "--root", tmp_path / "site", "--competition", tmp_path / "holiday")
    assert outcome.code == 1
    assert "holiday/data cannot be hosted" in outcome.err
    assert not (tmp_path / "site").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user need not trust notebooks")
def test_root_without_a_sandbox_has_to_trust_the_notebooks(
    tandem: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "without-bubblewrap"))
    outcome = tandem("serve", "--root", tmp_path / "site", "--port", "0")

    assert outcome.code == 1
    assert "apt-get install bubblewrap" in outcome.err
    assert "--i-trust-these-notebooks" in outcome.err
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
def test_the_start_says_what_contains_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "without-bubblewrap"))
    with serving(tmp_path / "site") as (_, process):
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)

    assert "Notebooks run in: a plain process" in said


def test_a_wrong_fault_is_explained(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = tandem("serve", TRUSTED, "--root", tmp_path / "site", "--fault", "earthquake")
    assert (outcome.code, "earthquake" in outcome.err) == (1, True)
    outcome = tandem("serve", TRUSTED, "--root", tmp_path / "site", "--fault", "429%150")
    assert (outcome.code, '"429%150" is not a fault rule' in outcome.err) == (1, True)


def test_a_database_that_is_none_is_explained(tandem: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "kaggle.sqlite").write_text("This is a letter, and a long one." * 10)
    outcome = tandem("serve", TRUSTED, "--root", tmp_path, "--port", "0")
    assert outcome.code == 1
    assert "kaggle.sqlite cannot be used as the database" in outcome.err
    assert "--root" in outcome.err


@pytest.mark.slow
def test_the_first_line_opens_the_server_and_the_record_is_its_owners_alone(tmp_path: Path) -> None:
    began = time.monotonic()
    with serving(tmp_path / "site") as (line, process):
        taken = time.monotonic() - began
        assert requests.get(line, timeout=10, allow_redirects=False).status_code == 303
        # Under a second on a machine with nothing else to do.
        assert taken < 5
        record = tmp_path / "site" / "server.json"
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        assert json.loads(record.read_text())["pid"] == process.pid
        assert "Another local Kaggle uses" in refused(tmp_path / "site", "--port", "0")
        assert record.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_server_and_takes_its_record_away(tmp_path: Path, number: int, code: int) -> None:
    with serving(tmp_path / "site") as (_, process):
        process.send_signal(number)
        assert process.wait(timeout=30) == code
        assert not (tmp_path / "site" / "server.json").exists()


@pytest.mark.slow
def test_a_client_that_still_waits_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with serving(tmp_path / "site", "--fault", "stall@Hello") as (line, process):
        address, _, token = line.partition("/?token=")
        hello = f"{address}/v1/api.v1.DiagnosticsService/Hello"
        headers = {"Authorization": f"Bearer {token}"}
        with pytest.raises(requests.RequestException):
            requests.post(hello, json={}, headers=headers, timeout=0.5)
        stalled = threading.Thread(target=lambda: _ignored(requests.post, hello, json={}, headers=headers, timeout=60))
        stalled.start()
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        stalled.join()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def _ignored(function: Callable[..., object], *arguments: object, **options: object) -> None:
    with suppress(requests.RequestException):
        function(*arguments, **options)


def _ask(line: str, method: str, **fields: object) -> dict[str, Any]:
    address, _, token = line.partition("/?token=")
    headers = {"Authorization": f"Bearer {token}"}
    target = f"{address}/v1/kernels.KernelsApiService/{method}"
    answer: dict[str, Any] = requests.post(target, json=fields, headers=headers, timeout=30).json()
    return answer


def _soon(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_notebook_that_runs_ends_with_the_server_and_is_marked_as_failed(tmp_path: Path, number: int) -> None:
    text = notebook("import time\nprint('It sleeps.', flush=True)\ntime.sleep(600)")
    kernel = {"userName": "local", "kernelSlug": "sleeping-kernel"}
    with serving(tmp_path / "site") as (line, process):
        about = {"newTitle": "Sleeping kernel", "language": "python", "kernelType": "notebook", "isPrivate": True}
        saved = _ask(line, "SaveKernel", slug="local/sleeping-kernel", text=text, **about)
        assert saved["error"] == ""
        assert _soon(lambda: "It sleeps." in _ask(line, "ListKernelSessionOutput", **kernel).get("log", ""))
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(number)
        process.wait(timeout=60)
        assert _soon(lambda: not any(child.is_running() and child.status() != "zombie" for child in started))
    with serving(tmp_path / "site") as (line, process):
        status = _ask(line, "GetKernelSessionStatus", **kernel)
        assert status["status"] == "ERROR"
        assert "stopped" in status["failureMessage"]
        assert not (tmp_path / "site" / "sessions" / "1" / "private").exists()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert ("of files that remained when the server was killed" in said) == (number == signal.SIGKILL)


@pytest.mark.slow
def test_a_port_that_is_taken_is_explained(tmp_path: Path) -> None:
    with serving(tmp_path / "site") as (line, _):
        port = line.partition("/?")[0].rpartition(":")[2]
        assert "--port" in refused(tmp_path / "other", "--port", port)


@pytest.mark.slow
def test_a_shell_with_the_environment_reaches_the_local_kaggle_and_nothing_else(tmp_path: Path) -> None:
    kaggle = Path(sys.executable).with_name("kaggle")
    probe = "import requests; print(requests.get('https://api.kaggle.com/v1/', timeout=20).status_code)"
    script = f"""
        eval "$({shlex.join([*TANDEM, "serve", "--env", "--root", str(tmp_path / "site")])})"
        {shlex.quote(str(kaggle))} competitions list --csv
        {shlex.quote(sys.executable)} -c {shlex.quote(probe)} || echo closed
    """
    with serving(tmp_path / "site"):
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                **os.environ,
                "NO_PROXY": "localhost,api.kaggle.com",
                "KAGGLE_USERNAME": "somebody",
                "KAGGLE_KEY": "x",
            },
        )
    assert "competitions/digits" in done.stdout, done.stderr
    assert done.stdout.rstrip().endswith("closed")
    assert "ProxyError" in done.stderr
