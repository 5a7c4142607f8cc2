"""The reference pairs for competitions on Kaggle: their facts, and each of them whole on a specimen of its data."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from layouts import LAYOUTS
from miniature import Outcome
from notebook_session import Mirror, Sessions, Written, assert_only_caches, read_table

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.survey import survey_folder
from generator.files import WorkspaceFiles
from generator.pair.workspace import Workspace
from generator.run.input_mounts import write_stand_in

pytest_plugins = ("notebook_session",)

Tandem = Callable[..., Outcome]
KERNELS = Path(__file__).resolve().parents[1] / "kernels"
FLAGSHIP = "tpu-getting-started"
GALLERY = {
    "contradictory-my-dear-watson": "contradictory_my_dear_watson",
    "digit-recognizer": "digit_recognizer",
    "house-prices-advanced-regression-techniques": "house_prices",
    "nlp-getting-started": "nlp_getting_started",
    "titanic": "titanic",
    FLAGSHIP: "tpu_getting_started",
}
FACTS = (
    *("target_kind", "submission", "id_column", "targets", "train_table", "test_table", "sample_submission"),
    *("labels_from", "text_columns", "channels", "flip"),
)


def write_layout(slug: str, folder: Path) -> Path:
    """Files in the public layout of a competition."""
    folder.mkdir(parents=True)
    next(layout for layout in LAYOUTS if layout.name == GALLERY[slug]).write(folder)
    return folder


@pytest.mark.parametrize("slug", GALLERY)
def test_a_reference_pair_has_the_facts_that_its_competition_shows(slug: str, tmp_path: Path) -> None:
    choices = tomllib.loads((KERNELS / slug / "pair.toml").read_text())
    task = choices["task"]
    hints = Hints(slug=slug, overrides={"metric": task["metric"]})
    reading = read_task(survey_folder(write_layout(slug, tmp_path / "data")), hints)

    assert reading.task.family == choices["pair"]["family"]
    found = {key: finding.value for key, finding in reading.findings.items()}
    stated = {key: task[key] for key in FACTS if key in task}
    assert {key: found[key] for key in stated} == stated


def test_the_flagship_is_a_competition_that_exists_on_kaggle() -> None:
    metadata = json.loads((KERNELS.parent / "kernel-metadata.json").read_text())

    assert metadata["competition_sources"] == [FLAGSHIP]
    assert (KERNELS.parent / metadata["code_file"]).is_file()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The current folder, a workspace."""
    workspace = Workspace(tmp_path / "workspace")
    workspace.root.mkdir()
    monkeypatch.chdir(workspace.root)
    return workspace


def made_up(slug: str, tandem: Tandem, workspace: Workspace) -> Path:
    """A specimen of a competition whose reference pair is in the workspace."""
    shutil.copytree(KERNELS / slug, workspace.pair(slug).path)
    data = write_layout(slug, workspace.root.parent / "data")
    outcome = tandem("specimen", slug, "--data", data, "--json")
    assert outcome.code == 0, outcome.err
    return workspace.specimen(slug)


@pytest.mark.slow
def test_the_flagship_runs_whole_on_a_specimen_and_fetches_nothing(
    tandem: Tandem, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, isolated_home: Path
) -> None:
    made_up(FLAGSHIP, tandem, workspace)
    for scheme in ("http", "https"):
        monkeypatch.setenv(f"{scheme}_proxy", "http://127.0.0.1:9")

    outcome = tandem("run", FLAGSHIP, "--specimen", "--smoke", "--json", "-P", "IMAGE_SIZE=32")

    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert (report["specimen"], report["smoke"]) == (True, True)
    assert report["submission"]["rows"] > 0
    handoff = json.loads((workspace.output(FLAGSHIP) / "specimen/smoke/train/handoff.json").read_text())
    assert handoff["specimen"]
    assert handoff["folds"][0]["arguments"]["backbone"] == "EfficientNetV2B0"
    assert handoff["reading"] == {"image_size": 32, "channels": 3}
    assert_only_caches(isolated_home)


@pytest.mark.slow
@pytest.mark.parametrize("slug", [slug for slug in GALLERY if slug not in (FLAGSHIP, "nlp-getting-started")])
def test_a_reference_pair_runs_whole_on_a_specimen(
    slug: str, tandem: Tandem, workspace: Workspace, sessions: Sessions, tmp_path: Path
) -> None:
    mirror = Mirror(tmp_path, slug)
    shutil.copytree(made_up(slug, tandem, workspace), mirror.competition)
    parameters = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working), "DEBUG": True}

    for model in json.loads((KERNELS / slug / "train/kernel-metadata.json").read_text())["model_sources"]:
        write_stand_in(model, mirror.input / "models" / model, WorkspaceFiles(tmp_path))
    sessions.finished(Written(KERNELS / slug / "train/train.ipynb", "jax"), parameters)
    assert json.loads((mirror.working / "handoff.json").read_text())["specimen"]
    [training] = json.loads((KERNELS / slug / "infer/kernel-metadata.json").read_text())["kernel_sources"]
    mount = mirror.input / "notebooks" / training
    mount.parent.mkdir(parents=True)
    mirror.working.rename(mount)
    sessions.finished(Written(KERNELS / slug / "infer/infer.ipynb"), parameters)

    choices = tomllib.loads((KERNELS / slug / "pair.toml").read_text())
    asked = read_table(mirror.competition / choices["task"]["sample_submission"])
    answered = read_table(mirror.working / "submission.csv")
    assert answered[0] == asked[0]
    assert [row[0] for row in answered] == [row[0] for row in asked]
