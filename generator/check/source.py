"""A kernel as it is checked: its metadata, and the code of its notebook."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.check.code import NotebookCode
from generator.check.finding import Place
from generator.untrusted import JsonObject


class Purpose(StrEnum):
    """What a kernel is for, as far as its metadata and place tell."""

    TRAINING = "train"
    INFERENCE = "infer"
    UNKNOWN = "unknown"


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

    def in_metadata(self) -> Place:
        """The place of a problem of the metadata."""
        return Place(self.metadata_path or self.code.path)

    def setting(self, name: str) -> Any:
        """A value of the metadata, or None."""
        return None if self.metadata is None else self.metadata.get(name)
