"""Whatever a journal says: it is told, carried on or refused in one sentence, and nothing is done twice."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import CASES, FEW_CASES
from chain_table import Table
from hypothesis import example, given
from hypothesis import strategies as st

from generator.errors import TandemError
from generator.files import WorkspaceFiles
from generator.kaggle.chain.journal import EntryKind, Journal, Outcome
from generator.kaggle.receipt import as_html, as_markdown, receipts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of a chain that was scored."""
    return Table(tmp_path_factory.mktemp("scored")).push().journal.path.read_bytes()


def told(journal: Journal) -> str:
    """A receipt in every form."""
    known = receipts([journal])
    return as_html(known[0], known) + as_markdown(known[0], known) + json.dumps(known[0].as_json())


@st.composite
def damages(draw: st.DrawFn, size: int = 6_000) -> tuple[int, int, bytes]:
    """A piece of a file, by its place and length, and what stands there instead."""
    at, length = draw(st.integers(0, size)), draw(st.integers(0, 400))
    return at, length, draw(st.one_of(st.binary(max_size=40), st.just(b"\0" * length), st.just(b"\n")))


@CASES
@given(st.lists(damages(), min_size=1, max_size=3))
@example([(4_927, 400, b"")])
def test_what_damage_leaves_of_a_journal_is_a_beginning_of_it_or_refused(
    whole: bytes, pieces: list[tuple[int, int, bytes]]
) -> None:
    damaged = whole
    for at, length, instead in pieces:
        damaged = damaged[:at] + instead + damaged[at + length :]
    with TemporaryDirectory(prefix="hostile-") as folder:
        path = Path(folder, "digits", ".tandem", "chains", "0001.jsonl")
        path.parent.mkdir(parents=True)
        path.write_bytes(damaged)
        journal = Journal(path, WorkspaceFiles(Path(folder)))

        with suppress(TandemError):
            # What is behind the last line end may be missing without notice, as after a crash, and nothing else.
            entries = journal.entries()
            assert entries == entries_of(path, whole)[: len(entries)]
            assert len(entries) == damaged.count(b"\n")
        assert told(journal)


def entries_of(beside: Path, content: bytes) -> tuple[object, ...]:
    path = beside.with_name("0002.jsonl")
    path.write_bytes(content)
    return Journal(path, WorkspaceFiles(beside.parent)).entries()


@FEW_CASES
@given(damages())
def test_a_damaged_chain_is_repaired_without_a_second_push(whole: bytes, piece: tuple[int, int, bytes]) -> None:
    at, length, instead = piece
    with TemporaryDirectory(prefix="hostile-") as folder:
        table = Table(Path(folder))
        path = table.push().journal.path
        content = path.read_bytes()
        path.write_bytes(content[:at] + instead + content[at + length :])

        assert table.push(repair=True).state.outcome is Outcome.SCORED
        assert table.counts == (2, 1)


VALUES = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        st.sampled_from(["train", "infer", "submit", "complete", "error", "kernel", "a/b", "accuracy", 10**400]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


def fields(*names: str, **known: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """An object with some of these names, or anything else."""
    values = {name: known.get(name, VALUES) for name in (*names, *known)}
    return st.one_of(st.fixed_dictionaries({}, optional=values), VALUES)


FILES = st.one_of(st.lists(fields("file", "bytes", "sha256"), max_size=3), VALUES)
NAMES = {
    "handover": fields("versions", "framework", out_of_fold=fields("metric", "score"), files=FILES),
    "accelerator": fields("device_kind", "device_count", "platform", "emulated"),
    "parameters": fields("train", "infer"),
    **dict.fromkeys(
        ("role", "step", "to", "state"), st.one_of(st.sampled_from(["train", "infer", "complete"]), VALUES)
    ),
    **dict.fromkeys(("ref", "version", "url", "what", "kind", "digest", "baseline", "machine_shape"), VALUES),
    **dict.fromkeys(("message", "error", "tag", "reference", "page", "button", "public", "private"), VALUES),
    **dict.fromkeys(("gpu", "tpu", "rows", "sha256", "bytes", "file", "handoff", "pair", "title", "kit"), VALUES),
}
MOMENT = "2026-11-21T12:00:00+00:00"
MOMENTS = st.sampled_from([MOMENT] * 12 + ["2026-11-21T12:00:00", "9999-12-31T23:59:59+00:00", "", 5])
LINES = st.tuples(
    st.sampled_from([str(kind) for kind in EntryKind]), st.fixed_dictionaries({}, optional=NAMES), MOMENTS
)
BEGINNING = [
    {"event": "begun"},
    *({"event": event, "role": role} for role in ("train", "infer") for event in ("pushing", "pushed")),
    *({"event": event, "what": "wheels"} for event in ("uploading", "uploaded")),
]


@CASES
@given(st.lists(LINES, max_size=4))
def test_lines_that_say_anything_are_told_or_refused(lines: list[tuple[str, dict[str, object], object]]) -> None:
    with TemporaryDirectory(prefix="hostile-") as folder:
        path = Path(folder, "digits", ".tandem", "chains", "0001.jsonl")
        path.parent.mkdir(parents=True)
        said = [{"at": MOMENT, **line} for line in BEGINNING]
        said += [
            {"role": "infer", "step": "submit", "to": "infer"} | rest | {"at": at, "event": event}
            for event, rest, at in lines
        ]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in said))

        told(Journal(path, WorkspaceFiles(Path(folder))))
