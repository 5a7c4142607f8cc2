"""Rules of the session that the metadata ask for: its accelerator, its image, its network."""

import re
from collections.abc import Iterator

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.check.finding import Severity
from generator.check.fix import Fix, with_field, without_field
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource, Purpose

_CATEGORIES = ("", "Gpu", "gpu")
_LENT = ("NvidiaL4", "NvidiaRtx", "NvidiaH100", "NvidiaTeslaL4")  # to participants


@rule("M020", "machine-shape-retired", Severity.WARNING)
def machine_shape_retired(kernel: KernelSource) -> Iterator[Problem]:
    """The machine shape is no longer lent.

    Kaggle runs something else instead, without an error: a GPU T4 x2 for a P100, a TPU v5e-8 for a v3-8, a plain CPU
    for larger TPUs. What was tuned for the one may not fit the other.
    Ask for a shape that is offered: NvidiaTeslaT4, TpuV5E8, or none.

    Source (2026-11-23): _RETIRED_ACCELERATORS in kaggle 2.2.5; kaggle.com/product-announcements/735239 and 607202.
    """
    shape = kernel.metadata.text("machine_shape") if kernel.metadata is not None else ""
    if shape in catalog().retired:
        instead = catalog().retired[shape].machine_shape or "a CPU"
        message = f"The machine shape {shape} is retired, and Kaggle runs {instead} instead."
        value = catalog().retired[shape].machine_shape
        remedy = f'Write "machine_shape": "{value}", which runs in any case, or another that is offered.'
        yield Problem(kernel.in_metadata(), message, remedy, with_field("machine_shape", value=value))


@rule("M021", "machine-shape-not-public", Severity.WARNING)
def machine_shape_not_public(kernel: KernelSource) -> Iterator[Problem]:
    """The machine shape is not one that everybody can have.

    Some are lent to participants of one competition (L4 x4, RTX Pro 6000), some to Kaggle's own people; for everybody
    else the server chooses something, and says nothing.
    Ask for NvidiaTeslaT4 or TpuV5E8, unless the competition offers the other to you.

    Source (2026-11-23): maintainers in Kaggle/kaggle-cli#1198; docs/kernels.md of kaggle-cli.
    """
    shape = kernel.machine_shape
    if kernel.refs("competition_sources") and shape.startswith(_LENT):
        return  # the client does not say which competition lends which machine
    if shape not in (*_CATEGORIES, *catalog().accelerators, *catalog().retired):
        offered = " or ".join(f'"{each}"' for each in catalog().accelerators if each)
        message = f'The machine shape "{shape[:80]}" is not one that everybody can have.'
        meant = _shape_meant(shape)
        if meant is not None:
            fix = with_field("machine_shape", value=meant)
            yield Problem(kernel.in_metadata(), message, f'Write "machine_shape": "{meant}".', fix)
            return
        yield Problem(
            kernel.in_metadata(),
            message,
            f'Write "machine_shape": {offered}, unless a competition lends you the other.',
        )


def _shape_meant(said: str) -> str | None:
    """The shape that is offered and has this name, but for capitals and what stands between letters."""

    def plain(text: str) -> str:
        return "".join(each for each in text.casefold() if each.isalnum())

    names = {plain(each): shape for shape, known in catalog().accelerators.items() for each in (shape, known.name)}
    return names.get(plain(said)) if plain(said) else None


# With or without its registry, a tag or a digest.
_TPU_IMAGE = re.compile(r"(?:^|/)python-tpuvm(?:[:@]|$)")


@rule("M022", "image-pinned-on-tpu")
def image_pinned_on_tpu(kernel: KernelSource) -> Iterator[Problem]:
    """A docker_image is pinned in a kernel that is to run on a TPU.

    A TPU session runs on a TPU VM, which has an image of its own; the pinned one wins, and the notebook runs on its CPU
    from beginning to end. `kaggle kernels pull -m` writes such a line. The TPU's image, python-tpuvm, may be pinned.
    Remove docker_image (and docker_image_pinning_type), and the block metadata.kaggle of the notebook.

    Source (2026-11-27): the maintainers in Kaggle/kaggle-cli#1197; users who train with python-tpuvm pinned (September
    2026).
    """
    if (image := kernel.setting("docker_image")) and kernel.is_on_tpu and not _TPU_IMAGE.search(str(image)):
        message = "It pins a docker_image, with which a TPU session runs without its TPU (Kaggle/kaggle-cli#1197)."
        remedy = 'Remove the line "docker_image".'
        yield Problem(kernel.in_metadata(), message, remedy, _without_image(kernel))


