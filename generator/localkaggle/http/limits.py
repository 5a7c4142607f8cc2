"""How long the server waits for a client, and how much it takes from one."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client from using up the server.

    Attributes:
        head_seconds: How long the head of a request may take from the first byte, or from the opening of a connection.
        body_seconds: How long the whole body of a call may take.
        idle_seconds: How long an upload may send nothing, and a reader take nothing.
        largest_head: The most bytes of a request's head.
        largest_call: The most bytes of a call's JSON or of a form: a notebook with its outputs, and some more.
        connections: The most connections at once.
        threads: How many calls are worked on at once.
        page_threads: How many pages are made at once, beside the calls: a notebook can take seconds to be rendered.
    """

    head_seconds: float = 15
    body_seconds: float = 60
    idle_seconds: float = 60
    largest_head: int = 64 * 1024
    largest_call: int = 32 * MIB
    connections: int = 1_000
    threads: int = 8
    page_threads: int = 3
