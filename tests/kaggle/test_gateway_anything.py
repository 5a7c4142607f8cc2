"""Whatever answers: the gateway returns a value, or raises one of our errors with a sentence for a terminal."""

import json
import random
from typing import Any

import pytest
from canned import TOKEN
from gateway_calls import READS, WRITES

from generator.errors import TandemError
from generator.kaggle.credentials import AccessToken
from generator.kaggle.gateway import Kaggle
from generator.kaggle.transport import Request, Response, RetryPolicy, Transport

# The fields that answers are read for, and values that stand in none of Kaggle's.
FIELDS = """
    active blob code currentVersionNumber date deadline directories error fileName files framework gpuQuota
    invalidKernelSources kernels log message metadata name nextPageToken pages publicScore quotaRefreshTime ref size
    slug status submissions tags timeUsed totalBytes url username versionNumber
""".strip()
TEXTS = [
    *["", "a", "COMPLETE", "2026-01-02T03:04:05Z", "0001-01-01T00:00:00+14:00", "4500s", "-1s", "nans", "1e999s"],
    *["x" * 300, "\ud800", "../x", "\x00\x1b[2J", "NaN", "7", "[", '[{"data": "x"}]', "http://127.0.0.1/x"],
    *["//evil", "http://[", "digits-train", "https://www.kaggle.com/competitions/digits"],
]
OTHERS = [None, True, False, 0, -1, 403, 10**30, 3.5, 1e300]


class Anything(Transport):
    """Answers with anything."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)  # noqa: S311 - a repeatable sequence is the point

    def send(self, request: Request, *, limit: int) -> Response:
        chance = self.random
        status = chance.choice([200] * 12 + [302, 400, 403, 404, 409, 429, 500])
        headers = {"content-type": chance.choice(["application/json"] * 9 + ["text/html"])}
        if status == 302:
            headers["location"] = chance.choice(TEXTS)
        if chance.random() < 0.1:
            headers["retry-after"] = chance.choice(["1", "x", "9" * 30, "Fri, 99 Nov 99999 12:00:30 GMT", "-1", ""])
        body = json.dumps(self.value() if chance.random() < 0.1 else self.fields(0)).encode()
        return Response(status, headers, body[: len(body) // 2] if chance.random() < 0.03 else body)

    def fields(self, depth: int) -> dict[str, Any]:
        return {self.random.choice(FIELDS.split()): self.value(depth + 1) for _ in range(self.random.randrange(8))}

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(12)
        if kind < 3 and depth < 4:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        if kind < 6 and depth < 4:
            return self.fields(depth)
        return self.random.choice(TEXTS) if kind < 10 else self.random.choice(OTHERS)


@pytest.mark.parametrize("method", [*READS, *WRITES])
def test_no_answer_is_a_crash(method: str) -> None:
    transport = Anything(seed=len(method))
    for _ in range(150):
        gateway = Kaggle(
            "http://127.0.0.1:1",
            AccessToken(TOKEN, source="a test"),
            retries=RetryPolicy(attempts=2, sleep=lambda _: None),
        )
        gateway.client.transport = transport
        try:
            {**READS, **WRITES}[method](gateway)
        except TandemError as error:
            said = str(error)
            assert said.isprintable(), repr(said)
