"""The features of images: their pixels, scaled down."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.baseline.features import Features, sampled
from generator.competition.baseline.held_out import HeldOut
from generator.competition.baseline.table_features import LINEAR, cells_by_id, read_pixels
from generator.files import contained

SIDE = 12
_MOST_SAMPLED = 4_000
_MOST_PIXELS = 1 << 26
_MOST_FILES = 500_000


@dataclass(frozen=True)
class Reader:
    """A way to read files: the features of one, or None, what they are, how many at most, which column has names."""

    features: Callable[[Path], Any]
    name: str
    most: int
    column: str


def read(held_out: HeldOut, data: Path) -> Features | None:
    """The pixels of a sample, scaled down; None where the images are in archives or records."""
    details = held_out.task.details
    if details.get("labels_from") == "pixels":
        return None if details.get("pixel_lists") else read_pixels(held_out, data)
    if details.get("labels_from") == "records" or ".zip" in str(details["train_folder"]):
        return None
    mode = "L" if details.get("channels") == 1 else "RGB"
    name = f"images of {SIDE} \N{MULTIPLICATION SIGN} {SIDE} pixels"
    return read_files(held_out, data, Reader(lambda path: _pixels(path, mode), name, _MOST_SAMPLED, "image_column"))


def read_files(held_out: HeldOut, data: Path, reader: Reader) -> Features | None:
    """The features of the files of a sample of the examples; None where half of them cannot be read."""
    import numpy as np

    task = held_out.task
    column, names = str(task.details.get(reader.column, "")), dict[str, str]()
    if task.train_table and column not in ("", task.id_column):
        names = cells_by_id(task, data, column)
    folder = contained(data / str(task.details["train_folder"]), root=data)
    files = _files_by_name(folder)
    rows = sampled(held_out, reader.most)
    wanted = [names.get(str(one), str(one)) for one in held_out.ids[rows]]
    paths = [files.get(one) or files.get(PurePosixPath(one).name) for one in wanted]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda path: None if path is None else reader.features(path), paths))
    read = {row: values for row, values in zip(rows.tolist(), found, strict=True) if values is not None}
    if len(read) < max(1, len(rows) / 2):
        return None
    return Features(np.array([*read]), np.stack([*read.values()]), reader.name, LINEAR)


def _files_by_name(folder: Path) -> dict[str, Path]:
    """The files of a folder by their path below it and by their name, each with its suffix and without."""
    files: dict[str, Path] = {}
    for number, path in enumerate(folder.rglob("*.*")):
        if number >= _MOST_FILES:
            break
        below = path.relative_to(folder)
        for key in (below.as_posix(), below.with_suffix("").as_posix(), path.name, path.stem):
            files.setdefault(key, path)
    return files


def _pixels(path: Path, mode: str) -> Any:
    """The pixels of an image from 0 to 1; None where it cannot be read."""
    import numpy as np
    from PIL import Image

    try:
        with Image.open(path) as image:
            if image.width * image.height > _MOST_PIXELS:
                return None
            image.draft(mode, (4 * SIDE, 4 * SIDE))
            small = image.convert(mode).resize((SIDE, SIDE), Image.Resampling.BOX)
    except Exception:  # noqa: BLE001 - decoders fail in many ways, and one image is not missed
        return None
    return np.asarray(small, dtype=np.float32).ravel() / 255
