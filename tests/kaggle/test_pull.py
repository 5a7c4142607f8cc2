"""Edits made on Kaggle come back into the pair, and forks become pairs, against a local Kaggle that is served."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chain_pair import edit_notebook, edited, pair_in, training_output
from fault_cells import SAMPLE, competition
from miniature import Outcome, tree_of
from recorded_runs import record
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
    # The model is in both notebooks. What was pulled is no edit that a push would go over.
    assert tandem("update", "cells", "--share", "define-model").code == 0
    with edited(pair.notebook(Role.TRAIN)) as notebook:
        notebook["cells"][0]["source"] = "# My own title"
    outcome = tandem(*PUSH, "--restart")
    assert outcome.code == 0, outcome.err
    assert "No cell differs." in tandem(*PULL).out


def test_undo_takes_a_pull_back_so_that_a_push_refuses_and_a_pull_brings_it_again(
    local: Served, tandem: Tandem, pair: PairFolder
) -> None:
    assert tandem(*PUSH).code == 0
    before = tree_of(pair.path / "train")
    edit_in_browser(local, "train", lambda cells: cells[-1].update(source="print('theirs')"))
    assert tandem(*PULL).code == 0
    after = tree_of(pair.path / "train")
    assert tandem("undo", "cells").code == 0
    assert tree_of(pair.path / "train") == before

    refusal = tandem(*PUSH, "--restart")

    assert "cells changed: save-artifacts" in refusal.err
    assert "tandem pull cells --to local" in refusal.err
    assert tandem(*PULL).code == 0
    assert tree_of(pair.path / "train") == after


def test_both_sides_edit_one_cell(local: Served, tandem: Tandem, pair: PairFolder) -> None:
    assert tandem(*PUSH).code == 0
    edit_notebook(pair, "train")
    edit_in_browser(local, "train", lambda cells: cells[-1].update(source="print('theirs')"))

    outcome = tandem(*PULL)

    assert outcome.code == 1
    assert "Conflicts between your edits and Kaggle in train/train.ipynb: save-artifacts." in outcome.err
    now = sources(pair)
    assert now["save-artifacts"] == "# changed by hand"
    companion = now["save-artifacts-other"].splitlines()
    assert companion[0].startswith("# Kaggle's version of the cell")
    assert companion[-1] == "# print('theirs')"
    assert tandem(*PULL).code == 0  # said once


def test_an_older_version_and_a_file_come_back_as_well(
    local: Served, tandem: Tandem, pair: PairFolder, tmp_path: Path
) -> None:
    assert tandem(*PUSH).code == 0
    original = sources(pair, Role.INFER)["submit"]
    edit_in_browser(local, "infer", lambda cells: cells[-1].update(source="print('second')"))
    edit_in_browser(local, "infer", lambda cells: cells[-1].update(source="print('third')"))
    ref = f"{local.account}/cells-infer"
    assert "+print('third')" not in tandem("diff", "cells", "--from", f"{ref}/2", "--to", "local").out

    assert tandem(*PULL, "--from", f"{ref}/2").code == 0
    assert sources(pair, Role.INFER)["submit"] == "print('second')"
    assert tandem("diff", "cells", "--from", f"{ref}/2", "--to", "local").out == "No cell differs.\n"
    edit_in_browser(local, "infer", lambda cells: cells[-1].update(source=original))  # somebody reverts it there
    assert tandem(*PULL).code == 0
    assert sources(pair, Role.INFER)["submit"] == original

    file = tmp_path / "downloads.ipynb"
    notebook = json.loads(pair.notebook(Role.INFER).read_text())
    notebook["cells"][-1]["source"] = "print('file')"
    injected = {"cell_type": "code", "metadata": {"tags": ["injected-parameters"]}, "source": "BATCH_SIZE = 8"}
    notebook["cells"].insert(3, injected)  # papermill's
    file.write_text(json.dumps(notebook))
    assert tandem(*PULL, "--from", file).code == 0
    assert sources(pair, Role.INFER)["submit"] == "print('file')"
    assert "BATCH_SIZE = 8" not in sources(pair, Role.INFER).values()

    for source, message in (
        (f"{ref}/9", "There is no notebook"),
        ("no/such/thing/at-all", "is neither a file nor a notebook on Kaggle"),
        ("missing.ipynb", "does not exist"),
    ):
        outcome = tandem(*PULL, "--from", source)
        assert outcome.code == 1
        assert message in outcome.err


def raw(**changes: Any) -> str:
    cell = {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("print('a script')", "is not a notebook"),
        (raw(cells=[]), "it has no cells"),
        (raw(nbformat=3), "it is not of format 4"),
        (raw(cells=["x"]), "cell 1 is not an object"),
        (raw(cells=[{"cell_type": "code", "source": {"a": 1}}]), "the source of cell 1 is not text"),
        (raw(cells=[{"cell_type": "code", "source": ["a", 1]}]), "the source of cell 1 is not text"),
        (raw(cells=[{"cell_type": ["code"], "source": "x"}]), "cell 1 is no cell of format 4"),
        (raw(cells=[{"cell_type": "raw", "source": "x"}] * 2_001), "it has more than 2,000 cells"),
        (raw(cells=[{"cell_type": "raw", "source": "x" * (4 << 20) + "x"}]), "more than 4 MB of text"),
        (raw(cells=[{"cell_type": "raw", "source": "\n" * 50_001}]), "more than 50,000 lines"),
        ('{"cells": [' + "[" * 100_000, "is not a notebook"),
        (raw(cells=[{"cell_type": "code", "source": 'COMPETITION = "cells-code"\nPAIR_ID = "other"',
                     "metadata": {"tags": ["parameters"]}}]), "belongs to the pair other"),
    ],
)  # fmt: skip
def test_what_is_no_version_of_the_notebook_is_refused_in_one_sentence(
    tandem: Tandem, pair: PairFolder, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    monkeypatch.chdir(pair.path.parents[1])
    before = tree_of(pair.path)
    Path("train.ipynb").write_text(content)

    outcome = tandem("pull", "cells", "--from", "train.ipynb", "--yes")

    assert outcome.code == 1
    assert message in outcome.err
    assert tree_of(pair.path) == before


def test_a_hostile_notebook_becomes_a_valid_one_and_prints_no_control_characters(
    tandem: Tandem, pair: PairFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(pair.notebook(Role.TRAIN).read_text())
    evil = {"id": "../../\x1b[31m", "metadata": {"name": "a\x1b", "tags": ["\x1b", 1, "ok"], "score": float("nan")}}
    notebook["cells"].append({"cell_type": "code", "source": "# \x1b]0;title\x07", **evil})
    notebook["cells"].append({"cell_type": "markdown", "source": "![a](attachment:a)", "attachments": {"a": 1}, **evil})
    notebook["metadata"] = {"kernelspec": 7, "language_info": [], "x": float("nan")}
    Path("train.ipynb").write_text(json.dumps(notebook))

    outcome = tandem("pull", "cells", "--from", "train.ipynb", "--yes")

    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out + outcome.err
    added = list(sources(pair).items())[-2:]
    assert [source for _, source in added] == ["# \x1b]0;title\x07", "![a](attachment:a)"]
    assert "NaN" not in pair.notebook(Role.TRAIN).read_text()


def test_a_pair_is_compared_with_a_recorded_run(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record(tmp_path)  # trains for 3 epochs
    record(tmp_path, epochs=5, score=0.8)
    ran = Path("output/tiny/runs/0002/train.ipynb").read_text()
    Path("kernels/tiny/train/train.ipynb").write_text(ran.replace("print(EPOCHS)", "print('now')"))

    first, last = (tandem("diff", "tiny", "--run", *number, "--role", "train").out for number in (["1"], []))

    assert all("-print(EPOCHS)\n+print('now')" in out for out in (first, last))
    assert ("-EPOCHS = 3\n+EPOCHS = 5" in first, "EPOCHS = 5" in last) == (True, False)
    assert "tiny has no run 7." in tandem("diff", "tiny", "--run", "7").err
    assert tandem("diff", "tiny", "--run", "1", "--from", "train.ipynb").code == 2


# Adoption


STRANGER = [
    {"cell_type": "markdown", "metadata": {}, "source": "# My model"},
    {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "EPOCHS = 3\nRATE = 0.1"},
    {"cell_type": "code", "metadata": {}, "source": "!pip install foo\ntruth, rows = [1, 2], [0, 1]"},
]


def publish(kaggle: Served, title: str, notebook: str, **fields: Any) -> None:
    """Saves a notebook that everybody may see and copy, without running it."""
    cells = json.loads(notebook)
    for cell in cells["cells"]:
        cell["source"] = "".join(cell["source"])
    saved = {"newTitle": title, "text": json.dumps(cells), "language": "python", "kernelType": "notebook"}
    status, answer = kaggle.ask(SAVE, isPrivate=False, kernelExecutionType="QUICK_SAVE", **saved, **fields)
    assert (status, answer.get("error", "")) == (200, ""), answer


def without_ids(notebook: str, edit: Callable[[Cells], object]) -> str:
    fields = json.loads(notebook)
    edit(fields["cells"])
    for cell in fields["cells"]:
        cell.pop("id", None)
    return json.dumps(fields)


def test_a_fork_under_another_account_keeps_its_choices_and_edits_and_takes_a_newer_template(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "kaggle"
    monkeypatch.setenv(ROOT_VARIABLE, str(root))
    monkeypatch.chdir(tmp_path)
    assert tandem("generate", "digits", "--owner", "ada").code == 0
    with served(root, account="ada") as kaggle:
        publish(kaggle, "Digits keras train", Path("kernels/digits/train/train.ipynb").read_text())
    with served(root, account="grace") as kaggle:
        kaggle.record(root)
        status, original = kaggle.ask(GET, userName="ada", kernelSlug="digits-keras-train")
        assert status == 200
        publish(kaggle, "My digits train", without_ids(original["blob"]["source"], change_epochs_and_model))

        outcome = tandem("adopt", "grace/my-digits-train/1", "--to", "local", "--name", "fork")

    assert outcome.code == 0, outcome.err
    fork = PairFolder(Path("kernels/fork"))
    assert "Choices of the fork: EPOCHS=7." in outcome.out
    assert 'epochs = { value = 7, by = "flag" }' in fork.settings_path.read_text()
    assert all('"gelu"' in sources(fork, role)["define-model"] for role in Role)  # inference builds the same model
    assert "grace/fork-keras-infer" in sources(fork)["title"]
    assert '"id": "grace/fork-keras-train"' in fork.metadata(Role.TRAIN).read_text()
    check = tandem("check", "fork", "--no-compile").out  # the fork removed a cell
    assert "N069 warning: This train notebook lacks the weights and handoff.json for inference." in check

    assert tandem("generate", "digits", "--name", "fork", "-P", "DROPOUT=0.4").code == 0
    assert tandem("update", "fork").code == 0
    now = sources(fork)
    assert "DROPOUT = 0.4" in now["parameters"]
    assert "EPOCHS = 7" in now["parameters"]
    assert '"gelu"' in now["define-model"]
    assert "A note from the browser." in now.values()
    assert "save-artifacts" not in now


@pytest.mark.slow
def test_a_pair_runs_with_what_was_pulled(local: Served, tandem: Tandem) -> None:
    assert tandem("generate", "digits", "--owner", local.account).code == 0
    notebook = Path("kernels/digits/train/train.ipynb").read_text()
    assert '\\"relu\\"' in notebook
    publish(local, "Digits keras train", without_ids(notebook.replace('\\"relu\\"', '\\"gelu\\"'), lambda _: None))

    assert tandem("pull", "digits", "--to", "local", "--yes").code == 0
    assert tandem("update", "digits", "--share", "define-model").code == 0
    outcome = tandem("run", "digits", "--smoke")

    assert outcome.code == 0, outcome.err
    assert "gelu" in Path("output/digits/smoke/train/train.ipynb").read_text()


def test_a_strangers_notebook_is_kept_between_the_cells_that_it_lacks(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.ipynb").write_text(raw(cells=STRANGER))
    arguments = ("adopt", "my.ipynb", "--name", "mine", "--owner", "ada")

    for more, message in (
        ((), "Add --role train or --role infer."),
        (("--role", "train"), "As the train half of a pair it lacks: one cell tagged parameters"),
    ):
        outcome = tandem(*arguments, *more)
        assert outcome.code == 1
        assert message in outcome.err
        assert not Path("kernels").exists()

    document = json.loads(tandem(*arguments, "--role", "train", "--competition", "digits", "--json").out)

    (half,) = document["halves"]
    assert {"fold_of_row", "out_of_fold", "oof_score"} <= {*half["connect"]}
    assert not {"truth", "rows", "run", "np"} & {*half["connect"]}
    assert half["repetitions"] == ["EPOCHS"]
    mine = PairFolder(Path("kernels/mine"))
    cells = sources(mine)
    assert [source for source in cells.values() if source in [cell["source"] for cell in STRANGER]] == [
        cell["source"] for cell in STRANGER
    ]
    assert list(cells)[-2:] == ["handoff", "save-artifacts"]
    assert cells["save-artifacts"].startswith("# From Tandem: the weights and handoff.json for inference.\n")
    notebook = json.loads(mine.notebook(Role.TRAIN).read_text())
    tagged = [cell["id"] for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", ())]
    assert tagged == ["parameters"]
    # What check finds is what is to be connected, and the stranger's own.
    found = json.loads(tandem("check", "mine", "--no-compile", "--json").out)["findings"]
    assert {finding["rule"] for finding in found if finding["severity"] == "error"} == {"N030"}
    assert tandem("update", "mine").code == 0
    assert sources(mine) == cells

    before = tree_of(mine.path)
    refusal = tandem(*arguments, "--role", "train", "--competition", "digits")
    assert refusal.code == 1
    assert "There is a pair mine in kernels. Nothing was written. Choose another name with --name" in refusal.err
    assert tree_of(mine.path) == before
