"""What only the person who runs the server asks of it: whether it is up, and which faults strike."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from generator.localkaggle.errors import LocalKaggleError
from generator.localkaggle.faults import FaultRule, Faults, parse_rule
from generator.localkaggle.http.answers import parsed, refusal, refused
from generator.localkaggle.http.bodies import Bodies
from generator.localkaggle.http.calls import may_call
from generator.localkaggle.rpc import ApiError

_MOST_RULES = 1_000


class Administration:
    """`GET /local/faults` tells which faults struck; `POST` with `{"rules": [...]}` puts other rules in force."""

    def __init__(self, faults: Faults, bodies: Bodies) -> None:
        self._faults = faults
        self._bodies = bodies

    async def __call__(self, request: Request) -> Response:
        """Answers one request."""
        if not may_call(request):
            return refusal(401, "Unauthenticated.")
        if request.method == "POST":
            try:
                async with self._bodies.whole(request, most=self._bodies.limits.largest_call) as body:
                    self._faults.replace(_rules(body))
            except ApiError as error:
                return refused(error)
        return JSONResponse({"struck": [{"fault": name, "at": at} for name, at in self._faults.struck]})


def _rules(body: bytes) -> list[FaultRule]:
    rules = parsed(body).get("rules")
    if not isinstance(rules, list) or len(rules) > _MOST_RULES or not all(isinstance(rule, str) for rule in rules):
        raise ApiError(400, 'Send {"rules": ["NAME[@METHOD][+SKIP][xTIMES][%PERCENT]", ...]}.')
    try:
        return [parse_rule(rule) for rule in rules]
    except LocalKaggleError as error:
        raise ApiError(400, error.message) from error
