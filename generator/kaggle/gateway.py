"""`Kaggle`: one account at the real Kaggle or at a local one, over HTTP."""

import os
from collections.abc import Mapping

from generator.installation import installed_version
from generator.kaggle import sdk
from generator.kaggle.competitions import Competitions
from generator.kaggle.credentials import AccessToken, exposed_files
from generator.kaggle.datasets_and_models import DatasetsAndModels
from generator.kaggle.downloads import Downloads
from generator.kaggle.errors import ForbiddenError, NotFoundError, RefusedError
from generator.kaggle.http_errors import Operation
from generator.kaggle.log_stream import LogStream
from generator.untrusted import is_slug, printable

_OLDEST_SAFE = (2026, 10, 19)
"""Before this, certifi trusts roots that were compromised (GHSA-6q48-6c7w-9gw2): a stranger could take the token."""


class Kaggle(Competitions, LogStream, DatasetsAndModels, Downloads):
    """An account at a Kaggle. Every method raises `generator.kaggle.errors.KaggleError` where it cannot answer.

    Methods that only read are repeated with back-off inside; those that change something are sent once. Tests hand the
    chain and its like a class with the same methods in its place.
    """

    _username = ""

    @property
    def address(self) -> str:
        """The base address of the API, such as `https://api.kaggle.com`; never with credentials in it."""
        return self._endpoint.address

    @property
    def is_local(self) -> bool:
        """True for a local Kaggle (loopback), where built-in competitions exist and TPUs are emulated."""
        return self._endpoint.is_local

    def warnings(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """Sentences that a user should know before credentials are sent, for standard error."""
        if not self._endpoint.is_real:
            return ()
        exposed = tuple(
            f"{printable(str(path))} can be read by other users of this machine: run `chmod 600` on it."
            for path in exposed_files(environment)
        )
        return tuple(warning for warning in (_certificate_warning(), *exposed) if warning)

    def username(self) -> str:
        """The account that the credentials belong to, asked of the server at most once."""
        if not isinstance(self._credentials, AccessToken) and self._credentials.username:
            return self._credentials.username
        if not self._username:
            self._username = self._introspected()
        return self._username

    def _introspected(self) -> str:
        operation = Operation("find out whose credentials these are")
        token = self._access_token(operation)
        try:
            found = self._read(operation, sdk.OAUTH, "introspect_token", token=token)
        except (RefusedError, ForbiddenError, NotFoundError):
            raise self._not_accepted() from None
        if not found.active or not found.username:
            raise self._not_accepted()
        if not is_slug(found.username.lower()):
            raise self._unexpected(operation, f"names no user of Kaggle: {found.username}")
        return str(found.username)


def _certificate_warning() -> str:
    """A sentence on certificates that are too old, or nothing."""
    installed = installed_version("certifi")
    parts = tuple(int(part) for part in installed.split(".")[:3] if part.isdigit())
    if not installed or parts >= _OLDEST_SAFE:
        return ""
    return (
        f"certifi {installed} trusts certificates that were compromised, with which a stranger could take your Kaggle "
        f"token: update it with `pip install 'certifi>={'.'.join(map(str, _OLDEST_SAFE))}'` as soon as your index of "
        "packages has it."
    )
