"""What the server refuses: other hosts, no credentials, foreign pages, too much, too slowly, ways out of a folder."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests
from scripted import ScriptedRunner
from serving import Served, notebook, served

from generator.localkaggle.endpoints import Limits
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.server import Listening
from generator.sessions.sandbox import SessionOrder

HELLO = "/api/v1/api.v1.DiagnosticsService/Hello"
OUTPUT = "kernels.KernelsApiService/ListKernelSessionOutput"
IMPATIENT = Limits(head_seconds=0.2, body_seconds=0.2, idle_seconds=0.2, largest_head=4_096, largest_call=2_000)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A local Kaggle that waits for nobody, and takes little."""
    root = tmp_path_factory.mktemp("impatient")
    with served(root, runner=ScriptedRunner(), limits=IMPATIENT) as running:
        yield running


def raw(running: Served, request: bytes, *, seconds: float = 5) -> bytes:
    """Sends bytes as they are, and reads until the server hangs up."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=seconds) as connection:
        connection.sendall(request)
        answer = b""
        try:
            while piece := connection.recv(65_536):
                answer += piece
        except ConnectionResetError:
            pass
    return answer


# --- The host and the credentials.


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "localhost@evil", "", "a b", "[::2]"],
)
def test_a_request_for_another_host_is_refused(shared: Served, host: str) -> None:
    answer = shared.request("POST", HELLO, headers={"Host": host}, data="{}")
    assert answer.status_code in (400, 403)
    assert "local" not in answer.text.replace("localhost", "")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_a_request_for_this_machine_is_taken_with_or_without_a_port(shared: Served, host: str) -> None:
    assert shared.request("POST", HELLO, headers={"Host": host}, data="{}").status_code == 200


def test_a_request_with_two_hosts_or_none_is_refused(shared: Served) -> None:
    for hosts in (b"Host: localhost\r\nHost: evil.example\r\n", b""):
        answer = raw(shared, b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))


def test_the_server_is_no_proxy_to_anywhere(shared: Served) -> None:
    assert raw(shared, b"CONNECT api.kaggle.com:443 HTTP/1.1\r\nHost: api.kaggle.com:443\r\n\r\n").startswith(
        b"HTTP/1.1 400"
    )
    away = raw(shared, b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
    assert away.startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("target", [b"*", b"http://localhost", b"//evil.example/x", b"/\xff", b"relative", b"/%00"])
def test_a_strange_target_is_an_error_and_no_crash(shared: Served, target: bytes) -> None:
    answer = raw(shared, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 4")
    assert shared.request("POST", HELLO, data="{}").status_code == 200


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("POST", HELLO),
        ("POST", "/v1/kernels.KernelsApiService/SaveKernel"),
        ("POST", "/v1/blobs.BlobApiService/StartBlobUpload"),
        ("GET", "/api/v1/kernels/logs/stream/local/x"),
        ("GET", "/local/faults"),
        ("POST", "/local/faults"),
        ("GET", "/"),
        ("GET", "/competitions/digits"),
        ("POST", "/anything"),
    ],
)
@pytest.mark.parametrize(
    "authorization",
    [
        *("", "Bearer wrong", "Bearer ", "Bearer \xff\xff", "Digest x"),
        *("Basic bG9jYWw6d3Jvbmc=", "Basic %%%", "Basic /////w==", "Basic \xff\xff", "Basic bG9jYWw6\xff"),
    ],
)
def test_nothing_is_answered_without_credentials(shared: Served, verb: str, target: str, authorization: str) -> None:
    answer = shared.request(verb, target, token="", headers={"Authorization": authorization}, data=b"")
    assert answer.status_code == 401
    assert shared.token not in answer.text


def test_the_key_of_one_account_does_not_open_another(shared: Served) -> None:
    key = shared.local_kaggle.accounts.key("somebody")
    assert shared.request("POST", HELLO, token="", auth=("local", key), data="{}").status_code == 401
    assert shared.request("POST", HELLO, token="", auth=("somebody", key), data="{}").json() == {"userName": "somebody"}


# --- Browsers.


def pages(running: Served) -> str:
    """The host of the pages, as a browser names it."""
    return f"{running.local_kaggle.pages_host}:{running.port}"


def log_in(running: Served) -> str:
    """The cookie of a browser that opened the address that the server printed."""
    answer = running.request("GET", f"/?token={running.token}", token="", headers={"Host": pages(running)})
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    attributes = answer.headers["Set-Cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert running.token not in attributes
    return answer.headers["Set-Cookie"].partition(";")[0]


def test_a_browser_is_logged_in_by_a_cookie_that_holds_no_token(shared: Served) -> None:
    cookie = log_in(shared)
    assert shared.request("GET", "/", token="", headers={"Cookie": cookie, "Host": pages(shared)}).status_code == 200
    assert (
        shared.request("GET", "/", token="", headers={"Cookie": cookie[:-1], "Host": pages(shared)}).status_code == 401
    )
    forged = cookie.replace("=local.", "=root.")
    assert shared.request("GET", "/", token="", headers={"Cookie": forged, "Host": pages(shared)}).status_code == 401
    assert shared.request("GET", "/?token=wrong", token="").status_code == 401


def test_a_browser_is_not_sent_to_another_host_when_it_logs_in(shared: Served) -> None:
    target = f"GET //evil.example/x?token={shared.token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw(shared, target.encode()).lower()
    ours = f"http://{shared.local_kaggle.pages_host}/evil.example/x?token={shared.token}"
    assert f"\r\nlocation: {ours}\r\n".encode() in answer


def test_the_cookie_counts_on_the_host_of_the_pages_alone(shared: Served) -> None:
    cookie = log_in(shared)
    for host in (f"127.0.0.1:{shared.port}", f"localhost:{shared.port}"):
        assert shared.request("GET", "/", token="", headers={"Cookie": cookie, "Host": host}).status_code == 401
        answer = shared.request("GET", f"/code?token={shared.token}", token="", headers={"Host": host})
        assert answer.headers["Location"] == f"http://{pages(shared)}/code?token={shared.token}"
        assert "Set-Cookie" not in answer.headers
    other = shared.request("GET", "/", token="", headers={"Cookie": cookie, "Host": f"other.localhost:{shared.port}"})
    assert other.status_code == 403
    assert shared.local_kaggle.pages_host not in shared.request("GET", "/", token="").text


def test_a_cookie_calls_no_method_and_changes_no_fault(shared: Served) -> None:
    headers = {"Cookie": log_in(shared), "Content-Type": "text/plain", "Host": pages(shared)}
    assert shared.request("POST", HELLO, token="", headers=headers, data="{}").status_code == 401
    assert shared.request("POST", "/local/faults", token="", headers=headers, data="{}").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "ours", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_from_another_page_is_refused(shared: Served, headers: dict[str, str]) -> None:
    ours = f"http://{pages(shared)}"
    headers = {name: ours if value == "ours" else value for name, value in headers.items()}
    known = {"Cookie": log_in(shared), "Host": pages(shared)}
    answer = shared.request("POST", "/", token="", headers={**known, **headers}, data="a=b")
    assert answer.status_code == 403


def test_pages_may_not_be_framed_and_run_no_foreign_code(shared: Served) -> None:
    answer = shared.request("GET", "/", token="", headers={"Cookie": log_in(shared), "Host": pages(shared)})
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] in ("no-referrer", "same-origin")


# --- Too much, too slowly.


def test_a_body_that_is_too_large_is_refused_before_and_while_it_is_read(impatient: Served) -> None:
    def piecewise() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 100

    announced = impatient.request("POST", HELLO, data=b"x" * 3_000)
    unannounced = impatient.request("POST", HELLO, data=piecewise())
    assert [answer.status_code for answer in (announced, unannounced)] == [413, 413]


def test_a_head_that_is_too_large_ends_the_connection(impatient: Served) -> None:
    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Padding: y\r\n" * 1_000
    assert raw(impatient, endless).startswith(b"HTTP/1.1 400")
    one_long_line = b"GET /" + b"a" * 10_000
    assert raw(impatient, one_long_line).startswith(b"HTTP/1.1 400")


def test_a_client_that_never_finishes_its_head_is_hung_up_on(impatient: Served) -> None:
    for beginning in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "):
        began = time.monotonic()
        assert raw(impatient, beginning) == b""
        assert time.monotonic() - began < 3


def test_a_client_that_never_finishes_its_body_is_refused(impatient: Served) -> None:
    head = f"POST {HELLO} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {impatient.token}\r\n"
    answer = raw(impatient, f"{head}Content-Length: 100\r\nConnection: close\r\n\r\n{{".encode())
    assert answer.startswith(b"HTTP/1.1 408")


def test_a_client_that_never_reads_its_file_is_hung_up_on(impatient: Served, tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as file:
        file.truncate(64 * 2**20)
    url = impatient.ticket(big)
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=5) as connection:
        connection.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.6)
        received = 0
        try:
            while piece := connection.recv(2**20):
                received += len(piece)
        except ConnectionResetError:
            pass
    assert received < 64 * 2**20


@pytest.mark.slow
def test_connections_that_say_nothing_keep_nobody_out(tmp_path: Path) -> None:
    with served(tmp_path, runner=ScriptedRunner(), limits=Limits(connections=3)) as running:
        idle = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(6)]
        time.sleep(0.1)
        assert running.request("POST", HELLO, data="{}").status_code == 200
        assert idle[0].recv(1) == b""  # the one that waited longest was closed
        for connection in idle:
            connection.close()


OPEN_METHOD = "/v1/security.OAuthService/IntrospectToken"


@pytest.mark.slow
@pytest.mark.parametrize("path", [OPEN_METHOD, HELLO, "/login", "/__storage/uploads/none"])
def test_requests_without_a_token_that_never_end_keep_nobody_out(tmp_path: Path, path: str) -> None:
    with served(tmp_path, runner=ScriptedRunner(), limits=Limits(connections=3)) as running:
        unfinished = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(6)]
        for connection in unfinished:
            with suppress(OSError):  # the oldest were closed already
                connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n".encode())
        time.sleep(0.1)
        assert running.request("POST", HELLO, data="{}").status_code == 200
        for connection in unfinished:
            connection.close()


@pytest.mark.slow
def test_a_download_goes_on_whatever_others_open_meanwhile(tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as file:
        file.truncate(64 * 2**20)
    with served(tmp_path / "root", runner=ScriptedRunner(), limits=Limits(connections=3)) as running:
        url = running.ticket(big)
        with socket.create_connection(("127.0.0.1", running.port), timeout=5) as download:
            download.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            received = len(download.recv(2**16))
            others = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(6)]
            time.sleep(0.1)
            while piece := download.recv(2**20):
                received += len(piece)
        for connection in others:
            connection.close()
    assert received > 64 * 2**20


SERVER = """
import resource, sys
from pathlib import Path
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.server import Server
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
kaggle = LocalKaggle(Path(sys.argv[1]))
server = Server(kaggle)
print(server.address.rpartition(":")[2], kaggle.token, flush=True)
server.run()
"""


@pytest.mark.slow
def test_a_server_that_may_open_few_files_still_answers_whoever_has_a_token(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port, token = server.stdout.readline().split()
        idle = [socket.create_connection(("127.0.0.1", int(port)), timeout=5) for _ in range(400)]
        answers = [
            requests.post(f"http://localhost:{port}{HELLO}", headers={"Authorization": f"Bearer {token}"}, timeout=5)
            for _ in range(3)
        ]
        for connection in idle:
            connection.close()
        server.kill()
        _, errors = server.communicate()
    assert [answer.status_code for answer in answers] == [200] * 3
    assert errors == ""


OPENS_ALL_FILES = """
import threading, time
def open_all():
    sys.stdin.readline()
    files = []
    try:
        while True:
            files.append(open("/dev/null"))
    except OSError:
        print("full", flush=True)
    time.sleep(0.5)
    for file in files:
        file.close()
