"""Connects a command to a Kaggle: the real one or the one on this machine, each with its own credentials."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from generator.kaggle.errors import KaggleError, OtherKaggleError
from generator.local_server import ServerRecord, default_root, read_record, serve_command
from generator.text import printable

if TYPE_CHECKING:
    from generator.kaggle.gateway import Kaggle

REAL_ADDRESS = "https://api.kaggle.com"


class Target(StrEnum):
    """The choices of `--to`."""

    KAGGLE = "kaggle"
    LOCAL = "local"


def connect(to: Target, *, environment: Mapping[str, str] = os.environ) -> "Kaggle":
    """An account at the Kaggle that was chosen; nothing is sent before it is asked something.

    Args:
        to: The real Kaggle, or the local one that runs on this machine.
        environment: Where credentials and the root of the local Kaggle are looked up, and for the real one
            `KAGGLE_PROXY` and `KAGGLE_SSL_CA_CERT`: no other proxies and certificates are used, whatever is set.

    Raises:
        OtherKaggleError: The real one is chosen where `KAGGLE_API_ENVIRONMENT` names another.
        CredentialsError: There are no credentials for the real Kaggle on this machine.
        KaggleError: No local Kaggle runs.
    """
    from generator.kaggle.credentials import AccessToken, find_credentials
    from generator.kaggle.gateway import Kaggle
    from generator.kaggle.transport import Route

    if to is Target.KAGGLE:
        # The official client goes elsewhere for LOCALHOST alone; with any other value it goes to the real one, with
        # credentials that were most likely meant for a test.
        value = environment.get("KAGGLE_API_ENVIRONMENT", "")
        if value not in ("", "PROD"):
            raise OtherKaggleError(value=value)
        route = Route(environment.get("KAGGLE_PROXY", ""), environment.get("KAGGLE_SSL_CA_CERT", ""))
        return Kaggle(REAL_ADDRESS, find_credentials(environment), route=route)
    record = running_server(environment)
    return Kaggle(record.address, AccessToken(record.token, source="the local Kaggle"), is_local=True)


def running_server(environment: Mapping[str, str] = os.environ) -> ServerRecord:
    """The local Kaggle that runs on the root that the environment names.

    Raises:
        KaggleError: None runs there.
    """
    root = default_root(environment)
    record = read_record(root)
    if record is None or not record.is_running():
        raise KaggleError(
            f"No local Kaggle is running in {printable(str(root))}.",
            remedy=f"Start one with `{serve_command(root)}` in another "
            "terminal. If one runs with another folder, set TANDEM_LOCAL_KAGGLE to that folder.",
            code="local-kaggle-not-running",
        )
    return record
