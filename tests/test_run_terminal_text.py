"""What a cell prints, line by line."""

import pytest

from generator.run.execution import PrintedLines, strip_ansi, without_overwritten


def test_a_line_arrives_when_it_is_whole() -> None:
    lines = PrintedLines()

    assert lines.feed("epoch 1: lo") == []
    assert lines.feed("ss 0.5\nepoch 2") == ["epoch 1: loss 0.5"]
    assert lines.finish() == ["epoch 2"]
    assert lines.finish() == []


def test_a_progress_bar_is_one_line_with_its_last_state() -> None:
    lines = PrintedLines()

    assert lines.feed("1/3\r2/3\r") == []
    assert lines.feed("3/3\n") == ["3/3"]


def test_a_progress_bar_of_backspaces_is_one_line_too() -> None:
    assert PrintedLines().feed("1/2" + "\b" * 3 + "2/2\n") == ["2/2"]


@pytest.mark.parametrize("text", ["\x1b[1;31mred\x1b[0m", "\x1b]8;;http://x\x07red\x1b]8;;\x07", "red\x1b[K"])
def test_terminal_sequences_are_dropped(text: str) -> None:
    assert strip_ansi(text) == "red"


def test_windows_line_ends_overwrite_nothing() -> None:
    assert without_overwritten("one\r\ntwo\r\n") == "one\ntwo\n"


def test_a_line_end_of_windows_may_arrive_in_two_pieces() -> None:
    lines = PrintedLines()

    assert lines.feed("one\r") == []
    assert lines.feed("\ntwo\n") == ["one", "two"]


def test_a_progress_bar_that_ends_without_a_line_end_shows_its_last_state() -> None:
    assert without_overwritten("1/3\r2/3\r") == "2/3"


@pytest.mark.parametrize(
    "pieces",
    [
        [", ".join(map(str, range(300_000)))],
        ["."] * 300_000,
        ["\r17/3000"] * 300_000,
        ["text" * 300_000, *["\b"] * 300_000],
        ["\r" * 300_000],
    ],
    ids=["a long line", "dots", "a progress bar", "backspaces", "carriage returns"],
)
def test_whatever_is_printed_without_a_line_end_is_read_in_linear_time(pieces: list[str]) -> None:
    lines = PrintedLines()  # in quadratic time each of these takes minutes

    whole = [line for piece in pieces for line in lines.feed(piece)] + lines.finish()

    assert len(whole) <= 1
