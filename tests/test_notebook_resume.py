"""A training that was killed goes on where it was, in the same folder or with its output attached."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from notebook_competitions import write_shops
from notebook_frameworks import Ended, Parameters
from notebook_session import Mirror, Sessions, arrays_in, names_below, needs_torch, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

EPOCHS = 4
SETTINGS = {"EPOCHS": EPOCHS, "N_FOLDS": 2}
LOOK = "[[[epoch['loss'], epoch['score']] for epoch in history] for history in run.histories]"

KILL_AT = """
import os
import signal
kept = write_json
def write_json(path, value):
    kept(path, value)
    if path.parent.name == "fold{fold}" and path.name == "history.json" and len(value) == {epoch}:
        # As if it had been killed in the middle of a write.
        (path.parent / "epoch{next}.npz").write_bytes(b"half of a")
        (path.parent / "history.json.partial").write_text("[")
        os.kill(os.getpid(), signal.SIGKILL)
"""

# Epochs say how long they took; nobody waits for them.
FAST_CLOCK = """
import time
monotonic, time.passed = time.monotonic, 0
time.monotonic = lambda: monotonic() + time.passed
"""


def killed(
    sessions: Sessions,
    mirror: Mirror,
    framework: str,
    *,
    fold: int,
    epoch: int,
    ema: float = 0.0,
    edits: Mapping[str, Callable[[str], str]] | None = None,
) -> None:
    """Trains until the process dies at the end of an epoch, its history just written."""
    code = KILL_AT.format(fold=fold, epoch=epoch, next=epoch + 1)
    watched = of_shops(framework, "train", {"runtime": lambda cell: cell + code, **(edits or {})}, ema=ema)
    session = sessions.start(watched, mirror.parameters(watched, **SETTINGS))
    assert session.ended().status < 0
    assert "handoff.json" not in names_below(mirror.working)


def outcome(ended: Ended, mirror: Mirror) -> tuple[Any, list[list[str]], Any]:
    """The curves, the out-of-fold predictions and the facts of the folds that a finished training leaves."""
    assert ended.is_done, ended
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"]) == (True, [EPOCHS] * 2)
    weights = [entry["file"] for entry in handoff["folds"]]
    assert names_below(mirror.working) == ["accelerator.json", *weights, "handoff.json", "oof.csv", "oof.npz"]
    folds = [(entry["score"], arrays_in(mirror.working / entry["file"])) for entry in handoff["folds"]]
    return ended.seen, read_table(mirror.working / "oof.csv"), [handoff["out_of_fold"]["score"], *folds]


def epochs_in(ended: Ended) -> list[tuple[int, int]]:
    """The fold and number of each epoch that was trained."""
    found = re.findall(rf"fold (\d), epoch +(\d+)/{EPOCHS}:", ended.said("train"))
    return [(int(fold), int(epoch)) for fold, epoch in found]


@pytest.fixture(scope="module")
def uninterrupted(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """The outcome of a training that nobody kills, which is trained once for each framework."""

    @cache
    def ended(framework: str, ema: float) -> Any:
        shops = Mirror(tmp_path_factory.mktemp("uninterrupted"), slug="shops")
        write_shops(shops.competition)
        train = of_shops(framework, "train", ema=ema)
        return outcome(sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK), shops)

    return ended


@pytest.mark.parametrize(
    ("framework", "ema"),
    [("keras", 0.9), ("jax", 0.9), pytest.param("torch", 0.9, marks=needs_torch)],
)
def test_a_killed_training_whose_output_is_attached_ends_as_one_that_was_not(
    sessions: Sessions, shops: Mirror, uninterrupted: Callable[..., Any], framework: str, ema: float
) -> None:
    write_shops(shops.competition)
    train, infer = of_shops(framework, "train", ema=ema), of_shops(framework, "infer", ema=ema)
    parameters = shops.parameters(train, **SETTINGS)
    expected = uninterrupted(framework, ema)

    killed(sessions, shops, framework, fold=1, epoch=2, ema=ema)
    mount = shops.output_of_training(framework)
    mount.parent.mkdir(parents=True)
    shops.working.rename(mount)
    attached = {name: (mount / name).read_bytes() for name in names_below(mount)}

    there = sessions.run(train, parameters, look=LOOK)
    assert outcome(there, shops) == expected
    assert epochs_in(there) == [(1, epoch) for epoch in range(3, EPOCHS + 1)]
    assert f"\nResuming from {mount}/checkpoints/" in "\n" + there.said("train")
    assert f"\nfold 0: skipped, finished ({EPOCHS} epochs)\n" in there.said("train")
    assert {name: (mount / name).read_bytes() for name in names_below(mount)} == attached

    shutil.rmtree(mount)
    shops.working.rename(mount)
    sessions.finished(infer, shops.parameters(infer))


def test_a_killed_training_goes_on_in_its_own_folder(
    sessions: Sessions, shops: Mirror, uninterrupted: Callable[..., Any]
) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    killed(sessions, shops, "tensorflow", fold=1, epoch=2)

    here = sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK)

    assert outcome(here, shops) == uninterrupted("tensorflow", 0.0)
    assert epochs_in(here) == [(1, epoch) for epoch in range(3, EPOCHS + 1)]
    assert f"\nResuming from {shops.working}/checkpoints/" in "\n" + here.said("train")


# What people write above the line that trains for an epoch, so that some layers rest for the first two. It begins with
# an array of the layers that rest, and ends with whether they are trained now.
FREEZE = {
    "keras": """
        layer = next(each for each in model.layers if each.name.startswith("dense"))
        if layer.trainable != (epoch >= 2):
            layer.trainable = epoch >= 2
            model.compile(optimizer=make_optimizer(learning_rates), loss=loss)
            model.optimizer.build(model.trainable_variables)
        kernel_of = lambda: np.array(layer.kernel)
