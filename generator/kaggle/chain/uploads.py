"""What the kernels read beside the competition: training's output, packages, the files of a blend's members."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from generator.files import open_below, reason_not_read
from generator.kaggle.api_types import DatasetState, DatasetUpload, KernelPush
from generator.kaggle.chain.errors import ChainError, UploadFailedError
from generator.kaggle.chain.execution import ChainExecution, ExactlyOnce, Handoff, PushOptions
from generator.kaggle.chain.journal import AnnouncedUpload, ChainStep, EntryKind, EventKind
from generator.kaggle.chain.session import file_digest
from generator.kaggle.chain.training import TrainedElsewhere, fetch_handover
from generator.kaggle.chain.wheels import install_cell, wheels_for
from generator.pair.blend import files_dataset, prediction_files
from generator.pair.notebook import with_first_cell, with_parameters
from generator.pair.workspace import Role, dataset_beside
from generator.text import JsonObject, printable

# Uploading a version of a dataset or a model exactly once, and waiting until it can be mounted.


class UploadedVersion(ExactlyOnce[AnnouncedUpload]):
    """One version of a dataset or a model.

    Args:
        chain: The chain.
        name: What the journal calls it.
        kind: Whether it is of a dataset or of a model.
        ref: The dataset, or the model's variation.
        title: What Kaggle calls that.
        files: Where the files are, by their names in it.
        step: The step that needs it.
    """

    _noun, _withdrawn = "upload", EntryKind.NOT_UPLOADED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self,
        chain: ChainExecution,
        name: str,
        kind: Handoff,
        *,
        ref: str,
        title: str,
        files: Mapping[str, Path],
        step: ChainStep = ChainStep.INFER,
    ) -> None:
        self._url = chain.page(f"{kind}s/{ref}")
        super().__init__(
            chain, step, subject=f"the {kind} {ref}", poll=chain.poll(f"the upload of {ref}", url=self._url)
        )
        self._key = {"what": name}
        self._name, self._kind, self._ref, self._title, self._files = name, kind, ref, title, files
        self._api = chain.uploads(kind)
        digest = hashlib.sha256(f"{kind} {ref}".encode())
        for file, path in sorted(files.items()):
            digest.update(f"\n{file} {file_digest(path)}".encode())
        self._digest = digest.hexdigest()

    def execute(self) -> AnnouncedUpload:
        """Makes the version, or finds what an earlier attempt made, and waits until it can be mounted.

        Raises:
            UploadFailedError: Kaggle could not process it.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        version = super().execute()
        if self._kind is Handoff.DATASET:
            self._wait_until_ready()
        return version

    @property
    def _current(self) -> AnnouncedUpload | None:
        upload = self._chain.state.uploads.get(self._name)
        return upload if upload is not None and (upload.is_open or upload.digest == self._digest) else None

    def _announce(self) -> None:
        fields = {"what": self._name, "kind": str(self._kind), "ref": self._ref, "digest": self._digest}
        self._chain.write(EntryKind.UPLOADING, baseline=self._newest(), **fields)
        size = sum(path.stat().st_size for path in self._files.values())
        self._chain.tell(self._step, f"uploading {self._ref}: {len(self._files)} files, {size:,} bytes")

    def _send(self) -> None:
        self._write_made(self._api.upload(self._ref, DatasetUpload(self._title, self._files, notes=self._digest[:12])))

    def _find(self) -> bool:
        newest = self._newest()
        is_there = newest > self._chain.state.uploads[self._name].baseline
        if is_there:
            self._write_made(newest)
        return is_there

    def _newest(self) -> int:
        return self._chain.read(self._subject, lambda: self._api.version(self._ref), url=self._url)

    def _write_made(self, version: int) -> None:
        self._chain.write(EntryKind.UPLOADED, what=self._name, version=version)
        text = f"{self._ref}, version {version}, is uploaded: {self._url}"
        self._chain.tell(self._step, text, kind=EventKind.STEP, ref=self._ref, version=version)

    def _wait_until_ready(self) -> None:
        """A kernel that is pushed before a version is ready mounts the version before."""
        poll = self._chain.poll(self._ref, url=self._url)
        while True:
            state = poll.ask(lambda: self._chain.kaggle.datasets.state(self._ref))
            if state is DatasetState.READY:
                return
            if state is DatasetState.FAILED:
                self._last = "processing failed"
                self._withdraw()
                raise self._chain.fail(self._step, UploadFailedError(subject=f"dataset {self._ref}"))
            poll.give_up_after(self._chain.polling.ready, trouble=f"it is still {state}", remedy="Kaggle may be slow.")
            poll.pause()


# The inputs that the inference kernel gets beside the competition: the output of training, and packages of its own.


_FRAMEWORKS = {"keras": "keras", "tensorflow": "tensorFlow2", "jax": "jax", "torch": "pyTorch"}


def with_inputs(
    chain: ChainExecution,
    push: KernelPush,
    *,
    training_kernel: str,
    elsewhere: TrainedElsewhere | None = None,
    offline_wheels: bool = False,
) -> KernelPush:
    """The inference kernel with all that it reads; with `offline_wheels` also what it imports beyond Kaggle's image.

    Args:
        chain: The chain; its training has ended well.
        push: The kernel as its folder says.
        training_kernel: The training kernel that the folder says it reads.
        elsewhere: The training, if it did not run on Kaggle.
        offline_wheels: Whether to attach wheels.
    """
    push = _with_handover(chain, push, training_kernel=training_kernel, elsewhere=elsewhere)
    return _with_wheels(chain, push) if offline_wheels else push


