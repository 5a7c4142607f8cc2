"""The environment with the package versions of Kaggle's GPU image, where there is one to infer in."""

import sys
from pathlib import Path

import generator
from generator.errors import RunError
from generator.untrusted import printable

_USUAL, _STAMP = ".venv-gpu", "image.stamp"


def find_image(folder: Path | None) -> Path | None:
    """The Python of the environment that the user named, or of the one that `make` puts beside the kit, if it is there.

    Raises:
        RunError: What the user named is none that this Python's packages fit into.
    """
    usual = Path(generator.__file__).resolve().parent.parent / _USUAL
    if folder is None and not (usual / _STAMP).is_file():
        return None
    found = (folder or usual).absolute()
    python, version = found / "bin" / "python", f"python{sys.version_info.major}.{sys.version_info.minor}"
    if python.is_file() and (found / "lib" / version).is_dir():
        return python
    problem = f"is of another Python than this one, {version}" if python.is_file() else "has no bin/python"
    raise RunError(
        f"{printable(str(found))} {problem}: name a virtual environment with the packages of Kaggle's GPU image, or "
        "leave --gpu-image out to infer with the versions that are here."
    )


def image_in_words(python: Path | None) -> str:
    """The versions in words; None is the kit's own environment."""
    if python is None:
        return "the package versions of this environment, as there is none with those of Kaggle's GPU image"
    return f"the package versions in {python.parent.parent.name}, those of Kaggle's GPU image"
