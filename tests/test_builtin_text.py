"""The built-in competition `docstrings`: its files, its secret, and its score."""

import sysconfig
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from layout_files import read_rows

from generator.competition.builtin import DOCSTRINGS, _docstrings_parts, _is_test, _texts_of_module, key_of
from generator.competition.submission import SubmissionIdsError
from generator.errors import CompetitionError
from generator.pair.workspace import Workspace, ensure_data

pytestmark = pytest.mark.slow  # a good part of the standard library is read

PARTS = {"concurrency", "files", "formats", "networking", "numbers", "tools"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of `docstrings` as written on first use; read only."""
    return ensure_data(DOCSTRINGS, Workspace(tmp_path_factory.mktemp("docstrings")))


def write_submission(path: Path, labels: dict[str, str]) -> Path:
    path.write_text("id,label\n" + "".join(f"{key},{label}\n" for key, label in labels.items()))
    return path


def test_the_files_are_those_of_a_text_competition(folder: Path) -> None:
    training, test = read_rows(folder / "train.csv"), read_rows(folder / "test.csv")
    sample = read_rows(folder / "sample_submission.csv")

    assert [*training[0]] == ["id", "text", "label"]
    assert [*test[0]] == ["id", "text"]
    assert [row["id"] for row in sample] == [row["id"] for row in test]
    assert len(training) + len(test) >= 1_500
    assert len(test) / (len(training) + len(test)) == pytest.approx(0.3, abs=0.03)
    shares = Counter(row["label"] for row in training)
    assert set(shares) == PARTS
    assert all(0.12 < count / len(training) < 0.22 for count in shares.values())


def test_no_text_and_no_id_stands_on_both_sides_of_the_split_or_twice(folder: Path) -> None:
    rows = [*read_rows(folder / "train.csv"), *read_rows(folder / "test.csv")]

    assert len({row["text"] for row in rows}) == len(rows)
    assert len({row["id"] for row in rows}) == len(rows)


def test_neither_the_sample_nor_ids_nor_their_order_tell_a_label(folder: Path) -> None:
    rows = read_rows(folder / "train.csv")
    equal_neighbours = sum(a["label"] == b["label"] for a, b in pairwise(rows)) / len(rows)

    assert {row["label"] for row in read_rows(folder / "sample_submission.csv")} == {"concurrency"}
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert equal_neighbours == pytest.approx(1 / 6, abs=0.04)


def test_texts_come_from_everything_that_a_module_documents_without_its_name(tmp_path: Path) -> None:
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / "fast.py").write_text(
        '"""Fast queues, made of the queue that this module has."""\n'
        "class Line:\n"
        "    async def get(self):\n"
        '        """Take what waits longest in the line; queue.fast does the rest."""\n'
        "if True:\n"
        "    def put():\n"
        '        """Add one more thing to the end."""\n'
        '        def inner():\n            """Wake up all who wait for something here."""\n'
        'def short():\n    """Too short."""\n'
        'def odd():\n    """A text with one \\udc80 that no file in UTF-8 can have."""\n'
    )

    assert dict(_texts_of_module(tmp_path, "queue")) == {
        "queue.fast": "___ queues, made of the ___ that this module has.",
        "queue.fast.Line.get": "Take what waits longest in the line; ___.___ does the rest.",
        "queue.fast.put": "Add one more thing to the end.",
        "queue.fast.put.inner": "Wake up all who wait for something here.",
    }


def test_id_and_side_of_the_split_follow_from_the_name_alone_whatever_the_python() -> None:
    names = ["asyncio.queues.Queue.get", "bisect.insort"]

    assert [(key_of("docstrings", name), _is_test(key_of("docstrings", name))) for name in names] == [
        ("46080668", True),
        ("0379c913", False),
    ]


def test_the_true_labels_score_one_and_each_wrong_one_costs_a_row(tmp_path: Path) -> None:
    labels = DOCSTRINGS.answers()
    wrong = {
        key: "tools" if index < 30 and label != "tools" else label for index, (key, label) in enumerate(labels.items())
    }
    mistakes = sum(wrong[key] != labels[key] for key in labels)

    assert DOCSTRINGS.score(write_submission(tmp_path / "a.csv", dict(reversed(labels.items())))) == 1.0
    score = DOCSTRINGS.score(write_submission(tmp_path / "b.csv", wrong))
    assert score == pytest.approx(1 - mistakes / len(labels))
    padded = {key: f" {label} " for key, label in labels.items()}
    assert DOCSTRINGS.score(write_submission(tmp_path / "d.csv", padded)) == 1.0
    with pytest.raises(SubmissionIdsError, match="ids are missing"):
        DOCSTRINGS.score(write_submission(tmp_path / "c.csv", dict([*labels.items()][:10])))


def test_a_library_without_source_files_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))

    with pytest.raises(CompetitionError) as caught:
        _docstrings_parts.__wrapped__()

    assert str(caught.value) == (
        f"{tmp_path} has 0 documentation strings to make a competition of, and 1,500 are needed. "
        "Use a Python whose standard library is installed with its source files."
    )
