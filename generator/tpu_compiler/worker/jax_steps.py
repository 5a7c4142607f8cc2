"""Stands in for `jax.jit` and `jax.pmap`: catches each step at its call, once for each set of shapes.

A step that is caught is lowered for the TPU and not run: its call returns arrays of the right shapes, so that a
notebook goes on to its next step in no time. What is no step runs as ever.
"""

import functools
import inspect
import re
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.export

from generator.tpu_compiler.worker.cells import EnoughSeenError, Notebook
from generator.tpu_compiler.worker.step import Step, batch_places, model_of
from generator.tpu_compiler.worker.tpu_mesh import TpuMesh, shape_of

_KERAS = {"train_step": "train", "predict_step": "predict", "test_step": "evaluate"}
_STEP = re.compile(r"step|update|train|predict|eval|infer|forward|apply")
_TRAINS = re.compile(r"step|update|train")
_WATCHED_SECONDS = 20.0  # after the last new step; by then an epoch's last batch has come, or is not waited for


class Watch:
    """The steps of a notebook, as they are called."""

    def __init__(self, notebook: Notebook, mesh: TpuMesh, told: Callable[[str], None]) -> None:
        self.notebook = notebook
        self.mesh = mesh
        self.steps: list[Step] = []
        self.is_complete = True
        self._told = told
        self._last = 0.0
        self._jit, self._pmap = jax.jit, jax.pmap

    def install(self) -> None:
        """Begins; to be called before anything else imports JAX's names."""
        jax.jit = self._decorator(self._jit, is_mapped=False)
        jax.pmap = self._decorator(self._pmap, is_mapped=True)
        for name in ("devices", "local_devices", "device_count", "local_device_count"):
            setattr(jax, name, _without_platform(getattr(jax, name)))
        constrain = jax.lax.with_sharding_constraint

        def with_sharding_constraint(value: Any, shardings: Any) -> Any:
            return constrain(value, self.mesh.tree(shardings) if self.is_lowering else shardings)

        jax.lax.with_sharding_constraint = with_sharding_constraint
        self.is_lowering = False

    def _decorator(self, real: Any, *, is_mapped: bool) -> Any:
        def decorate(fun: Any = None, *arguments: Any, **options: Any) -> Any:
            options |= dict(zip(("axis_name",), arguments, strict=True)) if arguments else {}  # of jax.pmap alone
            if fun is None:
                return lambda decorated: decorate(decorated, **options)
            return WatchedFunction(self, real, fun, options, is_mapped=is_mapped)

        return decorate

    def what(self, fun: Any, options: dict[str, Any]) -> str | None:
        """The kind of step that a function is, or None if it is none."""
        module, name = getattr(fun, "__module__", "") or "", getattr(fun, "__name__", "")
        if name in _KERAS and (hasattr(fun, "__self__") or module.startswith("keras.")):
            return _KERAS[name]
        inner = inspect.unwrap(getattr(fun, "f", fun))
        name = getattr(inner, "__name__", "")
        if not self.notebook.defines(getattr(inner, "__func__", inner)):
            return None
        if _TRAINS.search(name) and not re.search(r"predict|eval|infer|test|valid", name):
            return "train"
        donated = (options.get("donate_argnums"), options.get("donate_argnames"))
        if any(each not in (None, ()) for each in donated):
            return "train"
        return "predict" if re.search(r"predict|infer", name) else name if _STEP.search(name) else None

    def catch(self, step: Step) -> None:
        """Lowers a step, and keeps it with what came of that."""
        same = [each for each in self.steps if each.name == step.name and each.place == step.place]
        if same:
            same[0].shapes |= step.shapes
            return
        self._told(f"lowers the step {step.name}")
        try:
            step.lowered = self.lowered(step, step.arguments)
        except Exception as error:  # noqa: BLE001 - the notebook's own code is traced here
            step.error = error
        self.steps.append(step)
        self._last = time.monotonic()

    def lowered(self, step: Step, arguments: list[Any]) -> Any:
        """The step with these arguments, as the TPU's compiler takes it."""
        self.is_lowering = True
        try:
            return step.lower(arguments)
        finally:
            self.is_lowering = False

    def end_if_seen(self) -> None:
        """Ends the notebook when there is nothing more to be seen.

        Raises:
            EnoughSeenError: That is so.
        """
        kinds = {step.what for step in self.steps}
        if self._last and time.monotonic() - self._last > _WATCHED_SECONDS:
            self.is_complete = False
            raise EnoughSeenError
        if {"train", "predict"} <= kinds:
            raise EnoughSeenError


