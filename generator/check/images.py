"""What Kaggle's images have, and what libraries have removed: the tables of `data/`, read once."""

import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generator.check.source import KernelSource

_DATA = Path(__file__).with_name("data")
# Names of the standard library, and modules that later versions of Python no longer have.
_STANDARD_LIBRARY = sys.stdlib_module_names | {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "imp", "lib2to3"),
    *("mailcap", "nntplib", "pipes", "sndhdr", "sunau", "telnetlib", "uu", "xdrlib"),
}


@dataclass(frozen=True)
class Removed:
    """A name that a library has removed, the version in which it went, and what stands in its place."""

    name: str
    version: str
    instead: str

    @property
    def library(self) -> str:
        """The module whose version decides."""
        head = self.name.partition(".")[0]
        return "python" if head in _STANDARD_LIBRARY else head

    @property
    def backports(self) -> set[str]:
        """What distributions are called, written as modules, that bring back a module of the standard library."""
        return {form.format(self.name) for form in ("standard_{}", "legacy_{}", "{}_lts")}

    def is_gone(self, kernel: KernelSource) -> bool:
        """True if it is certain that the image that runs a kernel, or either where that is not said, lacks the name."""
        versions = [image.get(self.library) for image in _images(kernel)]
        return all(version is not None and _parts(version) >= _parts(self.version) for version in versions)

    def may_be_gone(self, kernel: KernelSource) -> bool:
        """True unless every image that could run a kernel still has the name."""
        versions = [image.get(self.library) for image in _images(kernel)]
        return any(version is None or _parts(version) >= _parts(self.version) for version in versions)


def stays_the_same(entry: Removed) -> bool:
    """Return whether a name means the same under its other one."""
    return entry.name.startswith(tuple(_table("removed_names.toml")["same"]))


def removed(table: str) -> Mapping[str, Removed]:
    """Return the removed names of a table of `removed_names.toml`."""
    return _removed(table)


@cache
def _removed(table: str) -> Mapping[str, Removed]:
    rows = _table("removed_names.toml")[table].items()
    return {name: Removed(name, version, instead) for name, (version, instead) in rows}


def removed_values() -> Mapping[str, tuple[Removed, str, str]]:
    """Return functions with the texts that they no longer take: how these begin, and what begins so and is fine."""
    rows = _table("removed_names.toml")["values"].items()
    return {name: (Removed(name, version, instead), start, fine) for name, (start, version, instead, fine) in rows}


def missing_modules(kernel: KernelSource) -> Mapping[str, str]:
    """Return the modules that the kernel's image lacks, with what pip calls them."""
    images = _table("images.toml")
    missing: Mapping[str, str] = images["missing"] | (images["tpu"]["missing"] if kernel.is_on_tpu else {})
    return missing


def instead_of(module: str) -> str:
    """Return what to write in the place of a module of which no version works in the images, or nothing."""
    return str(_table("images.toml")["instead"].get(module, ""))


@cache
def distributions_of(image: str) -> frozenset[str]:
    """Return the names by which pip knows what an image has, "gpu" or "tpu"; a kernel without either has the first."""
    return frozenset(_table("images.toml")[image]["distributions"])


def gpu_modules() -> Iterable[str]:
    """Return the modules that need an NVIDIA GPU."""
    return tuple(_table("images.toml")["needs_gpu"]["modules"])


def gpu_keywords() -> Iterable[tuple[str, str]]:
    """Return the keywords with the values by which libraries are told to compute on a GPU."""
    return tuple((name, value) for name, value in _table("images.toml")["needs_gpu"]["keywords"])


def version_in_image(kernel: KernelSource, library: str) -> str:
    """Return the version of a library in the image of a TPU or of a GPU, or nothing."""
    return str(_table("images.toml")["tpu" if kernel.is_on_tpu else "gpu"]["versions"].get(library, ""))


def _images(kernel: KernelSource) -> list[Mapping[str, str]]:
    images = _table("images.toml")
    if kernel.metadata is None:
        return [images["gpu"]["versions"], images["tpu"]["versions"]]
    versions: Mapping[str, str] = images["tpu" if kernel.is_on_tpu else "gpu"]["versions"]
    return [versions]


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads((_DATA / name).read_text(encoding="utf-8"))


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
