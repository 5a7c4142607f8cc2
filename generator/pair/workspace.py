"""The folders of a workspace, and the names of a pair's kernels."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.files import WorkspaceFiles
from generator.text import slug_of


class Role(StrEnum):
    """The two kernels of a pair."""

    TRAIN = "train"
    INFER = "infer"


@dataclass(frozen=True)
class PairFolder:
    """The files of one pair, `kernels/X`."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the pair on the command line."""
        return self.path.name

    @property
    def settings_path(self) -> Path:
        """The file of the pair's settings."""
        return self.path / "pair.toml"

    @property
    def files(self) -> WorkspaceFiles:
        """The way to write below this folder, which may come from anybody: its workspace is what the user named."""
        return WorkspaceFiles(self.path.parent.parent)

    @property
    def state(self) -> Path:
        """The folder of the kit's own files: the text as rendered, staged writes, journals."""
        return self.path / ".tandem"

    def notebook(self, role: Role) -> Path:
        """The notebook of one kernel."""
        return self.path / role / f"{role}.ipynb"

    def metadata(self, role: Role) -> Path:
        """The metadata of one kernel for Kaggle."""
        return self.path / role / "kernel-metadata.json"


@dataclass(frozen=True)
class Workspace:
    """Any folder in which `generate` writes and `run` reads."""

    root: Path

    @property
    def files(self) -> WorkspaceFiles:
        """The way to write into this folder, which may come from anybody."""
        return WorkspaceFiles(self.root)

    def pair(self, name: str) -> PairFolder:
        """The folder of a pair, whether it is there or not."""
        return PairFolder(self.root / "kernels" / name)

    def pairs(self) -> list[PairFolder]:
        """Every pair in this workspace, by name."""
        return [PairFolder(path.parent) for path in sorted((self.root / "kernels").glob("*/pair.toml"))]

    @property
    def input(self) -> Path:
        """The local mirror of `/kaggle/input`."""
        return self.root / "input"

    def competition_data(self, slug: str) -> Path:
        """A competition's files, exactly as Kaggle mounts them."""
        return self.input / "competitions" / slug

    def specimen(self, slug: str) -> Path:
        """A specimen of a competition's data, beside everything that Kaggle mounts."""
        return self.input / "specimens" / slug

    def output(self, pair_name: str) -> Path:
        """The folder that the notebooks of a pair write to: `train/` and `infer/` below it mirror `/kaggle/working`."""
        return self.root / "output" / pair_name


# The names of a pair's two kernels on Kaggle.


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


def kernel_name(pair_values: Mapping[str, Any], role: Role) -> KernelName:
    """The name of one of the two kernels, from the settings of a pair by their keys."""
    ending = f"{pair_values['framework']}-{role}".replace("_", "-")
    # Another pair of the same competition has a name of its own, so that the two do not write into the same kernels.
    name = str(pair_values.get("name") or pair_values["competition"])
    # One that `generate --framework` put beside the usual pair is called after its framework already.
    name = name.removesuffix(f"-{pair_values['framework']}") or name
    stem = _shorten_slug(name, _LONGEST_TITLE - len(ending) - 1)
    title = f"{stem}-{ending}".replace("-", " ")
    return KernelName(title=title[0].upper() + title[1:], owner=pair_values["owner"])


def dataset_beside(kernel: str, ending: str) -> str:
    """The dataset of a kernel's owner that is named like the kernel, with an ending."""
    owner, _, slug = kernel.partition("/")
    return f"{owner}/{slug[: _LONGEST_DATASET - len(ending)].strip('-')}{ending}"


def _shorten_slug(slug: str, room: int) -> str:
    """Cuts a slug at a hyphen, and adds four digits of its hash so that two long ones do not become the same."""
    slug = slug_of(slug)
    if len(slug) <= room:
        return slug
    digest = hashlib.sha256(slug.encode()).hexdigest()[:4]
    start = slug[: room - len(digest)]
    return f"{start.rpartition('-')[0] or start[:-1]}-{digest}"


# The commit that a pair was run or pushed from, asked of git.


def git_commit(folder: Path) -> str:
    """The commit of a folder's files, with `+` where they were changed since; empty outside of a repository.

    Settings of a repository name programs, which git executes as it looks for changes: monitors, filters, what fetches
    missing objects. Whoever sent the workspace may have written them, so git looks without them.
    """
    import subprocess
    import tempfile

    def run_git(*arguments: str, **variables: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        process = subprocess.run(  # noqa: S603 - no shell
            command,
            capture_output=True,
            text=True,
            timeout=8,
            check=True,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", **variables},
        )
        return process.stdout.strip()

    try:
        commit = run_git("rev-parse", "--verify", "HEAD")
        top, *places = run_git(
            *("rev-parse", "--path-format=absolute", "--show-toplevel"),
            *("--git-path", "objects", "--git-path", "index"),
        ).splitlines()
        objects, index = places
        with tempfile.TemporaryDirectory() as clean:
            for name in ("objects", "refs"):
                Path(clean, name).mkdir()
            Path(clean, "HEAD").write_text(f"{commit}\n", encoding="ascii")
            apart = {"GIT_DIR": clean, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": index}
            changes = run_git("status", "--porcelain", "--ignore-submodules=all", "--", ".", **apart)
        return commit[:12] + ("+" if changes else "")
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
