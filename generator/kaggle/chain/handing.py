"""What the inference kernel gets beside the competition: the output of training, and packages it has to bring along."""

from dataclasses import replace
from pathlib import Path

from generator.kaggle.api import KernelPush
from generator.kaggle.chain.handover import HANDOVER, DamagedError, read_handover
from generator.kaggle.chain.record import Record
from generator.kaggle.chain.request import Handoff
from generator.kaggle.chain.sessions import Session
from generator.kaggle.chain.source import with_first_cell, with_parameters
from generator.kaggle.chain.state import Step
from generator.kaggle.chain.uploading import Parcel, Place, Uploader
from generator.kaggle.chain.wheels import install_cell, wheels_for
from generator.pair.workspace import Role

_LONGEST_SLUG = 50
_FRAMEWORKS = {"keras": "keras", "tensorflow": "tensorFlow2", "jax": "jax", "torch": "pyTorch"}


def handed_over(record: Record, push: KernelPush, *, trained: str) -> KernelPush:
    """The inference kernel with what training handed over among its sources.

    Args:
        record: The chain; its training has ended well.
        push: The kernel as its folder says.
        trained: The training kernel that the folder says it reads.
    """
    begun, training = record.state.begun, record.state.pushes[Role.TRAIN]
    handoff = Handoff(begun.handoff) if begun is not None else Handoff.KERNEL
    others = tuple(ref for ref in push.kernel_sources if ref not in (trained, training.ref))
    if handoff is Handoff.KERNEL:
        text = with_parameters(push.text, {"TRAIN_KERNEL": training.ref})
        return replace(push, text=text, kernel_sources=(training.ref, *others))
    parcel = _parcel(record, handoff)
    upload = Uploader(record, parcel, step=Step.INFER).upload()
    push = replace(push, kernel_sources=others)
    if handoff is Handoff.DATASET:
        mounts = [f"datasets/{upload.ref}", upload.ref.partition("/")[2]]
        push = replace(push, dataset_sources=(*push.dataset_sources, upload.ref))
    else:
        version = f"{upload.ref}/{upload.version}"
        mounts = [f"models/{version}", version.partition("/")[2]]
        push = replace(push, model_sources=(*push.model_sources, version))
    return replace(push, text=with_parameters(push.text, {"TRAIN_KERNEL": training.ref, "HANDOFF_MOUNTS": mounts}))


def offline_wheels(record: Record, push: KernelPush) -> KernelPush:
    """The inference kernel with a dataset of wheels, and a first cell that installs them; itself if it needs none."""
    wheels = wheels_for(push.text, record.folder("wheels"), record.journal.files)
    if not wheels.files:
        record.tell(Role.INFER, "Kaggle's image has everything that the inference notebook imports; no wheels.")
        return push
    owner, _, slug = push.ref.partition("/")
    ref = f"{owner}/{_cut(slug, '-wheels')}"
    parcel = Parcel("wheels", Place.DATASET, ref, ref.partition("/")[2], wheels.files)
    Uploader(record, parcel, step=Step.INFER).upload()
    text = with_first_cell(push.text, name="offline-wheels", source=install_cell(wheels, ref))
    return replace(push, text=text, dataset_sources=(*push.dataset_sources, ref))


def _parcel(record: Record, handoff: Handoff) -> Parcel:
    files = _fetch_promised(record)
    owner, _, slug = record.state.pushes[Role.TRAIN].ref.partition("/")
    if handoff is Handoff.DATASET:
        name = _cut(slug, "-handover")
        return Parcel("handover", Place.DATASET, f"{owner}/{name}", name, files)
    handover = (record.state.trained or {}).get("handover")
    framework = str(handover.get("framework")) if isinstance(handover, dict) else ""
    return Parcel(
        "handover", Place.MODEL, f"{owner}/{_cut(slug, '')}/{_FRAMEWORKS.get(framework, 'other')}/handover", slug, files
    )


def _fetch_promised(record: Record) -> dict[str, Path]:
    """Every file of the hand-over, each with the hash that training gave it."""
    session = Session(record, Role.TRAIN)
    folder = record.folder(Role.TRAIN)

    def whole(path: Path) -> None:
        read_handover(path.read_bytes())

    session.fetch_to(folder / HANDOVER, HANDOVER, whole)
    files = {HANDOVER: folder / HANDOVER}
    for promise in read_handover((folder / HANDOVER).read_bytes()).files:
        target = folder / Path(promise.file).name

        def same(path: Path, promised: str = promise.sha256) -> None:
            if _digest(path) != promised:
                raise DamagedError("its SHA-256 is not the one in the hand-over")

        if not target.is_file() or _digest(target) != promise.sha256:
            session.fetch_to(target, promise.file, same)
        files[target.name] = target
    return files


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cut(slug: str, ending: str) -> str:
    return slug[: _LONGEST_SLUG - len(ending)].strip("-") + ending
