"""What clients see of the server: calls, errors, downloads with ranges, the two prefixes, faults of the transport."""

import errno
import http.client
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests
from scripted import ScriptedRunner
from serving import Served, served

from generator.errors import LocalKaggleError
from generator.localkaggle.endpoints import Limits
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import parse_rule
from generator.localkaggle.storage import Database

HELLO = "api.v1.DiagnosticsService/Hello"
QUOTA = "kernels.KernelsApiService/GetAcceleratorQuotaStatistics"


def test_a_call_is_answered_at_both_prefixes(shared: Served) -> None:
    for prefix in ("/api/v1", "/v1"):
        answer = shared.request("POST", f"{prefix}/{HELLO}", json={})
        assert (answer.status_code, answer.json()) == (200, {"userName": "local"})


def test_a_proxied_request_names_the_origin_that_the_client_knows(shared: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    body = json.dumps({"type": "DATASET", "name": "a.csv", "contentLength": 1})
    headers = {"Host": "localhost", "Authorization": f"Bearer {shared.token}"}
    connection.request("POST", "http://localhost/api/v1/blobs.BlobApiService/StartBlobUpload", body, headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["createUrl"].startswith("http://localhost/__upload/")


def test_an_unknown_method_is_a_404_with_a_message(shared: Served) -> None:
    status, answer = shared.ask("kernels.KernelsApiService/Dance")
    assert status == 404
    assert answer == {"code": 404, "message": "kernels.KernelsApiService/Dance is no method of this server."}


@pytest.mark.parametrize("body", [b"[1]", b'"x"', b"{", b"\xff", b"[" * 100_000, b"<html>"])
def test_a_body_that_is_no_json_object_is_a_400(shared: Served, body: bytes) -> None:
    answer = shared.post(QUOTA, body)
    assert answer.status_code == 400
    assert answer.json()["code"] == 400


def test_an_empty_body_is_a_call_without_fields(shared: Served) -> None:
    assert shared.post(HELLO, b"").json() == {"userName": "local"}


def test_a_bug_in_a_method_is_a_500_and_the_server_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path, runner=ScriptedRunner()) as running:
        running.local_kaggle.methods[QUOTA] = lambda call: 1 / 0
        status, answer = running.ask(QUOTA)
        assert (status, answer["code"]) == (500, 500)
        assert "division" not in answer["message"]
        assert running.ask(HELLO)[0] == 200
    assert "ZeroDivisionError" in caplog.text


def test_a_disk_that_is_full_is_a_507_and_no_bug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fill(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with served(tmp_path, runner=ScriptedRunner()) as running:
        running.local_kaggle.methods["DiagnosticsService/Hello"] = fill
        status, answer = running.ask("DiagnosticsService/Hello")

    assert status == 507
    assert answer["message"].startswith("The disk of this server is full")
    assert "Traceback" not in caplog.text


def test_tables_of_which_some_could_not_be_made_are_made_at_the_next_start(tmp_path: Path) -> None:
    first, others = "CREATE TABLE first (x)", "CREATE TABLE second (x)"
    with pytest.raises(LocalKaggleError, match="cannot be used"):
        Database(tmp_path / "kaggle.sqlite", [first, "CREATE TABLE"])

    database = Database(tmp_path / "kaggle.sqlite", [first, others])

    assert [row[0] for row in database.fetch_all("SELECT name FROM sqlite_master ORDER BY name")] == ["first", "second"]
    database.close()


def test_a_bug_in_a_page_is_a_500_and_is_told_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path, runner=ScriptedRunner()) as running:
        running.local_kaggle.tickets.redeem = lambda ticket: 1 / 0
        assert running.request("GET", "/__storage/secret-ticket/name", token="").status_code == 500
        assert running.ask(HELLO)[0] == 200
    assert "ZeroDivisionError" in caplog.text


def test_the_account_and_its_tickets_outlive_a_restart(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    with served(tmp_path / "site", runner=ScriptedRunner()) as running:
        token, target = running.token, running.ticket(tmp_path / "data.csv")
    with served(tmp_path / "site", runner=ScriptedRunner()) as running:
        assert running.token == token
        assert running.request("GET", target, token="").text == "a,b\n"


def test_a_second_server_on_the_folder_is_refused_as_long_as_the_first_runs(tmp_path: Path) -> None:
    first = LocalKaggle(tmp_path, runner=ScriptedRunner())
    with pytest.raises(LocalKaggleError, match="Stop it"):
        LocalKaggle(tmp_path, runner=ScriptedRunner())
    first.close()
    LocalKaggle(tmp_path, runner=ScriptedRunner()).close()


def test_a_folder_with_the_tables_of_another_version_is_left_as_it_is(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "kaggle.sqlite")) as other:
        other.execute("CREATE TABLE datasets (id INTEGER)")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "1").write_text("somebody's rows")

    with pytest.raises(LocalKaggleError, match=r"written by another version of Tandem.*--root"):
        LocalKaggle(tmp_path)

    assert (tmp_path / "datasets" / "1").read_text() == "somebody's rows"


