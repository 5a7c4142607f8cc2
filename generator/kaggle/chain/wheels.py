"""Wheels of what a notebook imports beyond Kaggle's image, for that image's Python."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache
from pathlib import Path

from generator.check.code import read_code
from generator.files import WorkspaceFiles, writing
from generator.kaggle.chain.errors import ChainError
from generator.text import printable, python_literal

_TIMEOUT_SECONDS = 600
_LARGEST_METADATA = 4 * 1024 * 1024
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ELSEWHERE = re.compile(r"extra ==|;.*(win32|darwin|Windows|Darwin|python_version\s*<|PyPy)")


@dataclass(frozen=True)
class Image:
    """The packages of Kaggle's image, by the dated file beside this module."""

    pythons: tuple[str, ...]
    platforms: tuple[str, ...]
    distributions: frozenset[str]
    modules: Mapping[str, str]


@dataclass(frozen=True)
class Wheels:
    """Wheel files by name, and what is to be installed from them."""

    requirements: tuple[str, ...]
    files: Mapping[str, Path]


@cache
def image() -> Image:
    """Kaggle's GPU image."""
    data = tomllib.loads(Path(__file__).with_name("image.toml").read_text(encoding="utf-8"))
    return Image(
        tuple(data["pythons"]), tuple(data["platforms"]), frozenset(data["distributions"]), dict(data["modules"])
    )


def missing_requirements(notebook: str) -> tuple[str, ...]:
    """The distributions that a notebook's code imports, and that neither Python nor the image has."""
    kaggle_image = image()
    names = {
        kaggle_image.modules.get(module, module).lower().replace("_", "-")
        for module in read_code(json.loads(notebook), Path()).modules - sys.stdlib_module_names
    }
    return tuple(sorted(names - kaggle_image.distributions))


def wheels_for(notebook: str, folder: Path, files: WorkspaceFiles) -> Wheels:
    """Downloads what a notebook needs beyond the image, with what that needs in turn.

    Args:
        notebook: The notebook as JSON.
        folder: Where the wheels are kept; whatever else lies there is not taken along.
        files: The way to write there.

    Raises:
        ChainError: Something has no wheel for the image's Python.
        FileWriteError: The folder cannot be written.
        UnsafePlaceError: A link is in the way.
    """
    requirements = missing_requirements(notebook)
    if not requirements:
        return Wheels((), {})
    wheels: dict[str, Path] = {}
    with writing(folder):
        for python in image().pythons:
            files.make_folder(folder / python)
            with files.beside(folder / python) as fresh:
                for wheel in dict.fromkeys(_download_all(requirements, python, fresh)):
                    wheels[wheel.name] = folder / python / wheel.name
                    files.move(wheel, wheels[wheel.name])
    return Wheels(requirements, dict(sorted(wheels.items())))


def install_cell(wheels: Wheels, dataset: str) -> str:
    """The cell that installs wheels from an attached dataset, without a network."""
    slug = dataset.partition("/")[2]
    text = Path(__file__).with_name("install_wheels.py.txt").read_text(encoding="utf-8").rstrip()
    text = text.replace("MOUNTS", python_literal([f"datasets/{dataset}", slug]))
    return text.replace("WHEELS", python_literal(list(wheels.requirements)))


def _download_all(requirements: Iterable[str], python: str, folder: Path) -> list[Path]:
    """Fetches wheels one by one: what the image has already must not come along in another version."""
    wheels: list[Path] = []
    image_packages = image().distributions
    waiting, fetched_names = list(requirements), set[str]()
    while waiting:
        name = waiting.pop()
        if name in fetched_names or name in image_packages:
            continue
        fetched_names.add(name)
        wheels.append(_download(name, python, folder))
        waiting += _dependencies(wheels[-1])
    return wheels


def _download(name: str, python: str, folder: Path) -> Path:
    before = set(folder.glob("*.whl"))
    # Without -P Python looks into the working folder first, and would execute a pip.py that somebody sent there.
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", f"--dest={folder}"]
    command += [f"--platform={platform}" for platform in image().platforms]
    stem = re.compile(re.escape(name).replace(r"\-", "[-_.]") + "-", re.IGNORECASE)
    try:
        process = subprocess.run(  # noqa: S603 - no shell; a name that an import statement can have
            [*command, "--", name], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
        answer = (process.stderr.strip().splitlines() or ["nothing was downloaded."])[-1]
        files = [path for path in folder.glob("*.whl") if stem.match(path.name) and not process.returncode]
    except subprocess.TimeoutExpired:
        answer, files = "no answer in ten minutes.", []
    if not files:
        raise ChainError(
            f"There is no wheel of {printable(name)} for Python {python} on Linux: {printable(answer)} "
            "Remove that import from the inference notebook, or attach it as a dataset by hand."
        )
    return next(iter(set(files) - before), files[-1])


def _dependencies(wheel: Path) -> list[str]:
    """The distributions that a wheel requires without extras."""
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        with archive.open(member) as file:
            text = file.read(_LARGEST_METADATA).decode("utf-8", "replace")
    requirements = [str(requirement) for requirement in HeaderParser().parsestr(text).get_all("Requires-Dist", [])]
    matches = [_REQUIREMENT.match(requirement) for requirement in requirements if not _ELSEWHERE.search(requirement)]
    return [name[0].lower().replace("_", "-") for name in matches if name]
