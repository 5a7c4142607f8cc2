"""How fast and how large inference is: files streamed by the notebook beside a bare prediction from arrays.

PNG files of 64 pixels, as of digits and cells, or with `--photographs` JPEG files of 224.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from measuring import Bar, Row, command_line, in_fresh_process, in_pairs, print_table, ratio_row, say
from notebook_cells import run_cells
from synthetic import write_competition

PAIRS = {"digits": "keras", "digits-tensorflow": "tensorflow", "digits-jax": "jax", "digits-torch": "torch"}


@dataclass(frozen=True)
class Size:
    """How much is measured: `images` are predicted in one turn; `test_rows` are the two sizes of the test set."""

    images: int
    turns: int
    test_rows: tuple[int, int]
    processes: int
    image_size: int = 64
    suffix: str = "png"


FULL = Size(images=4_992, turns=6, test_rows=(2_000, 20_000), processes=2)
QUICK = Size(images=640, turns=2, test_rows=(200, 2_000), processes=1)
PHOTOGRAPHS = Size(images=960, turns=6, test_rows=(96, 960), processes=1, image_size=224, suffix="jpg")


def train(root: Path, pair: str, image_size: int) -> None:
    """Makes a hand-over, by the training notebook with one short epoch."""
    short = {"ALLOW_CPU": True, "EPOCHS": 1, "BATCH_SIZE": 64, "IMAGE_SIZE": image_size, "CHANNELS": 3}
    run_cells(pair, "train", parameters={**_roots(root, pair, "train"), **short})


def speeds(root: Path, pair: str, size: Size) -> tuple[list[float], list[float]]:
    """Returns images a second of the notebook's prediction and of the bare one, in one process."""
    cells = run_cells(pair, "infer", parameters=_roots(root, pair, "infer"), last="repeat-check")
    features = {name: values[: size.images] for name, values in cells.examples.items()}
    count = len(features["path"])
    (model,) = cells.ensemble
    batches = cells.batches_in_order(features, cells.global_batch)
    images = cells.np.concatenate([*map(cells.np.asarray, batches)])[:count]
    bare = {"digits-jax": _in_jax, "digits-torch": _in_torch}.get(pair, _in_keras)

    def images_a_second(predict: Callable[[], object]) -> float:
        started = time.perf_counter()
        predict()
        return count / (time.perf_counter() - started)

    def from_files() -> float:
        return images_a_second(lambda: cells.predict_fold(model, features))

    def from_memory() -> float:
        return images_a_second(lambda: bare(cells, model, images))

    from_files(), from_memory()  # compiles
    return in_pairs(f"{PAIRS[pair]}, images a second", from_files, from_memory, pairs=size.turns)


def _in_keras(cells: ModuleType, model: Any, images: Any) -> None:
    model.predict(images, batch_size=cells.global_batch, verbose=0)


def _in_jax(cells: ModuleType, model: Any, images: Any) -> None:
    predicted = vars(cells).setdefault("bare_step", cells.nnx.jit(lambda network, images: network(images)))
    for start in range(0, len(images), cells.global_batch):
        cells.np.asarray(predicted(model["network"], images[start : start + cells.global_batch]))


def _in_torch(cells: ModuleType, model: Any, images: Any) -> None:
    with cells.torch.inference_mode():
        for start in range(0, len(images), cells.global_batch):
            model["network"](cells.torch.from_numpy(images[start : start + cells.global_batch]))


def peak_megabytes(root: Path, pair: str) -> float:
    """Returns the most memory that the whole inference notebook held, in this process that does nothing else."""
    run_cells(pair, "infer", parameters=_roots(root, pair, "infer"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, kilobytes elsewhere


def _roots(root: Path, pair: str, role: str) -> dict[str, object]:
    # Side by side, since inference looks for `train` beside its own working folder.
    return {"INPUT_ROOT": str(root / "input"), "WORKING_ROOT": str(root / "working" / pair / role)}


def rows_of(pair: str, small: Path, large: Path, size: Size) -> list[Row]:
    """Measures one pair; `small` and `large` hold the two test sets."""
    name, per_second = PAIRS[pair], "images/s"
    for root in (small, large):
        in_fresh_process(train, root, pair, size.image_size)
    files, memory = in_fresh_process(speeds, large, pair, size)
    peaks: tuple[list[float], list[float]] = ([], [])
    for _ in range(size.processes):
        for root, of_size in zip((small, large), peaks, strict=True):
            of_size.append(in_fresh_process(peak_megabytes, root, pair))
    say(f"{name}, peak MB with {size.test_rows[0]:,} and with {size.test_rows[1]:,} images: {peaks}")
    return [
        Row(f"{name}: predict_fold, from files", files, per_second),
        Row(f"{name}: a bare prediction", memory, per_second),
        ratio_row(f"{name}: predict_fold / bare", files, memory, Bar(">=", 0.95)),
        Row(f"{name}: fastest turn of each", [max(files) / max(memory)], "ratio", Bar(">=", 0.95)),
        *(
            Row(f"{name}: peak, {rows:,} test images", peak, "MB")
            for rows, peak in zip(size.test_rows, peaks, strict=True)
        ),
        ratio_row(f"{name}: peak, tenfold / once", peaks[1], peaks[0], Bar("<", 1.1)),
    ]


def main() -> None:
    """Measures the pair of every framework and prints the table."""
    parser = command_line(__doc__)
    parser.add_argument("--photographs", action="store_true", help="JPEG files of 224 pixels, with fewer of them")
    parser.add_argument("--only", nargs="+", choices=PAIRS.values(), default=PAIRS.values(), help="some frameworks")
    options = parser.parse_args()
    size = QUICK if options.quick else PHOTOGRAPHS if options.photographs else FULL
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        roots = [Path(temporary).resolve() / name for name in ("small", "large")]
        for root, test_rows in zip(roots, size.test_rows, strict=True):
            say(f"writes {test_rows:,} test images of {size.image_size} x {size.image_size}")
            rows = {"train_rows": 400, "test_rows": test_rows}
            write_competition(root / "input", **rows, image_size=size.image_size, suffix=size.suffix)
        for pair, framework in PAIRS.items():
            if framework in options.only:
                table += rows_of(pair, *roots, size)
    print(f"Colour images, .{size.suffix}, {size.image_size} pixels square; a turn predicts {size.images:,} of them.")
    print_table(table)


if __name__ == "__main__":
    main()
