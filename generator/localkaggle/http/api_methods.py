"""The endpoint of the API's methods: `POST .../v1/<package.Service>/<Method>`."""

import logging

from starlette.requests import Request
from starlette.responses import Response

from generator.localkaggle.http.authentication import BASE, CALLER, has_credentials
from generator.localkaggle.http.responses import json_object, refusal, response_to
from generator.localkaggle.http.server_state import state_of
from generator.localkaggle.http.transport_faults import with_faults
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError, Call
from generator.localkaggle.services.accounts import OPEN_METHODS
from generator.localkaggle.services.free_space import is_disk_full

_LOG = logging.getLogger(__name__)
_UNAUTHENTICATED = "Unauthenticated: send the token that this server printed when it started."


async def call_method(request: Request) -> Response:
    """Answers one call of a method."""
    method = f"{request.path_params['service']}/{request.path_params['method']}"
    if not has_credentials(request) and method not in OPEN_METHODS:
        return refusal(401, _UNAUTHENTICATED)
    state = state_of(request)

    async def answer() -> Response:
        async with state.bodies.whole(request, most=state.bodies.limits.largest_of(method)) as body:
            return await state.workers.run(_answer, state.local_kaggle, request, method, body)

    return await with_faults(state.local_kaggle.site.faults, method, answer)


def _answer(local_kaggle: LocalKaggle, request: Request, method: str, body: bytes) -> Response:
    try:
        call = Call(method, request.scope[CALLER], request.scope[BASE], json_object(body))
        return response_to(local_kaggle.handle(call))
    except ApiError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug in one method must not end the server; it is told in the log
        if is_disk_full(error):
            _LOG.warning("%s failed: the disk is full", method)
            return refusal(507, "There is no room on the disk of this server; nothing was done.")
        _LOG.exception("%s failed", method)
        return refusal(500, f"{method} failed: a mistake of this server, told in its log.")
