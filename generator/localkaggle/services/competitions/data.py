"""The data of a competition: listings, a summary, and downloads."""

import threading
from collections.abc import Sequence
from pathlib import Path

from generator.files import PathOutsideError, contained
from generator.localkaggle.clock import as_wire
from generator.localkaggle.file_names import ListedFile
from generator.localkaggle.hosting import Hosted
from generator.localkaggle.hosting.listing import files_below, fingerprint
from generator.localkaggle.rpc import ApiError, Call, Fields, Redirect, Stored, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.archives import pack_zip
from generator.localkaggle.services.competitions.catalog import Catalog, page_of
from generator.localkaggle.services.file_listing import summary, tree


class CompetitionData:
    """Answers everything about the files of competitions; a listing is read once while the server runs."""

    def __init__(self, site: ServiceContext, catalog: Catalog) -> None:
        self._site = site
        self._catalog = catalog
        self._packing = threading.Lock()
        self._listings: dict[str, Sequence[ListedFile]] = {}

    def list(self, call: Call) -> Fields:
        """`ListDataFiles`."""
        hosted = self._open(call)
        files: list[Fields] = [
            {
                "ref": file.name,
                "name": file.name,
                "totalBytes": file.size,
                "creationDate": as_wire(file.written),
                "url": f"{page_of(call, hosted.facts.slug)}/data",
            }
            for file in self._files(hosted)
        ]
        return page(files, call, key="files")

    def tree(self, call: Call) -> Fields:
        """`ListDataTreeFiles`, one folder at a time."""
        files = self._files(self._open(call))
        created = as_wire(max(file.written for file in files)) if files else as_wire(self._site.clock.now())
        return tree(files, call, created=created)

    def summary(self, call: Call) -> Fields:
        """`GetCompetitionDataFilesSummary`."""
        return summary(self._files(self._open(call)))

    def download_file(self, call: Call) -> Redirect:
        """`DownloadDataFile`."""
        hosted = self._open(call)
        name = call.text("fileName")
        if not any(file.name == name for file in self._files(hosted)):
            raise ApiError(404, "File not found")
        try:
            path = contained(hosted.data() / name, root=hosted.data())
        except PathOutsideError as error:
            raise ApiError(404, "File not found") from error
        return Redirect(self._site.tickets.download(call, Stored(path, name)))

    def download_all(self, call: Call) -> Redirect:
        """`DownloadDataFiles`: a zip that is made once."""
        hosted = self._open(call)
        stored = Stored(self._archive(hosted), f"{hosted.facts.slug}.zip", "application/zip")
        return Redirect(self._site.tickets.download(call, stored))

    def _open(self, call: Call) -> Hosted:
        hosted = self._catalog.named(call)
        if self._site.faults.strikes("rules-not-accepted", at=call.method, also=hosted.facts.slug):
            raise ApiError(403, "You must accept this competition's rules before you'll be able to download files.")
        return hosted

    def _files(self, hosted: Hosted) -> Sequence[ListedFile]:
        found = self._listings.get(hosted.facts.slug)
        if found is None:
            # Data may have to be written first, which holds up nobody who asks for another competition.
            found = self._listings[hosted.facts.slug] = files_below(hosted.data())
        return found

    def _archive(self, hosted: Hosted) -> Path:
        files = self._files(hosted)
        folder = self._site.root / "competitions" / hosted.facts.slug
        archive = folder / f"archive-{fingerprint(files)}.zip"
        with self._packing:
            if not archive.is_file():
                folder.mkdir(parents=True, exist_ok=True)
                pack_zip(files, archive)
        return archive
