"""Edits made on Kaggle come back into the pair, and forks become pairs, against a local Kaggle that is served."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chain_pair import pair_in, training_output
from fault_cells import SAMPLE, competition
from miniature import Outcome, tree_of
from scripted import ScriptedRunner, writing
from serving import Served, served

from generator.local_server import ROOT_VARIABLE
from generator.pair.workspace import PairFolder, Role
from generator.sessions.sandbox import SessionOrder

Tandem = Callable[..., Outcome]
Cells = list[dict[str, Any]]
PUSH = ("push", "cells", "--to", "local", "--no-verify", "--yes")
PULL = ("pull", "cells", "--to", "local", "--yes")
SAVE, GET = "kernels.KernelsApiService/SaveKernel", "kernels.KernelsApiService/GetKernel"


@pytest.fixture
def pair(tmp_path: Path) -> PairFolder:
    return pair_in(tmp_path, slug="cells-code", name="cells")


@pytest.fixture
def local(pair: PairFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A local Kaggle that the command line finds, with one small competition and scripted sessions."""
    outputs = training_output(pair)

    def script(order: SessionOrder) -> None:
        writing(outputs if "-train" in order.title else {"submission.csv": SAMPLE})(order)

    hosted = [competition(tmp_path / "hosted", "cells-code", is_code=True)]
    with served(tmp_path / "kaggle", competitions=hosted, runner=ScriptedRunner(script)) as running:
        running.record(tmp_path / "kaggle")
        monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "kaggle"))
        monkeypatch.chdir(tmp_path)
        yield running


def edit_in_browser(local: Served, role: str, edit: Callable[[Cells], object]) -> None:
    """Saves a version as Kaggle's editor does: without ids, with outputs, the editor's block and a pinned image."""
    slug = f"cells-{role}"
    status, kernel = local.ask(GET, userName=local.account, kernelSlug=slug)
    assert status == 200
    notebook = json.loads(kernel["blob"]["source"])
    edit(notebook["cells"])
    for number, cell in enumerate(notebook["cells"]):
        cell.pop("id", None)
        cell["metadata"] = {**cell["metadata"], "trusted": True, "_uuid": f"{number:032x}"}
        if cell["cell_type"] == "code":
            output = {"output_type": "stream", "name": "stdout", "text": "epoch 1"}
            cell |= {"execution_count": number, "outputs": [output]}
    notebook["metadata"]["kaggle"] = {"accelerator": "gpu", "dockerImageVersionId": 31089, "dataSources": []}
    notebook["nbformat_minor"] = 4
    fields = {key: kernel["metadata"][f"{key}DataSources"] for key in ("competition", "kernel", "dataset")}
    local.save_kernel(
        kernel["metadata"]["title"],
        json.dumps(notebook),
        id=kernel["metadata"]["id"],
        slug=f"{local.account}/{slug}",
        machineShape=kernel["metadata"]["machineShape"],
        dockerImage="gcr.io/kaggle-images/python@sha256:0",
        kernelExecutionType="QUICK_SAVE",
        **{f"{key}DataSources": refs for key, refs in fields.items()},
    )


def sources(pair: PairFolder, role: Role = Role.TRAIN) -> dict[str, str]:
    """The text of each cell of a notebook, which is valid."""
    notebook = nbformat.read(pair.notebook(role), as_version=4)
    nbformat.validate(notebook)
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}


def change_epochs_and_model(cells: Cells) -> None:
    for cell in cells:
        cell["source"] = cell["source"].replace("EPOCHS = 20", "EPOCHS = 7").replace('"relu"', '"gelu"')
    cells.insert(2, {"cell_type": "markdown", "metadata": {}, "source": "A note from the browser."})
    del cells[-1]


def test_an_edit_in_the_browser_comes_back_and_is_pushed_again(
    local: Served, tandem: Tandem, pair: PairFolder, tmp_path: Path
) -> None:
    assert tandem(*PUSH).code == 0
    untouched = tree_of(pair.path)
    outcome = tandem("pull", "cells", "--to", "local", "--json")  # no --yes: nothing is written
    assert json.loads(outcome.out)["changes"] == []
    assert {path: text for path, text in tree_of(pair.path).items() if "pulled" not in path} == untouched

    before = sources(pair)
    edit_in_browser(local, "train", change_epochs_and_model)
    shown = tandem("pull", "cells", "--to", "local", "--dry-run")
    assert shown.code == 0
    assert "+EPOCHS = 7" in shown.out
    assert "outputs, the editor's settings (metadata.kaggle), a pinned image." in shown.err
    assert sources(pair) == before
    assert tandem("pull", "cells", "--to", "local").code == 2  # nobody can be asked

    assert tandem(*PULL).code == 0

    now = sources(pair)
    added = [name for name in now if name not in before]
    assert [now[name] for name in added] == ["A note from the browser."]
    assert [name for name in before if name not in now] == ["save-artifacts"]
    assert {name for name in now if name in before and now[name] != before[name]} == {"parameters", "define-model"}
    text = pair.notebook(Role.TRAIN).read_text()
    assert not any(word in text for word in ("epoch 1", '"kaggle"', "_uuid", "31089"))
    assert "docker_image" not in pair.metadata(Role.TRAIN).read_text()
    assert "No cell differs." in tandem(*PULL).out
    # What was pulled is no edit that a push would go over.
    assert tandem(*PUSH, "--restart").code == 0
    assert "No cell differs." in tandem(*PULL).out
