"""Inference with several folds: each predicts every example, in time, on whatever backend there is."""

import json
from pathlib import Path

import pytest
from notebook_competitions import Shops
from notebook_session import Mirror, Sessions, Trained, names_below, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

EACH = "[predict_fold(member, features).tolist() for member in ensemble]"


def by_id(mirror: Mirror, file: str = "submission.csv") -> dict[str, float]:
    header, *rows = read_table(mirror.working / file)
    assert header == ["id", "thrives"]
    return {name: float(value) for name, value in rows}


@pytest.fixture(params=["keras", "tensorflow"])
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def handed_over(trained: Trained, tmp_path: Path, framework: str) -> Mirror:
    """A mirror with a finished training of two folds."""
    return trained.mirror(framework, tmp_path / "mirror", slug="shops")


def test_the_predictions_of_all_folds_are_averaged(sessions: Sessions, handed_over: Mirror, framework: str) -> None:
    infer = of_shops(framework, "infer")

    ended = sessions.finished(infer, handed_over.parameters(infer), look=f"predictions.tolist(), {EACH}")
    averaged, (first, second) = ended.seen
    assert first != second
    for row, one, other in zip(averaged, first, second, strict=True):
        assert row == pytest.approx([(a + b) / 2 for a, b in zip(one, other, strict=True)], abs=1e-6)
    submitted = list(by_id(handed_over).values())
    assert submitted == pytest.approx([row[1] for row in averaged], abs=1e-6)


def test_no_further_pass_begins_that_would_end_too_late(
    sessions: Sessions, handed_over: Mirror, framework: str
) -> None:
    infer = of_shops(framework, "infer")
    hurried = handed_over.parameters(infer, SESSION_HOURS=1.0, RESERVE_MINUTES=60.0)

    ended = sessions.finished(infer, hurried, look=f"predictions.tolist(), {EACH}")

    assert "Out of time: 1 of 2 passes are skipped." in ended.said("predict-test")
    averaged, (first, _) = ended.seen
    for row, one in zip(averaged, first, strict=True):
        assert row == pytest.approx(one, abs=1e-6)
    assert len(by_id(handed_over)) == 21


def test_a_prediction_belongs_to_its_id_and_not_to_its_place_or_batch(
    sessions: Sessions, handed_over: Mirror, framework: str
) -> None:
    infer = of_shops(framework, "infer")
    assert sessions.run(infer, handed_over.parameters(infer)).is_done
    in_order = by_id(handed_over)
    Shops(handed_over.competition, [], []).write_sample(list(reversed(in_order)))

    sessions.finished(infer, handed_over.parameters(infer, BATCH_SIZE=8, SUBMISSION_FILE="other.csv"))
    turned = by_id(handed_over, "other.csv")
    assert list(turned) == list(reversed(in_order))
    assert turned == pytest.approx(in_order, abs=1e-5)


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_weights_of_one_backend_predict_the_same_with_another(
    sessions: Sessions, trained: Trained, tmp_path: Path, backend: str
) -> None:
    if backend == "torch":
        pytest.importorskip("torch")
    mirror, infer = trained.mirror("keras", tmp_path / "mirror", slug="shops"), of_shops("keras", "infer")
    assert sessions.run(infer, mirror.parameters(infer)).is_done
    with_tensorflow = by_id(mirror)

    ended = sessions.finished(infer, mirror.parameters(infer, BACKEND=backend), look="keras.backend.backend()")

    assert ended.seen == backend
    assert by_id(mirror) == pytest.approx(with_tensorflow, abs=1e-5)


def test_every_row_is_judged_once_by_a_model_that_has_not_seen_it(handed_over: Mirror, framework: str) -> None:
    output = handed_over.output_of_training(framework)
    handoff = json.loads((output / "handoff.json").read_text())
    header, *lines = read_table(output / "oof.csv")
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    _, *training = read_table(handed_over.competition / "train.csv")

    assert header == ["id", "size", "rent", "town", "thrives", "fold", "predicted", "probability"]
    assert sorted(row["id"] for row in rows) == [row[0] for row in training]
    assert {row["id"]: row["thrives"] for row in rows} == {row[0]: row[-1] for row in training}
    assert [sum(row["fold"] == fold for row in rows) for fold in ("0", "1")] == [40, 40]
    assert (handoff["out_of_fold"]["rows"], handoff["settings"]["N_FOLDS"]) == (80, 2)
    best = [(entry["fold"], len(entry["history"])) for entry in handoff["folds"]]
    assert best == [(0, 2), (1, 2)]


@pytest.mark.parametrize("wrong", ["iloc[:-1]", "iloc[::-1]", "assign(thrives=2.0)", "assign(thrives=float('nan'))"])
def test_a_submission_that_could_not_be_scored_never_gets_its_name(
    sessions: Sessions, trained: Trained, tmp_path: Path, wrong: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")
    edit = {"join-by-id": lambda cell: cell.replace("display(submission.head())", f"submission = submission.{wrong}")}
    infer = of_shops("tensorflow", "infer", edit)

    ended = sessions.run(infer, mirror.parameters(infer))

    assert ended.cell == "write-submission"
    assert ended.error.startswith("ValueError: ")
    assert "submission.csv" not in names_below(mirror.working)
