"""Every command of this kit in README.md, docs/ and SKILL.md runs as it stands, in a workspace that has two pairs.

docs/tutorial.md is executed as a whole by test_tutorial.py.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from chain_pair import training_output
from layouts import ALL_LAYOUTS
from miniature import Outcome
from recorded_runs import record
from runnable_pair import notebook
from serving import Served, served

from generator.local_server import ROOT_VARIABLE
from generator.pair.workspace import Role, Workspace

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "skill" / "SKILL.md"]
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:tandem|generate)\b.*$", re.MULTILINE)

# How a command has to be run where it cannot be as it stands: by its beginning, what is added to it, and the reason.
NOT_AS_IT_STANDS: dict[str, tuple[list[str], str]] = {
    "tandem serve": (
        ["--port", "0", "--i-trust-these-notebooks"],
        "its port may be taken, and there may be no sandbox; it runs none, and is stopped when it listens",
    ),
    "tandem colab run": (
        ["--dry-run"],
        "it rents a machine of Google Colab; what it would fetch is written by the test",
    ),
    "tandem data titanic": (["--to", "local"], "it needs an account of the real Kaggle"),
    "tandem push titanic": (["--to", "local", "--yes"], "it needs an account of the real Kaggle"),
    "tandem pull titanic": (["--to", "local", "--yes"], "it needs an account of the real Kaggle, and asks"),
    "tandem diff titanic --from": (["--to", "local"], "it needs an account of the real Kaggle"),
    "tandem adopt YOUR-KAGGLE-NAME": (["--to", "local"], "it needs an account of the real Kaggle"),
    "tandem status titanic": (["--to", "local"], "its chain ran on the local Kaggle"),
    "tandem receipt titanic": (["--to", "local"], "its chain ran on the local Kaggle"),
}

# These notebooks run in a second. Their parameters cell is the one of the pair.
TRAIN = """
from pathlib import Path
for name, data in {files!r}.items():
    Path(WORKING_ROOT, name).write_bytes(data)
"""
INFER = """
from pathlib import Path
header, *rows = Path(INPUT_ROOT, "competitions", COMPETITION, SAMPLE_SUBMISSION).read_text().splitlines()
rows = [f"{row.split(',')[0]},{number // 2 % 2}" for number, row in enumerate(rows)]
Path(WORKING_ROOT, "submission.csv").write_text("\\n".join([header, *rows]) + "\\n")
"""


def commands(page: Path) -> list[str]:
    blocks = "\n".join(BLOCK.findall(page.read_text()))
    return [found[0] for found in COMMAND.finditer(blocks)]


@cache
def data_of(competition: str) -> Path:
    folder = Path(mkdtemp(prefix="docs-")) / competition
    next(one for one in ALL_LAYOUTS if one.name == competition).write(folder)
    return folder


@pytest.fixture
def kaggle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A local Kaggle with the competitions of the pages, which `--to local` finds."""
    hosted = tmp_path / "titanic"
    shutil.copytree(data_of("titanic"), hosted / "data")
    shutil.copy(hosted / "data" / "gender_submission.csv", hosted / "answers.csv")
    (hosted / "competition.toml").write_text('metric = "accuracy"\n')
    shutil.copytree(hosted, tmp_path / "my-heights")
    root = tmp_path / "kaggle"
    monkeypatch.setenv(ROOT_VARIABLE, str(root))
    with served(root, competitions=[hosted]) as kaggle:
        kaggle.record(root)
        yield kaggle


