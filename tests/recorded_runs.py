"""Runs in the ledger of a tiny pair, recorded without a kernel."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from runnable_pair import PARAMETERS, TRAIN, notebook, write_pair

from generator.pair.folder import existing_pair, read_pair_spec
from generator.pair.handover import read_handover
from generator.pair.workspace import Role, Workspace
from generator.run.ledger import Recording, RunOrigin, RunOutputs, record_run, training_key

WEIGHTS = b"weights of fold 0"


def outputs_of(
    root: Path,
    *,
    pair: str = "tiny",
    score: float | None = 0.75,
    epochs: int = 3,
    cell: str = "print(EPOCHS)",
    fields: dict[str, Any] | None = None,
    inference: str | None = "first",
    **changes: Any,
) -> RunOutputs:
    """What a run leaves that scored this: `fields` are those of its hand-over, `inference` is the key of that."""
    workspace = Workspace(root)
    if not workspace.pair(pair).path.is_dir():
        write_pair(root, pair)
    output = workspace.output(pair)
    for role in Role:
        (output / role).mkdir(parents=True, exist_ok=True)
        text = notebook({**TRAIN, "model": cell}, PARAMETERS.replace("EPOCHS = 3", f"EPOCHS = {epochs}"))
        (output / role / f"{role}.ipynb").write_text(json.dumps(text))
    ids = np.array([f"id{number}" for number in range(20)])
    predictions = np.random.default_rng(epochs).random((20, 1))
    arrays = {"ids": ids, "rows": np.arange(20), "fold": np.arange(20) % 2, "truth": np.arange(20) % 2}
    np.savez(output / "train/oof.npz", **arrays, predictions=predictions)
    (output / "train/fold0.weights.h5").write_bytes(WEIGHTS)
    (output / "infer/submission.csv").write_text("id,label\na,0\nb,0\n")
    (output / "infer/predictions.npz").write_bytes(b"predictions")
    (output / "report.html").write_text("<p>report")
    handoff = {
        "complete": True,
        "run_id": "abc",
        "framework": "keras",
        "versions": {"keras": "3.15.0"},
        "out_of_fold": {"metric": "accuracy", "score": score},
        "folds": [
            {"file": "fold0.weights.h5", "sha256": hashlib.sha256(WEIGHTS).hexdigest(), "score": (score or 0) + by}
            for by in (-0.01, 0.01)
        ],
        "accelerator": {"platform": "cpu", "device_count": 1, "device_kind": "cpu"},
        "seed": [score, epochs, cell],  # another training has another hash
        **(fields or {}),
    }
    (output / "train/handoff.json").write_text(json.dumps(handoff))
    folder = existing_pair(workspace, pair)
    outputs = {
        "workspace": workspace,
        "folder": folder,
        "spec": read_pair_spec(folder),
        "origin": RunOrigin.LOCAL,
        "handover": read_handover(output / "train"),
        "keys": {Role.TRAIN: training_key(read_handover(output / "train")), Role.INFER: inference or ""},
        "folders": {role: output / role for role in Role},
        "notebooks": {role: output / role / f"{role}.ipynb" for role in Role if inference or role is Role.TRAIN},
        "seconds": {Role.TRAIN: 60.0, Role.INFER: 5.0},
        "submission": output / "infer/submission.csv" if inference else None,
        "rows": 2 if inference else 0,
        "report": output / "report.html",
        **changes,
    }
    return RunOutputs(**outputs)


def record(root: Path, **changes: Any) -> Recording:
    return record_run(outputs_of(root, **changes))
