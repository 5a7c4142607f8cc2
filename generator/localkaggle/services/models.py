"""The API of models: models, their variations and versions, created, listed, downloaded, deleted; and mounted."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from generator.localkaggle.clock import as_wire
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Methods, Redirect, Stored, page
from generator.localkaggle.services import model_store
from generator.localkaggle.services.bundle_names import BundleRefusedError
from generator.localkaggle.services.bundles import file_in, files_in, pieces_of
from generator.localkaggle.services.model_frameworks import framework_named, wire_name
from generator.localkaggle.services.model_store import Model, ModelStore, ModelVersion, Variation
from generator.localkaggle.site import Site
from generator.untrusted import quoted

_SERVICE = "models.ModelApiService"
_LONGEST = 50  # characters of a slug
_LONGEST_TITLE = 80
_MODEL_SLUG = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*")
_VARIATION_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONFLICT, _BAD = 409, 400
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
_TYPES = tuple(
    f"MODEL_INSTANCE_TYPE_{name}" for name in ("UNSPECIFIED", "BASE_MODEL", "KAGGLE_VARIANT", "EXTERNAL_VARIANT")
)


class Models:
    """The models of one local Kaggle."""

    SCHEMA: ClassVar[str] = model_store.SCHEMA

    def __init__(self, site: Site) -> None:
        self._site = site
        self._store = ModelStore(site)

    def methods(self) -> Methods:
        """The methods of Kaggle's service of models."""
        table = {
            "CreateModel": self._create,
            "CreateModelInstance": self._create_variation,
            "CreateModelInstanceVersion": self._create_version,
            "DeleteModel": self._delete,
            "DeleteModelInstance": self._delete_variation,
            "DeleteModelInstanceVersion": self._delete_version,
            "DownloadModelInstanceVersion": self._download,
            "GetModel": self._get,
            "GetModelInstance": self._get_variation,
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
        model = self._store.find(owner, slug)
        if model is not None and account and not model.is_visible_to(account):
            return None
        variation = model and self._store.variation(model, framework_named(framework) or "", name)
        for version in self._store.versions(variation) if variation else []:
            if variation and number in ("", str(version.number)):
                return self._store.folder(variation, version.number)
        return None

    def _create(self, call: Call) -> Answer:
        owner, slug, title = call.text("ownerSlug") or call.caller, call.text("slug"), call.text("title")
        _check_owner(call, owner)
        if not _MODEL_SLUG.fullmatch(slug) or len(slug) > _LONGEST:
            return _refusal(f"The model slug needs 1 to {_LONGEST} letters, digits, and hyphens between them.")
        if not 0 < len(title) <= _LONGEST_TITLE:
            return _refusal(f"The model title needs 1 to {_LONGEST_TITLE} characters.")
        number = self._store.create(owner, slug, _facts(call, _MODEL_FACTS))
        if not number:
            return _refusal(f'The slug "{slug}" is already in use by a model.', code=_CONFLICT)
        return {"id": number, "ref": f"{owner}/{slug}", "url": _address(f"{owner}/{slug}"), "error": ""}

    def _create_variation(self, call: Call) -> Answer:
        model, body = self._named(call), call.part("body")
        _check_owner(call, model.owner)
        framework, slug = framework_named(body.text("framework")), body.text("instanceSlug")
        if framework is None:
            return _refusal("The framework of the model instance is not known.")
        if not _VARIATION_SLUG.fullmatch(slug) or len(slug) > _LONGEST:
            return _refusal("The slug of the model instance needs letters, digits, dots, hyphens or underscores.")
        taken = _refusal(f'The model instance "{framework}/{slug}" already exists.', code=_CONFLICT)
        if self._store.variation(model, framework, slug) is not None:
            return taken
        wanted = Variation(0, model, framework, slug, _facts(body, _VARIATION_FACTS))
        try:
            number = self._store.create_variation(wanted, pieces_of(body, self._site.uploads))
        except BundleRefusedError as error:
            return _refusal(str(error))
        return {"id": number, "ref": wanted.ref, "url": _address(f"{wanted.ref}/1"), "error": ""} if number else taken

    def _create_version(self, call: Call) -> Answer:
        variation, body = self._variation(call), call.part("body")
        _check_owner(call, variation.model.owner)
        try:
            pieces = pieces_of(body, self._site.uploads)
            version = self._store.add_version(variation, pieces, notes=body.text("versionNotes"))
        except BundleRefusedError as error:
            return _refusal(str(error))
        ref = f"{variation.ref}/{version.number}"
        return {"id": version.id, "ref": ref, "url": _address(ref), "error": ""}

    def _delete(self, call: Call) -> Answer:
        model = self._named(call)
        _check_owner(call, model.owner)
        self._store.delete(model)
        return {"error": ""}

    def _delete_variation(self, call: Call) -> Answer:
        variation = self._variation(call)
        _check_owner(call, variation.model.owner)
        self._store.delete_variation(variation)
        return {"error": ""}

    def _delete_version(self, call: Call) -> Answer:
        variation, version = self._version(call)
        _check_owner(call, variation.model.owner)
        self._store.delete_version(version)
        return {"error": ""}

    def _update(self, call: Call) -> Answer:
        model = self._named(call)
        _check_owner(call, model.owner)
        self._store.change(model, _changed(call, _MODEL_FACTS))
        return {"id": model.id, "ref": model.ref, "url": _address(model.ref), "error": ""}

    def _update_variation(self, call: Call) -> Answer:
        variation = self._variation(call)
        _check_owner(call, variation.model.owner)
        self._store.change_variation(variation, _changed(call, _VARIATION_FACTS))
        return {"id": variation.id, "ref": variation.ref, "url": _address(variation.ref), "error": ""}

    def _get(self, call: Call) -> Answer:
        return self._described(self._named(call))

    def _get_variation(self, call: Call) -> Answer:
        return self._variation_described(self._variation(call))

    def _list(self, call: Call) -> Answer:
        search, owner = call.text("search").lower(), call.text("owner")
        found = [
            self._described(model)
            for model in self._store.all()
            if model.is_visible_to(call.caller)
            and search in f"{model.slug} {model.facts['title']}".lower()
            and owner in ("", model.owner)
        ]
        return {**page(found, call, key="models"), "totalResults": len(found)}

    def _list_variations(self, call: Call) -> Answer:
        found: list[Fields] = []
        for variation in self._store.variations(self._named(call)):
            version = _newest(self._store.versions(variation))
            facts = {
                "id": variation.id,
                "slug": variation.slug,
                "framework": wire_name(variation.framework),
                "versionNumber": version.number if version else 0,
                "versionNotes": version.notes if version else "",
                "totalUncompressedBytes": version.size if version else 0,
            }
            found.append(facts)
        return page(found, call, key="instances")

    def _list_versions(self, call: Call) -> Answer:
        variation = self._variation(call)
        found: list[Fields] = [
            {
                "id": version.id,
                "versionNumber": version.number,
                "variationSlug": variation.slug,
                "modelTitle": variation.model.facts["title"],
                "isPrivate": variation.model.facts["isPrivate"],
            }
            for version in self._store.versions(variation)
        ]
        shown = page(found, call, key="versions")
        return {"versionList": {"versions": shown["versions"]}, "nextPageToken": shown["nextPageToken"]}

    def _files(self, call: Call) -> Answer:
        variation, version = self._version(call)
        files = files_in(self._store.folder(variation, version.number))
        created = as_wire(version.created)
        shown: list[Fields] = [{"name": file.name, "size": file.size, "creationDate": created} for file in files]
        return page(shown, call, key="files")

    def _download(self, call: Call) -> Answer:
        variation, version = self._version(call)
        if name := call.text("path"):
            path = file_in(self._store.folder(variation, version.number), name)
            return Redirect(self._site.tickets.download(call, Stored(path, path.name)))
        path = self._store.shelf.tarred(variation.id, version.number, moment=version.created)
        return Redirect(self._site.tickets.download(call, Stored(path, "model.tar.gz", "application/gzip")))

    def _named(self, call: Call) -> Model:
        owner, slug = call.text("ownerSlug"), call.text("modelSlug")
        model = self._store.find(owner, slug)
        if model is None:
            raise ApiError(404, f"There is no model {quoted(f'{owner}/{slug}')}.")
        if not model.is_visible_to(call.caller):
            raise ApiError(403, "Permission 'models.get' was denied")
        return model

    def _variation(self, call: Call) -> Variation:
        model, slug = self._named(call), call.text("instanceSlug")
        framework = framework_named(call.text("framework")) or ""
        variation = self._store.variation(model, framework, slug)
        if variation is None:
            raise ApiError(404, f"There is no model instance {model.ref}/{framework}/{quoted(slug)}.")
        return variation

    def _version(self, call: Call) -> tuple[Variation, ModelVersion]:
        variation, number = self._variation(call), call.integer("versionNumber")
        for version in self._store.versions(variation):
            if number in (0, version.number):
                return variation, version
        raise ApiError(404, f"Model instance {variation.ref} has no version {number}.")

    def _described(self, model: Model) -> Fields:
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
        version = _newest(self._store.versions(variation))
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


def _newest(versions: list[ModelVersion]) -> ModelVersion | None:
    return versions[0] if versions else None


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


def _check_owner(call: Call, owner: str) -> None:
    if owner != call.caller:
        raise ApiError(403, f"You ({call.caller}) may not change models of {quoted(owner)}.")


def _refusal(sentence: str, *, code: int = _BAD) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`, and kagglehub at its code.
    return {"id": 0, "ref": "", "url": "", "error": sentence, "errorCode": code}


def _address(ref: str) -> str:
    return f"https://www.kaggle.com/models/{ref}"
