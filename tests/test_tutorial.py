"""Every command of docs/tutorial.md does what the page says, one after the other in an empty folder."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from layouts import ALL_LAYOUTS
from serving import Served, client_environment, served

from generator.local_server import ROOT_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.slow


@pytest.fixture
def kaggle(tmp_path: Path) -> Iterator[Served]:
    """A local Kaggle that also stands in for the real one, with a small competition `titanic`."""
    hosted = tmp_path / "titanic"
    titanic = next(one for one in ALL_LAYOUTS if one.name == "titanic")
    titanic.write(hosted / "data")
    sample = (hosted / "data" / "gender_submission.csv").read_text()
    (hosted / "answers.csv").write_text(sample)
    (hosted / "competition.toml").write_text('metric = "accuracy"\n')
    with served(tmp_path / "kaggle", competitions=[hosted]) as kaggle:
        kaggle.record(tmp_path / "kaggle")
        yield kaggle


def test_every_command_of_the_tutorial_works(kaggle: Served, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / ".venv").symlink_to(sys.prefix)
    environment = {
        **client_environment(kaggle, tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **{name: os.environ[name] for name in ("OMP_NUM_THREADS", "XLA_FLAGS")},
        ROOT_VARIABLE: str(tmp_path / "kaggle"),
    }

    printed = ""
    for block in BLOCKS:
        if block == "tandem serve\n":  # the fixture does; the verb is tested by itself
            continue
        # The real Kaggle is out of reach: the commands that mean it are told to take the local one, unasked.
        script = block.replace("YOUR-KAGGLE-NAME", kaggle.account).replace("titanic --submit", "titanic --submit --yes")
        # As many epochs as the page gives to a quick test, where it gives none: that models learn is shown elsewhere.
        script = re.sub(r"^tandem run tumours$", "tandem run tumours -P EPOCHS=4", script, flags=re.M)
        script = re.sub(r"^((?:generate|tandem (?:specimen|push)) .*titanic.*)$", r"\1 --to local", script, flags=re.M)
        done = subprocess.run(
            ["bash", "-euc", script], cwd=workspace, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        printed += done.stdout + done.stderr

    assert "tumours: public score" in printed
    assert "titanic: public score" in printed
    assert "Warning:" not in (workspace / "output" / "tumours" / "report.html").read_text()
    rehearsed = workspace / "output" / "titanic" / "specimen" / "smoke" / "infer" / "submission.csv"
    header, *answers = rehearsed.read_text().splitlines()
    assert header == "PassengerId,Survived"
    assert {answer.partition(",")[2] for answer in answers} <= {"0", "1"}
    assert (workspace / "output" / "digits" / "smoke" / "infer" / "submission.csv").is_file()
