"""A pair that somebody sent: whatever its files hold, each command ends well or in a sentence, in time."""

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from cases import CASES
from commands import in_time, tried
from hypothesis import given
from hypothesis import strategies as st
from mutations import VALUES, mutated
from runnable_pair import CHOICES, notebook, write_pair

from generator.errors import TandemError
from generator.run.notebook_html import view_content
from generator.run.report import exact_duration

PUSH = ("push", "tiny", "--dry-run", "--to", "local")
CHECK = ("check", "tiny")
RUN = ("run", "tiny", "--only", "train")
COMMANDS = (
    *(PUSH, CHECK, RUN, ("receipt", "tiny"), ("status", "tiny")),
    *(("generate", "--all", "--check"), ("generate", "--competition", "tiny", "--dry-run")),
)
OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
    {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["\x1b[31mE\x1b[0m", "e"]},
    {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<b>x</b>", "text/plain": "x"}},
    {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": {"image/png": "aGVsbG8="}},
]
CELLS: dict[str, str] = {"## Section": "*text*", "cell": "print(1)"}

pytestmark = pytest.mark.slow


def executed() -> Any:
    """A notebook as it is left by a run."""
    made: Any = notebook(CELLS)
    made["cells"][-1]["outputs"] = OUTPUTS
    made["cells"][-1]["metadata"] = {"papermill": {"duration": 1.5}, "tags": ["hide-input"]}
    return made


def metadata(role: str) -> dict[str, Any]:
    return {
        "id": f"someone/tiny-{role}",
        "title": f"tiny {role}",
        "code_file": f"{role}.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "machine_shape": "TpuV5E8",
        "enable_gpu": False,
        "enable_internet": False,
        "is_private": True,
        "competition_sources": ["tiny"],
        "kernel_sources": [],
        "dataset_sources": ["a/b"],
    }


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with a pair that every case changes, and changes back."""
    root = tmp_path_factory.mktemp("workspace")
    folder = write_pair(root)
    for role in ("train", "infer"):
        (folder / role / "kernel-metadata.json").write_text(json.dumps(metadata(role)))
    before = Path.cwd()
    os.chdir(root)
    assert tried(*PUSH).code == 0
    yield root
    os.chdir(before)


@contextmanager
def holding(path: Path, content: bytes) -> Iterator[None]:
    """A file with another content for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


@CASES
@given(mutated(executed()) | mutated(executed(), most=12))
def test_any_notebook_is_shown_or_refused(document: Any) -> None:
    with in_time(), suppress(TandemError):
        cells = view_content(as_json(document), name="x.ipynb")
        # What a template does with them.
        assert all(exact_duration(cell.seconds) for cell in cells if cell.seconds is not None)
        assert all(output.aspect for cell in cells for output in cell.outputs if output.source)


@CASES
@given(mutated(executed()), st.sampled_from([PUSH, (*PUSH, "--json"), CHECK, (*CHECK, "--sarif"), RUN]))
def test_any_notebook_is_pushed_or_refused(workspace: Path, document: Any, command: tuple[str, ...]) -> None:
    # A run gets as far as its notebooks are read: there are no data for them.
    with (
        holding(workspace / "kernels/tiny/train/train.ipynb", as_json(document)),
        without(workspace / "input/competitions/tiny"),
    ):
        tried(*command)


@contextmanager
def without(path: Path) -> Iterator[None]:
    """A folder out of the way for a while."""
    path.rename(path.with_name("away"))
    try:
        yield
    finally:
        path.with_name("away").rename(path)


@CASES
@given(mutated(metadata("train")), st.sampled_from([PUSH, (*PUSH, "--json"), CHECK, (*CHECK, "--sarif"), RUN]))
def test_any_metadata_are_pushed_or_refused(workspace: Path, document: Any, command: tuple[str, ...]) -> None:
    with (
        holding(workspace / "kernels/tiny/train/kernel-metadata.json", as_json(document)),
        without(workspace / "input/competitions/tiny"),
    ):
        tried(*command)


def texts_of_toml() -> st.SearchStrategy[str]:
    """`pair.toml` with other values, other keys and other characters."""
    choices: Any = tomllib.loads(CHOICES)
    with_extras = {**choices, "parameters": {"EPOCHS": 3, "NAME": "x", "SIZES": [1, 2]}}
    return mutated(with_extras, most=4).map(_as_toml) | st.tuples(
        st.integers(0, len(CHOICES)),
        st.text(max_size=4) | st.sampled_from(["[", "]", '"""', "=", "\n[pair]\n", "1" * 5_000]),
    ).map(lambda cut: CHOICES[: cut[0]] + cut[1] + CHOICES[cut[0] + len(cut[1]) :])


def _as_toml(document: Any) -> str:
    lines: list[str] = []
    for section, entries in document.items() if isinstance(document, dict) else ():
        if not isinstance(entries, dict):
            lines.insert(0, f"{_key(section)} = {_value(entries)}")
            continue
        lines += [f"[{_key(section)}]", *(f"{_key(name)} = {_value(value)}" for name, value in entries.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return str(tomlkit.item(name.encode("utf-8", "replace").decode()).as_string())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if value is None:
        return '{ value = 1, by = "hand" }'
    if isinstance(value, str):
        return _key(value)
    return repr(value).lower()


@CASES
@given(
    texts_of_toml(),
    st.sampled_from(COMMANDS),
)
def test_any_pair_toml_is_used_or_refused(workspace: Path, text: str, command: tuple[str, ...]) -> None:
    with (
        holding(workspace / "kernels/tiny/pair.toml", text.encode("utf-8", "replace")),
        without(workspace / "input/competitions/tiny"),
    ):
        tried(*command)


@CASES
@given(st.binary(max_size=60) | VALUES.map(as_json), st.sampled_from(["train/train.ipynb", "pair.toml"]))
def test_any_bytes_are_refused(workspace: Path, content: bytes, name: str) -> None:
    with holding(workspace / "kernels/tiny" / name, content):
        assert tried(*PUSH).code in (0, 1)
