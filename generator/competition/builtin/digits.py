"""The competition `digits`: tell 1,797 scans of handwritten digits apart.

The data are the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine
Learning Repository, 1998, CC BY 4.0), as scikit-learn carries them: 8 x 8 pixels with 17 shades.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.competition.builtin.built_in import BuiltIn, dataset, key_of, split, write_table
from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task

if TYPE_CHECKING:
    import numpy

_TRAINING_ROWS = 1_257
_DARKEST_SHADE = 16

_TASK = Task(
    family="image_classification",
    metric="accuracy",
    target_kind=TargetKind.CLASS,
    submission=SubmissionKind.LABEL,
    id_column="id",
    targets=("label",),
    train_table="train.csv",
    labels_table="",
    test_table="",
    sample_submission="sample_submission.csv",
    details={
        "class_count": 10,
        "image_column": "id",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".png",
        "image_size": 16,
        "channels": 1,
        "image_encoding": "png",
        "flip": False,
        "batch_size": 16,
        "epochs": 20,
    },
    evidence={
        "family": "each row of train.csv is the label of one image",
        "metric": "the competition is scored by accuracy",
        "target_kind": "the labels are ten digits",
        "submission": "the sample has one digit for each id",
        "id_column": "the column that train.csv and sample_submission.csv share",
        "targets": "the column of sample_submission.csv beside the id",
        "train_table": "the only table with a row for each training image",
        "sample_submission": "the name that every competition gives it",
        "image_column": "with .png its values are the names of the files in train",
        "train_folder": "its files are the ids of train.csv",
        "test_folder": "its files are the ids of sample_submission.csv",
        "image_suffix": "every image is <id>.png",
        "image_size": "the scans are 8 x 8; twice that gives a convolutional network room for two poolings",
        "channels": "the images are 8-bit grey",
        "image_encoding": "all images are 8-bit PNG",
        "flip": "a mirrored digit is another digit or none",
        "batch_size": "leaves 8 steps an epoch on 8 replicas of 1,005 training images",
        "epochs": "an epoch of 1,257 images of 8 x 8 pixels is short; the time budget ends training earlier if needed",
    },
)


@dataclass(frozen=True)
class _Scan:
    key: str
    label: str
    pixels: "numpy.ndarray[Any, numpy.dtype[numpy.uint8]]"


def _write(folder: Path) -> None:
    from PIL import Image

    training, test = _split()
    write_table(folder / "train.csv", ("id", "label"), ((scan.key, scan.label) for scan in training))
    write_table(folder / "sample_submission.csv", ("id", "label"), ((scan.key, "0") for scan in test))
    for name, scans in (("train", training), ("test", test)):
        (folder / name).mkdir()
        for scan in scans:
            Image.fromarray(scan.pixels).save(folder / name / f"{scan.key}.png")


def _answers() -> Mapping[str, str]:
    return {scan.key: scan.label for scan in _split()[1]}


def _split() -> tuple[list[_Scan], list[_Scan]]:
    images, labels = dataset("digits", return_X_y=True)
    pixels = (images.reshape(-1, 8, 8) * (255 / _DARKEST_SHADE)).round().astype("uint8")
    scans = [
        _Scan(key_of("digits", str(index)), str(label), pixels[index]) for index, label in enumerate(labels.tolist())
    ]
    return split(scans, _TRAINING_ROWS, lambda scan: scan.key)


DIGITS = BuiltIn(
    competition=Competition(slug="digits", title="Handwritten digits", is_code_competition=True),
    description="Tell scans of handwritten digits apart.",
    task=_TASK,
    write=_write,
    answers=_answers,
)
