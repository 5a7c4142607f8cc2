"""A pair to be pushed, what its notebooks would write, and clocks that a test moves."""

import csv
import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from generator.kaggle.chain.handover import digest_of
from generator.pair.generation import GenerateOptions, draft, read_pair, write
from generator.pair.workspace import PairFolder, Workspace


@cache
def _rendered(owner: str, slug: str) -> Path:
    """A rendered pair of `digits`, or of another competition with the same task; made once a process."""
    workspace = Workspace(Path(mkdtemp(prefix="chain-pair-")))
    write(draft(workspace, GenerateOptions(competition="digits", flags={"owner": owner})))
    folder = workspace.pair("digits")
    if slug != "digits":
        edit_competition(folder, slug)
    return folder.path


def pair_in(root: Path, *, slug: str = "digits", name: str = "", owner: str = "local") -> PairFolder:
    """A pair in a workspace of its own; a name of its own gives it kernels of its own."""
    folder = Workspace(root).pair(name or slug)
    shutil.copytree(_rendered(owner, slug), folder.path)
    if name:
        rename_kernels(folder, name)
    return folder


def rename_kernels(folder: PairFolder, name: str) -> None:
    for role in ("train", "infer"):
        path = folder.path / role / "kernel-metadata.json"
        fields = json.loads(path.read_text())
        owner = fields["id"].partition("/")[0]
        fields |= {"id": f"{owner}/{name}-{role}", "title": f"{name} {role}".replace("-", " ")}
        fields["kernel_sources"] = [f"{owner}/{name}-train"] if role == "infer" else []
        path.write_text(json.dumps(fields))


def edit_notebook(folder: PairFolder, role: str, comment: str = "# changed by hand") -> None:
    path = folder.path / role / f"{role}.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["source"] = [comment]
    path.write_text(json.dumps(notebook))


def training_output(folder: PairFolder, **changes: Any) -> dict[str, bytes]:
    """What a training session writes, when all goes well; `changes` are fields of the hand-over that differ."""
    weights = b"weights of fold 0"
    promised = {"file": "fold0.weights.h5", "bytes": len(weights), "sha256": _sha256(weights)}
    handoff = {
        "schema_version": 1,
        "pair_id": read_pair(folder).pair_id,
        "framework": "keras",
        "backend": "jax",
        "versions": {"python": "3.12.11", "keras": "3.15.0"},
        "folds": [{"fold": 0, "score": 0.97, **promised}],
        "out_of_fold": {"metric": "accuracy", "score": 0.97, "rows": 1437},
        "complete": True,
        "specimen": False,
        "settings": {"SMOKE_TEST": False},
        **changes,
    }
    return {
        "accelerator.json": json.dumps(marker()).encode(),
        "handoff.json": json.dumps(handoff | {"sha256": digest_of(handoff)}).encode(),
        "fold0.weights.h5": weights,
    }


def marker(**changes: Any) -> dict[str, Any]:
    """What a training notebook writes of a TPU that is emulated as a local Kaggle does it."""
    found = {"platform": "cpu", "device_count": 8, "device_kind": "cpu", "device_memory_gb": None}
    return {"pair_id": "…", "wanted": "tpu", "emulated": True, **found, **changes}


def real_marker() -> dict[str, Any]:
    return marker(platform="tpu", device_kind="TPU v5 lite", emulated=False, device_memory_gb=15.7)


def submission_for(sample: str) -> bytes:
    """A submission that has every row of a sample."""
    rows = list(csv.reader(io.StringIO(sample)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


@dataclass
class FakeTime:
    """Clocks that stand still except while somebody sleeps; `wakes` are suspensions, by the number of the sleep."""

    wall: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)
    elapsed: float = 0.0
    slept: list[float] = field(default_factory=list)
    suspensions: Mapping[int, timedelta] = field(default_factory=dict)

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds) + self.suspensions.get(len(self.slept), timedelta())
        self.elapsed += seconds
        self.slept.append(seconds)


def edit_competition(folder: PairFolder, slug: str) -> None:
    """Makes the pair one of another competition, with the same task."""
    text = folder.choices.read_text()
    folder.choices.write_text(text.replace('competition = { value = "digits"', f'competition = {{ value = "{slug}"'))
    shutil.rmtree(folder.state, ignore_errors=True)
    pair_id = read_pair(folder).pair_id
    for role in ("train", "infer"):
        metadata = folder.path / role / "kernel-metadata.json"
        fields = json.loads(metadata.read_text())
        metadata.write_text(json.dumps(fields | {"competition_sources": [slug]}))
        notebook = folder.path / role / f"{role}.ipynb"
        notebook.write_text(_with_id(notebook.read_text(), pair_id))


def _with_id(text: str, pair_id: str) -> str:
    import re

    return re.sub(r'PAIR_ID = \\"[^"\\]+\\"', lambda _: f'PAIR_ID = \\"{pair_id}\\"', text)
