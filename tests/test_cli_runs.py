"""`tandem runs`: runs listed, compared, noted, removed, exported, and drawn."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from miniature import Outcome
from recorded_runs import record

from generator.pair.workspace import Workspace
from generator.run import run_comparison
from generator.run.ledger import change_run, read_runs
from generator.run.run_comparison import changes_between, correlations, read_predictions
from generator.run.runs_page import score_bar

Tandem = Callable[..., Outcome]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with three runs of a pair, and one of another."""
    root = tmp_path_factory.mktemp("runs")
    workspace = Workspace(root)
    record(root, score=0.75)
    second = record(root, score=0.81, epochs=5, cell="print('larger')").record
    change_run(workspace, second, public_score=0.8, private_score=0.79, note="a <b>larger</b> model\x1b[31m")
    record(root, score=0.78, epochs=4, cell="print('larger')")
    other = record(root, pair="tiny-trees", score=0.8, epochs=7).record
    change_run(workspace, other, public_score=0.82)
    return root


@pytest.fixture
def workspace(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runs_are_listed_with_the_best_first_and_what_changed(tandem: Tandem, workspace: Path) -> None:
    lines = tandem("runs").out.splitlines()

    assert lines[0].split() == ["run", "created", "CV", "public", "private", "time", "changed", "note"]
    assert [line.split()[0] for line in lines[1:]] == ["tiny@2", "tiny-trees@1", "tiny@3", "tiny@1"]
    assert "accuracy 0.81000 ± 0.0141  0.80000  0.79000" in lines[1]
    assert lines[1].endswith("EPOCHS 3 → 5; cell model  a <b>larger</b> model\\x1b[31m")
    assert lines[3].endswith("EPOCHS 5 → 4")
    assert len(tandem("runs", "tiny").out.splitlines()) == 4


def test_the_same_for_programs(tandem: Tandem, workspace: Path) -> None:
    (workspace / "output/tiny/runs/0001/run.json").write_text("{")
    fields = json.loads(tandem("runs", "--json").out)

    assert [entry["name"] for entry in fields["runs"]] == ["tiny@2", "tiny-trees@1", "tiny@3"]
    assert fields["runs"][2]["changes"] == ["EPOCHS 5 → 4"]
    assert "tiny/runs/0001/run.json is damaged (it is no JSON object): restore it, or remove" in fields["warnings"][0]
    assert "Warning: " in tandem("runs", "tiny").err


@pytest.mark.parametrize("words", [["tiny", "1", "2"], ["tiny@1", "tiny@2"], ["tiny", "2"], ["tiny@2"]])
def test_two_runs_are_compared_cell_by_cell(tandem: Tandem, workspace: Path, words: list[str]) -> None:
    assert tandem("runs", "diff", *words).out.splitlines() == [
        "                       tiny@1                     tiny@2",
        "CV                     accuracy 0.75000 ± 0.0141  accuracy 0.81000 ± 0.0141",
        "public                                            0.80000",
        "private                                           0.79000",
        "fold 0                 0.74000                    0.80000",
        "fold 1                 0.76000                    0.82000",
        "EPOCHS (train, infer)  3                          5",
        "--- tiny@1 train.ipynb and infer.ipynb: model",
        "+++ tiny@2 train.ipynb and infer.ipynb: model",
        "@@ -1 +1 @@",
        "-print(EPOCHS)",
        "+print('larger')",
    ]


def test_two_runs_without_a_difference_say_so(tandem: Tandem, workspace: Path) -> None:
    record(workspace, score=0.79, epochs=4, cell="print('larger')")

    lines = tandem("runs", "diff", "tiny", "3", "4").out.splitlines()

    assert [line.split()[0] for line in lines] == ["tiny@3", "CV", "fold", "fold", "No"]
    assert tandem("runs", "diff", "tiny", "3", "3").code == 2


def test_runs_of_two_pairs_are_compared(tandem: Tandem, workspace: Path) -> None:
    fields = json.loads(tandem("runs", "diff", "tiny@3", "tiny-trees", "--json").out)
    assert (fields["runs"], fields["changes"]) == (["tiny@3", "tiny-trees@1"], ["EPOCHS 4 → 7", "cell model"])
    assert fields["scores"][:2] == [
        {"name": "cv", "values": [0.78, 0.8]},
        {"name": "public_score", "values": [None, 0.82]},
    ]
    assert tandem("runs", "diff", "tiny", "tiny-trees", "--json").out == json.dumps(fields, indent=2) + "\n"
    assert tandem("runs", "diff", "tiny", "1", "2", "3").code == 2
    refused = tandem("runs", "diff", "tiny", "1", "9")
    remedy = "Its last run is 3; `tandem runs tiny` lists all."
    assert refused.err == f"Error: tiny has no run 9. {remedy}\n"
    assert json.loads(tandem("runs", "diff", "tiny", "1", "9", "--json").out)["error"] == {
        "code": "run-not-found",
        "message": "tiny has no run 9.",
        "remedy": remedy,
    }


def test_a_run_gets_a_note(tandem: Tandem, workspace: Path) -> None:
    assert tandem("runs", "note", "tiny", "1", "first  try").out == "tiny@1: first try\n"
    assert tandem("runs", "note", "tiny", "the newest").out == "tiny@3: the newest\n"
    assert [entry.note for entry in read_runs(Workspace(workspace), "tiny")][::2] == ["first try", "the newest"]
    assert tandem("runs", "note", "tiny", "1", "x" * 1001).code == 1
    replaced = tandem("runs", "note", "tiny", "1", "second try").out
    assert replaced == "tiny@1: second try\nThe note before was: first try\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tiny", "1"], 'Write it behind the run: `tandem runs note tiny@1 "smaller model"`.'),
        (["tiny", "2026"], "There is no note."),
        (["tiny", "1", "fewer", "epochs"], 'Put the note in quotes: `tandem runs note tiny@1 "fewer epochs"`.'),
        (["tiny", "fewer", "$epochs"], 'Put the note in quotes: `tandem runs note tiny "NOTE"`.'),
    ],
)
def test_a_note_that_is_forgotten_or_without_quotes_is_refused(
    tandem: Tandem, workspace: Path, words: list[str], sentence: str
) -> None:
    refused = tandem("runs", "note", *words)

    assert (refused.code, sentence in refused.err) == (2, True)
    assert [entry.note for entry in read_runs(Workspace(workspace), "tiny")][::2] == ["", ""]


