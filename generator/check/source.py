"""A kernel as it is checked: its metadata, and the code of its notebook."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.check.code import NotebookCode
from generator.check.finding import Place
from generator.untrusted import JsonObject


class Purpose(StrEnum):
    """What a kernel is for, as far as its metadata and place tell."""

    TRAINING = "train"
    INFERENCE = "infer"
    UNKNOWN = "unknown"


class Part(StrEnum):
    """The parts of a kernel that can be unreadable."""

    METADATA = "metadata"
    CODE_FILE = "code file"
    NOTEBOOK = "notebook"


@dataclass(frozen=True)
class Fault:
    """Why a part of a kernel could not be read; what hangs on it is empty then."""

    part: Part
    message: str
    remedy: str


@dataclass(frozen=True)
class CompilerWord:
    """What the TPU's compiler said of a notebook, of one of the kinds that the rules C… are for."""

    kind: str
    message: str
    remedy: str
    cell: str = ""
    line: int = 0


@dataclass(frozen=True, eq=False)  # it is what it is, so that what is known of it can be kept
class KernelSource:
    """A kernel's folder, or a notebook alone: then there is no metadata."""

    code: NotebookCode
    notebook: JsonObject = field(default_factory=JsonObject)  # as it was written, with outputs
    metadata: JsonObject | None = None
    metadata_path: Path | None = None
    purpose: Purpose = Purpose.UNKNOWN
    needs_internet_off: bool = False  # it is the inference of a code competition
    submission_name: str = ""  # what the competition calls a submission, where that is known
    text: str = ""  # of the notebook's file
    fault: Fault | None = None
    compiler: tuple[CompilerWord, ...] = ()  # where somebody asked it
    trained_by: "KernelSource | None" = None  # of the inference of a pair, its training
    is_python: bool = True  # else its code is not read

    def in_metadata(self) -> Place:
        """The place of a problem of the metadata."""
        return Place(self.metadata_path or self.code.path)

    def in_notebook(self) -> Place:
        """The place of a problem of the notebook as a whole."""
        return Place(self.code.path)

    def setting(self, name: str) -> Any:
        """A value of the metadata, or None."""
        return None if self.metadata is None else self.metadata.get(name)

    def is_on(self, name: str) -> bool:
        """True if a switch of the metadata is on; Kaggle's client takes texts as well."""
        return str(self.setting(name)).lower() == "true"

    def refs(self, name: str) -> tuple[str, ...]:
        """A list of texts in the metadata, such as `kernel_sources`."""
        value = self.setting(name)
        return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()

    @property
    def scripts(self) -> tuple["KernelSource", ...]:
        """The Python files that its cells write, each as a kernel that has only their code."""
        notebook = JsonObject({"metadata": self.notebook.get("metadata") or {}}) if self.notebook else self.notebook
        return tuple(
            replace(self, code=script, notebook=notebook, text="", trained_by=None, compiler=())
            for script in self.code.scripts
        )

    @property
    def machine_shape(self) -> str:
        """The machine that the metadata name; `kaggle kernels pull -m` writes "None" for none."""
        shape = "" if self.metadata is None else self.metadata.text("machine_shape")
        return "" if shape.lower() == "none" else shape

    @property
    def accelerator(self) -> AcceleratorKind | None:
        """What the metadata ask for; None without metadata, or where they name a shape that is not in the catalog."""
        if self.metadata is None:
            return None
        shape = self.machine_shape
        if shape and shape.lower() != "gpu":
            known = catalog().accelerators.get(shape) or catalog().retired.get(shape)
            return None if known is None else known.kind
        if self.is_on("enable_tpu"):
            return AcceleratorKind.TPU
        return AcceleratorKind.GPU if shape or self.is_on("enable_gpu") else AcceleratorKind.CPU

    @property
    def is_on_tpu(self) -> bool:
        """True if the metadata ask for a TPU, a retired one included."""
        is_tpu = self.accelerator is AcceleratorKind.TPU or str(self.setting("machine_shape")).lower().startswith("tpu")
        return is_tpu or "tpu1vm" in str(self.setting("machine_shape")).lower()

    @property
    def is_on_t4(self) -> bool:
        """True if the metadata ask for a machine with T4."""
        return self.setting("machine_shape") in ("NvidiaTeslaT4", "NvidiaTeslaT4Highmem")

    @property
    def has_no_internet(self) -> bool:
        """True if the notebook will run without a network."""
        return self.needs_internet_off or str(self.setting("enable_internet")).lower() == "false"
