"""What people type by habit is taken, or answered with the right word."""

from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome

from generator.competition.metrics import metric_named
from generator.pair.workspace import Role, Workspace
from generator.run.execution import read_notebook_parameters

Tandem = Callable[..., Outcome]


@pytest.fixture
def digits(tandem: Tandem, workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with a pair of `digits`, as the current folder."""
    monkeypatch.chdir(workspace_with_data.root)
    assert tandem("generate", "digits").code == 0
    return Workspace(Path())


@pytest.mark.parametrize(
    "name",
    [
        *("digits", "Digits", "digits/", " digits ", "input/competitions/digits/", "kaggle.com/c/digits?tab=data#x"),
        *("https://www.kaggle.com/competitions/digits/overview", "http://Kaggle.com/Competitions/Digits/"),
    ],
)
def test_a_competition_is_named_by_its_word_or_its_address(
    tandem: Tandem, workspace_with_data: Workspace, name: str
) -> None:
    for option in ([], ["--competition"]):
        outcome = tandem("generate", *option, name, "--dry-run", "--workspace", workspace_with_data.root)

        assert (outcome.code, outcome.err) == (0, "")
        assert "Next: tandem run digits" in outcome.out


def test_the_address_of_something_else_is_no_competition(tandem: Tandem, tmp_path: Path) -> None:
    for page in ("https://www.kaggle.com/code/ada/digits", "https://www.kaggle.com/datasets/ada/digits", "kaggle.com/"):
        outcome = tandem("generate", page, "--workspace", tmp_path)
        assert outcome.code == 1
        assert "Such an address looks like this: kaggle.com/competitions/NAME." in outcome.err


def test_two_competitions_are_usage(tandem: Tandem) -> None:
    assert tandem("generate", "digits", "--competition", "titanic").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["-P", "EPOCHS", "3"],
        ["-P", "epochs=3"],
        ["-P", "Epochs", "=", "3"],
        ["-p", "EPOCHS", "3"],
        ["--parameter", "EPOCHS=3"],
        ["--set", "EPOCHS=3"],
        ["--set", "epochs", "3"],
        ["-P", "DROPOUT=0.1", "EPOCHS=3"],
    ],
)
def test_a_knob_is_set_in_any_spelling(tandem: Tandem, digits: Workspace, words: list[str]) -> None:
    outcome = tandem("generate", *words, "digits")

    assert outcome.code == 0, outcome.err
    assert read_notebook_parameters(digits.pair("digits").notebook(Role.TRAIN)).defaults["EPOCHS"] == 3


@pytest.mark.parametrize("verb", [["generate"], ["run"], ["plan"], ["rehearse"], ["colab", "run"]])
def test_an_option_that_is_called_as_a_knob_is_answered(tandem: Tandem, verb: list[str]) -> None:
    for words, answer in (
        (["--epochs", "3"], "use -P EPOCHS=3"),
        (["--seed=3"], "use -P SEED=3"),
        (["--lr", "1e-3"], "use -P LEARNING_RATE=1e-3"),
        (["--batch-size", "64"], "use -P BATCH_SIZE=64"),
        (["--n-splits", "5"], "use -P N_FOLDS=5"),
        (["--tpu"], "Choose the accelerator with -P ACCELERATOR=tpu"),
        (["--img-size"], "use -P IMAGE_SIZE=VALUE"),
        (["--backbone", "ResNet50"], "use -P BACKBONE=ResNet50"),
    ):
        outcome = tandem(*verb, "digits", *words)
        assert outcome.code == 2
        assert outcome.err.rstrip().endswith(f" {answer}.")


@pytest.mark.slow
def test_what_has_no_backbone_is_told_what_has_one(tandem: Tandem, digits: Workspace) -> None:
    for name in ("BACKBONE", "encoder"):
        named = tandem("generate", "digits", "-P", f"{name}=EfficientNetB7")
        assert named.code == 1
        assert "small or grayscale images are trained from scratch" in named.err
        assert "Color photographs of at least 96 pixels, sounds, masks" in named.err
        assert "Did you mean" not in named.err
    table = tandem("generate", "--competition", "tumours", "-P", "BACKBONE=EfficientNetB7")
    assert "the notebooks of this family have no backbone. Color photographs" in table.err
    option = tandem("generate", "digits", "--backbone", "EfficientNetB7").err
    assert "BACKBONE is a parameter of the notebooks for color photographs of at least 96 pixels" in option


def test_an_unknown_option_stays_unknown(tandem: Tandem) -> None:
    assert "No such option" in tandem("run", "digits", "--onyl", "train").err


@pytest.mark.slow
def test_a_knob_that_is_called_otherwise_elsewhere_is_named(tandem: Tandem, digits: Workspace) -> None:
    for name, knob in (
        ("LR", "LEARNING_RATE"),
        ("n_splits", "N_FOLDS"),
        ("random_state", "SEED"),
        ("BS", "BATCH_SIZE"),
    ):
        outcome = tandem("generate", "digits", "-P", f"{name}=1")
        assert outcome.code == 1
        assert f'Use "{knob}".' in outcome.err


@pytest.mark.parametrize(
    ("name", "framework"), [("tf", "tensorflow"), ("PyTorch", "torch"), ("flax", "jax"), ("Keras", "keras")]
)
def test_a_framework_is_known_by_its_other_names(
    tandem: Tandem, workspace_with_data: Workspace, name: str, framework: str
) -> None:
    workspace = workspace_with_data.root
    outcome = tandem("generate", "digits", "--framework", name, "--dry-run", "--json", "--workspace", workspace)

    assert outcome.code == 0, outcome.err
    assert f'"value": "{framework}"' in outcome.out


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        *(("AUC", "auc"), ("roc_auc_score", "auc"), ("ROC-AUC", "auc"), ("RMSLE", "rmsle"), ("RMSE", "rmse")),
        *(("logloss", "log_loss"), ("neg_log_loss", "log_loss"), ("qwk", "quadratic_weighted_kappa")),
        *(("MAP@3", "map@3"), ("mcc", "mcc"), ("matthews_corrcoef", "mcc"), ("MAE", "mae"), ("f1_score", "f1")),
        *(("mean_squared_error", "mse"), ("r2_score", "r2"), ("neg_root_mean_squared_error", "rmse")),
        *(("categorical_crossentropy", "log_loss"), ("accuracy_score", "accuracy"), ("macro_f1", "f1_macro")),
        *(("f1_weighted", "f1_weighted"), ("nonsense", "nonsense"), ("auc", "auc"), ("map@0", "map@0")),
    ],
)
def test_a_metric_is_known_by_the_names_of_scikit_learn_and_kaggle(name: str, metric: str) -> None:
    assert metric_named(name) == metric


@pytest.mark.parametrize("option", [["--metric", "F1_macro"], ["--set", "metric=F1_macro"]])
def test_a_metric_is_taken_in_another_case(tandem: Tandem, digits: Workspace, option: list[str]) -> None:
    outcome = tandem("generate", "digits", *option)

    assert outcome.code == 0, outcome.err
    assert '"f1_macro"' in digits.pair("digits").settings_path.read_text()


def test_a_metric_that_is_not_there_names_the_way_to_one_of_ones_own(tandem: Tandem, digits: Workspace) -> None:
    outcome = tandem("generate", "digits", "--metric", "balanced_accuracy_score")

    assert outcome.code == 1
    assert "metric.py, beside pair.toml" in outcome.err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["train", "digits"], "tandem run PAIR --only train"),
        (["predict"], "tandem run PAIR --only infer"),
        (["test", "digits"], "tandem run PAIR --smoke"),
        (["download", "titanic"], "tandem data COMPETITION"),
        (["ls"], "tandem list"),
        (["Lint"], "tandem check PAIR"),
    ],
)
def test_a_verb_that_is_called_otherwise_elsewhere_is_named(tandem: Tandem, words: list[str], answer: str) -> None:
    outcome = tandem(*words)

    assert outcome.code == 2
    assert f"Did you mean `{answer}`?" in outcome.err


def test_help_of_a_verb_is_had_by_the_word(tandem: Tandem) -> None:
    for words in (["help", "run"], ["Run", "--help"], ["help", "RUN"]):
        outcome = tandem(*words)
        assert outcome.code == 0
        assert "Usage: tandem run [OPTIONS] PAIR" in outcome.out
    assert "rehearse" in tandem("help").out


@pytest.mark.parametrize("verb", ["run", "plan", "rehearse", "status", "receipt"])
def test_a_pair_is_named_by_its_folder_and_what_is_in_it(tandem: Tandem, digits: Workspace, verb: str) -> None:
    names = ["kernels/nothere", "./kernels/nothere/", "kernels/nothere/train/train.ipynb", "nothere/", "Nothere"]
    for name in [*names, "https://www.kaggle.com/competitions/nothere"]:
        outcome = tandem(verb, name)
        assert outcome.code == 1
        assert 'There is no pair "nothere"' in outcome.err, name
