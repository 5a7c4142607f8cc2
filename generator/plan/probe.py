"""What takes the place of a notebook's training when it is measured: its source becomes a cell before the cell `train`.

It runs in the notebook's process, imports nothing of the kit, writes `probe.json` to the notebook's working folder, and
ends the notebook at its first epoch.
"""

import itertools
import json
import time
import warnings
from collections.abc import Iterable
from statistics import median
from typing import Any

_INPUT_SECONDS = 8.0  # of the pass over the batches, at most
_MATRIX = 2048
_COPY_BYTES = 1 << 28  # bytes: more than a cache holds
_REPEATS = 7  # in turns with steps, so that the medians of both saw the same other programs
_STEPS_WITHOUT_COST = 4
_EMPTY_STEPS = 50
_MOST_LAYERS = 60
_SHORT = 0.3  # seconds of an epoch


def install(notebook: dict[str, Any], timed_steps: int) -> None:
    """Puts a measurement into the place of the notebook's `train_epoch`.

    Args:
        notebook: The names of the notebook, as it defined them before its cell `train`.
        timed_steps: The training steps to take, to compare what they last with what is predicted.
    """
    train_epoch = notebook["train_epoch"]

    def measure(model: Any, batches: Any) -> None:
        def epoch(subset: Any) -> None:
            if hasattr(model, "optimizer"):  # the schedule of learning rates ends with the training
                model.optimizer.iterations.assign(0)
            train_epoch(model, subset)

        machine = _Machine()
        for _ in range(_REPEATS):
            machine.sample()
        measurement, batches = _measure_setup(notebook, model, batches, most=timed_steps or _STEPS_WITHOUT_COST)
        steps = min(measurement["steps_per_epoch"], timed_steps or (0 if measurement["cost"] else _STEPS_WITHOUT_COST))
        if steps:
            most = measurement["steps_per_epoch"] * measurement["epochs"]
            times = {"steps": steps, "most": most, "machine": machine}
            measurement["step_seconds"] = _step_seconds(epoch, batches, **times)
        measurement |= {
            "machine": machine.rates(),
            "loop_seconds": _loop_seconds(notebook, len(_weights(notebook, model))),
        }
        (notebook["run"].output / "probe.json").write_text(json.dumps(measurement))
        warnings.simplefilter("ignore")  # IPython's, on how to leave it
        raise SystemExit

    notebook["train_epoch"] = measure


def _measure_setup(notebook: dict[str, Any], model: Any, batches: Any, most: int) -> tuple[dict[str, Any], Any]:
    """What is measured before a step is taken; and the batches, the first of them where they come only once."""
    import jax
    import numpy as np

    ready = time.monotonic() - notebook["session_start"]
    comes_once = iter(batches) is batches
    first = [] if comes_once else [next(iter(batches))]
    pipeline, sampled_batches = _input(batches, most)
    batches = sampled_batches if comes_once else batches
    batch = jax.tree.map(np.asarray, (first or sampled_batches)[0])
    arrays = jax.tree.leaves(batch)
    measurement = {
        "ready_seconds": ready,
        "input": pipeline,
        "batch": len(arrays[0]),
        "batch_bytes": sum(array.nbytes for array in arrays),
        "parameters": sum(int(np.prod(weight.shape)) for weight in _weights(notebook, model)),
        "steps_per_epoch": int(notebook["steps_per_epoch"]),
        "epochs": int(notebook["epochs"]),
        "folds": len(notebook["folds"]),
        "held_out": int((notebook["fold_of_row"] == 0).sum()),
        "learning_rate": float(notebook["peak"]),
        "base_rate": float(notebook.get("learning_rate", notebook["LEARNING_RATE"])),
        "cost": {},
    }
    try:
        measurement["cost"] = _cost(notebook, model, batch)
    except Exception as error:  # noqa: BLE001 - Keras' own step is private, and a notebook need not have one
        measurement["cost_failed"] = f"{type(error).__name__}: {error}"[:300]
    return measurement, batches


def _input(batches: Iterable[Any], most: int) -> tuple[dict[str, float], list[Any]]:
    """The time of a pass over the batches, in seconds of processors and of the clock; and the first `most` of them."""
    import jax

    first: list[Any] = []
    examples, start_time, processors = 0, time.perf_counter(), time.process_time()
    for batch in batches:
        examples += len(jax.tree.leaves(batch)[0])
        first += [batch] if len(first) < most else []
        if time.perf_counter() - start_time > _INPUT_SECONDS:
            break
    seconds = time.perf_counter() - start_time
    return {
        "processor_seconds": time.process_time() - processors,
        "seconds": seconds,
        "examples": examples,
    }, first


