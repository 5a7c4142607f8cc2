"""The kernels that a push sends, prepared from their folders: what is sent, and what it costs."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from generator.accelerators import Accelerator, AcceleratorKind, Service, catalog
from generator.check.checking import KernelCheck, allowed_ids, check_kernel
from generator.check.source import read_role
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import ChainError, KernelUnfitError
from generator.kaggle.errors import SECRET_RULE
from generator.pair.notebook import ParameterError, digest_of_cells, has_parameters, join_lines, read_parameters
from generator.pair.settings import PLACEHOLDER_OWNER
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, printable

# Preparing a kernel's folder for a push: the checks before Kaggle sees it, and the notebook that is sent.


_UNSENDABLE = {"M001", "M004", "N001", "N004", "N005", "N064"}
"""The rules without which there would be nothing that can be sent, or nothing that could load what was trained."""
ALWAYS = frozenset({"M001", "M004", "N001", "N005"})
"""The rules that cannot be passed by: a file that cannot be read, or a text that no request can hold."""


def allowed_rules(names: Collection[str]) -> tuple[str, ...]:
    """The ids of the rules that `--allow` names.

    Raises:
        CheckError: There is no such rule, or no way over it.
    """
    return allowed_ids(names, never=ALWAYS)


class KernelFacts(TypedDict):
    """A kernel and its session in a few words.

    Attributes:
        kernel: The kernel, as OWNER/NAME.
        machine_shape: The accelerator.
        internet: Whether its session has internet.
        private: Whether only the account sees it.
        sources: The competitions, kernels, datasets and models that are attached.
        bytes: The size of the notebook.
    """

    kernel: str
    machine_shape: str
    internet: bool
    private: bool
    sources: list[str]
    bytes: int


@dataclass(frozen=True)
class Forecast:
    """The time of a session, before it is pushed.

    Attributes:
        seconds: What it is likely to take; None if nothing predicts it.
        origin: What predicts it.
        limit_seconds: The limit that the push sends, after which Kaggle ends the session; 0 for none.
        limit_reason: Why that, or why none.
    """

    seconds: float | None = None
    origin: str = ""
    limit_seconds: int = 0
    limit_reason: str = ""

    def with_limit(self, seconds: int, reason: str) -> "Forecast":
        """The same time with another limit, or with none."""
        return replace(self, limit_seconds=seconds, limit_reason=reason)

    @property
    def limit_in_words(self) -> str:
        """Where the limit of the session comes from, or why none is sent."""
        return f"{'the limit is' if self.limit_seconds else 'no limit is sent:'} {self.limit_reason}"


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that is fit to be pushed.

    Attributes:
        push: What is sent.
        source: The digest of what its folder says.
        parameters: The constants of its parameters cell.
        wants: The accelerator that it is for.
        check: What its folder says, and what `tandem check` found in it, none of it an error.
        forecast: The time of its session.
    """

    push: KernelPush
    source: str
    parameters: Mapping[str, object]
    wants: str
    check: KernelCheck
    forecast: Forecast = field(default_factory=Forecast)

    @property
    def facts(self) -> KernelFacts:
        """What a push of it sends, in a few words, for people and as JSON."""
        push = self.push
        sources = (push.competition_sources, push.kernel_sources, push.dataset_sources, push.model_sources)
        return {
            "kernel": push.ref,
            "machine_shape": push.machine_shape,
            "internet": push.enable_internet,
            "private": push.is_private,
            "sources": [ref for refs in sources for ref in refs],
            "bytes": len(push.text.encode("utf-8")),
        }

    def cost(self, *, is_local: bool) -> str:
        """What a push of it costs."""
        return cost(self.push, is_local=is_local, limit_seconds=self.forecast.limit_seconds)


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
    check = check_kernel(kernel, only=None if verify else _UNSENDABLE, allow=set(allow) - ALWAYS)
    _refuse_errors(check, pair=folder.name)
    metadata, notebook, path = kernel.metadata or JsonObject(), kernel.notebook, kernel.code.path
    if not notebook:
        raise KernelUnfitError(path=path, problem="it is not a notebook")
    if not all(metadata.text("id").partition("/")) or not metadata.text("title"):
        raise KernelUnfitError(path=kernel.metadata_path or path, problem="it has no id OWNER/SLUG, or no title")
    parameters = _parameters(notebook, path)
    push = _push(metadata, _clean(notebook), may_hold_secrets=SECRET_RULE in allow)
    names = KernelPush.__dataclass_fields__.keys() - {"text", "may_hold_secrets", "limit_seconds"}
    fields = {name: str(getattr(push, name)) for name in names}
    digest = hashlib.sha256(json.dumps([digest_of_cells(push.text), fields], sort_keys=True).encode()).hexdigest()
    wants = str(parameters.get("ACCELERATOR", kernel.accelerator or AcceleratorKind.GPU))
    return PreparedKernel(push, digest, parameters, wants, check)


