"""Small competitions, one for each family, whose examples differ and whose submissions say as much as they can.

A submission of probabilities or numbers shows differences that the likeliest class hides. None asks for more than 64
predictions, nor for more than 4 images of an image: so many a smoke test makes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from layout_files import some, table, wav
from notebook_competitions import write_digits
from PIL import Image

SIDE = 32


@dataclass(frozen=True)
class SmallCompetition:
    """A function that writes the files of a competition, its metric, and further settings of its pair."""

    write: Callable[[Path], None]
    metric: str
    settings: Mapping[str, str | int]


def write_scans_of_digits(folder: Path) -> None:
    """Writes scans of ten classes, of which the submission has a probability each."""
    names = ("nought", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    written = write_digits(folder, names=names)
    table(folder / "sample_submission.csv", ["id", *names], [[key, *[0.1] * 10] for key in written.answers])


def write_sizes(folder: Path) -> None:
    """Writes photographs of bright rectangles, whose height and width are asked for."""
    rows = []
    for number, (pixels, mask) in enumerate(rectangles(60)):
        part, name = ("train" if number < 40 else "test"), f"p{number:03d}"
        grey = Image.fromarray(pixels)
        save(Image.merge("RGB", (grey, grey.rotate(90), grey.rotate(180))), folder / part / f"{name}.jpg")
        rows.append([name, mask.any(axis=1).sum() + 0.5, mask.any(axis=0).sum() + 0.25])
    table(folder / "train.csv", ["id", "height", "width"], rows[:40])
    table(folder / "sample_submission.csv", ["id", "height", "width"], [[row[0], 0.0, 0.0] for row in rows[40:]])


def write_masks(folder: Path) -> None:
    """Writes scans of bright rectangles, and images of where these are."""
    for number, (pixels, mask) in enumerate(rectangles(40)):
        part, name = ("train" if number < 30 else "test"), f"s{number:03d}"
        save(Image.fromarray(pixels), folder / part / f"{name}.png")
        if part == "train":
            save(Image.fromarray(mask.astype("uint8") * 255), folder / "train_masks" / f"{name}_mask.gif")
    asked = [[f"s{number:03d}.png", "1 1"] for number in range(30, 40)]
    table(folder / "sample_submission.csv", ["img", "rle_mask"], asked)


def write_dirty_scans(folder: Path) -> None:
    """Writes noisy scans, and clean ones of the same names."""
    asked = []
    for number, (pixels, mask) in enumerate(rectangles(14), 1):
        part = "train" if number <= 10 else "test"
        save(Image.fromarray(pixels), folder / part / f"{number}.png")
        if part == "train":
            save(Image.fromarray(mask.astype("uint8") * 255), folder / "train_cleaned" / f"{number}.png")
        else:
            asked += [[f"{number}_{row}_{column}", 1] for row in range(1, SIDE + 1) for column in range(1, SIDE + 1)]
    table(folder / "sampleSubmission.csv", ["id", "value"], asked)


def write_tones(folder: Path) -> None:
    """Writes tones of three heights."""
    kinds, rows, draw = {"low": 200, "middle": 600, "high": 1800}, [], np.random.default_rng(3)
    for number in range(60):
        part, name, kind = ("train" if number < 45 else "test"), f"t{number:03d}", list(kinds)[number % 3]
        angles = 2 * np.pi * kinds[kind] * draw.uniform(0.8, 1.2) * np.arange(4_000) / 8_000
        noise = draw.normal(0, 0.05, angles.shape)
        path = folder / part / f"{name}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        samples = ((0.5 * np.sin(angles) + noise) * 2**15).clip(-(2**15), 2**15 - 1)
        path.write_bytes(wav(samples.astype("<i2").tobytes()))
        rows.append([name, kind])
    table(folder / "train.csv", ["id", "label"], rows[:45])
    table(folder / "sample_submission.csv", ["id", *kinds], [[row[0], *[1 / 3] * 3] for row in rows[45:]])


def write_shops(folder: Path) -> None:
    """Writes a table of numbers with gaps, words, dates and a column with few values."""
    source, rows = some(5), []
    for number in range(120):
        size, town = round(source.gauss(40, 9), 2), source.choice(["Ulm", "Köln", "NA", "Bonn"])
        day = f"2024-{1 + number % 12:02d}-{1 + number % 28:02d}"
        sold = int(size + 9 * (town == "Ulm") + source.gauss(0, 3) > 42)
        rows.append([f"r{number:03d}", size if number % 7 else "", town, day, source.randrange(5), sold])
    header = ["id", "size", "town", "opened", "floor", "sold"]
    table(folder / "train.csv", header, rows[:80])
    table(folder / "test.csv", header[:-1], [row[:-1] for row in rows[80:]])
    table(folder / "sample_submission.csv", ["id", "sold"], [[row[0], 0.5] for row in rows[80:]])


def write_breaths(folder: Path) -> None:
    """Writes rows in groups, asked for by group and time; the answer is the flow in a row and in the one before."""
    source, rows = some(6), []
    for breath in range(44):
        before = 0.0
        for step in range(12):
            flow = round(source.uniform(0, 4), 3)
            valve = source.choice(["on", "off"])
            rows.append([breath, round(step * 0.034, 4), flow, valve, round(flow + before, 3)])
            before = flow
    header, cut = ["breath_id", "time_step", "u_in", "valve", "pressure"], 40 * 12
    table(folder / "train.csv", header, rows[:cut])
    table(folder / "test.csv", header[:-1], [row[:-1] for row in rows[cut:]])
    table(folder / "sample_submission.csv", ["id", "pressure"], [[f"{row[0]}_{row[1]}", 0] for row in rows[cut:]])


def write_comments(folder: Path) -> None:
    """Writes texts of which several things can be true."""
    source, rows = some(7), []
    words = ["the", "storm", "took", "all", "roofs", "of", "our", "small", "town", "while", "people", "slept"]
    told = {"rude": "idiots", "loud": "HELP!", "glad": "thanks,"}
    for number in range(110):
        labels = [int(source.random() < 0.4) for _ in told]
        text = source.choices(words, k=source.randrange(5, 30))
        for word, is_there in zip(told.values(), labels, strict=True):
            text.insert(source.randrange(len(text)), word if is_there else "naïve")
        rows.append([f"c{number:03d}", " ".join(text), *labels])
    table(folder / "train.csv", ["id", "comment_text", *told], rows[:80])
    table(folder / "test.csv", ["id", "comment_text"], [row[:2] for row in rows[80:]])
    table(folder / "sample_submission.csv", ["id", *told], [[row[0], *[0.5] * 3] for row in rows[80:]])


def rectangles(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Grey images of noise with a bright rectangle, and where it is."""
    draw, made = np.random.default_rng(4), []
    for _ in range(count):
        mask = np.zeros((SIDE, SIDE), dtype=bool)
        (top, left), (height, width) = draw.integers(0, 16, 2), draw.integers(6, 16, 2)
        mask[top : top + height, left : left + width] = True
        pixels = draw.normal(70, 20, mask.shape) + 110 * mask
        made.append((pixels.clip(0, 255).astype("uint8"), mask))
    return made


def save(image: Image.Image, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


SMALL_COMPETITIONS = {
    "image_classification": SmallCompetition(write_scans_of_digits, "log_loss", {}),
    "image_regression": SmallCompetition(write_sizes, "rmse", {"image_size": SIDE}),
    "segmentation": SmallCompetition(write_masks, "dice", {"image_size": SIDE}),
    "image_to_image": SmallCompetition(write_dirty_scans, "rmse", {"image_size": SIDE}),
    "audio": SmallCompetition(write_tones, "log_loss", {}),
    "tabular": SmallCompetition(write_shops, "auc", {}),
    "sequence": SmallCompetition(write_breaths, "mae", {}),
    "text": SmallCompetition(write_comments, "auc_mean_columns", {}),
}
