"""Datasets and models at a Kaggle: whether they are ready, and new versions of them."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from generator.kaggle import guards, sdk
from generator.kaggle.api import DatasetState, Upload
from generator.kaggle.errors import (
    ForbiddenError,
    NotFoundError,
    RefusedError,
    SlugTakenError,
    UnsafeAnswerError,
)
from generator.kaggle.refusals import Errand
from generator.kaggle.uploads import Started, Uploads
from generator.kaggle.wire import Wire

_LICENSE_OF_DATASET, _LICENSE_OF_MODEL = "other", "Apache 2.0"
_CONFLICT = 409
_STATES = {
    "READY": DatasetState.READY,
    "FAILED": DatasetState.FAILED,
    "DELETED": DatasetState.MISSING,
}


class Stores:
    """The part of `Kaggle` that is about datasets and models."""

    def __init__(self, wire: Wire, uploads: Uploads) -> None:
        self._wire = wire
        self._uploads = uploads

    def dataset_state(self, ref: str) -> DatasetState:
        """See `Kaggle.dataset_state`."""
        errand = Errand(f"read the status of the dataset {ref}")
        try:
            found = self._wire.read(errand, sdk.DATASETS, "get_dataset_status", **_dataset(ref))
        except NotFoundError:
            return DatasetState.MISSING
        # A name of tomorrow is no reason to give up waiting.
        return _STATES.get(found.status.name if found.status else "", DatasetState.PREPARING)

    def dataset_version(self, ref: str) -> int:
        """See `Kaggle.dataset_version`."""
        errand = Errand(f"look up the dataset {ref}")
        found = self._wire_or_none(errand, sdk.DATASETS, "get_dataset", **_dataset(ref))
        if found is None:
            return 0
        # A version that is not ready yet may be the newest, and not the current one.
        known: list[int] = [version.version_number for version in found.versions]
        return max(1, found.current_version_number or 0, *known)

    def upload_dataset(self, ref: str, upload: Upload) -> int:
        """See `Kaggle.upload_dataset`."""
        errand = Errand(f"upload the dataset {ref}")
        version = self.dataset_version(ref)
        root = self._tree(upload, errand, blob="DATASET", kind="Dataset")
        fields = _dataset(ref)
        if version:
            body = sdk.new_object(
                "DatasetVersion", version_notes=upload.notes, files=root.files, directories=root.directories
            )
            answer = self._wire.change(errand, sdk.DATASETS, "create_dataset_version", **fields, body=body)
        else:
            answer = self._wire.change(
                errand,
                sdk.DATASETS,
                "create_dataset",
                owner_slug=fields["owner_slug"],
                slug=fields["dataset_slug"],
                title=upload.title,
                license_name=_LICENSE_OF_DATASET,
                is_private=True,
                files=root.files,
                directories=root.directories,
            )
        if answer.error or (answer.status or "ok").casefold() != "ok":
            raise self._wire.refused(answer.error or f"status {answer.status}", errand)
        return version + 1

    def model_version(self, handle: str) -> int:
        """See `Kaggle.model_version`."""
        errand = Errand(f"look up the model {handle}")
        found = self._wire_or_none(errand, sdk.MODELS, "get_model_instance", **_instance(handle, errand))
        return 0 if found is None else max(found.version_number, 1)

    def upload_model(self, handle: str, upload: Upload) -> int:
        """See `Kaggle.upload_model`."""
        errand = Errand(f"upload the model {handle}")
        fields = _instance(handle, errand)
        version = self.model_version(handle)
        if not version:
            self._require_model(fields, upload.title, errand)
        root = self._tree(upload, errand, blob="MODEL", kind="Model")
        if not version and self._create_instance(fields, root, errand):
            return 1
        body = sdk.new_object(
            "ModelInstanceVersion", version_notes=upload.notes, files=root.files, directories=root.directories
        )
        answer = self._wire.change(errand, sdk.MODELS, "create_model_instance_version", **fields, body=body)
        if answer.error:
            raise self._wire.refused(answer.error, errand)
        # The variation was there, though it could not be seen before: what follows its last version is known by now.
        return version + 1 if version else self.model_version(handle)

    def _require_model(self, fields: dict[str, Any], title: str, errand: Errand) -> None:
        name = {"owner_slug": fields["owner_slug"]}
        found = self._wire_or_none(errand, sdk.MODELS, "get_model", **name, model_slug=fields["model_slug"])
        if found is not None:
            return
        answer = self._wire.change(
            errand, sdk.MODELS, "create_model", **name, slug=fields["model_slug"], title=title, is_private=True
        )
        if answer.error and answer.error_code != _CONFLICT:
            raise self._wire.refused(answer.error, errand)

    def _create_instance(self, fields: dict[str, Any], root: Any, errand: Errand) -> bool:
        """Creates a variation with its first version; False if it is there already."""
        body = sdk.new_object(
            "ModelInstance",
            instance_slug=fields["instance_slug"],
            framework=fields["framework"],
            license_name=_LICENSE_OF_MODEL,
            files=root.files,
            directories=root.directories,
        )
        answer = self._wire.change(
            errand,
            sdk.MODELS,
            "create_model_instance",
            owner_slug=fields["owner_slug"],
            model_slug=fields["model_slug"],
            body=body,
        )
        if not answer.error:
            return True
        refused = self._wire.refused(answer.error, errand)
        if answer.error_code == _CONFLICT or isinstance(refused, SlugTakenError):
            return False
        raise refused

    def _wire_or_none(self, errand: Errand, service: str, method: str, /, **fields: Any) -> Any:
        """The answer to a look-up, or None where there is no such thing, or none that this account may see."""
        try:
            return self._wire.read(errand, service, method, **fields)
        except NotFoundError:
            return None
        except ForbiddenError as error:
            # Kaggle forbids what is not there; creating what somebody else has fails with a sentence of its own.
            if type(error) is ForbiddenError:
                return None
            raise

    def _tree(self, upload: Upload, errand: Errand, *, blob: str, kind: str) -> Any:
        """Sends the files, and returns the folder that holds what they are in, as the API wants it."""
        if not upload.files:
            raise UnsafeAnswerError(doing=errand.doing, what="there are no files", remedy="name at least one")
        guards.check_upload(upload.files.items(), doing=errand.doing)
        root = sdk.new_object(f"{kind}Folder", name="")
        for name, path in sorted(upload.files.items()):
            folder = root
            for part in PurePosixPath(name).parent.parts:
                folder = _subfolder(folder, part, kind)
            token = self._uploads.send(path, start=self._start(PurePosixPath(name).name, blob, errand), errand=errand)
            folder.files.append(sdk.new_object(f"{kind}File", token=token))
        return root

    def _start(self, name: str, blob: str, errand: Errand) -> Callable[[int, int], Started]:
        def start(size: int, changed: int) -> Started:
            # A blob that nobody ever names is thrown away, so that asking twice does no harm.
            answer = self._wire.read(
                errand,
                sdk.BLOBS,
                "start_blob_upload",
                type=sdk.enum_member("ApiBlobType", blob),
                name=name,
                content_length=size,
                last_modified_epoch_seconds=changed,
            )
            if not answer.token or not answer.create_url:
                raise self._wire.unexpected(errand, "names no place for the upload")
            return Started(answer.token, answer.create_url)

        return start


def _subfolder(folder: Any, name: str, kind: str) -> Any:
    for each in folder.directories:
        if each.name == name:
            return each
    added = sdk.new_object(f"{kind}Folder", name=name)
    folder.directories.append(added)
    return added


def _dataset(ref: str) -> dict[str, str]:
    owner, _, slug = ref.strip("/").partition("/")
    return {"owner_slug": owner, "dataset_slug": slug}


def _instance(handle: str, errand: Errand) -> dict[str, Any]:
    parts = handle.strip("/").split("/")
    try:
        owner, model, framework, variation = parts
        member = sdk.enum_member("ModelFramework", framework)
    except (ValueError, KeyError):
        raise RefusedError(
            doing=errand.doing,
            said=f"{handle} is no model",
            remedy="write OWNER/MODEL/FRAMEWORK/VARIATION with a framework that Kaggle has, such as keras or pyTorch",
        ) from None
    return {"owner_slug": owner, "model_slug": model, "framework": member, "instance_slug": variation}
