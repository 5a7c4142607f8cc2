"""The kernel's process: IPython without anybody's configuration, which refuses to change the inputs.

The kit starts this file by its path, in the interpreter that the kit itself runs in or that of another environment; it
imports nothing of the kit.
"""

import atexit
import errno
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

READ_ONLY_VARIABLE = "TANDEM_READ_ONLY"
OFFLINE_VARIABLE = "TANDEM_OFFLINE"
PACKAGES_VARIABLE = "TANDEM_PACKAGES"

_CHANGES_CONTENT = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Audit events that change a file or folder, with the positions of the paths in their arguments.
# https://docs.python.org/3/library/audit_events.html
_CHANGES_ENTRY: dict[str, tuple[int, ...]] = {
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (0, 1),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.removexattr": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.setxattr": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "shutil.rmtree": (0,),
}


class Guard:
    """Refuses that Python code changes anything below some folders; `read_only` are their paths."""

    def __init__(self, read_only: Sequence[str]) -> None:
        self._roots = tuple(os.path.realpath(root) for root in read_only)
        self._prefixes = tuple(root + os.sep for root in self._roots)

    def install(self) -> None:
        """Begins, for the rest of the process's life: an audit hook cannot be removed."""
        judges = {event: self._judge_of_entries(positions) for event, positions in _CHANGES_ENTRY.items()}
        judge_of = {"open": self._judge_open, **judges}.get

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            # Thousands of events pass here while a framework is imported; all but a few cost one lookup.
            judge = judge_of(event)
            if judge is not None:
                judge(arguments)

        sys.addaudithook(hook)

    def _judge_open(self, arguments: tuple[Any, ...]) -> None:
        if isinstance(arguments[2], int) and arguments[2] & _CHANGES_CONTENT:
            self._refuse(arguments[0], real=os.path.realpath)

    def _judge_of_entries(self, positions: tuple[int, ...]) -> Callable[[tuple[Any, ...]], None]:
        def judge(arguments: tuple[Any, ...]) -> None:
            for position in positions:
                self._refuse(arguments[position], real=_real_entry)

        return judge

    def _refuse(self, path: Any, *, real: Callable[[str], str]) -> None:
        if isinstance(path, int):
            return  # an open descriptor: it was judged when it was opened
        try:
            text = os.fsdecode(path)
        except TypeError:
            return
        place = real(text)
        if place in self._roots or place.startswith(self._prefixes):
            raise PermissionError(f"{text}: inputs are read-only, as on Kaggle; write below WORKING_ROOT")


def _real_entry(path: str) -> str:
    """The real path of an entry of a folder; if the entry is a link, it is the link that would be changed."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100 (pathlib would follow the link)
    return f"{os.path.realpath(folder).rstrip(os.sep)}{os.sep}{name}"


_LOCAL_HOSTS = ("localhost", "127.", "::1", "0.0.0.0", "::")  # noqa: S104 - addresses that are looked for, not bound


def refuse_network() -> None:
    """Refuses that Python code looks up or connects to any machine but this one, for the rest of the process's life."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            _refuse_other_machine(arguments[1][0])
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            _refuse_other_machine(arguments[0])

    sys.addaudithook(hook)


def _refuse_other_machine(host: Any) -> None:
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if isinstance(name, str) and name and not name.startswith(_LOCAL_HOSTS):
        raise OSError(errno.ENETUNREACH, f"the internet is off in this session, and {name} is another machine")


def _end_at_once() -> None:
    """End the process without taking its modules down, which takes seconds for TensorFlow and changes no output."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def main() -> None:
    """Serve as the kernel that the connection file on the command line describes."""
    # A script's own folder comes first on the path: a notebook's `import kernel` must not find the kit's modules.
    del sys.path[0]
    read_only = json.loads(os.environ.pop(READ_ONLY_VARIABLE, "[]"))
    is_offline = os.environ.pop(OFFLINE_VARIABLE, "") == "1"
    # Last of all: the environment that the notebook is to see comes first, and need not have a Jupyter.
    sys.path += json.loads(os.environ.pop(PACKAGES_VARIABLE, "[]"))

    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.kernelapp import IPKernelApp

    class PromptKernel(IPythonKernel):  # type: ignore[misc,unused-ignore]  # ipykernel types few
        """A kernel that takes no process for running that has ended: at its end it would wait for that until killed."""

        def _process_children(self) -> list[Any]:
            children = super()._process_children()  # type: ignore[no-untyped-call,unused-ignore]  # ipykernel types few
            return [child for child in children if child.is_running() and child.status() != "zombie"]

    class UnconfiguredKernel(IPKernelApp):  # type: ignore[misc,unused-ignore]  # ipykernel types few
        """A kernel that reads no configuration file: not the user's, not the environment's, not the system's."""

        def load_config_file(self, *_: Any, **__: Any) -> None:
            """Load nothing."""

    application: Any = UnconfiguredKernel.instance(kernel_class=PromptKernel)
    application.initialize()
    atexit.register(_end_at_once)  # before the notebook registers anything: so it is called after all of that
    Guard(read_only).install()
    if is_offline:
        refuse_network()
    application.start()


if __name__ == "__main__":
    main()
