"""The features of images and sounds: pixels, scaled down; how loud each pitch is on average, and how much it varies."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from generator.competition.baseline.features import LINEAR, Features, sampled
from generator.competition.baseline.held_out import HeldOut
from generator.competition.baseline.table_features import cells_by_id, read_pixels
from generator.files import contained

SIDE = 12
_MOST_IMAGES, _MOST_SOUNDS = 4_000, 1_500  # that are read
_MOST_PIXELS = 1 << 26
_MOST_SAMPLES = 1 << 19  # of one sound
_FRAME = 1_024
_BANDS = 32
_MOST_FILES = 500_000


def read_images(held_out: HeldOut, data: Path) -> Features | None:
    """The pixels of a sample, scaled down; None where the images are in archives or records."""
    details = held_out.task.details
    if details.get("labels_from") == "pixels":
        return None if details.get("pixel_lists") else read_pixels(held_out, data)
    if details.get("labels_from") == "records":
        return None
    pixels = partial(_pixels, mode="L" if details.get("channels") == 1 else "RGB")
    name = f"images of {SIDE} \N{MULTIPLICATION SIGN} {SIDE} pixels"
    return _read(held_out, data, pixels, name=name, column="image_column", most=_MOST_IMAGES)


def read_sounds(held_out: HeldOut, data: Path) -> Features | None:
    """The loudness by pitch of a sample of the sounds; None where they are no WAV files, or in archives."""
    name = "the loudness by pitch"
    return _read(held_out, data, _loudness, name=name, column="audio_column", most=_MOST_SOUNDS)


def _read(  # noqa: PLR0913 - what images and sounds differ in
    held_out: HeldOut, data: Path, features_of: Callable[[Path], Any], *, name: str, column: str, most: int
) -> Features | None:
    """The features of the files of a sample of the examples; None where half of them cannot be read."""
    import numpy as np

    task = held_out.task
    train_folder, named_by = str(task.details["train_folder"]), str(task.details.get(column, ""))
    if ".zip" in train_folder:
        return None
    is_named = task.train_table and named_by not in ("", task.id_column)
    names = cells_by_id(task, data, named_by) if is_named else {}
    files = _files_by_name(contained(data / train_folder, root=data))
    rows = sampled(held_out, most)
    wanted = [names.get(str(one), str(one)) for one in held_out.ids[rows]]
    paths = [files.get(one) or files.get(PurePosixPath(one).name) for one in wanted]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda path: None if path is None else features_of(path), paths))
    read = {row: values for row, values in zip(rows.tolist(), found, strict=True) if values is not None}
    if len(read) < max(1, len(rows) / 2):
        return None
    return Features(np.array([*read]), np.stack([*read.values()]), name, LINEAR)


def _files_by_name(folder: Path) -> dict[str, Path]:
    """The files of a folder by their path below it and by their name, each with its suffix and without."""
    files: dict[str, Path] = {}
    for path in islice(folder.rglob("*.*"), _MOST_FILES):
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


def _loudness(path: Path) -> Any:
    """The mean and the deviation of the logarithm of the power [2 * bands]; None where it cannot be read."""
    import numpy as np
    from scipy.io import wavfile  # type: ignore[import-untyped]  # scipy brings no types

    try:
        _, samples = wavfile.read(path, mmap=True)
        samples = np.asarray(samples[:_MOST_SAMPLES], dtype=np.float32)
    except Exception:  # noqa: BLE001 - it is no WAV file, or a broken one, and one sound is not missed
        return None
    samples = samples.reshape(len(samples), -1).mean(axis=1)
    samples = np.pad(samples, (0, -len(samples) % _FRAME + (_FRAME if not len(samples) else 0)))
    power = np.abs(np.fft.rfft(samples.reshape(-1, _FRAME), axis=1)) ** 2
    edges = np.unique(np.geomspace(1, power.shape[1] - 1, _BANDS + 1).astype(int))[:-1]
    loudness = np.log(np.add.reduceat(power, edges, axis=1) + 1)
    return np.concatenate([loudness.mean(axis=0), loudness.std(axis=0)])
