"""A Kaggle with a store that takes uploads, and goes wrong as a test says."""

import re
from dataclasses import dataclass, field

from canned import Asked, Told, refused, said

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass
class Store:
    """Kaggle with a store that takes uploads; the failures strike one PUT with bytes after another."""

    failures: list[Told | int] = field(default_factory=list)
    answers: dict[str, Told] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    put_at: str = "/__upload/{}?upload_id=secret"

    def __call__(self, asked: Asked) -> Told:
        if asked.verb == "PUT":
            return self._put(asked)
        if asked.method in ("StartBlobUpload", "StartSubmissionUpload"):
            token = f"token-{len(self.blobs) + 1}"
            self.blobs[token] = b""
            return said(token=token, createUrl=self.put_at.format(token))
        return self.answers.get(asked.method, refused(404, "there is none"))

    def _put(self, asked: Asked) -> Told:
        token = asked.path.partition("?")[0].rpartition("/")[2]
        about = asked.headers.get("content-range", "")
        if about.startswith("bytes */"):
            have = len(self.blobs[token])
            return Told(b"", 308, {"Range": f"bytes=0-{have - 1}"} if have else {})
        failure = self.failures.pop(0) if self.failures else None
        found = _RANGE.fullmatch(about)
        assert (int(found[1]) if found else 0) == len(self.blobs[token]), "what is sent follows what is there"
        if isinstance(failure, int):
            # The connection breaks after so many bytes of this request.
            self.blobs[token] += asked.body[:failure]
            return Told(drops=True)
        if failure is not None:
            return failure
        self.blobs[token] += asked.body
        return said()
