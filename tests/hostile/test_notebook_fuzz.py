"""A notebook that somebody pushes to a local Kaggle: each of its pages shows it, what it left, or why it does not."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from browsing import Browsing
from cases import CASES
from commands import in_time
from hypothesis import example, given
from hypothesis import strategies as st
from mutations import HOSTILE_TEXTS, mutated, pieces
from scripted import ScriptedRunner
from test_data_fuzz import CSV, NAMES, PARQUET, SAMPLE, image, zipped
from test_pair_fuzz import as_json, executed

from generator.localkaggle.rpc import ApiError
from generator.sessions.notebook_runner import SessionLog
from generator.sessions.sandbox import SessionOrder

TABS = ("", "/log", "/log.json", "/log.txt", "/output", "/output.zip", "/versions", "/copy", "/submit")
LISTS = ("/code", "/sessions", "/competitions/toy-heights/code")
NOTEBOOKS = mutated(executed(), most=6).map(as_json)
OUTPUTS = st.sampled_from([CSV.encode(), SAMPLE.encode(), image((8, 8), "PNG"), zipped(["a.csv"], CSV.encode())])
LOGS = st.lists(st.sampled_from(HOSTILE_TEXTS) | st.text(max_size=9), max_size=4)

pytestmark = pytest.mark.slow


class Session:
    """A session that leaves what it was told to: an executed notebook, a file, and what it printed."""

    executed = content = b""
    name = "a.csv"
    printed: tuple[str, ...] = ()

    def __call__(self, order: SessionOrder) -> None:
        order.files.executed_notebook.write_bytes(self.executed)
        with suppress(OSError, ValueError):  # that is no name for a file
            Path(order.files.working, self.name).write_bytes(self.content)
        for text in self.printed:
            SessionLog(order.files.log).write(text, stream="stderr")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, session: Session) -> Iterator[Browsing]:
    found = Browsing(tmp_path_factory.mktemp("pages"), ScriptedRunner(session))
    yield found
    found.close()


def look_around(pages: Browsing, address: str, *further: str) -> None:
    """Opens every page that tells of a notebook, saves what its editor shows, and deletes it."""
    for page in [*(f"{address}{tab}" for tab in TABS), *LISTS, *further]:
        with in_time():
            assert pages.get(page).status in (200, 404), page
    with in_time():
        form = pages.get(f"{address}/edit").fields
        assert pages.post(f"{address}/edit", {**form, "then": "save"}).status in (303, 422)
        assert pages.post(f"{address}/delete", {}).status == 303


@CASES
@given(NOTEBOOKS | NOTEBOOKS.flatmap(pieces))
@example(as_json({"cells": [{"cell_type": "code", "id": [], "source": "1"}]}))
def test_any_notebook_that_is_pushed(pages: Browsing, session: Session, text: bytes) -> None:
    session.executed_notebook, session.name = as_json(executed()), "a.csv"
    try:
        address = pages.push("Some thing", text=text.decode("utf-8", "replace"))
    except ApiError:
        return

    look_around(pages, address)


@CASES
@given(
    text=NOTEBOOKS | NOTEBOOKS.flatmap(pieces),
    name=NAMES | st.sampled_from(["a.png", "a.csv.xz", "a.parquet", "a.zip", "a.json", "a.txt", "submission.csv"]),
    content=OUTPUTS | OUTPUTS.flatmap(pieces) | PARQUET,
    printed=LOGS,
)
def test_anything_that_a_session_leaves(
    pages: Browsing, session: Session, *, text: bytes, name: str, content: bytes, printed: list[str]
) -> None:
    session.executed_notebook, session.name, session.content, session.printed = text, name, content, tuple(printed)
    address = pages.push("Some thing", competitionDataSources=["toy-heights"])

    look_around(pages, address, f"{address}/output?file={quote(name, errors='replace')}")
