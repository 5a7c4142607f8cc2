"""Fetching files: whole or not at all, resumed, from nowhere but where Kaggle keeps them."""

import re
from pathlib import Path
from typing import Any

import pytest
from canned import HTML, TOKEN, Ask, Asked, Script, Told, answered, canned, failed, refused

from generator.files import FileWriteError
from generator.kaggle import errors
from generator.kaggle.api_types import RemoteFile

CONTENT = bytes(range(256)) * 400  # 102,400 bytes
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


def store(content: bytes = CONTENT, *, etag: str = '"v1"', cut_at: int | None = None) -> Script:
    """A store that knows ranges; with `cut_at` every connection breaks after so many bytes."""

    def script(asked: Asked) -> Told:
        headers = {"ETag": etag, "Accept-Ranges": "bytes"}
        wanted = _RANGE.fullmatch(asked.headers.get("range", ""))
        if wanted and asked.headers.get("if-range", etag) == etag:
            start, end = int(wanted[1]), int(wanted[2] or len(content) - 1)
            if start >= len(content):
                return Told(b"", 416, {"Content-Range": f"bytes */{len(content)}"})
            part = content[start : end + 1]
            headers["Content-Range"] = f"bytes {start}-{start + len(part) - 1}/{len(content)}"
            return Told(part[:cut_at], 206, headers, "application/octet-stream", length=len(part))
        return Told(content[:cut_at], 200, headers, "application/octet-stream", length=len(content))

    return script


def fetching(path: Path, **options: Any) -> Ask:
    return lambda kaggle: list(kaggle.files.download(f"{kaggle.address}/x", path / "x", **options))


def reading(start: int, length: int) -> Ask:
    return lambda kaggle: kaggle.files.read_range(f"{kaggle.address}/x", start, length)


def fetching_output(path: Path, *, size: int = 5, query: str = "", **limits: int) -> Ask:
    return lambda kaggle: kaggle.files.fetch_output(
        RemoteFile(path.name, size, f"{kaggle.address}/{path.name}{query}"), path, **limits
    )


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    with canned(store()) as server:
        target = tmp_path / "train.csv"
        seen = []
        for count in server.gateway().files.download(f"{server.address}/train.csv", target, size=len(CONTENT)):
            assert not target.exists()
            seen.append(count)

    assert target.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)
    assert sorted(seen) == seen
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_no_credentials_go_to_the_store(tmp_path: Path) -> None:
    with canned(store()) as server:
        fetching(tmp_path)(server.gateway())
        reading(0, 5)(server.gateway())

    assert all("authorization" not in asked.headers for asked in server.asked)
    assert TOKEN not in str(server.asked)


def test_a_download_that_breaks_goes_on_where_it_was(tmp_path: Path) -> None:
    _, server = answered(store(cut_at=30_000), fetching(tmp_path))

    assert (tmp_path / "x").read_bytes() == CONTENT
    ranges = [asked.headers.get("range") for asked in server.asked]
    assert ranges == [None, "bytes=30000-", "bytes=60000-", "bytes=90000-"]
    assert {asked.headers.get("if-range") for asked in server.asked[1:]} == {'"v1"'}


def test_a_download_goes_on_in_another_process_and_under_another_address(tmp_path: Path) -> None:
    with canned(store(cut_at=30_000)) as server:
        for _ in server.gateway().files.download(f"{server.address}/x?signature=1", tmp_path / "x"):
            if (tmp_path / "x.part").stat().st_size:
                break
    with canned(store()) as server:
        list(server.gateway().files.download(f"{server.address}/x?signature=2", tmp_path / "x", size=len(CONTENT)))
        have = int((server.asked[0].headers.get("range") or "bytes=0-")[6:-1])

    assert 0 < have < len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_fetched_afresh(tmp_path: Path) -> None:
    before, after = store(cut_at=30_000), store(b"new" * 20_000, etag='"v2"')

    answered(lambda asked: after(asked) if "range" in asked.headers else before(asked), fetching(tmp_path))

    assert (tmp_path / "x").read_bytes() == b"new" * 20_000


def test_a_store_without_ranges_or_tags_is_asked_from_the_beginning(tmp_path: Path) -> None:
    answers = [Told(CONTENT[:500], media_type="text/csv", length=len(CONTENT)), Told(CONTENT, media_type="text/csv")]

    _, server = answered(answers, fetching(tmp_path))

    assert (tmp_path / "x").read_bytes() == CONTENT
    assert "range" not in server.asked[1].headers


