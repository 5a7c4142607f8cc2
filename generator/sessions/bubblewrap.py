"""Sessions in a sandbox of bubblewrap: Kaggle's own paths, read-only inputs, no network where it is off."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from generator.sessions.first_process import FirstProcess
from generator.sessions.isolation import (
    INPUT,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    WORKING,
    Launch,
    input_folders,
    python_folders,
    session_folders,
)
from generator.sessions.runner import SessionOrder
from generator.sessions.system_calls import exported_filter
from generator.sessions.way_out import RESOLVER, WayOut
from generator.untrusted import JsonObject

_PROBE_SECONDS = 10
_LONGEST_REPORT = 4_096
# As root the user of this machine is still root: whatever the kernel asks only the user for is to be covered below.
_APART = (
    *("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--hostname", "kaggle"),
)
# Without the second option files of /proc that root owns could be written to, and be a way out, such as
# /proc/sys/kernel/core_pattern.
_PROC = ("--proc", "/proc", "--remount-ro", "/proc")
_SEALED = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_NO_USER_NAMESPACES = "--disable-userns"  # since bubblewrap 0.8
# Else systemd ends all of a group as soon as the kernel kills one process in it for its memory, the worker with it, and
# nobody is left to ask why. Older ones do not know the word, and leave the rest alone by themselves.
_LEFT_ALONE = "--property=OOMPolicy=continue"
# What leads to the user's own systemd, which makes control groups for those who are not root.
_USERS_MANAGER = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


@dataclass(frozen=True)
class Bubblewrap:
    """A new root folder with nothing in it but what a session needs; see `man bwrap`.

    `hardening` are options that not every bubblewrap knows, `refused_calls` is the filter of system calls, `group` the
    program of systemd that has the kernel limit a session: its memory and its tasks (cgroup v2), with `group_options`
    where it knows them. `way_out` is slirp4netns, by which a session with the internet has a network of its own.
    """

    program: str
    hardening: tuple[str, ...] = ()
    refused_calls: bytes = b""
    group: str | None = None
    group_options: tuple[str, ...] = ()
    way_out: str = ""

    is_sandbox = True

    @classmethod
    def found(cls) -> "Bubblewrap | None":
        """The bubblewrap of this machine with all that it can do, if it works for this user."""
        program = shutil.which("bwrap")
        found = cls(program) if program is not None else None
        if found is None or not found.works():
            return None
        for change in (
            {"hardening": (_NO_USER_NAMESPACES,)},
            {"refused_calls": exported_filter()},
            {"group": shutil.which("systemd-run")},
            {"group_options": (_LEFT_ALONE,)},
            {"way_out": shutil.which("slirp4netns") or ""},
        ):
            better = replace(found, **change)
            found = better if better != found and better.works() else found
        return found

    @property
    def description(self) -> str:
        """A description in a few words for people."""
        missing = "no filter of system calls, for want of libseccomp or pyseccomp"
        filtered = "system calls filtered" if self.refused_calls else missing
        shared = "with the internet on it reaches whatever listens on this machine's localhost, for want of slirp4netns"
        network = "with the internet on it cannot reach this machine's localhost" if self.way_out else shared
        return (
            "a sandbox of bubblewrap (Kaggle's paths, read-only inputs, no network where it is off, no privileges; "
            f"{filtered}; {network})"
        )

    def launch(self, order: SessionOrder, program: Sequence[str]) -> Launch:
        """The program in the sandbox; it dies with this process."""
        options: list[str] = []
        for path in (*SYSTEM_FOLDERS, *SYSTEM_FILES):
            options += ["--ro-bind-try", path, path]
        resolver = _piped(RESOLVER) if order.internet and self.way_out else None
        if resolver is not None:
            options += ["--ro-bind-data", str(resolver), "/etc/resolv.conf"]
        options += [*_PROC, "--dev", "/dev"]
        # First the folders of the session's own: Python may live below one of the places that they take.
        for at, folder in session_folders(order).items():
            options += ["--bind", str(folder), at]
        for folder in python_folders(order):
            options += ["--ro-bind", str(folder), str(folder)]
        options += ["--dir", INPUT]
        for at, folder in input_folders(order).items():
            options += ["--ro-bind", str(folder), at]
        # The folders between the mounts belong to file systems in memory, which nobody measures: nothing may be
        # written to them either.
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKING]
        launch = self._launch(
            options, program, internet=order.internet, memory=order.memory_limit, tasks=order.process_limit
        )
        return launch if resolver is None else replace(launch, inherited=(*launch.inherited, resolver))

    def works(self) -> bool:
        """True if a program runs in it, tried out."""
        everything = ["--ro-bind", "/", "/", *_PROC, "--dev", "/dev"]
        launch = self._launch(everything, ["true"], internet=bool(self.way_out))
        first = None
        try:
            with launch:
                process = subprocess.Popen(  # noqa: S603 - the program of the user's own PATH
                    launch.arguments,
                    pass_fds=launch.inherited,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            first = first_process_of(launch)
            with network_of(launch, first) as has_network, process:
                try:
                    return process.wait(_PROBE_SECONDS) == 0 and (has_network or not self.way_out)
                finally:
                    process.kill()
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _launch(
        self,
        options: Sequence[str],
        program: Sequence[str],
        *,
        internet: bool = False,
        memory: int = SessionOrder.memory_limit,
        tasks: int = SessionOrder.process_limit,
    ) -> Launch:
        sandbox, inherited = self._untouchable()
        report, telling = os.pipe()
        inherited = (*inherited, telling)
        arguments = [sandbox, *_APART, "--info-fd", str(telling), *self.hardening]
        gate = None
        way_out = self.way_out if internet else ""
        if way_out:
            waiting, gate = os.pipe()
            inherited = (*inherited, waiting)
            arguments += ["--block-fd", str(waiting)]
        elif internet:
            arguments += ["--share-net"]
        if self.refused_calls:
            filtering = _piped(self.refused_calls)
            inherited = (*inherited, filtering)
            arguments += ["--seccomp", str(filtering)]
        if self.group is None:
            whole = (*arguments, *options, "--", *program)
            return Launch(whole, inherited=inherited, report=report, way_out=way_out, gate=gate)
        is_root = os.geteuid() == 0
        manager = {name: os.environ[name] for name in _USERS_MANAGER if name in os.environ and not is_root}
        # What leads to the manager of the group is none of the notebook's business.
        unset = [part for name in manager for part in ("--unsetenv", name)]
        # A little more than a session may have: who looks at it ends it in Kaggle's words, the kernel just kills.
        limits = {"MemoryMax": memory + memory // 10, "MemorySwapMax": 0, "TasksMax": tasks}
        scope = [self.group, *([] if is_root else ["--user"]), "--scope", "--quiet", "--collect"]
        scope += [*self.group_options, *(f"--property={name}={value}" for name, value in limits.items())]
        return Launch(
            (*scope, "--", *arguments, *unset, *options, "--", *program),
            inherited=inherited,
            variables=manager,
            report=report,
            way_out=way_out,
            gate=gate,
        )

    def _untouchable(self) -> tuple[str, tuple[int, ...]]:
        """A program that a session cannot write to, and the descriptors that it is found by.

        bubblewrap stays as the first process of the sandbox, whose `/proc/1/exe` leads to the file on this machine, by
        a mount that is writable. The kernel refuses that as long as the program runs, and no longer. So where the file
        is the user's own, as it is for root, a sealed copy of it in memory is what runs.
        """
        if Path(self.program).stat().st_uid != os.geteuid() and not os.access(self.program, os.W_OK):
            return self.program, ()
        with open(os.memfd_create("bwrap", os.MFD_ALLOW_SEALING), "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(Path(self.program).read_bytes())
            file.flush()
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALED)
            # What is open for writing is not executed.
            copy = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)
        return f"/proc/self/fd/{copy}", (copy,)


def _piped(content: bytes) -> int:
    """A descriptor to read some hundred bytes from, which a pipe holds."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:  # noqa: PTH123 - a descriptor has no path
        pipe.write(content)
    return reading


@contextmanager
def network_of(launch: Launch, first: FirstProcess | None) -> Iterator[bool]:
    """Gives a sandbox that was just started its own way to the internet, if it is to have one, and lets it go on.

    Yields whether it has one. Where slirp4netns fails, the sandbox has no network at all.
    """
    opened = WayOut.opened(launch.way_out, first.pid) if launch.way_out and first is not None else None
    if launch.gate is not None:
        with suppress(BrokenPipeError):
            os.write(launch.gate, b"x")
        os.close(launch.gate)
    try:
        yield opened is not None
    finally:
        if opened is not None:
            opened.close()


def first_process_of(launch: Launch) -> FirstProcess | None:
    """The first process of a sandbox that was just started; None if it did not start, or is no sandbox."""
    if launch.report is None:
        return None
    with open(launch.report, "rb") as report:  # noqa: PTH123 - a descriptor has no path
        said = JsonObject.parsed(report.read(_LONGEST_REPORT))
    return FirstProcess.of(said.count("child-pid"))
