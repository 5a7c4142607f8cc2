"""Catches the steps of JAX and of Keras at their calls, compiles them, and searches for the largest batch that fits."""

import contextlib
import functools
import hashlib
import inspect
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.export
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from generator.tpu_compiler.worker import CellLine, EnoughSeenError, Notebook

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


# A program of any batch, from the texts of those of two: they differ in numbers alone, which lie on lines.


_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def program_of_length(programs: Mapping[int, str], length: int) -> str:
    """Returns a program in StableHLO for a batch of this length.

    Args:
        programs: The program's text for two lengths of the batch.
        length: That of the batch to write it for.

    Raises:
        ValueError: The two do not differ, or in more than numbers; or one has no whole number for this length.
    """
    (small_length, text), (large_length, other_text) = min(programs.items()), max(programs.items())
    if small_length == large_length:
        raise ValueError("it is not copied from the host, where its size could be changed")
    fragments = _NUMBER.split(text)
    if fragments != _NUMBER.split(other_text):
        raise ValueError("with a smaller one it computes other operations")

    def at_length(number: str, other_number: str) -> str:
        # A factor such as 1 / 128 changes nothing that a compiler tells.
        if number == other_number or not (number + other_number).isdecimal():
            return number
        growth, rest = divmod((int(other_number) - int(number)) * (length - small_length), large_length - small_length)
        if rest or int(number) + growth < 0:
            raise ValueError(f"a length in it, {number}, does not grow in step with the batch")
        return str(int(number) + growth)

    numbers = map(at_length, _NUMBER.findall(text), _NUMBER.findall(other_text))
    return "".join(part for pair in zip(fragments, [*numbers, ""], strict=True) for part in pair)


# What stands in the text of an optimised program of XLA: padding, cycles, operations between cores.


_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_OPERATION = re.compile(rf" ({'|'.join(_COLLECTIVES)})(?:-start)?\(")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_TILED_ARRAY = re.compile(r"= (\w+)\[([\d,]*)\]\{([\d,]*):T\(([\d,]+)\)([^}]*)\}")
_BITS = re.compile(r"[a-z]+(\d+)")
_ELSEWHERE = "S("  # any memory space but HBM: S(1) and, for scalars, S(6) are on the chip


@dataclass(frozen=True)
class ProgramFacts:
    """What a program's text tells: `padding` and `cycles` are None where it has no tiles and no estimates."""

    padding: float | None
    cycles: int | None
    collectives: dict[str, int]


def read_program(text: str) -> ProgramFacts:
    """Reads the text that a compiled program gives of itself."""
    start = text.find("\nENTRY ")
    entry = text[start:] if start >= 0 else text
    # Those of the parts are in those of what calls them.
    cycles = [int(number) for number in _CYCLES.findall(entry)]
    logical = padded_size = 0
    for size, tiled_size in _results(entry):
        logical, padded_size = logical + size, padded_size + tiled_size
    return ProgramFacts(
        padding=round(padded_size / logical, 3) if logical else None,
        cycles=sum(cycles) if cycles else None,
        collectives=dict(sorted(Counter(_OPERATION.findall(text)).items())),
    )


