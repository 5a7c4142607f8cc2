"""The live stream of a log: followed by many, broken on demand, and one JSON array once the session is over."""

import json
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from scripted import ScriptedRunner
from serving import Served, notebook, served

from generator.localkaggle.rpc import parse_rule
from generator.sessions.notebook_runner import SessionLog
from generator.sessions.sandbox import SessionOrder

STREAM = "/api/v1/kernels/logs/stream/local/a-kernel"


def events(answer: requests.Response) -> Iterator[Any]:
    """What the official client makes of a stream: it stops at the sentinel, and skips what is no data."""
    for line in answer.iter_lines(decode_unicode=True):
        if line.startswith("data:"):
            payload = line[len("data:") :].lstrip()
            if payload == "END_OF_LOG":
                return
            yield json.loads(payload)
    raise AssertionError("the stream ended without its sentinel")


class _Talking:
    """A script that says a line whenever the test lets it."""

    def __init__(self) -> None:
        self.order = threading.Event()
        self.log: SessionLog
        self.over = threading.Event()

    def __call__(self, order: SessionOrder) -> None:
        self.log = SessionLog(order.files.log)
        self.order.set()
        assert self.over.wait(30)


@pytest.fixture
def talking(tmp_path: Path) -> Iterator[tuple[Served, _Talking]]:
    """A local Kaggle with one session, which runs until its script is told to end."""
    script = _Talking()
    with served(tmp_path, runner=ScriptedRunner(script)) as running:
        try:
            running.save_kernel("A kernel", notebook())
            assert script.order.wait(30)
            yield running, script
        finally:
            script.over.set()


def test_a_log_is_followed_from_its_beginning_to_its_end(talking: tuple[Served, _Talking]) -> None:
    running, script = talking
    script.log.write("epoch 1\n")
    answer = running.request("GET", STREAM, stream=True)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    followed = events(answer)
    assert "begins" in next(followed)["data"]
    assert next(followed) == {"stream_name": "stdout", "time": pytest.approx(0, abs=30), "data": "epoch 1\n"}
    script.log.write("epoch 2 \u2028 \N{SNOWMAN}\n", stream="stderr")
    second = next(followed)
    assert (second["stream_name"], second["data"]) == ("stderr", "epoch 2 \u2028 \N{SNOWMAN}\n")
    script.over.set()
    assert [event["data"] for event in followed][-1].endswith("ends\n")


def test_a_log_that_is_complete_is_one_json_array(talking: tuple[Served, _Talking]) -> None:
    running, script = talking
    script.log.write("done\n")
    script.over.set()
    assert running.local_kaggle.kernels.sessions.queue.wait_until_idle(30)
    answer = running.request("GET", STREAM)
    assert "event-stream" not in answer.headers["Content-Type"]
    assert [event["data"] for event in answer.json()][1] == "done\n"


@pytest.mark.slow
def test_a_long_log_is_never_in_memory_as_a_whole(talking: tuple[Served, _Talking]) -> None:
    running, script = talking
    line = json.dumps({"stream_name": "stdout", "time": 1.5, "data": "a line of a log\n"}).encode() + b"\n"
    with script.log._path.open("ab") as file:
        file.write(line * 30_000)
    script.over.set()
    assert running.local_kaggle.kernels.sessions.queue.wait_until_idle(30)

    tracemalloc.start()
    answer = running.request("GET", STREAM, stream=True)
    received = [0, 0]
    for piece in answer.iter_content(65_536):
        received = [received[0] + len(piece), received[1] + piece.count(b"a line of a log")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert received[0] > len(line) * 30_000
    assert received[1] > 29_500, "a few may lie across two pieces"
    assert peak < 8 * 2**20


def test_many_follow_one_log_and_all_see_all_of_it(talking: tuple[Served, _Talking]) -> None:
    running, script = talking
    seen: list[list[str]] = []

    following = threading.Semaphore(0)

    def follow() -> None:
        followed = events(running.request("GET", STREAM, stream=True))
        first = next(followed)["data"]
        following.release()
        seen.append([first, *(event["data"] for event in followed)])

    threads = [threading.Thread(target=follow) for _ in range(12)]
    for thread in threads:
        thread.start()
    assert all(following.acquire(timeout=30) for _ in threads)
    for number in range(20):
        script.log.write(f"{number}\n")
    script.over.set()
    for thread in threads:
        thread.join(30)
    assert len(seen) == 12
    assert all([line for line in lines if line.strip().isdecimal()] == [f"{n}\n" for n in range(20)] for lines in seen)


def test_a_stream_that_breaks_is_whole_the_next_time(talking: tuple[Served, _Talking]) -> None:
    running, script = talking
    script.log.write("before\n")
    running.site.faults.replace([parse_rule("log-stream-breaksx1")])
    with pytest.raises(requests.RequestException):
        list(events(running.request("GET", STREAM, stream=True)))
    script.over.set()
    answer = running.request("GET", STREAM, stream=True)
    lines = answer.json() if "octet" in answer.headers["Content-Type"] else list(events(answer))
    assert "before\n" in [event["data"] for event in lines]


def test_the_log_of_no_kernel_is_refused(talking: tuple[Served, _Talking]) -> None:
    running, _ = talking
    assert running.request("GET", STREAM.replace("a-kernel", "another")).status_code in (403, 404)
    assert running.request("GET", STREAM, token="").status_code == 401
    stranger = running.local_kaggle.accounts.token("stranger")
    assert running.request("GET", STREAM, token=stranger).status_code in (403, 404)
