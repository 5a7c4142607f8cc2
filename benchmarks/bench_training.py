"""How fast the training loop of the notebooks is beside a bare `model.fit` on arrays in memory."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from measuring import Bar, Row, in_fresh_process, in_pairs, is_quick, print_table, ratio_row, say
from notebook_cells import run_cells
from synthetic import write_competition

PAIRS = {"digits": "keras on JAX", "digits-tensorflow": "tensorflow"}


@dataclass(frozen=True)
class Size:
    """How much is measured: `steps` are the timed training steps of one turn, by pair."""

    rows: int
    steps: dict[str, int]
    turns: int
    image_size: int = 64
    batch_size: int = 128


FULL = Size(rows=20_000, steps={"digits": 3, "digits-tensorflow": 8}, turns=8)
QUICK = Size(rows=1_500, steps={"digits": 2, "digits-tensorflow": 4}, turns=2)


@dataclass(frozen=True)
class Times:
    """Images a second of both loops in turn, and seconds of what a training does now and then."""

    notebook: list[float]
    bare: list[float]
    images: int
    first_pass: float
    later_pass: list[float]
    step: float
    checkpoint: list[float]


def measure(root: Path, pair: str, size: Size) -> Times:
    """Runs the cells of a training notebook up to its loop, and times the loop beside the bare one."""
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
        last="train-fold",
    )
    rows = cells.np.flatnonzero(cells.fold_of_row != 0)
    preprocessing = cells.fit_preprocessing(rows)
    stream = cells.training_batches(rows, preprocessing, cells.global_batch, cells.SEED)
    first_pass = _pass_seconds(stream, cells.steps_per_epoch)  # decodes, and fills the cache
    later_pass = [_pass_seconds(stream, cells.steps_per_epoch) for _ in range(3)]
    steps = min(size.steps[pair], cells.steps_per_epoch)
    images, labels = _arrays(cells, rows[: steps * cells.global_batch], preprocessing)
    cells.prepare_fold(0)
    model = cells.compiled_model(preprocessing, from_checkpoint=False)
    # The two calls differ in what the notebook's own call differs from the shortest one.
    ours = {"x": stream, "steps_per_epoch": steps, "shuffle": False}
    theirs = {"x": images, "y": labels, "batch_size": cells.global_batch}
    for arguments in (ours, theirs):
        model.fit(**arguments, epochs=1, verbose=0)  # compiles
    notebook, bare = in_pairs(
        f"{PAIRS[pair]}, images a second",
        lambda: len(images) / _epoch_seconds(cells, model, ours),
        lambda: len(images) / _epoch_seconds(cells, model, theirs),
        pairs=size.turns,
    )
    return Times(
        notebook,
        bare,
        images=cells.steps_per_epoch * cells.global_batch,
        first_pass=first_pass,
        later_pass=later_pass,
        step=cells.global_batch / max(notebook),
        checkpoint=_checkpoint_seconds(cells, model),
    )


def _epoch_seconds(cells: ModuleType, model: Any, arguments: dict[str, Any]) -> float:
    """Seconds of the second epoch of a fit: the first fills the buffers, which a long training does once."""

    class Clock(cells.keras.callbacks.Callback):  # type: ignore[misc,name-defined]  # the cells are known at run time only
        def on_epoch_begin(self, epoch: int, logs: object = None) -> None:  # noqa: ARG002 - Keras's signature
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: object = None) -> None:  # noqa: ARG002 - Keras's signature
            self.seconds = time.perf_counter() - self.start

    clock = Clock()
    model.fit(**arguments, epochs=2, callbacks=[clock], verbose=0)
    return clock.seconds


def _pass_seconds(stream: Any, steps: int) -> float:
    """Seconds of the input pipeline alone for an epoch's number of batches."""
    started = time.perf_counter()
    for _ in stream.take(steps):
        pass
    return time.perf_counter() - started


def _arrays(cells: ModuleType, rows: Any, preprocessing: dict[str, Any]) -> tuple[Any, Any]:
    batches = cells.batches_in_order(cells.select(cells.items, rows), preprocessing, cells.global_batch)
    images = cells.np.concatenate([batch.numpy() for batch in batches])
    return images, cells.encode_targets(cells.truth[rows], preprocessing)


def _checkpoint_seconds(cells: ModuleType, model: Any) -> list[float]:
    """Seconds that the notebook takes to save after an epoch."""
    folder, progress = cells.fold_folder(0), cells.read_progress(0)
    folder.mkdir(parents=True, exist_ok=True)
    seconds = []
    for epoch in range(1, 4):
        started = time.perf_counter()
        cells.save_checkpoint(model, folder, progress, epoch, {"loss": 1 / epoch, "score": epoch / 10})
        seconds.append(time.perf_counter() - started)
    return seconds


def rows_of(pair: str, times: Times, size: Size) -> list[Row]:
    """The lines of the table for one pair."""
    name, per_second = PAIRS[pair], "images/s"
    epoch = times.images / size.batch_size * times.step
    return [
        Row(f"{name}: the notebook's loop", times.notebook, per_second),
        Row(f"{name}: model.fit(x, y)", times.bare, per_second),
        ratio_row(f"{name}: loop / model.fit", times.notebook, times.bare, Bar(">=", 0.95)),
        Row(f"{name}: pipeline alone, first pass, decodes", [times.images / times.first_pass], per_second),
        Row(f"{name}: pipeline alone, from the cache", [times.images / s for s in times.later_pass], per_second),
        Row(f"{name}: checkpoint, % of an epoch", [100 * s / epoch for s in times.checkpoint], "%"),
    ]


def main() -> None:
    """Measures both pairs and prints the table."""
    size = QUICK if is_quick(__doc__) else FULL
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        say(f"writes {size.rows:,} images of {size.image_size} x {size.image_size}")
        write_competition(root / "input", train_rows=size.rows, test_rows=8, image_size=size.image_size)
        for pair in PAIRS:
            table += rows_of(pair, in_fresh_process(measure, root, pair, size), size)
    print(
        f"{size.rows:,} PNG images of {size.image_size} x {size.image_size} x 3, batches of {size.batch_size}, "
        f"augmented; a turn is an untimed and a timed epoch of {' or '.join(map(str, size.steps.values()))} steps."
    )
    print_table(table)


if __name__ == "__main__":
    main()
