"""The inputs that the inference kernel gets beside the competition: the output of training, and packages of its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.options import Handoff
from generator.kaggle.chain.sessions import Session
from generator.kaggle.chain.trained_elsewhere import TrainedElsewhere
from generator.kaggle.chain.upload_step import UploadedVersion, file_digest
from generator.kaggle.chain.verification import whole_handover
from generator.kaggle.chain.wheels import install_cell, wheels_for
from generator.pair.handover import FILE_NAME, DamagedError
from generator.pair.kernel_name import dataset_beside
from generator.pair.notebook_changes import with_first_cell, with_parameters
from generator.pair.workspace import Role
from generator.untrusted import JsonObject

_FRAMEWORKS = {"keras": "keras", "tensorflow": "tensorFlow2", "jax": "jax", "torch": "pyTorch"}


def with_handover(
    chain: ChainExecution, push: KernelPush, *, trained: str, elsewhere: TrainedElsewhere | None = None
) -> KernelPush:
    """The inference kernel with what training handed over among its sources.

    Args:
        chain: The chain; its training has ended well.
        push: The kernel as its folder says.
        trained: The training kernel that the folder says it reads.
        elsewhere: The training, if it did not run on Kaggle.
    """
    handoff = Handoff(chain.begun.handoff)
    ref = trained if elsewhere else chain.state.pushes[Role.TRAIN].ref
    others = tuple(each for each in push.kernel_sources if each not in (trained, ref))
    if handoff is Handoff.KERNEL:
        text = with_parameters(push.text, {"TRAIN_KERNEL": ref})
        return replace(push, text=text, kernel_sources=(ref, *others))
    dataset = dataset_beside(ref, "-handover")
    # Of a pair that trains elsewhere the folder has it already, in the name of whom it was rendered for.
    datasets = tuple(each for each in push.dataset_sources if each.partition("/")[2] != dataset.partition("/")[2])
    push = replace(push, kernel_sources=others, dataset_sources=datasets)
    files = elsewhere.files if elsewhere else _fetch_promised(chain)
    if handoff is Handoff.DATASET:
        _dataset(chain, "handover", dataset, files)
        mounts = [f"datasets/{dataset}", dataset.partition("/")[2]]
        push = replace(push, dataset_sources=(*push.dataset_sources, dataset))
    else:
        trained_with = (chain.state.trained or JsonObject()).section("handover").text("framework")
        model = f"{dataset_beside(ref, '')}/{_FRAMEWORKS.get(trained_with, 'other')}/handover"
        title = ref.partition("/")[2]
        upload = UploadedVersion(chain, "handover", handoff, ref=model, title=title, files=files).execute()
        version = f"{upload.ref}/{upload.version}"
        mounts = [f"models/{version}", version.partition("/")[2]]
        push = replace(push, model_sources=(*push.model_sources, version))
    return replace(push, text=with_parameters(push.text, {"TRAIN_KERNEL": ref, "HANDOFF_MOUNTS": mounts}))


def with_wheels(chain: ChainExecution, push: KernelPush) -> KernelPush:
    """The inference kernel with a dataset of wheels, and a first cell that installs them; itself if it needs none."""
    wheels = wheels_for(push.text, chain.folder("wheels"), chain.journal.files)
    if not wheels.files:
        chain.tell(Role.INFER, "Kaggle's image has everything that the inference notebook imports; no wheels.")
        return push
    ref = _dataset(chain, "wheels", dataset_beside(push.ref, "-wheels"), wheels.files)
    text = with_first_cell(push.text, name="offline-wheels", source=install_cell(wheels, ref))
    return replace(push, text=text, dataset_sources=(*push.dataset_sources, ref))


def _dataset(chain: ChainExecution, name: str, ref: str, files: Mapping[str, Path]) -> str:
    """Makes a version of a dataset, and returns the dataset."""
    title = ref.partition("/")[2]
    return UploadedVersion(chain, name, Handoff.DATASET, ref=ref, title=title, files=files).execute().ref


def _fetch_promised(chain: ChainExecution) -> dict[str, Path]:
    """Every file of the hand-over, each with the hash that training gave it."""
    session = Session(chain, Role.TRAIN)
    whole = session.fetch(FILE_NAME, whole_handover)
    files = {FILE_NAME: session.file(FILE_NAME)}
    for promise in whole.files:
        target = session.file(promise.file)

        def check(path: Path, promised: str = promise.sha256) -> None:
            if file_digest(path) != promised:
                raise DamagedError("its SHA-256 is not the one in the hand-over")

        if not target.is_file() or file_digest(target) != promise.sha256:
            session.fetch(promise.file, check)
        files[target.name] = target
    return files
