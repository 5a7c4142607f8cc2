"""Limits of the time that the server waits for a client, and of the bytes that it takes from one."""

from dataclasses import dataclass

from generator.localkaggle.services.accounts import OPEN_METHODS
from generator.localkaggle.services.kernel_pushes import SAVE_KERNEL

KIB, MIB = 2**10, 2**20
LARGEST_FORM = 32 * MIB


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client from using up the server.

    Attributes:
        head_seconds: How long the head of a request may take from the first byte, or from the opening of a connection.
        body_seconds: How long the whole body of a call may take.
        idle_seconds: How long an upload may send nothing, and a reader take nothing.
        largest_head: The most bytes of a request's head.
        largest_open: The most bytes of a call that needs no credentials: a token, and some more.
        largest_call: The most bytes of a call's JSON: the names of some ten thousand uploads.
        largest_notebook: The most bytes of a call that saves a notebook.
        largest_form: The most bytes of a form, which may have a file in it.
        small_body: What is read of any body; more of it than that is read of a few at a time only.
        large_bodies: How many larger bodies are read and worked on at once.
        connections: The most connections at once.
        threads: How many calls are worked on at once.
        page_threads: How many pages are made at once, beside the calls: a notebook can take seconds to be rendered.
    """

    head_seconds: float = 15
    body_seconds: float = 60
    idle_seconds: float = 60
    largest_head: int = 64 * 1024
    largest_open: int = 8 * KIB
    largest_call: int = 4 * MIB
    largest_notebook: int = 16 * MIB
    largest_form: int = LARGEST_FORM
    small_body: int = 64 * KIB
    large_bodies: int = 2
    connections: int = 1_000
    threads: int = 8
    page_threads: int = 3

    def largest_of(self, method: str) -> int:
        """The most bytes of a call of a method."""
        if method in OPEN_METHODS:
            return self.largest_open
        return self.largest_notebook if method == SAVE_KERNEL else self.largest_call
