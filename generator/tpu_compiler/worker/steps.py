"""Steps of JAX and of Keras on JAX, caught at their calls."""

import functools
import inspect
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.export
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from generator.tpu_compiler.worker.cells import CellLine, EnoughSeenError, Notebook

# A step as it was called, and which of its arguments are the batch.


@dataclass
class StepCall:
    """A step as it was called: `arguments` are the leaves of its arguments, of which `batch` are those of the batch."""

    name: str
    kind: str
    framework: str
    place: CellLine
    lower: Callable[[list[Any]], Any]
    export: Callable[[list[Any]], Any]
    trace: Callable[[list[Any]], Any]
    arguments: list[Any]
    batch: list[int]
    is_mapped: bool = False
    parameters: int = 0
    lowering: Any = None
    error: Exception | None = None
    shapes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        batch_shapes = [str(tuple(self.arguments[place].shape)) for place in self.batch[:3]]
        self.shapes[", ".join(batch_shapes)] = None  # in the order in which they come

    @property
    def cores(self) -> int:
        """The devices that it runs on."""
        if self.is_mapped:
            return int(self.arguments[self.batch[0]].shape[0]) if self.batch else jax.device_count()
        shardings = [leaf.sharding for leaf in self.arguments if hasattr(leaf, "sharding")]
        return max((sharding.num_devices for sharding in shardings), default=1)

    @property
    def batch_per_core(self) -> int:
        """Examples that a core gets; 0 where no argument is a batch."""
        if not self.batch:
            return 0
        leaf = self.arguments[self.batch[0]]
        if self.is_mapped:
            return int(leaf.shape[1]) if len(leaf.shape) > 1 else 0
        return int(leaf.shape[0]) // self.parts

    @property
    def parts(self) -> int:
        """Into how many parts the batch is split; 1 where every core gets all of it."""
        leaf = self.arguments[self.batch[0]]
        if self.is_mapped:
            return int(leaf.shape[0])
        return int(leaf.shape[0]) // max(int(leaf.sharding.shard_shape(leaf.shape)[0]), 1)

    def of_batch(self, per_core: int) -> list[Any]:
        """The arguments with another batch."""
        shape_of = {
            place: (leaf.shape[0], per_core, *leaf.shape[2:])
            if self.is_mapped
            else (per_core * self.parts, *leaf.shape[1:])
            for place in self.batch
            if (leaf := self.arguments[place]).shape
        }
        return [
            jax.ShapeDtypeStruct(shape_of[place], leaf.dtype, sharding=leaf.sharding) if place in shape_of else leaf
            for place, leaf in enumerate(self.arguments)
        ]


def keras_model(fun: Any) -> Any:
    """The Keras model that a step of Keras's own belongs to."""
    owner = getattr(fun, "__self__", None)
    if owner is None and (getattr(fun, "__module__", "") or "").startswith("keras."):
        owner = inspect.getclosurevars(fun).nonlocals.get("self")
    return owner if hasattr(owner, "count_params") else None


def batch_places(leaves: list[Any], tree: Any, *, is_keras: bool, is_mapped: bool) -> list[int]:
    """The places of the batch: Keras says which; else what is split over its first axis, or came from the host."""
    arrays = [place for place, leaf in enumerate(leaves) if getattr(leaf, "shape", ())]
    if is_keras:
        state = tree.children()[0].children()[0].num_leaves
        return [place for place in arrays if place >= state]
    if not is_mapped:
        places = [place for place in arrays if _is_split(leaves[place])]
        places = places or [place for place in arrays if isinstance(leaves[place], np.ndarray)]
    else:
        places = []
    if not places and arrays:  # the last arguments of one length
        axis = 1 if is_mapped else 0
        length = leaves[arrays[-1]].shape[: axis + 1]
        for place in reversed(arrays):
            if leaves[place].shape[: axis + 1] != length:
                break
            places.append(place)
        places.reverse()
    return places


def _is_split(leaf: Any) -> bool:
    sharding = getattr(leaf, "sharding", None)
    return isinstance(sharding, NamedSharding) and bool(sharding.spec) and sharding.spec[0] is not None


# Keras on JAX, whatever backend a notebook asks for: a model's code is the same, and JAX reaches the TPU's
# compiler.
#
# Weights that would be fetched are not: which numbers a model starts from changes nothing of its program.


_NOT_FETCHED = "/not-fetched/"


