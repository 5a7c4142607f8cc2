"""What anybody sends to a local Kaggle: it is answered or hung up on, and the server goes on without a mistake."""

import http.client
import json
import re
import socket
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from cases import CASES
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutations import HOSTILE_TEXTS, VALUES, pieces
from scripted import ScriptedRunner, writing
from serving import Served, notebook, served
from wire_lint import methods

from generator.localkaggle.endpoints import Limits
from generator.localkaggle.web.pages import ROUTES

HELLO = "api.v1.DiagnosticsService/Hello"
FITTING: dict[str, Any] = {
    **dict.fromkeys(("userName", "ownerSlug", "kernelOwner"), "local"),
    **dict.fromkeys(("slug", "kernelSlug", "modelSlug", "datasetSlug", "instanceSlug"), "some-thing"),
    **dict.fromkeys(("newTitle", "title"), "Some thing"),
    "competitionName": "digits",
    "framework": "MODEL_FRAMEWORK_JAX",
    "language": "python",
    "kernelType": "notebook",
    "text": notebook(),
    "versionNumber": 1,
}
PLACES = {"owner": "local", "kernel": "some-thing", "slug": "digits", "file": "a.csv"}
WORDS = st.sampled_from(["local", "some-thing", "digits", "train.csv", "a.csv", "1", *HOSTILE_TEXTS])
FORMS = st.dictionaries(
    st.sampled_from(
        [
            *("title", "then", "cell-0", "cell-9999", "added-code", "competitions", "kernels", "datasets", "machine"),
            *("version", "from", "file", "competition", "description", "token", "page"),
        ]
    ),
    WORDS | st.sampled_from(["9" * 5_000, "-1", "²", "A title of a notebook"]),
    max_size=6,
)
HEADERS = st.sampled_from(
    [
        *("Content-Length: 0", "Content-Length: -1", "Content-Length: x", "Content-Length: " + "9" * 30),
        *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Expect: 100-continue"),
        *("Upgrade: websocket", "Connection: upgrade", "Connection: close", "Content-Encoding: gzip"),
        *("Host: evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Accept-Encoding: *;q=-1"),
        *("If-Range: x", "If-None-Match: *", "If-Modified-Since: x", "Cookie: =;;=", "Cookie: tandem-x=a.b"),
        *("Range:", "Range: lines=1", "Range: bytes=0-0", "Range: bytes=-0", "Range: bytes=5-2", "Range: bytes=a-b"),
        *("Range: bytes=1-1,3-3,0-9", "Range: bytes=²-", "Range: bytes=" + "9" * 5_000 + "-", "Range: bytes=0-0,-1"),
        *("Range: bytes=0-" + ",1-" * 500, "Content-Range: bytes 0-0/1", "Content-Range: bytes */*"),
        *("Content-Range: bytes */3", "Content-Range: bytes 9-1/3", "Content-Range: bytes 1-2/3", "Content-Range: x"),
        *("Content-Range: bytes 99999999-99999999/3", "Content-Type: multipart/form-data; boundary=XX"),
        *("Content-Type: multipart/form-data; boundary=", "Content-Type: application/x-www-form-urlencoded"),
        *("Content-Type: ÿ", ": x", " folded: x", "a\0b: c", "é: é", "X" * 9_000),
    ]
)
BODIES = st.sampled_from(
    [
        *(b"", b"{}", b"[]", b"{", b"null", b"\xff", b"[" * 20_000, b'{"a":' * 5_000, b'{"a": 1e999}', b"\xef\xbb\xbf"),
        *(b"123", b"a=b&c=%ff&=&%", b"&" * 3_000, b"--XX--", b"--XX\r\n\r\n\r\n--XX--", b"0\r\n\r\n", b"fffffff\r\n"),
        *(b'{"pageSize": ' + b"9" * 5_000 + b"}", b'{"rules": ["x"]}', b'{"rules": [1]}', b'{"pageSize": 1e5}'),
        b'--XX\r\nContent-Disposition: form-data; name="file"; filename="../a\0"\r\n\r\n1\r\n--XX--',
    ]
)
WHO = st.sampled_from([*["token"] * 20, "key", "wrong", "odd", "none"])

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A local Kaggle with something of every kind, which waits for nobody."""
    limits = Limits(head_seconds=0.3, body_seconds=0.3, idle_seconds=0.3)
    runner = ScriptedRunner(writing({"a.csv": "id,label\n1,2\n"}))
    with served(tmp_path_factory.mktemp("server"), runner=runner, limits=limits) as running:
        target = upload(running)
        assert running.request("PUT", target, token="", data=b"123").status_code == 200
        for method, more in (
            ("kernels.KernelsApiService/SaveKernel", {"slug": ""}),
            ("datasets.DatasetApiService/CreateDataset", {"files": [{"token": target.rpartition("/")[2]}]}),
            ("models.ModelApiService/CreateModel", {}),
        ):
            assert running.ask(method, **{**FITTING, **more})[0] == 200
        yield running


def upload(running: Served) -> str:
    """The target that waits for a file of three bytes."""
    answer = running.ask("blobs.BlobApiService/StartBlobUpload", name="a.csv", contentLength=3)[1]
    return str(answer["createUrl"]).removeprefix(running.address)


def download(running: Served) -> str:
    """The target of a file of some bytes."""
    (running.site.root / "a.bin").write_bytes(bytes(range(256)))
    return running.ticket(running.site.root / "a.bin")


def head(running: Served, who: str = "token") -> list[str]:
    """The headers of a request by somebody."""
    key = b64encode(f"local:{running.local_kaggle.accounts.key('local')}".encode()).decode()
    known = {"token": f"Bearer {running.token}", "key": f"Basic {key}", "wrong": "Bearer x", "odd": "Basic ÿÿ"}
    return ["Host: localhost", *([f"Authorization: {known[who]}"] if who in known else [])]


def written(verb: str, target: str, headers: list[str], body: bytes = b"", *, length: bool = True) -> bytes:
    lengths = [f"Content-Length: {len(body)}"] if length else []
    return "\r\n".join([f"{verb} {target} HTTP/1.1", *headers, *lengths, "", ""]).encode("latin-1", "replace") + body


def answered(running: Served, request: bytes) -> tuple[int, bytes] | None:
    """Status and body of the answer to some bytes; None if the server hangs up."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        answer = http.client.HTTPResponse(connection, method=request.partition(b" ")[0].decode("latin-1"))
        try:
            connection.sendall(request)
            answer.begin()
            return answer.status, answer.read()
        except (ConnectionError, http.client.IncompleteRead):
            return None


