"""The corpus of the rules: sound notebooks in other people's styles, and cases that put one fault into one of them.

`corpus/sound/NAME.percent` is a notebook. It begins with its metadata, TOML in comments (what every kernel has is
added; `code_competition = true` says what it is submitted to); cells begin with `# %%`, `# %% a-name` or
`# %% [markdown]`.

`corpus/*.toml` has the cases, a table for each: `rule`, the `base` that the fault is put into, and the `cell` and
`line` where it has to be found; without a cell it is a fault of the metadata, or of the notebook where
`in = "notebook"` says so. The fault is any of `metadata` (fields that replace others, "" removes one), `code` (a cell
`fault` at the end), `cells` (other text for a cell), `notebook` (fields of its metadata), `outputs` (of the first code
cell), `raw` and `raw_metadata` (the whole text of either file), `purpose` (train or infer), `training` (the cell
`fault` of the other notebook of its pair), `half` (of a character,
which TOML cannot say).
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from generator.check.code import NotebookCode
from generator.check.findings import CheckFinding
from generator.check.source import KernelSource, Purpose, read_kernel
from generator.text import JsonObject

CORPUS = Path(__file__).with_name("corpus")
SOUND = {path.stem: path for path in sorted(CORPUS.glob("sound/*.percent"))}
_MARKER = re.compile(r"# %%[ \t]*(.*)\n")
_METADATA = {
    "code_file": "notebook.ipynb",
    "language": "python",
    "kernel_type": "notebook",
    "is_private": "true",
    "enable_internet": False,
    "dataset_sources": [],
    "competition_sources": [],
    "kernel_sources": [],
    "model_sources": [],
}
_KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}


@dataclass
class Kernel:
    """A kernel's folder, to be written."""

    metadata: dict[str, Any]
    cells: list[dict[str, Any]]
    notebook: dict[str, Any] = field(default_factory=lambda: {"kernelspec": _KERNELSPEC})
    known: dict[str, Any] = field(default_factory=dict)  # beyond its folder
    raw: str = ""
    raw_metadata: str = ""

    def read(self, folder: Path) -> KernelSource:
        """Writes it, and reads it as the check does."""
        metadata = {name: value for name, value in self.metadata.items() if value != ""}
        (folder / "kernel-metadata.json").write_text(self.raw_metadata or json.dumps(metadata))
        notebook = {"cells": self.cells, "metadata": self.notebook, "nbformat": 4, "nbformat_minor": 5}
        (folder / "notebook.ipynb").write_text(self.raw or json.dumps(notebook))
        return replace(read_kernel(folder), **self.known)


@dataclass(frozen=True)
class Case:
    """One fault, and where it has to be found."""

    name: str
    rule: str
    base: str
    cell: str
    line: int
    is_in_notebook: bool
    fault: Mapping[str, Any]

    def kernel(self) -> Kernel:
        """The base with the fault."""
        kernel = sound(self.base)
        kernel.metadata |= self.fault.get("metadata", {})
        kernel.notebook |= self.fault.get("notebook", {})
        kernel.notebook = {name: value for name, value in kernel.notebook.items() if value != ""}
        for number, cell in enumerate(kernel.cells, start=1):
            for name, source in self.fault.get("cells", {}).items():
                if name in (cell.get("id"), f"cell {number}"):
                    cell["source"] = source
        if "code" in self.fault:
            kernel.cells.append(_cell("fault", self.fault["code"]))
        if "half" in self.fault:
            kernel.cells.append({"cell_type": "markdown", "id": "fault", "metadata": {}, "source": "\ud83d"})
        if "outputs" in self.fault:
            next(cell for cell in kernel.cells if cell["cell_type"] == "code")["outputs"] = self.fault["outputs"]
        if "training" in self.fault:
            cells = [_cell("fault", self.fault["training"])]
            text = json.dumps({"cells": cells})
            kernel.known["trained_by"] = KernelSource(
                NotebookCode(Path("train.ipynb"), ()), JsonObject({"cells": cells}), text=text
            )
        if "purpose" in self.fault:
            kernel.known["purpose"] = Purpose(self.fault["purpose"])
        kernel.raw, kernel.raw_metadata = self.fault.get("raw", ""), self.fault.get("raw_metadata", "")
        return kernel

    def is_found(self, finding: CheckFinding) -> bool:
        """True if a finding is the one that is expected."""
        place = finding.place
        is_metadata = place.path.name == "kernel-metadata.json"
        is_there = (finding.rule, place.cell, place.line) == (self.rule, self.cell, self.line)
        return is_there and is_metadata == (not self.cell and not self.is_in_notebook)


def cases() -> Iterator[Case]:
    """Every case of the corpus."""
    for path in sorted(CORPUS.glob("*.toml")):
        for name, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
            cell, line, is_in = said.pop("cell", ""), said.pop("line", 0), said.pop("in", "")
            yield Case(name, said.pop("rule"), said.pop("base"), cell, line, is_in == "notebook", said)


def sound(name: str) -> Kernel:
    """A sound notebook, by the name of its file."""
    said, cells = _read(SOUND[name])
    metadata = {"title": name.replace("-", " "), "id": f"ada/{name}", **_METADATA, **said}
    known = {"needs_internet_off": metadata.pop("code_competition", False)}
    return Kernel(metadata, [dict(cell) for cell in cells], known=known)


@cache
def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    head, *rest = _MARKER.split(path.read_text(encoding="utf-8"))
    said = tomllib.loads("\n".join(line.removeprefix("# ") for line in head.splitlines()))
    return said, [_cell(header, text.strip("\n")) for header, text in zip(rest[::2], rest[1::2], strict=True)]


def _cell(header: str, text: str) -> dict[str, Any]:
    if header == "[markdown]":
        source = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
        return {"cell_type": "markdown", "metadata": {}, "source": source}
    lines = text.splitlines(keepends=True)
    named = {"id": header} if header else {}
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": lines, **named}
