"""A Kaggle whose one competition is a folder: it hands out pieces of files, and counts what is asked of it."""

import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.kaggle.api_types import RemoteCompetition, RemoteFile, RemoteFolder
from generator.kaggle.errors import NotFoundError, RulesNotAcceptedError, UnreachableError


@dataclass
class FolderKaggle:
    """Implements of `Kaggle` what reading a competition needs.

    Attributes:
        folder: The competition's files.
        slug: What it is called.
        described: What differs from the usual description.
        pages_by_name: Its pages.
        has_rules_accepted: Whether files are handed out.
        is_packed: Whether Kaggle sends tables as zips, as it does with large ones.
        has_tree: Whether there is a listing by folder.
        lists: Sizes by name that the listing says in place of the real ones.
        breaks_after: After how many bytes of a download the connection breaks, once.
    """

    folder: Path
    slug: str = "some-thing"
    described: dict[str, Any] = field(default_factory=dict)
    pages_by_name: dict[str, str] = field(default_factory=dict)
    has_rules_accepted: bool = True
    is_packed: bool = False
    has_tree: bool = True
    is_local: bool = False
    lists: dict[str, int] = field(default_factory=dict)
    breaks_after: int | None = None
    calls: Counter[str] = field(default_factory=Counter)
    sent: int = 0

    def __post_init__(self) -> None:
        self.competitions = self.models = self.files = self

    def facts(self, slug: str) -> RemoteCompetition:
        self.calls["competition"] += 1
        if slug != self.slug:
            raise NotFoundError(doing=f"ask about {slug}", words="", look_at="https://www.kaggle.com/competitions")
        usual = {
            "slug": slug,
            "title": "Some thing",
            "metric": "",
            "is_code_competition": False,
        }
        return RemoteCompetition(**{**usual, **self.described})

    def pages(self, slug: str) -> dict[str, str]:
        return self.pages_by_name

    def list_files(self, slug: str) -> tuple[RemoteFile, ...]:
        self.calls["list"] += 1
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return tuple(self._listed(path) for path in paths)

    def list_folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        self.calls["list"] += 1
        if not self.has_tree:
            raise NotFoundError(doing="list", words="", look_at="https://www.kaggle.com")
        entries = sorted((self.folder / path).iterdir())
        files = [entry for entry in entries if entry.is_file()]
        return RemoteFolder(
            folders=tuple(entry.name for entry in entries if entry.is_dir()),
            files=tuple(self._listed(file) for file in files[:most]),
            total_files=len(files),
        )

    def file_url(self, slug: str, name: str) -> str:
        self.calls["ticket"] += 1
        if not self.has_rules_accepted:
            page = f"https://www.kaggle.com/competitions/{slug}/rules"
            raise RulesNotAcceptedError(doing=f"read {name}", words="", page=page)
        return name

    def archive_url(self, slug: str) -> str:
        return "archive.zip"

    def read_range(self, url: str, start: int, length: int) -> bytes:
        self.calls["range"] += 1
        path = self.folder / url
        if self.is_packed and path.suffix == ".csv":
            path = self._archive_of(path, [path])
        with path.open("rb") as file:
            file.seek(start)
            piece = file.read(length)
        self.sent += len(piece)
        return piece

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        self.calls["download"] += 1
        if url == "archive.zip":
            paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
            whole = self._archive_of(self.folder / "archive", paths).read_bytes()
        else:
            whole = (self.folder / url).read_bytes()
        part = destination.with_name(f"{destination.name}.part")
        have = part.stat().st_size if part.exists() else 0
        with part.open("ab") as file:
            for start in range(have, len(whole), 1000):
                if self.breaks_after is not None and start >= self.breaks_after:
                    self.breaks_after = None
                    raise UnreachableError(doing="download", host="kaggle.com", reason="hung up", was_sent=False)
                file.write(whole[start : start + 1000])
                self.sent += len(whole[start : start + 1000])
                yield min(start + 1000, len(whole))
        part.replace(destination)

    def _listed(self, path: Path) -> RemoteFile:
        name = path.relative_to(self.folder).as_posix()
        return RemoteFile(name, self.lists.get(name, path.stat().st_size))

    def _archive_of(self, name: Path, paths: list[Path]) -> Path:
        archive = self.folder.parent / f"{name.name}.sent.zip"
        if not archive.exists():
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
                for path in paths:
                    file.write(path, path.relative_to(self.folder).as_posix())
            shutil.copystat(paths[0], archive)
        return archive
