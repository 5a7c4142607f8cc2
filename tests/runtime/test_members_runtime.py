"""The members of a blend in its notebooks: verified, run in processes, joined by id."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.inference import Inference
from runtime.members import (
    align_rows,
    check_members,
    out_of_fold_in,
    predict_members,
    read_files,
    read_member,
    without_skipped,
)

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
    arrays |= {"predictions": np.arange(4.0).reshape(4, 1)} | {
        name: value for name, value in changes.items() if name in arrays
    }
    np.savez(output / "oof.npz", **arrays)
    handoff: dict[str, Any] = {"complete": True, "specimen": False, "settings": {"DEBUG": False}, "classes": ["x"]}
    handoff |= {"run_id": "ab", "data_sha256": "d", "folds_sha256": "f"}
    handoff |= {name: value for name, value in changes.items() if name in handoff}
    handoff = {name: value for name, value in handoff.items() if value is not None}
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
        ({"data_sha256": None}, "trained by an older notebook"),
        ({"sha256": "0"}, "differs from its handoff.json"),
        ({"classes": ["y"]}, "different classes"),
        ({"data_sha256": "e"}, "different data"),
        ({"folds_sha256": "e"}, "different folds"),
        ({"truth": np.array([3, 1, 2, 0])}, "different data"),
        ({"ids": np.array(["a", "b", "c", "e"])}, "different ids"),
        ({"rows": np.arange(3), "predictions": np.zeros((3, 1))}, "trained different folds"),
    ],
)
def test_a_member_that_would_hurt_stops_the_notebook(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    attach(tmp_path, "good-train")
    attach(tmp_path, "bad-train", **changes)
    run = session(tmp_path)

    with pytest.raises(ValueError, match=problem):  # noqa: PT012 - one of the two stops it
        both = [read_member(run, f"me/{name}-train", "ab") for name in ("good", "bad")]
        check_members(["good", "bad"], ["tabular"] * 2, *zip(*both, strict=True))


def test_a_member_that_is_not_attached_or_was_changed_stops_the_notebook(tmp_path: Path) -> None:
    attach(tmp_path, "one-train")
    handoff = tmp_path / "input/notebooks/me/one-train/handoff.json"
    for text in (handoff.read_text().replace('"ab"', '"cd"'), "{"):
        handoff.write_text(text)
        with pytest.raises(ValueError, match=r"handoff\.json is damaged\. Run me/one-train again"):
            read_member(session(tmp_path), "me/one-train")
    with pytest.raises(FileNotFoundError, match="The output of me/two-train, a member of the blend, is not attached"):
        read_member(session(tmp_path), "me/two-train")


def test_a_member_of_another_family_may_read_the_same_rows_otherwise(tmp_path: Path) -> None:
    attach(tmp_path, "table-train")
    attach(tmp_path, "text-train", data_sha256="e")
    run = session(tmp_path)

    both = [read_member(run, f"somebody/{name}-train") for name in ("table", "text")]

    check_members(["table", "text"], ["tabular", "text"], *zip(*both, strict=True))


TWICE = np.array(["a", "a", "b", "b"])  # ids that two rows share


@pytest.mark.parametrize(
    ("ids", "others", "rows", "order"),
    [
        (IDS, IDS[::-1], [0, 1, 2, 3], [3, 2, 1, 0]),
        (IDS, IDS, [2, 3, 0, 1], [2, 3, 0, 1]),
        (TWICE, TWICE, [0, 1, 2, 3], [0, 1, 2, 3]),
        (TWICE, TWICE, [2, 3, 0, 1], [2, 3, 0, 1]),
    ],
)
def test_predictions_are_joined_by_id_or_where_rows_share_an_id_by_position(
    ids: Any, others: Any, rows: list[int], order: list[int]
) -> None:
    first = {"ids": ids, "rows": np.arange(4)}
    second = {"ids": others, "rows": np.array(rows), "predictions": np.arange(4.0)}

    assert align_rows(second, first)[:, 0].tolist() == order


def test_rows_that_share_an_id_in_another_order_are_refused(tmp_path: Path) -> None:
    attach(tmp_path, "good-train", ids=TWICE)
    attach(tmp_path, "same-train", ids=TWICE)
    attach(tmp_path, "bad-train", ids=TWICE[[0, 2, 1, 3]])
    run = session(tmp_path)
    good, same, bad = (read_member(run, f"me/{name}-train") for name in ("good", "same", "bad"))

    check_members(["good", "same"], ["tabular"] * 2, *zip(good, same, strict=True))
    with pytest.raises(ValueError, match="good and bad have ids that several rows share"):
        check_members(["good", "bad"], ["tabular"] * 2, *zip(good, bad, strict=True))


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


def test_the_values_of_a_local_run_in_a_members_code_do_not_count(tmp_path: Path) -> None:
    names, kernels, codes = members_of(tmp_path)
    codes["one"].insert(1, "# Parameters\nWORKING_ROOT = '/elsewhere'\nINPUT_ROOT = '/elsewhere'\nFACTOR = 5")

    _, predictions = predict_members(session(tmp_path), names, kernels, codes, [1.0, 0.0, 0.0])

    assert predictions[0, :, 0].tolist() == [5 * 97, 5 * 98]


def test_a_member_does_not_see_other_outputs_in_the_older_layout_of_mounts(tmp_path: Path) -> None:
    names, kernels, codes = members_of(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"input/notebooks/me/{name}-train").rename(tmp_path / f"input/{name}-train")
    (tmp_path / "input/shops").mkdir()
    codes["one"].append("assert sorted(path.name for path in Path(INPUT_ROOT).iterdir()) == ['notebooks', 'shops']")

    ids, _ = predict_members(session(tmp_path), names, kernels, codes, [1.0, 0.0, 0.0])

    assert ids == ["a", "b"]


def test_test_rows_that_share_an_id_are_joined_by_position(tmp_path: Path) -> None:
    names, kernels, codes = members_of(tmp_path, ids="['a', 'b', 'a']")
    codes["one"] = [codes["one"][0], codes["one"][1].replace("['a', 'b']", "['a', 'b', 'a']")]

    ids, predictions = predict_members(session(tmp_path), names, kernels, codes, [0.5, 0.5, 0.0])

    assert (ids, predictions.shape) == (["a", "b", "a"], (3, 3, 1))


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

    if not skips:
        with pytest.raises(TimeoutError, match="There is no time left for one"):
            predict_members(run, *parts, [0.3, 0.7, 0.0])
        return
    _, found = predict_members(run, *parts, [0.3, 0.7, 0.0])

    blend, members = without_skipped({"method": "mean", "weights": [0.3, 0.7, 0.0]}, found)
    assert (blend["weights"], members[:, :, 0].tolist()) == ([1.0], [[196, 194]])


def test_a_blend_goes_on_without_skipped_members_unless_it_is_a_stacking() -> None:
    members = np.array([[[0.2]], [[np.nan]], [[0.6]]])
    ranks = {"method": "rank", "weights": [0.2, 0.5, 0.3], "quantiles": [[[0.0]], [[0.5]], [[1.0]]]}

    blend, rest = without_skipped(ranks, members)

    assert (blend["weights"], blend["quantiles"], rest.tolist()) == ([0.4, 0.6], [[[0.0]], [[1.0]]], [[[0.2]], [[0.6]]])
    with pytest.raises(ValueError, match="A stacking needs all of its members"):
        without_skipped({"method": "stacking", "weights": [0.2, 0.5, 0.3]}, members)
    assert without_skipped(ranks, members[::2])[0] is ranks


@pytest.mark.parametrize("skips", [False, True])
def test_a_member_that_does_not_end_in_time_is_ended_with_all_that_it_started(tmp_path: Path, skips: bool) -> None:
    names, kernels, codes = members_of(tmp_path)
    worker = f"import subprocess\nworker = subprocess.Popen(['sleep', '60'])\nopen('{tmp_path}/pid', 'w').write"
    codes["one"] = [f"{worker}(str(worker.pid))\nworker.wait()"]
    run = session(tmp_path, SKIP_LATE=skips)
    left = iter([60.0, 60.0, 59.9, 60.0, 2.5, 0.0])  # seconds
    run.seconds_left = lambda: next(left)  # type: ignore[method-assign]

    if skips:
        _, predictions = predict_members(run, names, kernels, codes, [0.3, 0.7, 0.0])
        assert np.isnan(predictions[0]).all()
    else:
        with pytest.raises(TimeoutError, match="one did not finish its predictions before the time limit"):
            predict_members(run, names, kernels, codes, [0.3, 0.7, 0.0])

    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
    assert not status.exists() or "(zombie)" in status.read_text()