@rule("M023", "image-pinned", Severity.NOTE)
def image_pinned(kernel: KernelSource) -> Iterator[Problem]:
    """A docker_image is pinned.

    One that was pulled with somebody else's kernel may be private, which Kaggle answers with an empty 403; and it wins
    over the image of another accelerator as soon as one is chosen. `tandem push` never sends it.
    Remove the line, unless the notebook needs that very image.

    Source (2026-11-23): Kaggle/kaggle-cli#1197.
    """
    if kernel.setting("docker_image") and not kernel.is_on_tpu:
        message = "It pins a docker_image, which may be private or that of another accelerator."
        remedy = 'Remove the line "docker_image", unless the notebook needs that very image.'
        yield Problem(kernel.in_metadata(), message, remedy, _without_image(kernel))


def _without_image(kernel: KernelSource) -> Fix:
    fix = without_field("docker_image")
    pinned = kernel.setting("docker_image_pinning_type")
    return fix if pinned is None else fix & without_field("docker_image_pinning_type")


@rule("M024", "accelerators-disagree", Severity.WARNING)
def accelerators_disagree(kernel: KernelSource) -> Iterator[Problem]:
    """machine_shape, enable_gpu and enable_tpu ask for different accelerators.

    The two switches are deprecated, and machine_shape decides where it is given; who reads the file believes the other.
    Without machine_shape a GPU is whichever the server picks.
    Name the machine_shape, and switch on the one that it has.

    Source (2026-11-23): ApiSaveKernelRequest in kagglesdk 0.1.38.
    """
    if kernel.metadata is None:
        return
    gpu, tpu = kernel.is_on("enable_gpu"), kernel.is_on("enable_tpu")
    shape = kernel.metadata.text("machine_shape")
    known = catalog().accelerators.get(shape) if shape else None
    if gpu and tpu:
        message = "It asks for a GPU and a TPU at once."
    elif known is not None and (gpu and known.kind is not AcceleratorKind.GPU):
        message = f"It asks for the machine shape {shape} and for a GPU."
    elif known is not None and (tpu and known.kind is not AcceleratorKind.TPU):
        message = f"It asks for the machine shape {shape} and for a TPU."
    else:
        return
    if known is None:
        yield Problem(kernel.in_metadata(), message, 'Write one: "machine_shape": "TpuV5E8" or "NvidiaTeslaT4".')
        return
    kinds = {"enable_gpu": AcceleratorKind.GPU, "enable_tpu": AcceleratorKind.TPU}
    fixes = [
        with_field(name, value=known.kind is kind)
        for name, kind in kinds.items()
        if kernel.is_on(name) and known.kind is not kind
    ]
    wrong = " and ".join(f'"{name}": false' for name, kind in kinds.items() if known.kind is not kind)
    fix = fixes[0] if len(fixes) == 1 else fixes[0] & fixes[1]
    yield Problem(kernel.in_metadata(), message, f"Write {wrong}: the machine_shape decides.", fix)


@rule("M025", "internet-in-code-competition")
def internet_in_code_competition(kernel: KernelSource) -> Iterator[Problem]:
    """The inference of a code competition has the internet switched on.

    Such a competition refuses the submission, after the whole session. The client switches it on where nothing is said,
    whatever its documentation says.
    Write "enable_internet": false, and attach what the notebook would download.

    Source (2026-11-23): the code requirements of competitions; kernels_push in kaggle 2.2.
    """
    is_training = kernel.purpose is Purpose.TRAINING or (kernel.is_on_tpu and kernel.purpose is Purpose.UNKNOWN)
    if kernel.metadata is None or not kernel.needs_internet_off or is_training:
        return
    if str(kernel.setting("enable_internet")).lower() != "false":
        message = "This is the inference of a code competition, and has the internet switched on."
        fix = with_field("enable_internet", value=False)
        yield Problem(kernel.in_metadata(), message, 'Write "enable_internet": false.', fix)


@rule("M026", "internet-not-said", Severity.NOTE)
def internet_not_said(kernel: KernelSource) -> Iterator[Problem]:
    """enable_internet is left out.

    The client's documentation says that it is off then, and its code switches it on. Nothing fails, but
    in the inference of a code competition, where it is M025.
    Say which is meant.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is not None and kernel.metadata.get("enable_internet") is None and not kernel.needs_internet_off:
        message = "It does not say enable_internet, which Kaggle's client then switches on."
        remedy = 'Write "enable_internet": true, which it is now, or false.'
        yield Problem(kernel.in_metadata(), message, remedy, with_field("enable_internet", value=True))


@rule("M027", "submission-from-tpu", Severity.WARNING)
def submission_from_tpu(kernel: KernelSource) -> Iterator[Problem]:
    """The inference of a code competition asks for a TPU.

    Most of these competitions accept CPU and GPU notebooks only: "TPUs will not be available for making submissions".
    Train on the TPU, hand over the weights, and infer on a GPU; that is what a pair is for.

    Source (2026-11-23): the code requirements of competitions, 2020 to 2026.
    """
    if kernel.purpose is Purpose.INFERENCE and kernel.needs_internet_off and kernel.is_on_tpu:
        message = "Code competitions accept no submissions from a TPU, with few exceptions."
        yield Problem(kernel.in_metadata(), message, 'Infer on a GPU: "machine_shape": "NvidiaTeslaT4".')
