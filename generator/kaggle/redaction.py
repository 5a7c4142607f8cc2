"""Cutting an account's secrets out of what a server answers: some quote the request, header and all, in a complaint."""

from collections.abc import Iterable, Iterator
from urllib.parse import quote

_CUT = b"[secret]"


class Redaction:
    """Cuts secrets out of bytes, whether they stand there as they are, in JSON, or in an address."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # .NET writes a plus in JSON as its code, PHP a slash behind a backslash.
        found = {
            spelled.encode()
            for secret in secrets
            for spelled in (secret, secret.replace("+", "\\u002B"), secret.replace("/", "\\/"), quote(secret, safe=""))
        }
        self._secrets = sorted(found, key=len, reverse=True)

    def cut(self, text: bytes) -> bytes:
        """The bytes without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _CUT)
        return text

    def cut_text(self, text: str) -> str:
        """The text of a header without the secrets."""
        return self.cut(text.encode("latin-1", "replace")).decode("latin-1")

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes piece by piece; what may be the beginning of a secret waits for the piece after it."""
        rest = b""
        for chunk in chunks:
            text = self.cut(rest + chunk)
            whole = len(text) - self._begun(text)
            rest = text[whole:]
            if whole:
                yield text[:whole]
        if rest:
            yield rest

    def _begun(self, text: bytes) -> int:
        """The number of bytes at the end that could be the beginning of a secret."""
        lengths = (
            length
            for secret in self._secrets
            for length in range(1, min(len(secret), len(text) + 1))
            if text.endswith(secret[:length])
        )
        return max(lengths, default=0)
