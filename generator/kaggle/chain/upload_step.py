"""Uploading a version of a dataset or a model exactly once, and waiting until it can be mounted."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from generator.kaggle.api_types import DatasetState
from generator.kaggle.api_types import Upload as Files
from generator.kaggle.chain.errors import UploadFailedError
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.exactly_once import ExactlyOnce
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.options import Handoff
from generator.kaggle.chain.state import Step, Upload

_STEP = Step.INFER


class UploadedVersion(ExactlyOnce[Upload]):
    """One version of a dataset or a model.

    Args:
        chain: The chain.
        name: What the journal calls it.
        kind: Whether it is of a dataset or of a model.
        ref: The dataset, or the model's variation.
        title: What Kaggle calls that.
        files: Where the files are, by their names in it.
    """

    _noun, _withdrawn = "upload", Kind.NOT_UPLOADED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self, chain: ChainExecution, name: str, kind: Handoff, *, ref: str, title: str, files: Mapping[str, Path]
    ) -> None:
        self._url = chain.page(f"{kind}s/{ref}")
        super().__init__(chain, _STEP, what=f"the {kind} {ref}", poll=chain.poll(f"the upload of {ref}", url=self._url))
        self._key = {"what": name}
        self._name, self._kind, self._ref, self._title, self._files = name, kind, ref, title, files
        digest = hashlib.sha256(f"{kind} {ref}".encode())
        for file, path in sorted(files.items()):
            digest.update(f"\n{file} {file_digest(path)}".encode())
        self._digest = digest.hexdigest()

    def execute(self) -> Upload:
        """Makes the version, or finds what an earlier attempt made, and waits until it can be mounted.

        Raises:
            UploadFailedError: Kaggle could not process it.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        made = super().execute()
        if self._kind is Handoff.DATASET:
            self._wait_until_ready()
        return made

    @property
    def _current(self) -> Upload | None:
        upload = self._chain.state.uploads.get(self._name)
        return upload if upload is not None and (upload.is_open or upload.digest == self._digest) else None

    def _announce(self) -> None:
        fields = {"what": self._name, "kind": str(self._kind), "ref": self._ref, "digest": self._digest}
        self._chain.write(Kind.UPLOADING, baseline=self._newest(), **fields)
        size = sum(path.stat().st_size for path in self._files.values())
        self._chain.tell(_STEP, f"uploading {self._ref}: {len(self._files)} files, {size:,} bytes")

    def _send(self) -> None:
        kaggle, files = self._chain.kaggle, Files(self._title, self._files, notes=self._digest[:12])
        send = kaggle.upload_dataset if self._kind is Handoff.DATASET else kaggle.upload_model
        self._write_made(send(self._ref, files))

    def _find(self) -> bool:
        newest = self._newest()
        is_there = newest > self._chain.state.uploads[self._name].baseline
        if is_there:
            self._write_made(newest)
        return is_there

    def _newest(self) -> int:
        kaggle = self._chain.kaggle
        ask = kaggle.dataset_version if self._kind is Handoff.DATASET else kaggle.model_version
        return self._chain.read(self._what, lambda: ask(self._ref), url=self._url)

    def _write_made(self, version: int) -> None:
        self._chain.write(Kind.UPLOADED, what=self._name, version=version)
        text = f"{self._ref}, version {version}, is uploaded: {self._url}"
        self._chain.tell(_STEP, text, kind=EventKind.STEP, ref=self._ref, version=version)

    def _wait_until_ready(self) -> None:
        """A kernel that is pushed before a version is ready mounts the version before."""
        poll = self._chain.poll(self._ref, url=self._url)
        while True:
            state = poll.ask(lambda: self._chain.kaggle.dataset_state(self._ref))
            if state is DatasetState.READY:
                return
            if state is DatasetState.FAILED:
                self._last = "processing failed"
                self._withdraw()
                raise self._chain.fail(_STEP, UploadFailedError(what=f"dataset {self._ref}"))
            poll.give_up_after(self._chain.polling.ready, trouble=f"it is still {state}", remedy="Kaggle may be slow.")
            poll.pause()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
