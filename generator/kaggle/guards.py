"""Validation of what Kaggle answers and of what is sent to it: names, addresses, files, texts.

Names that lead out of a folder; addresses that files must not come from or go to; what looks like a secret.
Each guard stands against something that the official client does or did (its advisories and changelog): output files
written outside of the folder, a token file pushed as a kernel's source, uploads sent wherever a server said.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

from generator.check.secrets import secrets_in
from generator.kaggle.errors import UnsafeAnswerError
from generator.untrusted import printable

_LONGEST_NAME, _LONGEST_PART, _DEEPEST = 1_000, 255, 32
_LONGEST_URL = 16_000
_SHOWN = 80
_DRIVE = re.compile(r"[A-Za-z]:")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

_UPLOAD_HOSTS = ("kaggle.com", "kaggleusercontent.com", "googleapis.com", "googleusercontent.com")
_SECRET_NAMES = {
    "access_token",
    "access_token.txt",
    "credentials.json",
    "kaggle.json",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "server.json",
    "service_account.json",
}
_SECRET_SUFFIXES = {".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx", ".env"}
_SECRET_FOLDERS = {".kaggle", ".ssh", ".aws", ".gnupg", ".docker", ".kube", ".azure", ".git"}
SECRET_RULE = "N008"  # noqa: S105 - the id of a rule
"""The rule of `tandem check` that finds secrets, by whose name somebody says that one is none."""
RENAME = "nothing was written; if the notebook is yours, let it call that file something else"
BY_HAND = "nothing was read; download the files in a browser, and give their folder with --data"


def checked_names(
    names: Iterable[str], *, doing: str, reserved: Sequence[str] = (), remedy: str = RENAME
) -> tuple[str, ...]:
    """Makes sure that names of a server's files stay in whatever folder they are put in, on every system.

    Args:
        names: The names as the server wrote them.
        doing: What is being done, for the error.
        reserved: Names that mean something else here, such as a log's.
        remedy: What the user can do about such a name, for the error.

    Raises:
        UnsafeAnswerError: A name is absolute, leads upwards, has a drive, a backslash or a control character, is too
            long, stands there twice, is a folder of another one, or is reserved.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    checked = tuple(names)
    for name in checked:
        why = _fault_of_name(name) or ("is a name that this kit needs itself" if name in reserved else "")
        if not why and name in seen:
            why = "stands there twice"
        if why:
            raise UnsafeAnswerError(
                doing=doing, what=f'a file is called "{printable(name[:_SHOWN])}", which {why}', remedy=remedy
            )
        seen.add(name)
        folders.update(str(parent) for parent in PurePosixPath(name).parents)
    for name in checked:
        if name in folders:
            what = f'"{printable(name[:_SHOWN])}" is a file and a folder at once'
            raise UnsafeAnswerError(doing=doing, what=what, remedy=remedy)
    return checked


def checked_address(location: str, *, base: str, doing: str, is_upload: bool = False) -> str:
    """Makes sure that an address that a server named is one that may be asked, or sent a file.

    Args:
        location: The address, or a path on the server itself.
        base: The API's own address.
        doing: What is being done, for the error.
        is_upload: Whether a file goes there: then only to Kaggle and the store that it uses.

    Returns:
        The absolute address.

    Raises:
        UnsafeAnswerError: The address is on another server than a local Kaggle; or not encrypted, or not public.
    """
    url = joined(base + "/", location)
    why = _fault_of_address(url, base=base, is_upload=is_upload) if location.strip() else "is no address"
    if why:
        shown = printable(url.partition("?")[0][:_SHOWN])
        raise UnsafeAnswerError(doing=doing, what=f"the server sends on to {shown}, which {why}")
    return url


def joined(url: str, location: str) -> str:
    """The address that a `Location` leads to from another, or nothing where it leads to none."""
    try:
        return urljoin(url, location)
    except ValueError:
        return ""


