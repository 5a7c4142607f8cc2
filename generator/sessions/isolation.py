"""What any isolation of a session from this machine has to do, and the least one: a process of its own."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import generator
from generator.sessions.runner import SessionOrder

# Programs and libraries; what is personal or secret stays out of sight.
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
SYSTEM_FILES = (
    *("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/localtime"),
    # Not all of /etc/ssl and /etc/pki: beside certificates lie private keys, and a server run as root can read them.
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/ca-trust", "/etc/pki/tls/certs"),
    *("/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/ca-certificates"),
    *("/etc/fonts", "/etc/alternatives", "/etc/mime.types"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
)

INPUT, WORKING, HOME = "/kaggle/input", "/kaggle/working", "/root"
SESSION = "/kaggle/session"
"""Where the worker finds the notebook, and saves what came of it."""


@dataclass(frozen=True)
class Launch:
    """A program to execute on this machine, and its variables beside the session's own.

    It inherits file descriptors, which are closed here when this is left. It sees Kaggle's paths, and then what must
    not be changed or reached cannot be; or `elsewhere` has the paths of this machine that stand for them. From the
    descriptor `report` is read which process is the first one of a sandbox. Where `way_out` names a program, the
    sandbox has a network of its own and waits until something is written to `gate`.
    """

    arguments: tuple[str, ...]
    inherited: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    report: int | None = None
    way_out: str = ""
    gate: int | None = None

    def path(self, kaggles: str) -> str:
        """The path that stands for one of Kaggle's."""
        return self.elsewhere.get(kaggles, kaggles)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.inherited:
            os.close(descriptor)


def session_folders(order: SessionOrder) -> dict[str, Path]:
    """The folders of this machine that a session may write to, by where it sees them."""
    return {
        WORKING: order.files.working,
        SESSION: order.files.private / "session",
        HOME: order.files.private / "home",
        "/tmp": order.files.private / "scratch",  # noqa: S108 - a folder of the session's own
        "/kaggle/temp": order.files.private / "temp",
        # Shared memory is on the disk as well, where it is measured with the rest.
        "/dev/shm": order.files.private / "shared",  # noqa: S108 - a folder of the session's own
    }


def input_folders(order: SessionOrder) -> Mapping[str, Path]:
    """The folders of this machine that a session may read, by where it sees them."""
    return {f"{INPUT}/{place}": folder for place, folder in order.mounts.items()}


def python_folders(order: SessionOrder) -> list[Path]:
    """The folders of this Python, of the notebook's and of the kit's own worker, without those of the system."""
    package = Path(generator.__file__).resolve().parent
    wanted = [Path(sys.prefix), Path(sys.base_prefix), package]
    if order.python is not None:
        wanted += [python.parent.parent for python in (order.python, order.python.resolve())]
    wanted += [Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    found: list[Path] = []
    for folder in [*wanted, *(folder.resolve() for folder in wanted)]:
        seen = [Path(known) for known in SYSTEM_FOLDERS] + found
        if folder.is_dir() and not any(folder.is_relative_to(known) for known in seen):
            found.append(folder)
    return found


class PlainProcess:
    """Kaggle's tree as a folder of links; the kernel's own audit hook refuses what a sandbox would make impossible."""

    description = (
        "a plain process (mapped paths; Python code is kept from the inputs and the network, programs are not; with "
        "the internet on it reaches whatever listens on this machine's localhost)"
    )
    is_sandbox = False

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        """The program itself, with paths of this machine, which reach the notebook as its parameters."""
        root = order.files.private / "input"
        root.mkdir()
        for place, folder in order.mounts.items():
            link = Path(root, place)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder, target_is_directory=True)
        own = {at: str(folder) for at, folder in session_folders(order).items()}
        return Launch(tuple(program), elsewhere={INPUT: str(root), **own})
