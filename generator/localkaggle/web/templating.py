"""Filling in the templates of the pages.

Everything that a page shows was written by somebody else. Values are escaped unless `generator.run.safe_html` made
them, and every page forbids what it does not need: scripts and styles but its own, frames, and forms that lead away.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import Response

from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web import formats
from generator.page_templates import SHARED, PageTemplates
from generator.run.safe_html import code_styles

_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class StaticFile:
    """A file that the pages refer to; `version` changes with its content, so that browsers may keep it for ever."""

    body: bytes
    media_type: str
    version: str


@cache
def static_files() -> Mapping[str, StaticFile]:
    """The files that the pages refer to, by name."""
    files = {}
    for path in sorted((_FOLDER / "static").iterdir()):
        if path.suffix not in _STATIC_TYPES:
            continue
        body = path.read_bytes()
        if path.name == "pages.css":
            body += (SHARED / "findings.css").read_bytes() + code_styles().encode()
        files[path.name] = StaticFile(body, _STATIC_TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:12])
    return files


def static_response(version: str, name: str) -> Response:
    """A file that the pages refer to; `ApiError` 404 if there is none of that name and version."""
    file = static_files().get(name)
    if file is None or file.version != version:
        raise ApiError(404, "There is no such file, or no such version of it.")
    headers = {**PAGE_HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(file.body, media_type=file.media_type, headers=headers)


def rendered(template: str, values: Mapping[str, Any], *, status: int = 200) -> Response:
    """Fills in a template."""
    text = _TEMPLATES.render(template, **values)
    # What a notebook prints may hold half of a surrogate pair, which UTF-8 has no bytes for.
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="text/html", headers=PAGE_HEADERS)


def sign_in(*, is_wrong: bool = False) -> Response:
    """The page for somebody who is not logged in; it stands alone, as they may not fetch anything else.

    Args:
        is_wrong: Whether they tried, with a token that is none of this server's.
    """
    styles = Markup(static_files()["sign_in.css"].body.decode())  # noqa: S704 (a file of this package)
    digest = base64.b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self' http://*.localhost:*; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    answer = rendered("sign_in.html.j2", {"styles": styles, "is_wrong": is_wrong}, status=401)
    answer.headers["Content-Security-Policy"] = policy
    return answer


def _static_address(name: str) -> str:
    return formats.path("static", static_files()[name].version, name)


_TEMPLATES = PageTemplates(
    _FOLDER / "templates",
    functions={"ago": formats.ago, "path": formats.path, "static": _static_address},
    duration=formats.duration,
    hours=formats.hours,
    size=formats.size,
    file_path=quote,  # a file's relative name as the end of an address: its slashes stay
    moment=datetime.fromisoformat,
)
