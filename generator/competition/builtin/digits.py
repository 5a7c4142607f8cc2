"""The competition `digits`: tell 1,797 scans of handwritten digits apart.

The data are the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine
Learning Repository, 1998, CC BY 4.0), as scikit-learn carries them: 8 x 8 pixels with 17 shades.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.competition.builtin.built_in import BuiltIn, dataset, declared, key_of, split, write_table

if TYPE_CHECKING:
    import numpy

_TRAINING_ROWS = 1_257
_DARKEST_SHADE = 16


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
    *declared("digits"),
    write=_write,
    answers=_answers,
)
