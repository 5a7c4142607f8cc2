"""Pairs of tiny notebooks that need no framework, laid out as `generate` lays out real ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

PARAMETERS = """
INPUT_ROOT = "/kaggle/input"
WORKING_ROOT = "/kaggle/working"
DEBUG = False
ALLOW_CPU = False
EPOCHS = 3
""".strip()

CHOICES = """
[pair]
competition = "tiny"
title = "Tiny"
code_competition = false
family = "image_classification"
framework = "keras"
owner = "someone"

[task]
metric = "accuracy"
id_column = "id"
targets = ["label"]
target_kind = "class"
submission = "label"
train_table = "train.csv"
sample_submission = "sample_submission.csv"
train_folder = "train"
test_folder = "test"
image_suffix = ".png"
image_size = 8
channels = 1
batch_size = 8
epochs = 3
flip = false
"""

TRAIN = {
    "## Training": "",
    "training": """
        import json
        from pathlib import Path
        for epoch in range(EPOCHS):
            print(f"epoch {epoch + 1}")
        handover = {
            "complete": True,
            "framework": "keras",
            "backend": "jax",
            "versions": {"keras": "3.15.0"},
            "out_of_fold": {"metric": "accuracy", "score": 0.75},
            "accelerator": {"platform": "cpu", "device_count": 1, "device_kind": "cpu"},
        }
        Path(WORKING_ROOT, "handoff.json").write_text(json.dumps(handover))
    """,
}

INFER = {
    "## Submission": "",
    "submission": """
        import shutil
        from pathlib import Path
        assert Path(INPUT_ROOT, "notebooks/someone/tiny-train/handoff.json").is_file()
        sample = Path(INPUT_ROOT, "competitions/tiny/sample_submission.csv")
        shutil.copyfile(sample, Path(WORKING_ROOT, "submission.csv"))
    """,
}


def write_pair(
    workspace: Path,
    name: str = "tiny",
    *,
    train: Mapping[str, str] = TRAIN,
    infer: Mapping[str, str] = INFER,
    parameters: str = PARAMETERS,
    title: str = "Tiny",
    sources: Mapping[str, list[str]] | None = None,
) -> Path:
    """Writes a pair and its competition's data; keys are cell names, or `## Heading`; values are indented code."""
    folder = workspace / "kernels" / name
    for role, cells in (("train", train), ("infer", infer)):
        kernel = folder / role
        kernel.mkdir(parents=True, exist_ok=True)
        (kernel / f"{role}.ipynb").write_text(json.dumps(notebook(cells, parameters)))
        metadata = {
            "id": f"someone/tiny-{role}",
            "code_file": f"{role}.ipynb",
            "language": "python",
            "kernel_type": "notebook",
            "competition_sources": ["tiny"],
            "kernel_sources": ["someone/tiny-train"] if role == "infer" else [],
            **(sources or {}),
        }
        (kernel / "kernel-metadata.json").write_text(json.dumps(metadata))
    (folder / "pair.toml").write_text(CHOICES.replace('"Tiny"', json.dumps(title)))
    data = workspace / "input" / "competitions" / "tiny"
    data.mkdir(parents=True, exist_ok=True)
    (data / "sample_submission.csv").write_text("id,label\na,0\nb,0\n")
    return folder


def notebook(cells: Mapping[str, str], parameters: str = PARAMETERS) -> dict[str, object]:
    """A notebook of format 4.5 as JSON."""
    return {
        "cells": [_code("parameters", parameters, tags=["parameters"]), *(_cell(*item) for item in cells.items())],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(name: str, source: str) -> dict[str, object]:
    if name.startswith("#"):
        identifier = "about-" + "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")[:50]
        return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": f"{name}\n\n{dedent(source)}"}
    return _code(name, dedent(source).strip("\n"))


def _code(name: str, source: str, *, tags: list[str] | None = None) -> dict[str, object]:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"tags": tags} if tags else {},
        "source": source,
        "execution_count": None,
        "outputs": [],
    }


def outputs_of(path: Path, cell: str) -> str:
    """What an executed notebook's cell printed."""
    cells = {one["id"]: one for one in json.loads(path.read_text())["cells"]}
    return "".join("".join(output.get("text", "")) for output in cells[cell]["outputs"])
