"""What augmenting a photograph costs the host beside decoding it, by the cells of the flagship's training notebook."""

import io
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from bench_first_step import FOLDER, PAIR, write_records
from measuring import Bar, Row, in_fresh_process, in_pairs, is_quick, print_table, ratio_row, say
from notebook_cells import run_cells
from PIL import Image
from sklearn.datasets import load_sample_images

BATCH, SIDE = 64, 224


def photographs(count: int) -> list[bytes]:
    """Parts of scikit-learn's two photographs, squares of `SIDE` pixels, as JPEG."""
    random, found = np.random.default_rng(1), []
    for number in range(count):
        image = Image.fromarray(load_sample_images().images[number % 2])
        side = int(random.integers(SIDE, min(image.size) + 1))
        left, top = (int(random.integers(0, length - side + 1)) for length in image.size)
        file = io.BytesIO()
        image.crop((left, top, left + side, top + side)).resize((SIDE, SIDE)).save(file, "JPEG", quality=90)
        found.append(file.getvalue())
    return found


def measure(root: Path, count: int, pairs: int) -> tuple[list[float], list[float]]:
    """Milliseconds of all cores for an image: augmenting one that is in memory, and decoding one."""
    cells = run_cells(
        PAIR,
        "train",
        parameters={"INPUT_ROOT": str(root / "input"), "WORKING_ROOT": str(root), "ALLOW_CPU": True, "WEIGHTS": ""}
        | {"IMAGE_SIZE": SIDE},
        last="training-batches",
    )
    content, rows = np.array(photographs(BATCH), dtype=object), np.tile(np.arange(BATCH), (count // BATCH, 1))
    images = {"image": np.concatenate([*cells.image_batches({"content": content}, rows[:1]).as_numpy_iterator()])}
    targets = cells.targets[np.zeros(BATCH, dtype=int)]

    def milliseconds(batches: Callable[[int], Iterable[object]]) -> float:
        def seconds(steps: int) -> float:
            started = time.process_time()
            for _ in batches(steps):
                pass
            return time.process_time() - started

        return (seconds(len(rows)) - seconds(len(rows) // 2)) / (count / 2) * 1e3  # what starts a stream falls out

    def augmenting() -> float:
        in_all = milliseconds(lambda steps: cells.training_batches(images, targets, BATCH, steps, [0, 0, 0]))
        return in_all - milliseconds(lambda steps: cells.image_batches(images, rows[:steps]))

    def decoding() -> float:
        return milliseconds(lambda steps: cells.image_batches({"content": content}, rows[:steps]))

    return in_pairs("milliseconds an image", augmenting, decoding, pairs=pairs)


def main() -> None:
    """Measures and prints the table."""
    count, pairs = (512, 2) if is_quick(__doc__) else (2_048, 6)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        in_fresh_process(_write, root)
        augmenting, decoding = in_fresh_process(measure, root, count, pairs)
    say("CPU time of all threads, so that the number of cores does not matter")
    print_table(
        [
            Row(f"{PAIR}: augmenting an image", augmenting, "ms"),
            Row(f"{PAIR}: decoding it", decoding, "ms"),
            ratio_row(f"{PAIR}: augmenting / decoding", augmenting, decoding, Bar("<=", 1)),
        ]
    )


def _write(root: Path) -> None:
    write_records(root / "input" / "competitions" / PAIR / FOLDER, rows=256)


if __name__ == "__main__":
    main()