def _results(entry: str) -> Iterator[tuple[int, int]]:
    """The bytes of each result in HBM, without padding and in tiles."""
    for kind, dimensions, order, tile, rest in _TILED_ARRAY.findall(entry):
        bits = _BITS.match(kind)
        if _ELSEWHERE in rest or not (bits or kind == "pred"):
            continue
        size = max(1, int(bits[1]) // 8) if bits else 1
        shape = [int(length) for length in (dimensions or "1").split(",")]  # a number alone takes a tile as well
        tiled_shape = list(shape)
        for axis, by in zip((order or "0").split(","), reversed(tile.split(",")), strict=False):
            tiled_shape[int(axis)] = -(-tiled_shape[int(axis)] // int(by)) * int(by)
        yield math.prod(shape) * size, math.prod(tiled_shape) * size


# The largest batch a core that fits: two points on the line of memory over batch, and one to confirm.


MULTIPLE = 8
_MOST_COMPILATIONS = 4
_CAUTION = 0.98  # a compiler that has room to spare uses some of it


@dataclass(frozen=True)
class Fit:
    """What the compiler said of a batch: the memory it takes, or would take where it does not fit; None if unknown."""

    batch: int
    memory: int | None
    does_fit: bool


def largest_batch(
    first_fit: Fit, *, fixed_memory: int, limit: int, compile_batch: Callable[[int], Fit]
) -> tuple[Fit | None, int]:
    """Finds the largest multiple of 8 that fits into memory.

    Args:
        first_fit: What was compiled already, of any batch.
        fixed_memory: Bytes that a step takes whatever its batch: weights and optimizer.
        limit: The bytes that there are.
        compile_batch: Compiles the step for a batch.

    Returns:
        The largest batch that was seen to fit, or None if not even 8 do; and the number of compilations.
    """
    points = {first_fit.batch: first_fit}
    best = first_fit if first_fit.does_fit else None
    too_large = None if first_fit.does_fit else first_fit.batch
    for count in range(_MOST_COMPILATIONS):
        batch = _next(points, fixed_memory=fixed_memory, limit=limit, above=best.batch if best else 0, below=too_large)
        if batch is None:
            return best, count
        fit = points[batch] = compile_batch(batch)
        if fit.does_fit:
            best = fit
        else:
            too_large = batch
    return best, _MOST_COMPILATIONS


def _next(points: dict[int, Fit], *, fixed_memory: int, limit: int, above: int, below: int | None) -> int | None:
    """The batch to try next, or None where nothing is left to be found out."""
    # Batches that are padded to one length take the same: of those that do not fit, the smallest alone is of use.
    useful = [fit for fit in points.values() if below is None or fit.batch <= below]
    measurements = sorted((fit.batch, fit.memory) for fit in useful if fit.memory is not None)
    if not measurements:
        guess = above * 2 if below is None else (above + below) // 2
    else:
        (low, low_memory), (high, high_memory) = [(0, fixed_memory), *measurements][-2:]
        slope = max((high_memory - low_memory) / (high - low), 1.0)
        guess = int(high + (_CAUTION * limit - high_memory) / slope)
    smallest = above // MULTIPLE * MULTIPLE + MULTIPLE
    batch = max(guess // MULTIPLE * MULTIPLE, smallest)
    if below is not None:
        batch = min(batch, (below - 1) // MULTIPLE * MULTIPLE)
    if batch < smallest or batch in points:
        return None
    # A few per cent more are not worth minutes of compiling.
    is_close = above and batch < above * 1.05 and len(points) > 1
    return None if is_close else batch


_GIB = 1 << 30
_MEMORY_NEED = re.compile(
    r"(?:Used|total memory required[^(]*\(|requires?) ?\(?([\d.]+)([KMGT]) of|temporaries \(([\d.]+)([KMGT])\)"
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Figures = dict[str, Any]
Recall = Callable[[str], Figures | None]
"""Asks for what was said of a program before, by its key."""


class Compiler:
    """The TPU's compiler for one topology, or XLA's for the CPU."""

    def __init__(self, order: dict[str, Any], recall: Recall, tell: Callable[[dict[str, Any]], None]) -> None:
        self._topology = order["topology"]
        self._limit: int | None = order["memory_limit"]
        self._clock: float = order["clock"]
        self._identity = f"{order['compiler']} {jax.__version__} {self._topology}"
        self._recall, self._tell = recall, tell

    @property
    def is_for_tpu(self) -> bool:
        """Whether this is libtpu."""
        return bool(self._topology != "cpu")

    def figures(self, step: StepCall, lowering: Any) -> Figures:
        """What the compiler says of a step, or said; `error` is its message, where it refuses."""
        key = hashlib.sha256(f"{self._identity}\n{lowering.as_text()}".encode()).hexdigest()
        cached_figures = self._recall(key)
        if cached_figures is not None:
            return cached_figures | {"in_cache": True}
        self._tell({"progress": f"compiles {step.kind} for {self._topology}, {step.name}"})
        start_time = time.monotonic()
        try:
            with _no_other_cache():
                program = lowering.compile()
        except Exception as error:  # noqa: BLE001 - whatever the compiler says
            figures: Figures = {"error": f"{type(error).__name__}: {error}"[:20_000]}
        else:
            figures = self._read(lowering, program, step.cores)
        figures["compile_seconds"] = round(time.monotonic() - start_time, 2)
        self._tell({"keep": key, "figures": figures})
        return figures

    def _read(self, lowering: Any, program: Any, cores: int) -> Figures:
        cost, memory = program.cost_analysis() or {}, program.memory_analysis()
        facts = read_program(program.as_text())
        flops = float(cost.get("flops", 0.0))
        if not self.is_for_tpu:
            # XLA's compiler for the CPU counts depthwise convolutions many times over; before it, nothing is split yet.
            flops = float((lowering.cost_analysis() or {}).get("flops", flops * cores)) / cores
        return {
            "flops": flops,
            "bytes_moved": float(cost.get("bytes accessed", 0.0)),
            "peak_memory": int(memory.peak_memory_in_bytes) if self.is_for_tpu else None,
            "padding": facts.padding,
            "cycles_seconds": facts.cycles / self._clock if facts.cycles and self.is_for_tpu else None,
            "collectives": facts.collectives,
        }

    def fit(self, step: StepCall, lowering: Any, batch: int) -> Fit:
        """Whether a step fits into memory; one that is refused for another reason does not."""
        figures = self.figures(step, lowering)
        if error := figures.get("error"):
            return Fit(batch, needed_memory(error), does_fit=False)
        peak = figures["peak_memory"]
        return Fit(batch, peak, does_fit=peak is None or self._limit is None or peak <= self._limit)

    def largest_batch(self, step: StepCall, first_fit: Fit, lower: Callable[[int], Any]) -> dict[str, Any]:
        """The largest batch of a step that fits, found in few compilations."""
        fixed_memory = sum(_bytes(leaf) for place, leaf in enumerate(step.arguments) if place not in step.batch)
        best_fit, compilations = largest_batch(
            first_fit,
            fixed_memory=fixed_memory,
            limit=self._limit or 0,
            compile_batch=lambda batch: self.fit(step, lower(batch), batch),
        )
        return {
            "batch_per_core": best_fit.batch if best_fit else 0,
            "peak_memory": best_fit.memory if best_fit else None,
            "compilations": compilations,
        }


def batch_bytes(step: StepCall) -> int:
    """The bytes of a core's batch."""
    return sum(_bytes(step.arguments[place]) for place in step.batch) // step.parts if step.batch else 0


def _bytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize if hasattr(leaf, "dtype") and hasattr(leaf, "shape") else 0


def is_about_memory(message: str) -> bool:
    """Whether a compiler refuses a program for want of memory."""
    return "RESOURCE_EXHAUSTED" in message or "Ran out of memory" in message


def needed_memory(message: str) -> int | None:
    """The bytes that a program would need, from the compiler's message."""
    match = _MEMORY_NEED.search(message)
    if not match:
        return None
    number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    return int(float(number) * _UNITS[unit])


def refused_place(message: str, lowering: Any, notebook: Notebook) -> CellLine | None:
    """The cell and line of the operation that a compiler's message is about."""
    if place := notebook.place_in_text(message):
        return place
    names = re.findall(r'op_name="([^"]+)"', message)
    text = lowering.as_text(debug_info=True) if names else ""
    for name in names:
        at = text.find(name)
        if at >= 0 and (place := notebook.place_in_text(text[at : at + 2_000])):
            return place
    return None


def place_of_primitive(step: StepCall, name: str, notebook: Notebook) -> CellLine | None:
    """The cell and line of the first operation of this name in a step, as JAX traces it."""
    try:
        todo = [step.trace(step.arguments).jaxpr.jaxpr]
    except Exception:  # noqa: BLE001 - the notebook's own code is traced here
        return None
    while todo:
        for equation in todo.pop().eqns:
            if equation.primitive.name == name and equation.source_info.traceback is not None:
                return notebook.place_of_frames(equation.source_info.traceback.frames)
            inner = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda value: hasattr(value, "eqns"))
            todo += [getattr(value, "jaxpr", value) for value in inner if hasattr(value, "eqns")]
    return None


@contextlib.contextmanager
def _no_other_cache() -> Any:
    """JAX's own cache, which a notebook may have switched on, keeps programs to be run; these are not."""
    was = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", was)


# Every caught step given to the compiler, and what it says as events.


_PRIMITIVE = re.compile(r"primitive '?([\w.-]+)'?")
_LONGEST_REASON = 250  # characters of a Python error that are told


class CaughtSteps(Protocol):
    """The steps of a notebook; `is_complete` says whether an epoch was seen to its end."""

    notebook: Notebook
    steps: list[StepCall]
    is_complete: bool

    def lower(self, step: StepCall, arguments: list[Any]) -> Any:
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
            if step.kind == "predict" and not self._order["predict"]:
                continue
            if len(step.shapes) > 1:
                self._tell({"recompilation": list(step.shapes), **_at(step)})
            if self._compiler.is_for_tpu and 1 == step.cores < self._order["cores"] and step.kind == "train":
                self._tell({"one_core": True, **_at(step)})
            elif step.cores > 1 and step.kind == "train" and step.batch and step.parts == 1:
                self._tell({"whole_batch": step.cores, **_at(step)})
            self._compile(step)

    def _compile(self, step: StepCall) -> None:
        if step.error is not None:
            self._refused_by_jax(step, step.error)
            return
        batch, lowering, requested_batch = step.batch_per_core, step.lowering, self._order["batch_per_core"]
        if requested_batch and requested_batch != batch and batch:
            try:
                lowering = self._of_batch(step, requested_batch)
                batch = requested_batch
            except Exception as refusal:  # noqa: BLE001 - the notebook's own code is traced here
                self._knows_no_other(step, batch, refusal)
        if not self._compiler.is_for_tpu and not self._exports(step):
            return
        figures = self._compiler.figures(step, lowering)
        error = figures.get("error", "")
        if error and not is_about_memory(error):
            self._tell_refusal(step, error, refused_place(error, lowering, self._watch.notebook) or step.place)
            return
        if error:
            self._tell({"memory": needed_memory(error), "batch_per_core": batch, **_at(step)})
            fit = Fit(batch, needed_memory(error), does_fit=False)
        else:
            step_fields = {"batch_per_core": batch, "cores": step.cores, "parameters": step.parameters}
            size = batch_bytes(step) * batch // max(step.batch_per_core, 1)
            self._tell(
                {"figures": figures, "batch_bytes": size, "framework": step.framework, **step_fields, **_at(step)}
            )
            fit = Fit(batch, figures["peak_memory"], does_fit=True)
        if step.kind == "train" and batch and self._compiler.is_for_tpu and (error or self._order["largest_batch"]):
            self._find_largest(step, fit)

    def _find_largest(self, step: StepCall, fit: Fit) -> None:
        try:
            result = self._compiler.largest_batch(step, fit, lambda size: self._of_batch(step, size))
        except Exception as error:  # noqa: BLE001 - the notebook's own code is traced here
            self._knows_no_other(step, fit.batch, error)
        else:
            self._tell({"largest": result})

    def _knows_no_other(self, step: StepCall, batch: int, error: Exception) -> None:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        self._tell({"unknown": f"The step {step.name} was compiled for no other batch than {batch:,} a core: {reason}"})

    def _of_batch(self, step: StepCall, size: int) -> Any:
        return self._watch.lower(step, step.of_batch(size))

    def _exports(self, step: StepCall) -> bool:
        """Whether JAX lowers a step for the TPU, which needs no compiler and finds what has no TPU implementation."""
        try:
            step.export(step.arguments)
        except Exception as error:  # noqa: BLE001 - whatever the lowering says
            self._refused_by_jax(step, error)
            return False
        return True

    def _refused_by_jax(self, step: StepCall, error: Exception) -> None:
        """An error of the lowering, at the line that has the operation, or else that it passed through."""
        notebook, message = self._watch.notebook, f"{type(error).__name__}: {error}"
        match = _PRIMITIVE.search(message)
        place = place_of_primitive(step, match[1], notebook) if match else None
        error_place = notebook.place_of(error)
        self._tell_refusal(step, message, place or (error_place if error_place.line else step.place))

    def _tell_refusal(self, step: StepCall, message: str, place: CellLine) -> None:
        self._tell({"refused": message[:20_000], **_at(step), "cell": place.cell, "line": place.line})


def _at(step: StepCall) -> dict[str, Any]:
    return {"step": step.name, "what": step.kind, "cell": step.place.cell, "line": step.place.line}
