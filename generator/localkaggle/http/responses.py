"""Responses as Kaggle writes them: JSON with a code and a message where it refuses."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from generator.localkaggle.rpc import Answer, ApiError, Content, Redirect
from generator.untrusted import parsed_json


def refusal(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error of the API."""
    return JSONResponse({"code": status, "message": message}, status_code=status, headers=dict(headers or {}))


def response_to(answer: Answer) -> Response:
    """The response with what a method answered."""
    if isinstance(answer, Redirect):
        return Response(status_code=302, headers={"Location": answer.url})
    if isinstance(answer, Content):
        return Response(answer.body, media_type=answer.media_type)
    return Response(json.dumps(answer), media_type="application/json")


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object in the body of a call; an empty body is an empty one.

    Raises:
        ApiError: 400; it is something else.
    """
    try:
        fields = parsed_json(body) if body else {}
    except ValueError as error:
        raise ApiError(400, "The body of the request is not JSON.") from error
    if not isinstance(fields, dict):
        raise ApiError(400, "The body of the request is no JSON object.")
    return fields
