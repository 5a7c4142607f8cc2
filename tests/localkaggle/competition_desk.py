"""A counter to ask the competitions of a local Kaggle at, with notebooks that are run again by hand."""

import time
from functools import partial
from pathlib import Path
from typing import Any

from desk import ME, Desk

from generator.localkaggle.hosting import host
from generator.localkaggle.service_context import Rerun
from generator.localkaggle.services.competitions import Competitions

SECONDS = 20


class CompetitionDesk(Desk):
    """The competitions of some folders, beside the built-in ones."""

    service: Competitions

    def __init__(self, root: Path, *folders: Path, faults: tuple[str, ...] = ()) -> None:
        make = partial(Competitions, hosted=host(root, folders))
        make.SCHEMA = Competitions.SCHEMA
        super().__init__(root, make, faults=faults)

    def submit(self, text: str, *, competition: str = "toy-heights", **fields: Any) -> int:
        """Submits a file of this text, and returns the submission's number."""
        token = self.uploads.add("submission.csv", text.encode())
        return self.ask("CreateSubmission", competitionName=competition, blobFileTokens=token, **fields)["ref"]

    def outcome(self, ref: int, *, caller: str = ME) -> dict[str, Any]:
        """A submission after it was scored."""
        until = time.monotonic() + SECONDS
        while (found := self.ask("GetSubmission", caller=caller, ref=ref))["status"] == "PENDING":
            assert time.monotonic() < until, "still pending"
            time.sleep(0.002)
        return found

    def close(self) -> None:
        self.service.close()
        super().close()


class Notebooks:
    """Versions of notebooks of one account, which run again when a test says so."""

    def __init__(self, folder: Path, *, internet: bool = False, tpu: bool = False) -> None:
        self.folder = folder
        self.internet = internet
        self.tpu = tpu
        self.queued: list[dict[str, Any]] = []
        self.listeners: list[Any] = []

    def has_version(self, owner: str, slug: str, version: int) -> bool:
        return (owner, slug, version) == (ME, "heights-infer", 3)

    def output_file(self, owner: str, slug: str, version: int, name: str) -> Path | None:
        path = self.folder / "committed" / name
        return path if path.is_file() else None

    def uses_internet(self, owner: str, slug: str, version: int) -> bool:
        return self.internet

    def uses_tpu(self, owner: str, slug: str, version: int) -> bool:
        return self.tpu

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        self.queued.append({"slug": slug, "version": version, "competition": competition, "submission": submission})

    def when_rerun_ended(self, listener: Any) -> None:
        self.listeners.append(listener)

    def commit(self, files: dict[str, str]) -> None:
        """What the version wrote when it was saved."""
        _write(self.folder / "committed", files)

    def end(self, submission: int, *, files: dict[str, str] | None = None, failure: str = "") -> None:
        """Ends a rerun that wrote these files."""
        output = self.folder / f"rerun-{submission}"
        _write(output, files or {})
        for listener in self.listeners:
            listener(Rerun(submission, output, failure))


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