def check_offline(kernel: PreparedKernel, *, pair: str, allow: Collection[str] = ()) -> None:
    """Makes sure that a kernel is fit for a code competition, which its folder may not know to be one.

    Raises:
        KernelUnfitError: It is not.
    """
    source = kernel.check.kernel
    if not source.needs_internet_off:
        offline = replace(source, needs_internet_off=True)
        _refuse_errors(check_kernel(offline, allow=set(allow) - ALWAYS), pair=pair)


def _refuse_errors(check: KernelCheck, *, pair: str) -> None:
    if check.errors:
        raise KernelUnfitError.of_findings(check.errors, pair=pair, always=ALWAYS)


def with_owner(kernel: PreparedKernel, account: str, *, is_local: bool, pair: str) -> PreparedKernel:
    """The kernel under the account's name, with the sources that belonged to the former owner.

    Raises:
        ChainError: It is somebody else's, and only a local Kaggle takes such kernels.
    """
    owner = kernel.push.ref.partition("/")[0]
    if owner == account:
        return kernel
    if not is_local:
        owner_name = "nobody yet" if owner == PLACEHOLDER_OWNER else owner
        raise ChainError(
            f'The kernels of {printable(pair)} belong to "{printable(owner_name)}", and the credentials here to '
            f'"{printable(account)}".',
            remedy=f"Render them for yourself: "
            f"`tandem generate --competition … --name {printable(pair)} --owner {printable(account)}`.",
            code="owner-differs",
        )

    def change_owner(ref: str) -> str:
        return f"{account}/{ref.partition('/')[2]}" if ref.partition("/")[0] == owner else ref

    push = kernel.push
    kernels = tuple(map(change_owner, push.kernel_sources))
    return replace(kernel, push=replace(push, ref=change_owner(push.ref), kernel_sources=kernels))


def _clean(notebook: dict[str, Any]) -> str:
    """The notebook as it is sent: sources as text, no outputs, nothing that the editor of Kaggle left in it."""
    cells = []
    for cell in notebook["cells"]:
        clean_cell = {**cell, "source": join_lines(cell.get("source", ""))}
        if cell["cell_type"] == "code":
            clean_cell.update(outputs=[], execution_count=None)
        cells.append(clean_cell)
    # The editor's block names an image and an accelerator of its own, which can win over what is asked for.
    metadata = {name: value for name, value in JsonObject.of(notebook.get("metadata")).items() if name != "kaggle"}
    return json.dumps({**notebook, "cells": cells, "metadata": metadata}, ensure_ascii=False, indent=1)


def _parameters(notebook: Mapping[str, Any], path: Path) -> Mapping[str, object]:
    try:
        return _constants(notebook)
    except ParameterError as error:
        raise KernelUnfitError(path=path, problem=error.message.rstrip(".")) from error


def pushed_parameters(text: str) -> Mapping[str, object]:
    """The constants of the parameters cell of a notebook that was sent; empty if that cannot be read."""
    try:
        return _constants(json.loads(text))
    except (ParameterError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _constants(notebook: Mapping[str, Any]) -> Mapping[str, object]:
    cell = next((cell for cell in notebook["cells"] if has_parameters(cell)), None)
    return {} if cell is None else read_parameters(join_lines(cell["source"]))


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


def accelerator_of(kernel: KernelPush) -> Accelerator | None:
    """What the session of a pushed kernel runs on; None if the catalog does not know its machine shape."""
    shape = "" if kernel.machine_shape == "Gpu" else kernel.machine_shape
    if not shape and (kernel.enable_tpu or kernel.enable_gpu or kernel.machine_shape):
        return catalog().training if kernel.enable_tpu else catalog().inference
    accelerators = {
        accelerator.machine_shape: accelerator
        for accelerator in catalog().all_accelerators
        if accelerator.service is Service.KAGGLE
    }
    return catalog().replacements.get(shape) or accelerators.get(shape)


def cost(kernel: KernelPush, *, is_local: bool, limit_seconds: int = 0) -> str:
    """What a push costs: the accelerator, and how long the session may last, which is taken from a week's quota."""
    limit = f", at most {hours_in_words(limit_seconds)}" if limit_seconds else ""
    accelerator = accelerator_of(kernel)
    if accelerator is None:
        return f"{kernel.machine_shape}{limit}"
    name = "no accelerator" if accelerator.kind is AcceleratorKind.CPU else accelerator.name
    quota = " of quota" if accelerator.weekly_hours else ", without quota"
    limit = limit or f", at most {accelerator.session_hours} h"
    return f"{name}{limit}{'' if is_local else quota}"


def hours_in_words(seconds: float) -> str:
    """A limit in hours, such as `1.52 h`."""
    return f"{seconds / 3600:.3g} h"
