"""Which of the ways to keep a session apart this machine has."""

from generator.localkaggle.sessions.bubblewrap import Bubblewrap
from generator.localkaggle.sessions.isolation import Isolation
from generator.localkaggle.sessions.plain import PlainProcess


def best_isolation() -> Isolation:
    """The best that works here, tried out: bubblewrap, or a plain process."""
    return Bubblewrap.found() or PlainProcess()