def check_upload(files: Iterable[tuple[str, Path]], *, doing: str) -> None:
    """Makes sure that files to be sent are whole, ordinary files and do not look like secrets.

    Args:
        files: Names that Kaggle will see, and where the files are here.
        doing: What is being done, for the error.

    Raises:
        UnsafeAnswerError: One of them looks like credentials, or is no ordinary file.
    """
    listed = list(files)
    checked_names((name for name, _ in listed), doing=doing)
    for name, path in listed:
        resolved = path.resolve()
        parts = {part.casefold() for part in (*PurePosixPath(name).parts, *resolved.parent.parts[-2:])}
        if any(_is_secret_name(each) for each in (PurePosixPath(name).name, resolved.name)) or parts & _SECRET_FOLDERS:
            what = f'"{printable(name[:_SHOWN])}" looks like a file with secrets'
            raise UnsafeAnswerError(doing=doing, what=what, remedy="take it away or call it something else")
        if not resolved.is_file():
            what = f"{printable(str(path))} is not an ordinary file"
            raise UnsafeAnswerError(doing=doing, what=what, remedy="put the file there")


def check_text(text: str, *, doing: str) -> None:
    """Makes sure that a text to be sent has nothing in it that looks like a key.

    Raises:
        UnsafeAnswerError: It has; the error does not show it.
    """
    for what, _ in secrets_in(text):
        raise UnsafeAnswerError(
            doing=doing,
            what=f"the text holds what looks like {what}",
            remedy="take it out, and use Kaggle's secrets (Add-ons, Secrets) in its place; if it is none, add "
            f"--allow {SECRET_RULE}. Nothing was sent",
            was_sent=False,
        )


def clean_log(text: str) -> str:
    """Text of somebody's log without anything that a terminal obeys: what is left are lines of printable text.

    Colours are dropped, a carriage return ends a line as a line end does, tabs become spaces, and every other character
    that is not printable is shown as a Python escape.
    """
    plain = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "\n".join(printable(line) for line in plain.split("\n"))


def _fault_of_name(name: str) -> str:
    parts = name.split("/")
    if not name or name.startswith("/") or _DRIVE.match(name):
        return "is no relative path"
    # Some systems cut dots and spaces off the end of a name: for them "... " is "..", too.
    if any(not part.strip(". ") for part in parts) or "\\" in name:
        return "leads out of its folder, or would on another system"
    if not name.isprintable():
        return "has characters that no file name may have"
    if len(name) > _LONGEST_NAME or len(parts) > _DEEPEST or any(len(p.encode()) > _LONGEST_PART for p in parts):
        return "is too long"
    return ""


def _fault_of_address(url: str, *, base: str, is_upload: bool) -> str:
    try:
        parts, own = urlsplit(url), urlsplit(base)
        port = parts.port
    except ValueError:
        return "is no address"
    if len(url) > _LONGEST_URL or not url.isprintable() or not parts.hostname or "@" in parts.netloc:
        return "is no address"
    if own.scheme == "http" or not _is_public(own.hostname or ""):
        is_own = (parts.scheme, parts.hostname, port) == (own.scheme, own.hostname, own.port)
        return "" if is_own else "is another server"
    if parts.scheme != "https" or port not in (None, 443):
        return "is not encrypted"
    return _fault_of_public_host(parts.hostname.rstrip("."), is_upload=is_upload)


def _fault_of_public_host(host: str, *, is_upload: bool) -> str:
    if not _is_public(host):
        return "is not on the internet"
    if is_upload and not any(host == allowed or host.endswith("." + allowed) for allowed in _UPLOAD_HOSTS):
        return "is neither Kaggle nor its store"
    return ""


def _is_public(host: str) -> bool:
    """True for a host name of the public internet; addresses in numbers are none of a service like Kaggle."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        last = host.rpartition(".")[2]
        return (
            "." in host
            and last not in ("localhost", "local", "internal", "lan", "home", "arpa")
            and not (last.isdigit() or last.startswith("0x"))
        )
    return False


def _is_secret_name(name: str) -> bool:
    lowered = name.casefold()
    return (
        lowered in _SECRET_NAMES
        or PurePosixPath(lowered).suffix in _SECRET_SUFFIXES
        or lowered == ".env"
        or lowered.startswith(".env.")
    )