threading.Thread(target=open_all, daemon=True).start()
server.run()
"""


@pytest.mark.slow
def test_a_server_whose_open_files_were_used_up_says_so_in_a_line_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER.replace("server.run()", OPENS_ALL_FILES), str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        port, token = server.stdout.readline().split()
        url, headers = f"http://localhost:{port}{HELLO}", {"Authorization": f"Bearer {token}"}
        requests.post(url, headers=headers, timeout=10)
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stdout.readline() == "full\n"
        answer = requests.post(url, headers=headers, timeout=10)
        server.kill()
        _, errors = server.communicate()
    assert answer.status_code == 200
    assert len(errors.splitlines()) == 1
    assert "raise `ulimit -n`" in errors


@pytest.mark.slow
def test_more_requests_than_allowed_are_told_to_come_back(tmp_path: Path) -> None:
    with served(tmp_path, runner=ScriptedRunner(), limits=Limits(connections=3)) as running:
        unfinished = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(3)]
        for connection in unfinished:
            head = f"POST {HELLO} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        time.sleep(0.1)
        assert running.request("POST", HELLO, data="{}").status_code == 503
        for connection in unfinished:
            connection.close()
        time.sleep(0.1)
        assert running.request("POST", HELLO, data="{}").status_code == 200


# --- Files.


@pytest.mark.parametrize("target", ["/__storage/x/y", "/__storage/../kaggle.sqlite", "/__storage/%2e%2e/kaggle.sqlite"])
def test_a_ticket_that_was_never_given_opens_nothing(shared: Served, target: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.request("GET", target, headers={"Host": "localhost"})
    assert connection.getresponse().status in (401, 404)
    connection.close()


def test_a_link_in_the_place_of_a_file_is_not_followed(shared: Served, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"x")
    url = shared.ticket(path)
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert shared.request("GET", url, token="").status_code == 404


def test_a_page_that_a_notebook_wrote_is_inert(shared: Served, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("<script>fetch('/')</script>")
    url = shared.ticket(tmp_path / "report.html", media_type="text/html")
    headers = shared.request("GET", url, token="").headers
    assert headers["Content-Disposition"].startswith("attachment")
    assert headers["Content-Security-Policy"].startswith("sandbox")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_outside_of_a_sessions_folder_is_among_its_output(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the user's own")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret").write_text("the user's own")

    def escape(order: SessionOrder) -> None:
        (order.files.working / "a.txt").write_text("mine")
        (order.files.working / "link").symlink_to(tmp_path / "secret")
        (order.files.working / "up").symlink_to(tmp_path / "folder", target_is_directory=True)
        os.link(order.files.working / "a.txt", order.files.working / "hard")
        os.mkfifo(order.files.working / "pipe")
        (order.files.working / "\x1b[2J\nname").write_text("odd")

    with served(tmp_path / "site", runner=ScriptedRunner(escape)) as running:
        running.save_kernel("Escaping", notebook())
        assert running.local_kaggle.kernels.sessions.queue.wait_until_idle(30)
        status, listing = running.ask(OUTPUT, userName="local", kernelSlug="escaping")
        assert status == 200
        files = {file["fileName"]: file["url"] for file in listing["files"]}
        assert "a.txt" in files
        assert not {"link", "up/secret", "pipe"} & set(files)
        for url in files.values():
            answer = running.request("GET", url.removeprefix(running.address), token="")
            assert "the user's own" not in answer.text


def test_the_folder_is_closed_to_other_users_of_the_machine(tmp_path: Path) -> None:
    LocalKaggle(tmp_path / "new", runner=ScriptedRunner()).close()
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    (tmp_path / "open").mkdir(mode=0o755)
    open_one = LocalKaggle(tmp_path / "open", runner=ScriptedRunner())
    databases = [path.stat().st_mode & 0o077 for path in (tmp_path / "open").glob("kaggle.sqlite*")]
    open_one.close()
    assert set(databases) == {0}


def test_addresses_are_answered_to_where_other_machines_were_let_in(tmp_path: Path) -> None:
    with served(tmp_path, runner=ScriptedRunner(), listening=Listening(hosts=("*",))) as running:
        inside = running.request("POST", HELLO, headers={"Host": "192.168.1.7:8400"}, data="{}")
        named = running.request("POST", HELLO, headers={"Host": "evil.example"}, data="{}")
    assert (inside.status_code, named.status_code) == (200, 403)