def import_keras() -> None:
    """Imports Keras, where it is installed, with its fetching of weights switched off."""
    try:
        import keras
        from keras.src.utils import file_utils
    except ImportError:
        return
    real_get, real_load = file_utils.get_file, keras.Model.load_weights

    def get_file(fname: Any = None, origin: Any = None, *arguments: Any, **options: Any) -> Any:
        if str(fname or origin).endswith((".h5", ".keras")):
            return f"{_NOT_FETCHED}{fname}"
        return real_get(fname, origin, *arguments, **options)

    def load_weights(model: Any, filepath: Any, *arguments: Any, **options: Any) -> Any:
        if not str(filepath).startswith(_NOT_FETCHED):
            return real_load(model, filepath, *arguments, **options)
        return None

    file_utils.get_file = get_file
    keras.utils.get_file = get_file
    keras.Model.load_weights = load_weights
    keras.config.set_max_epochs(1)  # one shows every shape that there is


# The TPU's devices in the place of the CPU's: the same shardings on another mesh.


class TpuMesh:
    """The devices that are compiled for; those of the CPU where `devices` is empty, and then nothing is swapped."""

    def __init__(self, devices: list[Any]) -> None:
        self.devices = devices
        self._meshes: dict[Any, Mesh] = {}

    def mesh(self, mesh: Any) -> Any:
        """A mesh of the same shape on these devices."""
        if not self.devices or not isinstance(mesh, Mesh) or mesh.devices.flat[0] in self.devices:
            return mesh
        if mesh not in self._meshes:
            chips = np.array(self.devices[: mesh.devices.size]).reshape(mesh.devices.shape)
            self._meshes[mesh] = Mesh(chips, mesh.axis_names, axis_types=mesh.axis_types)
        return self._meshes[mesh]

    def sharding(self, sharding: Any) -> Any:
        """A sharding on these devices; what is none, such as None, stays as it is."""
        if not self.devices or not isinstance(sharding, Sharding):
            return sharding
        if isinstance(sharding, NamedSharding):
            return NamedSharding(self.mesh(sharding.mesh), sharding.spec)
        return SingleDeviceSharding(self.devices[0])

    def tree(self, shardings: Any) -> Any:
        """A tree of shardings on these devices."""
        return jax.tree.map(self.sharding, shardings, is_leaf=lambda node: node is None or isinstance(node, Sharding))

    def abstract(self, leaves: list[Any]) -> list[Any]:
        """Shapes in place of arrays; what lies on no mesh goes along with what does."""
        named_shardings = [leaf.sharding for leaf in leaves if _is_on_a_mesh(leaf)]
        first = self.devices[0] if self.devices else jax.devices()[0]
        alone: Any = (
            NamedSharding(self.mesh(named_shardings[0].mesh), PartitionSpec())
            if named_shardings
            else SingleDeviceSharding(first)
        )
        return [shape_of(leaf, self.sharding(leaf.sharding) if _is_on_a_mesh(leaf) else alone) for leaf in leaves]


def shape_of(leaf: Any, sharding: Any = None) -> Any:
    """The shape of an array, as JAX lowers it; what is none stays as it is."""
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        return leaf
    dtype = leaf.dtype if isinstance(leaf, jax.Array) else jax.dtypes.canonicalize_dtype(leaf.dtype)
    return jax.ShapeDtypeStruct(leaf.shape, dtype, sharding=sharding)