def test_a_damaged_newest_run_is_named_and_none_is_taken_for_it(tandem: Tandem, workspace: Path) -> None:
    (workspace / "output/tiny/runs/0003/run.json").unlink()

    for words in (["note", "tiny", "the newest"], ["diff", "tiny"], ["diff", "tiny", "2", "3"]):
        refused = tandem("runs", *words)
        assert (refused.code, "runs/0003 has no run.json: restore it, or remove the folder." in refused.err) == (
            1,
            True,
        )
    assert tandem("runs", "note", "tiny", "1", "older").code == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["tyni"], 1, 'tyni has no runs. Did you mean "tiny"?'),
        (["diff", "tinny", "1", "2"], 1, 'Did you mean "tiny"?'),
        (["prune", "tinny", "--yes"], 1, 'Did you mean "tiny"?'),
        (["tiny@1"], 2, "Name a pair here, such as tiny, without @1."),
    ],
)
def test_a_pair_that_is_misspelled_is_answered_with_the_one_that_is_near(
    tandem: Tandem, workspace: Path, words: list[str], code: int, sentence: str
) -> None:
    refused = tandem("runs", *words)
    assert (refused.code, sentence in refused.err) == (code, True)


def test_pruning_asks_and_leaves_the_best_and_the_newest(tandem: Tandem, workspace: Path) -> None:
    assert tandem("runs", "prune", "tiny").out == "Nothing to remove: tiny has 3 runs.\n"
    refused = tandem("runs", "prune", "tiny", "--keep", "1")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert tandem("runs", "prune", "tiny", "--keep", "1", "--yes").out == "Removed run 1 of tiny.\n"
    assert sorted(path.name for path in (workspace / "output/tiny/runs").glob("0*")) == ["0002", "0003"]
    assert "tiny@2" in tandem("runs", "tiny").out


@pytest.mark.parametrize("words", [["note", "tiny", "1", "first"], ["prune", "tiny", "--keep", "1", "--yes"]])
def test_a_ledger_that_cannot_be_locked_is_an_error(tandem: Tandem, workspace: Path, words: list[str]) -> None:
    lock = workspace / "output/tiny/runs/.lock"
    lock.unlink()
    lock.mkdir()
    refused = tandem("runs", *words)
    assert (refused.code, "Error: Cannot write" in refused.err) == (1, True)
    assert len(read_runs(Workspace(workspace), "tiny")) == 3


