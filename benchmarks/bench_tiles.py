"""How well images to images learn on small tiles in large batches, beside large tiles in small batches.

On made-up scans of stained pages, whose clean ones are hidden; every pixel is seen as often by either. On a CPU it
takes ten minutes: a batch is that of 8 cores, and the networks are a quarter as wide as by default.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measuring import Bar, Row, is_quick, print_table, program, ratio_row
from numpy.random import Generator
from PIL import Image, ImageDraw, ImageFilter, ImageFont

_WORDS = ("there", "exist", "several", "methods", "to", "design", "forms", "with", "fields", "for", "instance")
_HEIGHT, _WIDTH, _TEST = 420, 540, 6
_SMALL, _LARGE = ("IMAGE_SIZE=64", "BATCH_SIZE=448"), ("IMAGE_SIZE=224", "BATCH_SIZE=64")


def page(draw: Generator) -> Image.Image:
    """A page of dark text on white."""
    image, font = Image.new("L", (_WIDTH, _HEIGHT), 255), ImageFont.load_default(size=int(draw.integers(16, 34)))
    for top in range(10, _HEIGHT - 30, int(font.size * 1.5)):  # type: ignore[union-attr]  # with a size it is FreeType's
        text = " ".join(draw.choice(_WORDS, size=12))
        ImageDraw.Draw(image).text((10, top), text, fill=int(draw.integers(0, 60)), font=font)
    return image


def stained(clean: Image.Image, draw: Generator) -> Image.Image:
    """A noisy scan of a page on grey paper with folds and the rings of cups."""
    down, right = np.mgrid[:_HEIGHT, :_WIDTH]
    paper = draw.uniform(170, 235) + draw.uniform(-0.15, 0.15) * (right - _WIDTH / 2)
    for _ in range(int(draw.integers(2, 7))):
        x, y, radius, width = (draw.uniform(0, most) for most in (_WIDTH, _HEIGHT, 140, 12))
        angle = draw.uniform(0, np.pi)
        fold = (right - x) * np.cos(angle) + (down - y) * np.sin(angle)
        paper -= 50 * np.exp(-(((np.hypot(right - x, down - y) - radius) / (width + 2)) ** 2))
        paper -= 30 * np.exp(-((fold / (width + 2)) ** 2))
    ink = np.asarray(clean.filter(ImageFilter.GaussianBlur(draw.uniform(0.3, 1))), float) / 255
    scan = paper * ink + draw.normal(0, 8, paper.shape)
    return Image.fromarray(scan.clip(0, 255).astype("uint8"))


def write_scans(folder: Path, *, training: int) -> np.ndarray:
    """Writes the competition, and returns the hidden pixels of its test images in the submission's order."""
    draw, asked, hidden = np.random.default_rng(1), ["id,value"], []
    for part in ("train", "train_cleaned", "test"):
        (folder / part).mkdir(parents=True)
    for number in range(1, training + _TEST + 1):
        clean = page(draw)
        stained(clean, draw).save(folder / ("train" if number <= training else "test") / f"{number}.png")
        if number <= training:
            clean.save(folder / "train_cleaned" / f"{number}.png")
            continue
        hidden.append(np.asarray(clean).ravel() / 255)
        asked += [f"{number}_{row}_{column},1" for row in range(1, _HEIGHT + 1) for column in range(1, _WIDTH + 1)]
    (folder / "sampleSubmission.csv").write_text("\n".join(asked) + "\n")
    return np.concatenate(hidden)


def error(workspace: Path, truth: np.ndarray, *assignments: str) -> float:
    """The root mean squared error on the hidden pages of a pair that is trained with these parameters."""
    parameters = [word for each in ("WIDTH=8", *assignments) for word in ("-P", each)]
    command = [program("tandem"), "run", "scans", *parameters]
    subprocess.run(command, cwd=workspace, check=True, stdout=subprocess.DEVNULL)
    submission = workspace / "output" / "scans" / "infer" / "submission.csv"
    answers = np.loadtxt(submission, delimiter=",", skiprows=1, usecols=1)
    return float(np.sqrt(np.mean((answers - truth) ** 2)))


def main() -> None:
    """Trains both and prints the table."""
    is_small = is_quick(__doc__)
    epochs = f"EPOCHS={1 if is_small else 8}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        truth = write_scans(folder / "data", training=10 if is_small else 60)
        made = ("--competition", "scans", "--data", str(folder / "data"), "--metric", "rmse", "--owner", "bench")
        subprocess.run([program("generate"), *made], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        small, large = ([error(folder, truth, epochs, *each)] for each in (_SMALL, _LARGE))
    rows = [Row("tiles of 64, 56 a core", small, "RMSE"), Row("tiles of 224, 8 a core", large, "RMSE")]
    print_table([*rows, ratio_row("tiles of 64 / of 224", small, large, Bar("<=", 1.0))])


if __name__ == "__main__":
    main()
