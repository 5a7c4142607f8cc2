"""Rules of a kernel's metadata: its names, its session, and what is attached to it."""

import json
import re
from collections.abc import Iterator

from generator.accelerators import AcceleratorKind, catalog
from generator.check.findings import Fix, Severity, with_field, without_field
from generator.check.rule import RuleProblem, rule
from generator.check.source import KernelSource, Part, Purpose
from generator.text import slug_of

# Rules of what a kernel is called and which file it is: metadata that Kaggle refuses or takes for another kernel's.


_SHORTEST, _LONGEST_TITLE = 5, 50
_LANGUAGES, _KERNEL_TYPES = ("python", "r", "rmarkdown"), ("script", "notebook")
_SWITCHES = ("is_private", "enable_gpu", "enable_tpu", "enable_internet")
_BOOLEAN_WORDS = {
    "yes": True,
    "on": True,
    "1": True,
    "t": True,
    "y": True,
    "no": False,
    "off": False,
    "0": False,
    "f": False,
}
_BOOLEAN_WORDS |= {"n": False, "true": True, "false": False}
_LISTS = ("dataset_sources", "competition_sources", "kernel_sources", "model_sources", "keywords")


@rule("M001", "unreadable-metadata")
def unreadable_metadata(kernel: KernelSource) -> Iterator[RuleProblem]:
    """kernel-metadata.json is not a JSON object.

    Kaggle's client reads nothing else, and a comma too many is enough: nothing is pushed.
    Mend the line that the message names; `kaggle kernels init -p FOLDER` writes a fresh file to compare with.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.fault is not None and kernel.fault.part is Part.METADATA:
        yield RuleProblem(kernel.in_metadata(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("M002", "title-length")
def title_length(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The title has fewer than 5 characters, or more than 50.

    A shorter one is refused by the client; a longer one by the server, with an error 500 that names no reason.
    Shorten the title, and make the id its slug.

    Source (2026-11-23): kernels_push in kaggle 2.2; Kaggle/kaggle-cli pull request 179.
    """
    if kernel.metadata is None or (not kernel.metadata.get("title") and kernel.metadata.get("id_no")):
        return
    title = kernel.metadata.text("title")
    if not _SHORTEST <= len(title) <= _LONGEST_TITLE:
        message = f'Its title "{title[:100]}" has {len(title)} characters.'
        yield RuleProblem(kernel.in_metadata(), message, 'Write a "title" of 5 to 50 characters, and its slug in "id".')