@pytest.mark.parametrize("name", ["", "Me", "a/b", "../x", "a b", "x\x1b[2J"])
def test_an_account_has_a_name_that_can_stand_in_an_address(tmp_path: Path, name: str) -> None:
    with pytest.raises(LocalKaggleError, match="lower-case"):
        LocalKaggle(tmp_path / "site", account=name, runner=ScriptedRunner())
    assert not (tmp_path / "site").exists()


def test_a_token_and_a_legacy_key_are_the_same_account(shared: Served) -> None:
    key = shared.local_kaggle.accounts.key("local")
    answer = shared.request("POST", f"/v1/{HELLO}", token="", auth=("local", key), json={})
    assert answer.json() == {"userName": "local"}


def test_a_token_is_introspected_without_further_credentials(shared: Served) -> None:
    method = "/v1/security.OAuthService/IntrospectToken"
    known = shared.request("POST", method, token="", json={"token": shared.token}).json()
    unknown = shared.request("POST", method, token="", json={"token": "somebody's"}).json()
    assert (known["active"], known["username"]) == (True, "local")
    assert unknown == {"active": False}


def test_a_refresh_token_gives_an_access_token(shared: Served) -> None:
    method = "/v1/users.AccountService/GenerateAccessToken"
    fields = {"refreshToken": shared.token, "apiVersion": "API_VERSION_V1", "expirationDuration": "43200s"}
    answer = shared.request("POST", method, token="", json=fields).json()
    assert shared.ask(HELLO, token=answer["token"])[0] == 200
    assert shared.request("POST", method, token="", json={**fields, "refreshToken": "no"}).status_code == 401


# --- Downloads.


def test_a_download_has_what_a_client_needs_to_resume(shared: Served, tmp_path: Path) -> None:
    (tmp_path / "a b.bin").write_bytes(bytes(range(256)) * 40)
    target = shared.ticket(tmp_path / "a b.bin")
    assert target.endswith("/a%20b.bin")
    whole = shared.request("GET", target, token="")
    assert whole.headers["Content-Length"] == "10240"
    assert whole.headers["Accept-Ranges"] == "bytes"
    assert "Content-Encoding" not in whole.headers
    time.strptime(whole.headers["Last-Modified"], "%a, %d %b %Y %H:%M:%S GMT")

    rest = {"Range": "bytes=10000-", "If-Range": whole.headers["ETag"]}
    part = shared.request("GET", target, token="", headers=rest)
    assert (part.status_code, part.headers["Content-Range"]) == (206, "bytes 10000-10239/10240")
    assert part.content == whole.content[10_000:]


def test_a_file_that_changed_is_sent_whole_to_who_resumes(shared: Served, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"old" * 100)
    target = shared.ticket(path)
    tag = shared.request("GET", target, token="").headers["ETag"]
    path.write_bytes(b"newer" * 100)
    answer = shared.request("GET", target, token="", headers={"Range": "bytes=100-", "If-Range": tag})
    assert (answer.status_code, answer.content) == (200, b"newer" * 100)


