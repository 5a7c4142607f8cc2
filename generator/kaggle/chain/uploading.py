"""Versions of datasets and models that a chain makes: uploaded once, and waited for until they can be mounted."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from generator.kaggle.api import DatasetState
from generator.kaggle.api import Upload as Files
from generator.kaggle.chain.errors import NotAcceptedError, UploadFailedError, WaitedInVainError
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.record import Record, Watch
from generator.kaggle.chain.state import Step, Upload
from generator.kaggle.errors import KaggleError


class Place(StrEnum):
    """What a version is a version of."""

    DATASET = "dataset"
    MODEL = "model"


@dataclass(frozen=True)
class Parcel:
    """Files that go together: `what` names them in the journal, `ref` is the dataset or the model's variation."""

    what: str
    kind: Place
    ref: str
    title: str
    files: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """A digest of the files' names and bytes."""
        digest = hashlib.sha256(f"{self.kind} {self.ref}".encode())
        for name, path in sorted(self.files.items()):
            with path.open("rb") as file:
                digest.update(f"\n{name} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
        return digest.hexdigest()


class Uploader:
    """Makes one version."""

    def __init__(self, record: Record, parcel: Parcel, *, step: Step) -> None:
        self._record = record
        self._parcel = parcel
        self._step = step
        self._url = record.page(f"{parcel.kind}s/{parcel.ref}")
        self._last = ""

    def upload(self) -> Upload:
        """Makes a version of these files, or finds the one that an earlier attempt made.

        Raises:
            UploadFailedError: Kaggle could not process it.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        made = self._version()
        if self._parcel.kind is Place.DATASET:
            self._wait_until_ready(made)
        return made

    def _version(self) -> Upload:
        digest = self._parcel.digest
        watch = Watch(self._record, f"the upload of {self._parcel.ref}", url=self._url)
        attempts = 0
        while attempts < self._record.patience.attempts:
            current = self._record.state.uploads.get(self._parcel.what)
            if current is not None and current.version and current.digest == digest:
                return current
            if current is not None and not current.version:
                self._settle(current, since=current.announced)
                continue
            if not self._announce_and_upload(digest, watch):
                attempts += 1
        raise NotAcceptedError(what=f"the {self._parcel.kind} {self._parcel.ref}", attempts=attempts, last=self._last)

    def _announce_and_upload(self, digest: str, watch: Watch) -> bool:
        parcel = self._parcel
        fields = {"what": parcel.what, "kind": str(parcel.kind), "ref": parcel.ref, "digest": digest}
        self._record.write(Kind.UPLOADING, baseline=self._newest(), **fields)
        size = sum(path.stat().st_size for path in parcel.files.values())
        self._record.tell(self._step, f"uploading {parcel.ref}: {len(parcel.files)} files, {size:,} bytes")
        files = Files(parcel.title, parcel.files, notes=digest[:12])
        try:
            if parcel.kind is Place.DATASET:
                version = self._record.kaggle.upload_dataset(parcel.ref, files)
            else:
                version = self._record.kaggle.upload_model(parcel.ref, files)
        except KaggleError as error:
            if error.outcome_unknown:
                self._last = error.message
                return self._settle(self._record.state.uploads[parcel.what], since=self._record.clock.now())
            self._not_made(error.message)
            watch.endure(error)
            return True
        self._made(version)
        return True

    def _settle(self, upload: Upload, *, since: datetime) -> bool:
        """Finds out whether an announced version was made."""
        watch = Watch(self._record, f"the upload of {upload.ref}", url=self._url)
        until = since + timedelta(seconds=self._record.patience.commit)
        while True:
            newest = self._newest()
            if newest > upload.baseline:
                self._made(newest)
                return True
            if self._record.clock.now() >= until:
                self._not_made(self._last)
                return False
            watch.wait()

    def _newest(self) -> int:
        parcel, kaggle = self._parcel, self._record.kaggle
        ask = kaggle.dataset_version if parcel.kind is Place.DATASET else kaggle.model_version
        return self._record.read(f"the {parcel.kind} {parcel.ref}", lambda: ask(parcel.ref), url=self._url)

    def _made(self, version: int) -> None:
        parcel = self._parcel
        self._record.write(Kind.UPLOADED, what=parcel.what, version=version)
        text = f"{parcel.ref}, version {version}, is uploaded: {self._url}"
        self._record.tell(self._step, text, kind=EventKind.STEP, ref=parcel.ref, version=version)

    def _not_made(self, why: str) -> None:
        self._last = why
        self._record.write(Kind.NOT_UPLOADED, what=self._parcel.what, error=why)

    def _wait_until_ready(self, upload: Upload) -> None:
        """A kernel that is pushed before a version is ready mounts the version before."""
        watch = Watch(self._record, upload.ref, url=self._url, is_new=True)
        started = self._record.clock.monotonic()
        while True:
            state = self._record.read(upload.ref, lambda: self._record.kaggle.dataset_state(upload.ref), url=self._url)
            if state is DatasetState.READY:
                return
            if state is DatasetState.FAILED:
                self._record.write(Kind.NOT_UPLOADED, what=upload.what, error="processing failed")
                error = UploadFailedError(what=f"dataset {upload.ref}", problem="Kaggle could not process its files")
                raise self._record.fail(self._step, error)
            if self._record.clock.monotonic() - started >= self._record.patience.ready:
                trouble = f"it is still {state}"
                raise WaitedInVainError(what=upload.ref, trouble=trouble, url=self._url, remedy="Kaggle may be slow.")
            watch.wait()