@rule("M003", "slug-mismatch")
def slug_mismatch(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The id is not OWNER/SLUG with the slug that Kaggle makes of the title.

    Kaggle saves the kernel under the title's slug whatever the id says. Then status, output and deletion ask for a
    kernel that is not there: every one of them fails with 403, while the session uses up quota.
    Make the two agree: lower case, hyphens for everything else than letters and digits.

    Source (2026-11-23): Kaggle/kaggle-cli#847; the kernel "wedges", seen by several users.
    """
    if kernel.metadata is None or kernel.metadata.get("id_no"):
        return
    ref, title = kernel.metadata.text("id"), kernel.metadata.text("title")
    if ref.count("/") != 1 or not ref.partition("/")[0] or ref.partition("/")[2].lower() != slug_of(title):
        message = f'Its id "{ref[:200]}" is not the slug that Kaggle makes of its title, "{slug_of(title)[:100]}".'
        slug, owner = slug_of(title), ref.partition("/")[0] if "/" in ref else ""
        # Kaggle saves it under this slug in any case.
        is_clear = ref.count("/") == 1 and owner and slug and _SHORTEST <= len(title) <= _LONGEST_TITLE
        fix = with_field("id", value=f"{owner}/{slug}") if is_clear else None
        field = f'"id": "{owner or "OWNER"}/{slug[:100]}"'
        remedy = f"Write {field}, or a title whose slug is the id. Otherwise the kernel is lost."
        yield RuleProblem(kernel.in_metadata(), message, remedy, fix)


@rule("M004", "code-file")
def code_file(kernel: KernelSource) -> Iterator[RuleProblem]:
    """code_file is not a notebook or script in the kernel's folder.

    It is the only file that is pushed: helper modules beside it stay behind, and a name that leads elsewhere could send
    a file that nobody meant.
    Put the notebook beside the metadata, and name it.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.fault is not None and kernel.fault.part is Part.CODE_FILE:
        yield RuleProblem(kernel.in_metadata(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("M005", "language-or-type")
def language_or_type(kernel: KernelSource) -> Iterator[RuleProblem]:
    """Kaggle does not have this language or kernel_type, or it does not match the file.

    The client takes python, r and rmarkdown, script and notebook; the type cannot be changed once the kernel exists.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is None:
        return
    for name, choices in (("language", _LANGUAGES), ("kernel_type", _KERNEL_TYPES)):
        value = kernel.metadata.get(name)
        if value not in choices:
            message = f"Its {name} is {_abbreviate(value)}." if value is not None else f"It has no {name}."
            correction = str(value).strip().casefold()
            fix = with_field(name, value=correction) if correction in choices else None
            replacement = (
                f'"{name}": "{correction}"' if fix else " or ".join(f'"{name}": "{choice}"' for choice in choices)
            )
            yield RuleProblem(kernel.in_metadata(), message, f"Write {replacement}.", fix)
    if kernel.metadata.get("kernel_type") == "script" and kernel.code.path.suffix == ".ipynb":
        message = f"Its kernel_type is script, and {kernel.code.path.name} is a notebook."
        fix = with_field("kernel_type", value="notebook")
        yield RuleProblem(kernel.in_metadata(), message, 'Write "kernel_type": "notebook".', fix)


@rule("M006", "field-type")
def field_type(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A switch is neither true nor false, or sources or keywords are not a list of texts.

    The client refuses other texts than "true" and "false", and iterates over a source that is a text letter by letter.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is None:
        return
    for name in _SWITCHES:
        value = kernel.metadata.get(name)
        if value is not None and str(value).lower() not in ("true", "false"):
            correction = _BOOLEAN_WORDS.get(str(value).strip().casefold())
            fix = None if correction is None else with_field(name, value=correction)
            replacement = "true or false" if correction is None else f'"{name}": {json.dumps(correction)}'
            yield RuleProblem(
                kernel.in_metadata(), f"Its {name} is {_abbreviate(value)}.", f"Write {replacement}.", fix
            )
    for name in _LISTS:
        value = kernel.metadata.get(name)
        if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            message = f"Its {name} is {_abbreviate(value)}."
            fix = with_field(name, value=[value] if value else []) if isinstance(value, str) else None
            yield RuleProblem(kernel.in_metadata(), message, f'Write "{name}": ["…"], or "{name}": [] for none.', fix)


@rule("M007", "number-of-a-pulled-kernel", Severity.NOTE)
def number_of_a_pulled_kernel(kernel: KernelSource) -> Iterator[RuleProblem]:
    """id_no is left over from `kaggle kernels pull -m`.

    Where both are there the server goes by the number and not by the id, so that a copy under a new name is pushed into
    the kernel that it was copied from, or refused as somebody else's.
    Remove the line: the id says it all.

    Source (2026-11-23): kernels_push in kaggle 2.2; Kaggle/kaggle-cli#1197.
    """
    if kernel.metadata is not None and kernel.metadata.get("id_no") is not None:
        message = f"It has an id_no ({_abbreviate(kernel.metadata['id_no'])}). Kaggle uses it instead of its id."
        ref, title = kernel.metadata.text("id"), kernel.metadata.text("title")
        is_complete = ref.count("/") == 1 and ref.partition("/")[2] == slug_of(title)
        fix = without_field("id_no") if is_complete else None
        remedy = 'Remove the line "id_no", unless the kernel is your own.'
        yield RuleProblem(kernel.in_metadata(), message, remedy, fix)


def _abbreviate(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"  # noqa: PLR2004 - a line of a terminal


# Rules of the session that the metadata ask for: its accelerator, its image, its network.


_CATEGORIES = ("", "Gpu", "gpu")
_PARTICIPANT_GPUS = ("NvidiaL4", "NvidiaRtx", "NvidiaH100", "NvidiaTeslaL4")  # to participants


@rule("M020", "machine-shape-retired", Severity.WARNING)
def machine_shape_retired(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The machine shape is no longer available.

    Kaggle runs something else instead, without an error: a GPU T4 x2 for a P100, a TPU v5e-8 for a v3-8, a plain CPU
    for larger TPUs. What was tuned for the one may not fit the other.
    Ask for a shape that is offered: NvidiaTeslaT4, TpuV5E8, or none.

    Source (2026-11-23): _RETIRED_ACCELERATORS in kaggle 2.2.5; kaggle.com/product-announcements/735239 and 607202.
    """
    shape = kernel.metadata.text("machine_shape") if kernel.metadata is not None else ""
    if shape in catalog().replacements:
        instead = catalog().replacements[shape].machine_shape or "a CPU"
        message = f"The machine shape {shape} is retired. Kaggle runs {instead} instead."
        value = catalog().replacements[shape].machine_shape
        remedy = f'Write "machine_shape": "{value}", which always runs, or another available one.'
        yield RuleProblem(kernel.in_metadata(), message, remedy, with_field("machine_shape", value=value))


@rule("M021", "machine-shape-not-public", Severity.WARNING)
def machine_shape_not_public(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The machine shape is not available to everybody.

    Some are lent to participants of one competition (L4 x4, RTX Pro 6000), some to Kaggle's own people; for everybody
    else the server chooses something, and says nothing.
    Ask for NvidiaTeslaT4 or TpuV5E8, unless the competition offers the other to you.

    Source (2026-11-23): maintainers in Kaggle/kaggle-cli#1198; docs/kernels.md of kaggle-cli.
    """
    shape = kernel.machine_shape
    if kernel.refs("competition_sources") and shape.startswith(_PARTICIPANT_GPUS):
        return  # the client does not say which competition lends which machine
    if shape not in (*_CATEGORIES, *catalog().accelerators, *catalog().replacements):
        choices = " or ".join(f'"{choice}"' for choice in catalog().accelerators if choice)
        message = f'The machine shape "{shape[:80]}" is not available to everybody.'
        correction = _shape_meant(shape)
        if correction is not None:
            fix = with_field("machine_shape", value=correction)
            yield RuleProblem(kernel.in_metadata(), message, f'Write "machine_shape": "{correction}".', fix)
            return
        yield RuleProblem(
            kernel.in_metadata(),
            message,
            f'Write "machine_shape": {choices}, unless a competition gives you access to the other.',
        )


def _shape_meant(name: str) -> str | None:
    """The shape that is offered and has this name, but for capitals and what stands between letters."""

    def plain(text: str) -> str:
        return "".join(character for character in text.casefold() if character.isalnum())

    names = {
        plain(alias): shape
        for shape, accelerator in catalog().accelerators.items()
        for alias in (shape, accelerator.name)
    }
    return names.get(plain(name)) if plain(name) else None


# With or without its registry, a tag or a digest.
_TPU_IMAGE = re.compile(r"(?:^|/)python-tpuvm(?:[:@]|$)")


@rule("M022", "image-pinned-on-tpu")
def image_pinned_on_tpu(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A docker_image is pinned in a kernel for a TPU.

    A TPU session runs on a TPU VM, which has an image of its own; the pinned one wins, and the notebook runs on its CPU
    from beginning to end. `kaggle kernels pull -m` writes such a line. The TPU's image, python-tpuvm, may be pinned.
    Remove docker_image (and docker_image_pinning_type), and the block metadata.kaggle of the notebook.

    Source (2026-11-27): the maintainers in Kaggle/kaggle-cli#1197; users who train with python-tpuvm pinned (September
    2026).
    """
    if (image := kernel.setting("docker_image")) and kernel.is_on_tpu and not _TPU_IMAGE.search(str(image)):
        message = "It pins a docker_image. A TPU session then runs without its TPU (Kaggle/kaggle-cli#1197)."
        remedy = 'Remove the line "docker_image".'
        yield RuleProblem(kernel.in_metadata(), message, remedy, _without_image(kernel))


@rule("M023", "image-pinned", Severity.NOTE)
def image_pinned(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A docker_image is pinned.

    One that was pulled with somebody else's kernel may be private, which Kaggle answers with an empty 403; and it wins
    over the image of another accelerator as soon as one is chosen. `tandem push` never sends it.
    Remove the line, unless the notebook needs exactly this image.

    Source (2026-11-23): Kaggle/kaggle-cli#1197.
    """
    if kernel.setting("docker_image") and not kernel.is_on_tpu:
        message = "It pins a docker_image, which may be private or for another accelerator."
        remedy = 'Remove the line "docker_image", unless the notebook needs exactly this image.'
        yield RuleProblem(kernel.in_metadata(), message, remedy, _without_image(kernel))


def _without_image(kernel: KernelSource) -> Fix:
    fix = without_field("docker_image")
    pinning_type = kernel.setting("docker_image_pinning_type")
    return fix if pinning_type is None else fix & without_field("docker_image_pinning_type")


@rule("M024", "accelerators-disagree", Severity.WARNING)
def accelerators_disagree(kernel: KernelSource) -> Iterator[RuleProblem]:
    """machine_shape, enable_gpu and enable_tpu request different accelerators.

    The two switches are deprecated, and machine_shape decides where it is given; who reads the file believes the other.
    Without machine_shape a GPU is whichever the server picks.
    Name the machine_shape, and switch on the one that it has.

    Source (2026-11-23): ApiSaveKernelRequest in kagglesdk 0.1.38.
    """
    if kernel.metadata is None:
        return
    gpu, tpu = kernel.is_on("enable_gpu"), kernel.is_on("enable_tpu")
    shape = kernel.metadata.text("machine_shape")
    accelerator = catalog().accelerators.get(shape) if shape else None
    if gpu and tpu:
        message = "It asks for a GPU and a TPU at once."
    elif accelerator is not None and (gpu and accelerator.kind is not AcceleratorKind.GPU):
        message = f"It asks for the machine shape {shape} and for a GPU."
    elif accelerator is not None and (tpu and accelerator.kind is not AcceleratorKind.TPU):
        message = f"It asks for the machine shape {shape} and for a TPU."
    else:
        return
    if accelerator is None:
        yield RuleProblem(kernel.in_metadata(), message, 'Write one: "machine_shape": "TpuV5E8" or "NvidiaTeslaT4".')
        return
    kinds = {"enable_gpu": AcceleratorKind.GPU, "enable_tpu": AcceleratorKind.TPU}
    fixes = [
        with_field(name, value=accelerator.kind is kind)
        for name, kind in kinds.items()
        if kernel.is_on(name) and accelerator.kind is not kind
    ]
    wrong = " and ".join(f'"{name}": false' for name, kind in kinds.items() if accelerator.kind is not kind)
    fix = fixes[0] if len(fixes) == 1 else fixes[0] & fixes[1]
    yield RuleProblem(kernel.in_metadata(), message, f"Write {wrong}. machine_shape has priority.", fix)


@rule("M025", "internet-in-code-competition")
def internet_in_code_competition(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The inference notebook of a code competition has the internet switched on.

    Such a competition refuses the submission, after the whole session. The client switches it on where nothing is said,
    whatever its documentation says.
    Write "enable_internet": false, and attach what the notebook would download.

    Source (2026-11-23): the code requirements of competitions; kernels_push in kaggle 2.2.
    """
    is_training = kernel.purpose is Purpose.TRAINING or (kernel.is_on_tpu and kernel.purpose is Purpose.UNKNOWN)
    if kernel.metadata is None or not kernel.needs_internet_off or is_training:
        return
    if str(kernel.setting("enable_internet")).lower() != "false":
        message = "This is the inference notebook of a code competition, but its internet is on."
        fix = with_field("enable_internet", value=False)
        yield RuleProblem(kernel.in_metadata(), message, 'Write "enable_internet": false.', fix)


@rule("M026", "internet-not-said", Severity.NOTE)
def internet_not_said(kernel: KernelSource) -> Iterator[RuleProblem]:
    """enable_internet is left out.

    The client's documentation says that it is off then, and its code switches it on. Nothing fails, but
    in the inference of a code competition, where it is M025.
    Say which is meant.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is not None and kernel.metadata.get("enable_internet") is None and not kernel.needs_internet_off:
        message = "It has no enable_internet. Kaggle's client then switches the internet on."
        remedy = 'Write "enable_internet": true, the current value, or false.'
        yield RuleProblem(kernel.in_metadata(), message, remedy, with_field("enable_internet", value=True))


@rule("M027", "submission-from-tpu", Severity.WARNING)
def submission_from_tpu(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The inference notebook of a code competition requests a TPU.

    Most of these competitions accept CPU and GPU notebooks only: "TPUs will not be available for making submissions".
    Train on the TPU, hand over the weights, and infer on a GPU; that is what a pair is for.

    Source (2026-11-23): the code requirements of competitions, 2020 to 2026.
    """
    if kernel.purpose is Purpose.INFERENCE and kernel.needs_internet_off and kernel.is_on_tpu:
        message = "Code competitions accept no submissions from a TPU, with few exceptions."
        yield RuleProblem(kernel.in_metadata(), message, 'Infer on a GPU: "machine_shape": "NvidiaTeslaT4".')


# Rules of what is attached to a kernel: sources that Kaggle leaves out without an error.


_MODELS = "model_sources"
# What the addresses of such sources begin with, and the form of a source, for people and as a pattern.
_SOURCES = {
    "dataset_sources": (("datasets/", "dataset/"), "OWNER/DATASET", r"[^/\s]+/[^/\s]+(/\d+)?"),
    "competition_sources": (("competitions/", "c/"), "the competition's slug", r"[a-z0-9-]+"),
    "kernel_sources": (("code/", "kernels/", "notebooks/"), "OWNER/KERNEL", r"[^/\s]+/[^/\s]{5,}(/\d+)?"),
    _MODELS: (("models/", "model/"), "OWNER/MODEL/FRAMEWORK/VARIATION/VERSION", r"([^/\s]+/){3}[^/\s]+(/\S*)?"),
}
_VERSION_SUFFIX = re.compile(r"([^/]*/){4}\d+")


@rule("M040", "source-prefix")
def source_prefix(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A source starts with `datasets/`, `c/`, `code/` or `models/`, like its address.

    Kaggle's own `kernels pull -m` writes them so, and does not attach them on the way back: /kaggle/input is empty.
    Take the prefix off.

    Source (2026-11-23): Kaggle/kaggle-cli#377 and #433.
    """
    for name, (prefixes, _, _) in _SOURCES.items():
        for at, ref in _enumerate_refs(kernel, name):
            if prefix := _prefix(ref, prefixes):
                rest = ref.removeprefix(prefix)
                fix = with_field(name, at, value=rest) if re.fullmatch(_SOURCES[name][2], rest) else None
                message = f'"{ref[:100]}" in {name} starts with "{prefix}". Kaggle would not attach it.'
                yield RuleProblem(kernel.in_metadata(), message, f'Write "{rest[:100]}".', fix)


@rule("M041", "source-form")
def source_form(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A source does not have the form of its list.

    OWNER/DATASET, OWNER/KERNEL (whose slug has 5 characters or more), the slug of a competition, and
    OWNER/MODEL/FRAMEWORK/VARIATION/VERSION. The client refuses some of the others; the rest the server leaves out, with
    a line in an answer that the client does not show for models.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    for name, (prefixes, form, pattern) in _SOURCES.items():
        for ref in kernel.refs(name):
            if ref and not re.fullmatch(pattern, ref) and not _prefix(ref, prefixes):
                message = f'"{ref[:100]}" in {name} is not {form}.'
                yield RuleProblem(kernel.in_metadata(), message, f"Write {form}, as in the address of its page.")


@rule("M042", "model-without-version")
def model_without_version(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A model is attached without its version.

    The client takes five parts, the last a number, and refuses everything else; what the server would attach without a
    version is whatever is newest on the day of the run.
    Add the version: OWNER/MODEL/FRAMEWORK/VARIATION/3.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    prefixes, _, pattern = _SOURCES[_MODELS]
    for ref in kernel.refs(_MODELS):
        if re.fullmatch(pattern, ref) and not _prefix(ref, prefixes) and not _VERSION_SUFFIX.fullmatch(ref):
            message = f'"{ref[:100]}" in {_MODELS} has no version.'
            parts = "/".join(ref.split("/")[:4])[:100]
            remedy = f'Write "{parts}/1", with the version number on its page.'
            yield RuleProblem(kernel.in_metadata(), message, remedy)


@rule("M043", "nothing-handed-over", Severity.WARNING)
def nothing_handed_over(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The inference kernel of a pair has only its competition attached.

    What training saved reaches it as a kernel's output, a dataset or a model; kagglehub cannot attach one in a session
    that nobody sits at.
    Add the training kernel to kernel_sources.

    Source (2026-11-23): "New Models cannot be attached in non-interactive sessions", kagglehub's BackendError.
    """
    sources = [*kernel.refs("kernel_sources"), *kernel.refs("dataset_sources"), *kernel.refs("model_sources")]
    if kernel.purpose is Purpose.INFERENCE and kernel.metadata is not None and not sources:
        message = "No output of a training is attached."
        training = kernel.trained_by.metadata if kernel.trained_by is not None else None
        ref = training.text("id") if training is not None else ""
        field = f'"kernel_sources": ["{ref or "OWNER/TRAINING-KERNEL"}"]'
        yield RuleProblem(kernel.in_metadata(), message, f"Add the training kernel: {field}.")


def _enumerate_refs(kernel: KernelSource, name: str) -> Iterator[tuple[int, str]]:
    """The sources of a list with their places in it."""
    value = kernel.setting(name)
    for at, ref in enumerate(value if isinstance(value, list) else ()):
        if isinstance(ref, str):
            yield at, ref


def _prefix(ref: str, prefixes: tuple[str, ...]) -> str:
    return next((prefix for prefix in prefixes if ref.startswith(prefix)), "")
