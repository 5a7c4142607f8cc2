"""Tables fit into the terminal that they are for, and lose nothing by it."""

import io
import re

import pytest

from generator.cli.terminal import table, width_of

HEADER = ["choice", "value", "evidence"]
ROWS = [
    ["id_column", "PassengerId", "unique in gender_submission.csv, unique in test.csv and unique in train.csv"],
    ["title", "手書きの数字を見分ける" * 4, "from its name"],
    ["targets", '["' + "a" * 90 + '"]', ""],
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, columns: int) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    return table(HEADER, ROWS, stream=Terminal())


@pytest.mark.parametrize("columns", [12, 40, 60, 80, 160, 400])
def test_no_line_is_longer_than_the_terminal_and_no_character_is_lost(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown(monkeypatch, columns))

    assert max(map(width_of, text.splitlines())) <= columns
    for character in "手数a,PI":
        cells = "".join(cell for row in [HEADER, *ROWS] for cell in row)
        assert text.count(character) == cells.count(character)


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[36mid_column" in shown(monkeypatch, 80)
    assert "\x1b" not in table(HEADER, ROWS, stream=io.StringIO())
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as wanted:
            wanted.setenv(name, value)
            assert "\x1b" not in shown(wanted, 80)


def test_a_log_has_long_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = table(HEADER, ROWS, stream=io.StringIO()).splitlines()

    assert len(lines) == 4
    assert lines[1].endswith(ROWS[0][2])
