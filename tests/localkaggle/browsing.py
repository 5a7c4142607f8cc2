"""A reader of the pages without a browser or a socket: what a page says, where it leads, what its forms ask for."""

import asyncio
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode, urljoin, urlsplit

from desk import Desk
from scripted import ScriptedRunner, writing
from serving import notebook
from toy import submission_text, toy_competition

from generator.localkaggle.endpoints import Limits, Workers
from generator.localkaggle.server import application
from generator.localkaggle.services.kernels import SessionRules
from generator.sessions.sandbox import Runner

BASE = "http://127.0.0.1:8000"
FORM = "application/x-www-form-urlencoded"
ME = "local"


@dataclass
class Page:
    """What somebody sees of an answer."""

    address: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    text: str = ""
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    """What the page's form would send if its button were pressed at once."""

    def elements(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


class Browsing(Desk):
    """Somebody who looks at the pages of a local Kaggle, by default as the account that it belongs to.

    It has the competition `toy-heights`, and its sessions write a submission that is off by 2.
    """

    account = ME

    def __init__(self, folder: Path, runner: Runner | None = None, *, slots: int = 0, is_code: bool = True) -> None:
        toy = toy_competition(folder / "toy", is_code=is_code)
        runner = runner or ScriptedRunner(writing({"submission.csv": submission_text(off_by=2)}))
        super().__init__(folder / "kaggle", runner, competitions=[toy], rules=SessionRules(slots=slots))
        self._workers = Workers(Limits())
        self._app = application(self.kaggle, self._workers, Limits())

    def close(self) -> None:
        self._workers.close()
        super().close()

    def get(self, address: str, *, caller: str = ME) -> Page:
        return self.request("GET", address, caller=caller)

    def post(self, address: str, form: dict[str, str]) -> Page:
        return self.request("POST", address, urlencode(form).encode())

    def send(self, address: str, form: dict[str, str], *, file: tuple[str, bytes]) -> Page:
        """Sends a form with a file in its field `file`."""
        parts = [
            f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in form.items()
        ]
        head = f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'
        body = "".join(parts).encode() + head.encode() + file[1] + b"\r\n--XX--\r\n"
        return self.request("POST", address, body, content_type="multipart/form-data; boundary=XX")

    def follow(self, page: Page) -> Page:
        """The page that an answer leads to."""
        assert page.status == 303, page.text
        return self.get(page.headers["location"])

    def push(self, title: str, *cells: str, caller: str = ME, **fields: Any) -> str:
        """Saves and runs a notebook, and returns the address of its page."""
        whole = {
            "newTitle": title,
            "text": notebook(*cells),
            "kernelType": "notebook",
            "enableInternet": False,
            **fields,
        }
        answer = self.ask("SaveKernel", caller=caller, **whole)
        assert not answer["error"], answer
        return f"/code{answer['ref']}"

    def request(
        self, method: str, address: str, body: bytes = b"", *, caller: str = ME, content_type: str = FORM
    ) -> Page:
        """Sends a request as the server hands it to the application, and reads what comes back."""
        target = urlsplit(address)
        headers = {
            "host": urlsplit(BASE).netloc,
            "origin": BASE,
            "authorization": f"Bearer {self.kaggle.accounts.token(caller)}",
            "content-type": content_type,
        }
        scope = {
            "type": "http",
            "method": method,
            "path": unquote_to_bytes(target.path).decode(),
            "query_string": target.query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "server": (urlsplit(BASE).hostname, urlsplit(BASE).port),
        }
        page = Page(address)

        sent = iter([{"type": "http.request", "body": body}])

        async def receive() -> dict[str, Any]:
            return next(sent, None) or await asyncio.Event().wait()  # nobody hangs up

        async def send(message: dict[str, Any]) -> None:
            page.status = message.get("status", page.status)
            page.headers.update((name.decode(), value.decode()) for name, value in message.get("headers", ()))
            page.body += message.get("body", b"")

        asyncio.run(self._app(scope, receive, send))
        if page.headers.get("content-type", "").startswith("text/html"):
            reader = _Reader(page)
            reader.feed(page.body.decode())
            page.text = " ".join("".join(reader.pieces).split())
        return page


def same_site(page: Page, link: str) -> str | None:
    """Where a link leads on this server, or None if it leads elsewhere."""
    target = urlsplit(urljoin(BASE + page.address, link))
    if f"{target.scheme}://{target.netloc}" != BASE:
        return None
    return target.path + (f"?{target.query}" if target.query else "")


class _Reader(HTMLParser):
    """Fills a page with its tags, its links by their words, and what its form would send."""

    def __init__(self, page: Page) -> None:
        super().__init__(convert_charrefs=True)
        self._page = page
        self.pieces: list[str] = []
        self._link: str | None = None
        self._words: list[str] = []
        self._area = ""
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        fields = self._page.fields
        self._page.tags.append((tag, found))
        self.pieces.append(" ")
        if tag == "a":
            self._link, self._words = found.get("href", ""), []
        elif tag == "input" and (found.get("type") != "checkbox" or "checked" in found):
            fields[found["name"]] = found.get("value", "on")
        elif tag == "textarea":
            self._area = found["name"]
            fields[self._area] = ""
        elif tag == "select":
            self._select = found["name"]
        elif tag == "option" and self._select and ("selected" in found or self._select not in fields):
            fields[self._select] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append(" ")
        if tag == "a" and self._link is not None:
            self._page.links[" ".join("".join(self._words).split())] = self._link
            self._link = None
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)
        self._words.append(data)
        if self._area:
            # HTML drops the line end that a text area begins with.
            written = self._page.fields[self._area]
            self._page.fields[self._area] = written + (data if written else data.removeprefix("\n"))
