"""Texts read by a pretrained model: a KerasHub model that is attached as a Kaggle Model is."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from layout_files import table
from miniature import Outcome, write_tree
from notebook_session import Mirror, Notebook, Sessions, needs_torch
from small_competitions import SMALL_COMPETITIONS
from test_text_family import TASKS, write_competition

from generator.competition.facts import Task
from generator.pair.workspace import Workspace

pytest_plugins = ("notebook_session",)

HANDLE, ENCODER = "keras/bert/keras/bert_tiny/3", "ada/bert/transformers/tiny/1"
WORDS = "the of it is was and not good bad warm cold sun snow ice heat rain day night"
MAKE_PRESET = """
import sys
import keras_hub
words = sys.argv[2].split()
letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *("##" + letter for letter in letters)]
shape = {"num_layers": 1, "num_heads": 2, "hidden_dim": 32, "intermediate_dim": 64, "max_sequence_length": 512}
models = keras_hub.models
backbone = models.BertBackbone(vocabulary_size=len(vocabulary), **shape)
tokenizer = models.BertTokenizer(vocabulary=vocabulary, lowercase=True)
preprocessor = models.BertTextClassifierPreprocessor(tokenizer, sequence_length=512)
models.BertTextClassifier(backbone=backbone, num_classes=2, preprocessor=preprocessor).save_to_preset(sys.argv[1])
"""

MAKE_ENCODER = """
import sys
import transformers
letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sys.argv[2].split(), *letters, *map("##{}".format, letters)]
transformers.BertTokenizer(vocab={word: token for token, word in enumerate(known)}).save_pretrained(sys.argv[1])
shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
transformers.BertModel(transformers.BertConfig(vocab_size=len(known), **shape)).save_pretrained(sys.argv[1])
"""
needs_transformers = pytest.mark.skipif(
    find_spec("transformers") is None, reason="Transformers is there where PyTorch is, see the Makefile"
)


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small pretrained model, as KerasHub keeps it."""
    assert find_spec("keras_hub"), "`make test` installs keras-hub"
    made = tmp_path_factory.mktemp("models") / "preset"
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, "-c", MAKE_PRESET, str(made), WORDS], check=True, env=environment)
    return made


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small pretrained model, as Transformers keeps it: in a folder of the one that Kaggle attaches."""
    made = tmp_path_factory.mktemp("models") / "encoder"
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-c", MAKE_ENCODER, str(made / "tiny"), WORDS], check=True, env=environment)
    return made


@pytest.fixture
def folder(workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a workspace with the data of `digits`."""
    monkeypatch.chdir(workspace_with_data.root)
    return workspace_with_data.root


def pretrained(name: str, handle: str = HANDLE) -> Task:
    task: Task = TASKS[name]
    details: dict[str, Any] = dict(task.details)
    return type(task)(**{**vars(task), "details": details | {"pretrained": handle}})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "framework"),
    [
        *(("classes", "keras"), ("numbers", "tensorflow")),
        pytest.param("classes", "torch", marks=[needs_torch, needs_transformers]),
    ],
)
def test_a_pretrained_model_is_trained_on_and_needed_by_both_notebooks(
    sessions: Sessions, mirror: Mirror, request: pytest.FixtureRequest, task: str, framework: str
) -> None:
    handle, made = (ENCODER, "encoder") if framework == "torch" else (HANDLE, "preset")
    right = write_competition(mirror.competition, task)
    mounted = mirror.input / "models" / handle
    mounted.parent.mkdir(parents=True)
    mounted.symlink_to(request.getfixturevalue(made))
    small = {"EPOCHS": 20 if task == "classes" else 2, "LEARNING_RATE": 0.05, "SEQUENCE_LENGTH": 128}

    _, *rows = sessions.predicted(mirror, framework, pretrained(task, handle), **small)

    handoff = json.loads((mirror.root / "train" / "handoff.json").read_text())
    assert str(mirror.root) not in json.dumps(handoff["folds"])
    assert [row[0] for row in rows] == list(right)
    if task == "classes":
        assert sum([row[1]] == right[row[0]] for row in rows) >= 0.8 * len(rows)


