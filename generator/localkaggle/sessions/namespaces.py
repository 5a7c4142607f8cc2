"""Sessions in namespaces made by the system's own tools, where there is no bubblewrap but the kernel lets users do so.

`unshare` makes the namespaces; a shell inside mounts a new root folder with nothing in it but what a session needs,
moves there, drops all privileges, and becomes the program.
"""

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from generator.localkaggle.sessions.isolation import (
    REAL_PLACE,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    Place,
    input_folders,
    python_folders,
    session_folders,
)
from generator.localkaggle.sessions.runner import SessionOrder

_PROBE_SECONDS = 10
_TOOLS = ("unshare", "mount", "umount", "pivot_root", "setpriv", "sh")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_OLD_ROOT = "/.old"
_SHARED = "/dev/shm"  # noqa: S108 - a file system of the session's own
_WITHOUT_PRIVILEGES = "setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --"


class Namespaces:
    """A new root folder in namespaces of its own; see `man unshare` and `man pivot_root`."""

    description = "namespaces of the system (Kaggle's paths, read-only inputs, no network where it is off)"

    def __init__(self, program: str) -> None:
        self._program = program

    @classmethod
    def found(cls) -> "Namespaces | None":
        """The tools of this machine, if they are all there and the kernel lets this user make namespaces."""
        programs = {tool: shutil.which(tool) for tool in _TOOLS}
        program = programs["unshare"]
        if program is None or None in programs.values():
            return None
        found = cls(program)
        script = f"mount -t tmpfs tmpfs /mnt && mount -t proc proc /mnt && exec {_WITHOUT_PRIVILEGES} true"
        try:
            ended = subprocess.run(  # noqa: S603 - the program of the user's own PATH
                found._unshared(script, internet=False), capture_output=True, timeout=_PROBE_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return found if ended.returncode == 0 else None

    def place(self, _order: SessionOrder) -> Place:
        """Kaggle's own paths."""
        return REAL_PLACE

    def command(self, order: SessionOrder, program: Sequence[str]) -> list[str]:
        """The program in the namespaces; it dies with `unshare`."""
        root = order.private / "root"
        root.mkdir(exist_ok=True)
        # The shell stays as the first process: a Jupyter kernel whose parent is process 1 takes itself for an orphan.
        running = f"{_WITHOUT_PRIVILEGES} {shlex.join(program)}\nexit $?"
        script = "\n".join(["set -e", *_root(order, root), *_entering(root), running])
        return self._unshared(script, internet=order.internet)

    def _unshared(self, script: str, *, internet: bool) -> list[str]:
        kinds = ["--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts", *([] if internet else ["--net"])]
        return [self._program, *kinds, "--fork", "--kill-child", "--propagation", "private", "sh", "-c", script]


def _root(order: SessionOrder, root: Path) -> Iterator[str]:
    """The lines of a shell that build the new root folder."""
    yield f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(root))}"
    for path in (*SYSTEM_FOLDERS, *SYSTEM_FILES):
        if Path(path).exists():
            yield from _bound(root, path, Path(path).resolve(), read_only=True)
    yield from _devices(root)
    for at, folder in session_folders(order).items():
        yield from _bound(root, at, folder, read_only=False)
    for folder in python_folders():
        yield from _bound(root, str(folder), folder, read_only=True)
    yield f"mkdir -p {_inside(root, REAL_PLACE.input_root)}"
    for at, folder in input_folders(order).items():
        yield from _bound(root, at, folder, read_only=True)


def _bound(root: Path, at: str, source: Path, *, read_only: bool) -> Iterator[str]:
    target, parent = _inside(root, at), _inside(root, str(Path(at).parent))
    yield f"mkdir -p {target}" if source.is_dir() else f"mkdir -p {parent}; : > {target}"
    yield f"mount --bind {shlex.quote(str(source))} {target}"
    if read_only:
        yield f"mount -o remount,bind,ro {target}"


def _devices(root: Path) -> Iterator[str]:
    yield f"mkdir -p {_inside(root, '/proc')} {_inside(root, _SHARED)} {_inside(root, _OLD_ROOT)}"
    yield f"mount -t proc proc {_inside(root, '/proc')}"
    for name in _DEVICES:
        yield from _bound(root, f"/dev/{name}", Path("/dev", name), read_only=False)
    yield f"ln -s /proc/self/fd {_inside(root, '/dev/fd')}"


def _entering(root: Path) -> Iterator[str]:
    yield f"cd {shlex.quote(str(root))}"
    yield f"pivot_root . {_OLD_ROOT.strip('/')}"
    yield "cd /"
    yield f"umount -l {_OLD_ROOT}"
    yield f"rmdir {_OLD_ROOT}"
    yield "ip link set lo up 2>/dev/null || true"
    yield "hostname kaggle 2>/dev/null || true"
    yield f"mount -t tmpfs -o mode=1777 tmpfs {_SHARED}"
    yield "mount -o remount,bind,ro /"
    yield f"cd {REAL_PLACE.working}"


def _inside(root: Path, at: str) -> str:
    return shlex.quote(f"{root}/{at.lstrip('/')}")
