"""The pages of datasets and models."""

from typing import Any

from starlette.responses import Response

from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.services.model_frameworks import framework_named
from generator.localkaggle.web.formats import path
from generator.localkaggle.web.page_request import PageRequest, redirect
from generator.run.safe_html import markdown_html

_DATASETS, _MODELS = "datasets.DatasetApiService", "models.ModelApiService"
_NOT_READY = 404


def datasets(page: PageRequest) -> Response:
    """All datasets."""
    return _listing(page, "datasets", page.items(f"{_DATASETS}/ListDatasets", key="datasets"))


def dataset(page: PageRequest, owner: str, slug: str) -> Response:
    """One dataset."""
    named = {"ownerSlug": owner, "datasetSlug": slug}
    fields = page.call(f"{_DATASETS}/GetDataset", **named)
    try:
        found = page.items(f"{_DATASETS}/ListDatasetFiles", key="datasetFiles", **named)
    except ApiError as error:
        if error.status != _NOT_READY:
            raise
        found = []
    about = (f"version {fields['currentVersionNumber']}", *([] if found else ["not ready"]))
    files = [(each["name"], each["totalBytes"]) for each in found]
    part = _part("Files", about, files, download=path("datasets", owner, slug, "archive.zip"))
    return _item(page, "datasets", fields, [part])


def dataset_archive(page: PageRequest, owner: str, slug: str) -> Response:
    """The files of a dataset."""
    return redirect(page.address(f"{_DATASETS}/DownloadDataset", ownerSlug=owner, datasetSlug=slug))


def models(page: PageRequest) -> Response:
    """All models."""
    return _listing(page, "models", page.items(f"{_MODELS}/ListModels", key="models"))


def model(page: PageRequest, owner: str, slug: str, **_variation: str) -> Response:
    """One model, whichever of its variations an address names."""
    fields = page.call(f"{_MODELS}/GetModel", ownerSlug=owner, modelSlug=slug)
    parts = [_variation_part(page, owner, slug, each) for each in fields["instances"]]
    return _item(page, "models", fields, parts)


def model_archive(page: PageRequest, owner: str, slug: str, framework: str, variation: str) -> Response:
    """The files of the newest version of a variation of a model."""
    named = {"ownerSlug": owner, "modelSlug": slug, "framework": framework, "instanceSlug": variation}
    return redirect(page.address(f"{_MODELS}/DownloadModelInstanceVersion", **named))


def _variation_part(page: PageRequest, owner: str, slug: str, fields: Fields) -> dict[str, Any]:
    framework, variation, number = fields["framework"], fields["slug"], fields["versionNumber"]
    found = page.items(
        f"{_MODELS}/ListModelInstanceVersionFiles",
        key="files",
        ownerSlug=owner,
        modelSlug=slug,
        framework=framework,
        instanceSlug=variation,
        versionNumber=number,
    )
    word = framework_named(framework) or framework
    return _part(
        f"{word} / {variation}",
        (f"version {number}", fields.get("licenseName") or "no licence named"),
        [(each["name"], each["size"]) for each in found],
        download=path("models", owner, slug, word, variation, "archive.tar.gz"),
    )


def _part(name: str, about: tuple[str, ...], files: list[tuple[str, int]], *, download: str) -> dict[str, Any]:
    """Files that belong together and can be downloaded."""
    return {"name": name, "about": about, "files": files, "download": download if files else ""}


def _listing(page: PageRequest, kind: str, rows: list[Fields]) -> Response:
    return page.render("library.html.j2", here=kind, kind=kind, rows=rows)


def _item(page: PageRequest, kind: str, item: Fields, parts: list[dict[str, Any]]) -> Response:
    description = markdown_html(item.get("description") or "")
    return page.render("library_item.html.j2", here=kind, kind=kind, item=item, description=description, parts=parts)