@pytest.mark.slow
def test_a_model_that_is_not_attached_is_named(sessions: Sessions, mirror: Mirror) -> None:
    write_competition(mirror.competition, "classes")
    train = Notebook("tensorflow", "train", task=pretrained("classes"))

    ended = sessions.run(train, mirror.parameters(train), until="find-preset")

    assert not ended.is_done
    assert f"The model {HANDLE} is not attached" in str(ended)


def test_both_kernels_have_the_model_attached(tandem: Callable[..., Outcome], folder: Path) -> None:
    write_tree(Workspace(folder).competition_data("docstrings"), {"train.csv": "id,text,label\n"})

    done = tandem("generate", "--competition", "docstrings", "--set", f"pretrained={HANDLE}")

    assert done.code == 0, done.err
    for role in ("train", "infer"):
        metadata = json.loads((folder / "kernels" / "docstrings" / role / "kernel-metadata.json").read_text())
        assert metadata["model_sources"] == [HANDLE]


@pytest.mark.slow
def test_a_preset_is_named_shortly_and_what_suits_it_follows(tandem: Callable[..., Outcome], folder: Path) -> None:
    write_competition(folder / "data", "classes")
    generate = ("generate", "--competition", "weather", "--data", "data", "--metric", "accuracy", "--json")

    def chosen(*options: str) -> tuple[str, int, str]:
        done = tandem(*generate, *options)
        assert done.code == 0, done.err
        notebook = (folder / "kernels" / "weather" / "train" / "train.ipynb").read_text()
        metadata = json.loads((folder / "kernels" / "weather" / "train" / "kernel-metadata.json").read_text())
        rate = notebook.split("LEARNING_RATE = ")[1].split()[0]
        return rate, json.loads(done.out)["choices"]["task"]["epochs"]["value"], "".join(metadata["model_sources"])

    assert chosen("--set", "pretrained=") == ("0.001", 34, "")  # in about ten minutes
    assert chosen("--set", "pretrained=small") == ("0.0001", 13, "keras/bert/keras/bert_small_en_uncased/3")
    assert chosen("--set", "pretrained=multilingual", "--set", "epochs=4") == (
        *("3e-05", 4),
        "keras/xlm_roberta/keras/xlm_roberta_base_multi/3",
    )


@pytest.mark.slow
def test_the_batch_is_what_a_replica_can_hold_of_the_preset(tandem: Callable[..., Outcome], folder: Path) -> None:
    def batch_size(preset: str) -> object:
        settings = ("--set", f"pretrained={preset}", "--set", "sequence_length=256", "--dry-run", "--json")
        done = tandem("generate", "--competition", "docstrings", *settings)
        return json.loads(done.out)["choices"]["task"]["batch_size"]["value"]

    assert batch_size("small") == 32
    assert batch_size("base") == batch_size(HANDLE) == 16


def test_presets_are_suggested_for_texts_alone(tandem: Callable[..., Outcome], folder: Path) -> None:
    suggestion = "To start from a pretrained model, use --set pretrained=small|base|multilingual"
    of = {slug: tandem("generate", "--competition", slug, "--dry-run").out for slug in ("docstrings", "tumours")}

    assert suggestion in of["docstrings"]
    assert "pretrained" not in of["tumours"]


@pytest.mark.slow
def test_a_framework_is_offered_the_models_that_it_reads_and_refuses_others(
    tandem: Callable[..., Outcome], folder: Path
) -> None:
    def generate(framework: str, *options: str) -> Outcome:
        return tandem("generate", "--competition", "docstrings", "--framework", framework, *options, "--dry-run")

    assert "--set pretrained=modernbert|modernbert-large (see" in generate("torch").out
    assert "pretrained" not in generate("jax").out
    assert generate("torch", "--set", "pretrained=modernbert").code == 0
    in_torch, in_jax = (generate(framework, "--set", "pretrained=base") for framework in ("torch", "jax"))
    assert (in_torch.code, in_jax.code) == (1, 1)
    assert 'the framework "torch" does not read. It reads modernbert, modernbert-large, and' in in_torch.err
    assert 'the framework "jax" does not read. Omit pretrained, or choose a framework' in in_jax.err
    assert in_jax.err.rstrip().endswith("keras, tensorflow.")


