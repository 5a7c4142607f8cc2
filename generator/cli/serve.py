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
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from generator.cli.terminal import json_option, print_document, print_line
from generator.errors import LocalKaggleError
from generator.files import writing
from generator.kit_files import install_command
from generator.local_server import ServerRecord, default_root, read_record, remove_record, serve_command
from generator.pair.folder import handled_signals
from generator.text import printable

if TYPE_CHECKING:
    from generator.localkaggle import Listening, LocalKaggle, Server

_USUAL_PORT, _LAST_PORT = 8400, 65_535
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_CLEARED_VARIABLES = (
    *("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_PATH", "KAGGLE_COMPETITION", "KAGGLE_API_V1_TOKEN"),
    *("VERBOSE", "VERBOSE_OUTPUT", "XDG_CONFIG_HOME", "NETRC"),
)


class ServerReport(TypedDict):
    """The server, which runs until it is interrupted. It is on one line.

    Attributes:
        schema_version: The version of this document.
        address: The address of the API.
        page: The address for a browser, with the token.
        token: The token of the account.
        account: The Kaggle user name.
        root: The folder of all data.
        isolation: What notebooks run in.
    """

    schema_version: Literal[1]
    address: str
    page: str
    token: str
    account: str
    root: str
    isolation: str


class ClientEnvironment(TypedDict):
    """With --env: the environment of clients of the running server.

    Attributes:
        schema_version: The version of this document.
        unset: The variables to remove.
        export: The variables to set.
    """

    schema_version: Literal[1]
    unset: list[str]
    export: dict[str, str]


