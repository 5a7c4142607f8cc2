"""The API of datasets and of models."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from generator.localkaggle.rpc import Answer, ApiCall, ApiError, Fields, Methods, as_wire, page
from generator.localkaggle.services import files as file_listing
from generator.localkaggle.services.versions import Item, Library, ModelVariation, Processing, Version, uploaded_files
from generator.localkaggle.storage import InvalidFileError
from generator.text import quote_text

# The API of datasets: created, versioned, listed, downloaded, deleted; and mounted into sessions.


_DATASET_SERVICE = "datasets.DatasetApiService"
_SHORTEST, _LONGEST_DATASET_TITLE = 6, 50  # characters of a slug and of a title, as the official client checks them
_SLOW = Processing(polls=3, wait=timedelta(seconds=60))


class Datasets(Library):
    """The datasets of one local Kaggle."""

    KIND, ARCHIVE, ARCHIVE_TYPE = "dataset", "archive.zip", "application/zip"

    def methods(self) -> Methods:
        """The methods of Kaggle's service of datasets."""
        table: Methods = {
            "CreateDataset": self._create,
            "CreateDatasetVersion": lambda call: self._add_version(call, self._require_item(call)),
            "CreateDatasetVersionById": self._create_version_by_id,
            "DeleteDataset": self._delete,
            "DownloadDataset": self._download,
            "DownloadDatasetRaw": self._download,
            "GetDataset": self._get,
            "GetDatasetFilesSummary": lambda call: file_listing.listing_summary(self._version(call).files),
            "GetDatasetMetadata": self._metadata,
            "GetDatasetStatus": self._status,
            "ListDatasetFiles": self._files,
            "ListDatasets": self._list,
            "ListTreeDatasetFiles": self._tree,
            "UpdateDatasetMetadata": self._update,
        }
        return {f"{_DATASET_SERVICE}/{name}": handler for name, handler in table.items()}

    def dataset_folder(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of `owner/slug` (its newest ready version) or `owner/slug/version`; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, number = (*ref.replace("/versions/", "/").split("/", 2), "", "")[:3]
        return self._folder(self._find(owner, slug), ("", ""), number, account=account)

    def _find(self, owner: str, slug: str) -> Item | None:
        return super()._find(owner, slug.lower())

    def _create(self, call: ApiCall) -> Answer:
        owner = call.text("ownerSlug") or call.caller
        title = call.text("title")
        slug = (call.text("slug") or re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")).lower()
        self._require_owner(call, owner, doing="create datasets for")
        wrong = _wrong_name("slug", slug) or _wrong_name("title", title)
        if not wrong and not re.fullmatch(r"[a-z0-9]+(?:-+[a-z0-9]+)*", slug):
            wrong = "The dataset slug may have lower-case letters, digits, and hyphens between them"
        if not wrong and self._find(owner, slug) is not None:
            wrong = f'The requested title "{title}" is already in use by a dataset. Please choose another title.'
        if wrong:
            return _dataset_refusal(wrong)
        facts = {
            **{name: call.text(name) for name in ("title", "subtitle", "description")},
            "licenseName": call.text("licenseName") or "unknown",
            "isPrivate": call.flag("isPrivate"),
            "keywords": call.texts("categoryIds"),
        }
        dataset = self._store.new_item(owner, slug, facts)
        try:
            files = uploaded_files(call, self._site.uploads)
            new_version = self._store.add(
                ModelVariation(0, dataset), files, notes="Initial release", processing=self._processing(call)
            )
        except InvalidFileError as error:
            return _dataset_refusal(error.message)
        return (
            _dataset_reference(dataset.ref)
            if new_version
            else _dataset_refusal(f'The slug "{slug}" is already in use by a dataset.')
        )

    def _create_version_by_id(self, call: ApiCall) -> Answer:
        dataset = self._store.find(id=call.integer("id"))
        if dataset is None:
            raise ApiError(404, "There is no dataset of this number.")
        return self._add_version(call, self._visible(call, dataset))

    def _add_version(self, call: ApiCall, dataset: Item) -> Answer:
        self._require_owner(call, dataset.owner, doing="add versions to datasets of")
        body = call.part("body")
        changes: dict[str, Any] = {name: body.text(name) for name in ("subtitle", "description") if body.text(name)}
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            new_version = self._store.add(
                self._contents(dataset), files, notes=notes, processing=self._processing(call)
            )
        except InvalidFileError as error:
            return _dataset_refusal(error.message)
        if body.texts("categoryIds"):
            changes["keywords"] = body.texts("categoryIds")
        self._store.change(dataset, changes)
        if new_version is not None and body.flag("deleteOldVersions"):
            for version in self._versions(dataset):
                if version.number < new_version.number:
                    self._store.delete(version)
        return _dataset_reference(dataset.ref)

    def _delete(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        self._require_owner(call, dataset.owner, doing="delete datasets of")
        self._store.delete(dataset)
        return {}

    def _status(self, call: ApiCall) -> Answer:
        contents = self._contents(self._require_item(call))
        state = self._store.versions(contents)[0].state
        self._store.count_poll(contents)
        return {"status": state.value}

    def _get(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        versions = [
            {
                "versionNumber": version.number,
                "creationDate": as_wire(version.created),
                "creatorName": dataset.owner,
                "creatorRef": dataset.owner,
                "versionNotes": version.notes,
                "status": version.state.name.capitalize(),
            }
            for version in self._versions(dataset)
        ]
        return {**self._describe(dataset), "versions": versions}

    def _metadata(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        info = {
            **{name: value for name, value in dataset.facts.items() if name != "licenseName"},
            "datasetId": dataset.id,
            "datasetSlug": dataset.slug,
            "ownerUser": dataset.owner,
            "licenses": [{"name": dataset.facts["licenseName"]}],
            "collaborators": [],
            "data": [],
            "totalViews": 0,
            "totalVotes": 0,
            "totalDownloads": 0,
        }
        return {"info": info}

    def _update(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        self._require_owner(call, dataset.owner, doing="change datasets of")
        settings = call.part("settings")
        changes: dict[str, Any] = {name: settings.text(name) for name in ("subtitle", "description")}
        changes["title"] = settings.text("title") or dataset.facts["title"]
        if wrong := _wrong_name("title", changes["title"]):
            return {"errors": [wrong]}
        if "isPrivate" in settings.fields:
            changes["isPrivate"] = settings.flag("isPrivate")
        if settings.texts("keywords"):
            changes["keywords"] = settings.texts("keywords")
        licenses = settings.fields.get("licenses") or []
        if isinstance(licenses, list) and licenses and isinstance(licenses[0], dict):
            changes["licenseName"] = replace(settings, fields=licenses[0]).text("name")
        self._store.change(dataset, changes)
        return {"errors": []}

    def _list(self, call: ApiCall) -> Answer:
        group = call.text("group")
        datasets = [
            self._describe(dataset)
            for dataset in self._search(call, owner=call.text("user"))
            if not (group.endswith("_MY_PUBLIC") and dataset.facts["isPrivate"])
            and not (group.endswith("_MY_PRIVATE") and not dataset.facts["isPrivate"])
        ]
        return page(datasets, call, key="datasets")

    def _files(self, call: ApiCall) -> Answer:
        version = self._version(call)
        creation_date = as_wire(version.created)
        rows: list[Fields] = [
            {
                "ref": file.name,
                "name": file.name,
                "totalBytes": file.size,
                "creationDate": creation_date,
                "fileType": "",
            }
            for file in version.files
        ]
        return page(rows, call, key="datasetFiles")

    def _tree(self, call: ApiCall) -> Answer:
        version = self._version(call)
        return file_listing.tree(version.files, call, creation_date=as_wire(version.created))

    def _download(self, call: ApiCall) -> Answer:
        return self._download_of(call, self._version(call), call.text("fileName"))

    def _contents(self, dataset: Item) -> ModelVariation:
        """The one variation of a dataset, which has its versions."""
        return self._store.variations(dataset)[0]

    def _versions(self, dataset: Item) -> list[Version]:
        return self._store.versions(self._contents(dataset))

    def _version(self, call: ApiCall) -> Version:
        dataset, number = self._require_item(call), call.integer("datasetVersionNumber")
        version = self._ready(self._contents(dataset), str(number or ""))
        if version is None:
            label = f"version {number}" if number else "version"
            raise ApiError(404, f"Dataset {dataset.ref} has no {label} that is ready.")
        return version

    def _describe(self, dataset: Item) -> Fields:
        contents = self._contents(dataset)
        current = self._ready(contents) or self._store.versions(contents)[0]
        return {
            **{name: value for name, value in dataset.facts.items() if name != "keywords"},
            "id": dataset.id,
            "ref": dataset.ref,
            "creatorName": dataset.owner,
            "ownerName": dataset.owner,
            "ownerRef": dataset.owner,
            "totalBytes": current.size,
            "lastUpdated": as_wire(current.created),
            "currentVersionNumber": current.number,
            "url": _dataset_address(dataset.ref),
            "downloadCount": 0,
            "voteCount": 0,
            "usabilityRating": 0.5,
            "versions": [],
            "files": [],
            "tags": [],
        }

    def _processing(self, call: ApiCall) -> Processing:
        is_slow = self._site.faults.strikes("dataset-slow", at=call.method)
        fails = self._site.faults.strikes("dataset-fails", at=call.method)
        return replace(_SLOW if is_slow else Processing(), fails=fails)


def _wrong_name(kind: str, text: str) -> str:
    if _SHORTEST <= len(text) <= _LONGEST_DATASET_TITLE:
        return ""
    return f"The dataset {kind} must be between {_SHORTEST} and {_LONGEST_DATASET_TITLE} characters"


def _dataset_reference(ref: str) -> Fields:
    return {"ref": f"/{ref}", "url": _dataset_address(ref), "status": "Ok", "error": "", "invalidTags": []}


def _dataset_refusal(sentence: str) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`.
    return {"ref": "", "url": "", "status": "error", "error": sentence, "invalidTags": []}


def _dataset_address(ref: str) -> str:
    return f"https://www.kaggle.com/datasets/{ref}"


# The frameworks of models: one name on the wire, another in handles, and both read without regard to case.


_WIRE = "MODEL_FRAMEWORK_"
_WIRE_NAMES = (
    *("TENSOR_FLOW_1", "TENSOR_FLOW_2", "TF_LITE", "TF_JS", "PY_TORCH", "JAX", "FLAX", "PAX", "MAX_TEXT", "GEMMA_CPP"),
    *("GGML", "GGUF", "CORAL", "SCIKIT_LEARN", "MXNET", "ONNX", "KERAS", "TRANSFORMERS", "API", "OTHER"),
    *("TENSOR_RT_LLM", "TRITON", "VLLM"),
)


def _handle(wire_name: str) -> str:
    first, *words = wire_name.lower().split("_")
    return first + "".join(map(str.capitalize, words))


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_WIRE_NAME_OF = {_handle(name): name for name in _WIRE_NAMES}
_BY_FOLDED = {_fold(name): name for name in _WIRE_NAME_OF}


def framework_named(text: str) -> str | None:
    """The name in handles (`pyTorch`) of what a handle, a metadata file or the wire calls so; None if there is none."""
    return _BY_FOLDED.get(_fold(text.removeprefix(_WIRE)))


def wire_name(framework: str) -> str:
    """The name on the wire (`MODEL_FRAMEWORK_PY_TORCH`) of a framework in a handle (`pyTorch`)."""
    return _WIRE + _WIRE_NAME_OF[framework]


# The API of models: models, their variations and versions, created, listed, downloaded, deleted; and mounted.


_MODEL_SERVICE = "models.ModelApiService"
_LONGEST_SLUG = 50  # characters of a slug
_LONGEST_TITLE = 80
_MODEL_SLUG = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*")
_VARIATION_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONFLICT, _BAD = 409, 400
_DOING = "change models of"
_MODEL_FACTS = {"title": "", "subtitle": "", "description": "", "provenanceSources": "", "isPrivate": True}
_VARIATION_FACTS = {
    "overview": "",
    "usage": "",
    "licenseName": "Unknown",
    "fineTunable": False,
    "trainingData": [],
    "modelInstanceType": "MODEL_INSTANCE_TYPE_UNSPECIFIED",
    "externalBaseModelUrl": "",
}
_VERSION_FIELDS = ("id", "slug", "framework", "versionNumber", "totalUncompressedBytes")
_TYPES = tuple(
    f"MODEL_INSTANCE_TYPE_{name}" for name in ("UNSPECIFIED", "BASE_MODEL", "KAGGLE_VARIANT", "EXTERNAL_VARIANT")
)


class Models(Library):
    """The models of one local Kaggle."""

    KIND, ARCHIVE, ARCHIVE_TYPE = "model", "model.tar.gz", "application/gzip"

    def methods(self) -> Methods:
        """The methods of Kaggle's service of models."""
        table: Methods = {
            "CreateModel": self._create,
            "CreateModelInstance": self._create_variation,
            "CreateModelInstanceVersion": self._create_version,
            "DeleteModel": self._delete,
            "DeleteModelInstance": self._delete_variation,
            "DeleteModelInstanceVersion": self._delete_version,
            "DownloadModelInstanceVersion": self._download,
            "GetModel": lambda call: self._describe(self._require_item(call)),
            "GetModelInstance": lambda call: self._variation_described(self._variation(call)),
            "ListModelInstanceVersionFiles": self._files,
            "ListModelInstanceVersions": self._list_versions,
            "ListModelInstances": self._list_variations,
            "ListModels": self._list,
            "UpdateModel": self._update,
            "UpdateModelInstance": self._update_variation,
        }
        return {f"{_MODEL_SERVICE}/{name}": handler for name, handler in table.items()}

    def model_folder(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of `owner/model/framework/variation[/version]`, its name the version; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, framework, name, number = (*handle.split("/", 4), "", "", "", "", "")[:5]
        variation = framework_named(framework) or "", name
        return self._folder(self._find(owner, slug), variation, number, account=account)

    def _create(self, call: ApiCall) -> Answer:
        owner, slug, title = call.text("ownerSlug") or call.caller, call.text("slug"), call.text("title")
        self._require_owner(call, owner, doing=_DOING)
        if not _MODEL_SLUG.fullmatch(slug) or len(slug) > _LONGEST_SLUG:
            return _model_refusal(
                f"The model slug needs 1 to {_LONGEST_SLUG} letters, digits, and hyphens between them."
            )
        if not 0 < len(title) <= _LONGEST_TITLE:
            return _model_refusal(f"The model title needs 1 to {_LONGEST_TITLE} characters.")
        number = self._store.create(owner, slug, _facts(call, _MODEL_FACTS))
        if not number:
            return _model_refusal(f'The slug "{slug}" is already in use by a model.', code=_CONFLICT)
        return _model_reference(number, f"{owner}/{slug}")

    def _create_variation(self, call: ApiCall) -> Answer:
        model, body = self._require_own(call, self._require_item(call)), call.part("body")
        framework, slug = framework_named(body.text("framework")), body.text("instanceSlug")
        if framework is None:
            return _model_refusal("The framework of the model instance is not known.")
        if not _VARIATION_SLUG.fullmatch(slug) or len(slug) > _LONGEST_SLUG:
            return _model_refusal("The slug of the model instance needs letters, digits, dots, hyphens or underscores.")
        existing = self._store.variation(model, framework, slug)
        if existing is not None:
            return _conflict_refusal(existing)
        return self._add_version(ModelVariation(0, model, framework, slug, _facts(body, _VARIATION_FACTS)), body)

    def _create_version(self, call: ApiCall) -> Answer:
        variation, body = self._variation(call), call.part("body")
        self._require_own(call, variation.item)
        return self._add_version(variation, body)

    def _add_version(self, variation: ModelVariation, body: ApiCall) -> Answer:
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            new_version = self._store.add(variation, files, notes=notes)
        except InvalidFileError as error:
            return _model_refusal(error.message)
        if new_version is None:
            return _conflict_refusal(variation)
        ref = f"{variation.ref}/{new_version.number}"
        return (
            _model_reference(new_version.id, ref)
            if variation.id
            else _model_reference(new_version.variation, variation.ref, ref)
        )

    def _delete(self, call: ApiCall) -> Answer:
        self._store.delete(self._require_own(call, self._require_item(call)))
        return {"error": ""}

    def _delete_variation(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        self._require_own(call, variation.item)
        self._store.delete(variation)
        return {"error": ""}

    def _delete_version(self, call: ApiCall) -> Answer:
        variation, version = self._version(call)
        self._require_own(call, variation.item)
        self._store.delete(version)
        return {"error": ""}

    def _update(self, call: ApiCall) -> Answer:
        model = self._require_own(call, self._require_item(call))
        self._store.change(model, _select_facts(call, _MODEL_FACTS))
        return _model_reference(model.id, model.ref)

    def _update_variation(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        self._require_own(call, variation.item)
        self._store.change(variation, _select_facts(call, _VARIATION_FACTS))
        return _model_reference(variation.id, variation.ref)

    def _list(self, call: ApiCall) -> Answer:
        models = [self._describe(model) for model in self._search(call, owner=call.text("owner"))]
        return {**page(models, call, key="models"), "totalResults": len(models)}

    def _list_variations(self, call: ApiCall) -> Answer:
        variations: list[Fields] = []
        for variation in self._store.variations(self._require_item(call)):
            variation_facts, version = self._variation_described(variation), self._ready(variation)
            fields = {name: variation_facts[name] for name in _VERSION_FIELDS}
            variations.append({**fields, "versionNotes": version.notes if version else ""})
        return page(variations, call, key="instances")

    def _list_versions(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        versions: list[Fields] = [
            {
                "id": version.id,
                "versionNumber": version.number,
                "variationSlug": variation.slug,
                "modelTitle": variation.item.facts["title"],
                "isPrivate": variation.item.facts["isPrivate"],
            }
            for version in self._store.versions(variation)
        ]
        listing = page(versions, call, key="versions")
        return {"versionList": {"versions": listing["versions"]}, "nextPageToken": listing["nextPageToken"]}

    def _files(self, call: ApiCall) -> Answer:
        _, version = self._version(call)
        creation_date = as_wire(version.created)
        rows: list[Fields] = [
            {"name": file.name, "size": file.size, "creationDate": creation_date} for file in version.files
        ]
        return page(rows, call, key="files")

    def _download(self, call: ApiCall) -> Answer:
        return self._download_of(call, self._version(call)[1], call.text("path"))

    def _require_own(self, call: ApiCall, model: Item) -> Item:
        self._require_owner(call, model.owner, doing=_DOING)
        return model

    def _variation(self, call: ApiCall) -> ModelVariation:
        model, slug = self._require_item(call), call.text("instanceSlug")
        framework = framework_named(call.text("framework")) or ""
        variation = self._store.variation(model, framework, slug)
        if variation is None:
            raise ApiError(404, f"There is no model instance {model.ref}/{framework}/{quote_text(slug)}.")
        return variation

    def _version(self, call: ApiCall) -> tuple[ModelVariation, Version]:
        variation, number = self._variation(call), call.integer("versionNumber")
        version = self._ready(variation, str(number or ""))
        if version is None:
            raise ApiError(404, f"Model instance {variation.ref} has no version {number}.")
        return variation, version

    def _describe(self, model: Item) -> Fields:
        variations = [self._variation_described(variation) for variation in self._store.variations(model)]
        return {
            **model.facts,
            "id": model.id,
            "ref": model.ref,
            "author": model.owner,
            "slug": model.slug,
            "url": _model_address(model.ref),
            "updateTime": as_wire(model.created),
            "instances": variations,
            "tags": [],
        }

    def _variation_described(self, variation: ModelVariation) -> Fields:
        version = self._ready(variation)
        number = version.number if version else 0
        return {
            **variation.facts,
            "id": variation.id,
            "slug": variation.slug,
            "framework": wire_name(variation.framework),
            "versionId": version.id if version else 0,
            "versionNumber": number,
            "url": _model_address(f"{variation.ref}/{number}"),
            "downloadUrl": "",
            "totalUncompressedBytes": version.size if version else 0,
        }


def _facts(call: ApiCall, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a request, each of the kind that its default is."""
    return {name: _fact(call, name, default) for name, default in defaults.items()}


def _fact(call: ApiCall, name: str, default: Any) -> Any:
    if isinstance(default, bool):
        return call.flag(name, default=default)
    if name == "modelInstanceType" and call.text(name, default) not in _TYPES:
        # Sent back as it came, it would crash the clients.
        raise ApiError(_BAD, "modelInstanceType is not known")
    return list(call.texts(name)) if isinstance(default, list) else call.text(name, default)


def _select_facts(call: ApiCall, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that `updateMask` names; without a mask, those that are in the request."""
    mask = call.text("updateMask")
    names = mask.split(",") if mask else call.fields
    return {name: _fact(call, name, default) for name, default in defaults.items() if name in names}


def _model_reference(number: int, ref: str, address: str = "") -> Fields:
    return {"id": number, "ref": ref, "url": _model_address(address or ref), "error": ""}


def _conflict_refusal(variation: ModelVariation) -> Fields:
    return _model_refusal(
        f'The model instance "{variation.framework}/{variation.slug}" already exists.', code=_CONFLICT
    )


def _model_refusal(sentence: str, *, code: int = _BAD) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`, and kagglehub at its code.
    return {"id": 0, "ref": "", "url": "", "error": sentence, "errorCode": code}


def _model_address(ref: str) -> str:
    return f"https://www.kaggle.com/models/{ref}"
