"""The folders of a workspace: pairs, the competitions' data, and the outputs of the notebooks."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from generator.workspace_files import WorkspaceFiles


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
    def choices(self) -> Path:
        """Every choice made for the pair, and by whom."""
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
        return [PairFolder(choices.parent) for choices in sorted((self.root / "kernels").glob("*/pair.toml"))]

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
