"""A pseudo-terminal with a command in it, and somebody who answers its questions."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path


def at_terminal(
    *arguments: str, cwd: Path, columns: int = 80, answers: Sequence[str] = (), **environment: str
) -> tuple[int, str]:
    """The exit code of a `tandem` command, and what a terminal got to see. Questions end in `]: `."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    env |= {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment}
    command = [sys.executable, "-m", "generator", *arguments]
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, left = "", list(answers)
    while chunk := _read(ours):
        seen += chunk
        if seen.endswith("]: "):  # a question too many is left by Ctrl+D
            os.write(ours, f"{left.pop(0)}\n".encode() if left else b"\x04")
    os.close(ours)
    return process.wait(60), seen.replace("\r\n", "\n")


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 1 << 16).decode()
    except OSError:  # nobody writes to it any more
        return ""
