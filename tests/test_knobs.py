"""`generate -P` turns the knobs of a pair's notebooks, and `pair.toml` keeps them."""

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from count_notebooks import gallery_settings
from miniature import Outcome, write_tree

from generator.errors import PairError
from generator.pair.rendering import render_kernels
from generator.pair.settings import Origin, SettingValue
from generator.pair.spec import without_foreign_backbone
from generator.pair.workspace import PairFolder, Role

Tandem = Callable[..., Outcome]
PAIR = PairFolder(Path("kernels/flats"))


@pytest.fixture
def generate(tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tandem:
    """Generates a pair for flats, of which there are some files, in the current folder."""
    rows = [f"{n},{n % 70},{n % 5}" for n in range(90)]
    data = {
        "train.csv": "id,area,rooms,rent\n" + "".join(f"{row},{n / 3:.2f}\n" for n, row in enumerate(rows[:60])),
        "test.csv": "id,area,rooms\n" + "".join(f"{row}\n" for row in rows[60:]),
        "sample_submission.csv": "id,rent\n" + "".join(f"{n},0\n" for n in range(60, 90)),
        "stations.csv": "station,latitude\n1,2\n",
        "notes/about/READ.ME": "",
        "test.csv.notes/READ.ME": "",
        "description.txt": "",
    }
    monkeypatch.chdir(write_tree(tmp_path, {f"input/competitions/flats/{name}": text for name, text in data.items()}))
    return partial(tandem, "generate", "--competition", "flats", "--metric", "mae")


def knobs(role: Role) -> dict[str, str]:
    cells = json.loads(PAIR.notebook(role).read_text())["cells"]
    source = next("".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    return {
        name: value.partition("  #")[0] for name, _, value in (line.partition(" = ") for line in source.splitlines())
    }


def choices() -> dict[str, Any]:
    return tomllib.loads(PAIR.settings_path.read_text())


@pytest.mark.slow
def test_a_knob_is_kept_until_its_line_is_removed(tandem: Tandem, generate: Tandem) -> None:
    assert generate("-P", "EPOCHS=7", "-P", "DROPOUT=0.25", "-P", "TTA_IS_NO_KNOB=1").code == 1
    outcome = generate("-P", "EPOCHS=7", "-P", "DROPOUT=0.25", "-P", "ACCEPT_INCOMPLETE=true")

    assert outcome.code == 0, outcome.err
    assert choices()["parameters"]["DROPOUT"] == {"value": 0.25, "by": "flag"}
    assert choices()["task"]["epochs"] == {"value": 7, "by": "flag"}  # a key of the task has this name
    assert any(line.split() == ["DROPOUT", "0.25", "flag"] for line in outcome.out.splitlines())
    turned = knobs(Role.TRAIN)
    assert (turned["EPOCHS"], turned["DROPOUT"]) == ("7", "0.25")
    assert knobs(Role.INFER)["ACCEPT_INCOMPLETE"] == "True"

    assert generate("-P", "DROPOUT=0.25").code == 0
    assert tandem("generate", "--all", "--check").code == 0
    assert knobs(Role.TRAIN) == turned

    kept = [line for line in PAIR.settings_path.read_text().splitlines() if not line.startswith(("DROPOUT", "epochs"))]
    PAIR.settings_path.write_text("\n".join(kept) + "\n")
    assert generate().code == 0
    assert (knobs(Role.TRAIN)["EPOCHS"], knobs(Role.TRAIN)["DROPOUT"]) == ("40", "0.1")
    # What the file says is enough to render and to run the pair.
    assert tandem("generate", "--all", "--check").code == 0


@pytest.mark.slow
def test_turning_a_knob_loses_no_edit_and_takes_none_for_one(generate: Tandem) -> None:
    generate("-P", "DROPOUT=0.25")
    shutil.rmtree(PAIR.state)  # as in a pair that somebody cloned

    assert generate("-P", "DROPOUT=0.3").code == 0
    assert knobs(Role.TRAIN)["DROPOUT"] == "0.3"

    notebook = PAIR.notebook(Role.TRAIN)
    notebook.write_text(notebook.read_text().replace("DROPOUT = 0.3", "DROPOUT = 0.4"))
    conflict = generate("-P", "DROPOUT=0.5")
    assert (conflict.code, "Conflicts between your edits and the template" in conflict.err) == (1, True), conflict.err
    assert knobs(Role.TRAIN)["DROPOUT"] == "0.4"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-P", "DROPUOT=0.3"], 'no parameter "DROPUOT". Did you mean "DROPOUT"?'),
        (["-P", "QQQ=3"], "Examples of parameters: K, N_FOLDS, EPOCHS, BATCH_SIZE, LEARNING_RATE. docs/knobs.md"),
        (["-P", "N_FOLDS=2.5"], "N_FOLDS must be a whole number, like its value 5, not 2.5"),
        (["-P", "EPOCHS=many"], '-P "EPOCHS=many": EPOCHS must be a whole number.'),
        (["-P", "EPOCHS=0"], "EPOCHS must be at least 1"),
        (["-P", "N_FOLDS=0"], "N_FOLDS must be at least 1, like its value 5, not 0"),
        (["--set", "ema=1"], "ema must be at least 0 and below 1."),
        (["-P", "DROPOUT=__import__('os')"], "DROPOUT must be a number"),
        (["-P", "N_FOLDS"], '"N_FOLDS" has no value. Write NAME=VALUE'),
        (["-P", "PAIR_ID=mine"], "PAIR_ID cannot be changed"),
        (["--set", "epoch=3"], 'has no key "epoch". Did you mean "epochs"?'),
        (
            ["--set", "droput=0.3"],
            'Did you mean "DROPOUT"? That is a parameter of the notebooks: set it with -P NAME=VALUE.',
        ),
        (["--set", "qqq=3"], "Examples of its keys: drop_columns, category_columns, batch_size, epochs"),
        (["--set", "image_size=3"], "Image to image, Segmentation. Set one with --family."),
    ],
)
def test_what_cannot_be_set_is_one_short_sentence(generate: Tandem, arguments: list[str], message: str) -> None:
    outcome = generate(*arguments)

    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 300
    assert not PAIR.path.exists()


