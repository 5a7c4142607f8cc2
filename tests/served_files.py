"""Competitions whose inference server hands out images, sounds or masks, and their tasks."""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from layout_files import wav
from notebook_session import rendered_cells
from PIL import Image
from tasks import task_of

from generator.competition.facts import Task

SIDE = 24
RATE = 2_000


def served_task(family: str, kind: str, target: str, **details: object) -> Task:
    """A task whose examples are files, in the folders `train` and `test`, that a table names by id."""
    usual = {
        "submission_file": "submission.parquet",
        "train_folder": "train",
        "test_folder": "test",
        "batch_size": 8,
        "epochs": 8,
        "inference_server": "heights_inference_server",
        "gateway_files": [],
        "served_answer": "targets",
    }
    return task_of(family, kind, target, **{**usual, **details})


def of_pictures(*, answer: str = "table", **details: object) -> Task:
    of_images = {"labels_from": "table", "image_column": "id", "image_suffix": ".png", "image_size": SIDE}
    usual = {**of_images, "channels": 1, "flip": True, "served_answer": answer}
    return served_task("image_classification", "class", "light", **{**usual, **details})


SOUNDS = served_task(
    *("audio", "class", "tone"),
    labels_from="table",
    audio_column="id",
    audio_suffix=".wav",
    are_wav=True,
    sample_rate=RATE,
    seconds=0.5,
    served_answer="value",
)


def of_masks(**details: object) -> Task:
    of_codes = {"mask_rows": "image", "mask_classes": [], "class_column": "", "mask_column": "rle"}
    of_images = {"image_column": "id", "image_suffix": ".png", "image_size": 32, "channels": 1, "flip": True}
    return served_task("segmentation", "mask", "rle", **{**of_codes, **of_images, **details})


def write_table(path: Path, rows: dict[str, list[Any]]) -> None:
    pd.DataFrame(rows).to_csv(path, index=False)


def split_folders(folder: Path, ids: list[str], tests: int) -> list[Path]:
    """The folder of each example: the last ones are of the test."""
    for name in ("train", "test"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return [folder / ("test" if place >= len(ids) - tests else "train") for place in range(len(ids))]


def write_pictures(folder: Path) -> dict[str, str]:
    """Writes noise that is light or dark; returns the right answers of the test."""
    source, ids = np.random.default_rng(3), [f"im{number:03d}" for number in range(120)]
    labels = ["dark" if number % 2 else "light" for number in range(120)]
    for name, label, into in zip(ids, labels, split_folders(folder, ids, 20), strict=True):
        pixels = source.integers(0, 120, (SIDE, SIDE)) + (130 if label == "light" else 0)
        Image.fromarray(pixels.astype("uint8")).save(into / f"{name}.png")
    write_table(folder / "train.csv", {"id": ids[:100], "light": labels[:100]})
    write_table(folder / "sample_submission.csv", {"id": ids[100:], "light": ["light"] * 20})
    return dict(zip(ids[100:], labels[100:], strict=True))


def write_sounds(folder: Path) -> dict[str, str]:
    """Writes sounds that are high or low; returns the right answers of the test."""
    source, ids = np.random.default_rng(3), [f"s{number:03d}" for number in range(90)]
    labels = ["high" if number % 2 else "low" for number in range(90)]
    moments = np.arange(RATE // 2) / RATE
    for name, label, into in zip(ids, labels, split_folders(folder, ids, 10), strict=True):
        wave = np.sin(2 * np.pi * (700 if label == "high" else 150) * moments) + source.normal(0, 0.1, len(moments))
        (into / f"{name}.wav").write_bytes(wav((wave * 8_000).astype("<i2").tobytes(), rate=RATE))
    write_table(folder / "train.csv", {"id": ids[:80], "tone": labels[:80]})
    write_table(folder / "sample_submission.csv", {"id": ids[80:], "tone": ["low"] * 10})
    return dict(zip(ids[80:], labels[80:], strict=True))


def write_masks(folder: Path) -> dict[str, np.ndarray]:
    """Writes dark images with a light box each, whose mask it is; returns the right masks of the test."""
    source, ids = np.random.default_rng(3), [f"m{number:03d}" for number in range(76)]
    codes, masks = [], {}
    for name, into in zip(ids, split_folders(folder, ids, 12), strict=True):
        mask = np.zeros((36, 40), dtype=bool)
        top, left = source.integers(0, 16, 2)
        mask[top : top + 16, left : left + 20] = True
        Image.fromarray((mask * 160 + source.integers(0, 60, mask.shape)).astype("uint8")).save(into / f"{name}.png")
        starts = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel().astype(int), [0]])))
        codes.append(
            " ".join(f"{start + 1} {end - start}" for start, end in zip(starts[::2], starts[1::2], strict=True))
        )
        masks[name] = mask
    write_table(folder / "train.csv", {"id": ids[:64], "rle": codes[:64]})
    write_table(folder / "sample_submission.csv", {"id": ids[64:], "rle": [""] * 12})
    return {name: masks[name] for name in ids[64:]}


OF_FILES = ("words-of-batch", "rows-of-batch", "read-batch", "by-name", "files-of-batch")
KNOWN: dict[str, Any] = {"pd": pd, "np": np, "os": os, "contextlib": contextlib, "Path": Path, "cache": cache}
KNOWN |= {"ID_COLUMN": "id", "TEST_FOLDER": "test", "sample": pd.DataFrame({"id": ["a"]}), "re": re}


def execute(cells: Mapping[str, str], wanted: Iterable[str], names: dict[str, Any]) -> None:
    """Executes some cells of a notebook one after another, in `names`."""
    for cell in wanted:
        exec(cells[cell], names)  # noqa: S102 - a rendered notebook's own code is what is tested here


def cells_of(task: Task, **parameters: object) -> dict[str, Any]:
    """Executes the cells between a batch of images and its answer, without a framework; returns all names."""
    cells = rendered_cells("keras", "infer", task)
    names = {**KNOWN, "IMAGE_SUFFIX": ".png", **parameters}
    execute(cells, ("list-images", "image-files", *OF_FILES, "clear-shared"), names)
    return names


def write_files(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"a picture")
    return [str(folder / name) for name in names]
