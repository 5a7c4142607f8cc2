"""How long the flagship's training notebook takes until its first training step, its images decoded already."""

import io
import tempfile
from pathlib import Path

from measuring import Bar, Row, in_fresh_process, is_quick, print_table, say
from notebook_cells import run_cells
from PIL import Image

PAIR = "tpu-getting-started"
FOLDER = "tfrecords-jpeg-512x512/train"
CLASSES = 104
DECODING = "decode-images"


def write_records(folder: Path, *, rows: int) -> None:
    """Writes one photograph `rows` times, with the labels in turn, as files of a thousand records."""
    import tensorflow as tf

    folder.mkdir(parents=True)
    picture = io.BytesIO()
    Image.effect_noise((512, 512), 40).convert("RGB").save(picture, "JPEG", quality=85)
    for first in range(0, rows, 1_000):
        with tf.io.TFRecordWriter(str(folder / f"{first:05}.tfrec")) as file:
            for row in range(first, min(first + 1_000, rows)):
                example = tf.train.Example()
                example.features.feature["id"].bytes_list.value.append(b"%05d" % row)
                example.features.feature["class"].int64_list.value.append(row % CLASSES)
                example.features.feature["image"].bytes_list.value.append(picture.getvalue())
                file.write(example.SerializeToString())


def cell_seconds(root: Path) -> dict[str, float]:
    """Seconds of every cell before the training loop, by its name, in a Python that has imported nothing yet."""
    seconds: dict[str, float] = {}
    run_cells(
        PAIR,
        "train",
        parameters={"INPUT_ROOT": str(root / "input"), "WORKING_ROOT": str(root), "ALLOW_CPU": True, "WEIGHTS": ""},
        last="training-steps",
        seconds=seconds,
    )
    return seconds


def main() -> None:
    """Measures and prints the table."""
    rows, turns = (1_000, 1) if is_quick(__doc__) else (12_753, 3)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        in_fresh_process(_write, root, rows)
        taken = [in_fresh_process(cell_seconds, root) for _ in range(turns)]
    for name, _ in sorted(taken[0].items(), key=lambda cell: -cell[1])[:8]:
        say(f"{name}: {', '.join(f'{each[name]:.2f}' for each in taken)} s")
    before = [sum(each.values()) - each[DECODING] for each in taken]
    print_table([Row(f"{PAIR}: cells before training, without {DECODING}", before, bar=Bar("<=", 10))])


def _write(root: Path, rows: int) -> None:
    write_records(root / "input" / "competitions" / PAIR / FOLDER, rows=rows)


if __name__ == "__main__":
    main()