""",
    "jax": """
        from flax import nnx
        wrt = nnx.Param if epoch >= 2 else nnx.All(nnx.Param, nnx.Not(nnx.PathContains("layers")))
        if model["optimizer"].wrt != wrt:
            model["optimizer"] = nnx.Optimizer(model["network"], make_optimizer(learning_rates), wrt=wrt)
        kernel_of = lambda: np.array(model["network"].layers[0].kernel[...])
""",
    "torch": """
        model["network"].layers.requires_grad_(epoch >= 2)
        kernel_of = lambda: model["network"].layers[0].weight.detach().numpy().copy()
""",
    "torch with a new optimizer": """
        model["network"].layers.requires_grad_(epoch >= 2)
        trained = [weight for weight in model["network"].parameters() if weight.requires_grad]
        if len(trained) != sum(len(group["params"]) for group in model["optimizer"].param_groups):
            model["optimizer"] = make_optimizer(trained)
            model["schedule"] = torch.optim.lr_scheduler.LambdaLR(
                model["optimizer"], lambda at: float(learning_rates.take(at, mode="clip"))
            )
        kernel_of = lambda: model["network"].layers[0].weight.detach().numpy().copy()
""",
}
OBSERVED = """
        kernel = kernel_of()
        mean_loss = train_epoch(model, batches)
        print("trained" if (kernel_of() != kernel).any() else "frozen")