class _Machine:
    """The peak rates of this machine, as XLA's product of matrices and NumPy's copy of memory reach them."""

    def __init__(self) -> None:
        import jax
        import numpy as np

        self._matrix = jax.numpy.asarray(np.random.default_rng(0).random((_MATRIX, _MATRIX), dtype="float32"))
        self._product = jax.jit(lambda matrix: matrix @ matrix)
        self._product(self._matrix).block_until_ready()
        self._source, self._copy = np.ones(_COPY_BYTES, "uint8"), np.empty(_COPY_BYTES, "uint8")
        self._products: list[float] = []
        self._copies: list[float] = []

    def sample(self) -> None:
        """Takes the time of a product and of a copy."""
        import numpy as np

        start_time = time.perf_counter()
        self._product(self._matrix).block_until_ready()
        middle_time = time.perf_counter()
        np.copyto(self._copy, self._source)
        self._products.append(middle_time - start_time)
        self._copies.append(time.perf_counter() - middle_time)

    def rates(self) -> dict[str, float]:
        """The operations and bytes a second of the median sample."""
        return {"flops": 2 * _MATRIX**3 / median(self._products), "bytes": 2 * _COPY_BYTES / median(self._copies)}


def _weights(notebook: dict[str, Any], model: Any) -> list[Any]:
    """The weights that are trained, of a model of Keras, of PyTorch or of the networks that Flax's NNX has."""
    import jax

    if "torch" in notebook:
        return list(model["network"].parameters())
    if "nnx" not in notebook:
        return list(model.trainable_variables)
    nnx = notebook["nnx"]
    return list(jax.tree.leaves(nnx.state(model["network"], nnx.Param)))


def _lower_step(notebook: dict[str, Any], model: Any, batch: Any) -> Any:
    """The notebook's own training step, or Keras', as XLA takes it."""
    import jax

    if "nnx" in notebook:
        arrays, tree = jax.tree.flatten(notebook["nnx"].split(model))
        return notebook["train_step"].lower(tree, arrays, *notebook["on_devices"](batch))

    def abstract(value: Any) -> Any:
        return jax.eval_shape(lambda: jax.numpy.zeros(value.shape, value.dtype))

    model._symbolic_build(data_batch=batch)  # noqa: SLF001 - Keras has no public way to its step
    state = jax.tree.map(abstract, model._get_jax_state(True, True, True, True))  # noqa: SLF001 - as above
    return jax.jit(model.train_step, donate_argnums=0).lower(state, jax.tree.map(abstract, batch))


def _cost(notebook: dict[str, Any], model: Any, batch: Any) -> dict[str, float]:
    """The cost of a training step, as XLA tells it on this machine's processors."""
    lowered_step = _lower_step(notebook, model, batch)
    # Before it is optimised, a convolution has the operations that it has; afterwards a depthwise one has many more.
    analysis, start_time = lowered_step.cost_analysis() or {}, time.perf_counter()
    executable: Any = lowered_step.compile()
    seconds, memory = time.perf_counter() - start_time, executable.memory_analysis()
    return {
        "flops": analysis["flops"],
        "bytes": executable.cost_analysis()["bytes accessed"],
        "memory": memory.argument_size_in_bytes + memory.temp_size_in_bytes,
        "compile_seconds": seconds,
    }


def _loop_seconds(notebook: dict[str, Any], variables: int) -> float:
    """The seconds of a step of Keras' loop with as many variables, of one number each; 0 where it is not Keras'."""
    import numpy as np

    if not {"keras", "tf"} <= notebook.keys():
        return 0.0
    keras, zeros = notebook["keras"], np.zeros((_EMPTY_STEPS, 8, 1), "float32")
    keras.config.set_dtype_policy("float32")
    layers = [keras.layers.Dense(1) for _ in range(min(_MOST_LAYERS, variables // 2 + 1))]
    model = keras.Sequential([keras.Input((1,)), *layers])
    model.compile(optimizer="adamw", loss="mse")
    batches = notebook["tf"].data.Dataset.from_tensor_slices((zeros, zeros))
    seconds = []
    for _ in range(_REPEATS):
        start_time = time.perf_counter()
        model.fit(batches, verbose=0)
        seconds.append(time.perf_counter() - start_time)
    return median(seconds) / _EMPTY_STEPS


def _step_seconds(epoch: Any, batches: Any, *, steps: int, most: int, machine: _Machine) -> float:
    """The seconds of a training step whose batches are there already, once it is compiled; `most` the schedule has."""
    subset = list(itertools.islice(batches, steps))
    if hasattr(batches, "take"):
        subset = batches.take(steps).cache()
        for _ in subset:
            pass
    epoch(subset)
    start_time = time.perf_counter()
    epoch(subset)
    if time.perf_counter() - start_time < _SHORT and hasattr(subset, "repeat"):
        # An epoch of few short steps would be its beginning and its end.
        rounds = max(1, min(_EMPTY_STEPS, most) // steps)
        subset, steps = subset.repeat(rounds), steps * rounds
    seconds = []
    for _ in range(_REPEATS):
        machine.sample()
        start_time = time.perf_counter()
        epoch(subset)
        seconds.append(time.perf_counter() - start_time)
    return median(seconds) / steps
