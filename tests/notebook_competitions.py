"""Small competitions that notebooks are tried on: scans of digits, and a table of shops."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from layout_files import some, table
from tasks import task_of

from generator.competition.facts import Task


@dataclass(frozen=True)
class Digits:
    """A small competition of real scans: its folder, the training labels by id, and the true labels of the test."""

    folder: Path
    labels: Mapping[str, str]
    answers: Mapping[str, str]

    def write_labels(self, rows: list[tuple[str, str]], header: tuple[str, ...] = ("id", "label")) -> None:
        table(self.folder / "train.csv", header, rows)

    def write_sample(self, ids: list[str], header: tuple[str, ...] = ("id", "label"), label: str = "0") -> None:
        table(self.folder / "sample_submission.csv", header, [(name, label) for name in ids])


def write_digits(folder: Path, *, per_class: int = 8, test_rows: int = 21, names: tuple[str, ...] = ()) -> Digits:
    """Writes a competition like `digits` with the first scans of every class, and as many test images as wanted.

    Args:
        folder: The competition's folder.
        per_class: Training images of each class.
        test_rows: Test images, the classes mixed.
        names: What the ten classes are called, by default their digits.
    """
    from PIL import Image
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    names = names or tuple("0123456789")
    training = [row for digit in range(10) for row in (digits == digit).nonzero()[0][:per_class].tolist()]
    test = sorted(set(range(len(digits))) - set(training))[:test_rows]
    for part, rows in (("train", sorted(training)), ("test", test)):
        (folder / part).mkdir(parents=True)
        for row in rows:
            pixels = (images[row].reshape(8, 8) * (255 / 16)).round().astype("uint8")
            Image.fromarray(pixels).save(folder / part / f"{row:04d}.png")
    written = Digits(
        folder,
        labels={f"{row:04d}": names[digits[row]] for row in sorted(training)},
        answers={f"{row:04d}": names[digits[row]] for row in test},
    )
    written.write_labels(list(written.labels.items()))
    written.write_sample(list(written.answers), label=names[0])
    return written


def shop_task() -> Task:
    """The task of telling if a shop thrives: a class for each row of a table of numbers and words."""
    facts = {"metric": "auc", "submission": "probability", "test_table": "test.csv"}
    return task_of("tabular", "class", "thrives", **facts, class_count=2, batch_size=16, epochs=2)


@dataclass(frozen=True)
class Shops:
    """A small competition of made-up rows: its folder, its training rows and the ids of its test rows."""

    folder: Path
    training: list[tuple[str, ...]]
    asked: list[str]

    def write_training(self, rows: list[tuple[str, ...]]) -> None:
        table(self.folder / "train.csv", ("id", "size", "rent", "town", "thrives"), rows)

    def write_sample(self, ids: list[str]) -> None:
        table(self.folder / "sample_submission.csv", ("id", "thrives"), [(name, "0.5") for name in ids])


def write_shops(folder: Path, *, training_rows: int = 80, test_rows: int = 21) -> Shops:
    """Writes a competition that asks whether shops thrive, some of whose sizes are unknown."""
    folder.mkdir(parents=True)
    draw, rows = some(4), []
    for number in range(training_rows + test_rows):
        size, rent, town = draw.gauss(40, 9), draw.gauss(10, 2), draw.choice(["Ulm", "Köln", "Bonn"])
        thrives = size - 2 * rent + 5 * (town == "Ulm") + draw.gauss(0, 4) > 22
        rows.append((f"s{number:03d}", f"{size:.2f}" if number % 7 else "", f"{rent:.2f}", town, str(int(thrives))))
    test = rows[training_rows:]
    written = Shops(folder, rows[:training_rows], [row[0] for row in test])
    written.write_training(written.training)
    table(folder / "test.csv", ("id", "size", "rent", "town"), [row[:-1] for row in test])
    written.write_sample(written.asked)
    return written
