"""The queue of sessions, and the logs that they leave."""

import io
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from desk import Desk
from scripted import ScriptedRunner

from generator.localkaggle.services.kernels import SessionRules
from generator.sessions.notebook_runner import LARGEST_EVENT, SessionLog, SessionQueue, _take_down, read_all, read_piece

SECONDS = 10.0


class Work:
    """Sessions that last until they are let go or stopped."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self.order: list[int] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def __call__(self, session: int, stop: threading.Event) -> None:
        with self._lock:
            self.order.append(session)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.release()
        while not self.go.wait(0.005) and not stop.is_set():
            pass
        with self._lock:
            self.at_once -= 1


def test_sessions_run_in_order_and_no_more_at_a_time_than_there_are_slots() -> None:
    work = Work()
    queue = SessionQueue(work, slots=2)
    for session in range(6):
        queue.add(session)
    assert all(work.begun.acquire(timeout=SECONDS) for _ in range(2))
    assert sorted(work.order) == [0, 1]
    work.go.set()

    assert queue.wait_until_idle(SECONDS)
    assert work.most_at_once == 2
    assert sorted(work.order) == list(range(6))
    queue.close()


def test_a_waiting_session_is_taken_out_and_a_running_one_is_told() -> None:
    work = Work()
    queue = SessionQueue(work, slots=1)
    queue.add(1)
    queue.add(2)
    assert work.begun.acquire(timeout=SECONDS)

    assert (queue.stop(2), queue.stop(1), queue.stop(7)) == (True, False, False)
    assert queue.wait_until_idle(SECONDS)
    assert work.order == [1]
    queue.close()


def test_a_session_that_breaks_leaves_its_slot_to_the_next() -> None:
    ran: list[int] = []

    def breaks(session: int, stop: threading.Event) -> None:
        ran.append(session)
        raise ZeroDivisionError

    queue = SessionQueue(breaks, slots=1)
    queue.add(1)
    queue.add(2)

    assert queue.wait_until_idle(SECONDS)
    assert ran == [1, 2]
    queue.close()


def test_without_slots_a_session_is_over_when_it_was_added() -> None:
    ran: list[int] = []
    SessionQueue(lambda session, stop: ran.append(session), slots=0).add(5)

    assert ran == [5]


def test_two_pushes_at_once_do_not_both_get_the_last_tpu(tmp_path: Path) -> None:
    runner = ScriptedRunner(held=True)
    desk = Desk(tmp_path, runner, rules=SessionRules(slots=1))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: desk.push(f"Kernel number {n}", machineShape="TpuV5E8"), range(8)))
    runner.release()

    assert sorted(bool(answer["error"]) for answer in answers) == [False] + [True] * 7
    assert desk.kaggle.kernels.sessions.queue.wait_until_idle(SECONDS)


def test_a_log_keeps_control_characters_as_json_and_cuts_long_pieces(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    SessionLog(path).write("\x1b[2J\r\n\u2028" + "x" * LARGEST_EVENT, stream="stderr")
    events = list(read_all(path))

    assert b"\x1b" not in path.read_bytes()
    assert [len(event["data"]) for event in events] == [LARGEST_EVENT, 7]
    assert "".join(event["data"] for event in events).startswith("\x1b[2J\r\n\u2028x")
    assert {event["stream_name"] for event in events} == {"stderr"}


def test_a_full_log_says_so_and_grows_no_further(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = SessionLog(path, limit=100)
    for _ in range(1_000):
        log.write("0123456789\n")

    assert path.stat().st_size < 2_000
    assert "full" in list(read_all(path))[-1]["data"]


@pytest.mark.parametrize("text", ["x", "\n", "\x1b" * 50, "é"])
def test_what_is_around_a_text_counts_for_the_size_of_a_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.jsonl"
    log = SessionLog(path, limit=4_000)
    for _ in range(2_000):
        log.write(text)

    assert path.stat().st_size < 4_000 + 200
    assert "full" in list(read_all(path))[-1]["data"]


@pytest.mark.parametrize(
    "said", ['"text"', '["text"]', '["end"]', "null", "1", "{", "[" * 100_000, '{"text": 1, "end"']
)
def test_what_a_worker_says_that_is_no_message_is_passed_over(tmp_path: Path, said: str) -> None:
    ends: deque[str] = deque(maxlen=1)
    _take_down(
        io.BytesIO(f'{said}\n{{"text": "on"}}\n{{"end": "well"}}\n'.encode()), SessionLog(tmp_path / "log"), ends.append
    )

    assert [event["data"] for event in read_all(tmp_path / "log")] == ["on"]
    assert list(ends) == ["well"]


def test_half_a_line_of_a_log_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"data": "one"}\n{"da')
    first = read_piece(path)
    path.write_bytes(b'{"data": "one"}\n{"data": "two"}\n')

    assert [event["data"] for event in first.events] == ["one"]
    assert [event["data"] for event in read_piece(path, position=first.position).events] == ["two"]


def test_there_is_no_log_before_a_session_writes_one(tmp_path: Path) -> None:
    assert read_piece(tmp_path / "none.jsonl").events == ()