@pytest.fixture
def workspace(
    tandem: Callable[..., Outcome], kaggle: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """A workspace with what the pages presuppose: two pairs, other notebooks, and data in the folder of downloads."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copytree(data_of("titanic"), Path.home() / "Downloads" / "titanic")
    for arguments in (["digits"], ["titanic", "--data", Path.home() / "Downloads" / "titanic"]):
        assert tandem(*arguments, "--owner", kaggle.account, program="generate").code == 0
    shutil.copytree(folder / "kernels" / "titanic" / "train", folder / "path" / "to" / "kernel")
    shutil.copytree(folder / "kernels" / "titanic" / "infer", folder / "other" / "notebooks")
    shutil.copy(folder / "kernels" / "digits" / "infer" / "infer.ipynb", folder / "notebook.ipynb")
    shutil.copytree(tmp_path / "my-heights", folder / "my-heights")
    return Workspace(folder)


def add_birdclef(tandem: Callable[..., Outcome]) -> None:
    """A pair of sounds with a specimen, of which the page of rehearsals speaks."""
    assert tandem("birdclef", "--data", data_of("birdclef"), "--owner", "someone", program="generate").code == 0
    assert tandem("specimen", "birdclef").code == 0


def prepare(tandem: Callable[..., Outcome], page: Path) -> None:
    """What a page presupposes beyond the two pairs."""
    if page.name in ("plan.md", "rehearse.md"):
        assert tandem("specimen", "titanic").code == 0
    if page.name == "rehearse.md":
        add_birdclef(tandem)
    if page.name == "update.md":  # something to undo
        assert tandem("titanic", "-P", "EPOCHS=3", program="generate").code == 0


def publish_edits(kaggle: Served, workspace: Workspace) -> None:
    """The versions on Kaggle and the files of which the page on edits speaks, and a recorded run."""
    record(workspace.root, pair="digits")
    Path("downloads").mkdir()
    for role in Role:
        notebook = json.loads(workspace.pair("titanic").notebook(role).read_text())
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
        notebook["cells"][0]["source"] += "\n\nAn edit."
        text = json.dumps(notebook)
        kaggle.save_kernel(f"Titanic keras {role}", text, kernelExecutionType="QUICK_SAVE")
        Path("downloads", f"{role}.ipynb").write_text(text)
    stranger = {"cell_type": "code", "metadata": {}, "source": "model = 1", "outputs": [], "execution_count": None}
    Path("downloads/stranger.ipynb").write_text(json.dumps({"cells": [stranger], "metadata": {}, "nbformat": 4}))


def write_predictions_of_others(output: Path) -> None:
    """The files of somebody else's model, of which the page on blends speaks: the predictions of the last run."""
    oof, test = (dict(np.load(output / name)) for name in ("train/oof.npz", "infer/predictions.npz"))
    for name, ids, predictions in (
        ("their_oof.csv", oof["ids"][oof["rows"]], oof["predictions"]),
        ("their_test.csv", test["ids"], test["predictions"]),
    ):
        lines = [f"{row},{values[-1]}" for row, values in zip(ids, predictions, strict=True)]
        Path(name).write_text("\n".join(["PassengerId,Survived", *lines]) + "\n")


@contextmanager
def fast_notebooks(workspace: Workspace) -> Iterator[None]:
    """Cells that take a second in the place of those that train and predict, as long as the block runs."""
    texts = {}
    for folder in (workspace.pair(path.name) for path in sorted((workspace.root / "kernels").iterdir())):
        for role in Role:
            path = folder.notebook(role)
            texts[path] = path.read_text()
            cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(texts[path])["cells"]}
            work = TRAIN.format(files=training_output(folder)) if role is Role.TRAIN else INFER
            path.write_text(json.dumps(notebook({"work": work}, cells["parameters"])))
    try:
        yield
    finally:
        for path, text in texts.items():
            path.write_text(text)


def listening(arguments: list[str], root: Path) -> Outcome:
    """What a server says at its start, in a process of its own; its code is 0 if it ended by Ctrl-C as it should."""
    with subprocess.Popen(
        [sys.executable, "-m", "generator", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, ROOT_VARIABLE: str(root)},
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        rest, errors = server.communicate(timeout=60)
    is_right = line.startswith("http://127.0.0.1:") and server.returncode == 130
    return Outcome(0 if is_right else 1, line + rest, errors)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_every_command_on_a_page_works(
    tandem: Callable[..., Outcome], kaggle: Served, workspace: Workspace, page: Path
) -> None:
    if page.name == "tutorial.md":
        pytest.skip("test_tutorial.py executes it")
    prepare(tandem, page)
    if page.name == "update.md":
        publish_edits(kaggle, workspace)
    for command in commands(page):
        typed = command.replace("YOUR-KAGGLE-NAME", kaggle.account).replace("~", str(Path.home()))
        typed = typed.replace("/big/birdclef", str(data_of("birdclef")))
        program, *arguments = shlex.split(typed, comments=True)
        more, _ = next((how for start, how in NOT_AS_IT_STANDS.items() if command.startswith(start)), ([], ""))
        arguments += more
        if "--oof" in arguments:
            write_predictions_of_others(workspace.output("titanic"))
        if arguments[0] == "serve" and "--env" not in arguments:
            outcome = listening(arguments, workspace.root.parent / "another-kaggle")
        elif arguments[0] in ("run", "push") and page.name != "blend.md":  # a blend needs real predictions
            with fast_notebooks(workspace):
                outcome = tandem(*arguments, program=program)
        else:
            outcome = tandem(*arguments, program=program)
        assert outcome.code == 0, f"{command}\n{outcome.out[-2000:]}\n{outcome.err[-2000:]}"
        if arguments[:2] == ["colab", "run"]:
            fetched = workspace.root / "output" / arguments[2] / "train"
            fetched.mkdir(parents=True)
            for name, data in training_output(workspace.pair(arguments[2])).items():
                (fetched / name).write_bytes(data)


def test_the_pages_have_commands() -> None:
    assert len([command for page in PAGES for command in commands(page)]) > 50


def test_every_exception_is_a_command_of_a_page() -> None:
    found = [command for page in PAGES for command in commands(page)]
    assert [start for start in NOT_AS_IT_STANDS if not any(one.startswith(start) for one in found)] == []
