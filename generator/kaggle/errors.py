"""The errors of Kaggle and of the way to it, and the guards that raise them."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urljoin, urlsplit

from generator.check.source import secrets_in
from generator.errors import TandemError
from generator.text import printable

# Cutting an account's secrets out of what a server answers: some quote the request, header and all, in a complaint.


_REDACTION = b"[secret]"


class Redaction:
    """Cuts secrets out of bytes, whether they stand there as they are, in JSON, or in an address."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # .NET writes a plus in JSON as its code, PHP a slash behind a backslash.
        spellings = {
            spelling.encode()
            for secret in secrets
            for spelling in (secret, secret.replace("+", "\\u002B"), secret.replace("/", "\\/"), quote(secret, safe=""))
        }
        self._secrets = sorted(spellings, key=len, reverse=True)

    def cut(self, text: bytes) -> bytes:
        """The bytes without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _REDACTION)
        return text

    def cut_text(self, text: str) -> str:
        """The text of a header without the secrets."""
        return self.cut(text.encode("latin-1", "replace")).decode("latin-1")

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes piece by piece; what may be the beginning of a secret waits for the piece after it."""
        rest = b""
        for chunk in chunks:
            text = self.cut(rest + chunk)
            whole = len(text) - self._partial_length(text)
            rest = text[whole:]
            if whole:
                yield text[:whole]
        if rest:
            yield rest

    def _partial_length(self, text: bytes) -> int:
        """The number of bytes at the end that could be the beginning of a secret."""
        lengths = (
            length
            for secret in self._secrets
            for length in range(1, min(len(secret), len(text) + 1))
            if text.endswith(secret[:length])
        )
        return max(lengths, default=0)


_LONGEST_QUOTE = 300  # characters of what a server said


class KaggleError(TandemError):
    """Something went wrong between this machine and Kaggle.

    `outcome_unknown` says of something that was to be changed whether Kaggle may have done it all the same: then look
    first, and do not send it again.
    """

    outcome_unknown = False
    retry_after: timedelta | None = None
    """The time for which the server asked to be left alone, if it said so."""


class CredentialsError(KaggleError):
    """There are no credentials for Kaggle on this machine, or they cannot be read.

    The message never has any part of them.
    """

    def __init__(self, *, reason: str, remedy: str) -> None:
        summary = f"Cannot sign in to Kaggle: {reason}"
        super().__init__(f"{summary}.", remedy=_sentence(remedy), text=f"{summary}; {remedy}.")


class OtherKaggleError(KaggleError):
    """The real Kaggle was asked for in an environment that the official client would not reach it from."""

    def __init__(self, *, value: str) -> None:
        super().__init__(
            f"KAGGLE_API_ENVIRONMENT is {printable(value)[:40]}, so this shell's credentials are not for the real "
            "Kaggle. Nothing was sent.",
            remedy="Use `--to local`, or unset KAGGLE_API_ENVIRONMENT.",
        )


class ProxyAddressError(KaggleError):
    """A variable names a proxy that Tandem cannot use. The address is not shown, since it may hold a password."""

    def __init__(self, *, variable: str) -> None:
        super().__init__(
            f"{variable} is not the address of an HTTP proxy. Nothing was sent.",
            remedy=f"Set {variable} to an address such as http://proxy.example.com:3128, or unset it.",
        )


class UnreachableError(KaggleError):
    """Kaggle did not answer.

    `was_sent` is False where the request cannot have arrived, or changes nothing.
    """

    timed_out = False
    """True where the connection held, and nothing came over it for too long."""

    def __init__(self, *, doing: str, host: str, reason: str, was_sent: bool) -> None:
        unclear = "; it is unknown whether the request was completed" if was_sent else ""
        is_here = host.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
        remedy = "check whether `tandem serve` is still running" if is_here else "check the connection to the internet"
        remedy = f"{remedy}, then run the command again"
        summary = f"Cannot {printable(doing)}: {printable(host)} {printable(reason)}{unclear}"
        super().__init__(f"{summary}.", remedy=_sentence(remedy), text=f"{summary}; {remedy}.")
        self.outcome_unknown = was_sent


class NotKaggleError(KaggleError):
    """An answer that is not of Kaggle's API, or of a newer one than this kit knows."""

    outcome_unknown = True

    def __init__(self, *, doing: str, host: str, reason: str) -> None:
        super().__init__(
            f"Cannot {printable(doing)}: the answer of {printable(host)} {quote_words(reason)}; the answer may come "
            "from a proxy or a sign-in page, or Kaggle has a problem.",
            remedy="Try again in a few minutes.",
        )


