"""The seam between a session and what executes its notebook: a sandbox, or a script in a test."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Protocol

from generator.accelerators.catalog import AcceleratorKind
from generator.competition.facts import Value
from generator.sessions.session_folder import SessionFolder


@dataclass(frozen=True)
class SessionOrder:
    """One session to come.

    Attributes:
        title: What the notebook is called in messages: `owner/slug`, and its version.
        notebook: The notebook as it was pushed.
        files: Where it leaves its outputs, however far it gets; `working` and `private` are there, and empty.
        mounts: The read-only folders of this machine by their place below /kaggle/input; none of them is the user's
            choice, so nothing is checked again.
        parameters: What overrides the notebook's parameters cell, for names that the cell has.
        environment: Environment variables beside those that every session has.
        internet: Whether the session may reach the network.
        accelerator: What the session was given; a TPU is emulated by `devices` devices of the CPU.
        devices: How many devices a framework is to see.
        time_limit: After this long the session is killed.
        output_limit: More bytes than this in `working`, or beside it, end the session.
        memory_limit: So do more bytes of memory than this in all of its processes,
        process_limit: and more processes than this.
        python: The Python of another environment that the notebook runs in, such as one with the versions of an image;
            what its environment lacks comes from the kit's own.
    """

    title: str
    notebook: Path
    files: SessionFolder
    mounts: Mapping[PurePosixPath, Path]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    internet: bool = False
    accelerator: AcceleratorKind = AcceleratorKind.CPU
    devices: int = 1
    time_limit: timedelta = timedelta(hours=12)
    output_limit: int = 20 * 2**30
    memory_limit: int = 30 * 2**30
    process_limit: int = 4_096
    python: Path | None = None


@dataclass(frozen=True)
class SessionEnd:
    """The end of a session: good if `failure` is empty, else `failure` is what the API answers for it.

    `seconds` is how long it took, `peak_memory` the most bytes that its processes were seen to have.
    """

    failure: str = ""
    seconds: float = field(default=0.0, compare=False)
    peak_memory: int = field(default=0, compare=False)


class Runner(Protocol):
    """Executes notebooks."""

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine, in a few words for people."""

    def run(self, order: SessionOrder, *, stop: threading.Event) -> SessionEnd:
        """Executes a notebook and waits for its end, which comes soon after `stop` is set.

        What goes wrong in the notebook is the `failure` of the end; an exception is a bug of the runner.
        """
