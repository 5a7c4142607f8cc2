"""A control group for each session, asked of systemd: the kernel then holds its memory and its tasks (cgroup v2)."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_USERS_MANAGER = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


@dataclass(frozen=True)
class ControlGroup:
    """What starts a program in a control group of its own; `variables` lead to the manager that makes it."""

    program: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def found(cls) -> "ControlGroup | None":
        """The way of systemd to make one, if it is installed; whether it works is to be tried out."""
        program = shutil.which("systemd-run")
        if program is None:
            return None
        names = () if os.geteuid() == 0 else _USERS_MANAGER
        return cls(program, {name: os.environ[name] for name in names if name in os.environ})

    def around(self, arguments: Sequence[str], *, memory: int, tasks: int) -> tuple[str, ...]:
        """What to execute for the program to run in a group that may have so many bytes and tasks."""
        manager = [] if os.geteuid() == 0 else ["--user"]
        # A little more than a session may have: who looks at it ends it in Kaggle's words, the kernel just kills.
        limits = {"MemoryMax": memory + memory // 10, "MemorySwapMax": 0, "TasksMax": tasks}
        properties = [f"--property={name}={value}" for name, value in limits.items()]
        return (self.program, *manager, "--scope", "--quiet", "--collect", *properties, "--", *arguments)
