"""The data sources that a kernel names: whether they are there, and where below /kaggle/input a session sees them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from generator.localkaggle.hosting import Hosted
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.datasets import Datasets
from generator.localkaggle.services.kernel_records import KernelRecords, KernelSettings
from generator.localkaggle.services.models import Models
from generator.sessions.session_folder import SessionFolder

# The number of parts that names have, by the kind of source: a version may be left out.
_PARTS = {"competitions": (1,), "datasets": (2, 3), "kernels": (2, 3), "models": (4, 5)}
_FOLDERS = {"competitions": "competitions", "datasets": "datasets", "kernels": "notebooks", "models": "models"}
# Nothing that leads out of a folder it is joined to.
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

MissingSources = Mapping[str, tuple[str, ...]]
"""The names of sources that are not there, by kind: `datasets`, `competitions`, `kernels`, `models`."""


@dataclass(frozen=True)
class Sources:
    """What knows the folders behind the names in a kernel's metadata."""

    competitions: Mapping[str, Hosted]
    datasets: Datasets
    models: Models


class KernelSources:
    """Looks up the sources of kernels; `flat` mounts them as before 2026, all in one folder."""

    def __init__(self, site: ServiceContext, records: KernelRecords, sources: Sources, *, flat: bool) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._flat = flat

    def without_missing(self, settings: KernelSettings, account: str) -> tuple[KernelSettings, MissingSources]:
        """The settings without the sources that are not there or that the account may not see, and those."""
        kept: dict[str, Any] = {}
        missing: dict[str, tuple[str, ...]] = {}
        for kind in _PARTS:
            names = getattr(settings, kind)
            kept[kind] = tuple(name for name in names if self._exists(kind, name, account))
            missing[kind] = tuple(name for name in names if name not in kept[kind])
        return replace(settings, **kept), missing

    def mounts(self, settings: KernelSettings, *, hidden: str = "") -> Mapping[PurePosixPath, Path]:
        """The folders of this machine by their place below /kaggle/input.

        A source that is gone, or has no output yet, is not mounted, as on Kaggle.

        Args:
            settings: What the version was saved with.
            hidden: The competition whose hidden test is mounted in place of the public one.
        """
        mounts: dict[PurePosixPath, Path] = {}
        for kind in _PARTS:
            for name in getattr(settings, kind):
                folder = self._folder(kind, name, hidden=name == hidden)
                if folder is not None:
                    mounts[self._mount_point(kind, name, folder)] = folder.resolve()
        return mounts

    def has_gateway(self, competition: str) -> bool:
        """True if a competition hands out its test by an inference server, whose gateway is not in this Kaggle."""
        folder = self._folder("competitions", competition, hidden=True)
        return folder is not None and (folder / "kaggle_evaluation").is_dir()

    def _exists(self, kind: str, name: str, account: str) -> bool:
        parts = name.split("/")
        if len(parts) not in _PARTS[kind] or not all(map(_PART.fullmatch, parts)):
            return False
        if kind == "competitions":
            return name in self._sources.competitions
        if kind == "kernels":
            return self._is_kernel(account, *parts)
        return self._folder(kind, name, account=account) is not None

    def _is_kernel(self, account: str, owner: str, slug: str, number: str = "") -> bool:
        kernel = self._records.kernel(owner, slug)
        if kernel is None or not kernel.is_visible_to(account):
            return False
        return not number or (number.isdecimal() and self._records.version(kernel, int(number)) is not None)

    def _folder(self, kind: str, name: str, *, account: str = "", hidden: bool = False) -> Path | None:
        """The folder of a source; with an account, of one that it may see."""
        if kind == "competitions":
            hosted = self._sources.competitions.get(name)
            if hosted is None:
                return None
            return hosted.hidden() if hidden else hosted.data()
        if kind == "datasets":
            return self._sources.datasets.dataset_folder(name, account=account)
        if kind == "models":
            return self._sources.models.model_folder(name, account=account)
        return self._output(*name.split("/"))

    def _output(self, owner: str, slug: str, number: str = "") -> Path | None:
        """The output of the newest version of a kernel that ended well, or of this version if it did."""
        kernel = self._records.kernel(owner, slug)
        session = kernel and self._records.newest_success(kernel, int(number) if number else None)
        return SessionFolder(self._site.root, session.id).working if session else None

    def _mount_point(self, kind: str, name: str, folder: Path) -> PurePosixPath:
        parts = name.split("/")
        # The folder of a model's version bears its number, which the name may leave out.
        parts = [*parts[:4], folder.name] if kind == "models" else parts[:2]
        if not self._flat:
            return PurePosixPath(_FOLDERS[kind], *parts)
        return PurePosixPath(*(parts[1:] if kind == "models" else parts[-1:]))
