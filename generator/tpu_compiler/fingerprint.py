"""The key of a whole report: the notebook, its inputs as the file system lists them, and what compiles it."""

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from generator.files import FileReadError, read_bytes
from generator.installation import installed_version
from generator.tpu_compiler.options import CompileOptions
from generator.tpu_compiler.targets import NotebookTarget

_PACKAGES = (
    *("jax", "jaxlib", "libtpu", "keras", "tensorflow", "tensorflow-cpu", "numpy", "flax", "optax"),
    *("torch", "torch-xla", "timm", "transformers"),
)
_MOST_FILES = 200_000


def fingerprint(target: NotebookTarget, options: CompileOptions) -> str | None:
    """The SHA-256 of what a report depends on; None where there are too many files to look at each time.

    Raises:
        FileReadError: The notebook cannot be read.
    """
    try:
        content = read_bytes(target.path)
    except OSError as error:
        raise FileReadError(path=target.path, cause=error) from error
    mounts = [str(mount.at) for mount in target.mounted]
    about = [asdict(options), dict(target.parameters), mounts, target.is_specimen, platform.python_version()]
    digest = hashlib.sha256(json.dumps([about, [installed_version(name) for name in _PACKAGES]], default=str).encode())
    digest.update(content)
    for module in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(module.read_bytes())
    for count, line in enumerate(line for mount in target.mounted for line in _listing(mount.source)):
        if count > _MOST_FILES:
            return None
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def _listing(folder: Path) -> Iterator[str]:
    """A line for each file, with its size and its time."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            try:
                status = path.stat()
            except OSError:
                continue
            yield f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n"
