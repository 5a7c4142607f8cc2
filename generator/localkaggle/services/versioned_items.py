"""The part of the API in which datasets and models are alike: found, checked, searched, downloaded, mounted."""

from pathlib import Path
from typing import ClassVar

from generator.localkaggle.rpc import ApiError, Call, Redirect, Stored
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services import version_store
from generator.localkaggle.services.version_files import file_in
from generator.localkaggle.services.version_store import Item, Variation, Version, VersionState, VersionStore
from generator.untrusted import quoted


class Library:
    """The items of one kind of one local Kaggle; `ARCHIVE` is the file that all of a version is downloaded as."""

    SCHEMA: ClassVar[str] = version_store.SCHEMA
    KIND: ClassVar[str]
    ARCHIVE: ClassVar[str]
    ARCHIVE_TYPE: ClassVar[str]

    def __init__(self, site: ServiceContext) -> None:
        self._site = site
        self._store = VersionStore(site, self.KIND, archive=f".{self.ARCHIVE.partition('.')[2]}")

    def _find(self, owner: str, slug: str) -> Item | None:
        return self._store.find(owner=owner, slug=slug)

    def _named(self, call: Call) -> Item:
        """The item that a call names.

        Raises:
            ApiError: 404 if there is none, 403 if it is private and somebody else's.
        """
        owner, slug = call.text("ownerSlug"), call.text(f"{self.KIND}Slug")
        item = self._find(owner, slug)
        if item is None:
            raise ApiError(404, f"There is no {self.KIND} {quoted(f'{owner}/{slug}')}.")
        return self._visible(call, item)

    def _visible(self, call: Call, item: Item) -> Item:
        if not item.is_visible_to(call.caller):
            raise ApiError(403, f"Permission '{self.KIND}s.get' was denied")
        return item

    def _require_owner(self, call: Call, owner: str, *, doing: str) -> None:
        if owner != call.caller:
            raise ApiError(403, f"You ({call.caller}) may not {doing} {quoted(owner)}.")

    def _searched(self, call: Call, *, owner: str) -> list[Item]:
        """The items that a call searches for: those of an owner, or of all if none is named."""
        search = call.text("search").lower()
        return [
            item
            for item in self._store.items()
            if item.is_visible_to(call.caller)
            and search in f"{item.slug} {item.facts['title']}".lower()
            and owner in ("", item.owner)
        ]

    def _ready(self, variation: Variation | None, number: str = "") -> Version | None:
        """The version of this number, or the newest; None if there is none that is ready."""
        versions = self._store.versions(variation) if variation is not None else []
        ready = (version for version in versions if version.state is VersionState.READY)
        return next((version for version in ready if number in ("", str(version.number))), None)

    def _folder(self, item: Item | None, variation: tuple[str, str], number: str, *, account: str) -> Path | None:
        """The folder of a version; None if there is none, or the account, if one is given, may not see it."""
        if item is None or (account and not item.is_visible_to(account)):
            return None
        version = self._ready(self._store.variation(item, *variation), number)
        return version.folder if version is not None else None

    def _download_of(self, call: Call, version: Version, name: str) -> Redirect:
        """The way to one file of a version, or to an archive of all."""
        if name:
            path = file_in(version.folder, name)
            stored = Stored(path, path.name)
        else:
            stored = Stored(self._store.archive(version), self.ARCHIVE, self.ARCHIVE_TYPE)
        return Redirect(self._site.tickets.download(call, stored))