def test_the_page_draws_what_the_runs_scored_and_escapes_what_they_say(tandem: Tandem, workspace: Path) -> None:
    assert tandem("runs", "--html").out == "output/runs.html\n"
    page = (workspace / "output/runs.html").read_text()

    pictures = {
        ElementTree.fromstring(part[: part.index("</svg>")] + "</svg>").get("aria-label"): part  # noqa: S314 - ours
        for part in (f"<svg {text}" for text in page.split("<svg ")[1:])
    }
    assert list(pictures) == [
        "CV against leaderboard",
        "Score against EPOCHS",
        "Correlation of out-of-fold predictions",
    ]
    assert pictures["CV against leaderboard"].count("<circle") == 2
    assert pictures["Score against EPOCHS"].count("<circle") == 4
    assert {"tiny@1", "tiny-trees@1"} <= set(re.findall(r">([a-z-]+@\d)</text>", pictures["Score against EPOCHS"]))
    assert pictures["Correlation of out-of-fold predictions"].count("<rect") == 16
    assert "CV (accuracy)" in pictures["CV against leaderboard"]
    assert "a &lt;b&gt;larger&lt;/b&gt; model" in page
    assert "<script" not in page
    assert tandem("runs", "tiny", "--output", "mine.html").out == "mine.html\n"
    assert "tiny-trees" not in Path("mine.html").read_text()


@pytest.mark.parametrize(
    ("metric", "score", "ends"),
    [
        ("accuracy", 0.995, (0.98086, 1.0)),
        ("map@5", 0.995, (0.98086, 1.0)),
        ("rmse", 0.995, (0.98086, 1.00914)),
        ("rmse", 0.005, (0.0, 0.01914)),
        ("own", 0.995, (0.98086, 1.00914)),
    ],
)
def test_bars_end_where_the_metric_does(runs: Path, metric: str, score: float, ends: tuple[float, float]) -> None:
    first = read_runs(Workspace(runs), "tiny")[0]
    run = replace(first, metric=metric, cv=score, fold_scores=(score - 0.01, score + 0.01))

    assert score_bar(run) == pytest.approx(ends, abs=1e-5)


def test_correlations_join_examples_by_their_ids(workspace: Path) -> None:
    folder = workspace / "output/tiny/runs/0001"
    first = read_predictions(folder)
    assert first is not None
    order = np.random.default_rng(0).permutation(20)
    np.savez(folder / "oof.npz", ids=first.ids[order], rows=np.arange(20), predictions=2 * first.values[order])
    second = read_predictions(folder)
    assert second is not None
    assert np.allclose(np.array(correlations([first, second]), float), 1)


@pytest.mark.parametrize(
    "arrays",
    [
        {"ids": np.array(["a", "b"])},
        {"ids": np.array(["a"]), "rows": np.arange(5), "predictions": np.ones(5)},
        {"ids": np.array(["a", "b"]), "rows": np.arange(2), "predictions": np.array([1.0, np.nan])},
        {"ids": np.array([{}, []], object), "rows": np.arange(2), "predictions": np.ones(2)},
        {"ids": np.array(["a", "b"]), "rows": np.arange(2), "predictions": np.zeros((2, 2**13))},
    ],
)
def test_predictions_that_no_training_writes_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays: dict[str, np.ndarray]
) -> None:
    monkeypatch.setattr(run_comparison, "_LARGEST_PREDICTIONS", 2**16)
    np.savez_compressed(tmp_path / "oof.npz", **arrays)
    assert read_predictions(tmp_path) is None
    (tmp_path / "oof.npz").write_bytes(b"not an archive")
    assert read_predictions(tmp_path) is None


def test_predictions_with_a_flipped_byte_are_read_or_left_out(tmp_path: Path) -> None:
    arrays = {"ids": np.arange(9).astype(str), "rows": np.arange(9), "predictions": np.linspace(0, 1, 9)}
    np.savez_compressed(tmp_path / "oof.npz", **arrays)
    content = (tmp_path / "oof.npz").read_bytes()
    left_out = 0
    for place in range(0, len(content), 3):
        flipped = bytes([content[place] ^ 0xFF])
        (tmp_path / "oof.npz").write_bytes(content[:place] + flipped + content[place + 1 :])
        left_out += read_predictions(tmp_path) is None
    assert left_out > len(content) / 6


def test_a_training_without_inference_is_compared_by_its_training_alone(tmp_path: Path) -> None:
    first, second = record(tmp_path).record, record(tmp_path, epochs=4, inference=None).record
    assert changes_between(first, second) == ["EPOCHS 3 → 4"]


def test_where_there_are_no_runs_it_says_how_to_make_one(tandem: Tandem, tmp_path: Path) -> None:
    assert "`tandem run PAIR` makes one" in tandem("runs", "--workspace", tmp_path).out
    assert (
        "titanic has no runs. Make one with `tandem run titanic`."
        in tandem("runs", "titanic", "--workspace", tmp_path).err
    )