@pytest.mark.parametrize("seconds", [-(2**40), 0, 2**33, 2**40, 2**60])
def test_a_file_of_any_date_can_be_downloaded(
    shared: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    (tmp_path / "dated.bin").write_bytes(b"123")
    real = os.stat

    def stat_on_a_disk_of_any_dates(path: object, *rest: object, **more: object) -> os.stat_result:
        found = real(path, *rest, **more)
        is_it = isinstance(path, Path) and path.name == "dated.bin"
        return os.stat_result(found[:10], {"st_mtime": float(seconds)}) if is_it else found

    monkeypatch.setattr(os, "stat", stat_on_a_disk_of_any_dates)
    answer = shared.request("GET", shared.ticket(tmp_path / "dated.bin"), token="")
    assert (answer.status_code, answer.content) == (200, b"123")
    time.strptime(answer.headers["Last-Modified"], "%a, %d %b %Y %H:%M:%S GMT")


def test_a_range_beyond_the_end_is_a_416(shared: Served, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"123")
    answer = shared.request("GET", shared.ticket(tmp_path / "data.bin"), token="", headers={"Range": "bytes=9-"})
    assert answer.status_code == 416


def test_an_empty_file_can_be_downloaded(shared: Served, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    answer = shared.request("GET", shared.ticket(tmp_path / "empty"), token="")
    assert (answer.status_code, answer.content, answer.headers["Content-Length"]) == (200, b"", "0")


def test_a_listing_that_is_asked_for_again_gives_the_same_address(shared: Served, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert shared.ticket(tmp_path / "x") == shared.ticket(tmp_path / "x")


# --- Faults of the transport.


@pytest.fixture
def faulty(shared: Served) -> Iterator[Served]:
    """The shared local Kaggle, which behaves again after the test."""
    yield shared
    misbehave(shared)


def misbehave(running: Served, *rules: str) -> None:
    running.site.faults.replace([parse_rule(rule) for rule in rules])


@pytest.mark.parametrize(
    ("rule", "status", "media_type"),
    [
        ("429", 429, "application/json"),
        ("500", 500, "application/json"),
        ("401", 401, "application/json"),
        ("503-html", 503, "text/html"),
        ("200-html", 200, "text/html"),
        ("500-after", 500, "application/json"),
    ],
)
def test_a_fault_answers_once_in_place_of_the_method(faulty: Served, rule: str, status: int, media_type: str) -> None:
    misbehave(faulty, f"{rule}@Hello" + "x1")
    answer = faulty.post(HELLO)
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith(media_type)
    assert faulty.ask(HELLO) == (200, {"userName": "local"})


def test_retry_after_is_sent_where_the_rule_says_so(faulty: Served) -> None:
    misbehave(faulty, "429@Hellox1", "429-retry-after@Hellox1")
    assert "Retry-After" not in faulty.post(HELLO).headers
    assert faulty.post(HELLO).headers["Retry-After"] == "1"


def test_a_dropped_call_was_not_handled_and_one_dropped_after_was(faulty: Served) -> None:
    method, fields = "blobs.BlobApiService/StartBlobUpload", {"type": "MODEL", "name": "w.bin", "contentLength": 3}
    uploads = faulty.site.root / "blobs"
    for rule, handled in (("drop", 0), ("drop-after", 1)):
        before = len(list(uploads.iterdir()))
        misbehave(faulty, f"{rule}@StartBlobUpload" + "x1")
        with pytest.raises(requests.ConnectionError):
            faulty.ask(method, **fields)
        assert len(list(uploads.iterdir())) - before == handled


def test_a_truncated_answer_breaks_in_its_middle(faulty: Served, tmp_path: Path) -> None:
    misbehave(faulty, "truncate@Hellox1", "truncate@data.bin/downloadx1")
    with pytest.raises(requests.RequestException):
        faulty.post(HELLO).json()
    (tmp_path / "data.bin").write_bytes(b"x" * 300_000)
    answer = faulty.request("GET", faulty.ticket(tmp_path / "data.bin"), token="", stream=True)
    with pytest.raises(requests.RequestException):
        _ = answer.content
    assert len(faulty.request("GET", faulty.ticket(tmp_path / "data.bin"), token="").content) == 300_000


def test_a_stalled_call_holds_only_its_own_client(faulty: Served) -> None:
    misbehave(faulty, "stall@Hellox1")
    with pytest.raises(requests.Timeout):
        faulty.request("POST", f"/v1/{HELLO}", json={}, timeout=0.2)
    assert faulty.ask(HELLO)[0] == 200


def test_rules_are_replaced_and_what_struck_is_told_over_http(faulty: Served) -> None:
    answer = faulty.request("POST", "/local/faults", json={"rules": ["429@Hello"]})
    assert answer.json() == {"struck": []}
    assert faulty.ask(HELLO)[0] == 429
    assert faulty.request("GET", "/local/faults").json() == {"struck": [{"fault": "429", "at": HELLO}]}
    wrong = faulty.request("POST", "/local/faults", json={"rules": ["429x"]})
    assert (wrong.status_code, "429x" in wrong.json()["message"]) == (400, True)
    assert faulty.request("POST", "/local/faults", json={"rules": []}).status_code == 200
    assert faulty.ask(HELLO)[0] == 200


def test_somebody_without_credentials_uses_up_no_fault(faulty: Served) -> None:
    misbehave(faulty, "500@Hellox1")
    somebody = {"token": "somebody's"}
    assert faulty.ask(HELLO, **somebody)[0] == 401
    assert faulty.ask(HELLO)[0] == 500


def test_many_clients_at_once_are_all_answered(tmp_path: Path) -> None:
    with served(tmp_path, runner=ScriptedRunner(), limits=Limits(threads=2)) as running:
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(running.ask(QUOTA)[0])) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    assert statuses == [200] * 24
