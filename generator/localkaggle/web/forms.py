"""Reading what a form sends, with files or without."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from generator.localkaggle.rpc import ApiError

_MOST_FIELDS = 2_000
_MULTIPART = re.compile(r'multipart/form-data\s*;\s*boundary="?([0-9A-Za-z\'()+_,./:=?-]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(rb'[;\s]name="([^"\r\n]*)"')
_FILE_NAME = re.compile(rb'[;\s]filename="([^"\r\n]*)"')
_PLAIN = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class SentFile:
    """A file that somebody chose in a form; `name` is what they call it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Form:
    """What a form sent; a field that was left without a file is not among the files."""

    fields: Mapping[str, str]
    files: Mapping[str, SentFile] = field(default_factory=dict)


def parse(body: bytes, content_type: str) -> Form:
    """Reads a form.

    Raises:
        ApiError: 415 or 400; the body is none.
    """
    try:
        if content_type.partition(";")[0].strip().lower() == _PLAIN:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
            return Form(dict(pairs))
        found = _MULTIPART.match(content_type)
        if found is not None:
            return _parts(body, found[1].encode())
    except ValueError as error:
        raise ApiError(400, "What was sent is no form in UTF-8.") from error
    raise ApiError(415, "What was sent is no form.")


def _parts(body: bytes, boundary: bytes) -> Form:
    fields: dict[str, str] = {}
    files: dict[str, SentFile] = {}
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, _MOST_FIELDS)
    if not parts or not parts[-1].startswith(b"--"):
        raise ApiError(400, "The form was not sent to its end.")
    for part in parts[:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name, file_name = _NAME.search(head), _FILE_NAME.search(head)
        if name is None:
            continue
        if file_name is None:
            fields[name[1].decode()] = content.decode()
        elif file_name[1]:
            files[name[1].decode()] = SentFile(file_name[1].decode(), content)
    return Form(fields, files)
