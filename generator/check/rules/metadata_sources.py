"""Rules of what is attached to a kernel: sources that Kaggle leaves out without an error."""

import re
from collections.abc import Iterator

from generator.check.finding import Severity
from generator.check.fix import with_field
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource, Purpose

_MODELS = "model_sources"
# What the addresses of such sources begin with, and the form of a source, for people and as a pattern.
_SOURCES = {
    "dataset_sources": (("datasets/", "dataset/"), "OWNER/DATASET", r"[^/\s]+/[^/\s]+(/\d+)?"),
    "competition_sources": (("competitions/", "c/"), "the competition's slug", r"[a-z0-9-]+"),
    "kernel_sources": (("code/", "kernels/", "notebooks/"), "OWNER/KERNEL", r"[^/\s]+/[^/\s]{5,}(/\d+)?"),
    _MODELS: (("models/", "model/"), "OWNER/MODEL/FRAMEWORK/VARIATION/VERSION", r"([^/\s]+/){3}[^/\s]+(/\S*)?"),
}
_VERSIONED = re.compile(r"([^/]*/){4}\d+")


@rule("M040", "source-prefix")
def source_prefix(kernel: KernelSource) -> Iterator[Problem]:
    """A source begins with `datasets/`, `c/`, `code/` or `models/`, as its address does.

    Kaggle's own `kernels pull -m` writes them so, and does not attach them on the way back: /kaggle/input is empty.
    Take the prefix off.

    Source (2026-11-23): Kaggle/kaggle-cli#377 and #433.
    """
    for name, (prefixes, _, _) in _SOURCES.items():
        for at, ref in _numbered(kernel, name):
            if prefix := _prefix(ref, prefixes):
                rest = ref.removeprefix(prefix)
                fix = with_field(name, at, value=rest) if re.fullmatch(_SOURCES[name][2], rest) else None
                message = f'"{ref[:100]}" in {name} begins with "{prefix}", and would not be attached.'
                yield Problem(kernel.in_metadata(), message, f'Write "{rest[:100]}".', fix)


@rule("M041", "source-form")
def source_form(kernel: KernelSource) -> Iterator[Problem]:
    """A source is not of the form that its list takes.

    OWNER/DATASET, OWNER/KERNEL (whose slug has 5 characters or more), the slug of a competition, and
    OWNER/MODEL/FRAMEWORK/VARIATION/VERSION. The client refuses some of the others; the rest the server leaves out, with
    a line in an answer that the client does not show for models.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    for name, (prefixes, form, pattern) in _SOURCES.items():
        for ref in kernel.refs(name):
            if ref and not re.fullmatch(pattern, ref) and not _prefix(ref, prefixes):
                message = f'"{ref[:100]}" in {name} is not {form}.'
                yield Problem(kernel.in_metadata(), message, f"Write {form}, as it stands in the address of its page.")


@rule("M042", "model-without-version")
def model_without_version(kernel: KernelSource) -> Iterator[Problem]:
    """A model is attached without its version.

    The client takes five parts, the last a number, and refuses everything else; what the server would attach without a
    version is whatever is newest on the day of the run.
    Add the version: OWNER/MODEL/FRAMEWORK/VARIATION/3.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    prefixes, _, pattern = _SOURCES[_MODELS]
    for ref in kernel.refs(_MODELS):
        if re.fullmatch(pattern, ref) and not _prefix(ref, prefixes) and not _VERSIONED.fullmatch(ref):
            message = f'"{ref[:100]}" in {_MODELS} has no version.'
            parts = "/".join(ref.split("/")[:4])[:100]
            remedy = f'Write "{parts}/1", with the number of the version that its page shows.'
            yield Problem(kernel.in_metadata(), message, remedy)


@rule("M043", "nothing-handed-over", Severity.WARNING)
def nothing_handed_over(kernel: KernelSource) -> Iterator[Problem]:
    """The inference kernel of a pair has nothing attached beside its competition.

    What training saved reaches it as a kernel's output, a dataset or a model; kagglehub cannot attach one in a session
    that nobody sits at.
    Add the training kernel to kernel_sources.

    Source (2026-11-23): "New Models cannot be attached in non-interactive sessions", kagglehub's BackendError.
    """
    attached = [*kernel.refs("kernel_sources"), *kernel.refs("dataset_sources"), *kernel.refs("model_sources")]
    if kernel.purpose is Purpose.INFERENCE and kernel.metadata is not None and not attached:
        message = "Nothing is attached that training could have handed over."
        training = kernel.trained_by.metadata if kernel.trained_by is not None else None
        ref = training.text("id") if training is not None else ""
        wanted = f'"kernel_sources": ["{ref or "OWNER/TRAINING-KERNEL"}"]'
        yield Problem(kernel.in_metadata(), message, f"Add the training kernel: {wanted}.")


def _numbered(kernel: KernelSource, name: str) -> Iterator[tuple[int, str]]:
    """The sources of a list with their places in it."""
    value = kernel.setting(name)
    for at, ref in enumerate(value if isinstance(value, list) else ()):
        if isinstance(ref, str):
            yield at, ref


def _prefix(ref: str, prefixes: tuple[str, ...]) -> str:
    return next((prefix for prefix in prefixes if ref.startswith(prefix)), "")
