"""The pretrained weights that a training starts from, fetched beforehand into the cache that its library reads."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from generator.competition.facts import Value
from generator.errors import RunError
from generator.installation import install_command
from generator.pair.template_catalog import frameworks
from generator.untrusted import JsonObject, printable

_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?")
_TAG = re.compile(r"[A-Za-z0-9_]+")
_FROM_SCRATCH = "cnn"
_LONGEST_ANSWER = 1 << 16


@dataclass(frozen=True)
class PretrainedWeights:
    """Weights of a backbone that a library downloads on first use.

    Attributes:
        library: Which one.
        backbone: What the library calls the network.
        pretrained: What the library calls the weights; "" where it has one set of them only.
        image_size: The height and width of the images; 0 where the weights are the same for all.
    """

    library: str
    backbone: str
    pretrained: str
    image_size: int = 0

    @property
    def title(self) -> str:
        """What they are called in messages."""
        return f"{self.backbone}.{self.pretrained}" if self.pretrained else self.backbone


def wanted_weights(framework: str, parameters: Mapping[str, Value | None]) -> PretrainedWeights | None:
    """Return the weights that a training of a framework fetches with these parameters.

    None where it starts from scratch, from a file, or from a model that is attached.
    """
    known = frameworks().get(framework)
    backbone, pretrained = parameters.get("BACKBONE"), parameters.get("WEIGHTS")
    if known is None or not known.weights or not isinstance(backbone, str) or backbone == _FROM_SCRATCH:
        return None
    # What else the names could be, such as an address, is nothing that is fetched unasked.
    if not _NAME.fullmatch(backbone) or (known.backbones and backbone not in known.backbones):
        return None
    if pretrained is True:
        return PretrainedWeights(known.weights, backbone, "")
    if not isinstance(pretrained, str) or not _TAG.fullmatch(pretrained):
        return None
    size = parameters.get("IMAGE_SIZE")
    return PretrainedWeights(known.weights, backbone, pretrained, size if isinstance(size, int) else 0)


def fetch_weights(weights: PretrainedWeights, *, shows_progress: bool) -> Path:
    """Fetch weights, unless they are there, by the library itself in a process of its own.

    Args:
        weights: Which ones.
        shows_progress: Whether the library may write its progress to stderr.

    Returns:
        The folder of the library's cache.

    Raises:
        RunError: The library is not installed, or the weights cannot be had.
    """
    # Without -P the folder that the kit was started in could bring modules along.
    command = [sys.executable, "-P", "-m", "generator.run.weights_process", json.dumps(asdict(weights))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAGGLE_")}
    environment |= {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.setdefault("KERAS_BACKEND", "jax")
    process = subprocess.run(  # noqa: S603 - the kit's own module
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if shows_progress else subprocess.DEVNULL,
        check=False,
    )
    lines = process.stdout[-_LONGEST_ANSWER:].decode(errors="replace").splitlines()
    said = JsonObject.parsed(lines[-1] if lines else "")
    if missing := said.text("missing"):
        raise RunError(
            f"The weights of {weights.title} are fetched by {printable(missing)}, which is not installed beside "
            f"{sys.executable}. Install what the framework needs: "
            f"{install_command('torch' if weights.library == 'timm' else 'run')}"
        )
    if not (folder := said.text("folder")):
        problem = said.text("problem") or f"its process ended with status {process.returncode}"
        raise RunError(
            f"The weights of {weights.title} cannot be fetched: {printable(problem).rstrip('.')}. Run the command "
            "again where the internet can be reached, or name a file of weights in WEIGHTS, or train from scratch: "
            '-P WEIGHTS="".'
        )
    return Path(folder)
