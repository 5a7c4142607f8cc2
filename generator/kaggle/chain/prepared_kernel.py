"""Preparing a kernel's folder for a push: the checks before Kaggle sees it, and the notebook that is sent."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generator.accelerators.catalog import AcceleratorKind
from generator.check.checking import check, errors
from generator.check.finding import Finding
from generator.check.reading import read_role
from generator.check.rules import RULES
from generator.check.source import KernelSource
from generator.competition.facts import Value
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import KernelUnfitError
from generator.kaggle.guards import SECRET_RULE
from generator.pair.notebook import digest_of_cells, joined
from generator.pair.notebook_changes import has_parameters
from generator.pair.parameters import ParameterError, read_parameters
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import JsonObject

_UNSENDABLE = {"M001", "M004", "N001", "N004", "N005", "N064"}
"""The rules without which there would be nothing that can be sent, or nothing that could load what was trained."""
ALWAYS = frozenset({"M001", "M004", "N001", "N005"})
"""The rules that cannot be passed by: a file that cannot be read, or a text that no request can hold."""


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that is fit to be pushed.

    Attributes:
        push: What is sent.
        source: The digest of what its folder says.
        parameters: The constants of its parameters cell.
        wants: The accelerator that it is for.
        checked: What its folder says.
        doubts: What the check found in it, none of it an error.
    """

    push: KernelPush
    source: str
    parameters: Mapping[str, Value]
    wants: str
    checked: KernelSource
    doubts: Sequence[Finding] = ()


def prepare(folder: PairFolder, role: Role, *, verify: bool = True, allow: Collection[str] = ()) -> PreparedKernel:
    """Reads a kernel's folder, and makes sure that Kaggle would take it as it is meant.

    Args:
        folder: The pair.
        role: Which of its kernels.
        verify: Whether errors of `tandem check` refuse it; without, only those do with which nothing can be sent.
        allow: Rules of `tandem check` whose findings are passed by, by their ids.

    Raises:
        KernelUnfitError: Kaggle would refuse it, or misunderstand it in silence.
        FileReadError: A file is missing.
    """
    kernel = read_role(folder, role)
    doubts = check_fit(kernel, pair=folder.name, verify=verify, allow=allow)
    metadata, notebook, path = kernel.metadata or JsonObject(), kernel.notebook, kernel.code.path
    if not notebook:
        raise KernelUnfitError(path=path, problem="it is no notebook")
    if not all(metadata.text("id").partition("/")) or not metadata.text("title"):
        raise KernelUnfitError(path=kernel.metadata_path or path, problem="it has no id OWNER/SLUG, or no title")
    parameters = _parameters(notebook, path)
    push = _push(metadata, _clean(notebook), may_hold_secrets=SECRET_RULE in allow)
    said = KernelPush.__dataclass_fields__.keys() - {"text", "may_hold_secrets"}
    fields = {name: str(getattr(push, name)) for name in said}
    digest = hashlib.sha256(json.dumps([digest_of_cells(push.text), fields], sort_keys=True).encode()).hexdigest()
    wants = str(parameters.get("ACCELERATOR", kernel.accelerator or AcceleratorKind.GPU))
    return PreparedKernel(push, digest, parameters, wants, kernel, doubts)


def check_fit(
    kernel: KernelSource, *, pair: str, verify: bool = True, allow: Collection[str] = ()
) -> Sequence[Finding]:
    """Makes sure that `tandem check` finds no error in a kernel, but of the rules that are allowed.

    Returns:
        What it finds that is no error.

    Raises:
        KernelUnfitError: The first one, and how many more there are.
    """
    passed_by = set(allow) - ALWAYS
    rules = [rule for rule in RULES if (verify or rule.id in _UNSENDABLE) and rule.id not in passed_by]
    findings = check([kernel], rules)
    if found := errors(findings):
        raise KernelUnfitError.found(found, pair=pair, always=ALWAYS)
    return findings


def owned_by(prepared: PreparedKernel, owner: str, *, instead_of: str) -> PreparedKernel:
    """The same kernel under another owner, with the sources that belonged to the former one."""

    def moved(ref: str) -> str:
        return f"{owner}/{ref.partition('/')[2]}" if ref.partition("/")[0] == instead_of else ref

    push = prepared.push
    kernels = tuple(map(moved, push.kernel_sources))
    return replace(prepared, push=replace(push, ref=moved(push.ref), kernel_sources=kernels))


def _clean(notebook: dict[str, Any]) -> str:
    """The notebook as it is sent: sources as text, no outputs, nothing that the editor of Kaggle left in it."""
    cells = []
    for cell in notebook["cells"]:
        sent = {**cell, "source": joined(cell.get("source", ""))}
        if cell["cell_type"] == "code":
            sent.update(outputs=[], execution_count=None)
        cells.append(sent)
    # The editor's block names an image and an accelerator of its own, which can win over what is asked for.
    metadata = {name: value for name, value in JsonObject.of(notebook.get("metadata")).items() if name != "kaggle"}
    return json.dumps({**notebook, "cells": cells, "metadata": metadata}, ensure_ascii=False, indent=1)


def _parameters(notebook: Mapping[str, Any], path: Path) -> dict[str, Value]:
    for cell in notebook["cells"]:
        if has_parameters(cell):
            try:
                return read_parameters(joined(cell["source"]))
            except ParameterError as error:
                raise KernelUnfitError(path=path, problem=error.message.rstrip(".")) from error
    return {}


def _push(metadata: JsonObject, text: str, *, may_hold_secrets: bool) -> KernelPush:
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
        may_hold_secrets=may_hold_secrets,
    )
