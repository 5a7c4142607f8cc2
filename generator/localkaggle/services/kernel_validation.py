"""Requests to save a kernel, read and checked as Kaggle checks them."""

import json
from dataclasses import dataclass

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.localkaggle.rpc import ApiError, Call
from generator.localkaggle.services.kernel_records import KernelSettings
from generator.untrusted import quoted, slug_of

TITLE_LENGTHS = range(5, 51)
LANGUAGES = ("python", "r", "rmarkdown")
KERNEL_TYPES = ("notebook", "script")
LARGEST_SOURCE = 8 * 2**20

# Kaggle takes these words for an accelerator as well, and chooses one of the kind itself.
_CATEGORIES = {"none": AcceleratorKind.CPU, **{str(kind): kind for kind in AcceleratorKind}}


class PushError(Exception):
    """A push that Kaggle answers with 200 and this sentence in the field `error`; nothing was saved."""


@dataclass(frozen=True)
class SaveRequest:
    """A kernel to be saved; `runs` says whether a session begins, `slug` where the client thinks that it will be."""

    number: int
    owner: str
    slug: str
    title: str
    source: str
    settings: KernelSettings
    is_private: bool
    runs: bool


def read_request(call: Call) -> SaveRequest:
    """Reads a request.

    Raises:
        ApiError: The request is none that Kaggle would understand.
        PushError: It is one that Kaggle refuses with 200 and a sentence.
    """
    owner, _, slug = call.text("slug").strip("/").rpartition("/")
    title = call.text("newTitle").strip()
    if title and (len(title) not in TITLE_LENGTHS or len(slug_of(title)) not in TITLE_LENGTHS):
        raise PushError(f"Title must be between {TITLE_LENGTHS.start} and {TITLE_LENGTHS.stop - 1} characters long.")
    execution = call.text("kernelExecutionType", "SAVE_AND_RUN_ALL")
    settings = _settings(call)
    return SaveRequest(
        number=call.integer("id"),
        owner=owner or call.caller,
        slug=slug,
        title=title,
        source=_checked_source(call.text("text"), settings),
        settings=settings,
        is_private=call.flag("isPrivate", default=True),
        runs=execution.replace("_", "").upper() != "QUICKSAVE",
    )


def _settings(call: Call) -> KernelSettings:
    language, kernel_type = call.text("language", "python"), call.text("kernelType", "notebook")
    if language not in LANGUAGES:
        raise ApiError(400, f"A valid language must be specified; it is one of {', '.join(LANGUAGES)}.")
    if kernel_type not in KERNEL_TYPES:
        raise ApiError(400, f"A valid kernel type must be specified; it is one of {', '.join(KERNEL_TYPES)}.")
    return KernelSettings(
        language=language,
        kernel_type=kernel_type,
        machine_shape=_machine_shape(call),
        internet=call.flag("enableInternet", default=True),
        datasets=call.texts("datasetDataSources"),
        competitions=call.texts("competitionDataSources"),
        kernels=call.texts("kernelDataSources"),
        models=call.texts("modelDataSources"),
        keywords=call.texts("categoryIds"),
        docker_image=call.text("dockerImage"),
        timeout_seconds=max(0, call.integer("sessionTimeoutSeconds")),
    )


def _machine_shape(call: Call) -> str:
    """The shape that the sessions get: a retired one is replaced without a word."""
    asked = call.text("machineShape")
    known = catalog()
    if not asked:
        kind = AcceleratorKind.TPU if call.flag("enableTpu") else AcceleratorKind.GPU
        asked = kind if call.flag("enableTpu") or call.flag("enableGpu") else "none"
    if asked.lower() in _CATEGORIES:
        wanted = _CATEGORIES[asked.lower()]
        return next(shape for shape, offered in known.accelerators.items() if offered.kind is wanted)
    if asked in known.retired:
        return known.retired[asked].machine_shape
    if asked not in known.accelerators:
        raise PushError(f"Accelerator {quoted(asked)} is not available to you.")
    return asked


def _checked_source(text: str, settings: KernelSettings) -> str:
    if len(text) > LARGEST_SOURCE:
        raise ApiError(413, "The source of the notebook is too large.")
    if settings.kernel_type == "script":
        return text
    try:
        cells = json.loads(text)["cells"]
        sources = [cell["source"] for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ApiError(400, "The text is not a notebook.") from None
    # Kaggle/kaggle-cli#574: a list, which the format allows, is an error inside of the server.
    if not all(isinstance(source, str) for source in sources):
        raise ApiError(500, "The source of a cell is a list; join it to one text.")
    return text
