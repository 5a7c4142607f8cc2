"""The distributions that Kaggle's images have, by the dated table in `data/`."""

import tomllib
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("data") / "distributions.toml"


@cache
def distributions_of(image: str) -> frozenset[str]:
    """Return the names of the distributions of an image, "gpu" or "tpu"."""
    return frozenset(tomllib.loads(_TABLE.read_text(encoding="utf-8"))[image])