"""


@pytest.mark.parametrize(
    "edit", [pytest.param(name, marks=[needs_torch] * name.startswith("torch")) for name in FREEZE]
)
def test_a_training_that_freezes_layers_in_its_first_epochs_resumes_after_each(
    sessions: Sessions, shops: Mirror, edit: str
) -> None:
    write_shops(shops.competition)
    framework = edit.split(maxsplit=1)[0]
    step = "\n        mean_loss = train_epoch(model, batches)\n"
    edits = {"train": lambda cell: cell.replace(step, FREEZE[edit] + OBSERVED)}
    for epoch in (1, 2, 3):
        killed(sessions, shops, framework, fold=0, epoch=epoch, edits=edits)
    train = of_shops(framework, "train", edits)

    ended = sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK)

    outcome(ended, shops)
    assert epochs_in(ended)[0] == (0, 4)
    assert re.findall("^(?:trained|frozen)$", ended.said("train"), re.MULTILINE) == [
        *["trained"] * (EPOCHS - 3),
        *["frozen"] * 2,
        *["trained"] * (EPOCHS - 2),
    ]


@pytest.mark.parametrize("mount", ["notebooks/ada/shops-tensorflow-train", "shops-tensorflow-train"])
def test_a_training_that_was_killed_between_two_folds_ends_as_one_that_was_not(
    sessions: Sessions, shops: Mirror, uninterrupted: Callable[..., Any], mount: str
) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    expected = uninterrupted("tensorflow", 0.0)
    killed(sessions, shops, "tensorflow", fold=0, epoch=EPOCHS)
    (shops.input / mount).parent.mkdir(parents=True, exist_ok=True)
    shops.working.rename(shops.input / mount)

    ended = sessions.run(train, shops.parameters(train, **SETTINGS), look=LOOK)

    assert outcome(ended, shops) == expected
    assert epochs_in(ended) == [(1, epoch) for epoch in range(1, EPOCHS + 1)]
    assert f"\nResuming from {shops.input / mount}/checkpoints/" in "\n" + ended.said("train")


def test_a_session_ends_between_two_folds_where_a_fold_would_take_too_long(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    slow = "\n\nimport time\ndef train_epoch(model, batches):\n    time.passed += 300\n    return 1.0\n"
    train = of_shops("tensorflow", "train", {"training-steps": lambda cell: cell + slow})
    minutes = 10 + 40  # five folds of 2 epochs of 5 minutes are too much

    parameters = shops.parameters(train, EPOCHS=2, N_FOLDS=5, SESSION_HOURS=minutes / 60)
    sessions.finished(train, parameters, before=FAST_CLOCK)
    handoff = json.loads((shops.working / "handoff.json").read_text())
    done = handoff["epochs_done"]
    assert handoff["complete"] is False
    assert done[0] == 2
    assert done[-1] == 0
    assert [entry["fold"] for entry in handoff["folds"]] == [fold for fold in range(5) if done[fold] == 2]
    assert handoff["out_of_fold"]["rows"] == len(read_table(shops.working / "oof.csv")) - 1 == 16 * done.count(2)


# Ends the notebook when it has said which checkpoints it takes up.
STOP = """
copy_checkpoints = Run.copy_checkpoints
def stop(run, identity):
    copy_checkpoints(run, identity)
    raise SystemExit
