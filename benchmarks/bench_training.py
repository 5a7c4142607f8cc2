"""How fast the training loop of the notebooks is beside a bare loop of the framework's own on arrays in memory."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from measuring import Bar, Row, command_line, in_fresh_process, in_pairs, print_table, ratio_row, say
from notebook_cells import run_cells
from synthetic import write_competition

PAIRS = {
    "digits": "keras",
    "digits-tensorflow": "tensorflow",
    "digits-jax": "jax",
    "digits-torch": "torch",
}


@dataclass(frozen=True)
class Size:
    """How much is measured: `steps` are the timed training steps of one turn, by pair."""

    rows: int
    steps: dict[str, int]
    turns: int
    image_size: int = 64
    batch_size: int = 128


FULL = Size(rows=20_000, steps=dict.fromkeys(PAIRS, 30), turns=6)
QUICK = Size(rows=1_500, steps={**dict.fromkeys(PAIRS, 2), "digits-tensorflow": 4}, turns=2)


@dataclass(frozen=True)
class Times:
    """Images a second of both loops in turn, and seconds of what a training does now and then."""

    notebook: list[float]
    bare: list[float]
    images: int
    later_pass: list[float]
    step: float
    checkpoint: list[float]


def measure(root: Path, pair: str, size: Size) -> Times:
    """Runs the cells of a training notebook up to its loop, and times an epoch of it beside a bare one."""
    cells = run_cells(
        pair,
        "train",
        parameters={
            "INPUT_ROOT": str(root / "input"),
            "WORKING_ROOT": str(root / pair),
            "ALLOW_CPU": True,
            "IMAGE_SIZE": size.image_size,
            "CHANNELS": 3,
            "BATCH_SIZE": size.batch_size,
        },
        last="training-steps",
    )
    inside = cells.np.flatnonzero(cells.fold_of_row != 0)
    inputs, targets = {"image": cells.examples["image"][inside]}, cells.targets[inside]
    epoch = (inputs, targets, cells.global_batch)
    pass_seconds = [_pass_seconds(cells.training_batches(*epoch, cells.steps_per_epoch, [0, n])) for n in range(4)]
    steps = min(size.steps[pair], cells.steps_per_epoch)
    count = steps * cells.global_batch
    images, labels = inputs["image"][:count], targets[:count]
    model = cells.create(cells.model_arguments, cells.learning_rates, cells.SEED)
    bare = cells.create(cells.model_arguments, cells.learning_rates, cells.SEED)
    seeds = iter(range(10_000))

    def ours() -> object:
        return cells.train_epoch(model, cells.training_batches(*epoch, steps, [1, next(seeds)]))

    def theirs() -> object:
        return BARE.get(pair, _keras_loop)(cells, bare, images, labels)

    def images_a_second(train: Callable[[], object]) -> float:
        started = time.perf_counter()
        train()
        return count / (time.perf_counter() - started)

    for train in (ours, theirs):
        train()  # compiles
    loops = (lambda: images_a_second(ours)), (lambda: images_a_second(theirs))
    notebook, plain = in_pairs(f"{PAIRS[pair]}, images a second", *loops, pairs=size.turns)
    return Times(
        notebook,
        plain,
        images=cells.steps_per_epoch * cells.global_batch,
        later_pass=pass_seconds[1:],
        step=cells.global_batch / max(notebook),
        checkpoint=_checkpoint_seconds(cells, model),
    )


def _keras_loop(cells: ModuleType, model: Any, images: Any, labels: Any) -> object:
    return model.fit(images, labels, batch_size=cells.global_batch, epochs=1, verbose=0)


def _jax_loop(cells: ModuleType, model: Any, images: Any, labels: Any) -> object:
    """Takes the steps of an epoch as the documentation of Flax has it."""
    nnx = cells.nnx

    @nnx.jit
    def step(network: Any, optimizer: Any, images: Any, labels: Any) -> Any:
        def mean_loss(network: Any) -> Any:
            return cells.loss(labels, network(images)).mean()

        mean, gradients = nnx.value_and_grad(mean_loss)(network)
        optimizer.update(network, gradients)
        return mean

    step = vars(cells).setdefault("bare_step", step)  # compiled once
    means = [step(model["network"], model["optimizer"], *batch) for batch in _batches(cells, images, labels)]
    return float(sum(means))


def _torch_loop(cells: ModuleType, model: Any, images: Any, labels: Any) -> object:
    """Takes the steps of an epoch as the tutorials of PyTorch have it."""
    total = 0
    for batch, truth in _batches(cells, images, labels):
        model["optimizer"].zero_grad()
        mean = cells.loss(cells.torch.from_numpy(truth), model["network"](cells.torch.from_numpy(batch))).mean()
        mean.backward()
        model["optimizer"].step()
        total += mean.detach()
    return float(total)


BARE: dict[str, Callable[[ModuleType, Any, Any, Any], object]] = {"digits-jax": _jax_loop, "digits-torch": _torch_loop}


def _batches(cells: ModuleType, images: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
    size = cells.global_batch
    return ((images[start : start + size], labels[start : start + size]) for start in range(0, len(images), size))


def _pass_seconds(batches: Any) -> float:
    """Seconds of the input pipeline alone for an epoch."""
    started = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - started


def _checkpoint_seconds(cells: ModuleType, model: Any) -> list[float]:
    """Seconds for which the next epoch waits: the copy of all arrays, which a thread saves meanwhile."""
    arrays_of = {
        "jax": lambda: cells.jax.tree.map(cells.np.array, cells.saved_of(model)),
        "torch": partial(_torch_arrays, cells, model),
    }
    keras = partial(_keras_arrays, cells, model)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        arrays_of.get(cells.PAIR_ID.split("-")[1], keras)()
        seconds.append(time.perf_counter() - started)
    return seconds


def _torch_arrays(cells: ModuleType, model: Any) -> Any:
    state = {name: part.state_dict() for name, part in model.items()}
    return cells.tree_map_only(cells.torch.Tensor, lambda each: each.contiguous().to("cpu", copy=True), state)


def _keras_arrays(cells: ModuleType, model: Any) -> list[Any]:
    return [cells.np.asarray(each).copy() for each in model.variables + model.optimizer.variables]


def rows_of(pair: str, times: Times, size: Size) -> list[Row]:
    """The lines of the table for one pair."""
    name, per_second = PAIRS[pair], "images/s"
    bare = "a plain loop" if pair in BARE else "model.fit(x, y)"
    epoch = times.images / size.batch_size * times.step
    return [
        Row(f"{name}: the notebook's loop", times.notebook, per_second),
        Row(f"{name}: {bare}", times.bare, per_second),
        ratio_row(f"{name}: loop / {bare}", times.notebook, times.bare, Bar(">=", 0.95)),
        Row(f"{name}: pipeline alone, from memory", [times.images / s for s in times.later_pass], per_second),
        Row(f"{name}: checkpoint, % of an epoch", [100 * s / epoch for s in times.checkpoint], "%"),
    ]


def main() -> None:
    """Measures the pair of every framework and prints the table."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", choices=PAIRS.values(), default=PAIRS.values(), help="some frameworks")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        say(f"writes {size.rows:,} images of {size.image_size} x {size.image_size}")
        write_competition(root / "input", train_rows=size.rows, test_rows=8, image_size=size.image_size)
        for pair in (pair for pair, framework in PAIRS.items() if framework in options.only):
            table += rows_of(pair, in_fresh_process(measure, root, pair, size), size)
    print(
        f"{size.rows:,} PNG images of {size.image_size} x {size.image_size} x 3, batches of {size.batch_size}, "
        f"augmented; a turn is an epoch of {' or '.join(map(str, size.steps.values()))} steps."
    )
    print_table(table)


if __name__ == "__main__":
    main()