def _is_on_a_mesh(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and isinstance(leaf.sharding, NamedSharding)


# Stands in for `jax.jit` and `jax.pmap`: catches each step at its call, once for each set of shapes.
#
# A step that is caught is lowered for the TPU and not run: its call returns arrays of the right shapes, so that a
# notebook goes on to its next step in no time. What is no step runs as ever.


_KERAS = {"train_step": "train", "predict_step": "predict", "test_step": "evaluate"}
_STEP = re.compile(r"step|update|train|predict|eval|infer|forward|apply")
_TRAINS = re.compile(r"step|update|train")
_WATCHED_SECONDS = 20.0  # after the last new step; by then an epoch's last batch has come, or is not waited for


class StepRecorder:
    """The steps of a notebook, as they are called."""

    def __init__(self, notebook: Notebook, mesh: TpuMesh, tell: Callable[[str], None]) -> None:
        self.notebook = notebook
        self.mesh = mesh
        self.steps: list[StepCall] = []
        self.is_complete = True
        self._tell = tell
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
                return lambda target: decorate(target, **options)
            return WatchedFunction(self, real, fun, options, is_mapped=is_mapped)

        return decorate

    def step_kind(self, fun: Any, options: dict[str, Any]) -> str | None:
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
        donations = (options.get("donate_argnums"), options.get("donate_argnames"))
        if any(donation not in (None, ()) for donation in donations):
            return "train"
        return "predict" if re.search(r"predict|infer", name) else name if _STEP.search(name) else None

    def catch(self, step: StepCall) -> None:
        """Lowers a step, and keeps it with what came of that."""
        matches = [
            candidate for candidate in self.steps if candidate.name == step.name and candidate.place == step.place
        ]
        if matches:
            matches[0].shapes |= step.shapes
            return
        self._tell(f"lowers the step {step.name}")
        try:
            step.lowering = self.lower(step, step.arguments)
        except Exception as error:  # noqa: BLE001 - the notebook's own code is traced here
            step.error = error
        self.steps.append(step)
        self._last = time.monotonic()

    def lower(self, step: StepCall, arguments: list[Any]) -> Any:
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
        kinds = {step.kind for step in self.steps}
        if self._last and time.monotonic() - self._last > _WATCHED_SECONDS:
            self.is_complete = False
            raise EnoughSeenError
        if {"train", "predict"} <= kinds:
            raise EnoughSeenError


class WatchedFunction:
    """A function under `jax.jit` or `jax.pmap`, whose calls are seen."""

    def __init__(self, watch: StepRecorder, real: Any, fun: Any, options: dict[str, Any], *, is_mapped: bool) -> None:
        self._watch, self._real, self._fun, self._options = watch, real, fun, options
        self._is_mapped = is_mapped
        self._jit_function = real(fun, **options)
        # That of a jitted function knows which of its arguments are static.
        self._eval_shape = getattr(self._jit_function, "eval_shape", None) or functools.partial(
            jax.eval_shape, self._jit_function
        )
        self._results: dict[Any, Any] = {}
        functools.update_wrapper(self, fun, updated=())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jit_function, name)

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Catches a step, or calls the function."""
        kind = self._watch.step_kind(self._fun, self._options)
        leaves, tree = jax.tree.flatten((arguments, keywords))
        if kind is None or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._jit_function(*arguments, **keywords)
        key = tuple((getattr(leaf, "shape", None), str(getattr(leaf, "dtype", type(leaf)))) for leaf in leaves)
        if key not in self._results:
            # A step that has an error of its own raises it here, as it would on a TPU.
            shapes = self._eval_shape(*arguments, **keywords)
            if kind != "evaluate":
                self._watch.catch(self._step(kind, leaves, tree))
            self._results[key] = _stand_ins(shapes, leaves)
        elif kind != "evaluate":
            self._watch.end_if_seen()
        return self._results[key]

    def _step(self, kind: str, leaves: list[Any], tree: Any) -> StepCall:
        mesh = self._watch.mesh
        options = dict(self._options)
        options |= {name: mesh.tree(value) for name, value in options.items() if name.endswith("_shardings")}
        if self._is_mapped and mesh.devices:
            options["devices"] = mesh.devices
        jit_function = self._real(self._fun, **options)

        def export(*arguments: Any, **keywords: Any) -> Any:
            # What jax.pmap gives cannot be exported.
            return (
                None if self._is_mapped else jax.export.export(jit_function, platforms=["tpu"])(*arguments, **keywords)
            )

        def adapt(with_arguments: Callable[..., Any]) -> Callable[[list[Any]], Any]:
            def call(abstract: list[Any]) -> Any:
                arguments, keywords = jax.tree.unflatten(tree, abstract)
                return with_arguments(*arguments, **keywords)

            return call

        abstract = [shape_of(leaf) for leaf in leaves] if self._is_mapped else mesh.abstract(leaves)
        model = keras_model(self._fun)
        return StepCall(
            name=getattr(self._fun, "__name__", kind),
            kind=kind,
            framework="keras" if model is not None else "jax",
            place=self._watch.notebook.calling_place(),
            lower=adapt(jit_function.lower),
            export=adapt(export),
            trace=adapt(getattr(jit_function, "trace", jit_function.lower)),
            arguments=abstract,
            batch=batch_places(leaves, tree, is_keras=model is not None, is_mapped=self._is_mapped),
            is_mapped=self._is_mapped,
            parameters=int(model.count_params()) if model is not None else 0,
        )


def _stand_ins(shapes: Any, leaves: list[Any]) -> Any:
    """Arrays of these shapes: where an argument has one, that argument, for it lies on the right devices."""
    arguments = {(leaf.shape, leaf.dtype): leaf for leaf in reversed(leaves) if isinstance(leaf, jax.Array)}

    def stand_in(struct: Any) -> Any:
        argument = arguments.get((struct.shape, struct.dtype))
        return jax.numpy.zeros(struct.shape, struct.dtype) if argument is None else argument

    return jax.tree.map(stand_in, shapes)


def _without_platform(real: Any) -> Any:
    def stand_in(backend: Any = None, **options: Any) -> Any:
        return real(None if backend == "tpu" else backend, **options)

    return stand_in