Run.copy_checkpoints = stop
"""


def said_of_checkpoints(
    sessions: Sessions, parameters: Parameters, edits: Mapping[str, Callable[[str], str]] | None = None
) -> list[str]:
    """What a training says of the checkpoints that it finds, before it trains."""
    train = of_shops("tensorflow", "train", {**(edits or {}), "runtime": lambda cell: cell + STOP})
    ended = sessions.run(train, parameters)
    assert ended.error.startswith("SystemExit"), ended
    lines = ended.said("train").splitlines()
    return lines[[line.startswith(("Resuming", "No matching")) for line in lines].index(True) :]


def test_checkpoints_of_other_settings_or_other_data_are_left_aside(sessions: Sessions, shops: Mirror) -> None:
    competition = write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    parameters = shops.parameters(train, EPOCHS=3)
    assert sessions.run(train, {**parameters, "SESSION_HOURS": 10 / 60}, until="train").is_done
    mount = shops.output_of_training("tensorflow")
    here = shops.working / "checkpoints"
    (first,) = here.iterdir()
    saved = {name: (first / name).read_bytes() for name in names_below(first)}

    def said(**more: Any) -> list[str]:
        lines = said_of_checkpoints(sessions, {**parameters, **more})
        assert {name: (first / name).read_bytes() for name in names_below(first)} == saved
        return lines

    assert said(SESSION_HOURS=3.0) == [f"Resuming from {first}"]

    afresh = "No matching checkpoint: training from scratch"
    differs = f"{first} is of another run; changed: EPOCHS = 3, now 4; LEARNING_RATE = {saved_rate(first)}, now 0.001"
    assert said(LEARNING_RATE=0.001, EPOCHS=4) == [afresh, differs]
    (second,) = set(here.iterdir()) - {first}
    assert names_below(second) == ["run.json"]
    (mount / "checkpoints").mkdir(parents=True)
    first.rename(mount / "checkpoints" / first.name)
    first = mount / "checkpoints" / first.name
    assert said() == [f"Resuming from {first}"]

    row, *others = competition.training
    competition.write_training([*others, row])
    reordered = said()
    assert (reordered[0], f"{first} is of another run; changed: data or devices" in reordered) == (afresh, True)
    competition.write_training([(*row[:-1], "1" if row[-1] == "0" else "0"), *others])
    assert said()[0] == afresh


def saved_rate(checkpoints: Path) -> float:
    """The learning rate of the run that some checkpoints are of."""
    return float(json.loads((checkpoints / "run.json").read_text())["settings"]["LEARNING_RATE"])


def test_other_checkpoints_in_the_folder_do_not_mix_with_those_that_are_attached(
    sessions: Sessions, shops: Mirror
) -> None:
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    parameters = shops.parameters(train, EPOCHS=3, N_FOLDS=2)
    assert sessions.run(train, {**parameters, "SESSION_HOURS": 10 / 60}, until="train").is_done
    mount = shops.output_of_training("tensorflow")
    mount.parent.mkdir(parents=True)
    shops.working.rename(mount)
    killed(sessions, shops, "tensorflow", fold=1, epoch=2)

    ended = sessions.finished(train, parameters, until="train")
    epochs = re.findall(r"fold (\d), epoch +(\d)/3", ended.said("train"))
    assert epochs == [("0", "2"), ("0", "3"), ("1", "1"), ("1", "2"), ("1", "3")]


@pytest.fixture(scope="module")
def begun_once(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Mirror:
    """A training of three epochs that ended in time after the first."""
    shops = Mirror(tmp_path_factory.mktemp("begun"), slug="shops")
    write_shops(shops.competition)
    train = of_shops("tensorflow", "train")
    sessions.finished(train, shops.parameters(train, EPOCHS=3, SESSION_HOURS=10 / 60), until="train")
    return shops


@pytest.fixture
def begun(begun_once: Mirror, tmp_path: Path) -> Mirror:
    """A copy of it."""
    return Mirror(shutil.copytree(begun_once.root, tmp_path / "begun"), slug="shops")


@pytest.mark.parametrize(
    ("edits", "changed"),
    [
        pytest.param(
            {
                "runtime": lambda cell: cell.replace("Attach it", "Please attach it"),
                "connect": lambda cell: cell.replace("TensorFlow sees", "TensorFlow has"),
                "parameters": lambda cell: cell.replace("# TabM ensemble size K", "# so many networks"),
                "loss": lambda cell: f"# Of two kinds.\n{cell}",
                "plot-by-target": lambda cell: cell.replace("20", "30"),
            },
            "",
            id="messages, comments and figures",
        ),
        pytest.param({"loss": lambda cell: f"{cell}\nloss = [loss][0]"}, "code of loss, code of ", id="loss"),
        pytest.param(
            {
                "build-model": lambda cell: cell.replace(
                    "    return keras.Model(", "    width = 1\n    return keras.Model("
                )
            },
            "code of build_model",
            id="model",
        ),
        pytest.param(
            {"train": lambda cell: cell.replace("SEED + fold", "SEED - fold")}, "the training loop", id="loop"
        ),
    ],
)
def test_a_training_is_resumed_unless_code_that_it_depends_on_was_edited(
    sessions: Sessions, begun: Mirror, edits: Mapping[str, Callable[[str], str]], changed: str
) -> None:
    parameters = begun.parameters(of_shops("tensorflow", "train"), EPOCHS=3)
    (there,) = (begun.working / "checkpoints").iterdir()
    said = said_of_checkpoints(sessions, parameters, {name: edit for name, edit in edits.items() if name != "runtime"})

    if not changed:
        assert said == [f"Resuming from {there}"]
    else:
        assert said[0] == "No matching checkpoint: training from scratch"
        assert changed.split(",", maxsplit=1)[0] in said[1]


def test_damaged_settings_of_other_runs_start_afresh(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    checkpoints = shops.working / "checkpoints"
    texts = [b"", b"=", b"\xff", b"[]", b'{"settings": []}', b'{"settings": {}, "code": 3}']
    for number, text in enumerate(texts):
        (checkpoints / f"{number}").mkdir(parents=True)
        (checkpoints / f"{number}" / "run.json").write_bytes(text)

    said = said_of_checkpoints(sessions, shops.parameters(of_shops("tensorflow", "train")))

    assert said[0].startswith("No matching checkpoint")
    assert sorted(said[1:]) == [
        f"{checkpoints}/{number} is of another run; changed: its run.json is damaged" for number in range(len(texts))
    ]