class ServerFailedError(KaggleError):
    """Kaggle itself failed."""

    outcome_unknown = True

    def __init__(self, *, doing: str, status: int, words: str, retry_after: timedelta | None = None) -> None:
        super().__init__(
            f"Cannot {printable(doing)}: Kaggle failed with {status}{_in_brackets(words)}. This is a problem of "
            "Kaggle.",
            remedy="Try again in a few minutes.",
        )
        self.status = status
        self.retry_after = retry_after


class RateLimitedError(KaggleError):
    """There were too many requests to Kaggle. This one had no effect."""

    def __init__(self, *, doing: str, retry_after: timedelta | None) -> None:
        wait = _duration(retry_after) if retry_after else "some minutes"
        summary = f"Cannot {printable(doing)}: too many requests to Kaggle."
        super().__init__(summary, remedy=f"Wait {wait}, then try again.")
        self.retry_after = retry_after


class NotFoundError(KaggleError):
    """Kaggle has no such name, or this account may not see it."""

    def __init__(self, *, doing: str, words: str, look_at: str) -> None:
        summary = f"Cannot {printable(doing)}: Kaggle has no such name for this account{_in_brackets(words)}"
        remedy = f"check the spelling at {look_at}"
        super().__init__(f"{summary}.", remedy=_sentence(remedy), text=f"{summary}; {remedy}.")


class _AnsweredNoError(KaggleError):
    """Kaggle understood, and said no, in `words`; `usual_remedy` may name the page on which it is mended."""

    answer = ""
    usual_remedy = ""

    def __init__(self, *, doing: str, words: str, remedy: str = "", page: str = "") -> None:
        remedy = remedy or self.usual_remedy.format(page=page)
        summary = f"Cannot {printable(doing)}: Kaggle {self.answer}{_in_brackets(words)}"
        super().__init__(f"{summary}.", remedy=_sentence(remedy), text=f"{summary}; {remedy}.")
        self.words = quote_words(words)


class ForbiddenError(_AnsweredNoError):
    """This account may not do it, for a reason that Kaggle does not give or that this kit does not know."""

    answer = "forbids it"


class RulesNotAcceptedError(ForbiddenError):
    """The rules of a competition have to be accepted first."""

    usual_remedy = "open {page} in a browser, join the competition and accept its rules"


class NotVerifiedError(ForbiddenError):
    """The account's owner has to verify a phone number or an identity first."""


class SubmitForbiddenError(ForbiddenError):
    """The API does not accept this submission; a browser may."""

    usual_remedy = (
        "open {page} in a browser and press Submit Prediction; if the button is not there, accept the rules or check "
        "the deadline"
    )


class RefusedError(_AnsweredNoError):
    """Kaggle refuses something for what it is."""

    answer = "refuses it"
    usual_remedy = "change that, then try again"


class SessionLimitError(RefusedError):
    """As many sessions run as this account may have."""

    usual_remedy = "wait for a running session to end, or stop one at {page}, then try again"


class SlugTakenError(RefusedError):
    """The name on Kaggle is taken."""

    usual_remedy = "use another title, or delete the item with this title at {page}"


class SourcesRefusedError(RefusedError):
    """A version was saved, and runs, without some of the inputs it was to have.

    Attributes:
        version: The version that was saved all the same.
        sources: What is missing, by kind: `competition`, `dataset`, `kernel`, `model`.
    """

    def __init__(self, *, ref: str, version: int, sources: Mapping[str, tuple[str, ...]]) -> None:
        missing = ", ".join(f"{kind} {printable(name)}" for kind, names in sources.items() for name in names)
        super().__init__(
            doing=f"push {ref} with all of its inputs",
            words=f"version {version} was saved without {missing}",
            remedy="check those names and this account's access to them (accepted rules, private datasets, an existing "
            "output), then push again",
        )
        self.version = version
        self.sources = {kind: tuple(names) for kind, names in sources.items()}


class UnsafeAnswerError(KaggleError):
    """A guard refused something that would have been unsafe to write, to open or to send.

    `was_sent` is false where the guard stood before the request.
    """

    def __init__(
        self, *, doing: str, problem: str, remedy: str = "nothing was written or sent", was_sent: bool = True
    ) -> None:
        summary = f"Cannot {printable(doing)}: {problem}"
        super().__init__(f"{summary}.", remedy=_sentence(remedy), text=f"{summary}; {remedy}.")
        self.was_sent = was_sent


def quote_words(words: str) -> str:
    """A server's words on one line, printable, cut short and without the full stop at their end."""
    line = printable(" ".join(words.split()))
    line = line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"
    return line.rstrip(".")


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _in_brackets(words: str) -> str:
    return f" ({quote_words(words)})" if words.strip() else ""


