"""Notebooks on a Kaggle, named OWNER/NAME or OWNER/NAME/VERSION as in their addresses."""

import re
from dataclasses import dataclass, replace

from generator.files import read_json
from generator.kaggle.chain.journal import Journals, KernelHistory
from generator.kaggle.errors import KaggleError
from generator.kaggle.gateway import Kaggle
from generator.pair.notebook import digest_of_cells
from generator.pair.pull import ForeignNotebook, nearest_base, read_foreign
from generator.pair.update import rendered_notebook
from generator.pair.workspace import PairFolder, Role
from generator.text import JsonObject, is_slug, printable

_ADDRESS = re.compile(r"(?:https?://)?(?:[a-z]+\.)?kaggle\.com/(?:code/)?", re.IGNORECASE)
_REF = re.compile(r"(?P<ref>[\w-]+/[\w-]+)(?:/v?(?P<version>[1-9][0-9]{0,5}))?/?", re.ASCII)


@dataclass(frozen=True)
class KernelRef:
    """A kernel, in one of its versions; `version` is None for the newest."""

    ref: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.ref}/{self.version}" if self.version else self.ref


def parse_kernel_ref(text: str) -> KernelRef | None:
    """Return the kernel that a text names, by its name or its address; None if it names none."""
    match = _REF.fullmatch(_ADDRESS.sub("", text.strip(), count=1))
    if match is None or not all(is_slug(part.lower()) for part in match["ref"].split("/")):
        return None
    return KernelRef(match["ref"], int(match["version"]) if match["version"] else None)


def fetch_notebook(kaggle: Kaggle, kernel: KernelRef) -> ForeignNotebook:
    """Read a version of a kernel.

    Raises:
        KaggleError: There is no such kernel or version, or Kaggle does not answer.
        NotebookReadError: It is no notebook.
    """
    if (remote := find_notebook(kaggle, kernel)) is None:
        raise KaggleError(
            f"There is no notebook {printable(str(kernel))} on {_place(kaggle)}, or this account may not see it.",
            remedy="Write OWNER/NAME or OWNER/NAME/VERSION as in the address of its page.",
            code="kernel-not-found",
        )
    return remote


def find_notebook(kaggle: Kaggle, kernel: KernelRef) -> ForeignNotebook | None:
    """Read a version of a kernel; None if there is none.

    Raises:
        KaggleError: Kaggle does not answer.
        NotebookReadError: It is no notebook.
    """
    remote = kaggle.kernels.find(kernel.ref, kernel.version)
    if remote is None:
        return None
    content = remote.source.encode("utf-8", "backslashreplace")
    notebook = read_foreign(content, label=f"{kernel.ref}/{remote.version}")
    record = {
        "ref": kernel.ref,
        "version": remote.version,
        "address": kaggle.address,
        "digest": digest_of_cells(remote.source),
        "competitions": list(remote.competitions),
    }
    omissions = (*notebook.omissions, *(["a pinned image"] if remote.docker_image else []))
    return replace(notebook, omissions=omissions, author="Kaggle", record=JsonObject(record))


def kernel_id(folder: PairFolder, role: Role) -> str:
    """Return the id OWNER/NAME that a notebook of a pair has on Kaggle; empty if its metadata have none."""
    return read_json(folder.metadata(role)).text("id")


def merge_base(folder: PairFolder, role: Role, notebook: ForeignNotebook) -> bytes:
    """Return the version of a pair's notebook that another version of it stems from."""
    history = KernelHistory(folder, Journals(folder))
    base = history.base(role, notebook.record) if notebook.record else None
    return base or nearest_base(notebook, [*history.versions(role), *rendered_notebook(folder, role)])


def _place(kaggle: Kaggle) -> str:
    return "the local Kaggle" if kaggle.is_local else "Kaggle"
