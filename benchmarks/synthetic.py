"""A competition of made-up photographs, in the layout of digits, at any size."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

SLUG = "digits"  # so that the notebooks of that pair read it
CLASSES = 10


def write_competition(
    input_root: Path, *, train_rows: int, test_rows: int, image_size: int, suffix: str = "png"
) -> None:
    """Writes tables and files of `image_size` x `image_size` x 3, PNG or JPEG, below `competitions/digits`."""
    folder = input_root / "competitions" / SLUG
    folder.mkdir(parents=True)
    train, test = _ids("train", train_rows), _ids("test", test_rows)
    labels = [index % CLASSES for index in range(train_rows)]
    _write_table(folder / "train.csv", zip(train, labels, strict=True))
    _write_table(folder / "sample_submission.csv", ((name, 0) for name in test))
    for part, names, labels_of_part in (("train", train, labels), ("test", test, [0] * test_rows)):
        (folder / part).mkdir()
        with ThreadPoolExecutor() as pool:
            files = [folder / part / f"{name}.{suffix}" for name in names]
            seeds = range(len(train)) if part == "train" else range(len(train), len(train) + len(test))
            list(pool.map(_write_image, files, seeds, labels_of_part, [image_size] * len(files)))


def _ids(part: str, rows: int) -> list[str]:
    return [f"{part}{index:06d}" for index in range(rows)]


def _write_table(path: Path, rows: Iterable[tuple[str, int]]) -> None:
    path.write_text("id,label\n" + "".join(f"{name},{label}\n" for name, label in rows))


def _write_image(path: Path, seed: int, label: int, image_size: int) -> None:
    # Soft shapes with some grain: about as hard to decompress as a photograph, neither flat nor pure noise.
    random = np.random.default_rng(seed)
    shapes = Image.fromarray(random.integers(0, 200, (8, 8, 3), dtype="uint8")).resize((image_size, image_size))
    pixels = np.asarray(shapes, dtype="int16") + random.integers(-4, 5, (image_size, image_size, 3), dtype="int16")
    pixels[..., label % 3] += 5 * label  # something to learn
    Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(path, compress_level=3)
