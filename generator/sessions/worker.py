"""The process that executes a session's notebook by papermill, inside of whatever keeps the session apart.

It reads one line of JSON, a `WorkOrder`, from its standard input, whose end it takes for the end of the server. It
writes JSON lines to its standard output: pieces of the log, and at last how the notebook ended. The notebook runs
beside it as the same user, so all of that is a stranger's word, and the server takes it as such.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from generator.run.execution import (
    CellError,
    Event,
    Execution,
    NotebookTimeoutError,
    OutputLine,
    load_notebook_v4,
    read_notebook_parameters,
)
from generator.text import Value

NOTEBOOK, EXECUTED_NOTEBOOK = "notebook.ipynb", "executed.ipynb"
THREW = "Notebook Threw Exception"
TIMEOUT = "Notebook Timeout"
# The same numbers on all processors.
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_SCOPE_ABSTRACT_UNIX_SOCKET = 1


@dataclass(frozen=True)
class WorkOrder:
    """The work of a session, in the paths that it sees."""

    title: str
    session: str
    working: str
    parameters: Mapping[str, Value]
    variables: Mapping[str, str]
    read_only: tuple[str, ...]
    offline: bool
    seconds: float
    largest_file: int
    most_processes: int = 0
    python: str = ""
    shares_network: bool = False

    def as_json(self) -> str:
        """The order as the worker reads it."""
        return json.dumps(asdict(self))


def main() -> None:
    """Executes what standard input asks for."""
    work = WorkOrder(**json.loads(sys.stdin.readline()))
    if work.shares_network:
        keep_from_abstract_sockets()  # before there are other threads, which it would not hold for
    threading.Thread(target=_die_with_the_server, daemon=True).start()
    _set_limits(work)
    try:
        failure = execute_work(work)
    except KeyboardInterrupt:
        failure = "stopped"
    _say({"end": failure})


def execute_work(work: WorkOrder) -> str:
    """Executes the notebook, and returns why it ended before its end, or nothing."""
    from generator.errors import RunError
    from generator.run.engine import execute
    from generator.run.kernel import KernelSetup, private_folder

    notebook = Path(work.session, NOTEBOOK)
    refusal = _refusal(notebook)
    if refusal:
        _say({"stream": "stderr", "text": f"{refusal}\n"})
        return f"{THREW}: {refusal}"
    with private_folder() as private:
        execution = Execution(
            title=work.title,
            source=notebook,
            saved_as=Path(work.session, EXECUTED_NOTEBOOK),
            parameters=_parameters(notebook, work),
            kernel=KernelSetup(
                private=private,
                working=Path(work.working),
                read_only=tuple(Path(path) for path in work.read_only),
                variables=work.variables,
                offline=work.offline,
                python=Path(work.python) if work.python else None,
            ),
            timeout=work.seconds,
        )
        try:
            failure = execute(execution, _listen).failure
        except RunError as error:
            failure = error
    if isinstance(failure, CellError):
        _say({"stream": "stderr", "text": f"{failure.error.traceback}\n"})
        return f"{THREW}: {failure.error.name}: {failure.error.message}"
    if isinstance(failure, NotebookTimeoutError):
        return TIMEOUT
    return failure.message if failure is not None else ""


def _refusal(notebook: Path) -> str:
    """The reason why papermill would not even begin, in its own words, or nothing."""
    kernel = load_notebook_v4(notebook).metadata.get("kernelspec", {})
    if not kernel.get("name"):
        return "No kernel name found in notebook and no override provided."
    language = str(kernel.get("language", "python"))
    if language.lower() != "python":
        return f"There is no kernel for {language} here, only for Python."
    return ""


def _parameters(notebook: Path, work: WorkOrder) -> dict[str, Value]:
    """The parameters that the notebook has: a stranger's notebook gets none that it does not know."""
    from generator.errors import PairError

    try:
        defaults = read_notebook_parameters(notebook).defaults
    except PairError:  # a cell of that name with more than plain values in it
        return {}
    return {name: value for name, value in work.parameters.items() if name in defaults}


def _listen(event: Event, /) -> None:
    if isinstance(event, OutputLine):
        _say({"stream": event.stream, "text": f"{event.text}\n"})


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _die_with_the_server() -> None:
    """Ends the notebook when the other end of standard input is gone: the server was killed, and nobody waits."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def keep_from_abstract_sockets() -> bool:
    """Keeps this thread and all that it starts from sockets that have a name and no file, such as those of X11.

    They belong to a network, not to a folder that a sandbox could leave out. Returns False where the kernel cannot do
    that (before Linux 6.12, or without Landlock).
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_ABSTRACT_UNIX_SOCKET)
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)
    if ruleset < 0:
        return False
    is_kept = libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return bool(is_kept)


def _set_limits(work: WorkOrder) -> None:
    """Limits what this process and those that it starts may do; none of them can take that back."""
    import resource

    limits = {resource.RLIMIT_FSIZE: work.largest_file, resource.RLIMIT_CORE: 0}
    if work.most_processes:
        limits[resource.RLIMIT_NPROC] = work.most_processes
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))
