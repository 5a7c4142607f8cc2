"""Which folders a session sees below /kaggle/input, and where."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from generator.localkaggle.services.kernel_records import KernelSettings
from generator.localkaggle.services.kernel_saving import KnownSources
from generator.localkaggle.site import MountsCompetition, MountsDataset, MountsModel

_WITH_VERSION = 5


@dataclass(frozen=True)
class Sources:
    """Who knows the folders behind the names in a kernel's metadata; None where this Kaggle has no such things."""

    competitions: MountsCompetition | None = None
    datasets: MountsDataset | None = None
    models: MountsModel | None = None

    def competition(self, slug: str, *, hidden: bool = False) -> Path | None:
        """The folder of a competition's data."""
        return self.competitions.data_folder(slug, hidden=hidden) if self.competitions is not None else None

    def dataset(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of a dataset; with an account, of one that it may see."""
        return self.datasets.dataset_folder(ref, account=account) if self.datasets is not None else None

    def model(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of a model; with an account, of one that it may see."""
        return self.models.model_folder(handle, account=account) if self.models is not None else None

    def known(self, account: str, is_kernel: Callable[[str], bool]) -> KnownSources:
        """Whether there is a source that an account may see, by kind."""
        return KnownSources(
            dataset=lambda ref: self.dataset(ref, account=account) is not None,
            competition=lambda slug: self.competitions is not None and self.competitions.is_known(slug),
            kernel=is_kernel,
            model=lambda handle: self.model(handle, account=account) is not None,
        )


class MountPlan:
    """Finds the mounts of a session; `kernel_folder` knows the newest output of a kernel, or of its version."""

    def __init__(self, sources: Sources, kernel_folder: Callable[[str], Path | None], *, flat: bool) -> None:
        self._sources = sources
        self._kernel_folder = kernel_folder
        self._flat = flat

    def of(self, settings: KernelSettings, *, hidden: str = "") -> Mapping[PurePosixPath, Path]:
        """The folders of this machine by their place below /kaggle/input.

        A source that is gone, or has no output yet, is not mounted, as on Kaggle.

        Args:
            settings: What the version was saved with.
            hidden: The competition whose hidden test is mounted in place of the public one.
        """
        return {place: folder.resolve() for place, folder in self._found(settings, hidden) if folder is not None}

    def has_gateway(self, competition: str) -> bool:
        """Whether a competition hands out its test by an inference server, whose gateway is not in this Kaggle."""
        folder = self._sources.competition(competition, hidden=True)
        return folder is not None and (folder / "kaggle_evaluation").is_dir()

    def _found(self, settings: KernelSettings, hidden: str) -> Iterator[tuple[PurePosixPath, Path | None]]:
        for slug in settings.competitions:
            yield self._place("competitions", slug), self._sources.competition(slug, hidden=slug == hidden)
        for ref in settings.datasets:
            yield self._place("datasets", *ref.split("/")[:2]), self._sources.dataset(ref)
        for ref in settings.kernels:
            yield self._place("notebooks", *ref.split("/")[:2]), self._kernel_folder(ref)
        for handle in settings.models:
            folder = self._sources.model(handle)
            parts = handle.split("/")
            if len(parts) < _WITH_VERSION and folder is not None:
                parts.append(folder.name)  # the newest version's folder bears its number
            yield self._place("models", *parts), folder

    def _place(self, kind: str, *parts: str) -> PurePosixPath:
        if not self._flat:
            return PurePosixPath(kind, *parts)
        return PurePosixPath(*(parts[1:] if kind == "models" else parts[-1:]))
