"""A notebook that somebody is editing: from a version to the fields of a form, and from those to a version again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.localkaggle.web.kernel_views import KernelView
from generator.localkaggle.web.notebook_source import SourceCell, source_cells, with_sources
from generator.sessions.scripts import notebook_of

_SEPARATORS = re.compile(r"[\s,]+")
_CELL = re.compile(r"cell-(\d{1,4})")
_KINDS = ("code", "markdown")
_INPUTS = ("competitions", "kernels", "datasets", "models")
_FIRST_CODE = """\
from pathlib import Path

for path in sorted(Path("/kaggle/input").rglob("*"))[:50]:
    print(path)
"""


@dataclass(frozen=True)
class Draft:
    """The fields of the editor as they stand; the sources are texts with one name a word.

    Attributes:
        title: The title, and by it the slug of a new notebook.
        machine: The machine's id, empty for a CPU.
        internet: True if its session may reach the network.
        is_private: True if only its owner sees it.
        competitions: The competitions whose data are mounted.
        kernels: The notebooks whose output is mounted.
        datasets: The datasets that are mounted.
        models: The models that are mounted.
        base: The notebook's text, whose cells are edited.
        is_script: True if it is a script and `base` its code.
        cells: The cells as they stand in the form.
        added: What stands in the fields for further cells, by their kind.
    """

    title: str
    machine: str = ""
    internet: bool = False
    is_private: bool = True
    competitions: str = ""
    kernels: str = ""
    datasets: str = ""
    models: str = ""
    base: str = ""
    is_script: bool = False
    language: str = "python"
    cells: tuple[SourceCell, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)

    def fields(self, *, runs: bool) -> dict[str, Any]:
        """The fields of the API's call that saves it."""
        offered = catalog().accelerators.get(self.machine)
        kind = offered.kind if offered is not None else AcceleratorKind.CPU
        return {
            "newTitle": self.title,
            "text": self.text(),
            "language": self.language,
            "kernelType": "script" if self.is_script else "notebook",
            "isPrivate": self.is_private,
            "enableInternet": self.internet,
            "enableGpu": kind is AcceleratorKind.GPU,
            "enableTpu": kind is AcceleratorKind.TPU,
            "machineShape": self.machine,
            "kernelExecutionType": "SAVE_AND_RUN_ALL" if runs else "QUICK_SAVE",
            **{
                f"{name[:-1]}DataSources": list(filter(None, _SEPARATORS.split(getattr(self, name))))
                for name in _INPUTS
            },
        }

    def text(self) -> str:
        """The notebook's text with what was typed."""
        if self.is_script:
            return self.cells[0].source if self.cells else ""
        sources = {place: cell.source for place, cell in enumerate(self.cells)}
        added = [(kind, source) for kind, source in self.added.items() if source.strip()]
        return with_sources(self.base, sources, added)


def draft_of(view: KernelView, source: str, *, title: str = "") -> Draft:
    """A version of a kernel, to be edited; with a title of its own if it is to be another kernel."""
    settings = view.version.settings
    is_script = settings.kernel_type == "script"
    inputs: dict[str, Any] = {name: " ".join(getattr(settings, name)) for name in _INPUTS}
    return Draft(
        title=title or view.kernel.title,
        machine=settings.machine_shape,
        internet=settings.internet,
        is_private=view.kernel.is_private,
        base=source,
        is_script=is_script,
        language=settings.language,
        cells=(SourceCell("script", "code", source),) if is_script else tuple(source_cells(source)),
        **inputs,
    )


def new_draft(competition: str) -> Draft:
    """A notebook to begin with, on the data of a competition if one is named."""
    base = notebook_of(_FIRST_CODE, name="inputs")
    return Draft(title="", competitions=competition, base=base, cells=tuple(source_cells(base)))


def typed(draft: Draft, form: Mapping[str, str]) -> Draft:
    """The draft with what somebody typed into its form."""
    sources = {int(found[1]): text for name, text in form.items() if (found := _CELL.fullmatch(name))}
    cells = tuple(replace(cell, source=_lines(sources.get(n, ""))) for n, cell in enumerate(draft.cells))
    inputs: dict[str, Any] = {name: form.get(name, "") for name in _INPUTS}
    return replace(
        draft,
        title=form.get("title", "").strip(),
        machine=form.get("machine", ""),
        internet="internet" in form,
        is_private="private" in form,
        cells=cells,
        added={kind: _lines(form.get(f"added-{kind}", "")) for kind in _KINDS},
        **inputs,
    )


def _lines(text: str) -> str:
    # Forms end their lines as HTTP does.
    return text.replace("\r\n", "\n").rstrip("\n")
