"""Competitions of images that a notebook reads: their folder, their task, and what both notebooks see of them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from notebook_frameworks import Ended
from notebook_session import Mirror, Notebook, Sessions, rendered_cells
from tasks import task_of

from generator.competition.facts import Task

SIDE = 8
COLOURS = {"blue": (20, 30, 220), "green": (10, 200, 40), "red": (230, 20, 10)}
DETAILS = {
    "labels_from": "table",
    "image_column": "",
    "train_folder": "",
    "test_folder": "",
    "image_suffix": "",
    "image_size": SIDE,
    "channels": 3,
    "flip": False,
    "batch_size": 8,
    "epochs": 2,
}


def task(*targets: str, kind: str = "class", **said: Any) -> Task:
    """The task of a competition of images: by default one class for each."""
    family = "image_regression" if kind == "number" else "image_classification"
    return task_of(family, kind, *(targets or ("label",)), **{"train_table": "", **DETAILS, **said})


@dataclass(frozen=True)
class Layout:
    """A competition's folder, and both notebooks of its pair."""

    mirror: Mirror
    sessions: Sessions
    framework: str = "tensorflow"

    @property
    def folder(self) -> Path:
        return self.mirror.input / "competitions" / "colours"

    def run(self, role: str, asked: Task, *, until: str | None = None, look: str = "None", **options: Any) -> Ended:
        """Executes a notebook up to a cell, and looks at its names."""
        notebook = Notebook(self.framework, role, task=asked, slug="colours")
        parameters = self.mirror.parameters(notebook, **options.pop("parameters", {}))
        return self.sessions.run(notebook, parameters, until=until, look=look, **options)

    def seen(self, role: str, asked: Task, **options: Any) -> Any:
        """What the look at the names of a notebook saw, which has to come as far as it is asked to."""
        ended = self.run(role, asked, **options)
        assert ended.is_done, ended
        return ended.seen

    def cells(self, role: str, asked: Task) -> dict[str, str]:
        """The code of a notebook's cells, by their names."""
        return rendered_cells(self.framework, role, asked, slug="colours")

    def training(self, asked: Task, **options: Any) -> list[tuple[str, str, str]]:
        """The id, the file and the label of every training image, as the notebook reads them."""
        rows = "zip(train[ID_COLUMN], paths_of(train['image file'], folder)['path'], truth)"
        seen = f"[[a, os.path.relpath(b, folder), classes[c]] for a, b, c in {rows}]"
        return [tuple(row) for row in self.seen("train", asked, until="decode-images", look=seen, **options)]

    def test(self, asked: Task, **options: Any) -> dict[str, str]:
        """The file of every test id, as the notebook reads them."""
        seen = "dict(zip(ids, [os.path.relpath(path, folder) for path in examples['path']]))"
        return dict(self.seen("infer", asked, until="check-test-images", look=seen, **options))


@pytest.fixture
def layout(mirror: Mirror, sessions: Sessions) -> Layout:
    """An empty competition."""
    made = Layout(mirror, sessions)
    made.folder.mkdir(parents=True)
    return made


def write_images(folder: Path, names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded(colour=list(COLOURS.values())[number % 3], kind="PNG"))


def encoded(colour: tuple[int, int, int], kind: str) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (SIDE, SIDE), colour).save(stream, kind)
    return stream.getvalue()
