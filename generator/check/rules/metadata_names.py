"""Rules of what a kernel is called and which file it is: metadata that Kaggle refuses or takes for another kernel's."""

import json
from collections.abc import Iterator

from generator.check.finding import Severity
from generator.check.fix import with_field, without_field
from generator.check.rule import Problem, rule
from generator.check.source import KernelSource, Part
from generator.untrusted import slug_of

_SHORTEST, _LONGEST_TITLE = 5, 50
_LANGUAGES, _KERNEL_TYPES = ("python", "r", "rmarkdown"), ("script", "notebook")
_SWITCHES = ("is_private", "enable_gpu", "enable_tpu", "enable_internet")
_MEANT = {"yes": True, "on": True, "1": True, "t": True, "y": True, "no": False, "off": False, "0": False, "f": False}
_MEANT |= {"n": False, "true": True, "false": False}
_LISTS = ("dataset_sources", "competition_sources", "kernel_sources", "model_sources", "keywords")


@rule("M001", "unreadable-metadata")
def unreadable_metadata(kernel: KernelSource) -> Iterator[Problem]:
    """kernel-metadata.json is not a JSON object.

    Kaggle's client reads nothing else, and a comma too many is enough: nothing is pushed.
    Mend the line that the message names; `kaggle kernels init -p FOLDER` writes a fresh file to compare with.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.fault is not None and kernel.fault.part is Part.METADATA:
        yield Problem(kernel.in_metadata(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("M002", "title-length")
def title_length(kernel: KernelSource) -> Iterator[Problem]:
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
        yield Problem(kernel.in_metadata(), message, 'Write a "title" of 5 to 50 characters, and its slug in "id".')


@rule("M003", "slug-mismatch")
def slug_mismatch(kernel: KernelSource) -> Iterator[Problem]:
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
        wanted = f'"id": "{owner or "OWNER"}/{slug[:100]}"'
        remedy = f"Write {wanted}, or the title that the id is the slug of; else the kernel is lost."
        yield Problem(kernel.in_metadata(), message, remedy, fix)


@rule("M004", "code-file")
def code_file(kernel: KernelSource) -> Iterator[Problem]:
    """code_file names no notebook, or no script, of the kernel's folder.

    It is the only file that is pushed: helper modules beside it stay behind, and a name that leads elsewhere could send
    a file that nobody meant.
    Put the notebook beside the metadata, and name it.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.fault is not None and kernel.fault.part is Part.CODE_FILE:
        yield Problem(kernel.in_metadata(), f"{kernel.fault.message}.", kernel.fault.remedy)


@rule("M005", "language-or-type")
def language_or_type(kernel: KernelSource) -> Iterator[Problem]:
    """The language or the kernel_type is none that Kaggle knows, or not that of the file.

    The client takes python, r and rmarkdown, script and notebook; the type cannot be changed once the kernel exists.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is None:
        return
    for name, known in (("language", _LANGUAGES), ("kernel_type", _KERNEL_TYPES)):
        said = kernel.metadata.get(name)
        if said not in known:
            message = f"Its {name} is {_shown(said)}." if said is not None else f"It has no {name}."
            meant = str(said).strip().casefold()
            fix = with_field(name, value=meant) if meant in known else None
            written = f'"{name}": "{meant}"' if fix else " or ".join(f'"{name}": "{each}"' for each in known)
            yield Problem(kernel.in_metadata(), message, f"Write {written}.", fix)
    if kernel.metadata.get("kernel_type") == "script" and kernel.code.path.suffix == ".ipynb":
        message = f"Its kernel_type is script, and {kernel.code.path.name} is a notebook."
        fix = with_field("kernel_type", value="notebook")
        yield Problem(kernel.in_metadata(), message, 'Write "kernel_type": "notebook".', fix)


@rule("M006", "field-type")
def field_type(kernel: KernelSource) -> Iterator[Problem]:
    """A switch is neither true nor false, or sources or keywords are no list of texts.

    The client refuses other texts than "true" and "false", and iterates over a source that is a text letter by letter.

    Source (2026-11-23): kernels_push in kaggle 2.2.
    """
    if kernel.metadata is None:
        return
    for name in _SWITCHES:
        said = kernel.metadata.get(name)
        if said is not None and str(said).lower() not in ("true", "false"):
            meant = _MEANT.get(str(said).strip().casefold())
            fix = None if meant is None else with_field(name, value=meant)
            written = "true or false" if meant is None else f'"{name}": {json.dumps(meant)}'
            yield Problem(kernel.in_metadata(), f"Its {name} is {_shown(said)}.", f"Write {written}.", fix)
    for name in _LISTS:
        said = kernel.metadata.get(name)
        if said is not None and not (isinstance(said, list) and all(isinstance(each, str) for each in said)):
            message = f"Its {name} is {_shown(said)}."
            fix = with_field(name, value=[said] if said else []) if isinstance(said, str) else None
            yield Problem(kernel.in_metadata(), message, f'Write "{name}": ["…"], or "{name}": [] for none.', fix)


@rule("M007", "number-of-a-pulled-kernel", Severity.NOTE)
def number_of_a_pulled_kernel(kernel: KernelSource) -> Iterator[Problem]:
    """id_no is left over from `kaggle kernels pull -m`.

    Where both are there the server goes by the number and not by the id, so that a copy under a new name is pushed into
    the kernel that it was copied from, or refused as somebody else's.
    Remove the line: the id says it all.

    Source (2026-11-23): kernels_push in kaggle 2.2; Kaggle/kaggle-cli#1197.
    """
    if kernel.metadata is not None and kernel.metadata.get("id_no") is not None:
        message = f"It has an id_no ({_shown(kernel.metadata['id_no'])}), by which Kaggle goes before its id."
        ref, title = kernel.metadata.text("id"), kernel.metadata.text("title")
        is_complete = ref.count("/") == 1 and ref.partition("/")[2] == slug_of(title)
        fix = without_field("id_no") if is_complete else None
        remedy = 'Remove the line "id_no", unless the kernel is your own.'
        yield Problem(kernel.in_metadata(), message, remedy, fix)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"  # noqa: PLR2004 - a line of a terminal