class WatchedFunction:
    """A function under `jax.jit` or `jax.pmap`, whose calls are seen."""

    def __init__(self, watch: Watch, real: Any, fun: Any, options: dict[str, Any], *, is_mapped: bool) -> None:
        self._watch, self._real, self._fun, self._options = watch, real, fun, options
        self._is_mapped = is_mapped
        self._jitted = real(fun, **options)
        # That of a jitted function knows which of its arguments are static.
        self._eval_shape = getattr(self._jitted, "eval_shape", None) or functools.partial(jax.eval_shape, self._jitted)
        self._results: dict[Any, Any] = {}
        functools.update_wrapper(self, fun, updated=())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Catches a step, or calls the function."""
        what = self._watch.what(self._fun, self._options)
        leaves, tree = jax.tree.flatten((arguments, named))
        if what is None or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._jitted(*arguments, **named)
        key = tuple((getattr(leaf, "shape", None), str(getattr(leaf, "dtype", type(leaf)))) for leaf in leaves)
        if key not in self._results:
            # A step that has an error of its own raises it here, as it would on a TPU.
            shapes = self._eval_shape(*arguments, **named)
            if what != "evaluate":
                self._watch.catch(self._step(what, leaves, tree))
            self._results[key] = _stand_ins(shapes, leaves)
        elif what != "evaluate":
            self._watch.end_if_seen()
        return self._results[key]

    def _step(self, what: str, leaves: list[Any], tree: Any) -> Step:
        mesh = self._watch.mesh
        options = dict(self._options)
        options |= {name: mesh.tree(value) for name, value in options.items() if name.endswith("_shardings")}
        if self._is_mapped and mesh.devices:
            options["devices"] = mesh.devices
        jitted = self._real(self._fun, **options)

        def export(*arguments: Any, **named: Any) -> Any:
            # What jax.pmap gives cannot be exported.
            return None if self._is_mapped else jax.export.export(jitted, platforms=["tpu"])(*arguments, **named)

        def called(with_arguments: Callable[..., Any]) -> Callable[[list[Any]], Any]:
            def call(abstract: list[Any]) -> Any:
                arguments, named = jax.tree.unflatten(tree, abstract)
                return with_arguments(*arguments, **named)

            return call

        abstract = [shape_of(leaf) for leaf in leaves] if self._is_mapped else mesh.abstract(leaves)
        model = model_of(self._fun)
        return Step(
            name=getattr(self._fun, "__name__", what),
            what=what,
            framework="keras" if model is not None else "jax",
            place=self._watch.notebook.calling_place(),
            lower=called(jitted.lower),
            export=called(export),
            trace=called(getattr(jitted, "trace", jitted.lower)),
            arguments=abstract,
            batch=batch_places(leaves, tree, is_keras=model is not None, is_mapped=self._is_mapped),
            is_mapped=self._is_mapped,
            parameters=int(model.count_params()) if model is not None else 0,
        )


def _stand_ins(shapes: Any, leaves: list[Any]) -> Any:
    """Arrays of these shapes: where an argument has one, that argument, for it lies on the right devices."""
    arguments = {(leaf.shape, leaf.dtype): leaf for leaf in reversed(leaves) if isinstance(leaf, jax.Array)}

    def stand_in(each: Any) -> Any:
        found = arguments.get((each.shape, each.dtype))
        return jax.numpy.zeros(each.shape, each.dtype) if found is None else found

    return jax.tree.map(stand_in, shapes)


def _without_platform(real: Any) -> Any:
    def stand_in(backend: Any = None, **options: Any) -> Any:
        return real(None if backend == "tpu" else backend, **options)

    return stand_in
