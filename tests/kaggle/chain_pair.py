"""A pair to be pushed, what its notebooks would write, and clocks that a test moves."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from generator.pair.folder import read_pair_spec
from generator.pair.generation import GenerateOptions, draft, write
from generator.pair.handover import digest_of
from generator.pair.workspace import PairFolder, Role, Workspace


@cache
def _rendered(owner: str, slug: str) -> Path:
    """A rendered pair of `digits`, or of another competition with the same task; made once a process."""
    workspace = Workspace(Path(mkdtemp(prefix="chain-pair-")))
    write(draft(workspace, GenerateOptions(competition="digits", values={"owner": owner})))
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


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """What a file of JSON says, which is written back as the block leaves it."""
    fields = json.loads(path.read_text())
    yield fields
    path.write_text(json.dumps(fields))


def rename_kernels(folder: PairFolder, name: str) -> None:
    for role in Role:
        with edited(folder.metadata(role)) as fields:
            owner = fields["id"].partition("/")[0]
            fields |= {"id": f"{owner}/{name}-{role}", "title": f"{name} {role}".replace("-", " ")}
            fields["kernel_sources"] = [f"{owner}/{name}-train"] if role is Role.INFER else []


def edit_notebook(folder: PairFolder, role: str) -> None:
    with edited(folder.notebook(Role(role))) as notebook:
        notebook["cells"][-1]["source"] = ["# changed by hand"]


def training_output(folder: PairFolder, **changes: Any) -> dict[str, bytes]:
    """What a training session writes, when all goes well; `changes` are fields of the hand-over that differ."""
    weights = b"weights of fold 0"
    promised = {"file": "fold0.weights.h5", "bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    handoff = {
        "schema_version": 2,
        "pair_id": read_pair_spec(folder).pair_id,
        "framework": "keras",
        "backend": "jax",
        "versions": {"python": "3.12.11", "keras": "3.15.0"},
        "folds": [{"fold": 0, "score": 0.97, **promised}],
        "out_of_fold": {"metric": "accuracy", "score": 0.97, "rows": 1437},
        "complete": True,
        "specimen": False,
        "settings": {"DEBUG": False},
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
    text = folder.settings_path.read_text()
    folder.settings_path.write_text(
        text.replace('competition = { value = "digits"', f'competition = {{ value = "{slug}"')
    )
    shutil.rmtree(folder.state, ignore_errors=True)
    pair_id = read_pair_spec(folder).pair_id
    for role in Role:
        with edited(folder.metadata(role)) as fields:
            fields["competition_sources"] = [slug]
        notebook = folder.notebook(role)
        notebook.write_text(re.sub(r'(?<=PAIR_ID = \\")[^"\\]+', pair_id, notebook.read_text()))
