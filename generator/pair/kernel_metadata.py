"""`kernel-metadata.json`: what Kaggle is told of a kernel, with every field explicit.

Written afresh each time. A `docker_image` is never among the fields: one of a GPU makes a TPU session run without its
TPU (Kaggle/kaggle-cli#1197).
"""

import json

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.pair.spec import PairSpec
from generator.pair.workspace import Role


def metadata_text(spec: PairSpec, role: Role, *, code_file: str | None = None) -> str:
    """Writes the metadata of one kernel of a pair.

    Args:
        spec: The pair.
        role: Which of its kernels.
        code_file: The notebook, relative to the folder of the metadata; by default it stands beside it.

    Returns:
        JSON with a final newline.
    """
    is_training = role is Role.TRAIN
    kernel = spec.kernel(role)
    accelerator = spec.training_accelerator if is_training else catalog().inference
    # Training and inference both read an output of the training kernel, if it runs on Kaggle.
    reads_training = not spec.handover_dataset and (spec.continues or not is_training)
    fields = {
        "id": kernel.ref,
        "title": kernel.title,
        "code_file": code_file or f"{role}.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_gpu": accelerator.kind is AcceleratorKind.GPU,
        "enable_tpu": accelerator.kind is AcceleratorKind.TPU,
        # Training fetches ImageNet weights. Code competitions refuse a submission from a kernel with internet, so that
        # it stays off even where the pages would allow it, unless the user says otherwise.
        "enable_internet": is_training or bool(spec.competition.internet),
        "machine_shape": accelerator.machine_shape,
        "keywords": [],
        "dataset_sources": [] if is_training or not spec.handover_dataset else [spec.handover_dataset],
        "competition_sources": [spec.competition.slug],
        "kernel_sources": [spec.train.ref] if reads_training else [],
        # A backbone's weights are in the hand-over.
        "model_sources": [spec.handle] if spec.handle and (is_training or not spec.has_backbone) else [],
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
