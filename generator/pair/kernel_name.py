"""The names of a pair's two kernels on Kaggle."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.pair.workspace import Role
from generator.untrusted import slug_of

_LONGEST_TITLE = 50
_LONGEST_DATASET = 50


@dataclass(frozen=True)
class KernelName:
    """The name of a kernel: `title` is 5 to 50 characters, and its slug is the kernel's slug on Kaggle."""

    title: str
    owner: str

    @property
    def slug(self) -> str:
        """The slug that Kaggle makes of the title."""
        return slug_of(self.title)

    @property
    def ref(self) -> str:
        """The id in `kernel-metadata.json`."""
        return f"{self.owner}/{self.slug}"


def kernel_name(chosen: Mapping[str, Any], role: Role) -> KernelName:
    """The name of one of the two kernels, from the choices of a pair by their keys."""
    ending = f"{chosen['framework']}-{role}".replace("_", "-")
    # Another pair of the same competition has a name of its own, so that the two do not write into the same kernels.
    name = str(chosen.get("name") or chosen["competition"])
    # One that `generate --framework` put beside the usual pair is called after its framework already.
    name = name.removesuffix(f"-{chosen['framework']}") or name
    stem = _shortened(name, _LONGEST_TITLE - len(ending) - 1)
    title = f"{stem}-{ending}".replace("-", " ")
    return KernelName(title=title[0].upper() + title[1:], owner=chosen["owner"])


def dataset_beside(kernel: str, ending: str) -> str:
    """The dataset of a kernel's owner that is named like the kernel, with an ending."""
    owner, _, slug = kernel.partition("/")
    return f"{owner}/{slug[: _LONGEST_DATASET - len(ending)].strip('-')}{ending}"


def _shortened(slug: str, room: int) -> str:
    """Cuts a slug at a hyphen, and adds four digits of its hash so that two long ones do not become the same."""
    slug = slug_of(slug)
    if len(slug) <= room:
        return slug
    digest = hashlib.sha256(slug.encode()).hexdigest()[:4]
    start = slug[: room - len(digest)]
    return f"{start.rpartition('-')[0] or start[:-1]}-{digest}"
