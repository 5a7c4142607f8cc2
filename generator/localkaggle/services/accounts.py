"""The accounts of a local Kaggle: their tokens and keys, and the methods by which clients ask who they are."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import ClassVar

from generator.localkaggle.database import Database
from generator.localkaggle.rpc import ApiError, Call, Fields, Methods

INTROSPECT = "security.OAuthService/IntrospectToken"
GENERATE = "users.AccountService/GenerateAccessToken"
OPEN_METHODS = frozenset({INTROSPECT, GENERATE})
"""Methods whose request holds the credentials, so that they are called without any."""

_TOKEN_SECONDS = 12 * 60 * 60


@dataclass(frozen=True)
class _Account:
    name: str
    number: int
    token: str
    key: str


class Accounts:
    """The accounts that may use this server; one comes to be when its token is first asked for."""

    SCHEMA: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS accounts (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL, key TEXT NOT NULL
        );
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # Found by hash, so that how long a look-up takes says nothing of the token.
        known = database.records(_Account, "SELECT * FROM accounts")
        self._by_token = {_digest(account.token): account for account in known}

    def token(self, name: str) -> str:
        """The access token of an account, the same as long as the server's folder is kept."""
        return self._account(name).token

    def key(self, name: str) -> str:
        """The legacy API key of an account."""
        return self._account(name).key

    def is_known(self, name: str) -> bool:
        """True if there is such an account."""
        return self._known(name) is not None

    def with_token(self, token: str) -> str | None:
        """The name of the account that a token belongs to."""
        account = self._by_token.get(_digest(token))
        return account.name if account else None

    def with_key(self, name: str, key: str) -> str | None:
        """The account's name, if this is its key or its token."""
        account = self._known(name)
        keys = (account.key, account.token) if account is not None else ()
        return name if any(hmac.compare_digest(key.encode(), known.encode()) for known in keys) else None

    def methods(self) -> Methods:
        """The methods by which clients ask about accounts."""
        return {
            INTROSPECT: self._introspect,
            GENERATE: self._generate,
            "api.v1.DiagnosticsService/Hello": lambda call: {"userName": call.caller},
        }

    def _known(self, name: str) -> _Account | None:
        return next((account for account in list(self._by_token.values()) if account.name == name), None)

    def _account(self, name: str) -> _Account:
        account = self._known(name)
        if account is None:
            token, key = f"local-{secrets.token_hex(20)}", secrets.token_hex(16)
            self._database.insert("accounts", name=name, token=token, key=key)
            # Another thread may have been first.
            account = self._database.records(_Account, "SELECT * FROM accounts WHERE name = ?", (name,))[0]
            self._by_token[_digest(account.token)] = account
        return account

    def _introspect(self, call: Call) -> Fields:
        account = self._by_token.get(_digest(call.text("token")))
        if account is None:
            return {"active": False}
        return {
            "active": True,
            "username": account.name,
            "userId": account.number,
            "clientId": "",
            "scope": "resources.admin:*",
        }

    def _generate(self, call: Call) -> Fields:
        token = call.text("refreshToken")
        if self.with_token(token) is None:
            raise ApiError(401, "The refresh token is not valid.")
        return {"token": token, "expiresIn": _TOKEN_SECONDS}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
