"""The verb `serve`: a local Kaggle, and the environment of the clients that are to talk to it."""

import os
import shlex
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.errors import LocalKaggleError
from generator.files import writing
from generator.kit_files import install_command
from generator.local_server import ServerRecord, default_root, read_record, remove_record, serve_command
from generator.pair.folder import handled_signals
from generator.text import printable

if TYPE_CHECKING:
    from generator.localkaggle.local_kaggle import LocalKaggle
    from generator.localkaggle.server import Listening, Server

_USUAL_PORT, _LAST_PORT = 8400, 65_535
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_CLEARED = (
    *("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_PATH", "KAGGLE_COMPETITION", "KAGGLE_API_V1_TOKEN"),
    *("VERBOSE", "VERBOSE_OUTPUT", "XDG_CONFIG_HOME", "NETRC"),
)


@click.command()
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where it keeps everything; by default $TANDEM_LOCAL_KAGGLE, or a folder among your data.",
)
@click.option(
    "--port",
    type=click.IntRange(0, _LAST_PORT),
    default=_USUAL_PORT,
    metavar="N",
    help=f"{_USUAL_PORT} by default; 0 takes any free one.",
)
@click.option("--account", default="local", metavar="NAME", help="The user name of its account.")
@click.option(
    "--competition",
    "competitions",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="A competition to host beside the built-in ones; may be given again.",
)
@click.option("--sessions", type=click.IntRange(1, 64), default=2, metavar="N", help="Notebooks that run at a time; 2.")
@click.option("--flat-mounts", is_flag=True, help="Mount all inputs in one folder, as Kaggle did before 2026.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="RULE",
    help="Misbehave: NAME[@METHOD][+SKIP][xTIMES][%PERCENT], such as 429@SaveKernel+1x2; may be given again.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Of the dice that faults with a percentage throw.")
@click.option(
    "--host", default=_LOOPBACK[0], metavar="ADDRESS", help="Where it listens: this machine only, by default."
)
@click.option(
    "--allow-other-machines",
    is_flag=True,
    help="Needed for a --host beyond this machine: whoever has the token runs notebooks here.",
)
@click.option(
    "--i-trust-these-notebooks",
    is_flag=True,
    help="Needed as root where there is no sandbox: notebooks can then do anything to this machine.",
)
@click.option("--env", "as_environment", is_flag=True, help="Print `export` lines for clients of the running server.")
def serve(**options: Any) -> int:
    """Serve a Kaggle of your own: the API, sessions that run notebooks, scores, and pages to look at.

    The first line has the address to open in a browser. The official clients talk to it from a shell that was told so:

    \b
    tandem serve
    eval "$(tandem serve --env)"
    kaggle competitions list
    """  # noqa: D301 - click wants the character itself
    root = (options["root"] or default_root()).expanduser().absolute()
    if options["as_environment"]:
        return _print_environment(root)
    return _serve(root, options)


def _serve(root: Path, options: Mapping[str, Any]) -> int:
    for package in ("starlette", "uvicorn", "httptools", "python_multipart"):
        if find_spec(package) is None:
            raise LocalKaggleError(
                f"The local Kaggle needs {package}, which is not installed beside {printable(sys.executable)}. "
                f"Install what it is made of: {install_command('serve')}"
            )
    from generator.localkaggle.local_kaggle import LocalKaggle
    from generator.localkaggle.rpc import Faults, parse_rule
    from generator.localkaggle.server import Server
    from generator.localkaggle.services.kernels import SessionRules
    from generator.sessions.notebook_runner import NotebookRunner, best_isolation

    listening = _listening(options)
    isolation = best_isolation()
    if os.geteuid() == 0 and not isolation.is_sandbox and not options["i_trust_these_notebooks"]:
        raise LocalKaggleError(
            "You are root and there is no bubblewrap here that works, so a notebook could do anything to this machine. "
            "Install it (apt-get install bubblewrap), start the server as an ordinary user, or add "
            "--i-trust-these-notebooks if you know them all."
        )
    received: set[int] = set()
    faults = Faults([parse_rule(rule) for rule in options["faults"]], seed=options["seed"])
    local_kaggle = LocalKaggle(
        root,
        account=options["account"],
        competitions=options["competitions"],
        runner=NotebookRunner(isolation),
        faults=faults,
        rules=SessionRules(slots=options["sessions"], flat_mounts=options["flat_mounts"]),
    )
    try:
        server = Server(local_kaggle, listening)

        def end(number: int, _: object) -> None:
            # In good order: its sessions have to be stopped before it.
            received.add(number)
            server.end()

        # In the background of a script it is ignored, and is to end the server there as well.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with _recorded(root, server, local_kaggle), handled_signals(end):
            print(f"{server.address}/?token={local_kaggle.token}", flush=True)
            _tell(local_kaggle, options["faults"])
            server.run()
    finally:
        local_kaggle.close()
    if signal.SIGINT in received:
        raise KeyboardInterrupt
    return 0