@pytest.mark.slow
def test_what_pair_toml_sets_as_a_parameter_is_not_set_past_it(generate: Tandem) -> None:
    generate()
    PAIR.settings_path.write_text(PAIR.settings_path.read_text() + "EPOCHS = 9\n")

    refused = generate("--set", "epochs=7")
    assert (refused.code, "sets the parameter EPOCHS" in refused.err) == (1, True)
    assert generate("-P", "EPOCHS=9").code == 0
    assert choices()["parameters"]["EPOCHS"] == 9  # as the hand wrote it
    assert generate("-P", "EPOCHS=8").code == 0
    assert choices()["parameters"]["EPOCHS"] == {"value": 8, "by": "flag"}
    assert knobs(Role.TRAIN)["EPOCHS"] == "8"

    PAIR.settings_path.write_text(PAIR.settings_path.read_text() + "WITDH = 9\n")
    broken = generate()
    assert 'pair.toml, section parameters: The notebooks have no parameter "WITDH". Did you mean "WIDTH"?' in broken.err


@pytest.mark.slow
def test_it_says_how_it_trains_and_what_it_leaves_aside_and_no_more(generate: Tandem) -> None:
    lines = generate().out.splitlines()
    first = [line.partition(" ")[0] for line in lines]

    assert "Training: A TabM ensemble." in lines
    assert {"N_FOLDS", "EPOCHS", "BATCH_SIZE", "LEARNING_RATE"} <= set(first)
    assert not {"label_rows", "labels_table", "separator", "epochs", "SEED"} & set(first)
    assert {"id_column", "train_table"} <= set(first)
    assert any(line.split()[:3] == ["BATCH_SIZE", "8", "default"] and "per replica" in line for line in lines)
    assert "Not used by the notebooks: description.txt, notes/, stations.csv, test.csv.notes/." in lines
    assert "label_rows" in generate("--explain").out
    report = json.loads(generate("--json", "-P", "DROPOUT=0.3").out)
    assert report["knobs"]["DROPOUT"] == {"value": 0.3, "by": "flag"}
    assert report["unused"] == ["description.txt", "notes/", "stations.csv", "test.csv.notes/"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "name", "message"),
    [
        ("keras", "EfficientNetV2b0", 'keras does not have for this pair. Did you mean "EfficientNetV2B0"?'),
        ("tensorflow", "convnext_tiny", 'Did you mean "ConvNeXtTiny"?'),
        ("jax", "resnet18", 'Did you mean "resnet'),
        ("jax", "nonsense", 'does not have for this pair. Use another one, such as "resnet50".'),
        ("keras", "resnet50d", 'Did you mean "ResNet50" or "ResNet'),
        ("torch", "EfficientNetB7", "It uses the models of timm, whose names are in lower case."),
        ("keras", "resnet18.a1_in1k", 'Did you mean "ResNet'),
        (
            "torch",
            "EfficientNetV2B0",
            'torch does not have for this pair. Use another one, such as "tf_efficientnetv2_s.in21k_ft_in1k".',
        ),
    ],
)
def test_a_backbone_of_another_framework_is_refused(framework: str, name: str, message: str) -> None:
    pair = gallery_settings("tpu-getting-started", framework)
    named = {each: SettingValue(value, Origin.HAND) for each, value in (("BACKBONE", name), ("N_FOLDS", 2))}
    with pytest.raises(PairError, match=re.escape(message)):
        render_kernels(replace(pair, parameters=named))

    render_kernels(without_foreign_backbone(replace(pair, parameters=named), framework))
    own = {"BACKBONE": SettingValue("resnet152" if framework in ("jax", "torch") else "ResNet50", Origin.HAND)}
    render_kernels(without_foreign_backbone(replace(pair, parameters=own), framework))


@pytest.mark.slow
def test_an_untested_backbone_is_tried_with_a_sentence_on_what_is_not_known(
    tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    generate = partial(tandem, "generate", "--competition", "digits", "--set", "channels=3", "--set", "image_size=96")

    untested = generate("-P", "BACKBONE=EfficientNetB7")
    tested = generate("-P", "BACKBONE=MobileNetV2")

    sentence = "EfficientNetB7 is not tested: its memory, time and best LEARNING_RATE are unknown"
    assert (untested.code, tested.code) == (0, 0)
    assert sentence in untested.err
    assert "not tested" not in tested.err


@pytest.mark.slow
def test_another_framework_does_not_keep_the_backbone(generate: Tandem) -> None:
    generate("-P", "N_FOLDS=2")
    PAIR.settings_path.write_text(PAIR.settings_path.read_text() + 'BACKBONE = "VGG16"\n')

    assert generate("--name", "flats", "--framework", "jax", "--force").code == 0

    assert (choices()["pair"]["framework"]["value"], list(choices()["parameters"])) == ("jax", ["N_FOLDS"])
