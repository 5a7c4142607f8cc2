"""Uploads: whole, in pieces, resumed after a break; and what becomes of those that are wrong."""

import http.client
from pathlib import Path
from types import SimpleNamespace

import pytest
from scripted import ScriptedRunner
from serving import DailyClock, Served, served

from generator.localkaggle.rpc import ApiError

START = "blobs.BlobApiService/StartBlobUpload"
MIB = 2**20


def begin(running: Served, size: int, *, name: str = "data.bin") -> tuple[str, str]:
    """A new upload: its token, and the target to send it to."""
    status, answer = running.ask("blobs.BlobApiService/StartBlobUpload", type="DATASET", name=name, contentLength=size)
    assert status == 200, answer
    return answer["token"], answer["createUrl"].removeprefix(running.address)


def put(running: Served, target: str, body: bytes, content_range: str = "") -> tuple[int, str]:
    """Sends bytes; the status, and the Range that a client goes on after."""
    headers = {"Content-Range": content_range} if content_range else {}
    answer = running.request("PUT", target, token="", headers=headers, data=body)
    return answer.status_code, answer.headers.get("Range", "")


def test_a_whole_file_is_there_once_it_was_sent(shared: Served) -> None:
    token, target = begin(shared, 5)
    assert put(shared, target, b"hello") == (200, "")
    blob = shared.site.uploads.take(token, owner="local")
    assert (blob.name, blob.size, blob.path.read_bytes()) == ("data.bin", 5, b"hello")


def test_an_upload_is_resumed_where_it_broke(shared: Served) -> None:
    token, target = begin(shared, 50_000)
    content = bytes(range(250)) * 200
    assert put(shared, target, b"", "bytes */50000") == (308, "")
    assert put(shared, target, content[:20_000], "bytes 0-19999/50000") == (308, "bytes=0-19999")
    assert put(shared, target, b"", "bytes */50000") == (308, "bytes=0-19999")
    assert put(shared, target, content[20_000:], "bytes 20000-49999/50000") == (200, "")
    assert put(shared, target, b"", "bytes */50000") == (200, "")
    assert shared.site.uploads.take(token, owner="local").path.read_bytes() == content


def test_what_came_before_a_connection_broke_is_kept(shared: Served) -> None:
    _, target = begin(shared, 5_000_000)
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.putrequest("PUT", target)
    connection.putheader("Content-Length", "5000000")
    connection.endheaders(b"x" * 3_000_000)
    connection.close()
    for _ in range(200):
        status, received = put(shared, target, b"", "bytes */5000000")
        if received == "bytes=0-2999999":
            break
    assert (status, received) == (308, "bytes=0-2999999")
    assert put(shared, target, b"x" * 2_000_000, "bytes 3000000-4999999/5000000") == (200, "")


def test_a_piece_that_is_sent_twice_does_no_harm(shared: Served) -> None:
    token, target = begin(shared, 6)
    assert put(shared, target, b"abcd", "bytes 0-3/6") == (308, "bytes=0-3")
    assert put(shared, target, b"abcd", "bytes 0-3/6") == (308, "bytes=0-3")
    assert put(shared, target, b"cdef", "bytes 2-5/6") == (200, "")
    assert shared.site.uploads.take(token, owner="local").path.read_bytes() == b"abcdef"


def test_a_piece_that_leaves_a_gap_is_refused(shared: Served) -> None:
    _, target = begin(shared, 10)
    assert put(shared, target, b"xy", "bytes 5-6/10")[0] == 400


@pytest.mark.parametrize("header", ["bytes 0-1/11", "bytes x-y/10", "items 0-1/10", "bytes */9"])
def test_a_range_that_does_not_fit_the_upload_is_refused(shared: Served, header: str) -> None:
    _, target = begin(shared, 10)
    assert put(shared, target, b"ab", header)[0] == 400


def test_more_bytes_than_announced_are_refused(shared: Served) -> None:
    _, target = begin(shared, 3)
    assert put(shared, target, b"four")[0] == 413
    assert put(shared, target, b"", "bytes */3") == (308, "")


