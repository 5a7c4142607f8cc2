"""Who imports whom, never in circles; where templates speak a framework."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "generator"
BELOW = {
    "competition": {"competition"},
    "accelerators": {"accelerators"},
    "pair": {"competition", "accelerators", "pair"},
    "run": {"competition", "accelerators", "pair", "run"},
    "check": {"competition", "accelerators", "pair", "check"},
    "tpu_compiler": {"competition", "accelerators", "pair", "run", "tpu_compiler"},
    "plan": {"competition", "accelerators", "pair", "run", "tpu_compiler", "plan"},
    "sessions": {"competition", "accelerators", "run", "sessions"},
    "rehearsal": {"competition", "accelerators", "pair", "run", "sessions", "rehearsal"},
    "colab": {"competition", "accelerators", "pair", "run", "colab"},
    "kaggle": {"competition", "accelerators", "pair", "check", "kaggle"},
    # It runs notebooks and scores submissions, and knows neither pairs nor the clients that talk to it.
    "localkaggle": {"competition", "accelerators", "run", "sessions", "localkaggle"},
}
BELOW["cli"] = {*BELOW, "cli"}

TEMPLATES = PACKAGE.parent / "templates"
FRAMEWORKS = {"tensorflow", "tf", "keras", "keras_hub", "jax", "jnp", "flax", "nnx", "optax", "torch", "torch_xla"}
PLAIN = {"errors", "files", "installation", "local_server", "page_templates", "template_files", "untrusted", "wording"}
PLAIN |= {"workspace_files"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def import_graph() -> dict[str, set[str]]:
    """The modules that each module of the kit imports: anywhere in it, in functions and for types alone as well."""
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & paths.keys()
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    member = f"{node.module}.{alias.name}"
                    graph[name] |= {member if member in paths else node.module or ""} & paths.keys()
    return graph


def parts_imported(module: str) -> set[str]:
    """The packages, and the modules beside them, that a module of the kit imports from."""
    return {name.split(".")[1] for name in import_graph()[module] if "." in name}


def test_a_module_is_read_in_one_go() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}

    assert [str(path) for path, length in lengths.items() if length > 700] == []


def test_no_module_is_imported_by_what_it_imports() -> None:
    try:
        TopologicalSorter(import_graph()).prepare()
    except CycleError as error:
        pytest.fail(" ← ".join(error.args[1]))


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    modules = [module for module in import_graph() if f"{module}.".startswith(f"generator.{package}.")]

    assert modules
    for module in modules:
        assert parts_imported(module) <= BELOW[package] | PLAIN, module


@pytest.mark.parametrize("module", sorted(PLAIN))
def test_plain_modules_import_no_package_of_the_kit(module: str) -> None:
    assert parts_imported(f"generator.{module}") <= PLAIN


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
