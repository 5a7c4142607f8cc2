"""The credentials of a Kaggle account, from the places that the official client reads, in its order.

1. `KAGGLE_API_V1_TOKEN` inside of a Kaggle notebook: the path of a file with an access token.
2. `KAGGLE_API_TOKEN`: an access token, or the path of a file with one.
3. `~/.kaggle/access_token`, `~/.kaggle/access_token.txt`.
4. `KAGGLE_USERNAME` and `KAGGLE_KEY`, each of which may also come from `kaggle.json`.
5. `~/.kaggle/credentials.json`, which `kaggle auth login` writes.

The first that is there counts. The official client passes over a token that Kaggle does not accept and takes the next,
possibly of another account; this kit says so instead. No secret is part of a `repr`, a log or an error.
"""

import base64
import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from generator.files import open_file, reason_not_read
from generator.kaggle.api_types import moment
from generator.kaggle.errors import CredentialsError
from generator.text import JsonObject, printable

_LARGEST_FILE = 64_000  # bytes
_LONGEST_SECRET = 16_000  # characters; OAuth tokens are long
_SHORTEST_REDACTED = 12  # characters; shorter ones occur in any text by chance
_EXPIRY_MARGIN = timedelta(minutes=30)
_SETTINGS = "https://www.kaggle.com/settings/api"


@dataclass(frozen=True)
class AccessToken:
    """A token that stands for an account; `source` says where it was found."""

    token: str = field(repr=False)
    source: str

    def secrets(self) -> tuple[str, ...]:
        """The texts that must never be sent or shown."""
        return (self.token,)


@dataclass(frozen=True)
class LegacyKey:
    """A user name with a key, as `kaggle.json` holds them."""

    username: str
    key: str = field(repr=False)
    source: str

    @property
    def pair(self) -> str:
        """Both as HTTP's basic authentication writes them."""
        return base64.b64encode(f"{self.username}:{self.key}".encode()).decode()

    def secrets(self) -> tuple[str, ...]:
        """The texts that must never be sent or shown."""
        return (self.key, self.pair)


@dataclass(frozen=True)
class RefreshToken:
    """The login of `kaggle auth login`; `access_token` is used as long as `expires` says, and then asked for anew."""

    refresh_token: str = field(repr=False)
    source: str
    username: str = ""
    access_token: str = field(default="", repr=False)
    expires: datetime | None = None

    def secrets(self) -> tuple[str, ...]:
        """The texts that must never be sent or shown."""
        return tuple(secret for secret in (self.refresh_token, self.access_token) if secret)

    def is_fresh(self, now: datetime) -> bool:
        """True as long as the access token can be used."""
        return bool(self.access_token) and self.expires is not None and now < self.expires - _EXPIRY_MARGIN


Credentials = AccessToken | LegacyKey | RefreshToken


def find_credentials(environment: Mapping[str, str] = os.environ) -> Credentials:
    """The credentials that the official client would try first.

    Raises:
        CredentialsError: There are none, or those that come first cannot be read.
    """
    home = Path(environment.get("HOME") or Path.home())
    credentials = (
        _notebook_token(environment)
        or _environment_token(environment)
        or _file_token(home / ".kaggle" / "access_token")
        or _file_token(home / ".kaggle" / "access_token.txt")
        or _legacy_key(environment, home)
        or _oauth(home / ".kaggle" / "credentials.json")
    )
    if credentials is None:
        raise CredentialsError(
            reason="there are no credentials on this machine",
            remedy=f"make a token at {_SETTINGS} and save it as ~/.kaggle/access_token, or set KAGGLE_API_TOKEN",
        )
    return credentials


