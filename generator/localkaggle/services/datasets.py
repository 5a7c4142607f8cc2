"""The API of datasets: created, versioned, listed, downloaded, deleted; and mounted into sessions."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from generator.localkaggle.clock import as_wire
from generator.localkaggle.file_names import InvalidFileError
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Methods, page
from generator.localkaggle.services import file_listing
from generator.localkaggle.services.version_files import uploaded_files
from generator.localkaggle.services.version_store import Item, Processing, Variation, Version
from generator.localkaggle.services.versioned_items import Library

_SERVICE = "datasets.DatasetApiService"
_SHORTEST, _LONGEST = 6, 50  # characters of a slug and of a title, as the official client checks them
_SLOW = Processing(polls=3, wait=timedelta(seconds=60))


class Datasets(Library):
    """The datasets of one local Kaggle."""

    KIND, ARCHIVE, ARCHIVE_TYPE = "dataset", "archive.zip", "application/zip"

    def methods(self) -> Methods:
        """The methods of Kaggle's service of datasets."""
        table: Methods = {
            "CreateDataset": self._create,
            "CreateDatasetVersion": lambda call: self._add_version(call, self._named(call)),
            "CreateDatasetVersionById": self._create_version_by_id,
            "DeleteDataset": self._delete,
            "DownloadDataset": self._download,
            "DownloadDatasetRaw": self._download,
            "GetDataset": self._get,
            "GetDatasetFilesSummary": lambda call: file_listing.summary(self._version(call).files),
            "GetDatasetMetadata": self._metadata,
            "GetDatasetStatus": self._status,
            "ListDatasetFiles": self._files,
            "ListDatasets": self._list,
            "ListTreeDatasetFiles": self._tree,
            "UpdateDatasetMetadata": self._update,
        }
        return {f"{_SERVICE}/{name}": handler for name, handler in table.items()}

    def dataset_folder(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of `owner/slug` (its newest ready version) or `owner/slug/version`; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, number = (*ref.replace("/versions/", "/").split("/", 2), "", "")[:3]
        return self._folder(self._find(owner, slug), ("", ""), number, account=account)

    def _find(self, owner: str, slug: str) -> Item | None:
        return super()._find(owner, slug.lower())

    def _create(self, call: Call) -> Answer:
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
            return _refusal(wrong)
        facts = {
            **{name: call.text(name) for name in ("title", "subtitle", "description")},
            "licenseName": call.text("licenseName") or "unknown",
            "isPrivate": call.flag("isPrivate"),
            "keywords": call.texts("categoryIds"),
        }
        dataset = self._store.new_item(owner, slug, facts)
        try:
            files = uploaded_files(call, self._site.uploads)
            made = self._store.add(
                Variation(0, dataset), files, notes="Initial release", processing=self._processing(call)
            )
        except InvalidFileError as error:
            return _refusal(error.message)
        return _made(dataset.ref) if made else _refusal(f'The slug "{slug}" is already in use by a dataset.')

    def _create_version_by_id(self, call: Call) -> Answer:
        dataset = self._store.find(id=call.integer("id"))
        if dataset is None:
            raise ApiError(404, "There is no dataset of this number.")
        return self._add_version(call, self._visible(call, dataset))

    def _add_version(self, call: Call, dataset: Item) -> Answer:
        self._require_owner(call, dataset.owner, doing="add versions to datasets of")
        body = call.part("body")
        changes: dict[str, Any] = {name: body.text(name) for name in ("subtitle", "description") if body.text(name)}
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            made = self._store.add(self._contents(dataset), files, notes=notes, processing=self._processing(call))
        except InvalidFileError as error:
            return _refusal(error.message)
        if body.texts("categoryIds"):
            changes["keywords"] = body.texts("categoryIds")
        self._store.change(dataset, changes)
        if made is not None and body.flag("deleteOldVersions"):
            for version in self._versions(dataset):
                if version.number < made.number:
                    self._store.delete(version)
        return _made(dataset.ref)

    def _delete(self, call: Call) -> Answer:
        dataset = self._named(call)
        self._require_owner(call, dataset.owner, doing="delete datasets of")
        self._store.delete(dataset)
        return {}

    def _status(self, call: Call) -> Answer:
        contents = self._contents(self._named(call))
        state = self._store.versions(contents)[0].state
        self._store.count_poll(contents)
        return {"status": state.value}

    def _get(self, call: Call) -> Answer:
        dataset = self._named(call)
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
        return {**self._described(dataset), "versions": versions}

    def _metadata(self, call: Call) -> Answer:
        dataset = self._named(call)
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

    def _update(self, call: Call) -> Answer:
        dataset = self._named(call)
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

    def _list(self, call: Call) -> Answer:
        group = call.text("group")
        found = [
            self._described(dataset)
            for dataset in self._searched(call, owner=call.text("user"))
            if not (group.endswith("_MY_PUBLIC") and dataset.facts["isPrivate"])
            and not (group.endswith("_MY_PRIVATE") and not dataset.facts["isPrivate"])
        ]
        return page(found, call, key="datasets")

    def _files(self, call: Call) -> Answer:
        version = self._version(call)
        created = as_wire(version.created)
        shown: list[Fields] = [
            {"ref": file.name, "name": file.name, "totalBytes": file.size, "creationDate": created, "fileType": ""}
            for file in version.files
        ]
        return page(shown, call, key="datasetFiles")

    def _tree(self, call: Call) -> Answer:
        version = self._version(call)
        return file_listing.tree(version.files, call, created=as_wire(version.created))

    def _download(self, call: Call) -> Answer:
        return self._download_of(call, self._version(call), call.text("fileName"))

    def _contents(self, dataset: Item) -> Variation:
        """The one variation of a dataset, which has its versions."""
        return self._store.variations(dataset)[0]

    def _versions(self, dataset: Item) -> list[Version]:
        return self._store.versions(self._contents(dataset))

    def _version(self, call: Call) -> Version:
        dataset, number = self._named(call), call.integer("datasetVersionNumber")
        version = self._ready(self._contents(dataset), str(number or ""))
        if version is None:
            which = f"version {number}" if number else "version"
            raise ApiError(404, f"Dataset {dataset.ref} has no {which} that is ready.")
        return version

    def _described(self, dataset: Item) -> Fields:
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
            "url": _address(dataset.ref),
            "downloadCount": 0,
            "voteCount": 0,
            "usabilityRating": 0.5,
            "versions": [],
            "files": [],
            "tags": [],
        }

    def _processing(self, call: Call) -> Processing:
        is_slow = self._site.faults.strikes("dataset-slow", at=call.method)
        fails = self._site.faults.strikes("dataset-fails", at=call.method)
        return replace(_SLOW if is_slow else Processing(), fails=fails)


def _wrong_name(kind: str, text: str) -> str:
    if _SHORTEST <= len(text) <= _LONGEST:
        return ""
    return f"The dataset {kind} must be between {_SHORTEST} and {_LONGEST} characters"


def _made(ref: str) -> Fields:
    return {"ref": f"/{ref}", "url": _address(ref), "status": "Ok", "error": "", "invalidTags": []}


def _refusal(sentence: str) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`.
    return {"ref": "", "url": "", "status": "error", "error": sentence, "invalidTags": []}


def _address(ref: str) -> str:
    return f"https://www.kaggle.com/datasets/{ref}"