def check(running: Served, request: bytes) -> int | None:
    """The status that some bytes are answered with, once it is sure that nothing broke."""
    found = answered(running, request)
    hello = written("POST", f"/v1/{HELLO}", head(running), b"{}")
    # On a busy machine a good request may come too late as well; not three of them.
    assert (200, b'{"userName": "local"}') in (answered(running, hello) for _ in range(3))
    if found is None:
        return None
    status, body = found
    # Kaggle's own answer to sources that are lists, and a disk that is full.
    assert status < 500 or status == 507 or b"join it to one text" in body, found
    assert b"Traceback" not in body
    return status


def good(running: Served) -> list[bytes]:
    """A call, a part of a download, a piece of an upload, a page, two forms, and the stream of a log."""
    known = head(running)
    form = [*known, "Origin: http://localhost", "Content-Type: application/x-www-form-urlencoded"]
    parts = [*known, "Origin: http://localhost", "Content-Type: multipart/form-data; boundary=XX"]
    file = b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid,label\r\n--XX--\r\n'
    return [
        written("POST", f"/api/v1/{HELLO}", known, b'{"a": 1}'),
        written("GET", download(running), [*known, "Range: bytes=1-5"], length=False),
        written("PUT", upload(running), [*known, "Content-Range: bytes 0-0/3"], b"1"),
        written("GET", "/code/local/some-thing?version=1", known, length=False),
        written("POST", "/competitions/digits/submit", form, b"description=a&b=c"),
        written("POST", "/competitions/digits/submit", parts, file),
        written("GET", "/v1/kernels/logs/stream/local/some-thing", known, length=False),
    ]


def test_what_is_changed_are_good_requests(server: Served) -> None:
    assert [check(server, request) for request in good(server)] == [200, 206, 308, 200, 422, 422, 200]


@settings(CASES, max_examples=CASES.max_examples // 3)  # the server waits for the rest of what is cut off
@given(st.integers(0, 6), st.data())
def test_any_bytes(server: Served, which: int, data: st.DataObject) -> None:
    check(server, data.draw(pieces(good(server)[which])))


@CASES
@given(
    verb=st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "X"]),
    target=st.sampled_from([download, upload, f"/v1/{HELLO}", "/", "/code", "/local/faults", "*", "//", "http://x/"]),
    headers=st.lists(HEADERS, max_size=3),
    who=WHO,
    body=BODIES,
    length=st.booleans(),
)
def test_any_head(
    server: Served, *, verb: str, target: Any, headers: list[str], who: str, body: bytes, length: bool
) -> None:
    target = target(server) if callable(target) else target

    check(server, written(verb, target, [*head(server, who), *headers], body, length=length))


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, str]:
    """A method and the path of a page, or nearly so; what the other cases are about is not deleted."""
    route = draw(st.sampled_from([route for route in ROUTES if not route.path.endswith("/delete")]))
    parts = re.split(r"\{(\w+):\w+\}", route.path)
    for place in range(1, len(parts), 2):
        word = draw(st.just(PLACES.get(parts[place], parts[place])) | WORDS)
        parts[place] = quote(word, safe="", errors="replace")
    return draw(st.sampled_from(sorted(route.methods - {"HEAD"}))), "".join(parts)


@CASES
@given(pages(), FORMS, FORMS, WHO)
@example(("GET", "/code/local/some-thing/log.json"), {"from": "9" * 15}, {}, "token")
def test_any_page_and_form(
    server: Served, page: tuple[str, str], query: dict[str, str], form: dict[str, str], who: str
) -> None:
    method, path = page
    body = urlencode(form, errors="replace").encode() if method == "POST" else b""
    kind = "Content-Type: application/x-www-form-urlencoded"
    headers = [*head(server, who), "Origin: http://localhost", kind]

    check(server, written(method, f"{path}?{urlencode(query, errors='replace')}", headers, body))


@CASES
@given(st.data(), WHO)
def test_any_fields_of_a_method(server: Served, data: st.DataObject, who: str) -> None:
    method = data.draw(st.sampled_from(sorted({*server.local_kaggle.methods} & {*methods()})))
    names = {field.json_name for field in methods()[method].request._fields}
    # Mostly what fits, so that the requests get as far as to what is there.
    fitting = {name: st.sampled_from([FITTING[name]] * 9) | VALUES for name in sorted(names & {*FITTING})}
    others = dict.fromkeys(sorted(names - {*FITTING}), VALUES)
    fields = data.draw(st.fixed_dictionaries(fitting, optional=others))

    check(server, written("POST", f"/api/v1/{method}", head(server, who), json.dumps(fields).encode()))