@click.command()
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder for all data of the server. Default: $TANDEM_LOCAL_KAGGLE or a folder in your user data.",
)
@click.option(
    "--port",
    type=click.IntRange(0, _LAST_PORT),
    default=_USUAL_PORT,
    metavar="N",
    help=f"The port. Default: {_USUAL_PORT}. 0 selects a free port.",
)
@click.option("--account", default="local", metavar="NAME", help="The Kaggle user name. Default: local.")
@click.option(
    "--competition",
    "competitions",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Host this folder as a competition, in addition to the built-in ones. Can be repeated.",
)
@click.option(
    "--sessions",
    type=click.IntRange(1, 64),
    default=2,
    metavar="N",
    help="The number of notebooks that run at the same time. Default: 2.",
)
@click.option("--flat-mounts", is_flag=True, help="Mount all inputs in one folder, as Kaggle did before 2026.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="RULE",
    help="Inject a fault: NAME[@METHOD][+SKIP][xTIMES][%PERCENT], such as 429@SaveKernel+1x2. Can be repeated.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="The random seed for faults with a percentage.")
@click.option(
    "--host", default=_LOOPBACK[0], metavar="ADDRESS", help="The address to listen on. Default: only this machine."
)
@click.option(
    "--allow-other-machines",
    is_flag=True,
    help="Allow a --host that other machines can reach. Everybody with the token can run code on this machine.",
)
@click.option(
    "--i-trust-these-notebooks",
    is_flag=True,
    help="Start as root without a sandbox. Notebooks can then do anything to this machine.",
)
@click.option("--env", "as_environment", is_flag=True, help="Print `export` lines for clients of the running server.")
@json_option(ServerReport, ClientEnvironment)
def serve(**options: Any) -> int:
    """Run a local Kaggle on this machine: the API, notebook sessions, scores and web pages.

    The first line of output is the address for your browser. To use the official clients, set their environment first:

    \b
    tandem serve
    eval "$(tandem serve --env)"
    kaggle competitions list
    """  # noqa: D301 - click wants the character itself
    root = (options["root"] or default_root()).expanduser().absolute()
    if options["as_environment"]:
        return _print_environment(root, as_json=options["as_json"])
    return _serve(root, options)


def _serve(root: Path, options: Mapping[str, Any]) -> int:
    for package in ("starlette", "uvicorn", "httptools", "python_multipart"):
        if find_spec(package) is None:
            raise LocalKaggleError(
                f"The local Kaggle needs the package {package}, but {printable(sys.executable)} does not have it.",
                remedy=f"Install it: {install_command('serve')}",
                code="package-missing",
            )
    from generator.localkaggle import Faults, LocalKaggle, Server, SessionRules, parse_rule
    from generator.sessions.notebook_runner import NotebookRunner, best_isolation

    listening = _listening(options)
    isolation = best_isolation()
    if os.geteuid() == 0 and not isolation.is_sandbox and not options["i_trust_these_notebooks"]:
        raise LocalKaggleError(
            "You are root, and there is no sandbox because bubblewrap is missing or does not work. A notebook could do "
            "anything to this machine.",
            remedy="Install bubblewrap (apt-get install bubblewrap), start the server as an "
            "ordinary user, or add --i-trust-these-notebooks if you know all notebooks.",
            code="sandbox-missing",
        )
    signals: set[int] = set()
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
            signals.add(number)
            server.end()

        # In the background of a script it is ignored, and is to end the server there as well.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with _publish_record(root, server, local_kaggle), handled_signals(end):
            page = f"{server.address}/?token={local_kaggle.token}"
            if options["as_json"]:
                report: ServerReport = {
                    "schema_version": 1,
                    "address": server.address,
                    "page": page,
                    "token": local_kaggle.token,
                    "account": local_kaggle.site.account,
                    "root": str(root),
                    "isolation": str(local_kaggle.isolation),
                }
                print_line(report)
            else:
                print(page)
            sys.stdout.flush()
            _tell(local_kaggle, options["faults"])
            server.run()
    finally:
        local_kaggle.close()
    if signal.SIGINT in signals:
        raise KeyboardInterrupt
    return 0


def _listening(options: Mapping[str, Any]) -> "Listening":
    from generator.localkaggle import Listening

    host = "127.0.0.1" if options["host"] == "localhost" else options["host"]
    if host in _LOOPBACK:
        return Listening(host, options["port"])
    if not options["allow_other_machines"]:
        raise click.UsageError(
            f"--host {printable(host)} opens the server to other machines. Everybody with the token can run code on "
            "this machine. If you want that, add --allow-other-machines."
        )
    return Listening(host, options["port"], hosts=("*", host, socket.gethostname()))


@contextmanager
def _publish_record(root: Path, server: "Server", local_kaggle: "LocalKaggle") -> Iterator[None]:
    """Lets `--env` and `push --to local` find the server as long as it runs."""
    pid = os.getpid()
    ServerRecord(server.address, local_kaggle.token, local_kaggle.site.account, pid).write(root)
    try:
        yield
    finally:
        remove_record(root, pid=pid)


def _tell(local_kaggle: "LocalKaggle", faults: tuple[str, ...]) -> None:
    from generator.localkaggle import file_size

    account, root = printable(local_kaggle.site.account), local_kaggle.site.root
    lines = [
        f"Local Kaggle of {account}, in {printable(str(root))}",
        f"Notebooks run in: {local_kaggle.isolation}",
        f'For the official clients, run: eval "$({serve_command(root, "--env")})"',
        "To stop the server, press Ctrl-C.",
    ]
    if faults:
        lines.insert(1, f"Injected faults: {', '.join(map(printable, faults))}")
    if local_kaggle.freed_bytes:
        lines.append(
            f"Removed {file_size(local_kaggle.freed_bytes)} of files that remained when the server was killed."
        )
    for line in lines:
        click.echo(line, err=True)


def _print_environment(root: Path, *, as_json: bool) -> int:
    record = read_record(root)
    if record is None or not record.is_running():
        raise LocalKaggleError(
            f"No local Kaggle is running in {printable(str(root))}. Nothing was set: clients in this shell still use "
            f"the same Kaggle as before.",
            remedy=f"Start one with `{serve_command(root)}`, then run the command again.",
            code="local-kaggle-not-running",
        )
    values = _environment(root, record)
    if as_json:
        print_document(ClientEnvironment(schema_version=1, unset=list(_CLEARED_VARIABLES), export=values))
        return 0
    print(f"unset {' '.join(_CLEARED_VARIABLES)}")
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _environment(root: Path, record: ServerRecord) -> dict[str, str]:
    """Variables with which Kaggle's clients reach the local server or nothing, and read no one's credentials."""
    home = root / "clients"
    with writing(home):
        home.mkdir(mode=0o700, exist_ok=True)
    return {
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
