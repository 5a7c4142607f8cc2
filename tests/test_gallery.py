"""The reference pairs for competitions on Kaggle: their facts, and each of them whole on a specimen of its data."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from layouts import LAYOUTS
from miniature import Outcome

from generator.competition.introspection import Hints, read_task
from generator.competition.survey import survey_folder
from generator.pair.workspace import Workspace

Tandem = Callable[..., Outcome]
KERNELS = Path(__file__).resolve().parents[1] / "kernels"
GALLERY = {
    "contradictory-my-dear-watson": "contradictory_my_dear_watson",
    "digit-recognizer": "digit_recognizer",
    "house-prices-advanced-regression-techniques": "house_prices",
    "nlp-getting-started": "nlp_getting_started",
    "titanic": "titanic",
    "tpu-getting-started": "tpu_getting_started",
}
FACTS = (
    *("target_kind", "submission", "id_column", "targets", "train_table", "test_table", "sample_submission"),
    *("labels_from", "text_columns", "channels", "flip"),
)


def write_layout(slug: str, folder: Path) -> Path:
    """Files in the public layout of a competition."""
    folder.mkdir(parents=True)
    next(layout for layout in LAYOUTS if layout.name == GALLERY[slug]).write(folder)
    if slug == "tpu-getting-started":  # the same flowers in four sizes, of which the layout has two
        shutil.copytree(folder / "tfrecords-jpeg-64x64", folder / "tfrecords-jpeg-224x224")
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

    assert metadata["competition_sources"] == ["tpu-getting-started"]
    assert (KERNELS.parent / metadata["code_file"]).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("slug", GALLERY)
def test_a_reference_pair_runs_whole_on_a_specimen(
    slug: str, tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(KERNELS / slug, workspace.pair(slug).path)
    monkeypatch.chdir(workspace.root)
    data = write_layout(slug, tmp_path / "data")

    outcome = tandem("specimen", slug, "--data", data, "--json")
    assert outcome.code == 0, outcome.err
    resized = ["-P", "IMAGE_SIZE=32"] if slug == "tpu-getting-started" else []
    outcome = tandem("run", slug, "--specimen", "--smoke", "--json", *resized)

    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["specimen"]
    assert report["submission"]["rows"] > 0
    handoff = json.loads((workspace.output(slug) / "specimen/smoke/train/handoff.json").read_text())
    assert handoff["specimen"]
