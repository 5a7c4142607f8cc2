"""The folder of a local Kaggle on this machine, and the record by which clients find the one that is running."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from generator.errors import TandemError
from generator.files import WorkspaceFiles, reason
from generator.text import printable

ROOT_VARIABLE = "TANDEM_LOCAL_KAGGLE"
RECORD_NAME = "server.json"
_LARGEST_RECORD = 10_000  # bytes


class ServerRecordError(TandemError):
    """The file in which a local Kaggle says where it is cannot be read."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(
            f"{printable(str(path))} is not a valid record of a local Kaggle server: {problem}.",
            remedy=f"Start the server again: `{serve_command(path.parent)}`.",
        )


@dataclass(frozen=True)
class ServerRecord:
    """The record that a running local Kaggle leaves for its clients, readable by its owner alone.

    `address` is an origin without a final slash, such as `http://127.0.0.1:8400`; `pid` the server's process.
    """

    address: str
    token: str = field(repr=False)
    account: str
    pid: int

    def write(self, root: Path) -> Path:
        """Writes the record below the server's root, whole or not at all, and returns its path.

        Raises:
            FileWriteError: There is no such folder, no space or no permission.
        """
        path = root / RECORD_NAME
        WorkspaceFiles(root).write(path, json.dumps(asdict(self), indent=2).encode(), mode=0o600)
        return path

    def is_running(self) -> bool:
        """True if the server's process is there; a process of somebody else under its number counts as it."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


def default_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of a local Kaggle where nobody names another: `$TANDEM_LOCAL_KAGGLE`, or below the user's data."""
    override = environment.get(ROOT_VARIABLE)
    if override:
        return Path(override).expanduser().absolute()
    home = Path(environment.get("HOME") or Path.home())
    data = environment.get("XDG_DATA_HOME") or ""
    # The XDG specification has relative paths ignored.
    return (Path(data) if Path(data).is_absolute() else home / ".local" / "share") / "tandem" / "local-kaggle"


def serve_command(root: Path, *options: str) -> str:
    """The command for this root that works in another terminal, where nothing is set for a local Kaggle."""
    usual = default_root({name: value for name, value in os.environ.items() if name != ROOT_VARIABLE})
    root_options = [] if root == usual else ["--root", str(root)]
    return printable(shlex.join(["tandem", "serve", *root_options, *options]))


def read_record(root: Path) -> ServerRecord | None:
    """Reads the record of the server on this root, or None if no server ever did; it need not run any more.

    Raises:
        ServerRecordError: The file is there and says something else.
    """
    path = root / RECORD_NAME
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_RECORD)
        fields = json.loads(content)
        record = ServerRecord(fields["address"], fields["token"], fields["account"], fields["pid"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServerRecordError(path=path, problem=reason(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ServerRecordError(path=path, problem="it is not a record") from error
    if problem := _fault(record):
        raise ServerRecordError(path=path, problem=problem)
    return record


def remove_record(root: Path, *, pid: int) -> None:
    """Takes the record away when a server ends, unless another server has written its own meanwhile."""
    try:
        record = read_record(root)
    except ServerRecordError:
        return
    if record is not None and record.pid == pid:
        WorkspaceFiles(root).remove(root / RECORD_NAME)


def _fault(record: ServerRecord) -> str:
    texts = (record.address, record.token, record.account)
    if not all(isinstance(text, str) and text.isprintable() and text.isascii() and text for text in texts):
        return "its address, token and account have to be texts"
    if not isinstance(record.pid, int) or isinstance(record.pid, bool) or record.pid <= 0:
        return "its pid is no process"
    try:
        parts = urlsplit(record.address)
        port = parts.port
    except ValueError:
        return "its address is none"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or "@" in parts.netloc:
        return "its address is none"
    return ""