def exposed_files(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Files with credentials that other users of this machine can read."""
    if os.name == "nt":
        return ()
    home = Path(environment.get("HOME") or Path.home())
    files = [home / ".kaggle" / name for name in ("access_token", "access_token.txt", "credentials.json")]
    files.append(_config_folder(environment, home) / "kaggle.json")
    return tuple(file for file in files if _is_exposed(file))


def redacted_secrets(credentials: Credentials) -> tuple[str, ...]:
    """The account's secrets that stand in no text by chance."""
    return tuple(secret for secret in credentials.secrets() if len(secret) >= _SHORTEST_REDACTED)


def contains_secret(text: str, credentials: Credentials) -> bool:
    """True if a text has one of the account's secrets in it."""
    return any(secret in text for secret in redacted_secrets(credentials))


def _notebook_token(environment: Mapping[str, str]) -> AccessToken | None:
    path = environment.get("KAGGLE_API_V1_TOKEN")
    if not path or not environment.get("KAGGLE_KERNEL_RUN_TYPE") or not environment.get("KAGGLE_DATA_PROXY_URL"):
        return None
    return _file_token(Path(path))


def _environment_token(environment: Mapping[str, str]) -> AccessToken | None:
    value = environment.get("KAGGLE_API_TOKEN", "")
    if not value.strip():
        return None
    try:
        is_path = Path(value).is_file()
    except (OSError, ValueError):
        # A token can be longer than any file name.
        is_path = False
    if is_path:
        return _file_token(Path(value))
    return AccessToken(_secret(value, source="KAGGLE_API_TOKEN"), source="KAGGLE_API_TOKEN")


def _file_token(path: Path) -> AccessToken | None:
    text = _text(path)
    if text is None or not text.strip():
        return None
    return AccessToken(_secret(text, source=str(path)), source=str(path))


def _legacy_key(environment: Mapping[str, str], home: Path) -> LegacyKey | None:
    path = _config_folder(environment, home) / "kaggle.json"
    fields = _object(path)
    username = environment.get("KAGGLE_USERNAME") or fields.text("username")
    key = environment.get("KAGGLE_KEY") or fields.text("key")
    if not username.strip() or not key.strip():
        return None
    source = "KAGGLE_USERNAME and KAGGLE_KEY" if environment.get("KAGGLE_KEY") else str(path)
    name = _secret(username, source=source)
    if ":" in name:
        raise _unusable(source)
    return LegacyKey(name, _secret(key, source=source), source)


def _oauth(path: Path) -> RefreshToken | None:
    fields = _object(path)
    refresh, access = fields.text("refresh_token"), fields.text("access_token")
    if not refresh.strip():
        return None
    return RefreshToken(
        _secret(refresh, source=str(path)),
        source=str(path),
        username=fields.text("username"),
        access_token=_secret(access, source=str(path)) if access.strip() else "",
        expires=moment(fields.get("access_token_expiration")),
    )


def _config_folder(environment: Mapping[str, str], home: Path) -> Path:
    if folder_name := environment.get("KAGGLE_CONFIG_DIR"):
        return Path(folder_name)
    usual = home / ".kaggle"
    if sys.platform.startswith("linux") and not usual.exists():
        return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "kaggle"
    return usual


def _secret(text: str, *, source: str) -> str:
    secret = text.strip()
    # Anything else would break the header that it travels in, and an HTTP library's complaint would quote it.
    if not secret or len(secret) > _LONGEST_SECRET or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise _unusable(source)
    return secret


def _unusable(source: str) -> CredentialsError:
    return CredentialsError(
        reason=f"what {printable(source)} holds cannot be credentials of Kaggle (it has spaces or other characters "
        "that none has, or is too long)",
        remedy=f"make a new token at {_SETTINGS}",
    )


def _text(path: Path) -> str | None:
    try:
        with open_file(path) as file:
            return file.read(_LARGEST_FILE).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"{printable(str(path))} cannot be read, {reason_not_read(error)}"
        raise CredentialsError(reason=reason, remedy="fix or remove that file") from error
    except UnicodeDecodeError:
        # `from None`: the decoder's error carries the file's bytes.
        raise _unusable(str(path)) from None


def _object(path: Path) -> JsonObject:
    text = _text(path)
    if text is None or not text.strip():
        return JsonObject()
    try:
        return JsonObject.of(json.loads(text))
    except ValueError:
        # `from None`: the parser's error carries the file's text.
        raise CredentialsError(
            reason=f"{printable(str(path))} is not JSON",
            remedy=f"download it again at {_SETTINGS}, or remove it",
        ) from None


def _is_exposed(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False