def _duration(time: timedelta) -> str:
    seconds = round(time.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"  # noqa: PLR2004 - two minutes


# Validation of what Kaggle answers and of what is sent to it: names, addresses, files, texts.
#
# Names that lead out of a folder; addresses that files must not come from or go to; what looks like a secret. Each
# guard stands against something that the official client does or did (its advisories and changelog): output files
# written outside of the folder, a token file pushed as a kernel's source, uploads sent wherever a server said.


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
    names: Iterable[str], *, doing: str, reserved_names: Sequence[str] = (), remedy: str = RENAME
) -> tuple[str, ...]:
    """Makes sure that names of a server's files stay in whatever folder they are put in, on every system.

    Args:
        names: The names as the server wrote them.
        doing: What is being done, for the error.
        reserved_names: Names that mean something else here, such as a log's.
        remedy: What the user can do about such a name, for the error.

    Raises:
        UnsafeAnswerError: A name is absolute, leads upwards, has a drive, a backslash or a control character, is too
            long, stands there twice, is a folder of another one, or is reserved.
    """
    earlier: set[str] = set()
    folders: set[str] = set()
    file_names = tuple(names)
    for name in file_names:
        fault = _fault_of_name(name) or ("is a name that this kit needs itself" if name in reserved_names else "")
        if not fault and name in earlier:
            fault = "stands there twice"
        if fault:
            raise UnsafeAnswerError(
                doing=doing, problem=f'a file is called "{printable(name[:_SHOWN])}", which {fault}', remedy=remedy
            )
        earlier.add(name)
        folders.update(str(parent) for parent in PurePosixPath(name).parents)
    for name in file_names:
        if name in folders:
            problem = f'"{printable(name[:_SHOWN])}" is a file and a folder at once'
            raise UnsafeAnswerError(doing=doing, problem=problem, remedy=remedy)
    return file_names


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
    url = join_url(base + "/", location)
    fault = _fault_of_address(url, base=base, is_upload=is_upload) if location.strip() else "is no address"
    if fault:
        short_url = printable(url.partition("?")[0][:_SHOWN])
        raise UnsafeAnswerError(doing=doing, problem=f"the server sends on to {short_url}, which {fault}")
    return url


def join_url(url: str, location: str) -> str:
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
    entries = list(files)
    checked_names((name for name, _ in entries), doing=doing)
    for name, path in entries:
        real_path = path.resolve()
        parts = {part.casefold() for part in (*PurePosixPath(name).parts, *real_path.parent.parts[-2:])}
        if (
            any(_is_secret_name(file_name) for file_name in (PurePosixPath(name).name, real_path.name))
            or parts & _SECRET_FOLDERS
        ):
            problem = f'"{printable(name[:_SHOWN])}" looks like a file with secrets'
            raise UnsafeAnswerError(doing=doing, problem=problem, remedy="remove or rename it")
        if not real_path.is_file():
            problem = f"{printable(str(path))} is not an ordinary file"
            raise UnsafeAnswerError(doing=doing, problem=problem, remedy="put the file there")


def check_text(text: str, *, doing: str) -> None:
    """Makes sure that a text to be sent has nothing in it that looks like a key.

    Raises:
        UnsafeAnswerError: It has; the error does not show it.
    """
    for secret, _ in secrets_in(text):
        raise UnsafeAnswerError(
            doing=doing,
            problem=f"the text holds what looks like {secret}",
            remedy="remove it, and use Kaggle's secrets (Add-ons, Secrets) instead; if it is not a secret, add "
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
        parts, base_parts = urlsplit(url), urlsplit(base)
        port = parts.port
    except ValueError:
        return "is no address"
    if len(url) > _LONGEST_URL or not url.isprintable() or not parts.hostname or "@" in parts.netloc:
        return "is no address"
    if base_parts.scheme == "http" or not _is_public(base_parts.hostname or ""):
        is_own = (parts.scheme, parts.hostname, port) == (base_parts.scheme, base_parts.hostname, base_parts.port)
        return "" if is_own else "is another server"
    if parts.scheme != "https" or port not in (None, 443):
        return "is not encrypted"
    return _fault_of_public_host(parts.hostname.rstrip("."), is_upload=is_upload)


def _fault_of_public_host(host: str, *, is_upload: bool) -> str:
    if not _is_public(host):
        return "is not on the internet"
    if is_upload and not any(host == domain or host.endswith("." + domain) for domain in _UPLOAD_HOSTS):
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
    folded_name = name.casefold()
    return (
        folded_name in _SECRET_NAMES
        or PurePosixPath(folded_name).suffix in _SECRET_SUFFIXES
        or folded_name == ".env"
        or folded_name.startswith(".env.")
    )
