"""A journal that is not what was written stops the chain before anything is done twice, and says how to go on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from chain_table import Table

from generator.errors import TandemError
from generator.kaggle.chain.errors import JournalDamagedError, JournalError
from generator.kaggle.chain.execution import ChainResult
from generator.kaggle.chain.journal import Journals, Outcome
from generator.kaggle.receipt import receipts

# What is left of the lines of a journal; the fifth is the first that is not as it was.
DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "zeroed": lambda lines: [*lines[:4], *(b"\0" * len(line) for line in lines[4:])],
    "garbled": lambda lines: [*lines[:4], lines[4].replace(b"session", b"pushed"), *lines[5:]],
    "without a line": lambda lines: [*lines[:4], *lines[5:]],
    "swapped": lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "joined": lambda lines: [*lines[:4], b"".join(lines[4:6]), *lines[6:]],
    "of another chain": lambda lines: [*lines[:4], _FINISHED, *lines[5:]],
}
_FINISHED = b'{"at": "2026-11-21T12:00:00+00:00", "event": "finished"}'


def damage(carried: ChainResult, how: str) -> Path:
    path = carried.journal.path
    path.write_bytes(b"\n".join(DAMAGES[how](path.read_bytes().splitlines())) + b"\n")
    return path


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_line_stops_the_chain_before_anything_is_done_twice(table: Table, how: str) -> None:
    path = damage(table.push(), how)
    before = path.read_bytes()

    table.stops(JournalDamagedError, match=r"is damaged in line 5: .*--repair.*--restart")

    assert table.counts == (2, 1)
    assert path.read_bytes() == before


def test_zeroes_behind_the_last_line_are_no_line_that_was_cut_off(table: Table) -> None:
    path = table.push().journal.path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-3]) + b"\0" * sum(map(len, lines[-3:])))

    table.stops(JournalDamagedError, match=f"in line {len(lines) - 2}: it is not what was written")
    assert table.counts == (2, 1)


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_a_torn_last_line_is_normal(table: Table, cut: int) -> None:
    carried = table.push()
    path = carried.journal.path
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[-1][:cut])

    assert table.push().state.outcome is Outcome.SCORED
    assert table.counts == (2, 1)


@pytest.mark.parametrize("how", DAMAGES)
def test_repair_goes_on_with_what_kaggle_says_was_done(table: Table, how: str) -> None:
    path = damage(table.push(), how)
    damaged = path.read_bytes()

    carried = table.push(repair=True)

    assert carried.state.outcome is Outcome.SCORED
    assert carried.journal.number == 1
    assert table.counts == (2, 1)
    assert path.with_name("0001.damaged-1").read_bytes() == damaged
    assert table.push().state.outcome is Outcome.SCORED
    assert table.counts == (2, 1)


@pytest.mark.slow
def test_every_line_of_a_scored_chain_can_be_lost_and_found_again_on_kaggle(table: Table) -> None:
    path = table.push().journal.path
    whole = path.read_bytes().splitlines(keepends=True)
    for line in range(len(whole)):
        path.write_bytes(b"".join(whole[:line]) + b"\0\n" + b"".join(whole[line + 1 :]))

        assert table.push(repair=True).state.outcome is Outcome.SCORED, f"line {line + 1}"
        assert table.counts == (2, 1), f"line {line + 1}"


@pytest.mark.slow
def test_restart_leaves_a_damaged_journal_behind_for_good(table: Table) -> None:
    damage(table.push(), "garbled")

    carried = table.push(restart=True)
    assert carried.journal.number == 2
    assert table.counts == (4, 2)

    table.push()
    assert table.counts == (4, 2)
    told = receipts(Journals(table.folder).list_all())
    assert [(receipt.chain, receipt.outcome) for receipt in told] == [(2, Outcome.SCORED), (1, Outcome.UNREADABLE)]
    assert "is damaged in line 5" in told[1].failure


@pytest.mark.slow
def test_a_journal_of_a_newer_kit_is_refused_rather_than_half_understood(table: Table) -> None:
    carried = table.push(submit=False)
    newer = json.loads(carried.journal.path.read_bytes().splitlines()[-1]) | {"event": "teleported"}
    carried.journal.append("teleported", at=table.time.now(), why=newer["event"])  # type: ignore[arg-type] # that is it

    table.stops(JournalError, match=r"Line \d+ of .*0001\.jsonl was written by a newer version of the kit")
    table.stops(JournalError, match="a newer version of the kit", repair=True)
    assert table.counts == (2, 0)

    table.push(restart=True)
    assert table.push().journal.number == 2
    assert table.counts == (4, 1)


def test_a_journal_of_before_there_were_checks_is_gone_on_with(table: Table) -> None:
    carried = table.push(submit=False)
    path = carried.journal.path
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    plain = [{name: value for name, value in line.items() if name not in ("before", "check")} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in plain))

    assert table.push().state.outcome is Outcome.SCORED
    assert table.counts == (2, 1)

    path.write_bytes(path.read_bytes().replace(b'"digits"', b'"diggits"', 1))
    table.stops(JournalDamagedError, match="does not follow")


def test_lines_that_contradict_each_other_are_one_sentence(table: Table) -> None:
    begun = json.loads(table.push().journal.path.read_bytes().splitlines()[0])
    del begun["check"]
    pushed = {"at": "2026-11-21T12:00:00+00:00", "event": "pushed", "role": "train", "version": 1}
    Journals(table.folder).next().path.write_text(f"{json.dumps(begun)}\n{json.dumps(pushed)}\n")

    table.stops(JournalDamagedError, match="in line 2: it contradicts the lines before it")


@pytest.mark.parametrize("place", ["chains/0001.jsonl", "chains/lock", "chains/0001", "chains/0001/train", "chains"])
def test_a_push_writes_through_no_link_that_came_with_a_pair(table: Table, tmp_path: Path, place: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / ".bashrc").write_text("of the user\n")
    path = table.folder.state / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(precious / ".bashrc" if path.name in ("0001.jsonl", "lock") else precious)

    table.stops(TandemError, match=rf"{place} is a link\. .*nothing was written\. ")

    assert {entry.name: entry.read_text() for entry in precious.iterdir()} == {".bashrc": "of the user\n"}
    assert table.counts == (0, 0)
