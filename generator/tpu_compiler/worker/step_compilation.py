"""Every caught step given to the compiler, and what it says as events."""

import re
from collections.abc import Callable
from typing import Any, Protocol

from generator.tpu_compiler.worker.batch_search import Fit
from generator.tpu_compiler.worker.cells import Notebook, Place
from generator.tpu_compiler.worker.compiler import (
    Compiler,
    batch_bytes,
    is_about_memory,
    needed_memory,
    place_of_primitive,
    refused_place,
)
from generator.tpu_compiler.worker.step import Step

_PRIMITIVE = re.compile(r"primitive '?([\w.-]+)'?")
_LONGEST_REASON = 250  # characters of a Python error that are told


class CaughtSteps(Protocol):
    """The steps of a notebook; `is_complete` says whether an epoch was seen to its end."""

    notebook: Notebook
    steps: list[Step]
    is_complete: bool

    def lowered(self, step: Step, arguments: list[Any]) -> Any:
        """The step with these arguments, as the compiler takes it."""


class StepCompilation:
    """The steps that a watch caught, given to a compiler one after the other."""

    def __init__(
        self, watch: CaughtSteps, compiler: Compiler, order: dict[str, Any], tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self._watch, self._compiler, self._order, self._tell = watch, compiler, order, tell

    def tell_all(self) -> None:
        """Compiles all."""
        if not self._watch.is_complete:
            self._tell({"unknown": "An epoch was not waited for to its end, where a ragged last batch would show."})
        for step in self._watch.steps:
            if step.what == "predict" and not self._order["predict"]:
                continue
            if len(step.shapes) > 1:
                self._tell({"recompilation": list(step.shapes), **_at(step)})
            if self._compiler.is_for_tpu and 1 == step.cores < self._order["cores"] and step.what == "train":
                self._tell({"one_core": True, **_at(step)})
            elif step.cores > 1 and step.what == "train" and step.batch and step.parts == 1:
                self._tell({"whole_batch": step.cores, **_at(step)})
            self._compile(step)

    def _compile(self, step: Step) -> None:
        if step.error is not None:
            self._refused_by_jax(step, step.error)
            return
        batch, lowered, wanted = step.batch_per_core, step.lowered, self._order["batch_per_core"]
        if wanted and wanted != batch and batch:
            try:
                lowered = self._of_batch(step, wanted)
                batch = wanted
            except Exception as refusal:  # noqa: BLE001 - the notebook's own code is traced here
                self._knows_no_other(step, batch, refusal)
        if not self._compiler.is_for_tpu and not self._exports(step):
            return
        figures = self._compiler.figures(step, lowered)
        error = figures.get("error", "")
        if error and not is_about_memory(error):
            self._refused(step, error, refused_place(error, lowered, self._watch.notebook) or step.place)
            return
        if error:
            self._tell({"memory": needed_memory(error), "batch_per_core": batch, **_at(step)})
            fit = Fit(batch, needed_memory(error), does_fit=False)
        else:
            shared = {"batch_per_core": batch, "cores": step.cores, "parameters": step.parameters}
            size = batch_bytes(step) * batch // max(step.batch_per_core, 1)
            self._tell({"figures": figures, "batch_bytes": size, "framework": step.framework, **shared, **_at(step)})
            fit = Fit(batch, figures["peak_memory"], does_fit=True)
        if step.what == "train" and batch and self._compiler.is_for_tpu and (error or self._order["largest_batch"]):
            self._find_largest(step, fit)

    def _find_largest(self, step: Step, fit: Fit) -> None:
        try:
            found = self._compiler.largest_batch(step, fit, lambda size: self._of_batch(step, size))
        except Exception as error:  # noqa: BLE001 - the notebook's own code is traced here
            self._knows_no_other(step, fit.batch, error)
        else:
            self._tell({"largest": found})

    def _knows_no_other(self, step: Step, batch: int, error: Exception) -> None:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        self._tell({"unknown": f"The step {step.name} was compiled for no other batch than {batch:,} a core: {reason}"})

    def _of_batch(self, step: Step, size: int) -> Any:
        return self._watch.lowered(step, step.of_batch(size))

    def _exports(self, step: Step) -> bool:
        """Whether JAX lowers a step for the TPU, which needs no compiler and finds what has no TPU implementation."""
        try:
            step.export(step.arguments)
        except Exception as error:  # noqa: BLE001 - whatever the lowering says
            self._refused_by_jax(step, error)
            return False
        return True

    def _refused_by_jax(self, step: Step, error: Exception) -> None:
        """An error of the lowering, at the line that has the operation, or else that it passed through."""
        notebook, message = self._watch.notebook, f"{type(error).__name__}: {error}"
        named = _PRIMITIVE.search(message)
        place = place_of_primitive(step, named[1], notebook) if named else None
        passed = notebook.place_of(error)
        self._refused(step, message, place or (passed if passed.line else step.place))

    def _refused(self, step: Step, message: str, place: Place) -> None:
        self._tell({"refused": message[:20_000], **_at(step), "cell": place.cell, "line": place.line})


def _at(step: Step) -> dict[str, Any]:
    return {"step": step.name, "what": step.what, "cell": step.place.cell, "line": step.place.line}