def test_a_misspelt_preset_is_corrected(tandem: Callable[..., Outcome], folder: Path) -> None:
    done = tandem("generate", "--competition", "docstrings", "--set", "pretrained=mutilingual")

    assert done.code == 1
    assert done.err.rstrip().endswith('Did you mean "multilingual"?')
    assert not (folder / "kernels").exists()


def test_a_model_with_a_backbones_weights_is_attached_to_the_training_of_photographs(
    tandem: Callable[..., Outcome], folder: Path
) -> None:
    scans = ("generate", "--competition", "digits", "--set", f"pretrained={HANDLE}")
    settings = ("channels=3", "image_size=96", "augmentation=all", "ema=0.99")
    for_photographs = (argument for setting in settings for argument in ("--set", setting))

    refused, done = tandem(*scans), tandem(*scans, *for_photographs)

    assert refused.code == 1
    assert "Only photographs have a backbone. Set channels = 3 and image_size = 96 or more as well" in refused.err
    assert done.code == 0, done.err
    kernel = folder / "kernels" / "digits"
    sources = {role: json.loads((kernel / role / "kernel-metadata.json").read_text()) for role in ("train", "infer")}
    assert {role: found["model_sources"] for role, found in sources.items()} == {"train": [HANDLE], "infer": []}
    text = (kernel / "train" / "train.ipynb").read_text()
    for knob in (
        "MIN_CROP_SCALE = 0.5",
        "COLOR_JITTER = 0.2",
        "MIXUP = 0.2",
        "CUTMIX = 1.0",
        "ROTATE_DEGREES = 0.0",
        "EMA = 0.99",
    ):
        assert knob in text


@pytest.mark.parametrize("handle", ["bert_small", "keras/bert/keras/bert_small", "../x/y/z/1", "a/b/c/d/0"])
def test_what_is_no_kaggle_model_is_one_sentence(tandem: Callable[..., Outcome], folder: Path, handle: str) -> None:
    done = tandem("generate", "--competition", "docstrings", "--set", f"pretrained={handle}")

    assert done.code == 1
    assert "which is not a Kaggle Model. Valid values: small, base, multilingual, or owner/model/" in done.err
    assert not (folder / "kernels").exists()


@pytest.mark.slow
def test_weights_of_a_backbone_are_a_knob_unless_they_are_a_model_to_attach(
    tandem: Callable[..., Outcome], folder: Path
) -> None:
    kernel = folder / "kernels" / "digits"

    def chosen(value: str, *options: str) -> tuple[str, object, object]:
        done = tandem("generate", "--competition", "digits", "-P", f"WEIGHTS={value}", *options)
        assert done.code == 0, done.err
        line = next(line for line in (kernel / "train" / "train.ipynb").read_text().splitlines() if "WEIGHTS =" in line)
        kept = tomllib.loads((kernel / "pair.toml").read_text())
        attached = kept["task"].get("pretrained", {"value": ""})["value"]
        return json.loads(line.rstrip(","))[len("WEIGHTS = ") :].partition("  #")[0], attached, kept.get("parameters")

    def knob(value: str) -> dict[str, object]:
        return {"WEIGHTS": {"value": value, "by": "flag"}}

    photographs = ("--set", "channels=3", "--set", "image_size=96")
    assert chosen(HANDLE, *photographs) == (f'"{HANDLE}"', HANDLE, {})
    for value in ("/data/any.weights.h5", "", "imagenet"):
        assert chosen(value) == (f'"{value}"', "", knob(value))


@pytest.mark.slow
def test_a_knob_for_weights_is_refused_where_there_is_none_and_is_none_where_nothing_is_pretrained(
    tandem: Callable[..., Outcome], folder: Path
) -> None:
    def texts(*options: str) -> Outcome:
        return tandem("generate", "--competition", "docstrings", "--dry-run", *options)

    assert texts("-P", "WEIGHTS=small").code == texts("-P", "WEIGHTS=").code == 0
    masks = SMALL_COMPETITIONS["segmentation"]
    masks.write(folder / "masks")
    of_masks = ("generate", "--competition", "masks", "--data", "masks", "--metric", masks.metric, "--dry-run")
    assert tandem(*of_masks, "-P", "WEIGHTS=false").code == 0
    assert texts("-P", "WEIGHTS=mutilingual").err.rstrip().endswith('Did you mean "multilingual"?')


