"""The environment with the package versions of Kaggle's GPU image, where there is one to infer in."""

import sys
from dataclasses import dataclass
from pathlib import Path

import generator
from generator.rehearsal.errors import GpuImageError

_USUAL, _STAMP = ".venv-gpu", "image.stamp"


@dataclass(frozen=True)
class GpuImage:
    """An environment; `python` is None for the kit's own."""

    python: Path | None

    @property
    def description(self) -> str:
        """The versions in words."""
        if self.python is None:
            return "the package versions of this environment, as there is none with those of Kaggle's GPU image"
        return f"the package versions in {self.python.parent.parent.name}, those of Kaggle's GPU image"


def find_image(folder: Path | None) -> GpuImage:
    """The environment that the user named, or the one that `make` puts beside the kit, if it is there.

    Raises:
        GpuImageError: What the user named is none that this Python's packages fit into.
    """
    usual = Path(generator.__file__).resolve().parent.parent / _USUAL
    if folder is None and not (usual / _STAMP).is_file():
        return GpuImage(None)
    found = (folder or usual).absolute()
    python, version = found / "bin" / "python", f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not python.is_file():
        raise GpuImageError(folder=found, problem="has no bin/python")
    if not (found / "lib" / version).is_dir():
        raise GpuImageError(folder=found, problem=f"is of another Python than this one, {version}")
    return GpuImage(python)
