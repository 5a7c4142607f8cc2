"""Random numbers that are the same for the same seed."""

import random
from collections.abc import Sequence


def random_for(seed: int, *names: object) -> random.Random:
    """A source of random numbers for one purpose, so that one part of a specimen does not change another."""
    # Bytes are hashed by SHA-512, the same on every machine; names of files may have bytes that are no characters.
    key = "/".join(map(str, (seed, *names))).encode("utf-8", "surrogatepass")
    return random.Random(key)  # noqa: S311 - nothing here is a secret


def spread(count: int, source: random.Random) -> list[float]:
    """So many places from 0 to 1, one in each of as many equal parts, in any order."""
    places = [(position + source.random()) / count for position in range(count)]
    source.shuffle(places)
    return places


def led(levels: Sequence[float], source: random.Random, *, lead: float) -> list[float]:
    """Places from 0 to 1 that grow with the levels, as far as the lead says.

    The ranks are spread evenly again, so that what is drawn by them has the distribution that it should have.
    """
    noisy = [lead * level + (1 - lead) * source.random() for level in levels]
    order = sorted(range(len(noisy)), key=lambda row: (noisy[row], row))
    places = [0.0] * len(noisy)
    for rank, row in enumerate(order):
        places[row] = (rank + source.random()) / len(noisy)
    return places
