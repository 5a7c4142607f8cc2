"""A desk for the kernels of a local Kaggle, whose sessions run inside of the push unless slots are asked for."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from desk import Desk
from scripted import ScriptedRunner

from generator.localkaggle.rpc import Call
from generator.localkaggle.services.kernel_sessions import SessionRules
from generator.localkaggle.services.kernel_sources import Sources
from generator.localkaggle.services.kernels import Kernels
from generator.sessions.runner import Runner

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": "1"}
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
ME = {"userName": "tester", "kernelSlug": "my-train"}


class KernelDesk(Desk):
    """Kernels on a folder."""

    service: Kernels

    def __init__(
        self,
        root: Path,
        runner: Runner | None = None,
        *,
        faults: tuple[str, ...] = (),
        sources: Sources | None = None,
        rules: SessionRules | None = None,
    ) -> None:
        self.runner = runner or ScriptedRunner()
        make = partial(Kernels, runner=self.runner, sources=sources, rules=rules or SessionRules(slots=0))
        make.SCHEMA = Kernels.SCHEMA
        super().__init__(root, make, faults=faults)

    def push(self, title: str = "My Train", **fields: Any) -> Any:
        """Saves a kernel, and runs it unless told otherwise."""
        whole = {"slug": "tester/my-train", "newTitle": title, "text": NOTEBOOK, "kernelType": "notebook", **fields}
        return self.ask("SaveKernel", language="python", **whole)

    def status(self, **fields: Any) -> Any:
        """The state of the newest version of `my-train`, or of what the fields name."""
        return self.ask("GetKernelSessionStatus", **{**ME, **fields})["status"]

    def output(self, **fields: Any) -> list[str]:
        """The names of the files that `my-train` wrote."""
        return [file["fileName"] for file in self.ask("ListKernelSessionOutput", **{**ME, **fields})["files"]]

    def log(self, **fields: Any) -> str:
        """The text of the log of `my-train`."""
        log = self.ask("ListKernelSessionOutput", **{**ME, **fields})["log"]
        return "".join(event["data"] for event in json.loads(log or "[]"))

    def close(self) -> None:
        """What a server does when it ends."""
        self.service.close()
        super().close()


def stream_call(**fields: Any) -> Call:
    """The call that the live stream of a log stands for."""
    return Call("kernels/logs/stream", "tester", "http://localhost", {**ME, **fields})


class Folders:
    """Competitions, datasets and models that are folders below one, by their names."""

    def __init__(self, root: Path, names: dict[str, dict[str, str]]) -> None:
        self._root = root
        self._names = names
        for name, files in names.items():
            for path, text in files.items():
                target = root / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)

    def is_known(self, slug: str) -> bool:
        return slug in self._names

    def data_folder(self, slug: str, *, hidden: bool) -> Path | None:
        name = f"{slug}-hidden" if hidden else slug
        return self._root / name if name in self._names else None

    def dataset_folder(self, ref: str, *, account: str = "") -> Path | None:
        return self._root / ref if ref in self._names else None

    def model_folder(self, handle: str, *, account: str = "") -> Path | None:
        name = handle if handle in self._names else f"{handle}/1"
        return self._root / name if name in self._names else None
