"""The members of a blend in its notebooks: verified, run in processes, joined by id."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.inference import Inference
from runtime.members import check_members, out_of_fold_in, predict_members, read_files, read_member, without_skipped

IDS = np.array(["a", "b", "c", "d"])
MEMBER = """COMPETITION = "shops"
PAIR_ID = "shops-1"
WORKING_ROOT = "/kaggle/working"
INPUT_ROOT = "/kaggle/input"
FACTOR = {factor}
"""
PREDICT = """import numpy as np
from pathlib import Path
display(Path(INPUT_ROOT))
assert [path.name for path in Path(INPUT_ROOT, "notebooks", "me").iterdir()] == ["{kernel}"]
ids = {ids}
np.savez(Path(WORKING_ROOT, "predictions.npz"), ids=ids, predictions=[[FACTOR * ord(one)] for one in ids])
"""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def session(folder: Path, **changes: Any) -> Inference:
    settings = {"COMPETITION": "shops", "PAIR_ID": "blend", "INPUT_ROOT": str(folder / "input")}
    settings |= {"WORKING_ROOT": str(folder / "working"), "SESSION_HOURS": 1.0, "RESERVE_MINUTES": 0.0}
    settings |= {"DEBUG": False, "SKIP_LATE": False, **changes}
    return Inference(settings)


def attach(folder: Path, kernel: str, **changes: Any) -> None:
    output = folder / "input/notebooks/me" / kernel
    output.mkdir(parents=True)
    arrays: dict[str, Any] = {"ids": IDS, "fold": np.arange(4) % 2, "truth": np.arange(4), "rows": np.arange(4)}
    arrays |= {"predictions": np.zeros((4, 1))} | {name: value for name, value in changes.items() if name in arrays}
    np.savez(output / "oof.npz", **arrays)
    handoff: dict[str, Any] = {"complete": True, "specimen": False, "settings": {"DEBUG": False}, "classes": ["x"]}
    handoff |= {"run_id": "ab", "data_sha256": "d", "folds_sha256": "f"}
    handoff |= {name: value for name, value in changes.items() if name in handoff}
    entry = {"file": "oof.npz", "sha256": changes.get("sha256", digest((output / "oof.npz").read_bytes()))}
    handoff["out_of_fold"] = {"predictions": entry}
    text = json.dumps(handoff, sort_keys=True)
    (output / "handoff.json").write_text(json.dumps({**handoff, "sha256": digest(text.encode())}))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"complete": False}, "was interrupted"),
        ({"settings": {"DEBUG": True}}, "was a smoke test"),
        ({"specimen": True}, "on a specimen"),
        ({"run_id": "cd"}, "is of the run cd, expected ab"),
        ({"sha256": "0"}, "differs from its handoff.json"),
        ({"classes": ["y"]}, "different classes"),
        ({"data_sha256": "e"}, "different data"),
        ({"folds_sha256": "e"}, "different folds"),
        ({"truth": np.array([3, 1, 2, 0])}, "different data"),
        ({"ids": np.array(["a", "b", "c", "e"])}, "different ids"),
    ],
)
def test_a_member_that_would_hurt_stops_the_notebook(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    attach(tmp_path, "good-train")
    attach(tmp_path, "bad-train", **changes)
    run = session(tmp_path)

    with pytest.raises(ValueError, match=problem):  # noqa: PT012 - one of the two stops it
        both = [read_member(run, f"me/{name}-train", "ab") for name in ("good", "bad")]
        check_members(["good", "bad"], ["tabular"] * 2, *zip(*both, strict=True))


def test_a_member_of_another_family_may_read_the_same_rows_otherwise(tmp_path: Path) -> None:
    attach(tmp_path, "table-train")
    attach(tmp_path, "text-train", data_sha256="e")
    run = session(tmp_path)

    both = [read_member(run, f"somebody/{name}-train") for name in ("table", "text")]

    check_members(["table", "text"], ["tabular", "text"], *zip(*both, strict=True))


def members_of(folder: Path, ids: str = "['b', 'a']") -> tuple[Any, ...]:
    for name in ("one", "two", "three"):
        attach(folder, f"{name}-train")
    names, kernels = ["one", "two", "three"], ["me/one-train", "me/two-train", "me/three-train"]
    factors = {"one": 1, "two": 2, "three": 0}
    codes = {
        name: [MEMBER.format(factor=factors[name]), PREDICT.format(kernel=f"{name}-train", ids=own)]
        for name, own in zip(names, ("['a', 'b']", ids, "broken"), strict=True)
    }
    return names, kernels, codes


def test_members_run_in_processes_alone_with_their_output_and_are_joined_by_id(tmp_path: Path) -> None:
    parts = members_of(tmp_path)

    ids, found = predict_members(session(tmp_path), *parts, [0.5, 0.5, 0.0])

    assert ids == ["a", "b"]
    assert found[:2, :, 0].tolist() == [[97, 98], [194, 196]]
    assert np.isnan(found[2]).all(), "a member without weight does not run"
    blend, members = without_skipped({"method": "mean", "weights": [0.5, 0.5, 0.0]}, found)
    assert (blend["weights"], len(members)) == ([0.5, 0.5], 2)


def attach_files(folder: Path, oof: str, test: str) -> None:
    dataset = folder / "input/datasets/me/blend-members"
    dataset.mkdir(parents=True)
    (dataset / "mine.oof.csv").write_text(oof)
    (dataset / "mine.test.csv").write_text(test)


@pytest.mark.parametrize("weights", [[0.3, 0.3, 0.0, 0.4], [0.0, 0.0, 0.0, 1.0]])
def test_a_member_from_elsewhere_is_joined_by_id(tmp_path: Path, weights: list[float]) -> None:
    names, kernels, codes = members_of(tmp_path)
    attach_files(tmp_path, "id,x\nb,2\na,1\n", "id,x\nb,7\na,5.5\n")
    run = session(tmp_path)

    oof, _, digest = read_files(run, "mine", "me/blend-members")
    ids, found = predict_members(run, [*names, "mine"], kernels, codes, weights, ["me/blend-members"], ["x"])

    assert len(digest) == 64
    assert out_of_fold_in(run, oof, "mine", ["x"], ["a", "b"]).tolist() == [[1], [2]]
    assert dict(zip(ids, found[3, :, 0].tolist(), strict=True)) == {"a": 5.5, "b": 7}


def test_a_member_from_elsewhere_stops_the_notebook_where_it_lacks_rows(tmp_path: Path) -> None:
    names, kernels, codes = members_of(tmp_path)
    attach_files(tmp_path, "id,x\na,1\nc,1\n", "id,x\na,5\nc,7\n")
    run = session(tmp_path)
    parts = [*names, "mine"], kernels, codes, [0.5, 0.0, 0.0, 0.5], ["me/blend-members"]

    with pytest.raises(ValueError, match="mine is files, without predictions for 1 ids of this test, such as 'b'"):
        predict_members(run, *parts, ["x"])
    with pytest.raises(ValueError, match=r"have the columns .*, expected"):
        predict_members(run, *parts, ["y"])
    with pytest.raises(ValueError, match="mine has out-of-fold predictions of other ids"):
        out_of_fold_in(run, read_files(run, "mine", "me/blend-members")[0], "mine", ["x"], ["a"])


def test_a_member_that_fails_or_predicts_other_ids_stops_the_notebook(tmp_path: Path) -> None:
    parts = members_of(tmp_path, ids="['a', 'c']")

    with pytest.raises(ValueError, match="two predicted other ids"):
        predict_members(session(tmp_path), *parts, [0.5, 0.5, 0.0])
    with pytest.raises(RuntimeError, match=r"The inference of three failed .*(?s:.*)NameError: name 'broken'"):
        predict_members(session(tmp_path), *parts, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("skips", [False, True])
def test_without_time_for_a_member_the_notebook_stops_or_leaves_out_that_of_least_weight(
    tmp_path: Path, skips: bool
) -> None:
    parts, run = members_of(tmp_path), session(tmp_path, SKIP_LATE=skips)
    left = iter([60.0, 60.0, 5.0, 0.1, 0.1, 0.1])  # seconds: one member takes most of the minute
    run.seconds_left = lambda: next(left)  # type: ignore[method-assign]
    start = time.monotonic()

    if not skips:
        with pytest.raises(TimeoutError, match="There is no time left for one"):
            predict_members(run, *parts, [0.3, 0.7, 0.0])
        return
    _, found = predict_members(run, *parts, [0.3, 0.7, 0.0])

    blend, members = without_skipped({"method": "mean", "weights": [0.3, 0.7, 0.0]}, found)
    assert (blend["weights"], members[:, :, 0].tolist()) == ([1.0], [[196, 194]])
    assert time.monotonic() - start < 60
