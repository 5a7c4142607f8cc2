"""The events of a chain while it runs; the command line shows them, programs read them as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    """The sorts of news."""

    STEP = "step"
    STATE = "state"
    NOTE = "note"
    LOG = "log"


@dataclass(frozen=True)
class Event:
    """One piece of news.

    Attributes:
        kind: What sort of news.
        step: The step that it is about, such as `train`, `infer`, `submit`.
        text: A sentence for people; untrusted.
        fields: The same for programs, as JSON values.
    """

    kind: EventKind
    step: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]