SENTENCES = {
    "English": ("There is a café near the station", "and all of it was good"),
    "German": ("Der Zug fährt über die Brücke nach Köln", "und kommt später zurück"),
    "Japanese": ("これは小さな町の屋根についての長い文章", "誰もその嵐が来るのを聞かなかった"),
    "mixed": ("the first of these texts", "誰もその嵐が来るのを聞かなかった"),
    "DNA": ("ACGTTGCA ACCT GGTA TTGA", "CCGT AAGT TCGA ACGG TTAA"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "options", "pretrained"),
    [
        ("English", (), "base"),
        ("English", ("--framework", "tensorflow"), "base"),
        ("English", ("--framework", "torch"), "modernbert"),
        ("English", ("--framework", "jax"), None),
        ("English", ("--platform", "colab"), None),
        ("English", ("--set", "pretrained="), ""),
        ("German", (), "multilingual"),
        ("Japanese", (), "multilingual"),
        ("mixed", (), "multilingual"),
        ("Japanese", ("--framework", "torch"), None),
        ("DNA", (), None),
    ],
)
def test_the_language_of_texts_decides_what_training_starts_from(
    tandem: Callable[..., Outcome], folder: Path, language: str, options: tuple[str, ...], pretrained: str | None
) -> None:
    rows = [[n, f"{n} {SENTENCES[language][n % 2]}", "ab"[n // 2 % 2]] for n in range(60)]
    table(folder / "data/train.csv", ["id", "text", "label"], rows)
    table(folder / "data/test.csv", ["id", "text"], [row[:2] for row in rows])
    table(folder / "data/sample_submission.csv", ["id", "label"], [[row[0], "a"] for row in rows])
    generate = ("generate", "--competition", "reviews", "--data", "data", "--metric", "accuracy", "--dry-run")

    done = tandem(*generate, *options, "--json")

    assert done.code == 0, done.err
    task = json.loads(done.out)["choices"]["task"]
    assert task.get("pretrained", {}).get("value") == pretrained
    assert task.get("linear_member", {}).get("value") == (None if pretrained else True)
    assert task["fold_count"]["value"] == 5
    if language == "English" and not options:
        usual, alone, on_gpu = (
            tandem(*generate, *knobs).out for knobs in ((), ("-P", "N_FOLDS=1"), ("-P", "ACCELERATOR=gpu"))
        )
        assert "To train a small model from scratch instead, use --set pretrained=''." in usual
        # Four times 60 texts of 128 tokens in each of 13 epochs, at 1.4 s on two cores.
        assert "A CPU with two cores trains this in about 71 min. With -P N_FOLDS=1 it takes 14 min; fewer" in usual
        assert "A CPU with two cores trains this in about 14 min. --set pretrained='' is much faster." in alone
        assert "A CPU with two cores" not in on_gpu


def test_without_its_model_a_run_ends_at_once_and_says_what_to_do(tandem: Callable[..., Outcome], folder: Path) -> None:
    write_competition(folder / "data", "classes")
    tandem("generate", "--competition", "weather", "--data", "data", "--metric", "accuracy", "--set", "pretrained=base")

    done = tandem("run", "weather")

    assert done.code == 1
    assert 'uses the model "keras/roberta/keras/roberta_base_en/3", but input/' in done.err
    assert "or download it with `tandem data COMPETITION`" in done.err
    assert "does not need it with --smoke. To train from scratch, use `tandem generate --set pretrained=''`" in done.err
    assert not [*folder.rglob("output/**/*.ipynb")]


@pytest.mark.slow
@needs_torch
@needs_transformers
def test_a_smoke_run_needs_no_pretrained_model(tandem: Callable[..., Outcome], folder: Path) -> None:
    write_competition(folder / "data", "classes")
    generate = ("generate", "--competition", "weather", "--data", "data", "--metric", "accuracy")
    tandem(*generate, "--framework", "torch", "--set", "pretrained=modernbert", "--name", "weather")

    done = tandem("run", "weather", "--smoke", "--only", "train")

    assert done.code == 0, done.err
    assert "is not on this machine: a small untrained model takes its place." in done.err
    assert not (folder / "input" / "models").exists()
