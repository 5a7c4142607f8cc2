"""Answers of a served notebook come in the order of the sample, or as they were asked for."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from notebook_session import rendered_cells
from PIL import Image
from served_files import KNOWN, execute, of_masks, of_pictures, served_task

from generator.competition.facts import SubmissionKind, TargetKind


def test_rows_of_labels_come_in_the_order_of_the_sample_or_as_they_were_asked_for() -> None:
    task = replace(
        of_pictures(),
        targets=("ill", "old"),
        target_kind=TargetKind.LABELS,
        metric="log_loss_mean_columns",
        submission=SubmissionKind.KEYED_ROWS,
    )
    names = {**KNOWN, "classes": ["ill", "old"], "answer_columns": ["value"], "SAMPLE_SUBMISSION": "sample.csv"}
    names |= {"sample": pd.DataFrame({"id": ["s1_old", "s1_ill"]})}
    execute(rendered_cells("keras", "infer", task), ["answers-of"], names)
    predictions = np.array([[0.1, 0.9], [0.2, 0.8]])

    examples = names["answers_of"](predictions, [7, 3])
    rows = names["answers_of"](predictions, ["7_ill", "3_old"])

    assert examples["value"].to_dict() == {"7_old": 0.9, "7_ill": 0.1, "3_old": 0.8, "3_ill": 0.2}
    assert examples.index.tolist() == ["7_old", "7_ill", "3_old", "3_ill"]
    assert rows["value"].to_dict() == {"7_ill": 0.1, "3_old": 0.8}


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        (["1_1_1", "1_2_1"], ["9_1_1", "9_2_1", "9_1_2", "9_2_2", "9_1_3", "9_2_3"]),
        (["1_0_0", "1_0_1"], ["9_0_0", "9_0_1", "9_0_2", "9_1_0", "9_1_1", "9_1_2"]),
    ],
)
def test_pixels_come_in_the_order_of_the_sample(asked: list[str], ids: list[str]) -> None:
    of_images = {"target_folder": "clean", "image_size": 8, "channels": 1, "flip": True, "epochs": 1}
    task = served_task("image_to_image", "image", "value", **of_images)
    pixels = pd.DataFrame({"id": asked})["id"].str.extract(r"_(?P<row>\d+)_(?P<column>\d+)$").astype(int)
    names = {**KNOWN, "answer_columns": ["value"], "first": pixels.min().clip(upper=1).to_list()}
    names |= {"is_by_columns": pixels["row"].nunique() == 2, "corners_of": lambda *_: [(0, 0)]}
    execute(rendered_cells("keras", "infer", task), ("whole-images", "answers-of"), names)
    names["sizes"][9] = (2, 3)

    values = names["answers_of"](np.arange(64).reshape(1, 8, 8), [9])["value"]

    first = 0 if "9_0_0" in ids else 1
    assert values.index.tolist() == ids
    assert values[f"9_{first + 1}_{first}"] == 8
    assert values[f"9_{first}_{first + 2}"] == 2


MASKS = np.zeros((1, 2, 3, 2))
MASKS[0, 0, :, 0] = MASKS[0, :, 2, 1] = 1  # the first row, and the last column


@pytest.mark.parametrize(
    ("rows", "asked", "ids", "expected"),
    [
        ("id", {"id": ["x_b", "x_a"]}, [7], {"7_b": "5 2", "7_a": "1 1 3 1 5 1"}),
        ("id", {"id": ["x_b", "x_a"]}, ["7_a"], {"7_a": "1 1 3 1 5 1"}),
        ("column", {"id": ["x", "x"], "kind": ["b", "a"]}, [7], {(7, "b"): "5 2", (7, "a"): "1 1 3 1 5 1"}),
    ],
)
def test_masks_come_in_the_order_of_the_sample_or_as_they_were_asked_for(
    rows: str, asked: dict[str, list[str]], ids: list[object], expected: dict[object, str]
) -> None:
    task = of_masks(mask_rows=rows, mask_classes=["a", "b"], class_column="kind", served_answer="table")
    sample = pd.DataFrame({**asked, "rle": [""] * 2})
    known = {"sample": sample, "answer_columns": ["rle"], "classes": ["a", "b"], "CLASS_COLUMN": "kind"}
    names = {**KNOWN, **known, "SAMPLE_SUBMISSION": "sample.csv", "TTA": 1, "SKIP_UNREADABLE": False}
    names |= {
        "handoff": {"folds": [{"arguments": {"image_size": 8, "channels": 1}}], "decision": {}},
        "ready_ensemble": lambda: ["model"],
        "files_of": lambda _: (ids, ["/7.png"], pd.DataFrame),
        "read_images": lambda *_: (None, np.array([True])),
        "predict_fold": lambda *_: MASKS.copy(),
        "decide": lambda predictions, _: predictions.round().astype("uint8"),
        "clear_shared": lambda _: None,
        "Image": Image,
        "ThreadPoolExecutor": ThreadPoolExecutor,
    }
    cells = rendered_cells("keras", "infer", task)
    execute(cells, ("masks-of-image", "answers-of", "as-wanted", "kinds-asked", "answer"), names)
    names["size_of"] = lambda _: (3, 2)

    answers = names["answer"]()

    assert answers.columns.tolist() == sample.columns.tolist()
    found = dict(zip(answers.iloc[:, :-1].itertuples(index=False, name=None), answers["rle"], strict=True))
    assert found == {key if isinstance(key, tuple) else (key,): code for key, code in expected.items()}
