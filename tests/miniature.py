"""Small things that many tests share: templates, trees of files, and what a user sees of a command."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from generator import kit_files as installation
from generator.kit_files import template_folder

MINIATURE = {
    "families/image_classification/models/keras.py.j2": "",
    "families/image_classification/models/tensorflow.py.j2": "",
    "frameworks/keras/framework.toml": 'title = "Keras 3"\ndescription = "On JAX."\n',
    "frameworks/tensorflow/framework.toml": 'title = "TensorFlow"\ndescription = "tf.distribute."\n',
    "frameworks/torch/framework.toml": 'title = "PyTorch"\ndescription = "No family has it."\n',
    "_layout.py.j2": """
# %% [markdown] name="title"
# # {{ competition.title | md }}: {{ role }}

# %% name="parameters" tags=["parameters"]
COMPETITION = {{ competition.slug | py }}
TITLE = {{ competition.title | py }}
PAIR_ID = {{ pair.pair_id | py }}  # both notebooks have it
# {% block parameters %}
# {% endblock %}

# %% name="work"
# {% block work %}
# {% endblock %}
""".lstrip(),
    "train.py.j2": """
# {% extends "_layout.py.j2" %}
# {% block parameters %}
EPOCHS = {{ task.epochs | py }}
IMAGE_SIZE = {{ task.image_size | py }}  # pixels
# {% endblock %}
# {% block work %}
print(COMPETITION, EPOCHS)
# {% endblock %}
""".lstrip(),
    "infer.py.j2": """
# {% extends "_layout.py.j2" %}
# {% block work %}
print("predicting", TITLE)
# {% endblock %}
""".lstrip(),
}
"""The smallest templates that use what the real ones use, beside what those say of families."""


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def tree_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Outcome:
    """The exit status and the output of a command."""

    code: int
    out: str
    err: str


def replace_templates(monkeypatch: pytest.MonkeyPatch, package: Path, files: Mapping[str, str]) -> Path:
    """Makes templates of a folder those of the kit; what a family is, and a key of all tasks, stays known."""
    known = template_folder()
    folder = write_tree(package / "templates", files)
    for path in known.glob("families/**/*.toml"):
        link = folder / path.relative_to(known)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    monkeypatch.setattr(installation, "_PACKAGE", package)
    return folder


def python(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """What another Python does with these arguments, and says."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


def names_in(folder: Path) -> list[str]:
    """The names of what is in a folder, in their order."""
    return sorted(path.name for path in folder.iterdir())