def test_leftovers_of_something_else_are_not_built_upon(tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(b"old" * 10)
    (tmp_path / "x.part.json").write_text('{"validator": "\\u001b[2J", "total": 40}')

    answered(store(), fetching(tmp_path))

    assert (tmp_path / "x").read_bytes() == CONTENT


def test_what_waits_under_the_name_of_the_part_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "x.part").symlink_to(victim)

    answered(store(), fetching(tmp_path))

    assert victim.read_text() == "precious"
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_store_that_breaks_without_progress_is_given_up(tmp_path: Path) -> None:
    _, server = failed(store(cut_at=0), errors.UnreachableError, fetching(tmp_path), says="closed", attempts=3)

    assert len(server.asked) == 3
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("size", [10, len(CONTENT) - 1, len(CONTENT) + 1])
def test_another_size_than_was_listed_is_refused_at_once(tmp_path: Path, size: int) -> None:
    _, server = failed(store(), errors.UnsafeAnswerError, fetching(tmp_path, size=size), says="listed")

    assert len(server.asked) == 1
    assert not (tmp_path / "x").exists()


def test_a_body_that_outgrows_its_size_is_cut_off(tmp_path: Path) -> None:
    told = Told(b"x" * 50, 206, {"Content-Range": "bytes 0-9/10"}, "text/csv")

    failed([told], errors.UnsafeAnswerError, fetching(tmp_path, size=10), says="more bytes")

    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("told", "error", "match"),
    [
        (refused(403, "expired"), errors.RefusedError, "a new one"),
        (refused(404, "gone"), errors.RefusedError, "a new one"),
        (refused(400, "ExpiredToken"), errors.RefusedError, "a new one"),
        (refused(500, "x"), errors.ServerFailedError, "500"),
        (HTML, errors.NotKaggleError, "HTML where a file was expected"),
        (Told(b"\x1f\x8b", 200, {"Content-Encoding": "gzip"}, "text/csv"), errors.NotKaggleError, "compressed"),
        # The store announces the half as if it were all: only the listing knows better.
        (Told(b"hel", media_type="text/csv"), errors.UnsafeAnswerError, "listed"),
    ],
)
def test_what_is_not_the_file_never_becomes_it(
    tmp_path: Path, told: Told, error: type[errors.KaggleError], match: str
) -> None:
    _, server = failed([told], error, fetching_output(tmp_path / "a.csv"), says=match)

    assert list(tmp_path.iterdir()) == []
    assert server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("length", [None, 11])
def test_a_file_whose_size_is_not_listed_is_fetched_up_to_a_limit(tmp_path: Path, length: int | None) -> None:
    told = Told(b"hello there", media_type="text/csv", length=length)
    fetch = fetching_output(tmp_path / "a.csv", size=0, most=5)
    failed([told], errors.UnsafeAnswerError, fetch, says="larger than")

    assert list(tmp_path.iterdir()) == []


def test_a_page_of_html_may_be_what_was_asked_for(tmp_path: Path) -> None:
    answered([HTML], fetching_output(tmp_path / "a.html", size=0, query="?x=1"))

    assert (tmp_path / "a.html").read_bytes() == HTML.body


def test_a_store_that_fails_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    answers = [refused(503, "later", Retry_After="4"), Told(drops=True), Told(b"hello", media_type="text/csv")]

    _, server = answered(answers, fetching_output(tmp_path / "deep" / "a.csv"))

    assert (tmp_path / "deep" / "a.csv").read_bytes() == b"hello"
    assert server.slept[0] == 4.0


def test_redirects_are_followed_a_few_times_and_never_to_another_server(tmp_path: Path) -> None:
    def script(asked: Asked) -> Told:
        return Told(b"", 302, {"Location": "/b"}) if asked.path == "/x" else Told(b"hi", media_type="text/csv")

    answered(script, fetching(tmp_path))
    assert (tmp_path / "x").read_bytes() == b"hi"

    failed([Told(b"", 302, {"Location": "/again"})], errors.NotKaggleError, reading(0, 5), says="again", attempts=1)
    failed([Told(b"", 302, {"Location": "http://127.0.0.1:22/"})], errors.UnsafeAnswerError, reading(0, 5))


def test_a_disk_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileWriteError, match="does not exist"):
        answered(store(), fetching(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("answers", "start", "length", "content"),
    [
        (store(), 0, 10, CONTENT[:10]),
        (store(), len(CONTENT) - 3, 100, CONTENT[-3:]),
        (store(), len(CONTENT) + 3, 100, b""),
        (store(), 5, 0, b""),
        # A store that knows no ranges sends the whole, out of which the part is cut.
        ([Told(CONTENT, media_type="text/csv")], 1000, 10, CONTENT[1000:1010]),
        ([Told(CONTENT, media_type="text/csv")], 0, 10, CONTENT[:10]),
    ],
)
def test_a_part_of_a_file_is_read_and_not_a_byte_more(
    answers: Script | list[Told], start: int, length: int, content: bytes
) -> None:
    assert answered(answers, reading(start, length))[0] == content


@pytest.mark.parametrize(
    ("told", "start", "says"),
    [
        (Told(CONTENT, media_type="text/csv"), 1 << 30, "the whole of a file"),
        (Told(b"y" * 10, 206, {"Content-Range": "bytes 50-59/100"}, "text/csv"), 10, "another part"),
    ],
)
def test_another_part_than_was_asked_for_is_no_answer(told: Told, start: int, says: str) -> None:
    failed([told], errors.NotKaggleError, reading(start, 10), says=says, attempts=1)
