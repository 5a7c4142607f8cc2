"""The competition `digits`: tell 1,797 scans of handwritten digits apart.

The data are the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine
Learning Repository, 1998, CC BY 4.0), as scikit-learn carries them: 8 x 8 pixels with 17 shades.
"""

from dataclasses import replace
from pathlib import Path

from generator.competition.builtin.built_in import Parts, dataset, key_of, of_rows, split

_DARKEST_SHADE = 16


def _parts() -> Parts:
    _, labels = dataset("digits", return_X_y=True)
    return (), *split("digits", ([str(label)] for label in labels.tolist()), training_rows=1_257)


def _write(folder: Path) -> None:
    from PIL import Image

    _TABLES.write(folder)
    images, _ = dataset("digits", return_X_y=True)
    pixels = (images.reshape(-1, 8, 8) * (255 / _DARKEST_SHADE)).round().astype("uint8")
    scans = {key_of("digits", str(index)): scan for index, scan in enumerate(pixels)}
    for name, rows in zip(("train", "test"), _parts()[1:], strict=True):
        (folder / name).mkdir()
        for key, _ in rows:
            Image.fromarray(scans[key]).save(folder / name / f"{key}.png")


_TABLES = of_rows("digits", _parts, sample_answer="0")
DIGITS = replace(_TABLES, write=_write)
