"""Rules of a notebook as a file, of its names, and of the kit's own knobs."""

import ast
import builtins
import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyflakes import checker, messages

from generator.accelerators import AcceleratorKind, catalog
from generator.check.cell_text import MOST_TOKENS, cell_name
from generator.check.code import NotebookCode
from generator.check.findings import DELETE, CodeLocation, FieldChange, Fix, Severity, with_field, without_field
from generator.check.rule import RuleProblem, ignores, rule
from generator.check.source import KernelSource, Part, Purpose, is_placeholder, secrets_in
from generator.competition.schema import Setting, all_parameters
from generator.pair.notebook import join_lines
from generator.text import JsonObject, slug_of, storable

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


_KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LARGEST = 1_000_000  # characters of a notebook that is sent
_MOST_SHOWN = 20
_SECRETS = "use Kaggle's secrets: `UserSecretsClient().get_secret(NAME)`, set under Add-ons, Secrets"
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:api_?key|kaggle_key|token|secret|password|passwd)$")
# Of letters and digits at random, rather than words with numbers between hyphens: the name of a model, of a file.
_SECRET_VALUE = re.compile(
    r"(?=\S*\d)(?=\S*[A-Za-z])(?:[A-Za-z0-9+/=_.-]*[A-Za-z0-9]{20,}[A-Za-z0-9+/=_.-]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_LOGIN = 'Write huggingface_hub.login(token=UserSecretsClient().get_secret("HF_TOKEN")); public models need no token.'
# What waits, and what to write in its place.
_WAITING = {
    "input": ("input()", "Replace input(…) with the value."),
    "getpass.getpass": ("getpass()", 'Use UserSecretsClient().get_secret("NAME") from kaggle_secrets.'),
    "breakpoint": ("breakpoint()", "Remove this line."),
    "pdb.set_trace": ("pdb", "Remove this line."),
    "huggingface_hub.notebook_login": ("notebook_login()", _LOGIN),
    "google.colab.files.upload": (
        "files.upload()",
        "Attach the file as a dataset, and read it from /kaggle/input/datasets/OWNER/NAME.",
    ),
}
# These only show something: the session goes on, and fails later or not at all.
_GOES_ON = {"breakpoint", "huggingface_hub.notebook_login"}


@rule("N001", "not-a-notebook")
def not_a_notebook(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The file is not a notebook of format 4.

    Kaggle's runner is papermill, which reads JSON with a list of cells, each with its type and its source.
    Open it in Jupyter and save it anew; a notebook of format 3 is converted on the way.

    Source (2026-11-27): kernels_push in kaggle 2.2; papermill 2.7, tried (it converts format 3, and Tandem does not).
    """
    if kernel.fault is not None and kernel.fault.part is Part.NOTEBOOK:
        yield RuleProblem(kernel.in_notebook(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("N002", "no-kernelspec")
def no_kernelspec(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook does not name the kernel that runs it (metadata.kernelspec.name).

    The push is accepted, and the session ends with "No kernel name found in notebook and no override provided". It is
    a warning for a notebook without kernel-metadata.json, which may be imported in the editor.
    Save it in Jupyter with a kernel chosen, or add {"kernelspec": {"name": "python3", "display_name": "Python 3",
    "language": "python"}} to its metadata.

    Source (2026-11-27): Kaggle/kaggle-cli#689; papermill 2.7, tried.
    """
    if kernel.notebook and not kernel.notebook.section("metadata").section("kernelspec").get("name"):
        message = "It has no kernel name (metadata.kernelspec.name). Kaggle cannot run it without one."
        remedy = f'Add to its metadata: "kernelspec": {json.dumps(_KERNELSPEC)}.'
        language = kernel.notebook.section("metadata").section("language_info").text("name")
        is_python = "python" in (language, "" if kernel.metadata is None else kernel.metadata.text("language"))
        is_missing = "kernelspec" not in kernel.notebook.section("metadata")
        fix = FieldChange(("metadata", "kernelspec"), _KERNELSPEC, in_notebook=True)
        is_clear = is_python and is_missing and isinstance(kernel.notebook.get("metadata"), dict)
        severity = Severity.WARNING if kernel.metadata is None else None
        yield RuleProblem(kernel.in_notebook(), message, remedy, Fix((fix,)) if is_clear else None, severity)


@rule("N003", "cell-is-no-python")
def cell_is_no_python(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A code cell is not Python, even without its magics and commands.

    The session runs everything above it first, and ends there. The rules see nothing of such a cell.
    Mend the syntax; a cell of another language begins with its magic, such as %%bash.

    Source (2026-11-27): papermill 2.7, tried: the session ends with the SyntaxError.
    """
    for cell in kernel.code.cells:
        if cell.syntax_error is not None:
            place = kernel.code.place(cell, cell.syntax_error.lineno or 0)
            yield RuleProblem(
                place,
                f"This cell is not Python: {cell.syntax_error.msg}.",
                "Fix the syntax of this line. A cell of commands starts with %%bash.",
            )


@rule("N004", "notebook-too-large", Severity.WARNING)
def notebook_too_large(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook is larger than 1 MB without its outputs, which the client leaves out.

    Kaggle has refused such a push: "The kernel source must be less than 1 megabytes in size". Whether the limit is
    still the same is not known.
    Put long texts, tables and images of the code and of Markdown into a dataset, and read them from /kaggle/input.

    Source (2026-11-27): JovianHQ/kernel-run#2, of 2021; kernels_push in kaggle 2.2 leaves outputs out.
    """
    if len(kernel.text) > _LARGEST:
        cells = [{**cell, "outputs": []} for cell in kernel.notebook.sections("cells")]
        size = len(json.dumps({**kernel.notebook, "cells": cells}, ensure_ascii=False)) if cells else len(kernel.text)
        if size > _LARGEST:
            message = f"It has {size / 1e6:,.1f} MB without its outputs. Kaggle refused notebooks of more than 1 MB."
            remedy = "Put long texts, tables and images into a dataset, and read them from /kaggle/input."
            yield RuleProblem(kernel.in_notebook(), message, remedy)


@rule("N005", "half-a-character")
def half_a_character(kernel: KernelSource) -> Iterator[RuleProblem]:
    r"""A text in the notebook has half of a surrogate pair, such as "\ud83d" without its second half.

    It is no character, and no program can send it as UTF-8.
    Write that character anew.

    Source (2026-11-27): Python refuses to encode it as UTF-8, in which kernels_push of kaggle 2.2 sends the notebook.
    """
    cells = [{**cell, "outputs": []} for cell in kernel.notebook.sections("cells")]  # which nobody sends
    whole = json.dumps({**kernel.notebook, "cells": cells}, ensure_ascii=False)
    if storable(whole) == whole:
        return
    places = [place for place, source in _sources(kernel) if storable(source) != source]
    for place in places or [kernel.in_notebook()]:
        message = "A text in it has half of a surrogate pair. Other programs cannot read it."
        yield RuleProblem(place, message, "Delete that character, and type it again.")


@rule("N006", "editor-block", Severity.WARNING)
def editor_block(kernel: KernelSource) -> Iterator[RuleProblem]:
    """metadata.kaggle, the block of Kaggle's editor, remains from a pull or a download.

    It names an image, an accelerator and inputs of its own. The API does not read them, but whoever forks or imports
    the notebook gets them; together with a pinned docker_image they cost a TPU session its TPU.
    Remove the block; `tandem push` sends notebooks without it.

    Source (2026-11-23): the maintainers in Kaggle/kaggle-cli#1197; #821.
    """
    if kernel.notebook.section("metadata").get("kaggle") is not None:
        message = "It has a block metadata.kaggle with its own image and accelerator."
        remedy = 'Remove "kaggle" from the metadata of the notebook, which Kaggle\'s editor left there.'
        # Without kernel-metadata.json it is all that says what the notebook needs.
        fix = Fix((FieldChange(("metadata", "kaggle"), DELETE, in_notebook=True),)) if kernel.metadata else None
        yield RuleProblem(kernel.in_notebook(), message, remedy, fix)


@rule("N007", "committed-outputs", Severity.NOTE)
def committed_outputs(kernel: KernelSource) -> Iterator[RuleProblem]:
    """Cells have outputs.

    They are not what the code would give now, show data that may not be yours to publish, and make every diff
    unreadable. Kaggle runs the notebook anew and keeps those outputs.
    Clear them: `jupyter nbconvert --clear-output --inplace NOTEBOOK`.

    Source (2026-11-27): our own reading; kernels_push in kaggle 2.2 leaves outputs out.
    """
    places = [place for place, cell in _cells(kernel) if cell.get("outputs")]
    if places:
        subject = f"{len(places)} cells have" if len(places) > 1 else "A cell has"
        yield RuleProblem(
            places[0],
            f"{subject} outputs; this is the first.",
            f"Clear them: jupyter nbconvert --clear-output --inplace {kernel.code.path.name}",
        )


@rule("N008", "secret")
def secret(kernel: KernelSource) -> Iterator[RuleProblem]:
    """Something looks like a key, a token or a private key, in a cell or in an output.

    A notebook that is made public takes it along, in every version that it ever had.
    Revoke it, then use Kaggle's secrets: Add-ons, Secrets, and UserSecretsClient().get_secret(NAME).

    Source (2026-11-23): kaggle.com/docs/notebooks; the advisories of kaggle-cli.
    """
    for place, source in _sources(kernel):
        for kind, at in list(secrets_in(source))[:_MOST_SHOWN]:
            secret_place = CodeLocation(place.path, place.cell, source.count("\n", 0, at) + 1)
            yield RuleProblem(secret_place, f"This looks like {kind}.", f"Revoke it, and {_SECRETS}.")
    for place, text in _outputs(kernel):
        for kind, _ in list(secrets_in(text))[:_MOST_SHOWN]:
            yield RuleProblem(
                place, f"An output has what looks like {kind}.", f"Revoke it, clear the output, and {_SECRETS}."
            )
    for place, name in _assigned_secrets(kernel):
        yield RuleProblem(place, f"A secret is written into {name}.", f"Revoke it, and {_SECRETS}.")


@rule("N009", "waits-for-somebody")
def waits_for_somebody(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook waits for the input of a user.

    Nobody does in a session that was pushed or submitted: input(), getpass() and pdb end it with
    StdinNotImplementedError. A login that only shows a button is a warning.
    Put the value into a constant, or a secret of Kaggle's.

    Source (2026-11-27): papermill 2.7, which runs notebooks on Kaggle, tried.
    """
    own_functions = kernel.code.functions_named
    for call in kernel.code.calls:
        node, name = call.node, call.name
        if name not in _WAITING:
            continue
        is_fallback = any(isinstance(ancestor, ast.ExceptHandler) for ancestor in kernel.code.ancestors(node))
        if not is_fallback and not kernel.code.is_bound(name) and name not in own_functions:
            prompt, remedy = _WAITING[name]
            message = f"{prompt} waits for a user, but a session on Kaggle has none."
            severity = Severity.WARNING if name in _GOES_ON else None
            yield RuleProblem(kernel.code.place(node), message, remedy, severity=severity)


@rule("N010", "ignore-without-reason", Severity.WARNING)
def ignore_without_reason(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A comment `# tandem: ignore[RULE]` gives no reason, or names no rule.

    It does not count: what is ignored without a reason is found again by whoever reads the notebook next.
    Write the reason behind it: `# tandem: ignore[N021] the dataset has three files`.

    Source (2026-11-27): our own rule.
    """
    for comment in ignores(kernel.code):
        if not comment.reason or not comment.rules:
            place = CodeLocation(kernel.code.path, comment.cell, comment.line)
            missing = "the reason" if comment.rules else "the rule"
            remedy = "Write `# tandem: ignore[RULE] the reason`."
            yield RuleProblem(place, f"This comment has no effect, because {missing} is missing.", remedy)


@rule("N011", "secret-of-the-editor", Severity.NOTE)
def secret_of_the_editor(kernel: KernelSource) -> Iterator[RuleProblem]:
    """The notebook reads a Kaggle secret, but the API pushes it.

    The API cannot attach secrets, and a push takes away those that were attached in the editor: the cell fails with
    "No user secrets exist for kernel", however often it worked there.
    Catch that and go on without, or attach the secret in the editor after each push and run it from there.

    Source (2026-11-23): Kaggle/kaggle-cli#582 and #944.
    """
    for call in kernel.code.calls if kernel.metadata is not None else ():
        is_asked = call.name.endswith(".get_secret")
        if is_asked and not any(
            isinstance(ancestor, ast.Try | ast.If) for ancestor in kernel.code.ancestors(call.node)
        ):
            message = "A push detaches the secrets that were attached in the editor."
            yield RuleProblem(
                kernel.code.place(call.node),
                message,
                "Read it in a `try`, with `except Exception: key = None`, and continue without it.",
            )


@rule("N015", "code-not-analysed", Severity.NOTE)
def code_not_analysed(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A notebook has more code than the limit of the analysis: 100,000 tokens, about 350 kB.

    The smaller cells come first, and then the first statements of the larger ones. Of the rest only texts and commands
    are looked at: secrets, `!pip install`. The rules for TPUs, and those of what is missing, find nothing in such a
    notebook, since it may stand there.
    Put data and libraries that were pasted into cells into a dataset.

    Source (2026-11-27): our own limit; the longest of 140 public notebooks has 132 kB.
    """
    left_out = [cell for cell in kernel.code.cells if not cell.is_analysed]
    if left_out:
        first = left_out[0]
        size = sum(len(cell.source) for cell in left_out)
        summary = "This cell is" if len(left_out) == 1 else f"{len(left_out):,} cells, this one first, are"
        beyond = f"{', the first' if left_out[1:] else ''} beyond line {first.lines_analysed:,}"
        summary += f" not analysed{beyond if first.lines_analysed else ''} ({size:,} characters)"
        message = f"{summary}: the code has more than {MOST_TOKENS:,} tokens."
        yield RuleProblem(kernel.code.place(first), message, "Put data and libraries into a dataset.")


def _cells(kernel: KernelSource) -> Iterator[tuple[CodeLocation, JsonObject]]:
    """Every cell with its place, of Markdown as well."""
    for number, cell in enumerate(kernel.notebook.sections("cells"), start=1):
        yield CodeLocation(kernel.code.path, cell_name(cell, number)), cell


def _sources(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """The text of every cell with its place, of Markdown as well; a script has only the one."""
    if not kernel.notebook and kernel.fault is None:
        yield CodeLocation(kernel.code.path), kernel.text
    for place, cell in _cells(kernel):
        yield place, join_lines(cell.get("source"))


def _outputs(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """The texts that cells have written, with the place of the cell."""
    for place, cell in _cells(kernel):
        for output in cell.sections("outputs"):
            yield place, join_lines(output.get("text")) or join_lines(output.section("data").get("text/plain"))


def _assigned_secrets(kernel: KernelSource) -> Iterator[tuple[CodeLocation, str]]:
    """Literals that look like secrets, given to what is called like one."""
    for node in kernel.code.nodes(ast.keyword, ast.Assign):
        for name, value in _named_values(node):
            if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                continue
            text = value.value
            is_secret = _SECRET_NAME.search(name) and _SECRET_VALUE.fullmatch(text) and not is_placeholder(text)
            if is_secret and not list(secrets_in(text)):
                yield kernel.code.place(value), name


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a statement or a call gives to names, attributes, keys of objects and arguments."""
    if isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        key = target.slice if isinstance(target, ast.Subscript) else None
        name = getattr(target, "id", getattr(target, "attr", "")) or getattr(key, "value", "")
        if isinstance(name, str) and name:
            yield name, node.value


# Rules of names: what a cell uses before anything defines it, by the order in which a session runs the cells.
#
# Pyflakes knows the scopes of Python. What is known here besides is IPython: magics that define names, `display`,
# and cells that are no Python.


_MOST_COMPARED = 50_000  # pairs of names of which one may be meant by the other
_OF_IPYTHON = {
    "get_ipython",
    "display",
    "In",
    "Out",
    "exit",
    "quit",
    "_",
    "__",
    "___",
    "_i",
    "_ii",
    "_iii",
    "_ih",
    "_oh",
}
_OF_IPYTHON |= {"_dh", "_exit_code", "__builtin__", "__vsc_ipynb_file__", "__IPYTHON__", "WindowsError"}
_HISTORY = re.compile(r"_i?\d+")
# IPython runs a line that is all of a cell, and begins with one of these, as a command.
_AUTOMAGICS = {"ls", "cd", "cp", "mv", "rm", "cat", "pwd", "ll", "mkdir", "rmdir", "env", "who", "whos", "pip", "conda"}
_AUTOMAGICS |= {"less", "more", "man", "head", "tail", "time", "timeit", "history", "reset", "ldir", "lf", "lx", "git"}
_WORD = re.compile(r"[^\W\d]\w*")
# Magics that define names, or run code that nobody sees here.
_DEFINING = ("store", "capture", "cython", "R ", "sql", "bash", "script", "sh", "timeit", "macro", "save", "edit", "px")
_FREE_TEXT_MAGICS = ("run", "load ", "pylab", "loadpy", "recall", "rerun", "autoreload_all", "hist")
_IMPORTS = {
    "np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns", "tf": "import tensorflow as tf", "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F", "jnp": "import jax.numpy as jnp", "lgb": "import lightgbm as lgb",
    "xgb": "import xgboost as xgb", "pl": "import polars as pl", "px": "import plotly.express as px",
    "tqdm": "from tqdm.auto import tqdm", "Path": "from pathlib import Path", "Image": "from PIL import Image",
    "layers": "from keras import layers", "train_test_split": "from sklearn.model_selection import train_test_split",
    "defaultdict": "from collections import defaultdict", "partial": "from functools import partial",
    "A": "import albumentations as A",
}  # fmt: skip
_MODULES = {"os", "sys", "re", "gc", "json", "time", "math", "random", "glob", "pickle", "warnings", "shutil", "copy"}
_MODULES |= {"torch", "keras", "jax", "optax", "cv2", "joblib", "optuna", "subprocess", "itertools", "datetime", "timm"}


@dataclass(frozen=True)
class _Use:
    """The first use of a name that nothing defines before it."""

    name: str
    node: ast.AST
    is_certain: bool  # it is reached in every run


@rule("N030", "undefined-name")
def undefined_name(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A cell uses a name before its definition: a NameError, often in the last cell, after all training.

    A session runs the cells from top to bottom, once. In the editor the name was there from a cell that was deleted,
    renamed or run in another order. Only what every run reaches is an error; N031 is for the rest.
    Define or import it above, or move the cell that does.

    Source (2026-11-27): 7 of 140 public notebooks had one, 2026-11; pyflakes' scopes over the joined cells.
    """
    for use in _find_undefined(kernel):
        if use.is_certain:
            yield _problem(kernel, use)


@rule("N031", "undefined-name-in-a-branch", Severity.WARNING)
def undefined_name_in_a_branch(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A function or a branch uses an undefined name.

    It is a NameError as soon as the function is called, or the branch taken.
    Define or import it, or hand it in as an argument.

    Source (2026-11-27): pyflakes' scopes over the joined cells.
    """
    for use in _find_undefined(kernel):
        if not use.is_certain:
            yield _problem(kernel, use)


def _problem(kernel: KernelSource, use: _Use) -> RuleProblem:
    code = kernel.code
    place = code.place(use.node)
    if use.name == "__file__":
        message = "A notebook has no __file__. This raises a NameError."
        return RuleProblem(place, message, 'Write the folder: Path("/kaggle/working").')
    later = [binding for binding in _bindings(code, use.name) if code.function(binding) is None]
    if later and use.is_certain:
        cell_label = code.cell(later[0]).name
        cell_label = cell_label if cell_label.startswith("cell ") else f"cell {cell_label}"
        message = f"`{use.name}` is used here before {cell_label} defines it. This raises a NameError."
        remedy = f"Move {cell_label} above this one."
        if code.cell(later[0]) is code.cell(use.node):
            message, remedy = f"`{use.name}` is used before it is defined. This raises a NameError.", "Define it above."
        return RuleProblem(place, message, remedy)
    suggestion = _IMPORTS.get(use.name) or (f"import {use.name}" if use.name in _MODULES else "")
    names = _names(code)
    is_short = len(names) * len(_find_undefined(kernel)) < _MOST_COMPARED
    close = difflib.get_close_matches(use.name, {*names} - {use.name}, 1, 0.8) if is_short else []
    remedy = f"Add `{suggestion}` above." if suggestion else f"Define `{use.name}` above."
    if close and not suggestion:
        remedy = f"Define it above, or use `{close[0]}`."
    return RuleProblem(place, f"`{use.name}` is not defined. This raises a NameError.", remedy)


@lru_cache(maxsize=2)
def _find_undefined(kernel: KernelSource) -> tuple[_Use, ...]:
    """The first use of each name that is not defined there, in the order of the notebook."""
    code = kernel.code
    commands = [command for _, _, command in code.commands()]
    if any(command.startswith(_FREE_TEXT_MAGICS) for command in commands) or code.makes_names_unseen():
        return ()
    known_names = _OF_IPYTHON | {
        word for magic in commands if magic.startswith(_DEFINING) for word in _WORD.findall(magic)
    }
    for cell in code.cells:
        if (
            cell.syntax_error is not None
            or not cell.is_analysed
            or not cell.tree.body
            or ("\n" not in cell.source.strip() and cell.source.split(maxsplit=1)[0] in _AUTOMAGICS)
        ):  # another language, or what defines names unseen
            known_names.update(_WORD.findall(cell.source))
    known_names.update(
        name for declaration in code.nodes(ast.Global) for name in declaration.names if _bindings(code, name)
    )
    body = [statement for cell in code.cells for statement in cell.tree.body]
    analysis = _Names(ast.Module(body=body, type_ignores=[]), known_names)
    asked_for = _looked_up(code)
    uses: dict[str, _Use] = {}
    for name, node in analysis.undefined_names:
        is_known = name in known_names or name in asked_for or hasattr(builtins, name) or _HISTORY.fullmatch(name)
        if not is_known and code.has(node) and not _is_caught(code, node):
            use = _Use(name, node, _is_reached(code, node))
            if name not in uses or (use.is_certain and not uses[name].is_certain):
                uses[name] = use
    if code.is_notebook:
        file_nodes = [
            name_node
            for name_node in code.nodes(ast.Name)
            if name_node.id == "__file__" and not _is_caught(code, name_node)
        ]
        file_nodes = [
            name_node for name_node in file_nodes if not _bindings(code, "__file__") and "__file__" not in asked_for
        ]
        uses |= {
            name_node.id: _Use(name_node.id, name_node, _is_reached(code, name_node)) for name_node in file_nodes[:1]
        }
    return tuple(uses.values())


class _Names(checker.Checker):  # type: ignore[misc]  # pyflakes has no types
    """Pyflakes, of which only undefined names are asked, with the nodes that use them."""

    def __init__(self, tree: ast.Module, known_names: set[str]) -> None:
        self.undefined_names: list[tuple[str, ast.AST]] = []
        try:
            super().__init__(tree, builtins=known_names, withDoctest=False)
        except RecursionError:  # thousands of terms in a row: nobody's hand wrote that
            self.undefined_names.clear()

    def report(self, messageClass: type[messages.Message], *args: object) -> None:  # noqa: N803 - as pyflakes calls it
        node, name = (*args, "", "")[:2]
        if messageClass is messages.UndefinedName and isinstance(node, ast.Name) and isinstance(name, str):
            self.undefined_names.append((name, node))

    def handleAnnotation(self, annotation: ast.AST, node: ast.AST) -> None:  # noqa: N802 - as pyflakes calls it
        """With `from __future__ import annotations`, none is evaluated."""
        if not self.annotationsFutureEnabled:
            super().handleAnnotation(annotation, node)

    def handleChildren(self, tree: ast.AST, omit: object = None) -> None:  # noqa: N802 - as pyflakes calls it
        """Go on with the nodes below one, without operators and contexts, which have no names."""
        for node in checker.iter_child_nodes(tree, omit=omit):
            if not isinstance(node, ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop):
                self.handleNode(node, tree)

    def differentForks(self, *_: object) -> bool:  # noqa: N802 - as pyflakes calls it
        """Of a name that is bound twice it matters to nobody here whether both may be; it takes n steps a name."""
        return True

    CALL = handleChildren  # the texts that `typing.cast` and `str.format` are given matter to nobody here

    def handleStringAnnotation(self, *_: object) -> None:  # noqa: N802 - as pyflakes calls it
        """A text is not evaluated."""


def _is_reached(code: NotebookCode, node: ast.AST) -> bool:
    """True for what every run of the notebook reaches: it is in no function, branch or loop that may not be run."""
    conditional = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.If | ast.IfExp | ast.While | ast.Try
    conditional |= ast.Match | ast.BoolOp | ast.comprehension | ast.GeneratorExp
    conditional |= ast.ListComp | ast.SetComp | ast.DictComp | ast.ExceptHandler | ast.For
    inner: ast.AST = node
    for around in code.ancestors(node):
        if (
            (isinstance(around, ast.For) and inner is around.iter)
            or (isinstance(around, ast.If | ast.IfExp | ast.While) and inner is around.test)
            or (isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) and inner in around.decorator_list)
            or (isinstance(around, ast.For) and _is_long(around))
        ):
            pass
        elif isinstance(around, conditional):
            return False
        inner = around
    return True


def _is_long(loop: ast.For) -> bool:
    """True for a loop over numbers, which is run."""
    iterable = loop.iter
    return isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"


def _is_caught(code: NotebookCode, node: ast.AST) -> bool:
    return any(isinstance(ancestor, ast.Try) and ancestor.handlers for ancestor in code.ancestors(node))


def _looked_up(code: NotebookCode) -> set[str]:
    """The names that the code itself asks for: `"model" in globals()`."""
    names = set()
    for comparison in code.nodes(ast.Compare):
        if any(code.is_namespace(operand) for operand in comparison.comparators) and isinstance(
            comparison.left, ast.Constant
        ):
            names.add(str(comparison.left.value))
    return names


def _bindings(code: NotebookCode, name: str) -> list[ast.AST]:
    """Where a name is bound, anywhere in the notebook."""
    return _index_bindings(code).get(name, [])


@lru_cache(maxsize=1)
def _index_bindings(code: NotebookCode) -> Mapping[str, list[ast.AST]]:
    """Where each name is bound: by what is defined, then by what is stored, then by imports."""
    bindings: dict[str, list[ast.AST]] = defaultdict(list)
    definitions: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = [
        *code.function_defs,
        *code.nodes(ast.ClassDef),
    ]
    for definition in definitions:
        bindings[definition.name].append(definition)
    for name_node in code.nodes(ast.Name):
        if isinstance(name_node.ctx, ast.Store):
            bindings[name_node.id].append(name_node)
    importing: list[ast.Import | ast.ImportFrom] = [*code.nodes(ast.Import), *code.nodes(ast.ImportFrom)]
    for statement in importing:
        for name in dict.fromkeys((alias.asname or alias.name).partition(".")[0] for alias in statement.names):
            bindings[name].append(statement)
    return bindings


@lru_cache(maxsize=2)
def _names(code: NotebookCode) -> tuple[str, ...]:
    stored_names = {node.id for node in code.nodes(ast.Name) if isinstance(node.ctx, ast.Store)}
    return tuple(sorted({*stored_names, *code.imports, *code.functions_named, *code.classes}))


# Rules of the knobs of the kit's own notebooks, which people turn in the notebook as well.


# By it the kit's notebooks know their pair; other people's names mean what they like.
_OF_A_PAIR = "PAIR_ID"


@rule("N070", "knob-out-of-range")
def knob_out_of_range(kernel: KernelSource) -> Iterator[RuleProblem]:
    """A parameter of a pair's notebook is set to a number out of its range.

    The session waits for its accelerator, and then fails late, as with N_FOLDS = 0 after the training, or not at all.
    Set it to a number in its range; docs/knobs.md says what each knob means.

    Source (2026-11-27): the ranges of `templates/families/parameters.toml`, by which the notebooks are rendered.
    """
    for cell in kernel.code.cells:
        nodes = [node for node in cell.tree.body if isinstance(node, ast.Assign)]
        values = {node.targets[0].id: node for node in nodes if isinstance(node.targets[0], ast.Name)}
        for name, node in values.items() if _OF_A_PAIR in values else ():
            number = _number(node.value)
            setting = all_parameters().get(name, Setting(object))
            # 0.0 has the rate of the backbone looked up.
            expected = setting.with_default(0.0).range if name == "LEARNING_RATE" else setting.range
            if number is not None and number not in expected:
                message = f"{name} is {number:g}, but it must be {expected}."
                yield RuleProblem(kernel.code.place(cell, node), message, f"Set {name} to {expected}.")


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if type(value) in (int, float) else None
