"""Preparing a kernel's folder for a push: the checks before Kaggle sees it, and the notebook that is sent."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.competition.facts import Value
from generator.files import PathOutsideError, contained, read_text
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import KernelUnfitError
from generator.pair.kernel_name import slugified
from generator.pair.notebook import digest_of_cells
from generator.pair.parameters import PARAMETERS_TAG, ParameterError, override, read_parameters
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import JsonObject, storable

_SHORTEST_TITLE, _LONGEST_TITLE = 5, 50
_LARGEST_NOTEBOOK = 16 * 1024 * 1024


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that is fit to be pushed; `source` is the digest of what its folder says."""

    push: KernelPush
    source: str
    parameters: Mapping[str, Value]
    wants: str


def prepare(folder: PairFolder, role: Role) -> PreparedKernel:
    """Reads a kernel's folder, and makes sure that Kaggle would take it as it is meant.

    Raises:
        KernelUnfitError: Kaggle would refuse it, or misunderstand it in silence.
        FileReadError: A file is missing.
    """
    path = folder.metadata(role)
    metadata = _object(read_text(path), path)
    _check_names(metadata, path)
    notebook_path = _code_file(metadata, path)
    text = read_text(notebook_path)
    if len(text) > _LARGEST_NOTEBOOK:
        raise KernelUnfitError(path=notebook_path, problem="it is larger than 16 MB", remedy="Clear its outputs.")
    notebook = _notebook(text, notebook_path)
    parameters = _parameters(notebook, notebook_path)
    sent = _clean(notebook)
    if storable(sent) != sent:
        problem = "a text in it has half of a surrogate pair, which no other program can read"
        raise KernelUnfitError(path=notebook_path, problem=problem, remedy="Write that character anew.")
    push = _push(metadata, sent)
    fields = {name: str(getattr(push, name)) for name in KernelPush.__dataclass_fields__ if name != "text"}
    digest = hashlib.sha256(json.dumps([digest_of_cells(push.text), fields], sort_keys=True).encode()).hexdigest()
    return PreparedKernel(push, digest, parameters, str(parameters.get("ACCELERATOR", _kind_of(push))))


def owned_by(prepared: PreparedKernel, owner: str, *, instead_of: str) -> PreparedKernel:
    """The same kernel under another owner, with the sources that belonged to the former one."""

    def moved(ref: str) -> str:
        return f"{owner}/{ref.partition('/')[2]}" if ref.partition("/")[0] == instead_of else ref

    push = prepared.push
    kernels = tuple(map(moved, push.kernel_sources))
    return replace(prepared, push=replace(push, ref=moved(push.ref), kernel_sources=kernels))