def _listening(options: Mapping[str, Any]) -> "Listening":
    from generator.localkaggle.server import Listening

    host = "127.0.0.1" if options["host"] == "localhost" else options["host"]
    if host in _LOOPBACK:
        return Listening(host, options["port"])
    if not options["allow_other_machines"]:
        raise click.UsageError(
            f"--host {printable(host)} lets other machines in, and whoever has the token runs notebooks here; "
            "add --allow-other-machines if that is what you want."
        )
    return Listening(host, options["port"], hosts=("*", host, socket.gethostname()))


@contextmanager
def _recorded(root: Path, server: "Server", local_kaggle: "LocalKaggle") -> Iterator[None]:
    """Lets `--env` and `push --to local` find the server as long as it runs."""
    pid = os.getpid()
    ServerRecord(server.address, local_kaggle.token, local_kaggle.site.account, pid).write(root)
    try:
        yield
    finally:
        remove_record(root, pid=pid)


def _tell(local_kaggle: "LocalKaggle", faults: tuple[str, ...]) -> None:
    from generator.localkaggle.web.views import size

    account, root = printable(local_kaggle.site.account), local_kaggle.site.root
    lines = [
        f"Local Kaggle of {account}, in {printable(str(root))}",
        f"Notebooks run in: {local_kaggle.isolation}",
        f'For the official clients: eval "$({serve_command(root, "--env")})"; Ctrl-C ends the server.',
    ]
    if faults:
        lines.insert(1, f"It misbehaves: {', '.join(map(printable, faults))}")
    if local_kaggle.swept:
        lines.append(f"Removed {size(local_kaggle.swept)} that sessions left when the server was killed.")
    for line in lines:
        click.echo(line, err=True)


def _print_environment(root: Path) -> int:
    record = read_record(root)
    if record is None or not record.is_running():
        raise LocalKaggleError(
            f"No local Kaggle runs on {printable(str(root))}, so there is nothing to set, and clients in this shell "
            f"reach the Kaggle that they did before. Start one with `{serve_command(root)}`, and ask again."
        )
    for line in _environment(root, record):
        print(line)
    return 0


def _environment(root: Path, record: ServerRecord) -> list[str]:
    """Shell lines after which Kaggle's clients reach the local server or nothing, and read no one's credentials."""
    home = root / "clients"
    with writing(home):
        home.mkdir(mode=0o700, exist_ok=True)
    values = {
        # Clients speak plain HTTP to http://localhost through the proxy; it refuses to connect to anything else.
        "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
        "KAGGLE_API_TOKEN": record.token,
        **{variant: record.address for name in _PROXIES for variant in (name, name.upper())},
        "no_proxy": "",
        "NO_PROXY": "",
        "KAGGLE_CONFIG_DIR": str(home / ".kaggle"),
        "HOME": str(home),
        # HOME is no longer where the default root is looked for.
        "TANDEM_LOCAL_KAGGLE": str(root),
    }
    return [f"unset {' '.join(_CLEARED)}", *(f"export {name}={shlex.quote(value)}" for name, value in values.items())]
