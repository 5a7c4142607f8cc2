"""The API of datasets: created, versioned, listed, downloaded, deleted; and mounted into sessions."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from generator.localkaggle.clock import as_wire
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Methods, Redirect, Stored, page
from generator.localkaggle.services import dataset_store, file_listing
from generator.localkaggle.services.bundle_names import BundleRefusedError
from generator.localkaggle.services.bundles import BundleFile, file_in, files_in, pieces_of
from generator.localkaggle.services.dataset_store import (
    Dataset,
    DatasetFacts,
    DatasetStore,
    DatasetVersion,
    Fate,
    VersionState,
)
from generator.localkaggle.site import Site
from generator.untrusted import quoted

_SERVICE = "datasets.DatasetApiService"
_SHORTEST, _LONGEST = 6, 50  # characters of a slug and of a title, as the official client checks them
_SLOW = Fate(questions=3, wait=timedelta(seconds=60))


class Datasets:
    """The datasets of one local Kaggle."""

    SCHEMA: ClassVar[str] = dataset_store.SCHEMA

    def __init__(self, site: Site) -> None:
        self._site = site
        self._store = DatasetStore(site)

    def methods(self) -> Methods:
        """The methods of Kaggle's service of datasets."""
        table = {
            "CreateDataset": self._create,
            "CreateDatasetVersion": self._create_version,
            "CreateDatasetVersionById": self._create_version_by_id,
            "DeleteDataset": self._delete,
            "DownloadDataset": self._download,
            "DownloadDatasetRaw": self._download,
            "GetDataset": self._get,
            "GetDatasetFilesSummary": self._summary,
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
        dataset = self._store.find(owner, slug)
        if dataset is not None and account and not dataset.is_visible_to(account):
            return None
        for version in [] if dataset is None else self._store.versions(dataset):
            if dataset and version.state is VersionState.READY and number in ("", str(version.number)):
                return self._store.folder(dataset, version.number)
        return None

    def _create(self, call: Call) -> Answer:
        owner = call.text("ownerSlug") or call.caller
        title = call.text("title")
        slug = (call.text("slug") or re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")).lower()
        _check_owner(call, owner, what="create datasets for")
        wrong = _wrong_name("slug", slug) or _wrong_name("title", title)
        if not wrong and not re.fullmatch(r"[a-z0-9]+(?:-+[a-z0-9]+)*", slug):
            wrong = "The dataset slug may have lower-case letters, digits, and hyphens between them"
        if not wrong and self._store.find(owner, slug) is not None:
            wrong = f'The requested title "{title}" is already in use by a dataset. Please choose another title.'
        if wrong:
            return _refusal(wrong)
        facts = DatasetFacts(
            title=title,
            subtitle=call.text("subtitle"),
            description=call.text("description"),
            license=call.text("licenseName") or "unknown",
            is_private=call.flag("isPrivate"),
            keywords=call.texts("categoryIds"),
        )
        try:
            made = self._store.create((owner, slug), facts, pieces_of(call, self._site.uploads), self._fate(call))
        except BundleRefusedError as error:
            return _refusal(str(error))
        return _made(f"{owner}/{slug}") if made else _refusal(f'The slug "{slug}" is already in use by a dataset.')

    def _create_version(self, call: Call) -> Answer:
        return self._add_version(call, self._named(call))

    def _create_version_by_id(self, call: Call) -> Answer:
        dataset = self._store.find_by_id(call.integer("id"))
        if dataset is None:
            raise ApiError(404, "There is no dataset of this number.")
        return self._add_version(call, _visible(call, dataset))

    def _add_version(self, call: Call, dataset: Dataset) -> Answer:
        _check_owner(call, dataset.owner, what="add versions to datasets of")
        body = call.part("body")
        texts = {name: body.text(name) for name in ("subtitle", "description") if body.text(name)}
        try:
            pieces = pieces_of(body, self._site.uploads)
            notes = body.text("versionNotes")
            number = self._store.add_version(dataset, pieces, notes=notes, fate=self._fate(call))
        except BundleRefusedError as error:
            return _refusal(str(error))
        keywords = {"keywords": body.texts("categoryIds")} if body.texts("categoryIds") else {}
        self._store.change(dataset, {**texts, **keywords})
        if body.flag("deleteOldVersions"):
            self._store.delete_older(dataset, number)
        return _made(dataset.ref)

    def _delete(self, call: Call) -> Answer:
        dataset = self._named(call)
        _check_owner(call, dataset.owner, what="delete datasets of")
        self._store.delete(dataset)
        return {}

    def _status(self, call: Call) -> Answer:
        dataset = self._named(call)
        state = self._store.versions(dataset)[0].state
        self._store.count_question(dataset)
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
            for version in self._store.versions(dataset)
        ]
        return {**self._described(dataset), "versions": versions}

    def _metadata(self, call: Call) -> Answer:
        dataset = self._named(call)
        facts = dataset.facts
        info = {
            "datasetId": dataset.id,
            "datasetSlug": dataset.slug,
            "ownerUser": dataset.owner,
            "title": facts.title,
            "subtitle": facts.subtitle,
            "description": facts.description,
            "isPrivate": facts.is_private,
            "licenses": [{"name": facts.license}],
            "keywords": list(facts.keywords),
            "collaborators": [],
            "data": [],
            "totalViews": 0,
            "totalVotes": 0,
            "totalDownloads": 0,
        }
        return {"info": info}

    def _update(self, call: Call) -> Answer:
        dataset = self._named(call)
        _check_owner(call, dataset.owner, what="change datasets of")
        settings = call.part("settings")
        changes: dict[str, Any] = {name: settings.text(name) for name in ("subtitle", "description")}
        changes["title"] = settings.text("title") or dataset.facts.title
        if wrong := _wrong_name("title", changes["title"]):
            return {"errors": [wrong]}
        if "isPrivate" in settings.fields:
            changes["is_private"] = settings.flag("isPrivate")
        if settings.texts("keywords"):
            changes["keywords"] = settings.texts("keywords")
        licenses = settings.fields.get("licenses") or []
        if isinstance(licenses, list) and licenses and isinstance(licenses[0], dict):
            changes["license"] = replace(settings, fields=licenses[0]).text("name")
        self._store.change(dataset, changes)
        return {"errors": []}

    def _list(self, call: Call) -> Answer:
        search, user, group = call.text("search").lower(), call.text("user"), call.text("group")
        found = [
            self._described(dataset)
            for dataset in self._store.all()
            if dataset.is_visible_to(call.caller)
            and search in f"{dataset.facts.title} {dataset.slug}".lower()
            and user in ("", dataset.owner)
            and not (group.endswith("_MY_PUBLIC") and dataset.facts.is_private)
            and not (group.endswith("_MY_PRIVATE") and not dataset.facts.is_private)
        ]
        return page(found, call, key="datasets")

    def _files(self, call: Call) -> Answer:
        _, version, files = self._version(call)
        created = as_wire(version.created)
        shown: list[Fields] = [
            {"ref": file.name, "name": file.name, "totalBytes": file.size, "creationDate": created, "fileType": ""}
            for file in files
        ]
        return page(shown, call, key="datasetFiles")

    def _tree(self, call: Call) -> Answer:
        _, version, files = self._version(call)
        return file_listing.tree(files, call, created=as_wire(version.created))

    def _summary(self, call: Call) -> Answer:
        return file_listing.summary(self._version(call)[2])

    def _download(self, call: Call) -> Answer:
        dataset, version, _ = self._version(call)
        if name := call.text("fileName"):
            path = file_in(self._store.folder(dataset, version.number), name)
            return Redirect(self._site.tickets.download(call, Stored(path, path.name)))
        path = self._store.shelf.zipped(dataset.id, version.number, moment=version.created)
        stored = Stored(path, "archive.zip", "application/zip")
        return Redirect(self._site.tickets.download(call, stored))

    def _named(self, call: Call) -> Dataset:
        owner, slug = call.text("ownerSlug"), call.text("datasetSlug")
        dataset = self._store.find(owner, slug)
        if dataset is None:
            raise ApiError(404, f"There is no dataset {quoted(f'{owner}/{slug}')}.")
        return _visible(call, dataset)

    def _version(self, call: Call) -> tuple[Dataset, DatasetVersion, tuple[BundleFile, ...]]:
        dataset = self._named(call)
        number = call.integer("datasetVersionNumber")
        for version in self._store.versions(dataset):
            if version.state is VersionState.READY and number in (0, version.number):
                return dataset, version, files_in(self._store.folder(dataset, version.number))
        which = f"version {number}" if number else "version"
        raise ApiError(404, f"Dataset {dataset.ref} has no {which} that is ready.")

    def _described(self, dataset: Dataset) -> Fields:
        current, facts = self._store.current(dataset), dataset.facts
        return {
            "id": dataset.id,
            "ref": dataset.ref,
            "title": facts.title,
            "subtitle": facts.subtitle,
            "description": facts.description,
            "creatorName": dataset.owner,
            "ownerName": dataset.owner,
            "ownerRef": dataset.owner,
            "totalBytes": current.size,
            "lastUpdated": as_wire(current.created),
            "currentVersionNumber": current.number,
            "url": _address(dataset.ref),
            "isPrivate": facts.is_private,
            "licenseName": facts.license,
            "downloadCount": 0,
            "voteCount": 0,
            "usabilityRating": 0.5,
            "versions": [],
            "files": [],
            "tags": [],
        }

    def _fate(self, call: Call) -> Fate:
        is_slow = self._site.faults.strikes("dataset-slow", at=call.method)
        fails = self._site.faults.strikes("dataset-fails", at=call.method)
        return replace(_SLOW if is_slow else Fate(), fails=fails)


def _visible(call: Call, dataset: Dataset) -> Dataset:
    if not dataset.is_visible_to(call.caller):
        raise ApiError(403, "Permission 'datasets.get' was denied")
    return dataset


def _check_owner(call: Call, owner: str, *, what: str) -> None:
    if owner != call.caller:
        raise ApiError(403, f"You ({call.caller}) may not {what} {quoted(owner)}.")


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
