"""What the pages show of datasets and models, read from the API's answers."""

from dataclasses import dataclass
from datetime import datetime

from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.services.model_frameworks import framework_named
from generator.localkaggle.web.asking import Asker, objects, text, whole
from generator.localkaggle.web.competition_facts import FileFacts
from generator.localkaggle.web.formats import moment_of, path

_DATASETS, _MODELS = "datasets.DatasetApiService", "models.ModelApiService"
_NOT_READY = 404


@dataclass(frozen=True)
class LibraryRow:
    """A dataset or a model in a list; `about` says what else there is to say, in a few words each."""

    ref: str
    title: str
    address: str
    about: tuple[str, ...]
    is_private: bool
    updated: datetime | None


@dataclass(frozen=True)
class Part:
    """Files that belong together and can be downloaded: a dataset's newest version, or a variation's of a model."""

    name: str
    about: tuple[str, ...]
    files: tuple[FileFacts, ...]
    total: int
    download: str


@dataclass(frozen=True)
class LibraryItem:
    """A dataset or a model by itself."""

    row: LibraryRow
    description: str
    parts: tuple[Part, ...]


def datasets(asker: Asker) -> list[LibraryRow]:
    """All datasets."""
    return [_dataset_row(each) for each in asker.everything(f"{_DATASETS}/ListDatasets", key="datasets")]


def dataset(asker: Asker, owner: str, slug: str) -> LibraryItem:
    """One dataset; `ApiError` 404 if there is none of that name."""
    named = {"ownerSlug": owner, "datasetSlug": slug}
    fields = asker.ask(f"{_DATASETS}/GetDataset", **named)
    try:
        found = asker.everything(f"{_DATASETS}/ListDatasetFiles", key="datasetFiles", **named)
    except ApiError as error:
        if error.status != _NOT_READY:
            raise
        found = []
    about = (f"version {whole(fields, 'currentVersionNumber')}", *([] if found else ["not ready"]))
    files = tuple(FileFacts(text(each, "name"), whole(each, "totalBytes")) for each in found)
    download = path("datasets", owner, slug, "archive.zip") if files else ""
    part = Part("Files", about, files, sum(file.size for file in files), download)
    return LibraryItem(_dataset_row(fields), text(fields, "description"), (part,))


def dataset_archive(asker: Asker, owner: str, slug: str) -> str:
    """Where the files of a dataset are, for a while."""
    return asker.redirected(f"{_DATASETS}/DownloadDataset", ownerSlug=owner, datasetSlug=slug)


def models(asker: Asker) -> list[LibraryRow]:
    """All models."""
    return [_model_row(each) for each in asker.everything(f"{_MODELS}/ListModels", key="models")]


def model(asker: Asker, owner: str, slug: str) -> LibraryItem:
    """One model; `ApiError` 404 if there is none of that name."""
    fields = asker.ask(f"{_MODELS}/GetModel", ownerSlug=owner, modelSlug=slug)
    parts = tuple(_variation(asker, owner, slug, each) for each in objects(fields, "instances"))
    return LibraryItem(_model_row(fields), text(fields, "description"), parts)


def model_archive(asker: Asker, owner: str, slug: str, framework: str, variation: str) -> str:
    """Where the files of a variation's newest version are, for a while."""
    return asker.redirected(
        f"{_MODELS}/DownloadModelInstanceVersion",
        ownerSlug=owner,
        modelSlug=slug,
        framework=framework,
        instanceSlug=variation,
    )


def _variation(asker: Asker, owner: str, slug: str, fields: Fields) -> Part:
    framework, variation = text(fields, "framework"), text(fields, "slug")
    found = asker.everything(
        f"{_MODELS}/ListModelInstanceVersionFiles",
        key="files",
        ownerSlug=owner,
        modelSlug=slug,
        framework=framework,
        instanceSlug=variation,
        versionNumber=whole(fields, "versionNumber"),
    )
    files = tuple(FileFacts(text(each, "name"), whole(each, "size")) for each in found)
    word = framework_named(framework) or framework
    return Part(
        name=f"{word} / {variation}",
        about=(f"version {whole(fields, 'versionNumber')}", text(fields, "licenseName") or "no licence named"),
        files=files,
        total=sum(file.size for file in files),
        download=path("models", owner, slug, word, variation, "archive.tar.gz") if files else "",
    )


def _dataset_row(fields: Fields) -> LibraryRow:
    return _row(fields, "datasets", (f"version {whole(fields, 'currentVersionNumber')}",), "lastUpdated")


def _model_row(fields: Fields) -> LibraryRow:
    count = len(objects(fields, "instances"))
    return _row(fields, "models", (f"{count} variation{'' if count == 1 else 's'}",), "updateTime")


def _row(fields: Fields, place: str, about: tuple[str, ...], updated: str) -> LibraryRow:
    ref = text(fields, "ref")
    return LibraryRow(
        ref=ref,
        title=text(fields, "title") or ref,
        address=path(place, *ref.split("/")),
        about=about,
        is_private=fields.get("isPrivate") is True,
        updated=moment_of(fields.get(updated)),
    )
