"""Where templates speak a framework, and whether the page on the architecture names files that are there."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "generator"
TEMPLATES = PACKAGE.parent / "templates"
FRAMEWORKS = {"tensorflow", "tf", "keras", "keras_hub", "jax", "jnp", "flax", "nnx", "optax", "torch", "torch_xla"}


def test_the_stories_of_the_architecture_name_files_that_are_there() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    named = re.findall(r"`((?:generator|templates|tests)/[^`]*)`", page)

    assert named
    assert [path for path in named if not (PACKAGE.parent / path).exists()] == []


def frameworks_spoken(source: str) -> set[str]:
    """The frameworks that some code imports, or whose names it uses; text and comments are no code."""
    spoken: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            spoken |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            spoken.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Name):
            spoken.add(node.id)
    return spoken & FRAMEWORKS


@pytest.mark.parametrize(
    ("source", "spoken"),
    [
        ("import jax.numpy as jnp\n", {"jax"}),
        ("from keras import layers\nx = jnp.zeros(3)\n", {"keras", "jnp"}),
        ('# tf.data\nprint("keras.io")\nimport numpy\n', set()),
    ],
)
def test_code_speaks_a_framework_that_it_imports_or_names(source: str, spoken: set[str]) -> None:
    assert frameworks_spoken(source) == spoken


def test_only_frameworks_and_models_speak_a_framework() -> None:
    elsewhere = []
    for path in sorted(TEMPLATES.rglob("*.py.j2")):
        folders = path.relative_to(TEMPLATES).parts[:-1]
        is_allowed = folders[:1] == ("frameworks",) or (folders[:1] == ("families",) and folders[2:3] == ("models",))
        if not is_allowed and (spoken := frameworks_spoken(path.read_text())):
            elsewhere.append(f"{path.relative_to(TEMPLATES).as_posix()}: {', '.join(sorted(spoken))}")
    assert not elsewhere, "\n".join(elsewhere)