def _with_handover(
    chain: ChainExecution, push: KernelPush, *, training_kernel: str, elsewhere: TrainedElsewhere | None
) -> KernelPush:
    """The inference kernel with what training handed over among its sources."""
    handoff = Handoff(chain.setup.handoff)
    ref = training_kernel if elsewhere else chain.state.pushes[Role.TRAIN].ref
    other_kernels = tuple(source for source in push.kernel_sources if source not in (training_kernel, ref))
    if handoff is Handoff.KERNEL:
        text = with_parameters(push.text, {"TRAIN_KERNEL": ref})
        return replace(push, text=text, kernel_sources=(ref, *other_kernels))
    dataset = dataset_beside(ref, "-handover")
    # Of a pair that trains elsewhere the folder has it already, in the name of whom it was rendered for.
    datasets = tuple(source for source in push.dataset_sources if source.partition("/")[2] != dataset.partition("/")[2])
    push = replace(push, kernel_sources=other_kernels, dataset_sources=datasets)
    files = elsewhere.files if elsewhere else fetch_handover(chain)
    if handoff is Handoff.DATASET:
        _dataset(chain, "handover", dataset, files)
        mounts = [f"datasets/{dataset}", dataset.partition("/")[2]]
        push = replace(push, dataset_sources=(*push.dataset_sources, dataset))
    else:
        trained_with = (chain.state.training or JsonObject()).section("handover").text("framework")
        model = f"{dataset_beside(ref, '')}/{_FRAMEWORKS.get(trained_with, 'other')}/handover"
        title = ref.partition("/")[2]
        upload = UploadedVersion(chain, "handover", handoff, ref=model, title=title, files=files).execute()
        version = f"{upload.ref}/{upload.version}"
        mounts = [f"models/{version}", version.partition("/")[2]]
        push = replace(push, model_sources=(*push.model_sources, version))
    return replace(push, text=with_parameters(push.text, {"TRAIN_KERNEL": ref, "HANDOFF_MOUNTS": mounts}))


def _with_wheels(chain: ChainExecution, push: KernelPush) -> KernelPush:
    """The inference kernel with a dataset of wheels, and a first cell that installs them; itself if it needs none."""
    wheels = wheels_for(push.text, chain.folder("wheels"), chain.journal.files)
    if not wheels.files:
        chain.tell(Role.INFER, "Kaggle's image has everything that the inference notebook imports; no wheels.")
        return push
    ref = _dataset(chain, "wheels", dataset_beside(push.ref, "-wheels"), wheels.files)
    text = with_first_cell(push.text, name="offline-wheels", source=install_cell(wheels, ref))
    return replace(push, text=text, dataset_sources=(*push.dataset_sources, ref))


def _dataset(
    chain: ChainExecution, name: str, ref: str, files: Mapping[str, Path], *, step: ChainStep = ChainStep.INFER
) -> str:
    """Makes a version of a dataset, and returns the dataset."""
    title = ref.partition("/")[2]
    return UploadedVersion(chain, name, Handoff.DATASET, ref=ref, title=title, files=files, step=step).execute().ref


# What both kernels of a blend get: the predictions of its members that are files.


def with_member_files(chain: ChainExecution, push: KernelPush, options: PushOptions, role: Role) -> KernelPush:
    """A kernel of a blend, with its members that are files as a dataset of the account; any other kernel as it is.

    Args:
        chain: The chain.
        push: The kernel as its folder says.
        options: What is asked for.
        role: Which kernel.

    Raises:
        ChainError: A file is missing, or may have come with the workspace as a link.
        UploadFailedError: Kaggle could not process the dataset.
        KaggleError: Kaggle refused.
    """
    slug = files_dataset(chain.setup.account, options.pair).partition("/")[2]
    members = [member for member in options.spec.members if member.dataset.partition("/")[2] == slug]
    if not members:
        return push
    root, files = options.workspace.root, dict[str, Path]()
    for member in members:
        for name in prediction_files(member.pair):
            path = Path("input", "datasets", member.dataset, name)
            try:
                open_below(root, path).close()
            except OSError as error:
                raise ChainError(
                    f"{printable(str(path))}, a file of the member {printable(member.name)} of the blend, cannot be "
                    f"uploaded: {reason_not_read(error)}.",
                    remedy="Write the blend again with `tandem blend`.",
                    code="member-not-uploaded",
                ) from error
            files[name] = root / path
    dataset = _dataset(chain, "members", f"{chain.setup.account}/{slug}", files, step=ChainStep(role))
    datasets = [dataset if ref.partition("/")[2] == slug else ref for ref in options.spec.member_datasets]
    sources = [ref for ref in push.dataset_sources if ref.partition("/")[2] != slug]
    text = with_parameters(push.text, {"MEMBER_DATASETS": datasets})
    return replace(push, text=text, dataset_sources=(*sources, dataset))