def test_an_empty_file_is_whole_from_the_start(shared: Served) -> None:
    token, target = begin(shared, 0)
    assert put(shared, target, b"") == (200, "")
    assert shared.site.uploads.take(token, owner="local").size == 0


def test_a_token_that_was_never_given_is_no_upload(shared: Served) -> None:
    assert put(shared, "/__upload/blob-x", b"x")[0] == 404
    assert put(shared, "/__upload/..%2Fkaggle.sqlite", b"x")[0] in (404, 405)
    with pytest.raises(ApiError, match="no upload of yours"):
        shared.site.uploads.take("blob-x", owner="local")


def test_an_upload_is_taken_by_its_owner_and_when_it_is_whole(shared: Served) -> None:
    token, target = begin(shared, 4)
    put(shared, target, b"ab", "bytes 0-1/4")
    with pytest.raises(ApiError, match="2 of 4 bytes"):
        shared.site.uploads.take(token, owner="local")
    put(shared, target, b"cd", "bytes 2-3/4")
    with pytest.raises(ApiError, match="no upload of yours"):
        shared.site.uploads.take(token, owner="somebody")


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "a/../../b", "a\\b", "C:evil", "a\nb", "a//b", "x" * 300])
def test_a_name_that_leads_elsewhere_begins_no_upload(shared: Served, name: str) -> None:
    status, answer = shared.ask("blobs.BlobApiService/StartBlobUpload", type="DATASET", name=name, contentLength=1)
    assert status == 400
    assert answer["message"].isprintable()


@pytest.mark.parametrize("size", [-1, 2**60])
def test_a_size_that_cannot_be_begins_no_upload(shared: Served, size: int) -> None:
    assert shared.ask("blobs.BlobApiService/StartBlobUpload", type="DATASET", name="x", contentLength=size)[0] == 400


def _disk_with(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=free))


def test_what_uploads_have_yet_to_send_is_no_room_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path, runner=ScriptedRunner()) as running:
        _disk_with(monkeypatch, 600 * MIB)
        whole = {"type": "DATASET", "name": "x", "contentLength": 200 * MIB}
        first = running.ask(START, **whole)
        second = running.ask(START, **whole)
        small = running.ask(START, **{**whole, "contentLength": 100 * MIB})
        _disk_with(monkeypatch, 700 * MIB)
        third = running.ask(START, **whole)

    assert [status for status, _ in (first, second, small, third)] == [200, 400, 200, 400]
    assert second[1]["message"].startswith("There is no room for this upload on the disk of the server")


def test_an_upload_that_was_given_up_frees_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = DailyClock()
    with served(tmp_path, runner=ScriptedRunner(), clock=clock) as running:
        _disk_with(monkeypatch, 600 * MIB)
        whole = {"type": "DATASET", "name": "x", "contentLength": 200 * MIB}
        assert [running.ask(START, **whole)[0] for _ in range(2)] == [200, 400]
        clock.days = 1
        assert running.ask(START, **whole)[0] == 200


def test_a_piece_for_which_the_room_is_gone_is_refused_and_can_be_sent_later(
    shared: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, target = begin(shared, 6)
    assert put(shared, target, b"abc", "bytes 0-2/6") == (308, "bytes=0-2")
    with monkeypatch.context() as patched:
        _disk_with(patched, 100 * MIB)
        assert put(shared, target, b"def", "bytes 3-5/6")[0] == 400
    assert put(shared, target, b"def", "bytes 3-5/6") == (200, "")
    assert shared.site.uploads.take(token, owner="local").path.read_bytes() == b"abcdef"


def test_uploads_outlive_a_restart_and_go_when_they_are_old(tmp_path: Path) -> None:
    with served(tmp_path, runner=ScriptedRunner()) as running:
        token, target = begin(running, 6)
        put(running, target, b"abc", "bytes 0-2/6")
    with served(tmp_path, runner=ScriptedRunner()) as running:
        assert put(running, target, b"def", "bytes 3-5/6") == (200, "")
        assert running.site.uploads.take(token, owner="local").path.read_bytes() == b"abcdef"
    with served(tmp_path, runner=ScriptedRunner(), clock=DailyClock(days=3)) as running:
        assert put(running, target, b"")[0] == 404
        assert not list((tmp_path / "blobs").iterdir())
