"""A record of the calls that were answered, so that a test can compare each with the types of Kaggle's SDK."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 5_000


@dataclass(frozen=True)
class Exchange:
    """A call and its answer; `answer` is None where it was no JSON object."""

    method: str
    request: Mapping[str, Any]
    status: int
    answer: Mapping[str, Any] | None


class Traffic:
    """The last few thousand exchanges, in memory; kept by tests only, since pushes are large."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: deque[Exchange] = deque(maxlen=_MOST)

    def add(self, exchange: Exchange) -> None:
        """Records one exchange."""
        with self._lock:
            self._exchanges.append(exchange)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was recorded, in order."""
        with self._lock:
            return tuple(self._exchanges)
