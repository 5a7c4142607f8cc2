"""Datasets and models at a Kaggle: whether they are ready, and new versions of them."""

from pathlib import PurePosixPath
from typing import Any

from generator.kaggle import guards
from generator.kaggle.api_types import DatasetState, Upload
from generator.kaggle.errors import (
    ForbiddenError,
    NotFoundError,
    RefusedError,
    SlugTakenError,
    UnsafeAnswerError,
)
from generator.kaggle.http_errors import Operation
from generator.kaggle.sdk import BLOBS, DATASETS, MODELS, model_framework
from generator.kaggle.uploads import Uploads

_LICENSE_OF_DATASET, _LICENSE_OF_MODEL = "other", "Apache 2.0"
_CONFLICT = 409
_STATES = {
    "READY": DatasetState.READY,
    "FAILED": DatasetState.FAILED,
    "DELETED": DatasetState.MISSING,
}


class DatasetsAndModels(Uploads):
    """The part of `Kaggle` that is about datasets and models."""

    def dataset_state(self, ref: str) -> DatasetState:
        """The state of a dataset's newest version."""
        operation = Operation(f"read the status of the dataset {ref}")
        try:
            found = self._read(operation, DATASETS, "get_dataset_status", **_dataset(ref))
        except NotFoundError:
            return DatasetState.MISSING
        # A name of tomorrow is no reason to give up waiting.
        return _STATES.get(found.status.name if found.status else "", DatasetState.PREPARING)

    def dataset_version(self, ref: str) -> int:
        """The newest version of a dataset, 0 if there is no such dataset."""
        found = self._read_or_none(Operation(f"look up the dataset {ref}"), DATASETS, "get_dataset", **_dataset(ref))
        if found is None:
            return 0
        # A version that is not ready yet may be the newest, and not the current one.
        known: list[int] = [version.version_number for version in found.versions]
        return max(1, found.current_version_number or 0, *known)

    def dataset_archive_url(self, ref: str) -> str:
        """The short-lived address of an archive of all files of a dataset's newest version."""
        return self._file_url(Operation(f"download the dataset {ref}"), DATASETS, "download_dataset", **_dataset(ref))

    def model_archive_url(self, handle: str) -> str:
        """The short-lived address of an archive of all files of `owner/model/framework/variation/version`."""
        operation = Operation(f"download the model {handle}")
        variation, _, version = handle.rpartition("/")
        if not (version.isascii() and version.isdecimal()):
            raise RefusedError(doing=operation.doing, said=f"{handle} names no version", remedy="add it: …/1")
        fields = {**_variation(variation, operation), "version_number": int(version)}
        return self._file_url(operation, MODELS, "download_model_instance_version", **fields)

    def upload_dataset(self, ref: str, upload: Upload) -> int:
        """Creates a private dataset or its next version, and returns the version. Uploads resume; creating is once."""
        operation = Operation(f"upload the dataset {ref}")
        version = self.dataset_version(ref)
        folder = self._upload_files(upload, operation, kind="DATASET")
        name = _dataset(ref)
        if version:
            body = {"version_notes": upload.notes, **folder}
            answer = self._change(operation, DATASETS, "create_dataset_version", **name, body=body)
        else:
            answer = self._change(
                operation,
                DATASETS,
                "create_dataset",
                owner_slug=name["owner_slug"],
                slug=name["dataset_slug"],
                title=upload.title,
                license_name=_LICENSE_OF_DATASET,
                is_private=True,
                **folder,
            )
        if answer.error or (answer.status or "ok").casefold() != "ok":
            raise self._refused(answer.error or f"status {answer.status}", operation)
        return version + 1

    def model_version(self, handle: str) -> int:
        """The newest version of a model's variation, 0 if there is none."""
        operation = Operation(f"look up the model {handle}")
        found = self._read_or_none(operation, MODELS, "get_model_instance", **_variation(handle, operation))
        return 0 if found is None else max(found.version_number, 1)

    def upload_model(self, handle: str, upload: Upload) -> int:
        """Creates `owner/model/framework/variation` or its next version, privately, and returns the version."""
        operation = Operation(f"upload the model {handle}")
        name = _variation(handle, operation)
        version = self.model_version(handle)
        if not version:
            self._require_model(name, upload.title, operation)
        folder = self._upload_files(upload, operation, kind="MODEL")
        if not version and self._create_variation(name, folder, operation):
            return 1
        body = {"version_notes": upload.notes, **folder}
        answer = self._change(operation, MODELS, "create_model_instance_version", **name, body=body)
        if answer.error:
            raise self._refused(answer.error, operation)
        # The variation was there, though it could not be seen before: what follows its last version is known by now.
        return version + 1 if version else self.model_version(handle)

    def _require_model(self, name: dict[str, str], title: str, operation: Operation) -> None:
        owner, slug = name["owner_slug"], name["model_slug"]
        if self._read_or_none(operation, MODELS, "get_model", owner_slug=owner, model_slug=slug) is not None:
            return
        fields = {"owner_slug": owner, "slug": slug, "title": title, "is_private": True}
        answer = self._change(operation, MODELS, "create_model", **fields)
        if answer.error and answer.error_code != _CONFLICT:
            raise self._refused(answer.error, operation)

    def _create_variation(self, name: dict[str, str], folder: dict[str, Any], operation: Operation) -> bool:
        """Creates a variation with its first version; False if it is there already."""
        answer = self._change(
            operation,
            MODELS,
            "create_model_instance",
            owner_slug=name["owner_slug"],
            model_slug=name["model_slug"],
            body={
                "instance_slug": name["instance_slug"],
                "framework": name["framework"],
                "license_name": _LICENSE_OF_MODEL,
                **folder,
            },
        )
        if not answer.error:
            return True
        refused = self._refused(answer.error, operation)
        if answer.error_code == _CONFLICT or isinstance(refused, SlugTakenError):
            return False
        raise refused

    def _read_or_none(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """The answer to a look-up, or None where there is no such thing, or none that this account may see."""
        try:
            return self._read(operation, service, method, **fields)
        except NotFoundError:
            return None
        except ForbiddenError as error:
            # Kaggle forbids what is not there; creating what somebody else has fails with a sentence of its own.
            if type(error) is ForbiddenError:
                return None
            raise

    def _upload_files(self, upload: Upload, operation: Operation, *, kind: str) -> dict[str, Any]:
        """Sends the files; returns the `files` and `directories` of the folder that holds them, as the API wants it."""
        if not upload.files:
            raise UnsafeAnswerError(doing=operation.doing, what="there are no files", remedy="name at least one")
        guards.check_upload(upload.files.items(), doing=operation.doing)
        folders: dict[PurePosixPath, dict[str, Any]] = {PurePosixPath(): {"files": [], "directories": []}}
        for name, path in sorted(upload.files.items()):
            file = PurePosixPath(name)
            for folder in reversed(file.parents):
                if folder not in folders:
                    folders[folder] = {"name": folder.name, "files": [], "directories": []}
                    folders[folder.parent]["directories"].append(folders[folder])
            token = self._upload(operation, path, BLOBS, "start_blob_upload", type=kind, name=file.name)
            folders[file.parent]["files"].append({"token": token})
        return folders[PurePosixPath()]


def _dataset(ref: str) -> dict[str, str]:
    owner, _, slug = ref.strip("/").partition("/")
    return {"owner_slug": owner, "dataset_slug": slug}


def _variation(handle: str, operation: Operation) -> dict[str, str]:
    """The fields that name a model's variation in requests."""
    match handle.strip("/").split("/"):
        case [owner, model, framework, variation] if known := model_framework(framework):
            return {"owner_slug": owner, "model_slug": model, "framework": known, "instance_slug": variation}
    raise RefusedError(
        doing=operation.doing,
        said=f"{handle} is no model",
        remedy="write OWNER/MODEL/FRAMEWORK/VARIATION with a framework that Kaggle has, such as keras or pyTorch",
    )
