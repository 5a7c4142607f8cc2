"""Rules of what is attached to a kernel: sources that Kaggle leaves out without an error."""

import re
from collections.abc import Iterator

from generator.check.finding import Severity
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource, Purpose

_PREFIXES = {
    "dataset_sources": ("datasets/", "dataset/"),
    "competition_sources": ("competitions/", "c/"),
    "kernel_sources": ("code/", "kernels/", "notebooks/"),
    "model_sources": ("models/", "model/"),
}
_FORMS = {
    "dataset_sources": ("OWNER/DATASET", re.compile(r"[^/\s]+/[^/\s]+(/\d+)?")),
    "competition_sources": ("the competition's slug", re.compile(r"[a-z0-9-]+")),
    "kernel_sources": ("OWNER/KERNEL", re.compile(r"[^/\s]+/[^/\s]{5,}(/\d+)?")),
    "model_sources": (
        "OWNER/MODEL/FRAMEWORK/VARIATION/VERSION",
        re.compile(r"[^/\s]+/[^/\s]+/[^/\s]+/[^/\s]+(/\S*)?"),
    ),
}
_PARTS_WITH_VERSION = 5


@rule("M040", "source-prefix")
def source_prefix(kernel: KernelSource) -> Iterator[Problem]:
    """A source begins with `datasets/`, `c/`, `code/` or `models/`, as its address does.

    Kaggle's own `kernels pull -m` writes them so, and does not attach them on the way back: /kaggle/input is empty.
    Take the prefix off.

    Source: Kaggle/kaggle-cli#377 and #433.
    """
    for name, prefixes in _PREFIXES.items():
        for ref in kernel.refs(name):
            if prefix := _prefix(ref, prefixes):
                message = f'"{ref[:100]}" in {name} begins with "{prefix}", and would not be attached.'
                yield Problem(kernel.in_metadata(), message, f'Write "{ref.removeprefix(prefix)[:100]}".')


@rule("M041", "source-form")
def source_form(kernel: KernelSource) -> Iterator[Problem]:
    """A source is not of the form that its list takes.

    OWNER/DATASET, OWNER/KERNEL (whose slug has 5 characters or more), the slug of a competition, and
    OWNER/MODEL/FRAMEWORK/VARIATION/VERSION. The client refuses some of the others; the rest the server leaves out, with
    a line in an answer that the client does not show for models.

    Source: kernels_push in kaggle 2.2.
    """
    for name, (form, pattern) in _FORMS.items():
        for ref in kernel.refs(name):
            if not pattern.fullmatch(ref) and not _prefix(ref, _PREFIXES[name]):
                message = f'"{ref[:100]}" in {name} is not {form}.'
                yield Problem(kernel.in_metadata(), message, f"Write {form}, as it stands in the address of its page.")


@rule("M042", "model-without-version")
def model_without_version(kernel: KernelSource) -> Iterator[Problem]:
    """A model is attached without its version.

    The client takes five parts, the last a number, and refuses everything else; what the server would attach without a
    version is whatever is newest on the day of the run.
    Add the version: OWNER/MODEL/FRAMEWORK/VARIATION/3.

    Source: kernels_push in kaggle 2.2.
    """
    form, pattern = _FORMS["model_sources"]
    for ref in kernel.refs("model_sources"):
        parts = ref.split("/")
        if _prefix(ref, _PREFIXES["model_sources"]) or not pattern.fullmatch(ref):
            continue
        if len(parts) != _PARTS_WITH_VERSION or not parts[-1].isdecimal():
            message = f'"{ref[:100]}" in model_sources has no version.'
            yield Problem(kernel.in_metadata(), message, f"Add the number of one: {form}.")


@rule("M043", "nothing-handed-over", Severity.WARNING)
def nothing_handed_over(kernel: KernelSource) -> Iterator[Problem]:
    """The inference kernel of a pair has nothing attached beside its competition.

    What training saved reaches it as a kernel's output, a dataset or a model; kagglehub cannot attach one in a session
    that nobody sits at.
    Add the training kernel to kernel_sources.

    Source: "New Models cannot be attached in non-interactive sessions", kagglehub's BackendError.
    """
    attached = [*kernel.refs("kernel_sources"), *kernel.refs("dataset_sources"), *kernel.refs("model_sources")]
    if kernel.purpose is Purpose.INFERENCE and kernel.metadata is not None and not attached:
        message = "Nothing is attached that training could have handed over."
        yield Problem(kernel.in_metadata(), message, "Add the training kernel to kernel_sources.")


def _prefix(ref: str, prefixes: tuple[str, ...]) -> str:
    return next((prefix for prefix in prefixes if ref.startswith(prefix)), "")
