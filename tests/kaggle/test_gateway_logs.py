"""Following the log of a session, and reading it when it is over."""

import json
from dataclasses import replace
from typing import Any

import pytest
from canned import TOKEN, Ask, Script, Told, answered, failed, refused, said

from generator.kaggle import errors
from generator.kaggle.api_types import LogLine, parse_log
from generator.kaggle.gateway import Kaggle


def event(text: str, time: float = 0.5, stream: str = "stdout") -> dict[str, Any]:
    return {"stream_name": stream, "time": time, "data": text}


def stream(*texts: str, end: bool = True) -> Told:
    lines = [f"data: {json.dumps(event(text))}\n\n" for text in texts] + ["data: END_OF_LOG\n\n"] * end
    return Told("".join(lines).encode(), media_type="text/event-stream")


def log_lines(kaggle: Kaggle) -> list[str]:
    return [line.text for line in kaggle.kernels.log_lines("ada/x-kernel")]


def followed(status: str, answers: list[Told]) -> Script:
    """Answers with these in turn where the log is asked for, and with the status of the session elsewhere."""
    logs = iter(answers[:-1])
    return lambda asked: next(logs, answers[-1]) if asked.verb == "GET" else said(status=status)


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (json.dumps([event("a\n"), event("b", stream="stderr")]), "a\nb"),
        (json.dumps([event("a\n"), event("b")])[:-30], "a\n"),
        (json.dumps([event("lost"), event("kept\n"), event("too")])[20:], "kept\ntoo"),
        ("no JSON at \x1b[1mall", "no JSON at all"),
        ("[", ""),
        ("", ""),
        ('[1, {"data": 5}, {"data": "x", "time": "1e999"}]', "x"),
        ("[" * 100_000, ""),
    ],
)
def test_a_log_is_read_as_far_as_it_is_there(log: str, text: str) -> None:
    assert parse_log(log) == text


def test_a_log_is_followed_to_its_end() -> None:
    ask: Ask = lambda kaggle: list(kaggle.kernels.log_lines("ada/digits-train"))  # noqa: E731 - as the others are
    lines, server = answered([stream("one\n", "two\n")], ask)

    assert lines == [LogLine(0.5, "stdout", "one\n"), LogLine(0.5, "stdout", "two\n")]
    assert server.asked[0].path == "/api/v1/kernels/logs/stream/ada/digits-train"
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_the_log_of_a_session_that_is_over_comes_in_one_piece() -> None:
    body = json.dumps([event("one\n"), event("two\n")]).encode()

    for media_type in ("application/octet-stream", "application/json"):
        assert answered([Told(body, media_type=media_type)], log_lines)[0] == ["one\n", "two\n"]


def test_a_log_that_breaks_is_taken_up_again_and_no_line_comes_twice() -> None:
    answers = [
        stream("one\n", "one\n", end=False),
        Told(drops=True),
        replace(stream("one\n", "one\n", "two\n", end=False), length=5000),
        stream("one\n", "one\n", "two\n", "three\n"),
    ]
    lines, _ = answered(followed("RUNNING", answers), log_lines)

    assert lines == ["one\n", "one\n", "two\n", "three\n"]


def test_a_log_of_which_only_the_end_is_left_goes_on_after_the_last_line() -> None:
    told = [event(f"{number}\n", time=number) for number in range(1, 8)]
    begun = "".join(f"data: {json.dumps(each)}\n\n" for each in told[:5])
    left = json.dumps(told[3:]).encode()
    answers = [Told(begun.encode(), media_type="text/event-stream"), Told(left, media_type="text/plain")]

    lines, _ = answered(followed("COMPLETE", answers), log_lines)

    assert lines == [f"{number}\n" for number in range(1, 8)]


def test_a_log_that_breaks_without_end_is_given_up() -> None:
    script = followed("RUNNING", [stream(end=False)])
    _, server = failed(script, errors.NotKaggleError, log_lines, says="without its end")

    assert sum(asked.verb == "GET" for asked in server.asked) == 5


def log_lines_soon(kaggle: Kaggle) -> list[str]:
    """The lines of a log, whose silence is not waited out for long."""
    kaggle.kernels.silence = 0.1
    return log_lines(kaggle)


def test_silence_in_a_log_is_waited_out_while_the_session_runs() -> None:
    silences = [Told(stream("one\n", end=False).body, media_type="text/event-stream", length=900, stalls=True)] * 6
    lines, _ = answered(followed("RUNNING", [*silences, stream("one\n", "two\n")]), log_lines_soon)

    assert lines == ["one\n", "two\n"]


def test_silence_in_the_log_of_a_session_that_is_over_is_given_up() -> None:
    failed(followed("COMPLETE", [Told(stalls=True)]), errors.UnreachableError, log_lines_soon)


def test_the_log_of_no_kernel_is_not_found() -> None:
    failed([refused(404, "Notebook not found")], errors.NotFoundError, log_lines)


def test_log_lines_carry_no_commands_for_a_terminal() -> None:
    assert answered([stream("\x1b]0;owned\x07\x1b[2Jhi\r\n")], log_lines)[0] == ["hi\n"]
