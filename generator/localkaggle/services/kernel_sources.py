"""The data sources that a kernel names: whether they are there, and where below /kaggle/input a session sees them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from generator.localkaggle.services.competitions import Competitions
from generator.localkaggle.services.datasets import Datasets
from generator.localkaggle.services.kernel_records import KernelRecords, KernelSettings
from generator.localkaggle.services.models import Models
from generator.localkaggle.sessions.session_folder import SessionFolder
from generator.localkaggle.site import Site

_WITH_VERSION = 5
# The number of parts that names have, by the kind of source: a version may be left out.
_PARTS = {"datasets": (2, 3), "competitions": (1,), "kernels": (2, 3), "models": (4, _WITH_VERSION)}
# Nothing that leads out of a folder it is joined to.
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

MissingSources = Mapping[str, tuple[str, ...]]
"""The names of sources that are not there, by kind: `datasets`, `competitions`, `kernels`, `models`."""


@dataclass(frozen=True)
class Sources:
    """The services that know the folders behind the names in a kernel's metadata; None where there is none."""

    competitions: Competitions | None = None
    datasets: Datasets | None = None
    models: Models | None = None

    def competition(self, slug: str, *, hidden: bool) -> Path | None:
        """The folder of a competition's data."""
        return self.competitions.data_folder(slug, hidden=hidden) if self.competitions is not None else None

    def dataset(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of a dataset; with an account, of one that it may see."""
        return self.datasets.dataset_folder(ref, account=account) if self.datasets is not None else None

    def model(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of a model; with an account, of one that it may see."""
        return self.models.model_folder(handle, account=account) if self.models is not None else None


class KernelSources:
    """Looks up the sources of kernels; `flat` mounts them as before 2026, all in one folder."""

    def __init__(self, site: Site, records: KernelRecords, sources: Sources, *, flat: bool) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._flat = flat

    def without_missing(self, settings: KernelSettings, account: str) -> tuple[KernelSettings, MissingSources]:
        """The settings without the sources that are not there or that the account may not see, and those."""
        named = {kind: getattr(settings, kind) for kind in _PARTS}
        missing = {
            kind: tuple(name for name in names if not self._exists(kind, name, account))
            for kind, names in named.items()
        }
        kept: dict[str, Any] = {
            kind: tuple(name for name in names if name not in missing[kind]) for kind, names in named.items()
        }
        return replace(settings, **kept), missing

    def mounts(self, settings: KernelSettings, *, hidden: str = "") -> Mapping[PurePosixPath, Path]:
        """The folders of this machine by their place below /kaggle/input.

        A source that is gone, or has no output yet, is not mounted, as on Kaggle.

        Args:
            settings: What the version was saved with.
            hidden: The competition whose hidden test is mounted in place of the public one.
        """
        return {place: folder.resolve() for place, folder in self._found(settings, hidden) if folder is not None}

    def has_gateway(self, competition: str) -> bool:
        """True if a competition hands out its test by an inference server, whose gateway is not in this Kaggle."""
        folder = self._sources.competition(competition, hidden=True)
        return folder is not None and (folder / "kaggle_evaluation").is_dir()

    def _exists(self, kind: str, name: str, account: str) -> bool:
        parts = name.split("/")
        if len(parts) not in _PARTS[kind] or not all(map(_PART.fullmatch, parts)):
            return False
        if kind == "competitions":
            return self._sources.competitions is not None and self._sources.competitions.is_known(name)
        if kind == "kernels":
            return self._is_kernel(account, *parts)
        find = self._sources.dataset if kind == "datasets" else self._sources.model
        return find(name, account=account) is not None

    def _is_kernel(self, account: str, owner: str, slug: str, number: str = "") -> bool:
        kernel = self._records.kernel(owner, slug)
        if kernel is None or not kernel.is_visible_to(account):
            return False
        return not number or (number.isdecimal() and self._records.version(kernel, int(number)) is not None)

    def _found(self, settings: KernelSettings, hidden: str) -> Iterator[tuple[PurePosixPath, Path | None]]:
        for slug in settings.competitions:
            yield self._mount_point("competitions", slug), self._sources.competition(slug, hidden=slug == hidden)
        for ref in settings.datasets:
            yield self._mount_point("datasets", *ref.split("/")[:2]), self._sources.dataset(ref)
        for ref in settings.kernels:
            yield self._mount_point("notebooks", *ref.split("/")[:2]), self._output(*ref.split("/"))
        for handle in settings.models:
            folder = self._sources.model(handle)
            parts = handle.split("/")
            if len(parts) < _WITH_VERSION and folder is not None:
                parts.append(folder.name)  # the newest version's folder bears its number
            yield self._mount_point("models", *parts), folder

    def _output(self, owner: str, slug: str, number: str = "") -> Path | None:
        """The output of the newest version of a kernel that ended well, or of this version if it did."""
        kernel = self._records.kernel(owner, slug)
        session = kernel and self._records.newest_success(kernel, int(number) if number else None)
        return SessionFolder(self._site.root, session.id).working if session else None

    def _mount_point(self, kind: str, *parts: str) -> PurePosixPath:
        if not self._flat:
            return PurePosixPath(kind, *parts)
        return PurePosixPath(*(parts[1:] if kind == "models" else parts[-1:]))
