"""A local Kaggle to ask without HTTP: calls in, answers out, files as uploads; sessions run scripts of the test."""

import io
import json
import tarfile
import time
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from scripted import ScriptedRunner
from serving import notebook

from generator.localkaggle.rpc import ApiCall, ApiError, Faults, Redirect, StoredFile, parse_rule
from generator.localkaggle.services import LocalKaggle
from generator.localkaggle.services.kernels import SessionRules
from generator.sessions.sandbox import Runner

ME = "tester"
TRAIN = {"userName": ME, "kernelSlug": "my-train"}
NOTEBOOK = notebook("1")
SECONDS = 20


@dataclass
class HandClock:
    """A clock that is moved by hand."""

    moment: datetime = datetime(2026, 11, 20, 12, tzinfo=UTC)
    jumps: float = 0.0
    """Seconds by which somebody set it."""

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp() - self.jumps

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        self.pass_by(seconds)
        self.jumps += seconds


class Desk:
    """A local Kaggle on a folder, whose sessions run inside of the call that begins them unless slots are asked for."""

    account: ClassVar[str] = ME
    opened: ClassVar[list["Desk"]] = []
    """Those that the test has opened, and not closed; they are closed at its end."""

    def __init__(
        self,
        root: Path,
        runner: Runner | None = None,
        *,
        competitions: Iterable[Path] = (),
        faults: tuple[str, ...] = (),
        rules: SessionRules | None = None,
    ) -> None:
        self.root = root
        self.clock = HandClock()
        self.runner = runner or ScriptedRunner()
        self.kaggle = LocalKaggle(
            root,
            account=self.account,
            competitions=competitions,
            runner=self.runner,
            faults=Faults(map(parse_rule, faults)),
            clock=self.clock,
            rules=rules or SessionRules(slots=0),
        )
        self._methods = {name.rpartition("/")[2]: name for name in self.kaggle.methods}
        self.opened.append(self)

    def ask(self, method: str, *, caller: str = "", **fields: Any) -> Any:
        """Calls a method by its last name, as the account or as somebody else."""
        return self.kaggle.handle(self.call(self._methods[method], caller=caller, **fields))

    def call(self, method: str, *, caller: str = "", **fields: Any) -> ApiCall:
        """A call of a method, which is not made yet."""
        return ApiCall(method, caller or self.account, "http://localhost", fields)

    @property
    def reading(self) -> list[str]:
        """The methods that change nothing, by their last names."""
        return [name for name in self._methods if name.startswith(("Get", "List", "Do"))]

    def refused(self, method: str, **fields: Any) -> tuple[int, str]:
        """The status and the sentence of a call that is refused."""
        try:
            answer = self.ask(method, **fields)
        except ApiError as error:
            return error.status, error.message
        raise AssertionError(f"{method} was answered: {answer}")

    def upload(self, name: str, content: bytes, *, caller: str = "") -> str:
        """Sends a file, and returns the token that stands for it."""
        token = self.ask("StartBlobUpload", caller=caller, name=name, contentLength=len(content))["token"]
        self.kaggle.blobs.append(self.kaggle.blobs.find(token), 0, content)
        return str(token)

    def files(self, tree: dict[str, bytes], *, caller: str = "") -> dict[str, Any]:
        """Uploads of `{path: content}`, as the `files` and nested `directories` of a creation."""
        info: dict[str, Any] = {"files": [], "directories": []}
        for path, content in tree.items():
            *folders, name = path.split("/")
            place = info
            for folder in folders:
                known = [other for other in place["directories"] if other["name"] == folder]
                if not known:
                    known = [{"name": folder, "files": [], "directories": []}]
                    place["directories"] += known
                place = known[0]
            place["files"].append({"token": self.upload(name, content, caller=caller)})
        return info

    def fetched(self, answer: Redirect | str) -> StoredFile:
        """The file that a redirect or an address leads to."""
        url = answer.url if isinstance(answer, Redirect) else answer
        stored = self.kaggle.tickets.redeem(urlsplit(url).path.split("/")[2])
        assert stored is not None
        return stored

    def add_sources(self) -> None:
        """Makes a dataset of ours, `tester/wheels`, and a model of somebody else, `google/gemma/keras/base/1`."""
        self.ask("CreateDataset", slug="wheels", title="Wheels", **self.files({"a.whl": b"w"}))
        google: dict[str, Any] = {"caller": "google", "ownerSlug": "google"}
        variation = {"framework": "keras", "instanceSlug": "base", **self.files({"a.json": b"m"}, caller="google")}
        self.ask("CreateModel", **google, slug="gemma", title="Gemma", isPrivate=False)
        self.ask("CreateModelInstance", **google, modelSlug="gemma", body=variation)

    def push(self, title: str = "My Train", **fields: Any) -> Any:
        """Saves a kernel, and runs it unless told otherwise."""
        whole = {"slug": "tester/my-train", "newTitle": title, "text": NOTEBOOK, "kernelType": "notebook", **fields}
        return self.ask("SaveKernel", language="python", **whole)

    def status(self, **fields: Any) -> Any:
        """The state of the newest version of `my-train`, or of what the fields name."""
        return self.ask("GetKernelSessionStatus", **{**TRAIN, **fields})["status"]

    def output(self, **fields: Any) -> list[str]:
        """The names of the files that `my-train` wrote."""
        return [file["fileName"] for file in self.ask("ListKernelSessionOutput", **{**TRAIN, **fields})["files"]]

    def log(self, **fields: Any) -> str:
        """The text of the log of `my-train`."""
        log = self.ask("ListKernelSessionOutput", **{**TRAIN, **fields})["log"]
        return "".join(event["data"] for event in json.loads(log or "[]"))

    def submit(self, text: str, *, caller: str = "", competition: str = "toy-heights", **fields: Any) -> int:
        """Submits a file of this text, and returns the submission's number."""
        token = self.upload("submission.csv", text.encode(), caller=caller)
        named = {"competitionName": competition, "blobFileTokens": token}
        return int(self.ask("CreateSubmission", caller=caller, **named, **fields)["ref"])

    def outcome(self, ref: int, *, caller: str = "") -> dict[str, Any]:
        """A submission after it was scored."""
        until = time.monotonic() + SECONDS
        while (found := self.ask("GetSubmission", caller=caller, ref=ref))["status"] == "PENDING":
            assert time.monotonic() < until, "still pending"
            time.sleep(0.002)
        return dict(found)

    def restarted(self, runner: Runner | None = None, **options: Any) -> "Desk":
        """The next local Kaggle on the same folder, once this one has ended."""
        self.close()
        return Desk(self.root, runner, **options)

    def close(self) -> None:
        """What a server does when it ends."""
        self.opened.remove(self)
        self.kaggle.close()


def zipped(tree: dict[str, bytes]) -> bytes:
    """A zip of files, whatever their names."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in tree.items():
            packed.writestr(name, content)
    return whole.getvalue()


def tarred(*entries: tarfile.TarInfo | tuple[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar of files, and of entries of any other kind."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as packed:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                packed.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                packed.addfile(info, io.BytesIO(entry[1]))
    return whole.getvalue()
