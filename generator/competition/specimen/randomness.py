"""Random numbers that are the same for the same seed."""

import random
from collections.abc import Sequence


def random_for(seed: int, *names: object) -> random.Random:
    """A source of random numbers for one purpose, so that one part of a specimen does not change another."""
    # Bytes are hashed by SHA-512, the same on every machine; names of files may have bytes that are no characters.
    key = "/".join(map(str, (seed, *names))).encode("utf-8", "surrogatepass")
    return random.Random(key)  # noqa: S311 - nothing here is a secret


def even_quantiles(count: int, source: random.Random) -> list[float]:
    """So many quantiles from 0 to 1, one in each of as many equal parts, in any order."""
    quantiles = [(position + source.random()) / count for position in range(count)]
    source.shuffle(quantiles)
    return quantiles


def correlated_quantiles(levels: Sequence[float], source: random.Random, *, strength: float) -> list[float]:
    """Quantiles from 0 to 1 that grow with the levels, as far as the strength says.

    The ranks are spread evenly again, so that what is drawn by them has the distribution that it should have.
    """
    noisy = [strength * level + (1 - strength) * source.random() for level in levels]
    order = sorted(range(len(noisy)), key=lambda row: (noisy[row], row))
    quantiles = [0.0] * len(noisy)
    for rank, row in enumerate(order):
        quantiles[row] = (rank + source.random()) / len(noisy)
    return quantiles