def with_parameters(text: str, values: Mapping[str, Value]) -> str:
    """The notebook with other defaults in its parameters cell; parameters that it does not have are left out."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if _has_parameters(cell):
            known = read_parameters(cell["source"])
            cell["source"] = override(cell["source"], {name: value for name, value in values.items() if name in known})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def with_first_cell(text: str, *, name: str, source: str) -> str:
    """The notebook with a code cell before all other code."""
    notebook = json.loads(text)
    at = next((i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"), 0)
    added: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": []}
    notebook["cells"].insert(at, {**added, "source": source})
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def _object(text: str, path: Path) -> JsonObject:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KernelUnfitError(path=path, problem=f"it is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise KernelUnfitError(path=path, problem="it is not a JSON object")
    return JsonObject(fields)


def _check_names(metadata: JsonObject, path: Path) -> None:
    title, ref, shape = metadata.text("title"), metadata.text("id"), metadata.text("machine_shape")
    if not _SHORTEST_TITLE <= len(title) <= _LONGEST_TITLE:
        problem = f'its title "{title}" has {len(title)} characters'
        raise KernelUnfitError(path=path, problem=problem, remedy="Kaggle takes 5 to 50.")
    if ref.count("/") != 1 or ref.partition("/")[2] != slugified(title):
        problem = f'its id "{ref}" is not the slug that Kaggle makes of its title, "{slugified(title)}"'
        raise KernelUnfitError(path=path, problem=problem, remedy="Make the two agree, or the kernel is lost.")
    if metadata.get("docker_image"):
        problem = "it pins a docker_image, with which a TPU session runs without its TPU (Kaggle/kaggle-cli#1197)"
        raise KernelUnfitError(path=path, problem=problem, remedy="Remove that line.")
    if shape in catalog().retired:
        instead = catalog().retired[shape].machine_shape or "a CPU"
        problem = f"the machine shape {shape} is retired, and Kaggle runs {instead} instead"
        raise KernelUnfitError(path=path, problem=problem, remedy="Ask for one that is offered.")


def _code_file(metadata: JsonObject, path: Path) -> Path:
    name = metadata.text("code_file")
    if not name.isprintable() or not name:
        problem = "it has no code_file" if not name else "its code_file is no name of a file"
        raise KernelUnfitError(path=path, problem=problem)
    try:
        found = contained(path.parent / name, root=path.parent)
    except PathOutsideError as error:
        problem = f"its code_file {name} is outside of the kernel's folder"
        raise KernelUnfitError(path=path, problem=problem, remedy="Move the notebook beside it.") from error
    if found.suffix != ".ipynb":
        raise KernelUnfitError(path=path, problem=f"its code_file {name} is no notebook")
    return found


def _notebook(text: str, path: Path) -> JsonObject:
    notebook = _object(text, path)
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise KernelUnfitError(path=path, problem="it is not a notebook of format 4")
    if not notebook.section("metadata").section("kernelspec").get("name"):
        problem = "it names no kernel (metadata.kernelspec.name), without which Kaggle cannot run it"
        raise KernelUnfitError(path=path, problem=problem)
    return notebook


def _is_cell(cell: object) -> bool:
    known = JsonObject.of(cell)
    return isinstance(known.get("cell_type"), str) and isinstance(known.get("source"), str | list)


def _clean(notebook: dict[str, Any]) -> str:
    """The notebook as it is sent: sources as text, no outputs, nothing that the editor of Kaggle left in it."""
    cells = []
    for cell in notebook["cells"]:
        sent = {**cell, "source": _joined(cell.get("source", ""))}
        if cell["cell_type"] == "code":
            sent.update(outputs=[], execution_count=None)
        cells.append(sent)
    # The editor's block names an image and an accelerator of its own, which can win over what is asked for.
    metadata = {name: value for name, value in notebook["metadata"].items() if name != "kaggle"}
    return json.dumps({**notebook, "cells": cells, "metadata": metadata}, ensure_ascii=False, indent=1)


def _parameters(notebook: Mapping[str, Any], path: Path) -> dict[str, Value]:
    for cell in notebook["cells"]:
        if _has_parameters(cell):
            try:
                return read_parameters(_joined(cell["source"]))
            except ParameterError as error:
                raise KernelUnfitError(path=path, problem=error.message.rstrip(".")) from error
    return {}


def _push(metadata: JsonObject, text: str) -> KernelPush:
    def refs(name: str) -> tuple[str, ...]:
        value = metadata.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    return KernelPush(
        ref=metadata.text("id"),
        title=metadata.text("title"),
        text=text,
        machine_shape=metadata.text("machine_shape"),
        enable_gpu=metadata.flag("enable_gpu"),
        enable_tpu=metadata.flag("enable_tpu"),
        enable_internet=metadata.flag("enable_internet"),
        is_private=metadata.get("is_private") is not False,
        dataset_sources=refs("dataset_sources"),
        competition_sources=refs("competition_sources"),
        kernel_sources=refs("kernel_sources"),
        model_sources=refs("model_sources"),
    )


def _kind_of(push: KernelPush) -> AcceleratorKind:
    known = catalog().accelerators.get(push.machine_shape)
    if known is not None:
        return known.kind
    if push.enable_tpu:
        return AcceleratorKind.TPU
    return AcceleratorKind.GPU if push.enable_gpu or push.machine_shape else AcceleratorKind.CPU


def _has_parameters(cell: Mapping[str, Any]) -> bool:
    tags = JsonObject.of(cell.get("metadata")).get("tags")
    return isinstance(tags, list) and PARAMETERS_TAG in tags


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
