"""The API of models: models, their variations and versions, created, listed, downloaded, deleted; and mounted."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.localkaggle.clock import as_wire
from generator.localkaggle.file_names import InvalidFileError
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Methods, page
from generator.localkaggle.services.model_frameworks import framework_named, wire_name
from generator.localkaggle.services.version_files import uploaded_files
from generator.localkaggle.services.version_store import Item, Variation, Version
from generator.localkaggle.services.versioned_items import Library
from generator.untrusted import quoted

_SERVICE = "models.ModelApiService"
_LONGEST = 50  # characters of a slug
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
_LISTED = ("id", "slug", "framework", "versionNumber", "totalUncompressedBytes")
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
            "GetModel": lambda call: self._described(self._named(call)),
            "GetModelInstance": lambda call: self._variation_described(self._variation(call)),
            "ListModelInstanceVersionFiles": self._files,
            "ListModelInstanceVersions": self._list_versions,
            "ListModelInstances": self._list_variations,
            "ListModels": self._list,
            "UpdateModel": self._update,
            "UpdateModelInstance": self._update_variation,
        }
        return {f"{_SERVICE}/{name}": handler for name, handler in table.items()}

    def model_folder(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of `owner/model/framework/variation[/version]`, its name the version; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, framework, name, number = (*handle.split("/", 4), "", "", "", "", "")[:5]
        variation = framework_named(framework) or "", name
        return self._folder(self._find(owner, slug), variation, number, account=account)

    def _create(self, call: Call) -> Answer:
        owner, slug, title = call.text("ownerSlug") or call.caller, call.text("slug"), call.text("title")
        self._require_owner(call, owner, doing=_DOING)
        if not _MODEL_SLUG.fullmatch(slug) or len(slug) > _LONGEST:
            return _refusal(f"The model slug needs 1 to {_LONGEST} letters, digits, and hyphens between them.")
        if not 0 < len(title) <= _LONGEST_TITLE:
            return _refusal(f"The model title needs 1 to {_LONGEST_TITLE} characters.")
        number = self._store.create(owner, slug, _facts(call, _MODEL_FACTS))
        if not number:
            return _refusal(f'The slug "{slug}" is already in use by a model.', code=_CONFLICT)
        return _made(number, f"{owner}/{slug}")

    def _create_variation(self, call: Call) -> Answer:
        model, body = self._own(call, self._named(call)), call.part("body")
        framework, slug = framework_named(body.text("framework")), body.text("instanceSlug")
        if framework is None:
            return _refusal("The framework of the model instance is not known.")
        if not _VARIATION_SLUG.fullmatch(slug) or len(slug) > _LONGEST:
            return _refusal("The slug of the model instance needs letters, digits, dots, hyphens or underscores.")
        existing = self._store.variation(model, framework, slug)
        if existing is not None:
            return _taken(existing)
        return self._add_version(Variation(0, model, framework, slug, _facts(body, _VARIATION_FACTS)), body)

    def _create_version(self, call: Call) -> Answer:
        variation, body = self._variation(call), call.part("body")
        self._own(call, variation.item)
        return self._add_version(variation, body)

    def _add_version(self, variation: Variation, body: Call) -> Answer:
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            made = self._store.add(variation, files, notes=notes)
        except InvalidFileError as error:
            return _refusal(error.message)
        if made is None:
            return _taken(variation)
        ref = f"{variation.ref}/{made.number}"
        return _made(made.id, ref) if variation.id else _made(made.variation, variation.ref, ref)

    def _delete(self, call: Call) -> Answer:
        self._store.delete(self._own(call, self._named(call)))
        return {"error": ""}

    def _delete_variation(self, call: Call) -> Answer:
        variation = self._variation(call)
        self._own(call, variation.item)
        self._store.delete(variation)
        return {"error": ""}

    def _delete_version(self, call: Call) -> Answer:
        variation, version = self._version(call)
        self._own(call, variation.item)
        self._store.delete(version)
        return {"error": ""}

    def _update(self, call: Call) -> Answer:
        model = self._own(call, self._named(call))
        self._store.change(model, _changed(call, _MODEL_FACTS))
        return _made(model.id, model.ref)

    def _update_variation(self, call: Call) -> Answer:
        variation = self._variation(call)
        self._own(call, variation.item)
        self._store.change(variation, _changed(call, _VARIATION_FACTS))
        return _made(variation.id, variation.ref)

    def _list(self, call: Call) -> Answer:
        found = [self._described(model) for model in self._searched(call, owner=call.text("owner"))]
        return {**page(found, call, key="models"), "totalResults": len(found)}

    def _list_variations(self, call: Call) -> Answer:
        found: list[Fields] = []
        for variation in self._store.variations(self._named(call)):
            described, version = self._variation_described(variation), self._ready(variation)
            listed = {name: described[name] for name in _LISTED}
            found.append({**listed, "versionNotes": version.notes if version else ""})
        return page(found, call, key="instances")

    def _list_versions(self, call: Call) -> Answer:
        variation = self._variation(call)
        found: list[Fields] = [
            {
                "id": version.id,
                "versionNumber": version.number,
                "variationSlug": variation.slug,
                "modelTitle": variation.item.facts["title"],
                "isPrivate": variation.item.facts["isPrivate"],
            }
            for version in self._store.versions(variation)
        ]
        shown = page(found, call, key="versions")
        return {"versionList": {"versions": shown["versions"]}, "nextPageToken": shown["nextPageToken"]}

    def _files(self, call: Call) -> Answer:
        _, version = self._version(call)
        created = as_wire(version.created)
        shown: list[Fields] = [
            {"name": file.name, "size": file.size, "creationDate": created} for file in version.files
        ]
        return page(shown, call, key="files")

    def _download(self, call: Call) -> Answer:
        return self._download_of(call, self._version(call)[1], call.text("path"))

    def _own(self, call: Call, model: Item) -> Item:
        self._require_owner(call, model.owner, doing=_DOING)
        return model

    def _variation(self, call: Call) -> Variation:
        model, slug = self._named(call), call.text("instanceSlug")
        framework = framework_named(call.text("framework")) or ""
        variation = self._store.variation(model, framework, slug)
        if variation is None:
            raise ApiError(404, f"There is no model instance {model.ref}/{framework}/{quoted(slug)}.")
        return variation

    def _version(self, call: Call) -> tuple[Variation, Version]:
        variation, number = self._variation(call), call.integer("versionNumber")
        version = self._ready(variation, str(number or ""))
        if version is None:
            raise ApiError(404, f"Model instance {variation.ref} has no version {number}.")
        return variation, version

    def _described(self, model: Item) -> Fields:
        variations = [self._variation_described(variation) for variation in self._store.variations(model)]
        return {
            **model.facts,
            "id": model.id,
            "ref": model.ref,
            "author": model.owner,
            "slug": model.slug,
            "url": _address(model.ref),
            "updateTime": as_wire(model.created),
            "instances": variations,
            "tags": [],
        }

    def _variation_described(self, variation: Variation) -> Fields:
        version = self._ready(variation)
        number = version.number if version else 0
        return {
            **variation.facts,
            "id": variation.id,
            "slug": variation.slug,
            "framework": wire_name(variation.framework),
            "versionId": version.id if version else 0,
            "versionNumber": number,
            "url": _address(f"{variation.ref}/{number}"),
            "downloadUrl": "",
            "totalUncompressedBytes": version.size if version else 0,
        }


def _facts(call: Call, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a request, each of the kind that its default is."""
    return {name: _fact(call, name, default) for name, default in defaults.items()}


def _fact(call: Call, name: str, default: Any) -> Any:
    if isinstance(default, bool):
        return call.flag(name, default=default)
    if name == "modelInstanceType" and call.text(name, default) not in _TYPES:
        # Sent back as it came, it would crash the clients.
        raise ApiError(_BAD, "modelInstanceType is not known")
    return list(call.texts(name)) if isinstance(default, list) else call.text(name, default)


def _changed(call: Call, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that `updateMask` names; without a mask, those that are in the request."""
    mask = call.text("updateMask")
    names = mask.split(",") if mask else call.fields
    return {name: _fact(call, name, default) for name, default in defaults.items() if name in names}


def _made(number: int, ref: str, address: str = "") -> Fields:
    return {"id": number, "ref": ref, "url": _address(address or ref), "error": ""}


def _taken(variation: Variation) -> Fields:
    return _refusal(f'The model instance "{variation.framework}/{variation.slug}" already exists.', code=_CONFLICT)


def _refusal(sentence: str, *, code: int = _BAD) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`, and kagglehub at its code.
    return {"id": 0, "ref": "", "url": "", "error": sentence, "errorCode": code}


def _address(ref: str) -> str:
    return f"https://www.kaggle.com/models/{ref}"
