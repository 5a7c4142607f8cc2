"""`tandem plan PAIR`: the notebook's own cells are measured here, up to the first step."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from miniature import Outcome
from notebook_session import needs_torch
from runnable_pair import write_pair
from small_competitions import SMALL_COMPETITIONS

from generator.pair.generation import change_parameters
from generator.pair.workspace import Workspace

Tandem = Callable[..., Outcome]

TRAINING = {
    "prepare": """
        import time
        from pathlib import Path
        import numpy as np
        from types import SimpleNamespace
        session_start, run = time.monotonic(), SimpleNamespace(output=Path(WORKING_ROOT))
        LEARNING_RATE, peak, steps_per_epoch, epochs, folds = 0.004, 0.0005, 5, EPOCHS, range(2)
        fold_of_row = np.arange(100) % 5

        class Model:
            trainable_variables = [np.zeros((3, 4)), np.zeros(4)]

        def training_batches():
            for _ in range(steps_per_epoch):
                sum(range(300_000))
                yield {"row": np.zeros((16, 3), "float32")}, np.zeros(16, "float32")

        def train_epoch(model, batches):
            for _ in batches:
                time.sleep(0.005)
    """,
    "train": """
        train_epoch(Model(), training_batches())
        raise RuntimeError("no epoch is to be trained")
    """,
}


@pytest.mark.slow
def test_a_pair_is_measured_and_planned_without_being_trained(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_example: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path, train=TRAINING)

    told = tandem("plan", "tiny", "--json", "--no-compile", "-P", "EPOCHS=7")

    assert told.code == 0, told.err
    keep_example("plan", told.out)
    report = json.loads(told.out)
    measured = report["measured"]
    assert (measured["epochs"], measured["folds"], measured["batch"], measured["examples"]) == (7, 2, 16, 80)
    assert (measured["held_out"], measured["parameters"]) == (20, 16)
    assert measured["step_seconds"] > 0.004
    assert measured["input_seconds"] > 5e-5
    assert report["recommended"]["accelerator"] == "Kaggle CPU"
    assert report["recommended"]["parameters"] == ["ACCELERATOR=cpu", "BATCH_SIZE=16"]
    assert {each["batch"] for each in report["predictions"]} == {16}
    assert ET.parse(tmp_path / "output/tiny/plan.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert {path.name for path in (tmp_path / "output/tiny").iterdir()} == {"plan.svg"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", ["[" * 9_000, '{"epochs": 1e999}', '{"epochs": 1' + "0" * 300 + ', "batch": true}', None]
)
def test_a_notebook_that_makes_its_measurement_up_is_refused(
    answer: str | None, tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = "os.mkfifo(probe)" if answer is None else f"probe.write_text({answer!r})"
    written = (
        f"import os, sys; from pathlib import Path; probe = Path(WORKING_ROOT, 'probe.json'); {answers}; sys.exit()"
    )
    write_pair(tmp_path, train={"prepare": written, "train": ""})

    refused = tandem("plan", "tiny")

    assert refused.code == 1
    assert "The training of tiny cannot be measured" in refused.err


def test_a_notebook_without_a_training_is_refused(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)

    refused = tandem("plan", "tiny")

    assert refused.code == 1
    assert 'its notebook has no cell with the name "train"' in refused.err


def test_what_is_recommended_is_kept_in_the_pair_and_its_notebooks(
    tandem: Tandem, workspace_with_data: Workspace
) -> None:
    here = ("--workspace", workspace_with_data.root)
    tandem("generate", "--competition", "digits", *here)
    pair = workspace_with_data.pair("digits")
    pair.settings_path.write_text(f"# mine\n{pair.settings_path.read_text()}")

    change_parameters(pair, ["ACCELERATOR=gpu", "BATCH_SIZE=64"])

    assert pair.settings_path.read_text().startswith("# mine\n")
    kernel = pair.path / "train"
    assert json.loads((kernel / "kernel-metadata.json").read_text())["machine_shape"] == "NvidiaTeslaT4"
    notebook = (kernel / "train.ipynb").read_text()
    assert 'ACCELERATOR = \\"gpu\\"' in notebook
    assert "BATCH_SIZE = 64" in notebook
    tandem("generate", "--competition", "digits", *here)
    assert (kernel / "train.ipynb").read_text() == notebook


@pytest.mark.slow
@needs_torch
def test_a_pair_in_pytorch_is_planned_from_steps_that_it_takes(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SMALL_COMPETITIONS["tabular"].write(tmp_path / "input" / "competitions" / "shops")
    tandem("generate", "--competition", "shops", "--metric", "auc", "--framework", "torch")

    told = tandem("plan", "shops-torch", "--no-compile")

    assert told.code == 0, told.err
    assert "Recommended: Kaggle CPU." in told.out
    assert "steps_per_execution" not in told.out
