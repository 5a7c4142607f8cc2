"""The endpoint of the faults: `GET /local/faults` tells which struck, `POST` of `{"rules": [...]}` replaces them."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from generator.errors import LocalKaggleError
from generator.localkaggle.faults import FaultRule, parse_rule
from generator.localkaggle.http.authentication import has_credentials
from generator.localkaggle.http.responses import json_object, refusal
from generator.localkaggle.http.server_state import state_of
from generator.localkaggle.rpc import ApiError

_MOST_RULES = 1_000


async def fault_rules(request: Request) -> Response:
    """Answers one request of the person who runs the server."""
    state = state_of(request)
    faults, bodies = state.local_kaggle.site.faults, state.bodies
    if not has_credentials(request):
        return refusal(401, "Unauthenticated.")
    if request.method == "POST":
        async with bodies.whole(request, most=bodies.limits.largest_call) as body:
            faults.replace(_rules(body))
    return JSONResponse({"struck": [{"fault": name, "at": at} for name, at in faults.struck]})


def _rules(body: bytes) -> list[FaultRule]:
    rules = json_object(body).get("rules")
    if not isinstance(rules, list) or len(rules) > _MOST_RULES or not all(isinstance(rule, str) for rule in rules):
        raise ApiError(400, 'Send {"rules": ["NAME[@METHOD][+SKIP][xTIMES][%PERCENT]", ...]}.')
    try:
        return [parse_rule(rule) for rule in rules]
    except LocalKaggleError as error:
        raise ApiError(400, error.message) from error
